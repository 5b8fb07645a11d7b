"""Default settings of a task for training."""

from __future__ import annotations

import pytest

from tarsus.learning.training_defaults import with_training_defaults
from tarsus.learning.training_spec import TrainingSpec
from tarsus.model.robot_data import robots_folder


def test_no_changes_where_defaults_suffice() -> None:
    assert (
        with_training_defaults({})
        == with_training_defaults({"law": None, "dt": None})
        == TrainingSpec()
    )


def test_bipeds_have_default_settings_that_the_user_can_change() -> None:
    found = with_training_defaults({"robot": "hoap1"})
    assert (
        found.task_and_method()[1]
        == TrainingSpec(settings=found.settings).task_and_method()[1]
        != TrainingSpec().task_and_method()[1]
    )
    assert {"fall_penalty=15", "width=64"} < set(found.settings)
    changed = with_training_defaults(
        {"robot": "hoap1", "settings": ("method.fall_penalty=2", "push=0")}
    )
    assert changed.settings[:2] == ("method.fall_penalty=2", "push=0")
    assert not any(setting.startswith("fall_penalty") for setting in changed.settings)
    assert changed.task_and_method()[1].rounds == found.task_and_method()[1].rounds
    # another method goes its own way
    assert with_training_defaults({"robot": "hoap1", "method": "ars"}).settings == ()


def test_pushes_and_episodes_of_bipeds_scale_with_leg_length() -> None:
    two, four = (TrainingSpec(robot=name).task_and_robot()[0] for name in ("hoap1", "mini_cheetah"))
    assert two.push == pytest.approx(0.157, abs=0.005) and two.episode == 5
    assert four.push == 0.5 and four.episode == 20


def test_rough_ground_is_learned_on_rough_ground() -> None:
    assert with_training_defaults({"task": "rough"}).terrain == "rough"
    assert with_training_defaults({"task": "rough", "terrain": "plane"}).terrain == "plane"


def test_unsuitable_robots_get_no_defaults() -> None:
    assert with_training_defaults({"task": "jump", "robot": "hoap1"}) == TrainingSpec(
        "jump", "hoap1"
    )


@pytest.mark.skipif(robots_folder() is None, reason="example-robot-data is not installed")
def test_a_robot_without_rotor_inertia_takes_shorter_steps() -> None:
    """Torques that are constant for 4 ms hardly damp light links: Go2's, but not ANYmal's."""
    folder = robots_folder()
    files = {"go2_description/urdf/go2.urdf": 0.002}
    files["anymal_c_simple_description/urdf/anymal.urdf"] = 0.004
    for name, dt in files.items():
        asked = {"robot": f"{folder}/{name}", "settings": ("rotor=0",)}
        assert with_training_defaults(asked).dt == dt
        assert with_training_defaults({**asked, "dt": 0.001}).dt == 0.001
    asked = {"robot": f"{folder}/go2_description/urdf/go2.urdf"}
    assert with_training_defaults(asked).dt == 0.004
