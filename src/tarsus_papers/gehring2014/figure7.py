"""Figure 7: computation time of the sections of a step (Gehring 2014, Computation Speed)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tarsus.program.run.cycle_counter import seconds_per_cycle
from tarsus.viewer.colors import COLORS
from tarsus_papers import _verdicts
from tarsus_papers._verdicts import Verdict
from tarsus_papers.base import Check, Exhibit, Finding, Row, Table, Task
from tarsus_papers.gehring2014.configurations import BY_NAME, Configuration, select_configurations
from tarsus_papers.gehring2014.timing import SECTIONS, Sections, timed_program

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROUNDS, QUICK_ROUNDS = 9, 5
EQUAL_TOLERANCE = 0.15  # [1]: means with a smaller relative difference count as equal
SMALL = 0.1  # [1], fraction of a step
SLOW = 20  # times the fastest step; slower ones are shown in a separate panel


class Figure7(Exhibit):
    """Processor cycles between time stamps in the compiled step."""

    name: ClassVar[str] = "figure7"
    title: ClassVar[str] = "Figure 7: computation time of one step"
    location: ClassVar[str] = "Figure 7 and Table 1, section Computation Effort for One Time Step"
    description: ClassVar[str] = (
        "The program of the step is compiled with time stamps: the processor's cycle counter is"
        " read between the sections, and all results of a section are stored before and loaded"
        " after the reading. 25 trotting cycles (20 s) are simulated in closed loop, several times"
        " with identical bits. The fastest time of each step and section is used, to exclude"
        " interruptions by the operating system. Cycles are converted to seconds with a loop that"
        " is timed with the system clock in the same run. The counter is read without waiting for"
        " pending instructions, which makes the boundaries uncertain by some tens of cycles. The"
        " time stamps also keep the compiler from sharing computations between sections, so that"
        " the sum is slightly larger than in Table 1. M, h: poses of the bodies, mass matrix and"
        " bias forces; M^-1: factorization of the mass matrix; G_B: matrix of the constraints and"
        " its factorization; u_E: everything from the free velocity to the contact impulses and the"
        " new velocity; rest: contact points, their Jacobians, and the displacement. The controller"
        " is listed separately. Times are given per evaluation; with compliant contact a control"
        " update has two. The paper gives no numbers for the figure."
    )
    caption: ClassVar[str] = (
        "Mean time of the sections of one step over the trotting cycles, without the controller."
        " The error bar is the standard deviation of the time of a step. Much slower configurations"
        " are shown separately with a different scale."
    )

    def measure(self, task: Task) -> Finding:
        tick, runs = seconds_per_cycle(), {}
        for c in select_configurations(task.quick):
            task.on_progress(f"compiling {c.name}")
            runs[c] = timed_program(c, task.quick)
        sections, shares = {}, {}
        for c, run in runs.items():
            task.on_progress(f"timing {c.name}")
            sections[c.name] = run.sections(QUICK_ROUNDS if task.quick else ROUNDS, tick)
            shares[c.name] = run.wall_fraction
        rows = [_row(BY_NAME[name], times) for name, times in sections.items()]
        verdicts = _verdicts.decide_all(CLAIMS, sections)
        data = {
            "sections": sections,
            "cycles_per_second": 1 / tick,
            "claims": _verdicts.verdict_data(verdicts),
        }
        statements = _verdicts.table(verdicts, "Statements of the paper about the figure")
        return Finding(
            data, rows, [_tabulate_times(sections), statements], _build_checks(sections, shares)
        )

    def draw(self, data: Mapping[str, Any]) -> Figure:
        from matplotlib.figure import Figure

        sections = data["sections"]
        fastest = min(times["mean"]["step"] for times in sections.values())
        slow = [name for name, times in sections.items() if times["mean"]["step"] > SLOW * fastest]
        fast = [name for name in sections if name not in slow]
        groups = [group for group in (fast, slow) if group]
        figure = Figure(figsize=(9, 4), layout="constrained")
        panels = figure.subplots(
            1, len(groups), squeeze=False, width_ratios=[len(group) + 1 for group in groups]
        )[0]
        for ax, group in zip(panels, groups, strict=True):
            _draw_bars(ax, {name: sections[name] for name in group})
        panels[0].set_ylabel("time of one step / µs")
        panels[0].legend(frameon=False, loc="upper left")
        return figure


def _draw_bars(ax: Axes, sections: Mapping[str, Sections]) -> None:
    """Draw the sections as a stacked bar for each configuration."""
    base = np.zeros(len(sections))
    for color, section in zip(COLORS, SECTIONS, strict=False):
        means = np.array([times["mean"].get(section, 0.0) for times in sections.values()])
        ax.bar(list(sections), means, 0.7, bottom=base, color=color, label=section)
        base = base + means
    deviation = [times["deviation"]["step"] for times in sections.values()]
    ax.errorbar(list(sections), base, deviation, fmt="none", ecolor="black", capsize=3, lw=1)
    ax.set_ylim(0, None)
    ax.set_xlim(-0.6, len(sections) - 0.4)
    ax.spines[["top", "right"]].set_visible(False)


def _row(configuration: Configuration, times: Sections) -> Row:
    published = 1e6 / configuration.evaluations
    comment = f"1 / (evaluations per second); {configuration.words}"
    name = f"{configuration.name}, one step"
    return Row(name, published, times["mean"]["step"], "µs", "Table 1", comment)


def _tabulate_times(sections: Mapping[str, Sections]) -> Table:
    """Tabulate mean and standard deviation by section."""
    columns = (*SECTIONS, "step", "controller")
    rows = [
        [
            name,
            *(
                f"{times['mean'][s]:.2f} ± {times['deviation'][s]:.2f}"
                if s in times["mean"]
                else None
                for s in columns
            ),
            times["iterations"],
        ]
        for name, times in sections.items()
    ]
    return Table(
        "Mean and standard deviation over the steps, µs", ("", *columns, "mean iterations"), rows
    )


def _build_checks(sections: Mapping[str, Sections], shares: Mapping[str, float]) -> list[Check]:
    error = max(abs(share - 1) for share in shares.values())
    correlations = [
        times["with_iterations"]
        for times in sections.values()
        if times["with_iterations"] is not None
    ]
    smallest = min(correlations, default=1.0)
    return [
        Check(
            "the sum of the sections is the time of the step",
            error < 0.1,
            f"within {error:.1%} of the system clock",
        ),
        Check(
            "u_E takes longer in steps with more iterations",
            smallest > 0.8,
            f"correlation at least {smallest:.2f}",
        ),
    ]


def _select_times(
    sections: Mapping[str, Sections], section: str, names: list[str] | None = None
) -> dict[str, float]:
    """Select a section's mean time in µs by configuration, for those that have it."""
    selected = sections if names is None else [name for name in names if name in sections]
    means = {name: sections[name]["mean"] for name in selected}
    return {name: mean[section] for name, mean in means.items() if section in mean}


