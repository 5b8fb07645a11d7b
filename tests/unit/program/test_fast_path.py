"""The end of a step is compiled twice: for worlds that entered a cold loop, and for the others."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise

import casadi as ca
import numpy as np
import pytest
from casadi import SX

import tarsus
from tarsus.program.codegen.emit import ir_text
from tarsus.program.codegen.layout import Target
from tarsus.program.ir import reference
from tarsus.program.ir.blocks import ColdLoop, While
from tarsus.program.ir.program import Program
from tarsus.program.ir.trace import Builder
from tarsus.program.lowering.available_copies import available_copies
from tarsus.program.lowering.fast_path import find_fast_path
from tarsus.program.run.worlds import Worlds

Step = Callable[[float, float, np.ndarray], tuple[float, np.ndarray]]


def program() -> Program:
    """Program in which `x` counts; from 3 on a first loop stores x in `kept`, from 5 on a
    second one 10 x; a world that enters neither keeps the old value.
    """
    b = Builder("ends")
    x, kept, b_x = b.declare("x", 1), b.declare("kept", 2), b.parameter("step")
    more = x + b_x
    begin = {"x": more, "kept": kept}
    first = b.cold_loop(
        begin, lambda now: (now | {"kept": SX([1, 2]) * now["x"]}, SX(0)), 1, more > 3
    )
    second = b.cold_loop(
        first, lambda now: (now | {"kept": 10 * now["kept"]}, SX(0)), 1, first["x"] > 5
    )
    return b.program(x=second["x"], kept=second["kept"], seen=second["kept"] + second["x"])


def said(x: float, step: float, kept: np.ndarray) -> tuple[float, np.ndarray]:
    x += step
    kept = np.array([x, 2 * x]) if x > 3 else kept
    return x, 10 * kept if x > 5 else kept


def passes() -> Program:
    """Step of several passes, each of which may enter a cold loop: x counts until it is not a
    multiple of three, from 4 on a pass stores it in `kept`; then a loop doubles `kept` beyond
    9.
    """
    b = Builder("passes")
    x, kept, step = b.declare("x", 1), b.declare("kept", 2), b.parameter("step")

    def once(now: dict[str, SX]) -> tuple[dict[str, SX], SX]:
        more = b.store("more", now["x"] + step)
        begin = {"kept": now["kept"]}
        told = b.cold_loop(begin, lambda _: ({"kept": SX([1, 2]) * more}, SX(0)), 1, more >= 4)
        return {"x": more, "kept": told["kept"]}, more / 3 == ca.floor(more / 3)

    end = b.loop({"x": x, "kept": kept}, once, 5)
    doubled = b.cold_loop(
        {"kept": end["kept"]}, lambda now: ({"kept": 2 * now["kept"]}, SX(0)), 1, end["x"] > 9
    )
    return b.program(x=end["x"], kept=doubled["kept"], seen=doubled["kept"] + end["x"])


def rounds_of(x: float, step: float, kept: np.ndarray) -> tuple[float, np.ndarray]:
    for _ in range(5):
        x += step
        kept = np.array([x, 2 * x]) if x >= 4 else kept
        if x % 3:
            break
    return x, 2 * kept if x > 9 else kept


def follow(worlds: Worlds, steps: np.ndarray, after: Step) -> list[np.ndarray]:
    """Compare seven steps of six worlds with each world alone; return `kept` after each step."""
    begin, told = np.arange(12.0).reshape(6, 2), list[np.ndarray]()
    worlds.set("kept", begin)
    worlds.set("step", steps[:, None])
    expected = [(0.0, row) for row in begin]
    for _ in range(7):
        worlds.advance()
        expected = [after(x, step, kept) for (x, kept), step in zip(expected, steps, strict=True)]
        np.testing.assert_array_equal(worlds.get("x")[:, 0], [x for x, _ in expected])
        np.testing.assert_array_equal(worlds.get("kept"), [kept for _, kept in expected])
        np.testing.assert_array_equal(worlds.get("seen"), [kept + x for x, kept in expected])
        told.append(worlds.get("kept"))
    return told


@pytest.mark.parametrize("lanes", [1, 4])
@pytest.mark.parametrize("bits", [32, 64])
def test_worlds_leave_an_outer_loop_from_either_end(lanes: int, bits: int) -> None:
    made = passes()
    way = find_fast_path(made, lambda block: isinstance(block, While | ColdLoop) and block.cold)
    assert way is not None and way.enclosing is not None and 0 < way.count_inside < len(way.blocks)
    follow(Worlds(made, 6, lanes=lanes, bits=bits), np.array([1, 0, 2, 3, -1, 1.0]), rounds_of)


@pytest.mark.parametrize("lanes", [1, 4])
@pytest.mark.parametrize("bits", [32, 64])
def test_neighboring_worlds_take_different_ends(lanes: int, bits: int) -> None:
    worlds = Worlds(program(), 6, lanes=lanes, bits=bits)
    told = follow(worlds, np.array([1, 0, 2, 1, -1, 3.0]), said)
    assert not all((a == b).all() for a, b in pairwise(told))


def test_the_reference_supports_two_ends() -> None:
    given = {"x": [2.0], "kept": [7.0, 8.0], "step": [1.0]}
    np.testing.assert_array_equal(reference.run(passes(), given)["kept"], [[4.0, 8.0]])
    after = reference.run(program(), {"x": [4.0], "kept": [7.0, 8.0], "step": [2.0]})
    np.testing.assert_array_equal(after["kept"], [[60.0, 120.0]])


def test_unchanged_values_are_not_written() -> None:
    made = program()
    kept = {("kept", 0), ("kept", 1)}
    before = available_copies(made, made.blocks, 1)
    assert kept <= set(before[-2].values())
    assert not kept & set(available_copies(made, made.blocks, len(made.blocks))[-2].values())
    # two ends, of which that of worlds that may have called writes x, what is kept and what is seen
    text = ir_text(made, Target(1))
    places = set(re.findall(r"(%\w+) = getelementptr inbounds double, ptr %world,", text))
    ends = text[: text.index("step.done:")].split("br label %step.done")
    stores = [re.findall(r"store double .*, ptr (%\w+),", end) for end in ends]
    assert [sum(at in places for at in own) for own in stores[:2]] == [3, 5]


def test_slots_of_standing_worlds_are_empty() -> None:
    robot = tarsus.load("starleth")
    sim = tarsus.Simulation(robot, controller="stand", contacts="all", worlds=3, dt=0.001)
    scene = sim.plan.scene
    upright = sim.q.copy()
    lying = upright.copy()
    lying[1, 2:7] = 0.3, 0, 1, 0, 0
    sim.set(q=lying)
    sim.advance(0.3)
    numbers = sim.backend.get("memory")[:, -scene.slots :]
    impulse = sim.backend.get("impulse")[:, 3 * len(scene.geometry.primary) :]
    assert (numbers[1] >= 0).any() and impulse[1].any()
    assert (numbers[[0, 2]] == -1).all() and not impulse[[0, 2]].any()
    # on its feet again, in one step: what slots held they let go
    lifted = sim.q.copy()
    lifted[1] = upright[1]
    sim.backend.set("q", lifted)
    sim.advance(0.005)
    numbers = sim.backend.get("memory")[:, -scene.slots :]
    impulse = sim.backend.get("impulse")[:, 3 * len(scene.geometry.primary) :]
    assert (numbers == -1).all() and not impulse.any()
