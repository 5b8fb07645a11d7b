"""What happens when, in Tarsus and in MuJoCo, from one file: joints at stops, bodies that touch.

Both engines take the same step and the same torques; MuJoCo's contacts and stops are as hard as its
steps allow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import tarsus
from tarsus.contact.laws.moreau import Moreau
from tarsus.dynamics.robot import Robot

mujoco: Any = pytest.importorskip("mujoco")  # its stubs do not list its names

Array = NDArray[np.float64]
Torques = Callable[[float, Array, Array], Array]
MU = 0.8  # friction coefficient of everything
IMPEDANCE = (0.99, 0.999, 1e-4, 0.5, 2.0)  # solimp
GROUND = "ground"


@dataclass(frozen=True, eq=False)
class Course:
    """A run: coordinates and velocities after every step, and the step in which each joint first
    stood at its stop and each two bodies first touched.
    """

    q: Array
    u: Array
    stops: dict[str, int]
    meets: dict[frozenset[str], int]

    def late(self, other: Course) -> dict[str, int]:
        """By how many steps the other's events come later, of those that both have."""
        own = {name: other.stops[name] - k for name, k in self.stops.items() if name in other.stops}
        for both, k in self.meets.items():
            if both in other.meets:
                own[":".join(sorted(both))] = other.meets[both] - k
        return own


def in_tarsus(
    robot: Robot, start: tuple[Array, Array], torques: Torques, dt: float, steps: int
) -> Course:
    """By rigid contact, from q and u."""
    options: dict[str, Any] = {"dt": dt, "controller": torques, "self_collision": True}
    made = tarsus.Simulation(robot, Moreau(mu=MU), contacts="all", **options)
    made.set(q=start[0], u=start[1])
    log = made.run(steps * dt)
    # the first step in which each joint's limit pushes, and each contact
    scene, names, stops = made.plan.scene, robot.body_names, dict[str, int]()
    for name, at in zip(robot.joint_names, robot.u_slices, strict=True):
        if (hit := np.flatnonzero(log.force_limit.values[:, at].any(1))).size:
            stops[name] = int(hit[0])
    owners = [(names[c.body], GROUND) for c in scene.candidates]
    owners += [(names[pair.first.body], names[pair.second.body]) for pair in scene.pairs]
    meets, known = dict[frozenset[str], int](), log.contact.values.tolist()
    for contact, both in zip(scene.contact_names, owners, strict=True):
        pressed = log.force_contact.values[:, known.index(contact), 0] if contact in known else 0
        if (hit := np.flatnonzero(pressed > 0)).size:
            meets[frozenset(both)] = min(int(hit[0]), meets.get(frozenset(both), steps))
    return Course(log.q.values, log.u.values, stops, meets)


def in_mujoco(
    file: str, start: tuple[Array, Array], torques: Torques, dt: float, steps: int
) -> Course:
    """By MuJoCo's contact at two steps of time constant, from a file's text or path."""
    model = (
        mujoco.MjModel.from_xml_string(file)
        if file.lstrip().startswith("<")
        else mujoco.MjModel.from_xml_path(file)
    )
    hard(model, dt)
    data, q, u = mujoco.MjData(model), np.zeros((steps, model.nq)), np.zeros((steps, model.nv))
    data.qpos[:], data.qvel[:] = start
    motors = np.array([model.jnt_dofadr[model.actuator_trnid[k, 0]] for k in range(model.nu)], int)
    stops, meets = dict[str, int](), dict[frozenset[str], int]()
    for k in range(steps):
        data.qfrc_applied[:] = 0
        data.qfrc_applied[motors] = torques(k * dt, data.qpos.copy(), data.qvel.copy())
        mujoco.mj_step(model, data)
        q[k], u[k] = data.qpos, data.qvel
        for row in np.flatnonzero(data.efc_type == mujoco.mjtConstraint.mjCNSTR_LIMIT_JOINT):
            stops.setdefault(model.joint(data.efc_id[row]).name, k)
        for contact in data.contact:
            bodies = model.body_weldid[model.geom_bodyid[contact.geom]]
            both = frozenset(GROUND if body == 0 else model.body(body).name for body in bodies)
            meets.setdefault(both, k)
    return Course(q, u, stops, meets)


def hard(model: Any, dt: float) -> None:
    """As hard as a step allows, the same friction everywhere, no motors: torques come as forces."""
    option = model.opt
    option.timestep, option.integrator = dt, mujoco.mjtIntegrator.mjINT_IMPLICITFAST
    option.cone, option.impratio = mujoco.mjtCone.mjCONE_ELLIPTIC, 10.0
    option.enableflags |= mujoco.mjtEnableBit.mjENBL_OVERRIDE
    option.disableflags |= mujoco.mjtDisableBit.mjDSBL_ACTUATION
    option.o_margin, option.o_solref[:] = 0.0, (2 * dt, 1.0)
    option.o_solimp[:], option.o_friction[:3] = IMPEDANCE, (MU, MU, 0.0)
    model.jnt_solref[:], model.jnt_solimp[:] = (2 * dt, 1.0), IMPEDANCE
    model.geom_condim[:] = 3
