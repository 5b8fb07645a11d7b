"""A flat face rests on a narrower level top: a stone, a post, a beam, a crate."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from helpers.free_body import free_body

from tarsus import Simulation, registry
from tarsus.collision.closest_point.face_edges import edge_contacts
from tarsus.collision.closest_point.face_ground import Face
from tarsus.contact.base import ForceLaw, Law
from tarsus.contact.laws.compliant import Compliant
from tarsus.contact.laws.moreau import Moreau
from tarsus.terrain.boxes import Boxes
from tarsus.terrain.steps import Steps

LAWS, G = "tarsus.contact.laws", 9.81
QUICK = ("moreau", "compliant", "soft_convex")  # laws whose case runs every time
SLOP = 5e-4  # m, depth to which hard laws let bodies sink
SOLE = "type='box' size='.12 .05 .02'"
DISC = "type='cylinder' size='.12 .02'"
PLANK = "type='box' size='.12 .02 .02'"  # too narrow for the search of smooth peaks
TOP = 0.1  # m, height of the stones


def stone(half_x: float, half_y: float, yaw: float = 0.0) -> Boxes:
    return Boxes(position=[(0, 0, TOP / 2)], half_sizes=(half_x, half_y, TOP / 2), yaw=yaw)


def placed(x: float = 0.0, y: float = 0.0, z: float = TOP + 0.02, yaw: float = 0.0) -> list[float]:
    return [x, y, z, np.cos(yaw / 2), 0, 0, np.sin(yaw / 2)]


@pytest.mark.diagonal
@pytest.mark.parametrize(
    ("geom", "half_sizes"),
    [
        pytest.param(SOLE, (0.05, 0.03), id="sole"),
        pytest.param(DISC, (0.05, 0.03), id="disc"),
        pytest.param(PLANK, (0.03, 0.012), id="plank"),
        pytest.param(SOLE, (0.05, 0.3), id="sole on a beam"),
        pytest.param(SOLE, (0.3, 0.03), id="sole along a beam"),
        pytest.param(DISC, (0.05, 0.3), id="disc on a beam"),
    ],
)
@pytest.mark.parametrize("yaw", [0.0, 0.4])
def test_a_face_rests_on_a_narrower_top(
    geom: str, half_sizes: tuple[float, float], yaw: float
) -> None:
    """It stays level and at rest; contact forces balance its weight and moment."""
    terrain = stone(*half_sizes, yaw=yaw / 2)
    simulation = Simulation(free_body(geom, 0.2), Moreau(), terrain=terrain)
    simulation.set(q=placed(x=0.01, z=TOP + 0.03, yaw=yaw), u=np.zeros(6))
    log = simulation.run(0.6)
    q, force = log.q.values[-1], log.force_contact.values[-1, :, 0]
    assert q[2] == pytest.approx(TOP + 0.02, abs=SLOP)
    np.testing.assert_allclose(q[4:6], 0, atol=1e-9)
    assert np.abs(log.u.values[-20:]).max() < 1e-4
    assert force.sum() == pytest.approx(simulation.robot.mass * G, rel=1e-4)
    pressure = force @ log.contact_point.values[-1, :, :2] / force.sum()
    np.testing.assert_allclose(pressure, q[:2], atol=1e-4)
    assert (log.converged == 1).all()


@pytest.mark.parametrize(
    "name",
    [
        name if name in QUICK else pytest.param(name, marks=pytest.mark.slow)
        for name in registry.names(LAWS)
    ],
)
def test_every_law_supports_a_sole_on_a_stone(name: str) -> None:
    gives_way = issubclass(registry.member_class(LAWS, "law", name, Law), ForceLaw)
    dt = 2e-4 if gives_way else 2.5e-3
    robot = free_body(SOLE, 0.2)
    simulation = Simulation(robot, name, terrain=stone(0.05, 0.03, yaw=0.4), dt=dt)
    simulation.set(q=placed(x=0.01), u=np.zeros(6))
    log = simulation.run(0.5)
    assert log.q.values[:, 2].min() > TOP + 0.02 - 1.5e-3
    assert np.abs(log.u.values[-20:]).max() < 1e-3
    assert (log.converged == 1).all()


def test_four_corners_of_a_stone_share_the_load_of_springs() -> None:
    """A face sags by m g / (4 c_N) on the four corners of the top."""
    law, robot = Compliant(), free_body(SOLE, 0.2)
    simulation = Simulation(robot, law, terrain=stone(0.05, 0.03), dt=5e-4)
    simulation.set(q=placed(), u=np.zeros(6))
    simulation.advance(1.0)
    sag = robot.mass * G / (4 * law.c_N)
    assert simulation.q[..., 2].item() == pytest.approx(TOP + 0.02 - sag, abs=1e-6)


@pytest.mark.parametrize("e_N", [0.0, 0.5])
def test_a_face_bounces_off_a_stone(e_N: float) -> None:
    """It leaves with e_N times the speed of its impact, without spin."""
    simulation = Simulation(
        free_body(SOLE, 0.2), Moreau(e_N=e_N), terrain=stone(0.05, 0.03, 0.3), dt=1e-3
    )
    simulation.set(q=placed(z=TOP + 0.12, yaw=1.0), u=np.zeros(6))
    u = simulation.run(0.2).u.values
    (struck,) = np.nonzero(np.diff(u[:, 2]) > 0.1)
    before, after = u[struck[0], 2], u[struck[0] + 1, 2]
    assert before == pytest.approx(-np.sqrt(2 * G * 0.1), abs=0.02)
    assert after == pytest.approx(-e_N * before, abs=2 * G * 1e-3)
    np.testing.assert_allclose(u[struck[0] + 1, 3:], 0, atol=1e-6)


def test_a_fast_face_does_not_pass_through() -> None:
    """At 4.4 m/s it moves 11 mm per step, more than the rounding of the edges."""
    simulation = Simulation(free_body(SOLE, 0.2), Moreau(), terrain=stone(0.05, 0.03))
    simulation.set(q=placed(z=TOP + 1.02), u=np.zeros(6))
    log = simulation.run(1.0)
    assert log.q.values[-1, 2] > TOP + 0.02 - 0.012
    assert np.abs(log.u.values[-20:]).max() < 0.05
    energy = (log.kinetic_energy + log.potential_energy).values
    assert energy.max() <= energy[0] * (1 + 1e-9)


@pytest.mark.parametrize(("offset", "stays"), [(0.043, True), (0.047, False)])
def test_a_sole_tips_when_its_middle_is_beyond_the_stone(offset: float, stays: bool) -> None:
    """The level part of the top ends at 0.045 m, where its rounding of 5 mm begins."""
    simulation = Simulation(free_body(SOLE, 0.2), Moreau(mu=1.0), terrain=stone(0.05, 0.03))
    simulation.set(q=placed(x=offset), u=np.zeros(6))
    simulation.advance(2.0)
    assert (simulation.q[..., 2].item() > TOP + 0.018) is stays


@pytest.mark.slow
def test_a_table_stands_on_four_posts() -> None:
    places = [(x, y, TOP / 2) for x in (-0.08, 0.08) for y in (-0.03, 0.03)]
    terrain = Boxes(position=places, half_sizes=(0.01, 0.01, TOP / 2))
    simulation = Simulation(free_body(SOLE, 0.2), Moreau(), terrain=terrain)
    simulation.set(q=placed(x=0.02, y=0.01, z=TOP + 0.05), u=np.zeros(6))
    log = simulation.run(0.6)
    assert log.q.values[-1, 2] == pytest.approx(TOP + 0.02, abs=SLOP)
    assert np.abs(log.u.values[-20:]).max() < 1e-4
    assert not log.attrs.get("overflow_steps", 0)


@pytest.mark.parametrize("rise", [0.1, -0.1])
def test_a_sole_rests_beyond_the_nose_of_a_step(rise: float) -> None:
    """It stands with its middle 1 cm behind the nose, and half of it in the air."""
    nose, climb = 0.5, np.sign(rise)
    simulation = Simulation(free_body(SOLE, 0.2), Moreau(), terrain=Steps(rise=rise, count=1))
    simulation.set(q=placed(x=nose + 0.01 * climb, z=max(rise, 0) + 0.03, yaw=0.3), u=np.zeros(6))
    log = simulation.run(0.5)
    assert log.q.values[-1, 2] == pytest.approx(max(rise, 0) + 0.02, abs=SLOP)
    np.testing.assert_allclose(log.q.values[-1, 4:6], 0, atol=1e-9)
    assert np.abs(log.u.values[-20:]).max() < 1e-4


def test_a_crate_rests_on_a_smaller_box_of_a_file(tmp_path: Path) -> None:
    scene = tmp_path / "scene.xml"
    scene.write_text(
        "<mujoco><worldbody><geom type='plane' size='5 5 .1'/>"
        "<geom type='box' size='.15 .15 .1' pos='0 0 .1'/>"
        "<body pos='0 0 .4'><freejoint/><geom type='box' size='.2 .2 .2' mass='1'/></body>"
        "</worldbody></mujoco>"
    )
    log = Simulation(str(scene), terrain=str(scene)).run(1.0)
    np.testing.assert_allclose(log.q.values[:, 2], 0.4, atol=SLOP)
    np.testing.assert_allclose(log.u.values[-20:], 0, atol=1e-9)


def codes(simulation: Simulation) -> list[str]:
    return [warning.code for warning in simulation.warnings]


def test_faces_on_narrow_tops_are_reported(tmp_path: Path) -> None:
    """For steppers without contacts of faces, and for file shapes that are simulated as heights."""
    sole, terrain = free_body(SOLE, 0.2), stone(0.05, 0.03)
    assert "faces-not-checked" not in codes(Simulation(sole, terrain=terrain))
    assert "faces-not-checked" in codes(
        Simulation(sole, "compliant", terrain=terrain, stepper="heun")
    )
    ball = free_body("type='sphere' size='.05'", 0.2)
    assert "faces-not-checked" not in codes(
        Simulation(ball, "compliant", terrain=terrain, stepper="heun")
    )
    boxes = "".join(
        f"<geom type='box' size='.05 .05 .05' pos='{0.2 * k} 0 .05'/>" for k in range(13)
    )
    scene = tmp_path / "stones.xml"
    scene.write_text(
        f"<mujoco><worldbody><geom type='plane' size='5 5 .1'/>{boxes}</worldbody></mujoco>"
    )
    assert "faces-not-checked" in codes(Simulation(sole, terrain=str(scene)))
    assert "faces-not-checked" not in codes(Simulation(ball, terrain=str(scene)))


def clipped(polygon: np.ndarray, sizes: Sequence[float]) -> list[np.ndarray]:
    """Clip a convex polygon by a rectangle of half sizes (Sutherland and Hodgman 1974)."""
    points = list(polygon)
    for k in range(2):
        for side in (-1, 1):
            inside = [side * p[k] <= sizes[k] for p in points]
            after = []
            for j, p in enumerate(points):
                last, was = points[j - 1], inside[j - 1]
                if inside[j] != was:
                    t = (side * sizes[k] - last[k]) / (p[k] - last[k])
                    after.append(last + t * (p - last))
                if inside[j]:
                    after.append(p)
            points = after
    return points


def test_contacts_of_a_level_face_are_the_corners_of_the_shared_area() -> None:
    """Except the corners of the face itself, which are contacts anyway."""
    rng, sizes, height, rounding = np.random.default_rng(0), (0.12, 0.05), 0.003, 0.005
    counts = set()
    for _ in range(200):
        half, angle = rng.uniform(0.01, 0.1, 2), rng.uniform(0, np.pi)
        center = rng.uniform(-0.12, 0.12, 2)
        turned = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        square = np.array([(1, 1), (-1, 1), (-1, -1), (1, -1)])
        corners = center + (square * half) @ turned.T
        face = Face(
            ca.DM([0, 0, height]), ca.DM([sizes[0], 0, 0]), ca.DM([0, -sizes[1], 0]), ca.SX(0)
        )
        own = []
        for a, b in zip(corners, np.roll(corners, -1, axis=0), strict=True):
            edge = ca.DM([*a, -rounding]), ca.DM([*(b - a), 0])
            for contact in edge_contacts(face, 0.02, edge, rounding):
                if float(ca.DM(contact.exists)):
                    assert float(ca.DM(contact.gap)) == pytest.approx(height, abs=1e-12)
                    place = np.array(ca.DM(contact.position)).ravel()
                    own.append(place * [1, -1])  # its width points to the other side
        expected = [
            p for p in clipped(corners, sizes) if not np.allclose(np.abs(p), sizes, atol=1e-9)
        ]
        counts.add(len(expected))
        assert len(own) == len(expected)
        for p in expected:
            assert min(np.linalg.norm(p - other) for other in own) < 1e-9
    assert {0, 4} <= counts and max(counts) > 4
