"""Closed kinematic loops: four-bars against closed forms and MuJoCo, five-bar legs, open starts."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest
from helpers.refused import refused
from numpy.typing import NDArray
from scipy.special import ellipk

from tarsus import Simulation, impacts, load, summary
from tarsus.contact.laws.lcp_impulse import LcpImpulse
from tarsus.dynamics.robot import Robot
from tarsus.errors import InvalidModel, TarsusWarning, UnmetCondition, Unsupported
from tarsus.model.cut import change_coordinates
from tarsus.model.mechanism import Actuator, Body, Candidate, Inertia, Joint, LoopJoint, Mechanism
from tarsus.model.mjcf import read_mjcf
from tarsus.model.to_mjcf import to_mjcf
from tarsus.stepping.methods.event_driven import EventDriven
from tarsus.viewer.figure import run_figure

pytestmark = pytest.mark.slow  # the quick suite stays below fifteen minutes
Array = NDArray[np.float64]
Y = np.array([0.0, 1.0, 0.0])
G = 9.81
BAR, GROUND = 0.4, 0.6  # m: crank and rocker; coupler and the distance of the pivots
CRANK, COUPLER, ROCKER = 1.0, 2.0, 1.5  # kg


def rod(mass: float, along: Array) -> Inertia:
    """A thin rod from its frame's origin to `along` (3,)."""
    length2 = along @ along
    return Inertia(
        mass,
        along / 2,
        mass / 12 * (length2 * np.eye(3) - np.outer(along, along)) + 1e-6 * np.eye(3),
    )


def bar(name: str, parent: int, mass: float, along: Array, at: Array) -> Body:
    return Body(name, parent, Joint(f"{name}_joint", "hinge", Y), rod(mass, along), at)


def parallelogram(kind: str = "hinge") -> Mechanism:
    """Crank and rocker along x at zero, turning about y; the coupler is attached to the crank
    and stays level.
    """
    x = np.array([1.0, 0.0, 0.0])
    bodies = (
        bar("crank", -1, CRANK, BAR * x, np.zeros(3)),
        bar("coupler", 0, COUPLER, GROUND * x, BAR * x),
        bar("rocker", -1, ROCKER, BAR * x, GROUND * x),
    )
    loop = LoopJoint(Joint("pin", kind, Y), 2, 1, BAR * x, in_child=GROUND * x)  # type: ignore[arg-type]
    return Mechanism("parallelogram", bodies, loops=(loop,))


def test_a_parallelogram_rebounds_from_the_ground() -> None:
    """Its pin hits the ground under `event_driven`. One impulse reverses the whole linkage at
    half the speed; the loop stays closed to 6e-8 m, of second order in dt.
    """
    pin = Candidate("pin", 0, BAR * np.array([1.0, 0.0, 0.0]))
    lifted = tuple(
        replace(body, position=np.add(body.position, [0, 0, 0.3])) if body.parent < 0 else body
        for body in parallelogram().bodies
    )
    mechanism = replace(parallelogram(), bodies=lifted, candidates=(pin,))
    simulation = Simulation(mechanism, LcpImpulse(e_N=0.5), EventDriven(), dt=0.005)
    simulation.set(q=[0.0, 0.0, 0.0])
    log = simulation.run(0.5)
    table = impacts(log)
    assert table.sizes["impact"] >= 1 and log.converged.all()
    assert float(log.gap.min()) > -1e-9 and float(log.drift.max()) < 1e-6
    before, after = table.impact_u_before.values, table.impact_u_after.values
    np.testing.assert_allclose(after, -0.5 * before, atol=1e-9)
    np.testing.assert_allclose(table.impact_kinetic_after, table.impact_kinetic_before / 4)


def swing(
    mechanism: Mechanism, from_vertical: float, dt: float, seconds: float
) -> tuple[Array, Array, Simulation]:
    """Deviation of the crank from vertical and time, from rest."""
    simulation = Simulation(mechanism, dt=dt)
    angle = np.pi / 2 + from_vertical
    simulation.set(q=[angle, -angle, angle])
    log = simulation.run(seconds)
    assert float(log.equation_residual.max()) < 1e-9
    assert float(log.drift.max()) < 1e-12
    energy = (log.kinetic_energy + log.potential_energy).values
    assert np.abs(energy - log.energy_start.values).max() < 50 * dt**2 * G
    return log.q.values[:, 0] - np.pi / 2, log.time.values, simulation


