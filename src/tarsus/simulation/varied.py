"""Vary quantities of robot and motors by world: `Simulation(..., varied=...)`, then `set`.

What is varied is a parameter of the compiled step; everything else stays a constant that is folded.
The inertia of a body enters as the change of its ten linear parameters (`tarsus.spatial.inertia`),
zero for the original robot. Armature, damping and dry friction are symbols instead of numbers.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.control.base import Controller
from tarsus.errors import IncompatibleOptions, InvalidValue, unknown_name_error
from tarsus.model.mechanism import Body, Inertia, Joint, Mechanism
from tarsus.parameters.range import Range
from tarsus.program.ir.trace import Builder
from tarsus.program.run.backend import Backend
from tarsus.simulation.inputs import to_numpy
from tarsus.simulation.settings import Setting, SettingGroup, values_by_name
from tarsus.spatial.inertia import LinearInertia

Array = NDArray[np.float64]
INERTIAL_KINDS = ("mass", "com", "inertia")  # of bodies
JOINT_KINDS = ("armature", "damping", "dry_friction", "stiffness", "rest")  # of joints
FRICTION_FIELDS = {  # fields of a joint's `FrictionVariation`, by kind
    "friction_slope": "slope",
    "friction_curvature": "curvature",
    "stribeck": "stribeck",
    "stribeck_rate": "stribeck_rate",
    "load_friction": "load",
    "back_load_friction": "back_load",
}
GAIN_KINDS = ("kp", "kd")  # of a gait's servos, one per actuator
MAX_DELAY = 100  # steps
KINDS: dict[str, tuple[str, Setting]] = {
    # kind of owner, and declaration
    kind: (owner, Setting(kind, (register,), shape, Range.read(within), unit, meaning))
    for kind, owner, register, shape, within, unit, meaning in (
        ("mass", "body", "varied.inertia", (), "(0, 1e6]", "kg", "mass; the inertia grows with it"),
        ("com", "body", "varied.inertia", (3,), "[-1e3, 1e3]", "m", "center of mass"),
        ("inertia", "body", "varied.inertia", (3, 3), "[-1e9, 1e9]", "kg m^2", "about the com"),
        ("armature", "joint", "varied.armature", (), "[0, 1e6]", "kg m^2", "reflected inertia"),
        ("damping", "joint", "varied.damping", (), "[0, 1e6]", "N m s/rad", "viscous damping"),
        ("dry_friction", "joint", "varied.dry_friction", (), "[0, 1e6]", "N m", "dry friction"),
        ("stiffness", "joint", "varied.stiffness", (), "[0, 1e6]", "N m/rad", "of a spring"),
        ("rest", "joint", "varied.rest", (), "[-1e3, 1e3]", "rad", "angle of a relaxed spring"),
        (
            "friction_slope",
            "joint",
            "varied.friction_slope",
            (),
            "[-1e3, 1e3]",
            "N m/rad",
            "change of dry friction with the angle",
        ),
        (
            "friction_curvature",
            "joint",
            "varied.friction_curvature",
            (),
            "[-1e3, 1e3]",
            "N m/rad^2",
            "half the change of that slope with the angle",
        ),
        ("stribeck", "joint", "varied.stribeck", (), "[0, 1e6]", "N m", "friction added at rest"),
        (
            "stribeck_rate",
            "joint",
            "varied.stribeck_rate",
            (),
            "(0, 1e3]",
            "rad/s",
            "rate at which 37 % of the friction added at rest remains",
        ),
        (
            "load_friction",
            "joint",
            "varied.load_friction",
            (),
            "[0, 1]",
            "[1]",
            "dry friction per torque of a motor that drives its joint",
        ),
        (
            "back_load_friction",
            "joint",
            "varied.back_load_friction",
            (),
            "[0, 10]",
            "[1]",
            "dry friction per torque of a motor that its joint drives",
        ),
        ("kp", "actuator", "varied.kp", (), "[0, 1e7]", "N m/rad", "stiffness of a gait's servo"),
        ("kd", "actuator", "varied.kd", (), "[0, 1e7]", "N m s/rad", "damping of a gait's servo"),
        ("strength", "actuator", "varied.strength", (), "[0, 1000]", "[1]", "factor on the torque"),
        ("delay", "", "varied.delay", (), "[0, 100]", "[1]", "steps by which torques come late"),
    )
}
DEFAULT_MAX_DELAY = 8  # steps; longest delay by default
INERTIAL_COUNT = 10  # m, h (3,), I: xx, yy, zz, xy, xz, yz


@dataclass(frozen=True)
class Varied:
    """Names of the bodies, joints or actuators that vary, by kind, in the order of the robot.

    Attributes
    ----------
    delay
        Longest delay of torques, in steps; 0: the delay is not varied.
    """

    mass: tuple[str, ...] = ()
    com: tuple[str, ...] = ()
    inertia: tuple[str, ...] = ()
    armature: tuple[str, ...] = ()
    damping: tuple[str, ...] = ()
    dry_friction: tuple[str, ...] = ()
    stiffness: tuple[str, ...] = ()
    rest: tuple[str, ...] = ()
    friction_slope: tuple[str, ...] = ()
    friction_curvature: tuple[str, ...] = ()
    stribeck: tuple[str, ...] = ()
    stribeck_rate: tuple[str, ...] = ()
    load_friction: tuple[str, ...] = ()
    back_load_friction: tuple[str, ...] = ()
    kp: tuple[str, ...] = ()
    kd: tuple[str, ...] = ()
    strength: tuple[str, ...] = ()
    delay: int = 0

    @property
    def names(self) -> list[str]:
        """Kinds that are varied."""
        return [name for name in KINDS if getattr(self, name)]

    def bodies(self, mechanism: Mechanism) -> list[int]:
        """Find the indices of bodies whose inertia is varied."""
        chosen = {*self.mass, *self.com, *self.inertia}
        return [i for i, body in enumerate(mechanism.bodies) if body.name in chosen]


NOTHING_VARIED = Varied()


def parse_varied(
    value: str | Sequence[str] | Mapping[str, Any], mechanism: Mechanism, file_actuators: bool
) -> Varied:
    """Parse the values that a simulation varies by world.

    Parameters
    ----------
    value
        Names of kinds, or kind -> names of bodies, joints or actuators ("all", one, or several).
        For "delay" the longest delay in steps.
    mechanism
        The robot.
    file_actuators
        Whether the actuators are those of the robot's file.

    Raises
    ------
    TarsusError
        If a name is unknown or cannot be varied.
    """
    requested = value if isinstance(value, Mapping) else _select_whole_kinds(value)
    varied: dict[str, Any] = {}
    for kind, names in requested.items():
        if kind not in KINDS:
            raise unknown_name_error("number that can be varied", str(kind), KINDS)
        if file_actuators and kind in (*GAIN_KINDS, "strength", "delay"):
            raise IncompatibleOptions(
                f"{kind} cannot be varied, because the file's actuators have their own; change it"
                f" with set({kind}=...).",
                kind,
            )
        varied[kind] = (
            _check_max_delay(names) if kind == "delay" else _select_names(kind, names, mechanism)
        )
    return Varied(**varied)


def _select_whole_kinds(value: str | Sequence[str]) -> dict[str, Any]:
    names = _check_name_list("varied", value, "varied")
    return {name: DEFAULT_MAX_DELAY if name == "delay" else "all" for name in names}


def _check_name_list(what: str, value: Any, subject: str) -> list[str]:
    """Convert one name or several to a list; raise InvalidValue for anything else."""
    if isinstance(value, str):
        return [value]
    if not isinstance(value, Iterable):
        raise InvalidValue(f"{what} must be a name or a list of names, not {value!r}.", subject)
    return [str(name) for name in value]


def _check_max_delay(value: Any) -> int:
    if not isinstance(value, int | np.integer) or not 1 <= value <= MAX_DELAY:
        raise InvalidValue(
            "the longest delay in varied must be a whole number of steps from 1 to"
            f" {MAX_DELAY}, not {value!r}.",
            "delay",
        )
    return int(value)


def _select_names(kind: str, value: Any, mechanism: Mechanism) -> tuple[str, ...]:
    """Sort the given names in the robot's order."""
    owner = KINDS[kind][0]
    known = _names_with(owner, mechanism, kind)
    if not known:
        raise InvalidValue(
            f"{kind} cannot be varied, because {mechanism.name!r} has no {owner} with one.", kind
        )
    if isinstance(value, str) and value == "all":
        return tuple(known)
    names = _check_name_list(f"{kind} in varied", value, kind)
    for name in names:
        if name not in known:
            raise unknown_name_error(owner, name, known)
    return tuple(name for name in known if name in names)


