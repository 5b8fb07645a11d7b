"""The summary states the motion of the robot and the time of its fall."""

from __future__ import annotations

import pytest

import tarsus
from tarsus.simulation.recording.summary_lines import summary_lines


@pytest.mark.parametrize(
    ("robot", "gait", "seconds", "deed"),
    [
        ("mini_cheetah", "stand", 0.6, "stood"),
        ("mini_cheetah", "trot", 1.5, "walked"),
        ("hoap1", "jump", 2.5, "jumped"),
        ("hoap1", "squat", 4.0, "squatted"),
    ],
)
def test_gait_names_describe_the_motion(robot: str, gait: str, seconds: float, deed: str) -> None:
    simulation = tarsus.Simulation(robot, controller=gait)
    numbers = tarsus.summary(simulation, simulation.run(seconds))
    assert (numbers["motion"], numbers["fall_time"], numbers["fell"]) == (deed, None, False)
    assert deed in summary_lines(numbers)["motion"]


def test_a_fall_has_its_time() -> None:
    """Without torques, legs fold within half a second."""
    simulation = tarsus.Simulation("mini_cheetah", controller="free")
    numbers = tarsus.summary(simulation, simulation.run(1.0))
    assert numbers["fell"] and 0.1 < numbers["fall_time"] < 0.5
    assert f"fell at {numbers['fall_time']:.2f} s" in summary_lines(numbers)["motion"]


def test_a_box_slides_and_a_ball_flies() -> None:
    box = tarsus.Simulation(tarsus.world(tarsus.Box()), controller=None)
    u = box.u
    u[0] = 2.0
    box.set(u=u)
    slid = tarsus.summary(box, box.run(0.5))
    assert slid["motion"] == "slid" and slid["distance_to_fall"] > 0.1
    ball = tarsus.Simulation(tarsus.world(tarsus.Ball()), controller=None)
    q = ball.q
    q[2] += 3.0
    ball.set(q=q)
    assert tarsus.summary(ball, ball.run(0.2))["motion"] == "flew"
