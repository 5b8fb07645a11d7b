"""Which single change of a contract would make a policy walk.

Every known mistake (`mistakes`) is mended in turn, and a few short trials are run. Changes under
which the policy does clearly better than as it is are suggestions, the best first; of a contract
that is right there should be none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tarsus.dynamics.robot import Robot
from tarsus.errors import TarsusError
from tarsus.policies.binding import BoundPolicy
from tarsus.policies.contract import Contract
from tarsus.policies.mistakes import changes
from tarsus.policies.rollout import rollout
from tarsus.policies.worlds import Conditions, PolicyEngine

COMMANDS = ((0.5, 0.0, 0.0), (0.0, 0.3, 0.0), (0.0, 0.0, 0.5), (0.0, 0.0, 0.0))
SECONDS = 4.0
PUSH, PUSH_AT = (0.4, 0.4), 2.0  # m/s, along the world's axes; s
STANDS, OBEYS = 0.4, 0.6  # parts of the score
BETTER = 0.1  # of the score: what a suggestion gains at least


@dataclass(frozen=True)
class ContractTrial:
    """How well a policy does with one change.

    Parameters
    ----------
    mistake, change : str
        Which mistake it would mend, and how.
    score : float
        From 0, falls at once, to 1, does as it is told.
    stood : float
        Part of the trials that did not fall.
    """

    mistake: str
    change: str
    score: float
    stood: float


@dataclass(frozen=True)
class ContractDiagnosis:
    """What was found.

    Parameters
    ----------
    as_it_is : ContractTrial
        How well the policy does without a change.
    suggestions : tuple of ContractTrial
        Changes that would make it do clearly better, the best first.
    """

    as_it_is: ContractTrial
    suggestions: tuple[ContractTrial, ...]


def diagnosis(
    contract: Contract,
    robot: Robot,
    *,
    dt: float,
    law: str = "moreau",
    say: Callable[[str], None] = lambda text: None,
) -> ContractDiagnosis:
    """Try every known mistake of a contract on a robot.

    Parameters
    ----------
    contract : Contract
        Complete.
    robot : Robot
        That the policy moves.
    dt : float
        Length of a step, s.
    law : str
        Contact law.
    say : callable
        Told what is tried.
    """
    bound = BoundPolicy.of(contract, robot)
    joints = tuple(robot.actuators[k].joint for k in bound.actuators)
    own = scored("", "as it is", bound, dt, law)
    found = []
    for name, said, changed in changes(bound.contract, joints):
        say(f"{name}: {said}")
        try:
            found.append(scored(name, said, BoundPolicy.of(changed, robot), dt, law))
        except TarsusError:
            continue  # sizes that do not fit: this is not the mistake
    better = [finding for finding in found if finding.score > own.score + BETTER]
    return ContractDiagnosis(own, tuple(sorted(better, key=lambda finding: -finding.score)))


def scored(name: str, said: str, policy: BoundPolicy, dt: float, law: str) -> ContractTrial:
    """Return how well a policy does as it is told, in short trials.

    The score of a trial is the part of its time that it stood and, if it never fell, how near its
    mean velocity from the first second on comes to the command: 0 of one that stands still.
    """
    command = np.array(COMMANDS)
    worlds = PolicyEngine(law).worlds(policy, turned(policy), dt)
    pushes = {PUSH_AT: np.tile(PUSH, (len(command), 1))}
    done = rollout(policy, worlds, command, SECONDS, pushes=pushes)
    stood = np.minimum(done.fell, SECONDS) / SECONDS
    obeyed = np.clip(1 - done.velocity_error(), 0, 1) * done.survived
    score = float(np.mean(STANDS * stood + OBEYS * obeyed))
    return ContractTrial(name, said, score, float(done.survived.mean()))


def turned(policy: BoundPolicy) -> Conditions:
    """Return trials that begin with different headings: axes of the world are none of the base."""
    conditions = Conditions.alike(policy, len(COMMANDS))
    half = np.pi * np.arange(len(COMMANDS)) / len(COMMANDS)
    conditions.q[:, 3:7] = np.stack([np.cos(half), 0 * half, 0 * half, np.sin(half)], axis=1)
    return conditions
