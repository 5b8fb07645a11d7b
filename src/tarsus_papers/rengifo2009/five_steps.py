"""Figures 11 and 12: five steps of the biped."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tarsus.viewer import strip
from tarsus.viewer.colors import COLORS
from tarsus_papers.base import Check, Exhibit, Finding, Row, Task
from tarsus_papers.rengifo2009.biped_runs import (
    DT,
    MIN_LIFT,
    SIDES,
    SPEED,
    STEPS,
    STOP_TIME,
    BipedRun,
    biped,
    paper_walk,
    weight,
)
from tarsus_papers.rengifo2009.landing import Landing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PICTURES = 10
MAX_DEPTH, MAX_STANCE_GAP = 1e-3, 1e-4  # m
MIN_TRUNK_HEIGHT = 0.8  # fraction of the initial height of the trunk
LOCATION = "section IV, Figs. 11 and 12"
NAMES = {0: "right", 1: "left"}


class FiveSteps(Exhibit):
    """The walk under the paper's law with an interpenetration of 0."""

    name: ClassVar[str] = "walk"
    title: ClassVar[str] = "Figures 11 and 12: five steps"
    location: ClassVar[str] = LOCATION
    description: ClassVar[str] = (
        "The biped of Fig. 8 makes five steps with k_p 500 1/s², k_v 250 1/s and ε 0 (the caption"
        " of Fig. 11 states four). The paper gives no masses, lengths, gait, controller, friction"
        " coefficient or integrator. Here the robot's numbers are estimates (1.6 m, 45 kg), μ is"
        " 0.8, and the gait is the built-in walk of decision 0021 (capture point, inverse"
        f" dynamics). A command to walk at {SPEED:g} m/s, and to stop after {STOP_TIME:g} s,"
        f" results in five steps; the integrator is symplectic Euler with {1e6 * DT:g} µs,"
        " including the controller. A landing counts as a step if the whole foot was higher than"
        f" {1e3 * MIN_LIFT:g} mm before. The depth of every vertex must be less than 1 mm. In the"
        " second half of a stance, until 0.1 s before lift-off, all vertices of the foot must be"
        " within 0.1 mm of the ground; this bound was set after first runs, because the paper gives"
        " none."
    )
    caption: ClassVar[str] = (
        "Top: right leg orange, left leg blue, ground forces as arrows (half the robot's height is"
        " its weight); the trunk is not drawn. Middle: heights of all vertices, as in Fig. 11."
        " Bottom: heights of the right foot near zero after its first landing, as in Fig. 12, with"
        " the closed form of Eqn. (3) for a point that lands with its speed (gray)."
    )

    def measure(self, task: Task) -> Finding:
        task.on_progress("the walk")
        run = paper_walk(task.quick)
        landings = run.landings(0)
        foot = landings[-1][1] if task.quick else 0
        trunk = run.q[:, 0, 2]
        # figure
        zoom = _zoom(run, foot)
        data = {
            "strip": None
            if task.quick
            else strip.poses(run.log(0), _select_picture_samples(run), biped()),
            "time": run.time[::10],
            "height": np.round(run.height[::10, 0], 5),
            "zoom": zoom,
            "landings": landings,
            "deepest": -float(run.height[:, 0].min()),
        }
        # rows and checks
        speeds = [_landing_speed(run, time, side) for time, side in landings]
        rows = _build_rows(run, landings, speeds, task.quick)
        gaps = [
            float(np.abs(run.height[inside, 0, 4 * side : 4 * side + 4]).max(initial=0.0))
            for side, inside in run.stances(0)
        ]
        expected = 1 if task.quick else STEPS
        checks = [
            Check(
                f"{expected} step{'s' if expected > 1 else ''} without a fall",
                len(landings) == expected and bool(trunk.min() > MIN_TRUNK_HEIGHT * trunk[0]),
                f"{len(landings)}, trunk at {1e3 * trunk.min():.0f} to {1e3 * trunk[0]:.0f} mm",
            ),
            Check("the depth of every vertex is at most 1 mm", data["deepest"] < MAX_DEPTH,
                  f"{1e3 * data['deepest']:.3f} mm"),
            Check("the solver converges in every step", not run.unconverged[0],
                  f"{run.unconverged[0]} unconverged"),
        ]  # fmt: skip
        if not task.quick:
            checks.append(
                Check(
                    "the vertices of a stance foot return to the ground, to 0.1 mm",
                    max(gaps) < MAX_STANCE_GAP,
                    ", ".join(f"{1e6 * value:.0f} µm" for value in gaps),
                )
            )
        return Finding(data, rows, checks=checks)

    def draw(self, data: Mapping[str, Any]) -> Figure:
        from matplotlib.figure import Figure

        # strip of poses, if any
        if data["strip"]:
            figure = Figure(figsize=(10, 7.4), layout="constrained")
            above, part = strip.split_vertically(figure, 0.42)
            strip.draw_strip(above, data["strip"], ("side",))
        else:
            part = figure = Figure(figsize=(10, 5), layout="constrained")
        top, bottom = part.subplots(2, 1)
        # heights of both feet
        time, height = np.array(data["time"]), 1e3 * np.array(data["height"])
        colors = (COLORS[4], COLORS[0])
        for foot, style in ((0, "-"), (1, ":")):
            vertices = height[:, 4 * foot : 4 * foot + 4]
            lines = top.plot(time, vertices, color=colors[foot], lw=1.1, ls=style)
            lines[0].set_label(f"{NAMES[foot]} foot")
        top.set_ylabel("height of the vertices / mm")
        top.legend(frameon=False, fontsize=9, loc="upper left")
        # around zero
        zoom = data["zoom"]
        names = [c.name.split("_", 2)[2].replace("_", " ") for c in biped().candidates[:4]]
        zoom_time = np.array(zoom["time"])
        form = Landing(500.0, 250.0, zoom["speed"])
        after = np.linspace(0, form.return_time, 200)
        bottom.plot(
            zoom["landed"] + after, 1e3 * form.height(after), color="#c8c8c8", lw=4, zorder=0
        )
        for color, name, vertex in zip(COLORS, names, np.array(zoom["height"]).T, strict=False):
            bottom.plot(zoom_time, 1e3 * vertex, color=color, lw=0.9, label=name)
        bottom.set_ylim(-0.8, 0.25)
        bottom.set_ylabel(f"height, {NAMES[zoom['foot']]} foot / mm")
        bottom.legend(frameon=False, fontsize=8, ncols=4, loc="upper right")
        for ax in (top, bottom):
            ax.set_xlabel("time / s")
            ax.axhline(0.0, color="#999999", lw=0.6, zorder=0)
            ax.spines[["top", "right"]].set_visible(False)
        return figure


