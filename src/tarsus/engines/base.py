"""The interface of an engine: worlds of one mechanism, how they start, are driven and move.

Tarsus is one engine (`engines/tarsus.py`), MuJoCo another (`engines/mujoco.py`); the simulators of
`tarsus bench --peers` implement the same classes. To add one:

1. Make a file in ``engines/``, or a module that a package registers as ``tarsus.engines``; its name
   is the engine's name.
2. Write one class in it that derives from `Engine`. Its `variants` are the settings at which it is
   shown, and it is made with the name of one.
3. Let `begin` return a `Session`: its `state`, `advance` and whatever else the engine provides.

`tarsus validate` then runs it next to MuJoCo.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tarsus.control.base import Controller
from tarsus.errors import Unsupported
from tarsus.model.mechanism import Mechanism

Array = NDArray[np.float64]
Feedback = Callable[[float, Array, Array], ArrayLike]
"""Torques (worlds, motors) from the time, s, q (worlds, nq) and u (worlds, nu) of all worlds."""
Torques = ArrayLike | Feedback
"""Torques (motors,) or (worlds, motors), held; or a function, called before every step."""


class NotModeled(Unsupported):
    """The engine does not model a requested effect.

    The message says why; the subject is the effect or parameter.
    """


@dataclass(frozen=True, eq=False)
class Start:
    """Initial states of one mechanism on sloping ground, in one or many worlds."""

    body: Mechanism
    """The mechanism to simulate."""
    q: ArrayLike
    """Coordinates (nq,) or (worlds, nq)."""
    u: ArrayLike = 0.0
    """Velocities: 0, (nu,) or (worlds, nu)."""
    slope: ArrayLike = 0.0
    """Incline of the ground along `heading`, () or (worlds,), in rad."""
    heading: ArrayLike = 0.0
    """Direction of the steepest ascent, from x about z, () or (worlds,), in rad."""
    parameters: Mapping[str, ArrayLike] = field(default_factory=dict)
    """Parameters of the law by name, such as mu, each () or (worlds,)."""
    push: ArrayLike = 0.0
    """Force (3,) or (worlds, 3) at the first body's origin at time 0, world axes, in N."""
    push_rate: ArrayLike = 0.0
    """Rate at which this force grows, (3,) or (worlds, 3), in N/s."""
    controller: Controller | None = None
    """Controller of the joints, compiled into the step."""
    limits: bool = False
    """Whether joints stop at the ends of their ranges; joint impulses are then measured."""
    bounce: float = 0.0
    """Coefficient of restitution at these ends."""
    motion_only: bool = False
    """Whether only q and u are read, no impulses; MuJoCo then lets objects collide."""

    def __post_init__(self) -> None:
        sizes = {
            "q": (self.body.nq,),
            "u": (self.body.nu,),
            "slope": (),
            "heading": (),
            "push": (3,),
            "push_rate": (3,),
        }
        shapes = [np.shape(getattr(self, k))[: -1 if size else None] for k, size in sizes.items()]
        worlds = np.broadcast_shapes(
            (1,), *shapes, *(np.shape(v) for v in self.parameters.values())
        )
        for name, size in sizes.items():
            full = np.broadcast_to(np.asarray(getattr(self, name), float), (*worlds, *size))
            object.__setattr__(self, name, full)
        spread = {
            k: np.broadcast_to(np.asarray(v, float), worlds) for k, v in self.parameters.items()
        }
        object.__setattr__(self, "parameters", spread)

    @property
    def worlds(self) -> int:
        """Number of worlds."""
        return len(np.asarray(self.q))

    @property
    def pushed(self) -> bool:
        """Whether a push acts at any time."""
        return bool(np.any(self.push) or np.any(self.push_rate))

    def push_at(self, t: float) -> Array:
        """Compute the push (worlds, 3) at time t, in N."""
        return np.asarray(self.push) + t * np.asarray(self.push_rate)