def _times_text(times: Mapping[str, float], digits: int = 2) -> str:
    return ", ".join(f"{name} {value:.{digits}f}" for name, value in times.items()) + " µs"


def _names_with_coordinates(sections: Mapping[str, Sections], coordinates: str) -> list[str]:
    return [name for name in sections if BY_NAME[name].coordinates == coordinates]


def _dynamics_times(sections: Mapping[str, Sections]) -> dict[str, float]:
    """Compute the time of M, h and M^-1 in µs by configuration."""
    return {name: times["mean"]["M, h"] + times["mean"]["M^-1"] for name, times in sections.items()}


def _judge_spread_within_coordinates(sections: Mapping[str, Sections]) -> Verdict:
    dynamics, spreads = _dynamics_times(sections), {}
    for kind in ("minimal", "extended", "maximal"):
        times = [dynamics[name] for name in _names_with_coordinates(sections, kind)]
        if len(times) > 1:
            spreads[kind] = max(times) / min(times) - 1
    return max(spreads.values()) < EQUAL_TOLERANCE, "largest spread " + ", ".join(
        f"{k} {v:.0%}" for k, v in spreads.items()
    )


def _judge_dynamics_time(sections: Mapping[str, Sections]) -> Verdict:
    dynamics = _dynamics_times(sections)
    minimal, maximal = (
        np.mean([dynamics[name] for name in _names_with_coordinates(sections, kind)] or [np.nan])
        for kind in ("minimal", "maximal")
    )
    if np.isnan(maximal):
        return None, "not measured in the reduced version"
    return bool(minimal > maximal), f"minimal {minimal:.2f} µs, maximal {maximal:.2f} µs"


