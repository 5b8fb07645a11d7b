"""Run hooks before the first log, such as registering the accessor `log.tarsus` of xarray."""

from __future__ import annotations

from collections.abc import Callable

_hooks: list[Callable[[], object]] = []


def before_first_log(function: Callable[[], object]) -> None:
    """Call a function once, before the first log is made."""
    _hooks.append(function)


def run_hooks() -> None:
    """Run the hooks; call this before making a log."""
    while _hooks:
        _hooks.pop()()
