"""Temporary scene: a sphere in free fall."""

from __future__ import annotations

from typing import ClassVar

from tarsus.engines.base import Engine, Start
from tarsus.validation import bodies
from tarsus.validation.scenes.base import Case, ValidationScene


class ThrowAway(ValidationScene):
    """It falls from rest: velocity -g t."""

    tolerance: ClassVar[str] = "1e-9 m/s: every method integrates a constant exactly"

    def measure(self, engine: Engine) -> list[Case]:
        start = Start(bodies.sphere(), bodies.pose([0, 0, 10.0]))
        motion = engine.run(start, 0.01, 0.1)
        fallen = float(motion.u[-1, 0, 2])
        return [Case("velocity", "m/s", -bodies.G * float(motion.time[-1]), fallen, 1e-9)]
