"""New episodes, new commands and pushes, in a branch that only the worlds concerned enter."""

from __future__ import annotations

from types import SimpleNamespace

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.collision.broad_phase import minimum, secondary_gaps
from tarsus.collision.ground import ground_below_candidates
from tarsus.control.pd import actuated_indices
from tarsus.dynamics import loop_constraints
from tarsus.dynamics.kinematics import kinematics
from tarsus.environments.plan import ControlPlan, bias_widths, concatenate, create_task_view
from tarsus.environments.random_draws import RandomDraws
from tarsus.program.ir.loops import Values
from tarsus.program.ir.symbolic import entries
from tarsus.program.ir.trace import Builder
from tarsus.simulation.sensor_program import contact_free_readings
from tarsus.spatial.quaternion import product
from tarsus.tasks.base import require_fitted

EPISODE_STREAM, COMMAND_STREAM, BIAS_STREAM = 1024, 2048, 3072  # first random streams
LEVEL_STEPS = 10  # from the easiest ground to the hardest
DEPTH_TOLERANCE = 1e-5  # m: resolution of float32 at 10 m from the origin
LIFT_CLEARANCE = 1e-3  # m: lift beyond the depth, because next to a riser the exit is horizontal
MAX_LIFTS = 50
PROMOTION, DEMOTION = 0.7, 0.4  # mean `progress` of an episode for a higher and a lower level


def terrain_at_level(work: ControlPlan, terrain: SimpleNamespace, state: Values) -> SimpleNamespace:
    """Scale the terrain's symbols to the level of a world."""
    return work.scene.terrain.at_level(terrain, state["level"]) if work.task.has_levels else terrain


def apply_due_changes(
    work: ControlPlan,
    state: Values,
    end: Values,
    context: tuple[SX, SX, RandomDraws, SimpleNamespace],
    b: Builder,
) -> Values:
    """Compute state and observation after due resets, command changes and pushes.

    Parameters
    ----------
    work
        Task on a robot in a scene.
    state
        State after the period.
    end
        tau, impulse and sensor readings of the last step.
    context
        Whether the episode failed, whether its time is over, the random draws and the terrain's
        symbols.
    b
        Builder of the program.
    """
    failed, over_time, draws, terrain = context
    over = ca.logic_or(failed, over_time)
    task, periods = work.task, state["clock"]
    intervals = {"command": task.command_interval, "push": task.push_interval}
    counts = {name: max(1, round(wait / work.period)) for name, wait in intervals.items()}
    changes, pushes = (
        b.store(name, ca.fmod(periods, count) == 0) for name, count in counts.items()
    )
    due = ca.logic_or(over, ca.logic_or(changes, pushes))

    def branch(values: Values) -> tuple[Values, SX]:
        # new command, and a push
        ranges = np.array(list(task.commands().values()), dtype=float)
        numbers = draws.draw_fine(b, "later", len(ranges) + 2, COMMAND_STREAM)
        command = _interpolate(ranges, numbers[: len(ranges)])
        push = require_fitted(task.push) * (2 * numbers[len(ranges) :] - 1)
        u = ca.vertcat(values["u"][:2] + ca.if_else(pushes, push, 0), values["u"][2:])
        fresh = values | {"u": u, "command": ca.if_else(changes, command, values["command"])}
        # new episode
        initial = _draw_initial_state(work, values, (failed, draws, terrain), b) | {
            "command": command
        }
        fresh |= {name: ca.if_else(over, value, fresh[name]) for name, value in initial.items()}
        # observation; at the start of an episode there are no forces yet
        zero = {name: SX.zeros(end[name].numel()) for name in ("tau", "impulse")}
        q_and_u = fresh["q"], fresh["u"]
        level_terrain = terrain_at_level(work, terrain, fresh)
        zero |= contact_free_readings(
            work.sensing, work.scene, q_and_u, SX(work.dt), level_terrain, b
        )
        for name in sorted(values.keys() & zero.keys()):  # the sensors' memory
            fresh[name] = ca.if_else(over, zero[name], fresh[name])
        measured = {name: ca.if_else(over, zero[name], end[name]) for name in zero}
        observed = task.observations(
            create_task_view(work, fresh, measured, fresh["before"], level_terrain)
        ).values()
        if "bias" in values:
            widths = bias_widths(task, observed)
            offset = SX(ca.DM(widths)) * draws.draw_coarse(b, "bias", widths.size, BIAS_STREAM)
            fresh["bias"] = ca.if_else(over, offset, fresh["bias"])
        return fresh | {"observation": concatenate(observed)}, SX(0)

    return b.loop(state, branch, 1, first=due, cold=True)


