"""Policies of `tarsus learn` in `tarsus policy`: the same contract, network and motion."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tarsus
from tarsus.environments.task_observer import TaskObserver
from tarsus.errors import Unsupported
from tarsus.learning.figures import record_log
from tarsus.learning.play import trial_environment
from tarsus.learning.policy import Policy
from tarsus.learning.task_controller import TaskController
from tarsus.learning.training_spec import TrainingSpec
from tarsus.policies.binding import BoundPolicy
from tarsus.policies.control_loop import ControlLoop
from tarsus.policies.controller import PolicyController
from tarsus.policies.learned import save_onnx
from tarsus.policies.loading import load_contract
from tarsus.simulation import resolve

COMMAND = (0.6, 0.1, 0.3)
SETTINGS = ("worlds=16", "periods=6", "epochs=2", "minibatches=2", "width=8")


def learned(task: str = "velocity", *settings: str) -> Policy:
    """Train for two rounds."""
    spec = TrainingSpec(task=task, settings=(*SETTINGS, *settings))
    environment = spec.create_environment(threads=1)
    learner = spec.task_and_method()[1].create_learner(environment, 0)
    for _ in range(2):
        learner.run_round()
    return replace(learner.policy, metadata=spec.metadata(environment))


@pytest.fixture(scope="module")
def policy() -> Policy:
    return learned()


def walk(file: Path, seconds: float) -> np.ndarray:
    """Return the coordinates (steps, nq) of a run of a policy's file."""
    controller = PolicyController(file, "mini_cheetah", COMMAND)
    simulation = tarsus.Simulation(
        controller.bound.robot_with_armature,
        "moreau",
        controller=controller,
        dt=0.004,
        stiction=False,
    )
    simulation.set(q=controller.start)
    return simulation.run(seconds)["q"].values.squeeze()


def test_an_exported_policy_gives_the_same_log(tmp_path: Path, policy: Policy) -> None:
    """The same bits from both files; the task's own run differs by rounding of the network."""
    policy.save(tmp_path / "policy.npz")
    save_onnx(policy, tmp_path / "walk.onnx")
    here, exported = (walk(tmp_path / name, 1.0) for name in ("policy.npz", "walk.onnx"))
    assert here.tobytes() == exported.tobytes()
    command: dict[str, float] = dict(zip(("speed", "sideways", "turn"), COMMAND, strict=True))
    own = record_log(policy, 1.0, command)["q"].values.squeeze()
    assert exported == pytest.approx(own, abs=1e-5)
    assert np.abs(own[-1, 7:] - own[0, 7:]).max() > 0.01


@pytest.mark.parametrize("settings", [("history=3",), ("action_filter=0.5",)])
def test_network_states_replace_history_and_filter(
    tmp_path: Path, settings: tuple[str, ...]
) -> None:
    """Torques at states of a random walk, against the task's own controller."""
    policy = learned("velocity", *settings)
    file = save_onnx(policy, tmp_path / "policy.onnx")
    controller = PolicyController(file, "mini_cheetah", COMMAND)
    environment = trial_environment(policy, "moreau", 0.004, "plane")
    own = TaskController(policy, environment)
    own.set_command(np.array(COMMAND))
    generator, q = np.random.default_rng(0), controller.start
    for k in range(40):
        q = q + generator.normal(0, 0.01, len(q))
        q[3:7] /= np.linalg.norm(q[3:7])
        u = generator.normal(0, 0.3, len(q) - 1)
        expected = own(0.004 * k, q, u)
        limits = [motor.upper for motor in environment.robot.actuators]
        expected = np.clip(expected, np.negative(limits), limits)
        assert controller(0.004 * k, q, u) == pytest.approx(expected, abs=2e-3)


def test_terms_match_the_task_observation(tmp_path: Path, policy: Policy) -> None:
    """Every part of the observation but the last action, at random states."""
    environment = trial_environment(policy, "moreau", 0.004, "plane")
    observer = TaskObserver(environment.work, environment.terrain.parameters())
    contract = load_contract(save_onnx(policy, tmp_path / "policy.onnx"))
    bound = BoundPolicy.of(contract, resolve.resolve_robot("mini_cheetah"))
    generator, stand = np.random.default_rng(1), environment.work.stand
    sizes = environment.outline.observed
    before_action = sum(n for name, n in sizes.items() if name not in ("action", "clock"))
    action = slice(before_action, before_action + sizes["action"])
    for clock in (0, 3, 17):
        q = stand + generator.normal(0, 0.2, len(stand))
        q[3:7] /= np.linalg.norm(q[3:7])
        u = generator.normal(0, 1, len(q) - 1)
        zeros = np.zeros(sizes["action"])
        state = {"q": q, "u": u, "action": zeros, "before": zeros, "clock": clock}
        expected = np.delete(observer(**state, command=np.array(COMMAND))[0], action)
        observed = observation(bound, clock * environment.work.period, q, u)
        assert observed == pytest.approx(expected, abs=1e-6)


def observation(bound: BoundPolicy, time: float, q: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Return the first observation of a policy."""
    seen = []

    def record(values: np.ndarray) -> np.ndarray:
        seen.append(values[0].copy())
        return values

    ControlLoop(bound, 1).step(
        time,
        q[None],
        u[None],
        np.array([COMMAND]),
        lambda points: np.zeros(points.shape[:-1]),
        np.zeros((1, 4)),
        disturb=record,
    )
    return seen[0]


@pytest.mark.parametrize("task", ["jump"])
def test_tasks_without_terms_are_refused(tmp_path: Path, task: str) -> None:
    with pytest.raises(Unsupported):
        save_onnx(learned(task), tmp_path / "policy.onnx")
    assert not (tmp_path / "policy.onnx").exists()


def test_the_contract_names_the_robot_of_the_training(tmp_path: Path, policy: Policy) -> None:
    contract = load_contract(save_onnx(policy, tmp_path / "policy.onnx"))
    assert contract.robot == "mini_cheetah" and not contract.missing()
    assert contract.ranges["lin_vel_x"] == (0.3, 1.0)
