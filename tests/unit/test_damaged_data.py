"""Data with false sizes or contents are rejected with one sentence, before memory is allocated."""

from __future__ import annotations

import io
import json
import os
import resource
import struct
import sys
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from helpers.refused import refused

import tarsus
from tarsus import cli
from tarsus.errors import InvalidFile, TarsusError, UnmetCondition
from tarsus.files import read_npz
from tarsus.learning.policy import Policy
from tarsus.simulation.recording.log import read_log, save_log
from tarsus.simulation.recording.log_robot import robot_of
from tarsus.simulation.recording.log_schema import check_log
from tarsus.simulation.recording.part_serialization import deserialize
from tarsus.simulation.recording.summary import summary

GIB = 1 << 30


@cache
def run() -> xr.Dataset:
    return tarsus.Simulation("mini_cheetah", controller=None).run(0.01)


def test_an_archive_that_declares_gigabytes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb.npz"
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        head, {"descr": "<f8", "fortran_order": False, "shape": (GIB // 8,)}
    )
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("a.npy", "w", force_zip64=True) as member,
    ):
        member.write(head.getvalue())
        for _ in range(1024):
            member.write(bytes(1 << 20))
    assert path.stat().st_size < 2 << 20
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for read in (read_npz, Policy.load, lambda p: tarsus.judge(p, "mini_cheetah")):
        with pytest.raises(TarsusError, match="declares"):
            read(path)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < (300 << 10) * (1024 if sys.platform == "darwin" else 1)


def test_an_array_larger_than_its_member_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "lie.npz"
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        head, {"descr": "<f8", "fortran_order": False, "shape": (10**12,)}
    )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.npy", head.getvalue() + bytes(80))
    with pytest.raises(TarsusError):
        read_npz(path)


def test_overlapping_variables_are_rejected(tmp_path: Path) -> None:
    """A netCDF file of 1 MB whose 1024 variables are all the same bytes."""
    name, count, size = b"v\0\0\0", 1024, 1 << 17

    def word(*numbers: int) -> bytes:
        return struct.pack(f">{len(numbers)}i", *numbers)

    head = b"CDF\x01" + word(0, 10, 1, 1) + name + word(size, 0, 0, 11, count)
    for k in range(count):
        label = f"v{k:03x}".encode()
        head += word(4) + label + word(1, 0, 0, 0, 6, 8 * size, 0)
    path = tmp_path / "bomb.nc"
    path.write_bytes(head + bytes(8 * size))
    with refused(InvalidFile, path):
        read_log(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs FIFOs")
@pytest.mark.parametrize("command", ["judge", "rerun", "play", "sweep", "identify", "render"])
def test_a_fifo_is_refused_before_it_is_opened(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    ending = {"play": "npz", "sweep": "toml", "identify": "toml"}.get(command, "nc")
    path = tmp_path / f"fifo.{ending}"
    os.mkfifo(path)
    more = {"render": [str(tmp_path / "x.png")], "sweep": ["--out", str(tmp_path / "o")]}
    assert cli.main([command, str(path), *more.get(command, [])]) == 2
    assert "fifo" in capsys.readouterr().err


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs FIFOs")
def test_a_robot_file_that_is_a_fifo_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "robot.xml")
    log = run().assign_attrs(robot_file=str(tmp_path / "robot.xml"))
    with refused(InvalidFile, tmp_path / "robot.xml"):
        tarsus.rerun(log)


CHANGES: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "dt": lambda a: {"dt": 1e-12},
    "options.worlds": lambda a: {"options": json.dumps({"worlds": 1e9})},
    "options.sensors": lambda a: {"options": json.dumps({"sensors": 3})},
    "robot_options": lambda a: {"robot_options": "-1"},
    "robot_sha256": lambda a: {"robot_sha256": np.zeros(3)},
    "options.threads": lambda a: {"options": json.dumps({"threads": 10**6})},
    "options.slots": lambda a: {"options": json.dumps({"slots": 10**9})},
    "options": lambda a: {"options": "[" * 10_000},
    "registers.x": lambda a: {"registers": '{"x": "y"}'},
    "law_parameters": lambda a: {"law_parameters": "5"},
    "mean_mu": lambda a: {"mean_mu": "soft"},
    "role_mu": lambda a: {"role_mu": "king"},
    "fast_steps": lambda a: {"fast_steps": -1},
}


@pytest.mark.parametrize("name", CHANGES)
def test_missing_attribute_values_are_reported(name: str, tmp_path: Path) -> None:
    log = run().assign_attrs(CHANGES[name](run().attrs))
    with refused(InvalidFile, name):
        check_log(log)
    save_log(log, tmp_path / "run.nc")
    with pytest.raises(TarsusError, match=name.replace(".", r"\.")):
        tarsus.rerun(tmp_path / "run.nc")


@pytest.mark.parametrize("value", [[[1.0], []], [1.0, []]])
def test_a_register_whose_rows_differ_in_length_is_named(value: list[Any]) -> None:
    log = run().assign_attrs(registers=json.dumps({"law.mu": value}))
    with refused(InvalidFile, "registers.law.mu"):
        tarsus.rerun(log)


@pytest.mark.parametrize("name", ["q", "tau", "state", "time", "contact_point"])
def test_a_variable_of_other_dimensions_is_named(name: str) -> None:
    log = run().copy()
    with refused(InvalidFile, name):
        check_log(log.assign({name: ((), 1.0)}) if name != "time" else log.drop_vars("time"))


def test_reruns_use_the_number_of_worlds_of_the_log() -> None:
    log = run().assign_attrs(options=json.dumps({"precision": "float64", "worlds": 10**6}))
    with refused(UnmetCondition, "world"):
        tarsus.rerun(log)


def test_the_robot_of_a_log_is_read_after_its_attributes_are_checked() -> None:
    for damage in ({"robot_options": '"x"'}, {"robot_sha256": np.zeros(3)}):
        with refused(InvalidFile, next(iter(damage))):
            robot_of(run().assign_attrs(damage))


def test_a_log_without_worlds_or_wall_time() -> None:
    with refused(InvalidFile, "world"):
        check_log(run().expand_dims(world=2).isel(world=slice(0)))
    log = run().assign_attrs(wall_time=0.0)
    assert np.isnan(
        summary(tarsus.Simulation(robot_of(log), controller=None), log)["realtime_factor"]
    )


def test_arrays_whose_rows_differ_in_length_are_refused() -> None:
    with refused(InvalidFile, "array"):
        deserialize([[1.0, 2.0], [3.0]])


def test_messages_stay_on_one_line() -> None:
    error = InvalidFile("the file a\nb\x1b[31m is damaged.", "a\nb")
    assert str(error).splitlines() == [str(error)] and "\x1b" not in str(error)


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("name", ["iterations", "converged", "solver_stage"])
def test_counts_that_are_not_finite_are_refused(name: str, value: float) -> None:
    log = run()
    with refused(InvalidFile, name):
        check_log(log.assign({name: log[name].astype(float) * value}))
