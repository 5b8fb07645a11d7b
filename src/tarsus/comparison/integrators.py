"""Forces as MuJoCo's data hold them, made those that acted over the step.

`mjData.qfrc_actuator` is the force at the start of the step. The integrators `implicit` and
`implicitfast` then take the damping of servos (`kv`) implicitly, so that another force acts.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tarsus.comparison.states import mujoco_model
from tarsus.comparison.trajectory import finite
from tarsus.comparison.verdicts import OF_MOTION
from tarsus.dynamics.robot import Robot
from tarsus.errors import TarsusError, unknown_name
from tarsus.mujoco_runs.implicit_part import implicit_part, integrator_of
from tarsus.mujoco_runs.library import mujoco
from tarsus.mujoco_runs.worlds import MujocoWorlds

IMPLICIT = ("implicit", "implicitfast")
KNOWN = ("Euler", *IMPLICIT, "RK4", "discrete")


def checked_integrator(name: str) -> str:
    """Return the name of an integrator of MuJoCo; TarsusError if there is none of this name."""
    if name not in KNOWN:
        raise unknown_name("integrator", name, KNOWN)
    return name


def integrator_of_file(robot: Robot) -> str | None:
    """Return the integrator that the robot's MJCF file asks for; None if there is no such file."""
    file = Path(robot.origin.file) if robot.origin.file else None
    if file is None or file.suffix != ".xml":
        return None
    try:
        return integrator_of(mujoco_model(str(file)))
    except TarsusError:
        return None


def with_implicit_part(
    arrays: Mapping[str, Any], robot: Robot, integrator: str
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the arrays with the forces that acted, and what cannot be judged, with the reasons."""
    arrays = dict(arrays)
    if integrator == "discrete":
        reason = "the integrator discrete adds forces in its contact solver that no run records"
        return arrays, dict.fromkeys(OF_MOTION, reason)
    if integrator == "RK4":
        return arrays | {"stages": 4}, {}
    if integrator == "Euler" or "qfrc_actuator" not in arrays:
        return arrays, {}
    if integrator_of_file(robot) is None:
        reason = f"{integrator} takes servos' damping implicitly: judge with the MJCF file that ran"
        return arrays, dict.fromkeys(OF_MOTION, reason)
    model = mujoco_model(robot.origin.file)
    mj = mujoco()
    model.opt.integrator = getattr(mj.mjtIntegrator, f"mjINT_{integrator.upper()}")
    if model.nu and "ctrl" not in arrays:
        reason = f"{integrator} takes servos' damping implicitly: record data.ctrl as ctrl too"
        return arrays, dict.fromkeys(OF_MOTION, reason)
    # from every state, the derivatives that MuJoCo took
    rows = np.size(arrays["time"])
    shapes = {"qpos": (model.nq,), "qvel": (model.nv,), "ctrl": (model.nu,)}
    given = {"ctrl": np.zeros((rows, model.nu))} | arrays
    q, u, ctrl = (finite(name, given[name], (rows, *shape)) for name, shape in shapes.items())
    added = {name: np.zeros((rows, model.nv)) for name in ("qfrc_actuator", "qfrc_passive")}
    worlds = MujocoWorlds([model])
    [data] = worlds.data
    for k in range(1, rows):
        data.qpos[:], data.qvel[:], data.ctrl[:] = q[k - 1], u[k - 1], ctrl[k]
        worlds.advance(1)
        motors, rest = implicit_part(model, data, u[k] - u[k - 1])
        added["qfrc_actuator"][k] = motors
        # joint damping is in the passive forces already
        added["qfrc_passive"][k] = rest + model.dof_damping * (u[k] - u[k - 1])
    for name, force in added.items():
        if name in arrays:
            arrays[name] = finite(name, arrays[name], force.shape) + force
    return arrays, {}
