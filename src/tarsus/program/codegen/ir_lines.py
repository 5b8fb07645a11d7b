"""Lines of LLVM IR: SSA names, declarations, constants in every lane."""

from __future__ import annotations

import ctypes
import struct
import sys
from typing import Self

MAX_BLOCK = 500  # instructions of an LLVM basic block, where they are split


class IrLines:
    """Lines of LLVM IR whose values hold `lanes` numbers each and have SSA names.

    The writer knows which names are masks (one bit per lane), so that comparisons stay masks until
    they are used as 0 or 1.

    Parameters
    ----------
    lanes, bits : int
        Numbers per value, and bits per number.
    short_blocks : bool
        Whether basic blocks are split. After every call LLVM's fast instruction selection scans the
        rest of the block, and a step has blocks of up to 30,000 instructions.
    letter : str
        First letter of the names of values.
    """

    def __init__(
        self, lanes: int, bits: int, short_blocks: bool = False, letter: str = "v"
    ) -> None:
        self.lanes, self.bits, self._letter = lanes, bits, letter
        self._block_length = MAX_BLOCK if short_blocks else sys.maxsize
        self._block_begin = 0
        self.lines: list[str] = []
        self._count = self._memory_count = 0
        self._masks: set[str] = set()
        self._declared: dict[str, None] = {}
        self._angles: dict[str, tuple[str, str]] = {}
        self._calls: dict[str, str] = {}
        self.scalar = "double" if bits == 64 else "float"
        self.vector = self._of(self.scalar)
        self.mask = self._of("i1")
        self._suffix = (f"v{lanes}" if lanes > 1 else "") + f"f{bits}"

    def with_lanes(self, lanes: int) -> Self:
        """Create a writer with another number of lanes that writes to the same lines."""
        short_blocks = self._block_length == MAX_BLOCK
        other = type(self)(lanes, self.bits, short_blocks, "w")
        other.lines, other._declared = self.lines, self._declared
        return other

    def _of(self, scalar: str) -> str:
        return scalar if self.lanes == 1 else f"<{self.lanes} x {scalar}>"

    def declare(self, signature: str) -> None:
        """Add the declaration of an intrinsic."""
        self._declared["declare " + signature] = None

    def declarations(self) -> list[str]:
        """List the declarations of all intrinsics used."""
        return list(self._declared)

    def forget(self) -> None:
        """Begin a new block, which shares no sines and cosines with earlier ones."""
        self._angles.clear()

    @property
    def arithmetic(self) -> int:
        """Number of instructions except memory accesses."""
        return self._count - self._memory_count

    def define(self, expression: str) -> str:
        """Write an instruction and return the name of its result."""
        if self._count - self._block_begin >= self._block_length:
            label = f"cut.{self._letter}{self._count}"
            self.lines += [f"  br label %{label}", f"{label}:"]
            self._block_begin = self._count
        self._count += 1
        name = f"%{self._letter}{self._count}"
        self.lines.append(f"  {name} = {expression}")
        return name

    def access(self, expression: str) -> str:
        """Write a load or an address computation and return the name of its result."""
        self._memory_count += 1
        return self.define(expression)

    def const(self, x: float) -> str:
        """Write a constant with the same number in every lane."""
        if self.bits == 32:
            x = _round(x)
        word = f"0x{struct.unpack('<Q', struct.pack('<d', x))[0]:016X}"
        return word if self.lanes == 1 else f"splat ({self.scalar} {word})"

    def broadcast(self, number: str) -> str:
        """Broadcast a scalar to every lane."""
        if self.lanes == 1:
            return number
        one = self.define(f"insertelement {self.vector} poison, {self.scalar} {number}, i64 0")
        how = f"<{self.lanes} x i32> zeroinitializer"
        return self.define(f"shufflevector {self.vector} {one}, {self.vector} poison, {how}")

    def integer(self, x: int) -> str:
        """Write a constant with the same integer in every lane."""
        return str(x) if self.lanes == 1 else f"splat (i{self.bits} {x})"


def _round(x: float) -> float:
    return ctypes.c_float(x).value
