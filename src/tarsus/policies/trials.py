"""Trials of a policy: drawn once from a seed, run in any engine and with any single change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from tarsus.policies.binding import BoundPolicy
from tarsus.policies.rollout import Rollout, rollout
from tarsus.policies.worlds import Conditions, PolicyEngine

Array = NDArray[np.float64]
JOINT_DEVIATION = 0.05  # rad: standard deviation of initial joint positions
SPEED_DEVIATION = 0.2  # m/s: standard deviation of the base's initial horizontal velocity
REDUCTION = 5  # factor by which margins and engine variants run fewer trials


@dataclass(frozen=True, eq=False)
class TrialPlan:
    """Command, duration and number of the trials of a check.

    Parameters
    ----------
    command : ndarray
        Commanded velocity, shape (3,): forward and left in m/s, turning left in rad/s.
    dt : float
        Step size, s.
    seconds : float
        Duration of a trial, s.
    count : int
        Number of trials.
    seed : int
        Seed of all random numbers.
    """

    command: Array
    dt: float
    seconds: float
    count: int
    seed: int = 0

    def shorten(self, count: int) -> TrialPlan:
        """Create the same plan with at most `count` trials."""
        return replace(self, count=min(count, self.count))

    @property
    def reduced(self) -> TrialPlan:
        """The same plan with fewer trials, for margins and engine variants."""
        return self.shorten(max(self.count // REDUCTION, 1))


@dataclass(frozen=True, eq=False)
class PolicyTrials:
    """Trials of a plan, with their deviations from the contract.

    Parameters
    ----------
    conditions : Conditions
        Initial state, ground and robot of each trial.
    pushes : mapping
        Velocity changes of the base along x and y, shape (trials, 2), in m/s, by time in s.
    noise : float
        Standard deviation of the observation noise, in units of the network's input.
    ground_stiffness : float or None
        Value of every stiffness of the contact law; None keeps the engine's values.
    """

    conditions: Conditions
    pushes: Mapping[float, Array] = field(default_factory=dict)
    noise: float = 0.0
    ground_stiffness: float | None = None


def draw_trials(policy: BoundPolicy, plan: TrialPlan) -> PolicyTrials:
    """Draw the initial joint positions and an initial push of each trial.

    A shortened plan has the first trials of the full plan, so that results are comparable.
    """
    generator = np.random.default_rng(plan.seed)
    offsets = generator.normal(0, 1, (plan.count, policy.count + 2))
    conditions = Conditions.uniform(policy, plan.count)
    conditions.q[:, policy.q_indices] += JOINT_DEVIATION * offsets[:, 2:]
    return PolicyTrials(conditions, {0.0: SPEED_DEVIATION * offsets[:, :2]})


def run(
    policy: BoundPolicy,
    engine: PolicyEngine,
    trials: PolicyTrials,
    plan: TrialPlan,
    *,
    record: bool = False,
    max_fallen_share: float = 1.0,
) -> Rollout:
    """Run trials in one engine, in single precision if the engine supports it.

    Parameters
    ----------
    policy : BoundPolicy
        Policy bound to its robot.
    engine : PolicyEngine
        Contact law or MuJoCo settings.
    trials : PolicyTrials
        Trials drawn for `plan`.
    plan : TrialPlan
        Command, step size and duration.
    record : bool
        Whether to record coordinates, velocities and signals of every control period.
    max_fallen_share : float
        Share of fallen robots, 0 to 1, at which the run stops.
    """
    if trials.ground_stiffness is not None:
        engine = engine.with_stiffness(trials.ground_stiffness)
    worlds = engine.create_worlds(policy, trials.conditions, plan.dt, precision="float32")
    return rollout(
        policy,
        worlds,
        np.tile(np.asarray(plan.command, float), (plan.count, 1)),
        plan.seconds,
        noise=trials.noise,
        seed=plan.seed,
        pushes=trials.pushes,
        record=record,
        max_fallen_share=max_fallen_share,
    )
