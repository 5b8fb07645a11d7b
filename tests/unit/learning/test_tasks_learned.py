"""Tasks are learned: a short run of each reaches the documented results."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tarsus.learning.play import draw_policy_trials, run_trials
from tarsus.learning.run import StopCondition, learn
from tarsus.learning.training_defaults import with_training_defaults
from tarsus.learning.training_spec import TrainingSpec
from tarsus.model.robot_data import LEGGED, robots_folder

FALL = "fall_penalty=5"


def learned(lesson: TrainingSpec, rounds: int, folder: Path) -> tuple[int, dict[str, float]]:
    """Return the falls in 100 trials of 10 s without action noise, and the mean errors."""
    policy = learn(lesson, folder, StopCondition(rounds=rounds), threads=2).policy
    tried = run_trials(
        policy, draw_policy_trials(policy, 100, 10.0, 1), lesson.law, lesson.dt, lesson.terrain
    )
    return tried.fell, dict(tried.errors or {})


@pytest.mark.slow
def test_mini_cheetah_jumps(tmp_path: Path) -> None:
    """The base follows free flights of 10 to 25 cm."""
    fell, errors = learned(TrainingSpec("jump", settings=(FALL,)), 150, tmp_path)
    assert fell <= 2 and errors["path"] < 0.025


@pytest.mark.slow
def test_mini_cheetah_walks_on_rough_ground(tmp_path: Path) -> None:
    """On ground of +-2 cm; the ground of the training grows with its success."""
    lesson = TrainingSpec("rough", terrain="rough", settings=(FALL,))
    fell, errors = learned(lesson, 200, tmp_path)
    assert fell <= 10 and errors["speed"] < 0.1
    with np.load(tmp_path / "checkpoint.npz") as kept:
        assert kept["worlds.level"].mean() > 0.5, "harder ground than it began on"


@pytest.mark.slow
@pytest.mark.skipif(robots_folder() is None, reason="example-robot-data is not installed")
def test_go2_trots_from_its_file(tmp_path: Path) -> None:
    robot = f"{robots_folder()}/go2_description/urdf/go2.urdf"
    settings = (FALL, "lift=0.1", "crouch=0.7")
    fell, errors = learned(
        TrainingSpec("velocity", robot, dt=0.002, settings=settings), 150, tmp_path
    )
    assert fell <= 5 and errors["speed"] < 0.1


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mini_cheetah", "go2"])
def test_robots_stand_up_from_any_pose(name: str, tmp_path: Path) -> None:
    """Nothing is set but the robot; a third of the rounds that are advised."""
    folder = robots_folder()
    if name in LEGGED and folder is None:
        pytest.skip("example-robot-data is not installed")
    robot = f"{folder}/{LEGGED[name]}" if name in LEGGED else name
    fell, _ = learned(with_training_defaults({"task": "get_up", "robot": robot}), 200, tmp_path)
    assert fell <= 5


@pytest.mark.slow
def test_hoap1_walks_on_two_feet(tmp_path: Path) -> None:
    """Nothing is set: pushes are up to 0.1 sqrt(g L), 0.15 m/s."""
    fell, errors = learned(with_training_defaults({"robot": "hoap1"}), 300, tmp_path)
    assert fell <= 2 and errors["speed"] < 0.03 and errors["turn"] < 0.15


@pytest.mark.slow
def test_levels_rise_only_after_success() -> None:
    """A robot that stands still but should walk does not fall, and stays on level ground."""
    lesson = TrainingSpec("rough", terrain="rough", settings=("speed=0.8,1", "episode=1"))
    worlds = lesson.create_environment(1)
    still = np.zeros((worlds.worlds, worlds.action_size), np.float32)
    for _ in range(160):
        worlds.step(still)
    assert worlds.backend.get("level").max() == 0
    standing = replace(lesson, settings=("speed=0,0", "turn=0,0", "episode=1"))
    worlds = standing.create_environment(1)
    for _ in range(160):
        worlds.step(still)
    assert worlds.backend.get("level").mean() > 0.2, (
        "one that should stand is sent to rougher ground"
    )
