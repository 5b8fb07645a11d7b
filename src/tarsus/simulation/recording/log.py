"""Build, check, read and save logs: xarray Datasets with named dimensions and units."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy.io import netcdf_file

from tarsus.contact.base import Law
from tarsus.dynamics import dependent_coordinates, loop_constraints
from tarsus.errors import InvalidFile, WarningRecord, join_names
from tarsus.files import atomic_write, is_file, missing_file_error
from tarsus.model.mechanism import Mechanism
from tarsus.parameters import Role, declared_fields
from tarsus.program.run.backend import Backend
from tarsus.simulation import sensors
from tarsus.simulation.recording import variables
from tarsus.simulation.recording.empty_dimensions import drop_empty
from tarsus.simulation.recording.energy_gain import energy_gain, gain_warnings
from tarsus.simulation.recording.impact_table import impact_variables, impacts_lost
from tarsus.simulation.recording.joint_friction import friction_limits, friction_residual
from tarsus.simulation.recording.log_hooks import run_hooks
from tarsus.simulation.recording.observed_steps import observe_steps
from tarsus.simulation.step_program import Plan
from tarsus.stepping.base import FAST_TURN_ANGLE
from tarsus.stepping.flight import TERMS_VELOCITY
from tarsus.stepping.lockable_joints import lockable_dependents, split_recorded

Array = NDArray[Any]
T = TypeVar("T", float, None)
STATE_ATTRIBUTES = {
    "units": "1",
    "long_name": "the whole state before the first step, as `Simulation.state` gives it",
}
WRENCH = ("fx", "fy", "fz", "mx", "my", "mz")
LIMIT_TOLERANCE = 1e-5  # rad or m; compliance under an impact of thousands of newtons


def build_log(
    plan: Plan, worlds: Backend, start: Mapping[str, Array], records: Mapping[str, Array], t0: float
) -> xr.Dataset:
    """Build the log of recorded steps.

    If there are more than 16 candidates, contacts are the primary ones and those that touched.

    Parameters
    ----------
    plan, worlds
        Compiled step and its worlds.
    start
        Registers before the first step, shape (worlds, size), and the snapshot "state".
    records
        Registers after each step, shape (steps, worlds, size).
    t0
        Time at the start, in s.
    """
    # observe the steps
    run_hooks()
    observed = observe_steps(plan, worlds, start, records)
    plan, start, records, dt = observed.plan, observed.start, observed.records, observed.dt
    reports, solved, contacts = observed.reports, observed.solved, observed.contacts
    scene, mechanism = plan.scene, plan.scene.mechanism
    steps, count = records["q"].shape[:2]
    # balance uses contacts with the ground only
    first = len(scene.candidates) + len(scene.spans)
    grounded = {name: (dims, values[:, :, :first]) for name, (dims, values) in contacts.items()}
    # variables with their dimensions
    each = ("time", "world")
    variables_of_log = {
        "q": (("time", "world", "coordinate"), records["q"]),
        "u": (("time", "world", "velocity"), records["u"]),
        "tau": (("time", "world", "actuator"), records["tau"]),
        **contacts,
        "iterations": (each, records["iterations"][..., 0].astype(np.int32)),
        "converged": (each, records["converged"][..., 0].astype(np.int8)),
        **_build_stage_variables(scene.law, records),
        **_build_terms_variables(records),
        **variables.energy_variables(reports, solved, reports["stored"]),
        **variables.balance_variables(reports, grounded, -mechanism.gravity_acceleration[2]),
        **_build_joint_variables(plan, worlds, reports, records, dt),
        **_loop_variables(mechanism, reports, records["bilateral"], dt),
        **impact_variables(plan, worlds, records, t0),
        **sensors.log_variables(plan, worlds, records),
        **_push_variables(plan, records),
        "q_start": (("world", "coordinate"), start["q"]),
        "u_start": (("world", "velocity"), start["u"]),
        "state_start": (("world", "state_entry"), start["state"], STATE_ATTRIBUTES),
    }
    # dataset with units and meanings
    time = t0 + dt * np.arange(1, steps + 1)
    labels = variables.labels(mechanism, scene.geometry.contact_names, time) | {
        "world": np.arange(count)
    }
    log = variables.add_descriptions(xr.Dataset(variables_of_log, labels))
    log.attrs.update(_collect_law_attributes(scene.law, worlds) | {"dt": dt})
    log.attrs.update(energy_gained=energy_gain(log))
    log.attrs.update(
        fast_steps=int(reports["fast"].sum()), impacts_lost=impacts_lost(plan, records)
    )
    if "overflow" in records:
        log.attrs.update(overflow_steps=int((records["overflow"] > 0).sum()))
        log.attrs.update(max_overflow=int(records["overflow"].max(initial=0)))
    return drop_empty(log.squeeze("world", drop=True) if count == 1 else log)


def _build_joint_variables(
    plan: Plan,
    worlds: Backend,
    reports: Mapping[str, Array],
    records: Mapping[str, Array],
    dt: float,
) -> dict[str, Any]:
    """Build forces (steps, worlds, nu) of joint limits and dry friction, and passive forces.

    Also the forces of loop joint limits, and the friction residual, where such joints exist. Empty
    without joint limits and dry friction.
    """
    if "joints" not in records:
        return {}
    # forces of joints in the tree
    scene = plan.scene
    limits, friction, closing = split_recorded(scene, records["joints"] / dt)
    forces = {"force_limit": limits, "force_joint_friction": friction}
    forces["passive_force"] = reports["passive"]
    each = ("time", "world")
    values: dict[str, Any] = {name: ((*each, "velocity"), part) for name, part in forces.items()}
    # friction residual
    rubbing = friction_limits(plan, worlds)
    if rubbing.any():
        single = worlds.target.bits == 32
        off = friction_residual(rubbing, (limits, friction), records["u"], single)
        values["joint_friction_residual"] = (each, off)
    # loop joints and tendons
    if closing.shape[-1]:
        known = dependent_coordinates.names(scene.mechanism)
        names = [known[row.dependent] for row in lockable_dependents(scene)]
        values["force_loop_limit"] = ((*each, "loop_joint"), closing)
        values["loop_joint"] = ("loop_joint", names)
    return values


def _push_variables(plan: Plan, records: Mapping[str, Array]) -> dict[str, Any]:
    """Build forces and moments (steps, worlds, pushed bodies, 6), if they were recorded."""
    if "push" not in records:
        return {}
    push = records["push"].reshape(*records["push"].shape[:2], -1, len(WRENCH))
    return {
        "push": (("time", "world", "pushed", "wrench"), push),
        "pushed": ("pushed", list(plan.pushed_bodies)),
        "wrench": ("wrench", list(WRENCH)),
    }


def _loop_variables(
    mechanism: Mechanism, reports: Mapping[str, Array], impulse: Array, dt: float
) -> dict[str, Any]:
    """Build drift and impulses (steps, worlds, nb) of loop joints, and the uncut state."""
    values: dict[str, Any] = {}
    if mechanism.constrained:
        rows = ("time", "world", "constraint")
        values = {
            "drift": (rows[:2], reports["drift"][..., 0]),
            "impulse_constraint": (rows, impulse),
            "force_constraint": (rows, impulse / dt),
            "constraint": ("constraint", loop_constraints.row_names(mechanism)),
        }
    if mechanism.uncut is not None:
        for letter, what, names in (
            ("q", "coordinate", variables.coordinate_names),
            ("u", "velocity", variables.velocity_names),
        ):
            values[f"{letter}_uncut"] = (
                ("time", "world", f"uncut_{what}"),
                reports[f"{letter}_uncut"],
            )
            values[f"uncut_{what}"] = (f"uncut_{what}", names(mechanism.uncut))
    return values


def _build_stage_variables(law: Law, records: Mapping[str, Array]) -> dict[str, Any]:
    """Build the variable that names the solver's stage of each step, if the law has stages."""
    if "stage" not in records:
        return {}
    meanings = {
        "flag_values": list(range(len(law.stages))),
        "flag_meanings": _flag_meanings(law.stages),
    }
    stage = records["stage"][..., 0].astype(np.int8)
    return {"solver_stage": (("time", "world"), stage, meanings)}


