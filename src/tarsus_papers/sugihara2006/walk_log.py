"""The walk shared by Figs. 9 to 11, and quantities computed from its log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from tarsus.control.gaits.walk import Walk
from tarsus.simulation.simulation import Simulation
from tarsus.viewer import strip
from tarsus_papers.sugihara2006.configurations import DT, MU_S, STEPPER, G, floor, hoap1

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = NDArray[np.float64]
SECONDS = 12.0
SKIPPED = "Skipped in the reduced version: a walking humanoid takes long to compile."
LAMBDA = 1.0  # sections IV-D and IV-E
STANCE_LOAD = 0.1  # of the weight: a sole that carries more stands
FLOORS = (MU_S, 0.0)  # mu_S, section IV-D; mu_K is 0.4 on both


@cache
def walk_logs(seconds: float) -> tuple[xr.Dataset, xr.Dataset]:
    """Return logs of the walk with and without static friction, from one compiled step."""
    law = floor(LAMBDA, passes="once", mu=np.array(FLOORS))
    simulation = Simulation(
        hoap1(), law, STEPPER, controller=Walk(), dt=DT, worlds=len(FLOORS), contacts="feet"
    )
    log = simulation.run(seconds)
    return log.isel(world=0, drop=True), log.isel(world=1, drop=True)


def under_strip(poses: Mapping[str, Any], panels: int) -> tuple[Figure, Sequence[Axes]]:
    """Return a figure with a strip of frames (`strip.poses`) and panels over time below it."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 6), layout="constrained")
    above, below = strip.split_vertically(figure, 2.2)
    strip.draw_strip(above, poses)
    axes = below.subplots(1, panels, squeeze=False)[0]
    for ax in axes:
        ax.set_xlabel("time / s")
        ax.spines[["top", "right"]].set_visible(False)
    return figure, axes


def loads(log: xr.Dataset) -> Array:
    """Return the normal force of each sole, shape (steps, 2), in N, right and left."""
    force = log["force_contact"].values[..., 0]
    names = [str(name) for name in log["contact"].values]
    sides = [[k for k, name in enumerate(names) if name.startswith(f"{s}_foot")] for s in "RL"]
    return np.stack([force[:, indices].sum(axis=1) for indices in sides], axis=1)


def footsteps(log: xr.Dataset, weight: float) -> Array:
    """Return the times at which a sole stands after a swing of at least 50 ms, in s."""
    standing = loads(log) > STANCE_LOAD * weight
    min_swing, times = round(0.05 / DT), []
    for foot in standing.T:
        for k in np.flatnonzero(~foot[:-1] & foot[1:]):
            if k >= min_swing and not foot[k - min_swing + 1 : k + 1].any():
                times.append(float(log["time"].values[k + 1]))
    return np.sort(np.array(times))


def center_of_mass(log: xr.Dataset) -> Array:
    """Return the center of mass, shape (steps, 3), in m."""
    return hoap1().center_of_mass(log["q"].values)


def contact_acceleration(log: xr.Dataset) -> Array:
    """Return the acceleration of the center of mass by the contact forces, (steps, 3), m/s^2."""
    return log["force_world"].values.sum(axis=1) / hoap1().mass - np.array([0, 0, G])


def pressure_outside(log: xr.Dataset) -> float:
    """Return the largest distance of the zero-moment point from the stance soles, in m.

    It is computed from the robot's momentum, not from the contact forces: the point of the ground
    about which the rate of momentum and the weight have no horizontal moment.
    """
    robot, dt = hoap1(), DT
    momentum = robot.momentum(log["q"].values, log["u"].values)
    rate = np.diff(momentum, axis=0) / dt
    com = center_of_mass(log)[1:]
    weight = robot.mass * G
    lift = rate[:, 2] + weight
    x = (weight * com[:, 0] - rate[:, 4]) / lift
    y = (weight * com[:, 1] + rate[:, 3]) / lift
    force = log["force_contact"].values[1:, :, 0]
    point = log["contact_point"].values[1:, :, :2]
    pressed = lift > 0.2 * weight
    worst = 0.0
    for k in np.flatnonzero(pressed)[::5]:
        vertices = point[k][force[k] > 0]
        worst = max(worst, outside(np.array([x[k], y[k]]), vertices))
    return worst


def outside(point: Array, corners: Array) -> float:
    """Return the distance of a point (2,) from the convex hull of corners (n, 2), in m.

    It is computed for 72 directions.
    """
    angles = np.linspace(0, 2 * np.pi, 72, endpoint=False)
    directions = np.stack([np.cos(angles), np.sin(angles)])
    return float(max((point @ directions - (corners @ directions).max(axis=0)).max(), 0.0))


def high_pass(values: Array, cutoff: float) -> Array:
    """Return values, shape (steps, n), without their part below `cutoff` (Hz), by FFT."""
    spectrum = np.fft.rfft(values - values.mean(axis=0), axis=0)
    spectrum[np.fft.rfftfreq(len(values), DT) < cutoff] = 0
    return np.fft.irfft(spectrum, len(values), axis=0)


def rms(values: Any) -> float:
    """Return the root mean square of all entries."""
    return float(np.sqrt(np.mean(np.square(values))))
