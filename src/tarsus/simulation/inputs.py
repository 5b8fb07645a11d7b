"""Inputs that a user sets during a simulation: commands, pushes, masks, mass scales."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import ArrayLike, NDArray

from tarsus.contact.base import Law
from tarsus.control.base import Controller
from tarsus.dynamics.robot import Robot
from tarsus.errors import IncompatibleOptions, InvalidValue, Unsupported, unknown
from tarsus.model.mechanism import Mechanism
from tarsus.parameters import declared, name_of
from tarsus.program.ir.trace import Builder
from tarsus.program.run.backend import Backend
from tarsus.simulation import unit_quaternions, varied
from tarsus.simulation.options import Options
from tarsus.simulation.settable import not_settable
from tarsus.terrain.base import Terrain

HEAVIEST = 1e6  # [1]: factor on a mass
SPEED = "speed"  # the command that legs bound


def wrenches(
    bodies: Sequence[str], push: Mapping[str, ArrayLike], robot: Robot, held: Backend
) -> NDArray[np.float64]:
    """The register `push` of `held` with forces (3,), or forces and moments (6,), of all worlds or
    each, by body.
    """
    # is there a body to push?
    if not bodies:
        raise IncompatibleOptions(
            "no body of this simulation can be pushed; create it with, for example,"
            f' pushes=["{robot.bodies[0].name}"].',
            "push",
        )
    # the wrenches held, those named replaced
    values = held.get("push").astype(float)
    if not isinstance(push, Mapping):
        raise InvalidValue(
            f'push must be a dictionary such as {{"{bodies[0]}": (10.0, 0.0, 0.0)}}, not {push!r}.',
            "push",
        )
    for name, given in push.items():
        if name not in bodies:
            raise unknown("pushed body", name, bodies)
        shapes = [(3,), (6,), (len(values), 3), (len(values), 6)]
        wrench = fetched(held, _fitting(f"the push on {name!r}", given, shapes, held, "push"))
        # a force alone has no moment
        first = 6 * bodies.index(name)
        values[:, first : first + 6] = 0.0
        values[:, first : first + wrench.shape[-1]] = wrench
    return values


def mask(where: ArrayLike | None, worlds: Backend) -> Any:
    """A mask (worlds,) where the worlds live, None for all; TarsusError for another shape, or for
    indices.
    """
    if where is None:
        return None
    given = worlds.arrays.asarray(where)
    if given.shape != (worlds.count,):
        found = f"an array of shape {given.shape}" if given.ndim else repr(where)
        hint = "" if worlds.count == 1 else f"; world 1 alone is np.arange({worlds.count}) == 1"
        raise InvalidValue(
            f"where must be a mask of shape ({worlds.count},), one truth value per world, not"
            f" {found}{hint}.",
            "where",
        )
    if given.dtype != bool:
        raise InvalidValue(
            f"where must hold truth values, one per world, not numbers such as {given.ravel()[0]}.",
            "where",
        )
    return given


def act(torques: Any, name: str, held: NDArray[Any] | None, worlds: Backend) -> None:
    """Write torques (actuators,) of all worlds or (worlds, actuators) of each for the next step.

    name: "action", or "controller" for what a controller returned
    held: the register in place, if there is one world
    InvalidValue with this name for another shape or numbers that are not finite.
    """
    # a quick look at what is mostly right: NaN and infinity show in the square
    if isinstance(torques, np.ndarray) and held is not None:
        like = torques.shape == held.shape and torques.dtype == held.dtype
        if like and isfinite(torques.dot(torques)):
            held[:] = torques
            return
    worlds.set("action", acting(torques, name, worlds))


def acting(torques: Any, name: str, worlds: Backend) -> Any:
    """Return the torques if they are of the right shape and finite, else raise an InvalidValue."""
    size = worlds.program.sizes["action"]
    what = "the return value of the controller" if name == "controller" else name
    return _fitting(what, torques, [(size,), (worlds.count, size)], worlds, name)


def state(name: str, given: Any, mechanism: Mechanism, worlds: Backend) -> Any:
    """q or u of `set`, all worlds alike or each: finite, of the robot's size; quaternions of about
    unit length get it.

    Where joints are cut, it may be the whole robot's.
    """
    robots = [robot for robot in (mechanism, mechanism.uncut) if robot is not None]
    sizes = {getattr(robot, f"n{name}"): robot for robot in robots}
    shapes = [shape for n in sizes for shape in ((n,), (worlds.count, n))]
    value = _fitting(name, given, shapes, worlds)
    if name == "q":
        robot = sizes[value.shape[-1]]
        unit_quaternions.check(robot, value)
        value = unit_quaternions.scaled(robot, value)
    return value


def parameter(law: Law, name: str, given: Any, worlds: Backend, varying: Sequence[str] = ()) -> Any:
    """A value of `set` for a parameter of the law, (1,) or (worlds, 1), in its declared range.

    varying: what is varied of robot and motors, for a message
    """
    if name in (*Options.__annotations__, "dt"):
        raise Unsupported(
            f"{name} cannot be changed after a Simulation is created; create a new one.", name
        )
    if f"law.{name}" not in worlds and name in varied.KINDS:
        raise IncompatibleOptions(
            f"{name} is the same in all worlds of this simulation; to change it, create the"
            f' simulation with varied=["{name}"].',
            name,
        )
    if name in declared(type(law)) and getattr(law, name) is None:
        raise IncompatibleOptions(
            f"the law {name_of(law)} was created without {name}; give it a number there to change"
            " it later.",
            name,
        )
    if f"law.{name}" not in worlds:
        raise not_settable(name, worlds, varying)
    value = _fitting(name, given, [(), (worlds.count,)], worlds)
    declared(type(law))[name].check(type(law).__name__, fetched(worlds, value))
    return value[..., None]


def on_ground(before: Terrain, given: Any, worlds: Backend) -> dict[str, Any]:
    """The registers of a terrain in place of the one that was compiled in; TarsusError unless it
    differs from that in numbers that have registers alone.
    """
    if type(given) is not type(before):
        raise InvalidValue(
            f"terrain must be a {type(before).__name__}, like the one that this simulation was"
            f" created with, not {given!r}.",
            "terrain",
        )
    one_or_each(None, given, worlds.count)
    if _code_of(given) != _code_of(before):
        raise InvalidValue(
            f"this {type(given).__name__} differs from the one that the simulation was created"
            " with in more than the numbers that may vary by world; create a new Simulation.",
            "terrain",
        )
    return {f"terrain.{name}": value for name, value in given.parameters().items()}


def _code_of(terrain: Terrain) -> tuple[Any, ...]:
    """What the compiled code of a terrain rests on, its registers apart."""
    builder, point = Builder("ground"), SX.sym("point", 3)
    p = terrain.symbols(builder)
    distance, frame = terrain.surface(point, p)
    expressions = ca.vertcat(distance, ca.vec(frame), *terrain.material(point, p))
    tables = {name: value.tobytes() for name, value in terrain.tables().items()}
    return str(expressions), tables, [value.shape[-1] for value in terrain.parameters().values()]


def one_or_each(law: Law | None, terrain: Terrain, worlds: int) -> None:
    """TarsusError unless every parameter of law and terrain has one value, or one a world."""
    # of both the numbers as the compiled code takes them
    own = law.parameters() if law else {}
    of_law = [(name, value.shape, ()) for name, value in own.items()]
    try:
        ground = terrain.parameters()
    except ValueError as error:  # two fields of different lengths
        names = [f"{name} {value.shape}" for name, value in _written(terrain) if value.ndim]
        raise InvalidValue(
            f"the parameters of {type(terrain).__name__} have incompatible shapes"
            f" ({', '.join(names)}); give each one value, or one for each of {worlds} worlds.",
            "terrain",
        ) from error
    of_terrain = [
        (name, value.shape, value.shape[1:] if value.ndim > 1 else value.shape)
        for name, value in ground.items()
    ]
    # the first that has neither one value nor as many as there are worlds
    for name, shape, one in of_law + of_terrain:
        if shape not in (one, (worlds, *one)):
            if (name, shape, one) in of_terrain:  # by the name that the user wrote
                lengths = {field: value.shape[:1] for field, value in _written(terrain)}
                odd = [field for field, length in lengths.items() if length == shape[:1]]
                name = " and ".join(odd) or name
            else:
                odd = [name]
            raise InvalidValue(
                f"{name} has {shape[0]} values; give one, or one for each of {worlds} worlds."
                if worlds > 1
                else f"{name} has {shape[0]} values, but there is one world; set"
                f" worlds={shape[0]}.",
                odd[0] if odd else name,
            )


def _written(terrain: Terrain) -> list[tuple[str, NDArray[np.float64]]]:
    """The numbers of a terrain's fields, and of a terrain's inside it, by OWNER.FIELD."""
    found: list[tuple[str, NDArray[np.float64]]] = []
    for name, value in vars(terrain).items():
        if isinstance(value, Terrain):
            found += _written(value)
        elif (field := declared(type(terrain)).get(name)) and field.numeric and value is not None:
            found.append((f"{type(terrain).__name__}.{name}", np.asarray(value, float)))
    return found


def mass_scales(scales: Mapping[str, ArrayLike], worlds: int) -> NDArray[np.float64]:
    """Factors (worlds, bodies) on the masses of the bodies named."""
    columns = []
    for name, given in scales.items():
        try:
            column = np.asarray(given, float)
        except (TypeError, ValueError):
            column = np.full(1, np.nan)
        if column.shape not in ((), (worlds,)) or not np.all((column > 0) & (column <= HEAVIEST)):
            each = f", or one such factor for each of {worlds} worlds" if worlds > 1 else ""
            one = column.size == 1 and np.isfinite(column).all()
            told = float(column.ravel()[0]) if one else given
            raise InvalidValue(
                f"mass_scale of {name!r} must be a positive factor of at most {HEAVIEST:g}{each},"
                f" not {told!r}.",
                "mass_scale",
            )
        columns.append(np.broadcast_to(column, worlds))
    return np.stack(columns, -1)


def commands(
    controller: object, command: Mapping[str, ArrayLike], fastest: float, worlds: Backend
) -> Any:
    """All commands (worlds, commands) of a controller, those named changed.

    fastest: the forward speed, m/s, that its legs reach
    """
    if not isinstance(controller, Controller) or not controller.commands:
        raise IncompatibleOptions(
            "this controller takes no commands; choose a gait, such as controller='trot'.",
            "command",
        )
    names, arrays = list(controller.commands), worlds.arrays
    if not isinstance(command, Mapping):
        raise InvalidValue(
            f'command must be a dictionary such as {{"{names[0]}": 0.5}}, not {command!r}.',
            "command",
        )
    columns = list(worlds.output("command").astype(float).T)
    for name, value in command.items():
        if name not in names:
            raise unknown("command", name, names)
        given = _fitting(f"the command {name!r}", value, [(), (worlds.count,)], worlds, name)
        if name == SPEED:
            within_reach(float(np.abs(fetched(worlds, given)).max()), fastest)
        columns[names.index(name)] = arrays.broadcast_to(given, (worlds.count,))
    return arrays.stack(columns, -1)


def within_reach(speed: float, fastest: float) -> None:
    """TarsusError for a forward speed that a gait's legs cannot reach, m/s."""
    if not speed <= fastest:
        raise InvalidValue(
            f"a speed of {speed:g} m/s is out of reach: at the gait's frequency the legs are too"
            f" short for more than {fastest:.2g} m/s; a higher frequency raises this limit.",
            SPEED,
        )