def _build_terms_variables(records: Mapping[str, Array]) -> dict[str, Any]:
    """Build the velocity of the velocity terms, if the stepper chooses it."""
    if TERMS_VELOCITY not in records:
        return {}
    return {TERMS_VELOCITY: (("time", "world", "velocity"), records[TERMS_VELOCITY])}


def _flag_meanings(names: Sequence[str]) -> str:
    """Join names as the CF conventions require: blanks between them, none inside."""
    return " ".join(name.replace(" ", "_") for name in names)


def _collect_law_attributes(law: Law, worlds: Backend) -> dict[str, float | str]:
    """Collect mean over the worlds, unit and role of each of the law's parameters."""
    attributes: dict[str, float | str] = {}
    for name, declaration in declared_fields(type(law)).items():
        if f"law.{name}" in worlds:
            attributes[f"mean_{name}"] = float(worlds.get(f"law.{name}").mean())
            attributes[f"unit_{name}"] = declaration.unit
            if declaration.role:
                attributes[f"role_{name}"] = declaration.role
    return attributes


def mean_of_role(log: xr.Dataset, role: Role, missing: T = 0.0) -> float | T:
    """Compute the mean over the worlds of the law's parameter with this role.

    `missing` without one.
    """
    names = [k[5:] for k, v in log.attrs.items() if k.startswith("role_") and v == role]
    return float(log.attrs[f"mean_{names[0]}"]) if names else missing


