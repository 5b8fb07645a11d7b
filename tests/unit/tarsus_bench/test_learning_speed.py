"""Benchmark of learning: all simulators move the robot equally, and learners update their
policies.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

import tarsus
from tarsus import cli
from tarsus.tasks.velocity import Velocity
from tarsus_bench import learning_speed


@pytest.mark.slow
def test_the_robot_in_mujoco_follows_the_same_targets(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a second of the trot on the spot, height, tilt and joints agree with Tarsus, by
    `rollout` and by `batch`.
    """
    monkeypatch.setattr(learning_speed, "WORLDS", 2)
    task = Velocity(friction=(1, 1), mass=(1, 1), start_offset=0, push=0)
    ours = tarsus.Environment(task, worlds=2)
    still = np.zeros((2, ours.action_size), np.float32)
    peers = {name: learning_speed._Peers(ours) for name in ("rollout", "batch")}
    for _ in range(50):
        ours.step(still)
    reached = ours.backend.get("q")[0]
    for name, peer in peers.items():
        step = getattr(peer, name)(1)
        for _ in range(50):
            assert step(still) == 0
        found = peer.last[0]
        assert found[2] == pytest.approx(reached[2], abs=0.01), name
        assert found[7:] == pytest.approx(reached[7:], abs=0.1), name
        peer.close()
    assert peers["rollout"].last == pytest.approx(peers["batch"].last, abs=1e-6)


@pytest.mark.slow
def test_the_table_has_every_simulator(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    small = {
        "WORLDS": 8,
        "PERIODS": 4,
        "ROUNDS": 1,
        "LEARNING_ROUNDS": 1,
        "GYMNASIUM_PERIODS": 2,
        "PROCESSES": 2,
    }
    for name, value in small.items():
        monkeypatch.setattr(learning_speed, name, value)
    assert cli.main(["bench", "--learning", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    names = [row["simulator"] for row in rows]
    assert [sum(word in n for n in names) for word in ("tarsus", "rollout", "batch")] == [2, 2, 2]
    assert sum("gymnasium" in name for name in names) == 2
    for row in rows:
        assert row["control_steps"] > 0
        learned = row["with_learner"]
        if "one process per world" in row["simulator"]:
            assert learned is None
        else:
            assert learned > 0
