"""Actuator networks: exact linear laws, ONNX Runtime, and a network fitted to a servo."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.refused import refused

import tarsus
from tarsus.control.actuators.actuator_network import ActuatorNetwork
from tarsus.control.actuators.encoder import Encoder
from tarsus.control.file_actuators import FileActuators
from tarsus.dynamics.robot import Robot
from tarsus.errors import IncompatibleOptions, InvalidFile, InvalidValue, Unsupported
from tarsus.model.mjcf import read_mjcf

onnx: Any = pytest.importorskip("onnx")

KP, KV, LIMIT, DT = 20.0, 1.0, 6.0, 2e-3
Layer = tuple[np.ndarray, np.ndarray, str]


def arm(joints: int = 1, force: str = "") -> Robot:
    links = "".join(
        f"""<body name="b{k}" pos="0 {k} 0"><joint name="j{k}" axis="0 1 0"/><inertial
        pos="0 0 -.1" mass="1" diaginertia=".02 .02 .02"/></body>"""
        for k in range(joints)
    )
    servos = "".join(
        f'<position name="s{k}" joint="j{k}" kp="{KP}" kv="{KV}" {force}/>' for k in range(joints)
    )
    text = f"<mujoco><worldbody>{links}</worldbody><actuator>{servos}</actuator></mujoco>"
    return Robot.of(read_mjcf(text))


def write(file: Path, layers: Sequence[Layer]) -> str:
    """Write a chain of dense layers as ONNX, alternately as Gemm, and as MatMul and Add."""
    nodes, weights, name = [], [], "input"

    def constant(label: str, value: np.ndarray) -> str:
        weights.append(onnx.numpy_helper.from_array(value.astype(np.float32), label))
        return label

    for k, (weight, bias, activation) in enumerate(layers):
        W, b = constant(f"W{k}", weight if k % 2 == 0 else weight.T), constant(f"b{k}", bias)
        if k % 2 == 0:
            nodes.append(onnx.helper.make_node("Gemm", [name, W, b], [f"y{k}"], transB=1))
        else:
            nodes.append(onnx.helper.make_node("MatMul", [name, W], [f"x{k}"]))
            nodes.append(onnx.helper.make_node("Add", [f"x{k}", b], [f"y{k}"]))
        name = f"y{k}"
        if activation:
            nodes.append(onnx.helper.make_node(activation, [name], [f"z{k}"]))
            name = f"z{k}"
    sizes = len(layers[0][0][0]), len(layers[-1][1])
    ports = [
        onnx.helper.make_tensor_value_info(label, onnx.TensorProto.FLOAT, ["worlds", size])
        for label, size in zip(("input", name), sizes, strict=True)
    ]
    graph = onnx.helper.make_graph(nodes, "net", ports[:1], ports[1:], weights)
    opset = [onnx.helper.make_opsetid("", 17)]
    onnx.save(onnx.helper.make_model(graph, opset_imports=opset, ir_version=9), str(file))
    return str(file)


def linear(file: Path, weights: Sequence[float]) -> str:
    return write(file, [(np.array([weights]), np.zeros(1), "")])


def driven(model: ActuatorNetwork, robot: Robot, **options: Any) -> tarsus.Simulation:
    actuators = FileActuators(models=(model,))
    return tarsus.Simulation(robot, actuators=actuators, dt=DT, **options)


def torques(simulation: tarsus.Simulation) -> np.ndarray:
    return simulation.backend.output("tau").copy()


def test_a_linear_network_of_histories_is_its_formula(tmp_path: Path) -> None:
    """Three samples two steps apart, scales by world; exact to the rounding of the weights."""
    w = [4.0, -2.0, 1.0, -0.5, 0.25, 0.125]
    model = ActuatorNetwork(
        linear(tmp_path / "net.onnx", w), history_interval=2, torque_scale=np.array([[1.0], [3.0]])
    )
    simulation = driven(model, arm(2), worlds=2)
    errors, rates, found = [], [], []
    for k in range(12):
        target = np.array([0.3 * np.sin(k), 0.1 * k])
        errors.append(target - simulation.q)
        rates.append(simulation.u)
        simulation.step(target)
        found.append(torques(simulation))

    def at(history: list[np.ndarray], k: int) -> np.ndarray:
        return history[k] if k >= 0 else np.zeros((2, 2))

    for k in range(12):
        past = [at(errors, k - 2 * i) for i in range(3)] + [at(rates, k - 2 * i) for i in range(3)]
        expected = np.array([[1.0], [3.0]]) * sum(a * x for a, x in zip(w, past, strict=True))
        np.testing.assert_allclose(found[k], expected, atol=1e-12)


@pytest.mark.parametrize("activation", ["Elu", "LeakyRelu", "Relu", "Sigmoid", "Softsign", "Tanh"])
def test_compiled_networks_agree_with_onnx_runtime(tmp_path: Path, activation: str) -> None:
    runtime: Any = pytest.importorskip("onnxruntime")
    random = np.random.default_rng(3)
    sizes = [2, 16, 8, 1]
    layers = [
        (random.normal(size=(b, a)), random.normal(size=b), activation if b > 1 else "")
        for a, b in pairwise(sizes)
    ]
    file = write(tmp_path / "net.onnx", layers)
    q, u = random.normal(size=(40, 1)), random.normal(size=(40, 1))
    simulation = driven(ActuatorNetwork(file), arm(), worlds=40)
    simulation.set(q=q, u=u)
    simulation.step([0.2])
    session = runtime.InferenceSession(file, providers=["CPUExecutionProvider"])
    inputs = np.concatenate([0.2 - q, u], 1).astype(np.float32)
    expected = session.run(None, {"input": inputs})[0]
    np.testing.assert_allclose(torques(simulation), expected, atol=1e-4)


def fitted(file: Path) -> str:
    """Fit 60 softsign features to the torque of a servo with a limit, by least squares."""
    random = np.random.default_rng(0)
    x = random.uniform([-0.8, -6.0], [0.8, 6.0], (4000, 2))
    wanted = np.clip(KP * x[:, 0] - KV * x[:, 1], -LIMIT, LIMIT)
    inner = random.normal(size=(60, 2)) * [6.0, 0.6]
    bias = random.normal(size=60) * 3
    z = x @ inner.T + bias
    features = np.concatenate([z / (1 + np.abs(z)), np.ones((len(x), 1))], 1)
    outer = np.linalg.solve(features.T @ features + 1e-6 * np.eye(61), features.T @ wanted)
    return write(file, [(inner, bias, "Softsign"), (outer[None, :60], outer[60:], "")])


def test_a_network_fitted_to_a_servo_moves_like_it(tmp_path: Path) -> None:
    """The fit is good to 0.2 N m (RMS), so the angle is good to 0.2 / kp = 10 mrad."""
    limited = f'forcerange="{-LIMIT} {LIMIT}"'
    servo = tarsus.Simulation(arm(force=limited), actuators="file", dt=DT)
    learned = driven(ActuatorNetwork(fitted(tmp_path / "net.onnx")), arm())
    angles, forces = [], []
    for k in range(1500):
        target = [0.5 * np.sin(2 * DT * k) + 0.2 * np.sign(np.sin(7 * DT * k))]
        for simulation in (servo, learned):
            simulation.step(target)
        angles.append([servo.q[0], learned.q[0]])
        forces.append([torques(servo)[0, 0], torques(learned)[0, 0]])
    a, b = np.array(angles).T
    assert np.ptp(a) > 0.8 and np.abs(np.array(forces)[:, 0]).max() == pytest.approx(LIMIT)
    assert np.sqrt(np.mean((a - b) ** 2)) < 0.01


def test_the_force_range_and_the_encoder_act_on_a_network(tmp_path: Path) -> None:
    net = ActuatorNetwork(linear(tmp_path / "net.onnx", [100.0, 0.0]))
    simulation = driven(net, arm(force='forcerange="-3 5"'))
    for target, torque in ((1.0, 5.0), (-1.0, -3.0), (0.01, 1.0)):
        simulation.reset()
        simulation.step([target])
        assert torques(simulation)[0, 0] == pytest.approx(torque, rel=1e-6)
    seen = Encoder(encoder_offset=0.02, encoder_resolution=0.0)
    simulation = tarsus.Simulation(arm(), actuators=FileActuators(models=(seen, net)), dt=DT)
    simulation.step([0.01])
    assert torques(simulation)[0, 0] == pytest.approx(-1.0, rel=1e-6)


def test_names_of_a_run(tmp_path: Path) -> None:
    file = linear(tmp_path / "net.onnx", [0.0, 100.0])
    options: Any = {"parameters": [f"network={file}", "inputs_begin_with=rates"]}
    simulation = tarsus.Simulation(arm(), actuators="file+actuator_network", dt=DT, **options)
    simulation.step([0.03])
    assert torques(simulation)[0, 0] == pytest.approx(3.0, rel=1e-6)


def test_other_networks_and_robots_are_rejected(tmp_path: Path) -> None:
    for name in ("missing.onnx", "text.onnx"):
        (tmp_path / "text.onnx").write_text("no network")
        with refused(InvalidFile, tmp_path / name):
            ActuatorNetwork(str(tmp_path / name))
    odd = linear(tmp_path / "odd.onnx", [1.0, 2.0, 3.0])
    with refused(InvalidValue, "network"):
        ActuatorNetwork(odd)
    softmax = write(tmp_path / "softmax.onnx", [(np.ones((1, 2)), np.zeros(1), "Softmax")])
    with refused(Unsupported, "Softmax"):
        ActuatorNetwork(softmax)
    with refused(IncompatibleOptions, "actuator_network"):
        tarsus.Simulation(arm(), actuators="file+actuator_network")
    motor = Robot.of(
        read_mjcf(
            """<mujoco><worldbody><body><joint name="j"/><inertial pos="0 0 0" mass="1"
            diaginertia="1 1 1"/></body></worldbody><actuator><motor joint="j"/></actuator>
            </mujoco>"""
        )
    )
    with refused(IncompatibleOptions, "actuator_network"):
        driven(ActuatorNetwork(linear(tmp_path / "net.onnx", [1.0, 0.0])), motor)
