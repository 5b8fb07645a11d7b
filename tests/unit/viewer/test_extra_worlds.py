"""Many worlds on a page: each is the simulation that it would be alone, on its own ground."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from helpers.refused import refused
from scipy.spatial.transform import Rotation

import tarsus
from tarsus.cli import main
from tarsus.contact.laws.moreau import Moreau
from tarsus.dynamics.poses import poses
from tarsus.errors import InvalidValue, UnknownName
from tarsus.viewer.access import Address
from tarsus.viewer.body_poses import BodyPoses
from tarsus.viewer.extra_worlds import variations
from tarsus.viewer.live import Live
from tarsus.viewer.live_panel import Choice
from tarsus.viewer.page import Page
from tarsus.viewer.shapes import drawn_shapes
from tarsus.viewer.simplify import MAX_FACES, hull, simplify_shapes
from tarsus.viewer.solids import Mesh

WORLDS, SIDEWAYS = 4, (0.0, 60.0, 0.0)  # N, 0.7 of the robot's weight


def made(choice: Choice) -> tarsus.Simulation:
    return tarsus.Simulation(
        "mini_cheetah",
        choice.law,
        controller=choice.gait,
        dt=choice.dt,
        pushes=["base"],
        worlds=choice.worlds,
    )


@pytest.fixture(scope="module")
def live() -> Iterator[Live]:
    page = Page("test", Address(0))
    yield Live(page, made, Choice("moreau", "stand", 0.0025, WORLDS), {"mu": (0.2, 0.8)})
    page.stop()


@pytest.mark.slow  # compiles for many worlds
def test_each_world_matches_a_single_world(live: Live) -> None:
    """Friction goes from the first value to the last; all are pushed; not a bit differs."""
    assert live.extra_worlds is not None
    live.reset()
    live.set(push={"base": SIDEWAYS})
    live.advance(40)
    alone = made(Choice("moreau", "stand", 0.0025))
    for world, mu in enumerate(np.linspace(0.2, 0.8, WORLDS)[1:]):
        alone.reset()
        alone.set(mu=mu, push={"base": (0.0, 0.0, 0.0)})
        alone.advance(0.0025)
        alone.set(push={"base": SIDEWAYS})
        alone.advance(0.1)
        np.testing.assert_array_equal(live.extra_worlds.simulation.q[world], alone.q)
    live.set(mu=0.5)  # on the page: that of world 0 alone, for the others differ in it
    assert live.simulation.backend.get("law.mu")[0, 0] == 0.5
    np.testing.assert_allclose(
        live.extra_worlds.simulation.backend.get("law.mu")[:, 0], [0.4, 0.6, 0.8]
    )
    live.set(push={"base": (0.0, 0.0, 0.0)})


@pytest.mark.slow  # compiles for many worlds
def test_fallen_robots_are_counted_and_reset(live: Live) -> None:
    assert live.extra_worlds is not None
    live.reset()
    assert not live.extra_worlds.fallen().any() and "4 worlds, 0 fallen" in live._status()
    q = live.extra_worlds.simulation.q
    q[1, 3:7] = [0.0, 1.0, 0.0, 0.0]  # on its back
    live.extra_worlds.simulation.set(q=q)
    assert live.extra_worlds.fallen().tolist() == [False, True, False]
    live.extra_worlds.reset_fallen()
    assert not live.extra_worlds.fallen().any()


def test_compiled_body_poses_match_kinematics() -> None:
    robot, random = tarsus.load("mini_cheetah"), np.random.default_rng(3)
    q = np.tile(robot.neutral(), (9, 1)) + random.normal(size=(9, robot.nq))
    q[:, 3:7] /= np.linalg.norm(q[:, 3:7], axis=1, keepdims=True)
    # half turns, about an axis and between two of them: w is zero, and which sign is which
    q[:4, 3:7] = [[0, 1, 0, 0], [0, 0.6, 0.8, 0], [0, 0, -0.6, 0.8], [0, -0.48, 0.6, -0.64]]
    positions, rotations = poses(robot, q)
    places, turns = BodyPoses(robot, 9).at(q)
    np.testing.assert_allclose(places, positions, atol=1e-12)
    flat = Rotation.from_quat(turns.reshape(-1, 4), scalar_first=True).as_matrix()
    np.testing.assert_allclose(flat.reshape(rotations.shape), rotations, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(turns, axis=-1), 1.0, atol=1e-12)


def test_a_thousand_robots_are_drawn_by_few_triangles() -> None:
    """With nearly the true size: hulls reach almost as far as the shapes in every direction."""
    shapes = drawn_shapes(tarsus.load("mini_cheetah"))
    assert simplify_shapes(shapes, 50) is shapes
    few = simplify_shapes(shapes, 1000)
    assert sum(len(shape.mesh.faces) for shape in few) * 1000 <= MAX_FACES
    ways = np.random.default_rng(0).normal(size=(200, 3))
    ways /= np.linalg.norm(ways, axis=1, keepdims=True)
    for fine, coarse in zip(shapes, few, strict=True):
        reach, found = ((s.mesh.vertices @ ways.T).max(axis=0) for s in (fine, coarse))
        size = np.ptp(fine.mesh.vertices, axis=0).max()
        assert (found <= reach + 1e-12).all() and (found > reach - 0.06 * size).all()
        assert coarse.body == fine.body and coarse.color == fine.color
    flat = Mesh(np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]]), np.array([[0, 1, 2]]))
    assert hull(flat, 24) is flat


def test_varied_parameters_have_their_law_names() -> None:
    law = Moreau()
    assert variations(("friction=0.1:0.9", "e_N=0:0.5"), law) == {"mu": (0.1, 0.9), "e_N": (0, 0.5)}
    with refused(UnknownName, "stiffness"):
        variations(("stiffness=1:2",), law)
    with refused(InvalidValue, "--vary"):
        variations(("mu=0.1",), law)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--vary", "friction=0.1:0.9"], "--vary"),
        (["--worlds", "0"], "--worlds"),
        (["--worlds", "9", "--vary", "frictoin=0:1"], "frictoin"),
    ],
)
def test_options_that_a_page_of_many_worlds_rejects(
    options: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["view", "mini_cheetah", *options]) == 2
    assert said in capsys.readouterr().err
