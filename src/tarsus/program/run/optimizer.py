"""Code that is optimized in a process beside, while this one runs code that is not.

The same bits come from both (decision 0022). It is a process and not a thread, for one thread at a
time may use LLVM: a loop that a world enters meanwhile would wait. It goes on when this one ends,
and its code is in the cache for the next.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from tempfile import TemporaryFile
from threading import Event, Lock, Thread
from time import sleep
from typing import Any

from tarsus.errors import InvalidValue
from tarsus.program.run import cache as disk
from tarsus.program.run.machine import compiled, compiler

OPTIMIZE = "TARSUS_OPTIMIZE"
LARGE = 45_000  # lines; fewer are optimized in some three seconds
SMALL = 2_000  # lines of a seldom loop; fewer are optimized in a tenth of a second
POLITE = 10  # by how much a process that optimizes seldom loops steps back behind others
LOOK, LOOKS = 0.5, 240  # s between two looks of a process that was forked, and how often

_pending: list[Optimizing] = []
_using, _turn = Lock(), Lock()
_ended: list[bool] = []


def usable_cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def optimizes() -> bool:
    """Whether code is optimized: yes, unless the environment says TARSUS_OPTIMIZE=0.

    Then a program compiles in half the time, and takes two to three times as long to run to the
    same bits.

    Raises InvalidValue for any other value than 0 or 1.
    """
    given = os.environ.get(OPTIMIZE, "1")
    if given not in ("0", "1"):
        raise InvalidValue(f"{OPTIMIZE} must be 0 or 1, not {given!r}.", OPTIMIZE)
    return given == "1"


def worth_while(text: str) -> bool:
    """Whether a module that is to be optimized runs at once as it is, and optimized when it is
    ready: one that is large, where there is a second core, unless TARSUS_OPTIMIZE=1.
    """
    return OPTIMIZE not in os.environ and text.count("\n") > LARGE and works_beside()


def loop_at_once(text: str) -> bool:
    """Whether a seldom loop's function is optimized before it first runs: one that is small, or
    where TARSUS_OPTIMIZE=1.
    """
    return OPTIMIZE in os.environ or text.count("\n") < SMALL


def works_beside() -> bool:
    """Whether a process beside can be started, and a core is there for it."""
    able = bool(sys.executable) and not getattr(sys, "frozen", False)
    return able and usable_cores() > 1


def at_once() -> None:
    """From here on, and in processes that are started, code is optimized before it first runs: for
    who measures how fast it is.
    """
    os.environ.setdefault(OPTIMIZE, "1")


def finish() -> None:
    """Wait until all that is being optimized is in use."""
    for job in list(_pending):
        job.done.wait()


class Optimizing:
    """A module that is being optimized.

    name: of its code in the cache
    then: told its name and its code, in a thread
    seldom: one at a time, behind whatever else the machine does; if no process can, it is not done
    done: when that has returned
    """

    def __init__(
        self, name: str, text: str, then: Callable[[str, bytes], None], seldom: bool = False
    ) -> None:
        self.done, self._name, self._text, self._then = Event(), name, text, then
        self._seldom = seldom
        _pending.append(self)
        code = partial(_in_turn, name, text) if seldom else _started(name, text)
        Thread(target=self._work, args=(code,), daemon=True).start()

    def watch(self) -> None:
        """In a forked process, which has none of its parent's threads: look for the code."""
        self.done = Event()
        Thread(target=self._work, args=(partial(_found, self._name),), daemon=True).start()

    def _work(self, code: Callable[[], bytes | None]) -> None:
        try:
            found = code()
            with _using:  # Python does not end meanwhile
                if not _ended and (found or not self._seldom):
                    self._then(self._name, found or compiled(self._text, compiler(True)))
        finally:
            _pending.remove(self)
            self.done.set()


def _in_turn(name: str, text: str) -> bytes | None:
    """The code of a seldom loop, when it is its turn: from another process's cache, or of one that
    makes it; None if that has failed.
    """
    with _turn:
        return disk.kept(f"{name}.o") or _started(name, text, POLITE)()


def _started(name: str, text: str, polite: int = 0) -> Callable[[], bytes | None]:
    """A process beside that optimizes, and what waits for its code; None if it has failed.

    Text and code lie in files, so that neither of the two waits for the other to begin or to end.
    """
    try:
        made = TemporaryFile()  # noqa: SIM115 - read when the process has ended
        with TemporaryFile() as given:
            given.write(text.encode())
            given.seek(0)
            command = [sys.executable, "-c", CHILD.format(path=sys.path), name, str(polite)]
            own: dict[str, Any] = {"stdin": given, "stdout": made, "stderr": subprocess.DEVNULL}
            child = subprocess.Popen(command, **own, **_APART)
    except OSError:
        return lambda: None

    def code() -> bytes | None:
        failed = child.wait()
        with made:
            made.seek(0)
            return None if failed else made.read()

    return code


def _found(name: str) -> bytes | None:
    """The code when it is in the cache; None if it does not come."""
    for _ in range(LOOKS):
        if (code := disk.kept(f"{name}.o")) is not None:
            return code
        sleep(LOOK)
    return None


CHILD = (
    "import sys; sys.path[:] = {path!r}; from tarsus.program.run import optimizer as o; o.main()"
)
_APART: dict[str, Any] = (  # Ctrl-C is not for it
    {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW}
    if sys.platform == "win32"
    else {"start_new_session": True}
)


def main() -> None:
    """What the process beside does: from text to code, for the cache and for who asked."""
    if hasattr(os, "nice"):
        os.nice(int(sys.argv[2]))
    code = compiled(sys.stdin.buffer.read().decode(), compiler(True))
    disk.keep(f"{sys.argv[1]}.o", code)
    sys.stdout.buffer.write(code)


def _forked() -> None:
    global _using, _turn
    _using, _turn = Lock(), Lock()
    for job in list(_pending):
        job.watch()


def _end() -> None:
    with _using:
        _ended.append(True)


atexit.register(_end)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
