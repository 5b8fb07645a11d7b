"""Initial poses: robots are placed on the ground; objects and attached bodies start at their
file poses.
"""

from __future__ import annotations

import numpy as np
import pytest

import tarsus
from tarsus.terrain.slope import Slope

GROUND = 1e-9  # m: as near as a robot is put on the ground
BOX = '<freejoint/><geom type="box" size=".1 .1 .1" mass="1"/>'


def _file(tmp_path, bodies, more=""):
    path = tmp_path / "things.xml"
    path.write_text(f"<mujoco><worldbody>{bodies}</worldbody>{more}</mujoco>")
    return path


def test_objects_start_at_their_file_poses(tmp_path):
    stack = _file(
        tmp_path,
        f'<body name="low" pos="1 0 .1">{BOX}</body>'
        f'<body name="high" pos="1 0 .305" euler="0 0 30">{BOX}</body>',
    )
    sim = tarsus.Simulation(stack, controller=None)
    assert sim.warnings == []
    assert np.allclose(sim.q.reshape(2, 7)[:, :3], [[1, 0, 0.1], [1, 0, 0.305]])
    sim.advance(1.0)
    # the upper one rests on the lower: two edges of 0.2 m, to 1 mm of the fall's last depth
    assert np.allclose(sim.q.reshape(2, 7)[:, 2], [0.1, 0.3], atol=1e-3)


def test_an_object_falls_from_its_height(tmp_path):
    ball = _file(tmp_path, '<body pos="0 0 2"><freejoint/><geom type="sphere" size=".1"/></body>')
    sim = tarsus.Simulation(ball, controller=None, dt=0.001)
    sim.advance(0.5)
    assert sim.q[2] == pytest.approx(2 - 9.81 * 0.5**2 / 2, abs=1e-9)  # exact under `midpoint`


WELDED = f'<body name="a" pos="0 0 1">{BOX}</body><body name="b" pos=".5 0 1">{BOX}</body>'


@pytest.mark.parametrize("kind", ["weld", "connect"])
def test_a_loop_between_free_bodies_stays_closed_at_the_start(tmp_path, kind):
    where = ' anchor=".25 0 0"' if kind == "connect" else ""
    more = f'<equality><{kind} body1="a" body2="b"{where}/></equality>'
    sim = tarsus.Simulation(_file(tmp_path, WELDED, more), controller=None)
    assert sim.warnings == []
    assert np.abs(sim.robot.loop_gaps(sim.q)).max() < 1e-12
    sim.advance(0.6)
    assert np.abs(sim.robot.loop_gaps(sim.q)).max() < 1e-9


LEGGED = """<body name="trunk" pos="2 1 0.7" euler="0 0 90"><freejoint/>
<geom type="box" size=".2 .1 .05" mass="5"/>
<body pos="0 0 -.1"><joint name="hip" axis="0 1 0"/>
<geom type="capsule" size=".02" fromto="0 0 0 0 0 -.3" mass="1"/></body></body>"""
LOAD = f'<body name="load" pos="2 1 .95">{BOX}</body>'


def test_a_robot_keeps_position_and_heading_of_its_file(tmp_path):
    sim = tarsus.Simulation(_file(tmp_path, LEGGED), controller=None)
    assert np.allclose(sim.q[:2], [2, 1])
    assert np.allclose(sim.q[3:7], [np.sqrt(0.5), 0, 0, np.sqrt(0.5)])
    assert sim.q[2] == pytest.approx(0.1 + 0.3 + 0.02, abs=GROUND)  # down from 0.7 m


def test_welded_objects_are_placed_with_the_robot(tmp_path):
    more = '<equality><weld body1="trunk" body2="load"/></equality>'
    file = _file(tmp_path, LEGGED + LOAD, more)
    for terrain in ("plane", Slope(angle=0.2)):
        sim = tarsus.Simulation(file, controller=None, terrain=terrain)
        assert np.abs(sim.robot.loop_gaps(sim.q)).max() < 1e-9
    # and what is not stays
    free = tarsus.Simulation(_file(tmp_path, LEGGED + LOAD), controller=None)
    assert free.q[-5] == 0.95


def test_a_base_on_slides_starts_at_its_file_pose(tmp_path):
    """A planar robot as in learning benchmarks: at zero its foot would be 0.8 m deep."""
    planar = _file(
        tmp_path,
        """<body name="trunk" pos="0 0 .9"><joint type="slide" axis="1 0 0"/>
        <joint type="slide" axis="0 0 1" ref=".9"/><joint axis="0 1 0"/>
        <geom type="sphere" size=".1"/>
        <body name="leg" pos="0 0 -.1"><joint name="hip" axis="0 1 0" ref="20" range="-10 30"/>
        <geom name="foot" type="sphere" size=".1" pos="0 0 -.7"/></body></body>""",
        '<actuator><motor joint="hip"/></actuator>',
    )
    for controller in (None, "stand"):
        sim = tarsus.Simulation(planar, controller=controller)
        assert np.allclose(sim.q, [0, 0.9, 0, np.deg2rad(20)])
        assert "starts-in-ground" not in {notice.code for notice in sim.warnings}


def test_objects_drawn_in_the_ground_are_reported(tmp_path):
    """Also for a single object, because nothing moves it to the ground surface."""
    ball = '<freejoint/><geom name="ball" type="sphere" size=".1"/>'
    for height, told in ((0.07, "ball (by 30 mm)"), (0.1, "")):
        file = _file(tmp_path, f'<body pos="0 0 {height}">{ball}</body>')
        notices = tarsus.Simulation(file, controller=None).warnings
        found = [notice for notice in notices if notice.code == "starts-in-ground"]
        assert len(found) == bool(told) and all(told in notice for notice in found)


ARM = """<body name="arm" pos="-.3 0 .4"><joint name="s" axis="0 0 1"/>
<geom type="capsule" fromto="0 0 .05 .2 0 .05" size=".02"/></body>"""
SERVO = '<actuator><motor joint="s"/></actuator>'


@pytest.mark.parametrize("first", [True, False])
def test_free_objects_start_in_place_in_any_file_order(tmp_path, first):
    ball = '<body name="ball" pos="0 0 .6"><freejoint/><geom size=".05"/></body>'
    file = _file(tmp_path, ball + ARM if first else ARM + ball, SERVO)
    sim = tarsus.Simulation(file, controller=None)
    assert sim.q[2 if first else 3] == 0.6


def test_keyframes_far_from_the_ground_are_lowered_with_a_note(tmp_path):
    legs = """<body name="trunk" pos="0 0 .5"><freejoint/><geom size=".1"/><body><joint name="knee"
    axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 -.4" size=".05"/></body></body>"""
    keys = "".join(
        f'<key name="{name}" qpos="0 0 {height} 1 0 0 0 0"/>'
        for name, height in (("stand", 0.455), ("jump", 0.95), ("sunk", 0.4))
    )
    file = _file(tmp_path, legs, f"<keyframe>{keys}</keyframe>")
    for name, told in (("jump", "500 mm above"), ("sunk", "50 mm below"), ("stand", "")):
        notices = tarsus.Simulation(file, controller=None, keyframe=name).warnings
        found = [notice for notice in notices if notice.code == "keyframe-off-ground"]
        assert len(found) == bool(told)
        assert all(notice.subject == "things" and told in notice for notice in found)
