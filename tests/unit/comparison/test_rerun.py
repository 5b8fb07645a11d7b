"""Logs survive interrupted runs, and reruns reproduce them bit for bit or report differences."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from helpers.refused import refused

import tarsus
from tarsus import cli
from tarsus.errors import InvalidFile, TarsusWarning, UnknownName, Unsupported, UntrustedFile
from tarsus.file_locks import FileInUse, write_lock
from tarsus.sensing.imu import Imu
from tarsus.simulation.recording import part_serialization, partial_log
from tarsus.stepping.methods.midpoint import Midpoint
from tarsus.terrain.rough import Rough

BALL = """<mujoco model="ball"><worldbody><geom type="plane" size="9 9 1"/><body name="ball"
pos="0 0 0.3"><freejoint name="free"/><geom name="ball" type="sphere" size=".1" mass="1"/></body>
<body name="arm" pos="1 0 1"><joint name="a" type="hinge" axis="0 1 0"/><geom name="arm" size=".1"
pos=".3 0 0" mass="1" contype="0" conaffinity="0"/></body></worldbody><actuator><motor joint="a"
gear="1" ctrlrange="-5 5"/></actuator></mujoco>"""


SEEN = 6  # sizes of a growing file: the first may be of its head and of a part half written


@pytest.fixture
def ball(tmp_path: Path) -> Path:
    path = tmp_path / "ball.xml"
    path.write_text(BALL)
    return path


def swing(t: float, q: np.ndarray, u: np.ndarray) -> list[float]:
    """A Python controller."""
    return [9.0 * np.sin(20 * t) - u[-1]]


def identical(a: xr.Dataset, b: xr.Dataset) -> None:
    assert set(a.variables) == set(b.variables)
    for name in a.variables:
        one, other = a[name].values, b[name].values
        one, other = (x.astype(str) if x.dtype.kind in "OUS" else x for x in (one, other))
        np.testing.assert_array_equal(one, other, str(name))


def test_partial_logs_contain_the_exact_log_so_far(
    ball: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partial_log, "MIN_INTERVAL", 0.0)
    monkeypatch.setattr(partial_log, "MIN_INTERVAL_RATIO", 0.0)
    simulation = tarsus.Simulation(str(ball), tarsus.Moreau(e_N=0.7), terrain=Rough(seed=1))
    simulation.set(u=[0.5, 0, 2, 0, 0, 0, 0])
    simulation.advance(0.1)
    seen: list[tuple[int, xr.Dataset]] = []

    def look(seconds: float) -> None:
        if (partial := tmp_path / "ball.partial.nc").exists():
            seen.append((round(seconds / 0.0025), xr.load_dataset(partial)))

    log = simulation.run(1.5, look, tmp_path / "ball.nc")
    assert (log["state"].values[1:] != log["state"].values[:-1]).sum() > 5
    assert not list(tmp_path.glob("*partial*"))
    assert [partial.sizes["time"] for _, partial in seen] == [100, 200, 300, 400, 500]
    for steps, partial in seen:
        assert steps == partial.sizes["time"] + 100  # the last chunk is written after the look
        identical(partial, log.isel(time=slice(0, partial.sizes["time"])))
        assert partial["q"].attrs == log["q"].attrs and "killed" in partial.attrs["partial"]
        assert "fast_steps" not in partial.attrs
    identical(xr.load_dataset(tmp_path / "ball.nc"), log)
    assert tarsus.rerun(seen[2][1]).reproduced


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_killed_run_leaves_a_log_that_opens_and_runs_again(
    ball: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, "run", str(ball), "--duration", "1e5", "--out", tmp_path],
        stdout=subprocess.DEVNULL,
    )
    partial, began = tmp_path / "ball.partial.nc", time.monotonic()
    sizes: set[int] = set()
    while len(sizes) < SEEN and time.monotonic() < began + 120:
        sizes |= {partial.stat().st_size} if partial.exists() else set()
        time.sleep(0.01)
    # a second run into the folder is refused while the first one lives
    again = ["run", str(ball), "--duration", "0.1", "--out", str(tmp_path)]
    assert cli.main(again) == 2
    assert str(tmp_path / "ball.nc") in capsys.readouterr().err
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert len(sizes) == SEEN and not (tmp_path / "ball.nc").exists()
    log = xr.load_dataset(partial)
    assert log.sizes["time"] >= 200
    np.testing.assert_array_equal(log["time"], 0.0025 * np.arange(1, log.sizes["time"] + 1))
    assert log.attrs["command_line"].startswith("tarsus run")
    # the next run keeps it under the time of its last part
    ended, content = partial.stat().st_mtime, partial.read_bytes()
    assert cli.main(again) == 0
    (kept,) = tmp_path.glob("ball.partial*")
    assert kept.name == time.strftime("ball.partial-%Y-%m-%dT%H%M%S.nc", time.localtime(ended))
    assert kept.read_bytes() == content
    assert kept.name in capsys.readouterr().err
    assert {path.name for path in tmp_path.iterdir()} == {
        *("ball.nc", "ball.png", "ball.xml", kept.name)
    }
    assert cli.main(["judge", str(kept), "--json"]) == 0
    short = log.isel(time=slice(0, 400))
    assert tarsus.rerun(short).reproduced


LIMITED = """if True:
    import resource, sys
    from tarsus import cli
    from tarsus.simulation.recording import partial_log
    partial_log.EVERY = 0.3
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), -1))
    sys.exit(cli.main(sys.argv[2:]))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits of POSIX")
