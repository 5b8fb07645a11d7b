"""Recorded runs of any simulator as arrays: the input of `tarsus judge`.

The arrays come from an .npz file, from a netCDF log of Tarsus, or from memory.

Row k holds the state after step k and the forces that acted during that step. Row 0 is the start;
its forces are not read. World axes, SI units. The conventions are MuJoCo's: qpos and qvel are q and
u of Tarsus (docs/conventions.md, docs/judge.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from tarsus import registry
from tarsus.comparison.log_arrays import REQUIRED_VARIABLES, check_loops, to_float_array
from tarsus.comparison.time_grid import row_spacing, steps_between
from tarsus.dynamics import loop_constraints
from tarsus.dynamics.integrate import integrate
from tarsus.dynamics.robot import Robot
from tarsus.dynamics.transmission import numeric_forces
from tarsus.errors import (
    IncompatibleOptions,
    InvalidFile,
    InvalidValue,
    Unsupported,
    unknown_name_error,
)
from tarsus.files import is_file, missing_file_error, read_npz
from tarsus.model.check import LARGEST
from tarsus.model.mechanism import WORLD
from tarsus.model.motors import with_tendon_motors
from tarsus.model.spans import MAX_TOP_EDGES, create_spans
from tarsus.simulation import resolve
from tarsus.simulation.recording.log import mean_of_role, read_log
from tarsus.simulation.recording.log_schema import check_log, check_robot
from tarsus.simulation.recording.observed_run import Trajectory
from tarsus.stepping.base import METHODS
from tarsus.stepping.flight import TERMS_VELOCITY

Array = NDArray[np.float64]
REQUIRED = ("time", "qpos", "qvel", "contact_force")
VECTORS = ("contact_point", "contact_normal", "correction")
CONSTRAINT = "force_constraint"
FORCES = ("qfrc_actuator", "qfrc_passive", CONSTRAINT)
OPTIONAL = ("mu", "contact_body", *VECTORS, "gap", *FORCES, TERMS_VELOCITY)
SCALARS = ("e_N", "e_T", "tolerance", "instant", "stages", "dt")
INTEGRATION = ("ctrl", "integrator")  # for `comparison.integrators`: how MuJoCo computed forces
QUATERNION_TOLERANCE = 1e-3  # allowed deviation from unit length
SUFFIXES = (".npz", ".nc")
EXPECTED = "a recorded run (.nc, .npz, .csv, .parquet) or a ROS 2 bag"


def read_arrays(path: Path) -> dict[str, Any] | xr.Dataset:
    """Read the arrays of an .npz file or a netCDF log; raise TarsusError for other files."""
    if not is_file(path):
        raise missing_file_error(path, EXPECTED)
    if path.suffix not in SUFFIXES:
        raise InvalidFile(
            f"a trajectory must be an .npz file or a netCDF log (.nc), not {path.name!r}.", path
        )
    if path.suffix == ".nc":
        return read_log(path)
    return read_npz(path)


def log_to_arrays(log: xr.Dataset, robot: Robot) -> dict[str, Any]:
    """Convert a log of Tarsus with one world to arrays.

    `numpy.savez(path, **log_to_arrays(log, robot))` writes a file that `tarsus judge` reads.

    Raises
    ------
    TarsusError
        If the log holds several worlds, lacks variables, or belongs to another robot.
    """
    # is it a complete log of one world?
    if "world" in log.dims:
        raise Unsupported(
            "this log contains several worlds; judge one of them, such as log.isel(world=0).",
            "world",
        )
    log = check_log(log, REQUIRED_VARIABLES)
    robot = check_robot(log, robot)
    dt = float(log.attrs["dt"])
    instant = log.attrs.get("evaluation_instant", _instant(str(log.attrs.get("stepper"))))
    check_loops(log, robot)
    # motor torques at the joints they drive
    driven = {motor.name: motor.joint for motor in with_tendon_motors(robot).actuators}
    names = [driven[name] for name in map(str, log["actuator"].values)]
    motors = numeric_forces(robot, names, _evaluated(log, robot, instant), log["tau"].values)
    if "push" in log:
        motors += _push_forces(log, robot)
    # the start and every step after it
    arrays: dict[str, Any] = {
        "time": np.concatenate([log["time"].values[:1] - dt, log["time"].values]),
        "qpos": np.concatenate([log["q_start"].values[None], log["q"].values]),
        "qvel": np.concatenate([log["u_start"].values[None], log["u"].values]),
        "contact_body": np.array([str(name) for name in log["contact"].values]),
        "instant": instant or 0.0,
        "stages": 2 if instant is None else 1,
        "tolerance": mean_of_role(log, "absolute_tolerance"),
        "e_N": mean_of_role(log, "restitution_normal"),
        "e_T": mean_of_role(log, "restitution_tangential"),
    }
    # values of steps: the start repeats those of the first step
    steps = {name: log[name].values for name in ("contact_normal", "contact_point", "gap")}
    steps["correction"] = log["velocity_correction"].values
    steps["mu"] = mean_of_role(log, "friction") * log["ground_friction"].values
    steps |= {"contact_force": log["force_world"].values, "qfrc_actuator": motors}
    if CONSTRAINT in log:
        steps[CONSTRAINT] = log[CONSTRAINT].values
    if TERMS_VELOCITY in log:
        steps[TERMS_VELOCITY] = log[TERMS_VELOCITY].values
    if "passive_force" in log:  # of a run in MuJoCo, or with joint limits or dry friction
        steps["qfrc_passive"] = log["passive_force"].values
    return arrays | {name: np.concatenate([value[:1], value]) for name, value in steps.items()}


def _evaluated(log: xr.Dataset, robot: Robot, instant: float | None) -> Array:
    """Compute the coordinates (steps, nq) at which steps evaluated forces."""
    if not any(tendon.segments for tendon in robot.tendons):
        return log["q"].values  # transmissions do not depend on them
    q, u = (
        np.concatenate([log[f"{name}_start"].values[None], log[name].values[:-1]])
        for name in ("q", "u")
    )
    return integrate(robot, q, u, float(log.attrs["dt"]) * (instant or 0.0))


def _push_forces(log: xr.Dataset, robot: Robot) -> Array:
    """Compute the generalized forces (steps, nu) of the log's pushes at the start of each step."""
    q = np.concatenate([log["q_start"].values[None], log["q"].values[:-1]]).astype(float)
    force, push = np.zeros((len(q), robot.nu)), log["push"].values.astype(float)
    for k, name in enumerate(map(str, log["pushed"].values)):
        force += robot.external_force(q, name, push[:, k])
    return force


