"""`tarsus judge` on runs of MuJoCo and Tarsus."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest
import xarray as xr
from helpers.refused import refused

import tarsus
from tarsus.comparison.trajectory import log_to_arrays
from tarsus.dynamics.robot import Robot
from tarsus.errors import Unsupported
from tarsus.model.mechanism import Actuator, Joint, LoopJoint
from tarsus.model.mjcf import read_mjcf
from tarsus.mujoco_runs.recorder import Recorder
from tarsus.mujoco_runs.settings import MujocoSettings
from tarsus.mujoco_runs.simulation import MujocoSimulation
from tarsus.simulation.recording.log import save_log

DT, SECONDS = 0.002, 1.0


@pytest.fixture(scope="module")
def cheetah() -> Robot:
    return tarsus.load("mini_cheetah")


def moving(
    robot: Robot, gait: str, seconds: float, integrator: str = "Euler"
) -> tuple[Recorder, list[np.ndarray]]:
    """Record a gait in MuJoCo, with the world forces on each contact, in the order of the
    candidates.
    """
    settings = MujocoSettings(integrator=integrator)
    simulation = MujocoSimulation(robot, settings, controller=gait, dt=DT)
    model, data = simulation.model, simulation.data
    recorder, forces = Recorder(model, data), [np.zeros((len(robot.candidates), 3))]
    numbers = {model.geom(c.name).id: k for k, c in enumerate(robot.candidates)}
    for _ in range(round(seconds / DT)):
        simulation.step()
        recorder.record()
        forces.append(np.zeros_like(forces[0]))
        for j in range(data.ncon):
            six = np.zeros(6)
            mujoco.mj_contactForce(model, data, j, six)
            forces[-1][numbers[data.contact[j].geom[1]]] += (
                data.contact[j].frame.reshape(3, 3).T @ six[:3]
            )
    return recorder, forces


@pytest.fixture(scope="module")
def trot(cheetah: Robot) -> tuple[dict[str, Any], np.ndarray]:
    recorder, forces = moving(cheetah, "trot", SECONDS)
    return recorder.arrays(), np.array(forces)


@pytest.fixture(scope="module")
def run(cheetah: Robot) -> tuple[MujocoSimulation, xr.Dataset]:
    """The same trot as a log."""
    simulation = MujocoSimulation(cheetah, controller="trot", dt=DT)
    return simulation, simulation.run(SECONDS)


def test_a_mujoco_log_is_judged_like_its_recording(trot, run, tmp_path: Path) -> None:
    """From arrays, the log, its file and its summary."""
    np.savez(tmp_path / "trot.npz", **trot[0])
    save_log(run[1], tmp_path / "trot.nc")
    card, ours = tarsus.judge(tmp_path / "trot.npz", "mini_cheetah"), tarsus.summary(*run)
    for other in (tarsus.judge(run[1]), tarsus.judge(tmp_path / "trot.nc"), ours):
        for name, value in card["residuals"].items():
            assert other["residuals"][name] == pytest.approx(value, rel=1e-9, abs=1e-12), name
        for name, value in card["energy"].items():
            assert other["energy"][name] == pytest.approx(value, rel=1e-9, abs=1e-12), name
        assert other["normal_force_max"] == pytest.approx(card["normal_force_max"], rel=1e-9)
    assert card["creep_max"] > 1e-3  # soft contact: its feet slip while they stick
    assert not card["not_judged"]


def test_the_log_contains_forces_and_slips_of_all_feet(cheetah: Robot, trot, run) -> None:
    log = run[1]
    assert np.abs(log["force_world"].values - trot[1][1:]).max() < 1e-9
    # open feet: where the robot's own kinematics put them before the step
    q = np.concatenate([log["q_start"].values[None], log["q"].values[:-1]])
    for k, foot in enumerate(cheetah.candidates):
        gap = cheetah.position(q, foot.name)[:, 2] - foot.radius
        assert np.abs(log["gap"].values[:, k] - gap).max() < 1e-12
    assert set(np.unique(log["state"])) == {0, 1, 2}


def test_a_replay_reproduces_the_final_state(run) -> None:
    simulation, log = run
    replay, data = simulation.replay(log), mujoco.MjData(simulation.model)
    mujoco.mj_setState(simulation.model, data, replay.start[0], mujoco.mjtState.mjSTATE_FULLPHYSICS)
    for torques in replay.control:
        data.ctrl[:] = torques
        mujoco.mj_step(simulation.model, data)
    assert np.abs(data.qpos - log["q"].values[-1]).max() < 1e-12


def test_mujocos_step_and_our_ledger_agree_to_round_off(trot) -> None:
    card = tarsus.judge(trot[0], "mini_cheetah")
    assert card["residuals"]["equation_N"] < 1e-10
    assert card["energy"]["unbalanced"] < 1e-12 * card["energy"]["motors"]


def test_a_wrong_force_is_detected(trot) -> None:
    wrong = dict(trot[0]) | {"contact_force": 1.05 * trot[0]["contact_force"]}
    card = tarsus.judge(wrong, "mini_cheetah")
    assert card["residuals"]["equation_N"] > 0.1
    assert card["energy"]["unbalanced"] > 1e-3


def test_the_short_recipe_gives_nearly_the_same_verdicts(cheetah: Robot, trot) -> None:
    full, forces = trot
    short = {name: full[name] for name in ("time", "qpos", "qvel", "qfrc_actuator")} | {
        "contact_force": forces
    }
    card, exact = tarsus.judge(short, cheetah, friction=0.8), tarsus.judge(full, cheetah)
    # the point is the foot's lowest instead of halfway into the ground; joint friction is ours
    # instead of MuJoCo's
    assert card["creep_max"] == pytest.approx(exact["creep_max"], rel=0.2)
    assert card["penetration_max"] == pytest.approx(exact["penetration_max"], rel=1e-6)


def test_unknown_quantities_are_not_judged(cheetah: Robot, trot) -> None:
    short = {name: trot[0][name] for name in ("time", "qpos", "qvel")} | {"contact_force": trot[1]}
    card = tarsus.judge(short, cheetah)
    assert card["creep_max"] is None and card["residuals"]["cone_Ns"] is None
    assert card["energy"] is None and card["residuals"]["equation_N"] is None
    assert set(card["not_judged"]) == {
        "cone_Ns",
        "dissipation_J",
        "creep_m_per_s",
        "equation_N",
        "energy",
    }


def test_a_standing_robot_on_the_implicit_integrator(cheetah: Robot) -> None:
    card = tarsus.judge(moving(cheetah, "stand", 0.5, "implicitfast")[0].arrays(), cheetah)
    assert card["residuals"]["equation_N"] < 1e-9
    assert card["residuals"]["cone_Ns"] < 1e-9


@pytest.mark.parametrize(
    "stepper", ["midpoint", pytest.param("symplectic_euler", marks=pytest.mark.slow)]
)
def test_a_tarsus_run_is_judged_like_its_summary(stepper: str, tmp_path: Path) -> None:
    simulation = tarsus.Simulation(
        "mini_cheetah", stepper=stepper, terrain=tarsus.Slope(angle=0.05), controller="trot"
    )
    log = simulation.run(1.0)
    np.savez(tmp_path / "own.npz", **log_to_arrays(log, simulation.robot))
    save_log(log, tmp_path / "own.nc")
    ours = tarsus.summary(simulation, log)
    energy = ours["energy"]  # a trajectory does not tell apart what acts in joints
    energy["joints"] += energy["limits"] + energy["joint_friction"]
    for card in (
        tarsus.judge(tmp_path / "own.npz", "mini_cheetah"),
        tarsus.judge(tmp_path / "own.nc"),
    ):
        for name, value in ours["residuals"].items():
            assert card["residuals"][name] == pytest.approx(value, rel=1e-6, abs=1e-12), name
        for name, value in card["energy"].items():
            assert value == pytest.approx(energy[name], rel=1e-9, abs=1e-9), name
        assert card["normal_force_max"] == pytest.approx(ours["normal_force_max"], rel=1e-9)


FOUR_BAR = """<mujoco model="bars"><worldbody><body name="a" pos="0 0 1">
<joint name="ja" axis="0 1 0" damping=".05" frictionloss=".01"/>{rod}<body name="b" pos="0 0 .2">
<joint name="jb" axis="0 1 0"/><geom type="capsule" fromto="0 0 0 .4 0 0" size=".02" mass=".3"/>
</body></body><body name="c" pos=".4 0 1"><joint name="jc" axis="0 1 0" range="-100 100"/>{rod}
</body></worldbody><equality><connect body1="b" body2="c" anchor=".4 0 0"/></equality><actuator>
<motor joint="ja"/></actuator></mujoco>"""
GRIPPER = """<mujoco model="gripper"><worldbody><body name="palm" pos="0 0 1">
<joint name="lift" type="slide" axis="0 0 1" stiffness="200" damping="5"/><geom size=".05"/>
<body name="left" pos=".1 .05 0"><joint name="l" type="slide" axis="0 1 0" damping="1"/>{rod}</body>
<body name="right" pos=".1 -.05 0"><joint name="r" axis="1 0 0" damping=".01"/>{rod}</body>
</body></worldbody><equality><joint joint1="r" joint2="l" polycoef=".1 3 -2 0 0"/></equality>
<actuator><motor joint="l"/></actuator></mujoco>"""
ROD = '<geom type="capsule" fromto="0 0 0 0 0 .2" size=".02" mass=".3"/>'


@pytest.mark.parametrize("text", [FOUR_BAR, GRIPPER])
def test_loops_and_mimic_joints_are_judged_in_both_engines(text: str, tmp_path: Path) -> None:
    """The motions agree, except for the softness of MuJoCo's equalities."""
    file = tmp_path / "robot.xml"
    file.write_text(text.format(rod=ROD))
    robot = tarsus.load(str(file))

    def swung(t: float, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        return np.array([np.sin(5 * t)])

    ours = tarsus.Simulation(robot, stepper="symplectic_euler", controller=swung, dt=2e-4)
    theirs = MujocoSimulation(robot, controller=swung, dt=2e-4)
    for simulation in (ours, theirs):
        run = simulation.run(0.3)
        card = tarsus.judge(run, robot)
        assert card["residuals"]["equation_N"] < 1e-7 and card["energy"]["unbalanced"] < 1e-8
        assert card["energy"]["motors"] == pytest.approx(float(run["energy_motors"].sum()))
    assert np.abs(ours.q - theirs.q).max() < 2e-3 and np.abs(ours.q).max() > 0.05
    # without the forces of constraints, contacts alone are judged
    given = log_to_arrays(ours.run(0.01), robot)
    bare = {k: v for k, v in given.items() if k not in ("force_constraint", "qfrc_passive")}
    card = tarsus.judge(bare, robot)
    assert card["energy"] is None and "qfrc_passive" in card["not_judged"]["equation_N"]


def test_a_motor_on_a_loop_joint_is_rejected_with_advice() -> None:
    hinge, there = Joint("pin", "hinge", axis=np.array([0.0, 1, 0])), np.array([0, 0, 0.2])
    pin = LoopJoint(hinge, 0, 1, there)
    robot = Robot.of(read_mjcf(FOUR_BAR.format(rod=ROD)))
    driven = replace(robot, loops=(pin,), actuators=(Actuator("pin", "pin", -1.0, 1.0),))
    log = tarsus.Simulation(robot).run(0.01).drop_vars(["tau", "actuator"], errors="ignore")
    motor = {"tau": (("time", "actuator"), np.zeros((log.sizes["time"], 1)))}
    log = log.assign(motor).assign_coords(actuator=["pin"])
    with refused(Unsupported, "pin"):
        tarsus.judge(log, driven)
