"""A child process that is ended with all that it started, on every system."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from typing import Any


def lead() -> None:
    """Called in the child: what it starts belongs to it."""
    if sys.platform != "win32":
        os.setpgid(0, 0)


def end(child: Any) -> None:
    """End the process and what it started; not reaped before, so its number cannot be another's."""
    if sys.platform != "win32":
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
    else:  # the tree of a process is known to the system as long as the process is there
        command = ["taskkill", "/F", "/T", "/PID", str(child.pid)]
        subprocess.run(command, capture_output=True, check=False)
    child.kill()
    child.join()
