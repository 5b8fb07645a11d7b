"""Candidates of an identification: one compiled step, and the registers of each candidate."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.contact.base import Law
from tarsus.control.actuators.encoder import Encoder
from tarsus.control.actuators.lag import Lag
from tarsus.dynamics import tree
from tarsus.dynamics.robot import Robot
from tarsus.errors import (
    InvalidValue,
    TarsusWarning,
    UnmetCondition,
    Unsupported,
    one_per_code,
    unknown_name_error,
)
from tarsus.identification import inertial_parameters
from tarsus.identification.unknowns import (
    ALL,
    BODY_KINDS,
    FRICTION_KINDS,
    JOINT_KINDS,
    MOTOR_KINDS,
    SIGNED_KINDS,
    SPRING_KINDS,
    UNITS,
    Unknown,
)
from tarsus.model.friction import FrictionVariation
from tarsus.model.mechanism import Joint
from tarsus.parameters import declared_fields, name_of
from tarsus.program.run import machine
from tarsus.simulation.actuation import resolve_actuators
from tarsus.simulation.simulation import Simulation
from tarsus.simulation.step_program import Plan
from tarsus.simulation.time_steps import DEFAULT_DT
from tarsus.simulation.varied import INERTIAL_COUNT, joint_value
from tarsus.stepping.base import Stepper
from tarsus.terrain.base import Terrain

Array = NDArray[np.float64]
MIN_DRY_FRICTION = 1e-9  # N m (N): start value for a joint without dry friction
MIN_STIFFNESS = 1e-9  # N m/rad (N/m): start value for a joint without a spring
JOINT_RESISTANCES = ("armature", "damping", "dry_friction", *SPRING_KINDS, *FRICTION_KINDS)
JOINT_UNITS = {  # of hinges, and of slides
    "armature": ("kg m^2", "kg"),
    "damping": ("N m s/rad", "N s/m"),
    "dry_friction": ("N m", "N"),
    "stiffness": ("N m/rad", "N/m"),
    "rest": ("rad", "m"),
    "friction_slope": ("N m/rad", "N/m"),
    "friction_curvature": ("N m/rad^2", "N/m^2"),
    "stribeck": ("N m", "N"),
    "stribeck_rate": ("rad/s", "m/s"),
    "load_friction": ("1", "1"),
    "back_load_friction": ("1", "1"),
    "encoder_offset": ("rad", "m"),
}
MODEL_NUMBERS = {"lag": "time_constant", "encoder_offset": "encoder_offset"}  # of actuator models


@dataclass(frozen=True, eq=False)
class ModelParts:
    """Model of an identification, as for a `Simulation` with external torques.

    Attributes
    ----------
    robot, law, terrain, stepper
        Parts of the simulation.
    dt
        Step size, in s.
    options
        Other options of the simulation.
    measured
        Whether the coordinates of the log are readings of encoders, with their offsets.
    """

    robot: Robot
    law: Law
    terrain: Terrain
    stepper: Stepper | str = "midpoint"
    dt: float = DEFAULT_DT
    options: Mapping[str, Any] = field(default_factory=dict)
    measured: bool = False


class Candidates:
    """Sets of values of the unknowns, as registers of one compiled step.

    Parameters
    ----------
    parts
        Model of the identification.
    unknowns
        Numbers to be identified.

    Attributes
    ----------
    start
        Initial values of the search, shape (unknowns,).

    Raises
    ------
    TarsusError
        For an unknown that the model does not have.
    """

    def __init__(self, parts: ModelParts, unknowns: Sequence[Unknown]) -> None:
        # compile the step with registers for the unknowns
        self.unknowns = tuple(unknowns)
        self.law, self.terrain = parts.law, parts.terrain
        self.dt, self.measured = parts.dt, parts.measured
        robot = _add_unknown_parts(parts.robot, self.unknowns)
        _check_unknowns(parts, robot, self.unknowns)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TarsusWarning)
            simulation = Simulation(
                robot,
                parts.law,
                parts.stepper,
                parts.terrain,
                None,
                parts.dt,
                worlds=machine.detect_host().lanes(
                    64
                ),  # as wide as the batches, so that it is compiled once
                varied=_collect_varied(parts, self.unknowns),
                **_add_motor_models(parts, self.unknowns),
            )
        for notice in one_per_code(simulation.warnings):
            warnings.warn(notice.warning, stacklevel=2)
        self.plan: Plan = simulation.plan
        self.robot = robot
        self.mechanism = simulation.plan.scene.mechanism
        if self.mechanism.uncut is not None:
            raise Unsupported('identification requires coordinates = "minimal".', "coordinates")
        worlds = simulation.backend
        self.program = simulation.program
        self.registers = {r.name: worlds.get(r.name) for r in self.program.persistent}
        self.start = np.array([_choose_start(one, parts, robot) for one in self.unknowns])

    def registers_for(self, values: Array) -> dict[str, Array]:
        """Compute registers, (candidates, size) each, for values of shape (candidates, unknowns).

        Delays are in no register.
        """
        # by the kind of each unknown
        registers: dict[str, Array] = {}
        columns = {one.name: values[:, k] for k, one in enumerate(self.unknowns)}
        terrain: dict[str, Array] = {}
        bodies: dict[str, dict[str, Array]] = {}
        for one in self.unknowns:
            value = columns[one.name]
            if one.part == "law":
                registers[f"law.{one.parameter}"] = value[:, None]
            elif one.part == "terrain":
                terrain[one.parameter] = value
            elif one.part == "mass":
                bodies.setdefault(one.parameter, {})["mass"] = value
            elif one.part in BODY_KINDS:
                body, _, axis = one.parameter.rpartition(".")
                bodies.setdefault(body, {})[f"{one.part}.{axis}"] = value
            elif one.part in JOINT_KINDS:
                self._set_joints(registers, one, value)
            elif one.part in MODEL_NUMBERS:
                self._set_motors(registers, one, value)
        # terrain and bodies as a whole
        if terrain:
            ground: Any = replace(self.terrain, **terrain)
            registers |= {f"terrain.{name}": v for name, v in ground.parameters().items()}
        if bodies:
            registers["varied.inertia"] = self._compute_inertia_changes(bodies, len(values))
        return {
            name: np.broadcast_to(v, (len(values), v.shape[-1])) for name, v in registers.items()
        }

    def delays(self, values: Array) -> Array:
        """Compute the delays of the candidates' actions, shape (candidates, actions), in s."""
        if self.plan.actuation is None:
            joints = [motor.joint for motor in self.mechanism.actuators]
        else:
            joints = [actuator.joint for actuator in self.mechanism.file_actuators]
        return self._select_by_joint("delay", joints, values)

    def offsets(self, values: Array) -> Array:
        """Compute the log's coordinates minus the true ones, shape (candidates, nq)."""
        offsets = np.zeros((len(values), self.mechanism.nq))
        if self.measured:
            names = [b.joint.name for b in self.mechanism.bodies if b.joint.nq == 1]
            columns = [self.mechanism.q_slices[self.mechanism.joint_index(n)].start for n in names]
            offsets[:, columns] = self._select_by_joint("encoder_offset", names, values)
        return offsets

    def _select_by_joint(self, kind: str, joints: Sequence[str], values: Array) -> Array:
        """Return the values of unknowns of one kind, shape (candidates, joints); others are 0."""
        columns = np.zeros((len(values), len(joints)))
        for k, one in enumerate(self.unknowns):
            if one.part == kind:
                columns[:, [matches(one.parameter, name) for name in joints]] = values[:, [k]]
        return columns

    def unit_of(self, unknown: Unknown) -> str:
        """Return the SI unit of an unknown."""
        if unknown.part == "law":
            return declared_fields(type(self.law))[unknown.parameter].unit.strip("[]") or "1"
        if unknown.part == "terrain":
            return declared_fields(type(self.terrain))[unknown.parameter].unit.strip("[]") or "1"
        if unknown.part in JOINT_UNITS:
            bodies = self.mechanism.bodies
            kinds = {b.joint.kind for b in bodies if matches(unknown.parameter, b.joint.name)}
            return JOINT_UNITS[unknown.part][kinds == {"slide"}]
        return UNITS[unknown.part]

    def _set_joints(self, registers: dict[str, Array], unknown: Unknown, value: Array) -> None:
        """Write the column of a joint, or all columns, into `registers`."""
        register, names = f"varied.{unknown.part}", getattr(self.plan.varied, unknown.part)
        if self.plan.actuation is not None and unknown.part == "strength":
            register = "actuators.strength"
            names = tuple(a.name for a in self.mechanism.file_actuators)
        columns = registers.setdefault(
            register, np.tile(self.registers[register][:1], (len(value), 1)).copy()
        )
        chosen = [matches(unknown.parameter, name) for name in names]
        columns[:, chosen] = value[:, None]

    def _set_motors(self, registers: dict[str, Array], unknown: Unknown, value: Array) -> None:
        """Write the column of a joint's actuator, or all columns, into `registers`."""
        register = f"actuators.{MODEL_NUMBERS[unknown.part]}"
        if register not in self.registers:
            return  # an encoder of a motor, which does not read its joint
        columns = registers.setdefault(
            register, np.tile(self.registers[register][:1], (len(value), 1)).copy()
        )
        joints = [actuator.joint for actuator in self.mechanism.file_actuators]
        columns[:, [matches(unknown.parameter, joint) for joint in joints]] = value[:, None]

    def _compute_inertia_changes(
        self, bodies: Mapping[str, Mapping[str, Array]], count: int
    ) -> Array:
        order = self.plan.varied.bodies(self.mechanism)
        change = np.zeros((count, INERTIAL_COUNT * len(order)))
        for name, values in bodies.items():
            i = self.mechanism.body_index(name)
            start = INERTIAL_COUNT * order.index(i)
            change[:, start : start + INERTIAL_COUNT] = (
                inertial_parameters.linear_parameter_changes(
                    self.mechanism.bodies[i].inertia, values
                )
            )
        return change


