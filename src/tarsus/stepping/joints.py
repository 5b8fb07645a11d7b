"""Solve a step with joint limits and dry friction in joints, together with the contacts.

A joint may not leave its range: its rate u^E at the end of a step lies in an interval, and an
impulse acts only at an end of that interval. The interval ends at the rate that brings the joint to
its limit at the next step's evaluation, so that no joint passes it. Dry friction locks a joint at
rest with up to f and brakes a moving one with f: Coulomb's law in one dimension. Both are
inclusions like those of contact.

They are solved by an active-set method (docs/decisions/0028-joint-limits-and-stiction.md). The
locked joints are guessed from the start of the step, and the step is solved with these joints
locked, including all contacts, under any law. Where an inclusion is violated, the next attempt
locks others. A locked joint is one with much more inertia, so that it adds no rows. Where no guess
is a solution, a law that `solves_joints` solves limits, friction and contacts together
(`solve_as_rows`, docs/decisions/0052-wedged-limbs.md).
"""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
from casadi import SX

from tarsus.contact.problem import ContactSolution
from tarsus.program.ir.loops import Values
from tarsus.program.ir.symbolic import entries
from tarsus.program.ir.trace import Builder
from tarsus.stepping import assemble
from tarsus.stepping.base import SLOTS_DEFERRED, Attempt, Scene, StepOutputs, StepStart
from tarsus.stepping.joint_friction import BrakedJoint, modes_change, next_slide_signs
from tarsus.stepping.joint_states import (
    KEEP_LIMITS_PASS,
    RESTART_PASS,
    JointState,
    joint_states,
)
from tarsus.stepping.lockable_joints import (
    dry_friction_damping,
    find_lockable_joints,
    friction_groups,
    friction_indices,
    impulse_count,
    lockable_dependents,
    without_dry_friction,
)
from tarsus.stepping.locked_joints import BoundedJoints, LockedJoints
from tarsus.stepping.subcycling import subcycles

MAX_PASSES = 40  # attempts at a step
MAX_SPEED = 1e3  # m/s: an impulse that would make the whole robot faster is not physical


def empty_outputs(scene: Scene, start: StepStart) -> StepOutputs:
    """Create the outputs from which a loop over attempts at a step starts."""
    impulses = [SX.zeros(3)] * scene.geometry.report_count
    contact = ContactSolution(impulses, start.memory, SX(0), SX(1), start.bilateral)
    contact = replace(contact, stage=SX(0) if scene.law.stages else None)
    overflow = SX(0) if scene.slots else None
    joints = SX.zeros(impulse_count(scene)) if find_lockable_joints(scene) else None
    velocity = start.u if subcycles(scene, start) else None
    return StepOutputs(start.q, start.u, contact, None, overflow, joints, velocity)


def step_with_joints(scene: Scene, q: SX, start: StepStart, builder: Builder) -> StepOutputs:
    """Solve a step with joints locked at their limits and by dry friction.

    Parameters
    ----------
    scene : Scene
        Scene to simulate.
    q : SX
        Coordinates (nq,) at which the step is evaluated.
    start : StepStart
        State and inputs at the start of the step.
    builder : Builder
        Traces the loop over attempts.
    """
    joints = joint_states(scene, q, start)
    if friction_indices(scene) or lockable_dependents(scene):
        joints = builder.store_all("joints", joints)
    free = replace(scene, mechanism=without_dry_friction(scene))
    braking = dry_friction_damping(scene, start.u)
    robot = assemble.evaluate(free, q, start, builder, braking)
    if not joints:
        return assemble.velocity_step(scene, robot, start, Attempt(), builder)
    indices = [joint.u for joint in find_lockable_joints(scene) if joint.dependent < 0]
    with_friction = friction_indices(scene)
    directions = [joint.direction for joint in joints if joint.direction is not None]
    cuts = np.cumsum([0, *(1 if joint.friction is None else 3 for joint in joints)]).tolist()
    if with_friction:
        # computed once, as no pass changes it
        values = builder.store_all("evaluated", (robot.free, robot.primary, robot.gaps))
        robot = replace(robot, **dict(zip(("free", "primary", "gaps"), values, strict=True)))

    def attempt_step(state: Values) -> tuple[Values, SX]:
        # solve the step with these joints locked
        all_modes = state["modes"]
        if scene.slots and not with_friction:
            deferred = state["overflow"] == SLOTS_DEFERRED
            all_modes = ca.if_else(deferred, initial_modes(joints), all_modes)
        modes = ca.vertsplit(all_modes, cuts)
        terms = [joint.locking_terms(mode) for joint, mode in zip(joints, modes, strict=True)]
        factor, added, rate, friction = (ca.vertcat(*p) for p in zip(*terms, strict=True))
        at_limit = ca.vertcat(*(mode[0] != 0 for mode in modes))
        restart, skip_correction = state["pass"] >= RESTART_PASS, None
        if scene.law.correction_is_optional:
            skip_correction = state["at_rest"]
            restart = ca.logic_or(restart, skip_correction)
        locking = factor, added, rate, friction, at_limit
        locked = LockedJoints(indices, *locking, with_friction, directions)
        attempt = Attempt(locked, restart=restart, skip_correction=skip_correction)
        if scene.slots:
            warm_start = ca.if_else(state["pass"] > 0, state["memory"], start.memory)
            attempt = replace(attempt, warm_start=warm_start)
        end = assemble.velocity_step(free, robot, start, attempt, builder)
        # lock other joints if an inclusion is violated
        after, wrong = next_modes(scene, joints, modes, end, (state, robot.free.M), builder)
        end = reject_unphysical(scene, end)
        if scene.law.correction_is_optional:
            after, wrong = retry_skip_correction(end, state, after, wrong)
        wrong = builder.store("wrong", wrong)
        settled = ca.logic_and(ca.logic_not(wrong), state["pass"] < KEEP_LIMITS_PASS)
        good = ca.logic_and(end.contact.converged, settled)
        end = replace(end, contact=replace(end.contact, converged=good))
        done = state["pass"] + 1
        return end.to_registers() | after | {"pass": done}, ca.logic_and(wrong, done < MAX_PASSES)

    if with_friction:
        begin = empty_outputs(scene, start).to_registers() | {"pass": SX(0)}
        begin |= {"modes": initial_modes(joints)}
        begin |= {} if start.evaluation.impact else {"point": start.u}
        begin |= {"at_rest": SX(0)} if scene.law.correction_is_optional else {}
        end = StepOutputs.from_registers(builder.loop(begin, attempt_step, MAX_PASSES))
        return solve_as_rows((scene, free), (joints, robot), start, end, builder)

    # joints are usually away from their limits: solve without them, again where one is passed
    begin, wrong = step_without_limits((scene, free), (joints, robot), start, builder)
    end = StepOutputs.from_registers(builder.cold_loop(begin, attempt_step, MAX_PASSES, wrong))
    return solve_as_rows((scene, free), (joints, robot), start, end, builder)


