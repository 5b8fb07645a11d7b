"""The folder of a policy in the making: what survives a kill, and what a person looks at.

lesson.json: what is learned; checkpoint.npz: all that learning needs to go on; policy.npz: what it
has found; curve.jsonl: a line a round, added as it ends. The others are written beside and renamed:
after a kill there is the last whole one. The checkpoint is on the disk before, for the machine may
stop as well. A line of the curve that was cut off is made again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.errors import InvalidFile, TarsusError
from tarsus.files import atomic_write, check_writable, is_file, json_text, read_npz
from tarsus.schema import AnyOf, NumberRule, TableRule, parse_json, read_json

LESSON, CHECKPOINT, POLICY, CURVE = "lesson.json", "checkpoint.npz", "policy.npz", "curve.jsonl"
NUMBERS_BY_NAME = TableRule(others=AnyOf((NumberRule(),), or_none=True))
ROW = TableRule(  # of the curve: what is drawn of it
    {
        "round": NumberRule(0, 1e15, whole=True),
        **dict.fromkeys(("periods", "paid", "falls"), AnyOf((NumberRule(),), or_none=True)),
        **dict.fromkeys(("terms", "missed"), NUMBERS_BY_NAME),
    },
    required=("round", "periods", "paid", "falls", "terms", "missed"),
)
SPENT = "spent"  # s of learning, of all runs together


class Folder:
    """A folder; OSError if it cannot be written to."""

    def __init__(self, path: Path) -> None:
        check_writable(path)
        path.mkdir(parents=True, exist_ok=True)
        self.path = path

    def claim(self, lesson: Mapping[str, Any]) -> None:
        """The folder is for this lesson from now on; TarsusError if it holds another."""
        self.check(lesson)
        file = self.path / LESSON
        if not file.exists():
            with atomic_write(file) as temporary:
                temporary.write_text(json_text(lesson, indent=1), encoding="utf-8")

    def check(self, lesson: Mapping[str, Any]) -> None:
        """TarsusError if it holds another lesson."""
        file = self.path / LESSON
        if not file.exists():
            return
        found = read_json(file)
        wanted = json.loads(json_text(lesson))
        if found != wanted:
            apart = [k for k in wanted | found if k not in wanted or wanted[k] != found.get(k)]
            raise InvalidFile(
                f"{self.path} contains a policy trained with different {', '.join(apart)}: choose"
                " another folder.",
                self.path,
            )

    def checkpoint(self) -> dict[str, NDArray[Any]] | None:
        """The last one; None if there is none yet."""
        file = self.path / CHECKPOINT
        if not file.exists():
            return None
        return read_npz(file)

    def keep(self, state: Mapping[str, NDArray[Any]], spent: float) -> None:
        """A checkpoint, whole or not at all."""
        with atomic_write(self.path / CHECKPOINT) as temporary, temporary.open("wb") as file:
            arrays: Any = {SPENT: np.array(spent), **state}
            np.savez(file, **arrays)
            file.flush()
            os.fsync(file.fileno())

    def curve(self, rounds: int | None = None) -> list[dict[str, Any]]:
        """The lines of all rounds, or of the first ones; a last one that was cut off is none."""
        file = self.path / CURVE
        lines = file.read_bytes().splitlines() if is_file(file) else []
        found = []
        for line in lines:
            try:
                row = parse_json("a line", line)
                ROW.check("a line", row)
            except TarsusError:
                break
            found.append(row)
        return [row for row in found if rounds is None or row["round"] <= rounds]

    def rewind(self, rounds: int) -> None:
        """Forget the lines of later rounds: they will be made again."""
        rows = self.curve(rounds)
        with atomic_write(self.path / CURVE) as temporary:
            temporary.write_text("".join(f"{json_text(row)}\n" for row in rows), encoding="utf-8")

    def add(self, row: Mapping[str, Any]) -> None:
        """A line more."""
        with (self.path / CURVE).open("a", encoding="utf-8") as file:
            file.write(f"{json_text(row)}\n")
