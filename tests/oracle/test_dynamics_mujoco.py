"""Dynamics of MJCF robots, one feature each, against MuJoCo: M, c + g, center of mass,
Jacobians, energies.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.dynamics_oracles import Interpreted, error_of_force, error_of_matrix, relative_error
from helpers.numpy_mechanics import random_state

from tarsus.dynamics.robot import Robot
from tarsus.model.check import check
from tarsus.model.conventions import to_mujoco
from tarsus.model.mjcf import read_mjcf
from tarsus.model.to_mjcf import to_mjcf
from tarsus.robots import mini_cheetah

mujoco = pytest.importorskip("mujoco")

TOLERANCE = 1e-10
MATTER = '<geom type="ellipsoid" size=".1 .2 .3" mass="2" pos=".1 .05 -.2" euler="10 20 30"/>'
TIP = '<site name="tip" pos=".1 -.2 -1" euler="10 45 0"/>'
MODELS = {
    "pendulum": f'<body pos="0 0 1" euler="5 6 7"><joint axis="1 2 3"/>{MATTER}{TIP}</body>',
    "fixed base, branches": (
        f"""<body pos="0 1 1"><joint axis="0 0 1"/>{MATTER}
        <body pos=".3 0 -.2" euler="20 0 0"><joint axis="0 1 0"/>{MATTER}
            <body pos="0 0 -.4"><joint axis="0 1 1"/>{MATTER}{TIP}</body></body>
        <body pos="-.3 0 -.2" euler="0 70 0"><joint axis="1 0 0"/>{MATTER}
            <body pos="0 .4 0"><joint axis="1 0 -1"/>{MATTER}<site name="toe"/>
        </body></body></body>"""
    ),
    "anchors away from origins": (
        f"""<body pos="0 0 1"><joint axis="0 1 1" pos=".1 .2 .3"/>{MATTER}
        <body pos="0 .1 -.5" euler="20 0 0"><joint pos="-.1 0 .2" axis="1 0 0"/>{MATTER}
        <body pos="0 .1 -.5"><joint type="ball" pos=".2 -.3 .1"/>{MATTER}{TIP}
        </body></body></body>"""
    ),
    "slides": (
        f"""<body><joint type="slide" axis="1 0 1" ref=".3"/>{MATTER}
        <body pos="0 0 -.5" euler="0 20 0"><joint type="slide" axis="0 1 1" pos="0 .1 0"/>{MATTER}
        <body pos=".2 0 0"><joint axis="0 1 1" ref="40"/>{MATTER}
        <body pos=".2 0 0"><joint type="slide" axis="1 1 0"/>{MATTER}{TIP}
        </body></body></body></body>"""
    ),
    "free body": f'<body pos="1 2 3" euler="30 0 0"><freejoint/>{MATTER}{TIP}</body>',
    "free body with ball joints": (
        f"""<body pos="1 2 3" euler="30 0 0"><freejoint/>{MATTER}
        <body pos=".3 0 0" euler="0 0 90"><joint type="ball"/>{MATTER}
        <body pos=".3 0 0"><joint type="ball" pos="0 0 .2"/>{MATTER}{TIP}</body></body></body>"""
    ),
    "ball on the ground": (
        f'<body pos="1 2 3" euler="30 0 0"><joint type="ball"/>{MATTER}{TIP}</body>'
    ),
    "several joints on a body": (
        f"""<body><joint type="slide" axis="1 0 0"/>
        <joint type="slide" axis="0 0 1" ref="1.2"/><joint axis="0 1 0" pos="0 0 .1"/>{MATTER}
        <body pos="0 0 -.3"><joint pos="0 .1 0"/><joint axis="1 0 0" ref="-20"/>
        <joint type="slide" axis="0 1 -2" pos=".1 0 0"/>{MATTER}{TIP}</body></body>"""
    ),
    "welded links": (
        f"""<body><freejoint/>{MATTER}<body pos=".2 0 0" euler="0 0 45">{MATTER}
        <body euler="90 0 0">{MATTER}<body pos="0 0 -.3"><joint axis="0 1 0"/>{MATTER}{TIP}
        </body></body></body></body>"""
    ),
    "two free bodies": (
        f"""<body name="a"><freejoint/>{MATTER}<body pos="0 0 -.3"><joint axis="1 1 0"/>{MATTER}
        {TIP}</body></body><body name="b" pos="1 0 0"><freejoint/>{MATTER}
        <body pos="0 0 .3" euler="0 5 0"><joint axis="0 1 0"/>{MATTER}<site name="toe"/>
        </body></body>"""
    ),
    "armature": (
        f"""<body><joint type="free" armature=".4"/>{MATTER}<body><joint armature=".3"/>{MATTER}
        <body pos=".1 0 0"><joint type="ball" armature=".2"/>{MATTER}
        <body pos=".1 0 0"><joint type="slide" armature=".1"/>{MATTER}{TIP}
        </body></body></body></body>"""
    ),
    "world gravity tilted": (
        f"""<body><freejoint/>{MATTER}<body><joint axis="0 1 0"/>{MATTER}{TIP}</body></body>
        </worldbody><option gravity="1 -2 3"/><worldbody>"""
    ),
    "mini cheetah": to_mjcf(mini_cheetah.describe()),
}


def compiled(name: str) -> tuple[Robot, Any]:
    """Robot in Tarsus and model in MuJoCo."""
    text = MODELS[name]
    if not text.startswith("<mujoco"):
        text = f"<mujoco><worldbody>{text}</worldbody></mujoco>"
    return Robot.of(check(read_mjcf(text))), mujoco.MjModel.from_xml_string(text)


class Theirs:
    """Quantities of MuJoCo at a state (q, u), in Tarsus's order of velocities."""

    def __init__(self, robot: Robot, model: Any, q: np.ndarray, u: np.ndarray) -> None:
        self.model, self.data = model, mujoco.MjData(model)
        self.data.qpos[:], self.data.qvel[:] = to_mujoco(robot, model, q, u)
        self.P = to_mujoco(robot, model, np.tile(q, (robot.nu, 1)), np.eye(robot.nu))[
            1
        ].T  # v = P u
        mujoco.mj_forward(model, self.data)
        mujoco.mj_energyPos(model, self.data)
        mujoco.mj_energyVel(model, self.data)

    def mass_matrix(self) -> np.ndarray:
        M = np.zeros((self.model.nv, self.model.nv))
        mujoco.mj_fullM(self.model, self.data, M)
        return self.P.T @ M @ self.P

    def jacobian(self, site: Any) -> np.ndarray:
        linear, angular = np.zeros((2, 3, self.model.nv))
        body = self.model.site_bodyid[site.id]
        mujoco.mj_jac(self.model, self.data, linear, angular, site.xpos, body)
        return np.vstack([linear, angular]) @ self.P


