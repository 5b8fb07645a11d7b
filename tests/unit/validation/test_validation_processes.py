"""Scenes of `tarsus validate` in several processes: the same rows, and programs found again."""

from __future__ import annotations

import os
import sys

import pytest
from helpers.refused import refused

from tarsus import registry
from tarsus.errors import TarsusError, UnmetCondition
from tarsus.validation.processes import WORTH, each
from tarsus.validation.table import STEPPERS, validate


def test_rows_do_not_depend_on_the_number_of_workers() -> None:
    said: list[str] = []
    found = [
        validate("compliant", "free_flight", tell=said.append, workers=workers)
        for workers in (1, 2, None)
    ]
    assert found[0] == found[1] == found[2] and len(found[0]) > 6
    steppers = registry.names(STEPPERS)
    assert len(said) == 3 * len(steppers) + 1
    assert said[0] == f"0 of {len(steppers)}: compliant, {steppers[0]}, free_flight"
    (told,) = [line for line in said if line.startswith(f"{len(steppers)} of")]
    assert "0 s left: compliant, " in told, "of the two workers alone: what is done last"


def test_work_is_done_in_order_by_others_only_where_it_is_worth_it() -> None:
    pieces = [(k,) for k in range(WORTH)]
    here = each(_process, pieces, None, str)
    assert here == [(k, os.getpid()) for k in range(WORTH)]
    numbers, workers = zip(*each(_process, pieces, 2, str), strict=True)
    assert numbers == tuple(range(WORTH)) and os.getpid() not in workers
    assert each(_loaded, pieces[:2], 2, str) == [_loaded(0)] * 2, "or programs are traced again"
    with pytest.raises(TarsusError, match="no such thing as 3"):
        each(_refused, pieces[:4], 2, str)
    with refused(UnmetCondition, "workers"):
        each(_killed, pieces[:4], 2, str)


def _process(number: int) -> tuple[int, int]:
    return number, os.getpid()


def _loaded(number: int) -> list[str]:
    return sorted(name for name in sys.modules if name.startswith("tarsus"))


def _refused(number: int) -> None:
    if number == 3:
        raise TarsusError("no such thing as 3")


def _killed(number: int) -> None:
    os._exit(number + 1)
