"""Self-collision: momentum is conserved, and nothing passes through."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from helpers.capsule_biped import biped

from tarsus import Simulation
from tarsus.contact.base import Law
from tarsus.contact.laws.compliant import Compliant
from tarsus.contact.laws.moreau import Moreau
from tarsus.contact.ledger import SHARES
from tarsus.dynamics.poses import poses
from tarsus.dynamics.robot import Robot
from tarsus.model.mjcf import read_mjcf
from tarsus.model.solids import Pair
from tarsus.morphology.distances import segment_distances, solid_distance
from tarsus.morphology.self_contacts import draw_postures, self_contacts
from tarsus.simulation.step_program import step_program

BALL = """
<body name="{name}" pos="{x} 0 1">
  <joint name="{name}" type="slide" axis="1 0 0"/>
  <geom name="{name}" type="sphere" size="0.1" mass="{mass}"/>
</body>
"""


def balls(*masses: float) -> Robot:
    """Balls of 0.1 m radius in a row, 0.1 m apart, each on a slide along it, without gravity."""
    rows = "".join(BALL.format(name=f"b{k}", x=0.3 * k, mass=m) for k, m in enumerate(masses))
    text = f"<mujoco><option gravity='0 0 0'/><worldbody>{rows}</worldbody></mujoco>"
    return Robot.of(read_mjcf(text))


def limp(law: Law | str = "moreau", gravity: float = 0.0, **options: object) -> Simulation:
    """The biped without torques in the air above the ground; its legs can touch at six points."""
    robot = Robot.of(read_mjcf(biped(gravity)))
    chosen = {"contacts": "*_foot", "slots": 6, "self_collision": True} | options
    simulation = Simulation(robot, law, **chosen)  # type: ignore[arg-type]
    q = simulation.q
    q[..., 2] = 2.0
    simulation.set(q=q)
    return simulation


def gaps(robot: Robot, q: np.ndarray) -> np.ndarray:
    """Between the capsules of each pair that can meet, m: (worlds, pairs)."""
    origins, rotations = poses(robot, np.atleast_2d(q))

    def gap(pair: Pair) -> np.ndarray:
        ends = [
            (origins[:, c.body] + rotations[:, c.body] @ c.middle, rotations[:, c.body] @ c.half)
            for c in (pair.first, pair.second)
        ]
        return segment_distances(*ends[0], *ends[1]) - pair.first.radius - pair.second.radius

    return np.stack([gap(pair) for pair in self_contacts(robot, True).possible], -1)


def exact(restitution: float) -> Moreau:
    """Law with a tighter tolerance than the assertions: redundant contacts differ by T_rel^1.5
    of a load.
    """
    return Moreau(e_N=restitution, T_rel=1e-9, T_abs=1e-9)


@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
def test_ball_on_ball(restitution: float) -> None:
    simulation = Simulation(balls(1.0, 2.0), exact(restitution), self_collision=True)
    simulation.set(u=[1.0, -0.5])
    log = simulation.run(0.2)
    pressed = log.impulse_contact.sel(contact="b0:b1").values[:, 0]
    first = int(np.argmax(pressed > 0))
    late = float(log.time[first]) - 0.1 / 1.5
    assert 0 < late < 1.5 * 0.0025, "the end of the first step whose middle comes after it"
    # momentum is zero before and after; of the approach the law gives back its part
    after = log.u.values[first]
    np.testing.assert_allclose(log.u.values @ [1.0, 2.0], 0.0, atol=1e-12)
    assert after[1] - after[0] == pytest.approx(1.5 * restitution, abs=1e-9)
    assert pressed[first] == pytest.approx((1 + restitution) * 1.5 * 2 / 3, rel=1e-9)
    assert (log.converged == 1).all()


def test_penetrating_limbs_are_reported_without_self_collision() -> None:
    """Two balls on slides, one thrown: through the other, not as far, and with self-collision."""
    told = "b0:b1 (by 200 mm)"
    for seconds, options in ((0.4, {}), (0.05, {}), (0.4, {"self_collision": True})):
        simulation = Simulation(balls(1.0, 1.0), **options)  # type: ignore[arg-type]
        simulation.set(u=[1.0, 0.0])
        warnings = simulation.run(seconds).warnings
        assert (told in warnings) == (seconds == 0.4 and not options), warnings


def test_cradle_of_three_transfers_the_motion() -> None:
    simulation = Simulation(balls(1.0, 1.0, 1.0), exact(1.0), self_collision=True)
    simulation.set(u=[1.0, 0.0, 0.0])
    simulation.advance(0.4)
    np.testing.assert_allclose(simulation.u, [0.0, 0.0, 1.0], atol=1e-9)


@pytest.mark.parametrize(
    "law", [Moreau(), pytest.param(Compliant(c_N=3e4, c_T=3e4), marks=pytest.mark.slow)]
)
def test_a_self_contact_keeps_momentum_and_angular_momentum(law: Law) -> None:
    dt = 5e-4
    random = np.random.default_rng(1)
    touching = limp(law, dt=dt)
    free = Simulation(touching.robot, law, dt=dt, contacts="*_foot")
    robot, count = touching.robot, 0
    push = np.array([-8.0, 3.0, -2.0, 6.0, -1.0, 2.0])
    touching.set(u=np.concatenate([random.normal(size=6), np.zeros(6)]))
    for _ in range(600):
        q, u = touching.q, touching.u
        free.set(q=q, u=u)
        touching.step(push)
        free.step(push)
        middle = robot.integrate(q, u, dt / 2)
        both = [robot.momentum(middle, s.u) for s in (touching, free)]
        np.testing.assert_allclose(both[0], both[1], atol=1e-10)
        count += np.abs(touching.u - free.u).max() > 1e-3
    assert count > 10, "the legs touched"


@pytest.mark.parametrize("law", ["moreau", pytest.param("lcp_impulse", marks=pytest.mark.slow)])
def test_legs_pushed_together_do_not_pass(law: str) -> None:
    simulation = limp(law, controller=lambda t, q, u: [-20.0, 0.0, 0.0, 20.0, 0.0, 0.0])
    simulation.advance(1.5)
    ends = gaps(simulation.robot, simulation.q)
    assert -1e-3 < ends.min() < 0


@pytest.mark.slow
def test_laws_agree_where_legs_rest_on_each_other() -> None:
    def pressed(t: float, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        held = -20.0 * q[7:] - 0.5 * u[6:]  # all but the two that press
        held[[0, 3]] = -4.0, 4.0
        return held

    rest, closest = [], []
    for law, dt in ((Moreau(), 1e-3), (Compliant(c_N=1e6, c_T=1e6, d_N=500.0, d_T=500.0), 1e-4)):
        simulation = limp(law, dt=dt, controller=pressed)
        q = simulation.q
        q[7:] = 0.0
        simulation.set(q=q)
        simulation.advance(2.0)
        rest.append(simulation.q[7:])
        closest.append(gaps(simulation.robot, simulation.q).min())
    assert max(closest) < 1e-4, "they touch"
    np.testing.assert_allclose(*closest, atol=1e-3)
    np.testing.assert_allclose(*rest, atol=np.deg2rad(0.2))


@pytest.mark.slow
def test_falls_with_self_collision_do_not_diverge() -> None:
    worlds, random = 24, np.random.default_rng(5)
    robot = Robot.of(read_mjcf(biped()))
    simulation = Simulation(robot, self_collision=True, contacts="all", worlds=worlds)
    # postures in which nothing overlaps
    q = np.tile(simulation.q[:1], (worlds, 1))
    drawn = draw_postures(robot, 2000)
    q[:, 7:] = drawn[gaps(robot, drawn).min(1) > 0.01][:worlds, 7:]
    turned = random.normal(size=(worlds, 4))
    q[:, 2], q[:, 3:7] = 1.2, turned / np.linalg.norm(turned, axis=1, keepdims=True)
    simulation.set(q=q, u=random.normal(size=(worlds, 12)))
    log = simulation.run(2.0)
    pairs = [name for name in log.contact.values if ":" in name]
    assert (log.impulse_contact.sel(contact=pairs).values[..., 0] > 0).any(), "they touch"
    assert np.isfinite(log.q.values).all()
    assert float((log.converged == 0).mean()) < 1e-3
    energy = (log.kinetic_energy + log.potential_energy).values
    assert (energy[-1] < energy[0]).all()
    shares = [log[f"energy_{share}"].sel(contact=pairs).values for share in SHARES]
    work = np.sum(shares, axis=0)
    assert work.max() < 0.01, "J a step: what comes up out of an overlap"
    assert work.sum((0, 2)).max() < 1e-3, "J: they take more than they give"
    assert gaps(robot, simulation.q).min() > -2e-3


@pytest.mark.slow
def test_results_do_not_depend_on_the_position_in_a_batch() -> None:
    push = np.array([-8.0, 3.0, -2.0, 6.0, -1.0, 2.0])
    alone, many = limp(), limp(worlds=5)
    for _ in range(200):
        alone.step(push)
        many.step(np.outer([1.0, 1.0, 0.2, 1.0, 0.0], push))
    assert (many.q[[0, 1, 3]] == alone.q).all() and (many.q[2] != alone.q).any()
    force = many.contact_force
    assert (force[:2, len(many.plan.scene.candidates) :, 0] > 0).any()


def test_collision_pairs_are_selected() -> None:
    robot = Robot.of(read_mjcf(biped()))
    found = self_contacts(robot, True)
    kept, never = ([pair.name for pair in part] for part in (found.possible, found.never))
    assert "left_thigh:right_thigh" in kept and "trunk:left_foot" in kept
    assert "left_hip:right_hip" in never
    assert not any("left_thigh:left_shank" in name for name in kept + never), "parent and child"
    apart = replace(robot, excluded=(("left_thigh", "right_thigh"),))
    assert "left_thigh:right_thigh" not in [
        pair.name for pair in self_contacts(apart, True).possible
    ]


def test_self_collision_without_pairs_keeps_the_program() -> None:
    programs = [
        step_program(Simulation(balls(1.0), self_collision=wanted).plan).fingerprint
        for wanted in (False, True)
    ]
    assert programs[0] == programs[1]


def test_explicit_pairs_collide_regardless_of_masks() -> None:
    rows = "".join(BALL.format(name=f"b{k}", x=0.3 * k, mass=1.0) for k in range(3))
    rows = rows.replace("type='sphere'", "").replace('type="sphere"', 'contype="0" conaffinity="0"')
    pair = "<contact><pair geom1='b0' geom2='b2'/></contact>"
    robot = Robot.of(read_mjcf(f"<mujoco><worldbody>{rows}</worldbody>{pair}</mujoco>"))
    assert [pair.name for pair in self_contacts(robot, True).possible] == ["b0:b2"]
    # no other filter keeps them apart
    away = pair.replace("</contact>", "<exclude body1='b0' body2='b2'/></contact>")
    robot = Robot.of(read_mjcf(f"<mujoco><worldbody>{rows}</worldbody>{away}</mujoco>"))
    assert [pair.name for pair in self_contacts(robot, True).possible] == ["b0:b2"]
    # in whatever order, and where their bits would let them meet
    turned = away.replace("geom1='b0' geom2='b2'", "geom1='b2' geom2='b0'")
    usual = rows.replace('contype="0" conaffinity="0"', "")
    robot = Robot.of(read_mjcf(f"<mujoco><worldbody>{usual}</worldbody>{turned}</mujoco>"))
    assert len(self_contacts(robot, True).possible) == 3
    # bits below zero are bits of the file
    rows = rows.replace('contype="0" conaffinity="0"', 'contype="-1" conaffinity="-1"')
    robot = Robot.of(read_mjcf(f"<mujoco><worldbody>{rows}</worldbody>{away}</mujoco>"))
    assert len(self_contacts(robot, True).possible) == 3
    other = away.replace("geom2='b2'", "geom2='b1'")
    robot = Robot.of(read_mjcf(f"<mujoco><worldbody>{rows}</worldbody>{other}</mujoco>"))
    assert [pair.name for pair in self_contacts(robot, True).possible] == ["b0:b1", "b1:b2"]


@pytest.mark.parametrize(
    ("first", "second", "friction"),
    [
        ('friction=".9"', 'friction=".2"', 0.9),
        ('friction=".9"', 'friction=".2" priority="1"', 0.2),
        ('friction=".2" priority="1"', 'friction=".9"', 0.2),
        ('friction=".2" priority="1"', 'friction=".3" priority="1"', 0.3),
    ],
)
def test_the_higher_priority_sets_the_friction(first: str, second: str, friction: float) -> None:
    rows = "".join(
        BALL.format(name=f"b{k}", x=0.3 * k, mass=1.0).replace("type=", f"{own} type=", 2)
        for k, own in enumerate((first, second))
    )
    rows = rows.replace(f'{first} type="slide"', 'type="slide"')
    rows = rows.replace(f'{second} type="slide"', 'type="slide"')
    robot = Robot.of(read_mjcf(f"<mujoco><worldbody>{rows}</worldbody></mujoco>"))
    (pair,) = self_contacts(robot, True).possible
    assert robot.material["mu"] * pair.friction == pytest.approx(friction)


FLAT = """<mujoco><option gravity="0 0 0"/><worldbody><body name="a" pos="0 0 2">
<joint name="j0" axis="0 1 0"/>
<geom name="a" type="capsule" fromto="0 0 0 .4 0 0" size=".03"/><body name="b" pos=".4 0 0">
<joint name="j1" axis="0 1 0"/><geom name="b" type="capsule" fromto="0 0 0 .1 0 0" size=".02"/>
<body name="c" pos=".1 0 0"><joint name="j2" axis="0 1 0"/>
<geom name="c" type="capsule" fromto="0 0 0 .4 0 0" size=".02"/></body></body></body></worldbody>
{rest}</mujoco>"""
APART = "<contact><exclude body1='a' body2='c'/></contact>"


def test_an_arm_in_a_plane_folds_onto_itself() -> None:
    """The first and the last link overlap in three of four postures, but may still collide."""
    robot = Robot.of(read_mjcf(FLAT.format(rest="")))
    assert [f"{p.first.name}:{p.second.name}" for p in self_contacts(robot, True).possible] == [
        "a:c"
    ]
    least = []
    for rest in ("", APART):
        robot = Robot.of(read_mjcf(FLAT.format(rest=rest)))
        simulation = Simulation(robot, controller=None, self_collision=True)
        simulation.set(q=[0, np.pi / 2, np.pi / 2], u=[0, 0, 3.0])
        pair = self_contacts(Robot.of(read_mjcf(FLAT.format(rest=""))), True).possible[0]
        gap = solid_distance(pair, poses(robot, np.asarray(simulation.run(0.3).q)))
        least.append(gap.min())
    # a step of 2.5 ms at the tip's 1.2 m/s is 3 mm deep at most
    assert least[0] > -3e-3 and least[1] < -0.02
