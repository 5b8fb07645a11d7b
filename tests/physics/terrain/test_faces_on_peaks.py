"""A peak below the middle of a flat face supports it, although no edge touches."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from helpers.free_body import free_body

from tarsus import Simulation, registry
from tarsus.contact.base import ForceLaw, Law
from tarsus.contact.laws.moreau import Moreau
from tarsus.model.poses import rotation_from_quaternion
from tarsus.model.spans import MIN_HALF_WIDTH, create_spans
from tarsus.terrain.sine import Sine
from tarsus.terrain.surface import Surface

LAWS, G = "tarsus.contact.laws", 9.81
QUICK = ("compliant", "soft_convex")  # laws whose case runs every time
CRATE = "type='box' size='.2 .15 .05'"
DISC = "type='cylinder' size='.2 .05'"
RADIUS = 0.1  # m, of a round hill's top


def hill(x: ca.SX, y: ca.SX) -> ca.SX:
    """Top of a ball of a given radius, and level ground 0.04 m below it."""
    below = ca.fmin(x**2 + y**2, 0.64 * RADIUS**2)
    return ca.sqrt(RADIUS**2 - below) - RADIUS


HILL = Surface(hill)


@pytest.mark.diagonal
@pytest.mark.parametrize("geom", [CRATE, DISC])
@pytest.mark.parametrize("turn", ["", "euler='180 0 0'"])
def test_a_face_lies_on_a_peak(geom: str, turn: str) -> None:
    simulation = Simulation(free_body(geom, 0.05, turn), Moreau(), terrain=HILL)
    log = simulation.run(1.0)
    assert log.q.values[-1, 2] == pytest.approx(0.05, abs=1e-6)
    forces = dict(zip(log.contact.values, log.force_contact.values[-1, :, 0], strict=True))
    [carrying] = [name for name, force in forces.items() if force > 1e-6]
    assert forces[carrying] == pytest.approx(simulation.robot.mass * G, rel=1e-6)
    gap = log.gap.sel(contact=carrying).values[-1]
    assert gap == pytest.approx(0.0, abs=1e-6), "logs find the place as steps do"


@pytest.mark.parametrize(
    "name",
    [
        name if name in QUICK else pytest.param(name, marks=pytest.mark.slow)
        for name in registry.names(LAWS)
    ],
)
def test_every_law_supports_a_face(name: str) -> None:
    gives_way = issubclass(registry.member_class(LAWS, "law", name, Law), ForceLaw)
    dt = 2e-4 if gives_way else 2.5e-3
    log = Simulation(free_body(CRATE, 0.05, density=80), name, terrain=HILL, dt=dt).run(0.5)
    assert log.q.values[-1, 2] == pytest.approx(0.05, abs=3e-3)
    assert (log.converged == 1).all()


def test_a_plank_rocks_on_a_ball_like_its_equivalent_pendulum() -> None:
    """A plank that rolls on a ball of radius R, its middle h above: omega^2 = g (R - h) / (k^2 +
    h^2), k being its radius of gyration.
    """
    h = 0.05
    simulation = Simulation(free_body(CRATE, 0.05), Moreau(mu=2.0), terrain=HILL, dt=1e-3)
    u = np.zeros(6)
    u[:3], u[3:] = (0.05 * h, 0, 0), (0, 0.05, 0)
    simulation.set(u=u)
    log = simulation.run(4.0)
    rate = log.u.values[:, 4]
    (crossings,) = np.nonzero(rate[:-1] * rate[1:] < 0)
    exact = crossings + rate[crossings] / (rate[crossings] - rate[crossings + 1])
    period = 2e-3 * float(np.diff(exact).mean())
    k = (0.4**2 + 0.1**2) / 12
    assert period == pytest.approx(2 * np.pi / np.sqrt(G * (RADIUS - h) / (k + h**2)), rel=0.01)
    # it goes on and on
    energy = (log.kinetic_energy + log.potential_energy).values
    assert np.diff(energy).max() < 1e-6
    assert np.abs(rate[-800:]).max() > 0.04


@pytest.mark.parametrize("geom", [CRATE, DISC])
def test_bodies_dropped_on_waves_rest_on_crests(geom: str) -> None:
    """At rest no point is deep in the waves; the largest depths used to be 16 and 24 mm."""
    high, long = 0.03, 0.5
    rng = np.random.default_rng(3)
    simulation = Simulation(free_body(geom, 0.05), Moreau(), terrain=Sine(high, long))
    turn = rng.normal(size=4)
    q = np.array([*rng.uniform(0, 1, 2), 0.35, *(turn / np.linalg.norm(turn))])
    simulation.set(q=q, u=np.r_[0.3 * rng.normal(size=2), 0, rng.normal(size=3)])
    end = simulation.run(3.0).q.values[-1]
    grid = np.linspace(-1, 1, 41)
    x, y = (own.ravel() for own in np.meshgrid(grid, grid))
    if geom == DISC:
        x, y = x[x**2 + y**2 <= 1], y[x**2 + y**2 <= 1]
    wide = 0.15 if geom == CRATE else 0.2
    flat = [np.stack([0.2 * x, wide * y, np.full(x.size, z)]) for z in (-0.05, 0.05)]
    turned = rotation_from_quaternion(end[3:]) @ np.hstack(flat)
    place = end[:3, None] + turned
    ground = high * np.sin(2 * np.pi * place[0] / long) * np.sin(2 * np.pi * place[1] / long)
    assert (ground - place[2]).max() < 2e-3


def test_narrow_faces_use_only_edge_contacts() -> None:
    def names(geom: str) -> list[str]:
        robot = free_body(geom, 0.05)
        spans = create_spans(robot, [c.name for c in robot.candidates])
        return [s.name for s in spans if s.is_face]

    assert len(names(CRATE)) == 6 and len(names(DISC)) == 2
    assert len(names(f"type='box' size='.2 .15 {0.9 * MIN_HALF_WIDTH}'")) == 2
    assert not names(f"type='cylinder' size='{0.9 * MIN_HALF_WIDTH} .2'")
    assert not names("type='capsule' size='.1 .2'")
