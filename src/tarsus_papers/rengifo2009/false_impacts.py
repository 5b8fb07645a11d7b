"""Figures 13 and 14: false impacts, and the effect of an interpenetration on them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tarsus.viewer.colors import COLORS
from tarsus_papers.base import Check, Exhibit, Finding, Row, Table, Task
from tarsus_papers.rengifo2009.biped_runs import (
    BOUNCING,
    DT,
    EPSILONS,
    FINE,
    FINEST,
    K_V,
    MAX_LOSS,
    MIN_LOAD,
    STEPS,
    BipedRun,
    biped,
    paper_walk,
    run_standing,
    run_walk,
    weight,
)
from tarsus_papers.rengifo2009.bodies import G, power_of_ten

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STANDING, SETTLED = 0.5, 0.2  # s, s
PAPER_EPSILONS = EPSILONS[:2]
MIN_REDUCTION = 10.0  # factor by which the load deviation and the false impacts decrease
PLOTTED = (("40 µs", 0.0), ("40 µs", 1e-6), ("10 µs", 1e-6), ("40 µs", 1e-4))
MAX_STEP = 2 * K_V * 1e-6 / G  # s: 2 k_v epsilon / g
LOCATION = "section V, Figs. 13 and 14"
PLAIN, PRINTED = "repeated", "once"
RUNS = {  # dt, saturation and epsilons of the walks
    "40 µs": (DT, PLAIN, EPSILONS),
    "40 µs, as printed": (DT, PRINTED, EPSILONS),
    "10 µs": (FINE, PLAIN, EPSILONS),
    "10 µs, as printed": (FINE, PRINTED, EPSILONS),
    "4 µs": (FINEST, PLAIN, PAPER_EPSILONS),
    "4 µs, as printed": (FINEST, PRINTED, PAPER_EPSILONS),
}


class FalseImpacts(Exhibit):
    """Standing and walking with and without an interpenetration, at three time steps."""

    name: ClassVar[str] = "false_impacts"
    title: ClassVar[str] = "Figures 13 and 14: false impacts"
    location: ClassVar[str] = LOCATION
    description: ClassVar[str] = (
        "If the contact law itself opens a contact, the point falls back and hits the ground: a"
        " false impact, which does not happen in reality. The paper lets every contact rest at a"
        " depth of ε = 1e-6 m instead of 0 and shows steadier forces. (As printed, p_z converges to"
        " +ε, which by Eqn. (4) is above the ground, where no force acts; ε is interpreted as a"
        " depth.) Here the biped stands on both feet with servos, and walks its five steps. A loss"
        f" of contact counts if it lasts less than {1e3 * MAX_LOSS:g} ms and the foot carried more"
        f" than {100 * MIN_LOAD:g} % of the weight on average in the {1e3 * MAX_LOSS:g} ms before."
        f" In the first {BOUNCING:g} s after a landing, most losses are bounces that follow from"
        " Eqn. (3) with any step (a landing point leaves at √k_p times its depth); later ones are"
        " false impacts. Rules for standing, fixed before the run: some false impacts without ε,"
        f" none with it, and a standard deviation of the load that is {MIN_REDUCTION:g} times"
        " smaller. The rule for walking was set after first runs. Forces are limited consistently,"
        " or once as printed."
    )
    caption: ClassVar[str] = (
        "Normal forces of the four vertices of the right foot in its first stance of the walk:"
        " with ε 0 (Fig. 13), with the paper's ε 1e-6 m (Fig. 14) and steps of 40 and 10 µs, and"
        " with 1e-4 m. Spikes are bounces and, later, false impacts; on the plateaus a vertex has"
        " left the ground for longer and the others carry the foot. The jump at the end is the"
        " landing of the other foot."
    )

    def measure(self, task: Task) -> Finding:
        task.on_progress("standing")
        still = run_standing(PAPER_EPSILONS, STANDING)
        stands = {power_of_ten(eps): _standing(still, k) for k, eps in enumerate(PAPER_EPSILONS)}
        data: dict[str, Any] = {"standing": stands, "walking": {}, "stance": {}}
        stances = {}
        for name, (dt, saturation, epsilons) in () if task.quick else RUNS.items():
            task.on_progress(f"walking, {name}")
            is_paper_walk = (dt, saturation) == (DT, PLAIN)
            run = paper_walk(False) if is_paper_walk else run_walk(epsilons, dt, saturation)
            losses = [run.losses(k) for k in range(len(epsilons))]
            data["walking"][name] = [
                {"bounces": len(bounces), "false": len(later)} for bounces, later in losses
            ]
            stances |= {case: _stance(run, case[1]) for case in PLOTTED if case[0] == name}
            if is_paper_walk:
                data["driven"] = _driving_acceleration(run)
                data["per_step"] = [
                    _count_per_step(run, k, np.concatenate(both)) for k, both in enumerate(losses)
                ]
        if stances:
            titles = {
                case: f"ε = {power_of_ten(case[1])} m, steps of {case[0]}" for case in PLOTTED
            }
            data["stance"] = {title: stances[case] for case, title in titles.items()}
        tables = [] if task.quick else _build_tables(data)
        return Finding(
            data, _build_rows(data), tables, _build_checks(data), _write_notes(data.get("driven"))
        )

    def draw(self, data: Mapping[str, Any]) -> Figure | None:
        if not data["stance"]:
            return None
        from matplotlib.figure import Figure

        figure = Figure(figsize=(10, 8), layout="constrained")
        axes = figure.subplots(len(data["stance"]), 1, sharex=True, sharey=True)
        names = [c.name.removeprefix("R_foot_").replace("_", " ") for c in biped().candidates[:4]]
        for ax, (title, stance) in zip(axes, data["stance"].items(), strict=True):
            time, force = np.array(stance["time"]), np.array(stance["force"])
            for color, name, values in zip(COLORS, names, force.T, strict=False):
                ax.plot(time, values, color=color, lw=0.7, label=name)
            ax.set_title(title, fontsize=10, loc="left")
            ax.set_ylabel("force / N")
            ax.spines[["top", "right"]].set_visible(False)
        axes[0].set_ylim(0, 0.8 * weight())
        legend = axes[0].legend(frameon=False, fontsize=8, ncols=4, loc="upper right")
        for line in legend.get_lines():
            line.set_linewidth(1.5)
        axes[-1].set_xlabel("time / s")
        return figure


def _driving_acceleration(run: BipedRun) -> float:
    """Compute the acceleration (m/s²) of a stance foot without contact, caused by its leg.

    With ε = 0, the depth after a step without force is this acceleration times dt / k_v.
    """
    deepest = max(
        -float(run.height[inside, 0, 4 * foot : 4 * foot + 4].min())
        for foot, inside in run.stances(0)
    )
    return K_V * deepest / run.dt


def _write_notes(driven: float | None) -> list[str]:
    """Explain why the walk needs a larger ε, and why the printed procedure is worse."""
    notes = [
        f"2 k_v ε / g = {1e6 * MAX_STEP:.0f} µs is the longest step with which ε = 1e-6 m keeps a"
        " contact closed that fell with g for one step. This applies to a standing robot. A stance"
        " foot without contact is accelerated by its leg, not by g."
    ]
    if driven is not None:
        notes[0] += (
            f" In the walk with 40 µs and ε 0, the depth after a false impact corresponds to"
            f" {driven / G:.0f} g. The longest step is then {1e6 * MAX_STEP * G / driven:.1f} µs,"
            f" or at 40 µs the smallest ε is {1e6 * DT * driven / (2 * K_V):.0f} µm, in agreement"
            " with the counts for larger ε and smaller steps."
        )
    notes.append(
        "As printed, Eqn. (18) is solved once and tensile forces are set to zero (19) without"
        " updating the other contacts. These then push more than required, so that vertices of a"
        " stance foot lift off with every step size, with and without ε."
    )
    return notes


def _standing(run: BipedRun, world: int) -> dict[str, float]:
    """Compute the false impacts of a run, and the standard deviation of load / weight."""
    load = run.load[round(SETTLED / run.dt) :, world].sum(axis=-1)
    return {"false": len(run.losses(world)[1]), "deviation": float(load.std() / weight())}


def _stance(run: BipedRun, epsilon: float) -> dict[str, Any]:
    """Return the forces of the right foot from its first landing until it lifts off."""
    world = EPSILONS.index(epsilon)
    begin = next(time for time, foot in run.landings(world) if foot == 0)
    end = next(time for time in run.lift_offs(world, 0) if time > begin)
    span = slice(round((begin - 0.02) / run.dt), round(end / run.dt))
    force = run.force[span, world, :4]
    # steps at which a force changes noticeably, and every 50th step
    changes = np.abs(np.diff(force, axis=0)).max(axis=1) > 1.0
    selected = np.arange(len(force)) % 50 == 0
    selected[1:] |= changes
    selected[:-1] |= changes
    time = run.dt * np.arange(span.start, span.stop)
    return {"time": np.round(time[selected], 6), "force": np.round(force[selected], 2)}


def _count_per_step(run: BipedRun, world: int, losses: Any) -> list[int]:
    """Count the losses before the first landing, and from each landing to the next."""
    edges = [0.0, *(time for time, _ in run.landings(world)), np.inf]
    return [int(n) for n in np.histogram(losses, edges)[0]]


def _build_rows(data: Mapping[str, Any]) -> list[Row]:
    rows = []
    for eps, figures in data["standing"].items():
        rows += [
            Row(f"standing {STANDING:g} s, ε {eps} m: false impacts", None, figures["false"], "",
                LOCATION, "the paper's figures show its walk"),
            Row(f"standing, ε {eps} m: deviation of the load", None, figures["deviation"], "",
                LOCATION, f"relative to the weight, after {SETTLED:g} s"),
        ]  # fmt: skip
    if "driven" in data:
        rows.append(
            Row("walking: acceleration of a stance foot without contact", None,
                data["driven"] / G, "g", "", "k_v / dt times its depth after a false impact")
        )  # fmt: skip
    for name, counts in list(data["walking"].items())[:2]:
        rows += [
            Row(f"walking {STEPS} steps, {name}, ε {power_of_ten(eps)} m: false impacts", None,
                count["false"], "", LOCATION, "not given in the paper; other steps below")
            for eps, count in zip(PAPER_EPSILONS, counts, strict=False)
        ]  # fmt: skip
    return rows


def _build_tables(data: Mapping[str, Any]) -> list[Table]:
    columns = ("steps of", *(f"ε {power_of_ten(eps)} m" for eps in EPSILONS))
    tables = []
    for title, key in (
        ("Walking: false impacts in the whole run", "false"),
        (f"Walking: bounces, up to {BOUNCING:g} s after a landing", "bounces"),
    ):
        rows = []
        for name, results in data["walking"].items():
            counts = [result[key] for result in results]
            rows.append((name, *counts, *[None] * (len(EPSILONS) - len(counts))))
        tables.append(Table(title, columns, rows))
    spans = ("before the first", *(f"after step {k + 1}" for k in range(STEPS)))
    rows = [
        (f"ε {power_of_ten(eps)} m", *counts)
        for eps, counts in zip(EPSILONS, data["per_step"], strict=True)
        if len(counts) == len(spans)
    ]
    return [*tables, Table("Walking, 40 µs: both, step by step", ("", *spans), rows)]


def _build_checks(data: Mapping[str, Any]) -> list[Check]:
    without, with_ = data["standing"].values()
    reduction = without["deviation"] / with_["deviation"]
    checks = [
        Check(
            "standing: false impacts with ε 0, none with ε 1e-6 m",
            without["false"] > 0 and with_["false"] == 0,
            f"{without['false']:g} and {with_['false']:g}",
        ),
        Check(
            f"standing: the deviation of the load is {MIN_REDUCTION:g} times smaller with ε",
            reduction >= MIN_REDUCTION,
            f"{reduction:.0f} times",
        ),
    ]
    if data["walking"]:
        coarse = [count["false"] for count in data["walking"]["40 µs"]]
        checks.append(
            Check(
                "walking, 40 µs: with ε 1e-4 m, false impacts decrease more than"
                f" {MIN_REDUCTION:g} times",
                coarse[0] > MIN_REDUCTION * coarse[-1],
                f"{coarse[-1]} of {coarse[0]}",
            )
        )
    return checks
