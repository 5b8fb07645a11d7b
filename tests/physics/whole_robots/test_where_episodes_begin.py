"""Episodes on uneven ground start without penetration of candidates or of shapes between them."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca
import numpy as np
import pytest

from tarsus import Environment, Robot
from tarsus.collision.broad_phase import secondary_gaps
from tarsus.dynamics.kinematics import kinematics
from tarsus.model.mechanism import Candidate
from tarsus.model.spans import create_spans
from tarsus.morphology.legs import find_legs
from tarsus.program.ir import reference
from tarsus.program.ir.trace import Builder
from tarsus.robots import load
from tarsus.tasks.rough import RoughVelocity

WORLDS = 512
FLOAT32 = 2e-5  # m: its rounding 10 m from the origin
TASK = RoughVelocity(levels=(4.0, 4.0))


def on_shins() -> Robot:
    """Mini Cheetah whose shanks are capsules from knee to foot."""
    robot = load("mini_cheetah")
    feet = {foot.name: foot for foot in robot.candidates}
    names = [leg.name for leg in find_legs(robot)]
    knees = [Candidate(f"{n}_knee", feet[n].body, np.zeros(3), feet[n].radius) for n in names]
    edges = tuple((knee.name, name) for knee, name in zip(knees, names, strict=True))
    return replace(robot, candidates=(*robot.candidates, *knees), edges=edges)


def least(worlds: Environment, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Smallest gaps (worlds,), m, of candidates and of the spans between them, in float64."""
    own = worlds.work.scene
    everything = tuple(range(len(own.candidates)))
    touching = [candidate.name for candidate in own.candidates]
    scene = replace(
        own, spans=create_spans(own.mechanism, touching), secondary=everything, pairs=()
    )
    b = Builder("gaps")
    kin = kinematics(scene.mechanism, b.parameter("q", scene.mechanism.nq))
    terrain = scene.terrain.at_level(scene.terrain.symbols(b), ca.SX(TASK.levels[0]))
    low = secondary_gaps(scene.geometry, kin, terrain, b)
    between = [] if low.spans is None else low.spans.gaps
    program = b.program(candidates=ca.vertcat(*low.candidates), between=ca.vertcat(*between))
    values = {f"terrain.{name}": value for name, value in scene.terrain.parameters().items()}
    found = reference.run(program, values | {"q": q})
    return found["candidates"].min(1), found["between"].min(1, initial=np.inf)


def test_shins_start_above_crests() -> None:
    """Without spans between knee and foot some worlds start below; the height of all others is
    unchanged.
    """
    robot = on_shins()
    begun = {}
    for known, own in ((True, robot), (False, replace(robot, edges=()))):
        worlds = Environment(TASK, own, terrain="tiles", worlds=WORLDS, seed=3, contacts="all")
        begun[known] = worlds.backend.get("q").astype(float)
        if known:
            seen = worlds
    candidates, between = least(seen, begun[True])
    assert candidates.min() > -FLOAT32 and between.min() > -FLOAT32
    before = least(seen, begun[False])[1]
    assert before.min() < -5e-3, "of so many some would be in the ground"
    sound = before > FLOAT32
    assert np.array_equal(begun[True][sound], begun[False][sound])
    assert (begun[True][~sound, 2] >= begun[False][~sound, 2]).all()
    assert np.array_equal(np.delete(begun[True], 2, 1), np.delete(begun[False], 2, 1))


@pytest.mark.parametrize("terrain", ["steps", "boxes"])
def test_feet_start_neither_in_a_stair_nor_far_above(terrain: str) -> None:
    """The nearest ground of a foot inside a step is beside it, not above."""
    worlds = Environment(TASK, "mini_cheetah", terrain=terrain, worlds=WORLDS, seed=3)
    candidates, _ = least(worlds, worlds.backend.get("q").astype(float))
    assert candidates.min() > -FLOAT32
    assert np.quantile(candidates, 0.98) < FLOAT32 and candidates.max() < 0.05
