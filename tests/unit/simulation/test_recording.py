"""Logs of runs record what was run, also if the run ended early."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import signal
import threading
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from helpers.refused import refused

import tarsus
from tarsus.contact.laws.moreau import Moreau
from tarsus.control.gaits.trot import Trot
from tarsus.errors import InvalidValue
from tarsus.simulation.recording.interrupt import Interrupted
from tarsus.simulation.recording.summary import summary
from tarsus.stepping.methods.midpoint import Midpoint
from tarsus.terrain.rough import Rough

PENDULUM = """<mujoco model="double pendulum"><worldbody><body name="upper" pos="0 0 2">
<joint name="a" type="hinge" axis="0 1 0" ref="20"/><geom type="sphere" size=".1" mass="1"
contype="0" conaffinity="0"/><body name="lower" pos="0.3 0 -.4"><joint name="b" type="hinge"
axis="0 1 0"/><geom type="sphere" size=".1" mass="1" contype="0" conaffinity="0"/></body></body>
</worldbody></mujoco>"""


@pytest.fixture(scope="module")
def trot() -> tarsus.Simulation:
    return tarsus.Simulation("mini_cheetah", controller="trot")


def test_a_log_with_warnings_is_written_by_xarray_itself(tmp_path: Path) -> None:
    simulation = tarsus.Simulation("mini_cheetah", controller="trot")  # the compiled code is kept
    simulation.warnings += ["a first warning with a µ.", "a second one."]
    log = simulation.run(0.01)
    log.to_netcdf(tmp_path / "log.nc")
    again = xr.load_dataset(tmp_path / "log.nc")
    assert again.attrs == log.attrs
    assert summary(simulation, again)["warnings"][:2] == simulation.warnings


def test_a_log_records_its_run_and_reruns_to_the_same_bits(tmp_path: Path) -> None:
    first = tarsus.Simulation(
        "mini_cheetah",
        Moreau(mu=0.7, solver="sor"),
        terrain=Rough(seed=3),
        controller="trot",
        parameters=["kp=50"],
        dt=0.002,
        contacts="*_foot",
        pushes=["base"],
        mass_scale={"base": 1.1},
    )
    first.set(command={"speed": 0.35}, kinetic=0.9)
    first.run(0.1).to_netcdf(tmp_path / "log.nc")
    log = xr.load_dataset(tmp_path / "log.nc")
    told, attrs = summary(first, log), log.attrs
    assert attrs["tarsus_version"] == tarsus.__version__ == told["tarsus_version"]
    assert (attrs["robot_file"], attrs["robot_sha256"]) == ("", "")
    assert json.loads(attrs["terrain_parameters"])["seed"] == 3
    assert told["law_parameters"]["kinetic"] == 0.9 and told["gait_parameters"]["kp"] == 50

    options = dict(told["options"])
    assert options.pop("precision") == "float64"
    second = tarsus.Simulation(
        attrs["robot"],
        Moreau(**told["law_parameters"]),
        attrs["stepper"],
        Rough(**told["terrain_parameters"]),
        Trot(**told["gait_parameters"]),
        attrs["dt"],
        **options,
    )
    second.set(command=told["command"])
    again = second.run(0.1)
    np.testing.assert_array_equal(again["q"], log["q"])
    assert np.ptp(again["q"].values[:, 7:], axis=0).max() > 0.1


def test_a_log_names_the_robot_s_file_and_its_bytes(tmp_path: Path) -> None:
    path = tmp_path / "pendulum.xml"
    path.write_text(PENDULUM)
    log = tarsus.Simulation(str(path), controller=function).run(0.01)
    assert Path(log.attrs["robot_file"]) == path.resolve()
    assert log.attrs["robot_sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert log.attrs["gait"].endswith("test_recording.function")
    assert log.attrs["gait_file"] == __file__


def function(t: float, q: np.ndarray, u: np.ndarray) -> list[float]:
    """A controller without motors."""
    return []


def test_differing_worlds_are_reported_one_by_one() -> None:
    simulation = tarsus.Simulation("mini_cheetah", controller="trot", worlds=2)
    simulation.set(command={"speed": [0.1, 0.2]}, mu=[0.5, 0.6])
    attrs = simulation.run(0.01).attrs
    assert json.loads(attrs["command"]) == {"speed": [0.1, 0.2], "turn": 0.0}
    assert json.loads(attrs["law_parameters"])["mu"] == [0.5, 0.6]


def test_ctrl_c_returns_the_log_and_the_run_can_continue(trot: tarsus.Simulation) -> None:
    chunks = []
    trot.reset()

    def interrupt(seconds: float) -> None:
        chunks.append(seconds)
        if len(chunks) == 2:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt, match=r"interrupted at t = 0\.5 s") as stop:
        trot.run(60.0, interrupt)
    assert isinstance(stop.value, Interrupted) and stop.value.log is not None
    assert stop.value.log["time"].values[-1] == pytest.approx(0.5) == trot.time
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    rest = trot.run(0.5)
    trot.reset()
    whole = trot.run(1.0)
    np.testing.assert_array_equal(whole["q"].values[200:], rest["q"])


def test_a_second_ctrl_c_is_not_delayed(trot: tarsus.Simulation) -> None:
    """Such as in a controller that never answers."""
    asked = []

    def stubborn(t: float, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        asked.append(t)
        os.kill(os.getpid(), signal.SIGINT)
        return np.zeros(12)

    simulation = tarsus.Simulation("mini_cheetah", controller=stubborn)
    with pytest.raises(Interrupted):  # the first is noted, the step is finished
        simulation.run(1.0)
    assert len(asked) == 1

    def twice(seconds: float) -> None:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt) as stop:
        trot.run(1.0, twice)
    assert not isinstance(stop.value, Interrupted)


def test_simulations_run_in_threads(trot: tarsus.Simulation) -> None:
    done = []
    worker = threading.Thread(target=lambda: done.append(trot.run(0.05)))
    worker.start()
    worker.join()
    assert len(done) == 1


def test_early_ends_are_picklable(trot: tarsus.Simulation) -> None:
    log = trot.run(0.01)
    for error in (tarsus.Diverged("why", log, "knee"), Interrupted("when", None)):
        again = pickle.loads(pickle.dumps(error))
        assert type(again) is type(error) and str(again) == str(error)
        assert (again.log is None) == (error.log is None)
        assert getattr(again, "subject", None) == getattr(error, "subject", None)


@pytest.mark.parametrize("far", [3e20, 1e12])
def test_absurd_states_count_as_diverged(far: float, trot: tarsus.Simulation) -> None:
    trot.reset()
    q = trot.q
    q[2] = far
    trot.set(q=q)
    with refused(tarsus.Diverged, "floating_base"):
        trot.run(0.1)


@pytest.mark.parametrize(
    ("dt", "meant"), [(2.5, "did you mean 0.0025?"), (1.0, "0.001?"), (500.0, "not 500 s.")]
)
def test_a_step_that_is_too_long_is_refused(dt: float, meant: str) -> None:
    with refused(InvalidValue, "dt") as caught:
        tarsus.Simulation("mini_cheetah", dt=dt)
    assert str(caught.value).endswith(meant)


def test_advice_skips_options_in_use() -> None:
    """It suggests neither the current law, nor motors to a robot without any, nor a dt that is
    too long.
    """

    def told(law: str, dt: float, controller: str | None) -> str:
        stepper = Midpoint(forces="once")
        simulation = tarsus.Simulation("mini_cheetah", law, stepper, controller=controller, dt=dt)
        u = simulation.u
        u[0] = 1000.0
        simulation.set(u=u)
        with pytest.raises(tarsus.Diverged) as stop:
            simulation.run(0.1)
        return str(stop.value).rpartition("; ")[2]

    assert told("moreau", 0.0025, "trot") == "use a smaller dt or softer gains."
    assert told("moreau", 1e-5, None) == "use smaller torques."
    assert told("moreau", 0.0025, "free") == "use a smaller dt."  # which has no gains
    spring = told("compliant", 0.005, "trot")
    assert spring == "use dt = 0.001 s or less, softer gains or the law 'moreau'."


def test_a_robot_without_contacts_runs_and_its_log_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "pendulum.xml"
    path.write_text(PENDULUM)
    simulation = tarsus.Simulation(str(path))
    log = simulation.run(0.5)
    log.to_netcdf(tmp_path / "log.nc")
    again = xr.load_dataset(tmp_path / "log.nc")
    np.testing.assert_array_equal(again["q"], log["q"])
    numbers = summary(simulation, again)
    assert numbers["contacts"] == 0 and numbers["fell"] is False
    assert numbers["height_min"] is None and np.ptp(log["q"].values[:, 0]) > 0.1
    card = tarsus.judge(tmp_path / "log.nc", str(path))
    assert card["contacts"] == 0 and card["residuals"]["equation_N"] < 1e-9


@pytest.mark.parametrize("beyond", [1e-12, 0.01])
def test_joints_at_their_limit_are_not_reported_as_beyond(beyond: float, tmp_path: Path) -> None:
    text = '<mujoco><option gravity="0 0 0"/><worldbody><body><joint name="j" type="hinge"'
    text += f' range="{np.degrees(beyond):.15g} 90"/><geom type="sphere" size=".1" mass="1"'
    text += ' contype="0" conaffinity="0"/></body></worldbody></mujoco>'
    (tmp_path / "hinge.xml").write_text(text)
    simulation = tarsus.Simulation(str(tmp_path / "hinge.xml"), controller=None)
    simulation.set(q=[0.0])
    log = simulation.run(0.01)
    assert ("beyond their limits" in log.attrs.get("warnings", "")) == (beyond > 1e-6)
