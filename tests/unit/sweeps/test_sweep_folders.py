"""Folder of a sweep: several runs share it, and its rows match the latest specification."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from helpers.ball import beside

import tarsus
from tarsus import cli
from tarsus.errors import InvalidValue
from tarsus.sweeps import query, spec
from tarsus.sweeps.store import Store

OWN = "def height(simulation):\n    return {factor} * simulation.q.reshape(-1, 7)[:, 2]\n"


@pytest.fixture
def folder(tmp_path: Path, ball: Path) -> Path:
    return beside(tmp_path, ball, OWN.format(factor=1))


def dropped(count: int = 40) -> dict[str, Any]:
    return {
        "fixed": {"robot": "ball.xml", "gait": "free", "seconds": 0.05},
        "vary": {"law.mu": {"low": 0.1, "high": 1.0, "steps": count}},
        "outcomes": {"names": ["fell"], "file": "own.py"},
    }


@pytest.fixture
def in_chunks_of_eight(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Store, "chunk_sizes", lambda self, groups, measured: [8] * len(groups))


@pytest.mark.usefixtures("in_chunks_of_eight")
def test_rows_match_the_latest_specification(folder: Path) -> None:
    out = folder / "out"
    tarsus.sweep(spec.from_tables(dropped(), folder), out, "inline")
    before = query.run_sql(out)
    (folder / "own.py").write_text(OWN.format(factor=2))
    report = tarsus.sweep(spec.from_tables(dropped(), folder), out, "inline")
    assert report.done == report.chunks == 5
    after = query.run_sql(out)
    assert len(after) == len(before) == 40, "not the rows of both"
    assert after["height"].tolist() == (2 * before["height"]).tolist()
    assert len(list((out / "chunks").iterdir())) == 10
    # back again: nothing is to be made
    (folder / "own.py").write_text(OWN.format(factor=1))
    assert tarsus.sweep(spec.from_tables(dropped(), folder), out, "inline").skipped == 5
    assert query.run_sql(out).equals(before)


@pytest.mark.usefixtures("in_chunks_of_eight")
def test_chunks_of_concurrent_runs_are_not_repeated(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = spec.from_tables(dropped(), folder)
    tarsus.sweep(asked, folder / "out", "inline")
    monkeypatch.setattr(Store, "finished_digests", lambda self: set[str]())
    report = tarsus.sweep(asked, folder / "out", "inline")
    assert (report.done, report.skipped) == (0, 5) and not report.lost


def test_rows_record_versions(folder: Path) -> None:
    tarsus.sweep(spec.from_tables(dropped(8), folder), folder / "out", "inline")
    sql = "SELECT DISTINCT chunk, tarsus_version, versions->>'$.casadi' AS casadi FROM rows"
    table = query.run_sql(folder / "out", sql)
    assert all(word[0].isdigit() for word in [*table["tarsus_version"], *table["casadi"]])


TOGETHER = """
import sys, tarsus
from pathlib import Path
from tarsus.sweeps import spec
if __name__ == "__main__":
    asked = spec.from_tables(eval(sys.argv[1]), Path(sys.argv[2]))
    found = tarsus.sweep(asked, sys.argv[3], "inline")
    print(found.done, found.skipped, len(found.lost))
"""


@pytest.mark.slow
def test_concurrent_runs_share_the_work(folder: Path) -> None:
    given = dropped(4000)
    given["fixed"]["seconds"] = 1.0
    (folder / "run.py").write_text(TOGETHER)
    asked, out = spec.from_tables(given, folder), folder / "out"
    arguments = [sys.executable, str(folder / "run.py"), repr(given), str(folder), str(out)]
    runs = [subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    told = [[int(n) for n in run.communicate(timeout=300)[0].split()] for run in runs]
    chunks = len(list((out / "chunks").iterdir()))
    assert all(done + skipped == chunks and not lost for done, skipped, lost in told)
    assert sum(done for done, _, _ in told) < 2 * chunks, "not everything twice"
    assert tarsus.sweep(asked, out, "inline").done == 0
    table = query.run_sql(out, "SELECT count(*) AS n, count(DISTINCT sample) AS m FROM rows")
    assert table.iloc[0].tolist() == [4000, 4000]


def test_failed_worlds_are_reported(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Negative masses: the row of every world and the command report them."""
    (folder / "spec.toml").write_text(
        '[fixed]\nrobot = "ball.xml"\ngait = "free"\nseconds = 0.01\n'
        '[vary]\n"mass.ball" = { low = -1.1, high = -0.9, steps = 3 }\n'
        '[outcomes]\nnames = ["fell"]\n'
    )
    given = [str(folder / "spec.toml"), "--out", str(folder / "out"), "--engine", "inline", "-q"]
    assert cli.main(["sweep", *given]) == 1
    told = capsys.readouterr().out
    assert "3 of 3 worlds failed:" in told and "mass_scale" in told
    # and by a dry run
    assert cli.main(["sweep", *given, "--dry-run"]) == 1
    told = capsys.readouterr().out
    assert "3 of 3 tried worlds failed:" in told
    assert "'ball'" in told and "-1.1" in told


def test_sql_without_the_table_gets_its_name(folder: Path) -> None:
    tarsus.sweep(spec.from_tables(dropped(8), folder), folder / "out", "inline")
    with pytest.raises(InvalidValue, match="'rows'"):
        query.run_sql(folder / "out", "SELECT * FROM results")