@pytest.mark.parametrize("kind", ["hinge", "ball"])
def test_a_parallelogram_swings_like_its_equivalent_pendulum(kind: str) -> None:
    """The coupler only translates: I = (m1 + m3) l^2 / 3 + m2 l^2 about the pivots; three of a
    hinge's rows say what the others say.
    """
    inertia = (CRANK + ROCKER) * BAR**2 / 3 + COUPLER * BAR**2 + 2e-6
    moment = (CRANK + ROCKER) * G * BAR / 2 + COUPLER * G * BAR
    start = 1.0
    period = 4 * np.sqrt(inertia / moment) * ellipk(np.sin(start / 2) ** 2)
    errors = []
    for dt in (0.002, 0.001):
        angle, time, _ = swing(parallelogram(kind), start, dt, 3.0)
        down = np.flatnonzero((angle[:-1] > 0) & (angle[1:] <= 0))
        crossings = time[down] + dt * angle[down] / (angle[down] - angle[down + 1])
        measured = (crossings[-1] - crossings[0]) / (len(crossings) - 1)
        errors.append(abs(measured / period - 1))
    assert errors[0] < 1e-5
    assert 3.4 < errors[0] / errors[1] < 4.6  # second order, as the pendulum itself


FOUR_BAR = """<mujoco model="four-bar"><option timestep="0.0001" integrator="RK4"/>
<default><geom contype="0" conaffinity="0" type="capsule" size="0.02"/></default>
<worldbody>
  <body name="crank" pos="0 0 1"><joint name="crank" axis="0 1 0" damping="0.05" armature="0.01"/>
    <geom fromto="0 0 0 .1 0 .2"/>
    <body name="coupler" pos=".1 0 .2"><joint name="knee" axis="0 1 0"/>
      <geom fromto="0 0 0 .5 0 .1"/></body></body>
  <body name="rocker" pos=".55 0 1"><joint name="rocker" axis="0 1 0"/>
    <geom fromto="0 0 0 .05 0 .3"/></body>
</worldbody>
<equality><connect name="pin" body1="coupler" body2="rocker" anchor=".5 0 .1" {hard}/></equality>
</mujoco>"""

SPATIAL = """<mujoco model="RSSR"><option timestep="0.0001" integrator="RK4"/>
<default><geom contype="0" conaffinity="0" type="capsule" size="0.02"/></default>
<worldbody>
  <body name="crank" pos="0 0 1"><joint name="crank" axis="0 1 0"/><geom fromto="0 0 0 .1 0 .2"/>
    <body name="rod" pos=".1 0 .2"><joint name="ball" type="ball"/>
      <geom fromto="0 0 0 .3 .4 .1"/></body></body>
  <body name="rocker" pos=".4 .2 1"><joint name="rocker" axis="1 0 .2"/>
    <geom fromto="0 0 0 0 .2 .3"/></body>
</worldbody>
<equality><connect name="pin" body1="rod" body2="rocker" anchor=".3 .4 .1" {hard}/></equality>
</mujoco>"""
HARD = 'solref="0.0002 1" solimp="0.9999 0.9999 0.001 0.5 2"'


@pytest.mark.parametrize("text", [FOUR_BAR, SPATIAL], ids=["planar", "spatial"])
def test_loops_of_mjcf_files_move_as_in_mujoco(text: str) -> None:
    text = text.format(hard=HARD)
    mechanism = read_mjcf(text)
    assert [(loop.joint.name, loop.joint.kind) for loop in mechanism.loops] == [("pin", "ball")]
    assert any("pin" in note for note in mechanism.notes)
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    theirs = []
    for _ in range(4000):
        mujoco.mj_step(model, data)
        theirs.append(data.qpos.copy())
    coarse, fine = (Simulation(mechanism, dt=dt).run(0.4) for dt in (1e-4, 5e-5))
    ours = coarse.q.values, fine.q.values[1::2]
    errors = [np.abs(q - theirs).max() for q in ours]
    assert errors[0] < 2e-4 * np.ptp(ours[0][:, 0])
    assert 1.95 < errors[0] / errors[1] < 2.05  # first order, and nothing else:
    np.testing.assert_allclose(2 * ours[1] - ours[0], theirs, atol=1e-6)
    assert 3.8 < float(coarse.drift.max() / fine.drift.max()) < 4.2


