"""Operators of CasADi's SX that go straight to their function.

Written in Python, `a * b` tries one overload of `times` after the other, for numbers, DM, SX and
MX, which takes ten times as long as making the expression: most of the time to write a step.
Between SX and numbers there is nothing to choose, and `SX.binary` makes the very same expression.
Whatever else an operand may be goes CasADi's own way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
from casadi import SX

Operator = Callable[[Any, Any], Any]
FORWARD = {  # x op y
    "__add__": ca.OP_ADD,
    "__sub__": ca.OP_SUB,
    "__mul__": ca.OP_MUL,
    "__truediv__": ca.OP_DIV,
    "__iadd__": ca.OP_ADD,
    "__isub__": ca.OP_SUB,
    "__imul__": ca.OP_MUL,
    "__itruediv__": ca.OP_DIV,
    "__lt__": ca.OP_LT,
    "__le__": ca.OP_LE,
    "__eq__": ca.OP_EQ,
    "__ne__": ca.OP_NE,
}
BACKWARD = {  # y op x
    "__radd__": ca.OP_ADD,
    "__rsub__": ca.OP_SUB,
    "__rmul__": ca.OP_MUL,
    "__rtruediv__": ca.OP_DIV,
    "__gt__": ca.OP_LT,
    "__ge__": ca.OP_LE,
}
PLAIN = (SX, float, int)


def install() -> None:
    """Replace the operators of the class SX, once a process."""
    for names, make in ((FORWARD, _forward), (BACKWARD, _backward)):
        for name, code in names.items():
            usual = getattr(SX, name)
            if not hasattr(usual, "usual"):
                operator = make(usual, code)
                operator.usual, operator.__doc__ = usual, usual.__doc__
                setattr(SX, name, operator)


def _forward(usual: Operator, code: int) -> Any:
    make = SX.binary
    return lambda x, y: make(code, x, y) if type(y) in PLAIN else usual(x, y)


def _backward(usual: Operator, code: int) -> Any:
    make = SX.binary
    return lambda x, y: make(code, y, x) if type(y) in PLAIN else usual(x, y)
