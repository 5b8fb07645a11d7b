"""The step that all candidates share, and what each of them writes into its registers."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.contact.base import Law
from tarsus.dynamics.robot import Robot
from tarsus.errors import InvalidValue, TarsusWarning, Unsupported, one_per_code, unknown_name
from tarsus.identification import matter
from tarsus.identification.unknowns import ALL, OF_BODIES, OF_JOINTS, UNITS, Unknown
from tarsus.parameters import declared, name_of
from tarsus.program.run import machine
from tarsus.simulation.simulation import Simulation
from tarsus.simulation.step_program import Plan
from tarsus.simulation.time_steps import DEFAULT_DT
from tarsus.simulation.varied import INERTIAL_COUNT
from tarsus.stepping.base import Stepper
from tarsus.terrain.base import Terrain

Array = NDArray[np.float64]
FAINT = 1e-9  # N m (N): of a joint without dry friction where it is identified
RESISTING = ("armature", "damping", "dry_friction")


@dataclass(frozen=True, eq=False)
class ModelParts:
    """What is simulated: as in `Simulation`, torques from outside.

    dt: s; options: of the simulation
    """

    robot: Robot
    law: Law
    terrain: Terrain
    stepper: Stepper | str = "midpoint"
    dt: float = DEFAULT_DT
    options: Mapping[str, Any] = field(default_factory=dict)


class Candidates:
    """Sets of numbers for the unknowns, as registers of one compiled step.

    TarsusError for an unknown that the model does not have.
    """

    def __init__(self, parts: ModelParts, unknowns: Sequence[Unknown]) -> None:
        # the step, with registers for what is identified
        self.unknowns = tuple(unknowns)
        self.law, self.terrain = parts.law, parts.terrain
        self.dt = parts.dt
        robot = _with_faint_friction(parts.robot, self.unknowns)
        _check(parts, robot, self.unknowns)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TarsusWarning)
            simulation = Simulation(
                robot,
                parts.law,
                parts.stepper,
                parts.terrain,
                None,
                parts.dt,
                worlds=machine.host().lanes(64),  # as wide as the batches: compiled once
                varied=_varied(parts, self.unknowns),
                **parts.options,
            )
        for notice in one_per_code(simulation.warnings):
            warnings.warn(notice.warning, stacklevel=2)
        self.plan: Plan = simulation.plan
        self.robot = robot
        self.mechanism = simulation.plan.scene.mechanism
        if self.mechanism.uncut is not None:
            raise Unsupported(
                'parameters can be identified only with coordinates = "minimal".', "coordinates"
            )
        worlds = simulation.backend
        self.program = simulation.program
        self.registers = {r.name: worlds.get(r.name) for r in self.program.persistent}
        self.start = np.array([_start(one, parts, robot) for one in self.unknowns])
        """Values at which the search begins."""

    def in_registers(self, values: Array) -> dict[str, Array]:
        """Registers by name, (candidates, size), of values (candidates, unknowns); a delay is in
        none.
        """
        # by what each is of
        found: dict[str, Array] = {}
        own = {one.name: values[:, k] for k, one in enumerate(self.unknowns)}
        terrain: dict[str, Array] = {}
        bodies: dict[str, dict[str, Array]] = {}
        for one in self.unknowns:
            value = own[one.name]
            if one.part == "law":
                found[f"law.{one.own}"] = value[:, None]
            elif one.part == "terrain":
                terrain[one.own] = value
            elif one.part == "mass":
                bodies.setdefault(one.own, {})["mass"] = value
            elif one.part in OF_BODIES:
                body, _, axis = one.own.rpartition(".")
                bodies.setdefault(body, {})[f"{one.part}.{axis}"] = value
            elif one.part in OF_JOINTS:
                self._of_joints(found, one, value)
        # of ground and bodies all together
        if terrain:
            ground: Any = replace(self.terrain, **terrain)
            found |= {f"terrain.{name}": v for name, v in ground.parameters().items()}
        if bodies:
            found["varied.inertia"] = self._of_bodies(bodies, len(values))
        return {name: np.broadcast_to(v, (len(values), v.shape[-1])) for name, v in found.items()}

    def delays(self, values: Array) -> Array:
        """By how much torques are late, s, (candidates,)."""
        for k, one in enumerate(self.unknowns):
            if one.part == "delay":
                return values[:, k]
        return np.zeros(len(values))

    def unit(self, one: Unknown) -> str:
        """Its SI unit."""
        if one.part == "law":
            return declared(type(self.law))[one.own].unit.strip("[]") or "1"
        if one.part == "terrain":
            return declared(type(self.terrain))[one.own].unit.strip("[]") or "1"
        if one.part in RESISTING:
            kinds = {b.joint.kind for b in self.mechanism.bodies if b.joint.name == one.own}
            sliding = kinds == {"slide"}
            units = {"armature": "kg m^2", "damping": "N m s/rad", "dry_friction": "N m"}
            straight = {"armature": "kg", "damping": "N s/m", "dry_friction": "N"}
            return (straight if sliding else units)[one.part]
        return UNITS[one.part]

    def _of_joints(self, found: dict[str, Array], one: Unknown, value: Array) -> None:
        """The column of a joint, or all columns."""
        register, names = f"varied.{one.part}", getattr(self.plan.varied, one.part)
        if self.plan.actuation is not None and one.part == "strength":
            register = "actuators.strength"
            names = tuple(a.name for a in self.mechanism.file_actuators)
        columns = found.setdefault(
            register, np.tile(self.registers[register][:1], (len(value), 1)).copy()
        )
        if one.own == ALL:
            columns[:] = value[:, None]
        else:
            columns[:, names.index(one.own)] = value

    def _of_bodies(self, bodies: Mapping[str, Mapping[str, Array]], count: int) -> Array:
        order = self.plan.varied.bodies(self.mechanism)
        change = np.zeros((count, INERTIAL_COUNT * len(order)))
        for name, values in bodies.items():
            i = self.mechanism.body_index(name)
            at = INERTIAL_COUNT * order.index(i)
            change[:, at : at + INERTIAL_COUNT] = matter.change_of_ten(
                self.mechanism.bodies[i].inertia, values
            )
        return change


def _with_faint_friction(robot: Robot, unknowns: Sequence[Unknown]) -> Robot:
    """The robot with dry friction where it is identified, however little: a joint that has none has
    no equation for it.
    """
    names = {one.own for one in unknowns if one.part == "dry_friction"}

    def body_of(body: Any) -> Any:
        joint = body.joint
        asked = joint.name in names or ALL in names
        if not asked or joint.rubs or joint.kind not in ("hinge", "slide"):
            return body
        return replace(body, joint=replace(joint, dry_friction=FAINT))

    return replace(robot, bodies=tuple(body_of(b) for b in robot.bodies)) if names else robot


def _varied(parts: ModelParts, unknowns: Sequence[Unknown]) -> dict[str, Any]:
    """What differs by world, as `Simulation` takes it; a file's actuators have a strength."""
    found: dict[str, Any] = {}
    motors = parts.options.get("actuators", "motor") == "motor"
    for one in unknowns:
        if one.part in OF_BODIES:
            body = one.own if one.part == "mass" else one.own.rpartition(".")[0]
            found.setdefault("mass", set()).add(body)
        elif one.part in RESISTING or (one.part == "strength" and motors):
            found.setdefault(one.part, set()).add(one.own)
    return {
        kind: ALL if ALL in names else [n for n in sorted(names)] for kind, names in found.items()
    }


