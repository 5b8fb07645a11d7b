"""Tarsus behind the contract of `unisim-core`, without PyTorch: state, steps, bodies, draws.

The robot stands in for any file: a free base, a link whose joint is not at its origin, a link that
is welded on, a site, position servos.
"""

from __future__ import annotations

import logging
from typing import Any

import mujoco
import numpy as np
import pytest

import tarsus
from tarsus.dynamics.robot import Robot
from tarsus.model.mjcf import read_mjcf

unisim: Any = pytest.importorskip("unisim", reason="unisim-core is not installed")
from unisim import conformance  # noqa: E402
from unisim.errors import UnsupportedCapabilityError  # noqa: E402
from unisim.scene import SceneCfg  # noqa: E402

from tarsus_unisim.backend import TarsusBackend  # noqa: E402

XML = """<mujoco><option timestep="0.002"/><worldbody><body name="base" pos="0 0 .6">
<freejoint name="root"/><geom type="box" size=".2 .1 .05" mass="4" pos=".02 0 .01"/>
<site name="imu" pos=".1 0 0" quat=".8 .6 0 0"/>
<body name="thigh" pos="0 .1 0"><joint name="hip" axis="0 1 0" pos="0 0 .03" range="-90 90"
armature=".01" damping=".1"/><geom type="capsule" size=".03" fromto="0 0 0 0 0 -.2" mass="1"/>
<body name="shank" pos="0 0 -.2"><joint name="knee" axis="0 1 0" armature=".01" frictionloss=".2"/>
<geom name="foot" type="capsule" size=".03" fromto="0 0 0 0 0 -.2" mass=".5"/>
<body name="toe" pos="0 0 -.2"><geom type="sphere" size=".04" mass=".1"/></body></body></body>
</body></worldbody><actuator><position name="hip" joint="hip" kp="40" kv="2" ctrlrange="-1.5 1.5"/>
<position name="knee" joint="knee" kp="40" kv="2" forcerange="-30 30"/></actuator>
<keyframe><key name="bent" qpos="0 0 .5 1 0 0 0 .4 -.8"/></keyframe></mujoco>"""
DT, WORLDS = 0.002, 5


@pytest.fixture(scope="module")
def robot() -> Robot:
    """The file's."""
    return Robot.of(read_mjcf(XML))


@pytest.fixture
def backend(robot: Robot) -> Any:
    """Five of its worlds, where everything can be randomized and the base pushed."""
    return TarsusBackend(robot, WORLDS, DT, randomized=True, pushes="base", sensors=["imu"])


def states(robot: Robot) -> tuple[np.ndarray, np.ndarray]:
    """Different ones (5, nq) and (5, nv), in the air and turned."""
    rng = np.random.default_rng(3)
    q, u = rng.normal(size=(WORLDS, robot.nq)), rng.normal(size=(WORLDS, robot.nu))
    q[:, 2] += 5
    q[:, 3:7] /= np.linalg.norm(q[:, 3:7], axis=1, keepdims=True)
    return q, u


def simulation(backend: Any) -> tarsus.Simulation:
    """The same worlds, without the contract."""
    own = backend.simulation.options
    told = {name: getattr(own, name) for name in ("varied", "pushes", "sensors", "actuators")}
    return tarsus.Simulation(backend.model, worlds=WORLDS, dt=DT, **told)


def every(backend: Any, q: np.ndarray, u: np.ndarray) -> None:
    backend._host_set_state(np.arange(WORLDS), q, u)


def test_a_file_is_a_backend(tmp_path: Any, robot: Robot) -> None:
    """The library's own check, on a scene with a file, and the queries of a task before it
    starts.
    """
    file = tmp_path / "leg.xml"
    file.write_text(XML)
    made = TarsusBackend(SceneCfg(str(file), default_keyframe_name="bent"), WORLDS, DT)
    conformance.assert_backend_conformance(made)
    assert made.get_capabilities().get("tensor.stepping").support.value == "exact"
    assert made.get_actuator_joint_names() == ("hip", "knee")
    assert made.get_actuator_ctrl_range().tolist() == [[-1.5, 1.5], [-np.inf, np.inf]]
    assert made.get_joint_range(names=["hip"]) == pytest.approx(np.array([[-1, 1]]) * np.pi / 2)
    assert (made.get_keyframe_qpos("bent")[7:] == made.get_default_dof_pos()).all()
    assert made.get_joint_state_qpos_indices(["knee"]).tolist() == [8]
    assert made.get_joint_dof_vel_indices(["knee"]).tolist() == [1]
    assert made.get_root_state_layout("base").qvel_indices == (0, 1, 2, 3, 4, 5)
    assert (made.num_dof_vel, made.get_init_qvel().size) == (2, 8)
    names = made.bodies.names
    assert set(names) >= {"base", "thigh", "shank", "toe", "imu"} and len(set(names)) == len(names)


