"""Scenarios 1 and 2: contact forces, impulsive forces and center of mass (Ogunsola, Results)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tarsus.robots.hyq import TORQUE
from tarsus.viewer.colors import COLORS
from tarsus_papers.base import Check, Exhibit, Finding, Row, Table, Task
from tarsus_papers.ogunsola.drops import (
    CASES,
    FEET,
    KD,
    KP,
    TILTED_GROUND,
    TILTED_TRUNK,
    Array,
    G,
    Scenario,
    clearances,
    hyq,
    normal,
    start,
)
from tarsus_papers.ogunsola.outcome import DropOutcome
from tarsus_papers.ogunsola.watch import STANCE, DropRun, drops, worlds

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PLACE = "section Results"
AXES = "xyz"
SHOWN = 0.005  # of the largest impulse: smaller ones are not drawn
SETTINGS = (
    "The paper states neither posture, controller, restitution, step nor any number beyond heights"
    " and angles, and its figures carry no readable scale: HyQ starts at rest in its published"
    f" stand posture; its legs are free, or held by a servo (kp {KP:g} N m/rad, kd {KD:g} N m"
    " s/rad); both e 0 and e 0.5, without friction as in the paper and with mu 0.6."
)


class _Drop(Exhibit):
    """A scenario."""

    where: ClassVar[str] = PLACE
    scenario: ClassVar[Scenario]

    def measure(self, task: Task) -> Finding:
        # every case of this scenario
        task.tell("16 drops in one batch")
        run, chosen = drops(task.quick), worlds(CASES, self.scenario.name)
        found = {k: DropOutcome.of(run, k, CASES[k]) for k in chosen}
        # what the picture shows: without friction and rebound, legs free and held
        shown = [k for k in chosen if CASES[k].mu == 0 and CASES[k].e == 0]
        data = {
            "time": run.time,
            "feet": FEET,
            "cases": {CASES[k].name: _curves(run, k) for k in shown},
        }
        checks = _landings(found) + self.others(found, task.quick)
        return Finding(data, self.rows(found), _tables(found), checks, self.notes(found))

    def rows(self, found: Mapping[int, DropOutcome]) -> list[Row]:
        """The paper's settings beside those of the run, and closed forms."""
        # what was set, read back from the start, and what was measured
        scenario, robot = self.scenario, hyq()
        q, up = start(robot, scenario), normal(scenario.ground)
        height = float(clearances(robot, q, up).min() / up[2])
        angle = float(np.rad2deg(2 * np.arcsin(q[5])))
        free, held = (found[k] for k in found if CASES[k].mu == 0 and CASES[k].e == 0)
        turned = scenario.trunk or scenario.ground
        what = "trunk" if scenario.trunk else "ground"
        measured = angle if scenario.trunk else float(np.rad2deg(np.arctan2(-up[0], up[2])))
        return [
            Row("lowest foot above the ground", scenario.height, height, "m", PLACE),
            Row(f"{what} turned about y", float(np.rad2deg(turned)), measured, "deg", PLACE),
            Row(
                "first landing", None, scenario.fall + free.landing, "s", "",
                f"closed form sqrt(2 h / g) = {scenario.fall:.6f} s",
            ),
            Row(
                "sum of the first impulses, e 0", None, free.first, "N s", "",
                f"closed form, Eqn. (4): {free.expected:.6f} N s",
            ),
            Row(
                "mean acceleration along the ground, held legs, mu 0",
                None, held.gained, "m/s²", "",
                f"closed form g sin {np.rad2deg(scenario.ground):g}° ="
                f" {G * np.sin(scenario.ground):.6f} m/s²",
            ),
        ]  # fmt: skip

    def others(self, found: Mapping[int, DropOutcome], quick: bool) -> list[Check]:
        """Checks of this scenario alone."""
        raise NotImplementedError

    def notes(self, found: Mapping[int, DropOutcome]) -> list[str]:
        """What must be known to read it."""
        loudest = max(found[k].torque for k in found)
        lost = sum(found[k].unconverged for k in found)
        return [
            SETTINGS,
            f"Held legs need up to {loudest:,.0f} N m; HyQ's motors have {TORQUE:g} N m, with which"
            " the legs give way. The paper names no limit, so there is none here. Joints have no"
            " stops: free legs fold beyond their range after about 0.05 s.",
            f"{lost} steps of all eight cases did not converge: bounces that come closer and closer"
            " end in one plain step after 100 of them, and friction's sweeps may not settle where"
            " legs fold or jam.",
        ]

    def draw(self, data: Mapping[str, Any]) -> Figure:
        from matplotlib.figure import Figure

        # a column for each case, three panels
        figure = Figure(figsize=(9, 7.5), layout="constrained")
        axes = figure.subplots(3, len(data["cases"]), sharex=True, sharey="row", squeeze=False)
        for column, (name, curves) in zip(axes.T, data["cases"].items(), strict=True):
            _panels(column, np.asarray(data["time"]), curves, data["feet"])
            column[0].set_title(f"legs {name}", loc="left", fontsize=10)
            column[2].set_xlabel("time / s")
        labels = ("contact force / N", "impulsive force, feet / (N s)", "center of mass / m")
        for ax, label in zip(axes[:, 0], labels, strict=True):
            ax.set_ylabel(label)
        for ax in axes[:, -1]:
            ax.legend(frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(1, 0.5))
        return figure