def test_a_motor_may_sit_on_the_loop_joint() -> None:
    """The same four-bar opened at two joints; the motor's joint is once in the tree and once
    the loop joint.
    """
    x, up = np.array([1.0, 0.0, 0.0]), np.array([0.05, 0.0, 0.3])
    crank = bar("crank", -1, CRANK, np.array([0.1, 0, 0.2]), np.zeros(3))
    coupler = bar("coupler", 0, COUPLER, np.array([0.5, 0, 0.1]), np.array([0.1, 0, 0.2]))
    driven = Joint("driven", "hinge", Y, armature=0.02, damping=0.1, dry_friction=0.05)
    motor = (Actuator("motor", "driven", -5.0, 5.0),)
    rocker = Body("rocker", -1, driven, rod(ROCKER, up), 0.55 * x)
    pin = LoopJoint(Joint("pin", "hinge", Y), 2, 1, up, in_child=np.array([0.5, 0, 0.1]))
    opened_at_pin = Mechanism(
        "four_bar", (crank, coupler, rocker), (), actuators=motor, loops=(pin,)
    )
    hung = Body(
        "rocker", 1, Joint("pin", "hinge", -Y), rod(ROCKER, up), np.array([0.5, 0, 0.1]) - up
    )
    hung = replace(
        hung,
        position=np.array([0.5, 0, 0.1]),
        inertia=Inertia(ROCKER, -up / 2, rod(ROCKER, up).about_com),
    )
    close = LoopJoint(driven, -1, 2, 0.55 * x, in_child=-up)
    opened_at_motor = Mechanism(
        "four_bar", (crank, coupler, hung), (), actuators=motor, loops=(close,)
    )

    moved = []
    for dt in (4e-4, 2e-4):
        logs = []
        for mechanism in (opened_at_pin, opened_at_motor):
            simulation = Simulation(mechanism, dt=dt, stiction=False)
            simulation.step([4.0])  # N m, held
            logs.append(simulation.run(0.4))
        moved.append([log.q.values[:, :2] for log in logs])
    coarse, fine = moved
    assert np.ptp(fine[0][:, 0]) > 0.3
    apart = [np.abs(a - b).max() for a, b in moved]
    assert (
        1.8 < apart[0] / apart[1] < 2.2
    )  # the motor's damping is of first order, and nothing else:
    limits = [2 * b[1::2] - a for a, b in zip(coarse, fine, strict=True)]
    np.testing.assert_allclose(*limits, atol=2e-5)
    for log in logs:
        assert abs(float(log.energy_motors.sum())) > 0.1
        shares = sum(float(log[f"energy_{share}"].sum()) for share in ("motors", "joints", "drift"))
        change = float(log.kinetic_energy[-1] + log.potential_energy[-1] - log.energy_start)
        assert abs(shares - change) < 1e-10


UPPER, LOWER, ANGLE = 0.1, 0.2, 1.0  # m, m, rad
BASE, M_UPPER, M_LOWER = 5.0, 0.1, 0.05  # kg


def quadruped() -> Mechanism:
    """A box on four five-bar legs: two motors on one axis at the hip, two links each, joined at the
    foot.
    """
    bodies = [
        Body(
            "base",
            -1,
            Joint("base", "free"),
            Inertia(BASE, np.zeros(3), np.diag([0.03, 0.06, 0.08])),
        )
    ]
    loops, motors, feet, stand = [], [], [], [0, 0, 0.3, 1, 0, 0, 0]
    reach = np.arcsin(UPPER * np.sin(ANGLE) / LOWER)
    for leg, (x, y) in {
        "FR": (0.2, -0.15),
        "FL": (0.2, 0.15),
        "HR": (-0.2, -0.15),
        "HL": (-0.2, 0.15),
    }.items():
        lowers = []
        for side, sign in (("front", -1.0), ("back", 1.0)):
            name = f"{leg}_{side}"
            bodies.append(
                bar(f"{name}_upper", 0, M_UPPER, np.array([0, 0, -UPPER]), np.array([x, y, 0]))
            )
            bodies.append(
                bar(
                    f"{name}_lower",
                    len(bodies) - 1,
                    M_LOWER,
                    np.array([0, 0, -LOWER]),
                    np.array([0, 0, -UPPER]),
                )
            )
            lowers.append(len(bodies) - 1)
            motors.append(Actuator(f"{name}_motor", f"{name}_upper_joint", -6.0, 6.0))
            stand += [sign * ANGLE, -sign * (ANGLE + reach)]
        end = np.array([0, 0, -LOWER])
        loops.append(
            LoopJoint(Joint(f"{leg}_ankle", "hinge", Y), lowers[0], lowers[1], end, in_child=end)
        )
        feet.append(Candidate(f"{leg}_foot", lowers[0], end, 0.01))
    names = {
        "bodies": tuple(bodies),
        "candidates": tuple(feet),
        "actuators": tuple(motors),
        "loops": tuple(loops),
    }
    return Mechanism("five_bars", keyframes={"stand": np.array(stand)}, **names)


