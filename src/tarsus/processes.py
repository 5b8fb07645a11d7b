"""Run worker processes that end with the process that started them, however that one ends.

Each worker waits, in a thread, for the end of a pipe that only its parent can write to. The system
closes the pipe when the parent exits, crashes or is killed. The worker then ends at once, together
with its process group if it leads one.
"""

from __future__ import annotations

import importlib
import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from threading import Thread
from time import perf_counter
from typing import Any, Generic, TypeVar

from tarsus.errors import UnmetCondition

T = TypeVar("T")
SPAWN = multiprocessing.get_context("spawn")
INTERRUPT_SIGNALS = {signal.SIGINT}
EXIT_TIMEOUT = 5.0  # s for a child to exit after its result
JOBS_PER_WORKER = 12  # that are worth the start of a process, which takes a second or two


def usable_cores() -> int:
    """Count the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class WorkerPool:
    """Pool of worker processes, and a context manager that ends them.

    Ctrl-C in a terminal ends the workers without a traceback. A task whose worker dies raises
    `concurrent.futures.process.BrokenProcessPool`.

    Parameters
    ----------
    count : int
        Number of processes.
    modules : sequence of str, optional
        Modules that each worker imports before its first task.
    """

    def __init__(self, count: int, modules: Sequence[str] = ()) -> None:
        self._theirs, self._lifeline = SPAWN.Pipe(duplex=False)
        self._pool = ProcessPoolExecutor(
            count, SPAWN, _initialize_worker, (self._theirs, tuple(modules))
        )
        self._unfinished: set[Future[Any]] = set()

    def submit(self, function: Callable[..., T], *arguments: Any) -> Future[T]:
        """Call a function in a worker; the function must be importable by name."""
        with _block_interrupts():
            future = self._pool.submit(function, *arguments)
        self._unfinished.add(future)
        future.add_done_callback(self._unfinished.discard)
        return future

    def close(self) -> None:
        """End the workers and drop unfinished tasks."""
        if self._unfinished:
            self._lifeline.close()
        self._pool.shutdown(cancel_futures=True)
        self._lifeline.close()
        self._theirs.close()

    def __enter__(self) -> WorkerPool:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class ChildProcess:
    """A process that runs an importable function and leads a process group."""

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        theirs, self._lifeline = SPAWN.Pipe(duplex=False)
        self.process = SpawnProcess(target=_run_as_group_leader, args=(theirs, function, arguments))
        with _block_interrupts():
            self.process.start()
        theirs.close()

    def end(self) -> None:
        """End the process and everything that it started."""
        # not reaped yet, so its process number is still valid
        if self.process.pid is not None:
            _kill_group(self.process.pid)
        self.process.kill()
        self.process.join()
        self._lifeline.close()


@dataclass(frozen=True)
class Job(Generic[T]):
    """Independent piece of work.

    Parameters
    ----------
    name : str
        Name for reports of progress.
    function : callable
        Function without arguments; picklable if it runs in a worker process.
    """

    name: str
    function: Callable[[], T]


def run_jobs(
    jobs: Sequence[Job[T]],
    workers: int | None,
    report: Callable[[str], None] = lambda text: None,
) -> list[T]:
    """Run jobs in this process or in several, with the same results.

    Worker processes import the modules of the package that are loaded here, so that they find the
    programs that another process traced. A script calls this below `if __name__ == "__main__":`.

    Parameters
    ----------
    jobs
        Jobs, in the order of the results.
    workers
        Number of worker processes; with 1 the jobs run in this process. By default one for every
        `JOBS_PER_WORKER` jobs, but no more than there are cores.
    report
        Called with the progress, the seconds left, and the name of the job that begins or ended.

    Returns
    -------
    list
        Results of all jobs.

    Raises
    ------
    UnmetCondition
        If a worker process is killed, for example because memory ran out.
    """
    count, start, done = len(jobs), perf_counter(), 0
    results: dict[int, T] = {}

    def progress(job: Job[T]) -> None:
        left = f", {(count - done) * (perf_counter() - start) / done:.0f} s left" if done else ""
        report(f"{done} of {count}{left}: {job.name}")

    # in this process
    workers = min(usable_cores(), count // JOBS_PER_WORKER) if workers is None else workers
    if min(workers, count) <= 1:
        for number, job in enumerate(jobs):
            progress(job)
            results[number] = job.function()
            done += 1
        return list(results.values())
    # in worker processes
    loaded = sorted(name for name in sys.modules if name.partition(".")[0] == "tarsus")
    try:
        with WorkerPool(min(workers, count), loaded) as pool:
            futures = {pool.submit(job.function): k for k, job in enumerate(jobs)}
            report(f"0 of {count}")
            for future in as_completed(futures):
                number = futures[future]
                results[number] = future.result()
                done += 1
                progress(jobs[number])
    except BrokenProcessPool:
        raise UnmetCondition(
            f"a worker process was killed after {done} of {count}, perhaps because memory ran out;"
            " use fewer workers.",
            "workers",
        ) from None
    return [results[number] for number in range(count)]


def run_in_child(part: Callable[[], Any], seconds: float | None) -> Any:
    """Call a function in a new process and return its result.

    The process and its children are ended afterwards. What the function prints goes to standard
    error.

    Parameters
    ----------
    part
        Function without arguments; it must be picklable.
    seconds
        Time limit in s; None for no limit.

    Raises
    ------
    TimeoutError
        If the function takes longer.
    ChildProcessError
        If the process dies without an answer.
    RuntimeError
        With the name and text of the exception that the function raised.
    """
    # start the child, and keep only our end of the pipe
    ours, theirs = SPAWN.Pipe(duplex=False)
    child = ChildProcess(_send_result, part, theirs)
    theirs.close()
    # wait for its answer
    answer: tuple[bool, Any] | None = None
    try:
        if not ours.poll(seconds):
            raise TimeoutError(f"ended after {seconds:.0f} s, before it was done")
        with suppress(EOFError):
            answer = ours.recv()
        wait([child.process.sentinel], EXIT_TIMEOUT)
    finally:
        child.end()
    # return its answer, or raise its error
    if answer is None:
        raise ChildProcessError(f"the process died with exit code {child.process.exitcode}")
    worked, result = answer
    if not worked:
        raise RuntimeError(result)
    return result


def _send_result(part: Callable[[], Any], to: Connection) -> None:
    """Send the result of a function, or its error, to the parent."""
    os.dup2(2, 1)  # keep standard output for results, whatever libraries print
    try:
        to.send((True, part()))
    except Exception as error:
        to.send((False, f"{type(error).__name__}: {error}"))


def _initialize_worker(lifeline: Connection, modules: Sequence[str] = ()) -> None:
    """Make this process end with its parent, and at once on Ctrl-C."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    if sys.platform != "win32":
        signal.pthread_sigmask(signal.SIG_UNBLOCK, INTERRUPT_SIGNALS)
    Thread(target=_end_with_parent, args=(lifeline,), daemon=True).start()
    for module in modules:
        importlib.import_module(module)


