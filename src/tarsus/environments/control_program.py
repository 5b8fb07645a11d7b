"""One control period as a program: steps of physics, what a task says of them, a new beginning."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.contact.solvers.base import finite
from tarsus.control.pd import actuated
from tarsus.control.servo import Gains
from tarsus.dynamics import loop_constraints
from tarsus.dynamics.base_parameters import base_parameters
from tarsus.dynamics.rnea import body_inertias
from tarsus.environments.draws import Draws
from tarsus.environments.moments import glimpse_of, servo_step
from tarsus.parameters import named
from tarsus.program.ir.blocks import Program
from tarsus.program.ir.symbolic import entries
from tarsus.program.ir.trace import Builder, Values
from tarsus.simulation import kept_programs
from tarsus.simulation.alike import first_alike
from tarsus.spatial.quaternion import product
from tarsus.stepping.base import Scene, Stepper
from tarsus.tasks.base import Glimpse, LearningTask, Measured, Observed

MOST = 10.0  # an action beyond it counts as it
KEPT = 4  # programs that are kept
FAR = 1e6  # m: a base beyond it has diverged
NOISE, BEGINNING, LATER = 0, 1024, 2048  # the first streams of what is drawn


@dataclass(frozen=True, eq=False)
class ControlPlan:
    """A task on a robot in a scene.

    dt: s; steps: of a control period; gains: of the joints' servos; stand (nq,): where they hold
    """

    task: LearningTask
    scene: Scene
    stepper: Stepper
    dt: float
    steps: int
    gains: Gains
    stand: NDArray[np.float64]

    @property
    def motors(self) -> int:
        """How many there are."""
        return len(self.scene.mechanism.actuators)

    @property
    def period(self) -> float:
        """Of control, s."""
        return self.steps * self.dt


_WORKS: list[ControlPlan] = []


def shared(work: ControlPlan) -> ControlPlan:
    """An earlier one that is alike, or this one: nothing is traced twice."""
    return first_alike(_WORKS, work, KEPT)


@lru_cache(maxsize=KEPT)
def control_program(work: ControlPlan) -> Program:
    """The program of one control period: `traced`, or as it was kept when it was."""
    return kept_programs.kept(work, traced)


def traced(work: ControlPlan) -> Program:
    """The program of one control period.

    state: q, u, memory, bilateral; before (n,), the last action; clock and count, periods of the
        episode and ever; command; friction and mass, the factors drawn
    report: observation (k,) after it, of the new episode where one begins; final (k,), before that;
        reward, terms (m,); measures (j,); terminated, truncated, diverged: 0 or 1; unconverged
    parameters: action (n,), start (nq,), seed (4,), world, law.*, terrain.*
    """
    # registers
    task, scene, m, n = work.task, work.scene, work.scene.mechanism, work.motors
    b = Builder(f"{m.name}_{type(task).__name__}")
    now: Values = {
        "q": b.declare("q", m.nq),
        "u": b.declare("u", m.nu),
        "memory": b.declare("memory", len(scene.initial_memory())),
        "bilateral": b.declare("bilateral", loop_constraints.count(m)),
        "before": b.declare("before", n),
        "clock": b.declare("clock", 1),
        "command": b.declare("command", len(task.commands())),
    }
    now |= {name: b.declare(name, 1) for name in ("friction", "mass")}
    count, action = b.declare("count", 1), b.parameter("action", n)
    action = ca.fmin(ca.fmax(action, -MOST), MOST)
    draws = Draws(b.parameter("seed", 4), b.parameter("world"), count)
    law = {name: b.parameter(f"law.{name}") for name in scene.law.parameters()}
    for name in sorted(law.keys() & named(type(scene.law), "friction", "kinetic_friction")):
        law[name] = law[name] * now["friction"]
    terrain = scene.terrain.symbols(b)
    # the steps, then what the task says of them
    end = _steps(work, now, action, law, terrain, b)
    done: Values = now | {name: end[name] for name in ("q", "u", "memory", "bilateral")}
    done["clock"] = now["clock"] + 1
    seen = glimpse(work, done, end, action, terrain)
    parts = task.observations(seen).values()
    told = b.hold("told", joined(parts))
    state = [*entries(done["q"]), *entries(done["u"])]
    wild = ca.logic_not(ca.logic_and(finite(state), ca.fabs(done["q"][2]) < FAR))
    failed = b.keep("failed", ca.logic_or(wild, task.failed(seen)))
    over = ca.logic_and(ca.logic_not(failed), done["clock"] * work.period >= task.episode)
    over = b.keep("over", over)
    terms = ca.vertcat(*task.rewards(seen).values()) * work.period
    terms = b.keep("terms", ca.if_else(wild, 0, terms), "report")
    wild = b.keep("diverged", wild, "report")

    # a new episode, another command or a push, where they are due
    done |= {"before": action, "observation": told}
    after = _renewed(work, done, (ca.logic_or(failed, over), draws, terrain), b)
    noise = SX(ca.DM(noise_of(parts))) * draws.coarse(b, "noise", told.numel(), NOISE)
    return b.program(
        **{name: after[name] for name in now},
        count=count + 1,
        observation=after["observation"] + noise,
        final=told + noise,
        reward=ca.sum1(terms),
        measures=joined(task.measures(seen).values()),
        terminated=failed,
        truncated=over,
        unconverged=end["unconverged"],
    )


def targets(work: ControlPlan, clock: SX, action: SX) -> SX:
    """Of the motors (n,) in a period that begins `clock` periods after its episode."""
    m, task = work.scene.mechanism, work.task
    posture = SX(ca.DM(work.stand[actuated(m)[0]]))
    return posture + task.rhythm(m, work.stand, clock * work.period) + task.reach * action


def _steps(
    work: ControlPlan, now: Values, action: SX, law: Values, terrain: object, b: Builder
) -> Values:
    """q, u, memory, bilateral after the steps; tau and impulse of the last; how many of them were
    not solved.
    """
    # what does not change within the period
    scene, m = work.scene, work.scene.mechanism
    target = b.keep("target", targets(work, now["clock"], action))
    inertias = base_parameters(m)
    inertias[0] = inertias[0] + body_inertias(m)[0].scaled(now["mass"] - 1)
    gains = work.gains.kp, work.gains.kd
    around = SX(work.dt), law, terrain, inertias

    def step(at: Values) -> tuple[Values, SX]:
        out, tau = servo_step(work.stepper, scene, at, target, gains, around, b)
        done = at["done"] + 1
        failed = at["unconverged"] + ca.logic_not(out["converged"])
        kept = {name: out[name] for name in ("q", "u", "memory", "bilateral", "impulse")}
        return kept | {"tau": tau, "done": done, "unconverged": failed}, done < work.steps

    begin = {name: now[name] for name in ("q", "u", "memory", "bilateral")}
    begin |= {"tau": SX.zeros(target.numel()), "impulse": SX.zeros(3 * scene.reported)}
    return b.loop(begin | {"done": SX(0), "unconverged": SX(0)}, step, work.steps)


def glimpse(work: ControlPlan, now: Values, end: Values, action: SX, terrain: object) -> Glimpse:
    """What a task may look at: now: q, u, before, clock, command; end: tau, impulse of a step."""
    asked = dict(zip(work.task.commands(), entries(now["command"]), strict=True))
    seen = {name: now[name] for name in ("q", "u", "before")}
    seen |= {"tau": end["tau"], "impulse": end["impulse"], "action": action}
    seen["clock"] = now["clock"] * work.period
    return glimpse_of(work.scene, work.stand, seen, asked, terrain)


def joined(parts: Iterable[Observed | Measured]) -> SX:
    """The numbers (k,) of all parts, of which there may be none."""
    return ca.vertcat(SX(0, 1), *(part.value for part in parts))


def noise_of(parts: Iterable[Observed]) -> NDArray[np.float64]:
    """How wide that of each number (k,) of an observation is."""
    return np.concatenate([[], *(np.full(p.value.numel(), p.noise) for p in parts)])


def _renewed(work: ControlPlan, now: Values, when: tuple[SX, Draws, object], b: Builder) -> Values:
    """The state and the observation where an episode begins, a command changes or a push comes.

    when: whether the episode is over; what is drawn; the terrain's symbols
    """
    over, draws, terrain = when
    task, periods = work.task, now["clock"]
    waits = {"hold": task.hold, "push": task.push_every}
    every = {name: max(1, round(wait / work.period)) for name, wait in waits.items()}
    changes, pushed = (b.keep(name, ca.fmod(periods, count) == 0) for name, count in every.items())
    due = ca.logic_or(over, ca.logic_or(changes, pushed))

    def renew(at: Values) -> tuple[Values, SX]:
        # another command, and a push
        ranges = np.array(list(task.commands().values()), dtype=float)
        later = draws.fine(b, "later", len(ranges) + 2, LATER)
        command = _within(ranges, later[: len(ranges)])
        push = task.push * (2 * later[len(ranges) :] - 1)
        u = ca.vertcat(at["u"][:2] + ca.if_else(pushed, push, 0), at["u"][2:])
        fresh = at | {"u": u, "command": ca.if_else(changes, command, at["command"])}
        # another episode
        first = _begun(work, draws, b) | {"command": command}
        fresh |= {name: ca.if_else(over, value, fresh[name]) for name, value in first.items()}
        # what is seen of it
        still = {
            "tau": SX.zeros(work.motors),
            "impulse": SX.zeros(3 * work.scene.reported),
        }
        seen = glimpse(work, fresh, still, fresh["before"], terrain)
        return fresh | {"observation": joined(task.observations(seen).values())}, SX(0)

    return b.loop(now, renew, 1, first=due, seldom=True)


def _begun(work: ControlPlan, draws: Draws, b: Builder) -> Values:
    """The state as an episode begins: near `start`, turned anyhow."""
    task, scene, m = work.task, work.scene, work.scene.mechanism
    where, start = actuated(m)[0], b.parameter("start", m.nq)
    drawn = draws.fine(b, "beginning", len(where) + 3, BEGINNING)
    q, [turn, friction, mass] = list(entries(start)), entries(drawn[len(where) :])
    for k, at in enumerate(where):
        joint = m.bodies[m.joint_index(m.actuators[k].joint)].joint
        moved = q[at] + task.spread * (2 * drawn[k] - 1)
        q[at] = ca.fmin(ca.fmax(moved, joint.lower), joint.upper)
    half = np.pi * turn
    turned = product(ca.vertcat(ca.cos(half), 0, 0, ca.sin(half)), ca.vertcat(*q[3:7]))
    q[3:7] = entries(turned)
    return {
        "q": ca.vertcat(*q),
        "u": SX.zeros(m.nu),
        "memory": SX(ca.DM(scene.initial_memory())),
        "bilateral": SX.zeros(loop_constraints.count(m)),
        "before": SX.zeros(work.motors),
        "clock": SX(0),
        "friction": _within(np.array([task.friction]), friction),
        "mass": _within(np.array([task.mass]), mass),
    }


def _within(ranges: NDArray[np.float64], part: SX) -> SX:
    """Least and largest (k, 2), and parts (k,) of the way between."""
    low, high = (SX(ca.DM(column)) for column in ranges.T)
    return low + part * (high - low)
