"""Cache of compiled code: its keys cover the whole compiler, and it never runs code of other
users.
"""

from __future__ import annotations

import os
import shutil
import warnings
from collections.abc import Callable
from pathlib import Path

import casadi as ca
import pytest
from helpers.warned import warned

from tarsus.errors import TarsusWarning
from tarsus.program.codegen.layout import Target
from tarsus.program.ir.trace import Builder
from tarsus.program.run import cache, native


@pytest.fixture
def copied_compiler(tmp_path: Path) -> Path:
    """A copy of the compiler's sources."""
    ignored = shutil.ignore_patterns("__pycache__")
    return Path(shutil.copytree(cache.COMPILER, tmp_path / "program", ignore=ignored))


def test_source_hashes_do_not_depend_on_the_location(copied_compiler: Path) -> None:
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


# ---------------------------------------------------------------- whose code it is

POSIX = pytest.mark.skipif(os.name == "nt", reason="modes, owners and pipes of POSIX")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The cache's folder of this test, with one object, `mine.o`."""
    monkeypatch.setenv("TARSUS_CACHE", str(tmp_path / "cache"))
    cache.write("mine.o", b"code")
    cache._warn.cache_clear()
    return tmp_path / "cache"


@POSIX
def test_cached_files_are_writable_only_by_the_user(folder: Path) -> None:
    assert cache.read("mine.o") == b"code"
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / "mine.o").stat().st_mode & 0o777 == 0o600


def test_cached_objects_with_a_wrong_name_are_not_used(folder: Path) -> None:
    cache.write("other.o", b"another robot's code")
    shutil.copy(folder / "other.o", folder / "mine.o")
    assert cache.read("mine.o") is None
    assert cache.read("other.o") == b"another robot's code"


@POSIX
@pytest.mark.parametrize("what", [".", "mine.o"])
@pytest.mark.parametrize("mode", [0o777, 0o770, 0o1777, 0o702])
def test_cache_folders_writable_by_others_are_reported_once(
    folder: Path, what: str, mode: int
) -> None:
    (folder / what).chmod(mode)
    with pytest.warns(TarsusWarning, match=r"users can write to .*chmod go-w.*not used") as said:
        assert cache.read("mine.o") is None
        assert cache.read("mine.o") is None
    assert len(said) == 1
    (folder / what).chmod(0o700)
    assert cache.read("mine.o") == b"code"


@POSIX
def test_nothing_is_cached_in_folders_writable_by_others(folder: Path) -> None:
    folder.chmod(0o777)
    with pytest.warns(TarsusWarning, match="users can write"):
        cache.write("next.o", b"code")
    assert [file.name for file in folder.iterdir()] == ["mine.o"]


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away"
)
@pytest.mark.parametrize("what", [".", "mine.o"])
def test_cached_code_of_another_user_is_not_used(folder: Path, what: str) -> None:
    os.chown(folder / what, 12345, 12345)
    with pytest.warns(TarsusWarning, match=r"another user \(uid 12345\)"):
        assert cache.read("mine.o") is None


def a_pipe(file: Path) -> None:
    os.mkfifo(file)


def a_link(file: Path) -> None:
    file.symlink_to(file.parent / "elsewhere")


def endless(file: Path) -> None:
    file.symlink_to("/dev/zero")


def huge(file: Path) -> None:
    with open(file, "wb") as opened:
        opened.truncate(1 << 40)


@POSIX
@pytest.mark.parametrize("put", [a_pipe, a_link, endless, huge, Path.mkdir])
def test_special_files_in_the_cache_neither_hang_nor_fill_memory(
    folder: Path, put: Callable[[Path], None]
) -> None:
    (folder / "mine.o").rename(folder / "elsewhere")
    put(folder / "mine.o")
    with pytest.warns(TarsusWarning, match=r"mine\.o .*regular file"):
        assert cache.read("mine.o") is None


def test_without_a_home_nothing_is_cached(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TARSUS_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)

    def homeless(self: Path) -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "expanduser", homeless)
    cache.write("mine.o", b"code")
    assert cache.read("mine.o") is None


def test_long_compilations_are_announced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Once: what is in the cache is only read."""
    monkeypatch.setattr(native, "LONG_PROGRAM", 3)
    b = Builder("long to compile")
    x = b.parameter("x")
    program = b.program(y=ca.sin(x) * ca.cos(x) + 0.123)
    with warned("slow-compilation", "long to compile"):
        native.compile_kernel(program, Target(1), quick=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        native.compile_kernel(program, Target(1), quick=True)
