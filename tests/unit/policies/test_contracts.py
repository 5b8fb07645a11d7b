"""Contracts from files of training frameworks and of users."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from helpers.refused import refused
from onnx import TensorProto, helper

from tarsus import load
from tarsus.errors import InvalidFile, InvalidValue, UnknownName, UnmetCondition
from tarsus.policies import policy_toml
from tarsus.policies.binding import BoundPolicy
from tarsus.policies.contract import Contract, Term, as_numbers
from tarsus.policies.importers.base import parse_range
from tarsus.policies.importers.isaaclab import IsaacLab
from tarsus.policies.loading import load_contract, yaml_table

JOINTS = 12


def linear(path: Path, inputs: int, outputs: int = JOINTS, **metadata: str) -> Path:
    """Write a network whose actions are sums of its observations, one world at a time."""
    weights = np.zeros((inputs, outputs), np.float32)
    weights[np.arange(inputs), np.arange(inputs) % outputs] = 1.0
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["obs", "W"], ["actions"])],
        "linear",
        [helper.make_tensor_value_info("obs", TensorProto.FLOAT, [1, inputs])],
        [helper.make_tensor_value_info("actions", TensorProto.FLOAT, [1, outputs])],
        [onnx.numpy_helper.from_array(weights, "W")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    for key, value in metadata.items():
        model.metadata_props.add(key=key, value=value)
    onnx.save(model, str(path))
    return path


DEPLOY = """
joint_ids_map: [3, 4, 5, 0, 1, 2, 6, 7, 8, 9, 10, 11]
step_dt: 0.02
stiffness: [10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21]
damping: 0.5
default_joint_pos: [0.1, -0.8, 1.6, 0.1, -0.8, 1.6, 0.1, -0.8, 1.6, 0.1, -0.8, 1.6]
commands:
  base_velocity:
    ranges: {lin_vel_x: [-0.5, 1.0], heading: null}
actions:
  JointPositionAction:
    scale: 0.25
    offset: [0.1, -0.8, 1.6, 0.1, -0.8, 1.6, 0.1, -0.8, 1.6, 0.1, -0.8, 1.6]
    joint_ids: !!python/object/apply:os.system ["touch evil"]
observations:
  base_ang_vel: {params: {}, clip: null, scale: [0.2, 0.2, 0.2], history_length: 2}
  projected_gravity: {params: {}, clip: [-1, 1], scale: null, history_length: 2}
  velocity_commands: {params: {command_name: base_velocity}, history_length: 2}
"""


def test_a_deployment_file_of_isaac_lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Gains stand in the robot's order there, and a tag of Python is read as plain data."""
    monkeypatch.chdir(tmp_path)
    linear(tmp_path / "policy.onnx", 18)
    (tmp_path / "deploy.yaml").write_text(DEPLOY)
    contract = load_contract(tmp_path)
    assert contract.rate == pytest.approx(50.0)
    assert contract.joints == (3, 4, 5, 0, 1, 2, 6, 7, 8, 9, 10, 11)
    assert contract.kp == (13, 14, 15, 10, 11, 12, 16, 17, 18, 19, 20, 21)
    assert contract.kd == 0.5
    assert contract.ranges == {"lin_vel_x": (-0.5, 1.0)}
    assert [term.name for term in contract.ordered_terms] == [
        "base_ang_vel",
        "projected_gravity",
        "command",
    ]
    assert contract.ordered_terms[1].clip == (-1.0, 1.0)
    assert contract.missing() == []
    assert not (tmp_path / "evil").exists()
    bound = BoundPolicy.of(contract, load("mini_cheetah"))
    assert bound.actuators.tolist() == list(contract.joints or ())


def test_metadata_of_mjlab(tmp_path: Path) -> None:
    names = [motor.joint for motor in load("mini_cheetah").actuators]
    file = linear(
        tmp_path / "policy.onnx",
        3 + 12 + 12,
        joint_names=",".join(names),
        joint_stiffness=",".join(["20.0"] * JOINTS),
        joint_damping=",".join(["0.5"] * JOINTS),
        default_joint_pos=",".join(["0.1"] * JOINTS),
        action_scale="0.3",
        observation_names="projected_gravity,joint_pos,joint_vel",
    )
    contract = load_contract(file)
    assert contract.joints == tuple(names)
    assert contract.scale == 0.3
    assert [term.name for term in contract.ordered_terms][1:] == ["joint_pos_rel", "joint_vel"]
    assert contract.origin("kp") == "metadata of policy.onnx"
    assert contract.origin("rate") == "assumed"
    assert BoundPolicy.of(contract, load("mini_cheetah")).count == JOINTS


def test_metadata_of_holosoma_lacks_the_default_positions(tmp_path: Path) -> None:
    names = [f"joint_{k}" for k in range(JOINTS)]
    file = linear(
        tmp_path / "ppo.onnx",
        100,
        dof_names=json.dumps(names),
        kp=json.dumps([20.0] * JOINTS),
        kd=json.dumps([0.5] * JOINTS),
        command_ranges=json.dumps({"lin_vel_x": [-1, 1], "ang_vel_yaw": [-2, 2]}),
    )
    contract = load_contract(file)
    assert [question.name for question in contract.missing()] == ["positions"]
    assert contract.ranges["ang_vel_z"] == (-2.0, 2.0)
    keys = [term.key for term in contract.ordered_terms]
    assert keys == sorted(keys)


