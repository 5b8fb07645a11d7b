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
DEEPEST, NEAR = 1e-3, 1e-4  # m
FALLEN = 0.8  # of the height of the trunk at the start
WHERE = "section IV, Figs. 11 and 12"
NAMES = {0: "right", 1: "left"}


class FiveSteps(Exhibit):
    """The walk under the paper's law with an interpenetration of 0."""

    name: ClassVar[str] = "walk"
    title: ClassVar[str] = "Figures 11 and 12: five steps"
    where: ClassVar[str] = WHERE
    about: ClassVar[str] = (
        "The biped of Fig. 8 makes five steps under k_p 500 1/s², k_v 250 1/s and ε 0 (the caption"
        " of Fig. 11 says four). The paper states neither masses nor lengths, neither gait nor"
        " controller, neither friction nor integrator: the robot's numbers are estimates (1.6 m,"
        " 45 kg), μ is 0.8, the walk is the built-in one of decision 0021 (capture point, inverse"
        f" dynamics), told to walk at {SPEED:g} m/s and after {STOP_TIME:g} s to stop, of which"
        f" five steps come; symplectic Euler at {1e6 * DT:g} µs, controller included. A step is a"
        f" foot that lands after all of it was higher than {1e3 * MIN_LIFT:g} mm. No vertex may go"
        " deeper than 1 mm, and in the second half of a stance, until 0.1 s before the foot lifts"
        " off, none of its vertices may be farther than 0.1 mm from the ground: this last bound was"
        " set after first runs, for the paper gives none."
    )
    caption: ClassVar[str] = (
        "Pictures: right leg orange, left leg blue, forces of the ground as arrows (half the"
        " robot's height: its weight); the trunk, which touches nothing, is not drawn. Middle:"
        " heights of all vertices, as in Fig. 11. Below: those of the right foot around zero after"
        " its first landing, as in Fig. 12, with the closed form of Eqn. (3) for a point that lands"
        " with its speed (gray)."
    )

    def measure(self, task: Task) -> Finding:
        task.tell("the walk")
        run = paper_walk(task.quick)
        landings = run.landings(0)
        foot = landings[-1][1] if task.quick else 0
        trunk = run.q[:, 0, 2]
        # what is drawn
        zoom = _zoom(run, foot)
        data = {
            "strip": None
            if task.quick
            else strip.poses(run.log(0), _picture_samples(run), biped()),
            "time": run.time[::10],
            "height": np.round(run.height[::10, 0], 5),
            "zoom": zoom,
            "landings": landings,
            "deepest": -float(run.height[:, 0].min()),
        }
        # told and checked
        speeds = [_landing_speed(run, time, side) for time, side in landings]
        rows = _rows(run, landings, speeds, task.quick)
        off = [
            float(np.abs(run.height[inside, 0, 4 * side : 4 * side + 4]).max(initial=0.0))
            for side, inside in run.stances(0)
        ]
        wanted = 1 if task.quick else STEPS
        checks = [
            Check(
                f"{wanted} step{'s' if wanted > 1 else ''}, not fallen",
                len(landings) == wanted and bool(trunk.min() > FALLEN * trunk[0]),
                f"{len(landings)}, trunk at least {1e3 * trunk.min():.0f} mm high of"
                f" {1e3 * trunk[0]:.0f}",
            ),
            Check("no vertex is ever deeper than 1 mm", data["deepest"] < DEEPEST,
                  f"{1e3 * data['deepest']:.3f} mm"),
            Check("every step is solved", not run.unconverged[0], f"{run.unconverged[0]} are not"),
        ]  # fmt: skip
        if not task.quick:
            checks.append(
                Check(
                    "the vertices of a stance foot are back at the ground, to 0.1 mm",
                    max(off) < NEAR,
                    ", ".join(f"{1e6 * value:.0f} µm" for value in off),
                )
            )
        return Finding(data, rows, checks=checks)

    def draw(self, data: Mapping[str, Any]) -> Figure:
        from matplotlib.figure import Figure

        # pictures above, if there are
        if data["strip"]:
            figure = Figure(figsize=(10, 7.4), layout="constrained")
            above, part = strip.above_and_below(figure, 0.42)
            strip.draw_strip(above, data["strip"], ("side",))
        else:
            part = figure = Figure(figsize=(10, 5), layout="constrained")
        top, bottom = part.subplots(2, 1)
        # heights of both feet
        time, height = np.array(data["time"]), 1e3 * np.array(data["height"])
        colors = (COLORS[4], COLORS[0])
        for foot, style in ((0, "-"), (1, ":")):
            own = height[:, 4 * foot : 4 * foot + 4]
            lines = top.plot(time, own, color=colors[foot], lw=1.1, ls=style)
            lines[0].set_label(f"{NAMES[foot]} foot")
        top.set_ylabel("height of the vertices / mm")
        top.legend(frameon=False, fontsize=9, loc="upper left")
        # around zero
        zoom = data["zoom"]
        names = [c.name.split("_", 2)[2].replace("_", " ") for c in biped().candidates[:4]]
        at = np.array(zoom["time"])
        form = Landing(500.0, 250.0, zoom["speed"])
        after = np.linspace(0, form.back, 200)
        bottom.plot(
            zoom["landed"] + after, 1e3 * form.height(after), color="#c8c8c8", lw=4, zorder=0
        )
        for color, name, own in zip(COLORS, names, np.array(zoom["height"]).T, strict=False):
            bottom.plot(at, 1e3 * own, color=color, lw=0.9, label=name)
        bottom.set_ylim(-0.8, 0.25)
        bottom.set_ylabel(f"height, {NAMES[zoom['foot']]} foot / mm")
        bottom.legend(frameon=False, fontsize=8, ncols=4, loc="upper right")
        for ax in (top, bottom):
            ax.set_xlabel("time / s")
            ax.axhline(0.0, color="#999999", lw=0.6, zorder=0)
            ax.spines[["top", "right"]].set_visible(False)
        return figure


def _picture_samples(run: BipedRun) -> Any:
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
    few = np.flatnonzero(span)[::2]
    return {
        "foot": foot,
        "landed": landed,
        "speed": _landing_speed(run, landed, foot),
        "time": np.round(run.time[few], 6),
        "height": np.round(run.height[few, 0, 4 * foot : 4 * foot + 4], 8),
    }


def _landing_speed(run: BipedRun, time: float, foot: int) -> float:
    """Speed of the vertex that lands first, downwards, m/s: over the last sample in the air."""
    k = int(np.searchsorted(run.time, time))
    own = run.height[k - 2 : k, 0, 4 * foot : 4 * foot + 4]
    lowest = int(np.argmin(own[1]))
    return float((own[0] - own[1])[lowest] / (run.time[1] - run.time[0]))


def _rows(
    run: BipedRun, landings: list[tuple[float, int]], speeds: list[float], quick: bool
) -> list[Row]:
    times = np.array([time for time, _ in landings])
    way = run.q[-1, 0, 0] - run.q[0, 0, 0]
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
            "Fig. 11", "ours"),
        Row("way walked", None, float(way), "m", "", "ours"),
    ]  # fmt: skip
    if not quick:
        each = float(np.median(np.diff(times)))
        rows.append(Row("time of a step", None, each, "s", "Fig. 11", "ours"))
    return rows
