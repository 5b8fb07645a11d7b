"""Behavior on Windows that can be tested elsewhere: object files and file names."""

from __future__ import annotations

import ctypes
import mmap
import platform
import struct
import sys
from pathlib import Path

import casadi as ca
import llvmlite.binding as llvm
import numpy as np
import pytest

from tarsus.files import file_name
from tarsus.program.codegen.emit import Emitter
from tarsus.program.codegen.kernels import LaneGroups
from tarsus.program.codegen.layout import Target
from tarsus.program.ir.program import Program
from tarsus.program.ir.trace import Builder
from tarsus.program.run import cache, native, profile_files
from tarsus.program.run.machine import detect_host
from tarsus.program.run.owned_files import UntrustedCacheFile
from tarsus.program.run.worlds import Worlds

TRIPLE = "x86_64-pc-windows-msvc"
EXECUTED, RELATIVE = 0x20000000, 4  # a section's flag, a kind of reference
STUBS = {  # machine code by Windows's rules for calls: `ret`; `rep movsb` of r8 bytes, rdx to rcx
    "__chkstk": b"\xc3",
    "memcpy": bytes.fromhex("57 56 48 89 cf 48 89 d6 4c 89 c1 48 89 f8 f3 a4 5e 5f c3"),
}
HEADER, SYMBOL = 20, 18  # bytes of a COFF file's head, of an entry in its table of symbols
MANY = 300  # numbers, twice on the stack: more than the page that a function may take unasked
HERE = platform.machine() in ("x86_64", "AMD64") and sys.platform == "linux"


def program() -> Program:
    """Arithmetic, an elementary function, a loop, and a stack of more than a page."""
    b = Builder("windows")
    x = b.declare("x", MANY)
    y = b.store("y", ca.vertcat(ca.sin(x[0]), ca.exp(x[1]), x[2:] * x[2:] + 0.5))
    start = {"y": y, "k": ca.SX(0)}
    last = b.loop(start, lambda v: ({"y": 0.9 * v["y"] + x, "k": v["k"] + 1}, 4 - v["k"]), 9)
    return b.program(x=last["y"])


def compiled(lanes: int) -> bytes:
    """The program's object for Windows on x86-64."""
    native.create_target_machine(True)
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    made_for = llvm.Target.from_triple(TRIPLE).create_target_machine(
        cpu=detect_host().cpu,
        features=detect_host().features,
        opt=0,
        reloc="pic",
        codemodel="small",
    )
    module = llvm.parse_assembly(Emitter(program(), Target(lanes), LaneGroups()).text())
    module.triple = TRIPLE
    return made_for.emit_object(module)


