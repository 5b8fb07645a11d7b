"""Coupled joints and welds: closed forms, conservation, MuJoCo, exports.

Equations as in `tarsus.dynamics.joint_couplings` and `loop_constraints`.
"""

from __future__ import annotations

import importlib
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from helpers.patched_code import forget_programs
from helpers.refused import refused
from helpers.warned import warned
from numpy.typing import NDArray

from tarsus import Simulation, registry
from tarsus.collision import shared_body
from tarsus.contact.laws.moreau import Moreau
from tarsus.dynamics.robot import Robot
from tarsus.errors import InvalidFile, InvalidModel, TarsusError, TarsusWarning, Unsupported
from tarsus.model.check import check
from tarsus.model.joint_coupling import JointCoupling, Leader
from tarsus.model.mechanism import Mechanism
from tarsus.model.mjcf import read_mjcf
from tarsus.model.to_mjcf import to_mjcf
from tarsus.model.to_urdf import to_urdf
from tarsus.model.urdf import read_urdf

mujoco: Any = importlib.import_module("mujoco")
Array = NDArray[np.float64]
RATIO, TORQUE = -2.0, 0.7  # of the gear [1]; N m on the leader
I_A, I_B = 0.07, 0.03  # kg m^2, about the joints
GEAR = """<mujoco model="gear"><option gravity="0 0 {g}"/><worldbody>
<body name="a" pos="0 0 1"><joint name="ja" axis="0 1 0" {a}/>
<inertial pos="{c} 0 0" mass="1" diaginertia=".05 {ia} .05"/></body>
<body name="b" pos="1 0 1"><joint name="jb" axis="0 1 0" {b}/>
<inertial pos="{c} 0 0" mass=".5" diaginertia=".02 {ib} .02"/></body>
</worldbody><equality><joint name="gear" joint1="jb" joint2="ja" polycoef="{p}"/></equality>
<actuator><motor joint="ja"/></actuator></mujoco>"""


def robot(text: str) -> Robot:
    return Robot.of(read_mjcf(text))


def gear(p: str, g: float = 0.0, c: float = 0.0, a: str = "", b: str = "") -> Robot:
    """Two bodies, the second's joint coupled to the first's; `c` is the center of mass off the
    joints, m.
    """
    numbers = {"ia": I_A - c * c, "ib": I_B - c * c / 2}
    return robot(GEAR.format(g=g, c=c, a=a, b=b, p=p, **numbers))


@pytest.mark.parametrize("stepper", ["midpoint", "symplectic_euler", "event_driven"])
def test_a_gear_turns_as_one_body_of_both_inertias(stepper: str) -> None:
    """I = I_a + n^2 I_b, and the constraint's moment is what the follower needs, I_b n a."""
    made = Simulation(
        gear(f"0 {RATIO} 0 0 0"), stepper=stepper, dt=1e-3, controller=lambda t, q, u: [TORQUE]
    )
    log = made.run(0.5)
    speed_up = TORQUE / (I_A + RATIO**2 * I_B)
    assert np.allclose(log.u.values[:, 0], speed_up * log.time.values, rtol=1e-9)
    assert np.abs(log.q.values[:, 1] - RATIO * log.q.values[:, 0]).max() < 1e-11
    assert list(log.constraint.values) == ["gear.follow"]
    assert np.allclose(log.force_constraint.values, I_B * RATIO * speed_up, rtol=1e-9)
    assert int((log.converged == 0).sum()) == 0
    if stepper != "event_driven":  # it has no one balance of momentum
        assert float(log.equation_residual.max()) < 1e-10


def test_a_geared_pendulum_keeps_its_energy_and_a_ratio_does_not_drift() -> None:
    """Ten seconds under gravity; the error of energy is of second order in dt."""
    lost = []
    for dt in (2e-3, 1e-3):
        made = Simulation(gear(f"0.3 {RATIO} 0 0 0", g=-9.81, c=0.15), dt=dt)
        log = made.run(10.0)
        assert float(log.drift.max()) < 1e-11
        energy = (log.kinetic_energy + log.potential_energy).values
        lost.append(float(np.abs(energy - log.energy_start.values).max()))
        assert np.abs(log.energy_joints.values).max() < 1e-4
    assert lost[1] < 1e-4 and 3 < lost[0] / lost[1] < 5


