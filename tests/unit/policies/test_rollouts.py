"""Policies in closed loop: the same observations, torques and motion in every way to run them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from helpers.policies import DT, STAND, contract, network
from helpers.refused import refused
from numpy.typing import NDArray
from onnx import TensorProto, helper

from tarsus import Simulation, load
from tarsus.errors import InvalidFile
from tarsus.mujoco_runs.simulation import MujocoSimulation
from tarsus.policies.attitude import rotations
from tarsus.policies.binding import BoundPolicy
from tarsus.policies.controller import PolicyController
from tarsus.policies.network import load_network
from tarsus.policies.observer import Observer
from tarsus.policies.rollout import rollout
from tarsus.policies.survival import Survival
from tarsus.policies.terms import ObservedState
from tarsus.policies.worlds import Conditions, DelayLine, PolicyEngine

Array = NDArray[np.float64]


@pytest.fixture(scope="module")
def bound(tmp_path_factory: pytest.TempPathFactory) -> BoundPolicy:
    folder = tmp_path_factory.mktemp("policy")
    return BoundPolicy.of(contract(folder), load("mini_cheetah"))


def view(policy: BoundPolicy, q: Array, u: Array, action: Array) -> ObservedState:
    return ObservedState(
        q,
        u,
        q[:, policy.q_indices],
        u[:, policy.u_indices],
        policy.per_joint("positions"),
        action,
        0 * action,
        np.zeros((len(q), 3)),
        0.0,
        policy.frame,
        lambda points: np.zeros(points.shape[:-1]),
        np.zeros((len(q), 4)),
    )


def test_observations_consist_of_their_terms(bound: BoundPolicy) -> None:
    """Compared with the definitions, through two samples."""
    rng, robot = np.random.default_rng(2), bound.robot
    observe, seen, before = Observer(bound), np.zeros(0), np.zeros((3, 12))
    for k in range(2):
        q, u = rng.normal(size=(3, robot.nq)), rng.normal(size=(3, robot.nu))
        q[:, 3:7] /= np.linalg.norm(q[:, 3:7], axis=1, keepdims=True)
        action = rng.normal(size=(3, 12))
        seen = observe(view(bound, q, u, action))
        joints = q[:, 7:] - STAND
        down = np.einsum("wji,j->wi", rotations(q[:, 3:7]), [0, 0, -1.0])
        old = joints if k == 0 else before
        wanted = np.hstack([0.25 * u[:, 3:6], down, old, joints, action])
        np.testing.assert_allclose(seen, wanted, atol=1e-6)
        before = joints


def test_a_single_robot_moves_as_in_a_batch(bound: BoundPolicy) -> None:
    """A controller of a `Simulation`, and a rollout: torques are the same at every step."""
    worlds = PolicyEngine("moreau").create_worlds(bound, Conditions.uniform(bound, 3), DT)
    begun = np.array(worlds.q)
    done = rollout(bound, worlds, np.zeros((3, 3)), 0.5)
    assert (done.position[:, 0] == done.position[:, 2]).all()
    simulation = Simulation(
        bound.robot, "moreau", controller=PolicyController(bound.contract, bound.robot), dt=DT
    )
    simulation.set(q=begun[0])
    simulation.advance(0.5)
    np.testing.assert_allclose(simulation.q[:3], done.position[-1, 0], atol=1e-9)
    assert done.survived.all()


def test_mujoco_rollouts_agree(bound: BoundPolicy) -> None:
    """The same robot, servos and network: where it stands differs by the contacts' give."""
    done = rollout(
        bound,
        PolicyEngine("").create_worlds(bound, Conditions.uniform(bound, 2), DT),
        np.zeros((2, 3)),
        0.5,
    )
    drive = PolicyController(bound.contract, bound.robot)
    alone = MujocoSimulation(bound.robot, None, controller=drive, dt=DT)
    alone.set(q=bound.start())
    ours = rollout(
        bound,
        PolicyEngine("moreau").create_worlds(bound, Conditions.uniform(bound, 1), DT),
        np.zeros((1, 3)),
        0.5,
    )
    assert (done.position[:, 0] == done.position[:, 1]).all()
    np.testing.assert_allclose(done.position[-1, 0], ours.position[-1, 0], atol=0.02)


