"""Verdicts on a judged run: up to where each criterion passes, and from where it fails.

Limits are shares of the robot's own measures, so that the same numbers serve an ant and a horse.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tarsus.simulation.recording.observed_run import Trajectory

GRAVITY = 9.81  # m/s^2
NEEDS_FRICTION = ("cone_Ns", "dissipation_J", "creep_m_per_s")
OF_MOTION = ("equation_N", "energy")
NEEDS_FORCES = ("signorini_J", *NEEDS_FRICTION, *OF_MOTION)
PASS, DOUBTFUL, FAIL, NOT_JUDGED = "pass", "doubtful", "fail", "not judged"


@dataclass(frozen=True)
class RobotScale:
    """The robot's own measures.

    weight: N; height: m, of the base over the ground in the run, or 1; dt: s; turnover: J, the sum
    of the magnitudes of all works
    """

    weight: float
    height: float
    dt: float
    turnover: float


@dataclass(frozen=True)
class Limits:
    """A criterion with its limits, as shares of a measure of the robot.

    title, unit, meaning: for the reader; measure, of: the share's whole, in words and in `unit`;
    good, bad: passes up to here, fails above; reason: why there
    """

    title: str
    unit: str
    meaning: str
    measure: str
    of: Callable[[RobotScale], float]
    good: float
    bad: float
    reason: str


def _lift(scale: RobotScale) -> float:
    return scale.weight * scale.height


LIMITS: Mapping[str, Limits] = {
    "signorini_J": Limits(
        "Signorini",
        "J",
        "force while the contact separates, or a pull",
        "weight x base height",
        _lift,
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
        _lift,
        1e-3,
        1e-2,
        "as of Signorini's condition",
    ),
    "penetration_m": Limits(
        "penetration",
        "m",
        "depth in the ground",
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
        "walking takes about half of this speed: 0.2 % and 2 % of it are lost",
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
        "float32 states leave about 1e-5; what is above 1 % shows in a robot's gait",
    ),
}


def scale_of(run: Trajectory, energy: Mapping[str, float] | None) -> RobotScale:
    """Return the measures of a run; energy: its ledger, J."""
    height = 1.0
    if run.robot.floating and len(run.ends):
        low = _lowest(run)
        height = max(float(np.median(run.q[1:, 2] - low)), 0.0) or 1.0
    works = [abs(v) for k, v in (energy or {}).items() if k not in ("change", "unbalanced")]
    return RobotScale(GRAVITY * run.robot.mass, height, run.dt, sum(works))


def _lowest(run: Trajectory) -> Any:
    """Height (S,) of the lowest contact point of every step, m."""
    if run.point is not None:
        return run.point[..., 2].min(axis=1)
    names = [candidate.name for candidate in run.robot.candidates]
    return np.min([run.robot.position(run.q[1:], name)[:, 2] for name in names], axis=0)


def verdicts(
    found: Mapping[str, float | None], scale: RobotScale
) -> dict[str, dict[str, float | str | None]]:
    """Return by criterion its "verdict" and the limits "good" and "bad" in its unit."""
    told: dict[str, dict[str, float | str | None]] = {}
    for name, limits in LIMITS.items():
        value, whole = found.get(name), limits.of(scale)
        good, bad = limits.good * whole, limits.bad * whole
        verdict = NOT_JUDGED
        if value is not None:
            verdict = PASS if value <= good else DOUBTFUL if value <= bad else FAIL
        told[name] = {"verdict": verdict, "good": good, "bad": bad}
    return told
