"""Worlds are grouped by cost: with the fewest moves, the same bits and no loss."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from casadi import SX

from tarsus.program.ir.loops import Values
from tarsus.program.ir.program import Program
from tarsus.program.ir.trace import Builder
from tarsus.program.run import grouping
from tarsus.program.run.grouping import MIN_TOTAL_INTERVAL, Grouping, regroup
from tarsus.program.run.worlds import Worlds

ROUNDS = 40


def uneven() -> Program:
    """Program in which each world runs a loop as often as its parameter requests, and adds up
    sines.
    """
    b = Builder("uneven")
    x, often = b.declare("x", 2), b.parameter("often")

    def around(at: Values) -> tuple[Values, SX]:
        done = at["done"] + 1
        return {"sum": at["sum"] + ca.sin(x + done), "done": done}, done < often

    end = b.loop({"sum": SX.zeros(2), "done": SX(0)}, around, ROUNDS, often > 0)
    b.store("rounds", end["done"], "report")
    return b.program(x=0.5 * x + end["sum"])


def worlds(count: int, eager: bool, threads: int = 1, bits: int = 64) -> Worlds:
    """Worlds of it, every tenth of which takes long."""
    made = Worlds(uneven(), count, lanes=8, threads=threads, bits=bits)
    made.set("x", np.random.default_rng(1).normal(size=(count, 2)))
    made.set("often", np.where(np.arange(count) % 10 == 3, ROUNDS, 1)[:, None])
    if not eager:
        made._grouping = None
    return made


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check after every step, with free moves."""
    monkeypatch.setattr(grouping, "MOVE_COST", 0.0)
    monkeypatch.setattr(grouping, "CHECK_INTERVAL", 1.0)
    monkeypatch.setattr(grouping, "MIN_TOTAL_INTERVAL", 1.0)


@pytest.mark.parametrize(("threads", "bits"), [(1, 64), (2, 64), (1, 32)])
@pytest.mark.usefixtures("eager")
def test_regrouping_does_not_affect_results(threads: int, bits: int) -> None:
    changing, staying = worlds(203, True, threads, bits), worlds(203, False, threads, bits)
    logs = [each.record(5) for each in (changing, staying)]
    changing.set("often", changing.get("often") + 1)
    changing.set("x", np.ones(2), np.arange(203) % 7 == 0)
    staying.set("often", staying.get("often") + 1)
    staying.set("x", np.ones(2), np.arange(203) % 7 == 0)
    for each in (changing, staying):
        each.advance()
        each.advance(4)
    # they did change places
    assert changing._grouping is not None and changing._grouping.positions is not None
    assert (changing._grouping.positions != np.arange(208)).any()
    # nobody sees it
    for name in ("x", "often", "rounds"):
        np.testing.assert_array_equal(changing.get(name), staying.get(name))
        np.testing.assert_array_equal(changing.first(name), staying.first(name))
        rooms = changing.buffer(name), staying.buffer(name)
        changing.read(name, rooms[0])
        staying.read(name, rooms[1])
        np.testing.assert_array_equal(*rooms)
    for name in logs[0]:
        np.testing.assert_array_equal(logs[0][name], logs[1][name])
    for world in (0, 13, 202):
        np.testing.assert_array_equal(changing.record_of(world), staying.record_of(world))


@pytest.mark.usefixtures("eager")
def test_expensive_worlds_are_grouped() -> None:
    """21 of 203 worlds are expensive: they end in three groups of eight, starting from 26
    groups.
    """
    found = worlds(203, True)
    found.advance(3)
    slow = found._rows("often")[:, 0, :] == ROUNDS
    assert slow.any(1).sum() == 3


def test_regrouping_moves_as_few_worlds_as_possible() -> None:
    """Any arrangement with the fewest operations: a world in a group of its cost stays, and a
    batch that is already grouped does not change.
    """
    rng = np.random.default_rng(5)
    records = rng.normal(size=(30, 6, 8))
    records[:, 5] = np.arange(240).reshape(30, 8)
    records[:, 4] = effort = rng.choice([1000.0, 1600.0, 9000.0], size=(30, 8), p=[0.8, 0.15, 0.05])
    before = records.copy()
    assert regroup(records, 4)
    assert (records[:, 4] == 0).all()
    # whole records moved, each is there once
    number = records[:, 5].astype(int)
    assert sorted(number.ravel()) == list(range(240))
    theirs = before[number // 8, :, number % 8]
    np.testing.assert_array_equal(records.transpose(0, 2, 1)[..., :4], theirs[..., :4])
    # groups take the least
    takes = effort.ravel()[number]
    assert takes.max(1).sum() == np.sort(effort, axis=None).reshape(30, 8).max(1).sum()
    alike = np.sort(effort, axis=None).reshape(30, 8) == effort
    assert (number == np.arange(240).reshape(30, 8))[alike].all()
    # now they stand as they should
    records[:, 4] = takes
    assert not regroup(records, 4)


def test_worlds_are_not_moved_without_a_benefit() -> None:
    """One slow world in each of two groups: to join them wins 20,000 operations, half of which
    last, and moves four records.
    """
    records = np.zeros((2, 102, 8))
    records[:, 100] = 10_000.0
    records[:, 100, 3] = 30_000.0
    records[:, 101] = np.arange(16).reshape(2, 8)
    assert regroup(records.copy(), 100)
    records = np.concatenate([records, np.zeros((2, 400, 8))], 1)
    assert not regroup(records, 100)


def test_uniform_costs_reduce_regrouping_checks() -> None:
    records = np.zeros((64, 3, 8))
    own, looks = Grouping(records, 1, [0, 64]), []
    for step in range(4000):
        records[:, 1] += MIN_TOTAL_INTERVAL / 64 / 10
        own.check(1)
        if records[0, 1, 0] == 0:
            looks.append(step)
    assert np.diff(looks).tolist() == [20, 40, 80, *[160] * (len(looks) - 4)]
    assert own.positions is None or (own.positions == np.arange(512)).all()


def test_a_single_group_is_not_regrouped() -> None:
    assert Worlds(uneven(), 8, lanes=8)._grouping is None
    assert Worlds(uneven(), 16, lanes=8, threads=2)._grouping is None
    assert Worlds(uneven(), 20, lanes=1)._grouping is None
