"""Table 1: evaluations per second and real-time factor of all configurations (Gehring 2014)."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median
from typing import Any, ClassVar

from tarsus.program.run.worlds import Worlds
from tarsus_papers.base import Check, Exhibit, Finding, Row, Table, Task
from tarsus_papers.gehring2014.configurations import (
    BY_NAME,
    CONFIGURATIONS,
    DT,
    Configuration,
    select_configurations,
)
from tarsus_papers.gehring2014.runs import RecordedSteps, record_cycle

GOALS = {
    "minimal": 40.0,
    "extended": 20.0,
    "maximal": 10.0,
}  # speedup over the paper
BEFORE, QUICK_BEFORE = 4.0, 1.6  # s of trot before the cycle that is timed
ROUNDS, QUICK_ROUNDS = 101, 15
PUBLISHED, RULE, BEST = "the paper", "half of our limit", "fewest iterations"
Timing = Mapping[
    str, Mapping[str, Any]
]  # alpha, seconds per update and mean iterations, by the origin of alpha


class Table1(Exhibit):
    """Time of a step of each configuration, without the controller, at three values of alpha."""

    name: ClassVar[str] = "table1"
    title: ClassVar[str] = "Table 1: speed of the eleven configurations"
    location: ClassVar[str] = "Table 1; the step rule in section Overall Computation Effort"
    description: ClassVar[str] = (
        "Evaluations (simulation steps) per second on one thread, one world at a time, and the"
        " real-time factor with one step of 2.5 ms per control update for hard contact and two of"
        " 1.25 ms for compliant contact. The steps of one trotting cycle are recorded in closed"
        " loop. Each is then repeated from the same start, including the warm start of the solver,"
        " with the recorded torques, so that the time of the controller is not included. The"
        " numbers are the processor time of the thread, as the median over interleaved rounds. The"
        " rows use the paper's alpha. The second table adds alpha from the paper's rule (half of"
        " the upper limit, as measured in Figure 6) and the alpha with the fewest iterations. The"
        " paper used an Intel Xeon E31245 of 2011 at 3.3 GHz, so that a large part of every ratio"
        " comes from the computer."
    )
    needs: ClassVar[tuple[str, ...]] = ("figure6",)

    def measure(self, task: Task) -> Finding:
        limits = task.findings["figure6"].data["iterations"]
        steps: dict[tuple[str, str], RecordedSteps] = {}
        for c in select_configurations(task.quick):
            task.on_progress(f"compiling {c.name}")
            recorded = record_cycle(c, QUICK_BEFORE if task.quick else BEFORE)
            steps |= {
                (c.name, source): recorded.with_alpha(alpha)
                for source, alpha in _alphas(c, limits).items()
            }
        timings = measure_times(steps, QUICK_ROUNDS if task.quick else ROUNDS, task)
        seconds = {name: timing[PUBLISHED]["seconds"] for name, timing in timings.items()}
        rows = [row for c in CONFIGURATIONS for row in _build_rows(c, seconds.get(c.name))]
        evaluations = {
            c.name: c.evaluations_per_update / seconds[c.name]
            for c in CONFIGURATIONS
            if c.name in seconds
        }
        data = {
            "seconds_per_update": seconds,
            "evaluations_per_second": evaluations,
            "by_alpha": timings,
        }
        tables = [_ranking(evaluations), _tabulate_by_alpha(timings), _settings()]
        return Finding(
            data,
            rows,
            tables,
            _build_checks(evaluations, task.quick),
            [_describe_differences(evaluations)],
        )


def _alphas(configuration: Configuration, limits: Mapping[str, Any]) -> dict[str, float | None]:
    """Return the values of alpha to measure, by origin; compliant contact has none."""
    if configuration.alpha is None:
        return {PUBLISHED: None}
    count = limits[configuration.name]
    return {PUBLISHED: configuration.alpha, RULE: 0.5 * count["limit"], BEST: count["best"]}


def measure_times(
    steps: dict[tuple[str, str], RecordedSteps], rounds: int, task: Task
) -> dict[str, dict[str, Any]]:
    """Measure times in interleaved rounds, so that a drift affects all configurations equally."""
    # one program for all values of alpha
    worlds: dict[tuple[str, str], Worlds] = {}
    for key, recorded in steps.items():
        same = next((worlds[other] for other in worlds if other[0] == key[0]), None)
        worlds[key] = same or recorded.worlds(lanes=1)
    # interleaved rounds
    times: dict[tuple[str, str], list[float]] = {key: [] for key in steps}
    iterations: dict[tuple[str, str], float] = {}
    for k in range(rounds):
        if k % 20 == 0:
            task.on_progress(f"timing, round {k + 1} of {rounds}")
        for key, recorded in steps.items():
            times[key].append(recorded.seconds(worlds[key]))
            iterations[key] = float(worlds[key].get("iterations").mean())
    # medians over the rounds
    timings: dict[str, dict[str, Any]] = {name: {} for name, _ in steps}
    for (name, source), recorded in steps.items():
        hard = BY_NAME[name].hard
        timings[name][source] = {
            "alpha": float(recorded.starts["law.alpha"][0, 0]) if hard else None,
            "seconds": median(times[name, source]),
            "iterations": iterations[name, source] if hard else None,
        }
    return timings


def _build_rows(configuration: Configuration, seconds: float | None) -> list[Row]:
    """Return the rows of evaluations per second and real-time factor."""
    name = configuration.name
    if seconds is None:
        return []
    rate = configuration.evaluations_per_update / seconds
    return [
        Row(
            f"{name}, evaluations",
            configuration.evaluations,
            rate,
            "1/s",
            "Table 1",
            configuration.words,
        ),
        Row(f"{name}, real-time factor", configuration.realtime, DT / seconds, "", "Table 1"),
    ]


def _ranking(evaluations: Mapping[str, float]) -> Table:
    """Compare ranks, and times relative to the fastest hard configuration, with the paper's."""
    published = {name: BY_NAME[name].evaluations for name in evaluations}
    ranks = [
        {name: k + 1 for k, name in enumerate(sorted(e, key=e.__getitem__, reverse=True))}
        for e in (published, evaluations)
    ]
    hard = [name for name in evaluations if BY_NAME[name].hard]
    rows = []
    for name in sorted(evaluations, key=ranks[1].__getitem__):
        relative = [max(e[n] for n in hard) / e[name] for e in (published, evaluations)]
        rows.append((name, ranks[0][name], ranks[1][name], *relative, BY_NAME[name].words))
    columns = (
        "",
        "rank in the paper",
        "rank here",
        "relative time in the paper",
        "relative time here",
        "description",
    )
    return Table(
        "Ranking by evaluations per second (time of the fastest hard configuration: 1)",
        columns,
        rows,
    )


