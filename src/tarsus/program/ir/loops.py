"""Write loops: until a condition fails, over a range, or over items."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from itertools import pairwise
from typing import Any, TypeVar, cast

import casadi as ca
from casadi import SX

from tarsus.program.ir.blocks import Slice
from tarsus.program.ir.stored_values import StoredValues
from tarsus.program.ir.symbolic import entries
from tarsus.program.ir.trees import Tree, have_same_structure, variable_entries, with_entries
from tarsus.program.ir.unfinished_blocks import Unfinished, UnfinishedLoop

Values = dict[str, SX]
Item = TypeVar("Item")
Step = tuple[list[SX], Tree]
Body = Callable[[Values], tuple[Values, SX]]


class Loops(StoredValues):
    """Writes loops; the body of a loop is traced once."""

    def loop(
        self,
        start: Mapping[str, SX],
        body: Body,
        maximum: int,
        first: SX | None = None,
        cold: bool = False,
    ) -> Values:
        """Write a loop that carries values through iterations, in each world separately.

        Parameters
        ----------
        start
            Values before the first iteration, by name.
        body
            Function from the carried values to their next values and a condition; the loop
            continues while the condition is positive.
        maximum
            Limit on the number of iterations.
        first
            Condition of the first iteration; by default every world enters the loop.
        cold
            Whether few worlds enter it (`While.cold`).

        Returns
        -------
        dict of SX
            Symbols of the values after the loop.
        """
        symbols, names, condition = self._begin_loop(start, first)
        outer, self._blocks = self._blocks, []
        self._trace_body(body, symbols, names, condition)
        outer.append(UnfinishedLoop(condition, self._blocks, maximum, cold))
        self._blocks = outer
        return symbols

    def map_range(self, name: str, count: int, make: Callable[[SX], Tree]) -> list[Tree]:
        """Compute [make(0), ..., make(count - 1)] by a loop.

        Parameters
        ----------
        name
            Name of the register of results.
        count
            Number of iterations.
        make
            Function from an index () to expressions or a structure of them. The structure must be
            the same for all indices.

        Returns
        -------
        list
            The `count` results.
        """
        return self.scan(name, [SX(0)], count, lambda index: ([index[0] + 1], make(index[0])))[1]

    def scan(
        self, name: str, start: list[SX], count: int, step: Callable[[list[SX]], Step[Tree]]
    ) -> tuple[list[SX], list[Tree]]:
        """Carry values through `count` iterations of a loop and collect a result of each.

        Parameters
        ----------
        name
            Name of the register of results.
        start
            Values before the first iteration.
        count
            Number of iterations.
        step
            Function from the carried values to their next values and a result, expressions or a
            structure of them. The structure must be the same in all iterations.

        Returns
        -------
        carried : list of SX
            Values after the last iteration.
        results : list
            Result of each iteration.
        """
        return self._trace_iterations(name, start, count, (), lambda values, _: step(values))

    def map_items(
        self, name: str, items: Sequence[Item], make: Callable[[Item], Tree]
    ) -> list[Tree]:
        """Compute [make(item) for each item], by a loop if `writes_loop` the items.

        Parameters
        ----------
        name
            Name of the register of results.
        items
            Expressions or structures of them.
        make
            Function from an item to expressions or a structure of them.

        Returns
        -------
        list
            Result of each item.
        """
        if not self.writes_loop(items):
            return [make(item) for item in items]
        count = len(items)
        return self._trace_iterations(name, [], count, items, lambda _, item: ([], make(item)))[1]

    def fold(
        self,
        name: str,
        start: list[SX],
        items: Sequence[Item],
        add: Callable[[list[SX], Item], list[SX]],
    ) -> list[SX]:
        """Compute add(... add(add(start, items[0]), items[1]) ...), by a loop like `map_items`."""
        if not self.writes_loop(items):
            return reduce(add, items, start)
        return self._trace_iterations(
            name, start, len(items), items, lambda values, item: (add(values, item), [])
        )[0]

    def writes_loop(self, items: Sequence[Any]) -> bool:
        """Return whether `map_items` and `fold` write a loop.

        They do in cold code, where code size counts more than speed, if all items have the same
        structure.
        """
        return self.is_tracing_cold and have_same_structure(items)

    @property
    def is_tracing_cold(self) -> bool:
        """Whether the body of a cold loop is being traced, whose code should be small."""
        return bool(self._scope)

    def _trace_iterations(
        self,
        name: str,
        start: list[SX],
        count: int,
        items: Sequence[Item],
        step: Callable[[list[SX], Item], Step[Tree]],
    ) -> tuple[list[SX], list[Tree]]:
        """Write a loop; return the carried values and the results. Items: one each, or none."""

        def declare(base: str, size: int) -> tuple[str, list[SX]]:
            register = self._unique_name(base)
            return register, entries(self.declare(register, size, "temporary"))

        # the carried values, and an array of all items
        rows = [variable_entries(item) for item in items]
        state, carried = declare(f"{name}_now", len(start))
        condition, _ = declare("more", 1)
        self._pending.update({state: ca.vertcat(SX(0, 1), *start), condition: SX(1)})
        outer, body = self._blocks, list[Unfinished]()
        item = None
        if rows:
            whole, _ = declare(f"{name}_of", len(rows) * len(rows[0]))
            part, symbols = declare(f"{name}_own", len(rows[0]))
            self._pending[whole] = ca.vertcat(*(x for row in rows for x in row))
            body.append(Slice(whole, part))
            item = with_entries(items[0], symbols)
        self._close_block()
        # an iteration, whose result goes to its slice of an array
        self._blocks = body
        values, result = step(carried, cast(Item, item))
        row = variable_entries(result)
        part, _ = declare(f"{name}_row", len(row))
        whole, results = declare(name, count * len(row))
        self._pending.update(
            {state: ca.vertcat(SX(0, 1), *values), part: ca.vertcat(SX(0, 1), *row)}
        )
        self._close_block()
        if row:
            self._blocks.append(Slice(whole, part, is_store=True))
        outer.append(UnfinishedLoop(condition, self._blocks, count))
        self._blocks = outer
        offsets = [k * len(row) for k in range(count + 1)]
        return carried, [with_entries(result, results[a:b]) for a, b in pairwise(offsets)]

    def _begin_loop(
        self, start: Mapping[str, SX], first: SX | None
    ) -> tuple[Values, dict[str, str], str]:
        """Create symbols and registers of the carried values, and the condition register."""
        names: dict[str, str] = {}
        symbols: Values = {}
        for key, value in start.items():
            names[key] = self._unique_name(key)
            symbols[key] = self.declare(names[key], value.numel(), "temporary")
        condition = self._unique_name("more")
        self.declare(condition, 1, "temporary")
        # the block before the loop stores the start values
        self._pending.update(
            {names[key]: value for key, value in start.items()}
            | {condition: SX(1) if first is None else first}
        )
        self._close_block()
        return symbols, names, condition

    def _trace_body(
        self, body: Body, symbols: Values, names: dict[str, str], condition: str
    ) -> None:
        """Trace a loop's body once."""
        values, more = body(dict(symbols))
        if missing := set(names) ^ set(values):
            raise ValueError(
                "the loop's body must return the same values as it is given; check"
                f" {sorted(missing)}"
            )
        for key, symbol in symbols.items():
            if values[key].numel() != symbol.numel():
                raise ValueError(
                    f"the loop's {key!r} has {symbol.numel()} entries, but its body returns"
                    f" {values[key].numel()}"
                )
        self._pending.update({names[key]: values[key] for key in names} | {condition: more})
        self._close_block()
