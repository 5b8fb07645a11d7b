"""Learners: gradients, mirror images, bitwise resumption, robust folders, play."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from helpers.images import state_and_image
from helpers.refused import refused

import tarsus
from tarsus import cli
from tarsus.environments.mirror import Mirror
from tarsus.environments.plan import concatenate
from tarsus.environments.task_observer import TaskObserver
from tarsus.errors import (
    IncompatibleOptions,
    InvalidFile,
    InvalidValue,
    TarsusError,
    TarsusWarning,
    warning_record,
)
from tarsus.file_locks import write_lock
from tarsus.learning import play
from tarsus.learning.folder import LESSON
from tarsus.learning.methods.ars import ARS, ARSLearner
from tarsus.learning.methods.base import Learner, Method
from tarsus.learning.methods.ppo import PPO
from tarsus.learning.network import Adam, Network
from tarsus.learning.play import run_trials, trial_environment
from tarsus.learning.policy import ObservationScale, Policy
from tarsus.learning.run import StopCondition, learn
from tarsus.learning.training_defaults import with_training_defaults
from tarsus.learning.training_spec import TrainingSpec, task_from_metadata
from tarsus.learning.trials import Trials, draw_trials, initial_coordinates
from tarsus.morphology.mirror import mirrored_motors
from tarsus.parameters import declared_fields
from tarsus.robots import load
from tarsus.simulation.recording.divergence import Diverged
from tarsus.tasks import _gait
from tarsus.tasks.base import Measured, StateView
from tarsus.tasks.get_up import GetUp
from tarsus.tasks.velocity import Velocity
from tarsus.terrain.plane import Plane
from tarsus.terrain.rough import Rough

SMALL = PPO(worlds=16, periods=6, epochs=2, minibatches=2, width=8)
DEFAULTS = Velocity.__init__.__kwdefaults__
SETTINGS = ("worlds=16", "periods=6", "epochs=2", "minibatches=2", "width=8")


@pytest.fixture(scope="module")
def worlds() -> tarsus.Environment:
    return tarsus.Environment(worlds=16, seed=3)


def made(environment: tarsus.Environment, method: Method = SMALL, seed: int = 3) -> Learner:
    """Create an untrained learner."""
    return method.create_learner(environment, seed)


def bits(policy: Policy) -> bytes:
    return policy.weights.tobytes() + policy.scale.mean.tobytes()


ROUNDS = """
import sys, tarsus
method = tarsus.PPO(worlds=64, periods=24, width=64)
env = tarsus.Environment("velocity", "mini_cheetah", worlds=method.worlds, seed=0)
learner = method.create_learner(env, seed=0)
for _ in range(2):
    learner.run_round()
