"""Several bodies in one world: contact, momentum, stacking and pushing."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
import pytest
from helpers.refused import refused
from scipy.optimize import brentq

import tarsus
from tarsus import Ball, Box, Cylinder, Simulation
from tarsus.contact.base import Law
from tarsus.contact.laws.compliant import Compliant
from tarsus.contact.laws.moreau import Moreau
from tarsus.control.gaits.stand import Stand
from tarsus.dynamics.robot import Robot
from tarsus.errors import IncompatibleOptions, InvalidValue
from tarsus.model.mjcf import read_mjcf
from tarsus.model.self_collision import create_pairs
from tarsus.validation import bodies

TWO = """<mujoco><option timestep="0.002" cone="elliptic" impratio="10"/>
<default><geom friction="0.5 0.005 0.0001"/></default><worldbody>
<geom type="plane" size="5 5 1"/>
<body name="low" pos="0 0 0.05"><freejoint/><geom name="low" type="box" size=".3 .2 .05" mass="5"/>
</body><body name="high" pos="0 0 0.15"><freejoint/>
<geom name="high" type="box" size=".1 .08 .05" mass="1"/></body></worldbody></mujoco>"""


def test_a_world_lists_its_robots_and_objects() -> None:
    whole = tarsus.world(
        Box(), "mini_cheetah", Box(name="lid"), Box(), at=[(2, 0), (0, 0, 0.2, 0.5), (1, 1)]
    )
    assert whole.body_names[0] == "box" and whole.body_names[-2:] == ("lid", "box_2")
    assert whole.nq == 19 + 3 * 7 and len(whole.actuators) == 12
    stand = whole.keyframes["stand"]
    q = {n: stand[s] for n, s in zip(whole.joint_names, whole.q_slices, strict=True)}
    np.testing.assert_allclose(q["lid"][:4], [0, 0, 0.3, np.cos(0.25)], atol=1e-9)
    np.testing.assert_allclose(q["box_2"][:3], [1, 1, 0.1], atol=1e-9)
    feet = [whole.position(stand, f"{leg}_foot")[2] for leg in ("FR", "FL", "HR", "HL")]
    assert min(feet) == pytest.approx(0.0175, abs=0.01), "it stands where it was put"
    # what meets what: of different ones all, of one nothing
    names = {pair.name for pair in create_pairs(whole, within_robot=False)}
    assert "FR_foot:lid" in names and "box:lid_0" in names and "FR_foot:HL_foot" not in names
    with refused(InvalidValue, "at"):
        tarsus.world(Box(), Ball())
    assert tarsus.world(Cylinder(radius=0.1, length=0.3)).mass == pytest.approx(500 * 0.003 * np.pi)


@pytest.mark.parametrize(
    ("thing", "subject"),
    [
        (Box(mass=-1.0), "mass"),
        (Box(edges=0.1), "edges"),
        (Box(edges=(0.1, 0.1)), "edges"),
        (Ball(radius=np.nan), "radius"),
        (Cylinder(length=-1), "length"),
        (Ball(friction="ice"), "friction"),
        (Box(name=3), "name"),
    ],
)
def test_objects_without_size_are_rejected_by_index(thing: Any, subject: str) -> None:
    with refused(InvalidValue, subject):
        tarsus.world("mini_cheetah", thing, at=[(2, 0)])


THREE = """<mujoco model="{0}"><worldbody>
<body name="{0}1" pos="0 0 .3"><freejoint/><geom name="{0}1" size=".1" {1}/></body>
<body name="{0}2" pos="0 0 .6"><freejoint/><geom name="{0}2" size=".1" {1}/></body>
<body name="{0}3" pos="0 0 .9"><freejoint/><geom name="{0}3" size=".1"/></body></worldbody>
<contact><pair geom1="{0}1" geom2="{0}3" friction="{2} {2}"/>
<pair geom1="{0}2" geom2="{0}1" friction=".3 .3"/></contact></mujoco>"""


def test_explicit_pairs_apply_only_within_their_file() -> None:
    """As in MuJoCo when one file is attached to the other: without bits only an explicit pair
    collides, and geoms of different files are in none.
    """
    off = 'contype="0" conaffinity="0"'
    texts = [THREE.format("a", off, 0.5), THREE.format("b", off, 0.7), THREE.format("c", "", 0.9)]
    first, *others = (mujoco.MjSpec.from_string(text) for text in texts)
    for other in others:
        first.attach(other, prefix="_", frame=first.worldbody.add_frame())
    model = first.compile()
    data = mujoco.MjData(model)
    data.qpos[:] = np.tile([0, 0, 1, 1, 0, 0, 0], 9)  # all in one place
    mujoco.mj_forward(model, data)
    names = [model.geom(geom).name.lstrip("_") for geom in range(model.ngeom)]
    met = {frozenset(names[g] for g in c.geom): c.friction[0] for c in data.contact}
    # here
    robots = [Robot.of(read_mjcf(text)) for text in texts]
    for whole in (
        tarsus.world(*robots, at=[(1, 0), (2, 0)]),
        tarsus.world(tarsus.world(*robots[:2], at=[(1, 0)]), robots[2], at=[(2, 0)]),
        tarsus.world(robots[0], tarsus.world(*robots[1:], at=[(1, 0)]), at=[(2, 0)]),
    ):
        found = {frozenset((p.first.name, p.second.name)): p.friction for p in create_pairs(whole)}
        assert found == pytest.approx(met)
    assert len(met) == 2 + 2 + 3 + 2 * 3 + 1


def test_the_first_robot_of_a_world_starts_as_if_alone() -> None:
    """An object of a file starts at its file pose; it used to start at z = 0."""
    text = """<mujoco><worldbody><body name="a" pos="0 0 .3" euler="30 0 0"><freejoint/>
    <geom size=".1"/></body></worldbody></mujoco>"""
    alone = Simulation(Robot.of(read_mjcf(text)))
    beside = Simulation(tarsus.world(alone.robot, Ball(), at=[(1, 0)]))
    apart = tarsus.world(Robot.of(read_mjcf(text)), Ball(), at=[(1, 0)])
    assert alone.q[2] == 0.3 and alone.q[4] == pytest.approx(np.sin(np.pi / 12))
    assert (beside.q[:7] == alone.q).all() and (Simulation(apart).q[:7] == alone.q).all()


@pytest.mark.parametrize(("height", "told"), [(0.2, 0), (0.15, 1)])
def test_initially_overlapping_objects_are_reported(height: float, told: int) -> None:
    balls = tarsus.world(Ball(), Ball(), at=[(0, 0, height)])
    simulation = Simulation(balls)
    assert len(simulation.plan.scene.pairs) == 1, "they touch without being asked to"
    assert sum(notice.code == "shapes-overlap" for notice in simulation.warnings) == told


@pytest.mark.parametrize(("law", "stepper"), [("compliant", "rk4"), ("moreau", "event_driven")])
def test_steppers_with_several_evaluations_reject_touching_bodies(law: str, stepper: str) -> None:
    balls = tarsus.world(Ball(), Ball(), at=[(1.0, 0, 0)])
    with refused(IncompatibleOptions, "stepper") as caught:
        Simulation(balls, law, stepper)
    assert "midpoint" in str(caught.value)


@pytest.mark.parametrize("law", [Moreau(), pytest.param(Compliant(), marks=pytest.mark.slow)])
def test_boxes_that_collide_keep_momentum_and_angular_momentum(law: Law) -> None:
    one, two = Box(mass=1.0, edges=(0.2, 0.1, 0.1)), Box(mass=2.0, edges=(0.1, 0.3, 0.1))
    whole = Robot.of(bodies.combine_objects(one, two, gravity=(0, 0, 0)))
    simulation = Simulation(whole, law, dt=5e-4, contacts=whole.candidates[0].name, slots=4)
    q = bodies.coordinates(whole, [0, 0, 5], [0.3, 0.05, 5.02])
    u = [1.5, 0.2, 0, 0.5, 2.0, 1.0, -0.5, 0, 0, 1.0, 0, -2.0]
    simulation.set(q=q, u=u)
    log = simulation.run(0.3)
    hits = (log.force_contact.values[..., 0] > 0).any(1)
    assert hits.sum() > 0
    momentum = whole.momentum(log.q.values, log.u.values)
    np.testing.assert_allclose(momentum[-1, :3], [0.5, 0.2, 0], atol=1e-12)
    # of the turning, what integration of free turning changes
    np.testing.assert_allclose(momentum[-1, 3:], momentum[0, 3:], atol=5e-5)
    energy = log.kinetic_energy.values
    assert energy[-1] < 0.9 * energy[0] and (log.converged == 1).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("count", "tolerance", "drift"), [(2, 1e-6, 1e-8), (2, 1e-7, 1e-9), (3, 1e-6, 1e-8)]
)
def test_a_stack_does_not_drift_in_a_minute(count: int, tolerance: float, drift: float) -> None:
    """What is left is the trace that shares the load of eight corners, T_rel^1.5 of mobility times
    impulse: 1.2e-10 m/s here at most.
    """
    masses = (3.0, 2.0, 1.0)[:count]
    whole = bodies.combine_objects(*(Box(mass=m, edges=(0.2, 0.16, 0.1)) for m in masses))
    simulation = Simulation(Robot.of(whole), Moreau(T_rel=tolerance))
    places = [0, 0, 0.05], [0.02, 0.03, 0.15], [0, 0, 0.25]
    start = bodies.coordinates(whole, *places[:count])
    simulation.set(q=start)
    simulation.advance(1.0)
    settled = simulation.q.copy()
    simulation.advance(59.0)
    np.testing.assert_allclose(simulation.q, settled, atol=drift)
    np.testing.assert_allclose(settled.ravel(), start, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(("over", "stands"), [(0.095, True), (0.105, False)])
def test_a_box_tips_when_its_center_is_past_the_edge(over: float, stands: bool) -> None:
    whole = bodies.combine_objects(*(Box(mass=m, edges=(0.2, 0.16, 0.1)) for m in (3.0, 1.0)))
    simulation = Simulation(Robot.of(whole))
    simulation.set(q=bodies.coordinates(whole, [0, 0, 0.05], [over, 0.0, 0.15]))
    simulation.advance(1.0)
    height = simulation.q.ravel()[9]
    assert (abs(height - 0.15) < 1e-4) == stands and (height < 0.14) != stands


@pytest.mark.slow
def test_a_capsule_lies_on_a_box() -> None:
    rod = "<geom name='rod' type='capsule' size='.03 .1' euler='0 90 0' mass='1'/>"
    text = TWO.replace('<geom name="high" type="box" size=".1 .08 .05" mass="1"/>', rod)
    simulation = Simulation(Robot.of(read_mjcf(text)))
    q = simulation.q
    q[..., 9] = 0.13 - 1e-9
    simulation.set(q=q)
    log = simulation.run(2.0)
    force = log.force_contact.sel(contact=[c for c in log.contact.values if ":" in c]).values[-1]
    np.testing.assert_allclose(np.sort(force[:, 0])[-2:], [9.81 / 2] * 2, rtol=1e-4)
    assert log.q.values[-1, 9] == pytest.approx(0.13, abs=1e-6)


@pytest.mark.slow
def test_a_box_slides_on_another_as_in_mujoco() -> None:
    """Until it stops after v^2 / (2 mu g) while the lower box rests; MuJoCo's soft friction
    creeps.
    """
    mujoco = pytest.importorskip("mujoco")
    model = mujoco.MjModel.from_xml_string(TWO)
    data = mujoco.MjData(model)
    data.qvel[6] = 0.5
    for _ in range(100):
        mujoco.mj_step(model, data)
    simulation = Simulation(Robot.of(read_mjcf(TWO)), dt=0.002)
    u = np.zeros(12)
    u[6] = 0.5
    simulation.set(u=u)
    simulation.advance(0.2)
    way = 0.5**2 / (2 * 0.5 * 9.81)
    ours = simulation.q.ravel()
    assert ours[7] == pytest.approx(way, rel=2e-2) and abs(ours[0]) < 1e-6
    assert data.qpos[7] == pytest.approx(ours[7], rel=5e-2)


@pytest.mark.slow
def test_a_robot_stands_on_a_free_box_to_the_same_bits_anywhere() -> None:
    whole = tarsus.world("mini_cheetah", Box(edges=(1.0, 0.8, 0.1), mass=20.0), at=[(0, 0)])
    gait = Stand()
    alone = Simulation(whole, controller=gait)
    q = alone.q
    q[..., 2] += 0.1
    alone.set(q=q)
    log = alone.run(2.0)
    assert np.abs(log.u.values[-1]).max() < 1e-8
    legs = [c for c in log.contact.values if c.endswith("foot:box")]
    carried = log.force_contact.sel(contact=legs).values[-1, :, 0].sum()
    robot = tarsus.load("mini_cheetah")
    assert carried == pytest.approx(robot.mass * 9.81, rel=1e-6)
    # in a batch, on two threads
    many = Simulation(whole, controller=gait, worlds=5, threads=2)
    many.set(q=np.tile(q.reshape(1, -1), (5, 1)))
    many.set(u=[0.1, *[0.0] * 23], where=np.arange(5) == 2)
    many.advance(2.0)
    same = [(many.q[k] == alone.q.ravel()).all() for k in range(5)]
    assert same == [True, True, False, True, True]


@pytest.mark.slow
def test_a_trotting_robot_pushes_a_box() -> None:
    box = Box(edges=(0.2, 0.6, 0.12), mass=1.0)
    simulation = Simulation(tarsus.world("mini_cheetah", box, at=[(0.55, 0)]), controller="trot")
    log = simulation.run(3.0)
    assert log.q.values[-1, -7] > 0.8 and log.q.values[-1, 0] > 0.5, "both went on"
    assert (log.converged == 1).mean() > 0.999


def lamp(name: str, at: float, height: float = 0.2) -> str:
    """Foot of 5 kg with an arm of 1 kg, whose center is 0.2 m from a motorized joint."""
    return f"""<body name="{name}" pos="0 {at} {height}"><freejoint name="{name}_root"/>
    <geom name="{name}_foot" type="box" size=".3 .1 .05" mass="5"/>
    <body name="{name}_arm" pos="0 0 .1"><joint name="{name}_joint" axis="0 1 0"/>
    <inertial pos=".2 0 0" mass="1" diaginertia=".01 .02 .02"/></body></body>"""


def lamps(*bodies: str, more: str = "") -> Robot:
    motors = "".join(f'<motor joint="{b[12:13]}_joint"/>' for b in bodies)
    worldbody = f"<worldbody>{''.join(bodies)}</worldbody><actuator>{motors}</actuator>"
    return Robot.of(read_mjcf(f"<mujoco>{worldbody}{more}</mujoco>"))


def test_two_robots_behave_equally_from_one_or_two_files() -> None:
    """Each arm sags until its servo balances the weight, kp (0 - q) = -m g l cos q; the ground
    carries both.
    """
    kp, weight = 20.0, 1.0 * 9.81 * 0.2
    key = '<keyframe><key name="stand" qpos="0 0 .05 1 0 0 0 0 0 1 .05 1 0 0 0 0"/></keyframe>'
    one = lamps(lamp("a", 0.0), lamp("b", 1.0), more=key)
    two = tarsus.world(lamps(lamp("a", 0.0)), lamps(lamp("b", 0.0)), at=[(0, 1)])
    sag = brentq(lambda q: kp * q - weight * np.cos(q), 0, 1)
    for robot in (one, two):
        simulation = Simulation(robot, controller=Stand(kp=kp, kd=2.0))
        log = simulation.run(3.0)
        assert simulation.q[[7, 15]] == pytest.approx([sag, sag], abs=1e-6)
        pressing = log.force_contact.values[-1, :, 0].sum()
        assert pressing == pytest.approx(2 * 6 * 9.81, rel=1e-6)


def test_unsupported_features_of_a_second_robot_are_reported() -> None:
    """A gait by name has no servos for it, and nothing raises it out of the ground."""
    deep = lamps(lamp("a", 0.0), lamp("b", 1.0, 0.02))
    told = {notice.code: notice for notice in Simulation(deep, controller="stand").warnings}
    assert told["motors-without-torque"].subject == "b_joint"
    assert "b_foot_1 (by 30 mm)" in told["starts-in-ground"]
    free = Simulation(lamps(lamp("a", 0.0), lamp("b", 1.0))).warnings
    assert "starts-in-ground" not in {notice.code for notice in free}


def test_a_log_reports_its_own_initial_penetrations() -> None:
    """A ball 0.15 m above the center of another overlaps it; a hinge is beyond its limit."""
    arm = """<mujoco><worldbody><body pos="0 0 2"><joint name="j" axis="0 1 0" range="-30 30"/>
    <geom type="capsule" fromto="0 0 0 .2 0 0" size=".02"/></body></worldbody></mujoco>"""
    balls = Simulation(tarsus.world(Ball(), Ball(), at=[(0, 0, 0.15)]))
    hinge = Simulation(Robot.of(read_mjcf(arm)))
    told = "overlap when {} starts"
    assert told.format("the simulation") in balls.run(0.0025).warnings
    # elsewhere
    together, apart = balls.state(), balls.q
    apart[7:10] = [3.0, 0.0, 0.1]
    balls.set(q=apart)
    hinge.set(q=[1.0])
    assert "overlap" not in balls.run(0.0025).warnings
    assert "beyond their limits" in hinge.run(0.0025).warnings
    # in each other, some way off
    apart[7:10] = [0.0, 0.0, 0.25]
    balls.set(q=apart)
    again = balls.run(0.0025).warnings
    assert told.format("this run") in again and "the simulation starts" not in again
    # and as at the start
    balls.reset()
    hinge.reset()
    assert told.format("the simulation") in balls.run(0.0025).warnings
    assert "this run" not in " ".join(balls.warnings)
    assert "beyond their limits" not in hinge.run(0.0025).warnings
    # and where a state is put back
    balls.set(q=apart)
    away = balls.state()
    balls.reset()
    balls.restore(away)
    assert told.format("this run") in balls.run(0.0025).warnings
    balls.restore(together)
    again = balls.run(0.0025).warnings
    assert told.format("this run") in again and "the simulation starts" not in again


@pytest.mark.slow
def test_two_robots_stand_in_one_world() -> None:
    """Each as it does alone: the search for joints that dry friction locks is one per robot."""
    whole = tarsus.world("mini_cheetah", "mini_cheetah", at=[(1.0, 0.5, 0.0, np.pi / 2)])
    both, alone = (Simulation(robot, controller=Stand()) for robot in (whole, "mini_cheetah"))
    for simulation in (both, alone):
        simulation.advance(3.0)
        assert np.abs(simulation.u).max() < 1e-6
    heights = both.q[[2, 21]]
    np.testing.assert_allclose(heights, alone.q[2], atol=1e-6)
