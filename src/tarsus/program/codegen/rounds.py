"""What worlds that take no part in a loop's round have after it: what they had.

In the outermost loop of a kernel over lanes values are written for all worlds, and those of worlds
without a part are put right at the round's end, if there are any. Mostly there is none: to choose
each value by the world's mask, and to have both at hand, took a twentieth of a step (decision
0056). Inside that loop, and in records, each value is chosen where it is written.
"""

from __future__ import annotations

from tarsus.program.codegen.registers import BY, Registers
from tarsus.program.ir.blocks import While
from tarsus.program.lowering.scopes import written


class Rounds(Registers):
    """Writes where a round begins and ends."""

    def _jump(self, label: str) -> None:
        """A block of its own begins, under a name."""
        self.scribe.lines += [f"  br label %{label}", f"{label}:"]

    def _to_be_kept(self, block: While) -> list[tuple[str, int]]:
        """What a round writes that worlds without a part in it get back at its end; not what lives
        in a loop inside it: it would be kept from round to round, and from step to step.
        """
        inside = frozenset[str]().union(*self._scopes.values())
        names = [name for name in written(block.body) if self._kept_at_end(name)]
        names = [name for name in names if name not in inside]
        return [(name, k) for name in names for k in range(self.program.sizes[name])]

    def _put_by(
        self, kept: list[tuple[str, int]], mask: str, tag: str, when: str, hint: str = ""
    ) -> None:
        """Before a round in which not every world takes part."""
        s = self.scribe
        if kept:
            every = s.all(mask)
            s.lines += [
                f"  br i1 {every}, label %{tag}.{when}.by, label %{tag}.{when}.some",
                f"{tag}.{when}.some:",
            ]
            for place, (name, k) in enumerate(kept):
                value = self._load(name, k)
                s.lines.append(f"  store volatile {self._number} {value}, {self._by(place)}")
        self._jump(f"{tag}.{when}.by")
        s.lines.append(f"  br label %{tag}.body{hint}")

    def _put_right(self, kept: list[tuple[str, int]], tag: str) -> None:
        """After such a round: worlds that took no part have what they had."""
        if kept:
            s, mask = self.scribe, self._masks[-1]
            every = s.all(mask)
            s.lines += [
                f"  br i1 {every}, label %{tag}.end, label %{tag}.some",
                f"{tag}.some:",
            ]
            for place, (name, k) in enumerate(kept):
                value = s.access(f"load volatile {self._number}, {self._by(place)}")
                self._write(s.select(mask, self._load(name, k), value), name, k)
            self._jump(f"{tag}.end")

    def _by(self, place: int) -> str:
        """A typed pointer to where a number waits for a round's end."""
        self._kept = max(self._kept, place + 1)
        at = f"getelementptr inbounds {self._number}, ptr {BY}, i64 {place}"
        return f"ptr {self.scribe.access(at)}, align {self._align}"
