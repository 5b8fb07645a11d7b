"""A task's eyes on a robot that is simulated elsewhere, and the names of what it sees and pays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.environments.control_program import KEPT
from tarsus.environments.mirror import Mirror
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
from tarsus.morphology.mirror import mirrored_motors
from tarsus.program.ir.trace import Builder
from tarsus.simulation.sensor_program import uncut_mechanism
from tarsus.tasks.base import MOTORS, MOVED, Glimpse, Observed

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class TaskOutline:
    """What a task says of a robot, in names and sizes.

    rewards: names of the reward's parts; measures: units by name
    observed: sizes of the parts of a period's observation by name
    mirror: images of an observation and of an action, left and right changed; None where the robot
    or the task has none
    """

    rewards: tuple[str, ...]
    measures: Mapping[str, str]
    observed: Mapping[str, int]
    mirror: tuple[Mirror, Mirror] | None


@lru_cache(maxsize=KEPT)
def outline(work: ControlPlan) -> TaskOutline:
    """Of a plan."""
    _, now = _symbols(work)
    task = work.task
    parts = task.observations(now)
    return TaskOutline(
        tuple(task.rewards(now)),
        {name: part.unit for name, part in task.measures(now).items()},
        {name: part.value.numel() for name, part in parts.items()},
        _mirror(work, list(parts.values())),
    )


class Eyes:
    """Observation, failure and measures of a robot in a state that another simulator made, and
    where its motors shall go.

    terrain: its parameters, by name
    noise, bias (k,): how wide those of each number of an observation are
    feels: what the task looks at beside the state, of "tau", "impulse" and "sensed.NAME"
    """

    def __init__(self, work: ControlPlan, terrain: Mapping[str, Array]) -> None:
        given, now = _symbols(work)
        parts = work.task.observations(now).values()
        told = joined(parts)
        self.noise, self.bias = noise_of(parts), bias_of(work.task, parts)
        measured = joined(work.task.measures(now).values())
        results = [told, work.task.failed(now), measured]
        felt = [n for n in given if n in ("tau", "impulse") or n.startswith("sensed.")]
        self.feels = tuple(n for n in felt if ca.depends_on(ca.vertcat(*results), given[n]))
        for name in set(felt) - set(self.feels):
            given.pop(name)
        self._names = list(given)
        self._terrain = {f"terrain.{name}": value for name, value in terrain.items()}
        self._function = ca.Function("eyes", list(given.values()), results, {"cse": True})
        wide = stretched(work, given["q"], given["action"], now.heights)
        aim = ca.densify(targets(work, given["clock"], wide))
        moved = ["q", "clock", "action", *self._terrain]
        self._targets = ca.Function("targets", [given[name] for name in moved], [aim])
        before, action = given["before"], given["action"]
        self._taken = ca.Function("taken", [before, action], [taken(work, before, action)])

    def __call__(self, **now: Any) -> tuple[Array, bool, Array]:
        """Observation (k,) of this period alone, without noise and bias, whether it failed, and
        measures (m,).

        now: q, u, action, before, command, clock in periods, and what it feels
        """
        seen, failed, measured = self._function(*((now | self._terrain)[n] for n in self._names))
        return np.array(seen).ravel(), bool(failed), np.array(measured).ravel()

    def taken(self, before: Array, asked: Array) -> Array:
        """The action (k,) of a period, after the last one, where another one is asked for."""
        return np.array(self._taken(before, asked)).ravel()

    def targets(self, clock: int, action: Array, q: Array) -> Array:
        """Of the motors (n,), in a period that begins at q (nq,), `clock` periods after its
        episode.
        """
        return np.array(self._targets(q, clock, action, *self._terrain.values())).ravel()


def _symbols(work: ControlPlan) -> tuple[dict[str, SX], Glimpse]:
    """What a glimpse is made of, by name, and the glimpse."""
    scene, k = work.scene, len(work.moved)
    sizes = {"q": scene.mechanism.nq, "u": scene.mechanism.nu, "before": k, "clock": 1}
    sizes |= {"action": k, "command": len(work.task.commands())}
    sizes |= {"tau": work.motors, "impulse": 3 * scene.geometry.reported}
    given = {name: SX.sym(name, size) for name, size in sizes.items()}
    for name, sensor in work.sensing.sensors:
        given[f"sensed.{name}"] = SX.sym(name, len(sensor.channels(uncut_mechanism(scene))))
    terrain = scene.terrain.symbols(Builder("seen"))
    now = glimpse(work, given, given, given["action"], terrain)
    known = {f"terrain.{name}": getattr(terrain, name) for name in scene.terrain.parameters()}
    return given | known, now


def _mirror(work: ControlPlan, parts: list[Observed]) -> tuple[Mirror, Mirror] | None:
    """Images of observation and action."""
    motors = mirrored_motors(work.scene.mechanism, work.stand)
    if motors is None or any(part.image is None for part in parts):
        return None
    every = Mirror(np.array(motors[0]), np.array(motors[1], np.float32))
    moved = list(work.moved)
    if not set(every.order[moved]) <= set(moved):
        return None
    order = np.array([moved.index(image) for image in every.order[moved]])
    acted = Mirror(order, every.sign[moved])
    known = {MOTORS: every, MOVED: acted}
    orders, signs, at = [], [], 0
    for part in parts:
        image = known.get(part.image) if isinstance(part.image, str) else None
        signs.append(image.sign if image else np.array(part.image, np.float32))
        orders.append(at + (image.order if image else np.arange(len(signs[-1]))))
        at += part.value.numel()
    past = range(work.task.history)
    order = np.concatenate([k * at + np.concatenate(orders) for k in past])
    return Mirror(order, np.tile(np.concatenate(signs), len(past))), acted
