"""A sole of many corners stands on four of them, as stably as on all."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from numpy.typing import NDArray

from tarsus import Simulation
from tarsus.contact.base import Law
from tarsus.contact.laws.lcp_impulse import LcpImpulse
from tarsus.contact.laws.macro import Macro
from tarsus.contact.laws.moreau import Moreau
from tarsus.dynamics.robot import Robot
from tarsus.model.mjcf import read_mjcf
from tarsus.morphology.feet import find_feet
from tarsus.terrain.surface import Surface

Array = NDArray[np.float64]
CORNERS, RADIUS, PHASE = 8, 0.1, 0.2  # of the sole: number, m, rad
HEIGHT, MASS = 0.1, 2.0  # center of mass above the sole, m, and kg
WEIGHT = MASS * 9.81
DT = 2.5e-3


def sole() -> Robot:
    """Create a free prism whose sole is a regular polygon in the plane z = 0 of its frame."""
    angles = 2 * np.pi * np.arange(CORNERS) / CORNERS + PHASE
    ring = RADIUS * np.c_[np.cos(angles), np.sin(angles)]
    vertices = np.concatenate([np.c_[ring, np.full(CORNERS, z)] for z in (0.0, 0.05)])
    numbers = " ".join(f"{x:.9g}" for x in vertices.ravel())
    return Robot.of(
        read_mjcf(
            f"<mujoco><asset><mesh name='sole' vertex='{numbers}'/></asset><worldbody>"
            f"<body name='foot'><freejoint/><geom type='mesh' mesh='sole'/>"
            f"<inertial pos='0 0 {HEIGHT}' mass='{MASS}' diaginertia='.02 .02 .02'/></body>"
            "</worldbody></mujoco>"
        )
    )


FOOT = sole()


def load_slowly(simulation: Simulation, wrench: Array, steps: int = 40) -> None:
    """Let it stand, and raise forces and moments (worlds, 6) on the frame to their values."""
    simulation.advance(0.1)
    for share in np.linspace(0.0, 1.0, steps):
        simulation.set(push={"foot": share * wrench})
        simulation.step()


def horizontal(force: Array, direction: Array) -> Array:
    """Return wrenches (n, 6) at the frame of forces (n,) on the center of mass."""
    at_center = np.c_[force * np.cos(direction), force * np.sin(direction), 0 * force]
    return np.c_[at_center, np.cross([0.0, 0.0, HEIGHT], at_center)]


def to_edge(direction: Array) -> Array:
    """Compute the distance from the center of the sole to its edge, m."""
    edges = 2 * np.pi * (np.arange(CORNERS) + 0.5) / CORNERS + PHASE
    apothem = RADIUS * np.cos(np.pi / CORNERS)
    return apothem / np.cos(direction[:, None] - edges).max(1)


def test_all_corners_are_candidates_and_four_are_solved() -> None:
    assert len(find_feet(FOOT)) == CORNERS
    simulation = Simulation(FOOT)
    simulation.advance(0.1)
    pressing = simulation.contact_force[:, 0] > 0
    assert pressing.sum() == 4
    # every other corner: the largest quadrilateral
    at = {candidate.name: candidate.position for candidate in FOOT.candidates}
    names = simulation.plan.scene.geometry.contact_names
    corners = np.array([at[name] for name, on in zip(names, pressing, strict=True) if on])
    assert np.linalg.norm(corners.sum(0)) < 1e-6


@pytest.mark.parametrize("law", [Moreau(mu=5.0), LcpImpulse(mu=5.0), Macro(mu=5.0)], ids=type)
def test_it_tips_at_the_edge_of_its_whole_sole(law: Law) -> None:
    """Four corners alone would tip up to 29 % earlier."""
    directions = np.repeat(np.linspace(0.0, 2 * np.pi, 24, endpoint=False), 2)
    share = np.tile([0.99, 1.01], 24)
    wrench = horizontal(share * WEIGHT * to_edge(directions) / HEIGHT, directions)
    simulation = Simulation(FOOT, law, pushes="all", worlds=48, dt=DT)
    load_slowly(simulation, wrench)
    simulation.advance(0.25)
    tilt = 2 * np.linalg.norm(simulation.q[:, 4:6], axis=1)
    assert tilt[share < 1].max() < 1e-4
    assert tilt[share > 1].min() > 5e-3


@pytest.mark.parametrize("law", [Moreau(mu=0.5), LcpImpulse(mu=0.5)], ids=type)
def test_it_turns_at_the_friction_moment_of_all_corners(law: Law) -> None:
    share = np.array([-1.01, -0.99, 0.99, 1.01])
    wrench = np.zeros((4, 6))
    wrench[:, 5] = share * 0.5 * WEIGHT * RADIUS
    simulation = Simulation(FOOT, law, pushes="all", worlds=4, dt=DT)
    load_slowly(simulation, wrench)
    simulation.advance(0.25)
    turned = 2 * np.abs(simulation.q[:, 6])
    assert turned[1:3].max() < 1e-6
    assert turned[[0, 3]].min() > 1e-3


def test_a_resting_foot_keeps_its_contacts() -> None:
    directions = np.linspace(0.0, 2 * np.pi, 16, endpoint=False)
    share = np.tile([0.0, 0.5, 0.9, 0.98], 4)
    wrench = horizontal(share * WEIGHT * to_edge(directions) / HEIGHT, directions)
    simulation = Simulation(FOOT, Moreau(mu=5.0), pushes="all", worlds=16, dt=DT)
    load_slowly(simulation, wrench)
    simulation.advance(0.75)
    first = simulation.contact_force[:, :, 0] > 0
    for _ in range(400):
        simulation.step()
        assert np.array_equal(simulation.contact_force[:, :, 0] > 0, first)
    assert first.sum(axis=1).max() <= 4


def test_a_dropped_foot_loses_energy_and_comes_to_rest_on_the_ground() -> None:
    random, worlds = np.random.default_rng(3), 32
    simulation = Simulation(FOOT, Moreau(mu=0.6), worlds=worlds, dt=DT)
    q = np.tile(simulation.q[:1], (worlds, 1))
    turn = random.standard_normal((worlds, 4))
    turn[:16] = [1.0, 0.0, 0.0, 0.0] + 0.2 * turn[:16]  # half of them almost upright
    q[:, 3:7] = turn / np.linalg.norm(turn, axis=1, keepdims=True)
    q[:, 2] = 0.3
    u = np.c_[np.zeros((worlds, 3)), 2.0 * random.standard_normal((worlds, 3))]
    simulation.set(q=q, u=u)
    points = np.array([candidate.position for candidate in FOOT.candidates])
    energy = []
    for _ in range(1200):
        simulation.step()
        q, u = simulation.q, simulation.u
        M = FOOT.mass_matrix(q)
        height = FOOT.position(q, "foot")[:, 2] + HEIGHT * up(q)[:, 2]
        energy.append(0.5 * np.einsum("ni,nij,nj->n", u, M, u) + WEIGHT * height)
        assert simulation.converged.all()
    assert np.diff(energy, axis=0).max() < 2e-3
    simulation.advance(7.0)
    assert -lowest(simulation.q, points).min() < 6e-4  # the slop
    assert np.abs(simulation.u).max() < 1e-6


def test_on_waves_no_corner_is_left_in_the_ground() -> None:
    waves = Surface(lambda x, y: 0.03 * ca.sin(6 * x) * ca.cos(5 * y))
    simulation = Simulation(FOOT, Moreau(mu=0.9), terrain=waves, contacts="feet", worlds=8, dt=DT)
    assert simulation.plan.scene.patches
    q = simulation.q
    q[:, 0], q[:, 2] = np.linspace(-1.0, 1.0, 8), q[:, 2] + 0.05
    simulation.set(q=q)
    log = simulation.run(2.0)
    energy = log["kinetic_energy"] + log["potential_energy"]
    assert np.diff(energy.values, axis=0).max() < 2e-3
    assert log["gap"].values[-100:].min() > -6e-4  # the slop


def up(q: Array) -> Array:
    """Compute the upward axis (n, 3) of the foot in the world."""
    return np.stack([rotation(row[3:7])[:, 2] for row in q])


def lowest(q: Array, points: Array) -> Array:
    """Compute the height (n,) of the lowest of points (k, 3) of the foot, m."""
    return np.array([(points @ rotation(row[3:7]).T)[:, 2].min() + row[2] for row in q])


def rotation(quaternion: Array) -> Array:
    """Compute the rotation matrix of a unit quaternion (w, x, y, z)."""
    w, x, y, z = quaternion
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def test_the_choice_does_not_depend_on_the_batch() -> None:
    directions = np.linspace(0.0, 2 * np.pi, 11, endpoint=False)
    wrench = horizontal(1.2 * WEIGHT * to_edge(directions) / HEIGHT, directions)
    batch = Simulation(FOOT, Moreau(mu=5.0), pushes="all", worlds=11, threads=2, dt=DT)
    load_slowly(batch, wrench)
    for k in (0, 3, 10):
        alone = Simulation(FOOT, Moreau(mu=5.0), pushes="all", worlds=1, dt=DT)
        load_slowly(alone, wrench[k])
        assert np.array_equal(alone.q, batch.q[k])
