"""Program of one rollout: physics steps that track targets on a spline, and their costs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.control.pd import actuated_posture
from tarsus.dynamics import loop_constraints
from tarsus.dynamics.base_parameters import base_parameters
from tarsus.environments.task_step import make_state_view, servo_step
from tarsus.planning.goals.base import Goal
from tarsus.planning.spline import knot_weights
from tarsus.program.ir.loops import Values
from tarsus.program.ir.program import Program
from tarsus.program.ir.symbolic import entries
from tarsus.program.ir.trace import Builder
from tarsus.simulation import fingerprint
from tarsus.simulation.program_cache import cached_program
from tarsus.stepping.base import Scene, Stepper
from tarsus.tasks.base import StateView

CACHE_SIZE = 4  # programs
MAX_STEPS = 100_000  # of a rollout


@dataclass(frozen=True, eq=False)
class RolloutPlan:
    """Goal of a robot in a scene, from which a rollout program is compiled.

    Attributes
    ----------
    goal
        The goal; its weights are not compiled.
    scene, stepper
        The robot on its ground, and the time-stepping method.
    stand
        Coordinates of the standing posture, shape (nq,).
    spline
        Kind of interpolation.
    knots
        Number of knots of the joint targets.
    """

    goal: Goal
    scene: Scene
    stepper: Stepper
    stand: NDArray[np.float64]
    spline: str
    knots: int

    @property
    def motors(self) -> int:
        """Number of motors."""
        return len(self.scene.mechanism.actuators)


_PLANS: dict[str, RolloutPlan] = {}


def reuse_plan(work: RolloutPlan) -> RolloutPlan:
    """Return an earlier plan with the same fingerprint, if any, so that it is traced only once."""
    return fingerprint.find_or_add(_PLANS, work, CACHE_SIZE)


@lru_cache(maxsize=CACHE_SIZE)
def rollout_program(work: RolloutPlan) -> Program:
    """Load the program of one rollout from the cache, or trace and cache it."""
    return cached_program(work, trace_rollout)


def trace_rollout(work: RolloutPlan) -> Program:
    """Trace the program of one rollout; it has no state between runs.

    Its registers are:

    - parameters: q and u, the initial state; knots, shape (count n,), in rad, knot by knot;
      position, the initial position among the knots; advance, the advance of the position per step;
      steps; dt; kp and kd, shape (n,); command; law.*; terrain.*
    - report: costs, shape (m,), integrated over time and not weighted; end_q and end_u;
      unconverged, the number of steps that did not converge
    """
    # registers
    goal, scene, m, n = work.goal, work.scene, work.scene.mechanism, work.motors
    b = Builder(f"{m.name}_{type(goal).__name__}")
    q, u = b.parameter("q", m.nq), b.parameter("u", m.nu)
    sizes = {"knots": work.knots * n, "position": 1, "advance": 1, "steps": 1, "dt": 1}
    sizes |= {"kp": n, "kd": n, "command": len(goal.commands())}
    given = {name: b.parameter(name, size) for name, size in sizes.items()}
    law = {name: b.parameter(f"law.{name}") for name in scene.law.parameters()}
    terrain = scene.terrain.symbols(b)
    gains, settings = (given["kp"], given["kd"]), (given["dt"], law, terrain, base_parameters(m))
    knots = ca.reshape(given["knots"], n, work.knots)

    def targets(done: SX) -> SX:
        position = given["position"] + done * given["advance"]
        return ca.mtimes(knots, ca.vertcat(*knot_weights(work.spline, position, work.knots)))

    def step(values: Values) -> tuple[Values, SX]:
        # torques that track the spline
        target = b.store("target", targets(values["done"]))
        out, tau = servo_step(work.stepper, scene, values, target, gains, settings, b)
        # costs of the step
        done = b.store("steps_done", values["done"] + 1)
        more = done < given["steps"]
        end = {name: out[name] for name in ("q", "u", "memory", "bilateral")}
        moment = end | {"impulse": out["impulse"], "tau": tau, "clock": done * given["dt"]}
        view = create_goal_view(
            work, moment, (target, targets(values["done"] - 1)), given["command"], terrain
        )
        duration = given["dt"] + ca.if_else(more, 0, goal.end)
        costs = values["costs"] + duration * ca.vertcat(*_order_costs(goal, view))
        failed = values["unconverged"] + ca.logic_not(out["converged"])
        return end | {"costs": costs, "done": done, "unconverged": failed}, more

    begin = {"q": q, "u": u, "memory": SX(ca.DM(scene.initial_memory()))}
    begin |= {"bilateral": SX.zeros(loop_constraints.count_constraints(m))}
    begin |= {"costs": SX.zeros(len(goal.weights())), "done": SX(0), "unconverged": SX(0)}
    result = b.loop(begin, step, MAX_STEPS)
    ends = {"end_q": result["q"], "end_u": result["u"]}
    return b.program(costs=result["costs"], unconverged=result["unconverged"], **ends)


def _order_costs(goal: Goal, view: StateView) -> list[SX]:
    """Order the costs like their weights."""
    costs = goal.all_costs(view)
    assert set(costs) == set(goal.weights()), "each cost must have a weight of the same name"
    return [costs[name] for name in goal.weights()]


def create_goal_view(
    work: RolloutPlan, state: Values, targets: tuple[SX, SX], command: SX, terrain: object
) -> StateView:
    """Build the view of the state from which a goal computes its costs.

    Parameters
    ----------
    work
        Goal and scene.
    state
        Values of q, u, impulse, tau and clock.
    targets
        Joint targets of this step and the one before, shape (n,) each, in rad.
    command
        Commands of the goal.
    terrain
        Symbols of the terrain.
    """
    posture = actuated_posture(work.scene.mechanism, work.stand)
    action, previous = (target - posture for target in targets)
    commands = dict(zip(work.goal.commands(), entries(command), strict=True))
    values = state | {"action": action, "before": previous}
    return make_state_view(work.scene, work.stand, values, commands, terrain)