class Scenario1(_Drop):
    """The trunk turned, the ground level."""

    name: ClassVar[str] = "scenario1"
    title: ClassVar[str] = "Scenario 1: feet 1 m up, trunk turned by 5 degrees"
    scenario: ClassVar[Scenario] = TILTED_TRUNK
    about: ClassVar[str] = (
        "HyQ is released with its feet 1 m above level ground and its trunk rotated by 5 degrees"
        " about the y-axis. The fore feet land first, then the hind feet; each landing is an impact"
        " by Eqn. (4), between them contact forces follow from the LCP (3). Without friction"
        " nothing pushes the robot sideways, so its center of mass falls straight down whatever"
        " the legs do."
    )
    caption: ClassVar[str] = (
        "Contact forces, impulsive forces and position of the center of mass over time, for"
        " scenario 1, without friction and rebound; left with free legs, right with held ones. Left"
        " legs are drawn solid and as circles. Not drawn: impulses below 0.5 % of the largest, and"
        " those of knees and trunk."
    )

    def others(self, found: Mapping[int, DropOutcome], quick: bool) -> list[Check]:
        free = [w for k, w in found.items() if CASES[k].mu == 0 and not CASES[k].held]
        held = [w for k, w in found.items() if CASES[k].mu == 0 and CASES[k].held]
        far, other = (max(w.sideways for w in group) for group in (free, held))
        return [
            Check(
                "free legs, no friction: the center of mass moves sideways by less than 1e-6 m",
                far < 1e-6, f"{far:.1e} m",
            ),
            Check(
                "held legs, no friction: by less than 1e-5 m (first order in dt)",
                other < 1e-5, f"{other:.1e} m",
            ),
        ]  # fmt: skip


class Scenario2(_Drop):
    """The ground inclined."""

    name: ClassVar[str] = "scenario2"
    title: ClassVar[str] = "Scenario 2: feet 0.5 m above ground tilted by 5 degrees"
    scenario: ClassVar[Scenario] = TILTED_GROUND
    about: ClassVar[str] = (
        "HyQ is released with its feet 0.5 m above a surface that is tilted by 5 degrees about"
        " the y-axis. Without friction every force of the ground is normal to it: along the slope"
        " the center of mass gains g sin 5 degrees = 0.8550 m/s² at all times, in flight and in"
        " contact, whatever the legs do. With mu 0.6, above tan 5 degrees, held legs come to rest."
    )
    caption: ClassVar[str] = (
        "Contact forces, impulsive forces and position of the center of mass over time, for"
        " scenario 2, without friction and rebound; otherwise as above."
    )

    def others(self, found: Mapping[int, DropOutcome], quick: bool) -> list[Check]:
        worst = max(w.along for k, w in found.items() if CASES[k].mu == 0)
        checks = [
            Check(
                "no friction: velocity along the slope = g sin 5° t, to 1e-3 m/s; free legs until"
                " they have folded, held ones at all times",
                worst < 1e-3, f"largest error {worst:.1e} m/s",
            )
        ]  # fmt: skip
        if not quick:
            rests = [w for k, w in found.items() if CASES[k].mu and CASES[k].held]
            last = max(w.slowest for w in rests)
            checks.append(
                Check("held legs, mu 0.6: it comes to rest", last < 0.05, f"{last:.1e} m/s, rad/s")
            )
        return checks


