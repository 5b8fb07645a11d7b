"""Contact forces of stance legs that make a wanted wrench on the trunk, within friction cones.

    min  (A f - w)^T S (A f - w) + alpha sum_i |f_i|^2 / c_i^2,   |f_i,t| <= mu f_i,n

the distribution of virtual forces of Gehring 2013, there with friction pyramids and a general
solver. The load c_i in [0, 1] of a leg, 0 for one in
swing, scales its columns: f_i = c_i g_i, and g_i has the same cone.

The dual problem has six unknowns however many legs there are: with e = S (w - A f), the error of
the wrench weighted, the forces are f_i = c_i P(c_i A_i^T e / alpha), P the projection on the cone,
and e solves

    S^-1 e + A f(e) = w,

a monotone, piecewise smooth equation, the derivative of a convex function. A semismooth Newton
method (Qi and Sun 1993) finds it in one iteration where no cone binds; where
some do, the best of a few step lengths keeps it on its way, and a start from the last control
step's error leaves it one or two iterations to go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import casadi as ca

from tarsus.algebra.ldl import factorize_tree, lower
from tarsus.algebra.projections import ConePoint
from tarsus.program.ir.symbolic import entries
from tarsus.spatial.rotation import skew

TINY = 1e-12  # of a squared tangential force against zero, N^2
STEPS = (1.0, 0.5, 0.2, 0.05)  # lengths of a Newton step that are tried


class Cost(NamedTuple):
    """What forces, moments and friction cost.

    force, moment: diagonal of S, 1/N^2 and 1/(N m)^2 up to a common factor
    alpha: of the forces
    mu: friction coefficient [1]
    """

    force: float
    moment: float
    alpha: float
    mu: float


class Feet(NamedTuple):
    """Where the legs push; the friction cones' axis is z.

    arms: (3,) from where the wrench is taken to each foot, m
    loads: c_i in [0, 1]
    """

    arms: Sequence[ca.SX]
    loads: Sequence[ca.SX]


def distribute(
    feet: Feet, wrench: ca.SX, cost: Cost, error: ca.SX, iterations: int
) -> tuple[list[ca.SX], ca.SX]:
    """Forces (3,) of all legs, N, and the error e (6,) after so many Newton iterations.

    wrench: (6,) w, force and moment; error: e to start from, zero or that of the last step.
    """
    for _ in range(iterations):
        error = _improved(feet, wrench, cost, error)
    return [
        load * project(v, cost.mu)
        for load, v in zip(feet.loads, _wanted(feet, cost, error), strict=True)
    ], error


def _improved(feet: Feet, wrench: ca.SX, cost: Cost, error: ca.SX) -> ca.SX:
    """The error after one Newton iteration."""
    # what the feet's forces leave of the wrench, and how that changes with the error
    compliance = ca.SX([1 / cost.force] * 3 + [1 / cost.moment] * 3)
    wanted = _wanted(feet, cost, error)
    residual = wrench - compliance * error
    direct, mixed, turning = (
        ca.diag(part) for part in (compliance[:3], ca.SX(3, 1), compliance[3:])
    )
    # foot by foot: its force within the cone and its derivative
    for arm, load, v in zip(feet.arms, feet.loads, wanted, strict=True):
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
    # Newton's direction
    slope = factorize_tree(
        lower(ca.vertcat(ca.horzcat(direct, mixed.T), ca.horzcat(mixed, turning))), 6
    )
    step = ca.vertcat(*slope.solve(entries(residual)))
    # as far along it as it helps
    return (
        error
        + _length(wrench, compliance, (error, step), (wanted, _wanted(feet, cost, step)), cost)
        * step
    )


def _length(
    wrench: ca.SX,
    compliance: ca.SX,
    line: tuple[ca.SX, ca.SX],
    wanted: tuple[list[ca.SX], list[ca.SX]],
    cost: Cost,
) -> ca.SX:
    """The one of `STEPS` along error + t step at which the dual function is least."""
    error, step = line
    slope = ca.dot(compliance * error - wrench, step)
    curvature = 0.5 * ca.dot(compliance * step, step)
    best, least = ca.SX(0), ca.SX(ca.inf)
    for t in STEPS:
        value = t * (slope + t * curvature)
        for v, dv in zip(*wanted, strict=True):
            value += 0.5 * cost.alpha * _square(v + t * dv, cost.mu)
        best, least = ca.if_else(value < least, t, best), ca.fmin(value, least)
    return best


def _wanted(feet: Feet, cost: Cost, error: ca.SX) -> list[ca.SX]:
    """c_i A_i^T e / alpha (3,) of every leg: what it would push with had it no cone."""
    return [
        (load / cost.alpha) * (error[:3] + ca.cross(error[3:], arm))
        for arm, load in zip(feet.arms, feet.loads, strict=True)
    ]


def project(v: ca.SX, mu: float) -> ca.SX:
    """The point (3,) of the cone |x, y| <= mu z that is nearest to v (3,)."""
    return _z_last(_placed(v, mu).nearest())


def cone_derivative(v: ca.SX, mu: float) -> ca.SX:
    """A generalized derivative (3, 3) of `project` by v; the apex counts as inside."""
    derivative = _placed(v, mu).derivative()
    return ca.SX(ca.horzcat(*(_z_last(derivative[:, k]) for k in (1, 2, 0))))


def _square(v: ca.SX, mu: float) -> ca.SX:
    """Squared length of the projection."""
    return _placed(v, mu).squared_length()


def _placed(v: ca.SX, mu: float) -> ConePoint:
    """v (3,) = (x, y, z) against the cone about z."""
    return ConePoint.of(ca.vertcat(v[2], v[0], v[1]), mu, TINY)


def _z_last(v: ca.SX) -> ca.SX:
    """(x, y, z) of a vector (z, x, y)."""
    return ca.vertcat(v[1], v[2], v[0])