class Coff:
    """An object as Windows has it: sections, symbols, and what is to be filled in."""

    def __init__(self, code: bytes) -> None:
        machine, self.sections, _, table, count = struct.unpack_from("<HHIII", code)
        assert machine == 0x8664
        self.code, texts, k = code, table + SYMBOL * count, 0
        self.symbols: dict[int, tuple[str, int, int]] = {}  # name, section from 1 on, place in it
        self.outside: set[str] = set()
        while k < count:
            raw = code[table + SYMBOL * k :][:SYMBOL]
            value, section, _, kind, more = struct.unpack_from("<IhHBB", raw, 8)
            at = texts + struct.unpack_from("<I", raw, 4)[0]
            long = code[at : code.index(b"\0", at)] if raw[:4] == b"\0\0\0\0" else b""
            self.symbols[k] = (long or raw[:8].rstrip(b"\0")).decode(), section, value
            if section == 0 and kind == 2:
                self.outside.add(self.symbols[k][0])
            k += 1 + more

    def loaded(self, stubs: dict[str, bytes]) -> tuple[mmap.mmap, int]:
        """Memory that holds it, and the address of `kernel`; stubs: code of what is outside."""
        memory = mmap.mmap(-1, 1 << 20, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        base = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        places, at = {}, 64
        for name, stub in stubs.items():
            memory[at : at + len(stub)] = stub
            places[name], at = at, at + 64
        # sections, one behind the other
        heads = [
            struct.unpack_from("<8xIIIIIIHHI", self.code, HEADER + 40 * k)
            for k in range(self.sections)
        ]
        starts = []
        for _, _, size, where, *_ in heads:
            starts.append(at)
            memory[at : at + size] = self.code[where : where + size] if where else bytes(size)
            at += -(-size // 64) * 64
        # distances between them
        for (_, _, _, _, where, _, count, _, flags), start in zip(heads, starts, strict=True):
            for k in range(count if flags & EXECUTED else 0):
                offset, symbol, kind = struct.unpack_from("<IIH", self.code, where + 10 * k)
                name, section, value = self.symbols[symbol]
                target = starts[section - 1] + value if section > 0 else places[name]
                assert RELATIVE <= kind < RELATIVE + 6
                (more,) = struct.unpack_from("<i", memory, start + offset)
                distance = target + more - (start + offset + 4 + kind - RELATIVE)
                struct.pack_into("<i", memory, start + offset, distance)
        (kernel,) = (s for s in self.symbols.values() if s[0] == "kernel")
        return memory, base + starts[kernel[1] - 1] + kernel[2]


@pytest.mark.skipif(not HERE, reason="its instructions are those of x86-64")
@pytest.mark.parametrize("lanes", [1, 4])
def test_windows_objects_need_only_provided_symbols(lanes: int) -> None:
    needed = Coff(compiled(lanes)).outside
    assert "__chkstk" in needed, "the stack is more than a page"
    assert needed <= {*native.STACK_PROBES, "_fltused", "memcpy", "memset"}


SHIM = """
declare win64cc void @kernel(ptr, ptr, ptr, i64, i64, i64, i64)
define void @enter(ptr %a, ptr %b, ptr %c, i64 %d, i64 %e, i64 %f, i64 %g) {
  call win64cc void @kernel(ptr %a, ptr %b, ptr %c, i64 %d, i64 %e, i64 %f, i64 %g)
  ret void
}"""


@pytest.mark.skipif(not HERE, reason="its instructions are those of x86-64")
@pytest.mark.parametrize("lanes", [1, 4])
def test_code_for_windows_computes_the_same_bits(lanes: int) -> None:
    """It runs here with the calling convention of Windows; its stack probe is replaced by `ret`."""
    ours, windows = (Worlds(program(), lanes, lanes=lanes) for _ in range(2))
    start = np.random.default_rng(3).uniform(-1, 1, (lanes, MANY))
    for worlds in (ours, windows):
        worlds.set("x", start)
    ours.advance(2)
    # the object in memory, and a bridge to it
    memory, kernel = Coff(compiled(lanes)).loaded(STUBS)
    library = llvm.JITLibraryBuilder().add_ir(SHIM).import_symbol("kernel", kernel)
    tracker = library.export_symbol("enter").link(native._create_jit(), f"windows{lanes}")
    enter = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, *[ctypes.c_int64] * 4)(tracker["enter"])
    enter(windows.data.ctypes.data, None, ours._pointers.ctypes.data, 0, 1, 2, 1)
    np.testing.assert_array_equal(windows.data, ours.data)
    assert not np.array_equal(ours.get("x"), start)
    assert len(memory)


# ---------------------------------------------------------------- files


@pytest.fixture
def profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's profile, with the file layout of Windows."""
    home = tmp_path / "home"
    monkeypatch.setattr(Path, "home", lambda: home)
    monkeypatch.setattr(cache, "WINDOWS", True)
    monkeypatch.setenv("LOCALAPPDATA", str(home / "AppData" / "Local"))
    monkeypatch.delenv("TARSUS_CACHE", raising=False)
    cache._warn.cache_clear()
    return home


def test_the_windows_cache_is_in_the_profile(profile: Path) -> None:
    assert cache.read("mine.o") is None
    cache.write("mine.o", b"code")
    cache.write("mine.o", b"later code")
    assert cache.read("mine.o") == b"later code"
    kept = [path.relative_to(profile).as_posix() for path in profile.rglob("*.o")]
    assert kept == ["AppData/Local/tarsus/cache/mine.o"]
    (profile / kept[0]).write_bytes(b"damaged")
    assert cache.read("mine.o") is None


def test_a_folder_outside_of_the_profile_is_not_used(
    profile: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TARSUS_CACHE", str(tmp_path / "elsewhere"))
    with pytest.warns(match="outside of your profile"):
        cache.write("mine.o", b"code")
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_links_are_resolved(profile: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    profile.mkdir()
    (profile / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UntrustedCacheFile, match="outside"):
        profile_files.replace(profile / "link", "mine.o", b"code")
    (profile / "mine.o").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UntrustedCacheFile, match="regular file"):
        profile_files.content(profile, "mine.o", 10)
    (profile / "large.o").write_bytes(b"12345678901")
    with pytest.raises(UntrustedCacheFile, match="too large"):
        profile_files.content(profile, "large.o", 10)


@pytest.mark.parametrize("name", ["con", "NUL", "Com1", "aux.v2"])
def test_no_file_has_a_device_name(name: str) -> None:
    assert file_name(name) == f"_{name}"
    assert file_name("console") == "console" and file_name("con", "moreau") == "con_moreau"
