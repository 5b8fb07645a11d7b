"""Fast operators of SX, and vectorized reading of instructions."""

from __future__ import annotations

import operator

import casadi as ca
import numpy as np
import pytest
from casadi import SX

from tarsus.program.ir import fast_operators
from tarsus.program.lowering import instructions

fast_operators.install()
X, V, EMPTY = SX.sym("x"), SX.sym("v", 3), SX(3, 1)
PLACES = [
    *(operator.add, operator.sub, operator.mul, operator.truediv),
    *(operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge),
    *(operator.iadd, operator.isub, operator.imul, operator.itruediv),
]


@pytest.mark.parametrize("op", PLACES)
def test_fast_operators_match_casadi_operators(op) -> None:
    own = getattr(SX, f"__{op.__name__}__").original
    for x, y in ((X, V), (V, X), (V, V), (V, EMPTY), (X, X), (V, 2.0), (V, 0), (X, -1.5)):
        assert ca.is_equal(op(x, y), own(x, y), 10)
        assert op(x, y).sparsity() == own(x, y).sparsity()


def test_mixed_operands_match_casadi() -> None:
    for number in (2.0, 3):
        assert ca.is_equal(number - V, SX(number) - V, 10)
        assert ca.is_equal(number / V, SX(number) / V, 10)
    assert ca.is_equal(V * np.ones(3), V, 10)
    with pytest.raises(TypeError):
        V * "text"  # pyright: ignore


def test_vectorized_instruction_reading_matches_casadi(monkeypatch) -> None:
    x, y = SX.sym("x", 4), SX.sym("y", 3)
    some = [ca.sin(x[0]), ca.atan2(x[1], y[0]), ca.if_else(x[2] > 1e300, y[1], -0.0), x[3] ** y[2]]
    for _ in range(200):
        some.append(some[-1] * some[-2] + ca.fmax(some[-3], 0.1))
    function = ca.Function("f", [x, y], [ca.vertcat(*some), y / x[0]], {"cse": True})
    asked = instructions._query
    expected = [asked(function, k) for k in range(function.n_instructions())]
    calls = []
    monkeypatch.setattr(instructions, "_query", lambda f, k: calls.append(k) or asked(f, k))
    assert instructions.instructions(function).tolist() == expected
    assert len(calls) <= instructions.LOCATOR_SIZE + instructions.SAMPLE_SIZE < len(expected)
    # another order of letters in the text: all are asked for
    monkeypatch.setattr(instructions, "_to_letters", lambda rows: np.frombuffer(b"?", np.uint8))
    assert instructions.instructions(function).tolist() == expected
