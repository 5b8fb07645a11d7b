"""Many worlds at one task, as NumPy arrays: the core of what learners are given."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tarsus.algebra.random_numbers import seed_words
from tarsus.contact.base import Law
from tarsus.control import servo
from tarsus.control.servo import Gains
from tarsus.dynamics.robot import Robot
from tarsus.environments.control_program import control_program, shared
from tarsus.environments.mirror import Mirror
from tarsus.environments.outside import TaskOutline, outline
from tarsus.environments.plan import ControlPlan
from tarsus.errors import IncompatibleOptions, InvalidValue, WarningRecord, one_per_code
from tarsus.morphology.feet import feet
from tarsus.program.run.backend import Array
from tarsus.program.run.worlds import Worlds
from tarsus.simulation import default_controller, file_material, resolve, setup_warnings, time_steps
from tarsus.simulation.contact_selection import select_candidates
from tarsus.simulation.ground_placement import place_on_ground
from tarsus.simulation.initial_registers import write_registers
from tarsus.simulation.options import Options, complete
from tarsus.simulation.sensor_noise import delay_parameters
from tarsus.simulation.step_program import Plan
from tarsus.stepping.base import Scene, Stepper
from tarsus.tasks.base import LearningTask, known
from tarsus.terrain.base import Terrain
from tarsus.terrain.plane import Plane

FLAGS = ("terminated", "truncated", "diverged")


@dataclass(frozen=True, eq=False)
class Transition:
    """What came of a control period in each world; arrays of `worlds` rows.

    observation (worlds, k): after it, of the new episode where one ended
    final (worlds, k): of the episode that ended, else the same
    reward (worlds,); terms (worlds, m): its parts
    measures (worlds, j): by how much what was asked is missed
    terminated, truncated (worlds,): whether the episode failed, or its time was over
    diverged (worlds,): of those that failed, whose numbers left the physical range
    unconverged (worlds,): steps whose contact problem was not solved
    """

    observation: Array
    final: Array
    reward: Array
    terms: Array
    measures: Array
    terminated: NDArray[np.bool_]
    truncated: NDArray[np.bool_]
    diverged: NDArray[np.bool_]
    unconverged: Array


class EnvironmentOptions(Options, total=False):
    """Those of a Simulation, and an environment's own."""

    seed: int
    first_world: int
    gains: Gains


