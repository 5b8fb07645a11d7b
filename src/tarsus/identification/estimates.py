"""Estimates of the unknowns from a fit: values, intervals, correlations and remarks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.errors import join_names
from tarsus.identification.candidates import Candidates
from tarsus.identification.inertial_parameters import apply_values
from tarsus.identification.intervals import (
    MIN_COMPONENT,
    NULL_EIGENVALUE,
    UNDETERMINED_HALF_WIDTH,
    estimate_scatter,
)
from tarsus.identification.least_squares import Fit
from tarsus.identification.unknowns import BODY_KINDS, PAIRS, Unknown

Array = NDArray[np.float64]
STRONG_CORRELATION = 0.95
END_TOLERANCE = 1e-3  # in units of the range


@dataclass(frozen=True)
class Estimate:
    """Estimate of an unknown.

    Attributes
    ----------
    name, unit, value
        Name, SI unit and value.
    low, high
        95 % interval (`tarsus.identification.intervals`), inside the range.
    start
        First guess.
    true
        True value; None if it is not known.
    undetermined
        Whether the motion contains no information on it.
    bound
        "low" or "high" if the value is at that end of its range, else "".
    """

    name: str
    unit: str
    value: float
    low: float
    high: float
    start: float
    true: float | None
    undetermined: bool
    bound: str

    @property
    def error(self) -> float | None:
        """Relative error; the difference if the true value is 0; None if that is not known."""
        if self.true is None:
            return None
        return (self.value - self.true) / (abs(self.true) or 1.0)

    @property
    def error_text(self) -> str:
        """Error as text for a table, in % of the true value; "" if that is not known."""
        if self.error is None:
            return ""
        return f"{100 * self.error:+.2f} %" if self.true else f"{self.error:+.3g}"


@dataclass(frozen=True, eq=False)
class Estimates:
    """Estimates, correlated pairs, and remarks.

    Attributes
    ----------
    estimates
        Estimates of the unknowns.
    derived
        Inertias of bodies that follow from them.
    correlated
        Strongly correlated pairs, with their correlation.
    remarks
        Remarks.
    deviation
        Standard deviation of the residuals, in units of the noise: 1 if model and noise are right.
    """

    estimates: tuple[Estimate, ...]
    derived: tuple[Estimate, ...]
    correlated: tuple[tuple[str, str, float], ...]
    remarks: tuple[str, ...]
    deviation: float


def make_estimates(candidates: Candidates, fit: Fit, start: Array, ends: Array) -> Estimates:
    """Compute the estimates of a fit.

    Parameters
    ----------
    candidates
        Candidates of the identification.
    fit
        The fit.
    start
        Shares of the first guess, shape (p,).
    ends
        Ends that the intervals contain at least, shape (p, 2), for unknowns that are determined.
    """
    # intervals
    unknowns = candidates.unknowns
    scatter = estimate_scatter(fit)
    sides = np.stack([fit.shares - scatter.half_widths, fit.shares + scatter.half_widths], 1)
    sides = np.stack([np.minimum(sides[:, 0], ends[:, 0]), np.maximum(sides[:, 1], ends[:, 1])], 1)
    undetermined = scatter.undetermined | (np.ptp(sides, axis=1) > 2 * UNDETERMINED_HALF_WIDTH)
    # each unknown
    estimates = tuple(
        _create_estimate(
            candidates.unit_of(one), one, fit.shares[k], sides[k], start[k], bool(undetermined[k])
        )
        for k, one in enumerate(unknowns)
    )
    pairs = _find_correlated_pairs(unknowns, scatter.covariance, undetermined)
    sentences = _write_remarks(estimates, pairs, fit, scatter.deviation)
    sentences += _write_direction_remarks(unknowns, fit.normal, undetermined)
    derived = _compute_inertias(candidates, fit, scatter.covariance, scatter.half_widths)
    return Estimates(estimates, derived, pairs, tuple(sentences), scatter.deviation)


def _create_estimate(
    unit: str, unknown: Unknown, share: float, sides: Array, start: float, undetermined: bool
) -> Estimate:
    ends = np.clip(sides, 0.0, 1.0)
    low, high = (float(unknown.range.at(end)) for end in ends)
    bound = "low" if share < END_TOLERANCE else "high" if share > 1 - END_TOLERANCE else ""
    return Estimate(
        unknown.name,
        unit,
        float(unknown.range.at(share)),
        low,
        high,
        float(unknown.range.at(start)),
        unknown.true,
        undetermined,
        bound,
    )


def _find_correlated_pairs(
    unknowns: Sequence[Unknown], covariance: Array, undetermined: NDArray[np.bool_]
) -> tuple[tuple[str, str, float], ...]:
    """Find strongly correlated pairs, the strongest first."""
    deviations = np.sqrt(np.diag(covariance))
    correlation = covariance / np.outer(deviations, deviations)
    pairs = [
        (unknowns[i].name, unknowns[j].name, float(correlation[i, j]))
        for i in range(len(unknowns))
        for j in range(i)
        if abs(correlation[i, j]) > STRONG_CORRELATION
    ]
    return tuple(sorted(pairs, key=lambda pair: -abs(pair[2])))


def _write_remarks(
    estimates: Sequence[Estimate],
    pairs: Sequence[tuple[str, str, float]],
    fit: Fit,
    deviation: float,
) -> list[str]:
    """Write the remarks on a result."""
    # on unknowns and pairs
    remarks = []
    if names := [e.name for e in estimates if e.undetermined]:
        remarks.append(
            f"The motion does not determine {join_names(names, 6)}: the interval is as wide as the"
            " range. Use a motion that excites it, narrow its range, or give a prior."
        )
    for one in estimates:
        if one.bound and not one.undetermined:
            remarks.append(
                f"{one.name} is at the {one.bound}er end of its range, {one.value:.4g}: widen the"
                " range, or check the model."
            )
    for a, b, by in pairs:
        remarks.append(f"{a} and {b} are strongly correlated ({by:.3f}).")
    # on the fit
    if deviation > 2:
        remarks.append(
            f"Residuals are {deviation:.3g} times the given noise: the model lacks an effect, and"
            " the intervals hold only if this effect is the same in all windows."
        )
    if not fit.converged:
        remarks.append("The search did not converge: estimates may still change.")
    return remarks


def _write_direction_remarks(
    unknowns: Sequence[Unknown], normal: Array, undetermined: NDArray[np.bool_]
) -> list[str]:
    """Write remarks on combinations of unknowns that have no effect on the motion."""
    values, vectors = np.linalg.eigh(normal)
    largest, remarks = max(float(values.max(initial=0)), 1e-300), []
    for value, vector in zip(values, vectors.T, strict=True):
        names = [
            one.name for one, v in zip(unknowns, vector, strict=True) if abs(v) > MIN_COMPONENT
        ]
        if value <= NULL_EIGENVALUE * largest and len(names) > 1:
            remarks.append(f"Only a combination of {join_names(names, 6)} affects the motion.")
    return list(dict.fromkeys(remarks))


def _compute_inertias(
    candidates: Candidates, fit: Fit, covariance: Array, half: Array
) -> tuple[Estimate, ...]:
    """Compute the inertias of bodies, in kg m^2, with intervals to first order."""
    unknowns, mechanism = candidates.unknowns, candidates.mechanism
    bodies = dict.fromkeys(
        one.parameter.rpartition(".")[0] for one in unknowns if one.part == "inertia"
    )
    scatter = np.sqrt(np.diag(covariance))
    ratio = float(np.max(half / np.maximum(scatter, 1e-300), initial=0.0))
    result = []
    for body in bodies:
        initial = mechanism.bodies[mechanism.body_index(body)].inertia

        def inertia(shares: Array, body: str = body, initial: Any = initial) -> Array:
            values = _body_values(unknowns, shares, body)
            about = apply_values(initial, values)[2]
            return about[:, [0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]

        # to first order about the estimate
        here = fit.shares[None]
        width = 1e-4 * np.eye(len(unknowns))
        slope = (inertia(here + width) - inertia(here - width)) / 2e-4
        deviation = ratio * np.sqrt(np.einsum("pk,pq,qk->k", slope, covariance, slope))
        value = inertia(here)[0]
        first = initial.about_com[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
        for k, pair in enumerate(PAIRS):
            ends = value[k] - deviation[k], value[k] + deviation[k]
            numbers = float(value[k]), float(ends[0]), float(ends[1]), float(first[k])
            is_open = bool(deviation[k] > 0.5 * value[:3].sum())  # as large as an inertia can be
            result.append(Estimate(f"I_{pair} of {body}", "kg m^2", *numbers, None, is_open, ""))
    return tuple(result)


def _body_values(unknowns: Sequence[Unknown], shares: Array, body: str) -> Mapping[str, Array]:
    """Compute the inertial values of a body at shares (n, p), for `apply_values`."""
    values: dict[str, Array] = {}
    for k, one in enumerate(unknowns):
        if one.part == "mass" and one.parameter == body:
            values["mass"] = one.range.at(shares[:, k])
        elif one.part in BODY_KINDS and one.parameter.rpartition(".")[0] == body:
            values[f"{one.part}.{one.parameter.rpartition('.')[2]}"] = one.range.at(shares[:, k])
    return values
