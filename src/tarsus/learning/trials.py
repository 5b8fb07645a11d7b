"""Trials of a policy: drawn once, and identical for every law and simulator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.environments.environment import Environment
from tarsus.errors import InvalidValue
from tarsus.learning.round_statistics import AVERAGING_TIME
from tarsus.tasks.base import LearningTask, Range, require_fitted

Array = NDArray[np.float64]
MAX_PERIODS = 1e8  # of all trials together
SETTLING_TIME = 1.0  # s after a new command in which its errors do not count


@dataclass(frozen=True, eq=False)
class Trials:
    """Random commands, pushes and variations of the trials of a task.

    Attributes
    ----------
    periods
        Control periods of each trial.
    rate
        Control periods per second.
    command_interval, push_interval
        Periods between command changes, and between pushes.
    commands
        Commands, shape (n, trials, c).
    pushes
        Velocity changes, shape (n, trials, 2), in m/s.
    friction, mass
        Factors, shape (trials,).
    posture
        Joint offsets from the standing posture, shape (trials, motors), in rad.
    """

    periods: int
    rate: float
    command_interval: int
    push_interval: int
    commands: Array
    pushes: Array
    friction: Array
    mass: Array
    posture: Array

    @property
    def count(self) -> int:
        """Number of trials."""
        return len(self.friction)

    def command(self, period: int) -> Array | None:
        """Return the new commands, (trials, c), or None if they do not change in this period."""
        return (
            None
            if period % self.command_interval
            else self.commands[period // self.command_interval]
        )

    def push(self, period: int) -> Array | None:
        """Return the pushes, shape (trials, 2), in m/s, or None if this period starts without."""
        due = period and period % self.push_interval == 0
        return self.pushes[period // self.push_interval - 1] if due else None

    def mean_errors(self, measured: Array, lasted: NDArray[np.int64]) -> Array:
        """Compute the mean absolute errors, shape (m,), of averages over half a second.

        Errors count from one second after a command until a fall; NaN if none does.

        Parameters
        ----------
        measured
            Measures of the task, shape (periods, trials, m).
        lasted
            Periods before a fall, shape (trials,).
        """
        window = max(1, round(AVERAGING_TIME * self.rate))
        blocks = self.periods // window
        means = measured[: blocks * window].reshape(blocks, window, *measured.shape[1:]).mean(1)
        first = window * np.arange(blocks)
        settled = first % self.command_interval >= SETTLING_TIME * self.rate
        counts = settled[:, None] & (first[:, None] + window <= lasted)
        return (
            np.abs(means[counts]).mean(0) if counts.any() else np.full(measured.shape[-1], np.nan)
        )


def draw_trials(
    task: LearningTask, motors: int, trials: int, seconds: float, seed: int = 0
) -> Trials:
    """Draw trials of a task.

    Parameters
    ----------
    task
        The task.
    motors
        Number of motors.
    trials
        Number of trials.
    seconds
        Duration of a trial, in s.
    seed
        Seed of the random numbers.

    Raises
    ------
    InvalidValue
        For too few or too many trials or seconds.
    """
    if trials < 1:
        raise InvalidValue(f"trials must be at least 1, not {trials}.", "trials")
    if not 0 < seconds < 1e6:
        raise InvalidValue(f"seconds must be above 0 and below 1e6, not {seconds:g}.", "seconds")
    if not seconds * task.rate * trials <= MAX_PERIODS:
        raise InvalidValue(
            f"{trials} trials of {seconds:g} s at rate = {task.rate:g} Hz exceed"
            f" {MAX_PERIODS:g} control periods: run fewer trials, or shorter ones.",
            "trials",
        )
    random, periods = np.random.default_rng(seed), max(1, round(seconds * task.rate))
    spans = (
        min(span * task.rate, MAX_PERIODS) for span in (task.command_interval, task.push_interval)
    )
    command_interval, push_interval = (max(1, round(span)) for span in spans)

    def uniform(ranges: Sequence[Range], count: int = 1) -> Array:
        low, high = np.array(ranges, float).T
        return random.uniform(low, high, (count, trials, len(ranges)))

    return Trials(
        *(periods, task.rate, command_interval, push_interval),
        commands=uniform(list(task.commands().values()), -(-periods // command_interval)),
        pushes=uniform(
            [(-require_fitted(task.push), require_fitted(task.push))] * 2,
            -(-periods // push_interval),
        ),
        friction=uniform([task.friction])[0, :, 0],
        mass=uniform([task.mass])[0, :, 0],
        posture=uniform([(-task.start_offset, task.start_offset)] * motors)[0],
    )


def initial_coordinates(environment: Environment, trials: Trials) -> Array:
    """Compute the initial coordinates of the trials, shape (trials, nq).

    If the task randomizes poses, they are those drawn by the environment, which has one world per
    trial.
    """
    if environment.task.randomizes_pose:
        return np.asarray(environment.state()["q"], float)
    m = environment.robot
    q = np.tile(environment.start, (trials.count, 1))
    for k, motor in enumerate(m.actuators):
        body = m.joint_index(motor.joint)
        joint, index = m.bodies[body].joint, m.q_slices[body].start
        q[:, index] = np.clip(q[:, index] + trials.posture[:, k], joint.lower, joint.upper)
    return q


@dataclass(frozen=True)
class TrialResult:
    """Outcome of a policy in its trials.

    Attributes
    ----------
    law
        Name of the law, or "mujoco" with the name of its settings.
    dt
        Step size, in s.
    terrain
        Name of the terrain.
    trials, seconds
        Number of trials, and duration of each, in s.
    fell, diverged
        Number of trials that ended in a fall, and that diverged.
    errors
        Mean errors over half a second, by measure, in SI units.
    unconverged
        Fraction of steps whose contact problem did not converge.
    failure
        Error message if the policy could not be run, else empty.
    units
        Units of the errors, by measure.
    """

    law: str
    dt: float
    terrain: str
    trials: int
    seconds: float
    fell: int = 0
    diverged: int = 0
    errors: Mapping[str, float] | None = None
    unconverged: float = 0.0
    failure: str = ""
    units: Mapping[str, str] = field(default_factory=dict)


def trial_result(
    trials: Trials, setup: Mapping[str, Any], measures: Mapping[str, str], **fields: Any
) -> TrialResult:
    """Summarize trials.

    Parameters
    ----------
    trials
        The trials.
    setup
        Law, dt and terrain.
    measures
        Units of the measures, by name.
    **fields
        `measured`, shape (periods, trials, m), `lasted`, shape (trials,), and other fields of
        `TrialResult`.
    """
    errors = trials.mean_errors(fields.pop("measured"), lasted := fields.pop("lasted"))
    return TrialResult(
        **setup,
        trials=trials.count,
        seconds=trials.periods / trials.rate,
        fell=int((lasted < trials.periods).sum()),
        errors=dict(zip(measures, errors.tolist(), strict=True)),
        units=dict(measures),
        **fields,
    )