def _names_with(owner: str, mechanism: Mechanism, kind: str = "") -> list[str]:
    """List the names of all owners of quantities of a kind.

    A step without dry friction, or without a spring, has no equation for it.
    """
    if owner == "body":
        return list(mechanism.body_names)
    if owner == "actuator":
        return [motor.joint for motor in mechanism.actuators]
    return [b.joint.name for b in mechanism.bodies if _has_quantity(kind, b.joint)]


def _has_quantity(kind: str, joint: Joint) -> bool:
    """Return whether the step of a joint has this quantity, which may then differ by world."""
    if kind == "dry_friction":
        return joint.has_dry_friction
    if kind in ("stiffness", "rest"):
        return joint.has_spring and joint.kind in ("hinge", "slide")
    if kind in FRICTION_FIELDS:
        return joint.friction is not None
    return joint.kind in ("hinge", "slide")


def joint_value(kind: str, joint: Joint) -> float:
    """Return the number of this kind that a joint has."""
    if kind in FRICTION_FIELDS:
        return getattr(joint.friction, FRICTION_FIELDS[kind])
    return getattr(joint, kind)


# ---------------------------------------------------------------- in the step


def with_joint_parameters(varied: Varied, mechanism: Mechanism, b: Builder) -> Mechanism:
    """Insert symbols for varied joint parameters into the mechanism."""
    parameters: dict[str, dict[str, SX]] = {}
    for kind in (*JOINT_KINDS, *FRICTION_FIELDS):
        if names := getattr(varied, kind):
            symbols = b.parameter(f"varied.{kind}", len(names))
            for k, name in enumerate(names):
                parameters.setdefault(name, {})[kind] = symbols[k]
    if not parameters:
        return mechanism

    def body_of(body: Body) -> Body:
        changed: Any = parameters.get(body.joint.name)
        if not changed:
            return body
        friction = {FRICTION_FIELDS[k]: changed.pop(k) for k in FRICTION_FIELDS if k in changed}
        if friction:
            assert body.joint.friction is not None
            changed["friction"] = replace(body.joint.friction, **friction)
        return replace(body, joint=replace(body.joint, **changed))

    return replace(mechanism, bodies=tuple(body_of(body) for body in mechanism.bodies))


