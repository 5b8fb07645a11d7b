"""Loops over items compute, accumulate or pass on values like unrolled code."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest
from casadi import SX

from tarsus.algebra.elimination import UNKNOWNS_PER_LOOP, eliminate_dense, solve_tree
from tarsus.program.codegen.emit import MIN_OUTLINED_LINES, Emitter, ir_text
from tarsus.program.codegen.kernels import ColdShell
from tarsus.program.codegen.layout import Target
from tarsus.program.ir import reference
from tarsus.program.ir.blocks import Slice
from tarsus.program.ir.loops import Values
from tarsus.program.ir.program import Program
from tarsus.program.ir.serialization import deserialize, serialize
from tarsus.program.ir.symbolic import entries
from tarsus.program.ir.tangent import tangent_name, tangent_program
from tarsus.program.ir.trace import Builder
from tarsus.program.lowering.slot_allocation import allocate_slots
from tarsus.program.run.worlds import Worlds

ITEMS = 5
X = np.linspace(-1.3, 1.9, 11)[:, None] + np.linspace(0, 0.4, ITEMS)


def program(cold: bool) -> Program:
    """y is made of x in rounds, where x[0] is positive."""
    b = Builder("rounds")
    x = b.declare("x", ITEMS)
    loop = b.cold_loop if cold else b.loop

    def found(now: Values) -> tuple[Values, SX]:
        y = entries(now["y"])
        items = [(own, {"next": [y[k - 1], SX(2)]}) for k, own in enumerate(y)]
        # each of its item alone, then all added up, then each after the one before
        made = b.map_items(
            "made", items, lambda i: [i[0] * i[1]["next"][0] + i[1]["next"][1], i[0]]
        )
        total = b.fold(
            "total", [SX(1), y[0]], made, lambda t, i: [t[0] * i[0] + i[1], ca.sin(t[1]) - i[0]]
        )
        last, steps = b.scan("steps", total, 4, lambda v: ([v[1], 0.5 * v[0] - v[1]], v[0] ** 2))
        squares = b.map_range("squares", 3, lambda k: (y[0] + k) ** 2)
        after = ca.vertcat(*last, steps[3] - steps[0], made[4][0], ca.sum1(ca.vertcat(*squares)))
        return {"y": after}, SX(0)

    y = loop({"y": ca.tanh(x)}, found, 1, x[0] > 0)["y"]
    return b.program(x=x, y=y)


def plain(x: np.ndarray) -> np.ndarray:
    y = np.tanh(x)
    if x[0] <= 0:
        return y
    made = [(own * y[k - 1] + 2, own) for k, own in enumerate(y)]
    a, c = 1.0, y[0]
    for own in made:
        a, c = a * own[0] + own[1], np.sin(c) - own[0]
    steps = []
    for _ in range(4):
        steps.append(a**2)
        a, c = c, 0.5 * a - c
    squares = sum((y[0] + k) ** 2 for k in range(3))
    return np.array([a, c, steps[3] - steps[0], made[4][0], squares])


@pytest.mark.parametrize("cold", [True, False])
def test_rolled_loops_reproduce_unrolled_code(cold: bool) -> None:
    own, bits = program(cold), []
    assert bool(own.expanded.slices) and (len(own.expanded.slices) > 2) == cold
    expected = np.array([plain(x) for x in X])
    np.testing.assert_allclose(reference.run(own, {"x": X})["y"], expected, rtol=1e-12)
    for lanes in (1, 2, 4, 8):
        worlds = Worlds(own, len(X), lanes=lanes)
        worlds.set("x", X)
        worlds.advance()
        np.testing.assert_allclose(worlds.get("y"), expected, rtol=1e-12)
        bits.append(worlds.get("y"))
    assert all((found == bits[0]).all() for found in bits)


def test_rolled_and_unrolled_code_agree_bitwise() -> None:
    found = []
    for cold in (True, False):
        worlds = Worlds(program(cold), len(X))
        worlds.set("x", X)
        worlds.advance()
        found.append(worlds.get("y"))
    np.testing.assert_array_equal(*found)


def test_tangents_support_rolled_loops() -> None:
    step, seed = 1e-6, np.cos(np.arange(ITEMS))
    own = tangent_program(program(True), ("x",), ("y",))
    assert any(block.array.startswith(tangent_name("")) for block in own.slices)
    worlds = Worlds(own, len(X))
    worlds.set("x", X)
    worlds.set(tangent_name("x"), np.broadcast_to(seed, X.shape))
    worlds.advance()
    difference = [(plain(x + step * seed) - plain(x - step * seed)) / (2 * step) for x in X]
    np.testing.assert_allclose(worlds.get(tangent_name("y")), difference, rtol=1e-6, atol=1e-7)


def test_rolled_loops_are_serialized() -> None:
    own = program(True).expanded
    assert deserialize(serialize(own)).hot_fingerprint == own.hot_fingerprint


def test_irregular_code_is_unrolled() -> None:
    b = Builder("unlike")
    x = b.declare("x", 2)

    def found(now: Values) -> tuple[Values, SX]:
        assert b.is_tracing_cold
        assert b.writes_loop([x[0], x[1]]) and not b.writes_loop([x[0], SX(1)])
        assert not b.writes_loop([[x[0]], [x[0], x[1]]]) and not b.writes_loop([])
        assert not b.writes_loop([SX(1), SX(1)])  # nothing that varies
        return {"y": now["y"] + 1}, SX(0)

    y = b.cold_loop({"y": x}, found, 1, x[0] > 0)["y"]
    assert not b.is_tracing_cold
    assert not b.writes_loop([x[0], x[1]])  # code that is hot
    assert not b.program(x=y).expanded.slices


@pytest.mark.parametrize("size", [1, 5, UNKNOWNS_PER_LOOP, 2 * UNKNOWNS_PER_LOOP + 3])
def test_a_linear_system_is_solved_in_rolled_loops(size: int) -> None:
    random = np.random.default_rng(size)
    A = random.normal(size=(3, size, size)) + 2 * size * np.eye(size)
    right = random.normal(size=(3, size))

    def solved(solve: Callable[[SX, list[SX], Builder], list[SX]]) -> np.ndarray:
        b = Builder("solved")
        x = b.declare("x", size)
        K, rhs = b.parameter("K", size * size), b.parameter("b", size)

        def found(_: Values) -> tuple[Values, SX]:
            return {"x": ca.vertcat(*solve(ca.reshape(K, size, size), entries(rhs), b))}, SX(0)

        own = b.program(x=b.cold_loop({"x": x}, found, 1, SX(1))["x"])
        worlds = Worlds(own, 3)
        worlds.set("K", A.transpose(0, 2, 1).reshape(3, -1))
        worlds.set("b", right)
        worlds.advance()
        return worlds.get("x")

    def in_rounds(K: SX, rhs: list[SX], b: Builder) -> list[SX]:
        rows = [[K[i, j] for j in range(size)] for i in range(size)]
        return eliminate_dense(rows, b).solve(rhs)

    rounds = solved(in_rounds)
    written_out = solved(lambda K, rhs, _: solve_tree(K, rhs))
    np.testing.assert_allclose(rounds, written_out, rtol=1e-12)
    np.testing.assert_allclose(rounds, np.linalg.solve(A, right[..., None])[..., 0], rtol=1e-10)


def test_temporaries_share_memory() -> None:
    b = Builder("chain")
    x = b.declare("x", 8)
    # each value is stored, because a loop stands before its reader
    for k in range(6):
        x = b.loop({"y": x, "n": SX(0)}, lambda v: ({"y": 2 * v["y"], "n": v["n"] + 1}, SX(0)), 1)[
            "y"
        ]
        x = b.store(f"kept{k}", x + k)
    own = b.program(x=x)
    names = [r.name for r in own.of_kind("temporary")]
    places, room = allocate_slots(own, names)
    assert 8 <= room < sum(own.sizes[name] for name in names) / 2
    assert all(at + own.sizes[name] <= room for name, at in places.items())


def test_long_blocks_become_functions() -> None:
    b = Builder("long")
    x = b.declare("x", 3)
    y = x
    for _ in range(MIN_OUTLINED_LINES):
        y = ca.sin(y) + ca.vertcat(y[1:], y[0])
    own = b.program(x=b.loop({"y": y}, lambda v: ({"y": v["y"] / 2}, SX(0)), 1)["y"])
    text = ir_text(own, Target(4), split_blocks=True)
    assert "@piece" not in ir_text(own, Target(4))
    assert text.count("define internal void @piece") == 1
    assert text.index("@piece0(") < text.index("define void @kernel")
    # a function for a loop too, under its mask
    part = program(True).cold_program(0)
    assert any(isinstance(block, Slice) for block in part.slices)
    shared = program(True).shared_temporaries(0)
    short = Emitter(part, Target(4), ColdShell(), shared, split_blocks=True).cold_function()
    assert "define internal" not in short  # all of its pieces are short
