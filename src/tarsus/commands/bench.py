"""`tarsus bench`: speed against MuJoCo, and against other simulators."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

from tarsus.commands.base import (
    FAILED,
    Command,
    File,
    Flag,
    Seconds,
    called,
    names_of,
    print_json,
    teller,
)
from tarsus.errors import TarsusError
from tarsus.files import json_text, write_text


@dataclass(frozen=True)
class Bench(Command):
    """Measure speed against MuJoCo on the same robot and trot."""

    place: ClassVar[int] = 70

    device: Literal["cpu", "cuda"] = "cpu"
    """cuda: check and time the GPU kernel instead, beside MuJoCo Warp if that is installed."""
    budget: Seconds = 480.0
    """Time limit of the GPU benchmark: the running part is stopped, finished parts are kept."""
    out: File = None
    """Also write the results of the GPU, after each part, or of --peers to this file."""
    laws: Flag = False
    """Measure the cost of every contact law instead, relative to the law moreau."""
    walks: Flag = False
    """Time the walks of bipeds on flat feet instead, one world and 512, beside MuJoCo."""
    peers: Flag = False
    """Compare with other simulators instead: ANYmal stands, flies and falls (docs/peers.md)."""
    engines: Annotated[
        str | None,
        called("NAMES", "With --peers: only these (`tarsus list peers`), with commas between."),
        names_of("simulator", "tarsus.benchmarks.peers"),
    ] = None
    json: Flag = False
    """Print one JSON object and nothing else."""

    def execute(self) -> int:
        self._check()
        if self.peers:
            return self._compare()
        from tarsus.benchmarks.gpu import cuda_bench
        from tarsus.benchmarks.laws import law_costs
        from tarsus.benchmarks.report import tell, tell_laws, tell_parts, tell_walks
        from tarsus.benchmarks.speed import bench
        from tarsus.benchmarks.walks import walk_costs

        if self.device == "cuda":
            found = cuda_bench(self.budget, _say, self._keep)
            print_json(found) if self.json else tell_parts(found)
            return FAILED if found["failed"] else 0
        if self.laws:
            costs = law_costs(teller(self.json))
            print_json(costs) if self.json else tell_laws(costs)
            return 0
        if self.walks:
            walks = walk_costs(teller(self.json))
            print_json(walks) if self.json else tell_walks(walks)
            return 0
        figures = bench(teller(self.json))
        print_json(figures) if self.json else tell(figures)
        return 0

    def _check(self) -> None:
        """TarsusError for options that exclude each other, or a folder that is not there."""
        options = {
            "--peers": self.peers,
            "--walks": self.walks,
            "--laws": self.laws,
            "--device cuda": self.device == "cuda",
        }
        first, *others = [name for name, given in options.items() if given] or [""]
        if others:
            raise TarsusError(f"{first} and {others[0]} are two benchmarks: ask for one of them.")
        if self.engines is not None and not self.peers:
            raise TarsusError("--engines names the simulators of --peers: give --peers too.")
        if self.out is not None and not self.out.parent.is_dir():
            raise TarsusError(
                f"there is no folder {str(self.out.parent)!r} to write {self.out.name!r} to."
            )

    def _compare(self) -> int:
        from tarsus.benchmarks.peer_bench import bench_peers
        from tarsus.benchmarks.peer_report import tell_peers

        names = None if self.engines is None else [n.strip() for n in self.engines.split(",")]
        found = bench_peers(names, progress=teller(self.json))
        self._keep(found)
        print_json(found) if self.json else tell_peers(found)
        return 0

    def _keep(self, found: dict[str, Any]) -> None:
        if self.out is not None:
            write_text({self.out: json_text(found) + "\n"})


def _say(text: str) -> None:
    """Progress to standard error, also without a terminal: the run takes minutes."""
    print(text, file=sys.stderr, flush=True)
