"""Reasons why a robot does not stand: undriven joints, and springs too soft for its weight."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tarsus import cli
from tarsus.dynamics.robot import Robot
from tarsus.model.mjcf import read_mjcf
from tarsus.simulation.simulation import Simulation
from tarsus.validation.fall_reasons import find_fall_reasons, spring_deflections, unsupported_joints

TRUNK, STIFF, G = 5.0, 800.0, 9.81  # kg, N/m, m/s^2
LEG = """<body name="leg{0}" pos="{1} {2} 0"><joint name="slide{0}" type="slide" axis="0 0 1" {3}/>
    <geom name="foot{0}" type="sphere" size=".02" pos="0 0 -.48" mass=".2"/></body>"""
CORNERS = [(x, y) for x in (-0.3, 0.3) for y in (-0.2, 0.2)]


def table(legs: list[str], motors: list[int], more: str = "") -> Robot:
    """A trunk on four legs that slide; legs: what else their joints have; motors: of these legs."""
    made = "".join(LEG.format(k, *corner, legs[k]) for k, corner in enumerate(CORNERS))
    driven = "".join(f'<motor joint="slide{k}"/>' for k in motors)
    text = f"""<mujoco><worldbody><body name="table" pos="0 0 .5"><freejoint/>
        <geom type="box" size=".3 .2 .02" mass="{TRUNK}" contype="0" conaffinity="0"/>{made}</body>
        </worldbody><actuator>{driven}</actuator>{more}</mujoco>"""
    return Robot.of(read_mjcf(text, driven=[f"slide{k}" for k in motors]))


def test_undriven_joints_are_reported() -> None:
    """Of four legs one has a motor, one a spring, and one is coupled to that with the motor."""
    follows = '<equality><joint joint1="slide2" joint2="slide0"/></equality>'
    robot = table(["", f'stiffness="{STIFF}"', "", ""], [0], follows)
    assert unsupported_joints(robot, robot.neutral()) == ["slide3"]
    simulation = Simulation(robot, controller="stand")
    assert "no motor at slide3" in find_fall_reasons(simulation, False)


def test_robots_without_motors_get_one_message() -> None:
    causes = find_fall_reasons(Simulation(table([""] * 4, [])), True)
    assert "no motors" in causes and not any("no motor at" in reason for reason in causes)


def test_joints_driven_through_a_loop_are_held() -> None:
    """Two legs coupled by a rod: one motor holds both; that of a third leg holds only that leg."""
    weld = '<equality><weld body1="leg0" body2="leg1"/></equality>'
    robot = table([""] * 4, [0, 2], weld)
    assert unsupported_joints(robot, robot.neutral()) == ["slide3"]


def test_soft_springs_are_reported_with_their_load() -> None:
    """A quarter of the trunk's weight over the stiffness; at rest if no spring carries it."""
    robot = table([f'stiffness="{STIFF}"'] * 4, [])
    sag = TRUNK * G / 4 / STIFF
    for name, by in spring_deflections(robot, robot.neutral()).items():
        assert by == pytest.approx(sag, rel=1e-3), name
    loaded = table([f'stiffness="{STIFF}" springref="{-sag}"'] * 4, [])
    assert max(spring_deflections(loaded, loaded.neutral()).values()) < 1e-4
    causes = find_fall_reasons(Simulation(table([f'stiffness="{STIFF / 10}"'] * 4, [])), True)
    assert any(r.startswith("springs") and "slide0" in r for r in causes), causes


def test_free_objects_are_not_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The object drops by 0.5 m and rolls off; the arm holds. An arm without a motor still
    collapses.
    """
    for motor, outcome in (('<motor joint="hinge"/>', "holds"), ("", "gives way")):
        text = f"""<mujoco><worldbody><body name="arm" pos="0 0 2"><joint name="hinge"
            axis="0 1 0"/><geom type="capsule" size=".02" fromto="0 0 0 .5 0 0" mass="1"/></body>
            <body pos="0 1 .6"><freejoint/><geom size=".1" mass=".1"/></body></worldbody>
            <actuator>{motor}</actuator></mujoco>"""
        (tmp_path / "arm.xml").write_text(text, encoding="utf-8")
        asked = ["robots", "check", str(tmp_path / "arm.xml"), "--duration", "1", "--json"]
        assert cli.main(asked) == (outcome != "holds")
        (row,) = json.loads(capsys.readouterr().out)
        assert row["outcome"] == outcome
        assert row["reason"] == ("" if motor else "no motor at hinge")