@pytest.mark.parametrize("controller", [None, "stand"])
def test_couplings_with_an_offset_hold_initially_without_a_warning(controller: Any) -> None:
    """y = 0.3 - 2 x at x = 0: no other y was requested."""
    made = Simulation(gear("0.3 -2 0 0 0"), controller=controller)
    assert made.q.tolist() == [0.0, 0.3]
    assert not {"loops-closed", "mimic-joint-moved"} & {notice.code for notice in made.warnings}


def test_keyframes_that_violate_a_coupling_are_reported() -> None:
    other = replace(gear("0.3 -2 0 0 0"), keyframes={"home": np.array([0.1, 0.1])})
    made = Simulation(other, controller=None)
    assert np.allclose(made.q, [0.1, 0.1])
    assert "mimic-joint-moved" not in {notice.code for notice in made.warnings}
    made = Simulation(replace(other, keyframes={"home": np.array([0.1, 0.2])}))
    (notice,) = (n for n in made.warnings if n.code == "mimic-joint-moved")
    assert notice.subject == "jb" and "0.1 rad, not at 0.2 rad" in notice


def test_polynomial_couplings_do_not_drift() -> None:
    """y = 0.1 - x + 0.4 x^2 + 0.1 x^4: gaps of second order, no larger after ten times as long."""
    gaps = []
    for dt, seconds in ((2e-3, 2.0), (1e-3, 2.0), (1e-3, 20.0)):
        made = Simulation(gear("0.1 -1 0.4 0 0.1", g=-9.81, c=0.15), dt=dt)
        log = made.run(seconds)
        x, y = log.q.values.T
        assert np.abs(y - (0.1 - x + 0.4 * x**2 + 0.1 * x**4)).max() == pytest.approx(
            float(log.drift.max()), rel=1e-6
        )
        energy = (log.kinetic_energy + log.potential_energy).values
        assert np.abs(energy - log.energy_start.values).max() < 200 * dt**2
        gaps.append(float(log.drift.max()))
    assert 3.4 < gaps[0] / gaps[1] < 4.6 and gaps[1] < 1e-4
    assert gaps[2] < 1.2 * gaps[1]


def test_fixed_couplings_hold_a_joint_at_their_offset() -> None:
    model = gear("0 1 0 0 0", g=-9.81, c=0.15)
    held = replace(model, couplings=(JointCoupling("hold", "jb", 0.4),))
    made = Simulation(held, dt=1e-3)
    assert made.q[1] == 0.4
    log = made.run(1.0)
    assert np.abs(log.q.values[:, 1] - 0.4).max() < 1e-12
    weight = -0.5 * 9.81 * 0.15 * np.cos(0.4)  # turns it to positive angles
    assert np.allclose(log.force_constraint.values, weight, rtol=1e-9)


QUICK = ("moreau", "compliant", "lcp_impulse", "micro_macro")
LAWS = [
    pytest.param(name, marks=() if name in QUICK else pytest.mark.slow)
    for name in registry.names("tarsus.contact.laws")
]


@pytest.mark.parametrize("law", LAWS)
def test_a_foot_on_a_geared_leg_stands_under_every_law(law: str) -> None:
    """A leg whose knee is coupled to its hip presses on the ground by its weight: the ground
    force follows from virtual work under every law.
    """
    leg = robot(LEG)
    dt = 1e-3 if law == "moreau" else 2e-4
    made = Simulation(leg, law, dt=dt, controller=lambda t, q, u: [0.0])
    made.set(q=[0.6, -1.2])
    made.advance(3.0)
    log = made.run(dt)
    q, along = log.q.values[-1], np.array([1.0, -2.0])
    assert np.abs(made.u).max() < 1e-3 and abs(q[1] + 2 * q[0]) < 1e-9
    bears = log.force_world.values[-1, 0] @ leg.jacobian(q, "foot")[:3] @ along
    assert bears == pytest.approx(leg.gravity(q) @ along, rel=1e-3)