def hold(t: float, q: Array, u: Array) -> Array:
    """Springs and dampers on the motors."""
    wanted = np.tile([-ANGLE, ANGLE], 4)
    return 12.0 * (wanted - q[7::2]) - 0.6 * u[6::2]


def lifting_torque(angle: float) -> float:
    """dV/dα / 8 of the robot that stands with its upper links at angle α from vertical, N m, by
    virtual work.
    """

    def potential(a: float) -> float:
        r = UPPER * np.cos(a) + np.sqrt(LOWER**2 - (UPPER * np.sin(a)) ** 2)
        links = (
            8 * M_UPPER * (r - UPPER / 2 * np.cos(a)) + 8 * M_LOWER * (r - UPPER * np.cos(a)) / 2
        )
        return G * (BASE * r + links)

    return (potential(angle + 1e-5) - potential(angle - 1e-5)) / 2e-5 / 8


@pytest.mark.parametrize(
    ("law", "dt"),
    [("moreau", 0.001), pytest.param("compliant", 0.00025, marks=pytest.mark.slow)],
)
def test_a_robot_on_five_bar_legs_stands_by_virtual_work(law: str, dt: float) -> None:
    mechanism = quadruped()
    simulation = Simulation(mechanism, law=law, controller=hold, dt=dt)
    log = simulation.run(2.0)
    weight = mechanism.mass * G
    assert abs(float(log.force_contact.values[-1, :, 0].sum()) - weight) < 1e-3 * weight
    alpha = log.q.values[-1, 9]
    assert 0.05 < alpha - ANGLE < 0.4  # it gave way
    np.testing.assert_allclose(np.abs(log.tau.values[-1]), -lifting_torque(alpha), rtol=2e-3)
    assert float(log.drift.max()) < 1e-4
    assert float(log.equation_residual.max()) < 1e-8
    pins = log.force_constraint.sel(constraint="FR_ankle.z").values
    assert abs(pins[-1]) > 0.2 * weight / 4  # the back half of the leg carries its part
    numbers = summary(simulation, log)
    assert numbers["drift_max"] == float(log.drift.max())
    assert not numbers["fell"]
    assert run_figure(log, "five bars").axes


@pytest.mark.parametrize("which", ["extended", "maximal"])
def test_robots_with_loops_can_have_cut_joints(which: str) -> None:
    apart, robot = [], Robot.of(read_mjcf(FOUR_BAR.format(hard=HARD)))
    for dt in (1e-4, 5e-5):
        ends = []
        for chosen in ("minimal", which):
            simulation = Simulation(robot, dt=dt, coordinates=chosen, stabilization=0.2)
            simulation.advance(0.3)
            ends.append(simulation.uncut_state[0])
            assert np.abs(robot.loop_gaps(ends[-1])).max() < 1e-6
        assert np.ptp(ends[0]) > 0.5
        apart.append(np.abs(ends[0] - ends[1]).max())
    assert apart[0] < 1e-4
    assert 1.9 < apart[0] / apart[1] < 2.1


