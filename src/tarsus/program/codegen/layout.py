"""Target of emitted code, and layout of registers in a world's record and in the workspace."""

from __future__ import annotations

from dataclasses import dataclass

from tarsus.program.ir.program import Program


@dataclass(frozen=True)
class Target:
    """Target of emitted code.

    Attributes
    ----------
    lanes
        Worlds per instruction.
    bits
        Bits of a number, 32 or 64.
    """

    lanes: int
    bits: int = 64

    @property
    def scalar(self) -> str:
        """LLVM type of a number."""
        return "double" if self.bits == 64 else "float"

    @property
    def vector(self) -> str:
        """LLVM type of a number in every lane."""
        return self.scalar if self.lanes == 1 else f"<{self.lanes} x {self.scalar}>"


def layout(program: Program) -> tuple[dict[str, int], dict[str, int]]:
    """Compute offsets of persistent registers in a record, and of temporaries in the workspace."""
    persistent, temporary, offset = {}, {}, 0
    for register in program.persistent:
        persistent[register.name] = offset
        offset += register.size
    offset = 0
    for register in program.of_kind("temporary"):
        temporary[register.name] = offset
        offset += register.size
    return persistent, temporary


def record_size(program: Program) -> int:
    """Compute the size of a world's record: its persistent registers."""
    return sum(r.size for r in program.persistent)


def lane_record_size(program: Program, target: Target) -> int:
    """Compute the size of a record in lanes; several lanes add effort and world index."""
    return record_size(program) + (2 if target.lanes > 1 else 0)


def effort_offset(program: Program) -> int:
    """Compute the offset of a world's effort, its operation count; its index comes next."""
    return record_size(program)


def logged_size(program: Program) -> int:
    """Count the numbers that a world logs in a step: state and report registers."""
    return sum(r.size for r in program.of_kind("state", "report"))
