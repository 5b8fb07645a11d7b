"""A simulator in a process of its own, on one core: built once for each case and step, then asked.

Several such processes live side by side and are asked in turn, so that a drift of the machine
touches all alike. Times are the processor's, not the clock's: other people's work does not count.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus import registry
from tarsus.processes import SPAWN, ChildProcess
from tarsus_bench.peers.base import PeerSession, Work

Array = NDArray[np.float64]
PEERS = "tarsus_bench.peers"
ONE_THREAD = {  # for libraries that would start threads of their own
    name: "1"
    for name in (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "NUMEXPR_NUM_THREADS",
        "NPROC",
    )
} | {"JAX_PLATFORMS": "cpu", "CUDA_VISIBLE_DEVICES": ""}
SETTLE = 1.0  # s of standing before time is taken


class EngineError(RuntimeError):
    """A simulator failed; the text says how."""


def engine_class(name: str) -> type[PeerSession]:
    """The class in the file `name` of the folder of peers."""
    found = registry.member_class(PEERS, "engine", name, PeerSession)
    assert isinstance(found, type)
    return found


class EngineAtWork:
    """What lives in the process: the engine of every case and step that was asked for."""

    def __init__(self, name: str, variant: str) -> None:
        self._make, self._variant = engine_class(name), variant
        self._built: dict[str, PeerSession] = {}

    def build(self, key: str, work: Work) -> dict[str, Any]:
        """Build one; what it says of itself."""
        engine = self._make(work, self._variant)
        self._built[key] = engine
        return {
            "settings": engine.settings(),
            "mass": engine.mass(),
            "own_servo": engine.own_servo,
            "worlds": engine.worlds,
        }

    def trace(self, key: str, seconds: float) -> tuple[Array, Array]:
        """q (steps + 1, nq) and u from the start on, up to the first state that is not finite."""
        engine = self._built[key]
        engine.reset()
        states = [engine.state()]
        for _ in range(round(seconds / engine.dt)):
            engine.advance(1)
            states.append(engine.state())
            if not np.isfinite(np.hstack(states[-1])).all():
                break
        q, u = (np.array([part[0] for part in parts]) for parts in zip(*states, strict=True))
        return q, u

    def time(self, key: str, steps: int) -> tuple[float, float]:
        """Seconds of the processor for one step of one world, and for the servo in Python besides
        (0 if the engine computes it), while the robot stands.
        """
        engine = self._built[key]
        engine.reset()
        engine.advance(round(SETTLE / engine.dt))
        began = process_time()
        engine.advance(steps)
        whole = process_time() - began
        servo = 0.0
        if not engine.own_servo:
            began = process_time()
            for _ in range(steps):
                engine.act()
            servo = process_time() - began
        each = steps * engine.worlds
        return (whole - servo) / each, servo / each


class EngineProcess:
    """A process with one engine, asked by `ask`; use it in a `with` block."""

    def __init__(self, name: str, variant: str, core: int | None) -> None:
        self._pipe, theirs = SPAWN.Pipe()
        with _environment(ONE_THREAD):
            self._child = ChildProcess(_serve, name, variant, core, theirs)
        theirs.close()

    def ask(self, seconds: float, method: str, *arguments: Any) -> Any:
        """What a method of `EngineAtWork` answers; EngineError if it fails, dies, or takes longer
        than `seconds`.
        """
        try:
            self._pipe.send((method, arguments))
            if not self._pipe.poll(seconds):
                self.close()
                raise EngineError(f"it was not done after {seconds:.0f} s")
            worked, answer = self._pipe.recv()
        except (EOFError, OSError):
            self._child.process.join(1.0)
            code = self._child.process.exitcode
            raise EngineError(f"its process died with exit code {code}") from None
        if not worked:
            raise EngineError(answer)
        return answer

    def close(self) -> None:
        """End the process and what it started."""
        self._pipe.close()
        self._child.end()

    def __enter__(self) -> EngineProcess:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _serve(name: str, variant: str, core: int | None, pipe: Connection) -> None:
    """Answer until the other end closes."""
    os.dup2(2, 1)  # standard output is for the results, whatever a library prints
    if core is not None:
        os.sched_setaffinity(0, {core})
    at_work = EngineAtWork(name, variant)
    while True:
        try:
            method, arguments = pipe.recv()
        except EOFError:
            return
        try:
            pipe.send((True, getattr(at_work, method)(*arguments)))
        except Exception as error:  # whatever a simulator raises is told, and the next case runs
            pipe.send((False, f"{type(error).__name__}: {error}"))


@contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    """Environment variables for a while: a child reads them as it starts."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
