"""Native code of Mini Cheetah's step: reproducible bits, a robust cache, constant memory, the
log.
"""

from __future__ import annotations

import gc
import os
import re
import subprocess
import sys
import textwrap
import tracemalloc
from functools import cache
from pathlib import Path

import casadi as ca
import llvmlite.binding as llvm
import numpy as np
import pytest
from helpers.bench import Bench
from helpers.refused import refused

from tarsus.contact.laws.compliant import Compliant
from tarsus.contact.laws.moreau import Moreau
from tarsus.control.gaits.trot import Trot
from tarsus.errors import InvalidValue, TarsusWarning, UnknownName
from tarsus.program.codegen.ir_lines import MAX_BLOCK
from tarsus.program.codegen.layout import Target
from tarsus.program.ir.program import Program
from tarsus.program.ir.trace import Builder
from tarsus.program.run import machine, native, tiers
from tarsus.program.run.worlds import Worlds
from tarsus.robots import mini_cheetah

LINKER = native._create_jit.__wrapped__

pytestmark = pytest.mark.usefixtures("optimized")
COUNT, STEPS, DT = 100, 50, 0.0025
LAWS = {"moreau": Moreau(), "exact": Moreau(solver="exact"), "compliant": Compliant()}
STATE = ("q", "u", "memory", "control", "impulse", "iterations", "converged", "tau")


@cache
def trot(law: str = "moreau") -> Bench:
    return Bench(mini_cheetah.describe(), LAWS[law], controller=Trot())


def velocities(count: int = COUNT) -> np.ndarray:
    """Different throws in every world: feet land, slide and lift off at different steps."""
    return np.random.default_rng(7).normal(size=(count, 18)) * ([0.5] * 6 + [2.0] * 12)


def run(law: str, which: np.ndarray, steps: int = STEPS, **how: int) -> dict[str, np.ndarray]:
    """The last state of the worlds `which` of the hundred."""
    worlds = trot(law).worlds(DT, u=velocities()[which], **how)
    worlds.advance(steps)
    return {name: worlds.get(name) for name in STATE}


@cache
def everyone(law: str, bits: int) -> dict[str, np.ndarray]:
    """All hundred worlds, one lane, one thread."""
    return run(law, np.arange(COUNT), lanes=1, threads=1, bits=bits)


def assert_same_bits(
    found: dict[str, np.ndarray], expected: dict[str, np.ndarray], which: np.ndarray
) -> None:
    for name, value in found.items():
        wanted = expected[name][which]
        word = f"u{value.itemsize}"
        assert np.array_equal(value.view(word), wanted.view(word)), name


# ---------------------------------------------------------------- the same bits


