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
HEIGHT = (3.0, 7.0)  # mm that the height may differ
FAR = 0.12  # of MuJoCo's way: how much x may differ
FAST = 0.2  # m/s, from which on that is asked
SHOWN = 0.01  # s between two points of the picture


class Trunk(Exhibit):
    """Pose of the trunk in both simulators."""

    name: ClassVar[str] = "trunk"
    title: ClassVar[str] = "Figure 5: pose of the trunk"
    where: ClassVar[str] = "Figure 5, section 7"
    about: ClassVar[str] = (
        "Mini Cheetah trots from the same start in Tarsus and in MuJoCo, with the same"
        " open-loop controller. Each number is the mean absolute difference of the two over time,"
        " as in the paper. The paper does not print its gait, and x depends on it; the speed that"
        " the gait is told is therefore swept. The paper lists its three Euler angles without"
        " names: they are taken in the order of its Eqn. (41), yaw, pitch, roll."
    )
    caption: ClassVar[str] = (
        f"Pose of the trunk, gait told {SPEED:g} m/s: ours (blue), MuJoCo (orange, dashed)."
    )

    def measure(self, task: Task) -> Finding:
        seconds, speeds = walk_duration(task.quick), (SPEED,) if task.quick else SPEEDS
        walks: dict[float, ComparedWalk] = {}
        for speed in speeds:
            task.tell(f"{speed:g} m/s")
            walks[speed] = run_walk(speed, seconds)
        rows = [row for speed in speeds for row in _rows(speed, walks[speed])]
        found = walks[SPEED]
        thin = slice(None, None, round(SHOWN / DT))
        data = {"time": found.time[thin]}
        for name, motion in (("ours", found.ours), ("theirs", found.theirs)):
            data[name] = np.concatenate([1e3 * motion.position, motion.angles], 1)[thin]
        checks = [check for speed in speeds for check in _checks(speed, walks[speed])]
        if not task.quick:
            checks += [_distance_check(speed, walks[speed]) for speed in speeds if speed >= FAST]
        slow = [_slow(speed, walks[speed], seconds) for speed in speeds if speed < FAST]
        return Finding(data, rows, [_distance_table(walks)], checks, [SETTING, *slow])

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
    """Return mean absolute differences of position (mm) and orientation (degrees)."""
    position = 1e3 * mean_error(walk.ours.position, walk.theirs.position)
    angles = mean_error(walk.ours.angles, walk.theirs.angles)
    return (
        dict(zip(POSITION, position.tolist(), strict=True)),
        dict(zip(ANGLES, angles.tolist(), strict=True)),
    )


def _rows(speed: float, walk: ComparedWalk) -> list[Row]:
    position, angles = _differences(walk)
    told, how = f", told {speed:g} m/s", "mean difference of"
    found = [
        Row(f"{how} {name}{told}", POSITION[name], value, "mm", "section 7")
        for name, value in position.items()
    ]
    return found + [
        Row(f"{how} {name}{told}", ANGLES[name], value, "deg", "section 7")
        for name, value in angles.items()
    ]


def _distances(walk: ComparedWalk) -> tuple[float, float]:
    """Return the distance (m) of the trunk along x: ours and MuJoCo's."""
    ends = [float(m.position[-1, 0] - m.position[0, 0]) for m in (walk.ours, walk.theirs)]
    return ends[0], ends[1]


def _slow(speed: float, walk: ComparedWalk, seconds: float) -> str:
    """Explain why no rule is set for the distance at a speed below `FAST` (m/s)."""
    own, peer = (1e3 * way / (seconds * GAIT.frequency) for way in _distances(walk))
    return (
        f"Told {speed:g} m/s, the open-loop trot goes {own:+.1f} mm a stride in Tarsus and"
        f" {peer:+.1f} mm in MuJoCo: too little for a share of the way to say anything. No rule"
        f" is set for x below {FAST:g} m/s."
    )


def _distance_table(walks: Mapping[float, ComparedWalk]) -> Table:
    lines: list[Sequence[float]] = []
    for speed, walk in walks.items():
        own, peer = _distances(walk)
        mean = _differences(walk)[0]["x"] / 1e3
        lines.append((speed, own, peer, mean, 100 * mean / peer))
    columns = (
        "told / (m/s)",
        "Tarsus / m",
        "MuJoCo / m",
        "mean difference / m",
        "of MuJoCo's way / %",
    )
    return Table("Way of the trunk along x at the end", columns, lines)


def _checks(speed: float, walk: ComparedWalk) -> list[Check]:
    position, angles = _differences(walk)
    low, high = HEIGHT
    return [
        Check(
            f"{speed:g} m/s: the height differs by {low:g} to {high:g} mm",
            low <= position["z"] <= high,
            f"{position['z']:.2f} mm",
        ),
        Check(
            f"{speed:g} m/s: no angle differs more than published",
            all(angles[name] <= ANGLES[name] for name in ANGLES),
            ", ".join(f"{name} {value:.2f}" for name, value in angles.items()),
        ),
    ]


def _distance_check(speed: float, walk: ComparedWalk) -> Check:
    part = _differences(walk)[0]["x"] / 1e3 / _distances(walk)[1]
    return Check(
        f"{speed:g} m/s: x differs by less than {100 * FAR:g} % of MuJoCo's way in ten seconds",
        part < FAR,
        f"{100 * part:.1f} %",
    )
