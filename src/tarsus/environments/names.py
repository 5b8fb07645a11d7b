"""What Gymnasium knows our environments by."""

from __future__ import annotations

import importlib

API = "tarsus.environments.gymnasium_api"
NAMED = {  # task and robot of every name
    "Velocity-MiniCheetah": ("velocity", "mini_cheetah"),
    "Velocity-StarlETH": ("velocity", "starleth"),
    "Velocity-HyQ": ("velocity", "hyq"),
}


def register() -> None:
    """Make them known to Gymnasium as `tarsus/NAME-v0`; once is enough."""
    gymnasium = importlib.import_module("gymnasium")
    for name, (task, robot) in NAMED.items():
        if f"tarsus/{name}-v0" not in gymnasium.registry:
            gymnasium.register(
                f"tarsus/{name}-v0",
                entry_point=f"{API}:WorldEnv",
                vector_entry_point=f"{API}:WorldsEnv",
                kwargs={"task": task, "robot": robot},
            )
