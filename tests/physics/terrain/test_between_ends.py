"""Uneven ground also touches between the ends of a capsule, the rims of a cylinder and the
corners of a box.
"""

from __future__ import annotations

import math

import casadi as ca
import mujoco
import numpy as np
import pytest
from helpers.free_body import free_body

from tarsus import Simulation, registry
from tarsus.contact.base import ForceLaw, Law
from tarsus.contact.laws.compliant import Compliant
from tarsus.contact.laws.moreau import Moreau
from tarsus.dynamics.robot import Robot
from tarsus.model.mjcf import read_mjcf
from tarsus.model.poses import rotation_from_quaternion
from tarsus.model.spans import MAX_LENGTH, create_spans
from tarsus.terrain.base import Terrain
from tarsus.terrain.boxes import Boxes
from tarsus.terrain.plane import Plane
from tarsus.terrain.slope import Slope
from tarsus.terrain.surface import Surface

LAWS = "tarsus.contact.laws"
ROD = "size='.03 .2' euler='0 90 0'"  # 0.4 m along x
CREST = Surface(lambda x, y: 0.03 * ca.cos(4 * np.pi * x))  # ends of a rod stand over hollows
WALL = Boxes(position=[(0, 0, 0.05)], half_sizes=(0.05, 0.3, 0.05))
IMPACT = 2e-3  # m: hard contact stops a body within a step of 0.5 ms at 3 m/s, and edges turn


@pytest.mark.parametrize("kind", ["capsule", "cylinder"])
def test_a_rod_lies_on_a_crest(kind: str) -> None:
    simulation = Simulation(free_body(f"type='{kind}' {ROD}", 0.06), Moreau(), terrain=CREST)
    log = simulation.run(1.0)
    assert log.q.values[-1, 2] == pytest.approx(0.06, abs=1e-6)
    forces = dict(zip(log.contact.values, log.force_contact.values[-1, :, 0], strict=True))
    [carrying] = [name for name, force in forces.items() if force > 1e-6]
    assert "-" in carrying, "it lies on what is between its ends"


def test_compliant_laws_support_contacts_between_ends() -> None:
    rod = free_body(f"type='capsule' {ROD}", 0.06)
    law = Compliant()
    simulation = Simulation(rod, law, terrain=CREST, dt=5e-4)
    simulation.advance(1.0)
    sag = rod.mass * 9.81 / law.c_N
    assert simulation.q[..., 2].item() == pytest.approx(0.06 - sag, abs=1e-5)


@pytest.mark.parametrize("name", registry.names(LAWS))
def test_every_law_supports_contacts_between_ends(name: str) -> None:
    """Contacts at the ends alone would let it sink by 55 mm."""
    gives_way = issubclass(registry.member_class(LAWS, "law", name, Law), ForceLaw)
    rod = free_body(f"type='capsule' {ROD}", 0.06)
    simulation = Simulation(rod, name, terrain=CREST, dt=2e-4 if gives_way else 2.5e-3)
    log = simulation.run(0.5)
    assert log.q.values[-1, 2] == pytest.approx(0.06, abs=3e-3)
    assert (log.converged == 1).all()


def test_a_box_lies_across_a_ridge() -> None:
    """Two of its edges share the load equally; half of it is in the air on each side."""
    simulation = Simulation(free_body("type='box' size='.2 .1 .05'", 0.08), Moreau(), terrain=CREST)
    log = simulation.run(0.5)
    assert log.q.values[-1, 2] == pytest.approx(0.08, abs=1e-6)
    forces = log.force_contact.values[-1, :, 0]
    carrying = forces[forces > 1e-6]
    assert len(carrying) == 2 and carrying[0] == pytest.approx(carrying[1], rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["capsule", "cylinder", "box"])
def test_a_falling_rod_does_not_pass_through_a_wall(kind: str) -> None:
    shape = "size='.2 .1 .05'" if kind == "box" else ROD
    simulation = Simulation(free_body(f"type='{kind}' {shape}"), Moreau(), terrain=WALL, dt=5e-4)
    for x, roll in ((0.0, 0.0), (0.06, 0.3), (-0.12, -0.2)):
        turned = [np.cos(roll / 2), np.sin(roll / 2), 0, 0]
        simulation.set(q=[x, 0, 0.45, *turned], u=np.zeros(6))
        log = simulation.run(1.5)
        energy = (log.kinetic_energy + log.potential_energy).values
        assert log.gap.values.min() > -IMPACT
        assert energy.max() <= energy[0] * (1 + 1e-9)
        assert (log.converged == 1).all()


