"""Gains of joint servos from the robot itself: its weight, its inertia, its motors, the step.

Gravity pulls a joint away from its posture by k_g a radian, N m/rad: the servo is stiffer, and
damps the inertia I that the joint turns: kp = STIFFER k_g, kd = 2 ZETA sqrt(kp I), a servo of each
joint on its own (Siciliano 2009, chapter 8). k_g is m g l of
what the joint holds up, l off its axis; that of a joint between the ground and the trunk at least a
foot's share of m g h, the robot tipping over its feet as a pendulum does; and no joint is left
limp whose axis goes through the center of mass of what it holds up.

A torque is held over a step: damping that is stronger than the inertia over dt turns the velocity
round. The least inertia that joints can show is that in the air, M^-1 of the whole robot (a foot on
the ground only adds to it), so the eigenvalues of dt M^-1 kd stay below DAMPED, those of dt^2 M^-1
kp below SPRUNG. With closed loops M^-1 is what these leave of (M + dt D)^-1, D the joints' damping.
(A mode with the values d and a is stable on the midpoint's step for a / 2 < d < 2.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from casadi import DM, SX
from numpy.typing import NDArray

from tarsus.control.pd import actuated
from tarsus.dynamics import crba, effective_mass, rnea, tree
from tarsus.dynamics.jacobian import joint_axis, numeric_position
from tarsus.dynamics.kinematics import Kinematics, kinematics
from tarsus.dynamics.support_points import lowest_point
from tarsus.errors import InvalidValue
from tarsus.model.mechanism import Candidate, Mechanism

Array = NDArray[np.float64]

# than gravity: Mini Cheetah's kp of 40 N m/rad (Teixeira de Paula 2024, Table I) against m g h / 4
STIFFER = 6.4
ZETA = 0.7
DAMPED, SPRUNG = 0.5, 0.25
ROUNDS, NEARLY = 300, 1.005  # of lowering gains at most; how near to a bound is near enough
LOCKED = 1e-9  # of the largest mobility: what loops lock has this
LIFT = 0.1  # m: a slide lifts its load by less
HELD = 25.0  # rad/s: what hangs on a held joint answers as quickly as this
SLOWEST = 2.5  # rad/s: what hangs on any other, where gravity pulls by little or nothing
GIVES = 0.1  # rad: a motor's whole torque answers an error of this, or a larger one


@dataclass(frozen=True)
class Gains:
    """Gains of servos, one an actuator.

    kp: N m/rad (N/m of a slide)
    kd: N m s/rad (N s/m)
    soft: joints softer than gravity
    """

    kp: tuple[float, ...]
    kd: tuple[float, ...]
    soft: tuple[str, ...]


def gains(
    mechanism: Mechanism,
    q: Array,
    feet: Sequence[Candidate],
    dt: float,
    held: Sequence[int] = (),
) -> Gains:
    """Gains that hold a robot at coordinates q (nq,) on its feet, torques held for dt, s;
    InvalidValue if dt <= 0.

    held: motors by number that shall keep what hangs on them from swinging, whatever its weight
    """
    if not dt > 0:
        raise InvalidValue(f"dt must be a positive number of seconds, not {dt}.", "dt")
    # what each joint holds and turns, at q
    kin, at = kinematics(mechanism, SX(q)), actuated(mechanism)[1]
    M = np.array(DM(crba.mass_matrix(kin, rnea.body_inertias(mechanism))))
    mobility = _mobility(kin, M, dt)[np.ix_(at, at)].astype(float)
    pull, inertia = (load[at] for load in _loads(kin, np.diag(M), feet))
    quick = np.full(len(pull), SLOWEST)
    quick[list(held)] = HELD
    pull = np.maximum(pull, inertia * quick**2 / STIFFER)
    # stiffness, then damping, as far as the motors and the step let them
    effort = np.array([max(-motor.lower, motor.upper) for motor in mechanism.actuators])
    kp = _within(np.minimum(STIFFER * pull, effort / GIVES), mobility, SPRUNG / dt**2)
    kd = _within(2 * ZETA * np.sqrt(kp * inertia), mobility, DAMPED / dt)
    soft = tuple(
        motor.joint for motor, low in zip(mechanism.actuators, kp < pull, strict=True) if low
    )
    rounded = [tuple(float(f"{value:.3g}") for value in values) for values in (kp, kd)]
    return Gains(rounded[0], rounded[1], soft)


def _mobility(kin: Kinematics, M: Array, dt: float) -> Array:
    """M^-1; with closed loops what these leave of it, joints' damping resisting within the step."""
    mechanism = kin.mechanism
    if not mechanism.loops:
        return np.asarray(np.linalg.inv(M), dtype=np.float64)
    whole, W = (np.array(DM(part)) for part in effective_mass.inertia_and_constraints(kin))
    damping = np.concatenate(
        [np.full(body.joint.nu, body.joint.damping) for body in mechanism.bodies]
    )
    found = effective_mass.mobility(whole + dt * np.diag(damping), W)
    # of what loops lock nothing is left but round-off, of either sign
    rates, modes = np.linalg.eigh(0.5 * (found + found.T))
    held = modes * np.maximum(rates, LOCKED * rates.max()) @ modes.T
    return np.asarray(held, dtype=np.float64)