@pytest.mark.slow
def test_uncut_states_can_be_set_and_read_in_a_thousand_worlds() -> None:
    robot, random = load("mini_cheetah"), np.random.default_rng(0)
    simulation = Simulation(robot, coordinates=["FR_knee_joint", "HL_hip_joint"], worlds=1000)
    q = np.tile(robot.keyframes["stand"], (1000, 1)) + random.normal(scale=0.1, size=(1000, 19))
    q[:, 3:7] /= np.linalg.norm(q[:, 3:7], axis=1, keepdims=True)
    u = random.normal(size=(1000, 18))
    simulation.set(q=q, u=u)
    for got, wanted in zip(simulation.uncut_state, (q, u), strict=True):
        np.testing.assert_allclose(got, wanted, atol=1e-12)
    some = np.arange(1000) < 10
    simulation.set(u=np.zeros(18), where=some)
    assert np.abs(simulation.uncut_state[1][:10]).max() < 1e-14
    np.testing.assert_allclose(simulation.uncut_state[1][10:], u[10:], atol=1e-12)
    np.testing.assert_allclose(simulation.uncut_state[0], q, atol=1e-12)
    feet = [robot.position(q[3], f"{leg}_foot") for leg in ("FR", "HL")]
    cut = Robot.of(simulation.plan.scene.mechanism)
    np.testing.assert_allclose(
        [cut.position(simulation.q[3], f"{leg}_foot") for leg in ("FR", "HL")], feet, atol=1e-12
    )


@pytest.mark.slow
def test_cut_joints_are_visible_to_controllers_and_logged() -> None:
    robot, seen = load("mini_cheetah"), []

    def servo(t: float, q: Array, u: Array) -> Array:
        seen.append((q.shape, u.shape))
        return 100 * (robot.keyframes["stand"][7:] - q[7:]) - 2 * u[6:]

    knee = "FR_knee_joint"
    simulation = Simulation(robot, controller=servo, coordinates=[knee], stiction=False)
    log = simulation.run(0.5)
    assert set(seen) == {((19,), (18,))}
    assert log.q_uncut.shape == (200, 19)
    assert list(log.constraint.values) == [
        f"{knee}.{end}" for end in ("x", "y", "z", "turn1", "turn2")
    ]
    shank = robot.bodies[robot.joint_index(knee)].inertia.mass
    held = float(log.force_constraint.sel(constraint=f"{knee}.z")[-1])
    ground = float(log.force_world.sel(contact="FR_foot", xyz="z")[-1])
    assert held == pytest.approx(shank * G - ground, abs=0.05)  # on the shank, which stands still
    assert log.drift.attrs["units"]
    assert 0 < float(log.drift.max()) < 1e-3
    reference = Simulation(robot, controller=servo, stiction=False)
    reference.run(0.5)
    np.testing.assert_allclose(simulation.uncut_state[0], reference.q, atol=2e-4)


def test_an_open_loop_is_closed_at_the_start_with_a_note() -> None:
    mechanism = quadruped()
    open_q = mechanism.keyframes["stand"].copy()
    open_q[8] += 0.1
    simulation = Simulation(replace(mechanism, keyframes={"stand": open_q}), controller=hold)
    q = simulation.q
    assert np.abs(simulation.robot.loop_gaps(q)).max() < 1e-12
    assert np.abs(q[7:] - open_q[7:]).max() < 0.1
    (notice,) = (n for n in simulation.warnings if n.code == "loops-closed")
    assert "FR_ankle" in notice.subject and "0.0177 m" in notice
    with pytest.warns(TarsusWarning) as told:
        simulation.set(q=np.concatenate([q[:8], q[8:9] + 0.1, q[9:]]))
    (warning,) = (w.message for w in told if isinstance(w.message, TarsusWarning))
    assert warning.code == "loop-open" and "FR_ankle" in warning.subject


def test_loops_that_cannot_close_are_rejected_with_the_gap() -> None:
    mechanism = parallelogram()
    far = replace(mechanism.loops[0], position=np.array([5.0, 0, 0]))
    with refused(UnmetCondition, "pin") as caught:
        Simulation(replace(mechanism, loops=(far,)))
    assert 3 <= float(re.findall(r"\d+\.\d+", str(caught.value))[0]) < 5
    backwards = replace(mechanism.loops[0], rotation=np.diag([1.0, -1.0, -1.0]))
    with refused(UnmetCondition, "pin"):
        Simulation(replace(mechanism, loops=(backwards,)))


def test_newton_closes_loops_at_the_nearest_coordinates() -> None:
    robot = Robot.of(parallelogram())
    angle = np.pi / 2 + 0.3 * np.array([0.0, 1.0, 2.0])
    q = np.stack([angle, -angle, angle], 1)
    np.testing.assert_allclose(robot.close_loops(q), q, atol=1e-12)
    moved = robot.close_loops(q + np.array([[0.1, -0.05, 0.02]]))
    assert np.abs(robot.loop_gaps(moved)).max() < 1e-12
    assert (np.linalg.norm(moved - q, axis=1) < 0.1).all()


