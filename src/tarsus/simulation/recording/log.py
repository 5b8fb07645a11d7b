"""A run's log as an xarray Dataset: named dimensions, units, contact and world frames."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from tarsus.contact import criteria
from tarsus.contact.base import Law
from tarsus.contact.criteria import STATES, Solved
from tarsus.contact.ledger import SHARES, ledger
from tarsus.dynamics import loop_constraints
from tarsus.files import replacing
from tarsus.model.mechanism import Mechanism
from tarsus.parameters import Role, declared, named
from tarsus.program.run.backend import Backend
from tarsus.program.run.samples import evaluate
from tarsus.simulation.recording.empty import without_empty
from tarsus.simulation.recording.observe import observer
from tarsus.simulation.recording.units import LOOPS, UNCUT, UNITS
from tarsus.simulation.step_program import Plan
from tarsus.stepping.fast_motion import FAST

Array = NDArray[Any]
T = TypeVar("T", float, None)
VECTORS = ("before", "after", "correction", "point")
ROBOT_SHARES = ("motors", "pushes", "joints", "drift")


def coordinate_names(mechanism: Mechanism) -> list[str]:
    """A name for every entry of q."""
    return _entry_names(
        mechanism, ("x", "y", "z", "qw", "qx", "qy", "qz"), ("qw", "qx", "qy", "qz")
    )


def velocity_names(mechanism: Mechanism) -> list[str]:
    """A name for every entry of u."""
    return _entry_names(mechanism, ("vx", "vy", "vz", "wx", "wy", "wz"), ("wx", "wy", "wz"))


def _entry_names(mechanism: Mechanism, free: tuple[str, ...], ball: tuple[str, ...]) -> list[str]:
    suffixes = {"free": free, "ball": ball}
    names = []
    for body in mechanism.bodies:
        ends = suffixes.get(body.joint.kind)
        names += [f"{body.joint.name}.{end}" for end in ends] if ends else [body.joint.name]
    return names


def dataset(
    plan: Plan, worlds: Backend, start: Mapping[str, Array], records: Mapping[str, Array], t0: float
) -> xr.Dataset:
    """The log of steps: records (steps, worlds, size) after each, `start` (worlds, size) before."""
    # what the registers held before each step, and what follows from them
    scene, mechanism = plan.scene, plan.scene.mechanism
    steps, count = records["q"].shape[:2]
    dt = float(worlds.get("dt")[0, 0])
    before = {k: np.concatenate([start[k][None], records[k][:-1]]) for k in ("q", "u", "memory")}
    seen = _observe(plan, worlds, before, records)
    # contacts: impulses in their frames and the world's, judged against the law
    n = len(scene.candidates)
    impulse = records["impulse"].reshape(steps, count, n, 3).astype(float)
    frame = seen["frame"].reshape(steps, count, n, 3, 3)
    in_world = np.einsum("stnij,stni->stnj", frame, impulse)
    vectors = {k: seen[k].reshape(steps, count, n, 3) for k in VECTORS}
    material = _material(scene.law, worlds, seen["friction"])
    material["correction"] = vectors["correction"]
    solved = Solved(seen["gap"], impulse, vectors["before"], vectors["after"], dt=dt, **material)
    # the variables with their dimensions
    contact, axis = ("time", "world", "contact"), ("time", "world", "contact", "axis")
    xyz = ("time", "world", "contact", "xyz")
    each = ("time", "world")
    variables = {
        "q": (("time", "world", "coordinate"), records["q"]),
        "u": (("time", "world", "velocity"), records["u"]),
        "tau": (("time", "world", "actuator"), records["tau"]),
        "gap": (contact, seen["gap"]),
        "impulse_contact": (axis, impulse),
        "impulse_world": (xyz, in_world),
        "force_contact": (axis, impulse / dt),
        "force_world": (xyz, in_world / dt),
        "contact_normal": (xyz, frame[..., 0, :]),
        "ground_friction": (contact, seen["friction"]),
        "contact_point": (xyz, vectors["point"]),
        "velocity_before": (axis, vectors["before"]),
        "velocity_after": (axis, vectors["after"]),
        "velocity_correction": (axis, vectors["correction"]),
        "slip_speed": (contact, criteria.slip_speed(solved)),
        "state": (contact, criteria.state(solved)),
        "iterations": (each, records["iterations"][..., 0].astype(np.int32)),
        "converged": (each, records["converged"][..., 0].astype(np.int8)),
        "kinetic_energy": (each, seen["kinetic"][..., 0]),
        "potential_energy": (each, seen["potential"][..., 0]),
        "equation_residual": (each, seen["residual"][..., 0]),
        **_energies(seen, solved),
        **_of_loops(mechanism, seen, records["bilateral"], dt),
        "energy_start": (("world",), seen["energy_before"][0, :, 0]),
        "q_start": (("world", "coordinate"), start["q"]),
        "u_start": (("world", "velocity"), start["u"]),
    }
    # the dataset with units and meanings
    log = xr.Dataset(variables, _coordinates(plan, t0 + dt * np.arange(1, steps + 1), count))
    for name, (unit, meaning) in (UNITS | LOOPS | UNCUT).items():
        if name in log:
            log[name].attrs.update(units=unit, long_name=meaning)
    log["state"].attrs.update(flag_values=list(range(len(STATES))), flag_meanings=" ".join(STATES))
    log.attrs.update(_law_attributes(scene.law, worlds))
    log.attrs.update(dt=dt, fast_steps=int(seen["fast"].sum()))
    return without_empty(log.squeeze("world", drop=True) if count == 1 else log)


def _energies(seen: Mapping[str, Array], solved: Solved) -> dict[str, Any]:
    """The energy ledger by contact and of the robot; its sum is every step's change of energy."""
    entries = ledger(solved, seen["stored"])
    found: dict[str, Any] = {
        f"energy_{share}": (("time", "world", "contact"), getattr(entries, share))
        for share in SHARES
    }
    found |= {
        f"energy_{share}": (("time", "world"), seen[f"work_{share}"][..., 0])
        for share in ROBOT_SHARES
    }
    return found


