"""`tarsus results` summarizes a sweep: counts, means with intervals, shares with Wilson's
intervals.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tarsus
from tarsus import cli
from tarsus.algebra.intervals import wilson_interval
from tarsus.sweeps import query
from tarsus.sweeps.proportions import is_proportion
from tarsus.sweeps.summary import estimate, format_mean, summary

OWN = """import numpy as np
def late(simulation): return np.full(simulation.worlds, 2.0) + simulation.q[:, 2]
def odd(simulation): return (np.arange(simulation.worlds) % 2).astype(float)
"""


def test_a_share_has_wilson_s_interval() -> None:
    """By Wilson's formula for 3 of 10, and one-sided at the ends."""
    assert wilson_interval(3, 10) == pytest.approx((0.1078, 0.6032), abs=1e-4)
    assert wilson_interval(0, 20)[0] == 0 and wilson_interval(0, 20)[1] == pytest.approx(
        0.1611, abs=1e-4
    )
    assert wilson_interval(20, 20) == pytest.approx((0.8389, 1.0), abs=1e-4)


def test_a_mean_has_the_interval_of_its_standard_error() -> None:
    values = [1.0, 2.0, 3.0, 4.0, float("nan")]
    found = estimate(values, share=False)
    half = 1.959964 * np.std([1, 2, 3, 4], ddof=1) / 2
    assert found is not None
    assert (found.mean, found.high - 2.5) == (2.5, pytest.approx(half))
    assert estimate([float("nan")], share=False) is None
    assert format_mean(found) == "2.5 ±1.3"


def test_an_outcome_of_0_and_1_is_a_share() -> None:
    assert is_proportion("fell", [0.0, 1.0, float("nan")])
    assert not is_proportion("fell", [0.0, 0.5]) and not is_proportion("fell", [])
    assert not is_proportion("speed", [0.0, 0.0]), "it has a unit"


@pytest.fixture(scope="module")
def asked(ball: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    own = tmp_path_factory.mktemp("own") / "own.py"
    own.write_text(OWN)
    return {
        "fixed": {"robot": str(ball), "gait": "free", "seconds": 0.01},
        "vary": {"law.mu": {"low": 0.1, "high": 0.9}, "law": ["moreau", "compliant"]},
        "sample": {"method": "latin", "count": 40, "seed": 1},
        "outcomes": {"names": ["speed"], "file": str(own)},
    }


@pytest.fixture(scope="module")
def swept(asked: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("sweep") / "out"
    tarsus.sweep(asked, out, "inline")
    return out


def test_summaries_group_by_varied_parameters(
    swept: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cells = summary(swept)
    assert cells[0].worlds == 40 and cells[0].failed == 0
    by_law = [cell for cell in cells if cell.parameter == "law"]
    by_friction = [cell for cell in cells if cell.parameter == "law.mu"]
    assert [cell.value for cell in by_law] == ["compliant", "moreau"]
    assert [cell.worlds for cell in by_friction] == [10] * 4
    assert sum(cell.worlds for cell in by_law) == 40
    odd, late = cells[0].outcomes["odd"], cells[0].outcomes["late"]
    assert odd is not None and odd.share and late is not None and not late.share
    assert cli.main(["results", str(swept)]) == 0
    text = capsys.readouterr().out
    assert "odd / %" in text and "speed / (m/s)" in text and "law.mu" in text
    assert cli.main(["results", str(swept), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["worlds"] == 40


def test_a_share_is_drawn_with_its_intervals(swept: Path) -> None:
    rows = query.run_sql(swept)
    axes = query.plot(swept, "law", "odd").axes[0]
    (bars,) = axes.containers
    heights = sorted(bars[0].get_ydata())
    assert heights == pytest.approx(sorted(rows.groupby("law")["odd"].mean()))


def test_a_dry_run_counts_the_chunks_of_the_run(asked: dict[str, Any], swept: Path) -> None:
    made = query.run_sql(swept, "SELECT count(DISTINCT chunk) AS n FROM rows")["n"][0]
    assert tarsus.sweep(asked, swept, "inline", dry_run=True).chunks == made > 2
