"""Simulators in separate processes on one core, built once for each case and step size.

Several processes take turns, so that a drift of the machine affects all of them equally. Times are
processor times, which exclude the work of other processes.
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
SETTLE = 1.0  # s of standing before timing starts


class EngineError(RuntimeError):
    """Failure of a simulator, with its description."""


def engine_class(name: str) -> type[PeerSession]:
    """Return the class of a simulator from its file in the folder of peers."""
    member = registry.member_class(PEERS, "engine", name, PeerSession)
    assert isinstance(member, type)
    return member


class EngineServer:
    """Server in the child process, with the simulator of every case and step size."""

    def __init__(self, name: str, variant: str) -> None:
        self._make, self._variant = engine_class(name), variant
        self._built: dict[str, PeerSession] = {}

    def build(self, key: str, work: Work) -> dict[str, Any]:
        """Build a simulator for a task; return its description."""
        engine = self._make(work, self._variant)
        self._built[key] = engine
        return {
            "settings": engine.settings(),
            "mass": engine.mass(),
            "own_servo": engine.own_servo,
            "worlds": engine.worlds,
        }

    def trace(self, key: str, seconds: float) -> tuple[Array, Array]:
        """Simulate and return q (steps + 1, nq) and u, up to the first state that is not finite."""
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
        """Measure the processor time of a step while the robot stands.

        Returns
        -------
        step
            Time of a step of one world without the servo, s.
        servo
            Time of the servo in Python, s; 0 if the simulator computes it.
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
    """Process with one simulator, for use in a `with` block; `ask` sends requests."""

    def __init__(self, name: str, variant: str, core: int | None) -> None:
        self._pipe, theirs = SPAWN.Pipe()
        with _environment(ONE_THREAD):
            self._child = ChildProcess(_serve, name, variant, core, theirs)
        theirs.close()

    def ask(self, seconds: float, method: str, *arguments: Any) -> Any:
        """Call a method of `EngineServer` and return its result.

        Raises
        ------
        EngineError
            If the method fails, the process dies, or the call takes longer than `seconds`.
        """
        try:
            self._pipe.send((method, arguments))
            if not self._pipe.poll(seconds):
                self.close()
                raise EngineError(f"no answer after {seconds:.0f} s")
            worked, answer = self._pipe.recv()
        except (EOFError, OSError):
            self._child.process.join(1.0)
            code = self._child.process.exitcode
            raise EngineError(f"the process died with exit code {code}") from None
        if not worked:
            raise EngineError(answer)
        return answer

    def close(self) -> None:
        """End the process and its children."""
        self._pipe.close()
        self._child.end()

    def __enter__(self) -> EngineProcess:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _serve(name: str, variant: str, core: int | None, pipe: Connection) -> None:
    """Answer requests until the other end closes."""
    os.dup2(2, 1)  # standard output is reserved for the results; libraries may print
    if core is not None:
        os.sched_setaffinity(0, {core})
    server = EngineServer(name, variant)
    while True:
        try:
            method, arguments = pipe.recv()
        except EOFError:
            return
        try:
            pipe.send((True, getattr(server, method)(*arguments)))
        except Exception as error:  # report any exception of a simulator and continue
            pipe.send((False, f"{type(error).__name__}: {error}"))


@contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    """Set environment variables temporarily, for a child process to read at startup."""
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
