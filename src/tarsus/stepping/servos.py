"""Actuators of a robot file within a step: their forces change as the joints move, within limits.

The force of a servo enters as joint damping does (docs/decisions/0004-joint-damping-implicit.md):
with its damping (m,), the decrease of the force per change of its joint's rate, dt times the
damping is added to the mass matrix, so that no gain is too stiff for a step. A limit makes the
force a nonlinear function of that change. A step is first solved with the tangents at its start. If
the law of the actuators gives another force at its end, it is solved again: Newton's method finds
the change of the rates at which a step without contact would end, and the damping becomes the
secant between the limited forces at the start and there. In between, where contacts keep the joints
back, the force lies between the two, within the limits. An impact may throw a joint farther: then
the secant goes to the rate that was reached, and in the last passes the force is constant.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import casadi as ca
from casadi import SX

from tarsus.algebra.ldl import factorize_tree, lower_triangle
from tarsus.dynamics.actuator_force import ActuatorForceAtState
from tarsus.dynamics.free_motion import Drive, FreeMotion, damping_matrix, free_motion
from tarsus.dynamics.kinematics import kinematics
from tarsus.dynamics.transmission import Transmission
from tarsus.program.ir.loops import Values
from tarsus.program.ir.symbolic import entries
from tarsus.program.ir.trace import Builder
from tarsus.stepping import joints
from tarsus.stepping.base import Scene, StepOutputs, StepStart
from tarsus.stepping.lockable_joints import find_lockable_joints

MAX_PASSES = 6  # of Newton's method, and of a step
FORCE_TOLERANCE = 1e-9  # relative difference between the law and its tangent that ends Newton
MAX_SECANT_PASSES = 3  # later passes use a constant force
LIMIT_SLACK = 1e-6  # relative excess over a limit that is accepted
MIN_RATE_CHANGE = 1e-9  # rad/s, m/s: smaller changes of rate give no secant


def step_with_servos(scene: Scene, q: SX, start: StepStart, builder: Builder) -> StepOutputs:
    """Solve the step of `joints.step_with_joints` with the actuators of a robot file acting in it.

    Their forces (m,) are reported as `tau`.
    """
    if start.servos is None:
        return joints.step_with_joints(scene, q, start, builder)
    # forces at the start, and their tangents
    law = start.servos.at(q, start.u, start.dt)
    force, tangent = law.with_limits(SX.zeros(law.u.numel()))
    forces = ServoForces(builder.store("servo_force", force), tangent, law.driven)

    def solve_with(force: SX, damping: SX) -> StepOutputs:
        tau = start.tau + law.driven.force(force)
        damping = law.driven.damping(damping)
        driven = replace(start, tau=tau, servos=None, implicit_damping=damping)
        return joints.step_with_joints(scene, q, driven, builder)

    def free_damping() -> SX:
        return secant_damping(law, forces, q, start, builder)

    # without contacts and constraints the secant is exact, and one pass is enough
    constrained = scene.mechanism.constrained or find_lockable_joints(scene)
    constrained = scene.candidates or scene.pairs or constrained
    if start.servos.has_limits and constrained:
        solvers = solve_with, free_damping
        end, tau = _step_within_limits(scene, (law, forces), start, solvers, builder)
    else:
        damping = free_damping() if start.servos.has_limits else tangent
        forces = replace(forces, damping=damping)
        end = solve_with(forces.force, damping)
        tau = forces.at_end(start.u, end.u)
    builder.store("tau", tau, "report")
    return end


def _step_within_limits(
    scene: Scene,
    servos: tuple[ActuatorForceAtState, ServoForces],
    start: StepStart,
    solvers: tuple[Callable[[SX, SX], StepOutputs], Callable[[], SX]],
    builder: Builder,
) -> tuple[StepOutputs, SX]:
    """Compute the end of the step and the forces (m,) there, within the actuators' limits.

    The step is solved again where the tangents' force differs from the law's at its end; while an
    impact throws a joint so far that its force would exceed the law's at the start and the end of
    the step; and where a motor drives a joint at a rate at which it has no such force. Then the
    force follows the line on which it falls with the rate, and where the joint is faster still, it
    is zero.

    Parameters
    ----------
    scene : Scene
        Scene to simulate.
    servos : tuple
        Law of the actuators at the start, and their forces there.
    start : StepStart
        State and inputs at the start of the step.
    solvers : tuple of callables
        The step for a force at its start and a damping; and the damping of the step without
        contact.
    builder : Builder
        Traces the loops.
    """
    (law, forces), (solve_with, free_damping) = servos, solvers
    unlimited, force = law.without_limits()[0], forces.force
    starts_free = law.is_within_limits(unlimited, SX.zeros(unlimited.numel()))
    starts_free = builder.store("starts_free", starts_free)

    def attempt_step(state: Values) -> tuple[Values, SX]:
        end, first = solve_with(state["force"], state["damping"]), state["pass"] == 0
        d = builder.store("rate_change", law.driven.rates(end.u - start.u))
        acted = state["force"] - state["damping"] * d
        # away from all limits the tangents are the law
        tangent = ca.logic_and(first, starts_free)
        is_exact = ca.logic_and(tangent, law.is_within_limits(acted, d))

        def near_limits(_: Values) -> tuple[Values, SX]:
            return check_forces(law, force, state, d, builder), SX(0)

        begin = {name: state[name] for name in ("force", "damping")} | {"wrong": SX(0)}
        after = builder.loop(begin, near_limits, 1, first=ca.logic_not(is_exact))
        wrong = after.pop("wrong") > 0
        use_secant = ca.logic_and(first, wrong)
        current = {"damping": after["damping"]}
        after |= builder.cold_loop(
            current, lambda _: ({"damping": free_damping()}, SX(0)), 1, use_secant
        )
        done = state["pass"] + 1
        after |= {"acted": acted, "pass": done}
        return end.to_registers() | after, ca.logic_and(wrong, done < MAX_PASSES)

    begin = joints.empty_outputs(scene, start).to_registers() | {"pass": SX(0)}
    begin |= {"force": force, "damping": forces.damping, "acted": force}
    end = builder.loop(begin, attempt_step, MAX_PASSES)
    return StepOutputs.from_registers(end), end["acted"]


def check_forces(
    law: ActuatorForceAtState, force: SX, state: Values, d: SX, builder: Builder
) -> Values:
    """Compute the forces for the next pass, and 1 as `wrong` if they differ.

    Parameters
    ----------
    law : ActuatorForceAtState
        Law of the actuators at the start.
    force : SX
        Forces (m,) at the start.
    state : dict
        Values of the loop.
    d : SX
        Change (m,) of the joints' rates in this pass.
    builder : Builder
        Traces the program.
    """
    first = state["pass"] == 0
    # is every force the law's, or between the law's at either end?
    acted, reached = (
        state["force"] - state["damping"] * d,
        builder.store("force_at_end", law.with_limits(d)[0]),
    )
    slack = LIMIT_SLACK * (1 + ca.fabs(reached))
    out = acted > ca.fmax(force, reached) + slack
    out = ca.logic_or(out, acted < ca.fmin(force, reached) - slack)
    # does a motor drive its joint faster than it can, or brake it on its torque-speed line?
    line_force, line_slope, excess = law.select_limiting_lines(d, acted)
    drives = builder.store("drives", ca.logic_and(excess > slack, ca.logic_not(first)))
    brakes = ca.logic_and(state["force"] != force, reached * acted <= 0)
    brakes = ca.logic_and(brakes, ca.fabs(acted) > slack)
    out = ca.logic_or(out, ca.logic_or(drives, brakes))
    out = builder.store("outside_limits", ca.if_else(first, ca.fabs(acted - reached) > slack, out))
    # if so use the line's force, or none; else the secant to the rate that was reached, and in
    # late passes the constant force of the start
    secant = (force - reached) / ca.if_else(ca.fabs(d) > MIN_RATE_CHANGE, d, 1)
    late = state["pass"] > MAX_SECANT_PASSES
    damping = ca.if_else(late, 0, ca.fmin(ca.fmax(secant, 0), law.max_slopes()))
    after = {
        "force": ca.if_else(drives, line_force, ca.if_else(brakes, 0, force)),
        "damping": ca.if_else(drives, line_slope, ca.if_else(brakes, 0, damping)),
    }
    after = {name: ca.if_else(out, value, state[name]) for name, value in after.items()}
    return after | {"wrong": ca.mmax(out)}


@dataclass(frozen=True, eq=False)
class ServoForces:
    """Forces of the actuators over a step, as functions of the rates at its end.

    Attributes
    ----------
    force
        Force at the start (m,), N m or N.
    damping
        Its decrease (m,) per change of the rates.
    driven
        Joints and tendons that they drive.
    """

    force: SX
    damping: SX
    driven: Transmission

    def at_end(self, u0: SX, u1: SX) -> SX:
        """Compute the forces (m,) at the end of a step from u0 to u1."""
        return self.force - self.damping * self.driven.rates(u1 - u0)


def secant_damping(
    law: ActuatorForceAtState, forces: ServoForces, q: SX, start: StepStart, builder: Builder
) -> SX:
    """Compute the damping (m,) of a step without contact, with forces limited at its end.

    q (nq,) are the coordinates at which the step is evaluated.
    """
    # change of the rates without contact
    kin, unlimited = kinematics(law.law.mechanism, q, start.u), law.without_limits()[1]
    free = free_motion(kin, start.inertias, Drive(start.tau, start.tau_loops), start.dt)
    d = _free_rate_change(law, builder.store_all("without_servos", free), builder)
    # the secant
    force, slope, (reached, tangent) = forces.force, forces.damping, law.with_limits(d)
    inside = ca.logic_and(slope == unlimited, tangent == unlimited)
    moves = ca.fabs(d) > MIN_RATE_CHANGE
    secant = (force - reached) / ca.if_else(moves, d, 1)
    limited = ca.if_else(moves, ca.fmin(ca.fmax(secant, 0), law.max_slopes()), slope)
    return builder.store("damping", ca.if_else(inside, unlimited, limited))


def _free_rate_change(law: ActuatorForceAtState, free: FreeMotion, builder: Builder) -> SX:
    """Compute the change (m,) of the driven joints' rates in a step without contact.

    Where a joint is faster than the rate at which its motor's force ends, the force first follows
    the line on which it falls beyond zero; it is limited to zero if the joint is faster there, too,
    without any force.
    """
    driven, dt = law.driven, law.dt
    unlimited = law.without_limits()

    def newton_step(state: Values) -> tuple[Values, SX]:
        # the tangent; in the first pass that of the law without limits
        d = state["d"]
        force, slope = law.with_limits(d, state["extends_below_zero"])
        force = ca.if_else(state["pass"] > 0, force, unlimited[0])
        slope = ca.if_else(state["pass"] > 0, slope, unlimited[1])
        # the step with this tangent
        M = free.M + damping_matrix(dt * driven.damping(slope))
        h = free.h + driven.force(force + slope * d)
        u = ca.vertcat(*factorize_tree(lower_triangle(M), driven.size).solve(entries(dt * h)))
        new = builder.store("free_change", driven.rates(u))
        extends_below_zero = ca.logic_and(
            law.exceeds_no_load_speed(new), ca.logic_not(state["extends_below_zero"])
        )
        # does the law differ from its tangent there?
        off = ca.fabs(law.with_limits(new)[0] - (force - slope * (new - d)))
        differs = ca.mmax(off - FORCE_TOLERANCE * (1 + ca.fabs(force))) > 0
        done = state["pass"] + 1
        state = {"d": new, "extends_below_zero": extends_below_zero, "pass": done}
        return state, ca.logic_and(differs, done < MAX_PASSES)

    zeros = SX.zeros(law.u.numel())
    begin = {"d": zeros, "extends_below_zero": zeros, "pass": SX(0)}
    return builder.loop(begin, newton_step, MAX_PASSES)["d"]