def test_a_machine_on_a_stand_needs_no_contact_candidate_but_a_floating_one_does() -> None:
    simulation = Simulation(parallelogram(), worlds=3)
    simulation.advance(0.01)
    assert simulation.contact_force.shape == (3, 0, 3)
    for none in ([], "all"):  # of those that there are
        assert Simulation(parallelogram(), contacts=none).contact_force.shape == (0, 3)
    falling = replace(quadruped(), candidates=())
    with refused(InvalidModel, falling.name):
        Simulation(falling)


@pytest.mark.parametrize("kind", ["hinge", "ball"])
def test_loops_round_trip_through_mjcf(kind: str) -> None:
    mechanism = parallelogram(kind)
    text = to_mjcf(mechanism, dt=1e-4, integrator="RK4")
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    angle = np.pi / 2 + 1.0
    data.qpos[:] = angle, -angle, angle
    for _ in range(5000):
        mujoco.mj_step(model, data)
    again = read_mjcf(to_mjcf(read_mjcf(text)))
    assert len(again.loops) == {"hinge": 2, "ball": 1}[kind]
    for each in (mechanism, again):
        last = swing(each, 1.0, 1e-4, 0.5)[0][-1]
        assert abs(last + np.pi / 2 - data.qpos[0]) < 1e-6


def test_loops_that_mjcf_cannot_represent_are_rejected() -> None:
    with refused(Unsupported, "pin"):
        to_mjcf(parallelogram("slide"))
    pin = parallelogram().loops[0]
    with refused(Unsupported, "pin"):
        to_mjcf(
            replace(parallelogram(), loops=(replace(pin, joint=replace(pin.joint, damping=1.0)),))
        )
    with pytest.raises(Unsupported, match="original mechanism"):
        to_mjcf(change_coordinates(load("mini_cheetah"), "extended"))


def test_a_file_with_a_connect_runs_from_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from tarsus.commands.run import Run

    path = tmp_path / "robot.xml"
    path.write_text(to_mjcf(read_mjcf(FOUR_BAR.format(hard=HARD))))
    assert Run(robot=str(path), duration=0.3, out=tmp_path).execute() == 0
    told = capsys.readouterr().out
    assert "largest gap of a loop joint" in told
    assert (tmp_path / "four-bar.nc").exists()
    assert "pin (ball, coupler to rocker)" in load(str(path)).describe()


@pytest.mark.slow
def test_rotors_of_loop_joints_have_their_energy_and_the_ledger_closes() -> None:
    """The same state has the same kinetic energy in every set of coordinates, rotors included."""
    robot = load("mini_cheetah")
    u = np.random.default_rng(1).normal(size=18)
    energies = []
    for joints in ([], ["FR_knee_joint", "HL_hip_joint"]):
        simulation = Simulation(robot, coordinates=joints, controller="stand")
        q = simulation.uncut_state[0]
        simulation.set(q=q, u=u)
        cut = Robot.of(simulation.plan.scene.mechanism)
        energies.append(float(cut.kinetic_energy(simulation.q, simulation.u)))
        log = simulation.run(0.1)
        balance = summary(simulation, log)["energy"]
        assert balance["unbalanced"] < 1e-10
        assert float(log.equation_residual.max()) < 1e-8
    assert energies[1] == pytest.approx(energies[0], rel=1e-12)
    assert energies[0] == pytest.approx(float(robot.kinetic_energy(q, u)), rel=1e-12)


def test_a_ball_with_damping_cannot_close_a_loop() -> None:
    with refused(Unsupported, "b"):
        LoopJoint(Joint("b", "ball", damping=0.1), 0, 1, np.zeros(3))


def stopped(at: float, which: str) -> Mechanism:
    """The parallelogram whose crank, or pin, stops where the crank has turned by `at`, rad."""
    whole = parallelogram()
    if which == "pin":  # turns back as the rocker turns: the coupler stays level
        (loop,) = whole.loops
        held = replace(loop, joint=replace(loop.joint, lower=-at))
        return replace(whole, loops=(held,))
    crank = whole.bodies[0]
    held_body = replace(crank, joint=replace(crank.joint, upper=at))
    return replace(whole, bodies=(held_body, *whole.bodies[1:]))


STOP = 1.0  # rad


