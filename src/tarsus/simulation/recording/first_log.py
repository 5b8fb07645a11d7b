"""What is done before the first log: xarray's Dataset learns `log.tarsus`, which lives upstairs."""

from __future__ import annotations

from collections.abc import Callable

_waiting: list[Callable[[], object]] = []


def before_first_log(do: Callable[[], object]) -> None:
    """Have it done once, before the first log is made."""
    _waiting.append(do)


def ready() -> None:
    """A log is about to be made."""
    while _waiting:
        _waiting.pop()()