class Environment:
    """A robot at a task in many worlds; a world whose episode ends begins the next by itself.

    task: a name (`tarsus list tasks`) or a LearningTask
    robot, law, stepper, terrain, dt, options: as a Simulation takes them; of the options worlds,
        contacts, limits, bounce, stiction, slots, self_collision, keyframe, precision (here
        "float32" by default) and threads
    seed: of all that is drawn at random; world k draws as `first_world` + k, whatever the others
        are
    gains: of the joints' servos; by default they suit the robot and dt
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
        # names become objects
        own: Any = dict(options)
        seed, first = own.pop("seed", 0), own.pop("first_world", 0)
        gains: Gains | None = own.pop("gains", None)
        usual: Any = {"precision": "float32", "stiction": False}
        chosen = complete(usual | own)
        self.task = resolve.task(task)
        self.dt, self.worlds, self.warnings = (
            time_steps.check_time_step(dt),
            chosen.worlds,
            list[WarningRecord](),
        )
        asked = default_controller.start_at_keyframe(resolve.robot(robot), chosen.keyframe)
        standing, _ = default_controller.prepare(asked, None, self.dt, self.warnings)
        if reason := self.task.suits(standing):
            raise IncompatibleOptions(
                f"{standing.name!r} cannot perform this task: {reason}", "task"
            )
        self.law, standing = file_material.law_for_robot(law, standing, self.warnings)
        self.task = self.task.fitted(standing)
        self.robot = self.task.prepared(standing)
        self.terrain, stepping = resolve.terrain(terrain), resolve.stepper(stepper)
        steps = self._steps()
        # what is compiled
        named = self.task.contacts(self.robot) if chosen.contacts is None else chosen.contacts
        touching = select_candidates(self.robot, named, self.warnings)
        scene = resolve.scene(self.robot, (self.law, self.terrain, stepping), touching, chosen)
        stand = _standing(scene, np.array(self.robot.keyframes["stand"], dtype=float))
        work = shared(
            ControlPlan(
                self.task, scene, stepping, self.dt, steps, gains or self._gains(stand), stand
            )
        )
        program = control_program(work)
        bits = 32 if chosen.precision == "float32" else 64
        self.backend = Worlds(program, self.worlds, bits=bits, threads=chosen.threads)
        self._registers = {"start": place_on_ground(scene, stand)}
        self._registers |= {f"law.{k}": v[..., None] for k, v in self.law.parameters().items()}
        self._registers |= {f"terrain.{k}": v for k, v in self.terrain.parameters().items()}
        self._registers |= delay_parameters(work.sensing)
        self._registers |= setup_warnings.solver_tolerances(
            self.law, scene.mechanism, self.dt, bits, self.warnings
        )
        plan = Plan(scene, stepping, None)
        found = setup_warnings.choice_warnings(plan, {"q": stand}, self.dt, chosen.self_collision)
        found += setup_warnings.state_warnings(plan, stand, self.dt, "an episode")
        self.warnings += found
        for notice in one_per_code(found):
            warnings.warn(notice.warning, stacklevel=2)
        world = np.arange(first, first + self.worlds, dtype=float)
        self._registers["world"] = world[:, None]
        self.work, self.seed = work, seed
        self.reset(seed)

    def _steps(self) -> int:
        """Return the steps per control period; IncompatibleOptions unless it is a whole number."""
        steps = round(1 / (self.task.rate * self.dt))
        if steps < 1 or abs(steps * self.task.rate * self.dt - 1) > 1e-6:
            raise IncompatibleOptions(
                f"the task's rate of {self.task.rate:g} Hz does not fit dt = {self.dt:g} s;"
                " 1 / (rate * dt) must be a whole number.",
                "dt",
            )
        return steps

    def _gains(self, stand: NDArray[np.float64]) -> Gains:
        """Of servos that suit the robot and the task."""
        moved = self.task.moves(self.robot)
        held = [k for k in range(len(self.robot.actuators)) if k not in moved]
        found = servo.gains(self.robot, stand, feet(self.robot), self.dt, held)
        kp = np.array(found.kp)
        kp[list(moved)] *= self.task.firmness()
        return replace(found, kp=tuple(float(f"{value:.3g}") for value in kp))

    @property
    def start(self) -> NDArray[np.float64]:
        """Coordinates (nq,) near which episodes begin."""
        return np.array(self._registers["start"], float)

    @property
    def actions(self) -> int:
        """How many numbers an action has: one a motor that it moves."""
        return self.backend.program.sizes["action"]

    @property
    def observations(self) -> int:
        """How many numbers an observation has."""
        return self.backend.program.sizes["observation"]

    @cached_property
    def outline(self) -> TaskOutline:
        """What the task says of this robot, in names and sizes."""
        return outline(self.work)

    @property
    def rewards(self) -> tuple[str, ...]:
        """The names of a reward's parts."""
        return self.outline.rewards

    @property
    def measures(self) -> Mapping[str, str]:
        """Units of what is missed, by name."""
        return self.outline.measures

    @property
    def mirror(self) -> tuple[Mirror, Mirror] | None:
        """Images of observations and of actions, left and right changed; None if it has none."""
        return self.outline.mirror

    def state(self) -> dict[str, Array]:
        """All that the worlds need to go on, (worlds, size) each: copies. The seed is no part of
        it: where the same is to be drawn, go on in an environment with this `seed` and first world.
        """
        names = [register.name for register in self.backend.program.of_kind("state")]
        return {name: self.backend.get(name) for name in names}

    def restore(self, state: Mapping[str, Array]) -> None:
        """Go on from a state of an environment that was made alike; observations come with the
        next step.
        """
        for name, values in state.items():
            self.backend.set(name, values)

    def reset(self, seed: int | None = None) -> Array:
        """All worlds at the beginning of an episode; observations (worlds, k).

        seed: of what is drawn from now on; None: what is drawn goes on
        """
        worlds = self.backend
        count = worlds.get("count") if seed is None else np.zeros((self.worlds, 1))
        if seed is not None:
            self.seed = seed
            write_registers(worlds, self._registers | {"seed": seed_words(seed)})
        # an episode that is over, with a robot that has fallen, is followed by another
        for name in ("action", *(register.name for register in worlds.program.of_kind("state"))):
            worlds.set(name, np.zeros(worlds.program.sizes[name]))
        worlds.set("q", self._registers["start"])
        worlds.set("memory", self.work.scene.initial_memory())
        for name in ("friction", "mass"):
            worlds.set(name, np.ones(1))
        if self.task.graded:
            worlds.set("level", np.array([self.task.levels[0]]))
        worlds.set("clock", np.array([known(self.task.episode) * self.task.rate]))
        worlds.set("count", count)
        worlds.advance()
        return worlds.get("observation")

    def step(self, action: ArrayLike) -> Transition:
        """One control period with actions (worlds, n), or (n,) for all worlds alike."""
        self._advance(action)
        return self.outcome()

    @cached_property
    def _rooms(self) -> dict[str, Array]:
        """What holds the parts of `last`, each with the worlds that fill up the last lanes."""
        parts = [part.name for part in fields(Transition)]
        return {name: self.backend.buffer(name, bool if name in FLAGS else None) for name in parts}

    @cached_property
    def last(self) -> Transition:
        """What came of the last period of `advance`, in arrays that stay where they are."""
        parts = {name: room[: self.worlds] for name, room in self._rooms.items()}
        wide = ("observation", "final", "terms", "measures")
        return Transition(**{k: part if k in wide else part[:, 0] for k, part in parts.items()})

    def advance(self, action: ArrayLike) -> Transition:
        """A `step` whose outcome is `last`: the next one writes over it. Who shares the arrays'
        memory, as by DLPack, sees each outcome without being given it.
        """
        self._advance(action)
        for name, room in self._rooms.items():
            self.backend.read(name, room)
        return self.last

    def _advance(self, action: ArrayLike) -> None:
        given = np.asarray(action, dtype=self.backend.dtype)
        if given.shape not in ((self.actions,), (self.worlds, self.actions)):
            raise InvalidValue(
                f"action must have shape ({self.worlds}, {self.actions}), not {given.shape}.",
                "action",
            )
        if not np.isfinite(given).all():
            raise InvalidValue("action must be finite; it holds NaN or infinity.", "action")
        self.backend.set("action", given)
        self.backend.advance()

    def outcome(self) -> Transition:
        """Of the last control period, copies."""
        get = self.backend.get
        seen, flags = (
            get("observation"),
            [get(name)[:, 0] > 0 for name in FLAGS],
        )
        ended = flags[0] | flags[1]
        final = get("final") if ended.any() else seen.copy()
        solved, paid = get("unconverged")[:, 0], get("reward")[:, 0]
        parts = get("terms"), get("measures")
        return Transition(seen, final, paid, *parts, flags[0], flags[1], flags[2], solved)


def _standing(scene: Scene, stand: NDArray[np.float64]) -> NDArray[np.float64]:
    """Coordinates (nq,) whose base is as high as it stands on level ground."""
    if scene.mechanism.uncut is None:
        stand[2] = place_on_ground(replace(scene, terrain=Plane()), stand)[2]
    return stand
