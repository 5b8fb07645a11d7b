"""Dynamics by two independent implementations in Tarsus's conventions: CasADi's virtual machine
and Pinocchio.
"""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import ArrayLike, NDArray

from tarsus.dynamics.quantities import QUANTITIES, SIZES, Terms, input_size
from tarsus.model.conventions import to_pinocchio
from tarsus.model.mechanism import WORLD, Mechanism

Array = NDArray[np.float64]


class Interpreted:
    """Quantities of a mechanism without Tarsus's compiler, for one state at a time."""

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism = mechanism
        self._given = {name: ca.SX.sym(name, input_size(mechanism, name)) for name in SIZES}
        self._functions: dict[tuple[str, str], ca.Function] = {}

    def __call__(self, quantity: str, frame: str = "", /, **given: ArrayLike) -> Array:
        asked = QUANTITIES[quantity]
        if (quantity, frame) not in self._functions:
            terms = Terms(
                self.mechanism, self._given, self.mechanism.frame(frame) if frame else None
            )
            value = ca.densify(asked.expression(terms))
            inputs = [self._given[name] for name in asked.inputs]
            self._functions[quantity, frame] = ca.Function("f", inputs, [value], {"cse": True})
        value = self._functions[quantity, frame](
            *(np.asarray(given[name]) for name in asked.inputs)
        )
        return np.asarray(value).reshape(asked.shape_for(self.mechanism))


class Pinocchio:
    """The same quantities by Pinocchio at one state (q, u); v = A u, v' = A u' + drift."""

    def __init__(self, mechanism: Mechanism, model: Any, q: Array, u: Array) -> None:
        import pinocchio as pin

        self.pin, self.model, self.data = pin, model, model.createData()
        self.q, self.v = to_pinocchio(mechanism, model, q, u)
        states = np.tile(q, (mechanism.nu, 1))
        self.A = to_pinocchio(mechanism, model, states, np.eye(mechanism.nu))[1].T
        self.drift = np.zeros(model.nv)
        for joint in list(model.joints)[1:]:
            if joint.nq == 7:
                linear, omega = self.v[joint.idx_v :][:3], self.v[joint.idx_v + 3 :][:3]
                self.drift[joint.idx_v :][:3] = -np.cross(omega, linear)

    def mass_matrix(self) -> Array:
        M = self.pin.crba(self.model, self.data, self.q)
        M = np.triu(M) + np.triu(M, 1).T
        return self.A.T @ M @ self.A

    def gravity(self) -> Array:
        return self.A.T @ self.pin.computeGeneralizedGravity(self.model, self.data, self.q)

    def velocity_terms(self) -> Array:
        model = self.pin.Model(self.model)
        model.gravity.linear = np.zeros(3)
        return self.A.T @ self.pin.rnea(model, model.createData(), self.q, self.v, self.drift)

    def bias(self) -> Array:
        return self.inverse_dynamics(np.zeros(self.A.shape[1]))

    def inverse_dynamics(self, acceleration: Array) -> Array:
        theirs = self.A @ acceleration + self.drift
        return self.A.T @ self.pin.rnea(self.model, self.data, self.q, self.v, theirs)

    def center_of_mass(self) -> Array:
        return np.array(self.pin.centerOfMass(self.model, self.data, self.q))

    def energies(self) -> tuple[float, float]:
        return (
            self.pin.computeKineticEnergy(self.model, self.data, self.q, self.v),
            self.pin.computePotentialEnergy(self.model, self.data, self.q),
        )

    def momentum(self) -> Array:
        """Momentum about the world's origin."""
        h = self.pin.computeCentroidalMomentum(self.model, self.data, self.q, self.v)
        return np.concatenate([h.linear, h.angular + np.cross(self.center_of_mass(), h.linear)])

    def centroidal_momentum(self) -> Array:
        h = self.pin.computeCentroidalMomentum(self.model, self.data, self.q, self.v)
        return np.concatenate([h.linear, h.angular])

    def centroidal_momentum_matrix(self) -> Array:
        return self.pin.computeCentroidalMap(self.model, self.data, self.q) @ self.A

    def centroidal_momentum_bias(self) -> Array:
        """Rate of the centroidal momentum at u' = 0."""
        self.pin.computeCentroidalMomentumTimeVariation(
            self.model, self.data, self.q, self.v, self.drift
        )
        return np.concatenate([self.data.dhg.linear, self.data.dhg.angular])

    def center_of_mass_jacobian(self) -> Array:
        return self.pin.jacobianCenterOfMass(self.model, self.data, self.q) @ self.A

    def acceleration(self, frame: int, acceleration: Array) -> Array:
        """Classical acceleration of a frame's origin, then angular acceleration, world axes."""
        theirs = self.A @ acceleration + self.drift
        self.pin.forwardKinematics(self.model, self.data, self.q, self.v, theirs)
        axes = self.pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        found = self.pin.getFrameClassicalAcceleration(self.model, self.data, frame, axes)
        return np.concatenate([found.linear, found.angular])

    def pose(self, frame: int) -> tuple[Array, Array]:
        """Position and rotation of a frame."""
        self.pin.framesForwardKinematics(self.model, self.data, self.q)
        return self.data.oMf[frame].translation, self.data.oMf[frame].rotation

    def jacobian(self, frame: int) -> Array:
        """Jacobian in world axes at the frame's origin."""
        axes = self.pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        J = self.pin.computeFrameJacobian(self.model, self.data, self.q, frame, axes)
        return J.reshape(6, -1) @ self.A


def error_of_matrix(ours: Array, theirs: Array) -> float:
    """Largest error of a mass matrix, entry i, j in units of sqrt(M_ii M_jj)."""
    unit = np.sqrt(np.diag(theirs))
    return float((np.abs(ours - theirs) / np.outer(unit, unit)).max())


def error_of_force(ours: Array, theirs: Array, M: Array) -> float:
    """Largest error of a generalized force, entry i in units of sqrt(M_ii), relative to the largest
    entry or 1.
    """
    unit = np.sqrt(np.diag(M))
    return float((np.abs(ours - theirs) / unit).max() / max((np.abs(theirs) / unit).max(), 1.0))


def relative_error(ours: ArrayLike, theirs: ArrayLike) -> float:
    """Largest error relative to the largest entry, or to 1e-3 if all are smaller."""
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert ours.shape == theirs.shape
    return float(np.abs(ours - theirs).max() / max(np.abs(theirs).max(), 1e-3))


def leaves(mechanism: Mechanism) -> list[int]:
    """Bodies without children: feet, hands, heads."""
    parents = {body.parent for body in mechanism.bodies}
    return [
        n for n, body in enumerate(mechanism.bodies) if n not in parents and body.parent != WORLD
    ]
