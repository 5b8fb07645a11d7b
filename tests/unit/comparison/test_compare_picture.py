"""The figure of a comparison shows the same foot for every law, with all of its contact points."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import tarsus
from tarsus.comparison.laws import compare
from tarsus.comparison.picture import find_busiest_feet, normal_force_on
from tarsus.dynamics.robot import Robot

BOX = """<mujoco><worldbody><body name="crate" pos="0 0 0.05"><freejoint/>
<geom name="shell" type="box" size="0.1 0.1 0.05" mass="2"/></body></worldbody></mujoco>"""


@pytest.fixture(scope="module")
def robot(tmp_path_factory: pytest.TempPathFactory) -> Robot:
    path = tmp_path_factory.mktemp("crate") / "crate.xml"
    path.write_text(BOX)
    return tarsus.load(path)


@pytest.mark.parametrize("law", ["moreau", "mujoco"])
def test_the_force_of_a_foot_sums_its_candidates(robot: Robot, law: str) -> None:
    run, *_ = compare(robot, law, [0.002], 0.6, gait="free")
    assert isinstance(run.log, xr.Dataset) and run.log.sizes["contact"] > 1
    (body,) = find_busiest_feet(run.log, robot)
    force = normal_force_on(body, run.log, robot)
    assert body == "crate"
    assert np.mean(force[-50:]) == pytest.approx(2 * 9.81, rel=0.02)


def test_feet_are_named_after_their_candidates() -> None:
    robot = tarsus.load("mini_cheetah")
    log = tarsus.Simulation(robot, controller="trot").run(0.4)
    names = find_busiest_feet(log, robot)
    assert set(names.values()) == {"FR_foot", "FL_foot", "HR_foot", "HL_foot"}
    assert set(names) == {"FR_shank", "FL_shank", "HR_shank", "HL_shank"}
