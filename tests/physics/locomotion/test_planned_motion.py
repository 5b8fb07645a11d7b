"""Planners in closed loop: pushes, speeds and a box, in worlds that differ from the planner's."""

from __future__ import annotations

import pytest

import tarsus
from tarsus.mujoco_runs.simulation import MujocoSimulation
from tarsus.planning.closed_loop import BasePush, ClosedLoopResult, run
from tarsus.planning.timing import PlanTiming

LATE = PlanTiming(delay=0.02)  # a plan acts a period after the state that it begins with
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("optimized")]


def reached(
    goal: str,
    seconds: float,
    push: BasePush | None = None,
    method: str = "mppi",
    law: str = "moreau",
    **asked: float,
) -> ClosedLoopResult:
    """Final state with a delayed planner; `law` is the law of the world, or "mujoco" for MuJoCo."""
    planner = tarsus.Planner(goal, method=method, timing=LATE)
    planner.set_commands(**asked)
    if law == "mujoco":
        world = MujocoSimulation(planner.robot, controller=planner, dt=0.0025)
    else:
        dt = 0.0025 if law == "moreau" else 0.001
        terrain, base = planner.terrain, planner.robot.bodies[0].name
        world = tarsus.Simulation(
            *(planner.robot, law, "midpoint", terrain, planner, dt), pushes=base
        )
    return run(planner, world, seconds, push)[1]


@pytest.mark.parametrize("method", ["mppi", "cem"])
@pytest.mark.parametrize("direction", [0.0, 90.0])
def test_planning_recovers_from_a_push(method: str, direction: float) -> None:
    """150 N for 0.1 s would cause 1.7 m/s without ground forces."""
    found = reached("stand", 3.5, BasePush(150.0, direction), method)
    assert not found.fell and found.final_speed < 0.1 and found.max_tilt < 0.5


@pytest.mark.parametrize("law", ["compliant", "mujoco"])
def test_planning_stands_in_a_different_world(law: str) -> None:
    found = reached("stand", 3.0, BasePush(100.0), law=law)
    assert not found.fell and found.final_speed < 0.15


@pytest.mark.parametrize("asked", [{"speed": 0.5}, {"speed": 0.0, "turn": 0.6}])
def test_planning_follows_the_commands(asked: dict[str, float]) -> None:
    found = reached("go", 4.0, None, "mppi", "moreau", **asked)
    assert not found.fell
    assert found.speed == pytest.approx(asked["speed"], abs=0.15)
    assert found.sideways == pytest.approx(0.0, abs=0.1)
    assert found.turn == pytest.approx(asked.get("turn", 0.0), abs=0.2)


def test_planning_finds_a_trot_without_a_gait() -> None:
    """Diagonal feet are in stance together, feet of one end or side alternate. Of 37 seeds 24
    trot, and of the first nine at least four; the others walk or amble as fast.
    """
    trots = 0
    for seed in range(9):
        planner = tarsus.Planner("go", timing=PlanTiming(rate=100.0, delay=0.01), seed=seed)
        world = tarsus.Simulation(planner.robot, controller=planner, dt=0.0025)
        found = run(planner, world, 4.0)[1]
        assert not found.fell and found.speed > 0.35 and found.max_tilt < 0.2
        together = found.stance_correlations
        trots += together["diagonals"] > 0.5 and max(together["ends"], together["sides"]) < -0.2
    assert trots >= 4


def test_planning_steps_onto_a_box() -> None:
    found = reached("step_up", 8.0)
    assert not found.fell and found.rise > 0.05 and found.max_tilt < 1.0
