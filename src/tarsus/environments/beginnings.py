"""Where an episode begins, another command or a push comes: what only worlds enter that need it."""

from __future__ import annotations

from types import SimpleNamespace

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.collision.broad_phase import least, secondary_gaps
from tarsus.collision.ground import below_candidates
from tarsus.control.pd import actuated
from tarsus.dynamics import loop_constraints
from tarsus.dynamics.kinematics import kinematics
from tarsus.environments.draws import Draws
from tarsus.environments.plan import ControlPlan, bias_of, glimpse, joined
from tarsus.program.ir.loops import Values
from tarsus.program.ir.symbolic import entries
from tarsus.program.ir.trace import Builder
from tarsus.simulation.sensor_program import contact_free_readings
from tarsus.spatial.quaternion import product
from tarsus.tasks.base import known

BEGINNING, LATER, OFFSETS = 1024, 2048, 3072  # the first streams of what is drawn
STEPS = 10  # of a level from the easiest ground to the hardest
TOUCHING = 1e-5  # m deep: float32 tells no less 10 m from the origin
CLEAR = 1e-3  # m: so much higher than it was deep, for beside a riser the way out is level
LIFTS = 50  # at most
WELL, BADLY = 0.7, 0.4  # an episode's mean of `progress`: above it harder ground, below it easier


def ground(work: ControlPlan, whole: SimpleNamespace, now: Values) -> SimpleNamespace:
    """The terrain's symbols at a world's level; whole: as the terrain has them."""
    return work.scene.terrain.at_level(whole, now["level"]) if work.task.graded else whole


def renewed(
    work: ControlPlan,
    now: Values,
    end: Values,
    when: tuple[SX, SX, Draws, SimpleNamespace],
    b: Builder,
) -> Values:
    """The state and the observation where an episode begins, a command changes or a push comes.

    end: tau, impulse and readings of the last step; when: whether the episode has failed; whether
    its time is over; what is drawn; the terrain's symbols
    """
    failed, late, draws, whole = when
    over = ca.logic_or(failed, late)
    task, periods = work.task, now["clock"]
    waits = {"hold": task.hold, "push": task.push_every}
    every = {name: max(1, round(wait / work.period)) for name, wait in waits.items()}
    changes, pushed = (b.store(name, ca.fmod(periods, count) == 0) for name, count in every.items())
    due = ca.logic_or(over, ca.logic_or(changes, pushed))

    def renew(at: Values) -> tuple[Values, SX]:
        # another command, and a push
        ranges = np.array(list(task.commands().values()), dtype=float)
        later = draws.fine(b, "later", len(ranges) + 2, LATER)
        command = _within(ranges, later[: len(ranges)])
        push = known(task.push) * (2 * later[len(ranges) :] - 1)
        u = ca.vertcat(at["u"][:2] + ca.if_else(pushed, push, 0), at["u"][2:])
        fresh = at | {"u": u, "command": ca.if_else(changes, command, at["command"])}
        # another episode
        first = _begun(work, at, (failed, draws, whole), b) | {"command": command}
        fresh |= {name: ca.if_else(over, value, fresh[name]) for name, value in first.items()}
        # what is seen of it: as an episode begins nothing presses or pulls yet
        still = {name: SX.zeros(end[name].numel()) for name in ("tau", "impulse")}
        where = fresh["q"], fresh["u"]
        own = ground(work, whole, fresh)
        still |= contact_free_readings(work.sensing, work.scene, where, SX(work.dt), own, b)
        for name in sorted(at.keys() & still.keys()):  # what sensors remember
            fresh[name] = ca.if_else(over, still[name], fresh[name])
        felt = {name: ca.if_else(over, still[name], end[name]) for name in still}
        seen = task.observations(glimpse(work, fresh, felt, fresh["before"], own)).values()
        if "bias" in at:
            wide = bias_of(task, seen)
            offset = SX(ca.DM(wide)) * draws.coarse(b, "bias", wide.size, OFFSETS)
            fresh["bias"] = ca.if_else(over, offset, fresh["bias"])
        return fresh | {"observation": joined(seen)}, SX(0)

    return b.loop(now, renew, 1, first=due, cold=True)


