"""Check that the list of slow cases names existing tests; otherwise a renamed test would run as
quick.
"""

from __future__ import annotations

from helpers.pages import ROOT
from helpers.slow_cases import SLOW_CASES


def test_every_slow_case_is_a_test() -> None:
    texts = {p.name: p.read_text(encoding="utf-8") for p in (ROOT / "tests").rglob("test_*.py")}
    cases = [case.split("::", 1) for case in SLOW_CASES if "::" in case]
    missing = [
        f"{file}::{test}"
        for file, test in cases
        if f"def {test.partition('[')[0]}(" not in texts.get(file, "")
    ]
    assert len(cases) > 100
    assert not missing
