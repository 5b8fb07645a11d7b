"""Invalid input to a running simulation, and faulty controllers: each mistake has a clear error."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca
import numpy as np
import pytest
from helpers.refused import refused

import tarsus
from tarsus.control import checked_outputs
from tarsus.control.base import ControlInputs, Controller
from tarsus.control.gaits.stand import Stand
from tarsus.errors import IncompatibleOptions, InvalidValue, UnknownName, Unsupported
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
Case = tuple[Callable[[tarsus.Simulation], Any], type[tarsus.TarsusError], str]
IN_ONE: list[Case] = [
    (lambda s: s.step(np.zeros(11)), InvalidValue, "action"),
    (lambda s: s.step(np.zeros((2, 12))), InvalidValue, "action"),
    (lambda s: s.step(0.0), InvalidValue, "action"),
    (lambda s: s.step(np.full(12, NAN)), InvalidValue, "action"),
    (lambda s: s.step(np.full(12, np.inf)), InvalidValue, "action"),
    (lambda s: s.step("abc"), InvalidValue, "action"),
    (lambda s: s.set(q=0 * Q), InvalidValue, "q"),
    (lambda s: s.set(q=LONG), InvalidValue, "q"),
    (lambda s: s.set(q=Q * NAN), InvalidValue, "q"),
    (lambda s: s.set(q="abc"), InvalidValue, "q"),
    (lambda s: s.set(u=np.zeros((4, 18))), InvalidValue, "u"),
    (lambda s: s.set(mu=[0.1, 0.2]), InvalidValue, "mu"),
    (lambda s: s.advance("1 s"), InvalidValue, "seconds"),
]
IN_FOUR: list[Case] = [
    (lambda s: s.step(np.zeros((1, 12))), InvalidValue, "action"),
    (lambda s: s.step(np.zeros((4, 1))), InvalidValue, "action"),
    (lambda s: s.step(np.full((4, 12), NAN)), InvalidValue, "action"),
    (lambda s: s.set(q=np.tile(0 * Q, (4, 1))), InvalidValue, "q"),
    (lambda s: s.set(mu=[0.1, 0.2]), InvalidValue, "mu"),
    (lambda s: s.set(mu=np.ones((2, 1))), InvalidValue, "mu"),
    (lambda s: s.set(mu="rough"), InvalidValue, "mu"),
    (lambda s: s.set(mass_scale={"base": 2.0}), Unsupported, "mass_scale"),
    (lambda s: s.set(where=7, mu=0.1), InvalidValue, "where"),
    (lambda s: s.set(where=[4, 5, 6, 7], mu=0.1), InvalidValue, "where"),
    (lambda s: s.reset(where=[2]), InvalidValue, "where"),
]
OUT_OF_RANGE: list[tuple[Callable[[tarsus.Simulation], Any], str]] = [
    (lambda s: s.set(mu=-1.0), "mu must not be negative, not -1"),
    (lambda s: s.set(e_N=[0, 0, 0, 1.5]), "e_N must lie between 0 and 1, not 1.5"),
]
IN_TROT: list[Case] = [
    (lambda s: s.set(command={"speed": NAN}), InvalidValue, "speed"),
    (lambda s: s.set(command={"speed": [1.0, np.inf, 0, 0]}), InvalidValue, "speed"),
    (lambda s: s.set(command={"speed": [1, 2]}), InvalidValue, "speed"),
    (lambda s: s.set(command={"speed": "fast"}), InvalidValue, "speed"),
    (lambda s: s.set(command={"speed": 20}), InvalidValue, "speed"),
    (lambda s: s.set(command={"speed": [0, 0, -9, 0]}), InvalidValue, "speed"),
    (lambda s: s.set(command=0.5), InvalidValue, "command"),
    (lambda s: s.set(push={"base": [NAN, 0, 0]}), InvalidValue, "push"),
    (lambda s: s.set(push={"base": [1.0, 0]}), InvalidValue, "push"),
    (lambda s: s.set(push={"base": "hard"}), InvalidValue, "push"),
    (lambda s: s.set(push=[1, 0, 0]), InvalidValue, "push"),
    (lambda s: s.step(np.zeros(12)), IncompatibleOptions, "action"),
]


@pytest.mark.parametrize(("act", "kind", "subject"), IN_ONE)
def test_bad_values_of_one_world(
    one: tarsus.Simulation, act: Callable, kind: type[tarsus.TarsusError], subject: str
) -> None:
    with writing_nothing(one), refused(kind, subject):
        act(one)


@pytest.mark.parametrize(("act", "kind", "subject"), IN_FOUR)
def test_bad_values_of_many_worlds(
    four: tarsus.Simulation, act: Callable, kind: type[tarsus.TarsusError], subject: str
) -> None:
    with writing_nothing(four), refused(kind, subject):
        act(four)


@pytest.mark.parametrize(("act", "message"), OUT_OF_RANGE)
def test_out_of_range_values_are_rejected(
    four: tarsus.Simulation, act: Callable, message: str
) -> None:
    with writing_nothing(four), pytest.raises(tarsus.TarsusError, match=message):
        act(four)


@pytest.mark.parametrize(("act", "kind", "subject"), IN_TROT)
def test_bad_commands_and_pushes(
    trots: tarsus.Simulation, act: Callable, kind: type[tarsus.TarsusError], subject: str
) -> None:
    with writing_nothing(trots), refused(kind, subject):
        act(trots)


def test_messages_contain_shapes_and_values(
    one: tarsus.Simulation, four: tarsus.Simulation
) -> None:
    with pytest.raises(InvalidValue, match=r"^action must have shape \(12,\), not \(11,\)\.$"):
        one.step(np.zeros(11))
    with pytest.raises(InvalidValue, match=r"\(12,\) or \(4, 12\), not \(1, 12\)\.$"):
        four.step(np.zeros((1, 12)))
    with pytest.raises(InvalidValue, match=r"one number, or one for each of 4 worlds, .* \(2,\)"):
        four.set(mu=[0.1, 0.2])
    with pytest.raises(InvalidValue, match=r"'floating_base' .* length 1, not 2;"):
        one.set(q=LONG)


@contextmanager
def writing_nothing(simulation: tarsus.Simulation) -> Iterator[None]:
    """Assert that the block leaves the simulation unchanged."""
    before = simulation.backend.get("steps"), simulation.q, simulation.backend.get("law.mu")
    yield
    after = simulation.backend.get("steps"), simulation.q, simulation.backend.get("law.mu")
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))
    if "action" in simulation.backend:
        assert not simulation.backend.get("action").any()


def test_unknown_names_list_only_available_settings() -> None:
    """Each listed name is accepted; values that do not vary, or have no register, are not
    listed.
    """
    made = tarsus.Simulation(
        "mini_cheetah", controller="trot", varied=["mass"], pushes="base", terrain="slope"
    )
    plain = tarsus.Simulation("mini_cheetah")
    given = {"command": {"speed": 0.3}, "push": {"base": [1.0, 0, 0]}, "mass": {"base": 4.0}}
    given |= {"terrain": tarsus.Slope(angle=0.1), "q": made.q, "u": made.u}
    for simulation, others in ((made, list(given)), (plain, ["q", "u"])):
        with pytest.raises(tarsus.TarsusError, match="choose from: ") as caught:
            simulation.set(xyzzyxyzzy=1)
        known = str(caught.value).partition("choose from: ")[2].rstrip(".").split(", ")
        assert set(known) == {*others, *simulation.law.parameters()}
        for name in known:
            own = simulation.law.parameters()
            simulation.set(**{name: given[name] if name in given else float(own[name])})
    with refused(UnknownName, "armatur") as caught:
        plain.set(armatur=1.0)
    assert 'varied=["armature"]' in str(caught.value)


def test_set_writes_all_or_nothing(four: tarsus.Simulation) -> None:
    before = four.q
    with refused(UnknownName, "mv"):
        four.set(q=np.r_[1.0, Q[1:]], mv=0.3)
    assert np.array_equal(four.q, before)


@pytest.mark.parametrize(
    ("options", "kind", "subject"),
    [
        ({"dt": "0.001"}, InvalidValue, "dt"),
        ({"control_rate": 0.0}, InvalidValue, "control_rate"),
        ({"control_rate": NAN}, InvalidValue, "control_rate"),
        ({"stabilization": "much"}, InvalidValue, "stabilization"),
        ({"limits": "no"}, InvalidValue, "limits"),
        ({"stiction": 3}, InvalidValue, "stiction"),
        ({"self_collision": "trunk"}, InvalidValue, "self_collision"),
        ({"mass_scale": 2.0}, InvalidValue, "mass_scale"),
        ({"mass_scale": {"base": [1, 2]}}, InvalidValue, "mass_scale"),
        ({"mass_scale": {"base": np.inf}}, InvalidValue, "mass_scale"),
        ({"mass_scale": {"base": "heavy"}}, InvalidValue, "mass_scale"),
        ({"pushes": True}, InvalidValue, "pushes"),
        ({"pushes": None}, InvalidValue, "pushes"),
        ({"pushes": {"base": np.zeros(3)}}, InvalidValue, "pushes"),
        ({"pushes": np.array(["nose"])}, UnknownName, "nose"),
        ({"contacts": np.array(["FL_foot", "nose"])}, UnknownName, "nose"),
        ({"coordinates": 3}, InvalidValue, "coordinates"),
        ({"parameters": None}, InvalidValue, "parameters"),
        ({"parameters": [3]}, InvalidValue, "parameters"),
        ({"keyframe": ["stand"]}, UnknownName, ["stand"]),
        ({"keyframe": np.zeros(19)}, UnknownName, np.zeros(19)),
        ({"device": 3}, UnknownName, 3),
        ({"device": np.zeros(2)}, UnknownName, np.zeros(2)),
        ({"precision": np.zeros(2)}, UnknownName, np.zeros(2)),
        ({"worlds": True}, InvalidValue, "worlds"),
        ({"slots": True}, InvalidValue, "slots"),
        ({"bounce": True}, InvalidValue, "bounce"),
        ({"dt": True}, InvalidValue, "dt"),
        ({"law": tarsus.Moreau(mu=np.ones(2))}, InvalidValue, "mu"),
        ({"terrain": tarsus.Slope(angle=np.ones(3) / 9)}, InvalidValue, "Slope.angle"),
        (
            {"terrain": tarsus.Slope(angle=np.ones(4) / 9, heading=np.ones(2))},
            InvalidValue,
            "terrain",
        ),
        ({"terrain": Patched(tarsus.Slope(angle=np.ones(3) / 9))}, InvalidValue, "Slope.angle"),
        ({"law": tarsus.Moreau}, InvalidValue, "law"),
        ({"law": 3}, InvalidValue, "law"),
        ({"terrain": 3}, InvalidValue, "terrain"),
        ({"stepper": 3}, InvalidValue, "stepper"),
        ({"robot": 3}, InvalidValue, "robot"),
        ({"controller": Stand}, InvalidValue, "controller"),
        ({"controller": lambda t, q: q}, InvalidValue, "controller"),
    ],
)
def test_bad_options(options: dict, kind: type[tarsus.TarsusError], subject: object) -> None:
    with refused(kind, subject):
        tarsus.Simulation(**({"robot": "mini_cheetah", "worlds": 4} | options))


def test_names_may_be_arrays_or_single_strings() -> None:
    names = np.array(["FL_foot", "HR_foot"])
    one = tarsus.Simulation("mini_cheetah", contacts=names, pushes=np.array(["base"]))
    assert [c.name for c in one.plan.scene.candidates] == list(names)
    assert one.plan.pushed_bodies == ("base",)
    assert tarsus.Simulation("mini_cheetah", parameters="mu=0.4").law.parameters()["mu"] == 0.4
    every = tarsus.Simulation("mini_cheetah", pushes="all")
    assert every.plan.pushed_bodies == every.robot.body_names


@pytest.mark.parametrize(
    "torques", [np.zeros(3), np.full(12, NAN), None, "none"], ids=["shape", "nan", "none", "text"]
)
def test_invalid_python_controller_outputs_are_rejected(torques: Any) -> None:
    simulation = tarsus.Simulation("mini_cheetah", controller=lambda t, q, u: torques)
    for act in (simulation.step, lambda: simulation.advance(0.01), lambda: simulation.run(0.01)):
        with refused(InvalidValue, "controller"):
            act()


# ---------------------------------------------------------------- symbolic controllers


@dataclass(frozen=True)
class Mine(Controller):
    """Torques and memory by a function of the inputs."""

    answer: Any = None
    start: Any = ()
    where: Any = None

    def torque(self, inputs: ControlInputs) -> Any:
        return self.answer(self, inputs)

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
def test_controller_mistakes_are_reported_clearly(
    controller: Mine, kind: type[tarsus.TarsusError], subject: str
) -> None:
    with pytest.raises(kind) as caught:
        tarsus.Simulation("mini_cheetah", controller=controller)
    assert type(caught.value) is kind and caught.value.subject == subject
    assert str(caught.value).count("\n") == 0


def test_controllers_without_a_valid_attitude_are_rejected() -> None:
    with pytest.raises(tarsus.TarsusError, match="must have length 1, not 0"):
        tarsus.Simulation("mini_cheetah", controller=Mine(right, where=0 * Q))


def test_errors_in_controller_code_are_attributed() -> None:
    with pytest.raises(InvalidValue, match="ZeroDivisionError: division by zero"):
        tarsus.Simulation("mini_cheetah", controller=wrong(lambda self, now: (1 / 0, now.memory)))


def test_numpy_arrays_and_rows_are_accepted() -> None:
    """Torques as arrays, a list or a row are what they seem to be."""
    robot = tarsus.load("mini_cheetah")
    sizes = {"t": 1, "q": robot.nq, "u": robot.nu, "command": 0, "memory": 0, "dt": 1}
    now = ControlInputs(robot, **{name: ca.SX.sym(name, size) for name, size in sizes.items()})
    numbers = np.arange(12.0)
    for given in (numbers, numbers[:, None], list(numbers), ca.DM(numbers), ca.SX(numbers).T):
        wanted, kept = checked_outputs.call_torque(
            Mine(lambda self, now, given=given: (given, ())), now
        )
        assert np.array_equal(np.array(ca.DM(wanted)).ravel(), numbers) and kept.numel() == 0
    row = checked_outputs.call_torque(Mine(lambda self, now: (now.q[7:].T, now.memory)), now)[0]
    assert row.shape == (12, 1) and str(row) == str(now.q[7:])
