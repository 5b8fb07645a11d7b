"""Time and iterations of a step against degrees of freedom and contacts (beyond Gehring 2014)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from time import process_time, thread_time
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tarsus.contact.laws.moreau import Moreau
from tarsus.dynamics import loop_constraints
from tarsus.dynamics.robot import Robot
from tarsus.program.run.tiers import optimize_everything
from tarsus.simulation.simulation import Simulation
from tarsus.viewer.colors import COLORS
from tarsus_papers.base import Check, Exhibit, Finding, Row, Table, Task
from tarsus_papers.gehring2014.centipede import centipede
from tarsus_papers.gehring2014.configurations import DT, MU, PUBLISHED, TOLERANCE, create_stand
from tarsus_papers.gehring2014.runs import initial_worlds

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KINDS = ("minimal", "extended", "maximal")
BY_LEGS = tuple((legs, 1) for legs in (2, 4, 6, 8, 12, 16))  # legs, contact points per foot
BY_POINTS = ((4, 2), (4, 4), (8, 2), (8, 4), (16, 4))
QUICK = ((2, 1), (4, 1), (4, 2))
ALPHA = 0.6
STEPS, ROUNDS = 160, 5
MAX_COMPILE_TIME = 40.0  # s: larger robots than one that took longer are skipped


@dataclass(frozen=True)
class Size:
    """Size of a centipede in one set of coordinates, and the computation time of its step."""

    coordinates: str
    """minimal, extended or maximal."""
    legs: int
    """Number of legs."""
    contacts: int
    """Number of contact points."""
    freedom: int
    """Degrees of freedom."""
    velocities: int
    """Number of velocity coordinates."""
    constraints: int
    """Number of bilateral constraints."""
    compiled: float
    """Processor time to compile, s."""
    step: float
    """Processor time of a step, s."""
    iterations: float
    """Mean iterations per step."""
    converged: float
    """Share of steps that converged [1]."""


class Scaling(Exhibit):
    """Centipedes with 2 to 16 legs in the three sets of coordinates."""

    name: ClassVar[str] = "scaling"
    title: ClassVar[str] = "Scaling: more degrees of freedom, more contacts"
    location: ClassVar[str] = ""
    description: ClassVar[str] = (
        "The paper does not investigate how its method scales. A centipede (a rigid trunk with 2 to"
        f" 16 legs of three hinges) settles with joint servos for {STEPS} steps of 2.5 ms. The"
        f" contact problem is solved by SOR with alpha {ALPHA:g} and tolerance 1e-6, and the"
        " constraints are solved directly (HmS, HESD, HMSD). Times are processor times of one"
        " thread and one world. The degrees of freedom are varied with one contact point per foot,"
        " so that the number of contacts grows with them (6 + 3 legs degrees of freedom, as many"
        " contacts as legs). The contacts are varied with a fixed number of legs and 1, 2 and 4"
        " points per foot. The unknowns are velocities and constraints: a leg has three degrees of"
        " freedom, but eight velocities and five constraints in extended, and eighteen and fifteen"
        " in maximal coordinates. The distribution of the load among the points of a rigid foot is"
        " not unique, which can take the iteration all of its 200 sweeps (last column). Exponents"
        " are fitted by a straight line in logarithmic scales. The generated code grows with the"
        " robot, so that the compilation limits the size: after one that took more than"
        f" {MAX_COMPILE_TIME:g} s of processor time, larger robots are skipped (compiled programs"
        " are loaded from disk in less)."
    )
    caption: ClassVar[str] = (
        "Time of a step against the degrees of freedom with one contact per foot (left), and"
        " against the number of contacts (middle; one line for each number of legs); iterations per"
        " step against the number of contacts (right)."
    )

    def measure(self, task: Task) -> Finding:
        sizes: list[Size] = []
        skipped: list[str] = []
        for kind in KINDS[:1] if task.quick else KINDS:
            slow: list[tuple[int, int]] = []
            for legs, points in QUICK if task.quick else (*BY_LEGS, *BY_POINTS):
                if any(legs >= a and points >= b for a, b in slow):
                    skipped.append(f"{kind}: {legs} legs, {legs * points} contacts")
                    continue
                task.on_progress(f"{kind}, {legs} legs, {points} points per foot")
                sizes.append(measure_size(kind, legs, points, 1 if task.quick else ROUNDS))
                if sizes[-1].compiled > MAX_COMPILE_TIME:
                    slow.append((legs, points))
        exponents = {
            kind: _exponents([s for s in sizes if s.coordinates == kind]) for kind in KINDS
        }
        data = {
            "sizes": [asdict(size) for size in sizes],
            "exponents": exponents,
            "skipped": skipped,
        }
        notes = (
            [f"Skipped because of the compilation time: {'; '.join(skipped)}."] if skipped else []
        )
        return Finding(
            data,
            _build_rows(exponents),
            [_build_table(sizes)],
            _build_checks(sizes, exponents),
            notes,
        )

    def draw(self, data: Mapping[str, Any]) -> Figure:
        from matplotlib.figure import Figure

        # three panels
        sizes = [Size(**size) for size in data["sizes"]]
        figure = Figure(figsize=(9, 3.8), layout="constrained")
        left, middle, right = figure.subplots(1, 3)
        # one color for each set of coordinates
        for color, kind in zip(COLORS, KINDS, strict=False):
            selected = [s for s in sizes if s.coordinates == kind]
            if not selected:
                continue
            # time by degrees of freedom, one contact per leg
            one_point = [s for s in selected if s.contacts == s.legs]
            power = data["exponents"][kind].get("time by freedom")
            label = kind if power is None else f"{kind}, exponent {power:.1f}"
            left.plot(
                [s.freedom for s in one_point],
                [1e6 * s.step for s in one_point],
                "o-",
                color=color,
                ms=4,
                label=label,
            )
            # time by contacts, for a fixed number of legs
            for legs, style in ((4, "o-"), (8, "s--")):
                same = [s for s in selected if s.legs == legs]
                contacts, times = [s.contacts for s in same], [1e6 * s.step for s in same]
                middle.plot(contacts, times, style, color=color, ms=4)
            # iterations by contacts
            right.plot(
                [s.contacts for s in selected],
                [s.iterations for s in selected],
                "o",
                color=color,
                ms=4,
                alpha=0.7,
            )
        # axes
        for ax, label in ((left, "degrees of freedom"), (middle, "contacts"), (right, "contacts")):
            ax.set(xscale="log", yscale="log", xlabel=label)
            ticks = (12, 18, 30, 54) if ax is left else (2, 4, 8, 16, 32)
            ax.set_xticks(ticks, [str(tick) for tick in ticks])
            ax.xaxis.minorticks_off()
            ax.spines[["top", "right"]].set_visible(False)
        # labels and legends
        left.set_ylabel("time of a step / µs")
        left.legend(frameon=False, fontsize=8)
        middle.plot([], [], "o-", color="#7f7f7f", ms=4, label="4 legs")
        middle.plot([], [], "s--", color="#7f7f7f", ms=4, label="8 legs")
        middle.legend(frameon=False, fontsize=8)
        right.set_ylabel("iterations per step")
        right.set_ylim(10, 300)
        return figure


def measure_size(kind: str, legs: int, points: int, rounds: int) -> Size:
    """Measure time and iterations of a step of a settling centipede.

    Both are medians over `rounds` of the mean over all steps.
    """
    # compile
    optimize_everything()
    robot = Robot.of(centipede(legs, points))
    law = Moreau(**PUBLISHED, mu=MU, solver="sor", alpha=ALPHA, T_rel=TOLERANCE, T_abs=TOLERANCE)
    began = process_time()
    simulation = Simulation(robot, law, controller=create_stand(), coordinates=kind, dt=DT)
    compiled = process_time() - began

    # time the same steps several times
    worlds = initial_worlds(simulation)
    start = {
        register.name: worlds.get(register.name) for register in simulation.program.of_kind("state")
    }
    times = []
    for _ in range(rounds):
        for name, value in start.items():
            worlds.set(name, value)
        began = thread_time()
        worlds.advance(STEPS)
        times.append((thread_time() - began) / STEPS)

    # repeat the steps to record the iterations
    for name, value in start.items():
        worlds.set(name, value)
    records = worlds.record(STEPS)
    mechanism = simulation.plan.scene.mechanism
    return Size(
        kind,
        legs,
        legs * points,
        robot.nu,
        mechanism.nu,
        loop_constraints.count_constraints(mechanism),
        compiled,
        median(times),
        float(records["iterations"].mean()),
        float(records["converged"].mean()),
    )


def _exponents(sizes: Sequence[Size]) -> dict[str, float]:
    """Fit exponents of time and iterations in degrees of freedom and in contacts.

    Degrees of freedom vary with one contact per foot, contacts with a fixed number of legs.
    """
    one_point = [s for s in sizes if s.contacts == s.legs]
    exponents = {}
    if len(one_point) > 1:
        freedom, times = [s.freedom for s in one_point], [s.step for s in one_point]
        exponents["time by freedom"] = _exponent(freedom, times)
        exponents["time by unknowns"] = _exponent(
            [s.velocities + s.constraints for s in one_point], times
        )
        exponents["iterations by freedom"] = _exponent(freedom, [s.iterations for s in one_point])
    for legs in (4, 8):
        same = [s for s in sizes if s.legs == legs]
        if len(same) > 1:
            exponents[f"time by contacts, {legs} legs"] = _exponent(
                [s.contacts for s in same], [s.step for s in same]
            )
            exponents[f"iterations by contacts, {legs} legs"] = _exponent(
                [s.contacts for s in same], [s.iterations for s in same]
            )
    return exponents


def _exponent(x: Sequence[float], y: Sequence[float]) -> float:
    """Fit p in log y = p log x + constant by least squares."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def _build_rows(exponents: Mapping[str, Mapping[str, float]]) -> list[Row]:
    return [
        Row(f"{kind}, exponent of {quantity}", None, value, "", "")
        for kind, fitted in exponents.items()
        for quantity, value in fitted.items()
    ]


def _build_table(sizes: Sequence[Size]) -> Table:
    columns = (
        "coordinates", "legs", "contacts", "degrees of freedom", "velocities", "constraints",
        "compilation / s", "step / µs", "iterations per step", "converged steps",
    )  # fmt: skip
    rows = [
        (
            s.coordinates,
            s.legs,
            s.contacts,
            s.freedom,
            s.velocities,
            s.constraints,
            s.compiled,
            1e6 * s.step,
            s.iterations,
            s.converged,
        )
        for s in sizes
    ]
    return Table("Centipedes", columns, rows)


def _build_checks(
    sizes: Sequence[Size], exponents: Mapping[str, Mapping[str, float]]
) -> list[Check]:
    smallest = min(s.converged for s in sizes if s.contacts == s.legs)
    powers = [
        fitted["time by unknowns"] for fitted in exponents.values() if "time by unknowns" in fitted
    ]
    return [
        Check(
            "one contact per foot: 99 % of the steps converge for every size",
            smallest >= 0.99,
            f"at least {100 * smallest:.1f} %",
        ),
        Check(
            "the time of a step grows at most with the cube of the velocities and constraints",
            max(powers) <= 3,
            f"exponent at most {max(powers):.2f}",
        ),
    ]
