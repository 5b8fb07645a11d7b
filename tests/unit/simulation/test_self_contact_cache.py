"""Possible collision pairs are computed once, and cached for exactly the same robot."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tarsus import Robot
from tarsus.model.mjcf import read_mjcf
from tarsus.morphology.self_contacts import ALWAYS, NEVER, POSSIBLE, classify_pairs, self_contacts
from tarsus.program.run import cache
from tarsus.simulation.self_contact_cache import cached_self_contacts

GEOM = "<geom type='sphere' size='0.1'/>"
LINK = f"<body name='{{}}' pos='{{}} 0 0'><joint axis='1 0 0'/>{GEOM}</body>"
LINKS = "".join(LINK.format(name, x) for name, x in (("a", 0.3), ("b", 0.32), ("c", 0.55)))
TRUNK = f"<body name='trunk'><freejoint/>{GEOM}{LINKS}</body>"
ROBOT = Robot.of(read_mjcf(f"<mujoco><worldbody>{TRUNK}</worldbody></mujoco>"))

in_a_new_process = cached_self_contacts.__wrapped__


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TARSUS_CACHE", str(tmp_path))
    return tmp_path


def test_the_next_process_reads_cached_observables(own_cache: Path) -> None:
    found = self_contacts(ROBOT, True)
    assert classify_pairs(ROBOT, True) == ALWAYS + NEVER + POSSIBLE
    assert in_a_new_process(ROBOT, True) == found
    (file,) = own_cache.glob("*.pairs")
    # another process believes what stands there
    cache.write(file.name, (ALWAYS + POSSIBLE + NEVER).encode())
    read = in_a_new_process(ROBOT, True)
    assert [pair.name for pair in read.possible] == ["a:c"] and read.always == found.always
    # a damaged file is ignored
    file.write_bytes(file.read_bytes()[:-1])
    assert in_a_new_process(ROBOT, True) == found


def test_observables_differ_by_robot(own_cache: Path) -> None:
    in_a_new_process(ROBOT, True)
    other = replace(ROBOT, excluded=(("a", "b"),))
    assert in_a_new_process(other, True) == self_contacts(other, True)
    assert len(list(own_cache.glob("*.pairs"))) == 2