def _instant(stepper: str) -> float | None:
    """Return the fraction of a step at which a stepper evaluates contacts; None for several."""
    known = stepper in registry.names(METHODS)
    return resolve.resolve_stepper(stepper).instant if known else None


def build_trajectory(arrays: Mapping[str, Any], robot: Robot) -> Trajectory:
    """Build a trajectory from arrays and check them against the robot.

    Raises
    ------
    TarsusError
        If an array is unknown, missing, not finite, or has the wrong shape; the message names the
        first one.
    """
    # names
    known = (*REQUIRED, *OPTIONAL, *SCALARS, *INTEGRATION)
    for name in arrays:
        if name not in known:
            raise unknown_name_error("array of a trajectory", name, known)
    absent = [name for name in REQUIRED if name not in arrays]
    if absent:
        raise InvalidValue(
            f"the trajectory lacks {', '.join(absent)}; it needs {', '.join(REQUIRED)}.", absent[0]
        )

    # shapes and values
    rows, ends = np.size(arrays["time"]), _ends(arrays, robot)
    sizes = {"time": (), "qpos": (robot.nq,), "qvel": (robot.nu,), "gap": (len(ends),)}
    sizes |= dict.fromkeys(("contact_force", *VECTORS), (len(ends), 3))
    sizes |= dict.fromkeys(("qfrc_actuator", "qfrc_passive"), (robot.nu,))
    sizes[TERMS_VELOCITY] = (robot.nu,)
    sizes[CONSTRAINT] = (loop_constraints.count_constraints(robot),)
    values = {
        name: check_finite(name, arrays[name], (rows, *size))
        for name, size in sizes.items()
        if name in arrays
    }
    if "mu" in arrays:
        values["mu"] = _friction(arrays["mu"], (rows, len(ends)))
    scalars = {name: _number(name, arrays[name]) for name in SCALARS if name in arrays}
    if "contact_body" in arrays and not {"contact_point", "gap"} <= set(values):
        raise IncompatibleOptions(
            "contacts named by contact_body also need contact_point and gap.", "contact_body"
        )
    spacing, up = (
        row_spacing(values["time"]),
        np.broadcast_to([0.0, 0.0, 1.0], (rows, len(ends), 3)),
    )
    every = _count_steps_per_row(spacing, scalars.get("dt", spacing))
    _check_quaternions(values["qpos"], robot)

    # row 0 is the start: forces and contacts count from row 1 on
    after = {name: values[name][1:] if name in values else None for name in OPTIONAL}
    return Trajectory(
        robot=robot,
        dt=spacing / every,
        q=values["qpos"],
        u=values["qvel"],
        force=values["contact_force"][1:],
        contact_bodies=ends,
        normal=_normalize(values.get("contact_normal", up)[1:]),
        point=after["contact_point"],
        correction=after["correction"],
        gap=after["gap"],
        motors=after["qfrc_actuator"],
        passive=after["qfrc_passive"],
        constraint=after[CONSTRAINT],
        terms_velocity=after[TERMS_VELOCITY],
        mu=after["mu"],
        e_N=scalars.get("e_N", 0.0),
        e_T=scalars.get("e_T", 0.0),
        tolerance=scalars.get("tolerance", 1e-3 * spacing / every),
        instant=scalars.get("instant", 0.0),
        stages=int(scalars.get("stages", 1)),
        row_interval=every,
    )


