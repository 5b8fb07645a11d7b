"""A ball without restitution stays where it lands."""

from __future__ import annotations

from typing import ClassVar

from tarsus.engines.base import Engine, Start
from tarsus.validation import bodies
from tarsus.validation.scenes.base import Case, ValidationScene

SPEED, HEIGHT, SECONDS = 1.0, 0.05, 0.5  # m/s, m above the ground, s


class DeadBall(ValidationScene):
    """A ball hits the ground at 1 m/s without gravity, e 0, in steps of 0.5 ms, and stays there.

    Without gravity, the rebound from compliant ground does not decay.
    """

    needs = frozenset({"rigid", "restitution"})
    tolerance: ClassVar[str] = (
        "1e-6 m/s: without restitution the landing removes all speed up to the solver's tolerance"
        " (with steps of 0.5 ms the ball is at most 0.5 mm deep, which laws do not correct)"
    )

    def measure(self, engine: Engine) -> list[Case]:
        body = bodies.point_mass(gravity=(0.0, 0.0, 0.0))
        start = Start(body, bodies.pose([0, 0, HEIGHT]), [0, 0, -SPEED, 0, 0, 0])
        motion = engine.run(start, engine.step(0.0005), SECONDS)
        return [Case("rebound", "m/s", 0.0, float(motion.u[-1, 0, 2]), 1e-6)]
