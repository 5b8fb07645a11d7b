"""Sinkage: penetration depth of the feet while trotting (Gehring 2014, Accuracy)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tarsus_papers.base import Check, Exhibit, Finding, Row, Task
from tarsus_papers.gehring2014.configurations import STIFFNESS, Cm, HmJ, create_trot, load_robot

PUBLISHED = 4.4e-3  # m
SETTLE, TROT = 4.0, 8.0  # s


class Sinkage(Exhibit):
    """Penetration depth of the feet with compliant and hard contact."""

    name: ClassVar[str] = "sinkage"
    title: ClassVar[str] = "Sinkage: penetration depth of the feet while trotting"
    location: ClassVar[str] = "section Accuracy"
    description: ClassVar[str] = (
        "The springs of 30 kN/m are compressed under a trotting robot, in the paper by about"
        " 4.4 mm. We measure the mean and the largest depth of the feet during stance; two feet"
        " that carry the weight at rest are W / (2 c_N) deep. With hard contact a foot gets as deep"
        " as it moves in one step before the contact closes."
    )

    def measure(self, task: Task) -> Finding:
        # depth of the feet while the robot trots
        depth = {}
        for configuration in (Cm, HmJ):
            task.on_progress(configuration.name)
            simulation = configuration.simulation(create_trot())
            simulation.advance(1.0 if task.quick else SETTLE)
            log = simulation.run(1.6 if task.quick else TROT)
            gap, closed = log["gap"].values, log["impulse_contact"].values[..., 0] > 0
            depths = np.maximum(-gap[closed], 0)
            depth[configuration.name] = {
                "mean": float(depths.mean()),
                "largest": float(depths.max()),
            }
        # depth of two feet at rest
        weight = -load_robot().mass * load_robot().gravity_acceleration[2]
        static = weight / 2 / STIFFNESS
        # comparison with the paper
        section = "section Accuracy"
        rows = [
            Row(
                "Cm, mean over the stance",
                1e3 * PUBLISHED,
                1e3 * depth["Cm"]["mean"],
                "mm",
                section,
            ),
            Row(
                "Cm, largest",
                1e3 * PUBLISHED,
                1e3 * depth["Cm"]["largest"],
                "mm",
                section,
                "including landings",
            ),
            Row(
                "Cm, two feet at rest",
                None,
                1e3 * static,
                "mm",
                "",
                "W / (2 c_N) with the weight of our robot",
            ),
            Row("HmJ, largest", None, 1e3 * depth["HmJ"]["largest"], "mm", "", "hard contact"),
        ]
        # comparison of trotting with standing
        ratio = depth["Cm"]["mean"] / static
        check = Check(
            "the mean depth of compliant feet is within a factor of two of W / (2 c_N)",
            0.5 < ratio < 2,
            f"ratio {ratio:.2f}",
        )
        return Finding({"depth_m": depth, "at_rest_m": static}, rows, checks=[check])
