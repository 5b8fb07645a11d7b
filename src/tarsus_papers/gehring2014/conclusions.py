"""Verdicts on the conclusions of the paper from our numbers (Gehring 2014, Conclusion)."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from tarsus_papers import _verdicts
from tarsus_papers._verdicts import Data, Verdict
from tarsus_papers.base import Exhibit, Finding, Task
from tarsus_papers.gehring2014.configurations import CONFIGURATIONS, DT

SPEED_TOLERANCE = 1.02  # [1]: a time up to this many times as long counts as equally fast
ACCEPTED_DRIFT = 750.0  # µm/min, of standing feet, called acceptable in the paper
FORCE_TOLERANCE = 0.1  # [1], of the mean force


class Conclusions(Exhibit):
    """Verdicts on the paper's conclusions, from the numbers of the other parts."""

    name: ClassVar[str] = "conclusions"
    title: ClassVar[str] = "The paper's conclusions, confirmed or not"
    location: ClassVar[str] = "sections Computation Speed, Accuracy and Conclusion"
    description: ClassVar[str] = (
        "Each statement is decided by the numbers measured above, with a rule fixed in advance. A"
        " refutation is valid for this implementation: generated code for one robot, with the"
        " contact problem solved using the Delassus matrix, starting from the impulses of the last"
        " step."
    )
    needs: ClassVar[tuple[str, ...]] = ("table1", "figure5", "figure6", "drift", "joints", "push")

    def measure(self, task: Task) -> Finding:
        return _verdicts.finding(CLAIMS, task, self.needs)


def _compare_update_times(data: Data, first: str, second: str, slack: float = 1.0) -> Verdict:
    """Decide whether an update takes `first` at most `slack` times as long as `second`."""
    seconds = data["table1"]["seconds_per_update"]
    missing = [name for name in (first, second) if name not in seconds]
    if missing:
        return None, f"{' and '.join(missing)} not measured in the reduced version"
    a, b = DT / seconds[first], DT / seconds[second]
    return a * slack >= b, f"{first} {a:,.0f}, {second} {b:,.0f} times real time"


def _judge_minimal_coordinates(data: Data) -> Verdict:
    seconds = data["table1"]["seconds_per_update"]
    others = [c.name for c in CONFIGURATIONS if c.coordinates != "minimal" and c.name in seconds]
    if not others:
        return None, "not measured in the reduced version"
    best = min(others, key=lambda name: seconds[name])
    return _compare_update_times(data, "HmS", best)


def _judge_best_alpha(data: Data) -> Verdict:
    alphas = {name: (c["best"], c["limit"]) for name, c in data["figure6"]["iterations"].items()}
    numbers = "; ".join(
        f"{name}: best {best:g}, limit {limit:g}" for name, (best, limit) in alphas.items()
    )
    return all(best >= 0.75 * limit for best, limit in alphas.values()), numbers


def _judge_alpha_limit(data: Data) -> Verdict:
    limits = {name: c["limit"] for name, c in data["figure6"]["iterations"].items()}
    numbers = ", ".join(f"{name} {limit:g}" for name, limit in limits.items())
    return (
        all(limit < max(data["figure6"]["alpha"]) for limit in limits.values()),
        f"limits {numbers}",
    )


def _judge_iteration_counts(data: Data) -> Verdict:
    jor, sor = (data["figure6"]["iterations"][name]["at_table1"] for name in ("HmJ", "HmS"))
    return (
        abs(jor / sor - 1) < 0.25,
        f"at alpha 0.6 on average {jor:.1f} (JOR) and {sor:.1f} (SOR) iterations",
    )


def _judge_mean_forces(data: Data) -> Verdict:
    hard, soft, *_ = data["figure5"]["mean"].values()
    return (
        abs(hard / soft - 1) < FORCE_TOLERANCE,
        f"mean force over a cycle: hard {hard:.1f} N, compliant {soft:.1f} N",
    )


