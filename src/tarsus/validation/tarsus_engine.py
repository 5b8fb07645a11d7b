"""Tarsus as an engine: one law, one stepper, compiled once for each body."""

from __future__ import annotations

import numpy as np

from tarsus.control.base import Controller
from tarsus.errors import TarsusError
from tarsus.model.mechanism import Mechanism
from tarsus.program.ir.blocks import Program
from tarsus.program.run import native
from tarsus.program.run.worlds import Worlds
from tarsus.simulation import resolve
from tarsus.simulation.loading import loaded, start_registers
from tarsus.simulation.step_program import Plan, step_program
from tarsus.stepping.base import Scene
from tarsus.terrain.slope import Slope
from tarsus.validation import bodies
from tarsus.validation.engine import Array, Engine, Motion, Start

SOFT_STEP = 2.5e-4  # s: a fiftieth of the shortest period of the default springs under these bodies


class Ours(Engine):
    """A law and a stepper by name, the law with its default parameters.

    Laws that give way take steps of 0.25 ms at most: theirs is a stability limit, not a choice.
    """

    def __init__(self, law: str, stepper: str) -> None:
        self.law, self.stepper = law, stepper
        self._law, self._stepper = resolve.law(law), resolve.stepper(stepper)
        self.order = self._stepper.order
        self.not_modeled, self.impulsive = self._law.not_modeled, self._law.impulsive
        self.parameters = frozenset(self._law.parameters())
        self._compiled: dict[tuple[str, Controller | None, bool], tuple[Plan, Program]] = {}

    def step(self, dt: float) -> float:
        return min(dt, SOFT_STEP) if not self.impulsive else dt

    def refusal(self) -> str:
        try:
            self._program(bodies.point_mass())
        except TarsusError as error:
            return str(error)
        return ""

    def motion(self, start: Start, dt: float, steps: int, skip: int) -> Motion:
        plan, program = self._program(start.body, start.controller, start.pushed)
        ground = Slope(np.asarray(start.slope)).parameters()
        law = {name: np.asarray(value)[:, None] for name, value in start.parameters.items()}
        changed: dict[str, Array] = {"q": np.asarray(start.q), "u": np.asarray(start.u)}
        changed |= {f"terrain.{name}": value for name, value in ground.items()}
        changed |= {f"law.{name}": value for name, value in law.items()}
        worlds = Worlds(program, start.worlds, lanes=native.host().lanes(64))
        loaded(worlds, start_registers(plan, dt, changed))
        if start.pushed:
            log = _recorded_pushed(worlds, start, dt, steps, skip)
        else:
            if skip:
                worlds.advance(skip)
            log = worlds.record(steps)
        impulse = log["impulse"].reshape(steps, start.worlds, -1, 3)
        return Motion(log["q"], log["u"], impulse, log["converged"][..., 0] > 0, dt)

    def _program(
        self, body: Mechanism, controller: Controller | None = None, pushed: bool = False
    ) -> tuple[Plan, Program]:
        key = body.name, controller, pushed
        if key not in self._compiled:
            scene = Scene(body, self._law, Slope(0.0), body.candidates)
            bodies_pushed = (body.bodies[0].name,) if pushed else ()
            plan = Plan(scene, self._stepper, controller, pushed_bodies=bodies_pushed)
            self._compiled[key] = plan, step_program(plan)
        return self._compiled[key]


def _recorded_pushed(
    worlds: Worlds, start: Start, dt: float, steps: int, skip: int
) -> dict[str, Array]:
    """The log of the steps after `skip`, each with the push of its middle."""
    parts = []
    for k in range(skip + steps):
        force = start.push_at((k + 0.5) * dt)
        worlds.set("push", np.hstack([force, np.zeros_like(force)]))
        parts.append(worlds.record(1))
    return {name: np.concatenate([part[name] for part in parts[skip:]]) for name in parts[0]}
