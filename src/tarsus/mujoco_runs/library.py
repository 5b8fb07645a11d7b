"""Import of MuJoCo when it is needed, with a clear error if it is missing.

All other modules import MuJoCo through this one. The types are `Any` because MuJoCo's stubs do not
list every name.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tarsus.model.files import import_library

PURPOSE = "a run in MuJoCo"


def mujoco() -> Any:
    """Import the package `mujoco`; raise MissingLibrary if it is not installed."""
    return import_library("mujoco", PURPOSE)


@contextmanager
def capture_warnings() -> Iterator[list[str]]:
    """Collect MuJoCo's warnings in a list.

    Otherwise MuJoCo prints them and appends them to MUJOCO_LOG.TXT in the working directory.
    """
    library, messages = mujoco(), list[str]()
    before = library.get_mju_user_warning()
    library.set_mju_user_warning(messages.append)
    try:
        yield messages
    finally:
        library.set_mju_user_warning(before)


def rollout_module() -> Any:
    """Import `mujoco.rollout`, which replays torques in C; raise MissingLibrary without it."""
    mujoco()
    return import_library("mujoco.rollout", PURPOSE)


def batch_module() -> Any:
    """Import `mujoco.batch`, which steps many worlds in C; None if this MuJoCo lacks it."""
    mujoco()
    try:
        return importlib.import_module("mujoco.batch")
    except ImportError:
        return None
