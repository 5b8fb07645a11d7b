"""Compare a Go2's log with MuJoCo under the identified parameters, for docs/real_go2.md.

    uv run python tools/real_go2.py LOG.npz FOLDER

FOLDER has the identify.json and identified.xml of `tarsus identify LOG.npz ... --out FOLDER`. The
tool prints the held-out errors of every joint, in mrad: of Tarsus by structure, and of MuJoCo with
the file's model, with the identified one at constant friction, and with friction that is set in
every step from the variation that MuJoCo ignores.
"""

from __future__ import annotations

import importlib
import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import tarsus

mujoco: Any = importlib.import_module("mujoco")

KP, KD, STEPS = 20.0, 1.5, 2  # steps of 2.5 ms per sample


def rollout(model: Any, log: dict[str, np.ndarray], robot: tarsus.Robot | None) -> np.ndarray:
    """Simulate the servos from the targets alone; `robot` gives the friction of every step."""
    model.opt.timestep = float(np.mean(np.diff(log["time"]))) / STEPS
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    model.actuator_forcelimited[:] = 1
    model.actuator_forcerange[:] = model.actuator_ctrlrange
    model.actuator_ctrllimited[:] = 0
    model.actuator_gainprm[:, 0] = KP
    model.actuator_biastype[:] = mujoco.mjtBias.mjBIAS_AFFINE
    model.actuator_biasprm[:, 1:3] = -KP, -KD
    data = mujoco.MjData(model)
    data.qpos[:] = log["q"][0]
    q = [log["q"][0]]
    joints = [body.joint for body in robot.bodies] if robot else []
    for target in log["q_desired"][:-1]:
        data.ctrl[:] = target
        for _ in range(STEPS):
            for k, joint in enumerate(joints):
                if joint.friction:
                    at = data.qpos[k], data.qvel[k], data.actuator_force[k]
                    model.dof_frictionloss[k] = float(joint.friction.limit(joint.dry_friction, *at))
            mujoco.mj_step(model, data)
        q.append(data.qpos.copy())
    return np.array(q)


def main(log_path: Path, folder: Path) -> None:
    """Print the table of held-out errors."""
    warnings.simplefilter("ignore")
    with np.load(log_path) as archive:
        log = {name: archive[name].astype(float) for name in ("time", "q", "q_desired")}
    record = json.loads((folder / "identify.json").read_text())
    start = round(record["held_out_from"] / np.mean(np.diff(log["time"])))
    rows = {
        f"Tarsus, {one['structure']}": np.array(list(one["held_out_by_joint"].values()))
        for one in record["structures"]
    }
    source, identified = log_path.with_name("go2_fixed.xml"), folder / "identified.xml"
    runs = {
        "MuJoCo, file": (source, None),
        "MuJoCo, identified, constant friction": (identified, None),
        "MuJoCo, identified, friction set in every step": (identified, tarsus.load(identified)),
    }
    for name, (path, robot) in runs.items():
        q = rollout(mujoco.MjModel.from_xml_path(str(path)), log, robot)
        rows[name] = np.sqrt(((q - log["q"])[start:] ** 2).mean(0))
    for name, rms in rows.items():
        joints = [np.sqrt(np.mean(rms[k::3] ** 2)) for k in range(3)]
        numbers = " ".join(f"{1e3 * value:5.1f}" for value in (*joints, np.sqrt(np.mean(rms**2))))
        print(f"{name:50} hip, thigh, calf, all: {numbers}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
