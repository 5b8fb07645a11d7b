"""The law `soft_convex` against MuJoCo's contact forces, in the same contact problem and on a
whole robot.
"""

from __future__ import annotations

import importlib
from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np
import pytest
from casadi import SX
from helpers.contact_algebra import algebra
from numpy.typing import NDArray

from tarsus.contact.laws.soft_convex import SoftConvex, impedance
from tarsus.dynamics.robot import Robot
from tarsus.model.mechanism import Mechanism
from tarsus.model.to_mjcf import to_mjcf
from tarsus.program.run.worlds import Worlds
from tarsus.robots import mini_cheetah
from tarsus.simulation.simulation import Simulation
from tarsus.validation.bodies import box, pose

mujoco: Any = importlib.import_module("mujoco")
Array = NDArray[np.float64]
DT = 0.002
LAWS = (
    SoftConvex(mu=0.7),
    SoftConvex(mu=0.4, impratio=20.0),
    SoftConvex(
        mu=0.9,
        timeconst=0.01,
        dampratio=0.6,
        d_min=0.3,
        d_max=0.98,
        width=5e-4,
        midpoint=0.3,
        power=3.0,
    ),
    SoftConvex(mu=0.5, timeconst=1e-3),  # raised to 2 dt by both
)


def model_of(mechanism: Mechanism, law: SoftConvex) -> Any:
    """The mechanism in MuJoCo: the law's parameters, the exact diagonal, a tight solver."""
    p = {name: float(value) for name, value in law.parameters().items()}
    text = to_mjcf(
        mechanism,
        dt=DT,
        friction=p["mu"],
        solref=(p["timeconst"], p["dampratio"]),
        joint_limits=False,
    )
    model = mujoco.MjModel.from_xml_string(text)
    model.geom_solimp[:] = [p[name] for name in ("d_min", "d_max", "width", "midpoint", "power")]
    model.opt.impratio, model.opt.tolerance, model.opt.iterations = p["impratio"], 1e-15, 500
    model.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_DIAGEXACT
    return model


def undamped() -> Robot:
    """Mini Cheetah on its feet, without joint damping, which is no part of MuJoCo's problem."""
    robot = Robot.of(mini_cheetah.describe()).with_contacts("*_foot")
    bodies = tuple(
        replace(b, joint=replace(b.joint, damping=0.0, dry_friction=0.0)) for b in robot.bodies
    )
    return replace(robot, bodies=bodies)


def at(model: Any, q: Array, u: Array) -> Any:
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = q, u
    mujoco.mj_forward(model, data)
    return data


def forces(model: Any, data: Any) -> Array:
    """(contacts, 3) in contact frames, N."""
    found, wrench = np.zeros((data.ncon, 3)), np.zeros(6)
    for k in range(data.ncon):
        mujoco.mj_contactForce(model, data, k, wrench)
        found[k] = wrench[:3]
    return found


def solved(law: SoftConvex, model: Any, data: Any) -> Array:
    """Forces (contacts, 3) of the law for MuJoCo's current contact problem."""
    # the problem of this instant
    n, J = data.ncon, np.reshape(data.efc_J, (-1, model.nv))
    inverse = np.zeros((model.nv, model.nv))
    mujoco.mj_solveM(model, data, inverse, np.eye(model.nv))
    velocity = J @ data.qvel
    values = {
        "G": J @ inverse @ J.T,
        "free": velocity + DT * (J @ data.qacc_smooth),
        "before": velocity,
        "gap": np.array([c.dist for c in data.contact]),
        "dt": np.array(DT),
    }
    values |= {f"law.{name}": np.asarray(value) for name, value in law.parameters().items()}
    # the law's solution, by code that problems of n contacts share
    worlds = Worlds(algebra(SoftConvex(), n))
    for name, value in values.items():
        worlds.set(name, value.ravel())
    worlds.advance()
    assert worlds.get("converged")[0, 0] == 1
    return worlds.get("impulse").reshape(n, 3) / DT


@pytest.mark.parametrize("law", LAWS)
def test_the_same_problem_has_the_same_forces(law: SoftConvex) -> None:
    """Mini Cheetah standing, landing and skidding, and a spinning box: sticking, sliding,
    parting.
    """
    rng = np.random.default_rng(3)
    cheetah, crate = model_of(undamped(), law), model_of(box(), law)
    stand, sliding, largest = mini_cheetah.stand(), 0, 0.0
    for case in range(24):
        if case % 2:
            model, q = cheetah, stand - rng.uniform(5e-4, 3e-3) * np.eye(19)[2]
            u = rng.normal(size=18) * [0.5, 0.5, 0.2, *[0.3] * 3, *[0.5] * 12] * (case > 1)
        else:
            model, q = crate, pose([0, 0, 0.0395], 0.01 * rng.normal())
            u = rng.normal(size=6) * [0.5, 0.5, 0.2, 3, 3, 3]
        data = at(model, q, u)
        expected = forces(model, data)
        if not len(expected):
            continue
        got, scale = solved(law, model, data), np.abs(expected).max() + 1.0
        assert np.abs(got - expected).max() <= 1e-6 * scale, case
        edge = (
            np.hypot(expected[:, 1], expected[:, 2])
            > 0.999 * float(np.asarray(law.mu)) * expected[:, 0]
        )
        sliding, largest = (
            sliding + int((edge & (expected[:, 0] > 0)).sum()),
            max(largest, expected.max()),
        )
    assert sliding > 5 and largest > 20


@pytest.mark.parametrize("law", LAWS)
def test_first_step_forces_match_mujoco(law: SoftConvex) -> None:
    """A whole step with Tarsus's kinematics: MuJoCo's contact points are half a penetration
    higher, hence 1e-4 instead of 1e-6.
    """
    q = mini_cheetah.stand() - 1e-5 * np.eye(19)[2]
    u = np.random.default_rng(4).normal(size=18) * 0.05
    u[2] = -0.1
    robot = undamped()
    model = model_of(robot, law)
    expected = forces(model, at(model, q, u))
    simulation = Simulation(robot, law, "symplectic_euler", dt=DT)
    simulation.set(q=q, u=u)
    simulation.step()
    got = simulation.contact_force
    np.testing.assert_allclose(got[:, 0], expected[:, 0], rtol=1e-4, atol=1e-2)
    np.testing.assert_allclose(
        np.hypot(got[:, 1], got[:, 2]),
        np.hypot(expected[:, 1], expected[:, 2]),
        rtol=1e-4,
        atol=1e-2,
    )


def test_impedance_runs_from_d_min_to_d_max() -> None:
    gap = SX.sym("gap")
    law = SoftConvex(d_min=0.2, d_max=0.8, width=2e-3, midpoint=0.25, power=2.0)
    curve = ca.Function("d", [gap], [impedance(gap, law)])
    depths = np.array([0.0, 5e-4, 1e-3, 2e-3, 1e-2])
    x = 0.5
    expected = [0.2, 0.2 + 0.6 * 0.25, 0.2 + 0.6 * (1 - (1 - x) ** 2 / 0.75), 0.8, 0.8]
    np.testing.assert_allclose([float(curve(-d)) for d in depths], expected, rtol=1e-12)
