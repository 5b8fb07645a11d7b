"""`tarsus sweep`: thousands of simulations; a killed sweep can be resumed."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import tyro

from tarsus.commands.base import FAILED, Command, Flag, Trust, argument, name_check, print_json

ENGINES = "tarsus.sweeps.engines"
MAX_REASONS = 5  # reasons for failures that are printed


@dataclass(frozen=True)
class Sweep(Command):
    """Run simulations over a grid, Latin hypercube or random sample of parameters.

    docs/sweeps.md describes the spec file. A sweep that was interrupted resumes where it stopped.
    The exit code is 1 if a chunk could not be simulated or if every world failed; in a dry run, if
    every world that was tried failed.
    """

    position: ClassVar[int] = 62
    topic: ClassVar[str] = "Compare and check"
    examples: ClassVar[Mapping[str, str]] = {
        "tarsus sweep trot.toml --out trot --dry-run": "estimate worlds, time and disk space",
        "tarsus sweep trot.toml --out trot --workers 8": "start or resume the sweep",
        "tarsus sweep trot.toml --out trot --trajectories fell": "save the logs of falls",
    }
    groups: ClassVar[Mapping[str, str]] = {
        "Run": "out engine workers trust",
        "Recording": "trajectories dry_run",
    }

    spec: tyro.conf.Positional[
        Annotated[Path, argument("SPEC.toml", "Spec of the sweep: what to vary and how.")]
    ]
    out: Annotated[Path, argument("FOLDER")]
    """Folder for the results; worlds that it already contains are skipped."""
    trust: Trust = ()
    engine: Annotated[str, argument("NAME"), name_check("engine", ENGINES)] = "processes"
    """Where to simulate: processes, ray, slurm, or inline (this process)."""
    workers: Annotated[int | None, argument("NUMBER")] = None
    """Number of parallel workers. (default: all that are available)"""
    trajectories: Annotated[str | None, argument("WHICH")] = None
    """Worlds whose log to save, instead of the spec's choice: all, failed, an outcome such as fell
    (where it is not zero), the number of worlds, or sample numbers separated by commas (3,17)."""
    dry_run: Flag = False
    """Only estimate the number of worlds and steps, the time and the size of the saved logs."""

    def execute(self) -> int:
        from tarsus.errors import InvalidValue
        from tarsus.sweeps.run import sweep

        if self.workers is not None and self.workers < 1:
            raise InvalidValue(f"--workers must be at least 1, not {self.workers}.", "--workers")
        with self.progress() as progress:
            result = sweep(
                self.spec,
                self.out,
                self.engine,
                self.workers,
                self.dry_run,
                progress.show_stage,
                self.trajectories,
            )
        # results, or the estimate of a dry run
        logs, size = result.trajectories, f"{result.megabytes:.3g} MB"
        reasons = result.failures if self.dry_run else _count_failures(self.out)
        failed, tried = sum(reasons.values()), result.tried if self.dry_run else result.worlds
        warnings = [] if self.dry_run else _collect_warnings(self.out)
        if self.json:
            print_json(vars(result) | {"failures": reasons, "warnings": warnings})
        elif self.dry_run:
            print(
                f"{result.worlds} worlds in {result.chunks} chunks, {result.groups} programs to"
                f" compile, {result.steps} steps; about {result.expected:.0f} s on one worker"
                + (f"; at most {logs} trajectories, about {size}" if logs else "")
            )
        else:
            print(
                f"{result.worlds} worlds in {result.chunks} chunks: simulated {result.done} chunks"
                f" in {result.seconds:.1f} s, skipped {result.skipped} that were done; results in"
                f" {self.out}" + (f"; {logs} trajectories, {size}" if logs else "")
            )
        if failed and not self.json:
            print(f"{failed} of {tried}{' tried' if self.dry_run else ''} worlds failed:")
            for text, worlds in list(reasons.items())[:MAX_REASONS]:
                print(f"  {worlds}: {text}")
        if not self.json:
            for one in warnings:
                print(f"warning in {one['worlds']} of {result.worlds} worlds: {one['message']}")
        for text in result.lost:
            print(f"not simulated: {text}", file=sys.stderr)
        return FAILED if result.lost or failed == tried else 0


def _count_failures(folder: Path) -> dict[str, int]:
    """Count the failed worlds by reason, the most frequent first."""
    from tarsus.sweeps import query
    from tarsus.sweeps.store import Store

    if not Store(folder).finished_digests():
        return {}
    table = query.failures(folder)
    return dict(zip(table["failure"].tolist(), map(int, table["worlds"]), strict=True))


def _collect_warnings(folder: Path) -> list[dict[str, Any]]:
    """Collect one record for each kind of warning in the sweep."""
    from tarsus.sweeps import query
    from tarsus.sweeps.store import Store

    return query.warnings(folder) if Store(folder).finished_digests() else []
