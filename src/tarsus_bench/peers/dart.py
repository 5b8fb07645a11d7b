"""DART: an LCP with pyramid friction, Featherstone's algorithms, symplectic Euler."""

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

GROUND = 100.0, 1.0  # m, edge and height of the box that serves as the floor


class DartPeer(PeerSession):
    """World of dartpy, with torques set in every step."""

    package: ClassVar[str] = "dartpy"
    distributions: ClassVar[tuple[str, ...]] = ("dartpy",)
    variants: ClassVar[Mapping[str, str]] = {
        "": "LCP solver and collision detector by default",
        "bullet": "collision detector Bullet, as in SimBenchmark",
    }

    def __init__(self, work: Work, variant: str) -> None:
        # the world and the robot
        super().__init__(work, variant)
        self._dart = import_library("dartpy", "its benchmark", "peers")
        dart: Any = self._dart
        self._world = dart.simulation.World()
        self._world.setTimeStep(work.dt)
        if variant == "bullet":
            self._world.setCollisionDetector(dart.collision.BulletCollisionDetector())
        self._world.setGravity(list(work.robot.gravity_acceleration))
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "robot.urdf"
            file.write_text(to_urdf(work.robot))
            self._robot = dart.utils.DartLoader().parseSkeleton(str(file))
        self._robot.disableSelfCollisionCheck()
        self._world.addSkeleton(self._robot)
        self._world.addSkeleton(self._floor())
        # friction, and the joints in our order
        for k in range(self._robot.getNumBodyNodes()):
            for node in self._robot.getBodyNode(k).getShapeNodes():
                if node.hasDynamicsAspect():
                    node.getDynamicsAspect().setFrictionCoeff(FRICTION)
        joints = [self._robot.getJoint(name) for name in work.joints]
        self._at = [joint.getIndexInSkeleton(0) for joint in joints]
        self._root = self._robot.getRootBodyNode()
        self._forces = np.zeros(self._robot.getNumDofs())

    def _floor(self) -> Any:
        dynamics, (edge, height) = self._dart.dynamics, GROUND
        floor = dynamics.Skeleton("floor")
        joint, body = floor.createWeldJointAndBodyNodePair()
        shape = body.createShapeNode(dynamics.BoxShape([edge, edge, height]))
        shape.createCollisionAspect()
        shape.createDynamicsAspect().setFrictionCoeff(FRICTION)
        below = self._dart.math.Isometry3()
        below.set_translation([0.0, 0.0, -height / 2])
        joint.setTransformFromParentBodyNode(below)
        return floor

    def settings(self) -> dict[str, str]:
        from importlib.metadata import version

        solver = self._world.getConstraintSolver()
        return {
            "version": version("dartpy"),
            "number format": "float64",
            "constraint solver": type(solver).__name__,
            "LCP solver": type(solver.getBoxedLcpSolver()).__name__,
            "collision detector": type(solver.getCollisionDetector()).__name__,
            "contact": "the floor is a box; error correction by default",
        }

    def mass(self) -> float:
        return float(self._robot.getMass())

    def reset(self) -> None:
        q, u, dart = self._work.q, self._work.u, self._dart
        self._world.reset()
        base = Rotation.from_quat(q[3:7], scalar_first=True)
        pose = dart.math.Isometry3()
        pose.set_rotation(base.as_matrix())
        pose.set_translation(q[:3])
        free = self._robot.getRootJoint()
        free.setTransform(pose)
        free.setAngularVelocity(base.apply(u[3:6]))
        free.setLinearVelocity(u[:3])
        positions, velocities = self._robot.getPositions(), self._robot.getVelocities()
        positions[self._at], velocities[self._at] = q[7:], u[6:]
        self._robot.setPositions(positions)
        self._robot.setVelocities(velocities)
        self._robot.setForces(np.zeros(len(self._forces)))

    def state(self) -> tuple[Array, Array]:
        pose = self._root.getTransform()
        base = Rotation.from_matrix(pose.rotation())
        angular = base.inv().apply(np.ravel(self._root.getAngularVelocity()))
        angles, rates = (
            v[self._at] for v in (self._robot.getPositions(), self._robot.getVelocities())
        )
        q = np.concatenate([np.ravel(pose.translation()), base.as_quat(scalar_first=True), angles])
        linear = np.ravel(self._root.getLinearVelocity())
        return q[None], np.concatenate([linear, angular, rates])[None]

    def apply_servos(self) -> None:
        if not self._work.kp:
            return
        work, robot = self._work, self._robot
        angles, rates = robot.getPositions()[self._at], robot.getVelocities()[self._at]
        self._forces[self._at] = work.kp * (work.posture - angles) - work.kd * rates
        robot.setForces(self._forces)

    def make_step(self) -> None:
        self._world.step()
