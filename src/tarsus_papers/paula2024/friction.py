"""Readings of Eqns. (34) and (38) and of three numbers of Table I, and their effects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from tarsus.contact.laws.hertz import K_TABLE, Hertz
from tarsus.simulation.simulation import Simulation
from tarsus.viewer.colors import COLORS
from tarsus_papers.base import Check, Exhibit, Finding, Table, Task
from tarsus_papers.paula2024.walk import (
    DT,
    GAIT,
    SETTING,
    STEPPER,
    cheetah,
    walk_duration,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]
SPEEDS, CHECKED = (0.2, 0.4), 0.4  # m/s that the gait is told, and where the rule holds
SAMPLE = 0.01  # s between two looks at the feet and the trunk
SUNK = 0.05  # m that the feet sink more than, with K in SI units
SAME = 0.05  # of the way: how far Table I's velocities may change it


@dataclass(frozen=True)
class Reading:
    """One reading of the paper: stiffness (N/m^e), v_s and v_d (m/s), and friction axes."""

    name: str
    K: float = K_TABLE
    v_s: float = 0.35
    v_d: float = 0.7
    axes: Literal["together", "apart"] = "together"


OURS = Reading("ours")
TABLE = Reading("v_s, v_d of Table I", v_s=1e-4, v_d=2e-4)
SI = Reading("K in SI units", K=1e4)
APART = Reading("x and y apart, as in (38)", axes="apart")
LITERAL = Reading("apart, with v_s, v_d of Table I", v_s=1e-4, v_d=2e-4, axes="apart")
READINGS = (OURS, TABLE, SI, APART, LITERAL)


class Friction(Exhibit):
    """The walk under each reading of the contact model."""

    name: ClassVar[str] = "friction"
    title: ClassVar[str] = "Contact: how the formulas and Table I are read"
    where: ClassVar[str] = "Eqns. (34)-(38), Table I"
    about: ClassVar[str] = (
        "The law takes Eqn. (38) along the slip instead of for x and y apart (its option axes=apart"
        " is the formula to the letter), reads K = 1e4 with the depth in millimeters, and has"
        " v_s = 0.35 m/s and v_d = 0.7 m/s where Table I has 0.1 and 0.2 mm/s. Here the walk is"
        " made with each reading. With Table I's velocities the friction is so steep that a step of"
        " 0.1 ms overshoots at rest, and the feet chatter."
    )
    caption: ClassVar[str] = (
        f"x of the trunk with each reading, gait told {CHECKED:g} m/s. All but K in SI units lie"
        " nearly on each other."
    )

    def measure(self, task: Task) -> Finding:
        seconds = walk_duration(task.quick)
        readings = [r for r in READINGS if not (task.quick and r.axes == "apart")]
        found: dict[str, WalkResult] = {}
        for axes in dict.fromkeys(reading.axes for reading in readings):
            group = [reading for reading in readings if reading.axes == axes]
            task.tell(f"axes {axes}: {', '.join(reading.name for reading in group)}")
            found |= _walk(group, seconds)
        lines = [
            (name, *walked.way, 1e3 * float(walked.depth.max())) for name, walked in found.items()
        ]
        ways = (f"way along x, told {speed:g} m/s / m" for speed in SPEEDS)
        columns = ("reading", *ways, "deepest foot / mm")
        # the steep friction is judged over the whole walk alone
        checks = [_sinks(found)] + ([] if task.quick else [_same_way(found)])
        at = SPEEDS.index(CHECKED)
        return Finding(
            {
                "time": SAMPLE * np.arange(1, 1 + round(seconds / SAMPLE)),
                "x": {name: walked.path[:, at] for name, walked in found.items()},
            },
            (),
            [Table(f"The walk of {seconds:g} s with each reading", columns, lines)],
            checks,
            [SETTING],
        )

    def draw(self, data: Mapping[str, Any]) -> Figure:
        from matplotlib.figure import Figure

        figure = Figure(figsize=(9, 3.6), layout="constrained")
        ax = figure.subplots()
        styles = ("-", "--", "-", "-.", ":")
        for color, style, (name, path) in zip(COLORS, styles, data["x"].items(), strict=False):
            ax.plot(data["time"], path, style, color=color, lw=1.6, label=name)
        ax.set_xlabel("time / s")
        ax.set_ylabel("x of the trunk / m")
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False, fontsize=9)
        return figure


@dataclass(frozen=True, eq=False)
class WalkResult:
    """Results of one walk at each of `SPEEDS`.

    Attributes
    ----------
    path : ndarray of shape (samples, speeds)
        Position of the trunk along x in m.
    depth : ndarray of shape (speeds,)
        Largest depth of a foot in m.
    """

    path: Array
    depth: Array

    @property
    def way(self) -> list[float]:
        """Final position along x in m."""
        return self.path[-1].tolist()


def _walk(readings: list[Reading], seconds: float) -> dict[str, WalkResult]:
    """Simulate one world for each reading and speed."""
    count = len(readings) * len(SPEEDS)
    values = {
        name: np.repeat([getattr(r, name) for r in readings], len(SPEEDS))
        for name in ("K", "v_s", "v_d")
    }
    law, robot = replace(Hertz(axes=readings[0].axes), **values), cheetah()
    worlds = Simulation(robot, law, STEPPER, controller=GAIT, dt=DT, worlds=count)
    worlds.set(command={"speed": np.tile(SPEEDS, len(readings))})
    # what the trunk and the feet do
    path, depth = [], np.zeros(count)
    for _ in range(round(seconds / SAMPLE)):
        worlds.advance(SAMPLE)
        path.append(worlds.q[:, 0])
        for foot in robot.candidates:
            depth = np.maximum(depth, foot.radius - robot.position(worlds.q, foot.name)[:, 2])
    ways, places = np.array(path), np.arange(count).reshape(-1, len(SPEEDS))
    return {
        reading.name: WalkResult(ways[:, at], depth[at])
        for reading, at in zip(readings, places, strict=True)
    }


def _sinks(found: Mapping[str, WalkResult]) -> Check:
    depth = float(found[SI.name].depth.min())
    return Check(
        f"with K in SI units the feet sink by more than {1e3 * SUNK:g} mm",
        depth > SUNK,
        f"{1e3 * depth:.0f} mm",
    )


def _same_way(found: Mapping[str, WalkResult]) -> Check:
    at = SPEEDS.index(CHECKED)
    own, table = found[OURS.name].way[at], found[TABLE.name].way[at]
    changed = abs(table - own) / own
    return Check(
        f"told {CHECKED:g} m/s, v_s and v_d of Table I change the way by less than"
        f" {100 * SAME:g} %",
        changed < SAME,
        f"{100 * changed:.1f} %",
    )