def _run_as_group_leader(
    lifeline: Connection, function: Callable[..., Any], arguments: tuple[Any, ...]
) -> None:
    """Run a function in a new process group."""
    if sys.platform != "win32":
        os.setpgid(0, 0)
    _initialize_worker(lifeline)
    function(*arguments)


def _end_with_parent(lifeline: Connection) -> None:
    """Wait for the end of the parent, then end this process and its group."""
    with suppress(EOFError, OSError):
        lifeline.recv_bytes()
    if sys.platform == "win32" or os.getpgid(0) == os.getpid():
        _kill_group(os.getpid())
    os._exit(1)


def _kill_group(leader: int) -> None:
    """Kill a process and everything that it started."""
    if sys.platform != "win32":
        with suppress(ProcessLookupError):
            os.killpg(leader, signal.SIGKILL)
    else:  # Windows knows the process tree while its root exists
        command = ["taskkill", "/F", "/T", "/PID", str(leader)]
        subprocess.run(command, capture_output=True, check=False)


@contextmanager
def _block_interrupts() -> Iterator[None]:
    """Block Ctrl-C inside the `with` block, and in a child started there until it is ready."""
    if sys.platform == "win32":
        yield
        return
    resource_tracker.ensure_running()  # start it now, because it unblocks Ctrl-C when it starts
    before = signal.pthread_sigmask(signal.SIG_BLOCK, INTERRUPT_SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
