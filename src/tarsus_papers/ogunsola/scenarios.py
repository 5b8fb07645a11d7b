"""Scenarios 1 and 2: contact forces, impulses and center of mass (Ogunsola, Results)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tarsus.robots.hyq import TORQUE
from tarsus.viewer.colors import COLORS
from tarsus_papers.base import Check, Exhibit, Finding, Row, Table, Task
from tarsus_papers.ogunsola.drop_runs import STANCE, DropRun, drops, worlds_of
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
    load_hyq,
    normal,
    start_posture,
)
from tarsus_papers.ogunsola.outcome import DropOutcome

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LOCATION = "section Results"
AXES = "xyz"
MIN_SHOWN = 0.005  # of the largest impulse: smaller ones are not drawn
SETTINGS = (
    "The paper only states heights and angles, not posture, controller, restitution or step, and"
    " its figures have no readable scale. Here HyQ starts at rest in its published standing"
    f" posture. Its legs are free, or held by a servo (kp {KP:g} N m/rad, kd {KD:g} N m s/rad)."
    " All cases are run with e 0 and 0.5, without friction as in the paper and with mu 0.6."
)


class _Drop(Exhibit):
    """Base class of the two scenarios."""

    location: ClassVar[str] = LOCATION
    scenario: ClassVar[Scenario]

    def measure(self, task: Task) -> Finding:
        # all cases of this scenario
        task.on_progress("16 drops in one batch")
        run, chosen = drops(task.quick), worlds_of(CASES, self.scenario.name)
        outcomes = {k: DropOutcome.of(run, k, CASES[k]) for k in chosen}
        # for the picture: no friction and no rebound, legs free and held
        shown = [k for k in chosen if CASES[k].mu == 0 and CASES[k].e == 0]
        data = {
            "time": run.time,
            "feet": FEET,
            "cases": {CASES[k].name: _curves(run, k) for k in shown},
        }
        checks = _landings(outcomes) + self.scenario_checks(outcomes, task.quick)
        return Finding(
            data, self.rows(outcomes), _build_tables(outcomes), checks, self.notes(outcomes)
        )

    def rows(self, outcomes: Mapping[int, DropOutcome]) -> list[Row]:
        """Return the paper's settings next to those of the run, and closed-form results."""
        # settings read back from the initial state, and measured quantities
        scenario, robot = self.scenario, load_hyq()
        q, up = start_posture(robot, scenario), normal(scenario.ground)
        height = float(clearances(robot, q, up).min() / up[2])
        angle = float(np.rad2deg(2 * np.arcsin(q[5])))
        free, held = (outcomes[k] for k in outcomes if CASES[k].mu == 0 and CASES[k].e == 0)
        angle_set = scenario.trunk or scenario.ground
        rotated = "trunk" if scenario.trunk else "ground"
        measured = angle if scenario.trunk else float(np.rad2deg(np.arctan2(-up[0], up[2])))
        return [
            Row("lowest foot above the ground", scenario.height, height, "m", LOCATION),
            Row(
                f"{rotated} rotated about y",
                *(float(np.rad2deg(angle_set)), measured, "deg", LOCATION),
            ),
            Row(
                "first landing", None, scenario.fall_time + free.landing, "s", "",
                f"closed form sqrt(2 h / g) = {scenario.fall_time:.6f} s",
            ),
            Row(
                "sum of the first impulses, e 0", None, free.first, "N s", "",
                f"closed form, Eqn. (4): {free.expected:.6f} N s",
            ),
            Row(
                "mean acceleration along the ground, held legs, mu 0",
                None, held.acceleration, "m/s²", "",
                f"closed form g sin {np.rad2deg(scenario.ground):g}° ="
                f" {G * np.sin(scenario.ground):.6f} m/s²",
            ),
        ]  # fmt: skip

    def scenario_checks(self, outcomes: Mapping[int, DropOutcome], quick: bool) -> list[Check]:
        """Return the checks specific to this scenario."""
        raise NotImplementedError

    def notes(self, outcomes: Mapping[int, DropOutcome]) -> list[str]:
        """Return remarks needed to read the part."""
        largest_torque = max(outcomes[k].torque for k in outcomes)
        unconverged = sum(outcomes[k].unconverged for k in outcomes)
        return [
            SETTINGS,
            f"Held legs need up to {largest_torque:,.0f} N m; with the {TORQUE:g} N m of HyQ's"
            " motors they collapse. The paper states no limit, so there is none here. Joints have"
            " no limits either: free legs fold beyond their range after about 0.05 s.",
            f"{unconverged} steps of all eight cases did not converge: accumulating bounces end in"
            " an ordinary step after 100 of them, and the sweeps of the friction solver may not"
            " converge where legs fold or jam.",
        ]

    def draw(self, data: Mapping[str, Any]) -> Figure:
        from matplotlib.figure import Figure

        # one column per case, with three panels
        figure = Figure(figsize=(9, 7.5), layout="constrained")
        axes = figure.subplots(3, len(data["cases"]), sharex=True, sharey="row", squeeze=False)
        for column, (name, curves) in zip(axes.T, data["cases"].items(), strict=True):
            _draw_panels(column, np.asarray(data["time"]), curves, data["feet"])
            column[0].set_title(f"legs {name}", loc="left", fontsize=10)
            column[2].set_xlabel("time / s")
        labels = ("contact force / N", "impulse, feet / (N s)", "center of mass / m")
        for ax, label in zip(axes[:, 0], labels, strict=True):
            ax.set_ylabel(label)
        for ax in axes[:, -1]:
            ax.legend(frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(1, 0.5))
        return figure


