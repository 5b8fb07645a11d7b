"""Track of a log for drawing: coordinates, contact points, forces and phases of every step."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from tarsus.dynamics.poses import poses
from tarsus.dynamics.robot import Robot
from tarsus.errors import InvalidFile, TarsusWarning
from tarsus.model.base_motion import base_position
from tarsus.simulation.recording.foot_rows import combine_by_foot
from tarsus.simulation.recording.log import mean_of_role
from tarsus.simulation.recording.log_robot import robot_of
from tarsus.simulation.recording.log_schema import check_log, check_robot

Array = NDArray[np.float64]
Named = tuple[Iterable[Any], Array]  # names, and a column of values (n, names) for each
OPEN, STICK, SLIP, IMPACT = range(4)
FLASH = 0.03  # s for which a contact that has just closed is shown as an impact
MIDDLE = 0.6  # of the height of the joints and contacts; robots extend above their top joint
MAX_LINES = 6  # of a plot
NEEDED = ("q", "force_world", "contact_point", "contact_normal", "state")


@dataclass(frozen=True, eq=False)
class Contacts:
    """Contacts of one world at one instant.

    Attributes
    ----------
    point
        Contact points, shape (c, 3), in m, world frame.
    force
        Forces on the robot, shape (c, 3), in N, world frame.
    normal
        Contact normals, shape (c, 3), world frame.
    phase
        OPEN, STICK, SLIP or IMPACT, shape (c,).
    mu
        Friction coefficients on the ground, shape (c,); NaN if the log has none.
    """

    point: Array
    force: Array
    normal: Array
    phase: NDArray[np.int64]
    mu: Array


@dataclass(frozen=True, eq=False)
class Signal:
    """Lines to plot: their names, and values (n, lines) in the unit of the signal's title."""

    names: tuple[str, ...]
    values: Array


@dataclass(frozen=True, eq=False)
class Track:
    """Motion and contacts in a log of one or several worlds.

    Attributes
    ----------
    robot
        Robot of the log.
    time
        Times, shape (n,), in s.
    q
        Coordinates, shape (n, worlds, nq).
    contacts
        Contacts, whose arrays have the leading dimensions (n, worlds).
    attributes
        Attributes of the log.
    signals
        Signals of the first world that can be plotted, by title.
    """

    robot: Robot
    time: Array
    q: Array
    contacts: Contacts
    attributes: Mapping[str, Any]
    signals: Mapping[str, Signal]

    @property
    def worlds(self) -> int:
        """Number of worlds."""
        return self.q.shape[1]

    @property
    def weight(self) -> float:
        """Weight of the robot, in N."""
        return self.robot.mass * float(np.linalg.norm(self.robot.gravity_acceleration))

    @cached_property
    def _initial_points(self) -> Array:
        """Initial positions of the robot's joints and contacts (n, 3), in m."""
        positions, _ = poses(self.robot, self.q[0, :1])
        return np.concatenate([positions[0, :-1], self.contacts.point[0, 0]])

    @cached_property
    def extent(self) -> Array:
        """Initial extent of the robot's joints and contacts (3,), in m."""
        return np.maximum(np.ptp(self._initial_points, axis=0), 0.05)

    @property
    def size(self) -> float:
        """Geometric mean of the extents, in m, which scales arrows and cones."""
        return float(np.prod(self.extent) ** (1 / 3))

    @property
    def middle(self) -> float:
        """Initial height of the robot's middle above its first body, in m."""
        low = float(self._initial_points[:, 2].min())
        return low + MIDDLE * float(self.extent[2]) - float(self.base()[0, 2])

    def step_at(self, time: float) -> int:
        """Find the index of the step closest to a time in s."""
        after = int(np.clip(np.searchsorted(self.time, time), 1, max(len(self.time) - 1, 1)))
        if len(self.time) < 2:
            return 0
        return after - int(time - self.time[after - 1] < self.time[after] - time)

    def poses(self, step: int) -> tuple[Array, Array]:
        """Compute positions (worlds, bodies + 1, 3) and rotations of all bodies after a step."""
        return poses(self.robot, self.q[step])

    def base(self, world: int = 0) -> Array:
        """Compute the position (n, 3) in m of the base, or of the first body, after each step."""
        if self.robot.mobile:
            return base_position(self.robot, self.q[:, world])
        positions, _ = poses(self.robot, self.q[:1, world])
        return np.broadcast_to(positions[0, 0], (len(self.time), 3))

    def contacts_at(self, step: int, world: int = 0) -> Contacts:
        """Select the contacts of one world after a step."""
        c = self.contacts
        parts = (c.point, c.force, c.normal, c.phase, c.mu)
        return Contacts(*(part[step, world] for part in parts))


