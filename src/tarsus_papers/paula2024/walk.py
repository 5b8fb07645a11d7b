"""The walk of section 6 in Tarsus and in MuJoCo, with the settings of Table I.

The paper prints no gait: frequency, duty factor, foot lift and speed are our choice.
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
SPEED, SPEEDS = 0.2, (0.1, 0.2, 0.4)  # m/s that the gait is told
LEFT_FORELEG = "FL_foot"
SHORT = 0.02  # s: a contact, or a gap in one, that is shorter is spurious

# section 6.2: no feedback from the trunk, no feedforward of weight
GAIT = Trot(heading=0.0, tracking=0.0, capture=0.0, lean=0.0, support=0.0)
LAW = Hertz()
STEPPER = "heun"
THEIRS = MujocoSettings(mu=1.6, solref=(-1600.0, -100.0), integrator="implicit", cone="elliptic")
SETTING = (
    f"Gait (ours; the paper prints none): trot at {GAIT.frequency:g} Hz, duty {GAIT.duty:g}, feet"
    f" lifted by {1e3 * GAIT.step_height:g} mm, told {SPEED:g} m/s unless another speed is named,"
    f" full speed after {GAIT.ramp:g} s; open loop as in section 6.2, abduction joints at zero."
    " Without feedback the robot goes slower than it is told."
)


@cache
def cheetah() -> Robot:
    """Return Mini Cheetah, the same object for every run."""
    return robots.load("mini_cheetah")


@cache
def ours() -> Simulation:
    """Return the paper's side: Hertz contact, explicit second-order Euler."""
    return Simulation(cheetah(), LAW, STEPPER, controller=GAIT, dt=DT)


@cache
def theirs() -> MujocoSimulation:
    """Return MuJoCo's side."""
    return MujocoSimulation(cheetah(), THEIRS, controller=GAIT, dt=DT)


@dataclass(frozen=True, eq=False)
class ShownMotion:
    """Signals of one simulator that Figures 5 and 6 show, after every step."""

    position: Array
    """Of the trunk (steps, 3), m."""
    angles: Array
    """Yaw, pitch, roll of the trunk (steps, 3), degrees."""
    force: Array
    """Vertical force on the left forefoot (steps,), N."""
    seconds: float
    """Processor time of the steps of `run`, s, logging left out."""

    @property
    def active(self) -> Array:
        """Whether the left forefoot is in contact, shape (steps,)."""
        return self.force > 0


@dataclass(frozen=True, eq=False)
class ComparedWalk:
    """The same walk in both simulators."""

    time: Array
    ours: ShownMotion
    theirs: ShownMotion


@cache
def run_walk(speed: float, seconds: float) -> ComparedWalk:
    """Run both simulators from the same start, with the gait commanded to a speed in m/s."""
    logs = []
    for simulation in (ours(), theirs()):
        simulation.reset()
        simulation.set(command={"speed": speed})
        logs.append(simulation.run(seconds))
    # time of the steps alone: ours without a log, MuJoCo's as a replay of its torques in C
    ours().reset()
    replay = theirs().replay(logs[1])
    spent = [_spent(lambda: ours().advance(seconds)), _spent(replay.rollout)]
    motions = [_motion(log, s) for log, s in zip(logs, spent, strict=True)]
    return ComparedWalk(np.array(logs[0]["time"].values), *motions)


def _spent(work: Callable[[], object]) -> float:
    """Return the processor time (s) of this thread spent on a task."""
    began = thread_time()
    work()
    return thread_time() - began


def _motion(log: xr.Dataset, seconds: float) -> ShownMotion:
    return ShownMotion(
        np.array(log["q"].values[:, :3]),
        np.rad2deg(trunk_angles(log).values),
        np.array(log["force_world"].sel(contact=LEFT_FORELEG, xyz="z").values),
        seconds,
    )


def mean_error(one: Array, other: Array) -> Array:
    """Return the mean absolute difference over time (axis 0)."""
    return np.abs(one - other).mean(axis=0)


def spurious_times(active: Array, dt: float) -> list[float]:
    """Return the start times (s) of contacts, and of gaps in one, shorter than `SHORT`."""
    edges = np.flatnonzero(np.diff(active.astype(int))) + 1
    lengths = np.diff(edges) * dt
    return [float(edge * dt) for edge in edges[:-1][lengths < SHORT]]


def walk_duration(quick: bool) -> float:
    """Return the duration of a walk in s."""
    return QUICK_SECONDS if quick else SECONDS
