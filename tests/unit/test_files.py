"""Files are written whole or not at all; JSON holds what JSON can hold."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tarsus.files import json_text, replacing, write_text


def test_a_block_that_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "log.nc"
    path.write_text("old")
    with pytest.raises(ValueError, match="half way"), replacing(path) as temporary:
        temporary.write_text("ne")
        raise ValueError("half way")
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]


def test_a_block_that_ends_replaces_the_file(tmp_path: Path) -> None:
    path = tmp_path / "log.nc"
    path.write_text("old")
    with replacing(path) as temporary, replacing(path) as other:
        assert temporary.parent == tmp_path and temporary != other
        temporary.write_text("new")
        other.write_text("other")
        assert path.read_text() == "old"
    assert path.read_text() == "new" and list(tmp_path.iterdir()) == [path]


def test_of_several_texts_all_are_written_or_none(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    second.mkdir()
    with pytest.raises(IsADirectoryError):
        write_text({first: "1", second: "2"})
    assert list(tmp_path.iterdir()) == [second]
    second.rmdir()
    write_text({first: "1", second: "ü"})
    assert (first.read_text(), second.read_text(encoding="utf-8")) == ("1", "ü")


def test_json_has_no_infinities_and_knows_numpy() -> None:
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
