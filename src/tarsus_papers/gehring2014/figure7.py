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
from tarsus_papers.gehring2014.configurations import BY_NAME, Configuration, evaluated
from tarsus_papers.gehring2014.timing import SECTIONS, Sections, timed_program

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROUNDS, QUICK_ROUNDS = 9, 5
ALIKE = 0.15  # means that differ by this part count as alike
SMALL = 0.1  # of a step
APART = 20  # times the quickest: slower steps have a picture of their own


class Figure7(Exhibit):
    """Cycles between time stamps in the compiled step."""

    name: ClassVar[str] = "figure7"
    title: ClassVar[str] = "Figure 7: computation time of one step"
    where: ClassVar[str] = "Figure 7 and Table 1, section Computation Effort for One Time Step"
    about: ClassVar[str] = (
        "The program of the step is compiled with time stamps: the processor's counter is read"
        " between its sections, and all that a section computes is stored before the reading and"
        " loaded again after it. 25 trotting cycles (20 s) are simulated in closed loop, several"
        " times with the same bits; of each step and section the quickest time counts, since an"
        " interruption by the system is not the step's. Cycles are turned into seconds by a loop"
        " timed against the system's clock in the same run. The counter is read without waiting for"
        " the instructions on their way, which blurs a border by some tens of cycles, and the"
        " stamps keep the compiler from sharing work between sections, so that the whole is a"
        " little more than in Table 1. M, h: poses of the bodies, mass matrix, bias forces; M^-1:"
        " its factorization; G_B: the constraints' matrix and its factorization; u_E: all from the"
        " free velocity to the contacts' impulses and the new velocity; rest: contact points and"
        " their Jacobians, displacement. The controller stands apart. Times are of one evaluation:"
        " half of the two that a control update takes with compliant contact. The paper gives"
        " the figure as a picture only."
    )
    caption: ClassVar[str] = (
        "Mean time of the sections of one step over the trotting cycles; the whisker is the"
        " standard deviation of the whole step between steps, controller left out. Configurations"
        " far slower stand apart, on a scale of their own."
    )

    def measure(self, task: Task) -> Finding:
        tick, runs = seconds_per_cycle(), {}
        for c in evaluated(task.quick):
            task.tell(f"compiling {c.name}")
            runs[c] = timed_program(c, task.quick)
        found, whole = {}, {}
        for c, run in runs.items():
            task.tell(f"timing {c.name}")
            found[c.name] = run.sections(QUICK_ROUNDS if task.quick else ROUNDS, tick)
            whole[c.name] = run.part_of_wall
        rows = [_row(BY_NAME[name], sections) for name, sections in found.items()]
        verdicts = _verdicts.decide_all(CLAIMS, found)
        data = {
            "sections": found,
            "cycles_per_second": 1 / tick,
            "claims": _verdicts.verdict_data(verdicts),
        }
        told = _verdicts.table(verdicts, "What the paper says of the figure")
        return Finding(data, rows, [_table(found), told], _checks(found, whole))

    def draw(self, data: Mapping[str, Any]) -> Figure:
        from matplotlib.figure import Figure

        found = data["sections"]
        least = min(own["mean"]["step"] for own in found.values())
        slow = [name for name, own in found.items() if own["mean"]["step"] > APART * least]
        groups = [group for group in ([name for name in found if name not in slow], slow) if group]
        figure = Figure(figsize=(9, 4), layout="constrained")
        panels = figure.subplots(
            1, len(groups), squeeze=False, width_ratios=[len(group) + 1 for group in groups]
        )[0]
        for ax, group in zip(panels, groups, strict=True):
            _bars(ax, {name: found[name] for name in group})
        panels[0].set_ylabel("time of one step / µs")
        panels[0].legend(frameon=False, loc="upper left")
        return figure


def _bars(ax: Axes, found: Mapping[str, Sections]) -> None:
    """Draw the sections as a stacked bar per configuration."""
    base = np.zeros(len(found))
    for color, section in zip(COLORS, SECTIONS, strict=False):
        means = np.array([own["mean"].get(section, 0.0) for own in found.values()])
        ax.bar(list(found), means, 0.7, bottom=base, color=color, label=section)
        base = base + means
    spread = [own["deviation"]["step"] for own in found.values()]
    ax.errorbar(list(found), base, spread, fmt="none", ecolor="black", capsize=3, lw=1)
    ax.set_ylim(0, None)
    ax.set_xlim(-0.6, len(found) - 0.4)
    ax.spines[["top", "right"]].set_visible(False)


def _row(configuration: Configuration, own: Sections) -> Row:
    published = 1e6 / configuration.evaluations
    comment = f"1 / evaluations a second; {configuration.words}"
    return Row(
        f"{configuration.name}, one step", published, own["mean"]["step"], "µs", "Table 1", comment
    )


def _table(found: Mapping[str, Sections]) -> Table:
    """Return the table of mean and standard deviation by section."""
    shown = (*SECTIONS, "step", "controller")
    rows = [
        [
            name,
            *(
                f"{own['mean'][s]:.2f} ± {own['deviation'][s]:.2f}" if s in own["mean"] else None
                for s in shown
            ),
            own["iterations"],
        ]
        for name, own in found.items()
    ]
    return Table(
        "Mean and standard deviation over the steps, µs", ("", *shown, "mean iterations"), rows
    )


