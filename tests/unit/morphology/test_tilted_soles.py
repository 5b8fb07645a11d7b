"""Flat soles that a file draws tilted are found as a whole and stand level."""

from __future__ import annotations

import numpy as np
import pytest

from tarsus.dynamics.robot import Robot
from tarsus.model.mjcf import read_mjcf
from tarsus.morphology.feet import find_soles, find_tilted_soles
from tarsus.morphology.posture import is_balanced
from tarsus.simulation.default_controller import with_standing_keyframe

LEG = """<body name="thigh{0}" pos="0 {1} 0"><joint name="hip{0}" axis="0 1 0" range="-2 1"/>
<geom type="capsule" fromto="0 0 0 0 0 -.3" size=".03" mass="1"/><body name="shin{0}" pos="0 0 -.3">
<joint name="knee{0}" axis="0 1 0" range="0 2"/>
<geom type="capsule" fromto="0 0 0 0 0 -.3" size=".02" mass=".6"/><body name="foot{0}" pos="0 0 -.3"
euler="0 {2} 0"><joint name="ankle{0}" axis="0 1 0" range="-1 1"/>
<geom name="sole{0}" type="box" size=".1 .04 .01" pos=".03 0 -.04" mass=".4"/>
</body></body></body>"""


def biped(tilt: float) -> Robot:
    """A biped whose feet are drawn tilted by an angle about y, in rad."""
    legs = LEG.format("_l", 0.1, tilt) + LEG.format("_r", -0.1, tilt)
    motors = "".join(f'<motor joint="{j}_{s}"/>' for s in "lr" for j in ("hip", "knee", "ankle"))
    return Robot.of(
        read_mjcf(
            f"""<mujoco><compiler angle="radian"/><worldbody><body name="trunk" pos="0 0 .7">
            <freejoint/><geom type="box" size=".06 .12 .15" pos="0 0 .15" mass="6"/>{legs}</body>
            </worldbody><actuator>{motors}</actuator></mujoco>"""
        )
    )


@pytest.mark.parametrize("tilt", [0.0, 0.1, 0.26, -0.35])
def test_all_corners_of_the_sole_are_its_feet(tilt: float) -> None:
    soles = find_soles(biped(tilt))
    assert [len(sole) for sole in soles.values()] == [4, 4]
    for sole in soles.values():
        assert {round(float(point.position[2]), 9) for point in sole} == {-0.05}


@pytest.mark.parametrize("tilt", [0.1, 0.26, -0.35])
def test_a_tilted_sole_stands_level(tilt: float) -> None:
    robot, _ = with_standing_keyframe(biped(tilt))
    q = robot.keyframes["stand"]
    corners = [point.name for sole in find_soles(robot).values() for point in sole]
    heights = [robot.position(q, name)[2] for name in corners]
    assert np.ptp(heights) < 1e-9 and is_balanced(robot, q)


def test_level_and_steep_soles_are_left_as_they_are() -> None:
    """A level sole needs no turn, and a foot on its edge may be meant to stand so."""
    for tilt in (0.0, 0.5):
        assert not find_tilted_soles(biped(tilt))
    for normal in find_tilted_soles(biped(0.26)).values():
        np.testing.assert_allclose(normal, [-np.sin(0.26), 0.0, -np.cos(0.26)], atol=1e-9)
