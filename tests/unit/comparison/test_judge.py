"""`tarsus judge`: its output, and one clear error for every invalid trajectory."""

from __future__ import annotations

import hashlib
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from helpers.refused import refused
from scipy.io import netcdf_file

import tarsus
from tarsus.cli import main
from tarsus.comparison.log_arrays import REQUIRED_VARIABLES
from tarsus.comparison.trajectory import build_trajectory, log_to_arrays, read_arrays
from tarsus.errors import IncompatibleOptions, InvalidFile, InvalidValue, UnknownName
from tarsus.model.to_mjcf import to_mjcf
from tarsus.simulation.recording.log import save_log


@pytest.fixture(scope="module")
def log() -> xr.Dataset:
    return tarsus.Simulation("mini_cheetah", controller="stand").run(0.1)


@pytest.fixture(scope="module")
def arrays(log: xr.Dataset) -> dict[str, Any]:
    return log_to_arrays(log, tarsus.load("mini_cheetah"))


@pytest.fixture(scope="module")
def file(arrays: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "stand.npz"
    np.savez(path, **arrays)
    return path


def test_json_and_table(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["judge", str(file), "--robot", "mini_cheetah", "--json"]) == 0
    card = json.loads(capsys.readouterr().out)
    assert card["steps"] == 40 and card["residuals"]["equation_N"] < 1e-9
    assert main(["judge", str(file), "--robot", "mini_cheetah"]) == 0
    told = capsys.readouterr().out
    assert "friction cone" in told and "unbalanced" in told


def test_the_table_notes_missing_friction_and_motors(
    arrays: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.savez(
        tmp_path / "a.npz", **{k: v for k, v in arrays.items() if k not in ("mu", "qfrc_actuator")}
    )
    assert main(["judge", str(tmp_path / "a.npz"), "--robot", "mini_cheetah"]) == 0
    told = capsys.readouterr().out
    assert "qfrc_actuator" in told and "--friction" in told and "not judged" in told


@pytest.mark.parametrize(
    ("change", "kind", "subject"),
    [
        ({"qvel": None}, InvalidValue, "qvel"),
        ({"qpos": lambda v: v[:, :-1]}, InvalidValue, "qpos"),
        ({"contact_force": lambda v: v[:, :3]}, InvalidValue, "contact_force"),
        (
            {"qvel": lambda v: np.where(np.arange(41)[:, None] == 7, np.nan, v)},
            InvalidValue,
            "qvel",
        ),
        ({"time": lambda v: v**2}, InvalidValue, "time"),
        ({"time": lambda v: -v}, InvalidValue, "time"),
        ({"qpos": lambda v: 2 * v}, InvalidValue, "qpos"),
        ({"mu": lambda v: -1.0}, InvalidValue, "mu"),
        ({"contact_normal": lambda v: 0 * v}, InvalidValue, "contact_normal"),
        ({"contact_body": lambda v: np.array(["FL_fot", *v[1:]])}, UnknownName, "FL_fot"),
        ({"gap": None}, IncompatibleOptions, "contact_body"),
        ({"qvel": lambda v: np.full(v.shape, "a")}, InvalidValue, "qvel"),
        ({"stages": lambda v: np.nan}, InvalidValue, "stages"),
    ],
)
def test_invalid_arrays_are_reported_by_name(
    arrays: dict[str, Any], change: dict[str, Any], kind: type[tarsus.TarsusError], subject: str
) -> None:
    wrong = dict(arrays)
    for name, make in change.items():
        if make is None:
            del wrong[name]
        else:
            wrong[name] = make(wrong[name])
    with refused(kind, subject):
        tarsus.judge(wrong, "mini_cheetah")


def test_messages_name_the_invalid_row_and_shape(arrays: dict[str, Any]) -> None:
    torn = arrays["qvel"].copy()
    torn[7] = np.nan
    with pytest.raises(InvalidValue, match=r"^qvel\[0\] is not finite in row 7;"):
        tarsus.judge(arrays | {"qvel": torn}, "mini_cheetah")
    with pytest.raises(InvalidValue, match=r"^qpos must have shape \(41, 19\) .* \(41, 18\)\.$"):
        tarsus.judge(arrays | {"qpos": arrays["qpos"][:, :-1]}, "mini_cheetah")


@pytest.mark.parametrize(
    ("change", "subject"),
    [
        (lambda log: log.drop_vars("gap"), "gap"),
        (lambda log: log.drop_vars("velocity_correction"), "velocity_correction"),
        (lambda log: log.assign(q=log.q.T), "q"),
        (lambda log: log.assign(u=log.u.astype(str)), "u"),
        (lambda log: log.isel(time=slice(0)), "time"),
        (lambda log: log.assign(q=1e300 * log.q), "q"),
        (lambda log: log.assign_coords(actuator=["x"] * 12), "actuator"),
        (lambda log: log.assign_attrs(robot_options='{"x": 1}'), "robot_options"),
        (lambda log: log.assign_attrs(robot_file="x" * 9999), "x" * 9999),
    ],
)
def test_invalid_log_contents_are_reported_by_name(
    log: xr.Dataset, change: Any, subject: str
) -> None:
    with refused(InvalidFile, subject):
        tarsus.judge(change(log))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda log: log.assign_attrs(dt="short"), "dt must"),
        (lambda log: log.assign_attrs(dt=np.nan), "dt must"),
        (lambda log: log.assign_attrs(mean_mu=[1, 2]), "mean_mu"),
        (lambda log: log.assign_attrs(robot=3.0), "robot must"),
        (lambda log: log.assign_attrs(robot_options="{]"), "robot_options"),
    ],
)
def test_invalid_attributes_are_rejected_in_one_sentence(
    log: xr.Dataset, change: Any, message: str
) -> None:
    with pytest.raises(tarsus.TarsusError, match=message) as caught:
        tarsus.judge(change(log))
    assert "\n" not in str(caught.value)