def matches(pattern: str, name: str) -> bool:
    """Return whether the joint part of an unknown selects a joint or motor of this name."""
    return pattern == ALL or name == pattern or fnmatchcase(name, pattern)


def independent_unknowns(
    robot: Robot, unknowns: Sequence[Unknown]
) -> list[tuple[list[int], list[NDArray[np.bool_]]]]:
    """Group unknowns that affect different joints, so that they can be moved at once.

    Without contact, trees on fixed bases do not affect each other.

    Returns
    -------
    list of tuple
        Indices of the unknowns of each group, and for each of them a mask (nu,) of the velocities
        that it affects. Empty if the robot has a floating base or an unknown is not of joints.
    """
    roots = [tree.support_path(robot, i)[-1] for i in range(len(robot.bodies))]
    fixed = all(body.joint.kind in ("hinge", "slide") for body in robot.bodies)
    local = (*JOINT_RESISTANCES, *MOTOR_KINDS)
    if not fixed or robot.constrained or any(one.part not in local for one in unknowns):
        return []
    reaches = []
    for one in unknowns:
        chosen = {
            roots[i] for i, b in enumerate(robot.bodies) if matches(one.parameter, b.joint.name)
        }
        reaches.append(np.array([root in chosen for root in roots]))
    groups: list[tuple[list[int], list[NDArray[np.bool_]]]] = []
    for k, reach in enumerate(reaches):
        for members, masks in groups:
            if not any((reach & other).any() for other in masks):
                members.append(k)
                masks.append(reach)
                break
        else:
            groups.append(([k], [reach]))
    return groups


