"""One control period as a program: steps of physics, what a task says of them, a new beginning."""

from __future__ import annotations

from functools import lru_cache
from types import SimpleNamespace

import casadi as ca
from casadi import SX

from tarsus.algebra.blocks import triples
from tarsus.contact.solvers.base import finite
from tarsus.dynamics import loop_constraints
from tarsus.dynamics.base_parameters import base_parameters
from tarsus.dynamics.rnea import body_inertias
from tarsus.environments.beginnings import ground, renewed
from tarsus.environments.draws import Draws
from tarsus.environments.moments import servo_step
from tarsus.environments.plan import (
    ControlPlan,
    bias_of,
    glimpse,
    joined,
    noise_of,
    stretched,
    taken,
    targets,
)
from tarsus.parameters import names_with_role
from tarsus.program.ir.loops import Values
from tarsus.program.ir.program import Program
from tarsus.program.ir.symbolic import entries
from tarsus.program.ir.trace import Builder
from tarsus.simulation import fingerprint
from tarsus.simulation.program_cache import cached_program
from tarsus.simulation.sensor_program import (
    SensedStep,
    declare_memories,
    sense_step,
    uncut_mechanism,
)
from tarsus.tasks.base import Glimpse, known

MOST = 10.0  # an action beyond it counts as it
KEPT = 4  # programs that are kept
FAR = 1e6  # m: a base beyond it has diverged
NOISE = 0  # the first stream of what is drawn for it
_WORKS: dict[str, ControlPlan] = {}


def shared(work: ControlPlan) -> ControlPlan:
    """Return an earlier plan with the same fingerprint, or this one: nothing is traced twice."""
    return fingerprint.reuse(_WORKS, work, KEPT)


@lru_cache(maxsize=KEPT)
def control_program(work: ControlPlan) -> Program:
    """Return the program of one control period, from the cache if it was traced before."""
    return cached_program(work, traced)


def traced(work: ControlPlan) -> Program:
    """The program of one control period.

    state: q, u, memory, bilateral; before (k,), the last action; clock and count, periods of the
        episode and ever; command; friction and mass, the factors drawn; for a task with levels,
        level, the factor on the ground's heights, and score, the sum of its progress; for one with
        a history, past, all of the last observation but its oldest part; for one with a bias, bias
        (k,), what is added to all that is seen; sensing.NAME, what its sensors remember
    report: observation (k,) after it, of the new episode where one begins; final (k,), before that;
        reward, terms (m,); measures (j,); terminated, truncated, diverged: 0 or 1; unconverged;
        for a task that looks at them, tau, impulse and sensed.NAME of the last step
    parameters: action (k,), start (nq,), seed (4,), world, law.*, terrain.*
    """
    # registers
    task, scene = work.task, work.scene
    b = Builder(f"{scene.mechanism.name}_{type(task).__name__}")
    now = _declared(work, b)
    count, asked = b.declare("count", 1), b.parameter("action", len(work.moved))
    action = taken(work, now["before"], ca.fmin(ca.fmax(asked, -MOST), MOST))
    draws = Draws(b.parameter("seed", 4), b.parameter("world"), count)
    law, whole = _law(work, now["friction"], b), scene.terrain.symbols(b)
    terrain = ground(work, whole, now)
    # the steps, then what the task says of them
    end = _steps(work, now, action, law, terrain, b)
    done: Values = now | {name: value for name, value in end.items() if name in now}
    done["clock"] = now["clock"] + 1
    seen = glimpse(work, done, end, action, terrain)
    if task.graded:
        done["score"] = now["score"] + task.progress(seen)
    parts = task.observations(seen).values()
    told = b.store_all("told", joined(parts))
    if bias_of(task, parts).any():
        now["bias"] = done["bias"] = b.declare("bias", told.numel())
    state = [*entries(done["q"]), *entries(done["u"])]
    wild = ca.logic_not(ca.logic_and(finite(state), ca.fabs(done["q"][2]) < FAR))
    failed = b.store("failed", ca.logic_or(wild, task.failed(seen)))
    periods = max(1, round(known(task.episode) / work.period))
    over = b.store("over", ca.logic_and(ca.logic_not(failed), done["clock"] >= periods))
    terms = ca.vertcat(*task.rewards(seen).values()) * work.period
    terms = b.store("terms", ca.if_else(wild, 0, terms), "report")
    wild = b.store("diverged", wild, "report")
    # a new episode, another command or a push, where they are due
    done |= {"before": action, "observation": told}
    after = renewed(work, done, end, (failed, over, draws, whole), b)
    noise = SX(ca.DM(noise_of(parts))) * draws.coarse(b, "noise", told.numel(), NOISE)
    shown = {"observation": after["observation"] + noise, "final": told + noise}
    shown = _with_bias(shown, now, after)
    if task.history > 1:
        shown = _with_past(shown, ca.logic_or(failed, over), task.history, b)
    return b.program(
        **{name: after[name] for name in now},
        **shown,
        **_felt(work, end, seen),
        count=count + 1,
        reward=ca.sum1(terms),
        measures=joined(task.measures(seen).values()),
        terminated=failed,
        truncated=over,
        unconverged=end["unconverged"],
    )


