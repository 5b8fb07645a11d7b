"""A ball without restitution stays where it lands."""

from __future__ import annotations

from typing import ClassVar

from tarsus.engines.base import Engine, Start
from tarsus.validation import bodies
from tarsus.validation.scenes.base import Case, ValidationScene

SPEED, HEIGHT, SECONDS = 1.0, 0.05, 0.5  # m/s, m above the ground, s


class DeadBall(ValidationScene):
    """A ball meets the ground at 1 m/s without gravity, e 0, steps of 0.5 ms: it stays.

    Without gravity nothing hides the speed with which a soft ground throws it back.
    """

    needs = frozenset({"rigid", "restitution"})
    tolerance: ClassVar[str] = (
        "1e-6 m/s: without restitution the landing takes all of the speed; what is left is the"
        " solver's tolerance (after steps of 0.5 ms it is at most 0.5 mm deep, which laws leave)"
    )

    def measure(self, engine: Engine) -> list[Case]:
        body = bodies.point_mass(gravity=(0.0, 0.0, 0.0))
        start = Start(body, bodies.pose([0, 0, HEIGHT]), [0, 0, -SPEED, 0, 0, 0])
        motion = engine.run(start, engine.step(0.0005), SECONDS)
        return [Case("rebound", "m/s", 0.0, float(motion.u[-1, 0, 2]), 1e-6)]
