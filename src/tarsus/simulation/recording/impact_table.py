"""Record the impacts that a stepper located in time as a table in the log."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import casadi as ca
import numpy as np
import xarray as xr
from casadi import SX
from numpy.typing import NDArray

from tarsus.dynamics import energy, rnea
from tarsus.dynamics.kinematics import kinematics
from tarsus.errors import InvalidFile
from tarsus.model.mechanism import Mechanism
from tarsus.program.ir.program import Program
from tarsus.program.ir.trace import Builder
from tarsus.program.run.backend import Backend
from tarsus.program.run.evaluation import evaluate
from tarsus.simulation.step_program import CACHE_SIZE, Plan, varied_scene
from tarsus.stepping.assemble import contact_kinematics
from tarsus.stepping.impacts import slot_size

Array = NDArray[Any]


def impacts(log: xr.Dataset) -> xr.Dataset:
    """Tabulate the impacts that a stepper located in time.

    Variables (docs/conventions.md): `impact_time` in s, `impact_step` (index along `time`),
    `impact_impulse` in N s, `impact_velocity_before` and `impact_velocity_after` in m/s, both in
    contact frames, `impact_kinetic_before`, `impact_kinetic_after` and `impact_potential` in J, and
    the state at the impact: `impact_q`, `impact_u_before`, `impact_u_after`. Batches also have
    `impact_world`. The total energy before an impact is `impact_kinetic_before + impact_potential`.

    Parameters
    ----------
    log : xarray.Dataset
        Log of a run with the stepper `event_driven` and an impulse law.

    Returns
    -------
    xarray.Dataset
        One row for each impact along the dimension `impact`, in order of time; no rows for other
        steppers.

    Raises
    ------
    InvalidFile
        If an earlier version wrote the log and named the table `strike_*`.

    Examples
    --------
    A ball that falls by 5 cm:

    >>> import tarsus
    >>> sim = tarsus.Simulation(tarsus.world(tarsus.Ball()), stepper="event_driven")
    >>> q = sim.q
    >>> q[2] += 0.05
    >>> sim.set(q=q)
    >>> impacts = tarsus.impacts(sim.run(0.2))
    >>> [round(float(time), 3) for time in impacts["impact_time"]]
    [0.101]
    """
    if "impulse_strikes" in log:
        raise InvalidFile(
            "an earlier version wrote this log and named its impacts strike_*: read these variables"
            " directly, or repeat the run with this version.",
            "impulse_strikes",
        )
    names = [name for name in log.variables if str(name).startswith("impact_")]
    return log[names] if names else xr.Dataset(coords={"impact": np.zeros(0, int)})


def impact_variables(
    plan: Plan, worlds: Backend, records: Mapping[str, Array], t0: float
) -> dict[str, Any]:
    """Build the variables of located impacts for a log.

    Parameters
    ----------
    plan, worlds
        Compiled step and its worlds.
    records
        Registers after each step, shape (steps, worlds, size).
    t0
        Time at the start of the run, in s.

    Returns
    -------
    dict
        Empty if the stepper locates no impacts; without the table if it located none.
    """
    if "impact_count" not in records:
        return {}
    # sums per step
    impulse, dt = records["impulse"].astype(float), float(worlds.get("dt")[0, 0])
    sums = records["impulse_in_impacts"].astype(float)
    values: dict[str, Any] = {}
    for name, value in (
        ("impulse_in_impacts", sums),
        ("force_without_impacts", (impulse - sums) / dt),
    ):
        by_contact = value.reshape(*value.shape[:2], -1, 3)
        values[name] = ("time", "world", "contact", "axis"), by_contact

    # one row per recorded impact
    rows, step, world = _collect_rows(plan, records)
    if not len(rows):
        return values
    parts = _parts(plan.scene.mechanism, rows)
    observed = _evaluate_rows(plan, worlds, parts, world)
    vectors = {
        "impulse": parts["impulse"],
        "velocity_before": observed["before"],
        "velocity_after": observed["after"],
    }
    for name, value in vectors.items():
        values[f"impact_{name}"] = ("impact", "contact", "axis"), value.reshape(len(rows), -1, 3)
    for name in ("kinetic_before", "kinetic_after", "potential"):
        values[f"impact_{name}"] = ("impact",), observed[name][:, 0]
    for name, dimension in (
        ("q", "coordinate"),
        ("u_before", "velocity"),
        ("u_after", "velocity"),
    ):
        values[f"impact_{name}"] = ("impact", dimension), parts[name]
    values["impact_time"] = ("impact",), t0 + dt * step + parts["time"][:, 0]
    values["impact_step"] = ("impact",), step.astype(np.int32)
    if worlds.count > 1:
        values["impact_world"] = ("impact",), world.astype(np.int32)
    return values


def impacts_lost(plan: Plan, records: Mapping[str, Array]) -> int:
    """Count the impacts that did not fit into the slots of their step."""
    if "impact_count" not in records:
        return 0
    counts = records["impact_count"][..., 0].astype(int)
    return int(np.maximum(counts - _slots(plan, records), 0).sum())


def _count_values_per_slot(plan: Plan) -> int:
    """Count the values in one slot."""
    mechanism = plan.scene.mechanism
    return slot_size(mechanism.nq, mechanism.nu, len(plan.scene.candidates))


def _slots(plan: Plan, records: Mapping[str, Array]) -> int:
    return records["impact_rows"].shape[-1] // _count_values_per_slot(plan)


def _collect_rows(plan: Plan, records: Mapping[str, Array]) -> tuple[Array, Array, Array]:
    """Collect the filled slots (rows, size), their steps and their worlds, in order of time."""
    steps, count = records["impact_count"].shape[:2]
    slots = _slots(plan, records)
    rows = (
        records["impact_rows"]
        .astype(float)
        .reshape(steps, count, slots, _count_values_per_slot(plan))
    )
    filled = np.arange(slots) < records["impact_count"]
    step, world, slot = np.nonzero(filled)
    if not len(step):
        return rows[:0, 0, 0], step, world
    order = np.lexsort((world, rows[step, world, slot, 0], step))
    step, world, slot = step[order], world[order], slot[order]
    return rows[step, world, slot], step, world


def _parts(mechanism: Mechanism, rows: Array) -> dict[str, Array]:
    """Split rows into the fields of `ImpactRecord`."""
    ends = np.cumsum([1, mechanism.nq, mechanism.nu, mechanism.nu])
    names = ("time", "q", "u_before", "u_after", "impulse")
    return dict(zip(names, np.split(rows, ends, axis=1), strict=True))


def _evaluate_rows(
    plan: Plan, worlds: Backend, parts: Mapping[str, Array], world: Array
) -> dict[str, Array]:
    """Compute contact velocities and energies of every row."""
    program = _trace_impact_program(plan)
    samples = {"q": parts["q"], "u0": parts["u_before"], "u1": parts["u_after"]}
    for register in program.of_kind("parameter"):
        if register.name not in samples:
            samples[register.name] = worlds.get(register.name)[world]
    return evaluate(program, samples)


@lru_cache(maxsize=CACHE_SIZE)
def _trace_impact_program(plan: Plan) -> Program:
    """Trace contact velocities before and after (3n,) and energies as functions of q, u0 and u1."""
    b = Builder(f"{plan.scene.mechanism.name}_impacts")
    scene, inertias = varied_scene(plan, rnea.body_inertias, b)
    mechanism = scene.mechanism
    q = b.parameter("q", mechanism.nq)
    before, after = (
        kinematics(mechanism, q, b.parameter(name, mechanism.nu)) for name in ("u0", "u1")
    )
    terrain = scene.terrain.symbols(b)

    def velocities(kin: Any) -> SX:
        touching = contact_kinematics(scene, kin, terrain)
        return ca.vertcat(SX(0, 1), *(touch.contact.velocity for touch in touching))

    return b.program(
        before=velocities(before),
        after=velocities(after),
        kinetic_before=energy.kinetic_energy(before, inertias),
        kinetic_after=energy.kinetic_energy(after, inertias),
        potential=energy.potential_energy(before, inertias),
    )