LEG = """<mujoco><worldbody><body name="thigh" pos="0 0 .75"><joint name="hip" axis="0 1 0"/>
<inertial pos="0 0 -.2" mass="2" diaginertia=".03 .03 .001"/>
<body name="shank" pos="0 0 -.4"><joint name="knee" axis="0 1 0" damping="1"/>
<inertial pos="0 0 -.2" mass="1" diaginertia=".015 .015 .001"/>
<geom name="foot" type="sphere" size=".0001" pos="0 0 -.4" mass="0"/></body></body></worldbody>
<equality><joint joint1="knee" joint2="hip" polycoef="0 -2 0 0 0"/></equality>
<actuator><motor joint="hip"/></actuator></mujoco>"""


def test_limits_and_friction_act_on_coupled_joints() -> None:
    """The limit of the follower stops both; dry friction of both adds up through the gear ratio."""
    held = gear(f"0 {RATIO} 0 0 0", b='range="-57.3 57.3" limited="true"')
    made = Simulation(held, dt=1e-3, controller=lambda t, q, u: [TORQUE])
    log = made.run(1.0)
    end = np.deg2rad(57.3)
    assert log.q.values[-1] == pytest.approx([end / -RATIO, -end], abs=1e-8)
    assert log.force_limit.values[-1, 1] == pytest.approx(TORQUE / -RATIO, rel=1e-6)
    rubbing = gear(f"0 {RATIO} 0 0 0", a='frictionloss="0.2"', b='frictionloss="0.3"')
    for torque, moves in ((0.79, False), (0.81, True)):  # 0.2 + 2 * 0.3
        log = Simulation(rubbing, dt=1e-3, controller=lambda t, q, u, m=torque: [m]).run(0.1)
        assert bool(np.abs(log.u.values).max() > 1e-4) is moves
        assert int((log.converged == 0).sum()) == 0
    a = (1.3 - 0.8) / (I_A + RATIO**2 * I_B)
    log = Simulation(rubbing, dt=1e-3, controller=lambda t, q, u: [1.3]).run(0.1)
    assert log.u.values[-1, 0] == pytest.approx(0.1 * a, rel=1e-6)


# ---------------------------------------------------------------- MuJoCo

WELDED = """<mujoco model="welded"><option gravity="0 0 -9.81"/><worldbody>
<body name="a" pos="0 0 1" euler="0 20 0"><joint name="ja" axis="0 1 0" pos=".05 0 0"/>
<inertial pos=".2 0 0" mass="1" diaginertia=".02 .03 .04"/>
<body name="b" pos=".4 0 0" euler="10 0 30"><joint name="jb" axis="0 0 1"/>
<inertial pos=".1 .02 0" mass=".5" diaginertia=".01 .02 .02"/></body></body>
<body name="c" pos=".5 .1 1.1" euler="0 40 15"><freejoint name="free"/>
<inertial pos="0 0 .1" mass=".7" diaginertia=".01 .02 .015"/><geom size=".01"/></body>
</worldbody><equality>{e}</equality></mujoco>"""
FIRM = 'solref=".0004 1" solimp=".9999 .9999 .001 .5 2"'
EQUALITIES = {
    "weld": f'<weld body1="b" body2="c" anchor=".02 .03 .01" {FIRM}/>',
    "weld the other way": f'<weld body1="c" body2="b" {FIRM}/>',
    "weld and gear": f'<weld body1="b" body2="c" {FIRM}/><joint joint1="jb" joint2="ja"'
    f' polycoef="0 .7 -.2 0 0" {FIRM}/>',
    "connect": f'<connect body1="b" body2="c" anchor=".2 0 0" {FIRM}/>',
}


