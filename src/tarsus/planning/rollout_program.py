"""One rollout as a program: steps of physics under targets on a spline, and what they cost."""

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
from tarsus.environments.moments import glimpse_of, servo_step
from tarsus.planning.goals.base import Goal
from tarsus.planning.spline import weights
from tarsus.program.ir.loops import Values
from tarsus.program.ir.program import Program
from tarsus.program.ir.symbolic import entries
from tarsus.program.ir.trace import Builder
from tarsus.simulation import fingerprint
from tarsus.simulation.program_cache import cached_program
from tarsus.stepping.base import Scene, Stepper
from tarsus.tasks.base import Glimpse

KEPT = 4  # programs that are kept
MOST_STEPS = 100_000  # of a rollout


@dataclass(frozen=True, eq=False)
class RolloutPlan:
    """A goal for a robot in a scene.

    goal: its weights are not compiled; stand (nq,): where joints and trunk rest
    spline: its kind; knots: how many of the joints' targets
    """

    goal: Goal
    scene: Scene
    stepper: Stepper
    stand: NDArray[np.float64]
    spline: str
    knots: int

    @property
    def motors(self) -> int:
        """How many there are."""
        return len(self.scene.mechanism.actuators)


_WORKS: dict[str, RolloutPlan] = {}


def shared(work: RolloutPlan) -> RolloutPlan:
    """Return an earlier plan with the same fingerprint, or this one: nothing is traced twice."""
    return fingerprint.reuse(_WORKS, work, KEPT)


@lru_cache(maxsize=KEPT)
def rollout_program(work: RolloutPlan) -> Program:
    """Return the program of one rollout, from the cache if it was traced before."""
    return cached_program(work, traced)


def traced(work: RolloutPlan) -> Program:
    """The program of one rollout; nothing of it lasts from run to run.

    parameters: q, u, from where; knots (count n,), rad, one after the other; position of its
        beginning among them, and advance of it a step; steps, dt, kp and kd (n,); command, law.*,
        terrain.*
    report: costs (m,), integrated over time and not weighed; end_q, end_u; unconverged steps
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
    gains, around = (given["kp"], given["kd"]), (given["dt"], law, terrain, base_parameters(m))
    knots = ca.reshape(given["knots"], n, work.knots)

    def targets(done: SX) -> SX:
        where = given["position"] + done * given["advance"]
        return ca.mtimes(knots, ca.vertcat(*weights(work.spline, where, work.knots)))

    def step(at: Values) -> tuple[Values, SX]:
        # torques towards the spline
        target = b.store("target", targets(at["done"]))
        out, tau = servo_step(work.stepper, scene, at, target, gains, around, b)
        # what the step costs
        done = b.store("steps_done", at["done"] + 1)
        more = done < given["steps"]
        end = {name: out[name] for name in ("q", "u", "memory", "bilateral")}
        moment = end | {"impulse": out["impulse"], "tau": tau, "clock": done * given["dt"]}
        seen = glimpse(work, moment, (target, targets(at["done"] - 1)), given["command"], terrain)
        lasts = given["dt"] + ca.if_else(more, 0, goal.end)
        costs = at["costs"] + lasts * ca.vertcat(*_in_order(goal, seen))
        failed = at["unconverged"] + ca.logic_not(out["converged"])
        return end | {"costs": costs, "done": done, "unconverged": failed}, more

    begin = {"q": q, "u": u, "memory": SX(ca.DM(scene.initial_memory()))}
    begin |= {"bilateral": SX.zeros(loop_constraints.count(m))}
    begin |= {"costs": SX.zeros(len(goal.weights())), "done": SX(0), "unconverged": SX(0)}
    found = b.loop(begin, step, MOST_STEPS)
    ends = {"end_q": found["q"], "end_u": found["u"]}
    return b.program(costs=found["costs"], unconverged=found["unconverged"], **ends)


def _in_order(goal: Goal, seen: Glimpse) -> list[SX]:
    """The costs in the order of their weights."""
    costs = goal.all_costs(seen)
    assert set(costs) == set(goal.weights()), "each cost has a weight of its name"
    return [costs[name] for name in goal.weights()]


def glimpse(
    work: RolloutPlan, now: Values, targets: tuple[SX, SX], command: SX, terrain: object
) -> Glimpse:
    """What a goal may look at: now: q, u, impulse, tau, clock; targets: in the step and before."""
    posture = actuated_posture(work.scene.mechanism, work.stand)
    action, before = (target - posture for target in targets)
    asked = dict(zip(work.goal.commands(), entries(command), strict=True))
    seen = now | {"action": action, "before": before}
    return glimpse_of(work.scene, work.stand, seen, asked, terrain)
