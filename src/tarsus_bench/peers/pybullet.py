"""PyBullet: sequential impulses on articulated bodies (Bullet's multibody solver)."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from scipy.spatial.transform import Rotation

from tarsus.model.files import import_library
from tarsus.model.to_urdf import to_urdf
from tarsus_bench.peers.base import FRICTION, Array, PeerSession, Work


class PyBulletPeer(PeerSession):
    """Bullet through its Python interface, with torques set in every step."""

    package: ClassVar[str] = "pybullet"
    distributions: ClassVar[tuple[str, ...]] = ("pybullet",)
    variants: ClassVar[Mapping[str, str]] = {
        "": "defaults: friction projected to a cone",
        "pyramid": "enableConeFriction=0",
    }

    def __init__(self, work: Work, variant: str) -> None:
        # the floor and the robot, without self-contact
        bullet: Any = import_library("pybullet", "its benchmark", "peers")
        super().__init__(work, variant)
        self._bullet = bullet
        bullet.connect(bullet.DIRECT)
        bullet.resetSimulation()
        bullet.setTimeStep(work.dt)
        if variant == "pyramid":
            bullet.setPhysicsEngineParameter(enableConeFriction=0)
        bullet.setGravity(*work.robot.gravity_acceleration)
        floor = bullet.createMultiBody(0, bullet.createCollisionShape(bullet.GEOM_PLANE))
        bullet.changeDynamics(floor, -1, lateralFriction=1.0)  # Bullet multiplies the two
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "robot.urdf"
            file.write_text(to_urdf(work.robot))
            self._robot = bullet.loadURDF(str(file), flags=bullet.URDF_USE_INERTIA_FROM_FILE)
        # joints in our order, without Bullet's own motors and damping
        count = bullet.getNumJoints(self._robot)
        names = [bullet.getJointInfo(self._robot, k)[1].decode() for k in range(count)]
        self._joints = [names.index(name) for name in work.joints]
        for link in range(-1, count):
            bullet.changeDynamics(
                self._robot,
                link,
                lateralFriction=FRICTION,
                linearDamping=0.0,
                angularDamping=0.0,
                jointDamping=0.0,
                restitution=0.0,
                maxJointVelocity=1e6,
            )
        zeros = [0.0] * count
        bullet.setJointMotorControlArray(
            self._robot, self._joints, bullet.VELOCITY_CONTROL, forces=zeros
        )
        # pose of the center of mass, Bullet's frame of the base, in the frame of the base
        info = bullet.getDynamicsInfo(self._robot, -1)
        self._com, self._turn = np.array(info[3]), Rotation.from_quat(info[4])

    def settings(self) -> dict[str, str]:
        from importlib.metadata import version

        parameters = self._bullet.getPhysicsEngineParameters()
        return {
            "version": version("pybullet"),
            "number format": "float64",
            "solver": "sequential impulses (multibody), symplectic Euler",
            "iterations": str(parameters["numSolverIterations"]),
            "tolerance": "residual threshold by default",
            "contact": "position correction (ERP) by default; restitution 0",
        }

    def mass(self) -> float:
        bullet, robot = self._bullet, self._robot
        links = range(-1, bullet.getNumJoints(robot))
        return float(sum(bullet.getDynamicsInfo(robot, link)[0] for link in links))

    def reset(self) -> None:
        bullet, q, u = self._bullet, self._work.q, self._work.u
        base = Rotation.from_quat(q[3:7], scalar_first=True)
        arm = base.apply(self._com)
        bullet.resetBasePositionAndOrientation(
            self._robot, q[:3] + arm, (base * self._turn).as_quat()
        )
        omega = base.apply(u[3:6])
        bullet.resetBaseVelocity(self._robot, u[:3] + np.cross(omega, arm), omega)
        for joint, angle, rate in zip(self._joints, q[7:], u[6:], strict=True):
            bullet.resetJointState(self._robot, joint, angle, rate)

    def state(self) -> tuple[Array, Array]:
        bullet = self._bullet
        position, orientation = bullet.getBasePositionAndOrientation(self._robot)
        linear, angular = (np.array(v) for v in bullet.getBaseVelocity(self._robot))
        base = Rotation.from_quat(orientation) * self._turn.inv()
        arm = base.apply(self._com)
        joints = bullet.getJointStates(self._robot, self._joints) or ()  # None without joints
        angles, rates = ([joint[k] for joint in joints] for k in (0, 1))
        q = np.concatenate([np.array(position) - arm, base.as_quat(scalar_first=True), angles])
        body_rate = base.inv().apply(angular)
        u = np.concatenate([linear - np.cross(angular, arm), body_rate, rates])
        return q[None], u[None]

    def apply_servos(self) -> None:
        if not self._work.kp:
            return
        bullet, work = self._bullet, self._work
        joints = bullet.getJointStates(self._robot, self._joints)
        angles, rates = (np.array([joint[k] for joint in joints]) for k in (0, 1))
        torques = work.kp * (work.posture - angles) - work.kd * rates
        bullet.setJointMotorControlArray(
            self._robot, self._joints, bullet.TORQUE_CONTROL, forces=torques
        )

    def make_step(self) -> None:
        self._bullet.stepSimulation()
