"""Cache traced programs on disk, so that the next process reads instead of tracing them.

A cache key is a hash of the plan, of the package's source files and of the versions of the packages
that trace and compile. A plan that holds code from outside the package has no key and is traced in
every process. Code that is replaced at run time, as tests do, is not part of the key: such a
process must use a separate cache folder (`TARSUS_CACHE`).
"""

from __future__ import annotations

import hashlib
import logging
import platform
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from importlib import metadata
from pathlib import Path
from time import perf_counter
from typing import TypeVar

from tarsus.program.ir.blocks import Block, ColdLoop, LoopBody, replace_cold_loops
from tarsus.program.ir.program import Program
from tarsus.program.ir.serialization import (
    deserialize,
    deserialize_body,
    serialize,
    serialize_body,
)
from tarsus.program.run import cache as disk
from tarsus.simulation.fingerprint import fingerprint

SOURCE = Path(__file__).parents[1]
PACKAGES = ("casadi", "llvmlite", "numpy")
LOG = logging.getLogger(__name__)
P = TypeVar("P")


def cached_program(plan: P, trace: Callable[[P], Program]) -> Program:
    """Load the plan's program from the cache, or trace and cache it.

    The bodies of its cold loops are cached one by one, when a world first enters them.
    """
    began, key = perf_counter(), cache_key(plan)
    if key is None:
        return trace(plan)
    bodies = _CachedBodies(key, partial(trace, plan))
    content = disk.read(f"{key}.program")
    if content is not None:
        program = replace(deserialize(content, bodies.body), origin=key)
        LOG.debug("%s: program read in %.2f s", program.name, perf_counter() - began)
        return program
    program = trace(plan)
    LOG.debug("%s: program traced in %.2f s", program.name, perf_counter() - began)
    disk.write(f"{key}.program", serialize(program))
    return replace(program, blocks=bodies.use_cached(program.blocks), origin=key)


def cache_key(plan: object) -> str | None:
    """Name the cache entry of results for a plan; None if they must not be cached."""
    identity = fingerprint(plan)
    if not identity.portable:
        return None
    parts = (identity.digest, disk.source_hash(SOURCE), *_versions())
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:40]


@cache
def _versions() -> tuple[str, ...]:
    return sys.version, platform.machine(), *map(metadata.version, PACKAGES)


class _CachedBodies:
    """Bodies of a program's cold loops, by the register that says whether the loop runs.

    Parameters
    ----------
    key : str
        Cache key of the program.
    trace : callable
        Traces the program, if a body is missing.
    """

    def __init__(self, key: str, trace: Callable[[], Program]) -> None:
        self._key, self._trace = key, trace
        self._loops: dict[str, ColdLoop] = {}

    def use_cached(self, blocks: tuple[Block, ...]) -> tuple[Block, ...]:
        """Let traced blocks take the bodies of their cold loops from here."""

        def new(loop: ColdLoop) -> Block:
            self._loops[loop.condition] = loop
            return replace(loop, trace=partial(self.body, loop.condition))

        return replace_cold_loops(blocks, new)

    def body(self, more: str) -> LoopBody:
        """Read a body from the cache, or trace it and write it there."""
        began, number = perf_counter(), hashlib.sha256(more.encode()).hexdigest()[:8]
        file = f"{self._key}.{number}.program"
        content = disk.read(file)
        if content is not None:
            return deserialize_body(content, self.body)
        if more not in self._loops:
            self.use_cached(self._trace().blocks)
        if more not in self._loops:  # it is in the body of another loop, which was cached
            assert " in " in more
            self._trace_around(more)
        body = self._loops[more].traced_body
        LOG.debug("%s: the body of a loop traced in %.2f s", more, perf_counter() - began)
        disk.write(file, serialize_body(body))
        return replace(body, body=self.use_cached(body.body))

    def _trace_around(self, more: str) -> None:
        """Trace the bodies around a loop, outermost first."""
        around = more.split(" in ")[1:]
        for k in range(len(around) - 1, -1, -1):
            outer = " in ".join(around[k:])
            self.use_cached(self._loops[outer].traced_body.body)