def _select_picture_samples(run: BipedRun) -> Any:
    """Select two pictures per step: both feet on the ground, and the middle of the swing."""
    times = np.array([time for time, _ in run.landings(0)])
    each = float(np.median(np.diff(times)))
    return np.sort(np.concatenate([times + 0.01, times - 0.45 * each]))[:PICTURES]


def _zoom(run: BipedRun, foot: int) -> dict[str, Any]:
    """Return the vertices of a foot from its first landing to the end of its stance."""
    landed = next(time for time, side in run.landings(0) if side == foot)
    leaves = [time for time in run.lift_offs(0, foot) if time > landed]
    end = leaves[0] if leaves else float(run.time[-1])
    span = (run.time > landed - 0.03) & (run.time <= end)
    samples = np.flatnonzero(span)[::2]
    return {
        "foot": foot,
        "landed": landed,
        "speed": _landing_speed(run, landed, foot),
        "time": np.round(run.time[samples], 6),
        "height": np.round(run.height[samples, 0, 4 * foot : 4 * foot + 4], 8),
    }


def _landing_speed(run: BipedRun, time: float, foot: int) -> float:
    """Compute the downward speed (m/s) of the vertex that lands first."""
    k = int(np.searchsorted(run.time, time))
    heights = run.height[k - 2 : k, 0, 4 * foot : 4 * foot + 4]
    lowest = int(np.argmin(heights[1]))
    return float((heights[0] - heights[1])[lowest] / (run.time[1] - run.time[0]))


def _build_rows(
    run: BipedRun, landings: list[tuple[float, int]], speeds: list[float], quick: bool
) -> list[Row]:
    times = np.array([time for time, _ in landings])
    distance = run.q[-1, 0, 0] - run.q[0, 0, 0]
    fastest = max(speeds)
    rows = [
        Row("steps", None if quick else float(STEPS), float(len(landings)), "", "section IV",
            " ".join(SIDES[foot] for _, foot in landings)),
        Row("largest depth of a vertex", None, 1e3 * -float(run.height[:, 0].min()), "mm",
            "Fig. 12", f"v / k_v of the fastest landing, {fastest:.3f} m/s:"
            f" {1e3 * fastest / 250.0:.3f} mm"),
        Row("largest force of a vertex", None, float(run.force[:, 0].max()), "N", "Fig. 13",
            f"weight {weight():.0f} N"),
        Row("largest height of a vertex", None, 1e3 * float(run.height[:, 0].max()), "mm",
            "Fig. 11"),
        Row("distance walked", None, float(distance), "m", ""),
    ]  # fmt: skip
    if not quick:
        each = float(np.median(np.diff(times)))
        rows.append(Row("duration of a step", None, each, "s", "Fig. 11"))
    return rows
