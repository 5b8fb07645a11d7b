"""What of robot and motors differs by world: `Simulation(..., varied=...)`, changed by `set`.

What is varied is a parameter of the compiled step; the rest stays constants that fold away. The
matter of a body enters as the change of its ten linear parameters (`tarsus.spatial.inertia`), zero
for the robot as it was made; armatures, damping and dry friction are symbols in place of the
numbers of joints.
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
from tarsus.errors import IncompatibleOptions, InvalidValue, unknown
from tarsus.model.mechanism import Body, Mechanism
from tarsus.program.ir.trace import Builder
from tarsus.spatial.inertia import LinearInertia

Array = NDArray[np.float64]
MATTER = ("mass", "com", "inertia")  # of bodies
RESISTANCES = ("armature", "damping", "dry_friction")  # of joints
GAINS = ("kp", "kd")  # of a gait's servos, one an actuator
KINDS: dict[str, tuple[str, tuple[int, ...], str]] = {
    # what has one, its shape, the numbers allowed
    "mass": ("body", (), "(0, 1e6]"),
    "com": ("body", (3,), "[-1e3, 1e3]"),
    "inertia": ("body", (3, 3), "[-1e9, 1e9]"),
    "armature": ("joint", (), "[0, 1e6]"),
    "damping": ("joint", (), "[0, 1e6]"),
    "dry_friction": ("joint", (), "[0, 1e6]"),
    "kp": ("actuator", (), "[0, 1e7]"),
    "kd": ("actuator", (), "[0, 1e7]"),
    "strength": ("actuator", (), "[0, 1000]"),
    "delay": ("", (), "[0, 100]"),
}
LONGEST = 8  # steps: the delay compiled in where no other is named
TEN = 10  # m, h (3,), I: xx, yy, zz, xy, xz, yz


@dataclass(frozen=True)
class Varied:
    """What is varied: of each kind the names of those that have one, of all in the order of the
    robot.

    delay: the longest of torques, steps; 0: none is varied
    """

    mass: tuple[str, ...] = ()
    com: tuple[str, ...] = ()
    inertia: tuple[str, ...] = ()
    armature: tuple[str, ...] = ()
    damping: tuple[str, ...] = ()
    dry_friction: tuple[str, ...] = ()
    kp: tuple[str, ...] = ()
    kd: tuple[str, ...] = ()
    strength: tuple[str, ...] = ()
    delay: int = 0

    @property
    def names(self) -> list[str]:
        """The kinds that are varied."""
        return [name for name in KINDS if getattr(self, name)]

    def bodies(self, mechanism: Mechanism) -> list[int]:
        """The bodies whose matter is varied."""
        chosen = {*self.mass, *self.com, *self.inertia}
        return [i for i, body in enumerate(mechanism.bodies) if body.name in chosen]


NONE = Varied()


def chosen(
    given: str | Sequence[str] | Mapping[str, Any], mechanism: Mechanism, own: bool
) -> Varied:
    """What a simulation is asked to vary; TarsusError with near names for what there is not.

    given: names of kinds, or kind -> names of bodies, joints or actuators ("all", one or several),
        for "delay" the longest, steps
    own: whether the actuators are those of the robot's file
    """
    asked = given if isinstance(given, Mapping) else _listed(given)
    found: dict[str, Any] = {}
    for kind, which in asked.items():
        if kind not in KINDS:
            raise unknown("number that can be varied", str(kind), KINDS)
        if own and kind in (*GAINS, "strength", "delay"):
            raise IncompatibleOptions(
                f"{kind} cannot be varied, because the file's actuators have their own; change it"
                f" with set({kind}=...).",
                kind,
            )
        found[kind] = _longest(which) if kind == "delay" else _those(kind, which, mechanism)
    return Varied(**found)


def _listed(given: str | Sequence[str]) -> dict[str, Any]:
    names = _names("varied", given, "varied")
    return {name: LONGEST if name == "delay" else "all" for name in names}


def _names(what: str, given: Any, subject: str) -> list[str]:
    """Return one name or several as a list; else raise an InvalidValue."""
    if isinstance(given, str):
        return [given]
    if not isinstance(given, Iterable):
        raise InvalidValue(f"{what} must be a name or a list of names, not {given!r}.", subject)
    return [str(name) for name in given]


def _longest(given: Any) -> int:
    if not isinstance(given, int | np.integer) or not 1 <= given <= 100:
        raise InvalidValue(
            "the longest delay in varied must be a whole number of steps from 1 to 100, not"
            f" {given!r}.",
            "delay",
        )
    return int(given)


def _those(kind: str, given: Any, mechanism: Mechanism) -> tuple[str, ...]:
    """The names given, in the robot's order."""
    owner = KINDS[kind][0]
    known = _rubbing(mechanism) if kind == "dry_friction" else _known(owner, mechanism)
    if not known:
        raise InvalidValue(
            f"{kind} cannot be varied, because {mechanism.name!r} has no {owner} with one.", kind
        )
    if isinstance(given, str) and given == "all":
        return tuple(known)
    names = _names(f"{kind} in varied", given, kind)
    for name in names:
        if name not in known:
            raise unknown(owner, name, known)
    return tuple(name for name in known if name in names)