def test_a_log_without_its_stepper_is_judged(log: xr.Dataset) -> None:
    del (bare := log.copy()).attrs["stepper"]
    assert "equation_N" in tarsus.judge(bare)["not_judged"]


@pytest.fixture(scope="module")
def whole(log: xr.Dataset, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The file of the log."""
    path = tmp_path_factory.mktemp("whole") / "log.nc"
    save_log(log, path)
    return path.read_bytes()


def judged(data: bytes, folder: Path) -> None:
    """Read a file of these bytes as a trajectory; TarsusError if it is invalid."""
    (folder / "bad.nc").write_bytes(data)
    robot = tarsus.load("mini_cheetah")
    build_trajectory(log_to_arrays(read_arrays(folder / "bad.nc"), robot), robot)


def damaged(data: bytes, at: int) -> bytes:
    """The bytes with one made a letter of no name."""
    return data[:at] + b"\x82" + data[at + 1 :]


@pytest.mark.parametrize("name", (*REQUIRED_VARIABLES, "coordinate", "velocity"))
def test_logs_with_damaged_names_are_rejected(name: str, whole: bytes, tmp_path: Path) -> None:
    written = len(name).to_bytes(4, "big") + name.encode()  # a name follows its length
    assert written in whole
    with pytest.raises(InvalidFile) as caught:
        judged(damaged(whole, whole.index(written) + 4), tmp_path)
    assert caught.value.subject and "\n" not in str(caught.value)


@pytest.mark.parametrize("kept", [0, 3, 100, 0.25, 0.5, 0.99])
def test_truncated_logs_are_rejected(kept: float, whole: bytes, tmp_path: Path) -> None:
    end = round(kept * len(whole)) if isinstance(kept, float) else kept
    with refused(InvalidFile, tmp_path / "bad.nc"):
        judged(whole[:end], tmp_path)


def test_damaged_logs_load_or_are_rejected_in_one_sentence(whole: bytes, tmp_path: Path) -> None:
    """Most bytes are of numbers and of texts that are not read."""
    chance, told = np.random.default_rng(0), list[str]()
    for at in chance.integers(0, len(whole) // 4, 60).tolist():  # names and types stand in front
        try:
            judged(damaged(whole, at), tmp_path)
        except tarsus.TarsusError as error:
            told.append(str(error))
    assert len(told) > 5 and not any("\n" in text for text in told)


def test_missing_fill_values_are_ignored(log: xr.Dataset, tmp_path: Path) -> None:
    """For a NaN fill value of integers xarray would issue its own warning."""
    odd = log.drop_vars("u").assign(u=log["u"].astype(np.int32))
    file = tmp_path / "odd.nc"
    odd.to_netcdf(file, engine="scipy")
    data = file.read_bytes()
    with netcdf_file(file, "a") as raw:
        raw.variables["u"]._FillValue = np.float64(np.nan)
    assert file.read_bytes() != data
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert set(read_arrays(file)) == set(odd)


def test_unknown_arrays_get_a_suggestion(arrays: dict[str, Any]) -> None:
    with refused(UnknownName, "contact_forces"):
        tarsus.judge(dict(arrays) | {"contact_forces": 0}, "mini_cheetah")


def test_invalid_files_and_robots_are_rejected(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "text.npz").write_text("no arrays")
    (tmp_path / "text.nc").write_text("no log")
    for arguments, message in [
        (["nowhere.npz", "--robot", "mini_cheetah"], "there is no file nowhere.npz"),
        (["nowhere.npz", "--friction", "-1"], "--friction"),
        ([".", "--robot", "mini_cheetah"], ". is a folder: give a recorded run"),
        (
            [str(tmp_path / "text.npz"), "--robot", "mini_cheetah"],
            "cannot be read as a NumPy archive",
        ),
        ([str(tmp_path / "text.nc")], "text.nc"),
        ([str(Path(__file__)), "--robot", "mini_cheetah"], "'test_judge.py'"),
        ([str(file)], "--robot"),
        ([str(file), "--robot", "mini_chetah"], "did you mean mini_cheetah"),
        ([str(file), "--robot", "mini_cheetah", "--friction", "-1"], "--friction"),
    ]:
        assert main(["judge", *arguments]) == 2
        assert message in capsys.readouterr().err


def test_a_log_names_the_robot_s_file(tmp_path: Path) -> None:
    """The file is used unless it is missing or has changed since the simulation."""
    file = tmp_path / "dog.xml"
    file.write_text(to_mjcf(tarsus.load("mini_cheetah")))
    simulation = tarsus.Simulation(tarsus.load(file), controller="stand")
    log = simulation.run(0.05)
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    log.attrs |= {"robot": "dog", "robot_file": str(file), "robot_sha256": digest}
    assert tarsus.judge(log)["steps"] == 20
    file.write_text(file.read_text() + "\n")
    with refused(InvalidFile, file):
        tarsus.judge(log)
    assert tarsus.judge(log, file)["steps"] == 20
    file.unlink()
    with refused(InvalidFile, file):
        tarsus.judge(log)


def test_contacts_between_bodies_and_at_ends_are_judged(tmp_path: Path) -> None:
    """A rod across a wavy ground touches between its ends; a box falls on a box, a ball on it."""
    free = '<freejoint/><geom name="{0}" type="{1}" size="{2}" mass="1"/>'
    things = {
        "rod": (".1 0 .25", "capsule", '.03" fromto="-.3 0 0 .3 0 0'),
        "low": ("0 1 .2", "box", ".2 .2 .05"),
        "high": ("0 1 .4", "box", ".1 .1 .05"),
        "ball": ("0 1.05 .6", "sphere", ".05"),
    }
    bodies = "".join(
        f'<body name="{name}" pos="{at}">{free.format(name, kind, size)}</body>'
        for name, (at, kind, size) in things.items()
    )
    file = tmp_path / "things.xml"
    file.write_text(f"<mujoco><worldbody>{bodies}</worldbody></mujoco>")
    log = tarsus.Simulation(tarsus.load(file), terrain="sine", controller=None).run(0.5)
    pressed = log["force_contact"].sel(axis="normal").max("time")
    told = [str(name) for name in log["contact"].values[pressed > 1.0]]
    for sign in (":", "-"):
        assert any(sign in name for name in told), told
    found = tarsus.judge(log, file)
    assert found["residuals"]["equation_N"] < 1e-9 and not found["not_judged"]
    assert found["residuals"]["signorini_J"] < 1e-5, "of impacts of 1 N s, solved to 1e-6 of these"
    assert abs(found["energy"]["unbalanced"]) < 1e-10