def _add_unknown_parts(robot: Robot, unknowns: Sequence[Unknown]) -> Robot:
    """Add tiny friction and springs to the joints in which they are identified.

    A joint without dry friction or spring has no equation for it.
    """

    def joint_of(joint: Joint) -> Joint:
        if joint.kind not in ("hinge", "slide"):
            return joint
        parts = {one.part for one in unknowns if matches(one.parameter, joint.name)}
        changed: dict[str, Any] = {}
        if parts & {"dry_friction", *FRICTION_KINDS} and not joint.has_dry_friction:
            changed["dry_friction"] = MIN_DRY_FRICTION
        if parts & set(SPRING_KINDS) and not joint.has_spring:
            changed["stiffness"] = MIN_STIFFNESS
        if parts & set(FRICTION_KINDS) and joint.friction is None:
            changed["friction"] = FrictionVariation()
        return replace(joint, **changed) if changed else joint

    bodies = tuple(replace(b, joint=joint_of(b.joint)) for b in robot.bodies)
    return replace(robot, bodies=bodies)


def _collect_varied(parts: ModelParts, unknowns: Sequence[Unknown]) -> dict[str, Any]:
    """Collect the differences between worlds, in the form that `Simulation` expects.

    The actuators of a file have a strength already.
    """
    kinds: dict[str, Any] = {}
    motors = parts.options.get("actuators", "motor") == "motor"
    for one in unknowns:
        if one.part in BODY_KINDS:
            body = one.parameter if one.part == "mass" else one.parameter.rpartition(".")[0]
            kinds.setdefault("mass", set()).add(body)
        elif one.part in JOINT_RESISTANCES or (one.part == "strength" and motors):
            names = [b.joint.name for b in parts.robot.bodies]
            chosen = {name for name in names if matches(one.parameter, name)}
            if not chosen:
                raise unknown_name_error("joint", one.parameter, names)
            kinds.setdefault(one.part, set()).update({ALL} if one.parameter == ALL else chosen)
    return {
        kind: ALL if ALL in names else [n for n in sorted(names)] for kind, names in kinds.items()
    }


