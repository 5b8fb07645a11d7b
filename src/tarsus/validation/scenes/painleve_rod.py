"""A jamming rod receives a finite impulse, or the step reports failure."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tarsus.engines.base import Engine, Start
from tarsus.validation import bodies
from tarsus.validation.bodies import ROD
from tarsus.validation.scenes.base import Case, ValidationScene

MU = np.repeat([1.0, 2.0, 4.0], 10)
DEGREES = np.tile([40.0, 55.0, 65.0, 75.0, 85.0] * 2, 3)
SPEED = np.tile(np.repeat([3.0, -3.0], 5), 3)


class PainleveRod(ValidationScene):
    """A steep rod slides for 0.6 s with mu up to 4 (Painlevé's paradox).

    From mu = 4/3 on, no bounded force satisfies Coulomb's law.
    """

    needs = frozenset({"friction"})
    tolerance: ClassVar[str] = (
        "all numbers finite; friction inside its cone up to 1e-6 N s, the solver's tolerance, in"
        " all steps reported as converged"
    )

    def measure(self, engine: Engine) -> list[Case]:
        angle = np.deg2rad(DEGREES)
        q = np.array([bodies.pose([0, 0, ROD * np.sin(a) - 1e-6], a) for a in angle])
        u = np.zeros((len(MU), 6))
        u[:, 0] = SPEED
        motion = engine.run(
            Start(bodies.rod(), q, u, parameters={"mu": MU}), engine.step(0.002), 0.6
        )
        count = sum(int((~np.isfinite(a)).sum()) for a in (motion.q, motion.u, motion.impulse))
        limit = MU[:, None] * motion.impulse[..., 0]
        friction = np.linalg.norm(motion.impulse[..., 1:], axis=-1)
        excess = np.where(motion.converged[..., None], friction - limit, 0)
        return [
            Case("non-finite numbers", "1", 0.0, float(count), 0.0),
            Case("friction beyond its cone", "N s", 0.0, max(float(np.nanmax(excess)), 0.0), 1e-6),
        ]
