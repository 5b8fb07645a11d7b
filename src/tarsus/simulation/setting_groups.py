"""Settings of state, gait, pushes, masses, law and terrain (`tarsus.simulation.settings`).

Settings of motors and bodies that differ by world are in `varied`, those of a file's actuators in
`actuation`, and those of sensors in `sensor_noise`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.contact.base import Law
from tarsus.control.base import Controller
from tarsus.dynamics.robot import Robot
from tarsus.errors import InvalidValue, unknown_name_error
from tarsus.model.mechanism import Mechanism
from tarsus.parameters import declared_fields, name_of
from tarsus.parameters.range import Range
from tarsus.program.ir.trace import Builder
from tarsus.program.run.backend import Backend
from tarsus.simulation import cut_joints, unit_quaternions
from tarsus.simulation.inputs import check_numbers, to_numpy
from tarsus.simulation.settings import Setting, SettingGroup, values_by_name
from tarsus.terrain.base import Terrain

Array = NDArray[np.float64]
SPEED = "speed"  # command that the reach of the legs limits
MASS_SCALE = Setting(
    "mass_scale",
    ("mass_scale",),
    range=Range.read("(0, 1e6]"),
    unit="[1]",
    meaning="factor on a body's mass",
)


# ---------------------------------------------------------------- state


def state_settings(mechanism: Mechanism) -> SettingGroup:
    """Create the settings of coordinates and velocities."""

    def write(worlds: Backend, values: Mapping[str, Any], mask: Any) -> Mapping[str, Any]:
        given = {name: check_state(name, v, mechanism, worlds) for name, v in values.items()}
        return cut_joints.to_registers(mechanism, worlds, given)

    settings = (
        Setting("q", ("q",), (mechanism.nq,), unit="m, rad, [1]", meaning="coordinates"),
        Setting("u", ("u",), (mechanism.nu,), unit="m/s, rad/s", meaning="velocities"),
    )
    return SettingGroup("state", settings, write)


def check_state(name: str, vector: Any, mechanism: Mechanism, worlds: Backend) -> Any:
    """Check q or u, finite and with unit quaternions, for all worlds or one row per world.

    Where joints are cut, it may be that of the whole robot.

    Raises
    ------
    InvalidValue
        If the size is wrong, or a quaternion is far from unit length.
    """
    robots = [robot for robot in (mechanism, mechanism.uncut) if robot is not None]
    sizes = {getattr(robot, f"n{name}"): robot for robot in robots}
    shapes = [shape for n in sizes for shape in ((n,), (worlds.count, n))]
    value = check_numbers(name, vector, shapes, worlds)
    if name == "q":
        robot = sizes[value.shape[-1]]
        unit_quaternions.check_norms(robot, value)
        value = unit_quaternions.normalize(robot, value)
    return value


# ---------------------------------------------------------------- gait


def gait_settings(controller: object, robot: Robot) -> SettingGroup:
    """Create the settings of a compiled controller: its commands."""
    if not isinstance(controller, Controller) or not controller.commands:
        text = "this controller takes no commands; choose a gait, such as controller='trot'."
        return SettingGroup("gait", (), _write_nothing, {"command": text})
    names = list(controller.commands)
    max_speed = cache(lambda: controller.max_speed(robot))

    def write(worlds: Backend, values: Mapping[str, Any], mask: Any) -> Mapping[str, Any]:
        command = values["command"]
        if not isinstance(command, Mapping):
            raise InvalidValue(
                f'command must be a dictionary such as {{"{names[0]}": 0.5}}, not {command!r}.',
                "command",
            )
        columns = list(worlds.output("command").astype(float).T)
        for name, given in command.items():
            if name not in names:
                raise unknown_name_error("command", name, names)
            what, shapes = f"the command {name!r}", [(), (worlds.count,)]
            value = check_numbers(what, given, shapes, worlds, name)
            if name == SPEED:
                check_speed(float(np.abs(to_numpy(worlds, value)).max()), max_speed())
            columns[names.index(name)] = worlds.arrays.broadcast_to(value, (worlds.count,))
        return {"command": worlds.arrays.stack(columns, -1)}

    meaning = "commands of the gait by name"
    return SettingGroup("gait", (Setting("command", ("command",), None, meaning=meaning),), write)


def check_speed(speed: float, max_speed: float) -> None:
    """Raise InvalidValue for a forward speed, in m/s, that a gait's legs cannot reach."""
    if not speed <= max_speed:
        raise InvalidValue(
            f"a speed of {speed:g} m/s is out of reach: at the gait's frequency the legs are too"
            f" short for more than {max_speed:.2g} m/s; a higher frequency raises this limit.",
            SPEED,
        )


