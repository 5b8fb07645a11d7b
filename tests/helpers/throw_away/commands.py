"""`tarsus throw_away`: prints its argument."""

from __future__ import annotations

from dataclasses import dataclass

from tarsus.commands.base import Command


@dataclass(frozen=True)
class ThrowAway(Command):
    """Print a word."""

    word: str = "nothing"
    """What to print."""

    def execute(self) -> int:
        print(f"thrown away: {self.word}")
        return 0