def _describe_differences(evaluations: Mapping[str, float]) -> str:
    """Describe where the rankings differ, and by how much."""
    ranges = []
    for step_time in (lambda c: 1e6 / c.evaluations, lambda c: 1e6 / evaluations[c.name]):
        for kind in ("direct", "prox"):
            times = [
                step_time(c)
                for c in CONFIGURATIONS
                if c.bilateral == kind and c.name in evaluations
            ]
            ranges.append(
                f"{_three_digits(min(times))} to {_three_digits(max(times))} µs"
                if times
                else "(not measured)"
            )
    return (
        "The rankings differ because of the solution of the bilateral constraints. A step with a"
        f" direct solution takes {ranges[0]} in the paper and {ranges[2]} here; with constraints in"
        f" the prox it takes {ranges[1]} and {ranges[3]}. The factorization of G_B is generated for"
        " its sparsity pattern at compile time and is therefore fast, whereas a sweep over the"
        " constraints cannot be shortened in this way, and the prox with constraints requires more"
        " sweeps to reach the same tolerance."
    )


def _three_digits(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def _tabulate_by_alpha(timings: Mapping[str, Timing]) -> Table:
    """Tabulate alpha, mean iterations and speed, by the origin of alpha."""
    columns = (
        "",
        "alpha from",
        "alpha",
        "iterations per step",
        "evaluations per second",
        "speedup over the paper",
    )
    rows = []
    for name, timing in timings.items():
        c = BY_NAME[name]
        for source, measured in timing.items():
            rate = c.evaluations_per_update / measured["seconds"]
            rows.append(
                (
                    name,
                    source if c.hard else None,
                    measured["alpha"],
                    measured["iterations"],
                    rate,
                    rate / c.evaluations,
                )
            )
    return Table("Speed by the choice of alpha", columns, rows)


def _settings() -> Table:
    columns = (
        "name",
        "contact",
        "coordinates",
        "prox",
        "bilateral constraints",
        "alpha",
        "steps per control update",
    )
    rows = [
        (
            c.name,
            "hard" if c.hard else "compliant",
            c.coordinates,
            c.solver and c.solver.upper(),
            c.bilateral,
            c.alpha,
            c.evaluations_per_update,
        )
        for c in CONFIGURATIONS
    ]
    return Table("The configurations", columns, rows)


def _build_checks(evaluations: dict[str, float], quick: bool) -> list[Check]:
    """Check the required speedup over the paper; the reduced version only requires a speedup."""
    checks = []
    for c in CONFIGURATIONS:
        if c.name in evaluations:
            goal, ratio = (
                1.0 if quick else GOALS[c.coordinates],
                evaluations[c.name] / c.evaluations,
            )
            claim = f"{c.name}: at least {goal:g} times the paper's evaluations per second"
            checks.append(Check(claim, ratio >= goal, f"{ratio:.1f} times"))
    return checks
