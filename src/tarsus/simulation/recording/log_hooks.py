"""What is done before the first log: xarray's Dataset learns `log.tarsus`, which lives upstairs."""

from __future__ import annotations

from collections.abc import Callable

_hooks: list[Callable[[], object]] = []


def before_first_log(do: Callable[[], object]) -> None:
    """Have it done once, before the first log is made."""
    _hooks.append(do)


def run_hooks() -> None:
    """A log is about to be made."""
    while _hooks:
        _hooks.pop()()
