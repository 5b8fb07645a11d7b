"""Several shorter steps of another stepper in one step, with constant torque."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import casadi as ca
from casadi import SX

from tarsus.errors import InvalidValue
from tarsus.model.mechanism import Mechanism
from tarsus.program.ir.loops import Values
from tarsus.program.ir.trace import Builder
from tarsus.references.reference import Citation
from tarsus.stepping import lockable_joints
from tarsus.stepping.base import Scene, StepOutputs, Stepper, StepStart
from tarsus.stepping.impacts import ImpactRecord, slot_size


@dataclass(frozen=True)
class Substeps(Stepper):
    """Several shorter steps of another stepper within one step of length dt.

    The torque stays constant over the step. Impulses and iterations of the inner steps are summed;
    the step has converged if all of them have.

    Parameters
    ----------
    stepper : Stepper
        Stepper of the inner steps.
    n : int
        Number of inner steps, each of length dt / n.

    Raises
    ------
    InvalidValue
        If `stepper` is not a stepper, or `n` is not a positive whole number.

    Examples
    --------
    >>> from tarsus import Substeps
    >>> from tarsus.stepping.methods.midpoint import Midpoint
    >>> Substeps(Midpoint(), 4).inner_steps
    4

    Pass it to a simulation: ``Simulation("mini_cheetah", stepper=Substeps(Midpoint(), 4))``.
    """

    citation: ClassVar[Citation] = "see the inner stepper"
    velocity_level: ClassVar[bool] = False

    stepper: Stepper
    n: int

    def __post_init__(self) -> None:
        if not isinstance(self.stepper, Stepper):
            raise InvalidValue(
                f"Substeps wraps a stepper such as Midpoint(), not {self.stepper!r}.", "stepper"
            )
        if not isinstance(self.n, int) or isinstance(self.n, bool) or self.n < 1:
            raise InvalidValue(f"n must be a whole number of at least 1, not {self.n!r}.", "n")

    @property
    def order(self) -> int | None:
        """Order of the inner stepper."""
        return self.stepper.order

    @property
    def supports_impulses(self) -> bool:
        """Whether the inner stepper supports impulses."""
        return self.stepper.supports_impulses

    @property
    def supports_constraints(self) -> bool:
        """Whether the inner stepper supports constraints."""
        return self.stepper.supports_constraints

    @property
    def inner_steps(self) -> int:
        """Number of contact problems per step, those of the inner stepper included."""
        return self.n * self.stepper.inner_steps

    @property
    def subcycles(self) -> bool:
        """Whether the inner stepper lets a law integrate its forces in substeps."""
        return self.stepper.subcycles

    def evaluation(self, mechanism: Mechanism, q: SX, u: SX, dt: SX) -> SX:
        """Compute the coordinates of the first inner step's evaluation."""
        return self.stepper.evaluation(mechanism, q, u, dt / self.n)

    def empty_impacts(self, scene: Scene, start: StepStart) -> ImpactRecord | None:
        """Return the inner stepper's table: all inner steps share its slots."""
        return self.stepper.empty_impacts(scene, start)

    def step(self, scene: Scene, start: StepStart, builder: Builder) -> StepOutputs:
        impacts = self.empty_impacts(scene, start)
        begin = self._begin(scene, start) | ({} if impacts is None else impacts.to_registers())

        # one inner step after the other, with summed impulses
        def inner(state: Values) -> tuple[Values, SX]:
            instant = replace(
                start, q=state["q"], u=state["u"], memory=state["memory"], dt=start.dt / self.n
            )
            out = self.stepper.step(
                scene, replace(instant, bilateral=start.bilateral / self.n), builder
            )
            end = out.to_registers()
            for summed in ("impulse", "bilateral", "joints", "iterations"):
                if summed in end:
                    end[summed] = state[summed] + end[summed]
            end["converged"] = ca.fmin(state["converged"], end["converged"])
            if "stage" in end:
                end["stage"] = ca.fmax(state["stage"], end["stage"])
            if out.impacts is not None:
                size = slot_size(start.q.numel(), start.u.numel(), len(scene.candidates))
                start_time = state["done"] * start.dt / self.n
                end |= (
                    ImpactRecord.from_registers(state)
                    .append_part(out.impacts, start_time, size)
                    .to_registers()
                )
            done = state["done"] + 1
            return end | {"done": done}, done < self.n

        end = builder.loop(begin, inner, self.n)
        return replace(
            StepOutputs.from_registers(end),
            impacts=None if impacts is None else ImpactRecord.from_registers(end),
        )

    def _begin(self, scene: Scene, start: StepStart) -> Values:
        """Create the initial values of the first inner step."""
        none = SX.zeros(3 * len(scene.candidates))
        before = {"q": start.q, "u": start.u, "memory": start.memory, "impulse": none}
        before["bilateral"] = SX.zeros(start.bilateral.numel())
        if scene.law.stages and self.supports_impulses:
            before["stage"] = SX(0)
        if lockable_joints.are_reported(scene, self.stepper):
            before["joints"] = SX.zeros(lockable_joints.impulse_count(scene))
        return before | {"iterations": SX(0), "converged": SX(1), "done": SX(0)}
