"""Closed-loop runs of a planner in a world that may differ from its own model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from tarsus.dynamics.robot import Robot
from tarsus.errors import InvalidValue, UnmetCondition
from tarsus.morphology.legs import Leg, diagonals, find_legs, why_no_diagonal_legs
from tarsus.mujoco_runs.simulation import MujocoSimulation
from tarsus.planning.latency import Latency
from tarsus.planning.planner import Planner
from tarsus.simulation.recording.divergence import Diverged
from tarsus.simulation.recording.summary import has_fallen
from tarsus.simulation.simulation import Simulation
from tarsus.spatial.quaternion import zyx_angles

Array = NDArray[np.float64]
SWING_GAP = 0.005  # m: a foot with a larger gap is in the air
SETTLING_TIME = 1.0  # s after the start, or after a push, excluded from the averages


@dataclass(frozen=True)
class BasePush:
    """Horizontal push on the base.

    Attributes
    ----------
    force
        Force, in N.
    direction
        Direction, in degrees to the left of the world's x axis.
    start
        Time at which the push starts, in s.
    duration
        Duration, in s.
    """

    force: float
    direction: float = 90.0
    start: float = 1.0
    duration: float = 0.1

    def check(self, seconds: float) -> None:
        """Check a push in a run of `seconds`, in s; it may start at 0 and last to the end.

        Raises
        ------
        InvalidValue
            Unless the push is finite, has a duration above 0, and lies within the run.
        """
        for name in ("force", "direction", "start", "duration"):
            if not np.isfinite(getattr(self, name)):
                raise InvalidValue(
                    f"the push's {name} must be finite, not {getattr(self, name)}.", name
                )
        if self.duration <= 0:
            raise InvalidValue(
                f"the push's duration must be above 0 s, not {self.duration:g} s.", "duration"
            )
        if self.start < 0 or self.start + self.duration > seconds:
            raise InvalidValue(
                f"the push from {self.start:g} to {self.start + self.duration:g} s must lie within"
                f" the run, 0 to {seconds:g} s.",
                "start",
            )

    def vector(self) -> Array:
        """Compute the force, shape (3,), in N, world axes."""
        angle = np.deg2rad(self.direction)
        return self.force * np.array([np.cos(angle), np.sin(angle), 0.0])


@dataclass(frozen=True)
class ClosedLoopResult:
    """Outcome of a closed-loop run.

    Attributes
    ----------
    seed
        Seed of the planner's samples.
    seconds
        Simulated time, in s.
    fell, diverged
        Whether the robot fell, and whether the simulation diverged.
    speed, sideways, turn
        Mean velocity along the heading and to the left, in m/s, and mean turn rate, in rad/s, after
        settling.
    final_speed
        Mean speed of the base over the last half second, in m/s.
    rise
        Height gained by the lowest contact point, in m.
    max_tilt
        Largest tilt of the base after settling, in rad.
    swing_fraction
        Fraction of the time after settling that a foot is in the air, 0 to 1, averaged over feet.
    stance_correlations
        Correlation of the stances of pairs of feet, by "ends", "sides" and "diagonals": 1 if both
        feet always stand at the same time, -1 if never. Empty unless the robot has four legs.
    latency
        Timing of the plans.
    delay
        Time from the state to the first torque of a plan, in s; 0 if time stands still while
        planning.
    commands
        Commands of the goal, by name.
    """

    seed: int
    seconds: float
    fell: bool
    diverged: bool
    speed: float
    sideways: float
    turn: float
    final_speed: float
    rise: float
    max_tilt: float
    swing_fraction: float
    stance_correlations: Mapping[str, float]
    latency: Latency
    delay: float
    commands: Mapping[str, float]


def run(
    planner: Planner,
    world: Simulation | MujocoSimulation,
    seconds: float,
    push: BasePush | None = None,
    progress: Callable[[float], None] | None = None,
) -> tuple[xr.Dataset, ClosedLoopResult]:
    """Run a planner in closed loop from the initial state.

    The run ends early if the world diverges.

    Parameters
    ----------
    planner
        The planner; it is reset first.
    world
        A simulation created with ``controller=planner``. A `Simulation` needs ``pushes`` of its
        base for a push.
    seconds
        Duration, in s.
    push
        A push on the base, if any.
    progress
        Called with the simulated time, in s.

    Returns
    -------
    tuple
        The log, and the outcome.

    Raises
    ------
    UnmetCondition
        If the world diverges in its first step.
    """
    planner.reset()
    base = planner.robot.bodies[0].name
    no_force = np.zeros(3)
    segments: list[tuple[float, Array]] = [(seconds, no_force)]
    if push is not None:
        push.check(seconds)
        remaining = seconds - push.start - push.duration
        segments = [(push.duration, push.vector())]
        # a push may start at 0 or last to the end
        if push.start >= 0.5 * world.dt:
            segments.insert(0, (push.start, no_force))
        if remaining >= 0.5 * world.dt:
            segments.append((remaining, no_force))
    # one run per segment, each with a constant force
    logs, diverged = list[xr.Dataset](), False
    for duration, force in segments:
        if push is not None:
            _set_force(world, base, force)
        try:
            logs.append(world.run(duration, progress))
        except Diverged as stop:
            diverged = True
            logs += [] if stop.log is None else [stop.log]
            break
    if not logs:
        raise UnmetCondition(
            "the world diverged in its first step: choose a shorter time step or another law.", "dt"
        )
    log = logs[0]
    if len(logs) > 1:
        log = xr.concat(logs, "time", data_vars="minimal", coords="minimal", compat="override")
        log = log.assign_attrs(logs[0].attrs)
    settled = SETTLING_TIME + (push.start + push.duration if push is not None else 0.0)
    return log, _result(planner, log, settled, diverged)


def _set_force(world: Simulation | MujocoSimulation, base: str, force: Array) -> None:
    """Apply a force, shape (3,), in N, to the base until the next call."""
    if isinstance(world, Simulation):
        world.set(push={base: force})
    else:
        world.data.xfrc_applied[1, :3] = force  # body 0 is the ground


def _result(planner: Planner, log: xr.Dataset, begin: float, diverged: bool) -> ClosedLoopResult:
    """Compute the outcome from a log; averages start at the time `begin`, in s."""
    # motion of the base along its heading
    time, q, u = (log[name].values for name in ("time", "q", "u"))
    after = time >= min(begin, time[-1] - 0.5)
    _, x, y, _ = q[:, 3:7].T
    heading = zyx_angles(q[:, 3:7])[:, 0]
    along = np.cos(heading) * u[:, 0] + np.sin(heading) * u[:, 1]
    left = np.cos(heading) * u[:, 1] - np.sin(heading) * u[:, 0]
    turn_rate = np.gradient(np.unwrap(heading), time)
    upright = np.clip(1 - 2 * (x * x + y * y), -1, 1)
    # feet
    lowest = log["contact_point"].values[..., 2].min(axis=1)
    in_stance = log["gap"].values[after] < SWING_GAP
    last = time > time[-1] - 0.5
    return ClosedLoopResult(
        planner.seed,
        float(time[-1]),
        has_fallen(planner.robot, log) or diverged,
        diverged,
        *(float(value[after].mean()) for value in (along, left, turn_rate)),
        final_speed=float(np.linalg.norm(u[last][:, :3], axis=1).mean()),
        rise=float(lowest[last].min() - lowest[0]),
        max_tilt=float(np.arccos(upright[after]).max()),
        swing_fraction=float(1 - in_stance.mean()),
        stance_correlations=_stance_correlations(
            planner.robot, in_stance, [str(name) for name in log["contact"].values]
        ),
        latency=planner.latency(),
        delay=planner.timing.delay,
        commands=planner.commands,
    )


def _stance_correlations(
    robot: Robot, in_stance: NDArray[np.bool_], names: list[str]
) -> dict[str, float]:
    """Compute the mean stance correlation of both pairs of feet of each kind.

    `in_stance`, shape (time, contacts), is true while a foot of `names` stands. A foot that always
    or never stands has correlation 0.
    """
    if why_no_diagonal_legs(robot):
        return {}
    legs, correlations = find_legs(robot), dict[str, float]()
    middle = np.mean([leg.hip for leg in legs], axis=0)
    for name, axis in {"ends": 0, "sides": 1}.items():
        groups = [np.sign(leg.hip[axis] - middle[axis]) for leg in legs]
        correlations[name] = _correlation(legs, groups, in_stance, names)
    return correlations | {"diagonals": _correlation(legs, diagonals(legs), in_stance, names)}


def _correlation(
    legs: Sequence[Leg], group: Sequence[float], in_stance: NDArray[np.bool_], names: list[str]
) -> float:
    """Compute the mean correlation of the two feet of each group."""
    values = []
    for key in set(group):
        pair = [leg.name for leg, g in zip(legs, group, strict=True) if g == key]
        a, b = (in_stance[:, names.index(name)].astype(float) for name in pair)
        spread = a.std() * b.std()
        values.append(np.mean((a - a.mean()) * (b - b.mean())) / spread if spread else 0.0)
    return float(np.mean(values))