# ---------------------------------------------------------------- pushes


def push_settings(bodies: Sequence[str], robot: Robot) -> SettingGroup:
    """Create the settings of external forces and moments on the bodies that may be pushed."""
    if not bodies:
        text = (
            "no body of this simulation can be pushed; create it with, for example,"
            f' pushes=["{robot.base_name}"].'
        )
        return SettingGroup("pushes", (), _write_nothing, {"push": text})

    def write(worlds: Backend, values: Mapping[str, Any], mask: Any) -> Mapping[str, Any]:
        push, wrenches = values["push"], worlds.get("push").astype(float)
        if not isinstance(push, Mapping):
            raise InvalidValue(
                f'push must be a dictionary such as {{"{bodies[0]}": (10.0, 0.0, 0.0)}}, not'
                f" {push!r}.",
                "push",
            )
        for name, given in push.items():
            if name not in bodies:
                raise unknown_name_error("pushed body", name, bodies)
            shapes = [(3,), (6,), (worlds.count, 3), (worlds.count, 6)]
            wrench = to_numpy(
                worlds, check_numbers(f"the push on {name!r}", given, shapes, worlds, "push")
            )
            # a force alone has no moment
            first = 6 * bodies.index(name)
            wrenches[:, first : first + 6] = 0.0
            wrenches[:, first : first + wrench.shape[-1]] = wrench
        return {"push": wrenches}

    meaning = "force and moment at the origin of a body, world axes, by name"
    return SettingGroup(
        "pushes", (Setting("push", ("push",), None, unit="N, N m", meaning=meaning),), write
    )


# ---------------------------------------------------------------- masses


def mass_settings(bodies: Sequence[str]) -> SettingGroup:
    """Create the settings of the mass factors of bodies."""

    def write(worlds: Backend, values: Mapping[str, Any], mask: Any) -> Mapping[str, Any]:
        scales = worlds.get("mass_scale").astype(float)
        given = values_by_name("body with a mass_scale", values["mass_scale"], bodies)
        for name, value in given.items():
            scales[:, bodies.index(name)] = to_numpy(worlds, MASS_SCALE.read(value, worlds, name))
        return {"mass_scale": scales}

    return SettingGroup("masses", (MASS_SCALE,) if bodies else (), write)


# ---------------------------------------------------------------- law


def law_settings(law: Law, compiled: Backend) -> SettingGroup:
    """Create the settings of the law's parameters that have a register."""
    settings = tuple(
        Setting(
            name,
            (f"law.{name}",),
            (),
            declaration.range,
            declaration.unit,
            declaration.meaning,
            declaration.role,
            declaration.is_integer,
        )
        for name, declaration in declared_fields(type(law)).items()
        if f"law.{name}" in compiled
    )
    by_their_name = {setting.name: setting for setting in settings}

    def write(worlds: Backend, values: Mapping[str, Any], mask: Any) -> Mapping[str, Any]:
        return {
            f"law.{name}": by_their_name[name].read(value, worlds)[..., None]
            for name, value in values.items()
        }

    defaulted = [name for name in declared_fields(type(law)) if getattr(law, name) is None]
    lacking = {
        name: f"the law {name_of(law)} was created without {name}; give it a number there to change"
        " it later."
        for name in defaulted
    }
    return SettingGroup("law", settings, write, lacking)