def build_track(
    log: xr.Dataset, robot: Robot | None = None, lines: Mapping[str, Sequence[str]] | None = None
) -> Track:
    """Compute the track of a log.

    Parameters
    ----------
    log
        Log of `tarsus run` or `Simulation.run`.
    robot
        Robot to draw; None for that of the log.
    lines
        Names of the lines in each signal, by its title; by default those that change most.

    Raises
    ------
    TarsusError
        If it is not a log of a run, has no steps, or its robot cannot be loaded.
    """
    log = check_log(log, NEEDED)
    robot = check_robot(log, robot or robot_of(log))
    coordinates = "q_uncut" if "q_uncut" in log else "q"
    # arrays with worlds as the second dimension
    signals = _signals(log.isel(world=0) if "world" in log.dims else log, robot, lines or {})
    log = log[[name for name in (*NEEDED, coordinates, "ground_friction") if name in log]]
    if "world" not in log.dims:
        log = log.expand_dims(world=1)
    log = log.transpose("time", "world", ...)
    q, finite = _last_finite(log[coordinates].values.astype(float))
    state = np.where(finite[..., None], log["state"].values, OPEN).astype(int)
    mu = float(mean_of_role(log, "friction", np.nan))  # type: ignore[arg-type]
    ground = log["ground_friction"].values if "ground_friction" in log else np.ones(state.shape)
    return Track(
        robot,
        log["time"].values.astype(float),
        q,
        Contacts(
            log["contact_point"].values.astype(float),
            log["force_world"].values.astype(float),
            log["contact_normal"].values.astype(float),
            phases(state, float(log.attrs.get("dt", 0.0))),
            mu * ground,
        ),
        log.attrs,
        signals,
    )


def _last_finite(q: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Replace the coordinates of diverged worlds by their last finite ones, with a warning.

    Returns the coordinates (n, worlds, nq), and where they were finite (n, worlds). Raises
    InvalidFile if all worlds have diverged, or one from the start.
    """
    finite: NDArray[np.bool_] = np.asarray(np.isfinite(q).all(-1))
    last = np.maximum.accumulate(np.where(finite, np.arange(len(q))[:, None], -1), axis=0)
    if (last < 0).any() or not finite.any(1).all():
        raise InvalidFile("this log cannot be drawn: its coordinates q are not finite.", "q")
    if not finite.all():
        warnings.warn(
            TarsusWarning(
                f"{(~finite).any(0).sum()} of {q.shape[1]} worlds diverged: they are drawn in their"
                " last finite pose.",
                "worlds-diverged",
                "world",
            ),
            stacklevel=3,
        )
    return q[last, np.arange(q.shape[1])], finite


def _signals(
    log: xr.Dataset, robot: Robot, lines: Mapping[str, Sequence[str]]
) -> dict[str, Signal]:
    """Compute the signals of a log of one world."""
    log = combine_by_foot(log)
    normal = np.einsum("tck,tck->tc", log["force_world"].values, log["contact_normal"].values)
    motors = (log["actuator"].values, log["tau"].values) if "tau" in log else None
    joints = log["coordinate"].values, log["q"].values
    return signals(robot, (log["contact"].values, normal), joints, motors, lines)


def signals(
    robot: Robot,
    contacts: Named,
    joints: Named,
    motors: Named | None,
    lines: Mapping[str, Sequence[str]],
) -> dict[str, Signal]:
    """Compute the signals of one world that can be plotted.

    Parameters
    ----------
    robot
        Robot of the log.
    contacts, joints, motors
        Names and values (n, lines) of normal forces, coordinates and torques.
    lines
        Names of the lines in each signal, by its title; by default those that change most.
    """
    # contacts, trunk, joints, motors
    names, values = joints
    first = 7 if robot.floating else 0
    columns = {"normal force / N": contacts}
    if robot.floating:
        columns["trunk position / m"] = ("x", "y", "z"), values[:, :3]
    columns["joint position / rad, m"] = list(names)[first:], values[:, first:]
    if motors is not None:
        columns["torque / N m"] = motors
    # select lines
    selected: dict[str, Signal] = {}
    for title, (labels, values) in columns.items():
        names = [str(label) for label in labels]
        indices = np.sort(np.argsort(-np.ptp(values, axis=0), kind="stable")[:MAX_LINES]).tolist()
        if title in lines:
            indices = [k for k, name in enumerate(names) if name in lines[title]]
        if indices:
            selected[title] = Signal(tuple(names[k] for k in indices), values[:, indices])
    return selected


def phases(state: NDArray[np.int64], dt: float) -> NDArray[np.int64]:
    """Classify the phases of contacts: OPEN, STICK, SLIP, or IMPACT.

    A contact is an impact for FLASH seconds after it closes. Contacts that are closed at the start
    are not impacts.

    Parameters
    ----------
    state
        States in the log, shape (n, ...).
    dt
        Time step in s.
    """
    closed = state != OPEN
    closing = np.zeros(state.shape, int)
    closing[1:] = closed[1:] & ~closed[:-1]
    # closings within the last FLASH seconds
    steps = max(round(FLASH / dt), 1) if dt > 0 else 1
    total = np.cumsum(closing, axis=0)
    recent = total.copy()
    recent[steps:] -= total[:-steps]
    return np.where(closed & (recent > 0), IMPACT, state)
