"""What a scene is measured on: something that moves one free body on a slope under a law by a stepper."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tarsus.errors import TarsusError
from tarsus.model.mechanism import Mechanism

Array = NDArray[np.float64]


class NotModelled(TarsusError):
    """The law or the stepper does not claim what the scene needs; the message says why."""


@dataclass(frozen=True, eq=False)
class Start:
    """One free body in one or many worlds.

    q (7,) or (worlds, 7); u (6,) or (worlds, 6); slope: incline uphill along x, rad, () or (worlds,);
    parameters: of the law, such as mu, () or (worlds,).
    """

    body: Mechanism
    q: ArrayLike
    u: ArrayLike = (0.0,) * 6
    slope: ArrayLike = 0.0
    parameters: Mapping[str, ArrayLike] = field(default_factory=dict)

    def __post_init__(self) -> None:
        shapes = [np.shape(self.q)[:-1], np.shape(self.u)[:-1], np.shape(self.slope)]
        worlds = np.broadcast_shapes((1,), *shapes, *(np.shape(v) for v in self.parameters.values()))
        for name, size in (("q", (7,)), ("u", (6,)), ("slope", ())):
            full = np.broadcast_to(np.asarray(getattr(self, name), float), (*worlds, *size))
            object.__setattr__(self, name, full)
        spread = {k: np.broadcast_to(np.asarray(v, float), worlds) for k, v in self.parameters.items()}
        object.__setattr__(self, "parameters", spread)

    @property
    def worlds(self) -> int:
        """How many there are."""
        return len(np.asarray(self.q))


@dataclass(frozen=True, eq=False)
class Motion:
    """What happened, after every step.

    q (steps, worlds, 7), u (steps, worlds, 6); impulse (steps, worlds, contacts, 3): normal and two tangents, N s;
    solved (steps, worlds): whether the law says it met its tolerance; dt: s.
    """

    q: Array
    u: Array
    impulse: Array
    solved: NDArray[np.bool_]
    dt: float

    @property
    def time(self) -> Array:
        """(steps,), s."""
        return np.arange(1, len(self.q) + 1) * np.float64(self.dt)


class Engine(ABC):
    """A law with a stepper. not_modelled: effect -> why; parameters: names that a start may set."""

    law: str
    stepper: str
    not_modelled: Mapping[str, str]
    parameters: frozenset[str]

    def refusal(self) -> str:
        """Why the stepper cannot use the law; empty if it can."""
        return ""

    @abstractmethod
    def step(self, dt: float) -> float:
        """The step to take where a scene would take dt, s."""

    @abstractmethod
    def motion(self, start: Start, dt: float, steps: int, skip: int) -> Motion:
        """The motion of `steps` steps after the first `skip`."""

    def run(self, start: Start, dt: float, seconds: float, skip: float = 0.0) -> Motion:
        """Simulate; log the last `seconds` - `skip` of `seconds`."""
        for name in start.parameters:
            if name not in self.parameters:
                raise NotModelled(f"the law has no parameter {name}")
        unlogged = round(skip / dt)
        return self.motion(start, dt, max(round(seconds / dt) - unlogged, 1), unlogged)
