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
PAPERS = EPSILONS[:2]
LESS = 10.0  # times: so much steadier is the load, so many fewer are the false impacts
SHOWN = (("40 µs", 0.0), ("40 µs", 1e-6), ("10 µs", 1e-6), ("40 µs", 1e-4))  # of the figure
BOUND = 2 * K_V * 1e-6 / G  # s: 2 k_v epsilon / g
WHERE = "section V, Figs. 13 and 14"
PLAIN, PRINTED = "repeated", "once"
RUNS = {  # dt, saturation and epsilons of the walks
    "40 µs": (DT, PLAIN, EPSILONS),
    "40 µs, as printed": (DT, PRINTED, EPSILONS),
    "10 µs": (FINE, PLAIN, EPSILONS),
    "10 µs, as printed": (FINE, PRINTED, EPSILONS),
    "4 µs": (FINEST, PLAIN, PAPERS),
    "4 µs, as printed": (FINEST, PRINTED, PAPERS),
}


class FalseImpacts(Exhibit):
    """Standing and walking with and without an interpenetration, at three time steps."""

    name: ClassVar[str] = "false_impacts"
    title: ClassVar[str] = "Figures 13 and 14: false impacts"
    where: ClassVar[str] = WHERE
    about: ClassVar[str] = (
        "A contact that its own law lifts off falls back and strikes: a false impact, which no"
        " robot knows. The paper lets every contact rest ε = 1e-6 m deep instead of 0 and shows"
        " steadier forces. (As printed, p_z goes to +ε, which by Eqn. (4) is above the ground,"
        " where no force acts; ε is read as a depth.) Here the biped stands on both feet, joints"
        " held by servos, and walks its five steps. A loss is counted if a vertex loses"
        f" its contact for less than {1e3 * MAX_LOSS:g} ms although its foot carried more than"
        f" {100 * MIN_LOAD:g} % of the weight in the mean of the {1e3 * MAX_LOSS:g} ms before."
        f" In the first {BOUNCING:g} s after a landing most of these are bounces that Eqn. (3)"
        " itself makes at any step (a landing point leaves at √k_p times its depth); later ones are"
        " false impacts. Losses for longer are not counted. Rules for standing, fixed before the"
        " run: some without ε, none with it, and a"
        f" standard deviation of the load {LESS:g} times smaller. The rule for walking was set"
        " after first runs. Forces are limited consistently, or once as printed."
    )
    caption: ClassVar[str] = (
        "Normal forces of the four vertices of the right foot in its first stance of the walk:"
        " with ε 0 (Fig. 13), with the paper's ε 1e-6 m (Fig. 14) in steps of 40 and 10 µs, and"
        " with 1e-4 m. Needles are bounces and, later, false impacts; on the plateaus a vertex has"
        " left the ground for longer and the foot stands on the others. The jump at the end is the"
        " other foot's landing."
    )

    def measure(self, task: Task) -> Finding:
        task.tell("standing")
        still = run_standing(PAPERS, STANDING)
        stands = {power_of_ten(eps): _standing(still, k) for k, eps in enumerate(PAPERS)}
        data: dict[str, Any] = {"standing": stands, "walking": {}, "stance": {}}
        stances = {}
        for name, (dt, saturation, epsilons) in () if task.quick else RUNS.items():
            task.tell(f"walking, {name}")
            own = (dt, saturation) == (DT, PLAIN)
            run = paper_walk(False) if own else run_walk(epsilons, dt, saturation)
            losses = [run.losses(k) for k in range(len(epsilons))]
            data["walking"][name] = [
                {"bounces": len(bounces), "false": len(later)} for bounces, later in losses
            ]
            stances |= {shown: _stance(run, shown[1]) for shown in SHOWN if shown[0] == name}
            if own:
                data["driven"] = _driving_acceleration(run)
                data["per_step"] = [
                    _per_step(run, k, np.concatenate(both)) for k, both in enumerate(losses)
                ]
        if stances:
            titles = {
                shown: f"ε = {power_of_ten(shown[1])} m, steps of {shown[0]}" for shown in SHOWN
            }
            data["stance"] = {title: stances[shown] for shown, title in titles.items()}
        tables = [] if task.quick else _tables(data)
        return Finding(data, _rows(data), tables, _checks(data), _notes(data.get("driven")))

    def draw(self, data: Mapping[str, Any]) -> Figure | None:
        if not data["stance"]:
            return None
        from matplotlib.figure import Figure

        figure = Figure(figsize=(10, 8), layout="constrained")
        axes = figure.subplots(len(data["stance"]), 1, sharex=True, sharey=True)
        names = [c.name.removeprefix("R_foot_").replace("_", " ") for c in biped().candidates[:4]]
        for ax, (title, stance) in zip(axes, data["stance"].items(), strict=True):
            time, force = np.array(stance["time"]), np.array(stance["force"])
            for color, name, own in zip(COLORS, names, force.T, strict=False):
                ax.plot(time, own, color=color, lw=0.7, label=name)
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
    """Return the acceleration (m/s²) with which a leg drives a stance foot without contact.

    With ε = 0, a step without force causes k_v times the depth at which Eqn. (3) then stops the
    foot.
    """
    deepest = max(
        -float(run.height[inside, 0, 4 * foot : 4 * foot + 4].min())
        for foot, inside in run.stances(0)
    )
    return K_V * deepest / run.dt


