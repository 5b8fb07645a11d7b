"""The one way to import MuJoCo: when it is needed, and with one sentence if it is missing.

The types are `Any` because MuJoCo's stubs do not list every name.
"""

from __future__ import annotations

import importlib
from typing import Any

from tarsus.model.files import needed_library

PURPOSE = "a run in MuJoCo"


def mujoco() -> Any:
    """The package `mujoco`; TarsusError if it is not installed."""
    return needed_library("mujoco", PURPOSE)


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
