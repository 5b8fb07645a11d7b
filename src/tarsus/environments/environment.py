"""Many worlds of one task as arrays; the adapters for learning libraries build on it."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tarsus.algebra.random_numbers import hash_seed
from tarsus.contact.base import Law
from tarsus.control import servo
from tarsus.control.servo import Gains
from tarsus.dynamics.robot import Robot
from tarsus.environments.control_program import control_program, reuse_plan
from tarsus.environments.mirror import Mirror
from tarsus.environments.plan import ControlPlan
from tarsus.environments.task_observer import TaskOutline, build_outline
from tarsus.errors import IncompatibleOptions, InvalidValue, WarningRecord, one_per_code
from tarsus.morphology.feet import find_feet
from tarsus.program.run.backend import Array
from tarsus.simulation import default_controller, file_material, resolve, setup_warnings, time_steps
from tarsus.simulation.contact_selection import select_candidates
from tarsus.simulation.device import create_backend
from tarsus.simulation.ground_placement import place_on_ground
from tarsus.simulation.initial_registers import write_registers
from tarsus.simulation.options import Options, complete
from tarsus.simulation.sensor_noise import delay_parameters
from tarsus.simulation.step_program import Plan
from tarsus.stepping.base import Scene, Stepper
from tarsus.tasks.base import LearningTask, require_fitted
from tarsus.terrain.base import Terrain
from tarsus.terrain.plane import Plane

FLAGS = ("terminated", "truncated", "diverged")


@dataclass(frozen=True, eq=False)
class Transition:
    """Result of a control period in each world; arrays with `worlds` rows.

    The arrays are NumPy's on the CPU and CuPy's on a GPU.

    Attributes
    ----------
    observation
        Observation after the period, of the new episode where one ended, shape (worlds, k).
    final
        Last observation of the episode where one ended, else the same, shape (worlds, k).
    reward
        Reward, shape (worlds,).
    terms
        Terms of the reward, shape (worlds, m).
    measures
        Deviations from the goals of the task, shape (worlds, j).
    terminated, truncated
        Whether the episode failed, and whether its time is over, shape (worlds,).
    diverged
        Whether the world failed because it diverged, shape (worlds,).
    unconverged
        Number of steps whose contact problem did not converge, shape (worlds,).
    """

    observation: Array
    final: Array
    reward: Array
    terms: Array
    measures: Array
    terminated: Array
    truncated: Array
    diverged: Array
    unconverged: Array


class EnvironmentOptions(Options, total=False):
    """Options of a `Simulation`, and those of an environment."""

    seed: int
    first_world: int
    gains: Gains


class Environment:
    """Learning task of a robot in many worlds; a world whose episode ends starts the next.

    Parameters
    ----------
    task : LearningTask or str
        Task, or its name (`tarsus list tasks`).
    robot, law, stepper, terrain, dt
        As for a `Simulation`. `dt` is in s.
    **options
        `seed` of all random numbers; `first_world`: world k draws the numbers of world
        `first_world` + k, independent of the other worlds; `gains` of the joint servos (default:
        computed from the robot and `dt`). Of the options of a `Simulation`: `worlds`, `contacts`,
        `limits`, `bounce`, `stiction`, `slots`, `self_collision`, `keyframe`, `device`, `precision`
        (default "float32") and `threads`.

    Raises
    ------
    IncompatibleOptions
        If the robot cannot perform the task, or the control period is not a whole number of steps.

    Examples
    --------
    >>> import numpy as np
    >>> import tarsus
    >>> env = tarsus.Environment("velocity", worlds=2, seed=1)
    >>> observation = env.reset()
    >>> out = env.step(np.zeros((2, env.action_size)))
    >>> out.reward.shape
    (2,)
    """

    def __init__(
        self,
        task: LearningTask | str = "velocity",
        robot: Robot | str = "mini_cheetah",
        law: Law | str = "moreau",
        stepper: Stepper | str = "midpoint",
        terrain: Terrain | str = "plane",
        dt: float = 0.004,
        **options: Unpack[EnvironmentOptions],
    ) -> None:
        # resolve names to objects
        remaining: Any = dict(options)
        seed, first = remaining.pop("seed", 0), remaining.pop("first_world", 0)
        gains: Gains | None = remaining.pop("gains", None)
        defaults: Any = {"precision": "float32", "stiction": False}
        chosen = complete(defaults | remaining)
        self.task = resolve.resolve_task(task)
        self.dt, self.worlds, self.warnings = (
            time_steps.check_time_step(dt),
            chosen.worlds,
            list[WarningRecord](),
        )
        requested = default_controller.start_at_keyframe(
            resolve.resolve_robot(robot), chosen.keyframe
        )
        standing, _ = default_controller.prepare(requested, None, self.dt, self.warnings)
        if reason := self.task.why_unsuitable(standing):
            raise IncompatibleOptions(
                f"{standing.name!r} cannot perform this task: {reason}", "task"
            )
        self.law, standing = file_material.law_for_robot(law, standing, self.warnings)
        self.task = self.task.fit(standing)
        self.robot = self.task.prepare(standing)
        self.terrain, stepping = resolve.resolve_terrain(terrain), resolve.resolve_stepper(stepper)
        steps = self._count_steps()
        # compile the control period
        named = self.task.contacts(self.robot) if chosen.contacts is None else chosen.contacts
        contacts = select_candidates(self.robot, named, self.warnings)
        scene = resolve.create_scene(
            self.robot, (self.law, self.terrain, stepping), contacts, chosen
        )
        stand = _standing_coordinates(scene, np.array(self.robot.keyframes["stand"], dtype=float))
        work = reuse_plan(
            ControlPlan(
                self.task, scene, stepping, self.dt, steps, gains or self._gains(stand), stand
            )
        )
        program = control_program(work)
        bits = 32 if chosen.precision == "float32" else 64
        self.backend = create_backend(program, chosen.device, self.worlds, bits, chosen.threads)
        self._registers = {"start": place_on_ground(scene, stand)}
        self._registers |= {f"law.{k}": v[..., None] for k, v in self.law.parameters().items()}
        self._registers |= {f"terrain.{k}": v for k, v in self.terrain.parameters().items()}
        self._registers |= delay_parameters(work.sensing)
        self._registers |= setup_warnings.solver_tolerances(
            self.law, scene.mechanism, self.dt, bits, self.warnings
        )
        plan = Plan(scene, stepping, None)
        choices = setup_warnings.choice_warnings(plan, {"q": stand}, self.dt, chosen.self_collision)
        choices += setup_warnings.state_warnings(plan, stand, self.dt, "an episode")
        self.warnings += choices
        for notice in one_per_code(choices):
            warnings.warn(notice.warning, stacklevel=2)
        world = np.arange(first, first + self.worlds, dtype=float)
        self._registers["world"] = world[:, None]
        self.work, self.seed = work, seed
        self.reset(seed)

    def _count_steps(self) -> int:
        """Count the steps per control period; raise IncompatibleOptions unless it is whole."""
        steps = round(1 / (self.task.rate * self.dt))
        if steps < 1 or abs(steps * self.task.rate * self.dt - 1) > 1e-6:
            raise IncompatibleOptions(
                f"the task's rate of {self.task.rate:g} Hz does not fit dt = {self.dt:g} s;"
                " 1 / (rate * dt) must be a whole number.",
                "dt",
            )
        return steps

    def _gains(self, stand: NDArray[np.float64]) -> Gains:
        """Choose servo gains for the robot and the task."""
        moved = self.task.moved_motors(self.robot)
        locked = [k for k in range(len(self.robot.actuators)) if k not in moved]
        gains = servo.size_gains(self.robot, stand, find_feet(self.robot), self.dt, locked)
        kp = np.array(gains.kp)
        kp[list(moved)] *= self.task.stiffness_factor()
        return replace(gains, kp=tuple(float(f"{value:.3g}") for value in kp))

    @property
    def start(self) -> NDArray[np.float64]:
        """Coordinates near which episodes start, shape (nq,)."""
        return np.array(self._registers["start"], float)

    @property
    def action_size(self) -> int:
        """Size of an action: one number per motor that it moves."""
        return self.backend.program.sizes["action"]

    @property
    def observation_size(self) -> int:
        """Size of an observation."""
        return self.backend.program.sizes["observation"]

    @cached_property
    def outline(self) -> TaskOutline:
        """Names and sizes of the task's observations, rewards and measures for this robot."""
        return build_outline(self.work)

    @property
    def rewards(self) -> tuple[str, ...]:
        """Names of the reward's terms."""
        return self.outline.rewards

    @property
    def measures(self) -> Mapping[str, str]:
        """Units of the measures, by name."""
        return self.outline.measures

    @property
    def mirror(self) -> tuple[Mirror, Mirror] | None:
        """Mirror images of observations and actions, left for right; None if there are none."""
        return self.outline.mirror

    def state(self) -> dict[str, Array]:
        """Copy everything that the worlds need to continue to NumPy arrays, (worlds, size) each.

        The seed is not part of it: to draw the same random numbers, continue in an environment with
        the same `seed` and `first_world`.
        """
        names = [register.name for register in self.backend.program.of_kind("state")]
        return {name: self.backend.get(name) for name in names}

    def restore(self, state: Mapping[str, Array]) -> None:
        """Restore the state of an identical environment.

        Parameters
        ----------
        state
            State, or parts of it, as `state()` returned it. Observations follow with the next step.
        """
        for name, values in state.items():
            self.backend.set(name, values)

    def reset(self, seed: int | None = None) -> Array:
        """Start an episode in all worlds.

        Parameters
        ----------
        seed
            New seed; None: the random numbers continue.

        Returns
        -------
        numpy.ndarray or cupy.ndarray
            Observations, shape (worlds, k).
        """
        worlds = self.backend
        count = worlds.output("count") if seed is None else np.zeros((self.worlds, 1))
        if seed is not None:
            self.seed = seed
            write_registers(worlds, self._registers | {"seed": hash_seed(seed)})
        # end the current episode: a step then starts the next
        for name in ("action", *(register.name for register in worlds.program.of_kind("state"))):
            worlds.set(name, np.zeros(worlds.program.sizes[name]))
        worlds.set("q", self._registers["start"])
        worlds.set("memory", self.work.scene.initial_memory())
        for name in ("friction", "mass"):
            worlds.set(name, np.ones(1))
        if self.task.has_levels:
            worlds.set("level", np.array([self.task.levels[0]]))
        worlds.set("clock", np.array([require_fitted(self.task.episode) * self.task.rate]))
        worlds.set("count", count)
        worlds.advance()
        return worlds.output("observation")

    def step(self, action: ArrayLike) -> Transition:
        """Advance by one control period.

        Parameters
        ----------
        action
            Actions, shape (worlds, n), or (n,) for all worlds: a NumPy array, or on a GPU any array
            that CuPy can read there. In host memory they must be finite. To check this on a GPU
            would wait for it: there NaN ends the episode of its world, as `diverged`.

        Returns
        -------
        Transition
            Copies of the results.
        """
        self._advance(action)
        return self.copy_transition()

    @cached_property
    def _buffers(self) -> dict[str, Array]:
        """Arrays that hold the parts of `last`, padded to whole vector lanes."""
        parts = [part.name for part in fields(Transition)]
        return {name: self.backend.buffer(name, bool if name in FLAGS else None) for name in parts}

    @cached_property
    def last(self) -> Transition:
        """Result of the last `advance`, in arrays that stay in place."""
        parts = {name: buffer[: self.worlds] for name, buffer in self._buffers.items()}
        wide = ("observation", "final", "terms", "measures")
        return Transition(**{k: part if k in wide else part[:, 0] for k, part in parts.items()})

    def advance(self, action: ArrayLike) -> Transition:
        """Advance by one control period and overwrite `last`, without copies.

        Arrays that share this memory, by DLPack for example, see each result.
        """
        self._advance(action)
        for name, buffer in self._buffers.items():
            self.backend.read(name, buffer)
        return self.last

    def _advance(self, action: ArrayLike) -> None:
        values = self.backend.arrays.asarray(action, dtype=self.backend.dtype)
        if values.shape not in ((self.action_size,), (self.worlds, self.action_size)):
            raise InvalidValue(
                f"action must have shape ({self.worlds}, {self.action_size}), not {values.shape}.",
                "action",
            )
        if self.backend.arrays is np and not np.isfinite(values).all():
            raise InvalidValue("action must be finite, but it contains NaN or infinity.", "action")
        self.backend.set("action", values)
        self.backend.advance()

    def copy_transition(self) -> Transition:
        """Copy the results of the last control period."""
        get = self.backend.output
        terminated, truncated, diverged = (get(name)[:, 0] > 0 for name in FLAGS)
        return Transition(
            *(get("observation"), get("final"), get("reward")[:, 0], get("terms")),
            *(get("measures"), terminated, truncated, diverged, get("unconverged")[:, 0]),
        )

    def to_host(self, out: Transition) -> Transition:
        """Convert a result to NumPy arrays; this waits for a GPU and copies them from it."""
        return Transition(*(self.backend.to_host(getattr(out, f.name)) for f in fields(out)))


def _standing_coordinates(scene: Scene, stand: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute coordinates, shape (nq,), with the base at its height on level ground."""
    if scene.mechanism.uncut is None:
        stand[2] = place_on_ground(replace(scene, terrain=Plane()), stand)[2]
    return stand
