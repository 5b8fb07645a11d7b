"""Program of one control period: physics steps, the task's rewards and observations, and resets."""

from __future__ import annotations

from functools import lru_cache
from types import SimpleNamespace

import casadi as ca
from casadi import SX

from tarsus.algebra.blocks import triples
from tarsus.contact.solvers.base import is_finite
from tarsus.dynamics import loop_constraints
from tarsus.dynamics.base_parameters import base_parameters
from tarsus.dynamics.rnea import body_inertias
from tarsus.environments.episode_start import apply_due_changes, terrain_at_level
from tarsus.environments.plan import (
    ControlPlan,
    bias_widths,
    concatenate,
    create_task_view,
    filter_action,
    noise_widths,
    scale_action,
    targets,
)
from tarsus.environments.random_draws import RandomDraws
from tarsus.environments.task_step import servo_step
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
from tarsus.tasks.base import StateView, require_fitted

MAX_ACTION = 10.0  # larger actions are clipped
CACHE_SIZE = 4  # programs
MAX_HEIGHT = 1e6  # m: a base beyond it has diverged
NOISE_STREAM = 0  # first random stream of the noise
_WORKS: dict[str, ControlPlan] = {}


def reuse_plan(work: ControlPlan) -> ControlPlan:
    """Return an earlier plan with the same fingerprint, if any, so that it is traced only once."""
    return fingerprint.find_or_add(_WORKS, work, CACHE_SIZE)


@lru_cache(maxsize=CACHE_SIZE)
def control_program(work: ControlPlan) -> Program:
    """Load the program of one control period from the cache, or trace and cache it."""
    return cached_program(work, trace_period)


def trace_period(work: ControlPlan) -> Program:
    """Trace the program of one control period.

    Its registers are:

    - state: q, u, memory, bilateral; before, the last action, shape (k,); clock and count, the
      periods of the episode and in all; command; friction and mass, the random factors; for a task
      with levels, level, the factor on the heights of the ground, and score, the sum of its
      progress; for a task with a history, past, the last observation without its oldest part; for a
      task with a bias, bias, shape (k,), the offset of the observations; sensing.NAME, the memory
      of its sensors
    - report: observation, shape (k,), after the period, of the new episode if one starts; final,
      shape (k,), before a reset; reward and its terms, shape (m,); measures, shape (j,);
      terminated, truncated and diverged, 0 or 1; unconverged; and if the task uses them, tau,
      impulse and sensed.NAME of the last step
    - parameters: action, shape (k,); start, shape (nq,); seed, shape (4,); world; law.*; terrain.*
    """
    # registers
    task, scene = work.task, work.scene
    b = Builder(f"{scene.mechanism.name}_{type(task).__name__}")
    now = _state_registers(work, b)
    count, requested = b.declare("count", 1), b.parameter("action", len(work.moved_motors))
    action = filter_action(
        work, now["before"], ca.fmin(ca.fmax(requested, -MAX_ACTION), MAX_ACTION)
    )
    draws = RandomDraws(b.parameter("seed", 4), b.parameter("world"), count)
    law, terrain_symbols = (
        _collect_law_parameters(work, now["friction"], b),
        scene.terrain.symbols(b),
    )
    terrain = terrain_at_level(work, terrain_symbols, now)
    # steps, then rewards and observations
    end = _steps(work, now, action, law, terrain, b)
    done: Values = now | {name: value for name, value in end.items() if name in now}
    done["clock"] = now["clock"] + 1
    view = create_task_view(work, done, end, action, terrain)
    if task.has_levels:
        done["score"] = now["score"] + task.progress(view)
    parts = task.observations(view).values()
    observation = b.store_all("observation", concatenate(parts))
    if bias_widths(task, parts).any():
        now["bias"] = done["bias"] = b.declare("bias", observation.numel())
    state = [*entries(done["q"]), *entries(done["u"])]
    diverged = ca.logic_not(ca.logic_and(is_finite(state), ca.fabs(done["q"][2]) < MAX_HEIGHT))
    failed = b.store("failed", ca.logic_or(diverged, task.failed(view)))
    periods = max(1, round(require_fitted(task.episode) / work.period))
    timed_out = b.store("timed_out", ca.logic_and(ca.logic_not(failed), done["clock"] >= periods))
    terms = ca.vertcat(*task.rewards(view).values()) * work.period
    terms = b.store("terms", ca.if_else(diverged, 0, terms), "report")
    diverged = b.store("diverged", diverged, "report")
    # resets, command changes and pushes, where they are due
    done |= {"before": action, "observation": observation}
    renewed_state = apply_due_changes(
        work, done, end, (failed, timed_out, draws, terrain_symbols), b
    )
    noise = SX(ca.DM(noise_widths(parts))) * draws.draw_coarse(
        b, "noise", observation.numel(), NOISE_STREAM
    )
    reported = {"observation": renewed_state["observation"] + noise, "final": observation + noise}
    reported = _add_bias(reported, now, renewed_state)
    if task.history > 1:
        reported = _add_history(reported, ca.logic_or(failed, timed_out), task.history, b)
    return b.program(
        **{name: renewed_state[name] for name in now},
        **reported,
        **_collect_used_quantities(work, end, view),
        count=count + 1,
        reward=ca.sum1(terms),
        measures=concatenate(task.measures(view).values()),
        terminated=failed,
        truncated=timed_out,
        unconverged=end["unconverged"],
    )


