"""The actuators of a file within a step: their forces fall as the joints give way, inside limits.

A servo's force enters as joint damping does (docs/decisions/0004-joint-damping-implicit.md): with
`give` (m,), what it loses per change of its joint's rate, dt give is added to the mass matrix, and
no gain is too stiff for a step. A limit in between makes the force bend. A step is first made with
the tangents at its start; if the law asks for another force at its end, it is made again. Where a
step without contact would end, at the change d of the rates, is then found by Newton's method, and
give is the secant from the force at the start, limited, to the force there, limited. In between,
where contacts hold the joints back, the force lies between the two, inside the limits. An impact
may throw a joint farther: then the secant goes to where it went, at last the force is held.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import casadi as ca
from casadi import SX

from tarsus.algebra.ldl import factorize_tree, lower
from tarsus.dynamics.actuator_force import AtState, scatter
from tarsus.dynamics.free_motion import Drive, FreeMotion, free_motion
from tarsus.dynamics.kinematics import kinematics
from tarsus.program.ir.loops import Values
from tarsus.program.ir.symbolic import entries
from tarsus.program.ir.trace import Builder
from tarsus.stepping import joints
from tarsus.stepping.base import Scene, StepOutputs, StepStart
from tarsus.stepping.joint_rows import rows

PASSES = 6  # of Newton's method, and of a step
NEAR = 1e-9  # of a force: the bent law and its tangent say the same
SECANTS = 3  # passes, after which a force is held
SLACK = 1e-6  # of a force: within its limits
STILL = 1e-9  # rad/s, m/s: a change of rate too small for a secant


def with_servos(scene: Scene, q: SX, start: StepStart, builder: Builder) -> StepOutputs:
    """The step of `joints.step_with_joints`, a file's actuators acting in it; their forces (m,) are
    reported as `tau`.
    """
    if start.servos is None:
        return joints.step_with_joints(scene, q, start, builder)
    # the forces at the start, and what they lose as the joints give way
    m, at = scene.mechanism, start.servos.at(q, start.u, start.dt)
    force, tangent = at.limited(SX.zeros(at.u.numel()))
    forces = ServoForces(builder.store("servo_force", force), tangent, start.servos.joints()[1])

    def moved(force: SX, give: SX) -> StepOutputs:
        tau = start.tau + scatter(m, forces.places, force)
        giving = replace(start, tau=tau, servos=None, give=scatter(m, forces.places, give))
        return joints.step_with_joints(scene, q, giving, builder)

    def bent() -> SX:
        return bent_give(at, forces, q, start, builder)

    # the step with these; where nothing but inertia holds the joints, at once with the right ones
    held = scene.candidates or scene.pairs or m.constrained or rows(scene)
    if start.servos.has_limits and held:
        end, tau = _within_limits(scene, (at, forces), start, (moved, bent), builder)
    else:
        give = bent() if start.servos.has_limits else tangent
        forces = replace(forces, give=give)
        end = moved(forces.force, give)
        tau = forces.over(start.u, end.u)
    builder.store("tau", tau, "report")
    return end


def _within_limits(
    scene: Scene,
    servos: tuple[AtState, ServoForces],
    start: StepStart,
    ways: tuple[Callable[[SX, SX], StepOutputs], Callable[[], SX]],
    builder: Builder,
) -> tuple[StepOutputs, SX]:
    """The end of the step, and the forces (m,) there: the step is made again where the tangents'
    force is not the law's at its end, and while an impact throws a joint so far that its force
    would pass what the law has at the step's start and end, or a motor drives a joint on at a rate
    at which it has no such force: then it acts along the line on which that falls, and where the
    joint is faster still, not at all.

    ways: the step with some force at its start and `give`, and `give` of the step without contact
    """
    (at, forces), (moved, bent) = servos, ways
    plain, force = at.free()[0], forces.force
    begun_free = builder.store("begun_free", at.allows(plain, SX.zeros(plain.numel())))

    def once(now: Values) -> tuple[Values, SX]:
        end, first = moved(now["force"], now["give"]), now["pass"] == 0
        d = builder.store("thrown", ca.vec((end.u - start.u)[forces.places]))
        acted = now["force"] - now["give"] * d
        # far from all limits the tangents are the law
        tangent = ca.logic_and(first, begun_free)
        straight_on = ca.logic_and(tangent, at.allows(acted, d))

        def near_limits(_: Values) -> tuple[Values, SX]:
            return judged(at, force, now, d, builder), SX(0)

        begin = {name: now[name] for name in ("force", "give")} | {"wrong": SX(0)}
        after = builder.loop(begin, near_limits, 1, first=ca.logic_not(straight_on))
        wrong = after.pop("wrong") > 0
        redone = ca.logic_and(first, wrong)
        give = {"give": after["give"]}
        after |= builder.cold_loop(give, lambda _: ({"give": bent()}, SX(0)), 1, redone)
        done = now["pass"] + 1
        after |= {"acted": acted, "pass": done}
        return end.values() | after, ca.logic_and(wrong, done < PASSES)

    begin = joints.nothing_yet(scene, start).values() | {"pass": SX(0)}
    begin |= {"force": force, "give": forces.give, "acted": force}
    end = builder.loop(begin, once, PASSES)
    return StepOutputs.of(end), end["acted"]


def judged(at: AtState, force: SX, now: Values, d: SX, builder: Builder) -> Values:
    """The forces that the next pass shall make the step with, and 1 as `wrong` if they are others;
    d (m,): the change of the joints' rates in this one.

    force: at the start (m,)
    """
    first = now["pass"] == 0
    # is every force the law's, or between the law's at either end?
    acted, reached = now["force"] - now["give"] * d, builder.store("reached", at.limited(d)[0])
    slack = SLACK * (1 + ca.fabs(reached))
    out = acted > ca.fmax(force, reached) + slack
    out = ca.logic_or(out, acted < ca.fmin(force, reached) - slack)
    # does a motor drive its joint faster than it can, or brake it on its line?
    falls, slope, excess = at.on_line(d, acted)
    drives = builder.store("drives", ca.logic_and(excess > slack, ca.logic_not(first)))
    brakes = ca.logic_and(now["force"] != force, reached * acted <= 0)
    brakes = ca.logic_and(brakes, ca.fabs(acted) > slack)
    out = ca.logic_or(out, ca.logic_or(drives, brakes))
    out = builder.store("out", ca.if_else(first, ca.fabs(acted - reached) > slack, out))
    # if so the line's force, or none; else that of Newton's method, later the secant to where it
    # went, and if that is too little, the force of the start
    secant = (force - reached) / ca.if_else(ca.fabs(d) > STILL, d, 1)
    late = now["pass"] > SECANTS
    give = ca.if_else(late, 0, ca.fmin(ca.fmax(secant, 0), at.steepest()))
    after = {
        "force": ca.if_else(drives, falls, ca.if_else(brakes, 0, force)),
        "give": ca.if_else(drives, slope, ca.if_else(brakes, 0, give)),
    }
    after = {name: ca.if_else(out, own, now[name]) for name, own in after.items()}
    return after | {"wrong": ca.mmax(out)}


@dataclass(frozen=True, eq=False)
class ServoForces:
    """The motors' forces over a step, as its end will have them.

    force: at the start (m,), N m or N
    give: what it loses (m,) per change of the rates
    places: of the driven joints in u
    """

    force: SX
    give: SX
    places: list[int]

    def over(self, u0: SX, u1: SX) -> SX:
        """Forces (m,) of a step that goes from u0 to u1."""
        return self.force - self.give * ca.vec((u1 - u0)[self.places])


def bent_give(at: AtState, forces: ServoForces, q: SX, start: StepStart, builder: Builder) -> SX:
    """`give` (m,) of a step seen at q (nq,), with forces that bend at their limits where it goes
    without contact.
    """
    # where the joints would go
    kin, straight = kinematics(at.law.mechanism, q, start.u), at.free()[1]
    free = free_motion(kin, start.inertias, Drive(start.tau, start.tau_loops), start.dt)
    d = _change(at, builder.store_all("without_servos", free), forces.places, builder)
    # the secant
    force, slope, (reached, tangent) = forces.force, forces.give, at.limited(d)
    inside = ca.logic_and(slope == straight, tangent == straight)
    secant = (force - reached) / ca.if_else(ca.fabs(d) > STILL, d, 1)
    bent = ca.if_else(ca.fabs(d) > STILL, ca.fmin(ca.fmax(secant, 0), at.steepest()), slope)
    return builder.store("give", ca.if_else(inside, straight, bent))


def _change(at: AtState, free: FreeMotion, places: list[int], builder: Builder) -> SX:
    """The change (m,) of the driven joints' rates in a step without contact.

    A joint thrown beyond the rate at which its motor's force ends is looked for on the line along
    which that falls, and only if it is faster there, too, without any force.
    """
    mechanism, dt = at.law.mechanism, at.dt
    straight = at.free()

    def once(now: Values) -> tuple[Values, SX]:
        # the tangent; at first the law without limits
        d = now["d"]
        force, slope = at.limited(d, now["onward"])
        force = ca.if_else(now["pass"] > 0, force, straight[0])
        slope = ca.if_else(now["pass"] > 0, slope, straight[1])
        # the step on it
        M = free.M + ca.diag(dt * scatter(mechanism, places, slope))
        pushed = free.h + scatter(mechanism, places, force + slope * d)
        u = ca.vertcat(*factorize_tree(lower(M), mechanism.nu).solve(entries(dt * pushed)))
        new = builder.store("moved", ca.vec(u[places]))
        onward = ca.logic_and(at.beyond(new), ca.logic_not(now["onward"]))
        # did the law bend in between?
        off = ca.fabs(at.limited(new)[0] - (force - slope * (new - d)))
        bends = ca.mmax(off - NEAR * (1 + ca.fabs(force))) > 0
        done = now["pass"] + 1
        now = {"d": new, "onward": onward, "pass": done}
        return now, ca.logic_and(bends, done < PASSES)

    none = SX.zeros(len(places))
    begin = {"d": none, "onward": none, "pass": SX(0)}
    return builder.loop(begin, once, PASSES)["d"]
