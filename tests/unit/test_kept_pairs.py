"""Which solids can meet is found once, and read where it was kept for the very same robot."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tarsus import Robot
from tarsus.model.mjcf import read_mjcf
from tarsus.morphology.self_contacts import ALWAYS, KEPT, NEVER, fates, self_contacts
from tarsus.program.run import cache as disk
from tarsus.simulation.kept_pairs import meeting

GEOM = "<geom type='sphere' size='0.1'/>"
LINK = f"<body name='{{}}' pos='{{}} 0 0'><joint axis='1 0 0'/>{GEOM}</body>"
LINKS = "".join(LINK.format(name, x) for name, x in (("a", 0.3), ("b", 0.32), ("c", 0.55)))
TRUNK = f"<body name='trunk'><freejoint/>{GEOM}{LINKS}</body>"
ROBOT = Robot.of(read_mjcf(f"<mujoco><worldbody>{TRUNK}</worldbody></mujoco>"))


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TARSUS_CACHE", str(tmp_path))
    return tmp_path


def test_they_are_kept_for_the_next_process(own_cache: Path) -> None:
    found = self_contacts(ROBOT, True)
    assert fates(ROBOT, True) == ALWAYS + NEVER + KEPT
    assert meeting.__wrapped__(ROBOT, True) == found
    (file,) = own_cache.glob("*.pairs")
    # what stands there is believed: another process reads it
    disk.keep(file.name, (ALWAYS + KEPT + NEVER).encode())
    read = meeting.__wrapped__(ROBOT, True)
    assert [pair.name for pair in read.kept] == ["a:c"] and read.always == found.always
    # damaged, it is found again
    file.write_bytes(file.read_bytes()[:-1])
    assert meeting.__wrapped__(ROBOT, True) == found


def test_another_robot_finds_its_own(own_cache: Path) -> None:
    meeting.__wrapped__(ROBOT, True)
    other = replace(ROBOT, excluded=(("a", "b"),))
    assert meeting.__wrapped__(other, True) == self_contacts(other, True)
    assert len(list(own_cache.glob("*.pairs"))) == 2
