"""Contracts of every robot, stepper, terrain, gait, scene, engine, experiment, command, peer,
sensor and actuator model, discovered by file.

Laws and solvers have files of their own.
"""

from __future__ import annotations

import re
from dataclasses import fields, replace
from typing import Any

import casadi as ca
import numpy as np
import pytest
from helpers.in_mujoco import placed
from helpers.refused import refused

import tarsus
import tarsus_papers
from tarsus import cli, registry
from tarsus.control.actuators.base import ActuatorModel
from tarsus.control.base import ControlInputs, Controller
from tarsus.control.file_actuators import FileActuators
from tarsus.dynamics.robot import Robot
from tarsus.engines.base import Engine, NotModeled, Start
from tarsus.engines.tarsus import TarsusEngine
from tarsus.errors import IncompatibleOptions, TarsusError
from tarsus.model.mjcf import read_mjcf
from tarsus.model.objects import Ball
from tarsus.parameters import declared_fields
from tarsus.program.ir import reference
from tarsus.program.ir.trace import Builder
from tarsus.references.reference import Citation
from tarsus.robots import hoap1, mini_cheetah
from tarsus.sensing.base import Sensor
from tarsus.stepping.base import Stepper
from tarsus.terrain.base import Terrain
from tarsus.validation.scenes.base import EFFECTS, ValidationScene
from tarsus.validation.table import validate
from tarsus_bench.peer_process import engine_class

mujoco: Any = pytest.importorskip("mujoco")  # its stubs do not list its names

ROBOTS = registry.names("tarsus.robots")
STEPPERS = registry.names("tarsus.stepping.methods")
TERRAINS = registry.names("tarsus.terrain")
GAITS = registry.names("tarsus.control.gaits")
SCENES = registry.names("tarsus.validation.scenes")
ENGINES = registry.names("tarsus.engines")
SENSORS = registry.names("tarsus.sensing")
ACTUATORS = registry.names("tarsus.control.actuators")
COMMANDS = registry.names("tarsus.commands")
PEERS = registry.names("tarsus_bench.peers")


def cites(citation: Citation) -> bool:
    """Return whether a citation refers to publications or data."""
    return bool(citation) and not isinstance(citation, str)


# ---------------------------------------------------------------- robots


@pytest.mark.parametrize("name", ROBOTS)
def test_a_robot_has_the_name_of_its_file_and_stands_on_the_ground(name: str) -> None:
    robot = tarsus.load(name)
    assert robot.name == name and robot.mass > 0 and robot.candidates
    q = np.array(robot.keyframes["stand"])
    bottoms = [robot.position(q, c.name)[2] - c.radius for c in robot.candidates]
    assert min(bottoms) == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("name", ROBOTS)
def test_a_robot_cites_the_source_of_its_data(name: str) -> None:
    assert cites(registry.member_module("tarsus.robots", "robot", name).CITATION)


@pytest.mark.parametrize("name", ROBOTS)
def test_a_robot_has_mujoco_s_mass_matrix(name: str) -> None:
    robot = tarsus.load(name)
    q = np.array(robot.keyframes["stand"])
    q[7:] += 0.1 * np.random.default_rng(2).normal(size=len(q) - 7)
    model, data = placed(robot, q)
    full = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, full)
    np.testing.assert_allclose(robot.mass_matrix(q), full, rtol=0, atol=1e-9 * np.abs(full).max())


# ---------------------------------------------------------------- steppers


def stepper_of(name: str) -> Stepper:
    return registry.member_class("tarsus.stepping.methods", "stepper", name, Stepper)()


@pytest.mark.parametrize("name", STEPPERS)
def test_a_stepper_has_a_citation(name: str) -> None:
    stepper = registry.member_class("tarsus.stepping.methods", "stepper", name, Stepper)()
    assert cites(stepper.citation)


@pytest.mark.parametrize("name", STEPPERS)
def test_a_stepper_conserves_momentum_and_has_its_order(name: str) -> None:
    rows = validate("compliant", "free_flight", name)
    assert len(rows) > 1 and all(row.status == "pass" for row in rows), rows
    order = stepper_of(name).order
    claims = {row.expected for row in rows if "order" in row.case}
    assert claims == {float(order or 1)}, "a stepper with a tolerance counts as of first order"


@pytest.mark.parametrize("name", STEPPERS)
def test_a_stepper_detects_contacts_within_the_step(name: str) -> None:
    stepper = stepper_of(name)
    assert stepper.instant is None or 0 <= stepper.instant <= 1
    assert (TarsusEngine("moreau", name).why_unsuitable() == "") == stepper.supports_impulses


@pytest.mark.parametrize("name", STEPPERS)
def test_a_stepper_accepts_a_law_or_explains_why_not(name: str) -> None:
    refusals = [
        TarsusEngine(law, name).why_unsuitable() for law in registry.names("tarsus.contact.laws")
    ]
    assert "" in refusals, "no law goes with it"
    assert all(len(reason) > 20 for reason in refusals if reason)