def _known(owner: str, mechanism: Mechanism) -> list[str]:
    if owner == "body":
        return list(mechanism.body_names)
    if owner == "actuator":
        return [motor.joint for motor in mechanism.actuators]
    return [b.joint.name for b in mechanism.bodies if b.joint.kind in ("hinge", "slide")]


def _rubbing(mechanism: Mechanism) -> list[str]:
    """Joints with dry friction: where there is none, none is solved for."""
    return [b.joint.name for b in mechanism.bodies if b.joint.rubs]


# ---------------------------------------------------------------- in the step


def with_resistances(varied: Varied, mechanism: Mechanism, b: Builder) -> Mechanism:
    """The mechanism with symbols for what of its joints is varied."""
    own: dict[str, dict[str, SX]] = {}
    for kind in RESISTANCES:
        if names := getattr(varied, kind):
            symbols = b.parameter(f"varied.{kind}", len(names))
            for k, name in enumerate(names):
                own.setdefault(name, {})[kind] = symbols[k]
    if not own:
        return mechanism

    def body_of(body: Body) -> Body:
        changed: Any = own.get(body.joint.name)
        return replace(body, joint=replace(body.joint, **changed)) if changed else body

    return replace(mechanism, bodies=tuple(body_of(body) for body in mechanism.bodies))


def with_matter(
    varied: Varied, mechanism: Mechanism, inertias: list[LinearInertia], b: Builder
) -> list[LinearInertia]:
    """The inertias with the changes of those that are varied."""
    bodies, result = varied.bodies(mechanism), list(inertias)
    if not bodies:
        return result
    change = b.parameter("varied.inertia", TEN * len(bodies))
    for k, i in enumerate(bodies):
        m, x, y, z, *tensor = ca.vertsplit(change[TEN * k : TEN * k + TEN])
        xx, yy, zz, xy, xz, yz = tensor
        rows = (ca.horzcat(xx, xy, xz), ca.horzcat(xy, yy, yz), ca.horzcat(xz, yz, zz))
        result[i] = result[i] + LinearInertia(m, ca.vertcat(x, y, z), ca.vertcat(*rows))
    return result


def with_gains(varied: Varied, controller: Controller, b: Builder) -> tuple[Controller, SX]:
    """The controller with symbols for the gains that are varied, and these symbols."""
    same: Any = controller
    symbols = [SX(0, 1)]
    for name in GAINS:
        if count := len(getattr(varied, name)):
            same = copy.copy(same)
            symbols.append(b.parameter(f"varied.{name}", count))
            object.__setattr__(same, name, symbols[-1])
    return same, ca.vertcat(*symbols)


def strong(varied: Varied, mechanism: Mechanism, torque: SX, b: Builder) -> SX:
    """Torques (n,) times the strengths of their motors."""
    if not varied.strength:
        return torque
    factor, symbols = [SX(1)] * torque.numel(), b.parameter("varied.strength", len(varied.strength))
    known = _known("actuator", mechanism)
    for k, name in enumerate(varied.strength):
        factor[known.index(name)] = symbols[k]
    return torque * ca.vertcat(SX(0, 1), *factor)
