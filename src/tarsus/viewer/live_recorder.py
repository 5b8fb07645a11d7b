"""Recording of a live simulation's steps as a `Track` for its page, without a full log."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from tarsus.control.base import Controller
from tarsus.errors import Unsupported
from tarsus.parameters import names_with_role
from tarsus.program.run.backend import Backend
from tarsus.simulation.recording.divergence import Diverged, complete_with_advice, find_fault
from tarsus.simulation.recording.observed_steps import ObservedSteps, observe_steps
from tarsus.simulation.recording.variables import coordinate_names
from tarsus.simulation.simulation import Simulation
from tarsus.viewer.track import FLASH, Contacts, Signal, Track, phases, signals

Array = NDArray[np.float64]
BEFORE = ("q", "u", "memory")
MAX_REMEMBERED = 60  # contacts; if more have touched, none is remembered


class FirstWorld:
    """Registers of the first of many worlds."""

    def __init__(self, worlds: Backend) -> None:
        self._worlds = worlds

    def __contains__(self, name: str) -> bool:
        return name in self._worlds

    def get(self, name: str) -> Array:
        """Return the values of a register, shape (1, size)."""
        return self._worlds.first(name)[None]


class LiveRecorder:
    """Simulator and recorder of one world for a live page.

    A full log takes ten times as long to compute, too long for a page with 60 frames per second.
    """

    def __init__(self, simulation: Simulation) -> None:
        self.simulation = simulation
        self._states = np.zeros((0, 0), int)  # of the contacts, over the last FLASH seconds
        self._touched: list[str] = []  # always evaluated, because a new set is compiled again
        self._lines: dict[str, tuple[str, ...]] = {}
        self._looked = simulation.time

    def record(self, steps: int) -> Track:
        """Simulate steps and record their motion, contacts and signals.

        Raises
        ------
        Unsupported
            If a Python function controls the robot.
        Diverged
            If a step leaves the physical range.
        """
        simulation, worlds = self.simulation, self.simulation.backend
        controller = simulation.controller
        if controller is not None and not isinstance(controller, Controller):
            raise Unsupported(
                "a live page supports only compiled gaits: show your own loop with `tarsus.view`,"
                " or log the run, then view the log.",
                "controller",
            )
        start_time, dt, mechanism = simulation.time, simulation.dt, simulation.plan.scene.mechanism
        start = {name: worlds.get(name) for name in BEFORE}
        records = worlds.record(steps)
        if fault := find_fault(mechanism, records, 0, start_time, dt):
            q = mechanism.keyframes.get("stand", mechanism.neutral())
            message = fault.message + complete_with_advice(simulation.plan, np.asarray(q), dt)
            raise Diverged(message, subject=fault.joint)
        observed = observe_steps(simulation.plan, worlds, start, records, self._touched)
        times = np.asarray(start_time + dt * np.arange(1, steps + 1), float)
        return self._track(observed, times, dt)

    def look(self) -> Track:
        """Record the last step of the first world without simulating.

        Contacts are drawn where the robot is after the step, and slip at its velocity there.
        """
        simulation, worlds = self.simulation, FirstWorld(self.simulation.backend)
        registers = simulation.program.of_kind("state") + simulation.program.of_kind("report")
        records = {register.name: worlds.get(register.name)[None] for register in registers}
        start = {name: worlds.get(name) for name in BEFORE}
        observed = observe_steps(simulation.plan, worlds, start, records, self._touched)
        interval, self._looked = simulation.time - self._looked, simulation.time
        return self._track(observed, np.array([simulation.time]), max(interval, simulation.dt))

    def _track(self, observed: ObservedSteps, time: Array, interval: float) -> Track:
        """Sort the motion, contacts and signals of observed steps into a track.

        `interval`, in s, is the time between two of them.
        """
        names = observed.plan.scene.geometry.contact_names
        self._touched = names if len(names) <= MAX_REMEMBERED else []
        track = Track(
            self.simulation.robot,
            time,
            self._coordinates(observed),
            self._contacts(observed, interval),
            {},
            self._signals(observed),
        )
        self._lines = {title: signal.names for title, signal in track.signals.items()}
        return track

    def reset(self) -> None:
        """Forget earlier steps, so that the next ones do not continue from them."""
        self._states = np.zeros((0, 0), int)

    def _coordinates(self, observed: ObservedSteps) -> Array:
        """Compute the coordinates (steps, 1, nq) of the uncut mechanism."""
        uncut = observed.plan.scene.mechanism.uncut is not None
        return (observed.reports["q_uncut"] if uncut else observed.records["q"]).astype(float)

    def _contacts(self, observed: ObservedSteps, interval: float) -> Contacts:
        """Compute the contacts; contacts that closed in earlier steps may still be impacts."""
        # phases, from the earlier and the new states
        parts = {name: values for name, (_, values) in observed.contacts.items()}
        state = parts["state"][:, 0].astype(int)
        if self._states.shape[1] != state.shape[1]:  # the set of candidates has changed
            self._states = state[:0]
        states = np.concatenate([self._states, state])
        phase = phases(states, interval)[-len(state) :]
        self._states = states[-max(round(FLASH / interval), 1) :]
        # friction coefficient, if the law has one
        law = self.simulation.law
        known = any(name in law.parameters() for name in names_with_role(type(law), "friction"))
        mu = np.broadcast_to(observed.solved.mu if known else np.nan, parts["state"].shape)
        point, force, normal = (
            parts[name] for name in ("contact_point", "force_world", "contact_normal")
        )
        return Contacts(point, force, normal, phase[:, None], mu)

    def _signals(self, observed: ObservedSteps) -> Mapping[str, Signal]:
        """Compute the signals that can be plotted."""
        records, scene = observed.records, observed.plan.scene
        contacts = scene.geometry.contact_names, observed.solved.impulse[:, 0, :, 0] / observed.dt
        joints = coordinate_names(scene.mechanism), records["q"][:, 0]
        motors = [a.name for a in scene.mechanism.actuators], records["tau"][:, 0]
        return signals(self.simulation.robot, contacts, joints, motors, self._lines)