def log_warnings(mechanism: Mechanism, log: xr.Dataset) -> list[WarningRecord]:
    """Warn about a log: unconverged steps, energy gain, lost contacts, exceeded limits.

    Parameters
    ----------
    mechanism
        The robot, before joints were cut.
    log
        Log of the run.
    """
    # unconverged steps
    records = list[WarningRecord]()
    unconverged = int((log["converged"] == 0).sum())
    if unconverged:
        text = f"{unconverged} steps did not converge to the solver's tolerance."
        records.append(WarningRecord(text, "steps-not-converged", "converged"))
    # energy gain
    records += gain_warnings(mechanism, log)
    # steps with damped velocity terms
    fast = log.attrs["fast_steps"]
    if fast:
        text = (
            f"in {fast} steps a joint turned by more than {FAST_TURN_ANGLE:g} rad, so their"
            " velocity terms were damped to create no energy; a smaller dt resolves such motion."
        )
        records.append(WarningRecord(text, "fast-steps-damped", "dt"))
    # impacts without a slot
    lost = log.attrs.get("impacts_lost", 0)
    if lost:
        text = (
            f"{lost} impacts are missing in the log's table, because some steps had more"
            " than it holds; use --set impacts=16 or a smaller dt."
        )
        records.append(WarningRecord(text, "impacts-lost", "impacts"))
    # contacts without a slot
    if overflow := log.attrs.get("overflow_steps", 0):
        text = (
            f"in {overflow} steps more contacts touched than there are slots, by up to"
            f" {log.attrs['max_overflow']}; only the deepest were simulated. Increase slots=N."
        )
        records.append(WarningRecord(text, "slots-exceeded", "slots"))
    # excess of each joint beyond its limits
    beyond: dict[str, float] = {}
    q = log["q_uncut" if "q_uncut" in log else "q"].values
    for body, q_slice in zip(mechanism.bodies, mechanism.q_slices, strict=True):
        joint, values = body.joint, q[..., q_slice.start]
        if joint.nq == 1:
            beyond[joint.name] = max(
                float(values.max()) - joint.upper, joint.lower - float(values.min())
            )
    # worst first
    worst = sorted(
        (name for name, by in beyond.items() if by > LIMIT_TOLERANCE),
        key=lambda name: -beyond[name],
    )
    if worst:
        listed = join_names([f"{name} by {beyond[name]:.3g}" for name in worst], 3)
        text = f"{len(worst)} joints went beyond their limits: {listed} (rad or m)."
        records.append(WarningRecord(text, "limits-exceeded", worst[0]))
    return records


def read_log(path: Path) -> xr.Dataset:
    """Read the log in a netCDF file, without checking its content (`log_schema.check_log`).

    Raises
    ------
    InvalidFile
        If the file does not exist or cannot be read.
    """
    if not is_file(path):
        raise missing_file_error(path, "a log of `tarsus run` (.nc)")
    try:
        # overlapping variables may be far larger than the file
        with netcdf_file(path, "r", mmap=True) as file:
            declared = sum(variable.data.nbytes for variable in file.variables.values())
            file.variables.clear()
        if declared > path.stat().st_size:
            raise ValueError
        with warnings.catch_warnings():  # warnings about fill values do not matter here
            warnings.simplefilter("ignore", xr.SerializationWarning)
            return xr.load_dataset(path, engine="scipy", decode_times=False)
    except Exception:  # readers raise anything on damaged files
        raise InvalidFile(f"{path} cannot be read as a netCDF file.", path) from None


def save_log(log: xr.Dataset, path: Path) -> None:
    """Write a log to a netCDF file atomically; an OSError names `path`."""
    with atomic_write(path) as temporary:
        log.to_netcdf(temporary, engine="scipy")
