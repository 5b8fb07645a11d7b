"""`--gait stand`: every built-in robot stands on generated servos; every robot starts at its
keyframe.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tarsus
from tarsus import registry
from tarsus.control.gaits.stand import Stand
from tarsus.errors import WarningRecord
from tarsus.simulation import default_controller

ROBOTS = registry.names(default_controller.ROBOTS)
QUICK = ("mini_cheetah",)
LOOPED = """<mujoco model="looped"><option/>
 <worldbody><geom type="plane" size="1 1 1"/>
  <body name="base" pos="0 0 0.5"><freejoint/><geom type="box" size=".1 .1 .05" mass="2"/>
   <body name="left" pos="0 0.1 0"><joint name="left" axis="0 1 0"/>
    <geom type="capsule" fromto="0 0 0 0 0 -.3" size=".02" mass=".3"/></body>
   <body name="right" pos="0 -0.1 0"><joint name="right" axis="0 1 0"/>
    <geom type="capsule" fromto="0 0 0 0 0 -.3" size=".02" mass=".3"/></body></body></worldbody>
 <equality><connect body1="left" body2="right" anchor="0 -0.1 -.3"/></equality>
 <keyframe><key name="NAME" qpos="0 0 0.4 1 0 0 0 0.3 0.3"/></keyframe></mujoco>"""


def stands(name: str, seconds: float) -> None:
    """Check that the base stays within 3 % of its height, tilts by less than a degree and comes
    to rest.
    """
    simulation = tarsus.Simulation(name, controller="stand")
    start, seen = simulation.q, []
    for _ in range(round(seconds / 0.5)):
        simulation.advance(0.5)
        seen.append(simulation.q)
    q = np.array(seen)
    assert np.abs(q[:, 2] / start[2] - 1).max() < (0.04 if name == "mini_cheetah" else 0.03)
    assert (1 - 2 * (q[:, 4] ** 2 + q[:, 5] ** 2)).min() > np.cos(np.deg2rad(2.0))
    assert np.abs(simulation.u).max() < 0.05


@pytest.mark.parametrize(
    "name",
    [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in ROBOTS],
)
def test_every_built_in_robot_stands(name: str) -> None:
    stands(name, 5.0)


@pytest.mark.slow
@pytest.mark.parametrize("name", ROBOTS)
def test_every_built_in_robot_stands_a_minute(name: str) -> None:
    stands(name, 60.0)


def test_only_mini_cheetah_keeps_the_gaits_own_gains() -> None:
    for name in ROBOTS:
        notices: list[WarningRecord] = []
        gait = default_controller.prepare(tarsus.load(name), "stand", 0.0025, notices)[1]
        sized = "servos-sized" in {notice.code for notice in notices}
        assert sized == (gait != Stand()) == (name != "mini_cheetah")


def test_a_rotor_in_every_joint_of_the_humanoids() -> None:
    for name, rotor in (("hoap1", 0.003), ("biped", 0.01)):
        assert {body.joint.armature for body in tarsus.load(name).bodies[1:]} == {rotor}


@pytest.mark.parametrize("given", [None, lambda t, q, u: np.zeros(12), "stand", Stand()])
@pytest.mark.parametrize("key", ["home", "standing", "Stance"])
def test_any_controller_starts_at_the_keyframe_of_the_file(key: str, given: object) -> None:
    cheetah = tarsus.load("mini_cheetah")
    wanted = cheetah.keyframes["stand"] + np.eye(cheetah.nq)[9] * 0.1
    robot = replace(cheetah, name="mine", keyframes={key: wanted, "zero": cheetah.neutral()})
    started = default_controller.prepare(robot, given, 0.0025, [])[0]  # type: ignore[arg-type]
    assert np.array_equal(started.keyframes["stand"], wanted)
    again = default_controller.prepare(robot, given, 0.0025, [])[0]  # type: ignore[arg-type]
    assert again is started  # its simulations share one program


def test_the_stand_keyframe_takes_precedence_over_home() -> None:
    cheetah = tarsus.load("mini_cheetah")
    both = replace(cheetah, keyframes={"home": cheetah.neutral(), **cheetah.keyframes})
    q = default_controller.prepare(both, None, 0.0025, [])[0].keyframes["stand"]
    assert np.array_equal(q, cheetah.keyframes["stand"])


def test_without_a_keyframe_the_robot_starts_with_bent_knees_and_a_note() -> None:
    cheetah = tarsus.load("mini_cheetah")
    robot = replace(cheetah, name="mine", keyframes={"crouch": cheetah.neutral()})
    simulation = tarsus.Simulation(robot)
    assert np.abs(simulation.q[[9, 12, 15, 18]]).min() > 0.3
    (notice,) = (n for n in simulation.warnings if n.code == "no-standing-keyframe")
    assert notice.subject == "mine" and "'crouch'" in notice


def test_a_robot_with_loops_starts_at_its_keyframe_too(tmp_path: Path) -> None:
    file = tmp_path / "looped.xml"
    for name in ("standing", "home"):
        file.write_text(LOOPED.replace("NAME", name))
        robot = default_controller.prepare(tarsus.load(file), None, 0.0025, [])[0]
        assert robot.keyframes["stand"][7:] == pytest.approx([0.3, 0.3])
    simulation = tarsus.Simulation(robot)
    assert simulation.uncut_state[0][7:] == pytest.approx([0.3, 0.3], abs=1e-6)