def _check(parts: ModelParts, robot: Robot, unknowns: Sequence[Unknown]) -> None:
    """TarsusError for what law, terrain or robot do not have."""
    for one in unknowns:
        if one.part in ("law", "terrain"):
            owner: Any = parts.law if one.part == "law" else parts.terrain
            known = {n: p for n, p in declared(type(owner)).items() if p.numeric and not p.one}
            if one.own not in known or getattr(owner, one.own) is None:
                raise unknown_name(f"parameter of the {one.part} {name_of(owner)}", one.own, known)
            for end in (one.range.low, one.range.high):
                known[one.own].check(name_of(owner), end)
        elif one.part in OF_BODIES:
            body = one.own if one.part == "mass" else one.own.rpartition(".")[0]
            matter.check(body, robot.bodies[robot.body_index(body)].inertia)
            if one.part == "mass" and one.range.low <= 0:
                raise InvalidValue(
                    f"{one.name}: low must be above 0, not {one.range.low:g}: a mass is positive.",
                    one.name,
                )
        elif one.range.low < 0:
            raise InvalidValue(
                f"{one.name}: low must be at least 0, not {one.range.low:g}.", one.name
            )


def _start(one: Unknown, parts: ModelParts, robot: Robot) -> float:
    """Where its search begins: as told, as the model has it, or in the middle of its range."""
    if one.start is not None:
        return one.start
    # as the model has it
    own: Any = None
    if one.part in ("law", "terrain"):
        own = getattr(parts.law if one.part == "law" else parts.terrain, one.own)
    elif one.part == "mass":
        own = robot.bodies[robot.body_index(one.own)].inertia.mass
    elif one.part == "com":
        body, _, axis = one.own.rpartition(".")
        own = robot.bodies[robot.body_index(body)].inertia.com["xyz".index(axis)]
    elif one.part == "inertia":
        own = 0.0
    elif one.part == "strength":
        own = 1.0
    elif one.part in RESISTING:
        values = [
            getattr(b.joint, one.part)
            for b in parts.robot.bodies
            if b.joint.nq == 1 and one.own in (ALL, b.joint.name)
        ]
        own = float(np.mean(values)) if values else None
    if own is None or np.ndim(own) or not one.range.low <= float(own) <= one.range.high:
        return float(one.range.at(0.5))
    return float(own)