@pytest.mark.parametrize("bits", [64, pytest.param(32, marks=pytest.mark.slow)])
def test_results_do_not_depend_on_optimization(bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    expected, which = everyone("moreau", bits), np.arange(COUNT)
    monkeypatch.setenv(tiers.OPTIMIZE, "0")
    assert_same_bits(run("moreau", which, lanes=8, threads=1, bits=bits), expected, which)


@pytest.mark.parametrize("lanes", [1, 4])
def test_split_code_has_short_blocks(lanes: int) -> None:
    """The bits are compared above."""
    longest = {}
    for split_blocks in (False, True):
        text = native.ir_text(trot().program, Target(lanes), split_blocks)
        llvm.parse_assembly(text).verify()
        longest[split_blocks] = max(
            block.count("\n") for block in re.split(r"^[\w.]+:$", text, flags=re.M)
        )
    # stores come between instructions that have a name
    assert longest[True] <= 2 * MAX_BLOCK < longest[False]


def test_quickly_compiled_code_has_the_same_bits() -> None:
    b = Builder("quick")
    x = b.declare("x", 1)
    program = b.program(x=x + ca.sin(x) * ca.exp(-x * x))
    ends = []
    for quick in (False, True):
        worlds = Worlds(program, COUNT, quick=quick)
        worlds.set("x", np.linspace(-1, 1, COUNT)[:, None])
        worlds.advance(STEPS)
        ends.append(worlds.get("x"))
    keys = {native._key(program, Target(4), None, optimized) for optimized in (True, False)}
    assert len(keys) == 2
    assert ends[0].tobytes() == ends[1].tobytes()


def test_optimization_is_on_or_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(tiers.OPTIMIZE, "fast")
    with refused(InvalidValue, "TARSUS_OPTIMIZE"):
        tiers.optimizes()


@pytest.mark.parametrize(
    "law", ["moreau", "compliant", pytest.param("exact", marks=pytest.mark.slow)]
)
def test_the_worlds_differ_and_stay_finite(law: str) -> None:
    last = everyone(law, 64)
    assert len(np.unique(last["q"], axis=0)) == COUNT
    assert all(np.isfinite(value).all() for value in last.values())
    if law != "compliant":
        assert len(np.unique(last["iterations"])) > 2


@pytest.mark.parametrize(
    ("law", "bits", "lanes"),
    [("moreau", 64, 8), ("compliant", 64, 4), ("compliant", 32, 8),
     *(pytest.param(*each, marks=pytest.mark.slow)
       for each in (("moreau", 64, 2), ("moreau", 64, 16), ("moreau", 32, 16), ("exact", 64, 8)))],
)  # fmt: skip
def test_results_do_not_depend_on_lane_batch_position_or_threads(
    law: str, bits: int, lanes: int
) -> None:
    expected, rng = everyone(law, bits), np.random.default_rng(lanes)
    for count, threads in ((1, 1), (3, 2), (8, 1), (100, 1), (100, 2)):
        which = rng.permutation(COUNT)[:count]
        assert_same_bits(run(law, which, lanes=lanes, threads=threads, bits=bits), expected, which)


def test_results_do_not_depend_on_the_batch_with_one_lane_and_threads() -> None:
    for count, threads in ((1, 1), (3, 2), (8, 2), (100, 2)):
        which = np.arange(count)[::-1]
        assert_same_bits(
            run("moreau", which, lanes=1, threads=threads), everyone("moreau", 64), which
        )


def test_a_diverged_world_does_not_affect_neighbors() -> None:
    u = velocities()[:8]
    u[3, 5] = np.nan
    worlds = trot().worlds(DT, u=u, lanes=8)
    worlds.advance(STEPS)
    others = np.delete(np.arange(8), 3)
    found = {name: worlds.get(name)[others] for name in STATE}
    assert_same_bits(found, everyone("moreau", 64), others)
    assert np.isnan(worlds.get("u")[3]).any()


def test_lanes_are_chosen_for_the_host() -> None:
    wide, b = machine.detect_host().lanes(64), Builder("count")
    program = b.program(x=b.declare("x", 1) + 1)
    assert Worlds(program, 1).lanes == 1
    assert Worlds(program, 100).lanes == wide
    assert Worlds(program, 100, bits=32).lanes == 2 * wide


# ---------------------------------------------------------------- the log


@pytest.mark.parametrize(
    ("count", "lanes", "threads"), [(1, 1, 1), (3, 8, 1), (20, 8, 2), (5, 1, 2)]
)
def test_the_log_matches_single_steps(count: int, lanes: int, threads: int) -> None:
    def make() -> Worlds:
        return trot().worlds(DT, u=velocities(count), lanes=lanes, threads=threads)

    steps, logged = 12, make()
    log = logged.record(steps)
    single = make()
    kinds = trot().program.of_kind("state") + trot().program.of_kind("report")
    assert list(log) == [r.name for r in kinds]
    for k in range(steps):
        single.advance()
        for register in kinds:
            assert log[register.name].shape == (steps, count, register.size)
            np.testing.assert_array_equal(
                log[register.name][k], single.get(register.name), register.name
            )
    for register in logged.program.persistent:
        np.testing.assert_array_equal(logged.get(register.name), single.get(register.name))
    np.testing.assert_array_equal(log["steps"][:, 0, 0], np.arange(1, steps + 1))


def test_reading_and_writing_registers() -> None:
    worlds = trot().worlds(DT, u=velocities(5), lanes=4)
    mask = np.array([True, False, False, True, False])
    q = worlds.get("q")
    worlds.set("q", np.zeros(19), mask)
    np.testing.assert_array_equal(worlds.get("q"), np.where(mask[:, None], 0, q))
    with refused(InvalidValue, "q"):
        worlds.set("q", np.zeros(3))
    with refused(UnknownName, "impulses"):
        worlds.get("impulses")
    assert "q" in worlds and "impulses" not in worlds
    single = trot().worlds(DT)
    single.view("u")[:] = 3.0
    np.testing.assert_array_equal(single.get("u"), np.full((1, 18), 3.0))


# ---------------------------------------------------------------- the cache


def small(factor: float = 3.0) -> Program:
    b = Builder("small")
    x = b.declare("x", 3)
    return b.program(x=factor * ca.sin(x) + x)


def answer(program: Program) -> np.ndarray:
    worlds = Worlds(program)
    worlds.set("x", [1.0, 2.0, 3.0])
    worlds.advance()
    return worlds.get("x")[0]


EXPECTED = 3 * np.sin([1.0, 2.0, 3.0]) + [1.0, 2.0, 3.0]


def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget everything, as a new process would."""
    monkeypatch.setattr(native, "_loaded", {})
    native.create_target_machine(tiers.optimizes())
    compiler = LINKER()
    monkeypatch.setattr(native, "_create_jit", lambda: compiler)


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and a session that has loaded nothing."""
    monkeypatch.setenv("TARSUS_CACHE", str(tmp_path / "cache"))
    forget(monkeypatch)
    return tmp_path / "cache"


def never(text: str) -> bytes:
    raise AssertionError("compiled again, though the object is in the cache")


def test_a_second_compile_reads_the_cache(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.testing.assert_allclose(answer(small()), EXPECTED, rtol=1e-15)
    [file] = own_cache.iterdir()
    written = file.stat().st_mtime_ns
    forget(monkeypatch)
    monkeypatch.setattr(native, "compile_module", never)
    np.testing.assert_allclose(answer(small()), EXPECTED, rtol=1e-15)
    assert file.stat().st_mtime_ns == written


def test_other_code_has_another_key() -> None:
    programs = [small(), small(4.0), trot().program]
    targets = [Target(1), Target(8), Target(8, 32)]
    assert len({native._key(p, t) for p in programs for t in targets}) == 9


PROCESS = """
    import sys
    sys.path.insert(0, {tests!r})
    from helpers.bench import Bench
    from tarsus.contact.laws.moreau import Moreau
    from tarsus.control.gaits.trot import Trot
    from tarsus.program.run import native
    from tarsus.program.codegen.layout import Target
    from tarsus.robots import mini_cheetah
    program = Bench(mini_cheetah.describe(), Moreau(), controller=Trot()).program
    print(native._key(program, Target(8)))
"""


def test_cache_keys_agree_between_processes() -> None:
    text = textwrap.dedent(PROCESS).format(tests=str(Path(__file__).parents[2]))
    environment = os.environ | {"PYTHONHASHSEED": "12345"}
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, env=environment
    )
    assert done.stdout.strip() == native._key(trot().program, Target(8)), done.stderr


IN_PIECES = """
    import mmap
    import sys
    sys.path.insert(0, {tests!r})
    from helpers.bench import Bench
    from tarsus.contact.laws.moreau import Moreau
    from tarsus.control.gaits.trot import Trot
    from tarsus.program.run import native
    from tarsus.robots import mini_cheetah
    bench = Bench(mini_cheetah.describe(), Moreau(), controller=Trot())
    native._create_jit()
    kind, kept = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000, []  # MAP_NORESERVE
    for _ in range(40):
        hole = mmap.mmap(-1, 1 << 16)
        kept.append(mmap.mmap(-1, 3 << 30, flags=kind, prot=mmap.PROT_READ))
        hole.close()
    bench.worlds(0.0025, lanes=1).advance(1)
    print("done")
"""


@pytest.mark.skipif(sys.platform != "linux", reason="holes are made as Linux makes them")
def test_code_links_in_fragmented_memory() -> None:
    """Holes for the constants, and gigabytes between them and where the code finds room."""
    text = textwrap.dedent(IN_PIECES).format(tests=str(Path(__file__).parents[2]))
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
    assert done.stdout.strip() == "done", done.stderr[-500:]


DAMAGE = {
    "empty": lambda good: b"",
    "short": lambda good: good[:20],
    "text": lambda good: b"not machine code\n" * 50,
    "cut in half": lambda good: good[: len(good) // 2],
    "cut at the end": lambda good: good[:-1],
    "one bit": lambda good: good[:100] + bytes([good[100] ^ 1]) + good[101:],
    "zeros in the code": lambda good: good[:200] + bytes(200) + good[400:],
    "something behind it": lambda good: good + b"x",
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_object_is_compiled_again(
    damage: str, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer(small())
    [file] = own_cache.iterdir()
    good = file.read_bytes()
    file.write_bytes(DAMAGE[damage](good))
    forget(monkeypatch)
    np.testing.assert_allclose(answer(small()), EXPECTED, rtol=1e-15)
    assert file.read_bytes() == good


@pytest.mark.parametrize("folder", ["/proc/tarsus", "a file"])
def test_an_unwritable_cache_is_not_an_error(
    folder: str, own_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if folder == "a file":
        folder = str(tmp_path / "file")
        Path(folder).write_text("in the way")
    monkeypatch.setenv("TARSUS_CACHE", folder)
    np.testing.assert_allclose(answer(small()), EXPECTED, rtol=1e-15)
    assert not own_cache.exists()


def test_a_folder_at_the_object_path_leaves_no_temporary_files(own_cache: Path) -> None:
    program = small()
    own_cache.mkdir(mode=0o700)
    (own_cache / f"{native._key(program, Target(1))}.o").mkdir()
    with pytest.warns(TarsusWarning, match="not a regular file"):
        answer(program)
    np.testing.assert_allclose(answer(program), EXPECTED, rtol=1e-15)
    assert len(list(own_cache.iterdir())) == 1


def test_the_assembly_is_available() -> None:
    assert "ret" in native.compile_to_assembly(small(), Target(1))


# ---------------------------------------------------------------- memory


def resident() -> int:
    """Bytes of this process in memory now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def growth(few: int, many: int) -> tuple[int, int]:
    """Growth of resident and Python memory from `few` to `many` steps, for three ways to step."""
    one, batch = trot().worlds(DT), trot().worlds(DT, u=velocities(16), threads=2)

    def walk(steps: int) -> None:
        for _ in range(steps // 2):
            one.advance()
        one.advance(steps // 2)
        for _ in range(steps // 100):
            batch.advance(2)
            batch.record(1)
            one.get("q")

    tracemalloc.start()
    walk(few)
    gc.collect()
    before, traced = resident(), tracemalloc.get_traced_memory()[0]
    walk(many)
    gc.collect()
    after, now = resident(), tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert np.isfinite(one.get("q")).all()
    return after - before, now - traced


@pytest.mark.skipif(
    not Path("/proc/self/statm").exists(), reason="resident memory is read from /proc"
)
def test_memory_does_not_grow() -> None:
    resident_growth, traced_growth = growth(20_000, 200_000)
    assert resident_growth < 2 * 2**20
    assert traced_growth < 2**18


@pytest.mark.slow
@pytest.mark.skipif(
    not Path("/proc/self/statm").exists(), reason="resident memory is read from /proc"
)
def test_memory_does_not_grow_over_a_million_steps() -> None:
    resident_growth, traced_growth = growth(20_000, 1_000_000)
    assert resident_growth < 2 * 2**20
    assert traced_growth < 2**18
