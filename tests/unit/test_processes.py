"""Signals, forks and worker pools: runs stop on request, children run, errors are passed on."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Timer

import numpy as np
import pytest
import xarray as xr

from tarsus.engines.base import NotModeled
from tarsus.errors import TarsusError
from tarsus.file_locks import FileInUse, write_lock
from tarsus.processes import SPAWN, ChildProcess
from tarsus.program.ir.trace import Builder
from tarsus.program.run.worlds import Worlds
from tarsus.simulation.recording.divergence import Diverged

AFTER, SOON = 0.2, 0.6  # s


def counters(worlds: int, threads: int = 1) -> Worlds:
    """Worlds that count their steps."""
    b = Builder("count")
    return Worlds(b.program(x=b.declare("x", 1) + 1), worlds, threads=threads)


def exit_code(child: int, seconds: float) -> int | None:
    """Exit code of a child process; None if it had to be killed."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # Python says that forking is delicate
def test_forked_children_continue_with_their_own_threads() -> None:
    worlds = counters(100, threads=2)
    worlds.advance(10)
    child = os.fork()
    if child == 0:
        worlds.advance(5)
        os._exit(0 if (worlds.get("x") == 15).all() else 1)
    assert exit_code(child, 10.0) == 0
    worlds.advance(5)
    np.testing.assert_array_equal(worlds.get("x"), np.full((100, 1), 15.0))


def interrupted(advance: Callable[[], None]) -> float:
    """Seconds from Ctrl-C until `advance`, which would run for much longer, has ended."""
    timer = Timer(AFTER, os.kill, (os.getpid(), signal.SIGINT))
    began = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        timer.start()
        advance()
    return time.perf_counter() - began - AFTER


@pytest.mark.parametrize(("worlds", "threads"), [(1, 1), (20_000, 1), (20_000, 2)])
def test_ctrl_c_ends_a_long_advance_at_once(worlds: int, threads: int) -> None:
    counting = counters(worlds, threads)
    assert interrupted(lambda: counting.advance(10**11 // worlds)) < SOON
    steps = counting.get("x")  # every world has made the same number of them
    assert steps.min() == steps.max() > 0
    counting.advance(2)
    np.testing.assert_array_equal(counting.get("x"), steps + 2)


def test_errors_from_worker_processes_are_complete() -> None:
    log = xr.Dataset({"q": ("time", [1.0, 2.0])})
    sent = pickle.loads(pickle.dumps(Diverged("it flew away.", log)))
    assert str(sent) == "it flew away." and sent.log.equals(log)
    for error in (TarsusError("no."), NotModeled("not here."), Diverged("at once.")):
        back = pickle.loads(pickle.dumps(error))
        assert type(back) is type(error) and str(back) == str(error)


COMPILES = """
from casadi import sin
from tarsus.program.ir.trace import Builder
from tarsus.program.run.worlds import Worlds
b = Builder("race")
x = b.declare("x", 40)
for _ in range(2):
    x = sin(x) + x
worlds = Worlds(b.program(x=x))
worlds.set("x", 1.0)
worlds.advance()
print(worlds.get("x").tobytes().hex())
"""


def test_processes_that_compile_at_once_share_a_cache(tmp_path: Path) -> None:
    environment = os.environ | {"TARSUS_CACHE": str(tmp_path / "cache")}
    command = [sys.executable, "-c", COMPILES]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) for _ in range(3)]
    found = [process.communicate(timeout=120)[0] for process in running]
    assert [process.returncode for process in running] == [0, 0, 0]
    assert len(set(found)) == 1 and len(found[0]) > 600
    assert len(list((tmp_path / "cache").iterdir())) == 1


def test_threads_that_compile_at_once_share_one_kernel() -> None:
    b = Builder("race of threads")
    program = b.program(x=b.declare("x", 7) * 3)
    with ThreadPoolExecutor(8) as pool:
        raced = list(pool.map(lambda _: Worlds(program), range(8)))
    for worlds in raced:
        worlds.set("x", 2.0)
        worlds.advance()
        np.testing.assert_array_equal(worlds.get("x"), np.full((1, 7), 6.0))


