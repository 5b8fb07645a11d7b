"""Folder of a sweep: one Parquet file per chunk, named by its digest, and saved trajectories.

Every file is written under a temporary name and renamed, so that a chunk is complete or absent even
if a run is killed or the disk is full. Two runs that write the same chunk write the same bytes.
`plan-HASH.json` stores the chunk sizes, which are measured once, so that later runs use the same.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tarsus.files import atomic_write, check_writable, json_text, temporary_path
from tarsus.schema import ListRule, NumberRule, TableRule, error_context, read_json

CHUNKS, TRAJECTORIES = "chunks", "trajectories"
WARNINGS = "warnings"  # metadata of a chunk's rows: one message for each warning code
SPEC = "sweep.json"  # spec of the last sweep, and its chunks
PLAN = "worlds_a_chunk"
MAX_CHUNK_SIZE = 10_000_000  # worlds
MB = 1e6  # bytes


class Store:
    """Chunks in the folder of a sweep."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def create(self) -> Store:
        """Create the folder; raise OSError if it is not writable."""
        check_writable(self.folder)
        (self.folder / CHUNKS).mkdir(parents=True, exist_ok=True)
        return self

    def path(self, digest: str) -> Path:
        """Return the path of a chunk's rows."""
        return self.folder / CHUNKS / f"{digest}.parquet"

    def finished_digests(self) -> set[str]:
        """Find the digests of all finished chunks."""
        return {path.stem for path in (self.folder / CHUNKS).glob("*.parquet")}

    def write(self, digest: str, rows: bytes, trajectories: Mapping[str, bytes]) -> None:
        """Write the files of a chunk atomically and flush them to the disk.

        Trajectories are written first, so that rows never refer to missing ones.
        """
        if trajectories:
            self._write_folder(self.folder / TRAJECTORIES / digest, trajectories)
        with atomic_write(self.path(digest)) as temporary:
            _write_file(temporary, rows)

    def _write_folder(self, path: Path, files: Mapping[str, bytes]) -> None:
        """Write a folder of files; an existing folder is complete and has the same bytes."""
        if path.is_dir():
            return
        part = temporary_path(path)
        part.mkdir(parents=True)
        try:
            for name, content in files.items():
                _write_file(part / name, content)
            try:
                part.rename(path)
            except OSError:
                if not path.is_dir():  # another run may have been faster
                    raise
        finally:
            shutil.rmtree(part, ignore_errors=True)

    def megabytes(self) -> float:
        """Sum the sizes of all saved trajectories in MB."""
        files = (self.folder / TRAJECTORIES).glob("*/*.nc")
        return sum(path.stat().st_size for path in files) / MB

    def chunk_sizes(self, groups: Sequence[str], measure: Any) -> list[int]:
        """Choose the number of worlds per chunk for each group.

        Parameters
        ----------
        groups
            Digests of the groups.
        measure
            Function that measures the sizes. It is called, and its result stored, only if no
            earlier run stored them. Two simultaneous runs both use what the first one stored.
        """
        path = self._plan_path(groups)
        if not path.exists():
            temporary = temporary_path(path)
            temporary.write_text(json_text({PLAN: measure()}), encoding="utf-8")
            try:
                os.link(temporary, path)  # fails if another run was faster
            except FileExistsError:
                pass
            except OSError:  # a file system without links
                temporary.replace(path)
            finally:
                temporary.unlink(missing_ok=True)
        return self.stored_sizes(groups)

    def _plan_path(self, groups: Sequence[str]) -> Path:
        """Return the path of the file with the chunk sizes of these groups."""
        name = hashlib.sha256(json_text(list(groups)).encode()).hexdigest()[:24]
        return self.folder / f"plan-{name}.json"

    def stored_sizes(self, groups: Sequence[str]) -> list[int]:
        """Read the numbers of worlds per chunk that an earlier run stored, or []."""
        path, count = self._plan_path(groups), len(groups)
        if not path.exists():
            return []
        rule = ListRule(
            NumberRule(1, MAX_CHUNK_SIZE, integer=True), max_items=count, min_items=count
        )
        plan = read_json(path)
        with error_context(f"{path}, which may be removed"):
            TableRule({PLAN: rule}, required=(PLAN,)).check("", plan)
        return [int(size) for size in plan[PLAN]]


def _write_file(path: Path, content: bytes) -> None:
    """Write a file and flush it to the disk."""
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