@dataclass(frozen=True, eq=False)
class Motion:
    """States after every recorded step, and what acted during it."""

    q: Array
    """Coordinates (steps, worlds, nq)."""
    u: Array
    """Velocities (steps, worlds, nu)."""
    impulse: Array
    """Impulses (steps, worlds, contacts, 3): normal and two tangents, in N s."""
    converged: NDArray[np.bool_]
    """Whether the contact problem was solved to its tolerance (steps, worlds)."""
    dt: float
    """Length of a step, in s."""
    joints: Array = field(default_factory=lambda: np.zeros(0))
    """Impulses (steps, worlds, nu) of joint limits and dry friction, in N m s or N s."""

    @property
    def time(self) -> Array:
        """Time after every step, shape (steps,), in s."""
        return np.arange(1, len(self.q) + 1) * np.float64(self.dt)


class Session(ABC):
    """Worlds of one mechanism in one engine, at some time of their motion.

    Attributes
    ----------
    dt
        Length of a step, in s.
    worlds
        Number of worlds that one step moves.
    """

    dt: float
    worlds: int = 1

    @abstractmethod
    def state(self) -> tuple[Array, Array]:
        """Return coordinates (worlds, nq) and velocities (worlds, nu) in Tarsus's conventions."""

    @abstractmethod
    def advance(self, steps: int) -> None:
        """Advance by steps without recording them."""

    def drive(self, torques: Torques) -> None:
        """Apply torques from now on.

        Raises
        ------
        NotModeled
            If the worlds have controllers of their own.
        """
        raise NotModeled(
            f"{type(self).__name__} does not accept torques from the caller", "torques"
        )

    def record(self, steps: int) -> Motion:
        """Record the motion of steps; by default without impulses and convergence."""
        q, u = [], []
        for _ in range(steps):
            self.advance(1)
            for rows, values in zip((q, u), self.state(), strict=True):
                rows.append(values)
        shape = np.shape(q)[:2]
        return Motion(
            np.array(q), np.array(u), np.zeros((*shape, 0, 3)), np.ones(shape, bool), self.dt
        )


class Engine(ABC):
    """Simulator with given settings.

    Attributes
    ----------
    law, stepper
        Contact law and time stepper; for a peer, the simulator and the name of its settings.
    order
        Order of accuracy of the stepper, if known.
    not_modeled
        Effects that the engine does not model, with the reasons.
    impulsive
        Whether contact changes velocities instantaneously, as on rigid ground.
    parameters
        Names of the parameters that can be set at the start.
    peer
        Whether the engine is not Tarsus but another simulator.
    variants
        Descriptions of the settings that tables list, by name; a name is the only argument that
        the constructor needs.
    """

    law: str
    stepper: str
    order: int | None = 1
    not_modeled: Mapping[str, str]
    impulsive: bool
    parameters: frozenset[str]
    peer: bool = True
    variants: ClassVar[Mapping[str, str]] = {"": "defaults"}

    def why_unsuitable(self) -> str:
        """Return why the stepper cannot use the law; empty if it can."""
        return ""

    def step(self, dt: float) -> float:
        """Return the step size that this engine uses if a scene requests dt, in s."""
        return dt

    @abstractmethod
    def begin(self, start: Start, dt: float) -> Session:
        """Create the worlds at their start, for steps of dt, in s.

        Raises
        ------
        NotModeled
            If the engine does not model what the start requires.
        """

    def run(
        self,
        start: Start,
        dt: float,
        seconds: float,
        skip: float = 0.0,
        torques: Torques | None = None,
    ) -> Motion:
        """Simulate from a start and return the motion.

        Parameters
        ----------
        start
            Mechanism and initial states.
        dt
            Length of a step, in s.
        seconds
            Simulated time, in s, in whole steps.
        skip
            Time at the beginning that is not recorded, in s.
        torques
            Torques of the motors, held, or a function that gives them before every step; by default
            none act.

        Raises
        ------
        NotModeled
            If the engine does not model what the start requires, or lacks one of its parameters.
        """
        for name in start.parameters:
            if name not in self.parameters:
                raise NotModeled(f"the law has no parameter {name}", name)
        unlogged = round(skip / dt)
        session = self.begin(start, dt)
        if torques is not None:
            session.drive(torques)
        if unlogged:
            session.advance(unlogged)
        return session.record(max(round(seconds / dt) - unlogged, 1))
