"""`tarsus judge` on runs of MuJoCo and of our own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pytest

import tarsus
from tarsus.comparison.trajectory import arrays_of
from tarsus.dynamics.robot import Robot
from tarsus.model.to_mjcf import to_mjcf
from tarsus.mujoco_runs.recorder import Recorder
from tarsus.mujoco_runs.trot import control_function, trotting_peer
from tarsus.simulation import resolve
from tarsus.simulation.recording.log import save

DT, SECONDS = 0.002, 1.0


@pytest.fixture(scope="module")
def cheetah() -> Robot:
    return tarsus.load("mini_cheetah")


def moving(
    robot: Robot, gait: str, seconds: float, integrator: str = "Euler"
) -> tuple[Recorder, list[np.ndarray]]:
    """A gait in MuJoCo, recorded, and the forces on each foot in the world, in the order of the
    robot's candidates.
    """
    controller = resolve.controller(gait)
    model = mujoco.MjModel.from_xml_string(
        to_mjcf(robot, dt=DT, friction=0.8, integrator=integrator)
    )
    data = mujoco.MjData(model)
    data.qpos[:] = controller.initial_coordinates(robot)
    recorder, forces = Recorder(model, data), [np.zeros((4, 3))]
    control, memory = control_function(robot, controller), controller.initial_memory(robot)
    command = np.array(list(controller.commands.values()))
    for k in range(round(seconds / DT)):
        torque, memory = (
            np.asarray(x).ravel()
            for x in control(k * DT, data.qpos, data.qvel, command, memory, DT)
        )
        data.ctrl[:] = np.clip(
            torque, [a.lower for a in robot.actuators], [a.upper for a in robot.actuators]
        )
        mujoco.mj_step(model, data)
        recorder.take()
        forces.append(np.zeros((4, 3)))
        for j in range(data.ncon):
            six = np.zeros(6)
            mujoco.mj_contactForce(model, data, j, six)
            forces[-1][data.contact[j].geom[1] - 1] += (
                data.contact[j].frame.reshape(3, 3).T @ six[:3]
            )
    return recorder, forces


@pytest.fixture(scope="module")
def trot(cheetah: Robot) -> tuple[dict[str, Any], np.ndarray]:
    recorder, forces = moving(cheetah, "trot", SECONDS)
    return recorder.arrays(), np.array(forces)


def test_mujoco_gets_the_figures_that_compare_reports(cheetah: Robot, trot, tmp_path: Path) -> None:
    np.savez(tmp_path / "trot.npz", **trot[0])
    card = tarsus.judge(tmp_path / "trot.npz", "mini_cheetah")
    peer = trotting_peer(cheetah, resolve.controller("trot"), DT, 0.8, SECONDS)
    for name, value in peer.residuals.items():
        assert card["residuals"][name] == pytest.approx(value, rel=1e-9, abs=1e-12), name
    assert card["creep_max"] > 1e-3  # soft contact: its feet slip while they stick
    assert card["normal_force_max"] == pytest.approx(peer.normal_force_max, rel=1e-9)
    assert not card["not_judged"]


def test_mujocos_step_and_our_ledger_agree_to_round_off(trot) -> None:
    card = tarsus.judge(trot[0], "mini_cheetah")
    assert card["residuals"]["equation_N"] < 1e-10
    assert card["energy"]["unbalanced"] < 1e-12 * card["energy"]["motors"]


def test_a_wrong_force_is_found(trot) -> None:
    wrong = dict(trot[0]) | {"contact_force": 1.05 * trot[0]["contact_force"]}
    card = tarsus.judge(wrong, "mini_cheetah")
    assert card["residuals"]["equation_N"] > 0.1
    assert card["energy"]["unbalanced"] > 1e-3


def test_the_short_recipe_judges_almost_the_same(cheetah: Robot, trot) -> None:
    full, forces = trot
    short = {name: full[name] for name in ("time", "qpos", "qvel", "qfrc_actuator")} | {
        "contact_force": forces
    }
    card, exact = tarsus.judge(short, cheetah, friction=0.8), tarsus.judge(full, cheetah)
    # the point is the foot's lowest instead of halfway into the ground; joint friction is ours
    # instead of MuJoCo's
    assert card["creep_max"] == pytest.approx(exact["creep_max"], rel=0.2)
    assert card["penetration_max"] == pytest.approx(exact["penetration_max"], rel=1e-6)


def test_what_is_not_known_is_not_judged(cheetah: Robot, trot) -> None:
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


@pytest.mark.parametrize("stepper", ["midpoint", "symplectic_euler"])
def test_our_own_run_gets_the_figures_of_its_summary(stepper: str, tmp_path: Path) -> None:
    simulation = tarsus.Simulation(
        "mini_cheetah", stepper=stepper, terrain=tarsus.Slope(angle=0.05), controller="trot"
    )
    log = simulation.run(1.0)
    np.savez(tmp_path / "own.npz", **arrays_of(log, simulation.robot))
    save(log, tmp_path / "own.nc")
    ours = tarsus.summary(simulation, log)
    for card in (
        tarsus.judge(tmp_path / "own.npz", "mini_cheetah"),
        tarsus.judge(tmp_path / "own.nc"),
    ):
        for name, value in ours["residuals"].items():
            assert card["residuals"][name] == pytest.approx(value, rel=1e-6, abs=1e-12), name
        for name, value in card["energy"].items():
            assert value == pytest.approx(ours["energy"][name], rel=1e-9, abs=1e-12), name
        assert card["normal_force_max"] == pytest.approx(ours["normal_force_max"], rel=1e-9)
