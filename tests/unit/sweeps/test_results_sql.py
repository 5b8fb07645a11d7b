"""SQL queries of a sweep's rows read the rows, and no other file."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from helpers.refused import refused

from tarsus import cli
from tarsus.errors import InvalidFile, InvalidValue
from tarsus.sweeps import query

pytest.importorskip("duckdb")
pytest.importorskip("pyarrow")


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    """Two chunks, the second with a column more."""
    folder = tmp_path / "swe'ep" / "chunks"
    folder.mkdir(parents=True)
    first = pd.DataFrame({"sample": [0, 1], "way": [1, 2], "failure": [None, "fell"]})
    second = pd.DataFrame(
        {"sample": [2, 3], "way": [1.5, 2.5], "failure": [None, None], "tilt": [7.0, 8.0]}
    )
    first.to_parquet(folder / "a.parquet")
    second.to_parquet(folder / "b.parquet")
    return folder.parent


def test_ordinary_queries_work(sweep: Path) -> None:
    assert query.run_sql(sweep)["way"].tolist() == [1, 2, 1.5, 2.5]
    assert query.run_sql(sweep, "SELECT count(tilt) AS n FROM rows")["n"].tolist() == [2]
    assert query.run_sql(sweep, "SELECT sum(way) AS s FROM rows WHERE way > 1")["s"][0] == 6
    assert set(query.run_sql(sweep, "SUMMARIZE rows")["column_name"]) >= {"way", "tilt"}
    assert query.failures(sweep)["failure"].tolist() == ["fell"]
    assert cli.main(["results", str(sweep), "--sql", "SELECT way FROM rows"]) == 0


HOSTILE = {
    "write": "COPY rows TO '{out}'",
    "write over a chunk": "COPY (SELECT 1) TO '{chunk}' (FORMAT parquet, USE_TMP_FILE false)",
    "read a text": "SELECT * FROM read_csv('/etc/passwd')",
    "read a chunk": "SELECT * FROM read_parquet('{chunk}')",
    "list files": "SELECT * FROM glob('/etc/*')",
    "install": "INSTALL httpfs",
    "load": "LOAD httpfs",
    "attach": "ATTACH '{out}'",
    "export": "EXPORT DATABASE '{out}'",
    "unlock": "SET enable_external_access = true",
    "two": "SELECT 1; COPY rows TO '{out}'",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_unsafe_queries_are_rejected(
    name: str, sweep: Path, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    chunk, out = tmp_path / "chunk.parquet", tmp_path / "out"
    chunk.write_bytes((sweep / "chunks" / "a.parquet").read_bytes())
    before = chunk.read_bytes()
    sql = HOSTILE[name].format(out=out, chunk=chunk)
    with refused(query.NoAccess, "external_access"):
        query.run_sql(sweep, sql)
    assert cli.main(["results", str(sweep), "--sql", sql]) == 2
    said = capsys.readouterr().err
    assert said.startswith("error: ") and said.count("\n") == 1 and "--external-access" in said
    assert not out.exists() and chunk.read_bytes() == before


def test_a_flag_allows_it(sweep: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    sql = f"COPY (SELECT way FROM rows) TO '{out}'"
    assert cli.main(["results", str(sweep), "--external-access", "--sql", sql]) == 0
    assert out.read_text().split() == ["way", "1.0", "2.0", "1.5", "2.5"]


def test_python_variables_are_not_tables(sweep: Path) -> None:
    for name in ("files", "sql", "last"):
        with refused(InvalidValue, "sql"):
            query.run_sql(sweep, f"SELECT * FROM {name}")


def test_damaged_rows_are_reported(sweep: Path) -> None:
    (sweep / "chunks" / "a.parquet").write_bytes(b"PAR1 none")
    with refused(InvalidFile, sweep / "chunks"):
        query.run_sql(sweep)
