"""Distribution of a desired trunk wrench over the stance feet, within friction cones.

    min  (A f - w)^T S (A f - w) + alpha sum_i |f_i|^2 / c_i^2,   |f_i,t| <= mu f_i,n

This is the distribution of virtual forces of Gehring 2013, which uses friction pyramids and a
general-purpose solver. The load c_i in [0, 1] of a leg, 0 in swing, scales its columns: f_i = c_i
g_i, where g_i has the same cone.

The dual problem has six unknowns for any number of legs. With e = S (w - A f), the weighted error
of the wrench, the forces are f_i = c_i P(c_i A_i^T e / alpha), where P projects onto the cone, and
e solves

    S^-1 e + A f(e) = w,

a monotone, piecewise smooth equation that is the derivative of a convex function. A semismooth
Newton method (Qi and Sun 1993) solves it in one iteration if no cone is active. Otherwise a line
search over a few step lengths makes it converge, and a warm start from the error of the last
control step leaves one or two iterations.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import casadi as ca

from tarsus.algebra.ldl import factorize_tree, lower_triangle
from tarsus.algebra.projections import ConePoint
from tarsus.program.ir.symbolic import entries
from tarsus.spatial.rotation import skew

TANGENTIAL_TOLERANCE = 1e-12  # N^2: a smaller squared tangential force counts as zero
STEP_LENGTHS = (1.0, 0.5, 0.2, 0.05)  # candidates of the line search


class Cost(NamedTuple):
    """Weights of the cost, and the friction coefficient.

    Attributes
    ----------
    force, moment
        Diagonal of S, in 1/N^2 and 1/(N m)^2, up to a common factor.
    alpha
        Weight of the contact forces.
    mu
        Friction coefficient.
    """

    force: float
    moment: float
    alpha: float
    mu: float


class Feet(NamedTuple):
    """Positions and loads of the feet; the axis of the friction cones is z.

    Attributes
    ----------
    arms
        Vectors from the reference point of the wrench to each foot, shape (3,), in m.
    loads
        Load c_i of each foot, 0 to 1.
    """

    arms: Sequence[ca.SX]
    loads: Sequence[ca.SX]


def distribute(
    feet: Feet, wrench: ca.SX, cost: Cost, error: ca.SX, iterations: int
) -> tuple[list[ca.SX], ca.SX]:
    """Distribute a wrench over the feet.

    Parameters
    ----------
    feet
        Positions and loads of the feet.
    wrench
        Desired force and moment w, shape (6,), in N and N m.
    cost
        Weights and friction coefficient.
    error
        Initial e, shape (6,): zero, or the result of the last control step.
    iterations
        Number of Newton iterations.

    Returns
    -------
    tuple
        Force on each leg, shape (3,), in N, and the error e, shape (6,).
    """
    for _ in range(iterations):
        error = _newton_step(feet, wrench, cost, error)
    return [
        load * project(v, cost.mu)
        for load, v in zip(feet.loads, _unconstrained_forces(feet, cost, error), strict=True)
    ], error


def _newton_step(feet: Feet, wrench: ca.SX, cost: Cost, error: ca.SX) -> ca.SX:
    """Compute the error after one Newton iteration."""
    # residual of the wrench and its derivative with respect to the error, without the feet
    compliance = ca.SX([1 / cost.force] * 3 + [1 / cost.moment] * 3)
    unconstrained = _unconstrained_forces(feet, cost, error)
    residual = wrench - compliance * error
    direct, mixed, turning = (
        ca.diag(part) for part in (compliance[:3], ca.SX(3, 1), compliance[3:])
    )
    # add each foot: its force within the cone, and the derivative of that force
    for arm, load, v in zip(feet.arms, feet.loads, unconstrained, strict=True):
        force, derivative = (
            load * project(v, cost.mu),
            (load * load / cost.alpha) * cone_derivative(v, cost.mu),
        )
        residual -= ca.vertcat(force, ca.cross(arm, force))
        levered = ca.mtimes(skew(arm), derivative)
        direct, mixed, turning = (
            direct + derivative,
            mixed + levered,
            turning - ca.mtimes(levered, skew(arm)),
        )
    # Newton direction
    slope = factorize_tree(
        lower_triangle(ca.vertcat(ca.horzcat(direct, mixed.T), ca.horzcat(mixed, turning))), 6
    )
    step = ca.vertcat(*slope.solve(entries(residual)))
    # line search
    return (
        error
        + _step_length(
            wrench,
            compliance,
            (error, step),
            (unconstrained, _unconstrained_forces(feet, cost, step)),
            cost,
        )
        * step
    )


def _step_length(
    wrench: ca.SX,
    compliance: ca.SX,
    line: tuple[ca.SX, ca.SX],
    unconstrained: tuple[list[ca.SX], list[ca.SX]],
    cost: Cost,
) -> ca.SX:
    """Find the step length t in `STEP_LENGTHS` with the least dual function at error + t step."""
    error, step = line
    slope = ca.dot(compliance * error - wrench, step)
    curvature = 0.5 * ca.dot(compliance * step, step)
    best, least = ca.SX(0), ca.SX(ca.inf)
    for t in STEP_LENGTHS:
        value = t * (slope + t * curvature)
        for v, dv in zip(*unconstrained, strict=True):
            value += 0.5 * cost.alpha * _squared_projection(v + t * dv, cost.mu)
        best, least = ca.if_else(value < least, t, best), ca.fmin(value, least)
    return best


def _unconstrained_forces(feet: Feet, cost: Cost, error: ca.SX) -> list[ca.SX]:
    """Compute c_i A_i^T e / alpha, shape (3,), of each leg: its force without a friction cone."""
    return [
        (load / cost.alpha) * (error[:3] + ca.cross(error[3:], arm))
        for arm, load in zip(feet.arms, feet.loads, strict=True)
    ]


def project(v: ca.SX, mu: float) -> ca.SX:
    """Project v, shape (3,), onto the cone |x, y| <= mu z."""
    return _z_last(_cone_point(v, mu).project())


def cone_derivative(v: ca.SX, mu: float) -> ca.SX:
    """Compute a generalized Jacobian of `project`, shape (3, 3); the apex counts as inside."""
    derivative = _cone_point(v, mu).derivative()
    return ca.SX(ca.horzcat(*(_z_last(derivative[:, k]) for k in (1, 2, 0))))


def _squared_projection(v: ca.SX, mu: float) -> ca.SX:
    """Compute the squared length of the projection."""
    return _cone_point(v, mu).squared_length()


def _cone_point(v: ca.SX, mu: float) -> ConePoint:
    """Locate v = (x, y, z) relative to the cone about z."""
    return ConePoint.of(ca.vertcat(v[2], v[0], v[1]), mu, TANGENTIAL_TOLERANCE)


def _z_last(v: ca.SX) -> ca.SX:
    """Reorder (z, x, y) to (x, y, z)."""
    return ca.vertcat(v[1], v[2], v[0])