@pytest.mark.parametrize(("size", "names"), [(45, 6), (48, 7), (47, 8), (50, 9)])
def test_terms_of_legged_gym_follow_from_sizes(tmp_path: Path, size: int, names: int) -> None:
    linear(tmp_path / "policy.onnx", size)
    text = f"kps: 20\nkds: 0.5\ndefault_angles: 0.1\naction_scale: 0.25\nnum_actions: {JOINTS}\n"
    text += f"num_obs: {size}\nsimulation_dt: 0.002\ncontrol_decimation: 10\n"
    (tmp_path / "config.yaml").write_text(text)
    contract = load_contract(tmp_path)
    assert contract.rate == 50.0
    assert len(contract.terms or ()) == names
    BoundPolicy.of(contract, load("mini_cheetah"))


TOML = """
network = "policy.onnx"
rate = 100
joints = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]
scale = 0.5
kp = 30
kd = 1
positions = [0, -0.8, 1.6, 0, -0.8, 1.6, 0, -0.8, 1.6, 0, -0.8, 1.6]
terms = ["projected_gravity", { name = "joint_pos_rel", scale = 2, history = 3 }]
"""


def test_a_contract_round_trips(tmp_path: Path) -> None:
    linear(tmp_path / "policy.onnx", 39)
    (tmp_path / "policy.toml").write_text(TOML)
    contract = load_contract(tmp_path)
    (tmp_path / "again.toml").write_text(policy_toml.to_toml(contract, tmp_path))
    again = load_contract(tmp_path / "again.toml")
    for name in ("rate", "joints", "scale", "kp", "kd", "positions", "terms"):
        assert getattr(again, name) == getattr(contract, name)


def test_settings_override_files(tmp_path: Path) -> None:
    linear(tmp_path / "policy.onnx", 39)
    (tmp_path / "policy.toml").write_text(TOML)
    contract = load_contract(tmp_path, settings=["rate=50", "order=alphabetical"])
    assert (contract.rate, contract.order, contract.origin("rate")) == (50.0, "alphabetical", "set")


@pytest.mark.parametrize(
    ("setting", "kind", "subject"),
    [
        ("rte=50", UnknownName, "rte"),
        ("rate=-1", InvalidValue, "rate"),
        ("rate=fast", InvalidFile, "rate"),
        ("terms=['gravitation']", UnknownName, "gravitation"),
        ("terms=[{name='command', skale=2}]", UnknownName, "skale"),
        ("terms=[{name='command', history=0}]", InvalidValue, "command"),
        ("layout=mixed", UnknownName, "mixed"),
        ("joints=[0, 0]", InvalidValue, "joints"),
        ("rate", InvalidValue, "rate"),
    ],
)
def test_wrong_values_are_reported_by_name(
    tmp_path: Path, setting: str, kind: Any, subject: str
) -> None:
    file = linear(tmp_path / "policy.onnx", 39)
    with refused(kind, subject):
        load_contract(file, settings=[setting])


@pytest.mark.parametrize(
    ("change", "kind", "subject"),
    [
        ({"joints": ("hip",)}, UnknownName, "hip"),
        ({"joints": tuple(range(11))}, InvalidFile, "joints"),
        ({"joints": (*range(11), 99)}, InvalidFile, "joints"),
        ({"kp": (1.0, 2.0)}, InvalidFile, "kp"),
        ({"kp": None}, UnmetCondition, "kp"),
        ({"terms": (Term("projected_gravity"),)}, InvalidFile, "terms"),
        ({"terms": (Term("joint_pos", (1.0, 2.0)),)}, InvalidFile, "joint_pos"),
    ],
)
def test_mismatches_with_robot_or_network_are_reported_by_name(
    tmp_path: Path, change: dict[str, Any], kind: Any, subject: str
) -> None:
    linear(tmp_path / "policy.onnx", 39)
    (tmp_path / "policy.toml").write_text(TOML)
    contract = load_contract(tmp_path).with_values("test", **change)
    with refused(kind, subject):
        BoundPolicy.of(contract, load("mini_cheetah"))


@pytest.mark.parametrize(
    "text", ["a: [1", "- 1\n- 2\n", "a: 1\na: 2\n", "[" * 4000, "\x00", "x: &a [*a]\n"]
)
def test_broken_yaml_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "deploy.yaml"
    file.write_text(text)
    linear(tmp_path / "policy.onnx", 39)
    with pytest.raises(InvalidFile):
        load_contract(tmp_path / "policy.onnx")


def test_values_of_the_wrong_kind_are_refused() -> None:
    """An empty list, a range of lists, and parameters of a term that are no table."""
    with refused(InvalidFile, "kp"):
        as_numbers("kp", [])
    with refused(InvalidFile, "clip"):
        parse_range("clip", [[1.0], 2.0])
    table = {"joint_ids_map": [0], "observations": {"joint_vel": {"params": 3}}}
    with refused(InvalidFile, "params of joint_vel"):
        IsaacLab().fill(Contract("policy.onnx"), table, "deploy.yaml")


def test_yaml_runs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "x.yaml"
    file.write_text(
        "a: !!python/object/apply:os.system ['touch evil']\nb: !!python/name:os.system\n"
    )
    assert yaml_table(file)["a"] == ["touch evil"]
    assert not (tmp_path / "evil").exists()


@pytest.mark.parametrize("content", [b"", b"no network", b"\x08\x07" * 50])
def test_a_damaged_network_is_refused(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "policy.onnx"
    file.write_bytes(content)
    with pytest.raises(InvalidFile):
        load_contract(file)


def test_a_contract_without_a_network_is_refused(tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text("rate = 50\n")
    with refused(InvalidFile, "network"):
        load_contract(tmp_path)
    with pytest.raises(InvalidFile):
        load_contract(tmp_path / "policy.onnx")
    assert Contract("x").missing()[0].name == "rate"
