"""Sinkage: depth of compliant feet in a trot (Gehring 2014, Accuracy)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tarsus_papers.base import Check, Exhibit, Finding, Row, Task
from tarsus_papers.gehring2014.configurations import STIFFNESS, Cm, HmJ, robot, trotting

PUBLISHED = 4.4e-3  # m
SETTLE, TROT = 4.0, 8.0  # s


class Sinkage(Exhibit):
    """Depth of the feet under compliant and hard contact."""

    name: ClassVar[str] = "sinkage"
    title: ClassVar[str] = "Sinkage: how deep trotting feet are in the ground"
    where: ClassVar[str] = "section Accuracy"
    about: ClassVar[str] = (
        "The springs of 30 kN/m give way under a trotting robot: the paper reads about 4.4 mm."
        " Ours is the depth of the feet while they press, in the mean over the stance, and at its"
        " largest; two feet that share the weight at rest would be W / (2 c_N) deep. Hard contact"
        " is as deep as a foot comes in one step before it is caught."
    )

    def measure(self, task: Task) -> Finding:
        # how deep the feet sink while the robot trots
        depth = {}
        for configuration in (Cm, HmJ):
            task.tell(configuration.name)
            simulation = configuration.simulation(trotting())
            simulation.advance(1.0 if task.quick else SETTLE)
            log = simulation.run(1.6 if task.quick else TROT)
            gap, pressed = log["gap"].values, log["impulse_contact"].values[..., 0] > 0
            deep = np.maximum(-gap[pressed], 0)
            depth[configuration.name] = {"mean": float(deep.mean()), "largest": float(deep.max())}
        # how deep two feet sink at rest
        weight = -robot().mass * robot().gravity_acceleration[2]
        static = weight / 2 / STIFFNESS
        # beside the paper's number
        place = "section Accuracy"
        rows = [
            Row(
                "Cm, mean over the stance", 1e3 * PUBLISHED, 1e3 * depth["Cm"]["mean"], "mm", place
            ),
            Row(
                "Cm, largest",
                1e3 * PUBLISHED,
                1e3 * depth["Cm"]["largest"],
                "mm",
                place,
                "landings included",
            ),
            Row(
                "Cm, two feet at rest",
                None,
                1e3 * static,
                "mm",
                "",
                "W / (2 c_N), our robot's weight",
            ),
            Row("HmJ, largest", None, 1e3 * depth["HmJ"]["largest"], "mm", "", "hard contact"),
        ]
        # does rest explain the trot?
        apart = depth["Cm"]["mean"] / static
        check = Check(
            "compliant feet sink in the mean within a factor of two of W / (2 c_N)",
            0.5 < apart < 2,
            f"{apart:.2f} of it",
        )
        return Finding({"depth_m": depth, "at_rest_m": static}, rows, checks=[check])
