"""Base inertial parameters: regroup inertias towards the root, which saves instructions.

A hinge's rotation does not change a mass on its axis, nor a moment of inertia B (1 - a a^T). Such
inertia moves the same way on the body and on its parent, so it can be assigned to either. Assigned
to the parent it leaves zeros, which constant folding removes from the program. M(q), c(q, u) and
g(q) stay the same functions. Energies and centers of mass of single bodies do not, so only the step
uses these parameters.

References
----------
Gautier and Khalil 1990.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.model.mechanism import WORLD, Inertia, Mechanism
from tarsus.spatial.inertia import LinearInertia

Array = NDArray[np.float64]
ROUND_OFF = 1e-14  # of the largest entry; smaller differences are set to zero


@dataclass
class _Parameters:
    m: float
    h: Array
    I: Array  # noqa: E741

    def add(self, other: _Parameters) -> None:
        self.m += other.m
        self.h = self.h + other.h
        self.I = self.I + other.I

    def without(self, other: _Parameters) -> _Parameters:
        """Compute the difference, with round-off relative to the largest entry removed."""
        h = _remove_round_off(self.h - other.h, np.abs(self.h).max())
        return _Parameters(
            self.m - other.m, h, _remove_round_off(self.I - other.I, np.abs(self.I).max())
        )


def base_parameters(mechanism: Mechanism) -> list[LinearInertia]:
    """Regroup the inertia of each body, in its own frame, towards the root."""
    parameters = [_shift_to_origin(body.inertia) for body in mechanism.bodies]
    for i in reversed(range(len(parameters))):
        body = mechanism.bodies[i]
        invariant = _invariant_part(parameters[i], body.joint.kind, body.joint.axis)
        parameters[i] = parameters[i].without(invariant)
        if body.parent != WORLD:
            parameters[body.parent].add(_to_parent(invariant, body.rotation, body.position))
    return [LinearInertia(SX(p.m), SX(p.h), SX(p.I)) for p in parameters]


def _shift_to_origin(inertia: Inertia) -> _Parameters:
    m, c = inertia.mass, inertia.com
    return _Parameters(m, m * c, inertia.about_com + m * (c @ c * np.eye(3) - np.outer(c, c)))


def _invariant_part(p: _Parameters, kind: str, axis: Array) -> _Parameters:
    """Compute the part of p that the joint's motion does not change."""
    if kind == "ball":
        return _Parameters(p.m, np.zeros(3), np.zeros((3, 3)))
    if kind != "hinge":
        return _Parameters(0.0, np.zeros(3), np.zeros((3, 3)))
    across = np.eye(3)[np.argmin(np.abs(axis))]
    across = across - (across @ axis) * axis
    across /= np.linalg.norm(across)
    moment = across @ p.I @ across
    return _Parameters(p.m, (p.h @ axis) * axis, moment * (np.eye(3) - np.outer(axis, axis)))


def _to_parent(p: _Parameters, R: Array, r: Array) -> _Parameters:
    """Transform the parameters to the parent's frame, with x_parent = R x + r."""
    h = R @ p.h
    moment = R @ p.I @ R.T + 2 * (r @ h) * np.eye(3) - np.outer(r, h) - np.outer(h, r)
    return _Parameters(p.m, h + p.m * r, moment + p.m * (r @ r * np.eye(3) - np.outer(r, r)))


def _remove_round_off(values: Array, scale: float) -> Array:
    return np.where(np.abs(values) < ROUND_OFF * scale, 0.0, values)
