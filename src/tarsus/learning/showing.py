"""What a person looks at: the learning curve, and the robot as it follows its policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tarsus.files import atomic_write
from tarsus.learning.pilot import Pilot
from tarsus.learning.play import room
from tarsus.learning.policy import Policy
from tarsus.simulation.simulation import Simulation
from tarsus.terrain.base import Terrain
from tarsus.viewer.colors import COLORS
from tarsus.viewer.strip import drawn, poses

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

SHOWN, LAST = 6, 0.5  # pictures of a strip, and the seconds they span
NAMED = 6  # reward terms with a line of their own, the largest


def recorded(
    policy: Policy,
    seconds: float,
    command: Mapping[str, float] | None = None,
    law: str = "moreau",
    dt: float | None = None,
    terrain: Terrain | str = "plane",
) -> xr.Dataset:
    """The log of a robot that follows its policy; nothing is drawn at random.

    command: by name; what is not named is the middle of its range
    """
    # where it is tried, and what is asked
    worlds = room(policy, law, dt or policy.about["dt"], terrain)
    pilot = Pilot(policy, worlds)
    asked = {name: float(np.mean(ends)) for name, ends in worlds.task.commands().items()}
    pilot.tell(asked | dict(command or {}))
    # the same robot in a simulation
    simulation = Simulation(
        *(worlds.robot, worlds.law),
        terrain=terrain,
        controller=pilot,
        dt=worlds.dt,
        contacts=[candidate.name for candidate in worlds.work.scene.candidates],
        stiction=False,
    )
    if worlds.task.scattered:
        simulation.set(q=worlds.state()["q"][0])
    return simulation.run(seconds)


def save_strip(log: xr.Dataset, path: Path, title: str) -> Path:
    """Save pictures of the last half second of a log, in a row."""
    end = float(log["time"].values[-1])
    shown = poses(log, np.linspace(max(end - LAST, 0), end, SHOWN))
    return _saved(drawn(shown, ("side",), title), path)


def save_curve(
    rows: Sequence[Mapping[str, Any]], path: Path, title: str, units: Mapping[str, str]
) -> Path:
    """Save the learning curve of a run's lines: reward with its terms, what is missed, falls."""
    from matplotlib.figure import Figure

    # reward and its terms
    figure = Figure(figsize=(7.5, 6.5), layout="constrained")
    axes = figure.subplots(3, 1, sharex=True)
    done = np.array([row["periods"] for row in rows]) / 1e6
    axes[0].plot(done, [row["paid"] for row in rows], color="black", label="all")
    terms = rows[-1]["terms"] if rows else {}
    largest = sorted(terms, key=lambda name: -abs(terms[name]))[:NAMED]
    for name, color in zip(largest, COLORS, strict=False):
        axes[0].plot(done, [row["terms"][name] for row in rows], color=color, lw=1, label=name)
    axes[0].set_ylabel("reward a second")
    axes[0].legend(fontsize=7, ncols=4)
    # what is missed, and falls
    for name, color in zip(rows[-1]["missed"] if rows else {}, COLORS, strict=False):
        label = f"{name} / ({units[name]})" if name in units else name
        axes[1].plot(done, [row["missed"][name] for row in rows], color=color, label=label)
    axes[1].set_ylabel("missed, with noise")
    axes[1].set_ylim(bottom=0)
    axes[1].legend(fontsize=7, ncols=4)
    axes[2].plot(done, [row["falls"] for row in rows], color="black")
    axes[2].set_ylabel("falls a world and second")
    axes[2].set_xlabel("control periods, million")
    for ax in axes:
        ax.grid(alpha=0.3)
    figure.suptitle(title, fontsize=11, x=0.01, ha="left")
    return _saved(figure, path)


def _saved(figure: Figure, path: Path) -> Path:
    """The picture's file, whole or not at all."""
    with atomic_write(path) as temporary:
        figure.savefig(temporary, format="png", dpi=110)
    return path
