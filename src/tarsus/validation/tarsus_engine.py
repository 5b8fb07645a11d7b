"""Tarsus as an engine: one law, one stepper, compiled once for each body."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tarsus.contact.base import Law
from tarsus.dynamics.robot import Robot
from tarsus.errors import TarsusError
from tarsus.model.mechanism import Mechanism
from tarsus.morphology.self_contacts import self_contacts
from tarsus.program.ir.program import Program
from tarsus.program.run import machine
from tarsus.program.run.worlds import Worlds
from tarsus.simulation import resolve
from tarsus.simulation.contact_reports import scatter_to_candidates
from tarsus.simulation.contact_selection import secondary_contacts
from tarsus.simulation.initial_registers import initial_registers, write_registers
from tarsus.simulation.step_program import Plan, step_program
from tarsus.stepping import joint_rows
from tarsus.stepping.base import Scene
from tarsus.terrain.slope import Slope
from tarsus.validation import bodies
from tarsus.validation.engine import Array, Engine, Motion, NotModeled, Start

SOFT_STEP = 2.5e-4  # s: a fiftieth of the shortest period of the default springs under these bodies


class Ours(Engine):
    """A law and a stepper by name, the law with its default parameters or those of `law_object`.

    Laws that give way take steps of 0.25 ms at most: theirs is a stability limit, not a choice.
    """

    def __init__(self, law: str, stepper: str, law_object: Law | None = None) -> None:
        self.law, self.stepper = law, stepper
        self._law, self._stepper = law_object or resolve.law(law), resolve.stepper(stepper)
        self.order = self._stepper.order
        self.not_modeled, self.impulsive = self._law.not_modeled, self._law.impulsive
        self.parameters = frozenset(self._law.parameters())
        self._compiled: dict[tuple[Any, ...], tuple[Plan, Program]] = {}

    def step(self, dt: float) -> float:
        return min(dt, SOFT_STEP) if not self.impulsive else dt

    def refusal(self) -> str:
        try:
            self._program(Start(bodies.point_mass(), bodies.pose(np.zeros(3))))
        except TarsusError as error:
            return str(error)
        return ""

    def motion(self, start: Start, dt: float, steps: int, skip: int) -> Motion:
        plan, program = self._program(start)
        ground = Slope(np.asarray(start.slope)).parameters()
        law = {name: np.asarray(value)[:, None] for name, value in start.parameters.items()}
        changed: dict[str, Array] = {"q": np.asarray(start.q), "u": np.asarray(start.u)}
        changed |= {f"terrain.{name}": value for name, value in ground.items()}
        changed |= {f"law.{name}": value for name, value in law.items()}
        worlds = Worlds(program, start.worlds, lanes=machine.host().lanes(64))
        write_registers(worlds, initial_registers(plan, dt, changed))
        if start.pushed:
            log = _recorded_pushed(worlds, start, dt, steps, skip)
        else:
            if skip:
                worlds.advance(skip)
            log = worlds.record(steps)
        impulse = log["impulse"].reshape(steps, start.worlds, -1, 3)
        if plan.scene.slots:
            impulse = scatter_to_candidates(plan.scene, impulse, log["memory"])
        joints = np.zeros_like(log["u"])
        if "joints" in log:
            joints = sum(joint_rows.placed(plan.scene, log["joints"])[:2], joints)
        return Motion(log["q"], log["u"], impulse, log["converged"][..., 0] > 0, dt, joints)

    def _program(self, start: Start) -> tuple[Plan, Program]:
        body, pushed = start.body, start.pushed
        gravity = tuple(body.gravity_acceleration)
        key = body.name, gravity, start.controller, pushed, start.limits, start.bounce
        if key not in self._compiled:
            scene = replace(self._scene(body), limits=start.limits, bounce=start.bounce)
            if start.limits and not joint_rows.reported(scene, self._stepper):
                raise NotModeled(
                    "the stepper models joint limits as springs and dry friction as a damper",
                    "stepper",
                )
            bodies_pushed = (body.bodies[0].name,) if pushed else ()
            plan = Plan(scene, self._stepper, start.controller, pushed_bodies=bodies_pushed)
            self._compiled[key] = plan, step_program(plan)
        return self._compiled[key]

    def _scene(self, body: Mechanism) -> Scene:
        """With all contacts that objects may have with each other."""
        pairs = self_contacts(body, False).kept
        scene = Scene(body, self._law, Slope(0.0), body.candidates, pairs=pairs)
        if not pairs:
            return scene
        if not self._stepper.takes_slots:
            raise NotModeled(
                "the stepper evaluates contacts several times per step, so objects do not collide",
                "objects",
            )
        robot = Robot.of(body)
        rare, slots = secondary_contacts(robot, body.candidates, self._stepper, None, len(pairs))
        return replace(scene, secondary=rare, slots=slots)


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
