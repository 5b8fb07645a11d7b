"""`tarsus sweep`: thousands of simulations that survive a kill."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import tyro

from tarsus.commands.base import FAILED, Command, Flag, Trust, called, name_of, print_json

ENGINES = "tarsus.sweeps.engines"
TOLD = 5  # reasons for failures


@dataclass(frozen=True)
class Sweep(Command):
    """Run simulations on a grid, a Latin hypercube or at random.

    What a spec may say: docs/sweeps.md. A sweep that was killed goes on where it stopped. Exits
    with 1 if chunks could not be made, or all worlds failed (of a dry run: all that it tried).
    """

    place: ClassVar[int] = 62
    topic: ClassVar[str] = "Compare and check"
    examples: ClassVar[Mapping[str, str]] = {
        "tarsus sweep trot.toml --out trot --dry-run": "how many worlds, and how long",
        "tarsus sweep trot.toml --out trot --workers 8": "run it, or go on with it",
        "tarsus sweep trot.toml --out trot --trajectories fell": "with the logs of those who fell",
    }
    groups: ClassVar[Mapping[str, str]] = {
        "Run": "out engine workers trust",
        "Recording": "trajectories dry_run",
    }

    spec: tyro.conf.Positional[Annotated[Path, called("SPEC.toml", "What is varied and how.")]]
    out: Annotated[Path, called("FOLDER")]
    """Folder for the rows; what is there already is not made again."""
    trust: Trust = ()
    engine: Annotated[str, called("NAME"), name_of("engine", ENGINES)] = "processes"
    """Where chunks are worked on: processes, ray, slurm, or inline: in this process."""
    workers: Annotated[int | None, called("NUMBER")] = None
    """How many at once; by default as many as there are."""
    trajectories: Annotated[str | None, called("WHICH")] = None
    """Worlds that keep their log, in place of what the spec says: all, failed, an outcome such as
    fell (where it is not zero), a number (so many), or samples with commas (3,17)."""
    dry_run: Flag = False
    """Only say how many worlds and steps there are, how long they take and how large the kept
    trajectories are."""

    def execute(self) -> int:
        from tarsus.errors import InvalidValue
        from tarsus.sweeps.run import sweep

        if self.workers is not None and self.workers < 1:
            raise InvalidValue(f"--workers must be at least 1, not {self.workers}.", "--workers")
        # the sweep
        with self.progress() as progress:
            found = sweep(
                self.spec,
                self.out,
                self.engine,
                self.workers,
                self.dry_run,
                progress.say,
                self.trajectories,
            )
        # what it did, or would do
        kept, size = found.trajectories, f"{found.megabytes:.3g} MB"
        why = found.failures if self.dry_run else _failures(self.out)
        failed, of = sum(why.values()), found.tried if self.dry_run else found.worlds
        warned = [] if self.dry_run else _warned(self.out)
        if self.json:
            print_json(vars(found) | {"failures": why, "warnings": warned})
        elif self.dry_run:
            print(
                f"{found.worlds} worlds of {found.groups} compiled steps, {found.steps} steps,"
                f" {found.chunks} chunks; about {found.expected:.0f} s on one worker"
                + (f"; at most {kept} trajectories, about {size}" if kept else "")
            )
        else:
            print(
                f"{found.worlds} worlds in {found.chunks} chunks: {found.done} made in"
                f" {found.seconds:.1f} s, {found.skipped} were there; rows in {self.out}"
                + (f"; {kept} trajectories, {size}" if kept else "")
            )
        if failed and not self.json:
            print(f"{failed} of {of} worlds{' that were tried' if self.dry_run else ''} failed:")
            for text, worlds in list(why.items())[:TOLD]:
                print(f"  {worlds}: {text}")
        if not self.json:
            for one in warned:
                print(f"warning, {one['worlds']} of {found.worlds} worlds: {one['message']}")
        for text in found.lost:
            print(f"lost: {text}", file=sys.stderr)
        return FAILED if found.lost or failed == of else 0


def _failures(folder: Path) -> dict[str, int]:
    """How many worlds failed for what reason, the most frequent first."""
    from tarsus.sweeps import query
    from tarsus.sweeps.store import Store

    if not Store(folder).there():
        return {}
    found = query.failures(folder)
    return dict(zip(found["failure"].tolist(), map(int, found["worlds"]), strict=True))


def _warned(folder: Path) -> list[dict[str, Any]]:
    """What the worlds were warned of, a line for each kind."""
    from tarsus.sweeps import query
    from tarsus.sweeps.store import Store

    return query.warned(folder) if Store(folder).there() else []
