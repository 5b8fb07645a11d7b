"""Fast operators of CasADi's SX, which skip the search for an overload.

CasADi's Python operators try one overload after the other, for numbers, DM, SX and MX. This takes
ten times as long as building the expression, and most of the time to trace a step. Between SX and
numbers the overload is known, and `SX.binary` builds the same expression. For other operands
CasADi's own operator is called.
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
REFLECTED = {  # y op x
    "__radd__": ca.OP_ADD,
    "__rsub__": ca.OP_SUB,
    "__rmul__": ca.OP_MUL,
    "__rtruediv__": ca.OP_DIV,
    "__gt__": ca.OP_LT,
    "__ge__": ca.OP_LE,
}
DIRECT_TYPES = (SX, float, int)


def install() -> None:
    """Replace the operators of the class SX; once per process."""
    for names, make in ((FORWARD, _wrap_forward), (REFLECTED, _wrap_reflected)):
        for name, code in names.items():
            original = getattr(SX, name)
            if not hasattr(original, "original"):
                operator = make(original, code)
                operator.original, operator.__doc__ = original, original.__doc__
                setattr(SX, name, operator)


def _wrap_forward(original: Operator, code: int) -> Any:
    make = SX.binary
    return lambda x, y: make(code, x, y) if type(y) in DIRECT_TYPES else original(x, y)


def _wrap_reflected(original: Operator, code: int) -> Any:
    make = SX.binary
    return lambda x, y: make(code, y, x) if type(y) in DIRECT_TYPES else original(x, y)
