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
from tarsus_papers.gehring2014.configurations import DT, MU, PUBLISHED, TOLERANCE, standing
from tarsus_papers.gehring2014.runs import at_start

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KINDS = ("minimal", "extended", "maximal")
BY_LEGS = tuple((legs, 1) for legs in (2, 4, 6, 8, 12, 16))  # legs, contact points a foot
BY_POINTS = ((4, 2), (4, 4), (8, 2), (8, 4), (16, 4))
QUICK = ((2, 1), (4, 1), (4, 2))
ALPHA = 0.6
STEPS, ROUNDS = 160, 5
PATIENCE = 40.0  # s of compilation: what is larger than what took longer is left out


@dataclass(frozen=True)
class Size:
    """One centipede in one set of coordinates: its size, and the cost of a step."""

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
    """Mean iterations a step."""
    converged: float
    """Share of steps that converged [1]."""


class Scaling(Exhibit):
    """Centipedes of 2 to 16 legs in the three sets of coordinates."""

    name: ClassVar[str] = "scaling"
    title: ClassVar[str] = "Scaling: more degrees of freedom, more contacts"
    where: ClassVar[str] = ""
    about: ClassVar[str] = (
        "The paper leaves open how its method scales. A centipede, a rigid trunk on 2 to 16"
        f" legs of three hinges, settles on joint servos for {STEPS} steps of 2.5 ms; the contact"
        f" problem is solved by SOR with alpha {ALPHA:g} to 1e-6, constraints directly (HmS, HESD,"
        " HMSD). Time is the processor's, one thread, one world. Growth with the degrees of"
        " freedom is at one contact point a foot, so contacts grow along (6 + 3 legs degrees, as"
        " many contacts as legs); growth with the contacts is at a fixed number of legs, with 1, 2"
        " and 4 points a foot. Unknowns are velocities and constraints: a leg has three degrees of"
        " freedom, but eight velocities and five constraints in extended, eighteen and fifteen in"
        " maximal coordinates. The points of one rigid foot share its load in ways that the"
        " contact law leaves open, and the iteration may spend all its 200 sweeps on that: the"
        " last column says so. Exponents are those of a straight line through the logarithms. The"
        " code of a step is laid out whole, so it is compilation that ends a row: nothing larger"
        f" is tried once one took over {PATIENCE:g} s of processor time (what is compiled already"
        " is loaded from disk, in less)."
    )
    caption: ClassVar[str] = (
        "Time of a step against the robot's degrees of freedom, one contact a foot (left), and"
        " against the contacts (middle; one line for each number of legs); iterations a step"
        " against the contacts (right)."
    )

    def measure(self, task: Task) -> Finding:
        sizes: list[Size] = []
        left_out: list[str] = []
        for kind in KINDS[:1] if task.quick else KINDS:
            slow: list[tuple[int, int]] = []
            for legs, points in QUICK if task.quick else (*BY_LEGS, *BY_POINTS):
                if any(legs >= a and points >= b for a, b in slow):
                    left_out.append(f"{kind}: {legs} legs, {legs * points} contacts")
                    continue
                task.tell(f"{kind}, {legs} legs, {points} points a foot")
                sizes.append(measure_size(kind, legs, points, 1 if task.quick else ROUNDS))
                if sizes[-1].compiled > PATIENCE:
                    slow.append((legs, points))
        exponents = {
            kind: _exponents([s for s in sizes if s.coordinates == kind]) for kind in KINDS
        }
        data = {
            "sizes": [asdict(size) for size in sizes],
            "exponents": exponents,
            "left_out": left_out,
        }
        notes = [f"Left out, too long to compile: {'; '.join(left_out)}."] if left_out else []
        return Finding(data, _rows(exponents), [_table(sizes)], _checks(sizes, exponents), notes)

    def draw(self, data: Mapping[str, Any]) -> Figure:
        from matplotlib.figure import Figure

        # three panels
        sizes = [Size(**size) for size in data["sizes"]]
        figure = Figure(figsize=(9, 3.8), layout="constrained")
        left, middle, right = figure.subplots(1, 3)
        # each kind of coordinates in its color
        for color, kind in zip(COLORS, KINDS, strict=False):
            own = [s for s in sizes if s.coordinates == kind]
            if not own:
                continue
            # time by degrees of freedom, one contact a leg
            thin = [s for s in own if s.contacts == s.legs]
            power = data["exponents"][kind].get("time by freedom")
            label = kind if power is None else f"{kind}, power {power:.1f}"
            left.plot(
                [s.freedom for s in thin],
                [1e6 * s.step for s in thin],
                "o-",
                color=color,
                ms=4,
                label=label,
            )
            # time by contacts, the legs kept
            for legs, style in ((4, "o-"), (8, "s--")):
                at = [s for s in own if s.legs == legs]
                middle.plot(
                    [s.contacts for s in at], [1e6 * s.step for s in at], style, color=color, ms=4
                )
            # iterations by contacts
            right.plot(
                [s.contacts for s in own],
                [s.iterations for s in own],
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
        right.set_ylabel("iterations a step")
        right.set_ylim(10, 300)
        return figure


def measure_size(kind: str, legs: int, points: int, rounds: int) -> Size:
    """Measure a centipede settling: median over the rounds, mean over the steps."""
    # compile
    optimize_everything()
    robot = Robot.of(centipede(legs, points))
    law = Moreau(**PUBLISHED, mu=MU, solver="sor", alpha=ALPHA, T_rel=TOLERANCE, T_abs=TOLERANCE)
    began = process_time()
    simulation = Simulation(robot, law, controller=standing(), coordinates=kind, dt=DT)
    compiled = process_time() - began

    # time the same steps several times
    worlds = at_start(simulation)
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

    # once more, for the iterations
    for name, value in start.items():
        worlds.set(name, value)
    found = worlds.record(STEPS)
    mechanism = simulation.plan.scene.mechanism
    return Size(
        kind,
        legs,
        legs * points,
        robot.nu,
        mechanism.nu,
        loop_constraints.count(mechanism),
        compiled,
        median(times),
        float(found["iterations"].mean()),
        float(found["converged"].mean()),
    )


def _exponents(sizes: Sequence[Size]) -> dict[str, float]:
    """Return exponents of time and iterations in degrees of freedom and in contacts.

    Degrees of freedom vary at one contact per foot, contacts at a fixed number of legs.
    """
    thin = [s for s in sizes if s.contacts == s.legs]
    found = {}
    if len(thin) > 1:
        found["time by freedom"] = _exponent([s.freedom for s in thin], [s.step for s in thin])
        found["time by unknowns"] = _exponent(
            [s.velocities + s.constraints for s in thin], [s.step for s in thin]
        )
        found["iterations by freedom"] = _exponent(
            [s.freedom for s in thin], [s.iterations for s in thin]
        )
    for legs in (4, 8):
        same = [s for s in sizes if s.legs == legs]
        if len(same) > 1:
            found[f"time by contacts, {legs} legs"] = _exponent(
                [s.contacts for s in same], [s.step for s in same]
            )
            found[f"iterations by contacts, {legs} legs"] = _exponent(
                [s.contacts for s in same], [s.iterations for s in same]
            )
    return found


def _exponent(x: Sequence[float], y: Sequence[float]) -> float:
    """Return p of the least-squares line log y = p log x + constant."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def _rows(exponents: Mapping[str, Mapping[str, float]]) -> list[Row]:
    return [
        Row(f"{kind}, exponent of {what}", None, value, "", "")
        for kind, found in exponents.items()
        for what, value in found.items()
    ]


def _table(sizes: Sequence[Size]) -> Table:
    columns = (
        "coordinates", "legs", "contacts", "degrees of freedom", "velocities", "constraints",
        "to compile / s", "step / µs", "iterations a step", "steps converged",
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


def _checks(sizes: Sequence[Size], exponents: Mapping[str, Mapping[str, float]]) -> list[Check]:
    least = min(s.converged for s in sizes if s.contacts == s.legs)
    powers = [
        found["time by unknowns"] for found in exponents.values() if "time by unknowns" in found
    ]
    return [
        Check(
            "one contact a foot: 99 % of all steps converge, whatever the size",
            least >= 0.99,
            f"at least {100 * least:.1f} %",
        ),
        Check(
            "the time of a step grows no faster than the cube of the velocities and constraints",
            max(powers) <= 3,
            f"at most the power {max(powers):.2f}",
        ),
    ]