@pytest.mark.parametrize("ground", [Plane(), Slope(0.2)])
def test_flat_ground_needs_only_end_contacts(ground: Terrain) -> None:
    simulation = Simulation(free_body(f"type='capsule' {ROD}"), Moreau(), terrain=ground)
    assert not simulation.plan.scene.spans and not simulation.plan.scene.slots


def test_long_edges_are_split_into_spans() -> None:
    rod = free_body("type='capsule' size='.03 .4'")
    own = create_spans(rod, [candidate.name for candidate in rod.candidates])
    assert len(own) % 2 == 1 and all(2 * np.linalg.norm(s.half) <= MAX_LENGTH for s in own)
    assert np.allclose(own[len(own) // 2].middle, 0)
    box = free_body("type='box' size='.1 .1 .1'")
    own = create_spans(box, [candidate.name for candidate in box.candidates])
    assert sum(not span.is_face for span in own) == 12
    assert not create_spans(box, ["part_0"]), "one end alone spans nothing"


def test_derivatives_of_a_step_that_rolls_and_slides_on_a_crest() -> None:
    """Compared with central differences of the velocity before the step."""
    sharp = Moreau(T_rel=1e-12, T_abs=1e-12)
    simulation = Simulation(free_body(f"type='capsule' {ROD}", 0.06), sharp, terrain=CREST)
    u = np.array(simulation.u)
    u[..., 0], u[..., 4] = 0.3, 0.4
    simulation.set(u=u)
    simulation.advance(0.02)
    state, before, apart = simulation.state(), np.array(simulation.u), 1e-6
    found = simulation.derivatives()
    for k in range(6):
        ends = []
        for sign in (1, -1):
            simulation.restore(state)
            u = before.copy()
            u[..., k] += sign * apart
            simulation.set(u=u)
            simulation.step()
            ends.append(np.array(simulation.u).ravel())
        change = (ends[0] - ends[1]) / (2 * apart)
        np.testing.assert_allclose(found.state[6:, 6 + k], change, atol=1e-7)


def test_a_leaning_rod_matches_geometry_and_mujoco() -> None:
    """One end is on the ground, its middle on the edge of a box; MuJoCo's contact yields a
    little.
    """
    radius, half, rounding = 0.03, 0.25, 2e-4
    lean = math.radians(19.1358)  # 0.3 m from the lower end's center to where the edge touches
    edge, along = np.array([-0.05, 0, 0.1]), np.array([math.cos(lean), 0, math.sin(lean)])
    across = np.array([math.sin(lean), 0, -math.cos(lean)])
    middle = edge - radius * across + (half - 0.3) * along + [0, 0, 1e-4]
    place = f"pos='{middle[0]} 0 {middle[2]}' euler='0 {90 - math.degrees(lean)} 0'"
    geom = f"<geom type='capsule' size='{radius} {half}' density='1000' friction='1 .005 .0001'/>"
    rod = f"<body {place}><freejoint/>{geom}</body>"
    robot = Robot.of(read_mjcf(f"<mujoco><worldbody>{rod}</worldbody></mujoco>"))
    box = Boxes(position=[(0, 0, 0.05)], half_sizes=(0.05, 0.3, 0.05), edge_radius=rounding)
    simulation = Simulation(robot, Moreau(mu=1.0), terrain=box, dt=5e-4)
    simulation.advance(1.0)
    q = np.array(simulation.q).ravel()
    axis = rotation_from_quaternion(q[3:7])[:, 2]
    assert np.abs(simulation.u).max() < 1e-9
    assert (q[:3] - half * axis)[2] == pytest.approx(radius, abs=5e-5)
    to_edge = edge + rounding * np.array([1, 0, -1]) - q[:3]
    assert np.linalg.norm(np.cross(to_edge, axis)) == pytest.approx(radius + rounding, abs=5e-5)
    # beside MuJoCo, whose edge is sharp
    ground = "<geom type='plane' size='5 5 .1' friction='1 .005 .0001'/>"
    ground += "<geom type='box' size='.05 .3 .05' pos='0 0 .05' friction='1 .005 .0001'/>"
    option = "<option timestep='5e-4' cone='elliptic'/>"
    text = f"<mujoco>{option}<worldbody>{ground}{rod}</worldbody></mujoco>"
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, 2000)
    other = rotation_from_quaternion(data.qpos[3:7])[:, 2]
    np.testing.assert_allclose(q[:3], data.qpos[:3], atol=1.5e-3)
    assert math.degrees(math.acos(min(axis @ other, 1.0))) < 0.2
