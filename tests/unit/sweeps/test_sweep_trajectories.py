"""Trajectories of a sweep: complete logs of selected worlds, with the bits of their rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from helpers.ball import beside
from helpers.refused import refused

import tarsus
from tarsus import cli
from tarsus.errors import InvalidValue, TarsusError, UnknownName, UnmetCondition
from tarsus.sweeps import query, spec, store
from tarsus.sweeps.groups import group_worlds, split_chunks
from tarsus.sweeps.store import Store
from tarsus.viewer.log_accessor import open_log
from tarsus.viewer.track import build_track

DT = 0.002
OWN = """
def way(simulation):
    return simulation.q.reshape(-1, 7)[:, 0]
def left(simulation):
    return simulation.q.reshape(-1, 7)[:, 0] < 0
"""


@pytest.fixture
def folder(tmp_path: Path, ball: Path) -> Path:
    return beside(tmp_path, ball, OWN)


def pushed(keep: Any, **changed: Any) -> dict[str, Any]:
    """A ball that is pushed for a while, to either side, in 24 worlds."""
    fixed = {"robot": "ball.xml", "gait": "free", "seconds": 0.06, "dt": DT}
    push = {"push.body": "ball", "push.at": 0.0113, "push.seconds": 0.02}
    return {
        "fixed": {**fixed, **push},
        "vary": {
            "push.x": {"low": -5.0, "high": 5.0},
            "mass.ball": {"low": 0.5, "high": 2.0},
            "law.mu": {"low": 0.2, "high": 1.0},
            "noise.u": [0.05],
        },
        "sample": {"method": "latin", "count": 24, "seed": 2},
        "outcomes": {"names": ["speed"], "file": "own.py"},
        "trajectories": {"keep": keep},
        **changed,
    }


@pytest.fixture(autouse=True)
def in_chunks_of_seven(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut without being measured."""
    monkeypatch.setattr(Store, "chunk_sizes", lambda self, groups, measured: [7] * len(groups))


def files(out: Path) -> dict[str, bytes]:
    """All that is there, by name."""
    found = {str(p.relative_to(out)): p.read_bytes() for p in out.rglob("*.*") if p.is_file()}
    return {name: content for name, content in found.items() if not name.endswith(".json")}


def test_trajectories_match_their_rows_bitwise(folder: Path) -> None:
    out = folder / "out"
    report = tarsus.sweep(spec.from_tables(pushed("left"), folder), out, "inline")
    table = query.run_sql(out)
    kept = table[table["trajectory"].notna()]
    assert kept["sample"].tolist() == table[table["left"] == 1]["sample"].tolist()
    assert 4 < len(kept) == report.trajectories < 20 and not report.lost
    assert report.megabytes == pytest.approx(Store(out).megabytes()) and report.megabytes > 0
    for _, row in kept.iterrows():
        with xr.open_dataset(out / str(row["trajectory"]), engine="scipy") as log:
            assert log["q"].values[-1, 0] == row["way"], "to the last bit"
            assert log.attrs["sample"] == row["sample"]
            assert not {"command_line", "wall_time", "processor"} & set(log.attrs)
    # like any log: watched, run again, judged, the push and the mass known
    first: Any = kept.iloc[0]
    path = out / first["trajectory"]
    log = open_log(path)
    assert build_track(log).q.shape == (30, 1, 7)
    force = np.zeros(30)
    force[6:16] = first["push.x"]  # from 0.0113 s, the nearest step, for 0.02 s
    np.testing.assert_array_equal(log["push"].sel(pushed="ball", wrench="fx"), force)
    assert tarsus.rerun(path).reproduced
    assert tarsus.judge(path)["residuals"]["equation_N"] < 1e-9


@pytest.mark.parametrize(
    ("keep", "samples"),
    [("all", [0, 1, 2, 3, 4, 5, 6, 7]), (3, [0, 2, 5]), ([3, 7], [3, 7]), (0, []), (99, range(8))],
)
def test_trajectories_are_selected(folder: Path, keep: Any, samples: Sequence[int]) -> None:
    out, eight = folder / "out", {"method": "latin", "count": 8}
    tarsus.sweep(spec.from_tables(pushed(keep, sample=eight), folder), out, "inline")
    names = sorted(int(path.stem) for path in out.glob("trajectories/*/*.nc"))
    assert names == list(samples)
    table = query.run_sql(out)
    assert ("trajectory" in table) == bool(names)
    if names:
        assert sorted(table[table["trajectory"].notna()]["sample"]) == names


def test_diverged_worlds_keep_partial_trajectories(folder: Path) -> None:
    vary = {"law.mu": [0.5, -1.0], "push.x": [0.0, 1e15]}
    given = pushed("failed", vary=vary, sample={})
    tarsus.sweep(spec.from_tables(given, folder), folder / "out", "inline")
    table = query.run_sql(folder / "out").set_index("sample")
    assert table["failure"].notna().tolist() == [False, True, True, True]
    lost = table["trajectory"].dropna()
    assert lost.index.tolist() == [1]
    with xr.open_dataset(folder / "out" / str(lost[1]), engine="scipy") as log:
        assert 0 < log.sizes["time"] < 30