def _add_motor_models(parts: ModelParts, unknowns: Sequence[Unknown]) -> dict[str, Any]:
    """Add the actuator models of unknown lags and encoder offsets to the simulation's options.

    Unknown delays act on the actions, not in the step.
    """
    options, kinds = dict(parts.options), {one.part for one in unknowns} & set(MOTOR_KINDS)
    actuators, _ = resolve_actuators(options.get("actuators", "motor"), None)
    if actuators is None:
        unneeded = {"delay", "encoder_offset"} if parts.measured else {"delay"}
        if kinds <= unneeded:
            return options
        kind = min(kinds - unneeded)
        raise UnmetCondition(
            f'{kind} needs the actuators of the robot\'s file: set "option.actuators" = "file"'
            " under [model].",
            kind,
        )
    if not kinds:
        return options
    numbers = {
        name: np.array([[getattr(a, name) for a in parts.robot.file_actuators]])
        for name in MODEL_NUMBERS
    }
    models = {name_of(model): model for model in actuators.models}
    if "encoder_offset" in kinds and any(a.depends_on_state for a in parts.robot.file_actuators):
        models = {"encoder": Encoder(numbers["encoder_offset"], 0.0)} | models
    if "lag" in kinds:
        models.setdefault("lag", Lag(numbers["lag"]))
    changed = replace(actuators, models=tuple(models.values()))
    options["actuators"] = replace(changed, delay=0) if "delay" in kinds else changed
    return options


def _check_unknowns(parts: ModelParts, robot: Robot, unknowns: Sequence[Unknown]) -> None:
    """Raise TarsusError for unknowns that law, terrain or robot do not have."""
    joints = [body.joint.name for body in robot.bodies]
    for one in unknowns:
        if one.part in MOTOR_KINDS and not any(matches(one.parameter, name) for name in joints):
            raise unknown_name_error("joint", one.parameter, joints)
        if one.part in ("law", "terrain"):
            owner: Any = parts.law if one.part == "law" else parts.terrain
            known = {
                n: p
                for n, p in declared_fields(type(owner)).items()
                if p.is_numeric and not p.scalar
            }
            if one.parameter not in known or getattr(owner, one.parameter) is None:
                raise unknown_name_error(
                    f"parameter of the {one.part} {name_of(owner)}", one.parameter, known
                )
            for end in (one.range.low, one.range.high):
                known[one.parameter].check(name_of(owner), end)
        elif one.part in BODY_KINDS:
            body = one.parameter if one.part == "mass" else one.parameter.rpartition(".")[0]
            inertial_parameters.check(body, robot.bodies[robot.body_index(body)].inertia)
            if one.part == "mass" and one.range.low <= 0:
                raise InvalidValue(
                    f"{one.name}: low must be above 0, not {one.range.low:g}: a mass is positive.",
                    one.name,
                )
        elif one.range.low < 0 and one.part not in SIGNED_KINDS:
            raise InvalidValue(
                f"{one.name}: low must be at least 0, not {one.range.low:g}.", one.name
            )


def _choose_start(unknown: Unknown, parts: ModelParts, robot: Robot) -> float:
    """Choose the initial value of an unknown: given, from the model, or mid-range."""
    if unknown.start is not None:
        return unknown.start
    # value of the model
    value: Any = None
    if unknown.part in ("law", "terrain"):
        value = getattr(parts.law if unknown.part == "law" else parts.terrain, unknown.parameter)
    elif unknown.part == "mass":
        value = robot.bodies[robot.body_index(unknown.parameter)].inertia.mass
    elif unknown.part == "com":
        body, _, axis = unknown.parameter.rpartition(".")
        value = robot.bodies[robot.body_index(body)].inertia.com["xyz".index(axis)]
    elif unknown.part == "inertia":
        value = 0.0
    elif unknown.part == "strength":
        value = 1.0
    elif unknown.part in MOTOR_KINDS:
        values = [
            getattr(a, unknown.part)
            for a in robot.file_actuators
            if matches(unknown.parameter, a.joint)
        ]
        value = float(np.mean(values)) if values else 0.0
    elif unknown.part in JOINT_RESISTANCES:
        values = [
            joint_value(unknown.part, b.joint)
            for b in robot.bodies
            if b.joint.nq == 1 and matches(unknown.parameter, b.joint.name)
        ]
        value = float(np.mean(values)) if values else None
    if (
        value is None
        or np.ndim(value)
        or not unknown.range.low <= float(value) <= unknown.range.high
    ):
        return float(unknown.range.at(0.5))
    return float(value)
