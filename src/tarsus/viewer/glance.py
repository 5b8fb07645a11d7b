"""What a page shows of a live simulation: its steps as a `Track`, without the log of a run."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from tarsus.control.base import Controller
from tarsus.errors import Unsupported
from tarsus.parameters import names_with_role
from tarsus.simulation.recording.divergence import Diverged, advice, find_fault
from tarsus.simulation.recording.observed_steps import ObservedSteps, observe_steps
from tarsus.simulation.recording.variables import coordinate_names
from tarsus.simulation.simulation import Simulation
from tarsus.viewer.track import FLASH, Contacts, Signal, Track, phases, signals

Array = NDArray[np.float64]
BEFORE = ("q", "u", "memory")
MANY = 60  # contacts that have touched: beyond them it is forgotten which


class Glances:
    """Steps of one world, and what they showed.

    A log takes ten times as long: a page that makes 60 frames a second cannot wait for it.
    """

    def __init__(self, simulation: Simulation) -> None:
        given = simulation.controller
        if given is not None and not isinstance(given, Controller):
            raise Unsupported(
                "a live page supports only compiled gaits: log the run, then view the log.",
                "controller",
            )
        self.simulation = simulation
        self._states = np.zeros((0, 0), int)  # of the contacts, over the last FLASH seconds
        self._touched: list[str] = []  # looked at from now on: other contacts compile anew
        self._lines: dict[str, tuple[str, ...]] = {}

    def take(self, steps: int) -> Track:
        """Make steps and look at them; Diverged if they leave the physical range."""
        # the steps, as long as they are those of a robot
        simulation, worlds = self.simulation, self.simulation.backend
        begin, dt, mechanism = simulation.time, simulation.dt, simulation.plan.scene.mechanism
        start = {name: worlds.get(name) for name in BEFORE}
        records = worlds.record(steps)
        if fault := find_fault(mechanism, records, 0, begin, dt):
            q = mechanism.keyframes.get("stand", mechanism.neutral())
            message = fault.message + advice(simulation.plan, np.asarray(q), dt)
            raise Diverged(message, subject=fault.joint)
        # what they showed
        seen = observe_steps(simulation.plan, worlds, start, records, self._touched)
        names = seen.plan.scene.geometry.contact_names
        self._touched = names if len(names) <= MANY else []
        shown = Track(
            simulation.robot,
            np.asarray(begin + dt * np.arange(1, steps + 1), float),
            self._whole(seen),
            self._contacts(seen),
            {},
            self._signals(seen),
        )
        self._lines = {title: signal.names for title, signal in shown.signals.items()}
        return shown

    def forget(self) -> None:
        """What comes next does not go on from what was."""
        self._states = np.zeros((0, 0), int)

    def _whole(self, seen: ObservedSteps) -> Array:
        """Coordinates (steps, 1, nq) of the robot before joints were cut."""
        uncut = seen.plan.scene.mechanism.uncut is not None
        return (seen.reports["q_uncut"] if uncut else seen.records["q"]).astype(float)

    def _contacts(self, seen: ObservedSteps) -> Contacts:
        """The contacts; one that closed in an earlier glance is an impact for FLASH seconds too."""
        # what they do, after what they did
        parts = {name: values for name, (_, values) in seen.contacts.items()}
        state = parts["state"][:, 0].astype(int)
        if self._states.shape[1] != state.shape[1]:  # others are among those that may touch
            self._states = state[:0]
        both = np.concatenate([self._states, state])
        phase = phases(both, seen.dt)[-len(state) :]
        self._states = both[-max(round(FLASH / seen.dt), 1) :]
        # friction, if the law knows any
        law = self.simulation.law
        known = any(name in law.parameters() for name in names_with_role(type(law), "friction"))
        mu = np.broadcast_to(seen.solved.mu if known else np.nan, parts["state"].shape)
        point, force, normal = (
            parts[name] for name in ("contact_point", "force_world", "contact_normal")
        )
        return Contacts(point, force, normal, phase[:, None], mu)

    def _signals(self, seen: ObservedSteps) -> Mapping[str, Signal]:
        """What can be plotted."""
        records, scene = seen.records, seen.plan.scene
        contacts = scene.geometry.contact_names, seen.solved.impulse[:, 0, :, 0] / seen.dt
        joints = coordinate_names(scene.mechanism), records["q"][:, 0]
        motors = [a.name for a in scene.mechanism.actuators], records["tau"][:, 0]
        return signals(self.simulation.robot, contacts, joints, motors, self._lines)
