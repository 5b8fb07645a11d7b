"""The controls of a live simulation: law, friction, step, gait, commands, pushes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tarsus import registry
from tarsus.control.base import Controller
from tarsus.parameters import names_with_role

LAWS, GAITS = "tarsus.contact.laws", "tarsus.control.gaits"
WEIGHTS = 2.0  # most of a push, in robots' weights
SHORTEST, LONGEST = 0.1, 20.0  # ms, of the step's slider
WAYS = {"forward": (1, 0), "back": (-1, 0), "left": (0, 1), "right": (0, -1)}


@dataclass(frozen=True)
class Choice:
    """What a simulation is made of, as far as the page changes it; dt: s."""

    law: str
    gait: str
    dt: float
    worlds: int = 1


class Panel:
    """The controls that fit the law and the gait of a live simulation, which grants their wishes
    between two frames.
    """

    def __init__(self, live: Any) -> None:
        self._live, self._gui = live, live.page.gui
        self._contact = self._gui.add_folder("Contact")
        self._motion = self._gui.add_folder("Motion")
        self._controls: list[Any] = []

    def fill(self) -> None:
        """The controls of the law and the gait, for those there are."""
        for old in self._controls:
            old.remove()
        with self._contact:
            self._controls = self._contact_panel()
        with self._motion:
            self._controls += self._motion_panel()

    def _contact_panel(self) -> list[Any]:
        """Law, friction, step: the controls."""
        gui, simulation = self._gui, self._live.simulation
        # the law; another one is compiled
        law = self._chosen("Law", "law", LAWS)
        # its friction, at once
        made, held = [law], simulation.law.parameters()
        for name in (
            name for name in names_with_role(type(simulation.law), "friction") if name in held
        ):
            value = float(np.ravel(simulation.backend.get(f"law.{name}"))[0])
            most = round(max(1.5, 2 * value), 2)
            slider = gui.add_slider(f"Friction {name}", 0.0, most, 0.01, round(value, 2))
            self._sets(slider, name)
            made.append(slider)
        # the step, when it is asked for: each one is a new simulation
        step = gui.add_slider(
            "Step / ms", SHORTEST, LONGEST, 0.1, round(1e3 * self._live.choice.dt, 1)
        )
        remake = gui.add_button("Take this step")
        remake.on_click(lambda _: self._remade(dt=step.value / 1e3))
        return [*made, step, remake]

    def _chosen(self, title: str, part: str, package: str) -> Any:
        """A choice among the members of a package for a part of the simulation."""
        now = getattr(self._live.choice, part)
        names = sorted({*registry.names(package), now})
        control = self._gui.add_dropdown(title, names, initial_value=now)
        control.on_update(  # a page can send any text: a path would run the file there
            lambda _: self._remade(**{part: control.value}) if control.value in names else None
        )
        return control

    def _remade(self, **parts: Any) -> None:
        """Wish for a simulation with other parts."""
        self._live.wish(lambda: self._live.remake(replace(self._live.choice, **parts)))

    def _sets(self, slider: Any, name: str) -> None:
        """The slider sets a parameter of the law."""
        slider.on_update(lambda _: self._live.wish(lambda: self._live.set(**{name: slider.value})))

    def _motion_panel(self) -> list[Any]:
        """Gait, commands, pushes: the controls."""
        gui, simulation = self._gui, self._live.simulation
        # the gait; another one is compiled
        gait = self._chosen("Gait", "gait", GAITS)
        # what it is told
        controller = simulation.controller
        commands = controller.commands if isinstance(controller, Controller) else {}
        told = simulation.backend.output("command")[0] if commands else []
        made = [gait]
        for (name, default), now in zip(commands.items(), told, strict=True):
            reach = max(1.0, 2 * abs(default), abs(float(now)))
            slider = gui.add_slider(name, -reach, reach, 0.01, float(now))
            self._commanded(slider, name)
            made.append(slider)
        # pushes on the trunk
        if simulation.plan.pushed_bodies:
            strength = gui.add_slider("Push / weights", 0.0, WEIGHTS, 0.05, 0.5)
            made.append(strength)
            for pair in (tuple(WAYS)[:2], tuple(WAYS)[2:]):  # four do not fit into one row
                ways = gui.add_button_group("", pair)
                ways.on_click(lambda event: self._pushed(WAYS[event.target.value], strength.value))
                made.append(ways)
        return made

    def _pushed(self, way: tuple[int, int], weights: float) -> None:
        """Wish for a push."""
        self._live.wish(lambda: self._live.push(way, weights))

    def _commanded(self, slider: Any, name: str) -> None:
        """The slider sets a command; one that is out of reach is told."""
        slider.on_update(
            lambda _: self._live.wish(lambda: self._live.set(command={name: slider.value}))
        )
