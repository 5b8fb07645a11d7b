"""Run a program over samples: one set of parameters in, its reports out, for each of many."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tarsus.program.ir.program import Program
from tarsus.program.run.backend import Array
from tarsus.program.run.worlds import Worlds

CHUNK = 65536  # samples at a time
FEW = 20000  # samples that are sooner done by code that is compiled without optimization


def evaluate(program: Program, samples: Mapping[str, Array]) -> dict[str, Array]:
    """The reports of a program without state, for many parameters at once.

    samples: parameters (samples, size) by name.
    Returns the reports (samples, size) by name.
    """
    total = len(next(iter(samples.values())))
    parts: list[dict[str, Array]] = []
    for first in range(0, total, CHUNK):
        piece = {name: value[first : first + CHUNK] for name, value in samples.items()}
        view = Worlds(program, min(CHUNK, total - first), quick=total <= FEW)
        for name, value in piece.items():
            view.set(name, value)
        view.advance()
        parts.append({r.name: view.get(r.name) for r in program.of_kind("report")})
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
