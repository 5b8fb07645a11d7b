"""Cold loops are traced when a world first enters one, with the same result as eager tracing."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from casadi import SX

from tarsus.program.ir import reference
from tarsus.program.ir.closures import captured_expressions, copy_closure
from tarsus.program.ir.loops import Values
from tarsus.program.ir.program import Program
from tarsus.program.ir.trace import Builder
from tarsus.program.run.worlds import Worlds
from tarsus.simulation import program_cache

SQUARES = np.arange(50.0) ** 2


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TARSUS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def counting(tell: Callable[[str], object] = len, cold: bool = True) -> Program:
    """Program in which x counts up by one; from 10 on its square comes from a table, and from 1000
    on a nested loop sets it to its start value.

    Each traced body records its name.
    """
    b = Builder("counting")
    x = b.declare("x", 1)
    loop = b.cold_loop if cold else b.loop
    more = b.store("more", x + 1)
    kept: Values = {"more": more}

    def back(_: Values) -> tuple[Values, SX]:
        tell("back")
        return {"x": kept["more"]}, SX(0)

    def squared(now: Values) -> tuple[Values, SX]:
        tell("squared")
        found = b.store("found", b.lookup("squares", SQUARES, now["x"]) + factor)
        return loop({"x": found}, back, 1, found >= 1000), SX(0)

    factor = SX(0)
    after = loop({"x": more}, squared, 1, x >= 10)
    factor = kept["more"] = x * b.store("unknown", x)  # seen by no loop before
    return b.program(x=after["x"], y=kept["more"])


def told(x: float) -> float:
    square = SQUARES[int(min(x + 1, 49))] if x >= 10 else x + 1
    return x + 1 if square >= 1000 and x >= 10 else square


def test_nested_cold_loops_are_compiled_ahead() -> None:
    seen: list[str] = []
    worlds = Worlds(counting(seen.append))
    assert seen == []
    worlds.compile_ahead()
    assert seen == ["squared", "back"]
    worlds.set("x", 40.0)
    worlds.advance()
    assert worlds.get("x")[0, 0] == told(40.0) and seen == ["squared", "back"]


@pytest.mark.parametrize("lanes", [1, 4])
def test_cold_bodies_are_traced_when_entered(lanes: int) -> None:
    traced: list[str] = []
    worlds = Worlds(counting(traced.append), 5, lanes=lanes)
    begin = np.arange(5.0)
    worlds.set("x", begin[:, None])
    worlds.advance(3)
    assert traced == []
    expected = begin + 3
    for _ in range(20):
        expected = np.array([told(x) for x in expected])
        worlds.advance()
        np.testing.assert_array_equal(worlds.get("x")[:, 0], expected)
    assert traced == ["squared", "back"]


def test_cold_loops_carry_their_own_values() -> None:
    b = Builder("carrying")
    x = b.declare("x", 1)

    def twice(now: Values) -> tuple[Values, SX]:
        round_ = now["round"] + 1
        return {"x": now["x"] + 10 * round_, "round": round_}, round_ < 7

    after = b.cold_loop({"x": x, "round": SX(5)}, twice, 3, x > 0)
    worlds = Worlds(b.program(x=after["x"]))
    worlds.set("x", 1.0)
    for expected in (131.0, 261.0):
        worlds.advance()
        assert worlds.get("x")[0, 0] == expected


def test_eager_tracing_gives_the_same_program() -> None:
    on_need, at_once = counting(), counting(cold=False)
    assert on_need.has_untraced and not on_need.expanded.has_untraced and not at_once.has_untraced
    assert on_need.expanded.tables.keys() == at_once.tables.keys()
    values = {"x": np.arange(60.0)[:, None], "y": np.zeros((60, 1))}
    for name, value in reference.run(at_once, values, 4).items():
        if not name.startswith("~"):
            np.testing.assert_array_equal(reference.run(on_need, values, 4)[name], value)


def test_cold_bodies_are_cached_across_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program_cache, "cache_key", lambda plan: plan)
    traced: list[str] = []
    first = program_cache.cached_program("counting", lambda _: counting(traced.append)).expanded
    assert traced == ["squared", "back"]
    again = program_cache.cached_program("counting", lambda _: pytest.fail("traced again"))
    assert again.expanded.fingerprint == first.fingerprint


def test_missing_cached_bodies_are_traced_again(
    monkeypatch: pytest.MonkeyPatch, own_cache: Path
) -> None:
    monkeypatch.setattr(program_cache, "cache_key", lambda plan: plan)
    first = program_cache.cached_program("counting", lambda _: counting()).expanded
    for file in own_cache.glob("counting.*.program"):
        lost = file.read_bytes()
        file.unlink()
        again = program_cache.cached_program("counting", lambda _: counting())
        assert again.expanded.fingerprint == first.fingerprint
        assert file.read_bytes() == lost


def test_cold_bodies_read_only_their_closure() -> None:
    b = Builder("hidden")
    x = b.declare("x", 1)
    hidden = cache(lambda: b.store("hidden", x + 1))
    hidden()
    after = b.cold_loop({"x": x}, lambda _: ({"x": hidden()}, SX(0)), 1, x)
    with pytest.raises(ValueError, match="'~hidden'"):
        b.program(x=after["x"]).expanded.fingerprint.isalnum()


def test_cold_bodies_declare_only_temporaries() -> None:
    b = Builder("lasting")
    x = b.declare("x", 1)
    after = b.cold_loop({"x": x}, lambda _: ({"x": b.parameter("p")}, SX(0)), 1, x)
    with pytest.raises(ValueError, match="declares \\['p'\\]"):
        b.program(x=after["x"]).expanded.fingerprint.isalnum()


@pytest.mark.parametrize("cold", [False, True])
def test_unused_lookups_are_dropped(cold: bool) -> None:
    b = Builder("unread")
    x = b.declare("x", 1)
    loop = b.cold_loop if cold else b.loop
    b.lookup("outside", SQUARES, x)

    def inside(now: Values) -> tuple[Values, SX]:
        b.lookup("inside", SQUARES, now["x"])
        return {"x": now["x"] + b.lookup("read", SQUARES, x)}, SX(0)

    after = loop({"x": x}, inside, 1, x > 0)
    program = b.program(x=after["x"])
    worlds = Worlds(program, 2)
    worlds.set("x", [[-3.0], [3.0]])
    worlds.advance()
    np.testing.assert_array_equal(worlds.get("x")[:, 0], [-3.0, 3.0 + 9.0])
    found = reference.run(program, {"x": [[-3.0], [3.0]]})
    np.testing.assert_array_equal(found["x"], worlds.get("x"))


def test_functions_in_closures_are_captured_by_value() -> None:
    values, x = [SX.sym("a")], SX.sym("x", 2)

    def inner() -> SX:
        return values[0] * scale + x[0]

    def outer() -> SX:
        return inner() + 1

    scale = SX.sym("scale")
    before, kept = outer(), copy_closure(outer)
    names = {symbol.name() for part in captured_expressions(kept) for symbol in ca.symvar(part)}
    assert names == {"a", "scale", "x_0", "x_1"}
    values[0], scale = SX.sym("b"), SX.sym("other")
    x[0] = 5
    assert ca.is_equal(kept(), before, 9) and not ca.is_equal(outer(), before, 9)


def test_values_read_only_inside_a_cold_loop_start_as_declared() -> None:
    b = Builder("carries")
    x = b.declare("x", 1)

    def cold(values: Values) -> tuple[Values, SX]:
        count = values["count"] + 1
        return {"x": values["x"] + count, "count": count}, count < 3

    after = b.cold_loop({"x": x, "count": SX(1)}, cold, 9, x >= 10)
    worlds = Worlds(b.program(x=after["x"] + 1), 8, lanes=4)
    worlds.set("x", np.arange(6.0, 14.0)[:, None])
    worlds.advance()
    expected = [x + 1 if x < 10 else x + 2 + 3 + 1 for x in range(6, 14)]
    np.testing.assert_array_equal(worlds.get("x")[:, 0], expected)
