"""Programs: blocks of the builder, and compiled code against the reference evaluator."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from fractions import Fraction

import casadi as ca
import numpy as np
import pytest
from casadi import SX
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tarsus.program.codegen.emit import ir_text
from tarsus.program.codegen.layout import Target
from tarsus.program.ir import reference
from tarsus.program.ir.blocks import BasicBlock, Lookup, While
from tarsus.program.ir.loops import Values
from tarsus.program.ir.program import Program
from tarsus.program.ir.trace import Builder
from tarsus.program.lowering.tape import create_tape
from tarsus.program.run.worlds import Worlds

LANES = [1, 2, 4, 8, 16]
INF, NAN = math.inf, math.nan
Array = np.ndarray


def compiled(
    program: Program, values: dict[str, Array], lanes: int = 8, bits: int = 64, steps: int = 1
) -> Worlds:
    """The program run `steps` times by compiled code on worlds that start from `values`, each
    (worlds, size).
    """
    count = max(np.atleast_2d(v).shape[0] for v in values.values())
    worlds = Worlds(program, count, lanes=lanes, bits=bits)
    for name, value in values.items():
        worlds.set(name, value)
    worlds.advance(steps)
    return worlds


def function_of(sizes: dict[str, int], make: Callable[..., dict[str, SX]]) -> Program:
    """A program whose report registers are make(**parameters)."""
    b = Builder("test")
    given = {name: b.parameter(name, size) for name, size in sizes.items()}
    return b.program(**make(**given))


def words(x: Array) -> Array:
    """Bits of numbers, with all NaN equal."""
    return np.where(np.isnan(x), x.dtype.type(NAN), x).view(f"u{x.itemsize}")


# ---------------------------------------------------------------- the builder


def test_stored_values_are_inlined_within_their_block() -> None:
    b = Builder("keep")
    x = b.declare("x", 2)
    square = b.store("square", x * x)
    total = b.store("total", ca.sum1(square))
    unread = b.store("unread", ca.exp(total))
    program = b.program(x=square / total, y=unread)
    assert [type(block) for block in program.blocks] == [BasicBlock]
    assert [r.name for r in program.registers] == ["x", "y"]
    found = reference.run(program, {"x": [[1.0, 2.0]]})
    np.testing.assert_allclose(found["x"], [[0.2, 0.8]])
    np.testing.assert_allclose(found["y"], [[math.exp(5)]])


def test_stored_values_are_readable_inside_and_after_a_loop() -> None:
    b = Builder("keep")
    x = b.declare("x", 1)
    scale = b.store("scale", ca.SX(ca.vertcat(x, 2 * x)))
    last = b.loop({"k": SX(0)}, lambda v: ({"k": v["k"] + scale[0]}, v["k"] < 10), 100)
    program = b.program(x=last["k"] + scale[1])
    assert [type(block) for block in program.blocks] == [BasicBlock, While, BasicBlock]
    assert sorted(r.name for r in program.of_kind("temporary")) == ["~k", "~more", "~scale"]
    for found in (
        reference.run(program, {"x": [[3.0]]})["x"],
        compiled(program, {"x": [[3.0]]}).get("x"),
    ):
        assert found == [[15.0 + 6.0]]


def test_stored_matrices_keep_their_shape() -> None:
    b = Builder("keep")
    m = b.store("m", ca.reshape(b.declare("x", 6), 2, 3))
    program = b.program(y=ca.vec(ca.mtimes(m.T, m)))
    x = np.arange(1.0, 7.0)
    matrix = x.reshape(2, 3, order="F")
    found = compiled(program, {"x": x[None]}).get("y")
    np.testing.assert_array_equal(found[0].reshape(3, 3), matrix.T @ matrix)


def test_all_inputs_are_read_before_any_output_is_written() -> None:
    b = Builder("swap")
    x, y = b.declare("x", 2), b.declare("y", 2)
    program = b.program(x=y, y=x)
    values = {"x": np.array([[1.0, 2.0]]), "y": np.array([[3.0, 4.0]])}
    worlds = compiled(program, values, steps=3)
    np.testing.assert_array_equal(worlds.get("x"), values["y"])
    np.testing.assert_array_equal(reference.run(program, values, 3)["y"], values["x"])


@pytest.mark.parametrize("order", [("x", "x_1"), ("x_1", "x")])
def test_registers_with_clashing_entry_names_are_separate(order: tuple[str, str]) -> None:
    b = Builder("clash")
    symbols = {name: b.declare(name, {"x": 3, "x_1": 1}[name]) for name in order}
    program = b.program(second=symbols["x"][1], other=symbols["x_1"])
    values = {"x": [[1.0, 2.0, 3.0]], "x_1": [[10.0]]}
    for found in (reference.run(program, values), compiled(program, values)):
        get = found.get
        assert get("second") == [[2.0]] and get("other") == [[10.0]]


def test_temporary_names_are_unique() -> None:
    b = Builder("clash")
    x = b.declare("x", 1)
    first, second = b.store("x", x + 1), b.store("x", x + 2)
    start = {"x": first, "x2": second, "more": SX(0)}

    def body(v: Values) -> tuple[Values, SX]:
        return {"x": v["x"] * 2, "x2": v["x2"] + v["x"], "more": v["more"] + 1}, v["more"] < 2

    last = b.loop(start, body, 50)
    program = b.program(x=last["x"], y=last["x2"] + second, more=last["more"])
    for found in (reference.run(program, {"x": [[1.0]]}), compiled(program, {"x": [[1.0]]})):
        assert [found.get(name)[0, 0] for name in ("x", "y", "more")] == [
            16.0,
            3 + 2 + 4 + 8 + 3,
            3.0,
        ]


@pytest.mark.parametrize("wrong", [{}, {"k": SX(0), "extra": SX(0)}, {"other": SX(0)}])
def test_loop_bodies_with_wrong_keys_are_rejected(wrong: Values) -> None:
    b = Builder("wrong")
    with pytest.raises(ValueError, match=r"body must return.*(k|extra|other)"):
        b.loop({"k": SX(0)}, lambda v: (wrong, SX(1)), 5)


def test_loop_bodies_with_a_wrong_size_are_rejected() -> None:
    b = Builder("wrong")
    with pytest.raises(ValueError, match=r"'k' has 1 .* 3"):
        b.loop({"k": SX(0)}, lambda v: ({"k": SX.zeros(3)}, SX(1)), 5)


def test_mistakes_are_reported_by_name() -> None:
    b = Builder("wrong")
    x, p = b.declare("x", 2), b.parameter("p")
    with pytest.raises(ValueError, match="'x' is declared twice"):
        b.declare("x", 2)
    with pytest.raises(ValueError, match="'x' has 2 entries, not 1"):
        b.program(x=x[0])
    with pytest.raises(ValueError, match="'p' is a parameter"):
        b.program(p=p + 1)
    with pytest.raises(ValueError, match="'stranger' belongs to no register"):
        Builder("wrong").program(y=SX.sym("stranger"))
    b.lookup("t", [1.0, 2.0], x)
    with pytest.raises(ValueError, match="table 't'"):
        b.lookup("t", [1.0, 3.0], x)
    with pytest.raises(ValueError, match="table 'empty'"):
        b.lookup("empty", [], x)


def rotation_program(scale: float = 1.0) -> Program:
    return function_of({"x": 2}, lambda x: {"y": scale * ca.sin(x) + ca.if_else(x > 0, x, 0)})


def test_the_fingerprint_depends_on_the_content() -> None:
    same = rotation_program(), rotation_program()
    assert same[0].fingerprint == same[1].fingerprint != rotation_program(2.0).fingerprint


@pytest.mark.parametrize("op", ["erf", "asinh", "remainder"])
def test_an_unsupported_operation_is_named(op: str) -> None:
    program = function_of(
        {"x": 2}, lambda x: {"y": ca.remainder(x, 2) if op == "remainder" else getattr(ca, op)(x)}
    )
    assert np.isfinite(reference.run(program, {"x": [[0.1, 0.2]]})["y"]).all()
    with pytest.raises(ValueError, match=f"'{op}'"):
        Worlds(program)


# ---------------------------------------------------------------- loops and look-ups


def collatz(maximum: int) -> Program:
    """Each world counts its own steps to 1."""
    b = Builder("collatz")
    n, allowed = b.parameter("n"), b.parameter("allowed")

    def body(v: Values) -> tuple[Values, SX]:
        even = ca.floor(v["n"] / 2) * 2 == v["n"]
        n = ca.if_else(even, v["n"] / 2, 3 * v["n"] + 1)
        return {"n": n, "k": v["k"] + 1}, n > 1

    last = b.loop({"n": n, "k": SX(0)}, body, maximum, first=ca.logic_and(n > 1, allowed))
    return b.program(end=last["n"], count=last["k"])


def collatz_steps(n: int, maximum: int) -> tuple[int, int]:
    k = 0
    while n > 1 and k < maximum:
        n, k = (n // 2 if n % 2 == 0 else 3 * n + 1), k + 1
    return n, k


@pytest.mark.parametrize("maximum", [200, 17])
def test_every_world_iterates_as_often_as_it_needs(maximum: int) -> None:
    program = collatz(maximum)
    n = np.arange(1, 100)
    allowed = (n % 5 != 0).astype(float)
    exact = [
        collatz_steps(int(k), maximum) if ok else (int(k), 0)
        for k, ok in zip(n, allowed, strict=True)
    ]
    ends, counts = (np.array(column, float)[:, None] for column in zip(*exact, strict=True))
    values = {"n": n[:, None], "allowed": allowed[:, None]}
    found = reference.run(program, values)
    np.testing.assert_array_equal(found["end"], ends)
    np.testing.assert_array_equal(found["count"], counts)
    for lanes, bits in [(k, 64) for k in LANES] + [(1, 32), (16, 32)]:
        worlds = compiled(program, values, lanes, bits, steps=2)
        np.testing.assert_array_equal(worlds.get("end"), ends)
        np.testing.assert_array_equal(worlds.get("count"), counts)


def nested() -> Program:
    """total = sum over i < a and j < min(i, 5) of (j + look-up): the inner loop may be cut off
    while it wants more.
    """
    b = Builder("nested")
    a = b.parameter("a")

    def inner(v: Values) -> tuple[Values, SX]:
        weight = b.lookup("weight", [0.0, 10.0, 200.0], v["j"])
        return {"j": v["j"] + 1, "sum": v["sum"] + v["j"] + weight}, v["j"] + 1 < v["bound"]

    def outer(v: Values) -> tuple[Values, SX]:
        def bounded(w: Values) -> tuple[Values, SX]:
            values, more = inner({**w, "bound": v["i"]})
            return values, more

        row = b.loop({"j": SX(0), "sum": v["sum"]}, bounded, 5, first=v["i"] > 0)
        return {"i": v["i"] + 1, "sum": row["sum"]}, v["i"] + 1 < a

    last = b.loop({"i": SX(0), "sum": SX(0)}, outer, 30, first=a > 0)
    return b.program(total=last["sum"], rounds=last["i"])


def rounds_that_read_much() -> Program:
    """Each round adds what a loop of twenty numbers, inside another, comes to, and, where that is
    large, what a cold loop finds in thirty numbers from before.
    """
    b = Builder("reads")
    x = b.parameter("x")
    before = b.store("before", ca.vertcat(*(ca.cos(k * x) for k in range(30))))

    def outer(v: Values) -> tuple[Values, SX]:
        def inner(w: Values) -> tuple[Values, SX]:
            return {"w": w["w"] * 0.5 + 1, "n": w["n"] + 1}, w["n"] < v["k"]

        def middle(w: Values) -> tuple[Values, SX]:
            begun = ca.vertcat(*(ca.sin(k * w["sums"]) for k in range(20)))
            return {"sums": ca.sum1(b.loop({"w": begun, "n": SX(0)}, inner, 9)["w"])}, SX(0)

        sums = b.loop({"sums": v["s"]}, middle, 1)["sums"]

        def cold(r: Values) -> tuple[Values, SX]:
            return {"r": r["r"] + ca.dot(before, before)}, SX(0)

        found = b.cold_loop({"r": sums}, cold, 1, sums > 30)["r"]
        return {"s": v["s"] + found, "k": v["k"] + 1}, v["k"] + 1 < x

    last = b.loop({"s": SX(0), "k": SX(0)}, outer, 20)
    return b.program(total=last["s"] + before[3])


def test_only_values_passed_between_iterations_are_stored() -> None:
    program, x = rounds_that_read_much(), np.arange(1.0, 12)[:, None]
    kept = re.search(r"%by = alloca \[(\d+) x", ir_text(program, Target(8)))
    assert kept is not None
    assert int(kept[1]) == 3  # the sum, the count and whether to go on
    expected = reference.run(program, {"x": x})["total"]
    for lanes in LANES:
        worlds = compiled(program, {"x": x}, lanes, steps=2)
        np.testing.assert_allclose(worlds.get("total"), expected, rtol=1e-13)


@pytest.mark.parametrize("lanes", LANES)
def test_nested_loops_with_a_lookup_inside(lanes: int) -> None:
    a = np.array([0, 1, 2, 5, 3, 0, 9, 4, 1, 12, 7])
    table = [0, 10, 200]
    exact = [sum(j + table[min(j, 2)] for i in range(k) for j in range(min(i, 5))) for k in a]
    program = nested()
    worlds = compiled(program, {"a": a[:, None]}, lanes, steps=2)
    np.testing.assert_array_equal(worlds.get("total")[:, 0], exact)
    np.testing.assert_array_equal(worlds.get("rounds")[:, 0], a)
    np.testing.assert_array_equal(reference.run(program, {"a": a[:, None]})["total"][:, 0], exact)


@pytest.mark.parametrize("bits", [64, 32])
@pytest.mark.parametrize("lanes", LANES)
def test_lookups_clamp_their_index(lanes: int, bits: int) -> None:
    b = Builder("lookup")
    index = b.parameter("index", 2)
    program = b.program(value=b.lookup("squares", np.arange(5.0) ** 2, index) + 0.5)
    assert any(isinstance(block, Lookup) for block in program.blocks)
    points = [0.0, -0.0, 0.999, 1.0, 2.7, 4.0, 4.99, 5.0, 1e9, INF, -0.001, -7.0, -INF, NAN]
    exact = np.array([0, 0, 0, 1, 4, 16, 16, 16, 16, 16, 0, 0, 0, 0]) + 0.5
    values = {"index": np.stack([points, points[::-1]], -1)}
    expected = np.stack([exact, exact[::-1]], -1)
    np.testing.assert_array_equal(compiled(program, values, lanes, bits).get("value"), expected)
    np.testing.assert_array_equal(reference.run(program, values)["value"], expected)


# ---------------------------------------------------------------- the tape's rules

RULES: dict[str, tuple[Callable[..., SX], Callable[..., Fraction], dict[str, int]]] = {
    "fma": (lambda a, b, c: a * b + c, lambda a, b, c: a * b + c, {"fma": 1}),
    "fma, sum first": (lambda a, b, c: c + a * b, lambda a, b, c: a * b + c, {"fma": 1}),
    "fnma": (lambda a, b, c: c - a * b, lambda a, b, c: c - a * b, {"fnma": 1}),
    "fms": (lambda a, b, c: a * b - c, lambda a, b, c: a * b - c, {"fms": 1}),
    "square": (lambda a, b, c: a * a + c, lambda a, b, c: a * a + c, {"fma": 1}),
    "square taken off": (lambda a, b, c: c - a * a, lambda a, b, c: c - a * a, {"fnma": 1}),
}


@pytest.mark.parametrize("rule", RULES)
def test_a_fused_multiply_add_rounds_once(rule: str) -> None:
    write, exact, counts = RULES[rule]
    program = function_of({"x": 3}, lambda x: {"y": write(x[0], x[1], x[2])})
    [(block, _)] = program.basic_blocks()
    assert create_tape(block.function).operation_counts() == counts
    rng = np.random.default_rng(1)
    x = rng.normal(size=(64, 3))
    x[::2, 2] = (
        -np.sign(rng.normal(size=32)) * x[::2, 0] * x[::2, 1]
    )  # cancellation shows a second rounding
    expected = [float(exact(*map(Fraction, row.tolist()))) for row in x]
    for lanes in (1, 8):
        np.testing.assert_array_equal(compiled(program, {"x": x}, lanes).get("y")[:, 0], expected)


def test_a_product_that_is_used_twice_is_not_fused() -> None:
    program = function_of({"x": 3}, lambda x: {"y": x[0] * x[1] + x[2], "z": x[0] * x[1]})
    [(block, _)] = program.basic_blocks()
    assert create_tape(block.function).operation_counts() == {"mul": 1, "add": 1}
    program = function_of(
        {"x": 4}, lambda x: {"y": x[0] * x[1] - x[2] * x[3], "z": (x[0] * x[1]) ** 2}
    )
    worlds = compiled(program, {"x": np.array([[3.0, 5.0, 2.0, 4.0]])})
    assert worlds.get("y") == [[7.0]] and worlds.get("z") == [[225.0]]


def test_a_choice_is_one_select_and_ignores_the_other_branch() -> None:
    program = function_of(
        {"x": 2}, lambda x: {"y": ca.if_else(x[0] > 0, ca.log(x[0]), x[1] / x[0])}
    )
    [(block, _)] = program.basic_blocks()
    counts = create_tape(block.function).operation_counts()
    assert counts["select"] == 1 and "if_else_zero" not in counts and "not" not in counts
    x = np.array([[2.0, 1.0], [-4.0, 1.0], [0.0, 5.0], [1.0, NAN], [NAN, 1.0], [-INF, 2.0]])
    with np.errstate(all="ignore"):
        expected = np.where(x[:, 0] > 0, np.log(x[:, 0]), x[:, 1] / x[:, 0])
    for lanes in LANES:
        np.testing.assert_array_equal(compiled(program, {"x": x}, lanes).get("y")[:, 0], expected)


def test_choices_without_an_else_and_with_logic() -> None:
    def make(x: SX) -> dict[str, SX]:
        both, either = ca.logic_and(x[0], x[1]), ca.logic_or(x[0], x[1])
        return {
            "y": ca.vertcat(
                ca.if_else(x[0], x[1], 0), both, either, ca.logic_not(x[0]), 3 * (x[0] < x[1])
            )
        }

    program = function_of({"x": 2}, make)
    x = np.array([[0.0, 0.0], [0.0, 7.0], [2.0, 0.0], [-1.0, 3.0], [-0.0, 1.0], [NAN, 1.0]])
    expected = reference.run(program, {"x": x})["y"]
    np.testing.assert_array_equal(expected[:, 1], np.logical_and(x[:, 0], x[:, 1]))
    np.testing.assert_array_equal(expected[:, 3], np.logical_not(x[:, 0]))
    for lanes in LANES:
        np.testing.assert_array_equal(compiled(program, {"x": x}, lanes).get("y"), expected)


def test_divisions_by_the_same_number_share_one_reciprocal() -> None:
    program = function_of({"x": 4}, lambda x: {"y": x[:3] / x[3], "z": 1 / x[3]})
    [(block, _)] = program.basic_blocks()
    assert create_tape(block.function).operation_counts() == {"inv": 1, "mul": 3}
    x = np.random.default_rng(2).normal(size=(50, 4))
    worlds = compiled(program, {"x": x})
    np.testing.assert_allclose(worlds.get("y"), x[:, :3] / x[:, 3:], rtol=3e-16)
    np.testing.assert_array_equal(worlds.get("z"), 1 / x[:, 3:])
    single = function_of({"x": 2}, lambda x: {"y": x[0] / x[1]})
    [(block, _)] = single.basic_blocks()
    assert create_tape(block.function).operation_counts() == {"div": 1}


def test_a_huge_constant_is_infinite_in_single_precision() -> None:
    program = function_of({"x": 1}, lambda x: {"y": ca.fmin(x, 1e300), "z": x * 1e-300})
    worlds = compiled(program, {"x": np.array([[2.0], [3.0]])}, bits=32)
    np.testing.assert_array_equal(worlds.get("y"), [[2.0], [3.0]])
    np.testing.assert_array_equal(worlds.get("z"), [[0.0], [0.0]])


# ---------------------------------------------------------------- random expressions

Tree = tuple
UNARY: dict[str, Callable[[SX], SX]] = {
    "neg": lambda a: -a, "abs": ca.fabs, "sqrt": ca.sqrt, "floor": ca.floor, "ceil": ca.ceil,
    "sin": ca.sin, "cos": ca.cos, "tan": ca.tan, "asin": ca.asin, "acos": ca.acos, "atan": ca.atan,
    "exp": ca.exp, "expm1": ca.expm1, "log": ca.log, "log1p": ca.log1p, "sinh": ca.sinh,
    "cosh": ca.cosh, "tanh": ca.tanh, "sign": ca.sign, "sq": lambda a: a * a,
    "twice": lambda a: a + a, "inv": lambda a: 1 / a, "not": ca.logic_not, "cube": lambda a: a**3,
    "root": lambda a: a**1.7,
}  # fmt: skip
BINARY: dict[str, Callable[[SX, SX], SX]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b, "pow": ca.power, "fmod": ca.fmod, "hypot": ca.hypot,
    "atan2": ca.atan2, "copysign": ca.copysign, "fmin": ca.fmin, "fmax": ca.fmax,
    "lt": lambda a, b: a < b, "le": lambda a, b: a <= b, "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b, "and": ca.logic_and, "or": ca.logic_or,
}  # fmt: skip
VARIABLES = 4


def trees() -> st.SearchStrategy[Tree]:
    """Random expressions as nested tuples."""
    leaves = st.one_of(
        st.tuples(st.just("x"), st.integers(0, VARIABLES - 1)),
        st.tuples(
            st.just("c"), st.floats(-4, 4, width=16).filter(lambda c: c == 0 or abs(c) > 1e-3)
        ),
    )
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.tuples(st.sampled_from(sorted(UNARY)), inner),
            st.tuples(st.sampled_from(sorted(BINARY)), inner, inner),
            st.tuples(st.just("if"), inner, inner, inner),
        ),
        max_leaves=14,
    )


def written(tree: Tree, x: SX, errors: list[SX] | None, seen: list[SX]) -> SX:
    """The expression; with `errors` every result has a factor 1 + error, and all results are
    appended to `seen`.
    """
    op, *args = tree
    if op == "x":
        value = x[args[0]]
    elif op == "c":
        value = SX(float(args[0]))
    else:
        parts = [written(a, x, errors, seen) for a in args]
        value = {"if": ca.if_else, **UNARY, **BINARY}[op](*parts)
    if errors is not None and op != "c":
        errors.append(SX.sym("e"))
        value = value * (1 + errors[-1])
    seen.append(value)
    return value


def sensitivity(tree: Tree, x: Array, size: float) -> tuple[Array, Array, Array]:
    """The value (worlds,), its change if every operation has a relative error `size`, and all
    intermediate results.
    """
    rng, symbol = np.random.default_rng(0), SX.sym("x", VARIABLES)
    errors: list[SX] = []
    seen: list[SX] = []
    value = written(tree, symbol, errors, seen)
    f = ca.Function("f", [symbol, ca.vertcat(SX(0, 1), *errors)], [value, ca.vertcat(*seen)])
    exact, way = (np.array(a) for a in f.map(len(x))(x.T, np.zeros((len(errors), len(x)))))
    moved = np.zeros(len(x))
    for _ in range(8):
        nearby, _ = f.map(len(x))(x.T, size * rng.choice([-1.0, 1.0], (len(errors), len(x))))
        moved = np.fmax(moved, np.nan_to_num(np.abs(np.array(nearby)[0] - exact[0]), nan=INF))
    return exact[0], moved, way


@settings(max_examples=80, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(
    trees=st.lists(trees(), min_size=4, max_size=4),
    lanes=st.sampled_from(LANES),
    seed=st.integers(0, 9),
)
def test_random_expressions_agree_with_the_reference(
    trees: list[Tree], lanes: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    x = rng.choice([1.0, 3.0, 0.05], (32, 1)) * rng.normal(size=(32, VARIABLES))
    x = x.astype(np.float32).astype(float)
    program = function_of(
        {"x": VARIABLES}, lambda x: {"y": ca.vertcat(*(written(t, x, None, []) for t in trees))}
    )
    expected = reference.run(program, {"x": x})["y"]
    checked = 0
    for bits, relative, largest in ((64, 1e-13, 1e12), (32, 1e-5, 1e4)):
        found = compiled(program, {"x": x}, lanes, bits).get("y").astype(float)
        for k, tree in enumerate(trees):
            with np.errstate(all="ignore"):
                exact, moved, way = sensitivity(tree, x, relative)
                fine = np.isfinite(way).all(0) & (np.abs(way) < largest).all(0)
                fine &= ((np.abs(way) > 1 / largest**2) | (way == 0)).all(0)
                tolerance = relative * np.abs(exact) + 2 * moved
                wrong = fine & ~(np.abs(found[:, k] - exact) <= tolerance)
            np.testing.assert_allclose(expected[fine, k], exact[fine], rtol=1e-12, atol=1e-15)
            assert not wrong.any(), (bits, tree, x[wrong][0], found[wrong, k][0], exact[wrong][0])
            checked += int(fine.sum())
    assume(checked)


EVERYWHERE = [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -2.5, 1e-310, 1e300, INF, -INF, NAN]


@pytest.mark.parametrize("name", [*UNARY, *BINARY])
def test_special_values_match_the_reference(name: str) -> None:
    unary = name in UNARY
    program = function_of(
        {"x": 2}, lambda x: {"y": UNARY[name](x[0]) if unary else BINARY[name](x[0], x[1])}
    )
    x = np.array([[a, b] for a in EVERYWHERE for b in ([0.0] if unary else EVERYWHERE)])
    if name in (
        "fmin",
        "fmax",
    ):  # C's fmin drops a NaN, ours need not: which it does is its own affair
        x = x[~np.isnan(x).any(1)]
    if name in (
        "hypot",
        "fmod",
        "sin",
        "cos",
        "tan",
        "atan2",
    ):  # see the docstrings in `elementary`
        x = x[(np.abs(x) < 1e100).all(1) | np.isnan(x).any(1) & ~np.isinf(x).any(1)]
    if name == "fmod":
        x = x[np.abs(x[:, 1]) != 1e-310]
    expected = reference.run(program, {"x": x})["y"]
    for lanes in (1, 8):
        found = compiled(program, {"x": x}, lanes).get("y")
        np.testing.assert_allclose(found, expected, rtol=1e-15, atol=1e-320, err_msg=str(x))


# ---------------------------------------------------------------- lanes


def busy() -> Program:
    """State, all kinds of blocks, and arithmetic in which a NaN could spread."""
    b = Builder("busy")
    x, k = b.declare("x", 3), b.parameter("k")
    turned = b.store(
        "turned",
        ca.vertcat(ca.sin(x[0]) + x[1] * x[2], ca.exp(-ca.fabs(x[1])), x[2] / (1 + x[0] ** 2)),
    )
    drawn = b.lookup("table", np.linspace(-1, 1, 9), 4 + 3 * turned[:1])

    def body(v: Values) -> tuple[Values, SX]:
        y = v["y"] - (v["y"] ** 3 - v["y"] - k) / (3 * v["y"] ** 2 - 1)
        return {"y": y, "n": v["n"] + 1}, ca.fabs(y - v["y"]) > 1e-9

    last = b.loop({"y": 2 + turned[1], "n": SX(0)}, body, 40)
    new = ca.vertcat(
        turned[0], ca.if_else(last["y"] > 1.5, last["y"] - 1, drawn), 0.9 * turned[2] + 0.1 * drawn
    )
    return b.program(x=new, n=last["n"], y=last["y"])


@pytest.mark.parametrize("bits", [64, 32])
def test_results_do_not_depend_on_lanes(bits: int) -> None:
    rng = np.random.default_rng(3)
    values = {"x": rng.normal(size=(37, 3)), "k": rng.uniform(0.5, 3, (37, 1))}
    first, *others = (compiled(busy(), values, lanes, bits, steps=20) for lanes in LANES)
    for other in others:
        for name in ("x", "n"):
            np.testing.assert_array_equal(words(other.get(name)), words(first.get(name)))


@pytest.mark.parametrize("poison", [NAN, INF, -1e308])
@pytest.mark.parametrize("bits", [64, 32])
def test_a_nan_world_does_not_affect_neighbors(bits: int, poison: float) -> None:
    rng = np.random.default_rng(4)
    values = {"x": rng.normal(size=(16, 3)), "k": rng.uniform(0.5, 3, (16, 1))}
    sound = {lanes: compiled(busy(), values, lanes, bits, steps=10) for lanes in (1, 8, 16)}
    broken = {name: value.copy() for name, value in values.items()}
    broken["x"][5], broken["k"][11] = max(poison, -1e38) if bits == 32 else poison, NAN
    others = np.setdiff1d(np.arange(16), [5, 11])
    for lanes, reference_worlds in sound.items():
        worlds = compiled(busy(), broken, lanes, bits, steps=10)
        for name in ("x", "n"):
            np.testing.assert_array_equal(
                words(worlds.get(name)[others]), words(reference_worlds.get(name)[others])
            )
        assert np.isnan(worlds.get("y")[11]).all()


def test_a_nan_world_stops_iterating() -> None:
    worlds = compiled(busy(), {"x": np.zeros((2, 3)), "k": np.array([[1.0], [NAN]])}, lanes=2)
    counts = worlds.get("n")[:, 0]
    assert 2 < counts[0] < 20 and counts[1] == 1


@pytest.mark.parametrize("lanes", LANES)
def test_compiled_is_the_reference_to_round_off(lanes: int) -> None:
    rng = np.random.default_rng(5)
    values = {"x": rng.normal(size=(19, 3)), "k": rng.uniform(0.5, 3, (19, 1))}
    expected = reference.run(busy(), values, 3)
    worlds = compiled(busy(), values, lanes, steps=3)
    np.testing.assert_allclose(worlds.get("x"), expected["x"], rtol=1e-12)
    single = compiled(busy(), values, lanes, bits=32)
    np.testing.assert_allclose(
        single.get("x"), reference.run(busy(), values)["x"], rtol=2e-5, atol=1e-5
    )
