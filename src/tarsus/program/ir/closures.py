"""Copy a function with its closure, and find the expressions that it captures.

The body of a cold loop is traced later than the program around it. Its closure is copied, so that
variables, lists, dictionaries and expressions that change in between do not affect it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from types import CellType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
from casadi import SX

ATOMS = (str, bytes, int, float, complex, type(None), np.ndarray, np.generic, type, ModuleType)


def captured_expressions(root: Any, exclude: Any = None) -> list[SX]:
    """Find every SX reachable through closures, defaults, attributes and containers.

    Parameters
    ----------
    root
        Function or object from which to start.
    exclude
        Object that is not searched.

    Returns
    -------
    list of SX
        Expressions. Those in a `functools.cache` are not found.
    """
    expressions: list[SX] = []
    stack, visited = [root], {id(exclude): exclude}
    while stack:
        item = stack.pop()
        if isinstance(item, ATOMS) or id(item) in visited:
            continue
        visited[id(item)] = item  # a reference, so that no new object gets the same id
        if isinstance(item, SX):
            expressions.append(item)
        else:
            stack += _children(item)
    return expressions


def copy_closure(value: Any, copies: dict[int, Any] | None = None) -> Any:
    """Copy functions, lists, tuples, dictionaries and expressions; share other objects.

    Parameters
    ----------
    value
        Function or other object.
    copies
        Copies made so far, by the id of the original, for recursive functions.

    Returns
    -------
    Any
        Copy that later assignments to captured variables and containers do not change.
    """
    copies = {} if copies is None else copies
    if id(value) in copies:
        return copies[id(value)][0]
    new = value
    if isinstance(value, SX):
        new = SX(value)
    elif type(value) in (list, tuple):
        new = type(value)(copy_closure(item, copies) for item in value)
    elif type(value) is dict:
        new = {key: copy_closure(item, copies) for key, item in value.items()}
    elif isinstance(value, FunctionType) and value.__closure__:
        cells = tuple(CellType() for _ in value.__closure__)
        attributes = value.__code__, value.__globals__, value.__name__, value.__defaults__, cells
        new = FunctionType(*attributes)
        new.__kwdefaults__ = value.__kwdefaults__
        copies[id(value)] = new, value  # before its closure, which may contain itself
        for cell, original in zip(cells, value.__closure__, strict=True):
            if _is_filled(original):
                cell.cell_contents = copy_closure(original.cell_contents, copies)
    copies[id(value)] = new, value
    return new


def _children(item: Any) -> Iterator[Any]:
    """Yield the objects that an object refers to."""
    if isinstance(item, Mapping):
        yield from item.keys()
        yield from item.values()
    elif isinstance(item, list | tuple | set | frozenset):
        yield from item
    elif isinstance(item, MethodType):
        yield from (item.__self__, item.__func__)
    elif isinstance(item, partial):
        yield from (item.func, item.args, item.keywords)
    elif isinstance(item, FunctionType):
        yield from (item.__defaults__, item.__kwdefaults__)
        yield from (cell.cell_contents for cell in item.__closure__ or () if _is_filled(cell))
    if hasattr(item, "__dict__"):
        yield from vars(item).values()
    for name in getattr(type(item), "__slots__", ()):
        yield getattr(item, name, None)


def _is_filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:
        return False