def step_without_limits(
    scenes: tuple[Scene, Scene],
    evaluated: tuple[list[JointState], assemble.EvaluatedRobot],
    start: StepStart,
    builder: Builder,
) -> tuple[Values, SX]:
    """Solve a step with no joint locked, for a robot whose joints have no dry friction.

    Returns the values from which the loop over attempts starts, including the modes that the step
    calls for, and 1 where these lock a joint or contacts in slots are yet to be solved. `scenes`
    and `evaluated` are as in `solve_as_rows`.
    """
    (scene, free), (joints, robot), zero = scenes, evaluated, SX(0)
    # the step
    first = assemble.velocity_step(free, robot, start, Attempt(defers_slots=True), builder)
    end = reject_unphysical(scene, first)
    sides = [
        joint.next_modes(zero, joint.rate(end.u), (zero, zero), zero, zero)[0] for joint in joints
    ]
    # values of the next attempt
    begin = replace(end, joints=SX.zeros(len(joints))).to_registers() | {"pass": zero}
    begin["modes"], wrong = ca.vertcat(*sides), SX(0)
    if scene.law.correction_is_optional:
        wrong = ca.logic_not(end.contact.converged)
        begin |= {"at_rest": wrong, "modes": ca.if_else(wrong, 0, begin["modes"])}
    begin["modes"] = builder.store("sides", begin["modes"])
    wrong = ca.logic_or(wrong, ca.norm_1(begin["modes"]) > 0)
    if scene.slots:
        wrong = ca.logic_or(wrong, begin["overflow"] == SLOTS_DEFERRED)
    return begin, wrong


def initial_modes(joints: list[JointState]) -> SX:
    """Choose the modes of all joints that the start of the step suggests."""
    return ca.vertcat(*(joint.initial_modes() for joint in joints))


def solve_as_rows(
    scenes: tuple[Scene, Scene],
    evaluated: tuple[list[JointState], assemble.EvaluatedRobot],
    start: StepStart,
    end: StepOutputs,
    builder: Builder,
) -> StepOutputs:
    """Solve a step with joints as rows of the contact problem where locking joints failed.

    Limits and dry friction become rows of the contact problem, and limits no longer push joints
    back into their range. If that is not solved either, contacts drop their corrections too. The
    last problem has a solution, because it allows all velocities to be zero; if the law does not
    find it, `end` is returned. Contacts are relaxed last, because contacts without correction sink
    while limbs go on moving.

    Parameters
    ----------
    scenes : tuple of Scene
        The scene, and the same without dry friction.
    evaluated : tuple
        The joints, and the evaluated robot.
    start : StepStart
        State and inputs at the start of the step.
    end : StepOutputs
        End of the step after the last attempt with locked joints.
    builder : Builder
        Traces the loop.
    """
    (scene, free), (joints, robot) = scenes, evaluated
    if not scene.law.solves_joints or not scene.geometry.report_count:
        return end

    # with no joint locked; first with the law's correction at contacts, then without it
    def attempt_rows(state: Values) -> tuple[Values, SX]:
        rows = bounded_joints(scene, joints)
        attempt = Attempt(bounded=rows, restart=SX(1), skip_correction=state["tried"])
        new = assemble.velocity_step(free, robot, start, attempt, builder)
        new = reject_unphysical(scene, new)
        good, values = new.contact.converged, new.to_registers() | {"tried": SX(1)}
        after = {name: ca.if_else(good, values[name], old) for name, old in state.items()}
        again = ca.logic_not(ca.logic_or(good, state["tried"]))
        return after | {"tried": SX(1)}, again

    # in worlds that need it
    unsolved = ca.logic_not(end.contact.converged)
    begin = end.to_registers() | {"tried": SX(0)}
    return StepOutputs.from_registers(builder.cold_loop(begin, attempt_rows, 2, unsolved))


