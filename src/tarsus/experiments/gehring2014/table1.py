"""Table 1: evaluations a second and real-time factor of the eleven configurations (document 000)."""

from __future__ import annotations

from statistics import median
from typing import ClassVar

from tarsus.experiments.base import Check, Exhibit, Finding, Row, Table, Task
from tarsus.experiments.gehring2014.configurations import CONFIGURATIONS, DT, Configuration, evaluated
from tarsus.experiments.gehring2014.runs import Steps, recorded

GOALS = {"minimal": 40.0, "extended": 20.0, "maximal": 10.0}  # times the document's evaluations a second
BEFORE, QUICK_BEFORE = 4.0, 1.6  # s of trot before the cycle that is timed
ROUNDS, QUICK_ROUNDS = 101, 15


class Table1(Exhibit):
    """Time of one step of each configuration, the controller left out."""

    name: ClassVar[str] = "table1"
    title: ClassVar[str] = "Table 1: speed of the eleven configurations"
    where: ClassVar[str] = "Table 1; the step rule in section Overall Computation Effort"
    about: ClassVar[str] = (
        "Evaluations (simulation steps) a second on one thread, one world at a time, and the real-time factor with "
        "one step of 2.5 ms a control update for hard contact and two of 1.25 ms for compliant contact. The steps of "
        "one trotting cycle are recorded in closed loop; each is then made again from its own start, warm start of "
        "the solver included, with the torques that the controller gave: the controller's own time is not in it. "
        "Median over interleaved rounds. The document's machine was an Intel Xeon E31245 of 2011 at 3.3 GHz, so a "
        "good part of every ratio is the machine's."
    )

    def measure(self, task: Task) -> Finding:
        steps: dict[str, Steps] = {}
        for configuration in evaluated(task.quick):
            task.tell(f"compiling {configuration.name}")
            steps[configuration.name] = recorded(configuration, QUICK_BEFORE if task.quick else BEFORE)
        times = timed(steps, QUICK_ROUNDS if task.quick else ROUNDS, task)
        seconds = {name: median(values) for name, values in times.items()}
        rows = [row for c in CONFIGURATIONS for row in _rows(c, seconds.get(c.name))]
        evaluations = {c.name: c.evaluations_per_update / seconds[c.name] for c in CONFIGURATIONS if c.name in seconds}
        data = {"seconds_per_update": seconds, "evaluations_per_second": evaluations}
        return Finding(data, rows, [_settings()], _checks(evaluations, task.quick))


def timed(steps: dict[str, Steps], rounds: int, task: Task) -> dict[str, list[float]]:
    """Seconds a step, one number a round; every configuration takes its turn, so that a drift is shared by all."""
    worlds = {name: own.worlds(lanes=1) for name, own in steps.items()}
    times: dict[str, list[float]] = {name: [] for name in steps}
    for k in range(rounds):
        if k % 20 == 0:
            task.tell(f"timing, round {k + 1} of {rounds}")
        for name, own in steps.items():
            times[name].append(own.seconds(worlds[name]))
    return times


def _rows(configuration: Configuration, seconds: float | None) -> list[Row]:
    """Evaluations a second and real-time factor."""
    name = configuration.name
    if seconds is None:
        return []
    rate = configuration.evaluations_per_update / seconds
    return [
        Row(f"{name}, evaluations", configuration.evaluations, rate, "1/s", "Table 1", configuration.words),
        Row(f"{name}, real-time factor", configuration.realtime, DT / seconds, "", "Table 1"),
    ]


def _settings() -> Table:
    columns = ("name", "contact", "coordinates", "prox", "bilateral constraints", "alpha", "steps a control update")
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


def _checks(evaluations: dict[str, float], quick: bool) -> list[Check]:
    """Faster than the document by so much; the reduced version asks only that it is faster."""
    checks = []
    for c in CONFIGURATIONS:
        if c.name in evaluations:
            goal, ratio = 1.0 if quick else GOALS[c.coordinates], evaluations[c.name] / c.evaluations
            claim = f"{c.name}: at least {goal:g} times the document's evaluations a second"
            checks.append(Check(claim, ratio >= goal, f"{ratio:.1f} times"))
    return checks
