"""A user's file is read again after a change."""

from __future__ import annotations

import os
from pathlib import Path

from tarsus import registry


def test_a_file_changed_within_the_same_second_is_read_again(tmp_path: Path) -> None:
    """With the same size and time, Python's cache of compiled files would not notice it."""
    path = tmp_path / "own.py"
    for value in (1, 2):
        path.write_text(f"number = {value}\n")
        os.utime(path, (1e9, 1e9))
        assert registry.load_file(str(path), "part").number == value
    assert [file.name for file in tmp_path.iterdir()] == ["own.py"], "nothing is left beside it"
