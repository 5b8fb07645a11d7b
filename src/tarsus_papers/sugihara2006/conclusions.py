"""Statements of the paper, compared with our numbers (Sugihara 2006, section IV)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

import numpy as np

from tarsus_papers import _verdicts
from tarsus_papers._verdicts import Data, Verdict
from tarsus_papers.base import Exhibit, Finding, Task
from tarsus_papers.sugihara2006.configurations import hoap1, rotor
from tarsus_papers.sugihara2006.drop_results import LEAP, PHASES, STEPS, law_name
from tarsus_papers.sugihara2006.friction import OSCILLATION_RATIO, PATH_TOLERANCE
from tarsus_papers.sugihara2006.lambdas import (
    ENDS,
    FAILURE_LAMBDA,
    ONCE,
    ROUGHNESS_RATIO,
    failure_lambda,
)

UNEVENNESS_RATIO = 2.0  # above this, the forces are disproportionate
LAMBDA_RATIO = 2.0  # within this factor, a lambda agrees with the paper's


class Statements(Exhibit):
    """Statements confirmed or refuted by the numbers of the other parts."""

    name: ClassVar[str] = "conclusions"
    title: ClassVar[str] = "The paper's statements, confirmed or not"
    location: ClassVar[str] = "section IV"
    description: ClassVar[str] = (
        "Each statement is decided by the numbers above, with one rule for all readings of it."
        " Where the answer depends on the sign of the damper, on how the joints are locked or on"
        " the rotors, which the paper does not describe, both answers are given. A leap is more"
        " than 5 mm."
    )
    needs: ClassVar[tuple[str, ...]] = ("drop", "lambda", "friction")

    def measure(self, task: Task) -> Finding:
        return _verdicts.finding(CLAIMS, task, self.needs)


def _find_leaps(data: Data, damper: str, phase: str, dt: float) -> dict[str, float | None]:
    """Return leaps, in m, with locked joints and, if run, with servos on the robot's own rotors."""
    name, servoed = law_name(damper, phase), data["drop"]["servoed"]
    leaps = {"locked": data["drop"]["leaps"][name][f"{dt:g}"]}
    key = f"{name}, {dt:g} s, {rotor(hoap1()):g} kg m^2"
    return leaps | ({"servos": servoed[key]} if key in servoed else {})


def _format_leaps(leaps: Mapping[str, float | None]) -> str:
    return ", ".join(
        f"{name} {'diverges' if leap is None else f'{1e3 * leap:.2g} mm'}"
        for name, leap in leaps.items()
    )


def _has_leaped(leap: float | None) -> bool:
    return leap is None or leap > LEAP


def _judge_stability_at_1_ms(data: Data) -> Verdict:
    leaps = {
        f"{law_name(damper, phase)}: {how}": leap
        for damper in ("conventional", "timestep")
        for phase in PHASES
        for how, leap in _find_leaps(data, damper, phase, STEPS[0]).items()
    }
    return not any(_has_leaped(leap) for leap in leaps.values()), _format_leaps(leaps)


def _judge_conventional_damper(phase: str) -> Callable[[Data], Verdict]:
    def decide(data: Data) -> Verdict:
        leaps = _find_leaps(data, "conventional", phase, STEPS[1])
        return any(_has_leaped(leap) for leap in leaps.values()), _format_leaps(leaps)

    return decide


def _judge_proposed_damper(phase: str) -> Callable[[Data], Verdict]:
    def decide(data: Data) -> Verdict:
        leaps = _find_leaps(data, "timestep", phase, STEPS[1])
        return not any(_has_leaped(leap) for leap in leaps.values()), _format_leaps(leaps)

    return decide


def _judge_impulsive_forces(data: Data) -> Verdict:
    lambdas = list(data["lambda"]["lambda"])
    rough = data["lambda"]["variants"][ONCE]["roughness"]
    small, one = (float(rough[lambdas.index(value)]) for value in (0.01, 1.0))
    return small >= ROUGHNESS_RATIO * one, f"roughness {small:.2g} N at 0.01, {one:.2g} N at 1"


def _judge_force_distribution(data: Data) -> Verdict:
    lambdas = list(data["lambda"]["lambda"])
    if 4.0 not in lambdas:
        return None, "skipped in the reduced version"
    uneven = data["lambda"]["variants"][ONCE]["unevenness"]
    small, large = (float(uneven[lambdas.index(value)]) for value in (0.01, 4.0))
    return small >= UNEVENNESS_RATIO * large, f"unevenness {small:.2f} at 0.01, {large:.2f} at 4"


def _judge_sinking_through(data: Data) -> Verdict:
    if ENDS not in data["lambda"]["variants"]:
        return None, "skipped in the reduced version"
    ends, endless = (failure_lambda(data["lambda"], name) for name in (ENDS, ONCE))
    largest = float(np.max(data["lambda"]["lambda"]))
    never = f"with an unlimited spring not up to {largest:g}" if endless is None else f"{endless:g}"
    if ends is None:
        return False, f"not up to {largest:g}"
    agrees = FAILURE_LAMBDA / LAMBDA_RATIO <= ends <= FAILURE_LAMBDA * LAMBDA_RATIO
    return agrees, f"at {ends:g} if the membrane's spring ends at its thickness; {never}"


def _judge_path_similarity(data: Data) -> Verdict:
    if not data["friction"]:
        return None, "skipped in the reduced version"
    difference = float(data["friction"]["apart_m"])
    return difference < PATH_TOLERANCE, f"{1e3 * difference:.2g} mm apart at most"


def _judge_oscillation(data: Data) -> Verdict:
    if not data["friction"]:
        return None, "skipped in the reduced version"
    keys = ("shakes", "shakes_in_median", "slips")
    shakes, median, slips = (float(data["friction"][key]) for key in keys)
    return shakes >= OSCILLATION_RATIO, (
        f"root mean square {shakes:.2g} times as strong (required: {OSCILLATION_RATIO:g}),"
        f" including landings, which are the same on both floors; median {median:.2g} times; slip"
        f" of the soles {slips:.2g} times"
    )


CLAIMS: dict[str, Callable[[Data], Verdict]] = {
    "Both dampers are stable at 1 ms": _judge_stability_at_1_ms,
    "At 2.5 ms the conventional damper makes the robot leap (c in compression)": (
        _judge_conventional_damper("compression")
    ),
    "At 2.5 ms the proposed damper keeps it on the floor (c in compression)": (
        _judge_proposed_damper("compression")
    ),
    "At 2.5 ms the conventional damper makes the robot leap (c on release)": (
        _judge_conventional_damper("release")
    ),
    "At 2.5 ms the proposed damper keeps it on the floor (c on release)": (
        _judge_proposed_damper("release")
    ),
    "For a small lambda the floor's forces are impulsive": _judge_impulsive_forces,
    "The force is distributed disproportionately at lambda 0.01 and smoothly at 4": (
        _judge_force_distribution
    ),
    "The robot sinks through the floor at lambda about 7": _judge_sinking_through,
    "The COG paths with static friction and without are similar": _judge_path_similarity,
    "Without static friction the COG's acceleration oscillates": _judge_oscillation,
}