def test_steps_match_a_simulation(backend: Any, robot: Robot) -> None:
    """Bit for bit, several in one call; then a state that is given comes back as it was."""
    plain = simulation(backend)
    signals = np.random.default_rng(0).normal(0, 0.5, (4, WORLDS, 2))
    for k in range(4):
        backend._host_step(signals[k], 5)
        for _ in range(5):
            plain.step(signals[k])
        state = backend._host_get_state(("qpos", "qvel", "ctrl"))
        assert (state["qpos"] == plain.q).all() and (state["qvel"] == plain.u).all()
        assert (state["ctrl"] == signals[k]).all()
    assert backend.get_physics_state()[:, 0] == pytest.approx(20 * DT)
    q, u = states(robot)
    every(backend, q, u)
    state = backend._host_get_state()
    assert (state["qvel"] == u).all() and np.abs(state["qpos"] - q).max() < 1e-15
    assert (backend.get_physics_state()[:, 0] == 0).all()


def test_only_selected_worlds_are_reset(backend: Any, robot: Robot) -> None:
    every(backend, *states(robot))
    backend._host_step(np.full((WORLDS, 2), 0.3), 10)
    before = backend.simulation.state()
    backend._host_reset(np.array([3]))
    backend._host_set_state(np.array([1]), *(part[:1] for part in states(robot)))
    after = backend.simulation.state()
    assert (after[[0, 2, 4]] == before[[0, 2, 4]]).all()
    assert (backend._host_get_state()["qpos"][3] == backend.get_default_qpos()).all()
    assert (backend._host_get_state()["qvel"][1] == states(robot)[1][0]).all()
    with pytest.raises(ValueError, match="once"):
        backend._host_set_state(np.array([1, 1]), *(part[:2] for part in states(robot)))
    wrong = np.zeros((1, robot.nq))
    with pytest.raises(ValueError, match="quaternion"):
        backend._host_set_state(np.array([1]), wrong, np.zeros((1, robot.nu)))
    assert (backend.simulation.state() == after).all()


def test_link_poses_match_mujoco(backend: Any, robot: Robot) -> None:
    """Poses and velocities of links' own frames, of a welded one and of a site; the Jacobian."""
    q, u = states(robot)
    every(backend, q, u)
    model = mujoco.MjModel.from_xml_string(XML)
    names = ("base", "thigh", "shank", "toe", "imu")
    known = {name: k for k, name in enumerate(backend.bodies.names)}
    own = {"thigh": "thigh", **{name: name for name in names}}
    ids = backend.get_body_ids([own[name] for name in names])
    assert ids.tolist() == [known[name] for name in names]
    found = np.concatenate(
        [
            backend._host_get_body_pos_w(ids),
            backend._host_get_body_lin_vel_w(ids),
            backend._host_get_body_ang_vel_w(ids),
        ],
        axis=-1,
    )
    turns = backend._host_get_body_quat_w(ids)
    for world in range(WORLDS):
        data = mujoco.MjData(model)
        data.qpos[:], data.qvel[:] = q[world], u[world]
        mujoco.mj_forward(model, data)
        for k, name in enumerate(names):
            site = name == "imu"
            at = data.site(name) if site else data.body(name)
            kind = mujoco.mjtObj.mjOBJ_SITE if site else mujoco.mjtObj.mjOBJ_XBODY
            speed, turn = np.zeros(6), np.zeros(4)
            mujoco.mj_objectVelocity(model, data, kind, at.id, speed, 0)
            mujoco.mju_mat2Quat(turn, at.xmat)
            expected = np.concatenate([at.xpos, speed[3:], speed[:3]])
            assert found[world, k] == pytest.approx(expected, abs=1e-12), name
            assert abs(turns[world, k] @ turn) == pytest.approx(1, abs=1e-12), name
    linear, angular = backend.get_site_jacobian_w(int(ids[3]), np.arange(robot.nu))
    moved = np.concatenate([np.einsum("wij,wj->wi", J, u) for J in (linear, angular)], axis=1)
    assert moved == pytest.approx(found[:, 3, 3:], abs=1e-12)
    assert backend._host_read_sensor("track_pos_w_toe") == pytest.approx(found[:, 3, :3])
    reading = backend._host_read_sensor("imu")
    assert (backend._host_read_sensor("imu.gyro") == reading[:, 3:6]).all()


