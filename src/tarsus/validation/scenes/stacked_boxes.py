"""Stacks of two and three boxes do not move, and each box carries the weight above it."""

from __future__ import annotations

from itertools import pairwise
from typing import ClassVar

import numpy as np

from tarsus.engines.base import Engine, Start
from tarsus.model.objects import Box
from tarsus.validation import bodies
from tarsus.validation.bodies import TOUCH, G
from tarsus.validation.scenes.base import Case, ValidationScene

MASSES = (3.0, 2.0, 1.0)  # kg, from below
EDGES = (0.2, 0.16, 0.1)  # m
SECONDS = 8.0  # enough for laws that settle with a time constant of 0.5 s


class StackedBoxes(ValidationScene):
    """Boxes of 3, 2 and 1 kg: the load on each, and the motion of the stack in the last second."""

    needs = frozenset({"friction", "sticking"})
    tolerance: ClassVar[str] = (
        "1e-5 of the weight: corners can share each load in infinitely many ways, all of which"
        " carry it; 1e-8 m of motion: the solver's tolerance, 1e-6 of a step's fall, in 400 steps"
    )

    def measure(self, engine: Engine) -> list[Case]:
        dt, cases = engine.step(0.0025), []
        for count in (2, 3):
            masses, height = MASSES[:count], EDGES[2]
            stack = bodies.combine_objects(*(Box(mass=m, edges=EDGES) for m in masses))
            positions = [[0, 0, height * (k + 0.5) - TOUCH * (k + 1)] for k in range(count)]
            start = Start(stack, bodies.coordinates(stack, *positions))
            motion = engine.run(start, dt, SECONDS, skip=SECONDS - 1.0)
            # contacts with the ground come first, then twelve for each pair of boxes
            loads = _loads(motion.impulse[-1, 0, :, 0] / dt, count)
            expected = [sum(masses[k:]) * G for k in range(count)]
            k, weight = int(np.argmax(np.abs(loads - expected))), sum(masses) * G
            moved = float(np.abs(motion.q[-1] - motion.q[0]).max())
            cases += [
                Case(f"{count} boxes: force below", "N", expected[k], loads[k], 1e-5 * weight),
                Case(f"{count} boxes: displacement in 1 s", "m", 0.0, moved, 1e-8),
            ]
        return cases


def _loads(force: np.ndarray, count: int) -> np.ndarray:
    """Sum the contact forces on the lower face of each box (count,), N."""
    ground, pairs = force[: 4 * count], force[4 * count :]
    between = {both: 12 * k for k, both in enumerate(_pairs(count))}
    above = [pairs[between[both] : between[both] + 12].sum() for both in pairwise(range(count))]
    return np.array([ground.sum(), *above])


def _pairs(count: int) -> list[tuple[int, int]]:
    return [(a, b) for a in range(count) for b in range(a + 1, count)]
