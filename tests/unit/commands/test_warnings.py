"""Warnings as records: code and subject, in simulations, environments and sweeps."""

from __future__ import annotations

import json
import pickle
import warnings
from pathlib import Path

import pytest

import tarsus
from tarsus.cli import main
from tarsus.errors import WarningRecord, one_per_code
from tarsus.sweeps import query

LIMIT = "dt-above-stable-limit"


def test_a_warning_has_text_code_and_subject() -> None:
    notice = WarningRecord("the step is too long.", LIMIT, "foot")
    again = pickle.loads(pickle.dumps(notice))
    assert again == "the step is too long." and (again.code, again.subject) == (LIMIT, "foot")
    assert json.loads(json.dumps([notice])) == [str(notice)]
    assert (notice.warning.code, notice.warning.subject, str(notice.warning)) == (
        LIMIT,
        "foot",
        notice,
    )
    other = WarningRecord("a longer one.", LIMIT, "hand")
    assert one_per_code([notice, other, WarningRecord("x", "y")]) == [notice, "x"]


def test_an_environment_issues_each_warning_once() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", tarsus.TarsusWarning)
        made = tarsus.Environment(law="soft_convex", worlds=2, dt=0.02)
    codes = [one.message.code for one in caught if isinstance(one.message, tarsus.TarsusWarning)]
    assert codes.count(LIMIT) == 1 and len(codes) == len(set(codes))
    assert LIMIT in {notice.code for notice in made.warnings}


SPEC = """[fixed]
robot = "mini_cheetah"
law = "soft_convex"
seconds = 0.04
dt = 0.02
[vary]
"law.mu" = [0.5, 0.6, 0.8]
[outcomes]
names = ["fell"]
"""


def test_a_sweep_counts_warnings_by_code(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = tmp_path / "long.toml"
    spec.write_text(SPEC)
    asked = ["sweep", str(spec), "--out", str(tmp_path / "out"), "--engine", "inline"]
    assert main(asked) == 0
    assert "3 worlds" in capsys.readouterr().out
    rows = query.run_sql(tmp_path / "out")
    assert all(LIMIT in codes.split(", ") for codes in rows["warnings"])
    [told] = [one for one in query.warnings(tmp_path / "out") if one["code"] == LIMIT]
    assert told["worlds"] == 3 and "stable limit" in told["message"]
    assert main([*asked, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["warnings"]
    assert LIMIT in {one["code"] for one in found}