def _loads(kin: Kinematics, own: Array, feet: Sequence[Candidate]) -> tuple[Array, Array]:
    """The pull of gravity on each joint, N m/rad, and the inertia that it turns, kg m^2; both
    (nu,).

    own (nu,): the diagonal of M, what hangs on each joint; one between ground and trunk also turns
    a foot's share.
    """
    # masses, where they are, and the joints that carry them
    mechanism, bodies = kin.mechanism, kin.mechanism.bodies
    g = float(np.linalg.norm(mechanism.gravity_acceleration))
    beside = tree.object_bodies(mechanism)
    masses = np.array([0.0 if i in beside else b.inertia.mass for i, b in enumerate(bodies)])
    centers = np.array(
        [numeric_position(kin, i, body.inertia.com) for i, body in enumerate(bodies)]
    )
    paths = [set(tree.path(mechanism, i)) for i in range(len(bodies))]
    # how high above its feet the robot stands, and each foot's share of it
    standing = set[int]().union(*(paths[foot.body] for foot in feet))
    share = masses.sum() / max(len({foot.body for foot in feet}), 1)
    ground = min((lowest_point(kin, foot)[2] for foot in feet), default=0.0)
    height = masses @ centers[:, 2] / masses.sum() - ground
    # what hangs on each joint
    pull, inertia = np.zeros(mechanism.nu), own.copy()
    for i, body in enumerate(bodies):
        hung = [k for k, path in enumerate(paths) if i in path]
        moment = masses[hung] @ (centers[hung] - numeric_position(kin, i, np.zeros(3)))
        if body.joint.kind == "hinge":
            held = g * float(np.linalg.norm(np.cross(joint_axis(kin, i), moment)))
        else:
            held = g * float(masses[hung].sum()) / LIFT
        # a leg carries its share of the robot, if that is more
        if i in standing:
            held = max(held, share * g * height)
            inertia[mechanism.u_slices[i]] += share * height**2
        pull[mechanism.u_slices[i]] = held
    return pull, inertia


def _within(values: Array, mobility: Array, bound: float) -> Array:
    """Values (n,), lowered by their shares of each mode of mobility values whose eigenvalue passes
    the bound.
    """
    kept = np.minimum(values, bound / np.diag(mobility))
    for _ in range(ROUNDS):
        root = np.sqrt(kept)
        rates, modes = np.linalg.eigh(root[:, None] * mobility * root)
        if rates.max(initial=0.0) < NEARLY * bound:
            break
        kept = kept * (1 - modes**2 @ (1 - bound / np.maximum(rates, bound)))
    return kept
