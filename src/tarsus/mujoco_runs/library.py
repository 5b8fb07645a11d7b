"""The one way to import MuJoCo: when it is needed, and with one sentence if it is missing.

The types are `Any` because MuJoCo's stubs do not list every name.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tarsus.model.files import needed_library

PURPOSE = "a run in MuJoCo"


def mujoco() -> Any:
    """The package `mujoco`; TarsusError if it is not installed."""
    return needed_library("mujoco", PURPOSE)


@contextmanager
def warned() -> Iterator[list[str]]:
    """What MuJoCo warns of meanwhile, in place of a line on the terminal and a file MUJOCO_LOG.TXT
    in the working directory.
    """
    library, said = mujoco(), list[str]()
    before = library.get_mju_user_warning()
    library.set_mju_user_warning(said.append)
    try:
        yield said
    finally:
        library.set_mju_user_warning(before)


def rollout() -> Any:
    """The module `mujoco.rollout`, which replays torques in C; TarsusError if it is missing."""
    mujoco()
    return needed_library("mujoco.rollout", PURPOSE)


def batches() -> Any:
    """The module `mujoco.batch`, many worlds in C; None where this MuJoCo has none."""
    mujoco()
    try:
        return importlib.import_module("mujoco.batch")
    except ImportError:
        return None