sys.stdout.write(learner.policy.weights.tobytes().hex())
"""


def test_weights_do_not_depend_on_the_threads_of_matrix_products(tmp_path: Path) -> None:
    """Python and the command line also give the same weights."""
    found = set()
    for threads in ("1", "4"):
        settings = os.environ | {"OPENBLAS_NUM_THREADS": threads, "OMP_NUM_THREADS": threads}
        asked = [sys.executable, "-c", ROUNDS]
        made = subprocess.run(asked, env=settings, capture_output=True, text=True, check=True)
        found.add(made.stdout)
    settings = ("worlds=64", "periods=24", "width=64")
    lesson = TrainingSpec(law="moreau", terrain="plane", dt=0.004, settings=settings, seed=0)
    policy = learn(lesson, tmp_path / "out", StopCondition(rounds=2), threads=2).policy
    assert found == {policy.weights.tobytes().hex()}


# ---------------------------------------------------------------- networks


def test_the_gradient_of_a_network_matches_finite_differences() -> None:
    """The gradient of the sum of squares against central differences in float64."""
    random = np.random.default_rng(0)
    net = Network((5, 6, 4, 3))
    w, x = net.initial_weights(random).astype(float), random.normal(size=(7, 5))
    kept = net.activations(w, x)
    found = net.gradient(w, kept, kept[-1])
    for k in random.choice(net.count, 20, replace=False):
        ends = []
        for h in (1e-5, -1e-5):
            moved = w.copy()
            moved[k] += h
            ends.append(0.5 * (net(moved, x) ** 2).sum())
        assert found[k] == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=2e-5, abs=1e-6)


def test_the_first_step_of_adam_does_not_depend_on_the_gradient() -> None:
    """Kingma 2015, section 2.1: the size of a step does not depend on that of the gradient."""
    weights = np.zeros(3, np.float32)
    Adam(weights).step(np.array([5.0, -1e-3, 2.0], np.float32), 0.01)
    assert weights == pytest.approx([-0.01, 0.01, -0.01], rel=1e-4)


def test_a_symmetric_network_is_equivariant() -> None:
    random = np.random.default_rng(1)
    seen = Mirror(np.array([1, 0, 2, 3]), np.array([1, 1, -1, 1], np.float32))
    out = Mirror(np.array([0, 2, 1]), np.array([-1, 1, 1], np.float32))
    net = Network((4, 6, 5, 3), free_weights=3)  # five hidden: the last is its own image
    image = net.mirror(seen, out)
    adam = Adam(net.initial_weights(random), image)
    for _ in range(3):
        adam.step(random.normal(size=net.count).astype(np.float32), 0.1)
    x = random.normal(size=(9, 4)).astype(np.float32)
    assert net(adam.weights, seen(x)) == pytest.approx(out(net(adam.weights, x)), abs=1e-5)
    assert (image(image(adam.weights)) == adam.weights).all()
    plain = net.initial_weights(random)
    assert np.abs(net(plain, seen(x)) - out(net(plain, x))).max() > 0.1, "others do not"


# ---------------------------------------------------------------- images of robots


@pytest.mark.parametrize(("name", "turned"), [("mini_cheetah", 4), ("starleth", 4), ("hyq", 0)])
def test_motors_have_mirror_images(name: str, turned: int) -> None:
    """Left and right legs mirror each other, and mirroring twice is the identity. Abduction
    changes its sign unless the axes of the file are mirrored already.
    """
    robot = load(name)
    found = mirrored_motors(robot, robot.keyframes["stand"])
    assert found is not None
    images, signs = found
    names = [motor.joint for motor in robot.actuators]
    assert [images[k] for k in images] == list(range(len(images)))
    assert all(names[k] != names[i] for k, i in enumerate(images))
    assert sorted(signs) == [-1.0] * turned + [1.0] * (12 - turned)


def test_an_asymmetric_robot_has_no_mirror_image() -> None:
    robot = load("mini_cheetah")
    bodies = list(robot.bodies)
    k = robot.joint_index("FL_hip_joint")
    bodies[k] = replace(bodies[k], position=bodies[k].position + np.array([0.02, 0, 0]))
    assert mirrored_motors(replace(robot, bodies=tuple(bodies)), robot.keyframes["stand"]) is None


def test_the_observation_of_a_mirrored_state_is_the_mirrored_observation(
    worlds: tarsus.Environment,
) -> None:
    """A random state and its mirror image, observed by the task."""
    assert worlds.mirror is not None
    random, (of_seen, of_acted) = np.random.default_rng(2), worlds.mirror
    eyes, stand = TaskObserver(worlds.work, {}), np.asarray(worlds.work.stand)[7:]
    state, image = state_and_image(worlds, random)
    command = random.normal(size=3)
    quarter = int(worlds.task.rate / (2 * worlds.task.frequency))  # half of the clock's round
    one = eyes(**state, command=command, clock=3)
    other = eyes(**image, command=command * [1, -1, -1], clock=3 + quarter)
    assert other[0] == pytest.approx(of_seen(one[0]), abs=1e-9)
    assert other[1] == one[1]
    assert other[2] == pytest.approx(one[2] * [1, -1, -1], abs=1e-9)
    aims = [eyes.targets(at, s["action"], s["q"]) for at, s in ((3, state), (3 + quarter, image))]
    assert aims[1] - stand == pytest.approx(of_acted(aims[0] - stand), abs=1e-9)


def test_the_observer_gives_the_observations_of_the_environment(worlds: tarsus.Environment) -> None:
    """The compiled task, except for noise, and the same task for another simulator agree."""
    worlds.reset(4)
    eyes = TaskObserver(worlds.work, worlds.terrain.parameters())
    random = np.random.default_rng(4)
    for _ in range(3):
        action = random.normal(size=(16, 12)).astype(np.float32)
        out, now = worlds.step(action), worlds.state()
    k = int(np.flatnonzero(~(out.terminated | out.truncated))[0])
    given = {name: now[name][k].astype(float) for name in ("q", "u", "command", "clock")}
    seen, failed, measured = eyes(**given, action=action[k], before=action[k])
    assert (np.abs(seen - out.observation[k]) <= eyes.noise + 1e-4).all() and not failed
    assert measured == pytest.approx(out.measures[k], abs=1e-4)


class Unmeasured(Velocity):
    """Task without measures."""

    def measures(self, state: StateView) -> dict[str, Measured]:
        return {}


def test_tasks_without_measures_are_supported(worlds: tarsus.Environment) -> None:
    assert concatenate([]).shape == (0, 1)
    plan, now = replace(worlds.work, task=Unmeasured().fit(worlds.robot)), worlds.state()
    eyes = TaskObserver(plan, worlds.terrain.parameters())
    given = {name: now[name][0].astype(float) for name in ("q", "u", "before", "command", "clock")}
    assert eyes(**given, action=given["before"])[2].shape == (0,)


# ---------------------------------------------------------------- bits


@pytest.mark.parametrize("method", [SMALL, ARS(periods=6)], ids=["ppo", "ars"])
def test_the_same_seed_makes_the_same_bits_with_stops_and_on_threads(
    worlds: tarsus.Environment, method: Method
) -> None:
    whole = made(worlds, method)
    for _ in range(4):
        whole.run_round()
    expected = bits(whole.policy)
    # stopped after two rounds, and resumed by another learner
    first = made(worlds, method)
    for _ in range(2):
        first.run_round()
    state = first.state()
    for _ in range(3):
        first.run_round()  # what comes after does not matter
    threaded = tarsus.Environment(worlds=16, seed=9, threads=2)
    second = made(threaded, method)
    second.restore(state)
    figures = [second.run_round() for _ in range(2)][-1]
    assert bits(second.policy) == expected
    assert figures.round == 4 and figures.periods == 4 * 6 * 16
    other = made(worlds, method, seed=4)
    for _ in range(4):
        other.run_round()
    assert bits(other.policy) != expected


def test_random_search_follows_the_gradient_of_a_linear_reward(worlds: tarsus.Environment) -> None:
    """The reward is a known linear function of the weights.

    The step is that of Mania 2018, Algorithm 1, for all directions.
    """
    learner = ARS(best=1.0, rate=0.1, symmetric=0).create_learner(worlds, 3)
    assert isinstance(learner, ARSLearner)
    slope = np.random.default_rng(1).normal(size=learner.network.count).astype(np.float32)
    tried: list[np.ndarray] = []

    def returns(moved: np.ndarray) -> np.ndarray:
        tried.append(moved)
        learner.statistics.add(worlds.step(np.zeros(12)))
        return (moved @ slope).astype(float)

    learner._measure_returns = returns  # type: ignore[method-assign]
    learner.run_round()
    ahead = tried[0][:8] / learner.settings.perturbation
    rewards = tried[0] @ slope
    expected = 0.1 / (8 * rewards.std()) * (2 * rewards[:8] @ ahead)
    assert learner.weights == pytest.approx(expected, rel=1e-3, abs=1e-6)
    assert learner.weights @ slope > 0


def test_a_saved_policy_is_loaded_unchanged(tmp_path: Path, worlds: tarsus.Environment) -> None:
    learner = made(worlds)
    learner.run_round()
    policy = replace(learner.policy, metadata={"task": "velocity"})
    policy.save(tmp_path / "policy.npz")
    again = Policy.load(tmp_path)
    seen = worlds.reset(1)
    assert (again(seen) == policy(seen)).all() and again.metadata == {"task": "velocity"}
    (tmp_path / "policy.npz").write_bytes(b"nothing")
    with pytest.raises(TarsusError, match=r"policy\.npz"):
        Policy.load(tmp_path)
    with refused(InvalidFile, tmp_path / "none.npz"):
        Policy.load(tmp_path / "none.npz")


def test_advantages_match_a_calculation_by_hand(worlds: tarsus.Environment) -> None:
    """Two periods of a world whose first episode ends between them, gamma 0.9, lambda 0.5."""
    learner = replace(SMALL, discount=0.9, gae_lambda=0.5).create_learner(worlds, 0)
    paid = np.array([[1.0, 1.0], [2.0, 2.0]], "f4")
    value = np.array([[3.0, 3.0], [4.0, 4.0], [5.0, 5.0]], "f4")
    cut = np.array([[0.0, 1.0], [0.0, 0.0]], "f4")
    late = 2 + 0.9 * 5 - 4
    expected = [[1 + 0.9 * 4 - 3 + 0.45 * late, 1 - 3], [late, late]]
    assert learner._compute_advantages(paid, cut, value) == pytest.approx(
        np.array(expected), abs=1e-6
    )


def test_first_episodes_are_staggered_if_requested(
    worlds: tarsus.Environment,
) -> None:
    """The clocks of 16 worlds are evenly spaced over an episode, or equal by default."""
    whole = worlds.task.episode * worlds.task.rate
    for staggered, clocks in ((0, np.zeros(16)), (1, np.floor(np.arange(16) * whole / 16))):
        made(worlds, replace(SMALL, staggered=staggered))
        assert (worlds.state()["clock"][:, 0] == clocks).all()


# ---------------------------------------------------------------- folders


def test_training_resumes_in_its_folder_and_rejects_another_specification(tmp_path: Path) -> None:
    lesson = TrainingSpec(seed=3, settings=SETTINGS)
    learn(lesson, tmp_path / "whole", StopCondition(rounds=3))
    learn(lesson, tmp_path / "cut", StopCondition(rounds=2))
    (tmp_path / "cut" / "curve.jsonl").open("a").write('{"round": 3, "pa')  # killed here
    found = learn(lesson, tmp_path / "cut", StopCondition(rounds=3))
    assert found.resumed == 2 and found.rounds == 3
    assert bits(Policy.load(tmp_path / "cut")) == bits(Policy.load(tmp_path / "whole"))
    assert [row["round"] for row in found.curve] == [1, 2, 3]
    with refused(InvalidFile, tmp_path / "cut"):
        learn(replace(lesson, seed=4), tmp_path / "cut", StopCondition(rounds=3))
    file = tmp_path / "cut" / "lesson.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"older": 1}))
    with pytest.raises(InvalidFile, match="different older:"):
        learn(lesson, tmp_path / "cut", StopCondition(rounds=3))


def test_two_processes_cannot_train_in_one_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with write_lock(tmp_path / LESSON):
        assert cli.main(["learn", "velocity", "--out", str(tmp_path), "--rounds", "1"]) == 2
    assert str(tmp_path) in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_rejected_specification_leaves_the_folder_free(tmp_path: Path) -> None:
    hopper = tmp_path / "hopper.xml"
    hopper.write_text(
        """<mujoco><worldbody><body name="b" pos="0 0 1"><freejoint/><geom size=".1" mass="1"/>
        <body pos="0 0 -.2"><joint name="j" type="slide" axis="0 0 1"/><geom size=".05" mass="1"/>
        </body></body></worldbody><actuator><motor joint="j"/></actuator></mujoco>"""
    )
    lesson, folder = TrainingSpec(seed=3, settings=SETTINGS), tmp_path / "out"
    none = replace(lesson, robot=str(hopper))
    with refused(IncompatibleOptions, "task"):
        learn(none, folder, StopCondition(rounds=1))
    assert not list(folder.iterdir())
    learn(lesson, folder, StopCondition(rounds=1))
    with refused(InvalidFile, folder):
        learn(none, folder, StopCondition(rounds=1))
    assert learn(lesson, folder, StopCondition(rounds=2)).resumed == 1, "what is there stays"


def test_more_minibatches_than_samples_are_rejected(worlds: tarsus.Environment) -> None:
    with refused(InvalidValue, "minibatches"):
        made(worlds, replace(SMALL, minibatches=97))


def test_failing_figures_cause_a_notice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def diverged(*given: object, **named: object) -> None:
        raise Diverged("it diverged.")

    monkeypatch.setattr("tarsus.learning.figures.save_curve", diverged)
    words = ["learn", "velocity", "--out", str(tmp_path), "--rounds", "1", "--set", *SETTINGS]
    assert cli.main(words) == 0
    told = capsys.readouterr().out
    assert "it diverged." in told and "policy.npz" in told
    assert Policy.load(tmp_path).metadata["task"] == "velocity"


def test_a_missing_package_is_reported_before_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    assert cli.main(["learn", "velocity", "--out", str(tmp_path / "none"), "--onnx"]) == 2
    assert "needs the package onnx" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()


@pytest.mark.slow
def test_a_killed_run_resumes_to_the_same_bits(tmp_path: Path) -> None:
    """With kill -9 at random times, repeatedly."""
    command = [sys.executable, "-m", "tarsus", "learn", "velocity", "--no-pictures", "--every", "0"]
    command += ["--seed", "3", "--rounds", "40", "--set", *SETTINGS, "--out"]
    subprocess.run([*command, str(tmp_path / "whole")], check=True, stdout=subprocess.DEVNULL)
    kills, curve = 0, tmp_path / "cut" / "curve.jsonl"
    for more in (3, 11, 19):
        process = subprocess.Popen([*command, str(tmp_path / "cut")], stdout=subprocess.DEVNULL)
        while process.poll() is None:
            if curve.exists() and curve.read_text().count("\n") >= more:
                os.kill(process.pid, signal.SIGKILL)
                kills += process.wait() == -signal.SIGKILL
            time.sleep(0.002)
    assert kills == 3, "each was killed before its end"
    subprocess.run([*command, str(tmp_path / "cut")], check=True, stdout=subprocess.DEVNULL)
    found = Policy.load(tmp_path / "cut")
    assert bits(found) == bits(Policy.load(tmp_path / "whole"))
    rows = [json.loads(line) for line in curve.read_text().splitlines()]
    assert [row["round"] for row in rows] == list(range(1, 41))


# ---------------------------------------------------------------- play


def still(about: dict) -> Policy:
    """Create a policy whose actions are zero: the robot trots on the spot."""
    net = Network(
        (about["observation_size"], about["action_size"]), free_weights=about["action_size"]
    )
    scale = ObservationScale(
        np.zeros(about["observation_size"], "f4"), np.ones(about["observation_size"], "f4")
    )
    return Policy(net, np.zeros(net.count, np.float32), scale, about)


@pytest.mark.slow
def test_trials_are_the_same_in_both_engines(worlds: tarsus.Environment) -> None:
    """A robot that is commanded to stand, without pushes or noise, stands in both engines."""
    lesson = TrainingSpec(settings=("speed=0,0", "turn=0,0", "push=0", "lift=0"))
    policy = still(lesson.metadata(lesson.create_environment(1)))
    course = draw_trials(TrainingSpec().task_and_robot()[0], 12, 3, 3.0, seed=1)
    course = replace(course, commands=0 * course.commands, pushes=0 * course.pushes)
    assert trial_environment(policy, "moreau", 0.002, "plane").work.gains == worlds.work.gains
    for law in ("moreau", "mujoco"):
        found = run_trials(policy, course, law, 0.004, "plane")
        assert not found.failure and found.fell == 0 and found.unconverged == 0
        assert found.errors is not None and max(found.errors.values()) < 0.01


@pytest.mark.parametrize("law", ["moreau", "mujoco"])
def test_a_policy_sees_commands_and_pushes_at_once_and_is_judged_before_the_next(
    worlds: tarsus.Environment, monkeypatch: pytest.MonkeyPatch, law: str
) -> None:
    """In free flight, where velocities are known: a new command every two periods, and a push of 2
    m/s before the fourth of six periods.

    Then a period upside down, which is a fall at its end.
    """
    policy, seen, kept = still(TrainingSpec().metadata(worlds)), [], {}
    course = draw_trials(replace(TrainingSpec().task_and_robot()[0], start_offset=0.0), 12, 1, 0.12)
    asked = np.array([[[1.0, 0, 0]], [[-2.0, 0, 0]], [[3.0, 0, 0]]])
    pushes = np.array([[[2.0, 0.0]]])
    course = replace(course, command_interval=2, push_interval=3, commands=asked, pushes=pushes)
    turned = np.array([1.0, 0, 0, 0])

    def looked(self: Policy, observation: np.ndarray) -> np.ndarray:
        seen.append(np.ravel(observation))
        return np.zeros((*observation.shape[:-1], 12))

    def aloft(environment: tarsus.Environment, course: Trials) -> np.ndarray:
        q = initial_coordinates(environment, course)
        q[:, 2], q[:, 3:7] = 2.0, turned
        return q

    monkeypatch.setattr(Policy, "__call__", looked)
    monkeypatch.setattr(play, "initial_coordinates", aloft)
    monkeypatch.setattr(play, "trial_result", lambda *args, **found: kept.update(found))
    play.run_trials(policy, course, law, 0.004, "plane")
    assert kept["lasted"] == [6] and len(seen) == 6
    assert [row[9] for row in seen] == pytest.approx([1, 1, -2, -2, 3, 3])
    clock = [np.sin(2 * np.pi * 2.5 * k / 50) for k in range(6)]
    assert [row[-2] for row in seen] == pytest.approx(clock)
    noise = 0.05 + 0.05  # m/s: the task's, and what the legs' swing does to the base
    assert [row[6] / 2 for row in seen] == pytest.approx([0, 0, 0, 2, 2, 2], abs=noise)
    assert kept["measured"][:, 0, 0] == pytest.approx([-1, -1, 2, 4, -1, -1], abs=0.05)
    # upside down
    turned[:2] = 0, 1
    play.run_trials(policy, replace(course, periods=1), law, 0.004, "plane")
    assert kept["lasted"] == [0]


def test_mujoco_trials_use_the_candidates_of_the_task(monkeypatch: pytest.MonkeyPatch) -> None:
    """A robot that must stand up lies with its trunk and the ends of its thighs on the ground."""
    task, kept = (
        GetUp(command_interval=play.NEVER, push_interval=play.NEVER, episode=play.NEVER),
        {},
    )
    tried = tarsus.Environment(task, precision="float64")
    policy = still(TrainingSpec("get_up").metadata(tried))
    course = draw_trials(task, 12, 1, 0.6)

    def on_its_back(environment: tarsus.Environment, course: Trials) -> np.ndarray:
        q = environment.start[None].copy()
        q[:, 2:7] = 0.3, 0, 1, 0, 0
        return q

    monkeypatch.setattr(play, "initial_coordinates", on_its_back)
    monkeypatch.setattr(play, "trial_result", lambda *args, **found: kept.update(found))
    play.run_trials(policy, course, "mujoco", 0.004, "plane")
    [tilt, height] = kept["measured"][-1, 0]
    assert tilt > 3
    assert height + course.commands[0, 0, 0] * tried.start[2] > 0.03, "half of the trunk's height"


def test_play_logs_use_the_chosen_step_and_a_tarsus_law(
    worlds: tarsus.Environment,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    still(TrainingSpec().metadata(worlds)).save(tmp_path / "policy.npz")
    tried, shown = [], []
    monkeypatch.setattr(play, "compare_laws", lambda *given: tried)
    monkeypatch.setattr(
        "tarsus.learning.figures.record_log", lambda *given: shown.append(given[3:])
    )
    monkeypatch.setattr("tarsus.simulation.recording.log.save_log", lambda *given: None)
    words = ["play", str(tmp_path), "--log", str(tmp_path / "run.nc")]
    assert cli.main([*words, "--laws", "mujoco,macro", "--dt", "0.002,0.001"]) == 0
    assert shown == [("macro", 0.002, Plane())]
    monkeypatch.setattr(play, "compare_laws", lambda *given: pytest.fail("tried before refused"))
    assert cli.main([*words, "--mujoco"]) == 2
    assert "--log" in capsys.readouterr().err


def test_errors_count_from_one_second_after_a_command_to_the_fall() -> None:
    course = draw_trials(TrainingSpec().task_and_robot()[0], 12, 2, 6.0)
    measured = np.full((300, 2, 1), 9.0)
    for command in (0, 150):
        measured[command + 50 : command + 150] = 0.25
    assert course.mean_errors(measured, np.array([300, 300])) == pytest.approx([0.25])
    measured[75:, 1] = 7.0  # after it fell
    assert course.mean_errors(measured, np.array([300, 75])) == pytest.approx([0.25])
    assert np.isnan(course.mean_errors(measured, np.array([10, 10]))).all()


def test_a_failing_trial_reports_its_reason(worlds: tarsus.Environment) -> None:
    policy = still(TrainingSpec().metadata(worlds))
    course = draw_trials(TrainingSpec().task_and_robot()[0], 12, 2, 0.1)
    assert "must be a whole number" in run_trials(policy, course, "moreau", 0.003, "plane").failure
    assert (
        "task" in run_trials(replace(policy, metadata={}), course, "moreau", 0.004, "plane").failure
    )


def test_a_policy_stores_the_parameters_of_its_task(
    worlds: tarsus.Environment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Independent of later defaults; a removed parameter is rejected by name."""
    still(TrainingSpec().metadata(worlds)).save(tmp_path / "policy.npz")
    about = Policy.load(tmp_path).metadata
    assert about["parameters"].keys() == declared_fields(Velocity).keys()
    assert task_from_metadata(about) == worlds.task and worlds.task.crouch == 0.8
    # other defaults, of the task and of what is fitted to the robot
    monkeypatch.setattr(Velocity.__init__, "__kwdefaults__", {**DEFAULTS, "rotor": 0.5})
    monkeypatch.setattr(_gait, "TROT", _gait.TROT._replace(crouch=0.5))
    assert Velocity().rotor == 0.5 and TrainingSpec().task_and_robot()[0].crouch == 0.5
    assert task_from_metadata(about) == worlds.task
    # parameters that came and went
    kept = about["parameters"]
    with refused(InvalidFile, "bent"):
        task_from_metadata({**about, "parameters": kept | {"bent": 1.0, "odd": [0, 1]}})
    fewer = {name: value for name, value in kept.items() if name != "rotor"}
    with pytest.warns(TarsusWarning) as told:
        assert task_from_metadata({**about, "parameters": fewer}).rotor == 0.5
        task_from_metadata({name: value for name, value in about.items() if name != "parameters"})
    warned = [w.message for w in told if isinstance(w.message, TarsusWarning)]
    notices = [warning_record(message) for message in warned]
    assert {notice.code for notice in notices} == {"task-parameters-not-recorded"}
    assert [notice.subject for notice in notices] == ["rotor", "velocity"]
    with pytest.raises(TarsusError, match=r"metadata\.parameters"):
        task_from_metadata({**about, "parameters": "odd"})