def with_inertias(
    varied: Varied, mechanism: Mechanism, inertias: list[LinearInertia], b: Builder
) -> list[LinearInertia]:
    """Add symbolic changes to inertias that are varied."""
    bodies, result = varied.bodies(mechanism), list(inertias)
    if not bodies:
        return result
    change = b.parameter("varied.inertia", INERTIAL_COUNT * len(bodies))
    for k, i in enumerate(bodies):
        m, x, y, z, *tensor = ca.vertsplit(
            change[INERTIAL_COUNT * k : INERTIAL_COUNT * k + INERTIAL_COUNT]
        )
        xx, yy, zz, xy, xz, yz = tensor
        rows = (ca.horzcat(xx, xy, xz), ca.horzcat(xy, yy, yz), ca.horzcat(xz, yz, zz))
        result[i] = result[i] + LinearInertia(m, ca.vertcat(x, y, z), ca.vertcat(*rows))
    return result


def with_gains(varied: Varied, controller: Controller, b: Builder) -> tuple[Controller, SX]:
    """Insert symbols for varied gains into the controller; return it and the symbols."""
    same: Any = controller
    symbols = [SX(0, 1)]
    for name in GAIN_KINDS:
        if count := len(getattr(varied, name)):
            same = copy.copy(same)
            symbols.append(b.parameter(f"varied.{name}", count))
            object.__setattr__(same, name, symbols[-1])
    return same, ca.vertcat(*symbols)


