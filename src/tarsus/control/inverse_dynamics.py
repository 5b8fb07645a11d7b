"""Torques that move a robot on flat feet as asked, and the ground's forces they count on.

Inverse dynamics with chosen contact forces. Asked for are the accelerations of the center of mass,
of the base's attitude and of every sole; the other joints are servoed. Joint accelerations of a leg
follow from those of its sole and of the base (damped least squares), the recursive Newton-Euler
algorithm gives the force and moment that all this needs from the ground, and the feet that carry
share it: each acts at a center of pressure inside its sole, with a moment about the vertical. What
a flat foot cannot give is cut off, the attitude going before the center of mass. A leg's torques
are what the motion needs, less J^T of its foot's force.

Everything is per mass and inertia: no number here belongs to a robot.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.control.pd import actuated
from tarsus.dynamics import energy, jacobian, rnea
from tarsus.dynamics.base_parameters import base_parameters
from tarsus.dynamics.free_motion import armature
from tarsus.dynamics.kinematics import Kinematics, kinematics
from tarsus.model.mechanism import Mechanism
from tarsus.morphology.sole_inverse_kinematics import towards
from tarsus.morphology.sole_leg import SoleLeg, find_sole_legs
from tarsus.spatial.rotation import constant

Array = NDArray[np.float64]
EDGE = 0.95  # part of a sole's half length and width that a center of pressure may use
LIGHTEST = 0.1  # part of the weight that the ground carries at least while feet are to stand
TINY = 1e-6  # N
GRIP = 0.5  # friction coefficient counted on


class Sole(NamedTuple):
    """A sole at an instant, world axes: place (3,) m, rotation (3, 3), twist (6,) m/s and rad/s,
    and its Jacobian by the base (6, 6) and by the leg's joints (6, n).
    """

    place: SX
    rotation: SX
    twist: SX
    by_base: SX
    by_leg: SX


class WholeBodyMotion(NamedTuple):
    """What is asked for.

    push: (3,) of the center of mass, m/s^2
    turn: (3,) of the base's attitude, rad/s^2, its own axes
    soles: of every foot (6,) m/s^2 and rad/s^2
    joints: (nu,) of joints outside the legs, and of what legs have to spare, rad/s^2
    calm: 1/s, at which the angular momentum is taken away, whatever the attitude; 0: the attitude
        is kept, whatever the angular momentum
    """

    push: SX
    turn: SX
    soles: list[SX]
    joints: SX
    calm: SX | float = 0.0


@dataclass(frozen=True)
class Stander:
    """A robot on flat feet at an instant."""

    kin: Kinematics
    legs: tuple[SoleLeg, ...]

    @classmethod
    def of(cls, mechanism: Mechanism, q: SX, u: SX) -> Stander:
        """At coordinates q (nq,) and velocities u (nu,)."""
        return cls(kinematics(mechanism, q, u), find_sole_legs(mechanism))

    @cached_property
    def mass(self) -> float:
        """kg."""
        return self.kin.mechanism.mass

    @cached_property
    def gravity(self) -> float:
        """m/s^2, downwards."""
        return -self.kin.mechanism.gravity_acceleration[2]

    @cached_property
    def center(self) -> tuple[SX, SX]:
        """Place (3,) m and velocity (3,) m/s of the center of mass."""
        inertias = base_parameters(self.kin.mechanism)
        momentum = energy.momentum(self.kin, inertias)[:3]
        return energy.center_of_mass(self.kin, inertias), momentum / self.mass

    @cached_property
    def spin(self) -> SX:
        """Angular momentum (3,) about the center of mass, kg m^2/s."""
        inertias = base_parameters(self.kin.mechanism)
        linear, angular = ca.vertsplit(energy.momentum(self.kin, inertias), 3)
        return angular - ca.cross(self.center[0], linear)

    @cached_property
    def soles(self) -> list[Sole]:
        """Of every leg."""
        return [self._sole(leg) for leg in self.legs]

    def _sole(self, leg: SoleLeg) -> Sole:
        kin, body, point = self.kin, leg.bodies[-1], constant(leg.sole)
        columns = [
            jacobian.dense(found, kin.mechanism.nu)
            for found in (
                jacobian.point_jacobian(kin, body, point),
                jacobian.angular_jacobian(kin, body),
            )
        ]
        J = ca.vertcat(*columns)
        return Sole(
            jacobian.position(kin, body, point),
            ca.mtimes(kin.world_rotation[body], constant(leg.level.T)),
            ca.mtimes(J, kin.u),
            J[:, :6],
            J[:, self.joints_of(leg)],
        )

    def joints_of(self, leg: SoleLeg) -> list[int]:
        """Where a leg's joints stand in u."""
        return [self.kin.mechanism.u_slices[i].start for i in leg.bodies]

    def servo(self, posture: Array, stiffness: float, damping: float) -> SX:
        """Accelerations (nu,) that bring all joints to a posture (nq,); 1/s^2 and 1/s."""
        mechanism, wanted = self.kin.mechanism, SX.zeros(self.kin.mechanism.nu)
        for i, body in enumerate(mechanism.bodies):
            if body.joint.kind in ("hinge", "slide"):
                at, of = mechanism.u_slices[i].start, mechanism.q_slices[i].start
                off = float(posture[of]) - self.kin.q[of]
                wanted[at] = stiffness * off - damping * self.kin.u[at]
        return wanted

    def motors(self, values: SX) -> SX:
        """The entries (n_actuators,) of a vector (nu,) that belong to the motors."""
        return ca.vec(values[actuated(self.kin.mechanism)[1]])

    def torques(self, asked: WholeBodyMotion, loads: list[SX]) -> SX:
        """Torques (n_actuators,), N m.

        loads: share of the ground's force that each foot takes, 1 in all; all zero in flight
        """
        # what the motion needs, joint by joint
        kin, mechanism = self.kin, self.kin.mechanism
        base = ca.vertcat(asked.push, asked.turn)
        wanted = SX(asked.joints)
        wanted[:6] = base
        for leg, sole, motion in zip(self.legs, self.soles, asked.soles, strict=True):
            at = self.joints_of(leg)
            way = towards(sole.by_leg, motion - ca.mtimes(sole.by_base, base), leg.length)
            wanted[at] = way.of(wanted[at])
        needed = rnea.inverse_dynamics(kin, base_parameters(mechanism), wanted)
        needed += armature(mechanism) * wanted

        # the ground's share of it, foot by foot
        contact = self._ground(asked, needed, loads)
        for leg, sole, (force, moment) in zip(self.legs, self.soles, contact, strict=True):
            rows = self.joints_of(leg)
            needed[rows] -= ca.mtimes(sole.by_leg.T, ca.vertcat(force, moment))
        return self.motors(needed)

    def _ground(self, asked: WholeBodyMotion, needed: SX, loads: list[SX]) -> list[tuple[SX, SX]]:
        """Force and moment on every sole about its middle, N and N m, world axes."""
        # all of it: force, and moment about the center of mass
        standing = sum(loads, SX(0))
        force = self._grip(asked.push) * standing
        R, origin = self.kin.world_rotation[0], self.kin.q[:3]
        arm = self.center[0] - origin
        moment = ca.mtimes(R, needed[3:6]) - ca.cross(arm, needed[:3])
        if not SX(asked.calm).is_zero():
            moment = ca.if_else(asked.calm > 0, -asked.calm * self.spin, moment)
        # its center of pressure, from the middle of the feet that carry
        middle = sum(
            (load * sole.place for load, sole in zip(loads, self.soles, strict=True)), SX.zeros(3)
        )
        above, upward = self.center[0] - middle, ca.fmax(force[2], TINY)
        shift = ca.vertcat(force[0] * above[2] + moment[1], force[1] * above[2] - moment[0])
        off = above[:2] - shift / upward
        about = moment[2] + shift[0] / upward * force[1] - shift[1] / upward * force[0]
        # each foot's part of it
        shared = []
        for leg, sole, load in zip(self.legs, self.soles, loads, strict=True):
            own = load * force
            inside = _inside(sole.rotation, off, leg.half * EDGE)
            spin = within(load * about, GRIP * float(min(leg.half)) * own[2])
            shared.append((own, ca.cross(inside, own) + ca.vertcat(0, 0, spin)))
        return shared

    def _grip(self, push: SX) -> SX:
        """The ground's force (3,) for an acceleration (3,) of the center of mass, N: it pushes, and
        friction holds.
        """
        up = ca.fmax(push[2] + self.gravity, LIGHTEST * self.gravity)
        flat = [within(push[k], GRIP * up) for k in range(2)]
        return self.mass * ca.vertcat(*flat, up)


def attitude(kin: Kinematics, error: SX, rate: SX, stiffness: float, damping: float) -> SX:
    """Acceleration (3,), rad/s^2, base axes, that turns the base upright and to its heading.

    error: sine of the angle to the left that the heading misses; rate: rad/s to the left
    """
    R, spin = kin.world_rotation[0], kin.u[3:6]
    tilt = ca.vertcat(-R[2, 1], R[2, 0], error)
    return stiffness * tilt + damping * (ca.vertcat(0, 0, rate) - spin)


def _inside(R: SX, off: SX, half: Array) -> SX:
    """A point (2,) relative to a sole's middle, cut off at the sole's edges: (3,), world axes."""
    along = [ca.dot(R[:2, k], off) for k in range(2)]
    x, y = (within(value, float(h)) for value, h in zip(along, half, strict=True))
    return R[:, 0] * x + R[:, 1] * y


def within(value: SX, limit: float | SX) -> SX:
    """A value cut off at a limit to both sides."""
    return ca.fmin(ca.fmax(value, -limit), limit)
