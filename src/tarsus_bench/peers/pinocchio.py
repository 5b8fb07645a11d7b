"""Pinocchio: its dynamics and its cone solver, stepped in Python by symplectic Euler."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from tarsus.model.files import import_library
from tarsus.model.to_urdf import to_urdf
from tarsus_bench.peers.base import FRICTION, Array, PeerSession, Work

CORRECTION = 0.2  # fraction of a sphere's depth that a step corrects
ITERATIONS, TOLERANCE = 1000, 1e-8


class PinocchioPeer(PeerSession):
    """Mass matrix, forces and contact impulses of Pinocchio in a loop in Python."""

    package: ClassVar[str] = "pinocchio"
    distributions: ClassVar[tuple[str, ...]] = ("pin",)
    variants: ClassVar[Mapping[str, str]] = {
        "": "PGSConstraintSolver; speed is that of the loop in Python",
        "admm": "ADMMConstraintSolver; speed is that of the loop in Python",
    }

    def __init__(self, work: Work, variant: str) -> None:
        # the robot, with a frame at every sphere
        super().__init__(work, variant)
        pin: Any = import_library("pinocchio", "its benchmark", "peers")
        self._pin = pin
        # a continuous joint would get a sine and a cosine as coordinates
        text = to_urdf(work.robot).replace('"continuous"', '"revolute"')
        self._model = pin.buildModelFromXML(text, pin.JointModelFreeFlyer())
        self._model.gravity.linear = np.array(work.robot.gravity_acceleration)
        self._frames, contacts = [], pin.StdVec_ConstraintModel()
        for c in work.robot.candidates:
            name = work.robot.bodies[c.body].name
            body = self._model.frames[self._model.getFrameId(name)]
            placement = body.placement * pin.SE3(np.eye(3), np.array(c.position))
            frame = pin.Frame(c.name, body.parentJoint, placement, pin.FrameType.OP_FRAME)
            self._frames.append(self._model.addFrame(frame))
            contact = pin.PointContactConstraintModel(self._model, body.parentJoint, placement)
            contact.setFriction(FRICTION)
            contacts.append(pin.ConstraintModel(contact))
        self._radii = np.array([c.radius for c in work.robot.candidates])
        self._data = self._model.createData()
        # the solver
        self._contacts, self._contact_data = contacts, pin.StdVec_ConstraintData()
        for contact in contacts:
            self._contact_data.append(contact.createData())
        self._method = variant.upper() or "PGS"
        self._solver = getattr(pin, f"{self._method}ConstraintSolver")()
        self._settings = getattr(pin, f"{self._method}SolverSettings")()
        self._settings.max_iterations = ITERATIONS
        for kind in ("feasibility", "complementarity"):
            setattr(self._settings, f"absolute_{kind}_tol", TOLERANCE)
            setattr(self._settings, f"relative_{kind}_tol", TOLERANCE)
        ids = [self._model.getJointId(name) for name in work.joints]
        self._in_q = [self._model.joints[k].idx_q for k in ids]
        self._in_v = [self._model.joints[k].idx_v for k in ids]
        self._tau = np.zeros(self._model.nv)
        self.reset()

    def settings(self) -> dict[str, str]:
        return {
            "version": self._pin.__version__,
            "number format": "float64",
            "solver": f"{self._method}, Delassus matrix, solve_ncp {self._settings.solve_ncp}",
            "iterations": f"at most {ITERATIONS}",
            "tolerance": f"{TOLERANCE:g}",
            "integrator": "symplectic Euler",
            "contact": f"rigid; a step corrects {CORRECTION:g} of the depth",
        }

    def mass(self) -> float:
        return float(self._pin.computeTotalMass(self._model))

    def reset(self) -> None:
        q, u = self._work.q, self._work.u
        self._q, self._v = self._pin.neutral(self._model), np.zeros(self._model.nv)
        self._q[:3], self._q[3:6], self._q[6] = q[:3], q[4:7], q[3]
        self._q[self._in_q] = q[7:]
        turn = self._pin.Quaternion(self._q[3:7]).toRotationMatrix()
        self._v[:3], self._v[3:6] = turn.T @ u[:3], u[3:6]
        self._v[self._in_v] = u[6:]
        self._result = getattr(self._pin, f"{self._method}SolverResult")()

    def state(self) -> tuple[Array, Array]:
        q, v = self._q, self._v
        turn = self._pin.Quaternion(q[3:7]).toRotationMatrix()
        ours = np.concatenate([q[:3], q[6:7], q[3:6], q[self._in_q]])
        return ours[None], np.concatenate([turn @ v[:3], v[3:6], v[self._in_v]])[None]

    def apply_servos(self) -> None:
        work = self._work
        angles, rates = self._q[self._in_q], self._v[self._in_v]
        self._tau[self._in_v] = work.kp * (work.posture - angles) - work.kd * rates

    def make_step(self) -> None:
        pin, model, data, dt = self._pin, self._model, self._data, self._work.dt
        # without contact
        pin.computeAllTerms(model, data, self._q, self._v)
        pin.updateFramePlacements(model, data)
        upper = np.triu(pin.crba(model, data, self._q))
        M = upper + np.triu(upper, 1).T
        J, gap = self._touching()
        answer = np.linalg.solve(M, np.column_stack([self._tau - data.nle, J.T]))
        free = self._v + dt * answer[:, 0]
        # acceleration of a point, not of the rotating frame
        free[:3] += dt * np.cross(self._v[3:6], self._v[:3])
        # impulses in the friction cones that prevent penetration
        if (gap + dt * (J @ free)[2::3] < 0).any():
            g = J @ free
            g[2::3] += np.where(gap > 0, gap, CORRECTION * gap) / dt
            delassus = pin.DelassusOperatorDense(J @ answer[:, 1:])
            self._solver.solve(
                delassus, g, self._contacts, self._contact_data, self._settings, self._result
            )
            free = free + answer[:, 1:] @ np.asarray(self._result.retrieveConstraintImpulses())
        self._integrate(free)

    def _integrate(self, v: Array) -> None:
        """Integrate the pose of the base and the angles of the hinges."""
        pin, dt = self._pin, self._work.dt
        before = pin.Quaternion(self._q[3:7]).toRotationMatrix()
        turned = pin.exp3(dt * v[3:6])
        self._q[:3] += dt * (before @ v[:3])
        self._q[3:7] = pin.Quaternion(before @ turned).normalized().coeffs()
        self._q[self._in_q] += dt * v[self._in_v]
        self._v = np.concatenate([turned.T @ v[:3], v[3:]])

    def _touching(self) -> tuple[Array, Array]:
        """Compute the Jacobian (3 n, nv) and the heights (n,), m, of the spheres' lowest points."""
        pin, model, data = self._pin, self._model, self._data
        rows, gap = [], np.zeros(len(self._frames))
        for k, (frame, radius) in enumerate(zip(self._frames, self._radii, strict=True)):
            full = pin.getFrameJacobian(model, data, frame, pin.LOCAL_WORLD_ALIGNED)
            point = full[:3].copy()
            point[0] -= radius * full[4]
            point[1] += radius * full[3]
            rows.append(point)
            gap[k] = data.oMf[frame].translation[2] - radius
        return np.vstack(rows), gap
