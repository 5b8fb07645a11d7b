"""Verdicts on a judged run: limits up to which each criterion passes, and above which it fails.

Limits are fractions of the robot's weight, height or energy, so the same numbers apply to robots of
any size.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tarsus.model.base_motion import base_position
from tarsus.simulation.recording.observed_run import Trajectory

GRAVITY = 9.81  # m/s^2
NEEDS_FRICTION = ("cone_Ns", "dissipation_J", "creep_m_per_s")
OF_MOTION = ("equation_N", "energy")
NEEDS_FORCES = ("signorini_J", *NEEDS_FRICTION, *OF_MOTION)
PASS, DOUBTFUL, FAIL, NOT_JUDGED = "pass", "doubtful", "fail", "not judged"


@dataclass(frozen=True)
class RobotScale:
    """Measures of the robot and the run to which limits refer."""

    weight: float
    """Weight, N."""
    height: float
    """Height of the base above the ground in the run, m; 1 if the base is fixed."""
    dt: float
    """Step size, s."""
    turnover: float
    """Sum of the magnitudes of all works, J."""


@dataclass(frozen=True)
class Limits:
    """Criterion with its limits as fractions of a measure of the robot."""

    title: str
    """Name of the criterion."""
    unit: str
    """Unit of the criterion."""
    meaning: str
    """Short description."""
    measure: str
    """Description of the reference measure."""
    reference: Callable[[RobotScale], float]
    """Function that computes the reference measure, in `unit`."""
    pass_limit: float
    """Fraction up to which the criterion passes."""
    fail_limit: float
    """Fraction above which the criterion fails."""
    reason: str
    """Reason for these fractions."""


def _lifting_work(scale: RobotScale) -> float:
    return scale.weight * scale.height


LIMITS: Mapping[str, Limits] = {
    "signorini_J": Limits(
        "Signorini",
        "J",
        "force while the contact separates, or a pull",
        "weight x base height",
        _lifting_work,
        1e-3,
        1e-2,
        "the work that lifts the robot by 0.1 % and by 1 % of its height",
    ),
    "cone_Ns": Limits(
        "friction cone",
        "N s",
        "friction beyond mu times the normal impulse",
        "weight x step",
        lambda scale: scale.weight * scale.dt,
        1e-3,
        1e-2,
        "friction that carries 0.1 % and 1 % of the weight too much",
    ),
    "dissipation_J": Limits(
        "maximum dissipation",
        "J",
        "friction not opposed to the slip",
        "weight x base height",
        _lifting_work,
        1e-3,
        1e-2,
        "as for Signorini's condition",
    ),
    "penetration_m": Limits(
        "penetration",
        "m",
        "depth below the ground surface",
        "base height",
        lambda scale: scale.height,
        1e-2,
        3e-2,
        "a foot's clearance in a step is about 10 % of the height",
    ),
    "creep_m_per_s": Limits(
        "creep",
        "m/s",
        "slip speed of contacts that should stick",
        "sqrt(gravity x base height)",
        lambda scale: float(np.sqrt(GRAVITY * scale.height)),
        1e-3,
        1e-2,
        "walking speed is about half of this measure, so 0.2 % and 2 % of it are lost",
    ),
    "equation_N": Limits(
        "equation of motion",
        "N, N m",
        "imbalance of momentum over a step",
        "weight",
        lambda scale: scale.weight,
        1e-4,
        1e-2,
        "float32 states leave about 1e-5; a wrong force leaves more than 1 %",
    ),
    "energy": Limits(
        "energy unbalanced",
        "J",
        "change of energy that no recorded force explains",
        "sum of all works",
        lambda scale: scale.turnover,
        1e-4,
        1e-2,
        "float32 states leave about 1e-5; more than 1 % is visible in a robot's gait",
    ),
}


def measure_scale(run: Trajectory, energy: Mapping[str, float] | None) -> RobotScale:
    """Compute the measures of a run from its trajectory and its energy ledger in J."""
    height = 1.0
    if run.robot.mobile and len(run.contact_bodies):
        base = base_position(run.robot, run.q[1:])[:, 2]
        height = max(float(np.median(base - _lowest(run))), 0.0) or 1.0
    works = [abs(v) for k, v in (energy or {}).items() if k not in ("change", "unbalanced")]
    return RobotScale(GRAVITY * run.robot.mass, height, run.dt, sum(works))


def _lowest(run: Trajectory) -> Any:
    """Compute the height (S,) of the lowest contact point of every step, in m."""
    if run.point is not None:
        return run.point[..., 2].min(axis=1)
    names = [candidate.name for candidate in run.robot.candidates]
    return np.min([run.robot.position(run.q[1:], name)[:, 2] for name in names], axis=0)


def judge_criteria(
    values: Mapping[str, float | None], scale: RobotScale
) -> dict[str, dict[str, float | str | None]]:
    """Judge each criterion: its "verdict" and the limits "good" and "bad" in its unit."""
    table: dict[str, dict[str, float | str | None]] = {}
    for name, limits in LIMITS.items():
        value, reference = values.get(name), limits.reference(scale)
        good, bad = limits.pass_limit * reference, limits.fail_limit * reference
        verdict = NOT_JUDGED
        if value is not None:
            verdict = PASS if value <= good else DOUBTFUL if value <= bad else FAIL
        table[name] = {"verdict": verdict, "good": good, "bad": bad}
    return table