# ---------------------------------------------------------------- terrains


def made(name: str) -> Terrain | None:
    """Create the terrain with its defaults; None if it has none and reports it."""
    try:
        return registry.member_class("tarsus.terrain", "terrain", name, Terrain)()
    except TarsusError as error:
        assert "needs" in str(error)
        return None


@pytest.mark.parametrize("name", TERRAINS)
def test_a_terrain_s_frame_is_right_handed_with_an_outward_normal(name: str) -> None:
    terrain = made(name)
    if terrain is None:
        return
    points = np.random.default_rng(4).uniform([-2, -2, 0.05], [2, 2, 0.3], (200, 3))
    b = Builder("look")
    distance, frame = terrain.surface(b.parameter("point", 3), terrain.symbols(b))
    look = b.program(distance=distance, frame=ca.vec(frame.T))
    own = {f"terrain.{key}": value for key, value in terrain.parameters().items()}
    here = reference.run(look, {"point": points, **own})
    frames = here["frame"].reshape(-1, 3, 3)
    np.testing.assert_allclose(np.linalg.det(frames), 1.0, atol=1e-9)
    np.testing.assert_allclose(frames @ frames.transpose(0, 2, 1) - np.eye(3), 0.0, atol=1e-9)
    further = reference.run(look, {"point": points + 1e-4 * frames[:, 0], **own})
    assert (further["distance"] > here["distance"]).all()


@pytest.mark.parametrize("name", TERRAINS)
def test_a_terrain_scales_friction_and_stiffness_by_positive_factors(name: str) -> None:
    terrain = made(name)
    if terrain is None:
        return
    b = Builder("material")
    friction, stiffness = terrain.material(b.parameter("point", 3), terrain.symbols(b))
    program = b.program(friction=friction, stiffness=stiffness)
    points = np.random.default_rng(5).uniform(-2, 2, (200, 3))
    own = {f"terrain.{key}": value for key, value in terrain.parameters().items()}
    found = reference.run(program, {"point": points, **own})
    assert (found["friction"] >= 0).all() and (found["stiffness"] > 0).all()


# ---------------------------------------------------------------- gaits


@pytest.mark.parametrize("name", GAITS)
def test_a_gait_has_a_citation(name: str) -> None:
    assert cites(registry.member_class("tarsus.control.gaits", "gait", name, Controller)().citation)


@pytest.mark.parametrize("name", GAITS)
def test_a_gait_documents_its_parameters_and_commands(name: str) -> None:
    gait = registry.member_class("tarsus.control.gaits", "gait", name, Controller)
    assert isinstance(gait, type)
    assert set(declared_fields(gait)) == {f.name for f in fields(gait)}  # type: ignore[arg-type]
    for command in gait.commands:
        assert re.search(rf"\b{command}\b", gait.__doc__ or ""), command


@pytest.mark.parametrize("name", GAITS)
def test_a_gait_returns_one_torque_per_motor_and_a_constant_memory_size(name: str) -> None:
    gait = registry.member_class("tarsus.control.gaits", "gait", name, Controller)()
    robots = (m.describe() for m in (mini_cheetah, hoap1))
    robot = next(robot for robot in robots if gait.why_unsuitable(robot) is None)
    remembered = gait.initial_memory(robot)
    sizes = {
        "t": 1, "q": robot.nq, "u": robot.nu, "command": len(gait.commands),
        "memory": len(remembered), "dt": 1,
    }  # fmt: skip
    symbols = [ca.SX.sym(key, size) for key, size in sizes.items()]
    answer = ca.Function("torque", symbols, gait.torque(ControlInputs(robot, *symbols)))
    q = gait.initial_coordinates(robot)
    command = np.array(list(gait.commands.values()))
    torque, after = answer(0.0, q, np.zeros(robot.nu), command, remembered, 0.001)
    assert torque.shape == (len(robot.actuators), 1) and np.isfinite(np.array(torque)).all()
    assert after.numel() == len(remembered) and np.isfinite(np.array(after)).all()


# ---------------------------------------------------------------- engines


@pytest.mark.parametrize("name", ENGINES)
def test_an_engine_simulates_two_falling_balls(name: str) -> None:
    """From different heights, to the accuracy of single precision."""
    make = registry.member_class("tarsus.engines", "engine", name, Engine)
    variant = next(iter(make.variants))  # type: ignore[attr-defined]
    engine = TarsusEngine("moreau", "midpoint") if name == "tarsus" else make(variant)
    assert engine.law and set(engine.not_modeled) <= set(EFFECTS)
    ball, dt = Ball().mechanism(), 0.002
    start = Start(ball, [[0, 0, z, 1, 0, 0, 0] for z in (5.0, 7.0)])
    motion = engine.run(start, dt, 0.1, skip=0.05)
    assert motion.q.shape == (25, 2, 7) and motion.u.shape == (25, 2, 6)
    assert np.allclose(motion.u[-1, :, 2], 0.1 * ball.gravity_acceleration[2], atol=1e-5)
    assert np.allclose(motion.q[-1, :, 2], [4.951, 6.951], atol=2e-3)
    with refused(NotModeled, "no_such"):
        engine.run(replace(start, parameters={"no_such": 1.0}), dt, 0.1)


