"""Names under which Gymnasium knows the environments of Tarsus."""

from __future__ import annotations

import importlib

API = "tarsus.environments.gymnasium_api"
NAMED = {  # options of each name
    "Velocity-MiniCheetah": {"task": "velocity", "robot": "mini_cheetah"},
    "Velocity-StarlETH": {"task": "velocity", "robot": "starleth"},
    "Velocity-HyQ": {"task": "velocity", "robot": "hyq"},
    "Velocity-HOAP1": {"task": "velocity", "robot": "hoap1"},
    "Rough-MiniCheetah": {"task": "rough", "robot": "mini_cheetah", "terrain": "rough"},
    "Jump-MiniCheetah": {"task": "jump", "robot": "mini_cheetah"},
    "GetUp-MiniCheetah": {"task": "get_up", "robot": "mini_cheetah"},
}


def register() -> None:
    """Register the environments with Gymnasium as `tarsus/NAME-v0`; repeated calls do nothing."""
    gymnasium = importlib.import_module("gymnasium")
    for name, options in NAMED.items():
        if f"tarsus/{name}-v0" not in gymnasium.registry:
            gymnasium.register(
                f"tarsus/{name}-v0",
                entry_point=f"{API}:WorldEnv",
                vector_entry_point=f"{API}:WorldsEnv",
                kwargs=dict(options),
            )