def _ends(arrays: Mapping[str, Any], robot: Robot) -> tuple[tuple[int, int], ...]:
    """Return the two bodies of each contact; WORLD stands for the ground."""
    if "contact_body" in arrays:
        candidates = [c.name for c in robot.candidates]
        span_bodies = {s.name: s.body for s in create_spans(robot, candidates, MAX_TOP_EDGES)}
        names = map(str, np.atleast_1d(arrays["contact_body"]))
        return tuple(_find_bodies_of_contact(robot, name, span_bodies) for name in names)
    return tuple((candidate.body, WORLD) for candidate in robot.candidates)


def _find_bodies_of_contact(
    robot: Robot, name: str, span_bodies: Mapping[str, int]
) -> tuple[int, int]:
    """Find the two bodies of a contact.

    Parameters
    ----------
    robot
        Robot in contact.
    name
        Name of a contact in a log of Tarsus, or of a body, a frame or a candidate.
    span_bodies
        Bodies of the spans between candidates, by name.
    """
    # FIRST:SECOND or FIRST:SECOND_K, two shapes
    solids = {solid.name: solid.body for solid in robot.solids}
    for colon in (k for k, letter in enumerate(name) if letter == ":"):
        first, second = name[:colon], name[colon + 1 :]
        second = second if second in solids else second.rpartition("_")[0]
        if first in solids and second in solids:
            return solids[first], solids[second]
    # a span between candidates of a body, or NAME+K, a contact point of an ellipsoid
    if name in span_bodies:
        return span_bodies[name], WORLD
    ellipsoids = {c.name for c in robot.candidates if c.outline is not None}
    first = name.rpartition("+")[0]
    return robot.frame(first if first in ellipsoids else name).body, WORLD


def check_finite(name: str, data: Any, shape: tuple[int, ...]) -> Array:
    """Convert to a finite array of a shape; raise InvalidValue that names the first bad value."""
    value = to_float_array(name, data)
    if value.shape != shape:
        raise InvalidValue(
            f"{name} must have shape {shape} for this time and robot, not {value.shape}.", name
        )
    bad = np.argwhere(~np.isfinite(value))
    if len(bad):
        row, column = int(bad[0][0]), ",".join(map(str, bad[0][1:]))
        raise InvalidValue(
            f"{name}{f'[{column}]' if column else ''} is not finite in row {row}; cut the run off"
            " before that row, or repair it.",
            name,
        )
    if np.abs(value).max(initial=0.0) > LARGEST:
        raise InvalidValue(f"{name} must be at most {LARGEST:g} in SI units.", name)
    return value


def _number(name: str, data: Any) -> float:
    value = to_float_array(name, data)
    if value.size != 1 or not (value >= 0).all() or not (value <= LARGEST).all():
        raise InvalidValue(f"{name} must be one finite, nonnegative number.", name)
    return float(value.reshape(()))


def _friction(data: Any, shape: tuple[int, int]) -> Array:
    value = to_float_array("mu", data)
    if (
        value.shape not in ((), (1,), shape[1:], shape)
        or not (value >= 0).all()
        or not (value <= LARGEST).all()
    ):
        raise InvalidValue(
            f"mu must be one friction coefficient, or an array of shape {shape[1:]} or {shape},"
            " without negative values.",
            "mu",
        )
    return np.broadcast_to(value, shape)


def _count_steps_per_row(spacing: float, dt: float) -> int:
    """Count the steps of dt per row; raise InvalidValue unless it is a whole number."""
    count = steps_between(spacing, dt) if dt else 0
    if not count:
        raise InvalidValue(
            f"rows are {spacing:g} s apart, which is not a multiple of dt = {dt:g} s.", "dt"
        )
    return count


def _check_quaternions(q: Array, robot: Robot) -> None:
    for body, q_slice in zip(robot.bodies, robot.q_slices, strict=True):
        if body.joint.kind in ("free", "ball"):
            lengths = np.linalg.norm(q[:, q_slice.stop - 4 : q_slice.stop], axis=1)
            if np.abs(lengths - 1).max() > QUATERNION_TOLERANCE:
                raise InvalidValue(
                    f"the quaternion of joint {body.joint.name!r} in qpos must have length 1.",
                    "qpos",
                )


def _normalize(normals: Array) -> Array:
    lengths = np.linalg.norm(normals, axis=-1, keepdims=True)
    if (lengths < 1e-9).any():
        raise InvalidValue(
            "contact_normal must not be zero; it points out of the ground, even without contact.",
            "contact_normal",
        )
    return normals / lengths
