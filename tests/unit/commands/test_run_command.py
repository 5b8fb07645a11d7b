"""Interrupted and failing runs of `tarsus run`: Ctrl-C, a full disk, names that look like paths."""

from __future__ import annotations

import json
import re
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import xarray as xr

from tarsus import cli

PENDULUM = """<mujoco model="{name}"><worldbody><body name="upper" pos="0 0 2">
<joint name="a" type="hinge" axis="0 1 0"/><geom type="sphere" pos=".3 0 0" size=".1" mass="1"
contype="0" conaffinity="0"/></body></worldbody></mujoco>"""
UNIX = pytest.mark.skipif(sys.platform == "win32", reason="signals and limits of POSIX")


def robot(folder: Path, name: str) -> str:
    """A file of a fixed pendulum without contacts, called `name` inside."""
    path = folder / "robot.xml"
    path.write_text(PENDULUM.format(name=name))
    return str(path)


@UNIX
def test_ctrl_c_writes_the_log_and_reports_it(tmp_path: Path) -> None:
    """A real process, a real signal; the log can be judged."""
    command = [sys.executable, "-c", INTERRUPTIBLE, "run", "mini_cheetah", "--duration", "100000"]
    process = subprocess.Popen(
        [*command, "--out", str(tmp_path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert select.select([process.stdout], [], [], 120)[0], "the run did not begin"
    assert process.stdout.readline() == "runs\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130 and "Traceback" not in err
    log = xr.load_dataset(tmp_path / "mini_cheetah.nc")
    seconds = float(log["time"].values[-1])
    assert seconds > 0
    assert re.search(rf"interrupted at t = {seconds:.4g} s; the log .* mini_cheetah.nc", err) or (
        f"interrupted at t = {seconds:.4g} s; the log up to that time is in {tmp_path}" in err
    )
    assert "interrupted" in out and "mini_cheetah.nc" in out
    assert cli.main(["judge", str(tmp_path / "mini_cheetah.nc"), "--json"]) == 0


INTERRUPTIBLE = """if True:
    import sys
    from tarsus import cli
    from tarsus.simulation.recording import logged_run
    from tarsus.simulation.recording.divergence import find_fault

    def told(*given):  # after the first steps
        if not given[2]:
            print("runs", flush=True)
        return find_fault(*given)

    logged_run.find_fault = told
    sys.exit(cli.main(sys.argv[1:]))
"""


@pytest.mark.parametrize("name", ["../escaped", "/abs/path", "double pendulum"])
def test_robot_names_are_not_paths(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    out = tmp_path / "inner" / "out"
    arguments = ["run", robot(tmp_path, name), "--duration", "0.1", "--out", str(out)]
    assert cli.main(arguments) == 0
    assert "there are no contacts" in capsys.readouterr().out
    assert len(list(out.iterdir())) == 2
    everything = {p for p in tmp_path.rglob("*") if p.is_file() and p.name != "robot.xml"}
    assert everything == set(out.iterdir())
    assert not any(" " in p.name for p in everything)


def test_the_log_and_json_record_the_options(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    typed = "run mini_cheetah --law compliant --set c_N=25000 frequency=2 --dt 0.001 --duration 0.1"
    arguments = [*typed.split(), "--terrain", "rough", "--json", "--out", str(tmp_path)]
    assert cli.main(arguments) == 0
    told = json.loads(capsys.readouterr().out)
    attrs = xr.load_dataset(tmp_path / "mini_cheetah.nc").attrs
    assert attrs["command_line"].startswith(f"tarsus {typed} --terrain rough") == (
        told["command_line"] == attrs["command_line"]
    )
    assert (told["law"], told["gait"], told["terrain"]) == ("compliant", "trot", "rough")
    assert told["law_parameters"]["c_N"] == 25000 and told["gait_parameters"]["frequency"] == 2
    assert told["terrain_parameters"]["seed"] == 0 and told["command"]["speed"] > 0
    for name in ("law", "gait", "terrain", "stepper"):
        assert attrs[name] == told[name]
        assert json.loads(attrs[f"{name}_parameters"]) == told[f"{name}_parameters"]


def test_sensors_are_printed_with_and_without_a_log(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    run = [
        "run",
        "mini_cheetah",
        "--duration",
        "0.05",
        "--sensors",
        "imu,touch:FR_foot,height_scan",
    ]
    assert cli.main([*run, "--out", str(tmp_path)]) == 0
    with_log = capsys.readouterr().out
    assert cli.main(run) == 0
    without = capsys.readouterr().out
    assert "--out FOLDER" in without and "--out FOLDER" not in with_log
    log = xr.load_dataset(tmp_path / "mini_cheetah.nc")
    force = log["sensed_imu"].sel(channel_imu="specific_force_z").values
    vectors = re.search(r"sensor imu +specific_force \((.*?)\), mean\s+\((.*?)\);", without, re.S)
    assert vectors is not None
    for told, value in zip(vectors.groups(), (force[-1], force.mean()), strict=True):
        assert float(told.split(",")[2]) == pytest.approx(value, rel=0.01)
    assert re.search(r"sensor touch_FR_foot +on_ground [01], mean [01]", without)
    assert "183 more" in without and "(units: m)" in without
    # and in JSON all of them
    assert cli.main([*run, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["sensors"]
    assert told["imu"]["last"]["specific_force_z"] == force[-1]
    assert told["imu"]["mean"]["specific_force_z"] == pytest.approx(force.mean())
    assert len(told["height_scan"]["last"]) == 187


@pytest.mark.parametrize("what", ["a file", "a folder in its place"])
def test_a_target_that_cannot_be_written_is_one_sentence(
    what: str, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    out = tmp_path / "out"
    if what == "a file":
        out.touch()
    else:
        (out / "swing.nc").mkdir(parents=True)
    arguments = ["run", robot(tmp_path, "swing"), "--duration", "0.1", "--out", str(out)]
    assert cli.main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith(f"error: {out}") and captured.err.count("\n") == 1
    assert list(tmp_path.rglob("*.part")) == [] and list(tmp_path.rglob("*.png")) == []


@UNIX
def test_a_full_disk_is_one_sentence(tmp_path: Path) -> None:
    """A limit on the size of files stands for the disk."""
    code = """if True:
        import resource, signal, sys
        from tarsus import cli
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
        sys.exit(cli.main(sys.argv[1:]))
    """
    out = tmp_path / "out"
    arguments = ["run", robot(tmp_path, "swing"), "--duration", "1", "--out", str(out)]
    done = subprocess.run(
        [sys.executable, "-B", "-c", code, *arguments], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2, done.stderr
    last = done.stderr.splitlines()[-1]
    assert (
        last == f"error: {out / 'swing.nc'}: File too large; no step is saved."
        and "Traceback" not in done.stderr
    )
    assert list(out.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--dt 2.5", "did you mean 0.0025?"),
        ("--speed 20", "speed of 20 m/s"),
        ("--speed -20", "speed of 20 m/s"),
        ("--set frequency=0.1", "speed of 0.4 m/s"),
    ],
)
def test_absurd_input_is_refused(
    arguments: str, message: str, capsys: pytest.CaptureFixture
) -> None:
    assert cli.main(["run", "mini_cheetah", "--duration", "0.1", *arguments.split()]) == 2
    assert message in capsys.readouterr().err


def test_compare_needs_contacts_and_a_writable_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    """Both errors are reported before the long measurement."""
    assert cli.main(["compare", robot(tmp_path, "swing")]) == 2
    assert "swing" in capsys.readouterr().err
    (tmp_path / "file").touch()
    assert cli.main(["compare", "mini_cheetah", "--out", str(tmp_path / "file")]) == 2
    assert "file: Not a directory" in capsys.readouterr().err