def _begun(
    work: ControlPlan, last: Values, when: tuple[SX, Draws, SimpleNamespace], b: Builder
) -> Values:
    """The state as an episode begins: near `start`, turned anyhow.

    last: as the one before ended; when: whether it failed, what is drawn, the terrain's symbols
    """
    # near the start
    failed, draws, whole = when
    task, scene, m = work.task, work.scene, work.scene.mechanism
    where, start = actuated(m)[0], b.parameter("start", m.nq)
    more = 5 if task.scattered else 0
    drawn = draws.fine(b, "beginning", len(where) + 3 + more, BEGINNING)
    q, [turn, friction, mass, *rest] = list(entries(start)), entries(drawn[len(where) :])
    for k, at in enumerate(where):
        joint = m.bodies[m.joint_index(m.actuators[k].joint)].joint
        moved = q[at] + task.spread * (2 * drawn[k] - 1)
        q[at] = ca.fmin(ca.fmax(moved, joint.lower), joint.upper)
    half = np.pi * turn
    turned = product(ca.vertcat(ca.cos(half), 0, 0, ca.sin(half)), ca.vertcat(*q[3:7]))
    q[3:7] = entries(turned)
    found = {
        "u": SX.zeros(m.nu),
        "memory": SX(ca.DM(scene.initial_memory())),
        "bilateral": SX.zeros(loop_constraints.count(m)),
        "before": SX.zeros(len(work.moved)),
        "clock": SX(0),
        "friction": _within(np.array([task.friction]), friction),
        "mass": _within(np.array([task.mass]), mass),
    }
    # elsewhere, turned over, on its level of the ground
    if task.graded:
        found |= {"level": _level(work, last, failed, rest[4]), "score": SX(0)}
    if task.scattered:
        q[:2] = [x + task.place * (2 * r - 1) for x, r in zip(q[:2], rest[:2], strict=True)]
        most = task.tumble * found.get("level", SX(1))
        q[3:7] = entries(product(_tumbled(most, rest[2:4]), ca.vertcat(*q[3:7])))
        at_level = ground(work, whole, found)
        q[2] = q[2] - _lowest(work, ca.vertcat(*q), at_level)
        if not work.scene.terrain.flat:
            q = entries(_lifted(work, b.store("begun", ca.vertcat(*q)), at_level, b))
    return found | {"q": ca.vertcat(*q)}


def _tumbled(most: SX, drawn: list[SX]) -> SX:
    """A quaternion (4,) that turns by up to `most`, rad, about a level axis that points anyhow: it
    tilts by as much.
    """
    half, around = most / 2 * drawn[0], 2 * np.pi * drawn[1]
    return ca.vertcat(ca.cos(half), ca.sin(half) * ca.cos(around), ca.sin(half) * ca.sin(around), 0)


def _lowest(work: ControlPlan, q: SX, terrain: SimpleNamespace) -> SX:
    """How far above the ground below it the lowest candidate is, m."""
    scene = work.scene
    kin = kinematics(scene.mechanism, q)
    points, distances, frames = below_candidates(scene.geometry, kin, scene.candidates, terrain)
    if scene.terrain.steepest(terrain) is None:  # the nearest ground may be beside it
        heights = scene.terrain.elevations(points, terrain)
        known = zip(scene.candidates, points, heights, strict=True)
        return least([point[2] - candidate.radius - height for candidate, point, height in known])
    return least(
        [
            (distance - candidate.radius) / frame[0, 2]
            for candidate, distance, frame in zip(scene.candidates, distances, frames, strict=True)
        ]
    )


def _lifted(work: ControlPlan, q: SX, terrain: SimpleNamespace, b: Builder) -> SX:
    """Coordinates (nq,) as high that neither candidates nor what lies between them is in the
    ground; the same where nothing is.
    """
    geometry = work.scene.geometry.all_secondary

    def higher(now: Values) -> tuple[Values, SX]:
        kin = kinematics(geometry.mechanism, ca.vertcat(q[:2], now["height"], q[3:]))
        depth = b.store("depth", -secondary_gaps(geometry, kin, terrain, b).least)
        deep = depth > TOUCHING
        return {"height": now["height"] + ca.if_else(deep, depth + CLEAR, 0)}, deep

    last = b.loop({"height": q[2]}, higher, LIFTS)
    return ca.vertcat(q[:2], last["height"], q[3:])


def _level(work: ControlPlan, last: Values, failed: SX, drawn: SX) -> SX:
    """Of the next episode: harder where the last one went well, easier where it failed or went
    badly; past the hardest any.
    """
    low, high = work.task.levels
    step = (high - low) / STEPS
    mean = last["score"] / ca.fmax(last["clock"], 1)
    well = ca.logic_and(ca.logic_not(failed), mean > WELL)
    badly = ca.logic_or(failed, mean < BADLY)
    level = last["level"] + step * (well - badly)
    level = ca.if_else(level > high + step / 2, low + drawn * (high - low), level)
    return ca.fmin(ca.fmax(level, low), high)


def _within(ranges: NDArray[np.float64], part: SX) -> SX:
    """Least and largest (k, 2), and parts (k,) of the way between."""
    low, high = (SX(ca.DM(column)) for column in ranges.T)
    return low + part * (high - low)