def _law(work: ControlPlan, friction: SX, b: Builder) -> Values:
    """The law's parameters by name, what rubs times the factor of friction that was drawn."""
    law = {name: b.parameter(f"law.{name}") for name in work.scene.law.parameters()}
    for name in sorted(
        law.keys() & names_with_role(type(work.scene.law), "friction", "kinetic_friction")
    ):
        law[name] = law[name] * friction
    return law


def _with_bias(seen: Values, now: Values, after: Values) -> Values:
    """Observations with the offset of their episode, the new one's and the old one's."""
    if "bias" not in now:
        return seen
    offsets = {"observation": after["bias"], "final": now["bias"]}
    return {name: value + offsets[name] for name, value in seen.items()}


def _with_past(seen: Values, begun: SX, periods: int, b: Builder) -> Values:
    """Observations with those of the periods before, and what of it is kept for the next.

    begun: whether an episode has just begun: its first observation stands for what was before
    """
    size = seen["observation"].numel()
    past = b.declare("past", (periods - 1) * size)
    before = [ca.if_else(begun, seen["observation"], part) for part in _parts(past, size)]
    whole = ca.vertcat(seen["observation"], *before)
    return {"observation": whole, "final": ca.vertcat(seen["final"], past), "past": whole[:-size]}


def _felt(work: ControlPlan, end: Values, seen: Glimpse) -> Values:
    """Of the last step what the task looks at beside the state, for those who look again."""
    task, names = work.task, ("tau", "impulse", *(f"sensed.{n}" for n, _ in work.sensing.sensors))
    parts = joined(task.observations(seen).values()), joined(task.measures(seen).values())
    told = ca.vertcat(*parts, task.failed(seen))
    return {name: end[name] for name in names if ca.depends_on(told, end[name])}


def _parts(whole: SX, size: int) -> list[SX]:
    return [whole[at : at + size] for at in range(0, whole.numel(), size)]


def _declared(work: ControlPlan, b: Builder) -> Values:
    """The state's registers but `count`."""
    scene, m = work.scene, work.scene.mechanism
    sizes = {
        "q": m.nq,
        "u": m.nu,
        "memory": len(scene.initial_memory()),
        "bilateral": loop_constraints.count(m),
        "before": len(work.moved),
        "clock": 1,
        "command": len(work.task.commands()),
        "friction": 1,
        "mass": 1,
    }
    if work.task.graded:
        sizes |= {"level": 1, "score": 1}
    found = {name: b.declare(name, size) for name, size in sizes.items()}
    return found | declare_memories(work.sensing, scene, b)


def _steps(
    work: ControlPlan, now: Values, action: SX, law: Values, terrain: SimpleNamespace, b: Builder
) -> Values:
    """q, u, memory, bilateral and what sensors remember after the steps; tau, impulse and readings
    `sensed.NAME` of the last; how many of them were not solved.
    """
    # what does not change within the period
    scene, m = work.scene, work.scene.mechanism

    def heights(points: list[SX]) -> list[SX]:
        return scene.terrain.elevations(points, terrain)

    action = stretched(work, now["q"], action, heights)
    target = b.store("target", targets(work, now["clock"], action))
    inertias = base_parameters(m)
    inertias[0] = inertias[0] + body_inertias(m)[0].scaled(now["mass"] - 1)
    gains = work.gains.kp, work.gains.kd
    around = SX(work.dt), law, terrain, inertias

    def step(at: Values) -> tuple[Values, SX]:
        out, tau = servo_step(work.stepper, scene, at, target, gains, around, b)
        done = at["done"] + 1
        failed = at["unconverged"] + ca.logic_not(out["converged"])
        kept = {name: out[name] for name in ("q", "u", "memory", "bilateral", "impulse")}
        kept |= _sensed(work, at, out, terrain, b)
        return kept | {"tau": tau, "done": done, "unconverged": failed}, done < work.steps

    begin = {name: now[name] for name in ("q", "u", "memory", "bilateral")}
    begin |= {"tau": SX.zeros(target.numel()), "impulse": SX.zeros(3 * scene.geometry.reported)}
    for name, sensor in work.sensing.sensors:
        begin[f"sensing.{name}"] = now[f"sensing.{name}"]
        begin[f"sensed.{name}"] = SX.zeros(len(sensor.channels(uncut_mechanism(scene))))
    return b.loop(begin | {"done": SX(0), "unconverged": SX(0)}, step, work.steps)


def _sensed(
    work: ControlPlan, at: Values, out: Values, terrain: SimpleNamespace, b: Builder
) -> Values:
    """Readings and memories of the task's sensors after a step from `at` to `out`."""
    start, end = ((now["q"], now["u"]) for now in (at, out))
    moment = SensedStep(start, end, triples(out["impulse"]), out["memory"], SX(work.dt), terrain)
    return sense_step(work.sensing, work.scene, work.stepper, moment, at, b)