@pytest.mark.parametrize("name", MODELS)
def test_dynamics_match_mujoco(name: str) -> None:
    robot, model = compiled(name)
    ask = Interpreted(robot)
    for seed in range(5):
        q, u = random_state(robot, seed)
        theirs = Theirs(robot, model, q, u)
        M = theirs.mass_matrix()
        bias = theirs.P.T @ theirs.data.qfrc_bias
        assert error_of_matrix(ask("mass_matrix", q=q), M) < TOLERANCE
        assert error_of_force(ask("bias", q=q, u=u), bias, M) < TOLERANCE
        assert relative_error(ask("center_of_mass", q=q), theirs.data.subtree_com[0]) < TOLERANCE
        potential, kinetic = theirs.data.energy
        assert relative_error(ask("potential_energy", q=q), potential) < TOLERANCE
        assert relative_error(ask("kinetic_energy", q=q, u=u), kinetic) < TOLERANCE
        for number in range(model.nsite):
            site = theirs.data.site(number)
            assert relative_error(ask("position", site.name, q=q), site.xpos) < TOLERANCE
            turn = site.xmat.reshape(3, 3)
            assert relative_error(ask("rotation", site.name, q=q), turn) < TOLERANCE
            assert (
                relative_error(ask("jacobian", site.name, q=q), theirs.jacobian(site)) < TOLERANCE
            )


@pytest.mark.parametrize("name", ["armature", "two free bodies"])
def test_compiled_dynamics_match_mujoco(name: str) -> None:
    robot, model = compiled(name)
    tau = np.random.default_rng(0).uniform(-1, 1, (9, robot.nu))
    q, u = (
        np.array(part)
        for part in zip(*(random_state(robot, seed) for seed in range(9)), strict=True)
    )
    M, bias, after = robot.mass_matrix(q), robot.bias(q, u), robot.forward_dynamics(q, u, tau)
    for k in range(9):
        theirs = Theirs(robot, model, q[k], u[k])
        assert error_of_matrix(M[k], theirs.mass_matrix()) < TOLERANCE
        assert error_of_force(bias[k], theirs.P.T @ theirs.data.qfrc_bias, M[k]) < TOLERANCE
        theirs.data.qfrc_applied[:] = theirs.P @ tau[k]
        mujoco.mj_forward(model, theirs.data)
        assert relative_error(after[k], theirs.P.T @ theirs.data.qacc_smooth) < 1e-9


@pytest.mark.parametrize("name", ["free body with ball joints", "slides"])
def test_integrating_coordinates_matches_mujoco(name: str) -> None:
    robot, model = compiled(name)
    q, u = random_state(robot, 3)
    theirs = Theirs(robot, model, q, u).data
    there = theirs.qpos.copy()
    mujoco.mj_integratePos(model, there, theirs.qvel, 0.3)
    assert np.allclose(
        to_mujoco(robot, model, robot.integrate(q, u, 0.3), u)[0], there, rtol=0, atol=1e-14
    )
