"""The engine interface: what moves a body or a robot on a slope, under a law, by a stepper.

Scenes are measured on an engine: Tarsus (`tarsus_engine`) or MuJoCo (`mujoco_engine`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tarsus.control.base import Controller
from tarsus.errors import Unsupported
from tarsus.model.mechanism import Mechanism

Array = NDArray[np.float64]


class NotModeled(Unsupported):
    """The law or the stepper does not claim what the scene needs.

    The message says why; the subject is the effect or parameter.
    """


@dataclass(frozen=True, eq=False)
class Start:
    """The start of a free body, or of a robot, in one or many worlds."""

    body: Mechanism
    """The mechanism to simulate."""
    q: ArrayLike
    """Coordinates (nq,) or (worlds, nq)."""
    u: ArrayLike = 0.0
    """Velocities: 0, (nu,) or (worlds, nu)."""
    slope: ArrayLike = 0.0
    """Incline of the ground, uphill along x, () or (worlds,), rad."""
    parameters: Mapping[str, ArrayLike] = field(default_factory=dict)
    """Parameters of the law by name, such as mu, each () or (worlds,)."""
    push: ArrayLike = 0.0
    """Force (3,) or (worlds, 3) at the first body's origin at time 0, world axes, N."""
    push_rate: ArrayLike = 0.0
    """How fast this force grows, (3,) or (worlds, 3), N/s."""
    controller: Controller | None = None
    """The controller of the joints, if any."""
    limits: bool = False
    """Whether joints stop at the ends of their ranges; what holds joints is then measured."""
    bounce: float = 0.0
    """Coefficient of restitution at these ends."""
    motion_alone: bool = False
    """Whether q and u alone are read, and no impulse; MuJoCo then takes objects that meet."""

    def __post_init__(self) -> None:
        rows = self.q, self.u, self.push, self.push_rate
        shapes = [*(np.shape(row)[:-1] for row in rows), np.shape(self.slope)]
        worlds = np.broadcast_shapes(
            (1,), *shapes, *(np.shape(v) for v in self.parameters.values())
        )
        sizes = {
            "q": (self.body.nq,),
            "u": (self.body.nu,),
            "slope": (),
            "push": (3,),
            "push_rate": (3,),
        }
        for name, size in sizes.items():
            full = np.broadcast_to(np.asarray(getattr(self, name), float), (*worlds, *size))
            object.__setattr__(self, name, full)
        spread = {
            k: np.broadcast_to(np.asarray(v, float), worlds) for k, v in self.parameters.items()
        }
        object.__setattr__(self, "parameters", spread)

    @property
    def worlds(self) -> int:
        """How many there are."""
        return len(np.asarray(self.q))

    @property
    def pushed(self) -> bool:
        """Whether there is a push at all."""
        return bool(np.any(self.push) or np.any(self.push_rate))

    def push_at(self, t: float) -> Array:
        """The force (worlds, 3) at t, N."""
        return np.asarray(self.push) + t * np.asarray(self.push_rate)


@dataclass(frozen=True, eq=False)
class Motion:
    """The state after every step, and the impulses during it."""

    q: Array
    """Coordinates (steps, worlds, nq)."""
    u: Array
    """Velocities (steps, worlds, nu)."""
    impulse: Array
    """(steps, worlds, contacts, 3): normal and two tangents, N s."""
    solved: NDArray[np.bool_]
    """Whether the law met its tolerance (steps, worlds)."""
    dt: float
    """Length of a step, s."""
    joints: Array = field(default_factory=lambda: np.zeros(0))
    """Impulses (steps, worlds, nu) of joints' limits and dry friction, N m s or N s."""

    @property
    def time(self) -> Array:
        """Time after every step (steps,), s."""
        return np.arange(1, len(self.q) + 1) * np.float64(self.dt)


class Engine(ABC):
    """A law with a stepper; of another simulator, its name and that of its settings.

    not_modeled: effect -> why
    impulsive: whether the law changes velocities at an instant, as rigid ground does
    parameters: names that a start may set
    peer: whether it is another simulator
    """

    law: str
    stepper: str
    order: int | None = 1
    not_modeled: Mapping[str, str]
    impulsive: bool
    parameters: frozenset[str]
    peer: bool = False

    def refusal(self) -> str:
        """Why the stepper cannot use the law; empty if it can."""
        return ""

    @abstractmethod
    def step(self, dt: float) -> float:
        """The step that this engine takes where a scene asks for dt, s."""

    @abstractmethod
    def motion(self, start: Start, dt: float, steps: int, skip: int) -> Motion:
        """The motion of `steps` steps after the first `skip`."""

    def run(self, start: Start, dt: float, seconds: float, skip: float = 0.0) -> Motion:
        """Simulate `seconds` s in steps of dt, s; the first `skip` s are not logged."""
        for name in start.parameters:
            if name not in self.parameters:
                raise NotModeled(f"the law has no parameter {name}", name)
        unlogged = round(skip / dt)
        return self.motion(start, dt, max(round(seconds / dt) - unlogged, 1), unlogged)
