"""Names into objects, defaults, and what a user should be told about a choice."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, TypedDict, TypeVar

import numpy as np
from casadi import SX
from numpy.typing import ArrayLike, NDArray

from tarsus import registry, robots
from tarsus.contact.base import Law
from tarsus.control.base import Controller
from tarsus.dynamics.robot import Robot
from tarsus.errors import TarsusError, unknown
from tarsus.model.cut import in_coordinates
from tarsus.model.mechanism import Candidate, Mechanism
from tarsus.program.ir.trace import Builder
from tarsus.program.run.backend import Backend
from tarsus.simulation.contact_selection import contact_masses, seldom
from tarsus.simulation.device import Device, checked
from tarsus.simulation.step_program import Plan
from tarsus.stepping.base import Scene, Stepper
from tarsus.terrain.base import Terrain

T = TypeVar("T")
PRECISIONS = ("float64", "float32")


class Options(TypedDict, total=False):
    """The optional settings of a Simulation, as its keyword arguments."""

    worlds: int
    contacts: str | Sequence[str]
    mass_scale: Mapping[str, ArrayLike]
    pushes: str | Sequence[str]
    coordinates: str | Sequence[str]
    stabilisation: float
    device: Device
    precision: str
    threads: int
    control_rate: float


@dataclass(frozen=True)
class Settings:
    """The same with defaults."""

    worlds: int = 1
    contacts: str | Sequence[str] | None = None
    mass_scale: Mapping[str, ArrayLike] | None = None
    pushes: str | Sequence[str] = ()
    coordinates: str | Sequence[str] = "minimal"
    stabilisation: float = 0.0
    device: Device = "cpu"
    precision: str | None = None
    threads: int = 1
    control_rate: float | None = None


def settings(given: Options) -> Settings:
    """Checked settings; TarsusError with near names for an unknown one."""
    known = [f.name for f in fields(Settings)]
    for name in given:
        if name not in known:
            raise unknown("option", name, known)
    chosen = Settings(**given)
    if chosen.precision not in (*PRECISIONS, None):
        raise unknown("precision", str(chosen.precision), PRECISIONS)
    for name in ("worlds", "threads"):
        value = getattr(chosen, name)
        if not isinstance(value, int | np.integer) or value < 1:
            raise TarsusError(f"{name} must be a whole number of at least 1, not {value}.")
    if not 0 <= chosen.stabilisation <= 1:
        raise TarsusError(f"stabilisation must lie between 0 and 1, not {chosen.stabilisation}.")
    device, precision = checked(chosen.device, chosen.precision, chosen.threads)
    return replace(chosen, device=device, precision=precision)


def pushed_bodies(chosen: Robot, names: str | Sequence[str]) -> tuple[str, ...]:
    """The bodies that may be pushed; TarsusError with near names for an unknown one."""
    given = (names,) if isinstance(names, str) else tuple(names)
    return tuple(chosen.bodies[chosen.body_index(name)].name for name in given)


def wrenches(bodies: Sequence[str], push: Mapping[str, ArrayLike], held: Backend) -> NDArray[np.float64]:
    """The register `push` of `held` with forces (3,), or forces and moments (6,), of all worlds or each, by body."""
    if not bodies:
        raise TarsusError('no body of this simulation can be pushed: name some with pushes=["base"].')
    values, fetched = held.get("push").astype(float), getattr(held.arrays, "asnumpy", np.asarray)
    for name, given in push.items():
        if name not in bodies:
            raise unknown("pushed body", name, bodies)
        wrench = np.asarray(fetched(given), float)
        if wrench.shape not in [(3,), (6,), (len(values), 3), (len(values), 6)] or not np.isfinite(wrench).all():
            raise TarsusError(
                f"the push on {name!r} must be a finite force (3,), or force and moment (6,), of all worlds or each."
            )
        first = 6 * bodies.index(name)
        values[:, first : first + 6] = 0.0
        values[:, first : first + wrench.shape[-1]] = wrench
    return values


def mask(where: Any, worlds: int) -> Any:
    """A mask over worlds as it is; TarsusError for another shape."""
    if where.shape != (worlds,):
        raise TarsusError(f"where must be a mask of shape ({worlds},), one truth value a world, not {where.shape}.")
    return where


def robot(given: Robot | Mechanism | str) -> Robot:
    """A Robot from itself, a name or a path."""
    if isinstance(given, Robot):
        return given
    return Robot.of(given) if isinstance(given, Mechanism) else robots.load(given)


def law(given: Law | str) -> Law:
    """A law by name with its defaults, from a user's own file (a path that ends in .py), or as it is."""
    if not isinstance(given, str):
        return given
    if given.endswith(".py"):
        own = registry.only_member(registry.from_file(given, "law"), Law)
        try:
            return own()
        except TypeError as error:
            raise TarsusError(f"{given}: every parameter of a law needs a default: {error}.") from None
    return registry.member("tarsus.contact.laws", "law", given, Law)()


def with_material(given: Law, material: Mapping[str, float]) -> tuple[Law, list[str]]:
    """The law with those of the parameters that it has, and a notice for each of the others."""
    known = given.parameters()
    name = type(given).__module__.rpartition(".")[2]
    ignored = [f"the law {name!r} has no parameter {key!r}: ignored." for key in material if key not in known]
    return replace(given, **{key: value for key, value in material.items() if key in known}), ignored


