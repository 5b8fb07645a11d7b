"""Joint limits and dry friction in joints: inclusions, solved together with the contacts.

A joint may not leave its range: its rate u^E at the end of a step lies in an interval, and an
impulse acts only at an end of that interval. The interval ends at the rate that brings the joint to
its limit when the next step looks at it, so no joint goes beyond. Dry friction holds a joint at
rest with up to f and brakes a moving one with f: Coulomb's law of one row.

This is an active-set method (docs/decisions/0028-joint-limits-and-stiction.md). The locked joints
are guessed from the start of the step, and the step is solved with these, including all contacts,
under any law. Where an inclusion is violated, the next attempt locks others. A locked joint is one
with much more inertia, so it adds no rows. Where no guess is a solution, a law that `solves_joints`
solves limits, friction and contacts together (`together`, docs/decisions/0052-jammed-limbs.md).
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
from tarsus.stepping.base import WAITING, Attempt, Scene, StepOutputs, StepStart
from tarsus.stepping.joint_friction import Rubbed, change, next_ways
from tarsus.stepping.joint_rows import (
    impulse_count,
    loop_rows,
    rows,
    rubbing_places,
    without_dry_friction,
)
from tarsus.stepping.joint_states import AFRESH, KEEP, JointState, joint_states
from tarsus.stepping.locked_joints import BoundedJoints, LockedJoints
from tarsus.stepping.subcycling import subcycles

PASSES = 40  # attempts at a step until all inclusions hold
FASTEST = 1e3  # m/s: an impulse that would throw the whole robot faster is not physical


def nothing_yet(scene: Scene, start: StepStart) -> StepOutputs:
    """Return what a loop over attempts at a step begins with."""
    impulses = [SX.zeros(3)] * scene.geometry.reported
    contact = ContactSolution(impulses, start.memory, SX(0), SX(1), start.bilateral)
    contact = replace(contact, stage=SX(0) if scene.law.stages else None)
    left_out = SX(0) if scene.slots else None
    joints = SX.zeros(impulse_count(scene)) if rows(scene) else None
    carried = start.u if subcycles(scene, start) else None
    return StepOutputs(start.q, start.u, contact, None, left_out, joints, carried)


def step_with_joints(scene: Scene, q: SX, start: StepStart, builder: Builder) -> StepOutputs:
    """Solve a step with joints locked at their limits and by dry friction."""
    joints = joint_states(scene, q, start)
    if rubbing_places(scene) or loop_rows(scene):
        joints = builder.store_all("joints", joints)
    free = replace(scene, mechanism=without_dry_friction(scene))
    view = assemble.seen(free, q, start, builder)
    if not joints:
        return assemble.velocity_step(scene, view, start, Attempt(), builder)
    places = [row.u for row in rows(scene) if row.loop < 0]
    rubbing, ways = rubbing_places(scene), [joint.way for joint in joints if joint.way is not None]
    cuts = np.cumsum([0, *(1 if joint.friction is None else 3 for joint in joints)]).tolist()
    if rubbing:
        # computed once: no pass changes it
        held = builder.store_all("seen", (view.free, view.touching, view.gaps))
        view = replace(view, **dict(zip(("free", "touching", "gaps"), held, strict=True)))

    def once(now: Values) -> tuple[Values, SX]:
        # the step with these joints locked
        asked = now["modes"]
        if scene.slots and not rubbing:
            asked = ca.if_else(now["left_out"] == WAITING, guess(joints), asked)
        modes = ca.vertsplit(asked, cuts)
        acting = [joint.held(own) for joint, own in zip(joints, modes, strict=True)]
        weight, drag, rate, friction = (ca.vertcat(*p) for p in zip(*acting, strict=True))
        limited = ca.vertcat(*(own[0] != 0 for own in modes))
        restart, at_rest = now["pass"] >= AFRESH, None
        if scene.law.asks_less:
            at_rest = now["at_rest"]
            restart = ca.logic_or(restart, at_rest)
        locked = LockedJoints(places, weight, drag, rate, friction, limited, rubbing, ways)
        attempt = Attempt(locked, restart=restart, at_rest=at_rest)
        if scene.slots:
            warm_start = ca.if_else(now["pass"] > 0, now["memory"], start.memory)
            attempt = replace(attempt, warm_start=warm_start)
        end = assemble.velocity_step(free, view, start, attempt, builder)
        after, wrong = next_modes(joints, modes, end, (now, view.free.M), builder)
        end = believed(scene, end)
        if scene.law.asks_less:
            after, wrong = or_at_rest(end, now, after, wrong)
        wrong = builder.store("wrong", wrong)
        settled = ca.logic_and(ca.logic_not(wrong), now["pass"] < KEEP)
        good = ca.logic_and(end.contact.converged, settled)
        end = replace(end, contact=replace(end.contact, converged=good))
        done = now["pass"] + 1
        return end.values() | after | {"pass": done}, ca.logic_and(wrong, done < PASSES)

    if rubbing:
        begin = nothing_yet(scene, start).values() | {"pass": SX(0)}
        begin |= {"modes": guess(joints)}
        begin |= {} if start.evaluation.impact else {"point": start.u}
        begin |= {"at_rest": SX(0)} if scene.law.asks_less else {}
        end = StepOutputs.of(builder.loop(begin, once, PASSES))
        return together((scene, free), (joints, view), start, end, builder)

    # joints are usually away from their limits: solve without them, again where one is passed
    begin, wrong = without_limits((scene, free), (joints, view), start, builder)
    end = StepOutputs.of(builder.cold_loop(begin, once, PASSES, wrong))
    return together((scene, free), (joints, view), start, end, builder)


def without_limits(
    scenes: tuple[Scene, Scene],
    at: tuple[list[JointState], assemble.StepView],
    start: StepStart,
    builder: Builder,
) -> tuple[Values, SX]:
    """Solve a step with no joint locked, of a robot whose joints have no dry friction.

    Returns what the loop over attempts begins with, including the modes that the step asks for, and
    1 where these lock a joint or contacts in slots still wait. scenes, at: as of `together`.
    """
    (scene, free), (joints, view), none = scenes, at, SX(0)
    # the step
    first = assemble.velocity_step(free, view, start, Attempt(defers_slots=True), builder)
    end = believed(scene, first)
    sides = [joint.next(none, joint.rate(end.u), (none, none), none, none)[0] for joint in joints]
    # what the next begins with
    begin = replace(end, joints=SX.zeros(len(joints))).values() | {"pass": none}
    begin["modes"], wrong = ca.vertcat(*sides), SX(0)
    if scene.law.asks_less:
        wrong = ca.logic_not(end.contact.converged)
        begin |= {"at_rest": wrong, "modes": ca.if_else(wrong, 0, begin["modes"])}
    begin["modes"] = builder.store("sides", begin["modes"])
    wrong = ca.logic_or(wrong, ca.norm_1(begin["modes"]) > 0)
    if scene.slots:
        wrong = ca.logic_or(wrong, begin["left_out"] == WAITING)
    return begin, wrong


def guess(joints: list[JointState]) -> SX:
    """Return the modes of all joints that the start of the step suggests."""
    return ca.vertcat(*(joint.guess() for joint in joints))


def together(
    scenes: tuple[Scene, Scene],
    at: tuple[list[JointState], assemble.StepView],
    start: StepStart,
    end: StepOutputs,
    builder: Builder,
) -> StepOutputs:
    """Return the end of the step, solved with joints as rows where no locked joints solve it.

    Where no guess of locked joints was a solution, limits and dry friction become rows of the
    contact problem, and limits ask for no more than rest. If that is not solved either, contacts
    ask for no more than rest too. That problem has a solution, for it allows all velocities to be
    zero; if the law does not find it, `end` stays. Contacts are relaxed last, because contacts at
    rest sink while limbs go on moving.

    Parameters
    ----------
    scenes : tuple of Scene
        The scene, and the same without dry friction.
    at : tuple
        The joints, and what a step sees.
    start : StepStart
        What the step begins with.
    end : StepOutputs
        Its end after the last attempt with locked joints.
    builder : Builder
        Takes the loop.
    """
    (scene, free), (joints, view) = scenes, at
    if not scene.law.solves_joints or not scene.geometry.reported:
        return end

    # with no joint locked; first with the law's corrections at contacts, then with rest alone
    def solved(now: Values) -> tuple[Values, SX]:
        rows = bounded(scene, joints)
        attempt = Attempt(bounded=rows, restart=SX(1), at_rest=now["tried"])
        new = believed(scene, assemble.velocity_step(free, view, start, attempt, builder))
        good, values = new.contact.converged, new.values() | {"tried": SX(1)}
        after = {name: ca.if_else(good, values[name], old) for name, old in now.items()}
        again = ca.logic_not(ca.logic_or(good, now["tried"]))
        return after | {"tried": SX(1)}, again

    # in worlds that need it
    unsolved = ca.logic_not(end.contact.converged)
    begin = end.values() | {"tried": SX(0)}
    return StepOutputs.of(builder.cold_loop(begin, solved, 2, unsolved))


def bounded(scene: Scene, joints: list[JointState]) -> BoundedJoints:
    """Return the joints as rows whose limits ask for no more than rest.

    A joint beyond its limit need not come back.
    """
    places = range(scene.mechanism.nu)
    return BoundedJoints(
        [joint.way or [SX(at == joint.place) for at in places] for joint in joints],
        [None if joint.lower is None else ca.fmin(joint.lower, 0) for joint in joints],
        [None if joint.upper is None else ca.fmax(joint.upper, 0) for joint in joints],
        [SX(0) if joint.friction is None else joint.friction for joint in joints],
        rubbing_places(scene),
    )


def believed(scene: Scene, end: StepOutputs) -> StepOutputs:
    """Return the same, marked as not converged where impulses are larger than any contact's.

    That happens under a law that `asks_less`: where it asks for the impossible, only the
    regularization of its diagonal carries the load.
    """
    if not scene.law.asks_less or not end.contact.impulses:
        return end
    most = ca.mmax(ca.vertcat(*(impulse[0] for impulse in end.contact.impulses)))
    good = ca.logic_and(end.contact.converged, most <= FASTEST * scene.mechanism.mass)
    return replace(end, contact=replace(end.contact, converged=good))


def or_at_rest(end: StepOutputs, now: Values, after: Values, wrong: SX) -> tuple[Values, SX]:
    """Return the next attempt, and whether there is one.

    Where contacts were not solved, the same joints are locked again and contacts ask for no more
    than rest.
    """
    stuck = ca.logic_and(ca.logic_not(end.contact.converged), ca.logic_not(now["at_rest"]))
    same = {name: ca.if_else(stuck, now[name], value) for name, value in after.items()}
    same["at_rest"] = ca.logic_or(now["at_rest"], stuck)
    return same, ca.logic_or(wrong, stuck)


def next_modes(
    joints: list[JointState],
    modes: list[SX],
    end: StepOutputs,
    before: tuple[Values, SX],
    builder: Builder,
) -> tuple[Values, SX]:
    """Return the modes that a step solved in these modes asks for, and 1 if they differ.

    They differ if an inclusion is violated. With dry friction, the point from which the next pass
    goes on is returned too (`joint_friction`). before: the loop's values before the step, and the
    mass matrix (nu, nu).
    """
    now, M = before
    assert end.joints is not None
    limiting, others = entries(end.joints), iter(entries(end.joints)[len(joints) :])
    rubbed = [SX(0) if joint.friction is None else next(others) for joint in joints]
    # the direction in which friction brakes
    rubbing = [k for k, joint in enumerate(joints) if joint.friction is not None]
    ways, found = [SX(0)] * len(joints), Values()
    if rubbing:
        braked = [Rubbed(joints[k], modes[k], rubbed[k]) for k in rubbing]

        def search(at: Values) -> tuple[Values, SX]:
            braking, point = next_ways(braked, M, now["point"], at["point"], now["pass"])
            return {"ways": ca.vertcat(*braking), "point": point}, SX(0)

        same = {"ways": ca.vertcat(*(modes[k][1] for k in rubbing)), "point": end.u}
        sought = builder.loop(same, search, 1, first=change(braked, end.u))
        found["point"] = sought["point"]
        for k, way in zip(rubbing, entries(sought["ways"]), strict=True):
            ways[k] = way
    # joint by joint
    after, wrong = [], SX(0)
    for k, (joint, own) in enumerate(zip(joints, modes, strict=True)):
        acted = limiting[k], rubbed[k]
        new, other = joint.next(own, joint.rate(end.u), acted, ways[k], now["pass"])
        after.append(new)
        wrong = ca.logic_or(wrong, other)
    return found | {"modes": ca.vertcat(*after)}, wrong
