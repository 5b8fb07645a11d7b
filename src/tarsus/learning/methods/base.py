"""Base classes of learning methods: settings, and a learner that improves a policy in rounds.

To add a method, create a file here with one frozen dataclass of settings that derives from
`Method`. The name of the file is the name of the method (`tarsus learn --method`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tarsus.environments.environment import Environment
from tarsus.errors import InvalidFile
from tarsus.learning.blas import limit_to_one_thread
from tarsus.learning.policy import Policy
from tarsus.learning.round_statistics import RoundStatistics
from tarsus.parameters import check, parameter
from tarsus.references.reference import Citation


@dataclass(frozen=True)
class Round:
    """Statistics of one training round.

    Attributes
    ----------
    round
        Number of the round, from 1.
    periods
        Control periods of all worlds and rounds so far.
    reward
        Reward per second.
    falls
        Falls per world and second.
    errors
        Mean errors over half a second, by measure, in SI units.
    terms
        Terms of the reward, by name.
    diverged
        Number of worlds that diverged.
    unconverged
        Number of steps that did not converge.
    details
        Statistics of the learning method itself, by name.
    level
        Mean factor on the heights of the ground; None for a task without levels.
    """

    round: int
    periods: int
    reward: float
    falls: float
    errors: Mapping[str, float]
    terms: Mapping[str, float]
    diverged: int
    unconverged: int
    details: Mapping[str, float] = field(default_factory=dict)
    level: float | None = None


class Learner(ABC):
    """Policy in training. Equal environment, settings and seed give equal bits.

    Attributes
    ----------
    rounds
        Number of rounds so far.
    observations
        Observations for the next actions, shape (worlds, k).
    """

    def __init__(self, environment: Environment, seed: int) -> None:
        self.environment, self.seed, self.rounds = environment, seed, 0
        self.observations = environment.reset(seed)
        self.statistics = RoundStatistics(environment)

    @property
    @abstractmethod
    def policy(self) -> Policy:
        """Copy of the current policy."""

    def run_round(self) -> Round:
        """Run a round: collect experience with the policy, and improve it.

        NumPy's matrix products run on one thread: more would be slower, and would change the
        rounding of sums.

        Returns
        -------
        Round
            Statistics of the round.
        """
        with limit_to_one_thread():
            return self._run_round()

    @abstractmethod
    def _run_round(self) -> Round:
        """Run a round, with NumPy on one thread."""

    @abstractmethod
    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays of the learner, as NumPy views or copies."""

    def set_arrays(self, values: Mapping[str, NDArray[Any]]) -> None:
        """Write the arrays of the learner; by default into the views that `arrays` returns."""
        for name, part in self.arrays().items():
            part[...] = values[name]

    def state(self) -> dict[str, NDArray[Any]]:
        """Return copies of everything needed to resume: learner, worlds and statistics."""
        learner = {f"learner.{name}": part.copy() for name, part in self.arrays().items()}
        worlds = {f"worlds.{k}": part for k, part in self.environment.state().items()}
        statistics = {f"statistics.{k}": part for k, part in self.statistics.arrays().items()}
        return learner | worlds | statistics | {"rounds": np.array(self.rounds)}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Restore a state that `state` returned.

        Raises
        ------
        InvalidFile
            If an array does not fit this learner; the subject is its name.
        """
        for name, current in self.state().items():
            stored = state.get(name)
            kind = current.dtype.kind
            if stored is None or stored.shape != current.shape or stored.dtype.kind != kind:
                raise InvalidFile(
                    f"the checkpoint is damaged: {name} must have the shape {current.shape} and"
                    f" the type {current.dtype}. Delete the checkpoint or choose another folder.",
                    name,
                )
        self.rounds = int(state["rounds"])
        for prefix, owner in (("learner", self), ("statistics", self.statistics)):
            owner.set_arrays({name: state[f"{prefix}.{name}"] for name in owner.arrays()})
        worlds = {k[7:]: part for k, part in state.items() if k.startswith("worlds.")}
        self.environment.restore(worlds)

    def round_generator(self) -> np.random.Generator:
        """Create a random number generator for this round.

        It depends only on the seed and the round, not on where a run was interrupted.
        """
        return np.random.default_rng([self.seed, self.rounds])


@dataclass(frozen=True, kw_only=True)
class Method(ABC):
    """Settings of a learning method; implementations are frozen dataclasses.

    Attributes
    ----------
    rounds
        Number of rounds after which a policy has usually been learned.
    supports_gpu
        Whether it can learn in an environment on a GPU.
    """

    supports_gpu: ClassVar[bool] = False
    citation: ClassVar[Citation] = ""

    worlds: int = parameter(256, "[1]", "number of worlds", "[2, 1e6]")
    rounds: int = parameter(100, "[1]", "default number of rounds", "[1, inf)")
    symmetric: int = parameter(
        1,
        "[1]",
        "1: the policy is left-right symmetric, 0: it may be asymmetric",
        "[0, 1]",
    )

    def __post_init__(self) -> None:
        check(self)

    @abstractmethod
    def create_learner(self, environment: Environment, seed: int = 0) -> Learner:
        """Create an untrained learner.

        Parameters
        ----------
        environment
            Environment to train in.
        seed
            Seed of all random numbers.
        """