def test_a_world_does_not_depend_on_its_index(bound: BoundPolicy) -> None:
    rng, conditions = np.random.default_rng(3), Conditions.uniform(bound, 4)
    conditions.q[:, 7:] += 0.1 * rng.normal(size=(4, 12))
    first = rollout(
        bound, PolicyEngine().create_worlds(bound, conditions, DT), np.zeros((4, 3)), 0.2
    )
    turned = Conditions(
        *(getattr(conditions, name)[::-1].copy() for name in conditions.__dataclass_fields__)
    )
    second = rollout(bound, PolicyEngine().create_worlds(bound, turned, DT), np.zeros((4, 3)), 0.2)
    np.testing.assert_array_equal(first.position, second.position[:, ::-1])


def test_delays_apply_to_signals() -> None:
    class Recorder:
        dt, delay = DT, np.array([0.0, 0.01, 0.03])

        def __init__(self) -> None:
            self.steps: list[Array] = []

        def advance(self, signals: Array, steps: int) -> None:
            self.steps += [np.array(signals)] * steps

    worlds = Recorder()
    late = DelayLine(worlds, 0.0)  # type: ignore[arg-type]
    for k in range(4):
        late.drive(np.full((3, 1), float(k)), 4)
    found = np.array(worlds.steps)[:, :, 0]
    now = np.arange(16)
    for world, steps in enumerate((0, 2, 6)):
        np.testing.assert_array_equal(found[:, world], np.maximum((now - steps) // 4, 0))


def test_non_finite_network_outputs_are_reported(tmp_path: Path) -> None:
    made = contract(tmp_path)
    network(tmp_path / "policy.onnx", 42, bias=np.nan)
    broken = BoundPolicy.of(made, load("mini_cheetah"))
    with refused(InvalidFile, made.network):
        rollout(
            broken,
            PolicyEngine().create_worlds(broken, Conditions.uniform(broken, 1), DT),
            np.zeros((1, 3)),
            0.1,
        )


def test_recurrent_state_is_passed_between_calls(tmp_path: Path) -> None:
    """h' = h + obs and action = h': states are found by their names."""
    shape = [1, 1, 3]
    graph = helper.make_graph(
        [
            helper.make_node("Add", ["h_in", "obs"], ["h_out"]),
            helper.make_node("Squeeze", ["h_out", "axis"], ["actions"]),
        ],
        "memory",
        [
            helper.make_tensor_value_info("obs", TensorProto.FLOAT, [1, 3]),
            helper.make_tensor_value_info("h_in", TensorProto.FLOAT, shape),
        ],
        [
            helper.make_tensor_value_info("actions", TensorProto.FLOAT, [1, 3]),
            helper.make_tensor_value_info("h_out", TensorProto.FLOAT, shape),
        ],
        [onnx.numpy_helper.from_array(np.array([0]), "axis")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.save(model, str(tmp_path / "memory.onnx"))
    found = load_network(tmp_path / "memory.onnx")
    memory, seen = found.start(2), np.array([[1, 2, 3], [4, 5, 6]], np.float32)
    for k in (1, 2, 3):
        action, memory = found(seen, memory)
        np.testing.assert_allclose(action, k * seen)


def test_wilson_s_interval() -> None:
    """For 200 of 200 and 0 of 10: 0.9812 to 1 and 0 to 0.2775 (Wilson 1927)."""
    np.testing.assert_allclose(Survival(200, 200).interval, (0.98116, 1.0), atol=1e-4)
    np.testing.assert_allclose(Survival(0, 10).interval, (0.0, 0.27753), atol=1e-4)


@pytest.mark.parametrize("law", ["moreau", ""])
def test_fallen_robots_do_not_affect_others(bound: BoundPolicy, law: str) -> None:
    """A robot without gains falls; its neighbor moves as it does alone."""
    conditions = replace(Conditions.uniform(bound, 2), gains=np.array([0.0, 1.0]))
    both = rollout(
        bound, PolicyEngine(law).create_worlds(bound, conditions, DT), np.zeros((2, 3)), 0.8
    )
    alone = Conditions.uniform(bound, 1)
    one = rollout(bound, PolicyEngine(law).create_worlds(bound, alone, DT), np.zeros((1, 3)), 0.8)
    assert np.isfinite(both.fell[0])
    assert both.unconverged == one.unconverged == 0
    np.testing.assert_array_equal(both.position[:, 1], one.position[:, 0])


@pytest.mark.parametrize(
    ("rate", "dt"),
    [(50.0, 0.0025), (60.0, 1 / 420), (400.0, 0.0025), (500.0, 0.002), (30, 1 / 420)],
)
def test_default_step_divides_the_control_period(
    bound: BoundPolicy, rate: float, dt: float
) -> None:
    """The step is the longest of which the control period is a multiple, at most 2.5 ms."""
    changed = replace(bound, contract=replace(bound.contract, rate=rate))
    assert changed.default_dt == pytest.approx(dt, rel=1e-12)
