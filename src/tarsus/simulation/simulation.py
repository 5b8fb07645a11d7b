"""Simulation: a robot on a terrain under a contact law, one world or many."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tarsus.contact.base import Law
from tarsus.control.base import Controller
from tarsus.dynamics.robot import Robot
from tarsus.errors import IncompatibleOptions, Notice
from tarsus.simulation import (
    actuation,
    default_controller,
    file_material,
    inputs,
    notices,
    resolve,
    sensed,
    sensor_noise,
    time_steps,
    told_again,
    uncut_state,
    unit_quaternions,
    varied,
    varied_numbers,
)
from tarsus.simulation.contact_selection import candidates as candidates_of
from tarsus.simulation.contact_selection import unless_named
from tarsus.simulation.derivatives import Differentiated
from tarsus.simulation.kept_state import BEGUN, HELD, KeptState
from tarsus.simulation.loading import loaded, start_registers
from tarsus.simulation.options import Options, complete, described
from tarsus.simulation.recording.part_text import name_of
from tarsus.simulation.recording.provenance import Setup
from tarsus.simulation.recording.recorder import Interventions
from tarsus.simulation.settings import with_parameters
from tarsus.simulation.step_program import Plan, shared
from tarsus.stepping.base import Stepper
from tarsus.terrain.base import Terrain

if TYPE_CHECKING:
    import xarray as xr

Array = NDArray[Any]
Feedback = Callable[[float, Array, Array], ArrayLike]
Progress = Callable[[float], None]
Pushing = Callable[[float], Mapping[str, ArrayLike]]


class Simulation(KeptState, sensed.Sensed, told_again.ToldAgain, Differentiated):
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

    __doc__ = f"{(__doc__ or '').rstrip()}\n{described('    ')}"

    def __init__(
        self,
        robot: Robot | str,
        law: Law | str = "moreau",
        stepper: Stepper | str = "midpoint",
        terrain: Terrain | str = "plane",
        controller: Controller | Feedback | str | None = None,
        dt: float = time_steps.USUAL,
        **options: Unpack[Options],
    ) -> None:
        # what is simulated: names become objects, the gait and its gains fit the robot
        chosen = complete(options)
        with resolve.on_own_ground(robot, terrain):
            self.robot = resolve.robot(robot)
        self.dt, self.worlds, self.notices = time_steps.step(dt), chosen.worlds, list[Notice]()
        self.options = chosen
        self.notices += time_steps.of_file(self.dt, self.robot)
        self.robot = default_controller.starting_from(self.robot, chosen.keyframe)
        own, controller = actuation.chosen(chosen.actuators, controller)
        prepared = default_controller.prepared(self.robot, controller, self.dt, self.notices)
        fitted, self.robot = file_material.fitted(law, prepared[0], self.notices, chosen.parameters)
        parts: dict[str, Any] = {"law": fitted, "gait": prepared[1]}
        parts |= {"stepper": resolve.stepper(stepper), "terrain": resolve.terrain(terrain)}
        parts = with_parameters(parts | {"actuators": own}, chosen.parameters)
        self.law, self.controller, self.stepper, self.terrain, self.actuators = parts.values()
        inputs.one_or_each(self.law, self.terrain, self.worlds)

        # what is compiled
        if chosen.contacts is None:
            cheap = self.stepper.takes_slots and self.terrain.flat and chosen.device == "cpu"
            chosen.contacts = unless_named(self.robot, cheap)
        touching = candidates_of(self.robot, chosen.contacts, self.notices)
        scene = resolve.scene(self.robot, (self.law, self.terrain, self.stepper), touching, chosen)
        compiled = self.controller if isinstance(self.controller, Controller) else None
        scales = dict(chosen.mass_scale or {})
        pushed = resolve.pushed_bodies(self.robot, chosen.pushes)
        acting = actuation.compiled(self.actuators, scene.mechanism)
        sensing = sensed.named(chosen.sensors, scene)
        read = sensor_noise.registers(sensing, self.robot, self.worlds)
        different = varied.chosen(chosen.varied, scene.mechanism, acting is not None)
        fixed = scene, self.stepper, compiled, tuple(scales), pushed, sensing.compiled
        self.plan = shared(Plan(*fixed, actuation=acting, varied=different))
        self._every = resolve.control_interval(self.controller, chosen.control_rate, self.dt)

        # the worlds at the start
        self._house()
        self._initial = self._start(scales, self._worlds.target.bits) | read
        loaded(self._worlds, self._initial)
        self._look()

    def _start(self, scales: Mapping[str, ArrayLike], bits: int) -> dict[str, Array]:
        """The registers at the start, and the notices that follow from them."""
        values = start_registers(self.plan, self.dt)
        unit_quaternions.check(self.robot, values["q"])
        placing, given = list[Notice](), values["q"]
        values["q"] = uncut_state.placed(self.plan.scene, given, placing)
        if self.options.keyframe is not None:
            placing += notices.height_notices(self.plan.scene, given, values["q"])
        values |= notices.solver_tolerances(self.law, self.robot, self.dt, bits, self.notices)
        outside, mechanism = self.plan.controller is None, self.plan.scene.mechanism
        values |= actuation.registers(self.actuators, mechanism, self.worlds, outside)
        if scales:
            values["mass_scale"] = inputs.mass_scales(scales, self.worlds)
        self.notices += notices.of_choices(self.plan, values, self.dt, self.options.self_collision)
        self._tell_of_start(values["q"], placing)
        return values

    def __repr__(self) -> str:
        parts = f"{name_of(self.law)}, controller {name_of(self.controller)}"
        count = "1 world" if self.worlds == 1 else f"{self.worlds} worlds"
        numbers = f"dt {self.dt:g} s, {count}, {self.options.precision}, t = {self.time:.6g} s"
        return f"Simulation({self.robot.name}: {parts}, {numbers})"

    @property
    def uncut_state(self) -> tuple[Array, Array]:
        """q and u of the robot before joints were cut; the same as q and u if none were."""
        if self.plan.scene.mechanism.uncut is None:
            return self.q, self.u
        q, u = uncut_state.uncut_state(self.plan.scene.mechanism, self._worlds)
        return (q[0], u[0]) if self.worlds == 1 else (q, u)

    @cached_property
    def _fastest(self) -> float:
        """The forward speed, m/s, that the legs of its gait reach."""
        gait = self.controller
        return gait.fastest(self.robot) if isinstance(gait, Controller) else np.inf

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
        worlds, mask = self._worlds, inputs.mask(where, self._worlds)
        new, state, different, acting = (dict[str, Any]() for _ in range(4))
        # commands and pushes have registers of their own
        if command is not None:
            new["command"] = inputs.commands(self.controller, command, self._fastest, worlds)
        if push is not None:
            new["push"] = inputs.wrenches(self.plan.pushed_bodies, push, self.robot, worlds)
        # the state, and parameters by whose they are
        mechanism, varying = self.plan.scene.mechanism, self.plan.varied.names
        for name, value in values.items():
            if name in ("q", "u"):
                state[name] = inputs.state(name, value, mechanism, worlds)
            elif name in actuation.names(self.actuators):
                acting[name] = value
            elif name in varying:
                different[name] = value
            elif name == "sensors":
                new |= sensor_noise.changed(self.plan.sensing, value, self.robot, worlds)
            elif name == "terrain":
                new |= inputs.on_ground(self.terrain, value, worlds)
            else:
                new[f"law.{name}"] = inputs.parameter(self.law, name, value, worlds, varying)
        new |= actuation.changed(self.actuators, acting, mechanism, worlds, mask)
        new |= varied_numbers.changed(self.plan.varied, different, mechanism, worlds)
        new |= uncut_state.in_registers(mechanism, worlds, state)
        # nothing is written unless all is right
        for name, value in new.items():
            worlds.set(name, value, mask)
        if "q" in state:
            self._put_down(mask)
        if state or "terrain" in values:
            self._look(mask, begun=bool(state))

    def reset(self, where: ArrayLike | None = None, seed: int | None = None) -> None:
        """All worlds, or those of the mask, back to the start; commands and parameters stay.

        seed: of the sensors' noise from now on, as a new simulation's is 0; None: it goes on
        """
        mask, sizes = inputs.mask(where, self._worlds), self.program.sizes
        sensor_noise.begin(self._worlds, mask, seed)
        start = {HELD: np.zeros(sizes.get(HELD, 0))} | self._initial
        for name in sizes.keys() & start.keys() & {*BEGUN, *actuation.STATE}:
            self._worlds.set(name, start[name], mask)
        self._forget(mask)
        self._look(mask)

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
            inputs.act(action, "action", self._action, self._worlds)
        elif self._every and round(self.time / self.dt) % self._every == 0:
            self._feed_back()
        self._worlds.advance()

    def _feed_back(self) -> None:
        """Ask the Python controller for torques."""
        assert callable(self.controller)
        torques = self.controller(self.time, *self.uncut_state)
        inputs.act(torques, "controller", self._action, self._worlds)

    def _between(self, push: Pushing | None) -> Interventions:
        """What is done between the steps of a run."""
        if push is None:
            return Interventions(self._every, self._feed_back if self._every else None)

        def before() -> None:
            self.set(push=push(self.time))
            if self._every and round(self.time / self.dt) % self._every == 0:
                self._feed_back()

        return Interventions(1, before, ("push",))

    def advance(self, seconds: float) -> None:
        """Run without logging, the whole steps nearest to the time, s, one at least."""
        if not self._every:
            return self._worlds.advance(time_steps.steps(seconds, self.dt))
        for _ in range(time_steps.steps(seconds, self.dt)):
            self.step()

    def run(
        self,
        seconds: float,
        progress: Progress | None = None,
        to: str | Path | None = None,
        push: Pushing | None = None,
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
        from tarsus.simulation.recording.logged_run import Beginning, logged

        # what it begins with, and its steps
        self._tell_again()
        parts = self.robot, self.plan, self._worlds, self.controller, self.options
        begun = Beginning(
            Setup(*parts, self._initial),
            self.dt,
            self.time,
            self.state(),
            self.notices,
            self._between(push),
        )
        return logged(begun, time_steps.steps(seconds, self.dt), progress, to)