def test_base_angular_velocity_is_in_base_axes(backend: Any, robot: Robot) -> None:
    """The angular velocity in qvel against differences of attitudes, in free fall; the linear one
    against those of positions.
    """
    q, u = states(robot)
    every(backend, q, u)
    omega, speed = backend._host_get_base_ang_vel(), backend._host_get_base_lin_vel()
    assert (omega == u[:, 3:6]).all() and (speed == u[:, :3]).all()
    after = robot.integrate(q, u, 1e-6)
    rotations = [robot.rotation(x, "base") for x in (q, after)]
    spin = np.einsum("wji,wjk->wik", rotations[0], rotations[1] - rotations[0]) / 1e-6
    seen = np.stack([spin[:, 2, 1], spin[:, 0, 2], spin[:, 1, 0]], axis=-1)
    assert seen == pytest.approx(omega, abs=1e-4)
    assert (after - q)[:, :3] / 1e-6 == pytest.approx(speed, abs=1e-4)
    world = backend._host_get_body_ang_vel_w(np.array([0]))[:, 0]
    assert np.einsum("wij,wj->wi", rotations[0], omega) == pytest.approx(world, abs=1e-12)
    # a stepped base does so too
    backend._host_step(np.zeros((WORLDS, 2)))
    turned = robot.difference(backend._host_get_state()["qpos"], q)[:, 3:6] / DT
    assert turned == pytest.approx((omega + backend._host_get_base_ang_vel()) / 2, abs=0.05)


def test_diverged_worlds_do_not_affect_others(backend: Any, robot: Robot, caplog: Any) -> None:
    q, u = states(robot)
    every(backend, q, u)
    twin = TarsusBackend(robot, WORLDS, DT, randomized=True, pushes="base", sensors=["imu"])
    every(twin, q, u)
    u[2, 0] = 1e9
    backend._host_set_state(np.array([2]), q[2:3], u[2:3])
    with caplog.at_level(logging.WARNING):
        told = backend._host_step(np.zeros((WORLDS, 2)), 3)
    twin._host_step(np.zeros((WORLDS, 2)), 3)
    assert told["diverged"].tolist() == [False, False, True, False, False]
    assert "1 of 5 worlds diverged" in caplog.text
    others = [0, 1, 3, 4]
    assert (backend.simulation.state()[others] == twin.simulation.state()[others]).all()
    assert (backend._host_get_state()["qpos"][2] == backend.get_default_qpos()).all()
    assert all(np.isfinite(backend._host_read_sensor(n)).all() for n in ("imu", "track_pos_w_toe"))
    assert not backend._host_step(np.zeros((WORLDS, 2)))["diverged"].any()


def drawn(**tables: Any) -> Any:
    """A payload of tables; of arrays here, where the contract has tensors."""
    return unisim.dr.TensorResetRandomizationPayload(
        **{name: np.asarray(value, float) for name, value in tables.items()}
    )


def test_randomized_values_apply_to_the_robot(backend: Any, robot: Robot) -> None:
    """Masses, centers, joints, gains and friction of world 1 against a simulation with values
    set by name; other worlds are unchanged.
    """
    q, u = states(robot)
    rows, made = (
        np.array([1]),
        {t: backend.get_reset_term_default(t)[1] for t in backend.tables.made},
    )
    mass, center = 1.3 * made["body_mass"], made["body_ipos"] + 0.01
    armature = made["dof_armature"] + np.r_[np.zeros(6), 0.02, 0.03]
    friction = made["dof_frictionloss"] * 2
    payload = drawn(
        body_mass=mass[None],
        body_ipos=center[None],
        base_mass_delta=[0.5],
        dof_armature=armature[None],
        dof_frictionloss=friction[None],
        kp=[[50.0, 30.0]],
        kd=[[1.0, 3.0]],
        geom_friction=[[[0.3, 0.0, 0.0]]],
    )
    every(backend, q, u)
    backend._host_set_state(rows, q[1:2], u[1:2], payload)
    names = [body.name for body in robot.bodies]
    masses = np.r_[made["body_mass"][0] + 0.5, mass[1:]]  # a difference is to the robot as made
    masses[0] = mass[0] + 0.5
    assert backend.get_reset_term_default("body_mass")[1] == pytest.approx(masses)
    plain = simulation(backend)
    plain.set(q=q, u=u)
    offset = {"thigh": np.array([0, 0, -0.03])}  # the joint is above the link's origin
    plain.set(
        where=np.arange(WORLDS) == 1,
        mass=dict(zip(names, masses, strict=True)),
        com={n: c + offset.get(n, 0) for n, c in zip(names, center, strict=True)},
        inertia={b.name: np.array(b.inertia.about_com) for b in robot.bodies},
        armature={"hip": armature[6], "knee": armature[7]},
        dry_friction={"knee": friction[7]},
        kp=np.where(np.arange(WORLDS)[:, None] == 1, [50.0, 30.0], 40.0),
        kv=np.where(np.arange(WORLDS)[:, None] == 1, [1.0, 3.0], 2.0),
        mu=np.where(np.arange(WORLDS) == 1, 0.3, plain.law.mu),
    )
    backend._host_step(np.full((WORLDS, 2), 0.2), 20)
    plain.step(np.full((WORLDS, 2), 0.2))
    plain.advance(19 * DT)
    assert backend._host_get_state()["qpos"] == pytest.approx(plain.q, abs=1e-11)
    assert plain.backend.get("law.mu")[1, 0] == backend.simulation.backend.get("law.mu")[1, 0]
    assert backend.get_body_ipos([1])[0] == pytest.approx(center)
    assert backend.get_body_ipos() == pytest.approx(made["body_ipos"])