def bounded_joints(scene: Scene, joints: list[JointState]) -> BoundedJoints:
    """Build the rows of joints whose limits allow rest.

    A joint beyond its limit is not required to come back.
    """
    indices = range(scene.mechanism.nu)
    return BoundedJoints(
        [joint.direction or [SX(k == joint.index) for k in indices] for joint in joints],
        [None if joint.lower is None else ca.fmin(joint.lower, 0) for joint in joints],
        [None if joint.upper is None else ca.fmax(joint.upper, 0) for joint in joints],
        [SX(0) if joint.friction is None else joint.friction for joint in joints],
        friction_indices(scene),
    )


def reject_unphysical(scene: Scene, end: StepOutputs) -> StepOutputs:
    """Mark outputs as not converged if an impulse is larger than any contact can have.

    That happens under a law whose correction is optional: where the correction is impossible, only
    the regularization of the diagonal carries the load.
    """
    if not scene.law.correction_is_optional or not end.contact.impulses:
        return end
    largest = ca.mmax(ca.vertcat(*(impulse[0] for impulse in end.contact.impulses)))
    good = ca.logic_and(end.contact.converged, largest <= MAX_SPEED * scene.mechanism.mass)
    return replace(end, contact=replace(end.contact, converged=good))


def retry_skip_correction(
    end: StepOutputs, state: Values, after: Values, wrong: SX
) -> tuple[Values, SX]:
    """Choose the next attempt; also return whether there is one.

    Where contacts were not solved, the same joints are locked again and the law drops its
    correction.
    """
    unsolved = ca.logic_and(ca.logic_not(end.contact.converged), ca.logic_not(state["at_rest"]))
    again = {name: ca.if_else(unsolved, state[name], value) for name, value in after.items()}
    again["at_rest"] = ca.logic_or(state["at_rest"], unsolved)
    return again, ca.logic_or(wrong, unsolved)


def next_modes(
    scene: Scene,
    joints: list[JointState],
    modes: list[SX],
    end: StepOutputs,
    before: tuple[Values, SX],
    builder: Builder,
) -> tuple[Values, SX]:
    """Choose the modes that a solved step calls for; return also 1 if they differ from its own.

    They differ if an inclusion is violated. With dry friction, the point from which the next pass
    goes on is returned too (`joint_friction`).

    Parameters
    ----------
    scene : Scene
        Scene to simulate.
    joints : list of JointState
        All lockable joints.
    modes : list of SX
        Modes in which the step was solved.
    end : StepOutputs
        End of the step.
    before : tuple
        Values of the loop before the step, and the mass matrix (nu, nu).
    builder : Builder
        Traces the search for signs of friction.
    """
    now, M = before
    assert end.joints is not None
    limits, friction_impulses = entries(end.joints), iter(entries(end.joints)[len(joints) :])
    friction = [SX(0) if joint.friction is None else next(friction_impulses) for joint in joints]
    # signs of the rates that friction is to brake
    braked = [k for k, joint in enumerate(joints) if joint.friction is not None]
    signs, point = [SX(0)] * len(joints), Values()
    if braked:
        braked_joints = [BrakedJoint(joints[k], modes[k], friction[k]) for k in braked]

        def search(values: Values) -> tuple[Values, SX]:
            last, u, done = now["point"], values["point"], now["pass"]
            new_signs, nearest = SX(values["signs"]), SX(u)
            for numbers, indices in friction_groups(scene):
                group = [braked_joints[k] for k in numbers]
                group_signs, least = next_slide_signs(group, indices, M, last, u, done)
                new_signs[numbers], nearest[indices] = ca.vertcat(*group_signs), least
            return {"signs": new_signs, "point": nearest}, SX(0)

        same = {"signs": ca.vertcat(*(modes[k][1] for k in braked)), "point": end.u}
        result = builder.loop(same, search, 1, first=modes_change(braked_joints, end.u))
        point["point"] = result["point"]
        for k, sign in zip(braked, entries(result["signs"]), strict=True):
            signs[k] = sign
    # joint by joint
    after, wrong = [], SX(0)
    for k, (joint, mode) in enumerate(zip(joints, modes, strict=True)):
        impulses = limits[k], friction[k]
        new, differs = joint.next_modes(mode, joint.rate(end.u), impulses, signs[k], now["pass"])
        after.append(new)
        wrong = ca.logic_or(wrong, differs)
    return point | {"modes": ca.vertcat(*after)}, wrong
