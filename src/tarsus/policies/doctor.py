"""Find the single change of a contract that would make a policy do better.

Every known mistake (`mistakes`) is undone in turn, and a few short trials are run. Two things
distinguish a right contract from a wrong one: how well the policy follows its command, and how
calm the base stays, since training penalizes its angular velocity. A contract that is right should
get no suggestion.
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
SECONDS = 4.0
PUSH_TIME = 2.0  # s
DIFFICULTIES = ((FRICTION, 0.4), (0.5, 0.8))  # friction [1] and push along each world axis, m/s
STANDING_SHARE, TRACKING_SHARE = 0.4, 0.6  # of the score
CALM_GAIN = 0.15  # for each halving of the base's angular velocity
MAX_CALM_GAIN = 0.3
MAX_SCORE_LOSS = 0.1  # a calmer base counts only up to this loss of score
MIN_GAIN = 0.1  # of a suggested change
MIN_SWAY = 1e-4  # rad/s: smaller values count as this one


@dataclass(frozen=True)
class ContractTrial:
    """Performance of a policy with one change of its contract.

    Parameters
    ----------
    mistake, change : str
        Mistake that the change would undo, and the change in words.
    score : float
        From 0 (falls at once) to 1 (moves as commanded).
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
        """Compute how much better this trial is than another; negative if it is worse."""
        better = self.score - before.score
        measured = np.isfinite([self.sway, before.sway]).all()
        if better < -MAX_SCORE_LOSS or not measured:
            return better
        after, at_first = (max(trial.sway, MIN_SWAY) for trial in (self, before))
        calmer = CALM_GAIN * np.log2(at_first / after)
        return better + float(np.clip(calmer, 0.0, MAX_CALM_GAIN))


@dataclass(frozen=True)
class ContractDiagnosis:
    """Changes of a contract that would make its policy do better.

    Parameters
    ----------
    unchanged : ContractTrial
        Performance without a change.
    suggestions : tuple of ContractTrial
        Changes that would make it do clearly better, the best first.
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
    """Try every known mistake of a contract on a robot.

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
        Called with the change that is tried.
    """
    bound = BoundPolicy.of(contract, robot)
    joints = joint_names(bound)
    unchanged = run_trials("", "as it is", bound, dt, law)
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

    The score of a trial is the share of its time without a fall and, if it never fell, how close
    its mean velocity from the first second on comes to the command: 0 if it stands still.
    """
    command = np.tile(trial_commands(policy.contract), (len(DIFFICULTIES), 1))
    friction, push = np.repeat(DIFFICULTIES, len(TRIAL_COMMANDS), axis=0).T
    conditions = replace(with_headings(policy, len(command)), friction=friction)
    worlds = PolicyEngine(law).worlds(policy, conditions, dt, precision="float32")
    pushes = {PUSH_TIME: np.stack([push, push], axis=1)}
    done = rollout(policy, worlds, command, SECONDS, pushes=pushes, record=True)
    stood = np.minimum(done.fell, SECONDS) / SECONDS
    obeyed = np.clip(1 - done.velocity_error(), 0, 1) * done.survived
    score = float(np.mean(STANDING_SHARE * stood + TRACKING_SHARE * obeyed))
    return ContractTrial(mistake, change, score, float(done.survived.mean()), sway(done))


def trial_commands(contract: Contract) -> NDArray[np.float64]:
    """Clip the commanded velocities of the trials, shape (n, 3), to a contract's ranges."""
    ends = [contract.ranges.get(name, (-np.inf, np.inf)) for name in COMMANDS]
    return np.clip(TRIAL_COMMANDS, *np.transpose(ends))


def sway(done: Rollout) -> float:
    """Compute the root mean square of the base's angular velocity before falls, in rad/s.

    Infinite if all fall in the first control period.
    """
    times = done.period * np.arange(1, 1 + len(done.u))
    before_fall = np.less(times[:, None], done.fell)
    if not before_fall.any():
        return np.inf
    return float(np.sqrt((done.u[:, :, 3:6][before_fall] ** 2).mean()))


def joint_names(policy: BoundPolicy) -> JointNames:
    """List the names of a policy's joints in several orders."""
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


def with_headings(policy: BoundPolicy, trials: int) -> Conditions:
    """Create trials with different headings, so that axes of the base and the world differ."""
    conditions = Conditions.alike(policy, trials)
    half = np.pi * (np.arange(trials) % len(TRIAL_COMMANDS)) / len(TRIAL_COMMANDS)
    conditions.q[:, 3:7] = np.stack([np.cos(half), 0 * half, 0 * half, np.sin(half)], axis=1)
    return conditions