def test_a_full_disk_keeps_the_steps_that_fit(ball: Path, tmp_path: Path) -> None:
    limit, out = 2 << 20, tmp_path / "out"
    asked = ["run", str(ball), "--duration", "10", "--out", out]
    ended = subprocess.run(
        [sys.executable, "-B", "-c", LIMITED, str(limit), *asked], capture_output=True, text=True
    )
    assert ended.returncode == 2 and "Traceback" not in ended.stderr
    assert [line.split(":")[0] for line in ended.stderr.splitlines()] == ["warning", "error"]
    (partial,) = out.iterdir()
    assert partial.stat().st_size > 0.99 * limit
    log = xr.load_dataset(partial)
    assert log.nbytes > limit // 2
    assert f"{log.sizes['time']} of 4000" in ended.stderr
    assert cli.main(["judge", str(partial), "--json"]) == 0


def test_long_partial_logs_are_stored_in_chunks(
    ball: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tarsus.Simulation(str(ball)).run(0.1)
    asked: list[tuple[int, int]] = []

    def made(first: int, last: int) -> xr.Dataset:
        asked.append((first, last))
        return log.isel(time=slice(first, last))

    monkeypatch.setattr(partial_log, "PIECE_BYTES", 10 * log.isel(time=slice(0, 1)).nbytes)
    with partial_log.PartialLog(tmp_path / "ball.nc", made) as kept:
        kept.write(35)
    assert asked == [(0, 1), (1, 11), (11, 21), (21, 31), (31, 35)]
    identical(xr.load_dataset(tmp_path / "ball.partial.nc"), log.isel(time=slice(0, 35)))


KILLED = """if True:
    import sys
    from tarsus import cli
    from tarsus.simulation.recording import partial_log
    partial_log.EVERY = partial_log.SHARE = 0.0
    sys.exit(cli.main(sys.argv[1:]))
"""


def test_a_controller_that_fails_loses_no_step(ball: Path, tmp_path: Path) -> None:
    def breaks(t: float, q: np.ndarray, u: np.ndarray) -> list[float]:
        if t > 0.099:
            raise RuntimeError("a cable broke")
        return [1.0]

    simulation = tarsus.Simulation(str(ball), controller=breaks)
    with pytest.raises(RuntimeError, match="a cable broke"):
        simulation.run(1.0, to=tmp_path / "run.nc")
    assert xr.load_dataset(tmp_path / "run.partial.nc").sizes["time"] == 40


def test_partial_logs_of_one_second_both_stay(ball: Path, tmp_path: Path) -> None:
    simulation, log, partial = (
        tarsus.Simulation(str(ball)),
        tmp_path / "a.nc",
        tmp_path / "a.partial.nc",
    )
    for content in ("one", "two"):
        partial.write_text(content)
        os.utime(partial, (1e9, 1e9))
        with pytest.warns(TarsusWarning) as told:
            simulation.run(0.01, to=log)
        codes = [(getattr(w.message, "code", ""), getattr(w.message, "subject", "")) for w in told]
        assert ("partial-log-renamed", "a.partial.nc") in codes
    assert sorted(path.read_text() for path in tmp_path.glob("a.partial*")) == ["one", "two"]


def test_a_log_is_locked_while_it_is_written(tmp_path: Path) -> None:
    log = tmp_path / "a.nc"
    with write_lock(log):
        with pytest.raises(FileInUse, match=r"a\.nc"), write_lock(log):
            pass
        with write_lock(tmp_path / "b.nc"):
            pass
    with write_lock(log):
        pass
    assert not list(tmp_path.iterdir())


def test_a_rerun_restores_all_settings(ball: Path) -> None:
    """State, commands, pushes, masses, seeds, worlds that differ, from within a run."""
    simulation = tarsus.Simulation(
        str(ball),
        tarsus.Moreau(mu=0.3, e_N=0.4),
        tarsus.Substeps(Midpoint(), 2),
        Rough(seed=np.array([3, 4])),
        worlds=2,
        sensors={"imu": Imu(frame="ball", noise=0.1, seed=7)},
        pushes=["ball"],
        mass_scale={"ball": [1.0, 1.5]},
        varied={"mass": ["arm"]},
        precision="float32",
    )
    simulation.set(
        u=[0.5, 0, 0, 0, 3, 0, 1], mu=[0.2, 0.4], push={"ball": [1, 0, 0]}, mass=[1.0, 2.0]
    )
    simulation.advance(0.3)
    simulation.step([[0.5], [0.7]])
    log = simulation.run(0.1)
    assert json.loads(log.attrs["seeds"]) == {
        "terrain_parameters.seed": [3, 4],
        "options.sensors.imu.seed": 7,
    }
    again = tarsus.rerun(log)
    assert again.reproduced and not again.changed and not again.notes
    assert np.ptp(log["q"].values[-1], axis=0).max() > 0.01


def test_a_python_controller_s_torques_are_replayed(ball: Path) -> None:
    simulation = tarsus.Simulation(str(ball), controller=swing, control_rate=100)
    simulation.advance(0.0325)  # into the time between two answers
    log = simulation.run(0.2)
    again = tarsus.rerun(log)
    assert again.reproduced and not again.changed
    assert "test_rerun.swing" in again.notes[0] and np.ptp(log["tau"].values) > 5
    given = tarsus.rerun(log, controller=swing)
    assert given.log["tau"].values[-1] != 0 and not given.notes


def test_differences_of_a_rerun_are_reported(
    ball: Path, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    log = tarsus.Simulation(str(ball)).run(0.3, to=tmp_path / "run.nc")
    # another number in the log
    log["q"][77, 2] += 1e-12
    log.attrs["versions"] = json.dumps(json.loads(log.attrs["versions"]) | {"numpy": "1.0"})
    found = tarsus.rerun(log)
    assert [d.name for d in found.deviations] == ["q"] and found.deviations[0].step == 77
    assert found.deviations[0].largest == pytest.approx(1e-12, rel=0.01)
    assert found.changed == {"version of numpy": ("1.0", np.__version__)}
    # another robot under the same name
    assert cli.main(["rerun", str(tmp_path / "run.nc")]) == 0
    assert "reproduced bit for bit" in capsys.readouterr().out
    ball.write_text(BALL.replace('mass="1"', 'mass="2"'))
    assert cli.main(["rerun", str(tmp_path / "run.nc")]) == 2
    assert str(ball) in capsys.readouterr().err
    arguments = ["rerun", str(tmp_path / "run.nc"), "--robot", str(ball)]
    assert cli.main([*arguments, "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert "model_sha256" in told["changed"] and "program_sha256" in told["changed"]
    assert told["deviations"][0]["step"] is not None or told["deviations"][1]["step"] is not None
    assert cli.main(arguments) == 1 and "not reproduced" in capsys.readouterr().out


def test_a_parameter_that_no_longer_exists_is_reported(ball: Path) -> None:
    """A log with the parameter of an earlier version does not run with another value instead."""
    log = tarsus.Simulation(str(ball), stepper="event_driven").run(0.01)
    parameters = json.loads(log.attrs["stepper_parameters"])
    parameters["strikes"] = parameters.pop("impacts")
    log.attrs["stepper_parameters"] = json.dumps(parameters)
    with refused(UnknownName, "strikes"):
        tarsus.rerun(log)
    assert tarsus.rerun(log, stepper="event_driven").reproduced


def test_settings_that_a_log_cannot_store_are_reported(ball: Path, tmp_path: Path) -> None:
    def bumps(x: object, y: object) -> object:
        return 0.0 * x  # type: ignore[operator]

    log = tarsus.Simulation(str(ball), terrain=tarsus.Surface(bumps)).run(0.01)
    with refused(Unsupported, f"{bumps.__module__}.{bumps.__qualname__}") as caught:
        tarsus.rerun(log)
    assert "pass it as terrain=..." in str(caught.value)
    assert tarsus.rerun(log, terrain=tarsus.Surface(bumps)).reproduced
    with refused(UnknownName, "gait"):
        tarsus.rerun(log, gait="trot")
    with refused(InvalidFile, "robot"):
        tarsus.rerun(xr.Dataset())
    with refused(InvalidFile, tmp_path / "run.csv"):
        tarsus.Simulation(str(ball)).run(0.01, to=tmp_path / "run.csv")


def test_user_laws_rerun_while_their_file_is_unchanged(
    ball: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "my_law.py"
    source = Path(tarsus.__file__).parent / "contact" / "laws" / "hunt_crossley.py"
    path.write_text(source.read_text())
    log = tarsus.Simulation(str(ball), str(path), dt=1e-3).run(0.3)
    assert tarsus.rerun(log).reproduced and log["force_world"].values.max() > 1
    path.write_text(path.read_text() + "# changed\n")
    assert tarsus.rerun(log).reproduced  # this process has the class that ran
    monkeypatch.setattr(part_serialization, "_classes_of_process", {})
    with pytest.raises(UntrustedFile, match="has changed since the run"):
        tarsus.rerun(log)


def test_a_run_on_mujoco_runs_again(ball: Path) -> None:
    from tarsus.mujoco_runs.simulation import MujocoSimulation

    log = MujocoSimulation(str(ball), parameters=["solref=0.01,1"]).run(0.2)
    again = tarsus.rerun(log)
    assert again.reproduced and not again.changed
