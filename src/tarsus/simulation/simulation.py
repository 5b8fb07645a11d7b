"""Simulate a robot on a terrain under a contact law, in one world or many."""

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
from tarsus.simulation.contact_reports import collect_impulses
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
from tarsus.simulation.step_program import Plan, reuse_plan, step_program
from tarsus.stepping.base import Stepper
from tarsus.terrain.base import Terrain

if TYPE_CHECKING:
    import xarray as xr

Array = NDArray[Any]
FeedbackFunction = Callable[[float, Array, Array], ArrayLike]
Progress = Callable[[float], None]
PushFunction = Callable[[float], Mapping[str, ArrayLike]]

RESET_REGISTERS = ("q", "u", "memory", "control", "bilateral", "steps", ACTION)


class Simulation:
    """Simulation of a robot in one or many worlds.

    Worlds are copies of the robot that run side by side and may differ in state, commands and
    parameters. Arrays are NumPy arrays, on a GPU CuPy arrays.

    Parameters
    ----------
    robot : Robot or str
        A robot, the name of a built-in one, or the path of an MJCF, URDF or SDF file.
    law, stepper, terrain : str or object
        A name, or an object with other parameters. Numeric fields may be arrays with one value per
        world.
    controller : str, Controller, callable or None
        "auto" for the robot's default gait, the name of a gait, a `Controller` (compiled into the
        step), or a Python function ``(t, q, u) -> torques``. None: pass torques to `step`.
    dt : float or None
        Time step, in s. None: that of the robot's file, if it is at most 5 ms; otherwise 2.5 ms, or
        1 ms if the servos of light feet need it.

    Other Parameters
    ----------------
    OPTIONS

    Attributes
    ----------
    warnings : list of WarningRecord
        Deviations of the simulation from its options or from the robot's file.

    Raises
    ------
    TarsusError
        If an argument is not valid.

    Examples
    --------
    Run a trot for a tenth of a second:

    >>> import tarsus
    >>> sim = tarsus.Simulation("mini_cheetah", controller="trot")
    >>> log = sim.run(0.1)
    >>> log["q"].shape
    (40, 19)

    Control the torques yourself:

    >>> sim = tarsus.Simulation("mini_cheetah")
    >>> sim.step([0.0] * 12)
    >>> round(sim.time, 4)
    0.0025
    """

    __doc__ = (__doc__ or "").replace("    OPTIONS\n", options_section("    "))

    def __init__(
        self,
        robot: Robot | str,
        law: Law | str = "moreau",
        stepper: Stepper | str = "midpoint",
        terrain: Terrain | str = "plane",
        controller: Controller | FeedbackFunction | str | None = None,
        dt: float | None = None,
        **options: Unpack[Options],
    ) -> None:
        # resolve names to objects, and fit the gait and its gains to the robot
        chosen = complete(options)
        with resolve.ignore_own_ground(robot, terrain):
            self.robot = resolve.resolve_robot(robot)
        self.options, self.worlds = chosen, chosen.worlds
        self.warnings = list[WarningRecord]()
        self.robot = default_controller.start_at_keyframe(self.robot, chosen.keyframe)
        actuators, controller = actuation.resolve_actuators(chosen.actuators, controller)
        if dt is None:
            dt = default_controller.default_time_step(self.robot, controller)
        self.dt = time_steps.check_time_step(dt)
        actuators = actuation.with_file_motors(actuators, self.robot, self.dt)
        prepared = default_controller.prepare(self.robot, controller, self.dt, self.warnings)
        robot = prepared[0]
        if actuators is not None:
            robot = actuation.drive_tendons(robot, prepared[1])
        fitted, self.robot = file_material.law_for_robot(
            law, robot, self.warnings, chosen.parameters
        )
        parts: dict[str, Any] = {"law": fitted, "gait": prepared[1]}
        parts |= {
            "stepper": resolve.resolve_stepper(stepper),
            "terrain": resolve.resolve_terrain(terrain),
        }
        parts |= actuation.split_models(actuators)
        parts = set_parameters(parts, chosen.parameters)
        self.law, self.controller, self.stepper, self.terrain = list(parts.values())[:4]
        self.actuators = actuation.join_models(parts)
        setting_groups.check_world_count(self.law, self.terrain, self.worlds)

        # choose what is compiled
        if chosen.contacts is None:
            cheap = self.stepper.supports_slots and self.terrain.flat and chosen.device == "cpu"
            chosen.contacts = default_contacts(self.robot, cheap)
        touching = candidates_of(self.robot, chosen.contacts, self.warnings)
        scene = resolve.create_scene(
            self.robot, (self.law, self.terrain, self.stepper), touching, chosen
        )
        compiled = self.controller if isinstance(self.controller, Controller) else None
        scales = dict(chosen.mass_scale or {})
        pushed = resolve.find_pushed_bodies(self.robot, chosen.pushes)
        acting = actuation.plan_actuation(self.actuators, scene.mechanism)
        sensing = sensors.name_sensors(chosen.sensors, scene)
        disturbances = sensor_noise.initial_registers(sensing, self.robot, self.worlds)
        varying = varied.parse_varied(chosen.varied, scene.mechanism, acting is not None)
        fixed = scene, self.stepper, compiled, tuple(scales), pushed, sensing.compiled
        self.plan = reuse_plan(Plan(*fixed, actuation=acting, varied=varying))
        self._control_interval = resolve.control_interval(
            self.controller, chosen.control_rate, self.dt
        )

        # create the worlds and set their initial state
        self._make_worlds()
        self._initial = self._start(scales, self._worlds.target.bits) | disturbances
        write_registers(self._worlds, self._initial)
        sensors.refresh_readings(self.plan, self._worlds)

    def _make_worlds(self) -> None:
        """Allocate the registers of the worlds on their device and bind the compiled code."""
        chosen, bits = self.options, 32 if self.options.precision == "float32" else 64
        program = step_program(self.plan)
        self._worlds: Backend = create_backend(
            program, chosen.device, self.worlds, bits, chosen.threads
        )
        single = self.worlds == 1 and self._worlds.target.lanes == 1 and chosen.device == "cpu"
        in_place = single and ACTION in self._worlds
        self._action: Array | None = self._worlds.view(ACTION) if in_place else None

    def _start(self, scales: Mapping[str, ArrayLike], bits: int) -> dict[str, Array]:
        """Create the initial registers, and append the warnings that follow from them."""
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

    # ---------------------------------------------------------------- results of the last step

    @property
    def time(self) -> float:
        """Simulated time of the first world, in s."""
        return float(self._worlds.first("steps")[0]) * self.dt

    @property
    def q(self) -> Array:
        """Coordinates, shape (nq,) or (worlds, nq); a copy."""
        return self._get("q")

    @property
    def u(self) -> Array:
        """Velocities, shape (nu,) or (worlds, nu); a copy."""
        return self._get("u")

    @property
    def uncut_state(self) -> tuple[Array, Array]:
        """Coordinates and velocities of the robot before joints were cut.

        The same as `q` and `u` if no joint was cut.
        """
        if self.plan.scene.mechanism.uncut is None:
            return self.q, self.u
        q, u = cut_joints.uncut_state(self.plan.scene.mechanism, self._worlds)
        return (q[0], u[0]) if self.worlds == 1 else (q, u)

    @property
    def contact_force(self) -> Array:
        """Mean contact forces over the last step, in N, in contact frames.

        Shape (n, 3) or (worlds, n, 3). Zero before the first step, and after `reset` or
        `set(q=...)`.
        """
        force = collect_impulses(self.plan.scene, self._worlds) / self.dt
        return force[0] if self.worlds == 1 else force

    @property
    def iterations(self) -> Array:
        """Solver iterations of the last step, shape () or (worlds,); 0 before the first."""
        return self._get("iterations")[..., 0]

    @property
    def converged(self) -> NDArray[np.bool_]:
        """Whether the solver met its tolerance in the last step, shape () or (worlds,).

        False before the first step, and after `reset` or `set(q=...)`.
        """
        return self._get("converged")[..., 0] > 0

    @property
    def motor_state(self) -> dict[str, Array]:
        """Memory of actuator models by name, such as "temperature"; (n,) or (worlds, n); copies."""
        names = [name for name in self.program.sizes if name.startswith(actuation.MEMORY)]
        return {name.removeprefix(actuation.MEMORY): self._get(name) for name in names}

    def _get(self, name: str) -> Array:
        values = self._worlds.output(name)
        return values[0] if self.worlds == 1 else values

    def sense(self) -> dict[str, Array]:
        """Read every sensor.

        Readings come from the last step. Before the first step, and after `reset` or `set(q=...)`,
        they come from the state alone, without contact forces.

        Returns
        -------
        dict
            Readings by sensor name, shape (k,) or (worlds, k). `sensor_channels` names the channels
            and their units. A log holds the readings as ``sensed_NAME``.
        """
        readings = sensors.read_sensors(self.plan, self._worlds)
        return {name: r[0] if self.worlds == 1 else r for name, r in readings.items()}

    @property
    def sensor_channels(self) -> dict[str, dict[str, str]]:
        """Channels of every sensor, in order: {sensor: {channel: SI unit}}."""
        robot = uncut_mechanism(self.plan.scene)
        return {name: dict(s.channels(robot)) for name, s in self.plan.sensing.sensors}

    def derivatives(self, *parameters: str, action: ArrayLike | None = None) -> Derivatives:
        """Compute the Jacobians of the next step from the current state.

        The simulation does not advance. The Jacobians are exact to round-off for up to twelve
        contacts that are solved at once; beyond that, sweeps leave the error at which they stop.
        They belong to the branch that the step takes: where a contact just closes, opens or begins
        to slide, the other side has different derivatives. What the law remembers of the last step
        is held constant.

        Parameters
        ----------
        *parameters : str
            Parameters of the law ("mu"), or registers of kind parameter of `program`, such as
            "law.mu", "terrain.slope", "mass_scale" or "push".
        action : array_like, optional
            Torques or control signals during the step, shape (actuators,) or (worlds, actuators).
            By default the last action.

        Returns
        -------
        Derivatives
            Jacobians with respect to state, action, commands and the named parameters.

        Raises
        ------
        TarsusError
            If a parameter is unknown, or on a GPU or in float32.
        """
        return step_derivatives(self.plan, self._worlds, self.options, parameters, action)

    # ---------------------------------------------------------------- settings

    @cached_property
    def _settable(self) -> Settings:
        """All settings that `set` can write, group by group."""
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
        """Set coordinates, velocities, commands, pushes or parameters.

        Setting `q` starts new contacts: the law forgets the old ones, and the warnings of the next
        run describe its new start. Where joints are cut, `q` and `u` may be those of the uncut
        robot.

        Parameters
        ----------
        where : array_like of bool, optional
            Mask, shape (worlds,). By default all worlds are set.
        command : dict, optional
            Commands of the gait, a number or shape (worlds,) each, such as ``{"speed": 0.5}``.
        push : dict, optional
            External force (N) and moment (N m) by body, at the body's origin, in world axes: shape
            (3,) or (6,), or one row per world. It acts until set again.
        **values
            `q`, `u`, `terrain`, or parameters such as `mu`: one value for all worlds, or one per
            world.

        Raises
        ------
        TarsusError
            If a name is unknown or a value is not allowed. Nothing is set then.
        """
        worlds, mask = self._worlds, inputs.world_mask(where, self._worlds)
        given = {"command": command, "push": push}
        values |= {name: value for name, value in given.items() if value is not None}
        # check every value before writing any
        for register, numbers in self._settable.registers(worlds, values, mask).items():
            worlds.set(register, numbers, mask)
        if "q" in values:
            # no step led to this state, and its contacts are new
            self._restart(("memory", "bilateral"), mask)
        if values.keys() & {"q", "u", "terrain"}:
            # readings come from the new state; if only the terrain changed, from the last step
            state = bool(values.keys() & {"q", "u"})
            sensors.refresh_readings(self.plan, self._worlds, mask, include_started=state)

    def reset(self, where: ArrayLike | None = None, seed: int | None = None) -> None:
        """Reset all worlds, or those of a mask, to the initial state.

        Commands and parameters stay as they are.

        Parameters
        ----------
        where : array_like of bool, optional
            Mask, shape (worlds,). By default all worlds are reset.
        seed : int, optional
            Seed of the sensor noise from now on; a new simulation has 0. By default each world
            continues with its next noise sequence.
        """
        mask = inputs.world_mask(where, self._worlds)
        sensor_noise.begin_episode(self._worlds, mask, seed)
        self._restart((*RESET_REGISTERS, *actuation.state_registers(self.program)), mask)
        sensors.refresh_readings(self.plan, self._worlds, mask)

    def _restart(self, names: Collection[str], mask: Any) -> None:
        """Reset registers to their initial values, and clear the reports of the last step."""
        sizes = self._worlds.program.sizes
        start = {ACTION: np.zeros(sizes.get(ACTION, 0))} | self._initial
        for name in sizes.keys() & start.keys() & {*names}:
            self._worlds.set(name, start[name], mask)
        for register in self._worlds.program.of_kind("report"):
            value = self._initial.get(register.name, np.zeros(register.size))
            self._worlds.set(register.name, value, mask)
        self._start_warnings.outdated = True

    # ---------------------------------------------------------------- running

    def step(self, action: ArrayLike | None = None) -> None:
        """Advance by one step of dt.

        Parameters
        ----------
        action : array_like, optional
            Torques in N m, or control signals of the file's actuators, shape (actuators,) or
            (worlds, actuators). Not allowed if a controller is compiled in.
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
        """Call the Python controller and write its torques."""
        assert callable(self.controller)
        torques = self.controller(self.time, *self.uncut_state)
        inputs.write_action(torques, "controller", self._action, self._worlds)

    def _create_interventions(self, push: PushFunction | None) -> Interventions:
        """Create the actions between the steps of a run: pushes, and the Python controller."""
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
        """Run without logging.

        Parameters
        ----------
        seconds : float
            Duration in s, rounded to whole steps, at least one.
        """
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
        """Run and return a log.

        Parameters
        ----------
        seconds : float
            Duration in s, rounded to whole steps, at least one.
        progress : callable, optional
            Called with the simulated seconds so far.
        to : path, optional
            netCDF file (.nc) to write the log to. While the run goes on, ``NAME.partial.nc`` next
            to it holds the log so far; it stays if the process is killed.
        push : callable, optional
            Function of the time in s that returns what `set(push=...)` takes, called before every
            step. The log then has the variable `push`.

        Returns
        -------
        xarray.Dataset
            State, forces, energies and residuals of every step; docs/conventions.md lists the
            variables.

        Raises
        ------
        Diverged
            If a single world leaves the physical range. It carries the log up to there.
        Interrupted
            On Ctrl-C, a KeyboardInterrupt. It carries the log up to there.
        """
        from tarsus.simulation.recording.logged_run import RunStart, run_logged

        # renew the warnings about the start, then run
        if self._start_warnings.outdated:
            q, start = inputs.to_numpy(self._worlds, self._worlds.get("q")), self._initial["q"]
            self._start_warnings.renew(self.warnings, self.plan, q, start, self.dt)
        parts = self.robot, self.plan, self._worlds, self.controller, self.options
        run_start = RunStart(
            Setup(*parts, self._initial),
            self.dt,
            self.time,
            self.state(),
            self.warnings,
            self._create_interventions(push),
        )
        return run_logged(run_start, time_steps.step_count(seconds, self.dt), progress, to)

    # ---------------------------------------------------------------- snapshots and copies

    @cached_property
    def _snapshot_format(self) -> SnapshotFormat:
        return SnapshotFormat.of(self.plan, self.dt, self._worlds)

    def state(self) -> Array:
        """Copy the whole state as a snapshot for `restore`.

        Columns: a header that identifies the kind of simulation, the registers of kind state and
        report (docs/snapshots.md), then the current torques if they come from outside. A snapshot
        does not contain commands, pushes, parameters, or what a Python controller remembers.

        Returns
        -------
        ndarray
            Shape (worlds, n), float64 at any precision; a copy.
        """
        return self._snapshot_format.read(self._worlds)

    def restore(self, state: ArrayLike, where: ArrayLike | None = None) -> None:
        """Restore a snapshot; the simulation continues bit for bit.

        The snapshot may come from another simulation that was created the same way, even if its
        parameters differ. The warnings of the next run describe its new start.

        Parameters
        ----------
        state : array_like
            Snapshot from `state`, shape (n,) for all worlds, or (worlds, n).
        where : array_like of bool, optional
            Mask, shape (worlds,): other worlds stay. The snapshot may then have one row for each
            selected world.

        Raises
        ------
        TarsusError
            If the snapshot comes from a different kind of simulation, or has the wrong shape.
            Nothing is written then.
        """
        mask = inputs.world_mask(where, self._worlds)
        self._snapshot_format.write(self._worlds, state, mask)
        self._start_warnings.outdated = True

    def __copy__(self) -> Self:
        """Copy the worlds; frozen parts and a Python controller are shared."""
        made = type(self).__new__(type(self))
        made.__dict__.update({k: v for k, v in self.__dict__.items() if k not in pickling.REBUILT})
        made.warnings, made._start_warnings = list(self.warnings), copy(self._start_warnings)
        made._make_worlds()
        write_registers(made._worlds, pickling.register_values(self._worlds))
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """Copy the worlds and the Python controller; frozen parts are shared."""
        made = self.__copy__()
        memo[id(self)] = made
        if not isinstance(self.controller, Controller):
            made.controller = deepcopy(self.controller, memo)
        return made

    def __getstate__(self) -> dict[str, Any]:
        """Collect the content of a pickle.

        Raises
        ------
        Unsupported
            If a part cannot be pickled.
        """
        return pickling.to_pickle(self.__dict__, self._worlds)

    def __setstate__(self, saved: Mapping[str, Any]) -> None:
        """Rebuild the simulation from a pickle; its code is cached or compiled again."""
        attributes, registers = pickling.from_pickle(saved)
        self.__dict__.update(attributes)
        self._make_worlds()
        write_registers(self._worlds, registers)

    # ---------------------------------------------------------------- compiled program

    @property
    def backend(self) -> Backend:
        """Registers of the worlds on their device; on a GPU `view("q")` is the state itself."""
        return self._worlds

    @property
    def program(self) -> Program:
        """The compiled program of one step."""
        return self._worlds.program

    @property
    def target(self) -> Target:
        """Vector lanes and floating-point bits that the program is compiled for."""
        return self._worlds.target

    def bytes_per_world(self) -> float:
        """Compute the memory that a world takes between steps, in bytes."""
        return self._worlds.bytes_per_world()
