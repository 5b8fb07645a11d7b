"""Support for tests that replace code of the package: cached programs are not used."""

from __future__ import annotations

from pathlib import Path
from tempfile import mkdtemp

import pytest

from tarsus.environments import control_program
from tarsus.planning import rollout_program
from tarsus.program.run import native
from tarsus.simulation import step_program


def forget_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trace and compile everything again until `monkeypatch` is undone, in an empty cache.

    A cache key holds the package's sources, not what a test replaces in memory.
    """
    base = Path(mkdtemp(prefix="tarsus_patched_"))
    monkeypatch.setenv("TARSUS_CACHE", str(base))
    monkeypatch.setattr(step_program, "_PLANS", {})
    monkeypatch.setattr(control_program, "_WORKS", {})
    monkeypatch.setattr(rollout_program, "_PLANS", {})
    monkeypatch.setattr(native, "_loaded", {})
