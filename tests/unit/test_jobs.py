"""Jobs in this process and in worker processes: the same results in the same order."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from helpers.refused import refused

from tarsus import registry
from tarsus.errors import TarsusError, UnmetCondition
from tarsus.processes import JOBS_PER_WORKER, Job, run_jobs
from tarsus.validation.table import STEPPERS, validate


def test_rows_do_not_depend_on_the_number_of_workers() -> None:
    reports: list[str] = []
    tables = [
        validate("compliant", "free_flight", on_progress=reports.append, workers=workers)
        for workers in (1, 2, None)
    ]
    assert tables[0] == tables[1] == tables[2] and len(tables[0]) > 6
    steppers = registry.names(STEPPERS)
    assert len(reports) == 3 * len(steppers) + 1
    assert reports[0] == f"0 of {len(steppers)}: compliant, {steppers[0]}, free_flight"
    # only worker processes report the last job's end
    (last,) = [line for line in reports if line.startswith(f"{len(steppers)} of")]
    assert "0 s left: compliant, " in last


def test_many_jobs_run_in_worker_processes() -> None:
    jobs = _jobs(_process, JOBS_PER_WORKER)
    assert run_jobs(jobs, None) == [(k, os.getpid()) for k in range(JOBS_PER_WORKER)]
    numbers, workers = zip(*run_jobs(jobs, 2), strict=True)
    assert numbers == tuple(range(JOBS_PER_WORKER))
    assert os.getpid() not in workers


def test_workers_load_the_same_modules() -> None:
    """Otherwise programs would be traced again. Other tests replace modules: in a new process."""
    code = """
from test_jobs import _jobs, _loaded, run_jobs
assert run_jobs(_jobs(_loaded, 2), 2) == [_loaded(0)] * 2
"""
    here = Path(__file__).parent
    paths = os.pathsep.join([str(here), str(here.parent)])
    subprocess.run([sys.executable, "-c", code], env=os.environ | {"PYTHONPATH": paths}, check=True)


def test_errors_of_jobs_are_raised() -> None:
    with pytest.raises(TarsusError, match="no such thing as 3"):
        run_jobs(_jobs(_refused, 4), 2)
    with refused(UnmetCondition, "workers"):
        run_jobs(_jobs(_killed, 4), 2)


def _jobs(function: Callable[[int], Any], count: int) -> list[Job[Any]]:
    return [Job(str(k), partial(function, k)) for k in range(count)]


def _process(number: int) -> tuple[int, int]:
    return number, os.getpid()


def _loaded(number: int) -> list[str]:
    return sorted(name for name in sys.modules if name.startswith("tarsus"))


def _refused(number: int) -> None:
    if number == 3:
        raise TarsusError("no such thing as 3")


def _killed(number: int) -> None:
    os._exit(number + 1)
