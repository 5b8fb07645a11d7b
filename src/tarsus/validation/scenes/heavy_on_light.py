"""A heavy box on a light one, both on a slope, do not move."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tarsus.engines.base import Engine, Start
from tarsus.model.objects import Box
from tarsus.validation import bodies
from tarsus.validation.bodies import TOUCH
from tarsus.validation.scenes.base import Case, ValidationScene

RATIOS = (1, 100, 10000)  # mass of the upper box over that of the lower one
LIGHT, EDGES = 0.3, (0.2, 0.16, 0.1)  # kg, m
DEGREES, MU = 15.0, 0.7
START, END = 1.0, 2.0  # s, interval in which the creep is measured


class HeavyOnLight(ValidationScene):
    """Two boxes on a slope of 15 degrees, mu 0.7; the upper one is up to 10^4 times heavier.

    The lower box has 0.3 kg. The larger creep of the two is measured from 1 to 2 s, and the larger
    displacement from the start.
    """

    needs = frozenset({"friction", "sticking", "rigid"})
    tolerance: ClassVar[str] = (
        "1e-9 m/s for any mass ratio, as for a single sticking block; 1e-6 m of displacement,"
        " because while the stack settles, a solver tolerance of 1e-6 N s moves the light box by"
        " 7e-9 m per step"
    )

    def measure(self, engine: Engine) -> list[Case]:
        dt, slope, cases = engine.step(0.002), np.deg2rad(DEGREES), []
        normal = np.array([-np.sin(slope), 0.0, np.cos(slope)])
        for ratio in RATIOS:
            stack = bodies.combine_objects(
                Box(mass=LIGHT, edges=EDGES), Box(mass=ratio * LIGHT, edges=EDGES)
            )
            heights = [EDGES[2] * (k + 0.5) - TOUCH * (k + 1) for k in range(2)]
            q = np.concatenate([bodies.pose(h * normal, -slope) for h in heights])
            start = Start(stack, q, slope=slope, parameters={"mu": MU}, motion_only=True)
            motion = engine.run(start, dt, END)
            positions = motion.q[:, 0].reshape(-1, 2, 7)[..., :3]
            late = np.linalg.norm(positions[-1] - positions[round(START / dt)], axis=1).max()
            total = np.linalg.norm(positions[-1] - q.reshape(2, 7)[:, :3], axis=1).max()
            cases += [
                Case(f"creep, ratio {ratio}", "m/s", 0.0, float(late) / (END - START), 1e-9),
                Case(f"displacement, ratio {ratio}", "m", 0.0, float(total), 1e-6),
            ]
        return cases
