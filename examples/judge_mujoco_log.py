"""Judge a run of MuJoCo: complementarity, friction cone, creep, energy.

The run is MuJoCo's own, recorded while it steps. The judge knows only the robot, the states and
the forces. The same criteria then judge a run of Tarsus.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import mujoco
import numpy as np

import tarsus
from tarsus.model.to_mjcf import to_mjcf
from tarsus.mujoco_runs.recorder import Recorder


def recorded(robot: tarsus.Robot, folder: Path, seconds: float = 1.0) -> Path:
    """A Mini Cheetah standing in MuJoCo, on servos."""
    model = mujoco.MjModel.from_xml_string(to_mjcf(robot, dt=0.002, friction=0.8))
    data = mujoco.MjData(model)
    posture = np.array(robot.keyframes["stand"])
    data.qpos[:] = posture
    recorder = Recorder(model, data)  # before the first step
    while data.time < seconds:
        data.ctrl[:] = 40 * (posture[7:] - data.qpos[7:]) - data.qvel[6:]
        mujoco.mj_step(model, data)
        recorder.record()
    recorder.save(folder / "stand.npz")
    return folder / "stand.npz"


def main() -> None:
    """Both, side by side."""
    robot = tarsus.load("mini_cheetah")
    with TemporaryDirectory() as folder:
        theirs = tarsus.judge(recorded(robot, Path(folder)), robot)
    ours = tarsus.judge(tarsus.Simulation(robot, controller="stand", dt=0.002).run(1.0))
    for name, card in (("MuJoCo", theirs), ("Tarsus, moreau", ours)):
        print(f"--- {name}")
        for what, value in card["residuals"].items():
            print(f"  {what:20s} {value if value is None else format(value, '.2e')}")


if __name__ == "__main__":
    main()
