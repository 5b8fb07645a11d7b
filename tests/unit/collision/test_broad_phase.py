"""The broad phase skips bodies far from uneven ground, and finds all near candidates."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
import pytest

from tarsus import Simulation, load
from tarsus.collision import broad_phase
from tarsus.collision.contact_point import OPEN_GAP
from tarsus.dynamics.kinematics import kinematics
from tarsus.dynamics.robot import Robot
from tarsus.model.mjcf import read_mjcf
from tarsus.program.ir.trace import Builder
from tarsus.program.run.worlds import Worlds
from tarsus.stepping.base import Scene

LIMBS = """<mujoco><worldbody><body name="trunk" pos="0 0 .5"><freejoint/>
<geom type="box" size=".2 .1 .05"/><geom type="cylinder" size=".06 .05" pos="0 0 .1"/>
<body name="leg" pos=".2 0 0"><joint axis="0 1 0"/>
<geom type="capsule" size=".02" fromto="0 0 0 0 0 -.2"/>
<geom type="cylinder" size=".04 .02" pos="0 0 -.2" euler="90 0 0"/>
<geom type="box" size=".02 .02 .05" pos="0 .05 -.1"/></body>
<body name="arm" pos="-.2 0 0"><joint axis="0 1 0"/>
<geom type="cylinder" size=".03 .1" pos="0 0 .1"/></body></body></worldbody></mujoco>"""
WORLDS = 64


def lowest(scene: Scene, q: np.ndarray) -> dict[str, np.ndarray]:
    """Gaps of the rare candidates and the lowest spans, of many states (worlds, nq)."""
    builder = Builder("gaps")
    symbols = builder.declare("q", q.shape[1])
    kin = kinematics(scene.mechanism, symbols)
    low = broad_phase.secondary_gaps(scene.geometry, kin, scene.terrain.symbols(builder), builder)
    told = {"candidates": ca.vertcat(*low.candidates), "least": low.min_gap}
    if low.spans is not None:
        told |= {"spans": ca.vertcat(*low.spans.gaps), "touching": low.spans.touching}
    worlds = Worlds(builder.program(q=symbols, **told), len(q))
    worlds.set("q", q)
    for name, value in scene.terrain.parameters().items():
        worlds.set(f"terrain.{name}", value)
    worlds.advance()
    return {name: worlds.output(name) for name in told}


@pytest.mark.parametrize("terrain", ["rough", "steps", "sine"])
@pytest.mark.parametrize("which", ["starleth", "limbs"])
def test_the_broad_phase_finds_all_near_candidates(
    which: str, terrain: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    robot = load(which) if which == "starleth" else Robot.of(read_mjcf(LIMBS))
    scene = Simulation(robot, terrain=terrain, contacts="all").plan.scene
    assert broad_phase.group_candidates(scene.geometry, ()), "some body has more than a few"
    rng = np.random.default_rng(5)
    q = rng.uniform(-1.5, 1.5, (WORLDS, robot.nq))
    q[:, 2] = rng.uniform(-0.2, 0.8, WORLDS)
    q[:, 3:7] = rng.normal(size=(WORLDS, 4))
    q[:, 3:7] /= np.linalg.norm(q[:, 3:7], axis=1)[:, None]
    found = lowest(scene, q)
    monkeypatch.setattr(broad_phase, "MIN_GROUP", 10**6)
    exact = lowest(scene, q)
    # what is said to be far is clear of the ground; all else is the same
    far = found["candidates"] == OPEN_GAP
    assert 0.05 < far.mean() < 0.95 and (exact["candidates"][far] > 0).all()
    np.testing.assert_allclose(found["candidates"][~far], exact["candidates"][~far], atol=1e-12)
    touching = exact["least"] <= 0
    assert 0.1 < touching.mean() < 1
    np.testing.assert_allclose(found["least"][touching], exact["least"][touching], atol=1e-12)
    assert (found["least"][~touching] > 0).all()
    if which == "limbs":
        assert exact["touching"].max() > 0
        np.testing.assert_array_equal(found["touching"], exact["touching"])
        closed = exact["spans"] <= 0
        np.testing.assert_allclose(found["spans"][closed], exact["spans"][closed], atol=1e-9)


def test_bodies_attached_to_a_foot_are_tested_separately() -> None:
    """Their edges may touch where the bounding ball does not."""
    robot = Robot.of(read_mjcf(LIMBS))
    scene: Any = Simulation(robot, terrain="sine", contacts="all").plan.scene
    usual = {scene.candidates[i].name for i in scene.geometry.primary}
    grouped = {
        c.name for own in broad_phase.group_candidates(scene.geometry, ()) for c in own.candidates
    }
    for span in scene.spans:
        names = {*span.ends, *filter(None, span.opposite_ends)}
        assert names <= grouped or not names & grouped
        assert not (names & usual and names & grouped)
    assert grouped
