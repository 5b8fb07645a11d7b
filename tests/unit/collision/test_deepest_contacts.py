"""Selection of the deepest of many contacts, and iteration over bit flags, against NumPy."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from tarsus.collision.deepest import OUTSIDE, DeepestContacts, deepest_touching
from tarsus.collision.flags import BITS, Flags
from tarsus.program.ir import reference
from tarsus.program.ir.loops import Values
from tarsus.program.ir.symbolic import entries
from tarsus.program.ir.trace import Builder
from tarsus.program.run.worlds import Worlds


@pytest.mark.parametrize("precision", [32, 64])
@pytest.mark.parametrize("count", [1, BITS, BITS + 1, 3 * BITS + 5])
def test_flags_are_iterated_in_order(count, precision):
    """Each once, the first first; as floats of either precision hold their words."""
    b = Builder("flags")
    flags = Flags.of(entries(b.parameter("flags", count)))

    def one(values: Values) -> tuple[Values, ca.SX]:
        at, left = Flags(values["words"]).first()
        at = b.store("at", at)
        order = ca.vertcat(
            *(
                ca.if_else(values["done"] == k, at, x)
                for k, x in enumerate(entries(values["order"]))
            )
        )
        return {"words": left.words, "order": order, "done": values["done"] + 1}, left.any

    begin = {"words": flags.words, "order": -ca.SX.ones(count), "done": ca.SX(0)}
    last = b.loop(begin, one, count, flags.any)
    program = b.program(order=last["order"])

    given = (np.random.default_rng(count).random((16, count)) < 0.3).astype(float)
    given[0], given[1] = 0, 1
    worlds = Worlds(program, 16, bits=precision)
    worlds.set("flags", given)
    worlds.advance()
    for own, order in zip(given, worlds.get("order"), strict=True):
        wanted = np.flatnonzero(own)
        assert order[: len(wanted)].tolist() == wanted.tolist()
        assert (order[len(wanted) :] == -1).all()


@pytest.mark.parametrize("count", [3, 40])
def test_the_deepest_touching_contacts_are_selected_and_all_are_counted(count):
    places, b = 5, Builder("lowest")
    gaps = entries(b.parameter("gaps", count))
    found = deepest_touching(gaps, [gap <= 0 for gap in gaps], 100, places, b)
    program = b.program(
        numbers=ca.vertcat(*found.numbers), gaps_found=ca.vertcat(*found.gaps), all=found.touching
    )
    given = np.random.default_rng(count).normal(size=(20, count)).round(1)  # some are alike
    given[0] = 1
    ends = reference.run(program, {"gaps": given})
    for own, numbers, low, every in zip(
        given, ends["numbers"], ends["gaps_found"], ends["all"], strict=True
    ):
        order = [k for k in np.argsort(own, kind="stable") if own[k] <= 0][:places]
        assert numbers.tolist() == [100 + k for k in order] + [-1] * (places - len(order))
        np.testing.assert_array_equal(low[: len(order)], own[order])
        assert np.isinf(low[len(order) :]).all() and every == (own <= 0).sum()


def test_spans_replace_the_largest_gap_one_by_one():
    places, rng = 4, np.random.default_rng(1)
    gaps, where = rng.normal(size=(9, 12)), rng.uniform(-1, 1, size=(9, 12))
    b = Builder("spans")
    gap, at = b.parameter("gap", 12), b.parameter("at", 12)
    found = DeepestContacts.empty(places, spans=True)
    for k in range(12):
        found = found.with_contact(ca.SX(7 + k), gap[k], at[k], gap[k] <= 0)
    program = b.program(
        numbers=ca.vertcat(*found.numbers),
        places=ca.vertcat(*(found.position(number) for number in found.numbers)),
        nowhere=found.position(ca.SX(99)),
        least=found.min_gap,
        touching=found.touching,
    )
    ends = reference.run(program, {"gap": gaps, "at": where})
    for world in range(9):
        order = np.argsort(gaps[world])[:places]
        assert sorted(ends["numbers"][world] - 7) == sorted(order)
        own = (ends["numbers"][world] - 7).astype(int)
        np.testing.assert_array_equal(ends["places"][world], where[world][own])
        assert ends["least"][world] == gaps[world].min()
        assert ends["touching"][world] == (gaps[world] <= 0).sum()
        assert ends["nowhere"][world] == OUTSIDE
