"""Interpretations of Eqns. (34) and (38) and of three values of Table I, and their effects."""

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
    load_cheetah,
    walk_duration,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]
SPEEDS, CHECKED_SPEED = (0.2, 0.4), 0.4  # m/s, commands, and the one that is checked
SAMPLE_INTERVAL = 0.01  # s
MIN_DEPTH = 0.05  # m, depth of the feet with K in SI units
MAX_CHANGE = 0.05  # relative change of the distance by the velocities of Table I


@dataclass(frozen=True)
class Interpretation:
    """Interpretation of the paper: stiffness (N/m^e), v_s and v_d (m/s), and friction axes."""

    name: str
    K: float = K_TABLE
    v_s: float = 0.35
    v_d: float = 0.7
    axes: Literal["together", "separate"] = "together"


OURS = Interpretation("Tarsus")
TABLE = Interpretation("v_s, v_d of Table I", v_s=1e-4, v_d=2e-4)
SI = Interpretation("K in SI units", K=1e4)
SEPARATE = Interpretation("x and y separately, as in (38)", axes="separate")
LITERAL = Interpretation(
    "separately, with v_s, v_d of Table I", v_s=1e-4, v_d=2e-4, axes="separate"
)
INTERPRETATIONS = (OURS, TABLE, SI, SEPARATE, LITERAL)


class Friction(Exhibit):
    """The walk under each interpretation of the contact model."""

    name: ClassVar[str] = "friction"
    title: ClassVar[str] = "Contact: interpretations of the formulas and of Table I"
    location: ClassVar[str] = "Eqns. (34)-(38), Table I"
    description: ClassVar[str] = (
        "The law of Tarsus applies Eqn. (38) along the slip instead of to x and y separately (its"
        " option axes=separate is the literal formula). It uses K = 1e4 with the depth in"
        " millimeters, and v_s = 0.35 m/s and v_d = 0.7 m/s, where Table I gives 0.1 and 0.2 mm/s."
        " Here the walk is simulated with each interpretation. With the velocities of Table I,"
        " friction is so steep that a step of 0.1 ms overshoots at rest, and the feet chatter."
    )
    caption: ClassVar[str] = (
        f"Position x of the trunk with each interpretation, command {CHECKED_SPEED:g} m/s. All"
        " curves nearly coincide, except for K in SI units."
    )

    def measure(self, task: Task) -> Finding:
        seconds = walk_duration(task.quick)
        selected = [r for r in INTERPRETATIONS if not (task.quick and r.axes == "separate")]
        results: dict[str, WalkResult] = {}
        for axes in dict.fromkeys(each.axes for each in selected):
            group = [each for each in selected if each.axes == axes]
            task.on_progress(f"axes {axes}: {', '.join(each.name for each in group)}")
            results |= _walk(group, seconds)
        lines = [
            (name, *result.distances, 1e3 * float(result.depth.max()))
            for name, result in results.items()
        ]
        distances = (f"distance along x, command {speed:g} m/s / m" for speed in SPEEDS)
        columns = ("interpretation", *distances, "largest depth / mm")
        # the steep friction is judged only over the whole walk
        checks = [_check_sinking(results)] + ([] if task.quick else [_check_distance(results)])
        column = SPEEDS.index(CHECKED_SPEED)
        return Finding(
            {
                "time": SAMPLE_INTERVAL * np.arange(1, 1 + round(seconds / SAMPLE_INTERVAL)),
                "x": {name: result.path[:, column] for name, result in results.items()},
            },
            (),
            [Table(f"The walk of {seconds:g} s with each interpretation", columns, lines)],
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
    def distances(self) -> list[float]:
        """Final position along x in m."""
        return self.path[-1].tolist()


def _walk(interpretations: list[Interpretation], seconds: float) -> dict[str, WalkResult]:
    """Simulate one world for each interpretation and speed."""
    count = len(interpretations) * len(SPEEDS)
    values = {
        name: np.repeat([getattr(each, name) for each in interpretations], len(SPEEDS))
        for name in ("K", "v_s", "v_d")
    }
    law, robot = replace(Hertz(axes=interpretations[0].axes), **values), load_cheetah()
    simulation = Simulation(robot, law, STEPPER, controller=GAIT, dt=DT, worlds=count)
    simulation.set(command={"speed": np.tile(SPEEDS, len(interpretations))})
    # position of the trunk, depth of the feet
    path, depth = [], np.zeros(count)
    for _ in range(round(seconds / SAMPLE_INTERVAL)):
        simulation.advance(SAMPLE_INTERVAL)
        path.append(simulation.q[:, 0])
        for foot in robot.candidates:
            height = robot.position(simulation.q, foot.name)[:, 2]
            depth = np.maximum(depth, foot.radius - height)
    paths, worlds = np.array(path), np.arange(count).reshape(-1, len(SPEEDS))
    return {
        each.name: WalkResult(paths[:, k], depth[k])
        for each, k in zip(interpretations, worlds, strict=True)
    }


def _check_sinking(results: Mapping[str, WalkResult]) -> Check:
    depth = float(results[SI.name].depth.min())
    return Check(
        f"with K in SI units the feet sink by more than {1e3 * MIN_DEPTH:g} mm",
        depth > MIN_DEPTH,
        f"{1e3 * depth:.0f} mm",
    )


def _check_distance(results: Mapping[str, WalkResult]) -> Check:
    column = SPEEDS.index(CHECKED_SPEED)
    tarsus, table = (results[each.name].distances[column] for each in (OURS, TABLE))
    change = abs(table - tarsus) / tarsus
    return Check(
        f"command {CHECKED_SPEED:g} m/s: v_s and v_d of Table I change the distance by less than"
        f" {100 * MAX_CHANGE:g} %",
        change < MAX_CHANGE,
        f"{100 * change:.1f} %",
    )
