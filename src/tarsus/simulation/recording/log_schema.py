"""Check logs: attributes, variables, dimensions, and whether they fit the robot.

`check_log` is called once, where a log comes from a file, a table or the caller. Code behind it
relies on attributes and shapes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, get_args

import numpy as np
import xarray as xr

from tarsus.contact.criteria import STATES
from tarsus.errors import InvalidFile, join_names
from tarsus.model.mechanism import Mechanism
from tarsus.model.motors import with_tendon_motors
from tarsus.parameters import Role
from tarsus.schema import (
    AnyOf,
    FlagRule,
    JsonRule,
    ListRule,
    NumberRule,
    NumbersRule,
    Rule,
    TableRule,
    TextRule,
)
from tarsus.simulation.recording.empty_dimensions import BY_AXIS, BY_CONTACT, BY_XYZ, add_empty
from tarsus.simulation.recording.variables import ROBOT_SHARES

R = TypeVar("R", bound=Mechanism)
MIN_DT, MAX_DT = 1e-9, 10.0  # s, of a step
MAX_TIME = 1e9  # s; nanoseconds must fit into 63 bits
MAX_WORLDS = 10_000_000
MAX_THREADS = 1024
MAX_SLOTS = 1000
MAX_VALUE = 1e100  # its square is still finite

COUNT = NumberRule(0, 1e15, integer=True)
TEXT, NAMES = TextRule(), AnyOf((TextRule(), ListRule(TextRule())), or_none=True)
MASS = NumberRule(1e-9, 1e9)
PART = AnyOf((TextRule(), TableRule()))
OPTIONS = {
    "worlds": NumberRule(1, MAX_WORLDS, integer=True),
    "threads": NumberRule(1, MAX_THREADS, integer=True),
    "slots": AnyOf((NumberRule(1, MAX_SLOTS, integer=True),), or_none=True),
    **dict.fromkeys(("contacts", "coordinates", "pushes"), NAMES),
    "parameters": ListRule(TextRule()),
    "actuators": AnyOf((TextRule(), TableRule())),
    "sensors": AnyOf((TEXT, ListRule(PART), TableRule(others=PART))),
    **dict.fromkeys(("keyframe", "precision", "device"), AnyOf((TEXT,), or_none=True)),
    **dict.fromkeys(("limits", "stiction", "self_collision"), FlagRule()),
    **dict.fromkeys(("bounce", "stabilization"), NumberRule(0, 1)),
    "mass_scale": AnyOf(
        (TableRule(others=AnyOf((MASS, ListRule(MASS, min_items=1)))),), or_none=True
    ),
    "control_rate": AnyOf((NumberRule(1e-6, 1e9),), or_none=True),
}
ATTRIBUTES: dict[str, Rule] = {
    "dt": NumberRule(MIN_DT, MAX_DT),
    **dict.fromkeys(("fast_steps", "impacts_lost", "overflow_steps", "max_overflow"), COUNT),
    "wall_time": NumberRule(0, MAX_TIME),
    "evaluation_instant": NumberRule(0, 1),
    "mean_*": NumberRule(-MAX_VALUE, MAX_VALUE),
    "unit_*": TEXT,
    "role_*": TextRule(choices=get_args(Role)),
    "options": JsonRule(TableRule(OPTIONS)),
    "registers": JsonRule(TableRule(others=NumbersRule())),
    "command": JsonRule(TableRule(others=NumbersRule())),
    **dict.fromkeys(("robot_options", "versions", "seeds"), JsonRule(TableRule())),
    "*_parameters": JsonRule(TableRule()),
    **dict.fromkeys(("robot", "robot_file", "robot_sha256", "model_sha256"), TEXT),
    "robot_package": TEXT,
    **dict.fromkeys(("tarsus_version", "compiler_sha256", "program_sha256", "processor"), TEXT),
    **dict.fromkeys(("command_line", "partial", "engine", "engine_version", "warnings"), TEXT),
    **{f"{kind}*": TEXT for kind in ("law", "stepper", "terrain", "gait")},
}

BY_STEP = (
    *(
        "iterations",
        "converged",
        "solver_stage",
        "kinetic_energy",
        "potential_energy",
        "equation_residual",
    ),
    *(f"energy_{share}" for share in ROBOT_SHARES),
    *("support_margin", "drift", "joint_friction_residual"),
)
DIMENSIONS: dict[str, tuple[str, ...]] = {  # of variables, without `world`
    "time": ("time",),
    **dict.fromkeys(("q",), ("time", "coordinate")),
    **dict.fromkeys(("force_limit", "force_joint_friction"), ("time", "velocity")),
    **dict.fromkeys(("u", "passive_force", "terms_velocity"), ("time", "velocity")),
    "tau": ("time", "actuator"),
    **dict.fromkeys(BY_CONTACT, ("time", "contact")),
    **dict.fromkeys(BY_AXIS, ("time", "contact", "axis")),
    **dict.fromkeys(("impulse_in_impacts", "force_without_impacts"), ("time", "contact", "axis")),
    **dict.fromkeys(BY_XYZ, ("time", "contact", "xyz")),
    "contact_moment": ("time", "contact", "xyz"),
    **dict.fromkeys(BY_STEP, ("time",)),
    **dict.fromkeys(("center_of_mass", "center_of_mass_velocity"), ("time", "xyz")),
    "zero_moment_point": ("time", "xyz"),
    "capture_point": ("time", "xy"),
    **dict.fromkeys(("impulse_constraint", "force_constraint"), ("time", "constraint")),
    "force_loop_limit": ("time", "loop_joint"),
    "q_uncut": ("time", "uncut_coordinate"),
    "u_uncut": ("time", "uncut_velocity"),
    "push": ("time", "pushed", "wrench"),
    "q_start": ("coordinate",),
    "u_start": ("velocity",),
    "state_start": ("state_entry",),
    "energy_start": (),
    **{name: ("impact",) for name in ("impact_time", "impact_step", "impact_world")},
    **{f"impact_kinetic_{when}": ("impact",) for when in ("before", "after")},
    "impact_potential": ("impact",),
    **{
        f"impact_{name}": ("impact", "contact", "axis")
        for name in ("impulse", "velocity_before", "velocity_after")
    },
    "impact_q": ("impact", "coordinate"),
    **{f"impact_u_{when}": ("impact", "velocity") for when in ("before", "after")},
}
INTEGER_VARIABLES = ("iterations", "converged", "solver_stage")  # whole numbers
LABELS = ("coordinate", "velocity", "actuator", "contact", "axis", "xyz", "xy", "pushed", "wrench")
LABELED_DIMENSIONS = (
    "coordinate",
    "velocity",
    "actuator",
    "contact",
)  # dimensions that must have labels
SIZES = {"axis": 3, "xyz": 3, "xy": 2, "wrench": 6}


def check_attributes(attributes: Mapping[Any, Any]) -> dict[str, Any]:
    """Convert the attributes of a log to Python types; raise InvalidFile for a damaged one."""
    plain = _python_types(attributes)
    TableRule(ATTRIBUTES).check("", plain)
    return plain


def check_log(log: xr.Dataset, needed: Iterable[str] = ()) -> xr.Dataset:
    """Check a log; return it with empty variables added.

    Parameters
    ----------
    log
        The log.
    needed
        Variables and attributes that the caller reads.

    Raises
    ------
    InvalidFile
        If the log is damaged or not a log; the subject is the attribute or variable.
    """
    log = add_empty(log)
    missing = [name for name in needed if name not in log.variables and name not in log.attrs] or [
        name for name in ("time",) if name not in log.variables
    ]
    if missing or "time" not in log.dims:
        missing = missing or ["time"]
        raise InvalidFile(f"not a log of tarsus run: it lacks {', '.join(missing)}.", missing[0])
    if not log.sizes["time"]:
        raise InvalidFile("this log has no steps; record at least one.", "time")
    if not log.sizes.get("world", 1):
        raise InvalidFile("this log has no worlds; record at least one.", "world")
    attributes = check_attributes(log.attrs)
    for name in attributes:
        if name.startswith("role_") and f"mean_{name[5:]}" not in attributes:
            raise InvalidFile(f"the log lacks the attribute mean_{name[5:]}.", f"mean_{name[5:]}")
    if ("q_start" in log.variables) != ("u_start" in log.variables):
        absent = "u_start" if "q_start" in log.variables else "q_start"
        raise InvalidFile("a log must have both q_start and u_start, or neither.", absent)
    _check_dimensions(log)
    _check_values(log)
    return log


def check_robot(log: xr.Dataset, robot: R) -> R:
    """Return the robot.

    Raise InvalidFile unless coordinates, velocities and motors match the log.
    """
    uncut = "uncut_" if "q_uncut" in log else ""
    sizes = {f"{uncut}coordinate": ("coordinates", robot.nq)}
    sizes |= {f"{uncut}velocity": ("velocities", robot.nu)}
    for dimension, (what, count) in sizes.items():
        if log.sizes.get(dimension, count) != count:
            raise InvalidFile(
                f"the log has {log.sizes[dimension]} {what}, but {robot.name} has {count}; use the"
                " robot of the run, in the version that was simulated.",
                dimension,
            )
    known = {actuator.name for actuator in with_tendon_motors(robot).actuators}
    names = map(str, log["actuator"].values) if "actuator" in log else ()
    if other := [name for name in names if name not in known]:
        raise InvalidFile(
            f"the log has motors that {robot.name} lacks ({join_names(other, 3)}): use the"
            " robot of the run, in the version that was simulated.",
            "actuator",
        )
    return robot


def _python_types(attributes: Mapping[Any, Any]) -> dict[str, Any]:
    """Convert NumPy numbers in attributes to Python numbers."""
    plain = dict[str, Any]()
    for name, value in attributes.items():
        single = isinstance(value, np.generic | np.ndarray) and value.size == 1
        plain[str(name)] = value.item() if single else value
    return plain


def _check_dimensions(log: xr.Dataset) -> None:
    """Raise InvalidFile for a variable with wrong dimensions or a dimension of the wrong size."""
    # dimensions of each variable
    for name, expected in DIMENSIONS.items():
        if name not in log.variables:
            continue
        dims = tuple(map(str, log.variables[name].dims))
        stored = tuple(dim for dim in dims if dim != "world")
        if stored != expected or (
            "world" in dims and dims.index("world") != dims[:1].count("time")
        ):
            raise InvalidFile(
                f"not a log of tarsus run: the dimensions of {name} must be"
                f" {', '.join(expected) or 'none'}, not {', '.join(dims) or 'none'}.",
                name,
            )
        values = log.variables[name]
        if values.dtype.kind not in "fiub":
            raise InvalidFile(f"{name} must contain numbers.", name)
    # sizes and labels
    for dimension, size in SIZES.items():
        if log.sizes.get(dimension, size) != size:
            raise InvalidFile(
                f"the dimension {dimension} must have size {size}, not {log.sizes[dimension]}.",
                dimension,
            )
    for name in LABELS:
        if name in LABELED_DIMENSIONS and name in log.sizes and name not in log.variables:
            raise InvalidFile(f"not a log of tarsus run: it lacks {name}.", name)
        if name in log.variables:
            labels = log.variables[name]
            stored = labels.values.ravel().tolist()
            words = all(isinstance(label, str) and label.isprintable() for label in stored)
            if labels.dims != (name,) or not words:
                raise InvalidFile(f"{name} must contain one printable name per entry.", name)
            if len(set(labels.values.tolist())) < labels.size:
                raise InvalidFile(f"the names in {name} must be unique.", name)


def _check_values(log: xr.Dataset) -> None:
    """Raise InvalidFile for times that do not increase, unknown states and huge numbers.

    NaN is allowed: a world that diverged leaves it.
    """
    time = log["time"].values
    if not (np.isfinite(time).all() and time.min() >= 0 and time.max() <= MAX_TIME):
        raise InvalidFile(f"time must lie between 0 and {MAX_TIME:g} s.", "time")
    if (np.diff(time) <= 0).any():
        raise InvalidFile("time must increase from step to step.", "time")
    if "state" in log and not np.isin(log["state"].values, (*range(len(STATES)), np.nan)).all():
        raise InvalidFile(f"state must be a whole number from 0 to {len(STATES) - 1}.", "state")
    for name in DIMENSIONS:
        if name in log.variables and name not in ("time", "state", "state_start"):
            values = log.variables[name].values.astype(float)
            too_large = (np.abs(values) > MAX_VALUE) & np.isfinite(values)
            if too_large.any():
                raise InvalidFile(f"{name} must be at most {MAX_VALUE:g} in SI units.", name)
            if name in INTEGER_VARIABLES and not np.isfinite(values).all():
                raise InvalidFile(f"{name} must be a finite number in every step.", name)