def test_trajectory_files_do_not_depend_on_the_chunks(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def by_sample(out: Path) -> dict[str, bytes]:
        tarsus.sweep(spec.from_tables(pushed(6), folder), out, "inline")
        return {path.name: path.read_bytes() for path in out.glob("trajectories/*/*.nc")}

    one = by_sample(folder / "one")
    monkeypatch.setattr(Store, "chunk_sizes", lambda self, groups, measured: [24] * len(groups))
    assert by_sample(folder / "other") == one and len(one) == 6


def test_files_are_written_completely(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk is full in the middle of a chunk's second trajectory, or before its rows."""
    eight = {"method": "latin", "count": 8}
    asked, out = spec.from_tables(pushed("all", sample=eight), folder), folder / "out"
    whole = folder / "whole"
    tarsus.sweep(asked, whole, "inline")
    write = store._write_file
    for full_at in ("second", "rows"):
        count = 0

        def failing(path: Path, content: bytes, at: str = full_at) -> None:
            nonlocal count
            count += 1
            if count >= 2 if at == "second" else path.suffix != ".nc":
                path.write_bytes(content[:100])
                raise OSError(28, "No space left on device", str(path))
            write(path, content)

        monkeypatch.setattr(store, "_write_file", failing)
        with pytest.raises(OSError, match="No space"):
            tarsus.sweep(asked, out, "inline")
        assert not list((out / "chunks").iterdir())
        folders = list((out / "trajectories").iterdir())
        assert bool(folders) == (full_at == "rows")
        assert all(len(list(place.iterdir())) in (7, 1) for place in folders)
    monkeypatch.setattr(store, "_write_file", write)
    tarsus.sweep(asked, out, "inline")
    assert files(out) == files(whole)


def test_absurd_budgets_are_rejected(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = pushed("all")
    given["trajectories"]["max_mb"] = 0.5
    monkeypatch.undo()
    with refused(UnmetCondition, "trajectories.keep"):
        tarsus.sweep(spec.from_tables(given, folder), folder / "out", "inline")
    assert not list((folder / "out").rglob("*.nc"))
    # not known beforehand: it stops where it is reached, and goes on when more is allowed
    monkeypatch.setattr(Store, "chunk_sizes", lambda self, groups, measured: [7] * len(groups))
    given["trajectories"] = {"keep": "left", "max_mb": 0.1}
    with refused(UnmetCondition, "trajectories.max_mb"):
        tarsus.sweep(spec.from_tables(given, folder), folder / "out", "inline")
    given["trajectories"]["max_mb"] = 50
    report = tarsus.sweep(spec.from_tables(given, folder), folder / "out", "inline")
    assert report.skipped > 0 and report.done > 0 and report.skipped + report.done == 4


@pytest.mark.parametrize(
    ("keep", "kind", "subject"),
    [
        ("fallen", UnknownName, "fallen"),
        (-1, InvalidValue, "trajectories.keep"),
        ([3, 99], InvalidValue, "trajectories.keep"),
        ([], InvalidValue, "trajectories.keep"),
        (0.5, InvalidValue, "trajectories.keep"),
    ],
)
def test_a_bad_choice_is_refused(
    folder: Path, keep: Any, kind: type[TarsusError], subject: str
) -> None:
    with refused(kind, subject):
        tarsus.sweep(spec.from_tables(pushed(keep), folder), folder / "out", "inline")


def test_the_command_selects_trajectories_and_prints_their_size(
    folder: Path, capsys: pytest.CaptureFixture
) -> None:
    lines = ['[fixed]\nrobot = "ball.xml"\ngait = "free"\nseconds = 0.06\ndt = 0.002']
    lines += ['[vary]\n"law.mu" = { low = 0.2, high = 1.0, steps = 20 }']
    (folder / "sweep.toml").write_text("\n".join(lines))
    arguments = ["sweep", str(folder / "sweep.toml"), "--out", str(folder / "out")]
    arguments += ["--engine", "inline", "--trajectories"]
    assert cli.main([*arguments, "3,17", "--dry-run"]) == 0
    assert "at most 2 trajectories, about 0." in capsys.readouterr().out
    assert cli.main([*arguments, "3,17"]) == 0
    assert "2 trajectories, 0." in capsys.readouterr().out
    assert cli.main([*arguments, "falling"]) == 2
    assert "'falling'" in capsys.readouterr().err


def test_chunks_are_equal_and_smaller_at_the_end(folder: Path) -> None:
    group = group_worlds(
        spec.from_tables(pushed(0, sample={"method": "latin", "count": 2000}), folder)
    )[0]
    for size in (1, 7, 8, 100, 500, 1999, 2000, 5000):
        parts = list(split_chunks(group, size))
        assert [n for part in parts for n in part.samples] == list(range(2000))
        lengths = [len(part) for part in parts]
        assert max(lengths) <= max(size, 8) and lengths == sorted(lengths, reverse=True)
    assert [len(part) for part in split_chunks(group, 500)] == [500, 500, 500, 250, 125, 125]


@pytest.mark.slow
def test_engines_store_the_same_bytes(folder: Path) -> None:
    asked = spec.from_tables(pushed("left"), folder)
    tarsus.sweep(asked, folder / "inline", "inline")
    tarsus.sweep(asked, folder / "processes", "processes", workers=2)
    assert files(folder / "inline") == files(folder / "processes")
    assert len(group_worlds(asked)) == 1
