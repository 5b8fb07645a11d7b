"""Diagnose a policy's contract: find single changes that improve the policy's performance.

Every common mistake (`mistakes`) is undone in turn, and a few short trials are run. Two measures
distinguish a correct contract from a wrong one: how well the policy tracks its command, and how
little the base rotates, since training penalizes its angular velocity. A correct contract should
yield no suggestions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tarsus.dynamics.robot import Robot
from tarsus.errors import TarsusError
from tarsus.model.mechanism import WORLD
from tarsus.policies.binding import BoundPolicy
from tarsus.policies.contract import COMMANDS, Contract
from tarsus.policies.mistakes import JointNames, changes
from tarsus.policies.rollout import Rollout, rollout
from tarsus.policies.worlds import FRICTION, Conditions, PolicyEngine

TRIAL_COMMANDS = ((0.5, 0.0, 0.0), (0.0, 0.3, 0.0), (0.0, 0.0, 0.5), (0.0, 0.0, 0.0))
SECONDS = 4.0  # duration of a trial
PUSH_TIME = 2.0  # s
DIFFICULTIES = ((FRICTION, 0.4), (0.5, 0.8))  # friction, and push in m/s along x and along y
STANDING_WEIGHT, TRACKING_WEIGHT = 0.4, 0.6  # in the score
CALM_GAIN = 0.15  # gain per halving of the base's angular velocity
MAX_CALM_GAIN = 0.3
MAX_SCORE_LOSS = 0.1  # with a larger loss of score, a calmer base adds no gain
MIN_GAIN = 0.1  # smallest gain of a suggested change
MIN_SWAY = 1e-4  # rad/s: floor, against division by zero


@dataclass(frozen=True)
class ContractTrial:
    """Performance of a policy with one change of its contract.

    Parameters
    ----------
    mistake, change : str
        Mistake that the change undoes, and a description of the change.
    score : float
        Score from 0 (falls at once) to 1 (moves as commanded).
    stood : float
        Share of the trials without a fall.
    sway : float
        Root mean square of the base's angular velocity, rad/s.
    """

    mistake: str
    change: str
    score: float
    stood: float
    sway: float

    def gain(self, before: ContractTrial) -> float:
        """Compute the improvement over another trial; negative if this one is worse."""
        improvement = self.score - before.score
        measured = np.isfinite([self.sway, before.sway]).all()
        if improvement < -MAX_SCORE_LOSS or not measured:
            return improvement
        sway, sway_before = (max(trial.sway, MIN_SWAY) for trial in (self, before))
        calm_gain = CALM_GAIN * np.log2(sway_before / sway)
        return improvement + float(np.clip(calm_gain, 0.0, MAX_CALM_GAIN))


@dataclass(frozen=True)
class ContractDiagnosis:
    """Suggested changes of a contract.

    Parameters
    ----------
    unchanged : ContractTrial
        Performance with the contract as it is.
    suggestions : tuple of ContractTrial
        Changes that clearly improve the performance, the best first.
    """

    unchanged: ContractTrial
    suggestions: tuple[ContractTrial, ...]


def diagnose(
    contract: Contract,
    robot: Robot,
    *,
    dt: float,
    law: str = "moreau",
    report: Callable[[str], None] = lambda text: None,
) -> ContractDiagnosis:
    """Try to undo every known mistake in a contract, in simulation.

    Parameters
    ----------
    contract : Contract
        Complete contract.
    robot : Robot
        Robot that the policy controls.
    dt : float
        Step size, s.
    law : str
        Contact law.
    report : callable
        Called with a description of each change before it is tried.
    """
    bound = BoundPolicy.of(contract, robot)
    joints = joint_names(bound)
    unchanged = run_trials("", "unchanged", bound, dt, law)
    trials = []
    for mistake, change, changed in changes(bound.contract, joints):
        report(f"{mistake}: {change}")
        try:
            trials.append(run_trials(mistake, change, BoundPolicy.of(changed, robot), dt, law))
        except TarsusError:
            continue  # sizes do not match, so this is not the mistake
    better = [trial for trial in trials if trial.gain(unchanged) > MIN_GAIN]
    better.sort(key=lambda trial: trial.gain(unchanged), reverse=True)
    return ContractDiagnosis(unchanged, tuple(better))


def run_trials(
    mistake: str, change: str, policy: BoundPolicy, dt: float, law: str
) -> ContractTrial:
    """Run short trials and score them.

    The score of a trial combines the share of time before a fall with the accuracy of the mean
    velocity after the first second, which is 0 for a robot that falls or ignores its command.
    """
    command = np.tile(trial_commands(policy.contract), (len(DIFFICULTIES), 1))
    friction, push = np.repeat(DIFFICULTIES, len(TRIAL_COMMANDS), axis=0).T
    conditions = replace(vary_headings(policy, len(command)), friction=friction)
    worlds = PolicyEngine(law).create_worlds(policy, conditions, dt, precision="float32")
    pushes = {PUSH_TIME: np.stack([push, push], axis=1)}
    done = rollout(policy, worlds, command, SECONDS, pushes=pushes, record=True)
    stood = np.minimum(done.fell, SECONDS) / SECONDS
    tracked = np.clip(1 - done.velocity_error(), 0, 1) * done.survived
    score = float(np.mean(STANDING_WEIGHT * stood + TRACKING_WEIGHT * tracked))
    return ContractTrial(mistake, change, score, float(done.survived.mean()), root_mean_sway(done))


def trial_commands(contract: Contract) -> NDArray[np.float64]:
    """Clip the commanded velocities of the trials, shape (n, 3), to the contract's ranges."""
    ends = [contract.ranges.get(name, (-np.inf, np.inf)) for name in COMMANDS]
    return np.clip(TRIAL_COMMANDS, *np.transpose(ends))


def root_mean_sway(done: Rollout) -> float:
    """Compute the root mean square of the base's angular velocity before falls, in rad/s.

    It is infinite if all trials fall in the first control period.
    """
    times = done.period * np.arange(1, 1 + len(done.u))
    before_fall = np.less(times[:, None], done.fell)
    if not before_fall.any():
        return np.inf
    return float(np.sqrt((done.u[:, :, 3:6][before_fall] ** 2).mean()))


def joint_names(policy: BoundPolicy) -> JointNames:
    """List the names of a policy's joints in the orders that frameworks use."""
    robot, indices = policy.robot, policy.actuators.tolist()
    levels = list[int]()  # depth of each body in the tree; a parent precedes its children
    for body in robot.bodies:
        levels.append(0 if body.parent == WORLD else levels[body.parent] + 1)

    def level(joint: str) -> tuple[int, int]:
        body = robot.joint_index(joint)
        return levels[body], body

    names, sorted_names = (
        tuple(robot.actuators[k].joint for k in order) for order in (indices, sorted(indices))
    )
    return JointNames(names, sorted_names, tuple(sorted(names, key=level)))


def vary_headings(policy: BoundPolicy, trials: int) -> Conditions:
    """Create trials with different headings, so that base axes and world axes differ."""
    conditions = Conditions.uniform(policy, trials)
    half = np.pi * (np.arange(trials) % len(TRIAL_COMMANDS)) / len(TRIAL_COMMANDS)
    conditions.q[:, 3:7] = np.stack([np.cos(half), 0 * half, 0 * half, np.sin(half)], axis=1)
    return conditions
