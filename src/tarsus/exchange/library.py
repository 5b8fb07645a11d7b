"""Libraries of the extra `exchange`, imported when a format needs them."""

from __future__ import annotations

import importlib
from typing import Any

from tarsus.errors import TarsusError


def library(name: str, what: str) -> Any:
    """The module; TarsusError that says how to get it."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise TarsusError(f'{what} needs the extra: pip install "tarsus[exchange]".') from None
