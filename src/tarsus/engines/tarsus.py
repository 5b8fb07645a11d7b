"""Tarsus as an engine: a law and a stepper, compiled once per mechanism."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tarsus.contact.base import Law
from tarsus.dynamics.robot import Robot
from tarsus.engines.base import (
    Array,
    Engine,
    Feedback,
    Motion,
    NotModeled,
    Session,
    Start,
    Torques,
)
from tarsus.errors import TarsusError
from tarsus.model.mechanism import Body, Candidate, Inertia, Joint, Mechanism
from tarsus.morphology.self_contacts import self_contacts
from tarsus.program.ir.program import Program
from tarsus.program.run import machine
from tarsus.program.run.worlds import Worlds
from tarsus.simulation import resolve
from tarsus.simulation.contact_reports import scatter_to_candidates
from tarsus.simulation.contact_selection import secondary_contacts
from tarsus.simulation.initial_registers import initial_registers, write_registers
from tarsus.simulation.simulation import Simulation
from tarsus.simulation.snapshot import ACTION
from tarsus.simulation.step_program import Plan, step_program
from tarsus.stepping import lockable_joints
from tarsus.stepping.base import Scene
from tarsus.terrain.slope import Slope

NAME = "tarsus"
SOFT_STEP = 2.5e-4  # s: a fiftieth of the shortest period of the default springs under these bodies


class TarsusEngine(Engine):
    """A law and a stepper by name; the law has its default parameters or those of `law_object`.

    Compliant laws take steps of 0.25 ms at most: theirs is a stability limit, not a choice.

    Parameters
    ----------
    law, stepper
        Names, or the path to a Python file with a law of one's own.
    law_object
        Law with other parameters.
    threads
        Number of threads that share the worlds; results do not depend on it.
    """

    peer = False

    def __init__(
        self, law: str, stepper: str, law_object: Law | None = None, threads: int = 1
    ) -> None:
        self.law, self.stepper = law, stepper
        self._law, self._stepper = (
            law_object or resolve.resolve_law(law),
            resolve.resolve_stepper(stepper),
        )
        self.order, self._threads = self._stepper.order, threads
        self.not_modeled, self.impulsive = self._law.not_modeled, self._law.impulsive
        self.parameters = frozenset(self._law.parameters())
        self._compiled: dict[tuple[Any, ...], tuple[Plan, Program]] = {}

    def step(self, dt: float) -> float:
        return min(dt, SOFT_STEP) if not self.impulsive else dt

    def why_unsuitable(self) -> str:
        try:
            self._program(Start(_build_point_mass(), [0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]))
        except TarsusError as error:
            return str(error)
        return ""

    def begin(self, start: Start, dt: float) -> CompiledWorlds:
        plan, program = self._program(start)
        ground = Slope(np.asarray(start.slope), np.asarray(start.heading)).parameters()
        law = {name: np.asarray(value)[:, None] for name, value in start.parameters.items()}
        changed: dict[str, Array] = {"q": np.asarray(start.q), "u": np.asarray(start.u)}
        changed |= {f"terrain.{name}": value for name, value in ground.items()}
        changed |= {f"law.{name}": value for name, value in law.items()}
        lanes = machine.detect_host().lanes(64)
        worlds = Worlds(program, start.worlds, threads=self._threads, lanes=lanes)
        write_registers(worlds, initial_registers(plan, dt, changed))
        return CompiledWorlds(plan, worlds, start, dt)

    def _program(self, start: Start) -> tuple[Plan, Program]:
        body, pushed = start.body, start.pushed
        gravity = tuple(body.gravity_acceleration)
        key = body.name, gravity, start.controller, pushed, start.limits, start.bounce
        if key not in self._compiled:
            scene = replace(self._build_scene(body), limits=start.limits, bounce=start.bounce)
            if start.limits and not lockable_joints.are_reported(scene, self._stepper):
                raise NotModeled(
                    "the stepper models joint limits as springs and dry friction as a damper",
                    "stepper",
                )
            bodies_pushed = (body.bodies[0].name,) if pushed else ()
            plan = Plan(scene, self._stepper, start.controller, pushed_bodies=bodies_pushed)
            self._compiled[key] = plan, step_program(plan)
        return self._compiled[key]

    def _build_scene(self, body: Mechanism) -> Scene:
        """Build the scene with all contacts that objects may have with each other."""
        pairs = self_contacts(body, False).possible
        scene = Scene(body, self._law, Slope(0.0), body.candidates, pairs=pairs)
        if not pairs:
            return scene
        if not self._stepper.supports_slots:
            raise NotModeled(
                "the stepper evaluates contacts several times per step, so objects do not collide",
                "objects",
            )
        robot = Robot.of(body)
        secondary, slots = secondary_contacts(
            robot, body.candidates, self._stepper, None, len(pairs)
        )
        return replace(scene, secondary=secondary, slots=slots)


class CompiledWorlds(Session):
    """Worlds of a plan in registers, without the additions of a `Simulation`.

    Parameters
    ----------
    plan
        The plan that was compiled.
    compiled
        Its worlds at their start.
    start
        Where they start, and how they are pushed.
    dt
        Length of a step, in s.
    """

    def __init__(self, plan: Plan, compiled: Worlds, start: Start, dt: float) -> None:
        self._plan, self._compiled, self._start, self._done = plan, compiled, start, 0
        self._feedback: Feedback | None = None
        self.dt, self.worlds = dt, compiled.count

    def state(self) -> tuple[Array, Array]:
        return self._compiled.get("q"), self._compiled.get("u")

    def drive(self, torques: Torques) -> None:
        if not self._compiled.program.sizes.get(ACTION):
            raise NotModeled("the robot has a compiled controller, or no motors", "torques")
        self._feedback = torques if callable(torques) else None
        if not callable(torques):
            self._compiled.set(ACTION, np.asarray(torques, float))

    def advance(self, steps: int) -> None:
        for count in self._split_at_changes(steps):
            self._compiled.advance(count)

    def record(self, steps: int) -> Motion:
        parts = [self._compiled.record(count) for count in self._split_at_changes(steps)]
        log = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
        scene = self._plan.scene
        impulse = log["impulse"].reshape(steps, self.worlds, -1, 3)
        if scene.slots:
            impulse = scatter_to_candidates(scene, impulse, log["memory"])
        joints = np.zeros_like(log["u"])
        if "joints" in log:
            joints = sum(lockable_joints.split_recorded(scene, log["joints"])[:2], joints)
        converged = log["converged"][..., 0] > 0
        return Motion(log["q"], log["u"], impulse, converged, self.dt, joints)

    def _split_at_changes(self, steps: int) -> Iterator[int]:
        """Set the forces; yield the number of steps until they change."""
        changing = self._feedback is not None or self._start.pushed
        for _ in range(steps if changing else 1):
            if self._feedback is not None:
                self._compiled.set(ACTION, self._feedback(self._done * self.dt, *self.state()))
            if self._start.pushed:
                force = self._start.push_at((self._done + 0.5) * self.dt)
                self._compiled.set("push", np.hstack([force, np.zeros_like(force)]))
            count = 1 if changing else steps
            self._done += count
            yield count


class SimulationSession(Session):
    """`Simulation` of one or many worlds, driven by its own controller."""

    def __init__(self, simulation: Simulation) -> None:
        self.simulation = simulation
        self.dt, self.worlds = simulation.dt, simulation.worlds

    def state(self) -> tuple[Array, Array]:
        q, u = self.simulation.q, self.simulation.u
        return np.atleast_2d(q).astype(float), np.atleast_2d(u).astype(float)

    def advance(self, steps: int) -> None:
        self.simulation.advance(steps * self.dt)

    def put(
        self, q: Array | None = None, u: Array | None = None, where: ArrayLike | None = None
    ) -> None:
        """Write coordinates (worlds, nq) or velocities (worlds, nu) of all or masked worlds."""
        given = {name: self._rows(v) for name, v in (("q", q), ("u", u)) if v is not None}
        self.simulation.set(where, **given)

    @property
    def touching(self) -> NDArray[np.bool_]:
        """Whether each contact candidate exerts a force (worlds, candidates)."""
        force = np.asarray(self.simulation.contact_force)
        return (force[None] if self.worlds == 1 else force)[..., 0] > 0

    @property
    def converged(self) -> NDArray[np.bool_]:
        """Whether the last step's contact problem was solved (worlds,)."""
        return np.atleast_1d(self.simulation.converged)

    def _rows(self, values: ArrayLike) -> Any:
        """Values in the shape that a `Simulation` expects: without rows if it has one world."""
        rows = np.asarray(values, float)
        return rows[0] if self.worlds == 1 and rows.ndim == 2 else rows


def _build_point_mass() -> Mechanism:
    """Build a body that touches with its center only, which every law and stepper can move."""
    body = Body("point", -1, Joint("free", "free"), Inertia(1.0, np.zeros(3), 0.01 * np.eye(3)))
    touching = (Candidate("center", 0, np.zeros(3)),)
    return Mechanism("point", (body,), touching, gravity_acceleration=(0.0, 0.0, -9.81))