LEAKS = """
import gc
import os
import numpy as np
import tarsus
from tarsus.model.mechanism import Body, Candidate, Inertia, Joint, Mechanism

inertia = Inertia(1.0, np.zeros(3), 4e-3 * np.eye(3))

def simulations(count):
    for _ in range(count):
        body = Body("ball", -1, Joint("root", "free"), inertia)
        ball = Mechanism("ball", (body,), (Candidate("ball", 0, np.zeros(3), 0.1),))
        simulation = tarsus.Simulation(ball, "compliant", worlds=64, threads=2)
        simulation.advance(0.05)
        simulation.run(0.05)
    gc.collect()
    pages = int(open("/proc/self/statm").read().split()[1])
    open_now = [len(os.listdir(f"/proc/self/{what}")) for what in ("task", "fd")]
    return pages * os.sysconf("SC_PAGE_SIZE"), open_now

simulations(20)
before, after = simulations(1), simulations(200)
print((after[0] - before[0]) >> 10, after[1] == before[1])
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads Linux's /proc")
def test_two_hundred_simulations_leave_nothing_behind() -> None:
    """Memory, threads and files of a process; each simulation traces its own program."""
    command = [sys.executable, "-W", "ignore", "-c", LEAKS]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=900)
    kilobytes, same = done.stdout.split()
    assert int(kilobytes) < 200 * 10 and same == "True"


# ---------------------------------------------------------------- workers end with their parent

PATIENCE = 30.0  # s: what is to end at once, on a busy machine
SWEEP = """
[fixed]
robot = "ball.xml"
gait = "free"
seconds = 2000.0
[vary]
"law.mu" = [0.1, 0.2, 0.3, 0.4]
[outcomes]
names = ["fell"]
"""
IN_CHILD = """
import time
from functools import partial
from tarsus.processes import run_in_child
run_in_child(partial(time.sleep, 600), None)
"""
CLAIMS = """
import sys, time
from pathlib import Path
from tarsus.file_locks import write_lock
with write_lock(Path(sys.argv[1])):
    print(flush=True)
    time.sleep(600)
"""
linux = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes of Linux")


def children() -> dict[int, list[int]]:
    """The children of every process that has not ended."""
    found: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = stat.read_text().rpartition(")")[2].split()[:2]
        except OSError:  # it has just ended
            continue
        if state != "Z":
            found.setdefault(int(parent), []).append(int(stat.parent.name))
    return found


def descendants(pid: int) -> set[int]:
    found, tree, left = set[int](), children(), [pid]
    while left:
        below = tree.get(left.pop(), [])
        found.update(below)
        left.extend(below)
    return found


def wait_for(true: Callable[[], bool]) -> bool:
    """Return whether a condition becomes true in time."""
    until = time.monotonic() + PATIENCE
    while not true() and time.monotonic() < until:
        time.sleep(0.05)
    return true()


def gone(pids: set[int]) -> bool:
    return wait_for(lambda: not pids & {pid for found in children().values() for pid in found})


@linux
@pytest.mark.parametrize("signaled", ["SIGKILL", "SIGTERM", "SIGINT"])
def test_the_workers_of_a_sweep_end_with_it(signaled: str, ball: Path, tmp_path: Path) -> None:
    (tmp_path / "ball.xml").write_bytes(ball.read_bytes())
    (tmp_path / "sweep.toml").write_text(SWEEP)
    command = ["sweep", str(tmp_path / "sweep.toml"), "--out", str(tmp_path / "out")]
    process = subprocess.Popen(
        [sys.executable, "-m", "tarsus", *command, "--workers", "2"],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert wait_for(lambda: len(descendants(process.pid)) == 3), "two workers and a tracker"
    if signaled == "SIGINT":  # as a terminal sends it, while workers start and as they work
        os.killpg(process.pid, signal.SIGINT)
    started = descendants(process.pid)
    if signaled != "SIGINT":
        process.send_signal(signal.Signals[signaled])
    _, said = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130 if signaled == "SIGINT" else process.returncode < 0
    assert "Traceback" not in said
    assert gone(started)


@linux
def test_a_child_ends_with_its_parent() -> None:
    process = subprocess.Popen([sys.executable, "-c", IN_CHILD])
    assert wait_for(lambda: len(descendants(process.pid)) == 2)
    started = descendants(process.pid)
    process.kill()
    process.wait()
    assert gone(started)


def starts_another(claim: str, ready: Connection) -> None:
    other = subprocess.Popen([sys.executable, "-c", CLAIMS, claim], stdout=subprocess.PIPE)
    assert other.stdout is not None
    ready.send_bytes(other.stdout.readline())
    time.sleep(600)


def test_ending_a_child_ends_its_children(tmp_path: Path) -> None:
    def free() -> bool:
        try:
            with write_lock(tmp_path / "log.nc"):
                return True
        except FileInUse:
            return False

    ours, theirs = SPAWN.Pipe()
    child = ChildProcess(starts_another, str(tmp_path / "log.nc"), theirs)
    assert ours.poll(PATIENCE) and not free()
    child.end()
    assert wait_for(free)
