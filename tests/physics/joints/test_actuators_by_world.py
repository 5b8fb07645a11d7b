"""Gears, ranges and speeds of file actuators that differ by world match edited files."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.refused import refused

import tarsus
from tarsus import Simulation, TarsusError
from tarsus.control.file_actuators import FileActuators
from tarsus.dynamics.robot import Robot
from tarsus.errors import InvalidValue
from tarsus.model.mjcf import read_mjcf
from tarsus.model.urdf import read_urdf

ALL = ("gear", "control_lower", "control_upper", "force_lower", "force_upper")
# of two worlds: gear, range of signals, range of forces
WORLDS = ((1.5, (-0.4, 0.9), (-6.0, 4.0)), (-2.0, (-0.7, 0.2), (-1.0, 30.0)))


def leg(gear: float, control: tuple[float, float], force: tuple[float, float]) -> Robot:
    """A leg of two links on a rail above the ground: a servo in the hip, another in the knee."""
    more = (
        f'gear="{gear}" ctrlrange="{control[0]} {control[1]}" ctrllimited="true"'
        f' forcerange="{force[0]} {force[1]}" forcelimited="true"'
    )
    return Robot.of(
        read_mjcf(
            f"""<mujoco><compiler angle="radian"/><worldbody><body name="trunk" pos="0 0 .4">
            <joint name="rail" type="slide" axis="0 0 1"/>
            <inertial mass="3" pos="0 0 0" diaginertia=".1 .1 .1"/><body name="thigh">
            <joint name="hip" axis="0 1 0"/><geom type="capsule" size=".02" fromto="0 0 0 0 0 -.2"
            contype="0" conaffinity="0"/><body name="shank" pos="0 0 -.2">
            <joint name="knee" axis="0 1 0"/><geom name="foot" type="sphere" size=".02"
            pos="0 0 -.2"/></body></body></body></worldbody><actuator>
            <position name="hip" joint="hip" kp="40" kv="2" {more}/>
            <velocity name="knee" joint="knee" kv="3" {more}/></actuator></mujoco>"""
        )
    )


def moved(simulation: Simulation) -> np.ndarray:
    """Coordinates at the end of half a second, in which the leg lands."""
    simulation.set(q=[0.0, 0.3, -0.4])
    simulation.step([0.8, -0.5])
    simulation.advance(0.5)
    return np.atleast_2d(simulation.q)


def test_varied_gears_and_ranges_match_edited_files() -> None:
    files = [moved(Simulation(leg(*own), actuators="file"))[0] for own in WORLDS]
    assert np.abs(files[0] - files[1]).max() > 0.1
    mixed = leg(1.0, (-1.0, 1.0), (-50.0, 50.0))
    made = Simulation(mixed, worlds=2, actuators=FileActuators(by_world=ALL))
    columns = [np.array(column)[:, None] for column in zip(*WORLDS, strict=True)]
    gear, control, force = columns[0], *(c.reshape(2, 2) for c in columns[1:])
    made.set(
        gear=gear,
        control_lower=control[:, :1],
        control_upper=control[:, 1:],
        force_lower={"hip": force[:, 0], "knee": force[:, 0]},
        force_upper=force[:, 1:],
    )
    np.testing.assert_allclose(moved(made), files, rtol=0, atol=1e-13)


def test_setting_file_values_does_not_change_the_motion() -> None:
    robot = leg(*WORLDS[0])
    named = FileActuators(by_world=ALL)
    same = [moved(Simulation(robot, actuators=own)) for own in ("file", named)]
    np.testing.assert_allclose(*same, rtol=0, atol=1e-13)


def test_effort_and_speed_of_a_urdf_differ_by_world() -> None:
    """Full torque up to 95 % of the speed limit, then decreasing to zero at the limit."""
    wheel = Robot.of(
        read_urdf(
            """<robot name="wheel"><link name="world"/><link name="rotor"><inertial>
            <mass value="1"/><inertia ixx="1" iyy="1" izz=".5" ixy="0" ixz="0" iyz="0"/></inertial>
            </link><joint name="j" type="continuous"><parent link="world"/><child link="rotor"/>
            <axis xyz="0 0 1"/><limit effort="5" velocity="9"/></joint></robot>"""
        )
    )
    speeds, efforts = np.array([[3.0], [9.0], [20.0]]), np.array([[5.0], [2.0], [10.0]])
    own = FileActuators(speed=speeds, force_lower=-efforts, force_upper=efforts)
    made = Simulation(wheel, actuators=own, worlds=3, dt=1e-3)
    made.step([100.0])
    assert made.backend.output("tau")[:, 0] == pytest.approx(efforts[:, 0], rel=1e-12)
    u = [made.u[:, 0].copy()]
    for _ in range(3000):
        made.step([100.0])
        u.append(made.u[:, 0].copy())
    # before its torque falls it runs up as a constant torque does
    assert u[200] == pytest.approx(201e-3 * efforts[:, 0] / 0.5, rel=1e-9)
    assert (np.max(u, axis=0) <= speeds[:, 0]).all()
    assert u[-1] == pytest.approx(speeds[:, 0], rel=1e-3)


def test_a_log_with_varied_actuators_reruns_to_the_same_bits(tmp_path: Any) -> None:
    file = tmp_path / "leg.xml"
    file.write_text(MOTORS)
    own = FileActuators(by_world=("gear",), force_upper=7.0, force_lower=-7.0)
    made = Simulation(str(file), actuators=own, worlds=2)
    made.set(gear=np.array([[1.0], [2.0]]))
    made.step([5.0])
    log = made.run(0.1)
    assert (log.tau.values[-1] == [[5.0], [10.0]]).all()
    outcome = tarsus.rerun(log)
    assert outcome.reproduced


MOTORS = """<mujoco><worldbody><body><joint name="j" axis="0 0 1"/>
<geom type="capsule" size=".05" fromto="0 0 0 .4 0 0" contype="0" conaffinity="0"/></body>
</worldbody><actuator><motor name="m" joint="j"/></actuator></mujoco>"""


@pytest.mark.parametrize(
    ("own", "changes", "said"),
    [
        ({"by_world": "geer"}, {}, "did you mean gear"),
        ({"force_lower": 3.0}, {"force_upper": 2.0}, "force_upper"),
        ({"force_lower": 3.0, "force_upper": 2.0}, {}, "'hip'.* force_lower"),
        ({"by_world": ALL}, {"control_lower": 5.0}, "'hip'.* control_lower"),
        ({"by_world": ALL}, {"gear": {"ankle": 2.0}}, "ankle"),
        ({"by_world": ALL}, {"speed": 3.0}, r"FileActuators\(speed="),
        ({"speed": -1.0}, {}, "speed must"),
    ],
)
def test_mistakes_are_reported(own: dict, changes: dict, said: str) -> None:
    robot = leg(*WORLDS[0])
    with pytest.raises(TarsusError, match=said):
        Simulation(robot, actuators=FileActuators(**own)).set(**changes)
    endless = Robot.of(read_mjcf(MOTORS))
    with refused(InvalidValue, "speed"):
        Simulation(endless, actuators=FileActuators(speed=3.0))


def test_ranges_are_checked_in_changed_worlds() -> None:
    made = Simulation(leg(*WORLDS[0]), worlds=2, actuators=FileActuators(by_world=ALL))
    first = np.array([True, False])
    made.set(where=first, force_lower=-20.0, force_upper=-10.0)
    made.set(where=~first, force_lower=5.0, force_upper=20.0)
    with refused(InvalidValue, "force_lower"):
        made.set(force_upper=0.0)
    made.set(where=first, force_upper=0.0)


def test_equal_numbers_of_actuators_and_worlds_are_ambiguous() -> None:
    """Two actuators in two worlds are ambiguous; with three worlds, two values belong to the
    actuators.
    """
    robot = leg(1.0, (-1.0, 1.0), (-50.0, 50.0))
    two, three = (Simulation(robot, actuators="file", worlds=worlds) for worlds in (2, 3))
    before = two.backend.get("actuators.strength")
    for ambiguous in (
        lambda: two.set(strength=[0.5, 0.8]),
        lambda: Simulation(robot, actuators=FileActuators(strength=[0.5, 0.8]), worlds=2),
    ):
        with refused(InvalidValue, "strength") as caught:
            ambiguous()
        assert "(1, 2)" in str(caught.value) and "(2, 1)" in str(caught.value)
    assert (two.backend.get("actuators.strength") == before).all()
    two.set(strength=[[0.5, 0.8]])
    assert (two.backend.get("actuators.strength") == [[0.5, 0.8], [0.5, 0.8]]).all()
    two.set(strength=[[0.5], [0.8]])
    assert (two.backend.get("actuators.strength") == [[0.5, 0.5], [0.8, 0.8]]).all()
    three.set(strength=[0.5, 0.8])
    assert (three.backend.get("actuators.strength") == [0.5, 0.8]).all()
    # a gait's gains are by world, whatever the number of motors
    varied = Simulation("mini_cheetah", controller="stand", worlds=12, varied=["kp"])
    varied.set(kp=np.arange(1.0, 13.0))
    assert (varied.backend.get("varied.kp") == np.arange(1.0, 13.0)[:, None]).all()