def scale_by_strength(varied: Varied, mechanism: Mechanism, torque: SX, b: Builder) -> SX:
    """Multiply torques (n,) by the strengths of their motors."""
    if not varied.strength:
        return torque
    factor, symbols = [SX(1)] * torque.numel(), b.parameter("varied.strength", len(varied.strength))
    known = _names_with("actuator", mechanism)
    for k, name in enumerate(varied.strength):
        factor[known.index(name)] = symbols[k]
    return torque * ca.vertcat(SX(0, 1), *factor)


# ---------------------------------------------------------------- the numbers


def initial_registers(varied: Varied, mechanism: Mechanism, controller: Any) -> dict[str, Array]:
    """Create the registers of the original robot.

    Raises
    ------
    IncompatibleOptions
        If gains are varied and the controller has no servos.
    """
    values: dict[str, Array] = {}
    if bodies := varied.bodies(mechanism):
        values["varied.inertia"] = np.zeros(INERTIAL_COUNT * len(bodies))
    joints = {body.joint.name: body.joint for body in mechanism.bodies}
    for kind in (*JOINT_KINDS, *FRICTION_FIELDS):
        if names := getattr(varied, kind):
            values[f"varied.{kind}"] = np.array([joint_value(kind, joints[n]) for n in names])
    for name in GAIN_KINDS:
        if names := getattr(varied, name):
            value = getattr(controller, name, None)
            if value is None or len(names) < len(mechanism.actuators):
                lacking = (
                    f"has no {name}" if value is None else "drives more joints than those named"
                )
                raise IncompatibleOptions(
                    f"{name} can be varied only for all servos of a gait at once; this controller"
                    f" {lacking}.",
                    name,
                )
            values[f"varied.{name}"] = np.broadcast_to(np.asarray(value, float), len(names)).copy()
    if varied.strength:
        values["varied.strength"] = np.ones(len(varied.strength))
    if varied.delay:
        values["varied.delay"] = np.zeros(1)
        values["delayed"] = np.zeros(varied.delay * len(mechanism.actuators))
    return values


def varied_settings(varied: Varied, mechanism: Mechanism) -> SettingGroup:
    """Create the settings of varied quantities (`tarsus.simulation.settings`).

    A setting takes one value for all worlds or one per world, or a mapping from names to such
    values. A center of mass has shape (3,), an inertia about it (3, 3).
    """
    longest = "for longer delays create the simulation with varied={'delay': STEPS}"
    settings = {kind: KINDS[kind][1] for kind in varied.names}
    if varied.delay:
        steps = Range.read(f"[0, {varied.delay}]")
        settings["delay"] = replace(
            settings["delay"], range=steps, integer=True, range_remedy=longest
        )
    lacking = {
        kind: f"{kind} is the same in all worlds of this simulation; to change it, create the"
        f' simulation with varied=["{kind}"].'
        for kind in KINDS
        if kind not in settings
    }

    def write(worlds: Backend, values: Mapping[str, Any], mask: Any) -> Mapping[str, Any]:
        values_by_register = {
            f"varied.{kind}": _set_columns(varied, settings[kind], value, worlds)
            for kind, value in values.items()
            if kind not in INERTIAL_KINDS
        }
        if any(kind in INERTIAL_KINDS for kind in values):
            values_by_register["varied.inertia"] = _compute_inertia_register(
                varied, values, mechanism, worlds
            )
        return values_by_register

    return SettingGroup("varied", tuple(settings.values()), write, lacking)


