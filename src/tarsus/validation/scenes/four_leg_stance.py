"""Four legs share a load: it is carried, balanced, and nothing moves for ten seconds."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from scipy.spatial.transform import Rotation

from tarsus.validation import bodies
from tarsus.validation.bodies import STOOL, STOOL_COM, STOOL_FOOT, G
from tarsus.validation.engine import Engine, Start
from tarsus.validation.scenes.base import Case, Scene

SECONDS, SETTLED = 10.0, 2.0
DROP = 0.002  # m


class FourLegStance(Scene):
    """A rigid stool of 10 kg lands from 2 mm on four feet, its centre of mass off their middle; ten seconds."""

    needs = frozenset({"friction", "sticking"})
    tolerance: ClassVar[str] = (
        "1e-6 of the weight and 1e-6 m of the point where the load acts, as of a solver's tolerance; 1e-8 m of way in "
        "the last eight seconds: 1 nm/s"
    )

    def measure(self, engine: Engine) -> list[Case]:
        dt, body = engine.step(0.002), bodies.stool()
        start = Start(body, bodies.pose([0, 0, STOOL[2] + STOOL_FOOT + DROP]), parameters={"mu": 0.6})
        motion = engine.run(start, dt, SECONDS, skip=SETTLED)
        normal = motion.impulse[-1, 0, :, 0]
        turn = Rotation.from_quat(motion.q[-1, 0, 3:], scalar_first=True)  # on soft ground it leans
        feet = turn.apply([c.position for c in body.candidates])
        acts = (normal @ feet / normal.sum() - turn.apply(STOOL_COM))[:2]
        way = motion.q[:, 0, :3] - motion.q[0, 0, :3]
        return [
            Case("normal forces / weight", "1", 1.0, float(normal.sum() / dt / (body.mass * G)), 1e-6),
            Case("load off the centre of mass", "m", 0.0, float(np.linalg.norm(acts)), 1e-6),
            Case("drift", "m", 0.0, float(np.linalg.norm(way, axis=1).max()), 1e-8),
        ]