def _collect_law_parameters(work: ControlPlan, friction: SX, b: Builder) -> Values:
    """Collect the law's parameters by name, its friction scaled by the random factor."""
    law = {name: b.parameter(f"law.{name}") for name in work.scene.law.parameters()}
    for name in sorted(
        law.keys() & names_with_role(type(work.scene.law), "friction", "kinetic_friction")
    ):
        law[name] = law[name] * friction
    return law


def _add_bias(observations: Values, state: Values, after: Values) -> Values:
    """Add the bias of their episode to the observations."""
    if "bias" not in state:
        return observations
    offsets = {"observation": after["bias"], "final": state["bias"]}
    return {name: value + offsets[name] for name, value in observations.items()}


def _add_history(observations: Values, started: SX, periods: int, b: Builder) -> Values:
    """Append the observations of earlier periods; return also those for the next period.

    `begun` tells whether an episode has just started: its first observation then replaces the
    earlier ones.
    """
    size = observations["observation"].numel()
    past = b.declare("past", (periods - 1) * size)
    earlier = [
        ca.if_else(started, observations["observation"], part) for part in _split(past, size)
    ]
    full = ca.vertcat(observations["observation"], *earlier)
    return {
        "observation": full,
        "final": ca.vertcat(observations["final"], past),
        "past": full[:-size],
    }


def _collect_used_quantities(work: ControlPlan, end: Values, view: StateView) -> Values:
    """Collect tau, impulse and readings of the last step that the task uses."""
    task, names = work.task, ("tau", "impulse", *(f"sensed.{n}" for n, _ in work.sensing.sensors))
    parts = concatenate(task.observations(view).values()), concatenate(task.measures(view).values())
    outputs = ca.vertcat(*parts, task.failed(view))
    return {name: end[name] for name in names if ca.depends_on(outputs, end[name])}


def _split(vector: SX, size: int) -> list[SX]:
    return [vector[start : start + size] for start in range(0, vector.numel(), size)]


def _state_registers(work: ControlPlan, b: Builder) -> Values:
    """Declare the registers of the state, except `count`."""
    scene, m = work.scene, work.scene.mechanism
    sizes = {
        "q": m.nq,
        "u": m.nu,
        "memory": len(scene.initial_memory()),
        "bilateral": loop_constraints.count_constraints(m),
        "before": len(work.moved_motors),
        "clock": 1,
        "command": len(work.task.commands()),
        "friction": 1,
        "mass": 1,
    }
    if work.task.has_levels:
        sizes |= {"level": 1, "score": 1}
    registers = {name: b.declare(name, size) for name, size in sizes.items()}
    return registers | declare_memories(work.sensing, scene, b)


def _steps(
    work: ControlPlan, state: Values, action: SX, law: Values, terrain: SimpleNamespace, b: Builder
) -> Values:
    """Compute state, tau, impulse and sensor values after the steps of a period.

    `unconverged` counts the steps that did not converge.
    """
    # constants of the period
    scene, m = work.scene, work.scene.mechanism

    def heights(points: list[SX]) -> list[SX]:
        return scene.terrain.elevations(points, terrain)

    action = scale_action(work, state["q"], action, heights)
    target = b.store("target", targets(work, state["clock"], action))
    inertias = base_parameters(m)
    inertias[0] = inertias[0] + body_inertias(m)[0].scale(state["mass"] - 1)
    gains = work.gains.kp, work.gains.kd
    settings = SX(work.dt), law, terrain, inertias

    def step(values: Values) -> tuple[Values, SX]:
        out, tau = servo_step(work.stepper, scene, values, target, gains, settings, b)
        done = values["done"] + 1
        failed = values["unconverged"] + ca.logic_not(out["converged"])
        end = {name: out[name] for name in ("q", "u", "memory", "bilateral", "impulse")}
        end |= _sensor_values(work, values, out, terrain, b)
        return end | {"tau": tau, "done": done, "unconverged": failed}, done < work.steps

    begin = {name: state[name] for name in ("q", "u", "memory", "bilateral")}
    begin |= {"tau": SX.zeros(target.numel()), "impulse": SX.zeros(3 * scene.geometry.report_count)}
    for name, sensor in work.sensing.sensors:
        begin[f"sensing.{name}"] = state[f"sensing.{name}"]
        begin[f"sensed.{name}"] = SX.zeros(len(sensor.channels(uncut_mechanism(scene))))
    return b.loop(begin | {"done": SX(0), "unconverged": SX(0)}, step, work.steps)


def _sensor_values(
    work: ControlPlan, values: Values, out: Values, terrain: SimpleNamespace, b: Builder
) -> Values:
    """Compute the readings and memories of the sensors after a step from `values` to `out`."""
    start, end = ((now["q"], now["u"]) for now in (values, out))
    moment = SensedStep(start, end, triples(out["impulse"]), out["memory"], SX(work.dt), terrain)
    return sense_step(work.sensing, work.scene, work.stepper, moment, values, b)
