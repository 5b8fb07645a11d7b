"""The folder of a sweep: one Parquet file a chunk, under the hash of the chunk's inputs, and a
folder with the trajectories that it keeps.

Either is written beside and renamed, so that there is either a whole chunk or none, whoever is
killed and however full the disk is; two runs that write the same chunk write the same bytes.
`plan-HASH.json` holds how long the chunks are: measured once, so that a later run cuts the same.
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
WARNINGS = "warnings"  # in the metadata of a chunk's rows: a sentence of each kind
SPEC = "sweep.json"  # what was asked last, and its chunks
PLAN = "worlds_a_chunk"
LARGEST_CHUNK = 10_000_000  # worlds
MB = 1e6  # bytes


class Store:
    """The chunks of a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def ready(self) -> Store:
        """Make the folder; OSError if it cannot be written to."""
        check_writable(self.folder)
        (self.folder / CHUNKS).mkdir(parents=True, exist_ok=True)
        return self

    def path(self, digest: str) -> Path:
        """Where a chunk's rows are, or go."""
        return self.folder / CHUNKS / f"{digest}.parquet"

    def there(self) -> set[str]:
        """The digests of all whole chunks."""
        return {path.stem for path in (self.folder / CHUNKS).glob("*.parquet")}

    def put(self, digest: str, rows: bytes, trajectories: Mapping[str, bytes]) -> None:
        """Write what a chunk leaves, whole or not at all, and down to the disk: trajectories first,
        so that where rows are their trajectories are.
        """
        if trajectories:
            self._put_folder(self.folder / TRAJECTORIES / digest, trajectories)
        with atomic_write(self.path(digest)) as temporary:
            _write(temporary, rows)

    def _put_folder(self, place: Path, files: Mapping[str, bytes]) -> None:
        """A folder of files; one that is there is whole, and of the same bytes."""
        if place.is_dir():
            return
        part = temporary_path(place)
        part.mkdir(parents=True)
        try:
            for name, content in files.items():
                _write(part / name, content)
            try:
                part.rename(place)
            except OSError:
                if not place.is_dir():  # no other run was first
                    raise
        finally:
            shutil.rmtree(part, ignore_errors=True)

    def megabytes(self) -> float:
        """Of all trajectories that are there."""
        files = (self.folder / TRAJECTORIES).glob("*/*.nc")
        return sum(path.stat().st_size for path in files) / MB

    def sizes(self, groups: Sequence[str], measured: Any) -> list[int]:
        """Worlds of a chunk, for each group by its digest: those of an earlier run, else
        `measured()`, which are then kept. Of two runs at once both take what the first kept.
        """
        path = self._plan(groups)
        if not path.exists():
            fresh = temporary_path(path)
            fresh.write_text(json_text({PLAN: measured()}), encoding="utf-8")
            try:
                os.link(fresh, path)  # fails where another run was first
            except FileExistsError:
                pass
            except OSError:  # a file system without links
                fresh.replace(path)
            finally:
                fresh.unlink(missing_ok=True)
        return self.kept_sizes(groups)

    def _plan(self, groups: Sequence[str]) -> Path:
        """Return the file with the sizes of these groups' chunks."""
        name = hashlib.sha256(json_text(list(groups)).encode()).hexdigest()[:24]
        return self.folder / f"plan-{name}.json"

    def kept_sizes(self, groups: Sequence[str]) -> list[int]:
        """Return worlds per chunk as an earlier run kept them; [] if there was none."""
        path, count = self._plan(groups), len(groups)
        if not path.exists():
            return []
        rule = ListRule(NumberRule(1, LARGEST_CHUNK, whole=True), max_items=count, min_items=count)
        found = read_json(path)
        with error_context(f"{path}, which may be removed"):
            TableRule({PLAN: rule}, required=(PLAN,)).check("", found)
        return [int(size) for size in found[PLAN]]


def _write(path: Path, content: bytes) -> None:
    """A file, down to the disk."""
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
