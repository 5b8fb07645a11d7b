"""What a user gives a simulation while it runs, and controllers that are wrong: each mistake gets a
sentence of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca
import numpy as np
import pytest

import tarsus
from tarsus.control import ask
from tarsus.control.base import ControlInputs, Controller
from tarsus.control.gaits.stand import Stand
from tarsus.errors import InvalidValue, UnknownName, Unsupported
from tarsus.terrain.patched import Patched

NAN = float("nan")


@pytest.fixture(scope="module")
def one() -> tarsus.Simulation:
    return tarsus.Simulation("mini_cheetah")


@pytest.fixture(scope="module")
def four() -> tarsus.Simulation:
    return tarsus.Simulation("mini_cheetah", worlds=4)


@pytest.fixture(scope="module")
def trots() -> tarsus.Simulation:
    return tarsus.Simulation("mini_cheetah", controller="trot", worlds=4, pushes="base")


Q = tarsus.load("mini_cheetah").keyframes["stand"]
LONG = np.r_[Q[:3], 2.0, Q[4:]]
IN_ONE: list[tuple[Callable[[tarsus.Simulation], Any], str]] = [
    (lambda s: s.step(np.zeros(11)), r"the action must have shape \(12,\), not \(11,\)"),
    (lambda s: s.step(np.zeros((2, 12))), r"must have shape \(12,\), not \(2, 12\)"),
    (lambda s: s.step(0.0), r"must have shape \(12,\), not \(\)"),
    (lambda s: s.step(np.full(12, NAN)), "the action must be finite"),
    (lambda s: s.step(np.full(12, np.inf)), "the action must be finite"),
    (lambda s: s.step("abc"), "the action must be numbers, not 'abc'"),
    (lambda s: s.set(q=0 * Q), "'floating_base' in q must have length 1, not 0"),
    (lambda s: s.set(q=LONG), "must have length 1, not 2"),
    (lambda s: s.set(q=Q * NAN), "q must be finite"),
    (lambda s: s.set(q="abc"), "q must be numbers"),
    (lambda s: s.set(u=np.zeros((4, 18))), r"u must have shape \(18,\), not \(4, 18\)"),
    (lambda s: s.set(mu=[0.1, 0.2]), r"mu must be one number, not of shape \(2,\)"),
    (lambda s: s.advance("1 s"), "the duration must be a positive number"),
]
IN_FOUR: list[tuple[Callable[[tarsus.Simulation], Any], str]] = [
    (lambda s: s.step(np.zeros((1, 12))), r"shape \(12,\) or \(4, 12\), not \(1, 12\)"),
    (lambda s: s.step(np.zeros((4, 1))), r"shape \(12,\) or \(4, 12\), not \(4, 1\)"),
    (lambda s: s.step(np.full((4, 12), NAN)), "the action must be finite"),
    (lambda s: s.set(q=np.tile(0 * Q, (4, 1))), "must have length 1, not 0"),
    (lambda s: s.set(mu=[0.1, 0.2]), r"mu must be one number, or 4, one a world, not of shape"),
    (lambda s: s.set(mu=np.ones((2, 1))), r"one a world, not of shape \(2, 1\)"),
    (lambda s: s.set(mu=-1.0), "mu must not be negative, not -1"),
    (lambda s: s.set(e_N=[0, 0, 0, 1.5]), "e_N must lie between 0 and 1, not 1.5"),
    (lambda s: s.set(mu="rough"), "mu must be a number, not 'rough'"),
    (lambda s: s.set(mass_scale={"base": 2.0}), "mass_scale is chosen once"),
    (lambda s: s.set(where=7, mu=0.1), r"one truth value a world, not 7; world 1 alone is"),
    (lambda s: s.set(where=[4, 5, 6, 7], mu=0.1), "truth values, one a world, not numbers such"),
    (lambda s: s.reset(where=[2]), r"mask of shape \(4,\)"),
]
IN_TROT: list[tuple[Callable[[tarsus.Simulation], Any], str]] = [
    (lambda s: s.set(command={"speed": NAN}), "the command 'speed' must be finite"),
    (lambda s: s.set(command={"speed": [1.0, np.inf, 0, 0]}), "the command 'speed' must be finite"),
    (lambda s: s.set(command={"speed": [1, 2]}), "'speed' must be one number, or 4, one a world"),
    (
        lambda s: s.set(command={"speed": "fast"}),
        "the command 'speed' must be a number, not 'fast'",
    ),
    (lambda s: s.set(command={"speed": 20}), "a speed of 20 m/s is out of reach"),
    (lambda s: s.set(command={"speed": [0, 0, -9, 0]}), "a speed of 9 m/s is out of reach"),
    (lambda s: s.set(command=0.5), "command must be a dictionary"),
    (lambda s: s.set(push={"base": [NAN, 0, 0]}), "the push on 'base' must be finite"),
    (lambda s: s.set(push={"base": [1.0, 0]}), "the push on 'base' must have shape"),
    (lambda s: s.set(push={"base": "hard"}), "the push on 'base' must be numbers"),
    (lambda s: s.set(push=[1, 0, 0]), "push must be a dictionary"),
]


@pytest.mark.parametrize(("act", "message"), IN_ONE)
def test_bad_values_of_one_world(one: tarsus.Simulation, act: Callable, message: str) -> None:
    refused(one, act, message)


@pytest.mark.parametrize(("act", "message"), IN_FOUR)
def test_bad_values_of_many_worlds(four: tarsus.Simulation, act: Callable, message: str) -> None:
    refused(four, act, message)


@pytest.mark.parametrize(("act", "message"), IN_TROT)
def test_bad_commands_and_pushes(trots: tarsus.Simulation, act: Callable, message: str) -> None:
    refused(trots, act, message)


def refused(simulation: tarsus.Simulation, act: Callable, message: str) -> None:
    """With the message, and nothing is written."""
    before = simulation.backend.get("steps"), simulation.q, simulation.backend.get("law.mu")
    with pytest.raises(tarsus.TarsusError, match=message) as caught:
        act(simulation)
    assert str(caught.value).count("\n") == 0
    after = simulation.backend.get("steps"), simulation.q, simulation.backend.get("law.mu")
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))
    if "action" in simulation.backend:
        assert not simulation.backend.get("action").any()


def test_an_unknown_name_lists_what_can_be_set_here_and_no_more() -> None:
    """Each name of the list is taken; what was not made to vary, or has no register, is none."""
    made = tarsus.Simulation(
        "mini_cheetah", controller="trot", varied=["mass"], pushes="base", terrain="slope"
    )
    plain = tarsus.Simulation("mini_cheetah")
    given = {"command": {"speed": 0.3}, "push": {"base": [1.0, 0, 0]}, "mass": {"base": 4.0}}
    given |= {"terrain": tarsus.Slope(angle=0.1), "q": made.q, "u": made.u}
    for simulation, others in ((made, list(given)), (plain, ["q", "u"])):
        with pytest.raises(tarsus.TarsusError, match="known are: ") as caught:
            simulation.set(xyzzyxyzzy=1)
        known = str(caught.value).partition("known are: ")[2].rstrip(".").split(", ")
        assert set(known) == {*others, *simulation.law.parameters()}
        for name in known:
            own = simulation.law.parameters()
            simulation.set(**{name: given[name] if name in given else float(own[name])})
    with pytest.raises(tarsus.TarsusError, match=r'mean armature\? .*varied=\["armature"\]'):
        plain.set(armatur=1.0)


def test_set_writes_all_or_nothing(four: tarsus.Simulation) -> None:
    before = four.q
    with pytest.raises(tarsus.TarsusError, match="did you mean mu"):
        four.set(q=np.r_[1.0, Q[1:]], mv=0.3)
    assert np.array_equal(four.q, before)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dt": "0.001"}, "dt must be a positive number of seconds, not '0.001'"),
        ({"control_rate": 0.0}, "control_rate must be a positive number of Hz"),
        ({"control_rate": NAN}, "control_rate must be a positive number of Hz"),
        ({"stabilization": "much"}, "stabilization must lie between 0 and 1"),
        ({"limits": "no"}, "limits must be True or False, not 'no'"),
        ({"stiction": 3}, "stiction must be True or False, not 3"),
        ({"self_collision": "trunk"}, "self_collision must be True or False, not 'trunk'"),
        ({"mass_scale": 2.0}, "mass_scale must be a dictionary"),
        ({"mass_scale": {"base": [1, 2]}}, "one for each of 4 worlds; that of 'base' is"),
        ({"mass_scale": {"base": np.inf}}, "mass_scale must be positive .* at most 1e"),
        ({"mass_scale": {"base": "heavy"}}, "mass_scale must be positive"),
        (
            {"pushes": True},
            r'pushes must be names of bodies, such as \["base"\], or "all", not True',
        ),
        ({"pushes": None}, "pushes must be names of bodies"),
        ({"pushes": {"base": np.zeros(3)}}, "pushes must be names of bodies"),
        ({"pushes": np.array(["nose"])}, "no body named 'nose'"),
        ({"contacts": np.array(["FL_foot", "nose"])}, "no contact candidate named 'nose'"),
        ({"coordinates": 3}, 'coordinates must be "minimal", .* or names of joints, not 3'),
        (
            {"parameters": None},
            r'parameters must be "NAME=VALUE", .* such as \["kp=60"\], not None',
        ),
        ({"parameters": [3]}, "a parameter is set as NAME=VALUE, such as kp=60, not 3"),
        ({"keyframe": ["stand"]}, r"no keyframe named \['stand'\]"),
        ({"keyframe": np.zeros(19)}, "no keyframe named array"),
        ({"device": 3}, "no device named 3; known are: cpu, cuda"),
        ({"device": np.zeros(2)}, "no device named array"),
        ({"precision": np.zeros(2)}, "no precision named"),
        ({"worlds": True}, "worlds must be a whole number of at least 1, not True"),
        ({"slots": True}, "slots must be a whole number of at least 1, not True"),
        ({"bounce": True}, "bounce must lie between 0 and 1, not True"),
        ({"dt": True}, "dt must be a positive number of seconds, not True"),
        ({"law": tarsus.Moreau(mu=np.ones(2))}, "mu has 2 values: give one, or one for each of 4"),
        (
            {"terrain": tarsus.Slope(angle=np.ones(3) / 9)},
            "^Slope.angle has 3 values: give one, or one for each of 4 worlds",
        ),
        (
            {"terrain": tarsus.Slope(angle=np.ones(4) / 9, heading=np.ones(2))},
            r"do not go together, Slope.angle \(4,\), Slope.heading \(2,\)",
        ),
        (
            {"terrain": Patched(tarsus.Slope(angle=np.ones(3) / 9))},
            "^Slope.angle has 3 values",
        ),
        ({"law": tarsus.Moreau}, r"Moreau is a class; .* Moreau\(\)"),
        ({"law": 3}, "the law must be a name or a Law, not 3"),
        ({"terrain": 3}, "the terrain must be a name or a Terrain, not 3"),
        ({"stepper": 3}, "the stepper must be a name or a Stepper, not 3"),
        ({"robot": 3}, "the robot must be a name or a Robot, not 3"),
        ({"controller": Stand}, r"the controller must be .* such as Trot\(\)"),
        ({"controller": lambda t, q: q}, r"a function \(t, q, u\) -> torques"),
    ],
)
def test_bad_options(options: dict, message: str) -> None:
    with pytest.raises(tarsus.TarsusError, match=message):
        tarsus.Simulation(**({"robot": "mini_cheetah", "worlds": 4} | options))


def test_names_in_arrays_and_one_alone_will_do() -> None:
    names = np.array(["FL_foot", "HR_foot"])
    one = tarsus.Simulation("mini_cheetah", contacts=names, pushes=np.array(["base"]))
    assert [c.name for c in one.plan.scene.candidates] == list(names)
    assert one.plan.pushed_bodies == ("base",)
    assert tarsus.Simulation("mini_cheetah", parameters="mu=0.4").law.parameters()["mu"] == 0.4
    every = tarsus.Simulation("mini_cheetah", pushes="all")
    assert every.plan.pushed_bodies == every.robot.body_names


@pytest.mark.parametrize(
    ("torques", "message"),
    [
        (np.zeros(3), r"the controller's answer must have shape \(12,\), not \(3,\)"),
        (np.full(12, NAN), "the controller's answer must be finite"),
        (None, "the controller's answer must be numbers, not None"),
        ("none", "the controller's answer must be numbers, not 'none'"),
    ],
)
def test_a_python_controller_s_answer(torques: Any, message: str) -> None:
    simulation = tarsus.Simulation("mini_cheetah", controller=lambda t, q, u: torques)
    for act in (simulation.step, lambda: simulation.advance(0.01), lambda: simulation.run(0.01)):
        with pytest.raises(tarsus.TarsusError, match=message):
            act()


# ---------------------------------------------------------------- symbolic controllers


@dataclass(frozen=True)
class Mine(Controller):
    """Torques and memory by a function of the inputs."""

    answer: Any = None
    start: Any = ()
    where: Any = None

    def torque(self, now: ControlInputs) -> Any:
        return self.answer(self, now)

    def initial_memory(self, mechanism: Any) -> Any:
        return self.start

    def initial_coordinates(self, mechanism: Any) -> Any:
        return Q if self.where is None else self.where


def right(self: Mine, now: Any) -> Any:
    return -now.q[7:19] - now.u[6:18], now.memory


class Wanting(Mine):
    commands: ClassVar[Any] = ["speed"]


class Unready(Mine):
    commands: ClassVar[Any] = {"speed": NAN}


def wrong(change: Callable[[Mine, Any], Any]) -> Mine:
    return Mine(change)


CONTROLLERS = [
    (wrong(lambda self, now: (now.q[:11], now.memory)), InvalidValue, "Mine.torque"),
    (wrong(lambda self, now: (now.q[7:], ca.SX(3, 1))), InvalidValue, "Mine.torque"),
    (wrong(lambda self, now: now.q[7:]), InvalidValue, "Mine.torque"),
    (wrong(lambda self, now: None), InvalidValue, "Mine.torque"),
    (wrong(lambda self, now: (now.q[7:], now.memory, 0)), InvalidValue, "Mine.torque"),
    (wrong(lambda self, now: (ca.MX(12, 1), now.memory)), InvalidValue, "Mine.torque"),
    (wrong(lambda self, now: ("none", now.memory)), InvalidValue, "Mine.torque"),
    (wrong(lambda self, now: (now.qq, now.memory)), UnknownName, "qq"),
    (wrong(lambda self, now: (self.wher, now.memory)), UnknownName, "wher"),
    (wrong(lambda self, now: (now.q[7:] if now.t > 1 else 0, 0)), Unsupported, "Mine.torque"),
    (wrong(lambda self, now: (now.q[7:] * max(now.t, 1), 0)), Unsupported, "Mine.torque"),
    (wrong(lambda self, now: (now.q[19], now.memory)), InvalidValue, "Mine.torque"),
    (wrong(lambda self, now: (1 / 0, now.memory)), InvalidValue, "Mine.torque"),
    (
        wrong(lambda self, now: (now.q[7:] * math.sin(now.t), now.memory)),
        InvalidValue,
        "Mine.torque",
    ),
    (
        wrong(lambda self, now: (now.q[7:] + ca.SX.sym("q"), now.memory)),
        InvalidValue,
        "Mine.torque",
    ),
    (Mine(right, start=[NAN]), InvalidValue, "Mine.initial_memory"),
    (Mine(right, start=[[0.0]]), InvalidValue, "Mine.initial_memory"),
    (Mine(right, start="none"), InvalidValue, "Mine.initial_memory"),
    (Mine(right, where=Q[:5]), InvalidValue, "Mine.initial_coordinates"),
    (Mine(right, where=Q * NAN), InvalidValue, "Mine.initial_coordinates"),
    (Wanting(right), InvalidValue, "Wanting.commands"),
    (Unready(right), InvalidValue, "Unready.commands"),
]


@pytest.mark.parametrize(("controller", "kind", "subject"), CONTROLLERS)
def test_mistakes_of_a_controller_are_answered_clearly(
    controller: Mine, kind: type[tarsus.TarsusError], subject: str
) -> None:
    with pytest.raises(kind) as caught:
        tarsus.Simulation("mini_cheetah", controller=controller)
    assert type(caught.value) is kind and caught.value.subject == subject
    assert str(caught.value).count("\n") == 0


def test_a_controller_that_starts_without_an_attitude_is_refused() -> None:
    with pytest.raises(tarsus.TarsusError, match="must have length 1, not 0"):
        tarsus.Simulation("mini_cheetah", controller=Mine(right, where=0 * Q))


def test_an_error_of_a_controller_s_own_code_is_named() -> None:
    with pytest.raises(InvalidValue, match="ZeroDivisionError: division by zero"):
        tarsus.Simulation("mini_cheetah", controller=wrong(lambda self, now: (1 / 0, now.memory)))


def test_numpy_and_rows_will_do() -> None:
    """Torques as arrays, a list or a row are what they seem to be."""
    robot = tarsus.load("mini_cheetah")
    sizes = {"t": 1, "q": robot.nq, "u": robot.nu, "command": 0, "memory": 0, "dt": 1}
    now = ControlInputs(robot, **{name: ca.SX.sym(name, size) for name, size in sizes.items()})
    numbers = np.arange(12.0)
    for given in (numbers, numbers[:, None], list(numbers), ca.DM(numbers), ca.SX(numbers).T):
        wanted, kept = ask.torque(Mine(lambda self, now, given=given: (given, ())), now)
        assert np.array_equal(np.array(ca.DM(wanted)).ravel(), numbers) and kept.numel() == 0
    row = ask.torque(Mine(lambda self, now: (now.q[7:].T, now.memory)), now)[0]
    assert row.shape == (12, 1) and str(row) == str(now.q[7:])