def _judge_impact_peaks(data: Data) -> Verdict:
    _, soft, _, damped = data["figure5"]["peak"].values()
    return damped > soft, f"peaks {soft:.0f} N and {damped:.0f} N"


def _judge_required_step_size(data: Data) -> Verdict:
    diverges = {int(n): bad for n, bad in data["figure5"]["diverges"].items()}
    if not diverges:
        return None, "not measured in the reduced version"
    fewest = min((n for n, bad in diverges.items() if not bad), default=None)
    return (
        fewest is not None and diverges[2],
        f"trots with {fewest} steps per control update or more; with the original damping 2",
    )


def _judge_drift_by_step_size(data: Data) -> Verdict:
    by_dt = data["drift"]["um_per_min"]["JOR, from zero"]
    k = list(data["drift"]["tolerance"]).index(1e-6)
    drifts = {dt: values[k] for dt, values in by_dt.items()}
    numbers = ", ".join(f"{drift:.0f} µm/min at {dt} ms" for dt, drift in drifts.items())
    return max(drifts.values()) < 1.5 * min(drifts.values()), numbers


def _judge_joint_drift(data: Data) -> Verdict:
    """Decide whether the joints drift less than the paper accepts for standing feet."""
    k = list(data["joints"]["tolerance"]).index(1e-6)
    drifts = {
        kind: max(m["2.5"][k] for m in methods.values())
        for kind, methods in data["joints"]["um_per_min"].items()
    }
    numbers = ", ".join(f"{kind} {drift:,.0f} µm/min" for kind, drift in drifts.items())
    return (
        max(drifts.values()) < ACCEPTED_DRIFT,
        f"{numbers}; feet in the paper {ACCEPTED_DRIFT:g} µm/min",
    )


def _judge_robustness(data: Data) -> Verdict:
    hard = {name: falls for name, falls in data["push"].items() if name != "Cm"}
    failed = {name: int(sum(falls["failed"])) for name, falls in hard.items()}
    total = sum(len(falls["failed"]) for falls in hard.values())
    return not any(failed.values()), f"{sum(failed.values())} of {total:,} simulations fail"


CLAIMS: dict[str, Callable[[Data], Verdict]] = {
    (
        "Hard contact is not slower than compliant contact overall"
        " (one step per control update compared with two)"
    ): lambda data: _compare_update_times(data, "HmJ", "Cm", SPEED_TOLERANCE),
    "JOR is at least as fast as SOR in minimal coordinates": (
        lambda data: _compare_update_times(data, "HmJ", "HmS", SPEED_TOLERANCE)
    ),
    "JOR and SOR need a similar number of iterations in minimal coordinates": (
        _judge_iteration_counts
    ),
    "SOR is faster than JOR with many bilateral constraints in the prox (maximal coordinates)": (
        lambda data: _compare_update_times(data, "HMSP", "HMJP")
    ),
    "With many bilateral constraints the direct solution is faster than the prox": (
        lambda data: _compare_update_times(data, "HMJD", "HMJP")
    ),
    "Minimal coordinates are the fastest": _judge_minimal_coordinates,
    "Extended coordinates gain no speed over minimal ones": (
        lambda data: _compare_update_times(data, "HmJ", "HEJD")
    ),
    "The prox does not converge with alpha above a limit": _judge_alpha_limit,
    "Convergence is fastest with alpha close to its limit": _judge_best_alpha,
    "Forces of hard and compliant contact agree well": _judge_mean_forces,
    "Ten times the damping makes impacts harder": _judge_impact_peaks,
    "Ten times the damping requires smaller steps": _judge_required_step_size,
    "The drift of standing feet does not depend on the step size": _judge_drift_by_step_size,
    "The drift of the bilateral constraints while trotting is negligible": _judge_joint_drift,
    "Hard contact does not fail when the robot falls on its side": _judge_robustness,
}