def in_mujoco(text: str, q: Array, dt: float, steps: int) -> Array:
    """Final qpos in MuJoCo, from rest."""
    model: Any = mujoco.MjModel.from_xml_string(text)
    model.opt.timestep, model.opt.integrator = dt, mujoco.mjtIntegrator.mjINT_RK4
    data = mujoco.MjData(model)
    data.qpos[:] = q
    for _ in range(steps):
        mujoco.mj_step(model, data)
    return np.array(data.qpos)


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(kind, marks=() if kind == "weld and gear" else pytest.mark.slow)
        for kind in EQUALITIES
    ],
)
def test_equalities_move_as_in_mujoco(kind: str) -> None:
    """MuJoCo has its hardest constraints. The difference is of first order in dt, or smaller,
    until its softness dominates.
    """
    text = WELDED.format(e=EQUALITIES[kind])
    mechanism = robot(text)
    there = in_mujoco(text, np.array(mechanism.keyframes["qpos0"]), 2e-4, 1500)
    off = []
    for dt in (2e-3, 1e-3):
        made = Simulation(mechanism, dt=dt)
        made.set(q=mechanism.keyframes["qpos0"])
        log = made.run(0.3)
        assert float(log.drift.max()) < 10 * dt**2 and float(log.equation_residual.max()) < 1e-8
        q = log.q.values[-1]
        off.append(float(np.abs(q - there).max()))
    assert off[0] < 4e-3 and off[1] < max(0.6 * off[0], 3e-4), off


def test_a_weld_merges_two_bodies() -> None:
    """In flight: the energy and momentum of the whole, and the pose of one in the other, stay."""
    text = WELDED.replace('<joint name="ja" axis="0 1 0" pos=".05 0 0"/>', "<freejoint/>")
    text = text.replace('<joint name="jb" axis="0 0 1"/>', "").replace("-9.81", "0")
    whole = robot(text.format(e='<weld body1="a" body2="c"/>'))
    made = Simulation(whole, dt=1e-3)
    u = np.concatenate([[0.1, 0.2, 0.3, 1.0, -2.0, 1.5], np.zeros(6)])
    made.set(q=whole.keyframes["qpos0"], u=u)
    made.step()  # one body from here on; half this step, c still stood
    made.set(q=whole.close_loops(made.q), u=made.u)
    before, start = whole.momentum(made.q, made.u), whole.kinetic_energy(made.q, made.u)
    log = made.run(2.0)
    # the stepper keeps momentum to first order in dt, and the gaps to second
    np.testing.assert_allclose(whole.momentum(made.q, made.u), before, atol=made.dt)
    assert np.abs(log.kinetic_energy.values - start).max() < made.dt * start
    assert float(log.drift.max()) < 1e-5
    assert np.abs(whole.loop_gaps(made.q)).max() < 1e-5


def test_a_weld_to_the_world_holds_the_weight() -> None:
    """Six rows: forces sum to the weight, moments about the anchor to its moment."""
    text = """<mujoco><worldbody><body name="c" pos="0 0 1"><freejoint/>
    <inertial pos=".1 0 0" mass="2" diaginertia=".01 .02 .015"/><geom size=".01"/></body>
    </worldbody>
    <equality><weld body1="c" name="w"/></equality></mujoco>"""
    made = Simulation(robot(text), dt=1e-3)
    log = made.run(1.0)
    force = log.force_constraint.values[-1]
    assert np.abs(log.u.values).max() < 1e-11 and len(force) == 6
    np.testing.assert_allclose(force[:3], [0, 0, 2 * 9.81], atol=1e-9)
    assert np.abs(force[3:]).max() == pytest.approx(2 * 9.81 * 0.1, rel=1e-9)


# ---------------------------------------------------------------- files


