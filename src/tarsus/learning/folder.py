"""Training folder: the files of a policy in training, which survive an interruption.

`lesson.json` holds the training specification, `checkpoint.npz` everything that training needs to
resume, `policy.npz` the policy, and `curve.jsonl` one line per round, appended as it ends. The
first three are written to a temporary file and renamed, so the last complete version survives a
kill. A checkpoint is flushed to the disk before that, in case the machine stops. A truncated last
line of the curve is written again.
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
ROW = TableRule(  # entries of a line of the curve that are plotted
    {
        "round": NumberRule(0, 1e15, integer=True),
        **dict.fromkeys(("periods", "reward", "falls"), AnyOf((NumberRule(),), or_none=True)),
        **dict.fromkeys(("terms", "errors"), NUMBERS_BY_NAME),
    },
    required=("round", "periods", "reward", "falls", "terms", "errors"),
)
SPENT = "spent"  # s of training in all runs together


class TrainingFolder:
    """Folder of a policy in training; creating it raises OSError if it is not writable."""

    def __init__(self, path: Path) -> None:
        check_writable(path)
        path.mkdir(parents=True, exist_ok=True)
        self.path = path

    def bind(self, spec: Mapping[str, Any]) -> None:
        """Store a training specification; raise InvalidFile if the folder holds another."""
        self.check(spec)
        file = self.path / LESSON
        if not file.exists():
            with atomic_write(file) as temporary:
                temporary.write_text(json_text(spec, indent=1), encoding="utf-8")

    def check(self, spec: Mapping[str, Any]) -> None:
        """Check the training specification; raise InvalidFile if the folder holds another."""
        file = self.path / LESSON
        if not file.exists():
            return
        stored = read_json(file)
        expected = json.loads(json_text(spec))
        if stored != expected:
            differences = [
                k for k in expected | stored if k not in expected or expected[k] != stored.get(k)
            ]
            raise InvalidFile(
                f"{self.path} contains a policy trained with different"
                f" {', '.join(differences)}: choose another folder.",
                self.path,
            )

    def checkpoint(self) -> dict[str, NDArray[Any]] | None:
        """Read the last checkpoint, or return None if there is none."""
        file = self.path / CHECKPOINT
        if not file.exists():
            return None
        return read_npz(file)

    def save_checkpoint(self, state: Mapping[str, NDArray[Any]], spent: float) -> None:
        """Write a checkpoint, completely or not at all."""
        with atomic_write(self.path / CHECKPOINT) as temporary, temporary.open("wb") as file:
            arrays: Any = {SPENT: np.array(spent), **state}
            np.savez(file, **arrays)
            file.flush()
            os.fsync(file.fileno())

    def curve(self, rounds: int | None = None) -> list[dict[str, Any]]:
        """Read the lines of the learning curve, of all rounds or the first ones.

        A truncated last line is skipped.
        """
        file = self.path / CURVE
        lines = file.read_bytes().splitlines() if is_file(file) else []
        rows = []
        for line in lines:
            try:
                row = parse_json("a line", line)
                ROW.check("a line", row)
            except TarsusError:
                break
            rows.append(row)
        return [row for row in rows if rounds is None or row["round"] <= rounds]

    def rewind(self, rounds: int) -> None:
        """Remove the lines of later rounds, which will be written again."""
        rows = self.curve(rounds)
        with atomic_write(self.path / CURVE) as temporary:
            temporary.write_text("".join(f"{json_text(row)}\n" for row in rows), encoding="utf-8")

    def append(self, row: Mapping[str, Any]) -> None:
        """Append a line to the learning curve."""
        with (self.path / CURVE).open("a", encoding="utf-8") as file:
            file.write(f"{json_text(row)}\n")