def test_a_policy_is_played_at_other_parameters_of_its_task(
    worlds: tarsus.Environment,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    still(TrainingSpec().metadata(worlds)).save(tmp_path / "policy.npz")
    tried: list[tuple] = []
    monkeypatch.setattr(play, "compare_laws", lambda *given: tried.append(given) or [])
    words = ["play", str(tmp_path), "--set"]
    assert cli.main([*words, "push=0.8", "task.speed=2,2"]) == 0
    [(policy, course, *_)] = tried
    assert 0.7 < np.abs(course.pushes).max() <= 0.8 and (course.commands[..., 0] == 2).all()
    assert task_from_metadata(policy.metadata) == replace(worlds.task, push=0.8, speed=(2.0, 2.0))
    for setting, sentence in (
        ("psh=1", "no part of this run has a parameter named 'psh'; did you mean push"),
        ("ppo.entropy=0", "no part of this run has a parameter named 'ppo.entropy'"),
        ("push=-1", "push must not be negative"),
        ("episode=3", "--duration"),
    ):
        assert cli.main([*words, setting]) == 2
        assert sentence in " ".join(capsys.readouterr().err.split())
    longer, _ = play.with_settings(Policy.load(tmp_path), ["history=2"])
    with refused(InvalidFile, "sizes"):
        trial_environment(longer, "moreau", 0.004, "plane")
    assert len(tried) == 1
    # and of the terrain
    assert cli.main(["play", str(tmp_path), "--terrain", "rough", "--set", "amplitude=0.06"]) == 0
    assert tried[1][4] == Rough(amplitude=0.06)


def test_a_reversed_range_is_rejected(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert cli.main(["learn", "velocity", "--out", str(out), "--set", "speed=2,0.5"]) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert "velocity: speed" in told and "2,0.5." in told
    assert not out.exists()


def test_a_setting_of_task_and_method_must_name_its_owner(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["learn", "velocity", "--out", str(tmp_path / "out"), "--set"]
    assert cli.main([*words, "rate=25"]) == 2
    message = " ".join(capsys.readouterr().err.split())
    assert "task.rate=25 (the task velocity's) or method.rate=25 (the method ppo's)" in message
    options = {"settings": ("task.rate=25", "ppo.rate=0.002", "velocity.start_offset=0.2")}
    task, method = with_training_defaults(options).task_and_method()
    assert (task.rate, method.rate, task.start_offset) == (25, 0.002, 0.2)
    # a stored specification without an owner means the task
    assert TrainingSpec(settings=("rate=25",)).task_and_method()[0].rate == 25


def test_commands_reject_invalid_options(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "out")
    for words, sentence in (
        (["learn", "velocty", "--out", out], "did you mean velocity"),
        (["learn", "velocity", "--out", out, "--method", "ppp"], "did you mean ppo"),
        (["learn", "velocity", "--out", out, "--rounds", "0"], "--rounds"),
        (["learn", "velocity", "--out", out, "--set", "wrlds=5"], "did you mean worlds"),
        (["play", out], out),
        (["play", out, "--law", "moreau", "--mujoco"], "--mujoco"),
    ):
        assert cli.main(words) == 2
        assert sentence in capsys.readouterr().err
