"""One interface to Tarsus and MuJoCo: torques, pushes and recording mean the same in both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from helpers.refused import refused

from tarsus.control.gaits.stand import Stand
from tarsus.engines.base import Array, Engine, NotModeled, Session, Start
from tarsus.engines.mujoco import MujocoEngine
from tarsus.engines.tarsus import SimulationSession, TarsusEngine
from tarsus.model.mechanism import Actuator
from tarsus.mujoco_runs.worlds import MujocoWorlds, physics_states, roll
from tarsus.simulation.simulation import Simulation
from tarsus.validation import bodies

DT, STEPS = 0.001, 60
KP, KD = 4.0, 0.2  # N m/rad, N m s/rad
TARGETS = np.array([[0.2], [-0.3]])  # rad


@pytest.fixture(scope="module", params=["tarsus", "mujoco"])
def engine(request: pytest.FixtureRequest) -> Engine:
    if request.param == "tarsus":
        return TarsusEngine("moreau", "midpoint")
    pytest.importorskip("mujoco")
    return MujocoEngine()


def start() -> Start:
    """A driven arm on a hinge in two worlds."""
    arm = replace(bodies.arm(), actuators=(Actuator("motor", "hinge"),))
    return Start(arm, [[0.1], [0.4]], [[0.0], [0.5]])


def servo(t: float, q: Array, u: Array) -> Array:
    return KP * (TARGETS - q) - KD * u


def test_torques_are_constant_or_computed_before_every_step(engine: Engine) -> None:
    held = engine.run(start(), DT, DT * STEPS, torques=[[1.0], [0.5]])
    asked = engine.run(start(), DT, DT * STEPS, torques=lambda t, q, u: np.array([[1.0], [0.5]]))
    limp = engine.run(start(), DT, DT * STEPS)
    assert (held.q == asked.q).all() and (held.u == asked.u).all()
    assert (np.abs(held.q[-1] - limp.q[-1]) > 1e-3).all()
    times, worlds = list[float](), list[int]()

    def noted(t: float, q: Array, u: Array) -> Array:
        times.append(t)
        worlds.append(len(q))
        return servo(t, q, u)

    engine.run(start(), DT, DT * 3, torques=noted)
    assert times == pytest.approx([0.0, DT, 2 * DT]) and worlds == [2, 2, 2]


def test_worlds_of_a_session_can_be_set_by_mask(engine: Engine) -> None:
    whole = engine.run(start(), DT, DT * STEPS, torques=servo)
    session = engine.begin(start(), DT)
    session.drive(servo)
    first = session.record(STEPS // 3)
    session.advance(STEPS // 3)
    last = session.record(STEPS // 3)
    assert (first.q == whole.q[: STEPS // 3]).all()
    assert (last.q == whole.q[-STEPS // 3 :]).all() and (last.u == whole.u[-STEPS // 3 :]).all()
    q, u = session.state()
    assert (q == whole.q[-1]).all() and (u == whole.u[-1]).all()
    assert (engine.run(start(), DT, DT * STEPS, 2 / 3 * DT * STEPS, servo).q == last.q).all()


def test_both_engines_move_a_driven_arm_alike() -> None:
    pytest.importorskip("mujoco")
    engines: tuple[Callable[[], Engine], ...] = (
        lambda: TarsusEngine("moreau", "midpoint"),
        MujocoEngine,
    )
    ours, theirs = (made().run(start(), DT / 4, DT * STEPS, torques=servo) for made in engines)
    assert np.abs(ours.q - theirs.q).max() < 1e-3
    assert np.abs(ours.q[-1] - ours.q[0]).max() > 1e-2


def test_slopes_rise_in_the_direction_of_their_heading() -> None:
    """A block without friction slides down along minus the heading."""
    block, slope, heading = bodies.box(), 0.2, 0.7
    start = Start(
        block, bodies.pose([0, 0, 2.0]), slope=slope, heading=heading, parameters={"mu": 0.0}
    )
    fallen = TarsusEngine("moreau", "midpoint").run(start, 0.0025, 1.0)
    velocity = fallen.u[-1, 0, :2]
    assert np.arctan2(*-velocity[::-1]) == pytest.approx(heading, abs=0.05)
    with refused(NotModeled, "heading"):
        MujocoEngine().run(start, 0.0025, 0.1)


def test_compiled_controllers_reject_torques() -> None:
    session: Session = SimulationSession(Simulation("mini_cheetah", controller=Stand()))
    q, u = session.state()
    assert q.shape == (1, 19) and u.shape == (1, 18)
    session.advance(3)
    assert session.state()[0][0, 2] != q[0, 2]
    with refused(NotModeled, "torques"):
        session.drive(np.zeros(12))
    standing = replace(start(), controller=None, body=bodies.arm())
    with refused(NotModeled, "torques"):
        TarsusEngine("moreau", "midpoint").run(standing, DT, DT, torques=[0.0])


def test_a_rollout_in_c_matches_single_steps() -> None:
    mujoco = pytest.importorskip("mujoco")
    text = "<mujoco><worldbody><body><joint axis='0 1 0'/><geom size='.1' pos='.3 0 0'/></body>"
    model = mujoco.MjModel.from_xml_string(f"{text}</worldbody></mujoco>")
    q, u = np.array([[0.1], [0.7]]), np.array([[0.0], [-1.0]])
    stepped, seen = MujocoWorlds([model, model], q, u), list[int]()
    stepped.advance(10)
    stepped.advance(10, before=lambda: seen.append(-1), after=lambda: seen.append(stepped.steps))
    assert seen[::2] == [-1] * 10 and seen[1::2] == list(range(11, 21))
    rolled = roll(model, mujoco.MjData(model), physics_states(model, q, u), 20)
    assert (rolled[:, -1, 1:2] == stepped.state()[0]).all()
    assert (rolled[:, -1, 2:3] == stepped.state()[1]).all()
