"""Tangent directions in the lanes of one world: the same bits as one world per direction."""

from __future__ import annotations

import casadi as ca
import numpy as np
from casadi import SX

from tarsus.program.ir.loops import Values
from tarsus.program.ir.program import Program
from tarsus.program.ir.symbolic import entries
from tarsus.program.ir.tangent import tangent_name, tangent_program
from tarsus.program.ir.trace import Builder
from tarsus.program.run.directions import Directions
from tarsus.program.run.worlds import Worlds

N = 13  # of the state: more directions than a vector has


def program() -> Program:
    """Long blocks that mix all of x, loops of which two are cold, one over parts of a register, a
    look-up, a parameter.
    """
    b = Builder("mixer")
    x, push = b.declare("x", N), b.parameter("push", 2)

    def mixed(x: SX, rounds: int) -> SX:
        for k in range(rounds):
            turned = ca.vertcat(x[1:], x[0])
            x = ca.if_else(turned > 0, ca.sin(x + turned * x[k % N]), 0.7 * x - 0.3 * turned)
        return x

    x = mixed(b.store("mixed", mixed(x, 12)), 1)
    scale = b.lookup("scales", [0.5, 0.7, 0.9], 3 * x[0] ** 2)

    def halved(now: Values) -> tuple[Values, SX]:
        y = b.store("y", mixed(now["y"], 3))
        return {"y": 0.5 * y, "n": now["n"] + 1}, now["n"] < 1 + (y[0] > 0)

    found = b.loop({"y": x * scale, "n": SX(0)}, halved, 9)
    few = b.loop(
        {"z": found["y"]}, lambda now: ({"z": ca.exp(now["z"])}, SX(0)), 1, push[1] > 0, cold=True
    )

    def in_rounds(now: Values) -> tuple[Values, SX]:
        z = entries(now["z"])
        made = b.map_items("made", z, lambda own: own * push[0] + ca.sin(own))
        total = b.fold("total", [x[0]], made, lambda t, own: [0.5 * t[0] + own])[0]
        scales = b.map_range("scales", N, lambda k: 1 / (1 + k))
        return {"z": ca.vertcat(*made) + total * ca.vertcat(*scales)}, SX(0)

    few = b.cold_loop(few, in_rounds, 1, push[1] > 0)
    return b.program(x=few["z"] + push[0] * ca.vertcat(push, SX.zeros(N - 2)), n=found["n"])


def test_tangent_directions_are_bitwise_independent_of_worlds() -> None:
    own = tangent_program(program(), ("x", "push"), ("x",))
    varying = [r.name for r in own.registers if r.name.startswith(tangent_name(""))]
    ends = {tangent_name("x"): N, tangent_name("push"): N + 2}
    for start in (0.9, -0.4):
        for push in ((0.2, -1.0), (0.2, 1.0)):
            many = Worlds(own, N + 2)
            one = Directions(own, varying, ends)
            for worlds in (many, one):
                worlds.set("x", start + 0.1 * np.arange(N))
                worlds.set("push", np.array(push))
            seeds = np.eye(N + 2)
            for name, end in ends.items():
                many.set(name, seeds[:, end - own.sizes[name] : end])
            one.run()
            many.advance()
            np.testing.assert_array_equal(one.view("x"), many.get("x")[0])
            np.testing.assert_array_equal(
                one.view(tangent_name("x")), many.get(tangent_name("x")).T
            )
            assert np.isfinite(one.view("x")).all() and one.view(tangent_name("x")).any(0).all()
            assert one.view("n")[0] == many.get("n")[0, 0] > 1


def test_runs_are_independent() -> None:
    own = tangent_program(program(), ("push",), ("x",))
    varying = [r.name for r in own.registers if r.name.startswith(tangent_name(""))]
    one = Directions(own, varying, {tangent_name("push"): 2})
    found = []
    for _ in range(2):
        one.set("x", 0.9)
        one.set("push", np.array([0.2, -1.0]))
        one.set(tangent_name("x"), 0.0)
        one.run()
        found.append(one.view(tangent_name("x")).copy())
    np.testing.assert_array_equal(*found)
    np.testing.assert_array_equal(found[0][:3, 0], [0.4, -1.0, 0])