def test_unsupported_randomization_is_rejected(backend: Any, robot: Robot) -> None:
    """Without writing anything."""
    q, u = states(robot)
    before = backend.simulation.state()
    wrong = [
        (UnsupportedCapabilityError, drawn(gravity=[[0, 0, -1.0]])),
        (ValueError, drawn(body_mass=[np.zeros(3)])),
        (ValueError, drawn(dof_armature=[np.ones(8)])),
        (ValueError, drawn(dof_frictionloss=[np.r_[np.zeros(6), 1.0, 1.0]])),
        (ValueError, drawn(kp=[[1.0, np.nan]])),
        (ValueError, drawn(kp=[[1.0, 1e12]], geom_friction=[[[0.1, 0, 0]]])),
    ]
    for kind, payload in wrong:
        with pytest.raises(kind):
            backend._host_set_state(np.array([0]), q[:1], u[:1], payload)
    assert (backend.simulation.state() == before).all()
    assert (backend.get_reset_term_default("kp") == 40).all()
    assert (backend.simulation.backend.get("law.mu") == backend.simulation.law.mu).all()
    with pytest.raises(UnsupportedCapabilityError, match="pushes"):
        backend.apply_body_force(np.array([1]), np.zeros((WORLDS, 1, 3)))
    with pytest.raises(UnsupportedCapabilityError, match="fragment_files"):
        TarsusBackend(SceneCfg("leg.xml", fragment_files=["more.xml"]))
    with pytest.raises(NotImplementedError):
        backend.bind_packed_reset()


def test_forces_act_at_the_center_of_mass_for_one_call(backend: Any, robot: Robot) -> None:
    """As generalized forces they match MuJoCo's; after the call there are none."""
    q, u = states(robot)
    every(backend, q, u)
    force, torque = np.random.default_rng(5).normal(size=(2, WORLDS, 1, 3))
    backend.apply_body_force(np.array([0]), force, torque)
    backend.wrenches.write(q, u)
    model, forces = mujoco.MjModel.from_xml_string(XML), list[np.ndarray]()
    for world, push in enumerate(backend.simulation.backend.get("push")):
        data, expected = mujoco.MjData(model), np.zeros(robot.nu)
        forces.append(expected)
        data.qpos[:] = q[world]
        mujoco.mj_forward(model, data)
        at = data.xipos[1]
        mujoco.mj_applyFT(model, data, force[world, 0], torque[world, 0], at, 1, expected)
        assert robot.external_force(q[world], "base", push) == pytest.approx(expected, abs=1e-12)
    backend._host_step(np.zeros((WORLDS, 2)), 2)
    pushed = backend._host_get_state()["qvel"]
    every(backend, q, u)
    backend._host_step(np.zeros((WORLDS, 2)), 2)
    assert (backend.simulation.backend.get("push") == 0).all()
    gained = pushed - backend._host_get_state()["qvel"]
    assert (np.einsum("wi,wi->w", gained, np.array(forces)) > 0).all()


def test_functions_are_called_before_every_step(backend: Any, robot: Robot) -> None:
    """They receive the current state, and return signals and forces."""
    q, u = states(robot)
    every(backend, q, u)
    seen = []

    def half(own: Any, ctrl: np.ndarray) -> Any:
        seen.append(own._host_get_state()["qpos"].copy())
        force = np.zeros((WORLDS, 1, 3))
        force[0, 0, 2] = 30.0
        return unisim.backend.base.PreStepControlOutput(ctrl / 2, np.array([0]), force)

    twin = TarsusBackend(robot, WORLDS, DT, randomized=True, pushes="base", sensors=["imu"])
    every(twin, q, u)
    backend.set_pre_step_control(half)
    signals = np.full((WORLDS, 2), 0.4)
    backend._host_step(signals, 3)
    for k in range(3):
        assert (seen[k][1:] == twin._host_get_state()["qpos"][1:]).all()
        twin._host_step(signals / 2)
    others = slice(1, WORLDS)
    assert (backend.simulation.q[others] == twin.simulation.q[others]).all()
    rise = backend._host_get_state()["qvel"][0, 2] - twin._host_get_state()["qvel"][0, 2]
    assert rise > 0.8 * 30 / robot.mass * 3 * DT
