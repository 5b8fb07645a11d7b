"""Table I: settings read back from the simulators that ran."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from tarsus.mujoco_runs.library import mujoco
from tarsus_papers.base import Check, Exhibit, Finding, Row, Table, Task
from tarsus_papers.paula2024.walk import (
    SECONDS,
    SETTING,
    create_mujoco_walk,
    create_tarsus_walk,
    walk_duration,
)

MILLIMETER = 1e-3  # m
OTHER_VELOCITIES = "chosen by Tarsus; the part 'friction' uses those of Table I"
IMPLICIT = "implicit first-order Euler"


class SettingsTable(Exhibit):
    """Settings of Table I compared with those that were used."""

    name: ClassVar[str] = "table1"
    title: ClassVar[str] = "Table I: settings of both simulators"
    location: ClassVar[str] = "Table I, section 6"
    description: ClassVar[str] = (
        "Every value of Table I next to the one that was used, read back from the compiled law and"
        " from MuJoCo's model. MuJoCo's stiffness and damping are the two negative numbers of its"
        " solref. The paper does not state MuJoCo's impedance; the default (0.9, 0.95, 1 mm, 0.5,"
        " 2) is used."
    )

    def measure(self, task: Task) -> Finding:
        # settings that were used, and differences from Table I
        tarsus, peer = _tarsus_settings(), _mujoco_settings()
        seconds = Row("simulation time", SECONDS, walk_duration(task.quick), "s", "Table I")
        checked = [row for row in (*tarsus, *peer) if row.comment != OTHER_VELOCITIES]
        checked += [] if task.quick else [seconds]
        wrong = [row.quantity for row in checked if not _matches_published(row)]
        integrator = create_mujoco_walk().model.opt.integrator
        implicit = integrator == mujoco().mjtIntegrator.mjINT_IMPLICIT
        methods = Table(
            "Integration method",
            ("", "published", "here"),
            (
                ("the paper's", "explicit second-order Euler", "heun (second order, explicit)"),
                ("MuJoCo", IMPLICIT, create_mujoco_walk().settings.integrator),
            ),
        )
        return Finding(
            {"rows": len(checked)},
            [*tarsus, *peer, seconds],
            [methods],
            [
                Check(
                    "all values of Table I were used, except for the two stiction velocities",
                    not wrong,
                    f"{len(checked)} rows" if not wrong else f"not: {', '.join(wrong)}",
                ),
                Check(
                    "MuJoCo used its implicit integrator",
                    implicit,
                    create_mujoco_walk().settings.integrator,
                ),
            ],
            [SETTING],
        )


def _tarsus_settings() -> Sequence[Row]:
    """Return law parameters and gait gains of Tarsus, as compiled."""
    simulation = create_tarsus_walk()
    law = {name: float(value) for name, value in simulation.law.parameters().items()}
    gains = {name: float(getattr(simulation.controller, name)) for name in ("kp", "kd")}
    stiffness = law["K"] * MILLIMETER ** (law["e"] - 1)
    reading = "K delta^e with delta in mm: 10 N/mm^2.2; see the part 'friction' for SI"
    location = "Table I"
    return (
        Row("time step", 1e-4, simulation.dt, "s", location),
        Row("dynamic friction coefficient", 2.0, law["mu"], "", location),
        Row("static friction coefficient", 2.0, law["mu"] * law["mu_ratio"], "", location),
        Row("stiction-sliding velocity v_d", 2e-4, law["v_d"], "m/s", location, OTHER_VELOCITIES),
        Row("stiction velocity v_s", 1e-4, law["v_s"], "m/s", location, OTHER_VELOCITIES),
        Row("contact stiffness K", 1e4, stiffness, "N/m", location, reading),
        Row("contact exponent e", 2.2, law["e"], "", location),
        Row("nominal contact damping", 10.0, law["c_max"], "N s/m", location),
        Row("ramp-up distance w", 1e-4, law["w"], "m", location),
        Row("proportional gain", 40.0, gains["kp"], "N m/rad", location),
        Row("derivative gain", 1.0, gains["kd"], "N m s/rad", location),
    )


def _mujoco_settings() -> Sequence[Row]:
    """Return MuJoCo's settings, read from its model."""
    model, location = create_mujoco_walk().model, "Table I"
    friction, solref = model.geom_friction[:, 0], model.geom_solref
    assert (friction == friction[0]).all() and (solref == solref[0]).all()
    return (
        Row("MuJoCo, time step", 1e-4, float(model.opt.timestep), "s", location),
        Row("MuJoCo, friction coefficient", 1.6, float(friction[0]), "", location),
        Row(
            "MuJoCo, contact stiffness", 1.6e3, -float(solref[0, 0]), "N/m", location, "-solref[0]"
        ),
        Row(
            "MuJoCo, contact damping", 100.0, -float(solref[0, 1]), "N s/m", location, "-solref[1]"
        ),
    )


def _matches_published(row: Row) -> bool:
    assert row.published is not None and row.measured is not None
    return abs(row.measured - row.published) <= 1e-9 * row.published
