"""Figure 6: contact activation and vertical force of the left forefoot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tarsus.viewer.colors import COLORS
from tarsus_papers.base import Check, Exhibit, Finding, Row, Task
from tarsus_papers.paula2024.walk import (
    DT,
    SETTING,
    SHORT,
    SPEED,
    SPEEDS,
    ComparedWalk,
    mean_error,
    run_walk,
    spurious_times,
    walk_duration,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORCE_DIFFERENCE = (4.5, 7.5)  # N, range of the mean difference of the vertical force
MIN_AGREEMENT = 0.94  # fraction of time in which both feet are in contact, or neither
PUBLISHED_SPURIOUS = 5  # spurious activations that the paper lists
PLOTTED_SECONDS, PLOTTED_STEP = 2.0, 10  # last seconds, and every tenth step, in the figure


class Forces(Exhibit):
    """Contact and vertical force of the left forefoot in both simulators."""

    name: ClassVar[str] = "forces"
    title: ClassVar[str] = "Figure 6: contact and vertical force of the left foreleg"
    location: ClassVar[str] = "Figure 6, section 7"
    description: ClassVar[str] = (
        "A foot is in contact if its vertical force is not zero. The paper calls some activations"
        " in MuJoCo spurious without a definition. Here, contacts and gaps in contacts that are"
        f" shorter than {1e3 * SHORT:g} ms count as spurious. According to the paper, the peaks of"
        " its own simulator are slightly higher than those of MuJoCo."
    )
    caption: ClassVar[str] = (
        "Vertical force (top) and contact (bottom) of the left forefoot in the last two seconds,"
        " in Tarsus (blue) and in MuJoCo (orange, dashed)."
    )

    def measure(self, task: Task) -> Finding:
        seconds, speeds = walk_duration(task.quick), (SPEED,) if task.quick else SPEEDS
        rows, checks = [], []
        for speed in speeds:
            walk = run_walk(speed, seconds)
            rows += _build_rows(speed, walk)
            checks += _build_checks(speed, walk)
        # figure
        walk = run_walk(SPEED, seconds)
        end = slice(-round(min(PLOTTED_SECONDS, seconds) / DT), None, PLOTTED_STEP)
        data: dict[str, Any] = {"time": walk.time[end]}
        for name, motion in (("ours", walk.tarsus), ("theirs", walk.mujoco)):
            data[name] = {"force": motion.force[end], "active": motion.active[end]}
        return Finding(data, rows, (), checks, [SETTING])

    def draw(self, data: Mapping[str, Any]) -> Figure:
        from matplotlib.figure import Figure

        figure = Figure(figsize=(9, 4.4), layout="constrained")
        top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
        for row, (key, name) in enumerate((("ours", "Tarsus"), ("theirs", "MuJoCo"))):
            style = "-" if key == "ours" else "--"
            top.plot(data["time"], data[key]["force"], style, color=COLORS[row], lw=1.2, label=name)
            _draw_phases(bottom, data["time"], data[key]["active"], row)
        top.set_ylabel("vertical force / N")
        top.set_ylim(0, None)
        above = {"loc": "lower right", "bbox_to_anchor": (1, 0.98), "ncols": 2}
        top.legend(frameon=False, fontsize=9, **above)
        bottom.set_yticks((0, 1), ("Tarsus", "MuJoCo"))
        bottom.set_ylim(1.6, -0.6)
        bottom.set_title("in contact", loc="left", fontsize=9)
        bottom.set_xlabel("time / s")
        for ax in (top, bottom):
            ax.spines[["top", "right"]].set_visible(False)
        return figure


def _draw_phases(ax: Axes, time: Any, active: Any, row: int) -> None:
    """Draw a bar while the foot is in contact."""
    on, t = np.asarray(active, bool), np.asarray(time)
    edges = np.flatnonzero(np.diff(np.concatenate([[False], on, [False]]).astype(int)))
    ends = zip(edges[::2], edges[1::2], strict=True)
    spans = [(float(t[a]), float(t[b - 1] - t[a])) for a, b in ends]
    ax.broken_barh(spans, (row - 0.3, 0.6), color=COLORS[row])


def _build_rows(speed: float, walk: ComparedWalk) -> list[Row]:
    # published numbers first, then the peaks
    tarsus, peer = walk.tarsus, walk.mujoco
    spurious = spurious_times(peer.active, DT)
    times = f"at {', '.join(f'{t:.2f}' for t in spurious[:8])} s" if spurious else ""
    condition, difference = f", command {speed:g} m/s", float(mean_error(tarsus.force, peer.force))
    return [
        Row(f"mean difference of the force{condition}", 5.65, difference, "N", "section 7"),
        Row(
            f"spurious contacts or gaps, MuJoCo{condition}",
            float(PUBLISHED_SPURIOUS),
            float(len(spurious)),
            "",
            "section 7",
            f"published at 2.8, 4.6, 5.0, 5.9, 6.4 s {times}".strip(),
        ),
        Row(
            f"spurious contacts or gaps, Tarsus{condition}",
            0.0,
            float(len(spurious_times(tarsus.active, DT))),
            "",
            "section 7",
        ),
        Row(f"largest force, Tarsus{condition}", None, float(tarsus.force.max()), "N", ""),
        Row(f"largest force, MuJoCo{condition}", None, float(peer.force.max()), "N", ""),
        Row(
            f"ratio of the largest forces{condition}",
            None,
            float(tarsus.force.max() / peer.force.max()),
            "",
            "section 7",
            'the paper: "slightly higher"; it shows the values only in a figure',
        ),
    ]


def _build_checks(speed: float, walk: ComparedWalk) -> list[Check]:
    tarsus, peer = walk.tarsus, walk.mujoco
    force, agreement = (
        float(mean_error(tarsus.force, peer.force)),
        float((tarsus.active == peer.active).mean()),
    )
    low, high = FORCE_DIFFERENCE
    return [
        Check(
            f"{speed:g} m/s: the force differs by {low:g} to {high:g} N",
            low <= force <= high,
            f"{force:.2f} N",
        ),
        Check(
            f"{speed:g} m/s: both are in contact, or neither, for at least"
            f" {100 * MIN_AGREEMENT:g} % of the time",
            agreement >= MIN_AGREEMENT,
            f"{100 * agreement:.1f} %",
        ),
    ]