def _judge_compliant_share(sections: Mapping[str, Sections]) -> Verdict:
    share = sections["Cm"]["mean"]["u_E"] / sections["Cm"]["mean"]["step"]
    hard = min(
        times["mean"]["u_E"] / times["mean"]["step"]
        for name, times in sections.items()
        if BY_NAME[name].hard
    )
    return share < SMALL, f"{share:.0%} of the step; hard contact at least {hard:.0%}"


def _judge_solution_time_by_coordinates(sections: Mapping[str, Sections]) -> Verdict:
    solution = {
        kind: _select_times(
            sections,
            "u_E",
            [name for name in _names_with_coordinates(sections, kind) if BY_NAME[name].hard],
        )
        for kind in ("minimal", "extended")
    }
    solution["maximal"] = _select_times(
        sections, "u_E", _names_with_coordinates(sections, "maximal")
    )
    means = {
        kind: float(np.mean(list(times.values()))) for kind, times in solution.items() if times
    }
    return list(means.values()) == sorted(means.values()), "mean " + _times_text(means)


def _compare_section_times(
    section: str, first: str, second: str
) -> Callable[[Mapping[str, Sections]], Verdict]:
    """Decide whether a section takes less time in the first configuration; u_E includes G_B."""

    def decide(sections: Mapping[str, Sections]) -> Verdict:
        missing = [name for name in (first, second) if name not in sections]
        if missing:
            return None, f"{' and '.join(missing)} not measured in the reduced version"
        times = _select_times(sections, section, [first, second])
        if section == "u_E":
            times = {
                name: value + sections[name]["mean"].get("G_B", 0.0)
                for name, value in times.items()
            }
        return times[first] < times[second], _times_text(times)

    return decide


def _judge_iteration_time(sections: Mapping[str, Sections]) -> Verdict:
    times = {n: sections[n]["mean"]["u_E"] / sections[n]["iterations"] for n in ("HmJ", "HmS")}
    return times["HmJ"] < times["HmS"], f"u_E per iteration: {_times_text(times, 3)}"


def _judge_step_time_variation(sections: Mapping[str, Sections]) -> Verdict:
    deviations = {name: times["deviation"]["step"] for name, times in sections.items()}
    compliant = deviations["Cm"]
    return (
        all(compliant < value for name, value in deviations.items() if name != "Cm"),
        _times_text(deviations),
    )


def _judge_remaining_time(sections: Mapping[str, Sections]) -> Verdict:
    rest = _select_times(sections, "rest")
    return max(rest.values()) / min(rest.values()) - 1 < EQUAL_TOLERANCE, _times_text(rest)


CLAIMS: dict[str, Callable[[Mapping[str, Sections]], Verdict]] = {
    "M, h and M^-1 depend only on the coordinates": _judge_spread_within_coordinates,
    "M, h and M^-1 take longer in minimal than in maximal coordinates": _judge_dynamics_time,
    "Extended coordinates gain no speed over minimal ones": _compare_section_times(
        "step", "HmJ", "HEJD"
    ),
    "The share of u_E is very small for compliant contact": _judge_compliant_share,
    "u_E takes longer with more coordinates": _judge_solution_time_by_coordinates,
    "An iteration of JOR is cheaper than one of SOR in minimal coordinates": _judge_iteration_time,
    "With many bilateral constraints the direct solution is faster than the prox": (
        _compare_section_times("u_E", "HMJD", "HMJP")
    ),
    "A compliant step takes less time than a hard one": _compare_section_times("step", "Cm", "HmJ"),
    "The rest does not depend on the configuration": _judge_remaining_time,
    "The time of a step varies more with hard contact": _judge_step_time_variation,
}
