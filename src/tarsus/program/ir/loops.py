"""Loops of a program that is being written: until something holds, or over items."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from itertools import pairwise
from typing import Any, TypeVar, cast

import casadi as ca
from casadi import SX

from tarsus.program.ir.blocks import Slice
from tarsus.program.ir.drafts import Drafted, Loop
from tarsus.program.ir.kept_values import Held, KeptValues, alike, numbers, with_numbers
from tarsus.program.ir.symbolic import entries

Values = dict[str, SX]
Item = TypeVar("Item")
Step = tuple[list[SX], Held]
Body = Callable[[Values], tuple[Values, SX]]


class Loops(KeptValues):
    """Writes loops: their bodies are traced once."""

    def loop(
        self,
        start: Mapping[str, SX],
        body: Body,
        maximum: int,
        first: SX | None = None,
        cold: bool = False,
    ) -> Values:
        """Carry `start` through body(values) -> (values, more) while more > 0; the last values.

        Worlds where `first` is not positive do not enter the loop at all; cold: few ever do
        (`While.cold`).
        """
        symbols, names, more = self._begun(start, first)
        outer, self._blocks = self._blocks, []
        self._round(body, symbols, names, more)
        outer.append(Loop(more, self._blocks, maximum, cold))
        self._blocks = outer
        return symbols

    def map_range(self, name: str, count: int, make: Callable[[SX], Held]) -> list[Held]:
        """[make(0), ..., make(count - 1)], found by a loop whose code holds one of them.

        make: from the index () to expressions, or a structure of them that looks alike for all.
        """
        return self.scan(name, [SX(0)], count, lambda at: ([at[0] + 1], make(at[0])))[1]

    def scan(
        self, name: str, start: list[SX], count: int, step: Callable[[list[SX]], Step[Held]]
    ) -> tuple[list[SX], list[Held]]:
        """start, carried through step(values) -> (values, made) `count` times by a loop: what it is
        at last, and what each round made, expressions or a structure of them that look alike.
        """
        return self._rounds(name, start, count, (), lambda values, _: step(values))

    def map_items(
        self, name: str, items: Sequence[Item], make: Callable[[Item], Held]
    ) -> list[Held]:
        """[make(item) for each item]; where `loops_over` them, by a loop that holds one of them.

        items: expressions, or structures of them
        """
        if not self.loops_over(items):
            return [make(item) for item in items]
        return self._rounds(name, [], len(items), items, lambda _, item: ([], make(item)))[1]

    def fold(
        self,
        name: str,
        start: list[SX],
        items: Sequence[Item],
        add: Callable[[list[SX], Item], list[SX]],
    ) -> list[SX]:
        """add(... add(add(start, items[0]), items[1]) ...), as `map_items`."""
        if not self.loops_over(items):
            return reduce(add, items, start)
        return self._rounds(
            name, start, len(items), items, lambda values, item: (add(values, item), [])
        )[0]

    def loops_over(self, items: Sequence[Any]) -> bool:
        """Whether cold code is traced, and the items look alike."""
        return self.is_tracing_cold and alike(items)

    @property
    def is_tracing_cold(self) -> bool:
        """Whether cold code is being traced, which should be short rather than fast."""
        return bool(self._scope)

    def _rounds(
        self,
        name: str,
        start: list[SX],
        count: int,
        items: Sequence[Item],
        step: Callable[[list[SX], Item], Step[Held]],
    ) -> tuple[list[SX], list[Held]]:
        """A loop: what it carried, at last, and what each round made; items: one for each round, or
        none at all.
        """

        def declared(what: str, size: int) -> tuple[str, list[SX]]:
            register = self._fresh(what)
            return register, entries(self.declare(register, size, "temporary"))

        # what it carries, and all items
        rows = [numbers(item) for item in items]
        total, carried = declared(f"{name}_now", len(start))
        more, _ = declared("more", 1)
        self._pending.update({total: ca.vertcat(SX(0, 1), *start), more: SX(1)})
        outer, inside = self._blocks, list[Drafted]()
        item = None
        if rows:
            whole, _ = declared(f"{name}_of", len(rows) * len(rows[0]))
            part, symbols = declared(f"{name}_own", len(rows[0]))
            self._pending[whole] = ca.vertcat(*(x for row in rows for x in row))
            inside.append(Slice(whole, part))
            item = with_numbers(items[0], symbols)
        self._cut()
        # a round, and what it makes, in its own place
        self._blocks = inside
        values, made = step(carried, cast(Item, item))
        row = numbers(made)
        own, _ = declared(f"{name}_row", len(row))
        kept, stack = declared(name, count * len(row))
        self._pending.update(
            {total: ca.vertcat(SX(0, 1), *values), own: ca.vertcat(SX(0, 1), *row)}
        )
        self._cut()
        if row:
            self._blocks.append(Slice(kept, own, stored=True))
        outer.append(Loop(more, self._blocks, count))
        self._blocks = outer
        places = [k * len(row) for k in range(count + 1)]
        return carried, [with_numbers(made, stack[a:b]) for a, b in pairwise(places)]

    def _begun(
        self, start: Mapping[str, SX], first: SX | None
    ) -> tuple[Values, dict[str, str], str]:
        """Symbols and names of what a loop carries, and the name of what says whether to go on."""
        # a register for each value carried, and one that says whether to go on
        names: dict[str, str] = {}
        symbols: Values = {}
        for key, value in start.items():
            names[key] = self._fresh(key)
            symbols[key] = self.declare(names[key], value.numel(), "temporary")
        more = self._fresh("more")
        self.declare(more, 1, "temporary")
        # its start ends the block before the loop
        self._pending.update(
            {names[key]: value for key, value in start.items()}
            | {more: SX(1) if first is None else first}
        )
        self._cut()
        return symbols, names, more

    def _round(self, body: Body, symbols: Values, names: dict[str, str], more: str) -> None:
        """Trace a loop's body once."""
        values, again = body(dict(symbols))
        if missing := set(names) ^ set(values):
            raise ValueError(
                f"the loop's body must give back exactly what it was given; check {sorted(missing)}"
            )
        # what it gives back must have the sizes of what it was given
        for key, symbol in symbols.items():
            if values[key].numel() != symbol.numel():
                raise ValueError(
                    f"the loop's {key!r} has {symbol.numel()} numbers, its body gives"
                    f" {values[key].numel()}"
                )
        self._pending.update({names[key]: values[key] for key in names} | {more: again})
        self._cut()
