"""Figure 6: HOAP-1 dropped on springs, with the conventional and the proposed damper."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tarsus.contact.membrane import Damper, Phase
from tarsus.control.gaits.stand import Stand
from tarsus.dynamics.robot import Robot
from tarsus.morphology.rigid_robot import lock_joints
from tarsus.simulation.recording.divergence import Diverged
from tarsus.simulation.simulation import Simulation
from tarsus.viewer.colors import COLORS
from tarsus_papers.base import Exhibit, Finding, Row, Task
from tarsus_papers.sugihara2006.configurations import (
    ARMATURES,
    STEPPER,
    falling_floor,
    gains,
    hoap1,
    sole_points,
)
from tarsus_papers.sugihara2006.drop_results import (
    ALL_STEPS,
    DAMPERS,
    HEIGHT,
    LEAP,
    PHASES,
    POINTS,
    SECONDS,
    STEPS,
    Fall,
    check_drops,
    law_name,
    tables,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LOCATION = "section IV-B, Fig. 6"


class Drop(Exhibit):
    """Drops with both dampers and signs, five time steps, 8 to 16 vertices and four armatures."""

    name: ClassVar[str] = "drop"
    title: ClassVar[str] = "Figure 6: the robot dropped from 50 mm"
    location: ClassVar[str] = LOCATION
    description: ClassVar[str] = (
        "HOAP-1 falls 50 mm onto springs of 4410 N/m and dampers of 282 N s/m. The paper's"
        " Eqns. (4) and (13) contradict each other in the sign of the damper: by (4) it acts"
        " while a point moves deeper (compression), by the sign of the force in (13) while it"
        " moves out (release). Both are run, with the conventional damper (13) and the proposed"
        " one (14). The paper does not say how the robot holds its joints: here they are either"
        " locked or held by servos, with several estimates of the rotor inertia. Rule, fixed"
        " before the run: a robot leaps if its trunk rises more than 5 mm, a tenth of the drop,"
        " above its standing height after landing."
    )
    caption: ClassVar[str] = (
        "Left: height of the trunk above standing, joints locked, 8 vertices, dt 2.5 ms, the"
        " paper's larger step; middle: kinetic and potential energy above standing; right: height"
        " of the leap by step, hollow where the run diverges."
    )

    def measure(self, task: Task) -> Finding:
        steps = STEPS if task.quick else ALL_STEPS
        task.on_progress(f"joints locked, {len(steps)} steps")
        flat = {
            (damper, phase, dt): _locked_fall(4, damper, phase, dt)
            for damper in DAMPERS
            for phase in PHASES
            for dt in steps
        }
        # more vertices, and servos instead of locked joints
        many, servoed = {}, {}
        if not task.quick:
            task.on_progress("more vertices")
            many = {
                (damper, phase, points): _locked_fall(points, damper, phase, STEPS[-1])
                for damper in DAMPERS
                for phase in PHASES
                for points in POINTS
            }
        for armature in ARMATURES if not task.quick else ():
            task.on_progress(f"joints held by servos, rotors of {armature:g} kg m^2")
            servoed |= _servoed_falls(armature)
        # results
        data = _data(flat, many, servoed)
        return Finding(
            data, _build_rows(flat), tables(flat, many, servoed), check_drops(flat, servoed)
        )

    def draw(self, data: Mapping[str, Any]) -> Figure:
        from matplotlib.figure import Figure

        # height and energy over time, leaps by step
        figure = Figure(figsize=(10, 3.6), layout="constrained")
        left, middle, right = figure.subplots(1, 3)
        for color, (label, fall) in zip(COLORS, data["at_2.5_ms"].items(), strict=False):
            left.plot(fall["time"], 1e3 * np.array(fall["height"]), color=color, lw=1.2)
            middle.plot(fall["time"], fall["energy"], color=color, lw=1.2)
            series = data["leaps"][label]
            steps = [1e3 * float(dt) for dt in series]
            known = [
                (dt, 1e3 * leap)
                for dt, leap in zip(steps, series.values(), strict=True)
                if leap is not None
            ]
            right.plot(*zip(*known, strict=True), "o-", color=color, ms=4, lw=1.2, label=label)
            diverged = [dt for dt, leap in zip(steps, series.values(), strict=True) if leap is None]
            right.plot(
                diverged, [DIVERGED_HEIGHT] * len(diverged), "o", mfc="none", color=color, ms=5
            )
        # scales and labels
        right.axhline(1e3 * LEAP, color="#999999", lw=0.8, ls=":")
        right.set_yscale("symlog", linthresh=1.0)
        right.set_ylim(-0.2, 3 * DIVERGED_HEIGHT)
        right.legend(frameon=False, fontsize=8, loc="upper left")
        for ax, title, label in (
            (left, "trunk above standing / mm", "time / s"),
            (middle, "energy above standing / J", "time / s"),
            (right, "leap / mm", "step / ms"),
        ):
            ax.set_title(title, fontsize=10)
            ax.set_xlabel(label)
            ax.spines[["top", "right"]].set_visible(False)
        return figure


DIVERGED_HEIGHT = 2e4  # mm: where diverged runs are drawn


@cache
def _locked_robot(points: int) -> Robot:
    robot = hoap1()
    q = np.array(robot.keyframes["stand"])
    return Robot.of(lock_joints(robot, q, sole_points(robot, points)))


def _locked_fall(points: int, damper: Damper, phase: Phase, dt: float) -> Fall:
    """Drop the robot with locked joints and a number of vertices per sole."""
    standing = float(hoap1().keyframes["stand"][2])
    robot = _locked_robot(points)
    simulation = Simulation(robot, falling_floor(damper, phase), STEPPER, dt=dt, contacts="all")
    simulation.set(q=[0, 0, standing + HEIGHT, 1, 0, 0, 0])
    return _run_drop(simulation, standing)


def _servoed_falls(armature: float) -> dict[tuple[Damper, Phase, float, float], Fall]:
    """Drop the robot in its standing posture with servos; one compiled step for both step sizes."""
    robot, falls = hoap1(armature), {}
    q = np.array(robot.keyframes["stand"])
    controller = Stand(**gains(robot, STEPS[-1]))
    for damper in DAMPERS:
        for phase in PHASES:
            for dt in STEPS:
                floor = falling_floor(damper, phase)
                simulation = Simulation(
                    robot, floor, STEPPER, controller=controller, dt=dt, contacts="feet"
                )
                simulation.set(q=q + HEIGHT * np.eye(len(q))[2])
                falls[damper, phase, dt, armature] = _run_drop(simulation, float(q[2]))
    return falls


def _run_drop(simulation: Simulation, standing: float) -> Fall:
    """Run the drop to its end, or until it diverges."""
    try:
        log, finite = simulation.run(SECONDS), True
    except Diverged as stopped:
        if stopped.log is None:
            return Fall(None, *[np.zeros(0)] * 4)
        log, finite = stopped.log, False
    height = log["q"].values[:, 2] - standing
    pressing = (log["force_contact"].values[..., 0] > 0).sum(axis=1)
    landed = int(np.argmax(pressing > 0))
    standing_energy = float(log["energy_start"]) - simulation.robot.mass * 9.81 * HEIGHT
    energy = (log["kinetic_energy"] + log["potential_energy"]).values - standing_energy
    leap = max(float(height[landed + 1 :].max(initial=0.0)), 0.0) if finite else None
    return Fall(leap, log["time"].values, height, energy, pressing)


def _data(flat: dict, many: dict, servoed: dict) -> dict[str, Any]:
    """Return series at the paper's larger step, and all leaps."""
    series, leaps = {}, {}
    for (damper, phase, dt), fall in flat.items():
        leaps.setdefault(law_name(damper, phase), {})[f"{dt:g}"] = fall.leap
        if dt == STEPS[-1]:
            series[law_name(damper, phase)] = {
                key: np.round(getattr(fall, key), 6)
                for key in ("time", "height", "energy", "closed")
            }
    return {
        "at_2.5_ms": series,
        "leaps": leaps,
        "vertices": {f"{law_name(d, p)}, {2 * n}": fall.leap for (d, p, n), fall in many.items()},
        "servoed": {
            f"{law_name(d, p)}, {dt:g} s, {a:g} kg m^2": fall.leap
            for (d, p, dt, a), fall in servoed.items()
        },
    }


def _build_rows(flat: dict) -> list[Row]:
    """Return the largest step without a leap for each law."""
    rows = []
    for damper in DAMPERS:
        for phase in PHASES:
            steps = [dt for (d, p, dt) in flat if (d, p) == (damper, phase)]
            stable = [dt for dt in steps if flat[damper, phase, dt].verdict == "stays"]
            below = [dt for dt in stable if all(s in stable for s in steps if s <= dt)]
            published = {"conventional": 1.0, "timestep": 2.5}[damper]
            rows.append(
                Row(
                    f"{law_name(damper, phase)}: largest step tried without a leap",
                    published,
                    1e3 * max(below) if below else None,
                    "ms",
                    LOCATION,
                    "the paper tried 1 and 2.5 ms" + ("" if below else "; it leaps at all of them"),
                )
            )
    return rows
