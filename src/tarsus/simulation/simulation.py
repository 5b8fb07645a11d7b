"""Simulation: a robot on a terrain under a contact law, one world or many."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from copy import copy, deepcopy
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tarsus.contact.base import Law
from tarsus.control.base import Controller
from tarsus.dynamics.robot import Robot
from tarsus.errors import IncompatibleOptions, WarningRecord
from tarsus.program.codegen.layout import Target
from tarsus.program.ir.program import Program
from tarsus.program.run.backend import Backend
from tarsus.simulation import (
    actuation,
    cut_joints,
    default_controller,
    file_material,
    inputs,
    pickling,
    resolve,
    sensor_noise,
    sensors,
    setting_groups,
    setup_warnings,
    time_steps,
    unit_quaternions,
    varied,
)
from tarsus.simulation.contact_reports import contact_impulses
from tarsus.simulation.contact_selection import default_contacts
from tarsus.simulation.contact_selection import select_candidates as candidates_of
from tarsus.simulation.derivatives import Derivatives, step_derivatives
from tarsus.simulation.device import create_backend
from tarsus.simulation.initial_registers import initial_registers, write_registers
from tarsus.simulation.options import Options, complete, options_section
from tarsus.simulation.part_parameters import set_parameters
from tarsus.simulation.recording.part_serialization import name_of
from tarsus.simulation.recording.provenance import Setup
from tarsus.simulation.recording.recorder import Interventions
from tarsus.simulation.sensor_program import uncut_mechanism
from tarsus.simulation.settings import Settings
from tarsus.simulation.snapshot import ACTION, SnapshotFormat
from tarsus.simulation.step_program import Plan, shared_plan, step_program
from tarsus.stepping.base import Stepper
from tarsus.terrain.base import Terrain

if TYPE_CHECKING:
    import xarray as xr

Array = NDArray[Any]
FeedbackFunction = Callable[[float, Array, Array], ArrayLike]
Progress = Callable[[float], None]
PushFunction = Callable[[float], Mapping[str, ArrayLike]]

RESET_REGISTERS = (
    "q",
    "u",
    "memory",
    "control",
    "bilateral",
    "steps",
    ACTION,
)  # that a reset takes back


class Simulation:
    """A robot simulated in one or many worlds that differ in state, commands and parameters.

    robot: a Robot, the name of a built-in one, or a path to an MJCF, URDF or SDF file
    law, stepper, terrain: a name or an object; numeric fields may be arrays, one value per world
    controller: "auto" (the robot's default gait), a gait's name (gains: docs/own_robot.md), a
        Controller (compiled into the step), a Python function (t, q, u) -> torques, or None:
        torques come with step(action)
    dt: s
    Arrays are NumPy's, on a GPU CuPy's. Raises TarsusError with one clear sentence on bad input.

    Options:
    """

    __doc__ = f"{(__doc__ or '').rstrip()}\n{options_section('    ')}"

    def __init__(
        self,
        robot: Robot | str,
        law: Law | str = "moreau",
        stepper: Stepper | str = "midpoint",
        terrain: Terrain | str = "plane",
        controller: Controller | FeedbackFunction | str | None = None,
        dt: float = time_steps.DEFAULT_DT,
        **options: Unpack[Options],
    ) -> None:
        # what is simulated: names become objects, the gait and its gains fit the robot
        chosen = complete(options)
        with resolve.ignore_own_ground(robot, terrain):
            self.robot = resolve.robot(robot)
        self.dt, self.worlds, self.warnings = (
            time_steps.check_time_step(dt),
            chosen.worlds,
            list[WarningRecord](),
        )
        self.options = chosen
        self.warnings += time_steps.file_timestep_warnings(self.dt, self.robot)
        self.robot = default_controller.start_at_keyframe(self.robot, chosen.keyframe)
        actuators, controller = actuation.resolve_actuators(chosen.actuators, controller)
        prepared = default_controller.prepare(self.robot, controller, self.dt, self.warnings)
        fitted, self.robot = file_material.law_for_robot(
            law, prepared[0], self.warnings, chosen.parameters
        )
        parts: dict[str, Any] = {"law": fitted, "gait": prepared[1]}
        parts |= {"stepper": resolve.stepper(stepper), "terrain": resolve.terrain(terrain)}
        parts = set_parameters(parts | {"actuators": actuators}, chosen.parameters)
        self.law, self.controller, self.stepper, self.terrain, self.actuators = parts.values()
        setting_groups.check_world_count(self.law, self.terrain, self.worlds)

        # what is compiled
        if chosen.contacts is None:
            cheap = self.stepper.takes_slots and self.terrain.flat and chosen.device == "cpu"
            chosen.contacts = default_contacts(self.robot, cheap)
        touching = candidates_of(self.robot, chosen.contacts, self.warnings)
        scene = resolve.scene(self.robot, (self.law, self.terrain, self.stepper), touching, chosen)
        compiled = self.controller if isinstance(self.controller, Controller) else None
        scales = dict(chosen.mass_scale or {})
        pushed = resolve.pushed_bodies(self.robot, chosen.pushes)
        acting = actuation.plan_actuation(self.actuators, scene.mechanism)
        sensing = sensors.name_sensors(chosen.sensors, scene)
        disturbances = sensor_noise.initial_registers(sensing, self.robot, self.worlds)
        varying = varied.parse_varied(chosen.varied, scene.mechanism, acting is not None)
        fixed = scene, self.stepper, compiled, tuple(scales), pushed, sensing.compiled
        self.plan = shared_plan(Plan(*fixed, actuation=acting, varied=varying))
        self._control_interval = resolve.control_interval(
            self.controller, chosen.control_rate, self.dt
        )

        # the worlds at the start
        self._make_worlds()
        self._initial = self._start(scales, self._worlds.target.bits) | disturbances
        write_registers(self._worlds, self._initial)
        sensors.refresh_readings(self.plan, self._worlds)

    def _make_worlds(self) -> None:
        """Make the registers of the worlds on their device, and the code that runs over them."""
        chosen, bits = self.options, 32 if self.options.precision == "float32" else 64
        program = step_program(self.plan)
        self._worlds: Backend = create_backend(
            program, chosen.device, self.worlds, bits, chosen.threads
        )
        single = self.worlds == 1 and self._worlds.target.lanes == 1 and chosen.device == "cpu"
        in_place = single and ACTION in self._worlds
        self._action: Array | None = self._worlds.view(ACTION) if in_place else None

    def _start(self, scales: Mapping[str, ArrayLike], bits: int) -> dict[str, Array]:
        """The registers at the start, and the notices that follow from them."""
        values = initial_registers(self.plan, self.dt)
        unit_quaternions.check_norms(self.robot, values["q"])
        placing, given = list[WarningRecord](), values["q"]
        values["q"] = cut_joints.close_and_place(self.plan.scene, given, placing)
        if self.options.keyframe is not None:
            placing += setup_warnings.height_warnings(self.plan.scene, given, values["q"])
        values |= setup_warnings.solver_tolerances(
            self.law, self.robot, self.dt, bits, self.warnings
        )
        outside, mechanism = self.plan.controller is None, self.plan.scene.mechanism
        values |= actuation.initial_registers(self.actuators, mechanism, self.worlds, outside)
        if scales:
            values |= setting_groups.mass_settings(tuple(scales)).write(
                self._worlds, {"mass_scale": scales}, None
            )
        self.warnings += setup_warnings.choice_warnings(
            self.plan, values, self.dt, self.options.self_collision
        )
        self._start_warnings = setup_warnings.StartWarnings(
            self.plan, values["q"], self.dt, placing
        )
        self.warnings += self._start_warnings.current
        return values

    def __repr__(self) -> str:
        parts = f"{name_of(self.law)}, controller {name_of(self.controller)}"
        count = "1 world" if self.worlds == 1 else f"{self.worlds} worlds"
        numbers = f"dt {self.dt:g} s, {count}, {self.options.precision}, t = {self.time:.6g} s"
        return f"Simulation({self.robot.name}: {parts}, {numbers})"

    # ---------------------------------------------------------------- what the last step led to

    @property
    def time(self) -> float:
        """Simulated time of the first world, s."""
        return float(self._worlds.first("steps")[0]) * self.dt

    @property
    def q(self) -> Array:
        """Coordinates (nq,), or (worlds, nq): a copy."""
        return self._get("q")

    @property
    def u(self) -> Array:
        """Velocities (nu,), or (worlds, nu): a copy."""
        return self._get("u")

    @property
    def uncut_state(self) -> tuple[Array, Array]:
        """q and u of the robot before joints were cut; the same as q and u if none were."""
        if self.plan.scene.mechanism.uncut is None:
            return self.q, self.u
        q, u = cut_joints.uncut_state(self.plan.scene.mechanism, self._worlds)
        return (q[0], u[0]) if self.worlds == 1 else (q, u)

    @property
    def contact_force(self) -> Array:
        """Mean force over the last step in contact frames, N: (n, 3), or (worlds, n, 3).

        Zero before the first, and after `reset` or `set(q=...)`.
        """
        force = contact_impulses(self.plan.scene, self._worlds) / self.dt
        return force[0] if self.worlds == 1 else force

    @property
    def iterations(self) -> Array:
        """Solver iterations of the last step: (), or (worlds,); 0 before the first."""
        return self._get("iterations")[..., 0]

    @property
    def converged(self) -> NDArray[np.bool_]:
        """Whether the solver met its tolerance in the last step: (), or (worlds,); False before the
        first, and after `reset` or `set(q=...)`.
        """
        return self._get("converged")[..., 0] > 0

    def _get(self, name: str) -> Array:
        values = self._worlds.output(name)
        return values[0] if self.worlds == 1 else values

    def sense(self) -> dict[str, Array]:
        """What every sensor tells now, by name: (k,), or (worlds, k).

        The channels of each, with their units, are in `sensor_channels`. Readings follow from the
        last step; before the first, and after `reset` or `set(q=...)`, from the state alone,
        without the ground's forces. A log holds them as `sensed_NAME`.
        """
        readings = sensors.readings(self.plan, self._worlds)
        return {name: r[0] if self.worlds == 1 else r for name, r in readings.items()}

    @property
    def sensor_channels(self) -> dict[str, dict[str, str]]:
        """The channels of every sensor, in order: {sensor: {channel: SI unit}}."""
        robot = uncut_mechanism(self.plan.scene)
        return {name: dict(s.channels(robot)) for name, s in self.plan.sensing.sensors}

    def derivatives(self, *parameters: str, action: ArrayLike | None = None) -> Derivatives:
        """Jacobians of the next step of every world, from the state as it is; nothing moves.

        parameters: of the law by name ("mu"), or registers of `program` of kind parameter, such as
            "law.mu", "terrain.slope", "mass_scale", "push"
        action: held over the step, (actuators,) or (worlds, actuators); None: the last one
        They are those of the branches that the step takes: a contact that just closes, opens or
        begins to slide has other ones on the other side. Exact but for round-off, under any solver
        up to twelve contacts that are solved at once; beyond, sweeps leave the error with which
        they stop. What the law remembers of the step before is held. Raises TarsusError for an
        unknown parameter, on a GPU and in float32.
        """
        return step_derivatives(self.plan, self._worlds, self.options, parameters, action)

    # ---------------------------------------------------------------- what is set

    @cached_property
    def _settable(self) -> Settings:
        """The register of all that `set` writes, owner by owner."""
        plan, compiled = self.plan, self._worlds
        owners = (
            setting_groups.state_settings(plan.scene.mechanism),
            setting_groups.gait_settings(self.controller, self.robot),
            setting_groups.push_settings(plan.pushed_bodies, self.robot),
            actuation.actuator_settings(self.actuators, plan.scene.mechanism, compiled),
            varied.varied_settings(plan.varied, plan.scene.mechanism),
            setting_groups.mass_settings(plan.scaled_bodies),
            sensor_noise.sensor_settings(plan.sensing, self.robot),
            setting_groups.terrain_settings(self.terrain, compiled),
            setting_groups.law_settings(self.law, compiled),
        )
        return Settings(owners, {"varied": varied.KINDS})

    def set(
        self,
        where: ArrayLike | None = None,
        command: Mapping[str, ArrayLike] | None = None,
        push: Mapping[str, ArrayLike] | None = None,
        **values: Any,
    ) -> None:
        """Write q, u, or a parameter such as mu of all worlds, or of those where the mask `where`
        (worlds,) is True.

        command: {name: number or (worlds,)} for the controller, such as {"speed": 0.5}
        push: {body: (3,), (6,), or one a world} force (N) and moment (N m) at its origin, world
            axes, until set again
        Where joints are cut, q and u may be those of the uncut robot. Where q is written contacts
        are new: the law forgets the old ones, and the notices of the next run speak of its start.
        """
        worlds, mask = self._worlds, inputs.world_mask(where, self._worlds)
        given = {"command": command, "push": push}
        values |= {name: value for name, value in given.items() if value is not None}
        # nothing is written unless all is right
        for register, numbers in self._settable.registers(worlds, values, mask).items():
            worlds.set(register, numbers, mask)
        if "q" in values:
            # no step led there, and the contacts are new
            self._restart(("memory", "bilateral"), mask)
        if values.keys() & {"q", "u", "terrain"}:
            # readings follow from the state, those of worlds under way from their last step
            state = bool(values.keys() & {"q", "u"})
            sensors.refresh_readings(self.plan, self._worlds, mask, begun=state)

    def reset(self, where: ArrayLike | None = None, seed: int | None = None) -> None:
        """All worlds, or those of the mask, back to the start; commands and parameters stay.

        seed: of the sensors' noise from now on, as a new simulation's is 0; None: it goes on
        """
        mask = inputs.world_mask(where, self._worlds)
        sensor_noise.begin_episode(self._worlds, mask, seed)
        self._restart((*RESET_REGISTERS, *actuation.STATE_REGISTERS), mask)
        sensors.refresh_readings(self.plan, self._worlds, mask)

    def _restart(self, names: Collection[str], mask: Any) -> None:
        """Take registers back to the start, for all worlds or those of a mask, and clear what is
        reported of a step: none led there.
        """
        sizes = self._worlds.program.sizes
        start = {ACTION: np.zeros(sizes.get(ACTION, 0))} | self._initial
        for name in sizes.keys() & start.keys() & {*names}:
            self._worlds.set(name, start[name], mask)
        for register in self._worlds.program.of_kind("report"):
            begun = self._initial.get(register.name, np.zeros(register.size))
            self._worlds.set(register.name, begun, mask)
        self._start_warnings.outdated = True

    # ---------------------------------------------------------------- running

    def step(self, action: ArrayLike | None = None) -> None:
        """One step of dt.

        action: torques (actuators,) or (worlds, actuators), N m, or the control signals of the
            file's actuators, if no controller is compiled in
        """
        if action is not None:
            if "action" not in self._worlds:
                raise IncompatibleOptions(
                    "step() takes no action, because a compiled controller drives this robot; call"
                    " set(command=...) instead.",
                    "action",
                )
            inputs.write_action(action, "action", self._action, self._worlds)
        elif self._control_due():
            self._feed_back()
        self._worlds.advance()

    def _control_due(self) -> bool:
        """Return whether a Python controller is called before the next step."""
        interval = self._control_interval
        return interval > 0 and round(self.time / self.dt) % interval == 0

    def _feed_back(self) -> None:
        """Ask the Python controller for torques."""
        assert callable(self.controller)
        torques = self.controller(self.time, *self.uncut_state)
        inputs.write_action(torques, "controller", self._action, self._worlds)

    def _between(self, push: PushFunction | None) -> Interventions:
        """What is done between the steps of a run."""
        if push is None:
            return Interventions(
                self._control_interval, self._feed_back if self._control_interval else None
            )

        def before() -> None:
            self.set(push=push(self.time))
            if self._control_due():
                self._feed_back()

        return Interventions(1, before, ("push",))

    def advance(self, seconds: float) -> None:
        """Run without logging, the whole steps nearest to the time, s, one at least."""
        if not self._control_interval:
            return self._worlds.advance(time_steps.step_count(seconds, self.dt))
        for _ in range(time_steps.step_count(seconds, self.dt)):
            self.step()

    def run(
        self,
        seconds: float,
        progress: Progress | None = None,
        to: str | Path | None = None,
        push: PushFunction | None = None,
    ) -> xr.Dataset:
        """Run and return the log as an xarray Dataset (`tarsus.simulation.recording.log`).

        progress: called with the seconds done
        to: a file (.nc) that the log is also written to; NAME.partial.nc beside it holds the log so
            far while the run goes on, and stays if the process is killed
        push: a function of the time, s, that gives what `set(push=...)` takes, asked before every
            step; the log then has the variable `push`
        A single world that leaves the physical range stops there and raises Diverged; Ctrl-C raises
        Interrupted, a KeyboardInterrupt. Both carry the log up to there.
        """
        from tarsus.simulation.recording.logged_run import RunStart, run_logged

        # what it begins with, and its steps
        if self._start_warnings.outdated:
            q, start = inputs.to_numpy(self._worlds, self._worlds.get("q")), self._initial["q"]
            self._start_warnings.renew(self.warnings, self.plan, q, start, self.dt)
        parts = self.robot, self.plan, self._worlds, self.controller, self.options
        begun = RunStart(
            Setup(*parts, self._initial),
            self.dt,
            self.time,
            self.state(),
            self.warnings,
            self._between(push),
        )
        return run_logged(begun, time_steps.step_count(seconds, self.dt), progress, to)

    # ---------------------------------------------------------------- snapshots and copies

    @cached_property
    def _snapshot_format(self) -> SnapshotFormat:
        return SnapshotFormat.of(self.plan, self.dt, self._worlds)

    def state(self) -> Array:
        """The whole state, (worlds, n), float64 at any precision: a copy for `restore`.

        Columns: numbers that say of what the state is, then the registers of kind state and report
        (docs/snapshots.md), then the torques held, if they come from outside. Commands, pushes and
        parameters are not in it, nor what a Python controller remembers.
        """
        return self._snapshot_format.take(self._worlds)

    def restore(self, state: ArrayLike, where: ArrayLike | None = None) -> None:
        """Write a state back: what follows has the same bits as if it had not stopped; the notices
        of the next run speak of its start.

        state: (n,) for all worlds alike, or (worlds, n)
        where: a mask (worlds,): the other worlds stay; then the state may be (chosen worlds, n)
        It may be of another Simulation with other parameters. TarsusError, saying what differs, and
        nothing is written, for a state of one made otherwise, or for another shape.
        """
        mask = inputs.world_mask(where, self._worlds)
        self._snapshot_format.write(self._worlds, state, mask)
        self._start_warnings.outdated = True

    def __copy__(self) -> Self:
        """Worlds of its own; robot, law and the like, which are frozen, and a Python controller are
        shared.
        """
        made = type(self).__new__(type(self))
        made.__dict__.update({k: v for k, v in self.__dict__.items() if k not in pickling.REBUILT})
        made.warnings, made._start_warnings = list(self.warnings), copy(self._start_warnings)
        made._make_worlds()
        write_registers(made._worlds, pickling.register_values(self._worlds))
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """As a copy, with a Python controller of its own."""
        made = self.__copy__()
        memo[id(self)] = made
        if not isinstance(self.controller, Controller):
            made.controller = deepcopy(self.controller, memo)
        return made

    def __getstate__(self) -> dict[str, Any]:
        """What a pickle holds: frozen parts, registers, the rest; TarsusError naming a part that
        cannot be pickled.
        """
        return pickling.to_pickle(self.__dict__, self._worlds)

    def __setstate__(self, kept: Mapping[str, Any]) -> None:
        """Found again: the program is traced, its code comes from the cache or is compiled."""
        attributes, registers = pickling.from_pickle(kept)
        self.__dict__.update(attributes)
        self._make_worlds()
        write_registers(self._worlds, registers)

    # ---------------------------------------------------------------- what is compiled

    @property
    def backend(self) -> Backend:
        """The worlds' registers where they live; on a GPU `view("q")` is the state, no copy."""
        return self._worlds

    @property
    def program(self) -> Program:
        """The compiled program of one step."""
        return self._worlds.program

    @property
    def target(self) -> Target:
        """Lanes and bits it was compiled for."""
        return self._worlds.target

    def bytes_per_world(self) -> float:
        """Memory a world takes between steps."""
        return self._worlds.bytes_per_world()