class Scenario1(_Drop):
    """Scenario with a rotated trunk and level ground."""

    name: ClassVar[str] = "scenario1"
    title: ClassVar[str] = "Scenario 1: feet 1 m high, trunk rotated by 5 degrees"
    scenario: ClassVar[Scenario] = TILTED_TRUNK
    description: ClassVar[str] = (
        "HyQ is released with its feet 1 m above level ground and its trunk rotated by 5 degrees"
        " about the y axis. The fore feet land first, then the hind feet. Each landing is an impact"
        " by Eqn. (4); between impacts the contact forces follow from the LCP (3). Without friction"
        " there is no horizontal force, so the center of mass falls straight down for any motion of"
        " the legs."
    )
    caption: ClassVar[str] = (
        "Contact forces, impulses and position of the center of mass over time for scenario 1,"
        " without friction and rebound, with free legs (left) and held legs (right). Left legs are"
        " drawn as solid lines and circles. Impulses below 0.5 % of the largest, and those of knees"
        " and trunk, are not shown."
    )

    def scenario_checks(self, outcomes: Mapping[int, DropOutcome], quick: bool) -> list[Check]:
        free = [w for k, w in outcomes.items() if CASES[k].mu == 0 and not CASES[k].legs_held]
        held = [w for k, w in outcomes.items() if CASES[k].mu == 0 and CASES[k].legs_held]
        free_motion, held_motion = (max(w.sideways for w in group) for group in (free, held))
        return [
            Check(
                "free legs, no friction: the center of mass moves sideways by less than 1e-6 m",
                free_motion < 1e-6, f"{free_motion:.1e} m",
            ),
            Check(
                "held legs, no friction: by less than 1e-5 m (first order in dt)",
                held_motion < 1e-5, f"{held_motion:.1e} m",
            ),
        ]  # fmt: skip


class Scenario2(_Drop):
    """Scenario with a slope."""

    name: ClassVar[str] = "scenario2"
    title: ClassVar[str] = "Scenario 2: feet 0.5 m above a slope of 5 degrees"
    scenario: ClassVar[Scenario] = TILTED_GROUND
    description: ClassVar[str] = (
        "HyQ is released with its feet 0.5 m above a surface that is tilted by 5 degrees about the"
        " y axis. Without friction all ground forces are normal to it: along the slope the center"
        " of mass accelerates by g sin 5 degrees = 0.8550 m/s² at all times, in flight and in"
        " contact, for any motion of the legs. With mu 0.6, above tan 5 degrees, held legs come to"
        " rest."
    )
    caption: ClassVar[str] = (
        "Contact forces, impulses and position of the center of mass over time for scenario 2,"
        " without friction and rebound; otherwise as above."
    )

    def scenario_checks(self, outcomes: Mapping[int, DropOutcome], quick: bool) -> list[Check]:
        worst = max(w.slope_velocity_error for k, w in outcomes.items() if CASES[k].mu == 0)
        checks = [
            Check(
                "no friction: velocity along the slope = g sin 5° t, to 1e-3 m/s, with free legs"
                " until they have folded and with held legs at all times",
                worst < 1e-3, f"largest error {worst:.1e} m/s",
            )
        ]  # fmt: skip
        if not quick:
            rests = [w for k, w in outcomes.items() if CASES[k].mu and CASES[k].legs_held]
            last = max(w.final_speed for w in rests)
            checks.append(
                Check("held legs, mu 0.6: it comes to rest", last < 0.05, f"{last:.1e} m/s, rad/s")
            )
        return checks