URDF = """<robot name="hand"><link name="palm"><inertial><mass value="1"/>
<inertia ixx=".01" iyy=".01" izz=".01"/></inertial></link>
{links}{joints}</robot>"""
LINK = """<link name="{n}"><inertial><origin xyz=".05 0 0"/><mass value=".2"/>
<inertia ixx=".001" iyy=".001" izz=".001"/></inertial></link>"""
JOINT = """<joint name="{n}_joint" type="{t}"><parent link="{p}"/><child link="{n}"/>
<origin xyz=".1 0 0"/><axis xyz="0 1 0"/><limit lower="-2" upper="2" effort="5" velocity="9"/>{m}
</joint>"""


def hand(mimic: str, leader: str = "revolute") -> Mechanism:
    """Two fingers in a row, the second with the given <mimic>."""
    links = "".join(LINK.format(n=n) for n in ("first", "second"))
    joints = JOINT.format(n="first", t=leader, p="palm", m="")
    joints += JOINT.format(n="second", t="revolute", p="first", m=mimic)
    return read_urdf(URDF.format(links=links, joints=joints), floating=False)


def test_a_mimic_joint_of_a_urdf_follows_without_a_motor() -> None:
    mechanism = hand('<mimic joint="first_joint" multiplier="0.5" offset="0.2"/>')
    (coupling,) = mechanism.couplings
    assert (coupling.constant, coupling.leaders) == (0.2, (Leader("first_joint", (0.5,)),))
    assert [actuator.joint for actuator in mechanism.actuators] == ["first_joint"]
    assert any("Mimic joints follow" in note for note in mechanism.notes)
    made = Simulation(Robot.of(mechanism), dt=1e-3, controller=lambda t, q, u: [0.5])
    log = made.run(1.0)
    first, second = log.q.values.T
    assert np.abs(second - 0.2 - 0.5 * first).max() < 1e-11 and np.ptp(first) > 0.1
    plain = hand('<mimic joint="first_joint"/>').couplings[0]
    assert (plain.constant, plain.leaders) == (0.0, (Leader("first_joint", (1.0,)),))


def test_a_mimic_of_an_unknown_joint_is_reported_and_ignored() -> None:
    with warned("mimic-leader-missing", "second_joint"):
        mechanism = hand('<mimic joint="frist_joint"/>')
    assert not mechanism.couplings and len(mechanism.actuators) == 2


def test_a_mimic_of_a_fixed_joint_is_fixed() -> None:
    (coupling,) = hand('<mimic joint="first_joint" offset="0.2"/>', "fixed").couplings
    assert (coupling.constant, coupling.leaders) == (0.2, ())


@pytest.mark.parametrize(
    ("mimic", "kind", "subject"),
    [
        ('<mimic joint="second_joint"/>', InvalidModel, "second_joint"),
        ('<mimic joint="first_joint" multiplier="much"/>', InvalidFile, "multiplier"),
    ],
)
def test_a_wrong_mimic_is_refused(mimic: str, kind: type[TarsusError], subject: str) -> None:
    with refused(kind, subject):
        hand(mimic)


@pytest.mark.parametrize("kind", EQUALITIES)
def test_couplings_round_trip_through_mjcf(kind: str) -> None:
    mechanism = read_mjcf(WELDED.format(e=EQUALITIES[kind]))
    again = read_mjcf(to_mjcf(mechanism, floor=False))
    assert [(c.constant, c.leaders) for c in again.couplings] == [
        (c.constant, c.leaders) for c in mechanism.couplings
    ]
    q = np.random.default_rng(0).normal(size=mechanism.nq)
    q[-4:] /= np.linalg.norm(q[-4:])
    np.testing.assert_allclose(
        Robot.of(again).loop_gaps(q), Robot.of(mechanism).loop_gaps(q), atol=1e-12
    )


def test_coupling_ratios_round_trip_through_urdf() -> None:
    text = to_urdf(load_floating('<mimic joint="first_joint" multiplier="0.5" offset="0.2"/>'))
    coupling = read_urdf(text).couplings[0]
    assert (coupling.constant, coupling.leaders) == (0.2, (Leader("first_joint", (0.5,)),))
    bent = replace(
        load_floating(""),
        couplings=(JointCoupling("bent", "second_joint", 0.0, (Leader("first_joint", (1, 2)),)),),
    )
    with refused(Unsupported, "bent"):
        to_urdf(bent)


