"""The cache of compiled code: its names cover the whole compiler."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tarsus.program.run import cache


@pytest.fixture
def copied_compiler(tmp_path: Path) -> Path:
    """A copy of the compiler's sources."""
    ignored = shutil.ignore_patterns("__pycache__")
    return Path(shutil.copytree(cache.COMPILER, tmp_path / "program", ignore=ignored))


def test_the_same_sources_have_the_same_hash_wherever_they_lie(copied_compiler: Path) -> None:
    assert cache.source_hash(copied_compiler) == cache.source_hash()


def test_a_change_in_any_file_of_the_compiler_changes_its_hash(copied_compiler: Path) -> None:
    files = sorted(copied_compiler.rglob("*.py"))
    assert {file.parent.name for file in files} >= {"ir", "lowering", "codegen", "run"}
    seen = {cache.source_hash(copied_compiler)}
    for file in files:
        file.write_text(file.read_text() + "\n# changed\n")
        cache.source_hash.cache_clear()
        seen.add(cache.source_hash(copied_compiler))
    assert len(seen) == 1 + len(files)


def test_a_new_file_in_a_new_folder_changes_its_hash(copied_compiler: Path) -> None:
    before = cache.source_hash(copied_compiler)
    (copied_compiler / "run" / "other").mkdir()
    (copied_compiler / "run" / "other" / "new.py").write_text("")
    cache.source_hash.cache_clear()
    assert cache.source_hash(copied_compiler) != before
