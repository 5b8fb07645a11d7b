"""Preserve the registers of inactive lanes: worlds that take no part in a loop's iteration.

In the outermost loop of a kernel over lanes, values are written for all lanes. If some lanes are
inactive, their old values are saved before the iteration and restored at its end. Usually all are
active. To select every value by the mask, with both values live, took 5 % of a step (decision
0056). In inner loops, and in records, each value is selected where it is written.
"""

from __future__ import annotations

from tarsus.program.codegen.register_file import SAVED, RegisterFile
from tarsus.program.ir.blocks import While
from tarsus.program.lowering.scopes import written_registers


class InactiveLanes(RegisterFile):
    """Writes the beginning and the end of an iteration."""

    def _begin_block(self, label: str) -> None:
        """Begin an LLVM basic block, reached from the current one."""
        self.writer.lines += [f"  br label %{label}", f"{label}:"]

    def _entries_to_save(self, block: While) -> list[tuple[str, int]]:
        """Find the entries that an iteration writes, which inactive lanes must retain.

        Registers local to an inner loop are not among them. To save them would keep their values
        live from iteration to iteration, and from step to step.
        """
        local = frozenset[str]().union(*self._scopes.values())
        names = [n for n in written_registers(block.body) if self._is_restored_at_end(n)]
        names = [name for name in names if name not in local]
        return [(name, k) for name in names for k in range(self.program.sizes[name])]

    def _save(
        self, saved: list[tuple[str, int]], mask: str, tag: str, when: str, hint: str = ""
    ) -> None:
        """Write the branch into an iteration, which saves entries if a lane is inactive."""
        w = self.writer
        if saved:
            all_active = w.all(mask)
            w.lines += [
                f"  br i1 {all_active}, label %{tag}.{when}.by, label %{tag}.{when}.some",
                f"{tag}.{when}.some:",
            ]
            for index, (name, k) in enumerate(saved):
                value = self._load(name, k)
                w.lines.append(f"  store volatile {self._number} {value}, {self._saved(index)}")
        self._begin_block(f"{tag}.{when}.by")
        w.lines.append(f"  br label %{tag}.body{hint}")

    def _restore(self, saved: list[tuple[str, int]], tag: str) -> None:
        """Write the end of an iteration, which restores entries of inactive lanes."""
        if saved:
            w, mask = self.writer, self._masks[-1]
            all_active = w.all(mask)
            w.lines += [
                f"  br i1 {all_active}, label %{tag}.end, label %{tag}.some",
                f"{tag}.some:",
            ]
            for index, (name, k) in enumerate(saved):
                value = w.access(f"load volatile {self._number}, {self._saved(index)}")
                self._write(w.select(mask, self._load(name, k), value), name, k)
            self._begin_block(f"{tag}.end")

    def _saved(self, index: int) -> str:
        """Create a typed pointer to a saved entry."""
        self._saved_count = max(self._saved_count, index + 1)
        pointer = f"getelementptr inbounds {self._number}, ptr {SAVED}, i64 {index}"
        return f"ptr {self.writer.access(pointer)}, align {self._align}"
