"""Joint servo gains computed from the robot: its weight, inertia and motors, and the time step.

Gravity pulls a joint away from its posture with k_g per radian, in N m/rad. The servo is stiffer by
a factor and damps the inertia I that the joint turns: kp = STIFFNESS_RATIO k_g, kd = 2
DAMPING_RATIO sqrt(kp I), independently for each joint (Siciliano 2009, chapter 8). k_g is m g l of
what the joint supports, at the distance l from its axis. For a joint between the ground and the
trunk it is at least one foot's share of m g h, because the robot tips over its feet like an
inverted pendulum. A motor that drives joints through closed loops or mimic joints also gets their
load, by the square of the gear ratio. A joint whose axis passes through the center of mass of what
it supports still gets a minimum stiffness.

A torque is constant over a step, so damping larger than the inertia over dt would reverse the
velocity. The least inertia seen by the joints is that in the air, M^-1 of the whole robot (a foot
on the ground only adds to it). Hence the eigenvalues of dt M^-1 kd stay below MAX_DAMPING and those
of dt^2 M^-1 kp below MAX_STIFFNESS. With closed loops or mimic joints, M^-1 is the inverse of
M + dt D under their constraints, where D is the joints' damping. (A mode with the values d and a is
stable with the midpoint stepper if a / 2 < d < 2.)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from casadi import DM, SX
from numpy.typing import NDArray

from tarsus.control.pd import actuated_indices
from tarsus.dynamics import crba, effective_mass, rnea, tree
from tarsus.dynamics.jacobian import joint_axis, numeric_position
from tarsus.dynamics.kinematics import Kinematics, kinematics
from tarsus.dynamics.support_points import lowest_point
from tarsus.errors import InvalidValue
from tarsus.model.mechanism import Candidate, Mechanism

Array = NDArray[np.float64]

# from Mini Cheetah: kp of 40 N m/rad (Teixeira de Paula 2024, Table I) relative to m g h / 4
STIFFNESS_RATIO = 6.4
DAMPING_RATIO = 0.7
MAX_DAMPING, MAX_STIFFNESS = 0.5, 0.25  # largest eigenvalues, see above
MAX_ROUNDS, BOUND_TOLERANCE = 300, 1.005  # of reducing gains to their bound
LOCKED_MOBILITY = 1e-9  # mobility of a locked mode, relative to the largest
SLIDE_SAG = 0.1  # m: sag under the load of a slide at a stiffness equal to gravity's
STIFF_FREQUENCY = 25.0  # rad/s: least natural frequency of a stiff joint
MIN_FREQUENCY = 2.5  # rad/s: least natural frequency of the others
MIN_RATIO = 1e-6  # smaller gear ratios are round-off
SATURATION_ERROR = 0.1  # rad: smallest error that may saturate a motor


@dataclass(frozen=True)
class Gains:
    """Servo gains, one per actuator.

    Attributes
    ----------
    kp
        Proportional gains, in N m/rad (N/m for a slide).
    kd
        Derivative gains, in N m s/rad (N s/m for a slide).
    soft_joints
        Joints whose servo stiffness is below the stiffness of gravity's load.
    """

    kp: tuple[float, ...]
    kd: tuple[float, ...]
    soft_joints: tuple[str, ...]


def size_gains(
    mechanism: Mechanism,
    q: Array,
    feet: Sequence[Candidate],
    dt: float,
    stiff: Sequence[int] = (),
) -> Gains:
    """Compute gains that hold a robot on its feet at coordinates q.

    Parameters
    ----------
    mechanism
        The robot.
    q
        Coordinates, shape (nq,).
    feet
        Contact candidates that carry the robot.
    dt
        Time for which a torque stays constant, in s.
    stiff
        Indices of motors that must keep their load from swinging, however light it is.

    Returns
    -------
    Gains
        Gains of each actuator.

    Raises
    ------
    InvalidValue
        Unless dt > 0.
    """
    if not dt > 0:
        raise InvalidValue(f"dt must be a positive number of seconds, not {dt}.", "dt")
    # load and inertia of each joint at q
    kin, indices = kinematics(mechanism, SX(q)), actuated_indices(mechanism)[1]
    M = np.array(DM(crba.mass_matrix(kin, rnea.body_inertias(mechanism))))
    mobility = _mobility(kin, M, dt)[np.ix_(indices, indices)].astype(float)
    loads = np.array(_loads(kin, np.diag(M), feet))
    pull, inertia = loads[:, indices] + loads @ _squared_ratios(kin, indices)
    frequency = np.full(len(pull), MIN_FREQUENCY)
    frequency[list(stiff)] = STIFF_FREQUENCY
    pull = np.maximum(pull, inertia * frequency**2 / STIFFNESS_RATIO)
    # stiffness, then damping, within the limits of the motors and the step
    effort = np.array([max(-motor.lower, motor.upper) for motor in mechanism.actuators])
    kp = _bound(
        np.minimum(STIFFNESS_RATIO * pull, effort / SATURATION_ERROR),
        mobility,
        MAX_STIFFNESS / dt**2,
    )
    kd = _bound(2 * DAMPING_RATIO * np.sqrt(kp * inertia), mobility, MAX_DAMPING / dt)
    soft = tuple(
        motor.joint
        for motor, is_soft in zip(mechanism.actuators, kp < pull, strict=True)
        if is_soft
    )
    rounded = [tuple(float(f"{value:.3g}") for value in values) for values in (kp, kd)]
    return Gains(rounded[0], rounded[1], soft)


def _mobility(kin: Kinematics, M: Array, dt: float) -> Array:
    """Compute M^-1, with loops and mimic joints under their constraints and with joint damping."""
    mechanism = kin.mechanism
    if not mechanism.constrained:
        return np.asarray(np.linalg.inv(M), dtype=np.float64)
    full_inertia, W = (np.array(DM(part)) for part in effective_mass.inertia_and_constraints(kin))
    damping = np.concatenate(
        [np.full(body.joint.nu, body.joint.damping) for body in mechanism.bodies]
    )
    mobility = effective_mass.mobility(full_inertia + dt * np.diag(damping), W)
    # the mobility of locked modes is zero up to round-off, of either sign
    rates, modes = np.linalg.eigh(0.5 * (mobility + mobility.T))
    clipped = modes * np.maximum(rates, LOCKED_MOBILITY * rates.max()) @ modes.T
    return np.asarray(clipped, dtype=np.float64)


def _loads(kin: Kinematics, diagonal: Array, feet: Sequence[Candidate]) -> tuple[Array, Array]:
    """Compute the gravity stiffness of each joint (N m/rad) and the inertia it turns (kg m^2).

    Both have shape (nu,). `diagonal`, shape (nu,), is that of M. A joint between ground and
    trunk also turns a foot's share of the robot.
    """
    # masses, their positions, and the joints that carry them
    mechanism, bodies = kin.mechanism, kin.mechanism.bodies
    g = float(np.linalg.norm(mechanism.gravity_acceleration))
    separate = tree.object_bodies(mechanism)
    masses = np.array([0.0 if i in separate else b.inertia.mass for i, b in enumerate(bodies)])
    centers = np.array(
        [numeric_position(kin, i, body.inertia.com) for i, body in enumerate(bodies)]
    )
    paths = [set(tree.support_path(mechanism, i)) for i in range(len(bodies))]
    # height of the robot above its feet, and each foot's share of the mass
    standing = set[int]().union(*(paths[foot.body] for foot in feet))
    share = masses.sum() / max(len({foot.body for foot in feet}), 1)
    ground = min((lowest_point(kin, foot)[2] for foot in feet), default=0.0)
    height = masses @ centers[:, 2] / masses.sum() - ground
    # load of each joint
    pull, inertia = np.zeros(mechanism.nu), diagonal.copy()
    for i, body in enumerate(bodies):
        carried = [k for k, path in enumerate(paths) if i in path]
        moment = masses[carried] @ (centers[carried] - numeric_position(kin, i, np.zeros(3)))
        if body.joint.kind == "hinge":
            load = g * float(np.linalg.norm(np.cross(joint_axis(kin, i), moment)))
        else:
            load = g * float(masses[carried].sum()) / SLIDE_SAG
        # a leg carries its share of the robot, if that is more
        if i in standing:
            load = max(load, share * g * height)
            inertia[mechanism.u_slices[i]] += share * height**2
        pull[mechanism.u_slices[i]] = load
    return pull, inertia


def _squared_ratios(kin: Kinematics, indices: Sequence[int]) -> Array:
    """Compute the squared gear ratio from each joint (nu,) to each motor, shape (nu, n).

    It is nonzero for a joint that follows a motor through closed loops or mimic joints, and that
    the motor does not carry in the tree, such as a knee behind a linkage. Springs are locked.
    """
    mechanism = kin.mechanism
    ratios = np.zeros((mechanism.nu, len(indices)))
    if not mechanism.constrained:
        return ratios
    bodies = [k for k, body in enumerate(mechanism.bodies) for _ in range(body.joint.nu)]
    passive = [
        i
        for i, k in enumerate(bodies)
        if i not in indices and not mechanism.bodies[k].joint.has_spring
    ]
    W = np.array(DM(effective_mass.inertia_and_constraints(kin)[1]))
    ratios[passive] = -np.linalg.pinv(W[:, passive], rcond=MIN_RATIO) @ W[:, list(indices)]
    for column, motor in enumerate(indices):
        carried = [bodies[motor] in tree.support_path(mechanism, k) for k in bodies]
        ratios[carried, column] = 0.0
    return np.where(np.abs(ratios) < MIN_RATIO, 0.0, ratios) ** 2


def _bound(values: Array, mobility: Array, bound: float) -> Array:
    """Reduce values, shape (n,), until no eigenvalue of mobility times values exceeds the bound.

    Each value is reduced by its share of the modes that exceed it.
    """
    bounded = np.minimum(values, bound / np.diag(mobility))
    for _ in range(MAX_ROUNDS):
        root = np.sqrt(bounded)
        rates, modes = np.linalg.eigh(root[:, None] * mobility * root)
        if rates.max(initial=0.0) < BOUND_TOLERANCE * bound:
            break
        bounded = bounded * (1 - modes**2 @ (1 - bound / np.maximum(rates, bound)))
    return bounded
