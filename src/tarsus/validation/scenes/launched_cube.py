"""A launched cube slides on the ground and is not lifted."""

from __future__ import annotations

from typing import ClassVar

from tarsus.engines.base import Engine, Start
from tarsus.validation import bodies
from tarsus.validation.bodies import CUBE, TOUCH
from tarsus.validation.scenes.base import Case, ValidationScene

MU, SPEED, SECONDS = 0.5, 6.0, 1.5


class LaunchedCube(ValidationScene):
    """A cube of 0.1 m slides at 6 m/s with mu 0.5 in steps of 5 ms, if possible, and is not lifted.

    Friction is horizontal and would tip the cube only if mu were above 1. Laws that solve one
    convex problem with friction cones lift sliding bodies off the ground.
    """

    needs = frozenset({"friction", "no lift", "rigid"})
    tolerance: ClassVar[str] = (
        "1e-6 m, for round-off and the solver's tolerance: on rigid ground the only upward force is"
        " the one that carries the weight; on springs a box may rise by rocking"
    )

    def measure(self, engine: Engine) -> list[Case]:
        dt = engine.step(0.005)
        q, u = bodies.pose([0, 0, CUBE[2] - TOUCH]), [SPEED, 0, 0, 0, 0, 0]
        motion = engine.run(Start(bodies.cube(), q, u, parameters={"mu": MU}), dt, SECONDS)
        rise = max(float((motion.q[:, 0, 2] - CUBE[2]).max()), 0.0)
        return [Case("rise", "m", 0.0, rise, 1e-6)]
