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
MIN_TIME = 0.1  # s of processor time for which a motion is repeated


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
            "has_own_servo": engine.has_own_servo,
            "worlds": engine.worlds,
        }

    def trace(self, key: str, seconds: float, interval: float | None = None) -> tuple[Array, Array]:
        """Simulate and return q (samples, nq) and u, up to the first state that is not finite.

        There is a sample at the start and after every `interval`, in s, by default after every
        step.
        """
        engine = self._built[key]
        engine.reset()
        states, steps = [engine.state()], 1 if interval is None else round(interval / engine.dt)
        for _ in range(round(seconds / (steps * engine.dt))):
            engine.advance(steps)
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
        servo = _measure_servo_time(engine, steps)
        each = steps * engine.worlds
        return (whole - servo) / each, servo / each

    def time_motion(self, key: str, seconds: float) -> float:
        """Measure the processor time of a whole motion from its initial state, without servo, in s.

        A short motion is repeated until `MIN_TIME` is over.
        """
        engine, total, runs = self._built[key], 0.0, 0
        steps = round(seconds / engine.dt)
        while total < MIN_TIME:
            engine.reset()
            began = process_time()
            engine.advance(steps)
            total += process_time() - began
            runs += 1
        return total / runs - _measure_servo_time(engine, steps)


def _measure_servo_time(engine: PeerSession, steps: int) -> float:
    """Measure the processor time of a servo in Python over some steps, s."""
    if engine.has_own_servo:
        return 0.0
    began = process_time()
    for _ in range(steps):
        engine.apply_servos()
    return process_time() - began


class EngineProcess:
    """Process with one simulator, for use in a `with` block; `ask` sends requests."""

    def __init__(self, name: str, variant: str, core: int | None) -> None:
        self._pipe, theirs = SPAWN.Pipe()
        with _set_up_environment(ONE_THREAD):
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
def _set_up_environment(values: dict[str, str]) -> Iterator[None]:
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
