"""The numbers of what differs by world (`tarsus.simulation.varied`): as made, and as set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.errors import IncompatibleOptions, InvalidValue, unknown
from tarsus.model.mechanism import Inertia, Mechanism
from tarsus.parameters.range import Range
from tarsus.program.run.backend import Backend
from tarsus.simulation.varied import GAINS, KINDS, MATTER, RESISTANCES, TEN, Varied

Array = NDArray[np.float64]


def registers(varied: Varied, mechanism: Mechanism, controller: Any) -> dict[str, Array]:
    """What the registers hold for the robot as it is; TarsusError for gains of what has none."""
    found: dict[str, Array] = {}
    if bodies := varied.bodies(mechanism):
        found["varied.inertia"] = np.zeros(TEN * len(bodies))
    joints = {body.joint.name: body.joint for body in mechanism.bodies}
    for kind in RESISTANCES:
        if which := getattr(varied, kind):
            found[f"varied.{kind}"] = np.array([getattr(joints[name], kind) for name in which])
    for name in GAINS:
        if which := getattr(varied, name):
            own = getattr(controller, name, None)
            if own is None or len(which) < len(mechanism.actuators):
                lacking = f"has no {name}" if own is None else "drives more joints than those named"
                raise IncompatibleOptions(
                    f"{name} can be varied only for all servos of a gait at once; this controller"
                    f" {lacking}.",
                    name,
                )
            found[f"varied.{name}"] = np.broadcast_to(np.asarray(own, float), len(which)).copy()
    if varied.strength:
        found["varied.strength"] = np.ones(len(varied.strength))
    if varied.delay:
        found["varied.delay"] = np.zeros(1)
        found["delayed"] = np.zeros(varied.delay * len(mechanism.actuators))
    return found


def changed(
    varied: Varied, given: Mapping[str, Any], mechanism: Mechanism, worlds: Backend
) -> dict[str, Array]:
    """The registers with new numbers.

    given: kind -> a number for all, one a world (worlds,), or {name: one or one a world}; of a com
        each is (3,), of an inertia about it (3, 3)
    """
    found = {
        f"varied.{kind}": _written(varied, kind, value, worlds.get(f"varied.{kind}"))
        for kind, value in given.items()
        if kind not in MATTER
    }
    if any(kind in MATTER for kind in given):
        found["varied.inertia"] = _matter(varied, given, mechanism, worlds.get("varied.inertia"))
    return found


def _written(varied: Varied, kind: str, given: Any, held: Array) -> Array:
    """A register (worlds, n) with the values of some columns new."""
    held, names = held.astype(float), getattr(varied, kind)
    if kind == "delay":
        held[:, 0] = _delays(given, varied.delay, len(held))
        return held
    for name, value in _by_name(kind, given, names).items():
        held[:, names.index(name)] = _numbers(kind, name, value, len(held))
    return held


def _delays(given: Any, longest: int, worlds: int) -> Array:
    """Whole steps, one number or one a world; else TarsusError."""
    try:
        value = np.asarray(given, float)
    except (TypeError, ValueError):
        value = np.full(1, np.nan)
    within = value == np.clip(np.round(value), 0, longest)
    if value.shape not in ((), (worlds,)) or not within.all():
        each = f", or one for each of {worlds} worlds" if worlds > 1 else ""
        longer = "; for longer delays create the simulation with varied={'delay': STEPS}"
        more = longer if bool((value > longest).any()) else ""
        raise InvalidValue(
            f"delay must be a whole number of steps from 0 to {longest}{each}, not"
            f" {given!r}{more}.",
            "delay",
        )
    return value


def _by_name(kind: str, given: Any, names: tuple[str, ...]) -> Mapping[str, Any]:
    """The values by name, a single one for all; TarsusError for a name that is not varied."""
    if not isinstance(given, Mapping):
        return dict.fromkeys(names, given)
    for name in given:
        if name not in names:
            raise unknown(f"{KINDS[kind][0]} with a varied {kind}", str(name), names)
    return given


def _numbers(kind: str, name: str, given: Any, worlds: int) -> Array:
    """One value of a kind, or one a world, in its range; else TarsusError."""
    _, shape, within = KINDS[kind]
    try:
        value = np.asarray(given, float)
    except (TypeError, ValueError):
        raise InvalidValue(
            f"{kind} of {name!r} must be {_called(shape)}, not {given!r}.", kind
        ) from None
    if value.shape not in (shape, (worlds, *shape)):
        each = f", or one for each of {worlds} worlds" if worlds > 1 else ""
        raise InvalidValue(
            f"{kind} of {name!r} must be {_called(shape)}{each}, not an array of shape"
            f" {value.shape}.",
            kind,
        )
    allowed = Range.read(within)
    wrong = value[~allowed.holds(value)]
    if wrong.size:
        worst = wrong.ravel()[0]
        raise InvalidValue(f"{kind} of {name!r} must {allowed.rule(worst)}, not {worst:g}.", kind)
    return value


def _called(shape: tuple[int, ...]) -> str:
    return f"numbers of shape {shape}" if shape else "one number"


def _matter(varied: Varied, given: Mapping[str, Any], mechanism: Mechanism, held: Array) -> Array:
    """The register of changes with new masses, then centers of mass, then inertias about them."""
    held = held.astype(float)
    bodies = varied.bodies(mechanism)
    for kind in MATTER:
        if kind not in given:
            continue
        for name, value in _by_name(kind, given[kind], getattr(varied, kind)).items():
            i = mechanism.body_index(name)
            at = TEN * bodies.index(i)
            numbers = _numbers(kind, name, value, len(held))
            numbers = np.broadcast_to(numbers, (len(held), *KINDS[kind][1]))
            for world, number in enumerate(numbers):
                row = held[world, at : at + TEN]
                own = _with(_inertia(mechanism.bodies[i].inertia, row), kind, number, name)
                row[:] = _ten(own) - _ten(mechanism.bodies[i].inertia)
    return held


def _with(own: Inertia, kind: str, value: Any, name: str) -> Inertia:
    """A body's matter with a new mass (its shape kept: the inertia grows with it), center of mass
    or inertia.
    """
    if kind == "mass":
        if not own.mass > 0:
            raise InvalidValue(
                f"mass of {name!r} cannot be changed, because the body has no mass to scale its"
                " inertia from.",
                "mass",
            )
        return Inertia(float(value), own.com, own.about_com * (float(value) / own.mass))
    if kind == "com":
        return Inertia(own.mass, value, own.about_com)
    least, middle, most = np.linalg.eigvalsh((value + value.T) / 2)
    off = 1e-9 * most  # of a rod in any direction the least is zero to round-off
    bad = np.abs(value - value.T).max() > off or most > (least + middle) * 1.001
    if bad or not least >= -off:
        raise InvalidValue(
            f"the inertia of {name!r} is not physical: it must be symmetric and positive"
            f" semidefinite and satisfy the triangle inequality, not {value.tolist()}.",
            "inertia",
        )
    return Inertia(own.mass, own.com, value)


def _ten(own: Inertia) -> Array:
    """The ten linear parameters about the body's origin."""
    m, c = own.mass, own.com
    tensor = own.about_com + m * (c @ c * np.eye(3) - np.outer(c, c))
    return np.array([m, *(m * c), *tensor[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]])


def _inertia(made: Inertia, change: Array) -> Inertia:
    """A body's matter from how it was made and the change of its ten parameters."""
    if not change.any():
        return made
    m, x, y, z, xx, yy, zz, xy, xz, yz = _ten(made) + change
    c = np.array([x, y, z]) / m if m > 0 else made.com
    tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return Inertia(m, c, tensor - m * (c @ c * np.eye(3) - np.outer(c, c)))
