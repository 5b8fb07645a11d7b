"""Controls of a live simulation: law, friction, time step, gait, commands and pushes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tarsus import registry
from tarsus.control.base import Controller
from tarsus.parameters import names_with_role

LAWS, GAITS = "tarsus.contact.laws", "tarsus.control.gaits"
MAX_PUSH = 2.0  # in robot weights
MIN_STEP, MAX_STEP = 0.1, 20.0  # ms
DIRECTIONS = {"forward": (1, 0), "back": (-1, 0), "left": (0, 1), "right": (0, -1)}


@dataclass(frozen=True)
class Choice:
    """Settings of a simulation that the page can change.

    Attributes
    ----------
    law, gait
        Names of the contact law and the gait.
    dt
        Time step in s.
    worlds
        Number of worlds.
    """

    law: str
    gait: str
    dt: float
    worlds: int = 1


class Panel:
    """Controls for the current law and gait of a live simulation."""

    def __init__(self, live: Any) -> None:
        self._live, self._gui = live, live.page.gui
        self._contact = self._gui.add_folder("Contact")
        self._motion = self._gui.add_folder("Motion")
        self._controls: list[Any] = []

    def fill(self) -> None:
        """Replace the controls by those of the current law and gait."""
        for old in self._controls:
            old.remove()
        with self._contact:
            self._controls = self._contact_controls()
        with self._motion:
            self._controls += self._motion_controls()

    def _contact_controls(self) -> list[Any]:
        """Create the controls for law, friction and time step."""
        gui, simulation = self._gui, self._live.simulation
        # law; a new one is compiled
        law = self._part_dropdown("Law", "law", LAWS)
        # friction; changes take effect at once
        controls, parameters = [law], simulation.law.parameters()
        for name in names_with_role(type(simulation.law), "friction"):
            if name in parameters:
                value = float(np.ravel(simulation.backend.get(f"law.{name}"))[0])
                limit = round(max(1.5, 2 * value), 2)
                slider = gui.add_slider(f"Friction {name}", 0.0, limit, 0.01, round(value, 2))
                self._connect_parameter(slider, name)
                controls.append(slider)
        # time step; applied by a button, because each value needs a new simulation
        step = gui.add_slider(
            "Time step / ms", MIN_STEP, MAX_STEP, 0.1, round(1e3 * self._live.choice.dt, 1)
        )
        apply = gui.add_button("Apply time step")
        apply.on_click(lambda _: self._rebuild(dt=step.value / 1e3))
        return [*controls, step, apply]

    def _part_dropdown(self, title: str, part: str, package: str) -> Any:
        """Create a dropdown of a package's members for one part of the simulation."""
        current = getattr(self._live.choice, part)
        names = sorted({*registry.names(package), current})
        control = self._gui.add_dropdown(title, names, initial_value=current)
        control.on_update(  # a page can send any text, and a path would run that file
            lambda _: self._rebuild(**{part: control.value}) if control.value in names else None
        )
        return control

    def _rebuild(self, **parts: Any) -> None:
        """Request a simulation with other parts."""
        self._live.request(lambda: self._live.rebuild(replace(self._live.choice, **parts)))

    def _connect_parameter(self, slider: Any, name: str) -> None:
        """Let a slider set a parameter of the law."""
        slider.on_update(
            lambda _: self._live.request(lambda: self._live.set(**{name: slider.value}))
        )

    def _motion_controls(self) -> list[Any]:
        """Create the controls for gait, commands and pushes."""
        gui, simulation = self._gui, self._live.simulation
        # gait; a new one is compiled
        gait = self._part_dropdown("Gait", "gait", GAITS)
        # commands
        controller = simulation.controller
        commands = controller.commands if isinstance(controller, Controller) else {}
        values = simulation.backend.output("command")[0] if commands else []
        controls = [gait]
        for (name, default), value in zip(commands.items(), values, strict=True):
            limit = max(1.0, 2 * abs(default), abs(float(value)))
            slider = gui.add_slider(name, -limit, limit, 0.01, float(value))
            self._connect_command(slider, name)
            controls.append(slider)
        # pushes on the trunk
        if simulation.plan.pushed_bodies:
            strength = gui.add_slider("Push / robot weights", 0.0, MAX_PUSH, 0.05, 0.5)
            controls.append(strength)
            for pair in (tuple(DIRECTIONS)[:2], tuple(DIRECTIONS)[2:]):  # four do not fit in a row
                buttons = gui.add_button_group("", pair)
                buttons.on_click(
                    lambda event: self._push(DIRECTIONS[event.target.value], strength.value)
                )
                controls.append(buttons)
        return controls

    def _push(self, direction: tuple[int, int], weights: float) -> None:
        """Request a push."""
        self._live.request(lambda: self._live.push(direction, weights))

    def _connect_command(self, slider: Any, name: str) -> None:
        """Let a slider set a command; the page shows a message if it is out of range."""
        slider.on_update(
            lambda _: self._live.request(lambda: self._live.set(command={name: slider.value}))
        )