def _curves(run: DropRun, world: int) -> dict[str, Any]:
    """What is drawn of one world."""
    strikes, feet = run.struck_in(world), [run.contacts.index(foot) for foot in FEET]
    others = [k for k in range(len(run.contacts)) if k not in feet]
    return {
        "force": run.force[:, world][:, feet],
        "body": run.force[:, world][:, others].sum(axis=1),
        "strike_time": strikes.time,
        "strike_impulse": strikes.impulse[:, feet, 0],
        "com": run.com(world),
    }


def _panels(column: Array, time: Array, curves: Mapping[str, Any], feet: list[str]) -> None:
    """Forces, impulses and center of mass of one case."""
    force, impulse = np.asarray(curves["force"]), np.asarray(curves["strike_impulse"])
    for k, (foot, color) in enumerate(zip(feet, COLORS, strict=False)):
        name = foot.removesuffix("_foot")
        style = "-" if name[0] == "L" else "--"
        column[0].plot(time, force[:, k], style, color=color, lw=1.2, label=name)
        struck = impulse[:, k] > SHOWN * impulse.max(initial=0.0)
        at = np.asarray(curves["strike_time"])[struck]
        column[1].vlines(at, 0, impulse[struck, k], color=color, lw=1)
        marker, fill = ("o", "none") if name[0] == "L" else ("x", color)
        column[1].plot(at, impulse[struck, k], marker, ms=6, mfc=fill, color=color, label=name)
    column[0].plot(time, curves["body"], color=COLORS[7], lw=0.8, label="knees, trunk")
    for axis, color, label in zip(np.asarray(curves["com"]).T, COLORS[4:], AXES, strict=False):
        column[2].plot(time, axis, color=color, label=label)
    for ax in column:
        ax.spines[["top", "right"]].set_visible(False)


def _landings(found: Mapping[int, DropOutcome]) -> list[Check]:
    late = max(abs(w.landing) for w in found.values())
    smooth = {k: w for k, w in found.items() if CASES[k].mu == 0}
    off = max(abs(w.first / w.expected - 1) for w in smooth.values())
    deep = max(w.depth for k, w in smooth.items() if CASES[k].e == 0)
    return [
        Check("first landing at sqrt(2 h / g), to 1e-9 s", late < 1e-9, f"{late:.1e} s off"),
        Check(
            "sum of the first impulses as Eqn. (4), to 1e-10 of it (no friction)",
            off < 1e-10,
            f"{off:.1e} off",
        ),
        Check(
            f"feet less than 1e-6 m deep for {STANCE:g} s after landing (no friction, e 0)",
            deep < 1e-6,
            f"{deep:.1e} m",
        ),
    ]


def _tables(found: Mapping[int, DropOutcome]) -> list[Table]:
    columns = (
        "legs", "first impulses / (N s)", "by Eqn. (4) / (N s)", "strikes",
        "depth in stance / µm", "sideways in stance / µm", "largest torque / (N m)",
        "steps unconverged",
    )  # fmt: skip
    rows = [
        (
            CASES[k].name, w.first, w.expected if CASES[k].mu == 0 else None, w.strikes,
            1e6 * w.depth, 1e6 * w.sideways, w.torque, w.unconverged,
        )
        for k, w in found.items()
    ]  # fmt: skip
    return [Table("Every case", columns, rows)]