@pytest.mark.parametrize("law", ["moreau", "compliant"])
def test_a_four_bar_hangs_on_the_limit_of_the_joint_that_closes_it(law: str) -> None:
    """At rest the moment of the limit balances the weight, by virtual work; during the fall
    energy decreases by the loss at the limit; both are logged.
    """
    simulation = Simulation(stopped(STOP, "pin"), law, dt=0.001)
    simulation.set(q=[0.6, -0.6, 0.6])
    log = simulation.run(1.0)
    weight = ((CRANK + ROCKER) / 2 + COUPLER) * G * BAR * np.cos(STOP)
    assert log.force_loop_limit.values[-1, 0] == pytest.approx(weight, rel=1e-9)
    assert log.loop_joint.values.tolist() == ["pin"] and not log.force_limit.values.any()
    assert np.abs(log.q.values[-1] - [STOP, -STOP, STOP]).max() < 1e-6
    assert log.q.values[:, 0].max() < STOP + 1e-5 and np.abs(log.u.values[-1]).max() < 1e-9
    fallen = ((CRANK + ROCKER) / 2 + COUPLER) * G * BAR * (np.sin(STOP) - np.sin(0.6))
    assert float(log.energy_limits.sum()) == pytest.approx(-fallen, rel=2e-3)
    assert float(log.equation_residual.max()) < 1e-6 and log.converged.all()


def test_loop_joints_rebound_at_limits_like_tree_joints() -> None:
    """The same limit in the tree and in the loop gives the same motion, to the order of the
    step.
    """
    ends = []
    for which in ("crank", "pin"):
        simulation = Simulation(stopped(STOP, which), dt=0.0005, bounce=0.5)
        simulation.set(q=[0.6, -0.6, 0.6])
        ends.append(simulation.run(0.5).q.values[:, 0])
    assert np.abs(ends[0] - ends[1]).max() < 2e-3
    assert ends[0].max() < STOP + 1e-4 and (np.diff(ends[0]) < 0).any()


def test_a_cut_joint_keeps_its_limits() -> None:
    """An arm on its stop, in minimal and in maximal coordinates: the same moment; also iterated."""
    hinge = Joint("hinge", "hinge", Y, upper=0.3)
    arm = Mechanism("arm", (Body("arm", -1, hinge, rod(1.0, BAR * np.eye(3)[0])),))
    moment = G * BAR / 2 * np.cos(0.3)
    for options in ({}, {"coordinates": "maximal"}):
        simulation = Simulation(Robot.of(arm), dt=0.001, **options)  # type: ignore[arg-type]
        log = simulation.run(1.0)
        force = log.force_loop_limit if options else log.force_limit
        assert force.values[-1, 0] == pytest.approx(-moment, rel=1e-8)
        q = log.q_uncut if options else log.q
        assert q.values[-1, 0] == pytest.approx(0.3, abs=1e-7)


def test_ranges_of_a_full_turn_are_reported() -> None:
    whole = stopped(STOP, "pin")
    wide = replace(whole.loops[0].joint, lower=-4.0, upper=4.0)
    notices = Simulation(replace(whole, loops=(replace(whole.loops[0], joint=wide),))).warnings
    assert ("loop-limits-ignored", "pin") in {(n.code, n.subject) for n in notices}


@pytest.mark.parametrize("turned", [False, True])
def test_a_connect_at_a_hinge_changes_nothing(turned: bool) -> None:
    """Its constraints duplicate those of the hinge: all rows are zero, exactly or to round-off."""
    turns = 'euler="10 20 30"' if turned else ""
    text = f"""<mujoco><worldbody><body name="a" pos=".1 0 1" {turns}>
    <joint axis="0 1 0"/><geom type="capsule" fromto="0 0 0 0 0 .2" size=".02"/>
    <body name="b" pos="0 0 .2" {turns}><joint axis="0 1 0" pos=".01 .02 .03"/>
    <geom type="capsule" fromto="0 0 0 .4 0 0" size=".02"/></body></body></worldbody>
    <equality>%s</equality></mujoco>"""
    ends = []
    for equality in ("", '<connect body1="b" body2="a" anchor=".01 .02 .03"/>'):
        simulation = Simulation(Robot.of(read_mjcf(text % equality)))
        simulation.advance(0.3)
        ends.append(simulation.q)
    assert np.abs(ends[0]).max() > 0.5 and np.abs(ends[0] - ends[1]).max() < 1e-9