def _fitting(
    what: str,
    given: Any,
    shapes: Sequence[tuple[int, ...]],
    worlds: Backend,
    subject: str | None = None,
) -> Any:
    """Return finite numbers in one of the shapes, where the worlds live; else raise InvalidValue.

    what: the value in words; subject: the option or parameter, if `what` is not its name
    """
    subject = what if subject is None else subject
    try:
        value = worlds.arrays.asarray(given, float)
    except (TypeError, ValueError):
        value = None
    if value is None or given is None:
        kind = "a number" if () in shapes else "numbers"
        raise InvalidValue(f"{what} must be {kind}, not {given!r}.", subject)
    if value.shape not in shapes:
        several = worlds.count > 1
        if () in shapes:
            each = f", or one for each of {worlds.count} worlds" if several else ""
            raise InvalidValue(
                f"{what} must be one number{each}, not an array of shape {value.shape}.", subject
            )
        allowed = [str(shape) for shape in shapes if several or len(shape) == 1]
        raise InvalidValue(
            f"{what} must have shape {' or '.join(allowed)}, not {value.shape}.", subject
        )
    if not bool(worlds.arrays.isfinite(value).all()):
        raise InvalidValue(f"{what} must be finite; it holds NaN or infinity.", subject)
    return value


def fetched(worlds: Backend, value: Any) -> NDArray[np.float64]:
    """An array in this computer's memory."""
    return np.asarray(getattr(worlds.arrays, "asnumpy", np.asarray)(value), float)