# ---------------------------------------------------------------- terrain


def terrain_settings(before: Terrain, compiled: Backend) -> SettingGroup:
    """Create the setting of the terrain: one of the same kind with other numbers."""
    names = [f"terrain.{name}" for name in before.parameters()]
    registers = tuple(name for name in names if name in compiled)

    def write(worlds: Backend, values: Mapping[str, Any], mask: Any) -> Mapping[str, Any]:
        return _create_terrain_registers(before, values["terrain"], worlds)

    meaning = f"a {type(before).__name__} with other numbers"
    return SettingGroup("terrain", (Setting("terrain", registers, None, meaning=meaning),), write)


def _create_terrain_registers(before: Terrain, after: Any, worlds: Backend) -> dict[str, Any]:
    """Create the registers of a terrain that replaces the compiled one.

    Raises
    ------
    InvalidValue
        If the terrains differ in more than numbers with registers.
    """
    if type(after) is not type(before):
        raise InvalidValue(
            f"terrain must be a {type(before).__name__}, like the one that this simulation was"
            f" created with, not {after!r}.",
            "terrain",
        )
    check_world_count(None, after, worlds.count)
    if _collect_compiled(after) != _collect_compiled(before):
        raise InvalidValue(
            f"this {type(after).__name__} differs from the one that the simulation was created"
            " with in more than the numbers that may vary by world; create a new Simulation.",
            "terrain",
        )
    return {f"terrain.{name}": value for name, value in after.parameters().items()}


def _collect_compiled(terrain: Terrain) -> tuple[Any, ...]:
    """Collect everything in the compiled code of a terrain except for its registers."""
    builder, point = Builder("ground"), SX.sym("point", 3)
    p = terrain.symbols(builder)
    distance, frame = terrain.surface(point, p)
    expressions = ca.vertcat(distance, ca.vec(frame), *terrain.material(point, p))
    tables = {name: value.tobytes() for name, value in terrain.tables().items()}
    return str(expressions), tables, [value.shape[-1] for value in terrain.parameters().values()]


def check_world_count(law: Law | None, terrain: Terrain, worlds: int) -> None:
    """Raise InvalidValue unless each parameter has one value, or one per world."""
    # shapes of the numbers in the compiled code
    parameters = law.parameters() if law else {}
    of_law = [(name, value.shape, ()) for name, value in parameters.items()]
    try:
        ground = terrain.parameters()
    except ValueError as error:  # two fields have different lengths
        names = [
            f"{name} {value.shape}"
            for name, value in _collect_terrain_fields(terrain)
            if value.ndim
        ]
        raise InvalidValue(
            f"the parameters of {type(terrain).__name__} have incompatible shapes"
            f" ({', '.join(names)}); give each one value, or one for each of {worlds} worlds.",
            "terrain",
        ) from error
    of_terrain = [
        (name, value.shape, value.shape[1:] if value.ndim > 1 else value.shape)
        for name, value in ground.items()
    ]
    # report the first with a wrong number of values
    for name, shape, one in of_law + of_terrain:
        if shape not in (one, (worlds, *one)):
            if (name, shape, one) in of_terrain:  # use the name of the field
                lengths = {
                    field: value.shape[:1] for field, value in _collect_terrain_fields(terrain)
                }
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


def _collect_terrain_fields(terrain: Terrain) -> list[tuple[str, NDArray[np.float64]]]:
    """Collect the numeric fields of a terrain, and of a terrain inside it, as OWNER.FIELD."""
    numbers: list[tuple[str, NDArray[np.float64]]] = []
    for name, value in vars(terrain).items():
        if isinstance(value, Terrain):
            numbers += _collect_terrain_fields(value)
        elif (
            (field := declared_fields(type(terrain)).get(name))
            and field.is_numeric
            and value is not None
        ):
            numbers.append((f"{type(terrain).__name__}.{name}", np.asarray(value, float)))
    return numbers


def _write_nothing(worlds: Backend, values: Mapping[str, Any], mask: Any) -> Mapping[str, Any]:
    return {}