def _checks(found: Mapping[str, Sections], whole: Mapping[str, float]) -> list[Check]:
    off = max(abs(part - 1) for part in whole.values())
    grows = {
        name: own["with_iterations"]
        for name, own in found.items()
        if own["with_iterations"] is not None
    }
    least = min(grows.values(), default=1.0)
    return [
        Check(
            "the sections make up the time of the step",
            off < 0.1,
            f"by the system's clock all but {off:.1%}",
        ),
        Check(
            "u_E takes longer in steps of more iterations",
            least > 0.8,
            f"correlation at least {least:.2f}",
        ),
    ]


def _times(
    found: Mapping[str, Sections], section: str, names: list[str] | None = None
) -> dict[str, float]:
    """Return a section's mean time in µs by configuration, for those that have it."""
    of = {
        name: found[name]["mean"] for name in (found if names is None else names) if name in found
    }
    return {name: means[section] for name, means in of.items() if section in means}


def _words(times: Mapping[str, float], digits: int = 2) -> str:
    return ", ".join(f"{name} {value:.{digits}f}" for name, value in times.items()) + " µs"


def _of(found: Mapping[str, Sections], coordinates: str) -> list[str]:
    return [name for name in found if BY_NAME[name].coordinates == coordinates]


def _smooth(found: Mapping[str, Sections]) -> dict[str, float]:
    return {name: own["mean"]["M, h"] + own["mean"]["M^-1"] for name, own in found.items()}


def _coordinates_alone(found: Mapping[str, Sections]) -> Verdict:
    smooth, spreads = _smooth(found), {}
    for kind in ("minimal", "extended", "maximal"):
        alike = [smooth[name] for name in _of(found, kind)]
        if len(alike) > 1:
            spreads[kind] = max(alike) / min(alike) - 1
    return max(spreads.values()) < ALIKE, "largest spread " + ", ".join(
        f"{k} {v:.0%}" for k, v in spreads.items()
    )


def _fewer_in_maximal(found: Mapping[str, Sections]) -> Verdict:
    smooth = _smooth(found)
    minimal, maximal = (
        np.mean([smooth[n] for n in _of(found, k)] or [np.nan]) for k in ("minimal", "maximal")
    )
    if np.isnan(maximal):
        return None, "left out of the reduced version"
    return bool(minimal > maximal), f"minimal {minimal:.2f} µs, maximal {maximal:.2f} µs"


def _small_for_compliant(found: Mapping[str, Sections]) -> Verdict:
    share = found["Cm"]["mean"]["u_E"] / found["Cm"]["mean"]["step"]
    hard = min(
        own["mean"]["u_E"] / own["mean"]["step"]
        for name, own in found.items()
        if BY_NAME[name].hard
    )
    return share < SMALL, f"{share:.0%} of the step; hard contact at least {hard:.0%}"


def _grows_with_coordinates(found: Mapping[str, Sections]) -> Verdict:
    solved = {
        k: _times(found, "u_E", [n for n in _of(found, k) if BY_NAME[n].hard])
        for k in ("minimal", "extended")
    }
    solved["maximal"] = _times(found, "u_E", _of(found, "maximal"))
    means = {kind: float(np.mean(list(times.values()))) for kind, times in solved.items() if times}
    return list(means.values()) == sorted(means.values()), "mean " + _words(means)


def _less(section: str, first: str, second: str) -> Callable[[Mapping[str, Sections]], Verdict]:
    """Decide whether a section takes less in the first configuration; u_E is added to G_B."""

    def decide(found: Mapping[str, Sections]) -> Verdict:
        missing = [name for name in (first, second) if name not in found]
        if missing:
            return None, f"{' and '.join(missing)} left out of the reduced version"
        times = _times(found, section, [first, second])
        if section == "u_E":
            times = {
                name: value + found[name]["mean"].get("G_B", 0.0) for name, value in times.items()
            }
        return times[first] < times[second], _words(times)

    return decide


def _cheaper_iteration(found: Mapping[str, Sections]) -> Verdict:
    each = {n: found[n]["mean"]["u_E"] / found[n]["iterations"] for n in ("HmJ", "HmS")}
    return each["HmJ"] < each["HmS"], f"u_E by iterations: {_words(each, 3)}"


def _varies_more(found: Mapping[str, Sections]) -> Verdict:
    spread = {name: own["deviation"]["step"] for name, own in found.items()}
    return all(spread["Cm"] < v for name, v in spread.items() if name != "Cm"), _words(spread)


def _same_rest(found: Mapping[str, Sections]) -> Verdict:
    rest = _times(found, "rest")
    return max(rest.values()) / min(rest.values()) - 1 < ALIKE, _words(rest)


CLAIMS: dict[str, Callable[[Mapping[str, Sections]], Verdict]] = {
    "M, h and M^-1 depend on the coordinates alone": _coordinates_alone,
    "M, h and M^-1 take longer in minimal than in maximal coordinates": _fewer_in_maximal,
    "Extended coordinates gain no speed over minimal ones": _less("step", "HmJ", "HEJD"),
    "The share of u_E is very small for compliant contact": _small_for_compliant,
    "u_E takes longer with more coordinates": _grows_with_coordinates,
    "An iteration of JOR is cheaper than one of SOR in minimal coordinates": _cheaper_iteration,
    "With many bilateral constraints the direct solution is faster than the prox": _less(
        "u_E", "HMJD", "HMJP"
    ),
    "A compliant step takes less time than a hard one": _less("step", "Cm", "HmJ"),
    "The rest does not depend on the configuration": _same_rest,
    "The step's time varies more with hard contact": _varies_more,
}