# ---------------------------------------------------------------- scenes, experiments, commands


@pytest.mark.parametrize("name", SCENES)
def test_a_scene_declares_its_requirements_and_tolerances(name: str) -> None:
    scene = registry.member_class("tarsus.validation.scenes", "scene", name, ValidationScene)()
    assert scene.needs <= set(EFFECTS)
    assert len(scene.tolerance) > 40 and scene.__doc__


@pytest.mark.parametrize("name", tarsus_papers.names())
def test_an_experiment_documents_its_quantities(name: str) -> None:
    experiment = tarsus_papers.load(name)
    assert experiment.paper.text() and experiment.description
    parts = [part.name for part in experiment.parts]
    assert parts and len(set(parts)) == len(parts)
    assert all(set(part.needs) <= set(parts) and part.description for part in experiment.parts)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_has_help_and_examples(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        cli.main([name, "--help"])
    out = capsys.readouterr().out
    assert stop.value.code == 0 and f"usage: tarsus {name}" in out


# ---------------------------------------------------------------- peers


@pytest.mark.parametrize("name", PEERS)
def test_a_peer_documents_installation_and_variants(name: str) -> None:
    """The file is read whether or not the simulator is installed."""
    engine = engine_class(name)
    assert engine.package and engine.distributions
    assert "" in engine.variants and all(engine.variants.values())
    assert engine.installed() or name not in ("tarsus", "mujoco")


# ---------------------------------------------------------------- sensors


@pytest.mark.parametrize("name", SENSORS)
def test_a_sensor_returns_its_channels_with_and_without_delay(name: str) -> None:
    """With defaults, on a robot without ground; a delay of 0 changes nothing."""
    made = registry.member_class("tarsus.sensing", "sensor", name, Sensor)
    pair = {"plain": made(), "late": made(delay=np.array([0, 2]))}  # pyright: ignore[reportCallIssue]
    simulation = tarsus.Simulation("mini_cheetah", worlds=2, sensors=pair)
    channels = simulation.sensor_channels["plain"]
    assert all(channels) and all(unit for unit in channels.values())
    begun = simulation.sense()["plain"]
    simulation.advance(2 * simulation.dt)
    readings = simulation.sense()
    assert readings["plain"].shape == (2, len(channels))
    assert np.isfinite(readings["plain"]).all()
    assert (readings["late"][0] == readings["plain"][0]).all()
    assert (readings["late"][1] == begun[1]).all()


# ---------------------------------------------------------------- actuator models

ARM = """<mujoco><worldbody><body name="arm"><joint name="elbow" axis="0 1 0"/>
<geom type="capsule" size=".03" fromto="0 0 0 .3 0 0"/></body></worldbody><actuator>
<position name="servo" joint="elbow" kp="60" kv="3" forcerange="-20 20"/></actuator></mujoco>"""


def actuator_model(name: str) -> ActuatorModel:
    return registry.member_class(
        "tarsus.control.actuators", "actuator model", name, ActuatorModel
    )()


@pytest.mark.parametrize("name", ACTUATORS)
def test_an_actuator_model_declares_numbers_with_defaults(name: str) -> None:
    model = actuator_model(name)
    assert all(getattr(model, number) is not None for number in model.numbers)
    assert not set(model.numbers) & set(declared_fields(FileActuators))
    others = [actuator_model(other).numbers for other in ACTUATORS if other != name]
    assert not any(set(model.numbers) & set(numbers) for numbers in others), "names are unique"


@pytest.mark.parametrize("name", ACTUATORS)
def test_an_actuator_model_differs_by_world_and_is_reset(name: str) -> None:
    """Worlds with equal numbers move alike; a reset sets the model's memory back."""
    model = actuator_model(name)
    robot = Robot.of(read_mjcf(ARM))
    if model.why_unsuitable(robot):  # it needs a file, such as a network
        with refused(IncompatibleOptions, name):
            tarsus.Simulation(robot, actuators=f"file+{name}")
        return
    simulation = tarsus.Simulation(robot, actuators=FileActuators(models=(model,)), worlds=2)
    begun = simulation.state()

    def run() -> Any:
        simulation.step([0.7])
        simulation.advance(0.05)
        return simulation.state()

    simulation.set(
        **{number: np.array([[1.0], [1.0]]) * getattr(model, number) for number in model.numbers}
    )
    first = run()
    assert np.isfinite(first).all() and (first[0] == first[1]).all()
    simulation.reset()
    assert (run() == first).all()
    assert not (first == begun).all()