def _notes(driven: float | None) -> list[str]:
    """Why the walk needs more than the paper's ε, and why the procedure as printed does worse."""
    notes = [
        f"2 k_v ε / g = {1e6 * BOUND:.0f} µs is the longest step at which ε = 1e-6 m still catches"
        " a contact that fell with g for one step; it holds for a robot that stands. A foot in its"
        " stance is not pushed down by g: without its contacts the leg drives it."
    ]
    if driven is not None:
        notes[0] += (
            f" In the walk a false impact at 40 µs and ε 0 ends as deep as {driven / G:.0f} g give,"
            f" so that the bound is {1e6 * BOUND * G / driven:.1f} µs, or at 40 µs an ε of"
            f" {1e6 * DT * driven / (2 * K_V):.0f} µm: the counts for larger ε and smaller steps"
            " agree."
        )
    notes.append(
        "As printed, Eqn. (18) is solved once and pulls are dropped (19) without telling the other"
        " contacts, which then push more than the accelerations wanted: vertices of a stance foot"
        " are thrown off at every step tried, with ε and without."
    )
    return notes


def _standing(run: BipedRun, world: int) -> dict[str, float]:
    """Return false impacts of the whole run, and standard deviation of load / weight at its end."""
    load = run.load[round(SETTLED / run.dt) :, world].sum(axis=-1)
    return {"false": len(run.losses(world)[1]), "deviation": float(load.std() / weight())}


def _stance(run: BipedRun, epsilon: float) -> dict[str, Any]:
    """Return the forces of the right foot from its first landing until it lifts off."""
    world = EPSILONS.index(epsilon)
    begin = next(time for time, foot in run.landings(world) if foot == 0)
    end = next(time for time in run.lift_offs(world, 0) if time > begin)
    span = slice(round((begin - 0.02) / run.dt), round(end / run.dt))
    force = run.force[span, world, :4]
    # steps at which a force changes by more than a little, and few of the others
    moved = np.abs(np.diff(force, axis=0)).max(axis=1) > 1.0
    kept = np.arange(len(force)) % 50 == 0
    kept[1:] |= moved
    kept[:-1] |= moved
    time = run.dt * np.arange(span.start, span.stop)
    return {"time": np.round(time[kept], 6), "force": np.round(force[kept], 2)}


def _per_step(run: BipedRun, world: int, losses: Any) -> list[int]:
    """Count the losses before the first landing, and from each landing to the next."""
    edges = [0.0, *(time for time, _ in run.landings(world)), np.inf]
    return [int(n) for n in np.histogram(losses, edges)[0]]


def _rows(data: Mapping[str, Any]) -> list[Row]:
    rows = []
    for eps, found in data["standing"].items():
        rows += [
            Row(f"standing {STANDING:g} s, ε {eps} m: false impacts", None, found["false"], "",
                WHERE, "the paper's figures are of its walk"),
            Row(f"standing, ε {eps} m: deviation of the load", None, found["deviation"], "", WHERE,
                f"by the weight, after {SETTLED:g} s"),
        ]  # fmt: skip
    if "driven" in data:
        rows.append(
            Row("walking: a stance foot without its contacts is driven down by", None,
                data["driven"] / G, "g", "", "k_v times its depth after a false impact, by dt")
        )  # fmt: skip
    for name, counts in list(data["walking"].items())[:2]:
        rows += [
            Row(f"walking {STEPS} steps, {name}, ε {power_of_ten(eps)} m: false impacts", None,
                count["false"], "", WHERE, "no number is printed; other steps below")
            for eps, count in zip(PAPERS, counts, strict=False)
        ]  # fmt: skip
    return rows


def _tables(data: Mapping[str, Any]) -> list[Table]:
    columns = ("steps of", *(f"ε {power_of_ten(eps)} m" for eps in EPSILONS))
    tables = []
    for title, key in (
        ("Walking: false impacts in the whole run", "false"),
        (f"Walking: bounces, up to {BOUNCING:g} s after a landing", "bounces"),
    ):
        rows = []
        for name, found in data["walking"].items():
            counts = [count[key] for count in found]
            rows.append((name, *counts, *[None] * (len(EPSILONS) - len(counts))))
        tables.append(Table(title, columns, rows))
    spans = ("before the first", *(f"after step {k + 1}" for k in range(STEPS)))
    rows = [
        (f"ε {power_of_ten(eps)} m", *counts)
        for eps, counts in zip(EPSILONS, data["per_step"], strict=True)
        if len(counts) == len(spans)
    ]
    return [*tables, Table("Walking, 40 µs: both, step by step", ("", *spans), rows)]


def _checks(data: Mapping[str, Any]) -> list[Check]:
    without, with_ = data["standing"].values()
    calmer = without["deviation"] / with_["deviation"]
    checks = [
        Check(
            "standing: false impacts with ε 0, none with ε 1e-6 m",
            without["false"] > 0 and with_["false"] == 0,
            f"{without['false']:g} and {with_['false']:g}",
        ),
        Check(
            f"standing: the load deviates {LESS:g} times less with ε",
            calmer >= LESS,
            f"{calmer:.0f} times",
        ),
    ]
    if data["walking"]:
        coarse = [found["false"] for found in data["walking"]["40 µs"]]
        checks.append(
            Check(
                f"walking, 40 µs: ε 1e-4 m leaves less than a {LESS:g}th of the false impacts",
                coarse[0] > LESS * coarse[-1],
                f"{coarse[-1]} of {coarse[0]}",
            )
        )
    return checks
