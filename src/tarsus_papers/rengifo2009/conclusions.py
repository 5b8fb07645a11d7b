"""Statements of Rengifo 2009, each decided by the results of the other parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np

from tarsus_papers import _verdicts
from tarsus_papers._verdicts import Data, Verdict
from tarsus_papers.base import Exhibit, Finding, Task
from tarsus_papers.rengifo2009.rest import EPSILON
from tarsus_papers.rengifo2009.restitution import BEST
from tarsus_papers.rengifo2009.same_gains import CURVE, EQUAL, TITLES

EQUAL_TOLERANCE = 0.01  # relative difference of equal values
MAX_REMAINING = 0.1  # fraction of false impacts that counts as none
NOT_MEASURED = "not measured in the reduced version"


class PaperStatements(Exhibit):
    """Verdicts on the paper's statements, from the numbers of the other parts."""

    name: ClassVar[str] = "conclusions"
    title: ClassVar[str] = "The paper's statements, confirmed or not"
    location: ClassVar[str] = "abstract, sections II, IV, V and VI"
    description: ClassVar[str] = (
        "Each statement is decided by the results above. Values are equal if they agree to 1 %; the"
        " motion is independent of masses if contacts move by less than 1e-6 of the depth. Contact"
        " is more stable with ε if there are fewer false impacts with every step size, and has none"
        " if at most a tenth remains. The first two rules were fixed before the run, the last two"
        " after first runs. The paper's method of limiting forces does not extend to a box; if the"
        " answer depends on the method, both answers are given."
    )
    needs: ClassVar[tuple[str, ...]] = (
        "ball", "restitution", "rest", "brick", "false_impacts", "walk", "parameters",
    )  # fmt: skip

    def measure(self, task: Task) -> Finding:
        return _verdicts.finding(CLAIMS, task, self.needs)


def _judge_mass_independence(data: Data) -> Verdict:
    differences = data["parameters"]["differences"]
    worst = max(max(values) for values in differences.values())
    return worst < EQUAL, f"{len(differences)} bodies: at most {worst:.1e} of the depth"


def _judge_contact_count_independence(data: Data) -> Verdict:
    errors = data["parameters"]["off"]
    text = ", ".join(f"{TITLES[name]} {value:.1e}" for name, value in errors.items())
    return max(errors.values()) < CURVE, f"errors of the closed form, relative to the depth: {text}"


def _judge_restitution_range(data: Data) -> Verdict:
    e = [float(value) for value in next(iter(data["restitution"]["found"].values()))["e"]]
    return bool(np.all(np.diff(e) > 0)), f"{e[0]:.4f} to {e[-1]:.4f}, increasing"


def _judge_dependence_on_gain_ratio(data: Data) -> Verdict:
    pair = list(data["restitution"]["same_k_p_over_k_v"].values())
    one, other = (float(point["e"]) for point in pair)
    text = " and ".join(
        f"{point['e']:.3f} for k_p {point['k_p']:g}, k_v {point['k_v']:.4g}" for point in pair
    )
    return abs(one / other - 1) < EQUAL_TOLERANCE, (
        f"with equal k_p / k_v, e is {text}: it is a function of k_p / k_v²"
    )


def _judge_peak_force(data: Data) -> Verdict:
    ratio = np.array(data["restitution"]["ratio"])
    peak = np.array(data["restitution"]["found"][BEST]["peak"])
    equal = np.abs(peak - 1) < EQUAL_TOLERANCE
    if equal.all():
        return True, f"force minus m g is m k_v v up to k_p / k_v² = {ratio[-1]:g}"
    limit = f"only up to k_p / k_v² = {ratio[equal].max():.3g}" if equal.any() else "nowhere"
    return False, (
        f"force minus m g is m k_v v {limit}; at {ratio[-1]:g} it is {peak[-1]:.3g} times as large,"
        " because the spring force m √k_p v is larger there"
    )