def load_floating(mimic: str) -> Mechanism:
    links = "".join(LINK.format(n=n) for n in ("first", "second"))
    joints = JOINT.format(n="first", t="revolute", p="palm", m="")
    joints += JOINT.format(n="second", t="revolute", p="first", m=mimic)
    return read_urdf(URDF.format(links=links, joints=joints))


def test_unsupported_elements_are_reported() -> None:
    tendon = WELDED.format(e='<tendon tendon1="t" active="false"/>').replace(
        "</worldbody>",
        '</worldbody><tendon><fixed name="t"><joint joint="ja" coef="1"/></fixed></tendon>',
    )
    with warned("equalities-ignored", "tendon of t"):
        mechanism = read_mjcf(tendon)
    assert not mechanism.constrained
    off = read_mjcf(WELDED.format(e='<weld body1="b" body2="c" active="true"/>'))
    assert off.loops
    with pytest.raises(Unsupported) as caught:
        Simulation(gear("0 1 0 0 0"), coordinates="maximal")
    assert caught.value.subject in ("ja", "jb")
    with refused(InvalidModel, "free"):
        wrong = JointCoupling("wrong", "ja", 0.0, (Leader("free", (1.0,)),))
        check(replace(mechanism, couplings=(wrong,)))
    with pytest.raises(TarsusError, match="mimic joints"):
        Simulation(gear("0 1 0 0 0"), "compliant", "rk4")


BOX = """<mujoco><worldbody><body name="box" pos="0 0 .1"><freejoint/>
<geom type="box" size=".2 .15 .1" mass="5"/>{arms}</body></worldbody><equality>
<joint joint1="j1" joint2="j0" polycoef="0 -3 0 0 0"/></equality></mujoco>"""
SWING = """<body pos="0 {y} .1"><joint name="j{k}" axis="0 1 0"/>
<inertial pos=".2 0 0" mass=".5" diaginertia=".01 .01 .01"/></body>"""