def _set_columns(varied: Varied, setting: Setting, new_values: Any, worlds: Backend) -> Array:
    """Set some columns of a register (worlds, n) to new values."""
    values, names = (
        worlds.get(f"varied.{setting.name}").astype(float),
        getattr(varied, setting.name),
    )
    if setting.name == "delay":
        values[:, 0] = to_numpy(worlds, setting.read(new_values, worlds))
        return values
    for name, value in _values_by_name(setting.name, new_values, names).items():
        values[:, names.index(name)] = to_numpy(worlds, setting.read(value, worlds, name))
    return values


def _values_by_name(kind: str, value: Any, names: tuple[str, ...]) -> Mapping[str, Any]:
    return values_by_name(f"{KINDS[kind][0]} with a varied {kind}", value, names)


def _compute_inertia_register(
    varied: Varied, new_values: Mapping[str, Any], mechanism: Mechanism, worlds: Backend
) -> Array:
    """Compute the register of inertia changes: new masses, then coms, then inertia tensors."""
    changes = worlds.get("varied.inertia").astype(float)
    bodies = varied.bodies(mechanism)
    for kind in INERTIAL_KINDS:
        if kind not in new_values:
            continue
        for name, value in _values_by_name(kind, new_values[kind], getattr(varied, kind)).items():
            i = mechanism.body_index(name)
            start = INERTIAL_COUNT * bodies.index(i)
            setting = KINDS[kind][1]
            numbers = to_numpy(worlds, setting.read(value, worlds, name))
            numbers = np.broadcast_to(numbers, (len(changes), *(setting.shape or ())))
            for world, number in enumerate(numbers):
                row = changes[world, start : start + INERTIAL_COUNT]
                changed = _change_inertia(
                    _add_change(mechanism.bodies[i].inertia, row), kind, number, name
                )
                row[:] = _linear_parameters(changed) - _linear_parameters(
                    mechanism.bodies[i].inertia
                )
    return changes


def _change_inertia(inertia: Inertia, kind: str, value: Any, name: str) -> Inertia:
    """Set mass, center of mass or inertia tensor of an inertia.

    A new mass scales the inertia tensor.
    """
    if kind == "mass":
        if not inertia.mass > 0:
            raise InvalidValue(
                f"mass of {name!r} cannot be changed, because the body has no mass to scale its"
                " inertia from.",
                "mass",
            )
        return Inertia(float(value), inertia.com, inertia.about_com * (float(value) / inertia.mass))
    if kind == "com":
        return Inertia(inertia.mass, value, inertia.about_com)
    smallest, middle, largest = np.linalg.eigvalsh((value + value.T) / 2)
    off = 1e-9 * largest  # the smallest eigenvalue of a rod is zero to round-off
    bad = np.abs(value - value.T).max() > off or largest > (smallest + middle) * 1.001
    if bad or not smallest >= -off:
        raise InvalidValue(
            f"the inertia of {name!r} is not physical: it must be symmetric and positive"
            f" semidefinite and satisfy the triangle inequality, not {value.tolist()}.",
            "inertia",
        )
    return Inertia(inertia.mass, inertia.com, value)


def _linear_parameters(inertia: Inertia) -> Array:
    """Compute the ten linear parameters of an inertia about the body's origin."""
    m, c = inertia.mass, inertia.com
    tensor = inertia.about_com + m * (c @ c * np.eye(3) - np.outer(c, c))
    return np.array([m, *(m * c), *tensor[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]])


def _add_change(inertia: Inertia, change: Array) -> Inertia:
    """Add a change to the ten linear parameters of an inertia."""
    if not change.any():
        return inertia
    m, x, y, z, xx, yy, zz, xy, xz, yz = _linear_parameters(inertia) + change
    c = np.array([x, y, z]) / m if m > 0 else inertia.com
    tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return Inertia(m, c, tensor - m * (c @ c * np.eye(3) - np.outer(c, c)))
