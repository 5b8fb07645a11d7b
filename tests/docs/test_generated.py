"""The tables in docs that code generates are up to date."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def make_docs() -> ModuleType:
    """tools/make_docs.py."""
    spec = importlib.util.spec_from_file_location("make_docs", ROOT / "tools" / "make_docs.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_they_are_up_to_date(make_docs: ModuleType) -> None:
    old = [
        path.name
        for path, text in make_docs.pages().items()
        if path.read_text(encoding="utf-8") != text
    ]
    assert not old, f"run `uv run python tools/make_docs.py`: {', '.join(old)} would change"


def test_every_page_stands_on_the_site() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8").splitlines()
    pages = [path.stem for path in (ROOT / "docs").glob("*.md") if path.stem != "index"]
    assert not [page for page in pages if page not in index]


def test_every_table_is_used_and_ends(make_docs: ModuleType) -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*.md"))
    assert set(re.findall(r"<!-- generated: (\w+) -->", text)) == set(make_docs.TABLES)
    assert text.count("<!-- generated: ") == text.count("<!-- end -->")