@pytest.mark.parametrize(
    "solver",
    [*(pytest.param(name, marks=pytest.mark.slow) for name in ("newton", "sor")), "sor_velocity"],
)
def test_couplings_affect_contacts_that_share_a_body(
    solver: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A box on its corners, two geared arms on it swing: by the body's six rows (decision 0026), or
    contact by contact, the box and the arms move the same.
    """
    text = BOX.format(arms="".join(SWING.format(k=k, y=0.1 * k) for k in (0, 1)))
    ends = []
    for fewest in (2, 99):
        monkeypatch.setattr(shared_body, "MIN_CONTACTS", fewest)
        forget_programs(monkeypatch)
        law = Moreau(solver=solver, T_rel=1e-10)
        made = Simulation(robot(text), law, dt=1e-3)
        log = made.run(0.1)
        assert int((log.converged == 0).sum()) == 0 and float(log.drift.max()) < 1e-12
        assert float(log.gap.min()) > -1e-3 and abs(log.u.values[-1, 6]) > 0.5
        ends.append(np.append(log.q.values[-1], log.impulse_constraint.values[-1]))
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-7)


TENDONS = """<mujoco><worldbody>
<body pos="0 0 1"><joint name="ja" axis="0 1 0" ref=".2"/><geom size=".1" pos=".2 0 0"/></body>
<body pos="1 0 1"><joint name="jb" axis="0 1 0" ref="-.1"/><geom size=".1" pos=".2 0 0"/></body>
<body pos="2 0 1"><joint name="jc" axis="0 1 0"/><geom size=".1" pos=".2 0 0"/></body>
</worldbody><tendon>
<fixed name="ta"><joint joint="ja" coef="2"/></fixed>
<fixed name="tb" {0}><joint joint="jb" coef="-1.5"/></fixed>
<fixed name="tab"><joint joint="ja" coef="2"/><joint joint="jb" coef="-1.5"/></fixed>
<fixed name="tbc"><joint joint="jb" coef="-1.5"/><joint joint="jc" coef=".5"/></fixed>
<fixed name="tabc"><joint joint="ja" coef="1"/><joint joint="jb" coef="1"/>
<joint joint="jc" coef="1"/></fixed></tendon><equality>{1}</equality></mujoco>"""


@pytest.mark.filterwarnings("ignore:.*(tendons|equality constraints) ")
@pytest.mark.parametrize(
    "equality",
    [
        '<tendon tendon1="ta" tendon2="tb" polycoef=".1 .7 -.3 .2 .1"/>',
        '<tendon tendon1="ta" polycoef=".3 5"/>',
        '<tendon tendon1="tab" polycoef=".3 5"/>',
        '<tendon tendon1="tabc" polycoef=".3 5"/>',
        '<tendon tendon1="ta" tendon2="tbc" polycoef=".3 5"/>',
    ],
)
def test_an_equality_of_fixed_tendons_couples_their_joints(equality: str) -> None:
    """MuJoCo's residual of the constraint is zero where the coupling holds."""
    text = TENDONS.format("", equality)
    (coupling,) = read_mjcf(text).couplings
    assert coupling.joint == "ja"
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    values = {"jb": 0.0, "jc": 0.0}
    assert set(coupling.leader_names) <= set(values)
    for values["jb"], values["jc"] in ((-0.4, 0.3), (0.0, 0.0), (0.7, -1.1)):
        y = coupling.constant + sum(x.at(values[x.joint]) for x in coupling.leaders)
        data.qpos[:] = y, values["jb"], values["jc"]
        mujoco.mj_forward(model, data)
        assert abs(data.efc_pos[0]) < 1e-14


DIFFERENTIAL = """<mujoco><compiler angle="radian"/><worldbody>
<body pos="0 .1 1"><joint name="left" axis="1 0 0" damping=".1"/><geom size=".03" mass=".1"/></body>
<body pos="0 -.1 1"><joint name="right" axis="1 0 0" damping=".1"/><geom size=".03" mass=".1"/>
</body>
<body pos="0 0 1.2"><joint name="roll" axis="1 0 0"/><geom size=".1" pos="0 0 .2" mass="2"/></body>
</worldbody><tendon><fixed name="waist" range="{0}"><joint joint="left" coef=".25"/>
<joint joint="roll" coef="1"/><joint joint="right" coef="-.25"/></fixed></tendon>
<actuator><position joint="left" kp="30" kv="2"/><position joint="right" kp="30" kv="2"/></actuator>
</mujoco>"""


def test_a_tendon_with_a_short_range_is_a_differential() -> None:
    """Two motors carry a body on top of a free joint, at a quarter of their difference."""
    made = Simulation(
        Robot.of(read_mjcf(DIFFERENTIAL.format("-.0005 .0005"))), dt=1e-3, actuators="file"
    )
    for _ in range(3000):
        made.step(np.array([0.4, -0.4]))
    left, right, roll = made.q
    assert abs(roll + 0.25 * (left - right)) < 1e-9 and left > 0.3 and abs(made.u).max() < 1e-6
    # the motors carry the weight: the work of a small motion is zero
    moment = 2 * 9.81 * 0.2 * np.sin(roll)
    assert np.isclose(30 * (0.4 - left), 0.25 * moment, rtol=1e-6)


def test_a_tendon_with_a_long_range_has_limits() -> None:
    mechanism = read_mjcf(DIFFERENTIAL.format("-.5 .4"))
    assert not mechanism.couplings
    assert [(t.name, t.lower, t.upper) for t in mechanism.tendons] == [("waist", -0.5, 0.4)]
    assert not read_mjcf(DIFFERENTIAL.format("-.05 .04")).tendons


def test_play_that_a_coupling_ignores_is_warned_of() -> None:
    with warned("tendon-play-ignored", "waist"):
        (coupling,) = read_mjcf(DIFFERENTIAL.format("-.03 .03")).couplings
    assert coupling.joint == "roll"


def test_a_coupling_with_several_leaders_round_trips_through_mjcf() -> None:
    mechanism = read_mjcf(DIFFERENTIAL.format(".1 .1001"))
    again = read_mjcf(to_mjcf(mechanism, floor=False))
    (one,), (other,) = mechanism.couplings, again.couplings
    assert one.leaders == other.leaders and abs(one.constant - other.constant) < 1e-15
    with refused(Unsupported, "waist"):
        to_urdf(replace(load_floating(""), couplings=(one,)))


@pytest.mark.parametrize(
    ("options", "equality", "unsupported"),
    [
        ("", '<tendon tendon1="ta" tendon2="tbc" polycoef="0 0 1"/>', "equalities-ignored"),
        ("", '<tendon tendon1="ta" tendon2="tab"/>', "equalities-ignored"),
        ("", '<joint joint1="ja"/><tendon tendon1="ta" tendon2="tb"/>', "equalities-ignored"),
        ("", '<joint joint1="jb" joint2="ja"/><tendon tendon1="ta" tendon2="tb"/>',
         "equalities-ignored"),
        ('armature="5"', '<tendon tendon1="ta" tendon2="tb"/>', "tendons-ignored"),
    ],
)  # fmt: skip
def test_unsupported_tendons_are_reported(options: str, equality: str, unsupported: str) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        read_mjcf(TENDONS.format(options, equality))
    assert unsupported in {w.message.code for w in caught if isinstance(w.message, TarsusWarning)}


SITES = """<mujoco><compiler angle="radian"/><worldbody><body name="w" pos="0 .3 0"/>
<body name="a" pos="0 0 1" euler=".2 0 0"><joint axis="0 1 0"/><joint axis="0 0 1" pos=".1 0 0"/>
<geom type="capsule" size=".02" fromto="0 0 0 .3 0 0" contype="0" conaffinity="0"/>
<site name="of_a" pos=".3 .1 0" euler="0 .3 .1"/></body>
<body name="b" pos="0 .5 1"><joint axis="0 1 0" ref=".2"/>
<geom type="capsule" size=".02" fromto="0 0 0 .3 0 0" contype="0" conaffinity="0"/>
<site name="of_b" {b}/></body></worldbody>
<equality><{kind} name="tie" {ends}/></equality></mujoco>"""


@pytest.mark.parametrize("kind", ["connect", "weld"])
def test_constraints_at_sites_are_those_at_bodies(kind: str) -> None:
    """Sites that coincide as drawn close the loop that an anchor in a body does."""
    text = SITES.format(b="", kind=kind, ends='site1="of_a" site2="of_b"')
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    # the site of b, where that of a is
    R = data.xmat[model.body("b").id].reshape(3, 3)
    target = data.site("of_a")
    position = R.T @ (target.xpos - data.xpos[model.body("b").id])
    quaternion = np.zeros(4)
    mujoco.mju_mat2Quat(quaternion, (R.T @ target.xmat.reshape(3, 3)).ravel())
    there = " ".join(map(repr, map(float, position)))
    turned = " ".join(map(repr, map(float, quaternion)))
    b = f'pos="{there}" quat="{turned}"'
    ends = f'body1="b" body2="a" anchor="{there if kind == "connect" else ".3 .1 0"}"'
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        at_sites = read_mjcf(SITES.format(b=b, kind=kind, ends='site1="of_b" site2="of_a"'))
        at_bodies = read_mjcf(SITES.format(b=b, kind=kind, ends=ends))
    (one,), (other,) = at_sites.loops, at_bodies.loops
    assert (one.joint.kind, one.parent, one.child) == (other.joint.kind, other.parent, other.child)
    assert one.position == pytest.approx(other.position, abs=1e-12)
    assert one.in_child == pytest.approx(other.in_child, abs=1e-12)
    assert one.rotation == pytest.approx(other.rotation, abs=1e-7)
