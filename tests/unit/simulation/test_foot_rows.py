"""Tables and plots of a log have one row per foot, whose force acts at the center of pressure."""

from __future__ import annotations

import numpy as np
import pytest
import xarray as xr

import tarsus
from tarsus.simulation.recording.foot_rows import combine_by_foot

WEIGHT, HALF, OFFSET = 2 * 9.81, 0.1, 0.03  # N, m, m
CRATE = f"""<mujoco model="crate"><worldbody><body name="crate" pos="0 0 0.05"><freejoint/>
<geom name="shell" type="box" size="{HALF} {HALF} 0.05" density="0"/><inertial mass="2"
pos="{OFFSET} 0 0" diaginertia=".01 .01 .01"/></body><body name="ball" pos="1 0 0.1">
<freejoint/><geom name="ball" type="sphere" size="0.1" mass="1"/></body></worldbody></mujoco>"""


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> xr.Dataset:
    """Log a crate that lies on one face and a ball beside it."""
    path = tmp_path_factory.mktemp("crate") / "crate.xml"
    path.write_text(CRATE)
    return tarsus.Simulation(str(path), tarsus.Moreau(mu=0.5), dt=2e-3).run(0.2)


def test_a_box_is_one_row_with_its_weight_below_its_center_of_mass(log: xr.Dataset) -> None:
    feet = combine_by_foot(log)
    assert list(feet["contact"].values) == ["shell", "ball"]
    last = feet.sel(contact="shell").isel(time=-1)
    assert float(last["force_contact"].sel(axis="normal")) == pytest.approx(WEIGHT, rel=1e-6)
    np.testing.assert_allclose(last["contact_point"], [OFFSET, 0.0, 0.0], atol=1e-6)
    np.testing.assert_allclose(last["force_world"], [0.0, 0.0, WEIGHT], atol=1e-5)
    assert int(last["state"]) == 1


def test_sums_are_those_of_the_points_and_the_rest_is_unchanged(log: xr.Dataset) -> None:
    feet, box = combine_by_foot(log), [f"shell_{k}" for k in range(8)]
    assert set(box) <= set(log["contact"].values)
    points = log.sel(contact=box)
    for name in ("impulse_world", "force_contact", "energy_impact"):
        np.testing.assert_allclose(feet[name].sel(contact="shell"), points[name].sum("contact"))
    np.testing.assert_array_equal(feet["gap"].sel(contact="shell"), points["gap"].min("contact"))
    for name in ("gap", "force_contact", "contact_point", "state"):
        assert feet[name].dims == log[name].dims and feet[name].dtype == log[name].dtype
        assert feet[name].attrs == log[name].attrs
        ball = feet[name].sel(contact="ball"), log[name].sel(contact="ball")
        np.testing.assert_allclose(*ball, rtol=1e-14)
    np.testing.assert_array_equal(feet["q"], log["q"])
    assert feet.attrs == log.attrs


def test_the_accessor_shows_feet_or_points(log: xr.Dataset) -> None:
    assert log.tarsus.feet().sizes["contact"] == 2
    assert log.tarsus.feet(points=True).sizes["contact"] == log.sizes["contact"]
    assert set(log.tarsus.phases()["contact"]) == {"shell", "ball"}
    assert len(set(log.tarsus.phases(points=True)["contact"])) == log.sizes["contact"]
    assert set(log.tarsus.report()["feet"]) == {"shell", "ball"}
    assert log.tarsus.plot("feet").axes and log.tarsus.plot("run").axes


def test_rows_of_several_worlds_are_those_of_each(log: xr.Dataset) -> None:
    two = xr.concat([log, log], "world").transpose("time", "world", ...).assign_attrs(log.attrs)
    feet = combine_by_foot(two)
    assert feet["contact_point"].dims == ("time", "world", "contact", "xyz")
    np.testing.assert_array_equal(
        feet["contact_point"][:, 1], combine_by_foot(log)["contact_point"]
    )


def test_single_points_keep_their_log() -> None:
    log = tarsus.Simulation("mini_cheetah", controller="stand").run(0.01)
    assert combine_by_foot(log) is log


def test_a_log_without_its_robot_keeps_its_rows(log: xr.Dataset) -> None:
    other = log.assign_attrs(robot_file="/missing/crate.xml")
    assert combine_by_foot(other).sizes["contact"] == log.sizes["contact"]
