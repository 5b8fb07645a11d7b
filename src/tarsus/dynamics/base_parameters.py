"""Fewer instructions for the same dynamics: inertia that a joint cannot feel goes to the parent.

Matter that a hinge's rotation leaves unchanged (a mass anywhere on the axis, and a moment of
inertia B (1 - a a^T)) moves the same way whether it rides on the body or on its parent, so it may
be booked on either. Booked on the parent it leaves zeros behind, which fold away when the program
is built. These are the base inertial parameters of Gautier and Khalil 1990. M(q), c(q, u) and g(q)
are the same functions; energies and the center of mass of single bodies are not, so only the step
uses this.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.model.mechanism import WORLD, Inertia, Mechanism
from tarsus.spatial.inertia import LinearInertia

Array = NDArray[np.float64]
RESIDUE = 1e-14  # of the largest entry: what subtraction leaves where it should leave zero


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
        """What is left, cancellation residue removed (relative: robots may be tiny)."""
        h = _clean(self.h - other.h, np.abs(self.h).max())
        return _Parameters(self.m - other.m, h, _clean(self.I - other.I, np.abs(self.I).max()))


def base_parameters(mechanism: Mechanism) -> list[LinearInertia]:
    """Bodies' inertias in their frames, regrouped towards the root: same M, c, g, more zeros."""
    own = [_about_origin(body.inertia) for body in mechanism.bodies]
    for i in reversed(range(len(own))):
        body = mechanism.bodies[i]
        unfelt = _unfelt(own[i], body.joint.kind, body.joint.axis)
        own[i] = own[i].without(unfelt)
        if body.parent != WORLD:
            own[body.parent].add(_moved(unfelt, body.rotation, body.position))
    return [LinearInertia(SX(p.m), SX(p.h), SX(p.I)) for p in own]


def _about_origin(inertia: Inertia) -> _Parameters:
    m, c = inertia.mass, inertia.com
    return _Parameters(m, m * c, inertia.about_com + m * (c @ c * np.eye(3) - np.outer(c, c)))


def _unfelt(p: _Parameters, kind: str, axis: Array) -> _Parameters:
    """The part of p that the joint's motion leaves as it is."""
    if kind == "ball":
        return _Parameters(p.m, np.zeros(3), np.zeros((3, 3)))
    if kind != "hinge":
        return _Parameters(0.0, np.zeros(3), np.zeros((3, 3)))
    across = np.eye(3)[np.argmin(np.abs(axis))]
    across = across - (across @ axis) * axis
    across /= np.linalg.norm(across)
    moment = across @ p.I @ across
    return _Parameters(p.m, (p.h @ axis) * axis, moment * (np.eye(3) - np.outer(axis, axis)))


def _moved(p: _Parameters, R: Array, r: Array) -> _Parameters:
    """The same parameters about the parent's origin: x_parent = R x + r."""
    h = R @ p.h
    moment = R @ p.I @ R.T + 2 * (r @ h) * np.eye(3) - np.outer(r, h) - np.outer(h, r)
    return _Parameters(p.m, h + p.m * r, moment + p.m * (r @ r * np.eye(3) - np.outer(r, r)))


def _clean(values: Array, scale: float) -> Array:
    return np.where(np.abs(values) < RESIDUE * scale, 0.0, values)
