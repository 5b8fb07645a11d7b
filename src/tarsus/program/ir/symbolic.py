"""Small helpers on CasADi expressions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from typing import Any, cast

import casadi as ca
from casadi import SX

from tarsus.program.ir import quick_operators

quick_operators.install()


def entries(x: SX) -> list[SX]:
    """All entries of a vector or matrix, column by column."""
    return cast("list[SX]", x.elements())


def is_float64(number: SX) -> SX:
    """Whether a number greater than 0 is told apart from itself and a billionth more: where the
    program runs in float64, and not where it runs in float32.
    """
    return number * (1 + 1e-9) > number


def masked(flag: SX, x: SX, least: float = 0.0) -> SX:
    """x where flag is 1, else 0, as one number: CasADi hands a plain choice with zero on through
    every product in which it is a factor. Neither is less than `least`.
    """
    return ca.fmax(ca.if_else(flag, x, 0), least)


def mapped(thing: Any, change: Callable[[SX], SX]) -> Any:
    """The same with every SX changed: one, or lists, tuples, dictionaries, dataclasses of them.

    What holds no expression is left as it is.
    """
    if isinstance(thing, SX):
        return change(thing)
    if isinstance(thing, list | tuple):
        return type(thing)(mapped(part, change) for part in thing)
    if isinstance(thing, dict):
        return {key: mapped(part, change) for key, part in thing.items()}
    if is_dataclass(thing) and not isinstance(thing, type):
        parts = {f.name: getattr(thing, f.name) for f in fields(thing) if f.init}
        new = {name: mapped(part, change) for name, part in parts.items() if holds_expression(part)}
        return replace(thing, **new) if new else thing
    return thing


def holds_expression(thing: Any) -> bool:
    """Whether an SX stands anywhere in it."""
    if isinstance(thing, dict):
        return any(holds_expression(part) for part in thing.values())
    if isinstance(thing, list | tuple):
        return any(holds_expression(part) for part in thing)
    if is_dataclass(thing) and not isinstance(thing, type):
        return any(holds_expression(getattr(thing, f.name)) for f in fields(thing) if f.init)
    return isinstance(thing, SX)
