"""Groups of worlds that share a compiled step, and the chunks that they are split into."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import tarsus.errors
from tarsus.errors import InvalidFile, InvalidValue
from tarsus.files import json_text
from tarsus.program.run.cache import source_hash
from tarsus.sweeps import entries
from tarsus.sweeps.sampling import sample_axes
from tarsus.sweeps.spec import SweepSpec

SOURCE = Path(tarsus.errors.__file__).parent
MIN_CHUNK_SIZE = 8  # worlds, unless the group has fewer
PACKAGES = ("numpy", "casadi", "llvmlite", "scipy", "mujoco")


@dataclass(frozen=True)
class Chunk:
    """Worlds of one task, which share a compiled step; plain data that can be sent to a worker.

    Attributes
    ----------
    structure
        Entries that the worlds share, by name.
    columns
        Entries that may differ: one value per world, by name.
    samples
        Sample numbers of the worlds in the sweep.
    outcomes, outcome_file
        As in `SweepSpec`.
    keep
        Worlds whose trajectories are saved: samples, or a word as in `SweepSpec`; "" for none.
    """

    structure: Mapping[str, Any]
    columns: Mapping[str, Sequence[Any]]
    samples: Sequence[int]
    outcomes: tuple[str, ...]
    outcome_file: str = ""
    keep: str | tuple[int, ...] = ""

    def __len__(self) -> int:
        return len(self.samples)

    def part(self, first: int, last: int) -> Chunk:
        """Select the worlds from `first` up to, but not including, `last`."""
        return Chunk(
            self.structure,
            {name: list(values[first:last]) for name, values in self.columns.items()},
            list(self.samples[first:last]),
            self.outcomes,
            self.outcome_file,
            _select(self.keep, self.samples[first:last]),
        )

    @property
    def digest(self) -> str:
        """Hash of everything that the rows depend on: worlds, files, code and packages."""
        files = [
            *entries.user_files(dict(self.structure)),
            *([self.outcome_file] if self.outcome_file else []),
        ]
        inputs = {
            "structure": {k: v for k, v in self.structure.items() if v not in files},
            "columns": self.columns,
            "samples": self.samples,
            "outcomes": self.outcomes,
            "files": [_file_hash(name) for name in files],
            "code": code_versions(),
        }
        if self.keep:
            inputs["keep"] = self.keep
        return hashlib.sha256(json_text(inputs).encode()).hexdigest()[:24]


def _select(keep: str | tuple[int, ...], samples: Sequence[int]) -> str | tuple[int, ...]:
    """Restrict `keep` to the given samples; a word is returned unchanged, and "" for none."""
    if isinstance(keep, str):
        return keep
    available = set(samples)
    return tuple(k for k in keep if k in available) or ""


@cache
def code_versions() -> dict[str, str]:
    """Hash Tarsus's source, and collect the versions of packages that affect results."""
    return {"tarsus": source_hash(SOURCE)} | {p: metadata.version(p) for p in PACKAGES}


def _file_hash(name: str) -> str:
    """Hash a file; it is read again only if it has changed."""
    try:
        status = Path(name).stat()
        return _cached_hash(name, status.st_mtime_ns, status.st_size)
    except OSError as error:
        raise InvalidFile(f"cannot read {name}: {error.strerror}.", name) from None


@cache
def _cached_hash(name: str, modified: int, size: int) -> str:
    return hashlib.sha256(Path(name).read_bytes()).hexdigest()


def group_worlds(spec: SweepSpec) -> list[Chunk]:
    """Group the worlds of a sweep by their compiled step; each group is one long chunk."""
    drawn = sample_axes(spec.axes, spec.method, spec.count, spec.seed)
    count = len(next(iter(drawn.values()))) if drawn else max(spec.count, 1)
    # group by structural values; which names are structural depends on the words
    groups: dict[str, tuple[dict[str, Any], list[int]]] = {}
    structural_names: dict[tuple[Any, ...], list[str]] = {}
    words = [n for n in drawn if "." not in n and n != "seed"]
    for k in range(count):
        world = entries.complete({**spec.fixed, **{name: drawn[name][k] for name in drawn}})
        entries.check_times(world)
        key = tuple(world[name] for name in words)
        if key not in structural_names:
            structural = [name for name in sorted(world) if entries.is_structural(name, world)]
            structural_names[key] = structural
        structure = {name: world[name] for name in structural_names[key]}
        text = json_text(structure)
        groups.setdefault(text, (structure, []))[1].append(k)
    # columns of each group
    chunks = []
    for structure, samples in groups.values():
        free = [
            n
            for n in entries.complete({**spec.fixed, **dict.fromkeys(drawn)})
            if n not in structure
        ]
        columns = {
            name: [drawn[name][k] if name in drawn else spec.fixed[name] for k in samples]
            for name in sorted(free)
        }
        keep = _select(_choose_samples_to_keep(spec.keep, count), samples)
        chunks.append(Chunk(structure, columns, samples, spec.outcomes, spec.outcome_file, keep))
    return chunks


def _choose_samples_to_keep(keep: str | int | tuple[int, ...], count: int) -> str | tuple[int, ...]:
    """Choose the samples whose trajectories are saved; a number selects that many, evenly."""
    if not isinstance(keep, int):
        invalid = [k for k in keep if k >= count] if not isinstance(keep, str) else []
        if invalid:
            raise InvalidValue(
                f"trajectories.keep must list samples from 0 to {count - 1}, not {invalid[0]}.",
                "trajectories.keep",
            )
        return keep
    number = min(keep, count)
    return tuple(k * count // number for k in range(number))


def split_chunks(group: Chunk, size: int) -> Iterator[Chunk]:
    """Split a group into chunks of at most `size` worlds.

    The last chunks are smaller, down to a quarter of the size, so that parallel workers finish at
    about the same time.
    """
    first = 0
    while first < len(group):
        remaining = len(group) - first
        count = size if remaining > size else max(-(-remaining // 2), size // 4, MIN_CHUNK_SIZE)
        yield group.part(first, first + count)
        first += count