def _draw_initial_state(
    work: ControlPlan, last: Values, context: tuple[SX, RandomDraws, SimpleNamespace], b: Builder
) -> Values:
    """Draw the state at the start of an episode: near `start`, with a random heading.

    Parameters
    ----------
    work
        Task on a robot in a scene.
    last
        State at the end of the last episode.
    context
        Whether that episode failed, the random draws and the terrain's symbols.
    b
        Builder of the program.
    """
    # near the start coordinates
    failed, draws, terrain = context
    task, scene, m = work.task, work.scene, work.scene.mechanism
    indices, start = actuated_indices(m)[0], b.parameter("start", m.nq)
    extra = 5 if task.randomizes_pose else 0
    drawn = draws.draw_fine(b, "beginning", len(indices) + 3 + extra, EPISODE_STREAM)
    q, [turn, friction, mass, *rest] = list(entries(start)), entries(drawn[len(indices) :])
    for k, index in enumerate(indices):
        joint = m.bodies[m.joint_index(m.actuators[k].joint)].joint
        moved = q[index] + task.start_offset * (2 * drawn[k] - 1)
        q[index] = ca.fmin(ca.fmax(moved, joint.lower), joint.upper)
    half = np.pi * turn
    turned = product(ca.vertcat(ca.cos(half), 0, 0, ca.sin(half)), ca.vertcat(*q[3:7]))
    q[3:7] = entries(turned)
    state = {
        "u": SX.zeros(m.nu),
        "memory": SX(ca.DM(scene.initial_memory())),
        "bilateral": SX.zeros(loop_constraints.count_constraints(m)),
        "before": SX.zeros(len(work.moved_motors)),
        "clock": SX(0),
        "friction": _interpolate(np.array([task.friction]), friction),
        "mass": _interpolate(np.array([task.mass]), mass),
    }
    # random position and tilt, on the terrain at its level
    if task.has_levels:
        state |= {"level": _next_level(work, last, failed, rest[4]), "score": SX(0)}
    if task.randomizes_pose:
        q[:2] = [
            x + task.start_distance * (2 * r - 1) for x, r in zip(q[:2], rest[:2], strict=True)
        ]
        max_tilt = task.start_tilt * state.get("level", SX(1))
        q[3:7] = entries(product(_draw_tilt(max_tilt, rest[2:4]), ca.vertcat(*q[3:7])))
        at_level = terrain_at_level(work, terrain, state)
        q[2] = q[2] - _lowest_gap(work, ca.vertcat(*q), at_level)
        if not work.scene.terrain.flat:
            q = entries(_lift_out_of_ground(work, b.store("start_q", ca.vertcat(*q)), at_level, b))
    return state | {"q": ca.vertcat(*q)}


def _draw_tilt(max_angle: SX, drawn: list[SX]) -> SX:
    """Draw a quaternion, shape (4,), that tilts by up to `max_angle` (rad).

    The axis is horizontal, with a random direction.
    """
    half, around = max_angle / 2 * drawn[0], 2 * np.pi * drawn[1]
    return ca.vertcat(ca.cos(half), ca.sin(half) * ca.cos(around), ca.sin(half) * ca.sin(around), 0)


def _lowest_gap(work: ControlPlan, q: SX, terrain: SimpleNamespace) -> SX:
    """Compute the vertical gap of the lowest candidate, in m."""
    scene = work.scene
    kin = kinematics(scene.mechanism, q)
    points, distances, frames = ground_below_candidates(
        scene.geometry, kin, scene.candidates, terrain
    )
    if scene.terrain.steepest(terrain) is None:  # the closest ground may be to the side
        heights = scene.terrain.elevations(points, terrain)
        entries = zip(scene.candidates, points, heights, strict=True)
        return minimum(
            [point[2] - candidate.radius - height for candidate, point, height in entries]
        )
    return minimum(
        [
            (distance - candidate.radius) / frame[0, 2]
            for candidate, distance, frame in zip(scene.candidates, distances, frames, strict=True)
        ]
    )


def _lift_out_of_ground(work: ControlPlan, q: SX, terrain: SimpleNamespace, b: Builder) -> SX:
    """Raise coordinates, shape (nq,), until nothing intersects the ground.

    This covers the candidates and the shapes between them. Nothing changes if none is in the
    ground.
    """
    geometry = work.scene.geometry.all_secondary

    def higher(state: Values) -> tuple[Values, SX]:
        kin = kinematics(geometry.mechanism, ca.vertcat(q[:2], state["height"], q[3:]))
        depth = b.store("depth", -secondary_gaps(geometry, kin, terrain, b).min_gap)
        penetrates = depth > DEPTH_TOLERANCE
        return {
            "height": state["height"] + ca.if_else(penetrates, depth + LIFT_CLEARANCE, 0)
        }, penetrates

    lifted = b.loop({"height": q[2]}, higher, MAX_LIFTS)
    return ca.vertcat(q[:2], lifted["height"], q[3:])


def _next_level(work: ControlPlan, last: Values, failed: SX, drawn: SX) -> SX:
    """Compute the level of the next episode.

    It is harder after an episode that went well, easier after one that failed or went badly, and
    random beyond the hardest.
    """
    low, high = work.task.levels
    step = (high - low) / LEVEL_STEPS
    mean = last["score"] / ca.fmax(last["clock"], 1)
    promoted = ca.logic_and(ca.logic_not(failed), mean > PROMOTION)
    demoted = ca.logic_or(failed, mean < DEMOTION)
    level = last["level"] + step * (promoted - demoted)
    level = ca.if_else(level > high + step / 2, low + drawn * (high - low), level)
    return ca.fmin(ca.fmax(level, low), high)


def _interpolate(ranges: NDArray[np.float64], fraction: SX) -> SX:
    """Interpolate ranges, shape (k, 2), at fractions, shape (k,)."""
    low, high = (SX(ca.DM(column)) for column in ranges.T)
    return low + fraction * (high - low)
