"""Event-driven stepping: smooth phases between contact events that are located in time.

This is the state propagator of Ogunsola.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

import casadi as ca
import numpy as np
from casadi import SX

from tarsus import registry
from tarsus.dynamics import rnea
from tarsus.dynamics.kinematics import kinematics
from tarsus.errors import InvalidValue
from tarsus.model.mechanism import Body, LoopJoint
from tarsus.parameters import component, parameter
from tarsus.program.ir.loops import Values
from tarsus.program.ir.symbolic import entries
from tarsus.program.ir.trace import Builder
from tarsus.references.papers import DOWELL_1971, OGUNSOLA
from tarsus.references.reference import Citation
from tarsus.stepping import joints, lockable_joints
from tarsus.stepping.assemble import contact_kinematics
from tarsus.stepping.base import METHODS, Scene, StepOutputs, Stepper, StepStart
from tarsus.stepping.event_location import MAX_TRIES, Bracket
from tarsus.stepping.impacts import ImpactRecord, slot_size

UNWATCHED_GAP = 1e6  # m: gap of a contact that is not watched

Part = TypeVar("Part", Body, LoopJoint)


@dataclass(frozen=True)
class EventDriven(Stepper):
    """Sub-steps of an inner stepper that end where a contact closes.

    A phase is first tried with all that remains of dt. Contacts open at its start take no part in
    it. If one of them ends up deeper than `tolerance`, the phase is tried again with a shorter
    length (regula falsi, Illinois variant, then bisection) until the first contact to land lies
    between the surface and that depth. There a law of impulses acts once while the coordinates stay
    as they are, without forces and joint damping: Ogunsola's Eqn. (4), or the law's own
    restitution. Then the next phase starts, with the landed contact closed under the law:
    Ogunsola's Eqn. (3).

    Differences from the paper: a contact opens when the law releases it, an instant that is not
    located (its force ends with a kink but no jump: one error of second order in dt). A bounce
    lower than `tolerance` is left to the law. A contact that lands and leaves within one phase is
    missed. After `maximum` contact gains in one dt the rest is one plain step and `converged` is 0.
    `iterations` are the law's, including those of rejected phases.
    """

    citation: ClassVar[Citation] = (
        OGUNSOLA.at("StatePropagator, Eqns. (3)-(4)"),
        DOWELL_1971.at(),
    )
    velocity_level: ClassVar[bool] = False

    inner: Stepper | str = component("midpoint", "the stepper of the phases, or its name")
    tolerance: float = parameter(
        1e-10, "m", "depth at which a landing is located; 1e-6 suits float32", "(0, inf)"
    )
    maximum: int = parameter(100, "[1]", "contact gains per step", "[1, inf)")
    impacts: int = parameter(4, "[1]", "impacts per step that the log records", "[0, 100]")

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.inner, str):
            named = registry.member_class(METHODS, "stepper", self.inner, Stepper)
            object.__setattr__(self, "inner", named())
        if not isinstance(self.inner, Stepper) or isinstance(self.inner, EventDriven):
            raise InvalidValue(
                f"inner must be another stepper, such as Midpoint() or 'midpoint', not"
                f" {self.inner!r}.",
                "inner",
            )

    @property
    def inner_stepper(self) -> Stepper:
        """Stepper of the smooth phases."""
        assert isinstance(self.inner, Stepper)
        return self.inner

    @property
    def order(self) -> int | None:
        """As the inner stepper."""
        return self.inner_stepper.order

    @property
    def supports_impulses(self) -> bool:
        """As the inner stepper."""
        return self.inner_stepper.supports_impulses

    @property
    def supports_constraints(self) -> bool:
        """As the inner stepper."""
        return self.inner_stepper.supports_constraints

    @property
    def inner_steps(self) -> int:
        """As the inner stepper: a phase may be as long as dt."""
        return self.inner_stepper.inner_steps

    @property
    def subcycles(self) -> bool:
        """As the inner stepper."""
        return self.inner_stepper.subcycles

    @property
    def solves_once(self) -> bool:
        """False: a step has as many phases and impacts as it needs."""
        return False

    def empty_impacts(self, scene: Scene, start: StepStart) -> ImpactRecord | None:
        """Create an empty table with `impacts` slots, for laws that resolve impacts."""
        if not scene.candidates or not scene.law.impulsive:
            return None
        n = len(scene.candidates)
        return ImpactRecord.empty(slot_size(start.q.numel(), start.u.numel(), n), n, self.impacts)

    def step(self, scene: Scene, start: StepStart, builder: Builder) -> StepOutputs:
        if not scene.candidates:
            return self.inner_stepper.step(scene, start, builder)
        begin = self._begin(scene, start)

        def turn(state: Values) -> tuple[Values, SX]:
            end = try_phase(self.inner_stepper, scene, start, state, builder)
            verdict = builder.store("verdict", self._judge_phase(scene, start, state, end))
            if scene.law.impulsive:
                end |= ImpactRecord.from_registers(state).to_registers() | {
                    "time": state["time"] + state["h"]
                }
                end = resolve_impact(scene, start, end, verdict[1], builder)
            return self._next_phase(scene, start, state, end, verdict)

        end = builder.loop(begin, turn, (self.maximum + 1) * (MAX_TRIES + 1))
        located = (
            None if self.empty_impacts(scene, start) is None else ImpactRecord.from_registers(end)
        )
        return replace(StepOutputs.from_registers(end), impacts=located)

    def _begin(self, scene: Scene, start: StepStart) -> Values:
        """Create the initial values of the first phase."""
        n = len(scene.candidates)
        sums = {
            "impulse": SX.zeros(3 * n),
            "bilateral": SX.zeros(start.bilateral.numel()),
            "iterations": SX(0),
        }
        state = {"q": start.q, "u": start.u, "memory": start.memory, "converged": SX(1)}
        clock = {"time": SX(0), "h": start.dt, "gains": SX(0)}
        if scene.law.stages and self.supports_impulses:
            sums["stage"] = SX(0)
        if lockable_joints.are_reported(scene, self.inner_stepper):
            sums["joints"] = SX.zeros(lockable_joints.impulse_count(scene))
        begin = state | sums | clock | self._begin_phase(scene, start, state, SX(0), SX(0))
        none = self.empty_impacts(scene, start)
        return begin if none is None else begin | none.to_registers()

    def _judge_phase(self, scene: Scene, start: StepStart, state: Values, end: Values) -> SX:
        """Judge a phase that was tried.

        Returns four numbers: whether it is accepted, whether a contact has landed, whether one is
        too deep, and the gap of the lowest open contact, m.
        """
        deep, met, lowest = SX(0), SX(0), SX(UNWATCHED_GAP)
        for contact, overrides in zip(
            contacts_at(scene, start, end), entries(state["contact_override"]), strict=True
        ):
            watched = overrides > 0
            deep = ca.logic_or(deep, ca.logic_and(watched, contact.gap < -self.tolerance))
            meets = ca.logic_and(contact.gap <= 0, contact.velocity[0] < 0)
            met = ca.logic_or(met, ca.logic_and(watched, meets))
            lowest = ca.fmin(lowest, ca.if_else(watched, contact.gap, UNWATCHED_GAP))
        to_the_end = state["h"] >= start.dt - state["time"]
        located = ca.logic_and(ca.logic_not(deep), ca.logic_or(met, to_the_end))
        accepted = ca.logic_or(located, Bracket.from_registers(state).is_exhausted)
        landed = ca.logic_and(accepted, ca.logic_or(deep, met))
        return ca.vertcat(accepted, landed, deep, lowest)

    def _begin_phase(
        self, scene: Scene, start: StepStart, values: Values, gains: SX, after_impact: SX
    ) -> Values:
        """Create the initial values of a phase: open or closed contacts, and no trial yet.

        A contact at the surface that moves away is open, unless it pressed until now: the end of
        the phase has turned its normal slightly, and only an impact can throw it off.
        """
        law, lowest, overrides = scene.law, SX(UNWATCHED_GAP), []
        slowest = np.sqrt(2 * np.linalg.norm(scene.mechanism.gravity_acceleration) * self.tolerance)
        for i, contact in enumerate(contacts_at(scene, start, values)):
            contact_memory = law.memory_of(values["memory"], i)
            pressed = law.stays_closed(contact_memory)
            leaves = ca.logic_and(contact.gap >= -2 * self.tolerance, contact.velocity[0] > slowest)
            separates = ca.logic_and(leaves, ca.logic_or(after_impact, ca.logic_not(pressed)))
            open = ca.logic_or(ca.logic_not(law.is_closed(contact, contact_memory)), separates)
            side = ca.if_else(open, 1, -1 if scene.law.impulsive else 0)
            overrides.append(ca.if_else(gains < self.maximum, side, 0))
            lowest = ca.fmin(lowest, ca.if_else(open, contact.gap, UNWATCHED_GAP))
        return Bracket.begin(lowest + self.tolerance / 2).to_registers() | {
            "contact_override": ca.vertcat(*overrides)
        }

    def _next_phase(
        self, scene: Scene, start: StepStart, state: Values, end: Values, verdict: SX
    ) -> tuple[Values, SX]:
        """Choose the next phase if this one is accepted, else shorten or lengthen this one."""
        accepted, landed, deep, lowest = entries(verdict)
        time = ca.if_else(
            state["h"] < start.dt - state["time"], state["time"] + state["h"], start.dt
        )
        gains = state["gains"] + landed
        good = ca.logic_and(ca.logic_not(deep), gains < self.maximum)

        # accepted: the state at its end begins the next phase
        after = {key: end[key] for key in ("q", "u", "memory")} | {
            "impulse": state["impulse"] + end["impulse"],
            "bilateral": state["bilateral"] + end["bilateral"],
            **({"joints": state["joints"] + end["joints"]} if "joints" in state else {}),
            **({"stage": ca.fmax(state["stage"], end["stage"])} if "stage" in state else {}),
            "converged": ca.fmin(ca.fmin(state["converged"], end["converged"]), good),
            "time": time,
            "h": start.dt - time,
        }

        # not accepted: the same phase with another length
        bracket = Bracket.from_registers(state).narrow(
            state["h"], lowest + self.tolerance / 2, deep
        )
        again = state | bracket.to_registers() | {"h": bracket.guess()}
        after |= self._begin_phase(scene, start, end, gains, landed)
        new = {key: ca.if_else(accepted, value, again[key]) for key, value in after.items()}
        new |= {"gains": gains, "iterations": state["iterations"] + end["iterations"]}
        new |= {key: end[key] for key in state if key in ImpactRecord.__dataclass_fields__}
        return new, ca.logic_not(ca.logic_and(accepted, time >= start.dt))


def contacts_at(scene: Scene, start: StepStart, state: Values) -> list[Any]:
    """Compute the contacts at the coordinates and velocities of `state`."""
    kin = kinematics(scene.mechanism, state["q"], state["u"])
    return [touch.contact for touch in contact_kinematics(scene, kin, start.terrain)]


def try_phase(
    stepper: Stepper, scene: Scene, start: StepStart, state: Values, builder: Builder
) -> Values:
    """Compute the end of a phase of length h."""
    h, guess = state["h"], start.bilateral * (state["h"] / start.dt)
    instant = replace(
        start,
        q=state["q"],
        u=state["u"],
        memory=state["memory"],
        dt=h,
        bilateral=guess,
        evaluation=replace(start.evaluation, overrides=state["contact_override"]),
    )
    return {
        key: builder.store(key, value)
        for key, value in stepper.step(scene, instant, builder).to_registers().items()
    }


def resolve_impact(
    scene: Scene, start: StepStart, end: Values, landed: SX, builder: Builder
) -> Values:
    """Apply the impact to `end` if a contact has landed there.

    The law's impulses act on all closed contacts while the coordinates stay as they are; the impact
    is recorded.
    """
    summed = [key for key in ("impulse", "bilateral", "iterations", "joints") if key in end]
    keys = ("u", "memory", "converged", *summed, *ImpactRecord.__dataclass_fields__)
    changed = {key: end[key] for key in keys}
    law, impact_scene = scene.law, remove_damping(scene)

    def once(state: Values) -> tuple[Values, SX]:
        instant = replace(start, q=end["q"], u=state["u"], memory=state["memory"])
        instant = balance_forces(impact_scene, instant)
        contacts = enumerate(contacts_at(scene, start, end | state))
        overrides = [
            ca.if_else(law.is_closed(contact, law.memory_of(instant.memory, i)), -1, 1)
            for i, contact in contacts
        ]
        evaluation = replace(instant.evaluation, overrides=ca.vertcat(*overrides))
        instant = replace(instant, evaluation=evaluation)
        new = joints.step_with_joints(impact_scene, instant.q, instant, builder).to_registers()
        u, sums = new["u"], {key: state[key] + new[key] for key in summed}
        good = ca.fmin(state["converged"], new["converged"])
        impacts = ImpactRecord.from_registers(state).with_impact(
            end["time"], instant.q, state["u"], u, new["impulse"]
        )
        after = {"u": u, "memory": new["memory"], "converged": good} | sums
        return after | impacts.to_registers(), SX(0)

    return end | builder.loop(changed, once, 1, first=landed)


def remove_damping(scene: Scene) -> Scene:
    """Remove damping from the scene at the instant of an impact.

    It has no joint damping or springs, no stabilization and no friction in loop joints; dry
    friction of other joints is ignored by `joint_states`.
    """

    def free(component: Part, **none: float) -> Part:
        return replace(
            component, joint=replace(component.joint, damping=0.0, stiffness=0.0, **none)
        )

    mechanism = scene.mechanism
    bodies = tuple(free(body) for body in mechanism.bodies)
    loops = tuple(free(loop, dry_friction=0.0) for loop in mechanism.loops)
    none = {"stiffness": 0.0, "damping": 0.0, "dry_friction": 0.0}
    tendons = tuple(replace(tendon, **none) for tendon in mechanism.tendons)
    undamped = replace(mechanism, bodies=bodies, loops=loops, tendons=tendons)
    return replace(scene, mechanism=undamped, stabilization=0.0)


def balance_forces(scene: Scene, instant: StepStart) -> StepStart:
    """Add forces that keep the velocity of an undamped robot in the air constant."""
    tau = rnea.bias(kinematics(scene.mechanism, instant.q, instant.u), instant.inertias)
    zeros = SX.zeros(instant.tau_loops.numel()), SX.zeros(instant.bilateral.numel())
    evaluation = replace(instant.evaluation, impact=True)
    return replace(instant, tau=tau, tau_loops=zeros[0], bilateral=zeros[1], evaluation=evaluation)
