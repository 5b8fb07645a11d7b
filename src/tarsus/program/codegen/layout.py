"""How many worlds and bits code is made for, and where registers lie in record and workspace."""

from __future__ import annotations

from dataclasses import dataclass

from tarsus.program.ir.program import Program


@dataclass(frozen=True)
class Target:
    """The target of emitted code: worlds per instruction, and 32 or 64 bits per number."""

    lanes: int
    bits: int = 64

    @property
    def scalar(self) -> str:
        """LLVM's name of one number."""
        return "double" if self.bits == 64 else "float"

    @property
    def vector(self) -> str:
        """LLVM's name of one number in every lane."""
        return self.scalar if self.lanes == 1 else f"<{self.lanes} x {self.scalar}>"

    def of(self, scalar: str) -> str:
        """A vector of another scalar type, one a lane."""
        return scalar if self.lanes == 1 else f"<{self.lanes} x {scalar}>"


def layout(program: Program) -> tuple[dict[str, int], dict[str, int]]:
    """Offsets of persistent registers in a world's record, and of temporaries in the workspace."""
    persistent, temporary, at = {}, {}, 0
    for register in program.persistent:
        persistent[register.name] = at
        at += register.size
    at = 0
    for register in program.of_kind("temporary"):
        temporary[register.name] = at
        at += register.size
    return persistent, temporary


def record_size(program: Program) -> int:
    """Numbers a world keeps between runs."""
    return sum(r.size for r in program.persistent)


def lane_record_size(program: Program, target: Target) -> int:
    """Numbers of a record in lanes: with several, its effort and the number of its world too."""
    return record_size(program) + (2 if target.lanes > 1 else 0)


def effort_at(program: Program) -> int:
    """Where in such a record stands how many operations its world took; its number comes next."""
    return record_size(program)


def logged_size(program: Program) -> int:
    """Numbers a world writes into the log each step: state and report."""
    return sum(r.size for r in program.of_kind("state", "report"))
