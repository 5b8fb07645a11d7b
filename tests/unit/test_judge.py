"""`tarsus judge`: what it prints, and its one sentence for every unfit trajectory."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tarsus
from tarsus.cli import main
from tarsus.comparison.trajectory import arrays_of
from tarsus.model.to_mjcf import to_mjcf


@pytest.fixture(scope="module")
def arrays() -> dict[str, Any]:
    simulation = tarsus.Simulation("mini_cheetah", controller="stand")
    return arrays_of(simulation.run(0.1), simulation.robot)


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


def test_without_friction_and_motors_the_table_says_so(
    arrays: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.savez(
        tmp_path / "a.npz", **{k: v for k, v in arrays.items() if k not in ("mu", "qfrc_actuator")}
    )
    assert main(["judge", str(tmp_path / "a.npz"), "--robot", "mini_cheetah"]) == 0
    told = capsys.readouterr().out
    assert "no friction coefficient" in told and "energy: not judged" in told


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"qvel": None}, "lacks qvel: it needs time"),
        ({"qpos": lambda v: v[:, :-1]}, r"qpos must have shape \(41, 19\)"),
        ({"contact_force": lambda v: v[:, :3]}, r"contact_force must have shape \(41, 4, 3\)"),
        (
            {"qvel": lambda v: np.where(np.arange(41)[:, None] == 7, np.nan, v)},
            "qvel is not finite in row 7",
        ),
        ({"time": lambda v: v**2}, "evenly spaced"),
        ({"time": lambda v: -v}, "rise"),
        ({"qpos": lambda v: 2 * v}, "not of unit length"),
        ({"mu": lambda v: -1.0}, "none negative"),
        ({"contact_normal": lambda v: 0 * v}, "must not be zero"),
        ({"contact_body": lambda v: np.array(["FL_fot", *v[1:]])}, "did you mean FL_foot"),
        ({"gap": None}, "need contact_point and gap"),
        ({"qvel": lambda v: np.full(v.shape, "a")}, "must hold numbers"),
        ({"stages": lambda v: np.nan}, "stages must be one number"),
    ],
)
def test_unfit_arrays_get_one_sentence(
    arrays: dict[str, Any], change: dict[str, Any], message: str
) -> None:
    wrong = dict(arrays)
    for name, make in change.items():
        if make is None:
            del wrong[name]
        else:
            wrong[name] = make(wrong[name])
    with pytest.raises(tarsus.TarsusError, match=message):
        tarsus.judge(wrong, "mini_cheetah")


def test_an_unknown_array_gets_a_near_name(arrays: dict[str, Any]) -> None:
    with pytest.raises(tarsus.TarsusError, match="did you mean contact_force"):
        tarsus.judge(dict(arrays) | {"contact_forces": 0}, "mini_cheetah")


def test_unfit_files_and_robots(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "text.npz").write_text("no arrays")
    (tmp_path / "text.nc").write_text("no log")
    for arguments, message in [
        (["nowhere.npz", "--robot", "mini_cheetah"], "there is no file nowhere.npz"),
        ([str(tmp_path / "text.npz"), "--robot", "mini_cheetah"], "cannot be read as a NumPy file"),
        ([str(tmp_path / "text.nc")], "cannot be read as a netCDF file"),
        ([str(Path(__file__)), "--robot", "mini_cheetah"], "is an .npz file or a netCDF log"),
        ([str(file)], "say which robot"),
        ([str(file), "--robot", "mini_chetah"], "did you mean mini_cheetah"),
        ([str(file), "--robot", "mini_cheetah", "--friction", "-1"], "none negative"),
    ]:
        assert main(["judge", *arguments]) == 2
        assert message in capsys.readouterr().err


def test_a_log_names_the_robot_s_file(tmp_path: Path) -> None:
    """It is found, unless it is gone or is no longer the file that was simulated."""
    file = tmp_path / "dog.xml"
    file.write_text(to_mjcf(tarsus.load("mini_cheetah")))
    simulation = tarsus.Simulation(tarsus.load(file), controller="stand")
    log = simulation.run(0.05)
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    log.attrs |= {"robot": "dog", "robot_file": str(file), "robot_sha256": digest}
    assert tarsus.judge(log)["steps"] == 20
    file.write_text(file.read_text() + "\n")
    with pytest.raises(tarsus.TarsusError, match=r"dog\.xml has changed since the run"):
        tarsus.judge(log)
    assert tarsus.judge(log, file)["steps"] == 20
    file.unlink()
    with pytest.raises(tarsus.TarsusError, match=r"dog\.xml is not there"):
        tarsus.judge(log)
