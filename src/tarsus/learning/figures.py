"""Figures of training: the learning curve, and the robot under its policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tarsus.files import atomic_write
from tarsus.learning.play import trial_environment
from tarsus.learning.policy import Policy
from tarsus.learning.task_controller import TaskController
from tarsus.simulation.simulation import Simulation
from tarsus.terrain.base import Terrain
from tarsus.viewer.colors import COLORS
from tarsus.viewer.strip import poses, strip_figure

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

FRAMES, FRAME_TIME = 6, 0.5  # frames of a strip, and the time they span, in s
MAX_TERMS = 6  # largest reward terms that are plotted


def record_log(
    policy: Policy,
    seconds: float,
    command: Mapping[str, float] | None = None,
    law: str = "moreau",
    dt: float | None = None,
    terrain: Terrain | str = "plane",
) -> xr.Dataset:
    """Record a log of a robot under its policy, without randomization.

    Parameters
    ----------
    policy
        The policy.
    seconds
        Duration, in s.
    command
        Commands, by name; the default is the middle of each range.
    law
        Name of the law.
    dt
        Step size, in s; default: that of the training.
    terrain
        Terrain, or its name.
    """
    # environment and commands
    worlds = trial_environment(policy, law, dt or policy.metadata["dt"], terrain)
    controller = TaskController(policy, worlds)
    commands = {name: float(np.mean(ends)) for name, ends in worlds.task.commands().items()}
    controller.set_command(commands | dict(command or {}))
    # the same robot in a simulation
    simulation = Simulation(
        *(worlds.robot, worlds.law),
        terrain=terrain,
        controller=controller,
        dt=worlds.dt,
        contacts=[candidate.name for candidate in worlds.work.scene.candidates],
        stiction=False,
    )
    if worlds.task.randomizes_pose:
        simulation.set(q=worlds.state()["q"][0])
    return simulation.run(seconds)


def save_strip(log: xr.Dataset, path: Path, title: str) -> Path:
    """Save a strip of frames from the last half second of a log."""
    end = float(log["time"].values[-1])
    frames = poses(log, np.linspace(max(end - FRAME_TIME, 0), end, FRAMES))
    return _save_figure(strip_figure(frames, ("side",), title), path)


def save_curve(
    rows: Sequence[Mapping[str, Any]], path: Path, title: str, units: Mapping[str, str]
) -> Path:
    """Save the learning curve: reward and its terms, errors and falls.

    Parameters
    ----------
    rows
        Lines of the curve.
    path
        Path of the PNG file.
    title
        Title of the figure.
    units
        Units of the errors, by measure.
    """
    from matplotlib.figure import Figure

    # reward and its terms
    figure = Figure(figsize=(7.5, 6.5), layout="constrained")
    axes = figure.subplots(3, 1, sharex=True)
    done = np.array([row["periods"] for row in rows]) / 1e6
    axes[0].plot(done, [row["reward"] for row in rows], color="black", label="all")
    terms = rows[-1]["terms"] if rows else {}
    largest = sorted(terms, key=lambda name: -abs(terms[name]))[:MAX_TERMS]
    for name, color in zip(largest, COLORS, strict=False):
        axes[0].plot(done, [row["terms"][name] for row in rows], color=color, lw=1, label=name)
    axes[0].set_ylabel("reward per second")
    axes[0].legend(fontsize=7, ncols=4)
    # errors and falls
    for name, color in zip(rows[-1]["errors"] if rows else {}, COLORS, strict=False):
        label = f"{name} / ({units[name]})" if name in units else name
        axes[1].plot(done, [row["errors"][name] for row in rows], color=color, label=label)
    axes[1].set_ylabel("error, with noise")
    axes[1].set_ylim(bottom=0)
    axes[1].legend(fontsize=7, ncols=4)
    axes[2].plot(done, [row["falls"] for row in rows], color="black")
    axes[2].set_ylabel("falls per world and second")
    axes[2].set_xlabel("control periods / 1e6")
    for ax in axes:
        ax.grid(alpha=0.3)
    figure.suptitle(title, fontsize=11, x=0.01, ha="left")
    return _save_figure(figure, path)


def _save_figure(figure: Figure, path: Path) -> Path:
    """Save a figure atomically."""
    with atomic_write(path) as temporary:
        figure.savefig(temporary, format="png", dpi=110)
    return path
