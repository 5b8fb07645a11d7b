"""Evaluate a program without state for many sets of parameters."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tarsus.program.ir.program import Program
from tarsus.program.run.backend import Array
from tarsus.program.run.worlds import Worlds

CHUNK_SIZE = 65536  # samples that are in memory at once
MAX_UNOPTIMIZED = 20000  # samples for which optimized code would not pay


def evaluate(program: Program, samples: Mapping[str, Array]) -> dict[str, Array]:
    """Evaluate the reports of a program for many samples of its parameters.

    Parameters
    ----------
    program
        Program with parameters and reports.
    samples
        Parameters by name, each (samples, size).

    Returns
    -------
    dict of Array
        Reports by name, each (samples, size).
    """
    total = len(next(iter(samples.values())))
    chunks: list[dict[str, Array]] = []
    for first in range(0, total, CHUNK_SIZE):
        inputs = {name: value[first : first + CHUNK_SIZE] for name, value in samples.items()}
        worlds = Worlds(program, min(CHUNK_SIZE, total - first), quick=total <= MAX_UNOPTIMIZED)
        for name, value in inputs.items():
            worlds.set(name, value)
        worlds.advance()
        chunks.append({r.name: worlds.get(r.name) for r in program.of_kind("report")})
    return {name: np.concatenate([chunk[name] for chunk in chunks]) for name in chunks[0]}
