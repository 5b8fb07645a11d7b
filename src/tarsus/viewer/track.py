"""What a log shows, step by step: coordinates, contact points, forces and phases."""

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
from tarsus.simulation.recording.log import mean_of_role
from tarsus.simulation.recording.log_robot import robot_of
from tarsus.simulation.recording.log_schema import check_log, check_robot

Array = NDArray[np.float64]
Named = tuple[Iterable[Any], Array]  # names, and a column of values (n, names) for each
OPEN, STICK, SLIP, IMPACT = range(4)
FLASH = 0.03  # s: a contact that has just closed is shown as an impact for so long
MIDDLE = 0.6  # of its height: robots end above their last joint
LINES = 6  # most of a plot
NEEDED = ("q", "force_world", "contact_point", "contact_normal", "state")


@dataclass(frozen=True, eq=False)
class Contacts:
    """The contacts of one world at one instant.

    point, force, normal (c, 3): m, N and [1], in the world; phase (c,): OPEN, STICK, SLIP, IMPACT
    mu (c,): friction coefficient of the law on its ground, nan if the log knows none
    """

    point: Array
    force: Array
    normal: Array
    phase: NDArray[np.int64]
    mu: Array


@dataclass(frozen=True, eq=False)
class Signal:
    """Lines to plot: names, and values (n, lines) in the unit that its title ends with."""

    names: tuple[str, ...]
    values: Array


@dataclass(frozen=True, eq=False)
class Track:
    """A log of one or several worlds, worlds in the second place of every array.

    time (n,): s; q (n, worlds, nq); contacts: those of `Contacts` with (n, worlds) in front
    signals: of the first world, to plot, by what they are called
    """

    robot: Robot
    time: Array
    q: Array
    contacts: Contacts
    attributes: Mapping[str, Any]
    signals: Mapping[str, Signal]

    @property
    def worlds(self) -> int:
        """How many there are."""
        return self.q.shape[1]

    @property
    def weight(self) -> float:
        """Of the robot, N."""
        return self.robot.mass * float(np.linalg.norm(self.robot.gravity_acceleration))

    @cached_property
    def _at_start(self) -> Array:
        """The robot's joints and contacts as it starts (n, 3), m."""
        positions, _ = poses(self.robot, self.q[0, :1])
        return np.concatenate([positions[0, :-1], self.contacts.point[0, 0]])

    @cached_property
    def extent(self) -> Array:
        """Of the robot's joints and contacts as it starts (3,), m."""
        return np.maximum(np.ptp(self._at_start, axis=0), 0.05)

    @property
    def size(self) -> float:
        """The mean of its extents, m: by it arrows and cones are drawn."""
        return float(np.prod(self.extent) ** (1 / 3))

    @property
    def middle(self) -> float:
        """How far above the first body the middle of the robot is as it starts, m."""
        low = float(self._at_start[:, 2].min())
        return low + MIDDLE * float(self.extent[2]) - float(self.base()[0, 2])

    def step_at(self, time: float) -> int:
        """The number of the step nearest to a time, s."""
        after = int(np.clip(np.searchsorted(self.time, time), 1, max(len(self.time) - 1, 1)))
        if len(self.time) < 2:
            return 0
        return after - int(time - self.time[after - 1] < self.time[after] - time)

    def poses(self, step: int) -> tuple[Array, Array]:
        """Positions (worlds, bodies + 1, 3) and rotations of all bodies after a step."""
        return poses(self.robot, self.q[step])

    def base(self, world: int = 0) -> Array:
        """Where the first body is after each step (n, 3), m."""
        if self.robot.floating:
            return self.q[:, world, :3]
        positions, _ = poses(self.robot, self.q[:1, world])
        return np.broadcast_to(positions[0, 0], (len(self.time), 3))

    def contacts_at(self, step: int, world: int = 0) -> Contacts:
        """The contacts of one world after a step."""
        c = self.contacts
        parts = (c.point, c.force, c.normal, c.phase, c.mu)
        return Contacts(*(part[step, world] for part in parts))


def track(
    log: xr.Dataset, robot: Robot | None = None, lines: Mapping[str, Sequence[str]] | None = None
) -> Track:
    """What a log of `tarsus run` shows.

    robot: by default the log's own; lines: the names that signals plot, by default those that
    change most.

    TarsusError if it is no such log, holds no step, or its robot is not to be had.
    """
    log = check_log(log, NEEDED)
    robot = check_robot(log, robot or robot_of(log))
    whole = "q_uncut" if "q_uncut" in log else "q"
    # its arrays, worlds in the second place
    signals = _signals(log.isel(world=0) if "world" in log.dims else log, robot, lines or {})
    log = log[[name for name in (*NEEDED, whole, "ground_friction") if name in log]]
    if "world" not in log.dims:
        log = log.expand_dims(world=1)
    log = log.transpose("time", "world", ...)
    q, good = _kept(log[whole].values.astype(float))
    state = np.where(good[..., None], log["state"].values, OPEN).astype(int)
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


def _kept(q: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Coordinates (n, worlds, nq), those of a world that diverged as they last were, with a
    TarsusWarning; and whether it had not (n, worlds). TarsusError if there is none such.
    """
    good: NDArray[np.bool_] = np.asarray(np.isfinite(q).all(-1))
    last = np.maximum.accumulate(np.where(good, np.arange(len(q))[:, None], -1), axis=0)
    if (last < 0).any() or not good.any(1).all():
        raise InvalidFile("this log cannot be drawn: its coordinates q are not finite.", "q")
    if not good.all():
        warnings.warn(
            TarsusWarning(
                f"{(~good).any(0).sum()} of {q.shape[1]} worlds diverged: they are drawn in their"
                " last finite pose.",
                "worlds-diverged",
                "world",
            ),
            stacklevel=3,
        )
    return q[last, np.arange(q.shape[1])], good


def _signals(
    log: xr.Dataset, robot: Robot, lines: Mapping[str, Sequence[str]]
) -> dict[str, Signal]:
    """Of one world of a log."""
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
    """Of one world, names and values (n, lines) each: normal forces, coordinates, torques. Of many
    lines those that change most, or those named in `lines`.
    """
    # contacts, trunk, joints, motors
    names, values = joints
    first = 7 if robot.floating else 0
    titled = {"normal force / N": contacts}
    if robot.floating:
        titled["trunk / m"] = ("x", "y", "z"), values[:, :3]
    titled["joints / rad, m"] = list(names)[first:], values[:, first:]
    if motors is not None:
        titled["torques / N m"] = motors
    # some lines of each
    found: dict[str, Signal] = {}
    for title, (names, values) in titled.items():
        called = [str(name) for name in names]
        most = np.sort(np.argsort(-np.ptp(values, axis=0), kind="stable")[:LINES]).tolist()
        if title in lines:
            most = [k for k, name in enumerate(called) if name in lines[title]]
        if most:
            found[title] = Signal(tuple(called[k] for k in most), values[:, most])
    return found


def phases(state: NDArray[np.int64], dt: float) -> NDArray[np.int64]:
    """OPEN, STICK, SLIP (as in the log) or, for FLASH seconds after it closes, IMPACT; (n, ...).

    Contacts that are closed at the start are no impacts.
    """
    closed = state != OPEN
    closing = np.zeros(state.shape, int)
    closing[1:] = closed[1:] & ~closed[:-1]
    # how many closed lately
    steps = max(round(FLASH / dt), 1) if dt > 0 else 1
    total = np.cumsum(closing, axis=0)
    lately = total.copy()
    lately[steps:] -= total[:-steps]
    return np.where(closed & (lately > 0), IMPACT, state)