def with_settings(given: T, settings: Sequence[str], what: str) -> T:
    """The law or gait (`what`) with fields NAME=VALUE set; TarsusError with near names for one it lacks.

    A value is a number, several with commas between them, or a word, as the field's own is.
    """
    changed: Any = given
    own = {f.name: getattr(changed, f.name) for f in fields(changed)}
    changes: dict[str, object] = {}
    for text in settings:
        name, equals, value = text.partition("=")
        if not equals:
            raise TarsusError(f"a {what}'s parameter is set as NAME=VALUE, not {text!r}.")
        if name not in own:
            raise unknown(f"parameter of {type(given).__name__}", name, own)
        changes[name] = value if isinstance(own[name], str) else _numbers(name, value, own[name])
    return replace(changed, **changes)


def _numbers(name: str, value: str, like: object) -> float | tuple[float, ...]:
    """A number, or several with commas between them."""
    several = isinstance(like, tuple)
    try:
        found = [int(part) if type(like) is int else float(part) for part in value.split(",")]
    except ValueError:
        raise TarsusError(f"{name} must be {'numbers' if several else 'a number'}, not {value!r}.") from None
    return found[0] if len(found) == 1 else tuple(found)


def scene(robot: Robot, law: Law, terrain: Terrain, candidates: tuple[Candidate, ...], chosen: Settings) -> Scene:
    """What is simulated, the robot in the coordinates chosen."""
    mechanism = in_coordinates(robot, chosen.coordinates)
    names = {candidate.name for candidate in candidates}
    touching = tuple(candidate for candidate in mechanism.candidates if candidate.name in names)
    return Scene(mechanism, law, terrain, touching, chosen.stabilisation, seldom(robot, touching))


def terrain(given: Terrain | str) -> Terrain:
    """A terrain by name with its defaults, or as it is."""
    return registry.member("tarsus.terrain", "terrain", given, Terrain)() if isinstance(given, str) else given


def stepper(given: Stepper | str) -> Stepper:
    """A stepper by name, or as it is."""
    if not isinstance(given, str):
        return given
    return registry.member("tarsus.stepping.methods", "stepper", given, Stepper)()


def controller(given: Controller | Callable[..., Any] | str | None) -> Controller | Callable[..., Any] | None:
    """A gait by name with its defaults, or as it is."""
    if isinstance(given, str):
        return registry.member("tarsus.control.gaits", "gait", given, Controller)()
    if given is not None and not isinstance(given, Controller) and not callable(given):
        raise TarsusError(
            "the controller must be a gait's name, a Controller, a function (t, q, u) -> torques, or None."
        )
    return given


def control_interval(given: object, rate: float | None, dt: float) -> int:
    """Steps between two calls of a Python controller; 0 if there is none."""
    if isinstance(given, Controller) or given is None:
        if rate is not None:
            raise TarsusError("control_rate belongs to a Python controller; this one is compiled into every step.")
        return 0
    every = 1 if rate is None else round(1 / (rate * dt))
    if every < 1 or (rate is not None and abs(every * rate * dt - 1) > 1e-6):
        raise TarsusError(f"control_rate {rate:g} Hz does not fit dt = {dt:g} s: 1 / (rate dt) must be a whole number.")
    return every


def stability_notices(plan: Plan, q: NDArray[np.float64], dt: float) -> list[str]:
    """Steps longer than the law says it bears, at the lightest contact with the robot's whole weight on it."""
    mechanism = plan.scene.mechanism
    masses = contact_masses(plan.scene, q if q.ndim == 1 else q[0])
    load = mechanism.mass * float(np.linalg.norm(mechanism.gravity_acceleration))
    inner = dt / plan.stepper.inner_steps
    return [
        f"dt = {inner:g} s is above the stable limit of {what}, about {limit:.2g} s where a foot of {masses[0]:.2g} kg "
        f"({masses[1]:.2g} kg sideways) carries {load:.3g} N: expect chatter; use a smaller dt or a softer law."
        for what, limit in plan.scene.law.largest_steps(masses, load).items()
        if inner > limit
    ]


def ground_notices(scene: Scene) -> list[str]:
    """What the ground has and the law has no use for."""
    friction, stiffness = scene.terrain.material(SX.sym("point", 3), scene.terrain.symbols(Builder("ground")))
    name, notices = type(scene.law).__module__.rpartition(".")[2], []
    if not stiffness.is_one() and not scene.law.stiff:
        notices.append(f"the law {name!r} has no stiffness: the terrain's is ignored.")
    if not friction.is_one() and "mu" not in scene.law.parameters():
        notices.append(f"the law {name!r} has no friction coefficient: the terrain's is ignored.")
    return notices


def tolerances_for_float32(chosen: Law, notices: list[str]) -> dict[str, NDArray[np.float64]]:
    """float32 cannot resolve the tolerances meant for float64: at least 1e-4."""
    raised = {}
    for name, value in chosen.parameters().items():
        if name in ("T_rel", "T_abs") and np.min(value) < 1e-4:
            raised[f"law.{name}"] = np.maximum(value, 1e-4)[..., None]
    if raised:
        notices.append("float32: the solver's tolerances are raised to 1e-4.")
    return raised
