"""Worlds that share a compiled step, and the chunks they are cut into."""

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
from tarsus.sweeps import names
from tarsus.sweeps.sampling import sampled
from tarsus.sweeps.spec import SweepSpec

SOURCE = Path(tarsus.errors.__file__).parent
LEAST = 8  # worlds of a chunk, where there are as many
PACKAGES = ("numpy", "casadi", "llvmlite", "scipy", "mujoco")


@dataclass(frozen=True)
class Chunk:
    """The worlds of one task, all with one compiled step: plain data, which travels to a worker.

    structure: what they share, by name
    columns: what may differ, name -> a value a world
    samples: their numbers in the sweep
    outcomes, own: as in `SweepSpec`
    keep: whose trajectories: samples, or a word as in `SweepSpec`; "" for none
    """

    structure: Mapping[str, Any]
    columns: Mapping[str, Sequence[Any]]
    samples: Sequence[int]
    outcomes: tuple[str, ...]
    own: str = ""
    keep: str | tuple[int, ...] = ""

    def __len__(self) -> int:
        return len(self.samples)

    def part(self, first: int, last: int) -> Chunk:
        """Some of its worlds."""
        return Chunk(
            self.structure,
            {name: list(values[first:last]) for name, values in self.columns.items()},
            list(self.samples[first:last]),
            self.outcomes,
            self.own,
            _among(self.keep, self.samples[first:last]),
        )

    @property
    def digest(self) -> str:
        """A hash of all that its rows rest on: its worlds, files, the code and the packages."""
        files = [*names.own_file(dict(self.structure)), *([self.own] if self.own else [])]
        inputs = {
            "structure": {k: v for k, v in self.structure.items() if v not in files},
            "columns": self.columns,
            "samples": self.samples,
            "outcomes": self.outcomes,
            "files": [_of_file(name) for name in files],
            "code": code(),
        }
        if self.keep:
            inputs["keep"] = self.keep
        return hashlib.sha256(json_text(inputs).encode()).hexdigest()[:24]


def _among(keep: str | tuple[int, ...], samples: Sequence[int]) -> str | tuple[int, ...]:
    """A word as it is; of samples those that are there, "" for none."""
    if isinstance(keep, str):
        return keep
    there = set(samples)
    return tuple(k for k in keep if k in there) or ""


@cache
def code() -> dict[str, str]:
    """Tarsus' source and the packages that numbers rest on."""
    return {"tarsus": source_hash(SOURCE)} | {p: metadata.version(p) for p in PACKAGES}


def _of_file(name: str) -> str:
    """The hash of a file as it is now; read again only if it was written since."""
    try:
        state = Path(name).stat()
        return _hashed(name, state.st_mtime_ns, state.st_size)
    except OSError as error:
        raise InvalidFile(f"cannot read {name}: {error.strerror}.", name) from None


@cache
def _hashed(name: str, written: int, size: int) -> str:
    return hashlib.sha256(Path(name).read_bytes()).hexdigest()


def groups(spec: SweepSpec) -> list[Chunk]:
    """All worlds of a sweep by compiled step, each group one long chunk."""
    drawn = sampled(spec.axes, spec.method, spec.count, spec.seed)
    count = len(next(iter(drawn.values()))) if drawn else max(spec.count, 1)
    # by the values of what is structural: decided once for each combination of words
    found: dict[str, tuple[dict[str, Any], list[int]]] = {}
    known: dict[tuple[Any, ...], list[str]] = {}
    words = [n for n in drawn if "." not in n and n != "seed"]
    for k in range(count):
        world = names.completed({**spec.fixed, **{name: drawn[name][k] for name in drawn}})
        names.check_times(world)
        key = tuple(world[name] for name in words)
        if key not in known:
            known[key] = [name for name in sorted(world) if names.structural(name, world)]
        structure = {name: world[name] for name in known[key]}
        text = json_text(structure)
        found.setdefault(text, (structure, []))[1].append(k)
    # their columns
    whole = []
    for structure, samples in found.values():
        free = [
            n for n in names.completed({**spec.fixed, **dict.fromkeys(drawn)}) if n not in structure
        ]
        columns = {
            name: [drawn[name][k] if name in drawn else spec.fixed[name] for k in samples]
            for name in sorted(free)
        }
        keep = _among(_kept(spec.keep, count), samples)
        whole.append(Chunk(structure, columns, samples, spec.outcomes, spec.own, keep))
    return whole


def _kept(keep: str | int | tuple[int, ...], count: int) -> str | tuple[int, ...]:
    """Which trajectories of `count` samples are kept: of a number so many, evenly chosen."""
    if not isinstance(keep, int):
        beyond = [k for k in keep if k >= count] if not isinstance(keep, str) else []
        if beyond:
            raise InvalidValue(
                f"trajectories.keep must list samples from 0 to {count - 1}, not {beyond[0]}.",
                "trajectories.keep",
            )
        return keep
    few = min(keep, count)
    return tuple(k * count // few for k in range(few))


def cut(group: Chunk, size: int) -> Iterator[Chunk]:
    """A group in chunks of at most `size` worlds; towards its end smaller ones, down to a quarter,
    so that workers that share them end together.
    """
    first = 0
    while first < len(group):
        left = len(group) - first
        taken = size if left > size else max(-(-left // 2), size // 4, LEAST)
        yield group.part(first, first + taken)
        first += taken
