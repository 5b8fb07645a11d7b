"""Spelling, and words and phrases that a native speaker would not write."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.pages import BLOCK, PAGES, ROOT

SOURCES = [path for folder in ("src", "tests", "tools") for path in (ROOT / folder).rglob("*.py")]
WORDS = {
    "seldom": "rarely, cold",
    "anew": "again",
    "heed": "note, follow",
    "shall": "must, should",
    "whoever": "anyone who",
    "speaks? of": "mentions, lists",
    "to be had": "available",
    "gone on with": "resumed",
}
"""Pattern of each word that no file may use, and what to write instead."""
PHRASES = {
    "(?:is|are) told": "is warned, reported, passed",
    "says? so": "name what is reported, where and how",
    "in place of": "instead of",
    "g[ai]ves? way": "is compliant",
    "beside": "next to, compared with, in addition to",
    "bears?": "carries",
    "so many": "the number of",
    "for want of": "without",
    "its way": "its distance, its path",
    r"none that|no \w+ that": "rewrite with a verb",
}
"""The same for phrases that no page may use, decisions included."""
CHECKED = sorted({*PAGES, ROOT / "CHANGELOG.md"})


def prose(page: Path) -> str:
    """Return a page without blocks, code and the targets of links; lines keep their numbers."""
    text = page.read_text(encoding="utf-8")
    for pattern in (BLOCK.pattern, r"<!--.*?-->", r"`[^`]+`", r"\]\([^)]*\)"):
        what = re.compile(pattern, re.DOTALL | re.MULTILINE)
        text = what.sub(lambda match: "\n" * match[0].count("\n"), text)
    return text


def findings(text: str, patterns: dict[str, str]) -> list[str]:
    """Return each match with its line and what to write instead."""
    return [
        f"line {text.count(chr(10), 0, match.start()) + 1}: {match[0]!r}, better: {better}"
        for pattern, better in patterns.items()
        for match in re.finditer(rf"\b(?:{pattern})\b", text, re.IGNORECASE)
    ]


def test_spelling() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "codespell_lib"], cwd=ROOT, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize("page", CHECKED, ids=lambda path: path.name)
def test_pages_avoid_these_phrases(page: Path) -> None:
    found = findings(prose(page), PHRASES)
    assert not found, "\n".join(found)


def test_no_file_uses_these_words() -> None:
    here = Path(__file__)
    found = [
        f"{path.relative_to(ROOT)}, {each}"
        for path in [*PAGES, *SOURCES]
        if path != here
        for each in findings(path.read_text(encoding="utf-8"), WORDS)
    ]
    assert not found, "\n".join(found)
