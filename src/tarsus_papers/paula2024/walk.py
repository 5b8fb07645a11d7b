"""The walk of section 6 in Tarsus and in MuJoCo, with the settings of Table I.

The paper does not give its gait; frequency, duty factor, foot lift and speed were chosen for
Tarsus.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from time import thread_time
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from tarsus import robots
from tarsus.contact.laws.hertz import Hertz
from tarsus.control.gaits.trot import Trot
from tarsus.dynamics.robot import Robot
from tarsus.mujoco_runs.settings import MujocoSettings
from tarsus.mujoco_runs.simulation import MujocoSimulation
from tarsus.simulation.recording.attitude import trunk_angles
from tarsus.simulation.simulation import Simulation

Array = NDArray[Any]
DT, SECONDS, QUICK_SECONDS = 1e-4, 10.0, 2.0  # s
SPEED, SPEEDS = 0.2, (0.1, 0.2, 0.4)  # m/s, commands of the gait
LEFT_FORELEG = "FL_foot"
SHORT = 0.02  # s, below which contacts and gaps in contacts count as spurious

# section 6.2: no feedback from the trunk, no feedforward of weight
GAIT = Trot(heading=0.0, tracking=0.0, capture=0.0, lean=0.0, support=0.0)
LAW = Hertz()
STEPPER = "heun"
THEIRS = MujocoSettings(mu=1.6, solref=(-1600.0, -100.0), integrator="implicit", cone="elliptic")
SETTING = (
    f"Gait (not given in the paper): trot at {GAIT.frequency:g} Hz, duty factor {GAIT.duty:g},"
    f" foot lift {1e3 * GAIT.step_height:g} mm, command {SPEED:g} m/s unless stated otherwise,"
    f" full speed after {GAIT.ramp:g} s; open loop as in section 6.2, abduction joints at zero."
    " Without feedback the robot is slower than commanded. Only its feet touch the ground."
)


@cache
def load_cheetah() -> Robot:
    """Return Mini Cheetah, of which only the feet touch; the same object for every run."""
    return robots.load("mini_cheetah").with_contacts("*_foot")


@cache
def create_tarsus_walk() -> Simulation:
    """Create the simulation that replaces the paper's: Hertz contact, explicit second order."""
    return Simulation(load_cheetah(), LAW, STEPPER, controller=GAIT, dt=DT)


@cache
def create_mujoco_walk() -> MujocoSimulation:
    """Create the simulation in MuJoCo."""
    return MujocoSimulation(load_cheetah(), THEIRS, controller=GAIT, dt=DT)


@dataclass(frozen=True, eq=False)
class WalkMotion:
    """Signals of Figures 5 and 6 in one simulator, after every step."""

    position: Array
    """Position of the trunk (steps, 3), m."""
    angles: Array
    """Yaw, pitch and roll of the trunk (steps, 3), degrees."""
    force: Array
    """Vertical force on the left forefoot (steps,), N."""
    seconds: float
    """Processor time of all steps without logging, s."""

    @property
    def active(self) -> Array:
        """Whether the left forefoot is in contact, shape (steps,)."""
        return self.force > 0


@dataclass(frozen=True, eq=False)
class ComparedWalk:
    """The same walk in both simulators."""

    time: Array
    """Time after every step, s."""
    tarsus: WalkMotion
    """Motion in Tarsus."""
    mujoco: WalkMotion
    """Motion in MuJoCo."""


@cache
def run_walk(speed: float, seconds: float) -> ComparedWalk:
    """Run both simulators from the same initial state with a commanded speed in m/s."""
    logs = []
    for simulation in (create_tarsus_walk(), create_mujoco_walk()):
        simulation.reset()
        simulation.set(command={"speed": speed})
        logs.append(simulation.run(seconds))
    # time of the steps: Tarsus without a log, MuJoCo as a replay of its torques in C
    create_tarsus_walk().reset()
    replay = create_mujoco_walk().replay(logs[1])
    times = [
        _measure_time(lambda: create_tarsus_walk().advance(seconds)),
        _measure_time(replay.rollout),
    ]
    motions = [_motion(log, time) for log, time in zip(logs, times, strict=True)]
    return ComparedWalk(np.array(logs[0]["time"].values), *motions)


def _measure_time(work: Callable[[], object]) -> float:
    """Measure the processor time of this thread for a task, s."""
    began = thread_time()
    work()
    return thread_time() - began


def _motion(log: xr.Dataset, seconds: float) -> WalkMotion:
    return WalkMotion(
        np.array(log["q"].values[:, :3]),
        np.rad2deg(trunk_angles(log).values),
        np.array(log["force_world"].sel(contact=LEFT_FORELEG, xyz="z").values),
        seconds,
    )


def mean_error(one: Array, other: Array) -> Array:
    """Compute the mean absolute difference over time (axis 0)."""
    return np.abs(one - other).mean(axis=0)


def spurious_times(active: Array, dt: float) -> list[float]:
    """Find the start times (s) of contacts and gaps that are shorter than `SHORT`."""
    edges = np.flatnonzero(np.diff(active.astype(int))) + 1
    lengths = np.diff(edges) * dt
    return [float(edge * dt) for edge in edges[:-1][lengths < SHORT]]


def walk_duration(quick: bool) -> float:
    """Return the duration of a walk in s."""
    return QUICK_SECONDS if quick else SECONDS
