"""`log.tarsus`: feet, phases, energy, trunk, the report and the plots, against the log itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from helpers.refused import refused

import tarsus
from tarsus.errors import InvalidFile, InvalidValue, UnknownName

G, DT, SPEED, MU = 9.81, 1e-3, 3.0, 0.3
BALL = """<mujoco model="ball"><worldbody><geom type="plane" size="9 9 1"/><body name="ball"
pos="0 0 0.1"><freejoint name="free"/><geom name="ball" type="sphere" size=".1" mass="2"/></body>
</worldbody></mujoco>"""


@pytest.fixture(scope="module")
def hop(tmp_path_factory: pytest.TempPathFactory) -> xr.Dataset:
    """A ball thrown up at 1 m/s that slides along x after landing, on ice, and then rests."""
    path = tmp_path_factory.mktemp("ball") / "ball.xml"
    path.write_text(BALL)
    simulation = tarsus.Simulation(str(path), tarsus.Moreau(mu=MU), dt=DT)
    simulation.set(u=[SPEED, 0, 1.0, 0, 0, 0])
    return simulation.run(0.5)


def test_the_swing_of_a_thrown_ball_equals_its_flight(hop: xr.Dataset) -> None:
    phases = hop.tarsus.phases()
    assert list(phases["phase"]) == ["swing", "stance"]
    swing, stance = phases.to_dict("records")
    flight = 2 * 1.0 / G
    assert swing["duration"] == pytest.approx(flight, abs=2 * DT)
    assert swing["travel"] == pytest.approx(SPEED * flight, abs=0.01)
    assert stance["start"] == swing["end"] and stance["end"] == pytest.approx(0.5)
    assert not swing["whole"] and not stance["whole"]
    # what stops it falling, and carries it
    assert stance["impulse"] == pytest.approx(2 * (1.0 + G * (0.5 - flight)), rel=0.01)
    # until it rolls: 2/7 of its speed is lost, a part of it in the impact
    slides = (SPEED - 3.5 * MU * 1.0) / (3.5 * MU * G)
    assert stance["slip"] * stance["duration"] == pytest.approx(slides, abs=0.01)


def test_feet_report_friction_relative_to_the_cone(hop: xr.Dataset) -> None:
    feet = hop.tarsus.feet()
    stance, slips = feet["stance"].values, hop["state"].values == 2
    np.testing.assert_array_equal(np.isnan(feet["friction_use"]), ~stance)
    np.testing.assert_allclose(feet["friction_use"].values[slips], 1.0, rtol=1e-5)
    assert slips.any() and float(feet["friction_use"].max()) < 1 + 1e-5
    np.testing.assert_array_equal(feet["height"], hop["gap"])
    assert feet["normal_force"].attrs["units"] == "N"


def test_the_energy_balance_closes(hop: xr.Dataset) -> None:
    energy = hop.tarsus.energy()
    assert float(np.abs(energy["unbalanced"]).max()) < 1e-12
    assert float(energy["impact"][-1]) == pytest.approx(-0.5 * 2 * 1.0, rel=0.03)
    shares = sum(energy[name] for name in energy.data_vars if name not in LEFT_OUT)
    np.testing.assert_allclose(shares, energy["change"], atol=1e-12)


LEFT_OUT = ("total", "change", "unbalanced")


def test_the_trunk_and_the_report(hop: xr.Dataset) -> None:
    trunk, report = hop.tarsus.trunk(), hop.tarsus.report()
    np.testing.assert_array_equal(trunk["position"], hop["q"][:, :3])
    assert list(trunk["angle"].values) == ["yaw", "pitch", "roll"]
    assert float(trunk["position"][:, 2].max()) == pytest.approx(0.1 + 1 / (2 * G), abs=1e-3)
    assert report["robot"] == "ball" and report["duration"] == pytest.approx(0.5)
    assert report["feet"]["ball"]["steps"] == 1 and "peak normal force" in str(report)
    assert report["normal_force_max"] == report["feet"]["ball"]["peak_force"]


def test_plots_are_written_and_names_suggested(hop: xr.Dataset, tmp_path: Path) -> None:
    for what in ("run", "feet", "phases", "energy", "trunk"):
        figure = hop.tarsus.plot(what, tmp_path / f"{what}.png")
        assert figure.axes and (tmp_path / f"{what}.png").stat().st_size > 5000
    with refused(UnknownName, "enrgy"):
        hop.tarsus.plot("enrgy")


def test_objects_created_in_python_are_found_in_their_process() -> None:
    """No file describes them; in another process the error states what to do."""
    world = tarsus.world(tarsus.Box(), tarsus.Ball(), at=[(1.0, 0.0)])
    log = tarsus.Simulation(world, dt=DT).run(0.05)
    assert log.tarsus.report()["distance"] == pytest.approx(0.0, abs=1e-6)
    assert tarsus.rerun(log).reproduced
    elsewhere = log.assign_attrs(model_sha256="0" * 64)  # as no robot of this process has it
    with refused(UnknownName, log.attrs["robot"]):
        elsewhere.tarsus.report()
    assert not tarsus.rerun(elsewhere, robot=world).deviations


def test_several_worlds_and_invalid_logs(hop: xr.Dataset) -> None:
    two = xr.concat([hop, hop], "world").transpose("time", "world", ...)
    two.attrs = hop.attrs
    np.testing.assert_array_equal(two.tarsus.feet()["height"][:, 1], hop["gap"])
    np.testing.assert_array_equal(
        two.tarsus.energy()["motors"][:, 0], hop.tarsus.energy()["motors"]
    )
    assert two.tarsus.trunk()["angles"].sizes["world"] == 2
    with refused(InvalidValue, "world"):
        two.tarsus.phases()
    with refused(InvalidFile, "dt"):
        xr.Dataset().tarsus.feet()


def test_opened_logs_have_the_accessor(hop: xr.Dataset, tmp_path: Path) -> None:
    hop.to_netcdf(tmp_path / "hop.nc")
    code = "import sys, tarsus; print(len(tarsus.open_log(sys.argv[1]).tarsus.phases()))"
    command = [sys.executable, "-c", code, str(tmp_path / "hop.nc")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "2\n"
    with pytest.raises(tarsus.TarsusError, match="there is no file"):
        tarsus.open_log(tmp_path / "gone.nc")
