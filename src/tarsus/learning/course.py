"""What trials ask of a policy: drawn once, the same under every law and in every simulator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.environments.environment import Environment
from tarsus.errors import InvalidValue
from tarsus.learning.tally import AVERAGED
from tarsus.tasks.base import LearningTask, Range, known

Array = NDArray[np.float64]
MOST_PERIODS = 1e8  # of all trials together
SETTLED = 1.0  # s after another command before its errors count


@dataclass(frozen=True, eq=False)
class Course:
    """Trials of a task, drawn from what it draws from.

    periods: of control in each; rate: of them, Hz
    hold, wait: periods that a command is held, and from a push to the next
    commands (n, trials, c); pushes (n, trials, 2): m/s
    friction, mass (trials,): factors; posture (trials, motors): rad off the standing one
    """

    periods: int
    rate: float
    hold: int
    wait: int
    commands: Array
    pushes: Array
    friction: Array
    mass: Array
    posture: Array

    @property
    def trials(self) -> int:
        """How many."""
        return len(self.friction)

    def command(self, period: int) -> Array | None:
        """Another one (trials, c), where it changes as this period begins."""
        return None if period % self.hold else self.commands[period // self.hold]

    def push(self, period: int) -> Array | None:
        """One (trials, 2), m/s, where it comes as this period begins."""
        due = period and period % self.wait == 0
        return self.pushes[period // self.wait - 1] if due else None

    def missed(self, measured: Array, lasted: NDArray[np.int64]) -> Array:
        """By how much half a second's mean is off, on average (m,); NaN where nothing counts.

        measured (periods, trials, m); lasted (trials,): periods before a fall. What counts begins a
        second after a command.
        """
        window = max(1, round(AVERAGED * self.rate))
        whole = self.periods // window
        means = measured[: whole * window].reshape(whole, window, *measured.shape[1:]).mean(1)
        first = window * np.arange(whole)
        settled = first % self.hold >= SETTLED * self.rate
        counts = settled[:, None] & (first[:, None] + window <= lasted)
        return (
            np.abs(means[counts]).mean(0) if counts.any() else np.full(measured.shape[-1], np.nan)
        )


def drawn(task: LearningTask, motors: int, trials: int, seconds: float, seed: int = 0) -> Course:
    """Trials of so many seconds; TarsusError for fewer than one, or no time."""
    if trials < 1:
        raise InvalidValue(f"trials must be at least 1, not {trials}.", "trials")
    if not 0 < seconds < 1e6:
        raise InvalidValue(f"seconds must be above 0 and below 1e6, not {seconds:g}.", "seconds")
    if not seconds * task.rate * trials <= MOST_PERIODS:
        raise InvalidValue(
            f"{trials} trials of {seconds:g} s at rate = {task.rate:g} Hz exceed"
            f" {MOST_PERIODS:g} control periods: run fewer trials, or shorter ones.",
            "trials",
        )
    random, periods = np.random.default_rng(seed), max(1, round(seconds * task.rate))
    spans = (min(span * task.rate, MOST_PERIODS) for span in (task.hold, task.push_every))
    hold, wait = (max(1, round(span)) for span in spans)

    def within(ranges: Sequence[Range], count: int = 1) -> Array:
        low, high = np.array(ranges, float).T
        return random.uniform(low, high, (count, trials, len(ranges)))

    return Course(
        *(periods, task.rate, hold, wait),
        commands=within(list(task.commands().values()), -(-periods // hold)),
        pushes=within([(-known(task.push), known(task.push))] * 2, -(-periods // wait)),
        friction=within([task.friction])[0, :, 0],
        mass=within([task.mass])[0, :, 0],
        posture=within([(-task.spread, task.spread)] * motors)[0],
    )


def starts(environment: Environment, course: Course) -> Array:
    """Coordinates (trials, nq) that the trials begin with; where the task scatters them, those that
    the environment, one world a trial, has drawn.
    """
    if environment.task.scattered:
        return np.asarray(environment.state()["q"], float)
    m = environment.robot
    q = np.tile(environment.start, (course.trials, 1))
    for k, motor in enumerate(m.actuators):
        body = m.joint_index(motor.joint)
        joint, at = m.bodies[body].joint, m.q_slices[body].start
        q[:, at] = np.clip(q[:, at] + course.posture[:, k], joint.lower, joint.upper)
    return q


@dataclass(frozen=True)
class Played:
    """How a policy did in the trials of a course.

    law: its name, or "mujoco" with the name of its settings; dt: s; terrain: its name
    trials, seconds: how many, and how long each
    fell, diverged: how many of them
    missed: by how much half a second's mean of each measure is off, SI units, by name
    unconverged: the share of steps whose contact problem was not solved
    failure: why it could not be tried at all
    units: of what is missed, by name
    """

    law: str
    dt: float
    terrain: str
    trials: int
    seconds: float
    fell: int = 0
    diverged: int = 0
    missed: Mapping[str, float] | None = None
    unconverged: float = 0.0
    failure: str = ""
    units: Mapping[str, str] = field(default_factory=dict)


def outcome(
    course: Course, who: Mapping[str, Any], measures: Mapping[str, str], **found: Any
) -> Played:
    """From measured (periods, trials, m), lasted (trials,) and the other figures of `Played`.

    who: law, dt, terrain; measures: units by name
    """
    missed = course.missed(found.pop("measured"), lasted := found.pop("lasted"))
    return Played(
        **who,
        trials=course.trials,
        seconds=course.periods / course.rate,
        fell=int((lasted < course.periods).sum()),
        missed=dict(zip(measures, missed.tolist(), strict=True)),
        units=dict(measures),
        **found,
    )
