"""Picture strips: where links, hulls and forces are drawn."""

from __future__ import annotations

import json

import numpy as np
import pytest
import xarray as xr
from helpers.refused import refused

import tarsus
from tarsus.errors import IncompatibleOptions, InvalidValue
from tarsus.viewer import strip

TIMES = (0.05, 0.1)


@pytest.fixture(scope="module")
def log() -> xr.Dataset:
    return tarsus.Simulation("mini_cheetah", controller="stand").run(0.1)


def test_the_forces_drawn_carry_the_robot(log: xr.Dataset) -> None:
    poses = strip.poses(log, TIMES)
    up = sum(force["force"][2] for force in poses["frames"][-1]["forces"])
    assert up == pytest.approx(float(log["force_world"].values[-1, :, 2].sum()), rel=0.01)
    for force in poses["frames"][-1]["forces"]:
        assert abs(force["at"][2]) < 5e-3


def test_links_are_as_long_as_the_robot_s_in_every_frame(log: xr.Dataset) -> None:
    robot, frames = tarsus.load("mini_cheetah"), strip.poses(log, TIMES)["frames"]
    lengths = [[np.linalg.norm(np.subtract(*link["ends"])) for link in f["links"]] for f in frames]
    np.testing.assert_allclose(lengths[0], lengths[1], atol=2e-4)
    shanks = [b for b in robot.bodies if np.linalg.norm(b.position) > 0.15]
    found = np.array(lengths[0])
    assert all(np.isclose(found, np.linalg.norm(b.position), atol=2e-4).any() for b in shanks)
    assert {link["side"] for link in frames[0]["links"]} >= {"left", "right"}


def test_strips_are_drawn_from_json(log: xr.Dataset) -> None:
    poses = json.loads(json.dumps(strip.poses(log, TIMES)))
    figure = strip.strip_figure(poses)
    assert len(figure.axes) == 2 * len(TIMES)
    assert all(ax.lines for ax in figure.axes)
    assert len(strip.strip_figure(poses, views=("side",)).axes) == len(TIMES)
    strip.strip(log, TIMES).savefig("/dev/null", format="png")


def test_logs_of_many_worlds_or_without_a_robot_are_rejected(log: xr.Dataset) -> None:
    with refused(InvalidValue, "world"):
        strip.strip(log.expand_dims(world=2), TIMES)
    with refused(InvalidValue, "times"):
        strip.strip(log, ())
    with refused(IncompatibleOptions, "robot"):
        strip.strip(log.drop_attrs(), TIMES)


def test_the_hull_of_points() -> None:
    square = np.array([[0, 0], [1, 0], [1, 1], [0, 1], [0.5, 0.5], [0.5, 0], [0, 0]], float)
    hull = strip.convex_hull(square)
    np.testing.assert_array_equal(hull, [[0, 0], [1, 0], [1, 1], [0, 1]])
    assert len(strip.convex_hull(np.array([[0, 0], [1, 0.0]]))) == 2
    line = strip.convex_hull(np.array([[0, 0], [1, 1], [2, 2.0]]))
    np.testing.assert_array_equal(line, [[0, 0], [2, 2]])
