"""Tarsus robots and gaits in closed loop in MuJoCo: settings, ground, rejected options."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest
from helpers.refused import refused
from scipy.spatial.transform import Rotation

import tarsus
from tarsus import cli, registry
from tarsus.comparison.laws import CompareOptions, compare
from tarsus.dynamics.robot import Robot
from tarsus.errors import Unsupported
from tarsus.model.mechanism import Joint, LoopJoint
from tarsus.model.mjcf import read_mjcf
from tarsus.mujoco_runs.contacts import GroundContact, ground_contacts
from tarsus.mujoco_runs.settings import MujocoSettings
from tarsus.mujoco_runs.simulation import MujocoSimulation
from tarsus.spatial.quaternion import zyx_angles


@pytest.fixture(scope="module")
def cheetah() -> Robot:
    return tarsus.load("mini_cheetah")


def test_settings_reach_the_model(cheetah: Robot) -> None:
    given = ["solref=-1600,-100", "solimp=0.8,0.9,0.002,0.4,3", "integrator=implicit", "mu=1.6"]
    given += ["cone=pyramidal", "impratio=10", "kp=60"]
    simulation = MujocoSimulation(cheetah, controller="trot", dt=1e-4, parameters=given)
    option, model = simulation.model.opt, simulation.model
    assert option.timestep == 1e-4 and option.impratio == 10
    assert option.integrator == mujoco.mjtIntegrator.mjINT_IMPLICIT
    assert option.cone == mujoco.mjtCone.mjCONE_PYRAMIDAL
    assert (model.geom_solref == [-1600, -100]).all()
    assert (model.geom_solimp == [0.8, 0.9, 0.002, 0.4, 3]).all()
    assert (model.geom_friction[:, 0] == 1.6).all()
    assert simulation.controller.kp == 60


def test_negative_solref_is_a_stiffness(cheetah: Robot) -> None:
    """At rest the depth is (1 - d) a / (d k), a being the acceleration without contact."""
    even = (0.9, 0.9, 0.001, 0.5, 2.0)  # impedance d whatever the depth
    depths = []
    for stiffness in (1600.0, 16000.0):
        settings = MujocoSettings(solref=(-stiffness, -200.0), solimp=even)
        simulation = MujocoSimulation(cheetah, settings, controller="stand")
        simulation.advance(1.5)
        depths.append(-min(contact.gap for contact in touching(simulation)))
    assert depths[0] / depths[1] == pytest.approx(10, rel=0.05)


@pytest.mark.parametrize("name", registry.names("tarsus.robots"))
def test_every_robot_starts_on_the_ground_and_moves(name: str) -> None:
    simulation = MujocoSimulation(name, controller="auto", dt=0.001)
    robot, q = simulation.robot, simulation.q
    lowest = min(robot.position(q, c.name)[2] - c.radius for c in robot.candidates)
    assert abs(lowest) < 1e-9
    simulation.advance(0.05)
    load = sum(contact.force[0] for contact in touching(simulation))
    assert 0 < load < 3 * robot.mass * 9.81


def touching(simulation: MujocoSimulation) -> list[GroundContact]:
    """Contacts of the last step."""
    return list(ground_contacts(simulation.model, simulation.data))


def test_on_a_slope_the_load_is_the_weight(cheetah: Robot) -> None:
    slope = tarsus.Slope(angle=0.1)
    simulation = MujocoSimulation(cheetah, terrain=slope, controller="stand", dt=0.002)
    log = simulation.run(1.0)
    load = log["force_world"].sum("contact").values[-100:].mean(0)
    weight = -cheetah.mass * np.array(cheetah.gravity_acceleration)
    assert np.abs(load - weight).max() < 0.02 * weight[2]
    normal = slope.parameters()["frame"][:3]
    assert np.abs(log["contact_normal"].values - normal).max() < 1e-12
    assert log["equation_residual"].max() < 1e-9


def slippery_box(folder: Path) -> Robot:
    file = folder / "box.xml"
    file.write_text("""<mujoco model="box"><worldbody><body pos="0 0 .05"><freejoint/>
        <geom type="box" size=".1 .1 .05" mass="2" friction="0.2"/></body></worldbody></mujoco>""")
    return tarsus.load(str(file))


def test_a_box_slides_down_a_slope_with_the_friction_of_its_file(tmp_path: Path) -> None:
    box, slope, g = slippery_box(tmp_path), tarsus.Slope(angle=np.radians(20)), 9.81
    down = np.cross([0, 1, 0], slope.parameters()["frame"][:3])
    for mu in (None, 0.3):
        settings = None if mu is None else MujocoSettings(mu=mu)
        simulation = MujocoSimulation(box, settings, slope, "free", dt=0.001)
        speed = simulation.run(1.0)["u"].values[:, :3] @ down
        told = {notice.code: notice for notice in simulation.warnings}
        assert ("contact-values-of-file" in told) == (mu is None)
        assert mu is not None or "mu 0.2" in told["contact-values-of-file"]
        # what brakes it, from when it has come down on its face; it rattles a little
        braked = g * np.sin(np.radians(20)) - abs(speed[-1] - speed[199]) / 0.8
        assert braked / (g * np.cos(np.radians(20))) == pytest.approx(mu or 0.2, rel=0.02)


def test_the_file_time_step_is_used_and_explicit_pairs_are_reported() -> None:
    text = """<mujoco model="two"><option timestep=".001"/><worldbody>{0}<body name="b" pos="0 0 1">
    <freejoint/><geom size=".1"/></body></worldbody></mujoco>"""
    ball = '<body name="a" pos="0 0 .5"><freejoint/><geom size=".1"/></body>'
    two = MujocoSimulation(Robot.of(read_mjcf(text.format(ball))))
    assert two.dt == 0.001
    codes = {(notice.code, notice.subject) for notice in two.warnings}
    assert ("own-contacts-ignored", "two") in codes
    alone = MujocoSimulation(Robot.of(read_mjcf(text.format(""))), dt=0.002)
    assert alone.dt == 0.002
    assert "own-contacts-ignored" not in {notice.code for notice in alone.warnings}


def test_a_comparison_uses_the_file_friction_by_default(tmp_path: Path) -> None:
    box = slippery_box(tmp_path)
    for given, expected in (({}, 0.2), ({"mu": 0.5}, 0.5)):
        extra = CompareOptions(material=given, bars=False, limits=False)
        for run in compare(box, "moreau,mujoco", [0.0025], 0.01, extra=extra):
            assert run.failure is None and run.numbers["mu"] == pytest.approx(expected)
            assert any("values from the file" in note for note in run.warnings) == (not given)


def test_runs_continue_and_restart(cheetah: Robot) -> None:
    simulation = MujocoSimulation(cheetah, controller="trot", dt=0.002)
    simulation.set(command={"speed": 0.3})
    whole = simulation.run(0.2)
    told = "MuJoCo, controller trot, dt 0.002 s, t = 0.2 s"
    assert repr(simulation) == f"MujocoSimulation(mini_cheetah: {told})"
    simulation.reset()
    parts = simulation.run(0.1), simulation.run(0.1)
    assert (np.concatenate([part["q"] for part in parts]) == whole["q"].values).all()
    assert np.allclose(parts[1]["time"], whole["time"][50:], rtol=0, atol=1e-12)
    assert json.loads(whole.attrs["command"])["speed"] == 0.3


def test_a_function_of_t_q_u_is_a_controller(cheetah: Robot) -> None:
    posture = np.array(cheetah.keyframes["stand"])[7:]
    pd = MujocoSimulation(
        cheetah, controller=lambda t, q, u: 40 * (posture - q[7:]) - u[6:], dt=0.002
    )
    log = pd.run(0.3)
    assert log["q"].values[-1, 2] > 0.2 and np.abs(log["tau"].values).max() > 1


def test_a_diverged_run_reports_its_time_and_keeps_its_log(cheetah: Robot) -> None:
    wild = MujocoSimulation(cheetah, controller=lambda t, q, u: 17 * np.sign(u[6:] + 1e-9), dt=0.02)
    with pytest.raises(tarsus.Diverged, match="use a smaller dt") as caught:
        wild.run(5.0)
    assert caught.value.log is not None and np.isfinite(caught.value.log["q"]).all()


def test_balance_is_not_judged_under_runge_kutta(cheetah: Robot) -> None:
    simulation = MujocoSimulation(cheetah, MujocoSettings(integrator="RK4"), controller="stand")
    log = simulation.run(0.1)
    assert "RK4" in log.attrs["warnings"] and np.isnan(log["equation_residual"]).all()
    assert tarsus.summary(simulation, log)["residuals"]["signorini_J"] is None
    assert "equation_N" in tarsus.judge(log)["not_judged"]


def test_zyx_angles_match_the_rotations() -> None:
    given = np.random.default_rng(3).uniform([-3, -1.5, -3], [3, 1.5, 3], (50, 3))
    quaternions = Rotation.from_euler("ZYX", given).as_quat(scalar_first=True)
    assert np.abs(zyx_angles(quaternions) - given).max() < 1e-9


def test_both_engines_start_equal_with_continuous_angles(cheetah: Robot) -> None:
    spin = ["heading=0", "tracking=0", "capture=0", "lean=0"]
    logs, starts = [], []
    for made in (
        tarsus.Simulation(cheetah, controller="trot", parameters=spin),
        MujocoSimulation(cheetah, controller="trot", parameters=spin),
    ):
        starts.append(made.q)
        made.set(command={"turn": 1.0, "speed": 0.0})
        logs.append(tarsus.trunk_angles(made.run(4.0)))
    assert (starts[0] == starts[1]).all()
    for angles in logs:
        assert angles.dims == ("time", "angle") and angles["angle"].values[0] == "yaw"
        assert np.abs(np.diff(angles.values, axis=0)).max() < 0.1
        assert angles.sel(angle="yaw").values[-1] > 1.5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--law moreau", "--law"),
        ("--stepper heun", "--set integrator="),
        ("--precision float32", "float64"),
        ("--coordinates maximal", "coordinates"),
        ("--terrain rough", "'slope'"),
        ("--set solreff=1,1", "solref (engine"),
        ("--set integrator=euler", "Euler"),
        ("--set solref=0.02,-1", "0.02,-1"),
        ("--set solref=1", "2 numbers"),
        ("--speed 20", "out of reach"),
    ],
)
def test_unsupported_options_are_rejected_for_mujoco(
    arguments: str, message: str, capsys: pytest.CaptureFixture
) -> None:
    line = ["run", "mini_cheetah", "--engine", "mujoco", "--duration", "0.1", *arguments.split()]
    assert cli.main(line) == 2
    said = capsys.readouterr()
    assert message in said.err and not said.out and said.err.count("\n") == 1


def test_the_command_writes_log_and_picture(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    line = "run mini_cheetah --engine mujoco --gait trot --slope 3 --dt 0.002 --duration 0.3"
    line += " --set solref=0.01,1 frequency=2 --friction 0.6 --json --out"
    assert cli.main([*line.split(), str(tmp_path)]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["engine"], told["law"], told["stepper"]) == ("mujoco", "mujoco", "Euler")
    assert told["law_parameters"]["mu"] == 0.6 and told["law_parameters"]["solref"] == [0.01, 1]
    assert told["gait_parameters"]["frequency"] == 2 and told["terrain"] == "slope"
    assert {path.suffix for path in tmp_path.iterdir()} == {".nc", ".png"}
    assert cli.main(["judge", str(tmp_path / "mini_cheetah.nc")]) == 0


def test_loops_that_mjcf_cannot_express_are_rejected(cheetah: Robot) -> None:
    pin = LoopJoint(Joint("pin", "slide"), 3, 6, np.zeros(3))
    with refused(Unsupported, "pin"):
        MujocoSimulation(replace(cheetah, loops=(pin,)), controller="stand")
