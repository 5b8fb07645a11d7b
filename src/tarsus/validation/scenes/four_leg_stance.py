"""Four legs carry a load in balance and without motion."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from scipy.spatial.transform import Rotation

from tarsus.engines.base import Engine, Start
from tarsus.validation import bodies
from tarsus.validation.bodies import STOOL, STOOL_COM, STOOL_FOOT, G
from tarsus.validation.scenes.base import Case, ValidationScene

SECONDS, SETTLED = 12.0, 11.0
DROP = 0.002  # m


class FourLegStance(ValidationScene):
    """A rigid 10 kg stool lands from 2 mm on four feet, its center of mass off-center; 12 s."""

    needs = frozenset({"friction", "sticking"})
    tolerance: ClassVar[str] = (
        "1e-6 of the weight, and 1e-6 m times the weight as a moment about the center of mass, for"
        " the solver's tolerance; 1e-9 m of motion in the last second, as for a sticking block"
    )

    def measure(self, engine: Engine) -> list[Case]:
        dt, body = engine.step(0.002), bodies.stool()
        start = Start(
            body, bodies.pose([0, 0, STOOL[2] + STOOL_FOOT + DROP]), parameters={"mu": 0.6}
        )
        motion = engine.run(start, dt, SECONDS, skip=SETTLED)
        turn = Rotation.from_quat(motion.q[-1, 0, 3:], scalar_first=True)  # tilted on soft ground
        arms = turn.apply([c.position for c in body.candidates] - STOOL_COM) - [0, 0, STOOL_FOOT]
        forces = motion.impulse[-1, 0][:, [1, 2, 0]] / dt  # tangents along x and y
        weight = body.mass * G
        moment = np.cross(arms, forces).sum(0)[:2]
        displacement = motion.q[:, 0, :3] - motion.q[0, 0, :3]
        return [
            Case("normal forces / weight", "1", 1.0, float(forces[:, 2].sum() / weight), 1e-6),
            Case("moment / weight", "m", 0.0, float(np.linalg.norm(moment) / weight), 1e-6),
            Case("drift in 1 s", "m", 0.0, float(np.linalg.norm(displacement, axis=1).max()), 1e-9),
        ]
