"""Observations of a task for a robot that is simulated elsewhere, and the names in a task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.environments.control_program import CACHE_SIZE
from tarsus.environments.mirror import Mirror
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
from tarsus.morphology.mirror import mirrored_motors
from tarsus.program.ir.trace import Builder
from tarsus.simulation.sensor_program import uncut_mechanism
from tarsus.tasks.base import MOTORS, MOVED, Observed, StateView, TermSource

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class TaskOutline:
    """Names and sizes of a task on a robot.

    Attributes
    ----------
    rewards
        Names of the reward's terms.
    measures
        Units, by name.
    observed
        Sizes of the parts of a period's observation, by name.
    terms
        Observation terms of these parts (`tarsus.tasks.base.TermSource`), by name.
    mirror
        Mirror images of an observation and of an action; None if the robot or the task has none.
    """

    rewards: tuple[str, ...]
    measures: Mapping[str, str]
    observed: Mapping[str, int]
    terms: Mapping[str, tuple[TermSource, ...]]
    mirror: tuple[Mirror, Mirror] | None


@lru_cache(maxsize=CACHE_SIZE)
def build_outline(work: ControlPlan) -> TaskOutline:
    """Build the outline of a plan's task."""
    _, view = _create_symbols(work)
    task = work.task
    parts = task.observations(view)
    return TaskOutline(
        tuple(task.rewards(view)),
        {name: part.unit for name, part in task.measures(view).items()},
        {name: part.value.numel() for name, part in parts.items()},
        {name: part.terms for name, part in parts.items()},
        _mirror(work, list(parts.values())),
    )


class TaskObserver:
    """Observation, failure, measures and joint targets of a task, for states of any simulator.

    Parameters
    ----------
    work
        Task on a robot in a scene.
    terrain
        Parameters of the terrain, by name.

    Attributes
    ----------
    noise, bias
        Half widths of the noise and bias of each number of an observation, shape (k,).
    inputs
        Inputs besides the state that the task uses, of "tau", "impulse" and "sensed.NAME".
    """

    def __init__(self, work: ControlPlan, terrain: Mapping[str, Array]) -> None:
        symbols, view = _create_symbols(work)
        parts = work.task.observations(view).values()
        observation = concatenate(parts)
        self.noise, self.bias = noise_widths(parts), bias_widths(work.task, parts)
        measured = concatenate(work.task.measures(view).values())
        results = [observation, work.task.failed(view), measured]
        optional = [n for n in symbols if n in ("tau", "impulse") or n.startswith("sensed.")]
        self.inputs = tuple(n for n in optional if ca.depends_on(ca.vertcat(*results), symbols[n]))
        for name in set(optional) - set(self.inputs):
            symbols.pop(name)
        self._names = list(symbols)
        self._terrain = {f"terrain.{name}": value for name, value in terrain.items()}
        self._function = ca.Function("eyes", list(symbols.values()), results, {"cse": True})
        scaled = scale_action(work, symbols["q"], symbols["action"], view.heights)
        target = ca.densify(targets(work, symbols["clock"], scaled))
        names = ["q", "clock", "action", *self._terrain]
        self._targets = ca.Function("targets", [symbols[name] for name in names], [target])
        before, action = symbols["before"], symbols["action"]
        self._filtered_action = ca.Function(
            "taken", [before, action], [filter_action(work, before, action)]
        )

    def __call__(self, **now: Any) -> tuple[Array, bool, Array]:
        """Observe a state.

        Parameters
        ----------
        **now
            q, u, action, before, command, clock in periods, and the `inputs`.

        Returns
        -------
        tuple
            Observation of this period alone, without noise and bias, shape (k,); whether the
            episode failed; and the measures, shape (m,).
        """
        observation, failed, measured = self._function(
            *((now | self._terrain)[n] for n in self._names)
        )
        return np.array(observation).ravel(), bool(failed), np.array(measured).ravel()

    def filter_action(self, before: Array, requested: Array) -> Array:
        """Compute the action of a period, shape (k,), from the last one and the requested one."""
        return np.array(self._filtered_action(before, requested)).ravel()

    def targets(self, clock: int, action: Array, q: Array) -> Array:
        """Compute the joint targets of the motors, shape (n,), of a period.

        The period starts at coordinates q, shape (nq,), `clock` periods after its episode.
        """
        return np.array(self._targets(q, clock, action, *self._terrain.values())).ravel()


def _create_symbols(work: ControlPlan) -> tuple[dict[str, SX], StateView]:
    """Create the symbols of a state by name, and the view of it."""
    scene, k = work.scene, len(work.moved_motors)
    sizes = {"q": scene.mechanism.nq, "u": scene.mechanism.nu, "before": k, "clock": 1}
    sizes |= {"action": k, "command": len(work.task.commands())}
    sizes |= {"tau": work.motors, "impulse": 3 * scene.geometry.report_count}
    symbols = {name: SX.sym(name, size) for name, size in sizes.items()}
    for name, sensor in work.sensing.sensors:
        symbols[f"sensed.{name}"] = SX.sym(name, len(sensor.channels(uncut_mechanism(scene))))
    terrain = scene.terrain.symbols(Builder("observer"))
    now = create_task_view(work, symbols, symbols, symbols["action"], terrain)
    known = {f"terrain.{name}": getattr(terrain, name) for name in scene.terrain.parameters()}
    return symbols | known, now


def _mirror(work: ControlPlan, parts: list[Observed]) -> tuple[Mirror, Mirror] | None:
    """Compute the mirror images of observation and action."""
    motors = mirrored_motors(work.scene.mechanism, work.stand)
    if motors is None or any(part.mirror is None for part in parts):
        return None
    all_motors = Mirror(np.array(motors[0]), np.array(motors[1], np.float32))
    moved = list(work.moved_motors)
    if not set(all_motors.order[moved]) <= set(moved):
        return None
    order = np.array([moved.index(image) for image in all_motors.order[moved]])
    action_mirror = Mirror(order, all_motors.sign[moved])
    known = {MOTORS: all_motors, MOVED: action_mirror}
    orders, signs, start = [], [], 0
    for part in parts:
        image = known.get(part.mirror) if isinstance(part.mirror, str) else None
        signs.append(image.sign if image else np.array(part.mirror, np.float32))
        orders.append(start + (image.order if image else np.arange(len(signs[-1]))))
        start += part.value.numel()
    past = range(work.task.history)
    order = np.concatenate([k * start + np.concatenate(orders) for k in past])
    return Mirror(order, np.tile(np.concatenate(signs), len(past))), action_mirror
