"""Files are written completely or not at all, and JSON is valid."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tarsus
from tarsus.comparison.imported import read_run
from tarsus.errors import InvalidFile, UnknownName
from tarsus.files import (
    atomic_write,
    check_writable,
    file_name,
    is_file,
    json_text,
    temporary_path,
    write_text,
)
from tarsus.identification.recording import open_log
from tarsus.learning.policy import Policy
from tarsus.simulation.recording.log import read_log
from tarsus.validation.real.cube_tosses import CubeTosses
from tarsus.validation.robot_check import select_robots


def test_a_failed_write_leaves_only_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "log.nc"
    path.write_text("old")
    with pytest.raises(ValueError, match="half way"), atomic_write(path) as temporary:
        temporary.write_text("ne")
        raise ValueError("half way")
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]


def test_a_successful_write_replaces_the_file(tmp_path: Path) -> None:
    path = tmp_path / "log.nc"
    path.write_text("old")
    with atomic_write(path) as temporary, atomic_write(path) as other:
        assert temporary.parent == tmp_path and temporary != other
        temporary.write_text("new")
        other.write_text("other")
        assert path.read_text() == "old"
    assert path.read_text() == "new" and list(tmp_path.iterdir()) == [path]


KILLED = """
import os, signal, sys
from pathlib import Path
from tarsus.files import temporary_path, atomic_write
temporary_path(Path(sys.argv[1], "folder")).mkdir()
with atomic_write(Path(sys.argv[1], "log.nc")) as temporary:
    temporary.write_text("ne")
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere what is left stays")
def test_leftovers_of_killed_processes_are_removed(tmp_path: Path) -> None:
    """When the folder is written to again; what living processes write, and other files, stay."""
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False)
    assert len(list(tmp_path.glob(".*.part"))) == 2
    mine = tmp_path / temporary_path(tmp_path.parent / "mine").name
    others = tmp_path / ".elsewhere-1-2.part"
    for file in (mine, others):
        file.touch()
    path = tmp_path / "log.nc"
    with atomic_write(path) as temporary:
        temporary.write_text("new")
    assert set(tmp_path.iterdir()) == {path, mine, others}


def test_several_texts_are_written_atomically(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    second.mkdir()
    with pytest.raises(IsADirectoryError):
        write_text({first: "1", second: "2"})
    assert list(tmp_path.iterdir()) == [second]
    second.rmdir()
    write_text({first: "1", second: "ü"})
    assert (first.read_text(), second.read_text(encoding="utf-8")) == ("1", "ü")


@pytest.mark.parametrize("name", ["../escaped", "/abs/path", "..", ".", "", "a b\tc\nd", "x" * 300])
def test_a_name_maps_to_one_file_in_its_folder(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"{file_name(name, 'law ü')}.nc"
    assert path.resolve().parent == tmp_path.resolve() and len(path.name) < 150
    assert not any(mark in path.name for mark in " \t\n/\\")
    path.touch()
    assert list(tmp_path.iterdir()) == [path] and not path.name.startswith(".")


def test_valid_names_are_unchanged() -> None:
    assert (
        file_name("mini_cheetah") == "mini_cheetah" and file_name("Größe-1.2", "x") == "Größe-1.2_x"
    )


def test_three_writers_of_one_file_leave_one_whole_file(tmp_path: Path) -> None:
    path, texts = tmp_path / "log.nc", [letter * 100_000 for letter in "abc"]

    def write(text: str) -> None:
        for _ in range(20):
            with atomic_write(path) as temporary:
                temporary.write_text(text)

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(write, texts))
    assert path.read_text() in texts and list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(sys.platform == "win32", reason="no limits on the size of files")
def test_a_full_disk_is_reported_and_leaves_no_file(tmp_path: Path) -> None:
    """A limit on the size of files stands for the disk."""
    path = tmp_path / "log.nc"
    path.write_text("old")
    code = """if True:
        import resource, signal, sys
        from pathlib import Path
        from tarsus.files import write_text
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        try:
            write_text({Path(sys.argv[1]): "x" * 100_000})
        except OSError as error:
            print(error.filename)
    """
    done = subprocess.run([sys.executable, "-B", "-c", code, path], capture_output=True, text=True)
    assert done.stdout.strip() == str(path)
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]


def test_unwritable_folders_are_reported_before_the_work(tmp_path: Path) -> None:
    check_writable(tmp_path / "a" / "b")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").touch()
    for folder in (tmp_path / "file" / "folder", tmp_path / "file"):
        with pytest.raises(OSError, match="Not a directory") as told:
            check_writable(folder)
        assert told.value.filename == str(folder)
    if Path("/proc/self").is_dir():  # nobody may write there, not even root
        with pytest.raises(OSError, match="/proc/new"):
            check_writable(Path("/proc/new/folder"))


def test_json_excludes_infinities_and_supports_numpy() -> None:
    value = {
        1: np.array([1.0, np.nan]),
        "flag": np.bool_(True),
        "count": np.int64(3),
        "single": np.float32(0.5),
        "list": (float("inf"), None, "text", False),
        "path": Path("a"),
    }
    assert json.loads(json_text(value)) == {
        "1": [1.0, None],
        "flag": True,
        "count": 3,
        "single": 0.5,
        "list": [None, None, "text", False],
        "path": "a",
    }


LONG = "x" * 300  # letters, more than a file's name may have


@pytest.mark.parametrize(
    ("reader", "ending"),
    [
        (read_log, ".nc"),
        (tarsus.open_log, ".nc"),
        (tarsus.rerun, ".csv"),
        (open_log, ".csv"),
        (open_log, ".nc"),
        (lambda path: read_run(path, None), ".parquet"),
        (lambda path: read_run(path, None), ".nc"),
        (CubeTosses().recording, ".npz"),
        (lambda path: select_robots([str(path)]), ""),
        (Policy.load, ".npz"),
    ],
)
def test_too_long_names_are_not_files(reader: Callable[[Path], Any], ending: str) -> None:
    assert not is_file(Path(LONG + ending))
    with pytest.raises((InvalidFile, UnknownName)):
        reader(Path(LONG + ending))
