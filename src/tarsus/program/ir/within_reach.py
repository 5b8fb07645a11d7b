"""What a function holds: kept as it is now, and the expressions in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from types import CellType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
from casadi import SX

PLAIN = (str, bytes, int, float, complex, type(None), np.ndarray, np.generic, type, ModuleType)


def expressions(thing: Any, leave_out: Any = None) -> list[SX]:
    """Every SX in closures, defaults, attributes and containers, of functions in them too.

    leave_out: an object that is not looked into
    What a `functools.cache` has kept is not seen.
    """
    found: list[SX] = []
    waiting, seen = [thing], {id(leave_out): leave_out}
    while waiting:
        own = waiting.pop()
        if isinstance(own, PLAIN) or id(own) in seen:
            continue
        seen[id(own)] = own  # kept alive, so that no other gets its number
        if isinstance(own, SX):
            found.append(own)
        else:
            waiting += _parts(own)
    return found


def held(thing: Any, known: dict[int, Any] | None = None) -> Any:
    """The same, whatever is done later with the names, lists, dictionaries and expressions that
    its functions hold; frozen objects are taken as they are.
    """
    known = {} if known is None else known
    if id(thing) in known:
        return known[id(thing)][0]
    new = thing
    if isinstance(thing, SX):
        new = SX(thing)
    elif type(thing) in (list, tuple):
        new = type(thing)(held(part, known) for part in thing)
    elif type(thing) is dict:
        new = {key: held(part, known) for key, part in thing.items()}
    elif isinstance(thing, FunctionType) and thing.__closure__:
        cells = tuple(CellType() for _ in thing.__closure__)
        made = thing.__code__, thing.__globals__, thing.__name__, thing.__defaults__, cells
        new = FunctionType(*made)
        new.__kwdefaults__ = thing.__kwdefaults__
        known[id(thing)] = new, thing  # it may hold itself
        for cell, own in zip(cells, thing.__closure__, strict=True):
            if _filled(own):
                cell.cell_contents = held(own.cell_contents, known)
    known[id(thing)] = new, thing
    return new


def _parts(thing: Any) -> Iterator[Any]:
    """What it holds, one level down."""
    if isinstance(thing, Mapping):
        yield from thing.keys()
        yield from thing.values()
    elif isinstance(thing, list | tuple | set | frozenset):
        yield from thing
    elif isinstance(thing, MethodType):
        yield from (thing.__self__, thing.__func__)
    elif isinstance(thing, partial):
        yield from (thing.func, thing.args, thing.keywords)
    elif isinstance(thing, FunctionType):
        yield from (thing.__defaults__, thing.__kwdefaults__)
        yield from (cell.cell_contents for cell in thing.__closure__ or () if _filled(cell))
    if hasattr(thing, "__dict__"):
        yield from vars(thing).values()
    for name in getattr(type(thing), "__slots__", ()):
        yield getattr(thing, name, None)


def _filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not cell
    except ValueError:
        return False