def _of_loops(
    mechanism: Mechanism, seen: Mapping[str, Array], impulse: Array, dt: float
) -> dict[str, Any]:
    """Drift and impulses (steps, worlds, nb) of joints outside the tree, and the state of the
    robot before cuts.
    """
    found: dict[str, Any] = {}
    if mechanism.loops:
        rows = ("time", "world", "constraint")
        found = {
            "drift": (rows[:2], seen["drift"][..., 0]),
            "impulse_constraint": (rows, impulse),
            "force_constraint": (rows, impulse / dt),
            "constraint": ("constraint", loop_constraints.row_names(mechanism)),
        }
    if mechanism.uncut is not None:
        for letter, what, names in (
            ("q", "coordinate", coordinate_names),
            ("u", "velocity", velocity_names),
        ):
            found[f"{letter}_uncut"] = (("time", "world", f"uncut_{what}"), seen[f"{letter}_uncut"])
            found[f"uncut_{what}"] = (f"uncut_{what}", names(mechanism.uncut))
    return found


def _coordinates(plan: Plan, time: Array, worlds: int) -> dict[str, Any]:
    """Names along every dimension."""
    mechanism = plan.scene.mechanism
    return {
        "time": ("time", time, {"units": "s"}),
        "world": np.arange(worlds),
        "coordinate": coordinate_names(mechanism),
        "velocity": velocity_names(mechanism),
        "actuator": [a.name for a in mechanism.actuators],
        "contact": [c.name for c in plan.scene.candidates],
        "axis": ["normal", "tangent1", "tangent2"],
        "xyz": ["x", "y", "z"],
    }


def _law_attributes(law: Law, worlds: Backend) -> dict[str, float | str]:
    """Of each of the law's parameters: mean over the worlds, unit, and role if it has one."""
    found: dict[str, float | str] = {}
    for name, declaration in declared(type(law)).items():
        if f"law.{name}" in worlds:
            found[f"mean_{name}"] = float(worlds.get(f"law.{name}").mean())
            found[f"unit_{name}"] = declaration.unit
            if declaration.role:
                found[f"role_{name}"] = declaration.role
    return found