def _curves(run: DropRun, world: int) -> dict[str, Any]:
    """Return the curves of one world."""
    impacts, feet = run.impacts_in(world), [run.contacts.index(foot) for foot in FEET]
    others = [k for k in range(len(run.contacts)) if k not in feet]
    return {
        "force": run.force[:, world][:, feet],
        "body": run.force[:, world][:, others].sum(axis=1),
        "impact_time": impacts.time,
        "impact_impulse": impacts.impulse[:, feet, 0],
        "com": run.com(world),
    }


def _draw_panels(column: Array, time: Array, curves: Mapping[str, Any], feet: list[str]) -> None:
    """Draw forces, impulses and center of mass of one case."""
    force, impulse = np.asarray(curves["force"]), np.asarray(curves["impact_impulse"])
    for k, (foot, color) in enumerate(zip(feet, COLORS, strict=False)):
        name = foot.removesuffix("_foot")
        style = "-" if name[0] == "L" else "--"
        column[0].plot(time, force[:, k], style, color=color, lw=1.2, label=name)
        struck = impulse[:, k] > MIN_SHOWN * impulse.max(initial=0.0)
        impact_times = np.asarray(curves["impact_time"])[struck]
        column[1].vlines(impact_times, 0, impulse[struck, k], color=color, lw=1)
        marker, fill = ("o", "none") if name[0] == "L" else ("x", color)
        column[1].plot(
            impact_times, impulse[struck, k], marker, ms=6, mfc=fill, color=color, label=name
        )
    column[0].plot(time, curves["body"], color=COLORS[7], lw=0.8, label="knees, trunk")
    for axis, color, label in zip(np.asarray(curves["com"]).T, COLORS[4:], AXES, strict=False):
        column[2].plot(time, axis, color=color, label=label)
    for ax in column:
        ax.spines[["top", "right"]].set_visible(False)


def _landings(outcomes: Mapping[int, DropOutcome]) -> list[Check]:
    landing_error = max(abs(w.landing) for w in outcomes.values())
    smooth = {k: w for k, w in outcomes.items() if CASES[k].mu == 0}
    impulse_error = max(abs(w.first / w.expected - 1) for w in smooth.values())
    depth = max(w.depth for k, w in smooth.items() if CASES[k].e == 0)
    return [
        Check(
            "first landing at sqrt(2 h / g), to 1e-9 s",
            landing_error < 1e-9,
            f"error {landing_error:.1e} s",
        ),
        Check(
            "sum of the first impulses by Eqn. (4), to 1e-10, relative (no friction)",
            impulse_error < 1e-10,
            f"error {impulse_error:.1e}",
        ),
        Check(
            f"depth of feet below 1e-6 m for {STANCE:g} s after landing (no friction, e 0)",
            depth < 1e-6,
            f"{depth:.1e} m",
        ),
    ]


def _build_tables(outcomes: Mapping[int, DropOutcome]) -> list[Table]:
    columns = (
        "legs", "first impulses / (N s)", "by Eqn. (4) / (N s)", "impacts",
        "depth in stance / µm", "sideways in stance / µm", "largest torque / (N m)",
        "steps unconverged",
    )  # fmt: skip
    rows = [
        (
            CASES[k].name, w.first, w.expected if CASES[k].mu == 0 else None, w.impacts,
            1e6 * w.depth, 1e6 * w.sideways, w.torque, w.unconverged,
        )
        for k, w in outcomes.items()
    ]  # fmt: skip
    return [Table("All cases", columns, rows)]
