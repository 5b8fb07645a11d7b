"""Picture of `tarsus compare`: foot forces and trunk motion under every law."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from tarsus.comparison.laws import LawRun
from tarsus.dynamics.robot import Robot
from tarsus.files import atomic_write
from tarsus.simulation.recording.attitude import has_floating_base, trunk_angles
from tarsus.simulation.recording.foot_rows import foot_names
from tarsus.viewer.colors import COLORS
from tarsus.viewer.number_format import short_name

Array = NDArray[np.float64]
MAX_SHARED_LAWS = 4  # laws that share a panel; more laws have one panel each
MAX_FEET = 4  # number of panels for feet


def draw_comparison(runs: Sequence[LawRun], robot: Robot, path: Path, seconds: float = 1.0) -> None:
    """Draw the last `seconds` of every law at its smallest dt.

    Up to MAX_SHARED_LAWS laws share one panel per foot. With more laws, each has its own panel,
    which shows the foot that carries the largest load under the first law. Height and pitch of the
    trunk follow.
    """
    shown = _select_finest(runs)
    if not shown:
        return
    feet = find_busiest_feet(shown[0].log, robot)
    first = next(iter(feet))
    rows = [(foot, shown) for foot in list(feet)[:MAX_FEET]]
    if len(shown) > MAX_SHARED_LAWS:
        rows = [(first, [run]) for run in shown]

    # panels of forces, then of trunk height and pitch
    floating = all(run.log is not None and has_floating_base(run.log) for run in shown)
    panels = len(rows) + 2 * floating
    figure = Figure(figsize=(10, 1.3 * len(rows) + 2 + 3 * floating), layout="constrained")
    axes = figure.subplots(panels, 1, sharex=True, squeeze=False)[:, 0]
    ceiling = 1.2 * max(_force_quantile(run, robot, first, seconds) for run in shown)
    colors = {run.law: COLORS[k % len(COLORS)] for k, run in enumerate(shown)}
    for ax, (foot, drawn) in zip(axes, rows, strict=False):
        for run in drawn:
            _draw_band(
                ax,
                run,
                seconds,
                lambda log, f=foot: normal_force_on(f, log, robot),
                colors[run.law],
            )
        title = feet[foot] if drawn is shown else f"{feet[foot]}, {short_name(drawn[0].law)}"
        ax.set_title(f"normal force on {title} / N{_step_label(drawn)}", loc="left", fontsize=9)
        ax.set_ylim(0, ceiling)
    if floating:
        for run in shown:
            _draw_band(
                axes[-2], run, seconds, lambda log: log["q"].isel(coordinate=2), colors[run.law]
            )
            _draw_band(axes[-1], run, seconds, _pitch, colors[run.law])
        axes[-2].set_title("trunk height / m", loc="left", fontsize=9)
        axes[-1].set_title("trunk pitch / degrees", loc="left", fontsize=9)

    # title, legend, file
    assert shown[0].log is not None
    gait = shown[0].log.attrs.get("gait", "custom controller")
    bands = "bands span dt, dt/2, dt/4; " if any(run.finer for run in shown) else ""
    title = f"{robot.name}, {gait}: {bands}impacts of rigid laws are cut off"
    figure.suptitle(title, fontsize=11)
    handles = [Line2D([], [], color=color, label=short_name(law)) for law, color in colors.items()]
    figure.legend(handles=handles, ncols=6, loc="outside lower center", fontsize=9, frameon=False)
    axes[-1].set_xlabel("time / s")
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)
    with atomic_write(path) as temporary:
        figure.savefig(temporary, format="png", dpi=130)


def _select_finest(runs: Sequence[LawRun]) -> list[LawRun]:
    """Select the finite run with the smallest step of every law, in the order of the laws."""
    finest = {
        run.law: run
        for run in sorted(runs, key=lambda run: -run.dt)
        if run.log is not None and not run.failure and "contact" in run.log.sizes
    }
    return [finest[law] for law in dict.fromkeys(run.law for run in runs) if law in finest]


def find_busiest_feet(log: xr.Dataset | None, robot: Robot) -> dict[str, str]:
    """Find the bodies that carry load, sorted by decreasing load, with the names of their feet."""
    assert log is not None
    # the contacts on each body
    groups: dict[str, list[str]] = {}
    for name, body in zip(map(str, log["contact"].values), _find_bodies(log, robot), strict=True):
        groups.setdefault(body, []).append(name)
    # by load
    impulse = log["impulse_contact"].isel(axis=0)
    carried = {body: float(impulse.sel(contact=names).sum()) for body, names in groups.items()}
    order = sorted(carried, key=lambda body: -carried[body])
    names = foot_names(log, robot)
    loaded = [body for body in order if carried[body] > 0] or order[:1]
    return {body: names[groups[body][0]] for body in loaded}


def normal_force_on(body: str, log: xr.Dataset, robot: Robot) -> Array:
    """Compute the normal force on a body (T,) in N, the sum over its contact points."""
    on_body = [other == body for other in _find_bodies(log, robot)]
    return log["force_contact"].isel(axis=0).values[:, on_body].sum(axis=1)


def _find_bodies(log: xr.Dataset, robot: Robot) -> list[str]:
    """Find the body of each contact of a log, or the contact's name if the robot lacks it."""
    bodies = {c.name: robot.bodies[c.body].name for c in robot.candidates}
    return [bodies.get(name, name) for name in map(str, log["contact"].values)]


def _step_label(runs: Sequence[LawRun]) -> str:
    """Format the step size that all runs share, if they share one."""
    sizes = {run.dt for run in runs}
    return f", dt {1e3 * sizes.pop():g} ms" if len(sizes) == 1 else ""


def _force_quantile(run: LawRun, robot: Robot, foot: str, seconds: float) -> float:
    """Compute the 98 % quantile of the normal force on a foot, in N."""
    assert run.log is not None
    force = normal_force_on(foot, run.log, robot)[-round(seconds / run.dt) :]
    return float(np.quantile(force, 0.98)) or 1.0


def _draw_band(
    ax: Axes, run: LawRun, seconds: float, value: Callable[[xr.Dataset], Any], color: str
) -> None:
    """Draw a quantity over the last `seconds` and the band that it spans at dt, dt/2 and dt/4."""
    assert run.log is not None
    end = run.log.isel(time=slice(-round(seconds / run.dt), None))
    time = end["time"].values
    lines = [np.asarray(value(end))]
    lines += [
        np.interp(time, o.log["time"].values, np.asarray(value(o.log)))
        for o in run.finer
        if o.log is not None
    ]
    low, high = np.min(lines, axis=0), np.max(lines, axis=0)
    ax.fill_between(time, low, high, color=color, alpha=0.25, lw=0)
    ax.plot(time, lines[0], color=color, lw=1)


def _pitch(log: xr.Dataset) -> Any:
    """Compute the pitch of the trunk in degrees."""
    return np.rad2deg(trunk_angles(log).sel(angle="pitch").values)
