"""The state propagator of document 004: smooth phases between contact gains, which are located in time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import casadi as ca
import numpy as np
from casadi import SX

from tarsus import registry
from tarsus.contact.base import ForceLaw
from tarsus.errors import TarsusError
from tarsus.model.mechanism import Mechanism
from tarsus.program.symbolic import entries
from tarsus.program.trace import Builder, Values
from tarsus.stepping import assemble
from tarsus.stepping.base import Scene, StepInputs, StepOutputs, Stepper

SECANTS, TRIES = 15, 60  # tries of one search that interpolate, and all
IMPACT = 1e-3  # time that laws and joint dampers are told an impact takes, in dt
SUMS = ("impulse", "bilateral", "iterations")


@dataclass(frozen=True)
class EventDriven(Stepper):
    """Sub-steps of the stepper inside that end where a contact is gained.

    A phase is tried with all that is left of dt. Contacts open at its start take no part in it; if one of them ends up
    deeper than `tolerance`, the phase is tried again, shorter (regula falsi, Illinois variant, then bisection), until
    the first to land lies between the surface and that depth. There a law of percussions acts once at standing
    coordinates, without forces and joint damping: document 004's Eqn. (4), or the law's own restitution. Then the next
    phase begins, the landed contact closed under the law: document 004's Eqn. (3).

    What differs from the document: contact is lost when the law lets go, which is not located; a bounce lower than
    `tolerance` is left to the law; a contact that lands and leaves within one phase is not seen; after `maximum` gains
    in one dt the rest is one plain step and `converged` is 0. `iterations` are the law's, tried phases included.

    stepper: the one inside, or its name; tolerance: m, 1e-6 suits float32; maximum: contact gains in one dt.
    """

    citation: ClassVar[str] = (
        "Ogunsola: Rigid Body Contact Force Solver. Semester project, RSC, undated, StatePropagator and Eqns. (3)-(4); "
        "Dowell, Jarratt: A modified regula falsi method for computing the root of an equation. BIT 11, 1971"
    )
    velocity_level: ClassVar[bool] = False

    stepper: Stepper | str = "midpoint"
    tolerance: float = 1e-10
    maximum: int = 100

    def __post_init__(self) -> None:
        if isinstance(self.stepper, str):
            named = registry.member("tarsus.stepping.methods", "stepper", self.stepper, Stepper)
            object.__setattr__(self, "stepper", named())
        if not isinstance(self.stepper, Stepper) or isinstance(self.stepper, EventDriven):
            raise TarsusError(f"EventDriven wraps a stepper such as Midpoint(), not {self.stepper!r}.")
        if not 0 < self.tolerance < np.inf:
            raise TarsusError(f"EventDriven: tolerance must be positive, not {self.tolerance!r}.")
        if not isinstance(self.maximum, int) or isinstance(self.maximum, bool) or self.maximum < 1:
            raise TarsusError(f"EventDriven: maximum must be a whole number of at least 1, not {self.maximum!r}.")

    @property
    def inside(self) -> Stepper:
        """The stepper of the smooth phases."""
        assert isinstance(self.stepper, Stepper)
        return self.stepper

    @property
    def inner_steps(self) -> int:
        """As the stepper inside: a phase may be as long as dt."""
        return self.inside.inner_steps

    @property
    def solves_once(self) -> bool:
        """A step is as many phases and impacts as it takes."""
        return False

    def evaluation(self, mechanism: Mechanism, q: SX, u: SX, dt: SX) -> SX:
        """That of the first phase, were it all of dt."""
        return self.inside.evaluation(mechanism, q, u, dt)

    def step(self, scene: Scene, start: StepInputs, builder: Builder) -> StepOutputs:
        n = len(scene.candidates)
        if n == 0:
            return self.inside.step(scene, start, builder)
        state = {"q": start.q, "u": start.u, "memory": start.memory, "converged": SX(1)}
        sums = {"impulse": SX.zeros(3 * n), "bilateral": SX.zeros(start.bilateral.numel()), "iterations": SX(0)}
        clock = {"time": SX(0), "h": start.dt, "gained": SX(0)}
        before = state | sums | clock | self._watch(scene, start, SX(0))

        def phase(now: Values) -> tuple[Values, SX]:
            tried = self._tried(scene, start, now, builder)
            return self._judged(scene, start, now, tried, builder)

        return StepOutputs.of(builder.loop(before, phase, (self.maximum + 1) * (TRIES + 1)))