def mean_of_role(log: xr.Dataset, role: Role, missing: T = 0.0) -> float | T:
    """The mean over the worlds of the law's parameter with this role; `missing` without one."""
    names = [k[5:] for k, v in log.attrs.items() if k.startswith("role_") and v == role]
    return float(log.attrs[f"mean_{names[0]}"]) if names else missing


def _material(law: Law, worlds: Backend, friction: Array) -> dict[str, Any]:
    """Parameters of the law that the criteria need, world by world, and mu of each contact on its
    ground.
    """

    def of(role: Role, missing: float) -> Array:
        names = [name for name in named(type(law), role) if f"law.{name}" in worlds]
        return worlds.get(f"law.{names[0]}")[:, 0] if names else np.full(1, missing)

    return {
        "mu": of("friction", 0.0)[:, None] * friction,
        "e_N": of("restitution_normal", 0.0),
        "e_T": of("restitution_tangential", 0.0),
        "kinetic": of("kinetic_ratio", 1.0),
        "tolerance": float(of("absolute_tolerance", 0.0).max()),
    }


def _observe(
    plan: Plan, worlds: Backend, before: Mapping[str, Array], records: Mapping[str, Array]
) -> dict[str, Array]:
    """The observer's reports for every step and world, (steps, worlds, size)."""
    steps, count = records["q"].shape[:2]
    program = observer(plan)
    samples = {
        "q0": before["q"],
        "u0": before["u"],
        "memory": before["memory"],
        "q1": records["q"],
        "u1": records["u"],
        "impulse": records["impulse"],
        "bilateral": records["bilateral"],
        "tau": records["tau"],
    }
    flat = {name: value.reshape(steps * count, -1) for name, value in samples.items()}
    for register in program.of_kind("parameter"):
        if register.name not in flat:
            flat[register.name] = np.tile(worlds.get(register.name), (steps, 1))
    return {
        name: value.reshape(steps, count, -1) for name, value in evaluate(program, flat).items()
    }


def warnings_of(mechanism: Mechanism, log: xr.Dataset) -> list[str]:
    """Warnings for a reader of the log about the robot (before cuts): unconverged steps, joints
    beyond their limits.
    """
    # steps that were not solved
    found = []
    unconverged = int((log["converged"] == 0).sum())
    if unconverged:
        found.append(f"{unconverged} steps did not converge to the solver's tolerance.")
    # steps with the other treatment of velocity terms
    fast = log.attrs["fast_steps"]
    if fast:
        found.append(
            f"in {fast} steps a joint turned by more than {FAST:g} rad: their velocity terms are"
            " damped so that no energy comes from nothing; a smaller dt follows such motion."
        )
    # how far each joint went beyond its limits
    beyond: dict[str, float] = {}
    q = log["q_uncut" if "q_uncut" in log else "q"].values
    for body, at in zip(mechanism.bodies, mechanism.q_slices, strict=True):
        joint, values = body.joint, q[..., at.start]
        if joint.nq == 1:
            beyond[joint.name] = max(
                float(values.max()) - joint.upper, joint.lower - float(values.min())
            )
    # the worst of them
    worst = sorted((name for name, by in beyond.items() if by > 0), key=lambda name: -beyond[name])
    if worst:
        listed = ", ".join(f"{name} by {beyond[name]:.3g}" for name in worst[:3]) + (
            ", ..." if len(worst) > 3 else ""
        )
        found.append(
            f"{len(worst)} joints went beyond their limits, which are not enforced: {listed} (rad"
            " or m)."
        )
    return found


def save(log: xr.Dataset, path: Path) -> None:
    """Write a netCDF file, whole or not at all; OSError names `path`."""
    with replacing(path) as temporary:
        log.to_netcdf(temporary, engine="scipy")
