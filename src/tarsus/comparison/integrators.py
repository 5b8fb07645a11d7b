"""Correction of recorded MuJoCo forces for implicit integrators.

`mjData.qfrc_actuator` is the force at the start of the step. The integrators `implicit` and
`implicitfast` then treat the damping of servos (`kv`) implicitly, so a different force acts over
the step.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tarsus.comparison.states import compile_mujoco_model
from tarsus.comparison.trajectory import check_finite
from tarsus.comparison.verdicts import OF_MOTION
from tarsus.dynamics.robot import Robot
from tarsus.errors import TarsusError, unknown_name_error
from tarsus.mujoco_runs.implicit_forces import implicit_forces, integrator_name
from tarsus.mujoco_runs.library import mujoco
from tarsus.mujoco_runs.worlds import MujocoWorlds

IMPLICIT = ("implicit", "implicitfast")
KNOWN = ("Euler", *IMPLICIT, "RK4", "discrete")


def check_integrator(name: str) -> str:
    """Return the name of an integrator of MuJoCo; raise UnknownName for any other name."""
    if name not in KNOWN:
        raise unknown_name_error("integrator", name, KNOWN)
    return name


def file_integrator(robot: Robot) -> str | None:
    """Return the integrator that the robot's MJCF file sets; None without an MJCF file."""
    file = Path(robot.origin.file) if robot.origin.file else None
    if file is None or file.suffix != ".xml":
        return None
    try:
        return integrator_name(compile_mujoco_model(str(file)))
    except TarsusError:
        return None


def add_implicit_forces(
    arrays: Mapping[str, Any], robot: Robot, integrator: str
) -> tuple[dict[str, Any], dict[str, str]]:
    """Add the forces of the implicit integrator to recorded arrays.

    Parameters
    ----------
    arrays
        Recorded run.
    robot
        Robot whose MJCF file gives the servos' damping.
    integrator
        MuJoCo's integrator of the run.

    Returns
    -------
    arrays
        Arrays with the forces that acted over each step.
    reasons
        Criteria that cannot be judged, with the reason for each.
    """
    arrays = dict(arrays)
    if integrator == "discrete":
        reason = "the contact solver of the integrator discrete adds forces that are not recorded"
        return arrays, dict.fromkeys(OF_MOTION, reason)
    if integrator == "RK4":
        return arrays | {"stages": 4}, {}
    if integrator == "Euler" or "qfrc_actuator" not in arrays:
        return arrays, {}
    if file_integrator(robot) is None:
        reason = f"{integrator} treats servo damping implicitly: give the simulated MJCF file"
        return arrays, dict.fromkeys(OF_MOTION, reason)
    model = compile_mujoco_model(robot.origin.file)
    mj = mujoco()
    model.opt.integrator = getattr(mj.mjtIntegrator, f"mjINT_{integrator.upper()}")
    if model.nu and "ctrl" not in arrays:
        reason = f"{integrator} treats servo damping implicitly: also record data.ctrl as ctrl"
        return arrays, dict.fromkeys(OF_MOTION, reason)
    # MuJoCo's derivatives at every state
    rows = np.size(arrays["time"])
    shapes = {"qpos": (model.nq,), "qvel": (model.nv,), "ctrl": (model.nu,)}
    recorded = {"ctrl": np.zeros((rows, model.nu))} | arrays
    q, u, ctrl = (
        check_finite(name, recorded[name], (rows, *shape)) for name, shape in shapes.items()
    )
    added = {name: np.zeros((rows, model.nv)) for name in ("qfrc_actuator", "qfrc_passive")}
    worlds = MujocoWorlds([model])
    [data] = worlds.data
    for k in range(1, rows):
        data.qpos[:], data.qvel[:], data.ctrl[:] = q[k - 1], u[k - 1], ctrl[k]
        worlds.advance(1)
        motors, rest = implicit_forces(model, data, u[k] - u[k - 1])
        added["qfrc_actuator"][k] = motors
        # the recorded passive forces already include joint damping
        added["qfrc_passive"][k] = rest + model.dof_damping * (u[k] - u[k - 1])
    for name, force in added.items():
        if name in arrays:
            arrays[name] = check_finite(name, arrays[name], force.shape) + force
    return arrays, {}
