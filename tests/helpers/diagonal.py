"""Tests of many parameters, of which only the diagonal runs unless slow tests are asked for.

A test marked `diagonal` has one case for each combination of its parameters. Its quick cases take
every value of each parameter at least once: the k-th value of all of them together.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import pytest

MARK = "diagonal"


def beside_the_diagonal(items: list[pytest.Item]) -> Iterator[pytest.Item]:
    """Yield the cases of marked tests that are not on the diagonal."""
    tests: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker(MARK):
            tests[item.nodeid.partition("[")[0]].append(item)
    for cases in tests.values():
        values: dict[str, list[str]] = defaultdict(list)
        for item in cases:
            for name, value in _parameters(item).items():
                if value not in values[name]:
                    values[name].append(value)
        most = max(map(len, values.values()))
        quick = [
            {name: known[k % len(known)] for name, known in values.items()} for k in range(most)
        ]
        yield from (item for item in cases if _parameters(item) not in quick)


def _parameters(item: pytest.Item) -> dict[str, str]:
    """Return the parameters of a case by name."""
    return {name: repr(value) for name, value in item.callspec.params.items()}  # type: ignore[attr-defined]