def _judge_remaining_depth(data: Data) -> Verdict:
    heights = np.array(data["ball"]["curves"]["0"]["height"])
    moved = float(np.ptp(heights[len(heights) // 2 :]))
    return moved < 1e-9, f"depth {-1e3 * heights[-1]:.4f} mm at the end, motion {moved:.0e} m"


def _judge_depth_convergence(data: Data) -> Verdict:
    curves = data["ball"]["curves"]
    ends = {k: -float(np.array(curves[k]["height"])[-1]) for k in ("1", "5")}
    deepest = -float(np.min(curves["1"]["height"]))
    text = ", ".join(f"{depth:.0e} m for k_p {k}" for k, depth in ends.items())
    return max(ends.values()) < 1e-3 * deepest, (
        f"{text} at the end; not asymptotically: the ball returns after π / (2 √k_p) and bounces at"
        " √k_p times the depth"
    )


def _judge_steady_depth(data: Data) -> Verdict:
    law, spring = (np.array(data["rest"][key], float) for key in ("law", "spring"))
    return bool(np.abs(law / EPSILON - 1).max() < EQUAL), (
        f"with ε = 0 at most {1e3 * float(data['rest']['surface']):.2g} mm, with ε = 0.001 mm"
        f" {1e3 * law.mean():.4g} mm for every mass; on the spring {1e3 * spring.min():.2g}"
        f" to {1e3 * spring.max():.2g} mm"
    )


def _judge_stopping(data: Data) -> Verdict:
    slide = data["brick"]["slides"]["without height"]
    return float(slide["speed"][-1]) < 1e-9, (
        f"{abs(float(slide['speed'][-1])):.0e} m/s at the end, {float(slide['friction'][-1]):.4f} N"
    )


def _judge_walking(data: Data) -> Verdict:
    steps = len(data["walk"]["landings"])
    return (steps >= 5 if steps > 1 else None), (
        f"{steps} steps, depth at most {1e3 * float(data['walk']['deepest']):.2f} mm"
    )


def _judge_false_impacts_standing(
    is_met: Callable[[float, float], bool],
) -> Callable[[Data], Verdict]:
    def decide(data: Data) -> Verdict:
        without, with_ = (counts["false"] for counts in data["false_impacts"]["standing"].values())
        return is_met(without, with_), f"{without:g} false impacts without, {with_:g} with ε"

    return decide


def _judge_false_impacts_walking(
    printed: bool, is_met: Callable[[float, float], bool]
) -> Callable[[Data], Verdict]:
    def decide(data: Data) -> Verdict:
        runs = data["false_impacts"]["walking"]
        pairs = {
            name.split(",")[0]: [count["false"] for count in counts[:2]]
            for name, counts in runs.items()
            if ("printed" in name) == printed
        }
        if not pairs:
            return None, NOT_MEASURED
        text = ", ".join(f"{dt}: {one} without, {two} with ε" for dt, (one, two) in pairs.items())
        return all(is_met(*pair) for pair in pairs.values()), text

    return decide


def _are_fewer(without: float, with_: float) -> bool:
    return with_ < without


def _are_nearly_none(without: float, with_: float) -> bool:
    return without > 0 and with_ <= MAX_REMAINING * without


FEWER = "ε 1e-6 m makes contact more stable"
NONE = "With ε 1e-6 m there are no false impacts"
CLAIMS: dict[str, Callable[[Data], Verdict]] = {
    "The contact's parameters are independent of masses and inertias": _judge_mass_independence,
    "They are independent of the number of contacts": _judge_contact_count_independence,
    "Restitution goes from 0 to 1": _judge_restitution_range,
    "It does so as k_p / k_v goes from 0 to infinity, so it depends on that ratio": (
        _judge_dependence_on_gain_ratio
    ),
    "The largest normal force depends only on k_v": _judge_peak_force,
    "With k_p = 0 the interpenetration cannot vanish": _judge_remaining_depth,
    "With k_p > 0 it converges to zero": _judge_depth_convergence,
    "The steady depth is zero, unlike m g / k_p of a spring": _judge_steady_depth,
    "The brick stops and is held by m g sin α without a velocity threshold": _judge_stopping,
    "The law carries a walking biped": _judge_walking,
    f"{FEWER}: standing": _judge_false_impacts_standing(_are_fewer),
    f"{FEWER}: walking, forces limited once as printed": _judge_false_impacts_walking(
        True, _are_fewer
    ),
    f"{FEWER}: walking, forces limited consistently": _judge_false_impacts_walking(
        False, _are_fewer
    ),
    f"{NONE}: standing": _judge_false_impacts_standing(_are_nearly_none),
    f"{NONE}: walking, as printed": _judge_false_impacts_walking(True, _are_nearly_none),
    f"{NONE}: walking, consistently": _judge_false_impacts_walking(False, _are_nearly_none),
}
