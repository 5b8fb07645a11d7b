"""Figure 5: position and orientation of the trunk in both simulators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tarsus.viewer.colors import COLORS
from tarsus_papers.base import Check, Exhibit, Finding, Row, Table, Task
from tarsus_papers.paula2024.walk import (
    DT,
    GAIT,
    SETTING,
    SPEED,
    SPEEDS,
    ComparedWalk,
    mean_error,
    run_walk,
    walk_duration,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

POSITION = {"x": 63.0, "y": 17.0, "z": 4.6}  # mm
ANGLES = {"yaw": 1.5, "pitch": 1.3, "roll": 2.7}  # degrees
HEIGHT_DIFFERENCE = (3.0, 7.0)  # mm, range of the mean difference in height
MAX_X_DIFFERENCE = 0.12  # fraction of the distance in MuJoCo
MIN_CHECKED_SPEED = 0.2  # m/s, command from which the difference in x is checked
PLOT_INTERVAL = 0.01  # s between two points of the figure


class Trunk(Exhibit):
    """Pose of the trunk in both simulators."""

    name: ClassVar[str] = "trunk"
    title: ClassVar[str] = "Figure 5: pose of the trunk"
    location: ClassVar[str] = "Figure 5, section 7"
    description: ClassVar[str] = (
        "Mini Cheetah trots from the same initial state in Tarsus and in MuJoCo with the same"
        " open-loop controller. As in the paper, each value is the mean absolute difference over"
        " time. The paper does not give its gait, on which x depends, so several commanded speeds"
        " are used. The paper lists three Euler angles without names; they are assumed to be in the"
        " order of Eqn. (41): yaw, pitch, roll."
    )
    caption: ClassVar[str] = (
        f"Pose of the trunk, command {SPEED:g} m/s, in Tarsus (blue) and MuJoCo (orange, dashed)."
    )

    def measure(self, task: Task) -> Finding:
        seconds, speeds = walk_duration(task.quick), (SPEED,) if task.quick else SPEEDS
        walks: dict[float, ComparedWalk] = {}
        for speed in speeds:
            task.on_progress(f"{speed:g} m/s")
            walks[speed] = run_walk(speed, seconds)
        rows = [row for speed in speeds for row in _build_rows(speed, walks[speed])]
        walk = walks[SPEED]
        plotted = slice(None, None, round(PLOT_INTERVAL / DT))
        data = {"time": walk.time[plotted]}
        for name, motion in (("ours", walk.tarsus), ("theirs", walk.mujoco)):
            data[name] = np.concatenate([1e3 * motion.position, motion.angles], 1)[plotted]
        checks = [check for speed in speeds for check in _build_checks(speed, walks[speed])]
        fast = [speed for speed in speeds if speed >= MIN_CHECKED_SPEED]
        if not task.quick:
            checks += [_check_distance(speed, walks[speed]) for speed in fast]
        notes = [_slow_note(s, walks[s], seconds) for s in speeds if s not in fast]
        return Finding(data, rows, [_tabulate_distances(walks)], checks, [SETTING, *notes])

    def draw(self, data: Mapping[str, Any]) -> Figure:
        from matplotlib.figure import Figure

        figure = Figure(figsize=(9, 6.4), layout="constrained")
        axes = figure.subplots(3, 2, sharex=True)
        names = [f"{name} / mm" for name in POSITION] + [f"{name} / degrees" for name in ANGLES]
        ours, theirs = np.asarray(data["ours"]), np.asarray(data["theirs"])
        for k, (ax, name) in enumerate(zip(axes.T.ravel(), names, strict=True)):
            ax.plot(data["time"], ours[:, k], color=COLORS[0], lw=1.3, label="Tarsus")
            ax.plot(data["time"], theirs[:, k], "--", color=COLORS[1], lw=1.3, label="MuJoCo")
            ax.set_title(name, loc="left", fontsize=9)
            ax.spines[["top", "right"]].set_visible(False)
        axes[0, 0].legend(frameon=False, fontsize=9)
        for ax in axes[-1]:
            ax.set_xlabel("time / s")
        return figure


def _differences(walk: ComparedWalk) -> tuple[dict[str, float], dict[str, float]]:
    """Compute the mean absolute differences of position (mm) and orientation (degrees)."""
    position = 1e3 * mean_error(walk.tarsus.position, walk.mujoco.position)
    angles = mean_error(walk.tarsus.angles, walk.mujoco.angles)
    return (
        dict(zip(POSITION, position.tolist(), strict=True)),
        dict(zip(ANGLES, angles.tolist(), strict=True)),
    )


def _build_rows(speed: float, walk: ComparedWalk) -> list[Row]:
    position, angles = _differences(walk)
    command = f"command {speed:g} m/s"
    rows = [
        Row(f"mean difference of {name}, {command}", POSITION[name], value, "mm", "section 7")
        for name, value in position.items()
    ]
    return rows + [
        Row(f"mean difference of {name}, {command}", ANGLES[name], value, "deg", "section 7")
        for name, value in angles.items()
    ]


def _distances(walk: ComparedWalk) -> tuple[float, float]:
    """Compute the distance (m) of the trunk along x in Tarsus and in MuJoCo."""
    ends = [float(m.position[-1, 0] - m.position[0, 0]) for m in (walk.tarsus, walk.mujoco)]
    return ends[0], ends[1]


def _slow_note(speed: float, walk: ComparedWalk, seconds: float) -> str:
    """Explain why x is not checked at a command below `MIN_CHECKED_SPEED` (m/s)."""
    tarsus, peer = (1e3 * d / (seconds * GAIT.frequency) for d in _distances(walk))
    return (
        f"With a command of {speed:g} m/s, the open-loop trot advances by {tarsus:+.1f} mm per"
        f" stride in Tarsus and by {peer:+.1f} mm in MuJoCo. Relative differences of such small"
        f" distances are not meaningful, so x is not checked below {MIN_CHECKED_SPEED:g} m/s."
    )


def _tabulate_distances(walks: Mapping[float, ComparedWalk]) -> Table:
    lines: list[Sequence[float]] = []
    for speed, walk in walks.items():
        tarsus, peer = _distances(walk)
        mean = _differences(walk)[0]["x"] / 1e3
        lines.append((speed, tarsus, peer, mean, 100 * mean / peer))
    columns = (
        "command / (m/s)",
        "Tarsus / m",
        "MuJoCo / m",
        "mean difference / m",
        "fraction of MuJoCo's distance / %",
    )
    return Table("Distance of the trunk along x", columns, lines)


def _build_checks(speed: float, walk: ComparedWalk) -> list[Check]:
    position, angles = _differences(walk)
    low, high = HEIGHT_DIFFERENCE
    return [
        Check(
            f"{speed:g} m/s: the height differs by {low:g} to {high:g} mm",
            low <= position["z"] <= high,
            f"{position['z']:.2f} mm",
        ),
        Check(
            f"{speed:g} m/s: angles differ at most as much as published",
            all(angles[name] <= ANGLES[name] for name in ANGLES),
            ", ".join(f"{name} {value:.2f}" for name, value in angles.items()),
        ),
    ]


def _check_distance(speed: float, walk: ComparedWalk) -> Check:
    fraction = _differences(walk)[0]["x"] / 1e3 / _distances(walk)[1]
    return Check(
        f"{speed:g} m/s: x differs by less than {100 * MAX_X_DIFFERENCE:g} % of MuJoCo's distance"
        " in ten seconds",
        fraction < MAX_X_DIFFERENCE,
        f"{100 * fraction:.1f} %",
    )
