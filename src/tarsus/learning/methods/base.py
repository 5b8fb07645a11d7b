"""The base classes of methods: settings, and a learner that improves a policy round by round.

To add a method: one file here with one frozen dataclass of settings that derives from `Method`; the
file's name is the method's name (`tarsus learn --method`).
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
from tarsus.learning.blas import one_thread
from tarsus.learning.policy import Policy
from tarsus.learning.tally import Tally
from tarsus.parameters import check, parameter
from tarsus.references.reference import Citation


@dataclass(frozen=True)
class Round:
    """How one round of learning went.

    round: which, from 1; periods: of control, all worlds and rounds together
    paid: reward a second; terms: its parts by name
    falls: a world and second
    missed: by how much half a second's mean of what the task measures is off, by name, SI units
    diverged: worlds that left the physical range; unconverged: steps that were not solved
    told: numbers of the method's own, by name
    level: mean factor on the ground's heights; None for a task without levels
    """

    round: int
    periods: int
    paid: float
    falls: float
    missed: Mapping[str, float]
    terms: Mapping[str, float]
    diverged: int
    unconverged: int
    told: Mapping[str, float] = field(default_factory=dict)
    level: float | None = None


class Learner(ABC):
    """A policy in the making. The same environment, settings and seed make the same bits.

    rounds: how many were made; seen (worlds, k): the observations to act on next
    """

    def __init__(self, environment: Environment, seed: int) -> None:
        self.environment, self.seed, self.rounds = environment, seed, 0
        self.seen = environment.reset(seed)
        self.tally = Tally(environment)

    @property
    @abstractmethod
    def policy(self) -> Policy:
        """What is learned so far, a copy."""

    def round(self) -> Round:
        """Try the policy, and improve it by what came of it.

        NumPy's matrix products run on one thread meanwhile: more would be slower, and would round
        sums in other ways.
        """
        with one_thread():
            return self._round()

    @abstractmethod
    def _round(self) -> Round:
        """Make a round, on one thread of NumPy's."""

    @abstractmethod
    def arrays(self) -> dict[str, NDArray[Any]]:
        """Of which it is made, in place: what `restore` writes into."""

    def state(self) -> dict[str, NDArray[Any]]:
        """All that it needs to go on, copies: its own, the worlds' and the tally's."""
        own = {f"own.{name}": part.copy() for name, part in self.arrays().items()}
        worlds = {f"worlds.{k}": part for k, part in self.environment.state().items()}
        tally = {f"tally.{k}": part.copy() for k, part in self.tally.arrays().items()}
        return own | worlds | tally | {"rounds": np.array(self.rounds)}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go on from a state; TarsusError, naming the array, unless it is one of such a learner."""
        for name, own in self.state().items():
            given = state.get(name)
            if given is None or given.shape != own.shape or given.dtype.kind != own.dtype.kind:
                raise InvalidFile(
                    f"the checkpoint is damaged: {name} must have the shape {own.shape} and the"
                    f" type {own.dtype}. Delete the checkpoint or choose another folder.",
                    name,
                )
        self.rounds = int(state["rounds"])
        for prefix, arrays in (("own", self.arrays()), ("tally", self.tally.arrays())):
            for name, part in arrays.items():
                part[...] = state[f"{prefix}.{name}"]
        worlds = {k[7:]: part for k, part in state.items() if k.startswith("worlds.")}
        self.environment.restore(worlds)

    def random(self) -> np.random.Generator:
        """Of this round alone: what is drawn does not depend on where a run was cut."""
        return np.random.default_rng([self.seed, self.rounds])


@dataclass(frozen=True, kw_only=True)
class Method(ABC):
    """The settings of a method; implementations are frozen dataclasses.

    rounds: after which it has usually learned
    """

    citation: ClassVar[Citation] = ""

    worlds: int = parameter(256, "[1]", "worlds that learn side by side", "[2, 1e6]")
    rounds: int = parameter(100, "[1]", "that are made unless another end is asked for", "[1, inf)")
    symmetric: int = parameter(
        1,
        "[1]",
        "1: what is right for the left is right for the right, 0: each on its own",
        "[0, 1]",
    )

    def __post_init__(self) -> None:
        check(self)

    @abstractmethod
    def learner(self, environment: Environment, seed: int = 0) -> Learner:
        """One that knows nothing yet."""
