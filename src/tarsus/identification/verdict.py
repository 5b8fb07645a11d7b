"""What least squares say of each unknown: estimate, interval, and what the motion leaves open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.errors import join_names
from tarsus.identification.candidates import Candidates
from tarsus.identification.intervals import NAMED, NONE, OPEN, spread
from tarsus.identification.least_squares import Fitted
from tarsus.identification.matter import changed
from tarsus.identification.unknowns import OF_BODIES, PAIRS, Unknown

Array = NDArray[np.float64]
CLOSE = 0.95  # correlation of what can hardly be told apart
AT_END = 1e-3  # of the range


@dataclass(frozen=True)
class Estimate:
    """An unknown as identified.

    low, high: the 95 % interval (`tarsus.identification.intervals`), inside the range
    start: first guess; true: None if it is not known
    open: whether the motion says nothing about it; at: "low" or "high" where it ends at its range
    """

    name: str
    unit: str
    value: float
    low: float
    high: float
    start: float
    true: float | None
    open: bool
    at: str

    @property
    def error(self) -> float | None:
        """Of the true value, its part; of a true value of 0, the difference."""
        if self.true is None:
            return None
        return (self.value - self.true) / (abs(self.true) or 1.0)

    @property
    def told_error(self) -> str:
        """The error in a table: in % of the true value; "" if that is not known."""
        if self.error is None:
            return ""
        return f"{100 * self.error:+.2f} %" if self.true else f"{self.error:+.3g}"


@dataclass(frozen=True, eq=False)
class Verdict:
    """Estimates, the pairs that are correlated, and all of it in sentences.

    derived: masses, centers of mass and inertias of bodies that the unknowns make
    deviation: of residuals, in the noise's: 1 if model and noise are as told
    """

    estimates: tuple[Estimate, ...]
    derived: tuple[Estimate, ...]
    correlated: tuple[tuple[str, str, float], ...]
    sentences: tuple[str, ...]
    deviation: float


def verdict(candidates: Candidates, found: Fitted, start: Array, ends: Array) -> Verdict:
    """Of a fit; start: shares (p,) of the first guess; ends (p, 2): between which an interval
    reaches at least, where the motion leaves nothing open.
    """
    # how far estimates scatter
    unknowns = candidates.unknowns
    told = spread(found)
    sides = np.stack([found.shares - told.half, found.shares + told.half], 1)
    sides = np.stack([np.minimum(sides[:, 0], ends[:, 0]), np.maximum(sides[:, 1], ends[:, 1])], 1)
    open_ = told.open | (np.ptp(sides, axis=1) > 2 * OPEN)
    # each unknown
    estimates = tuple(
        _estimate(candidates.unit(one), one, found.shares[k], sides[k], start[k], bool(open_[k]))
        for k, one in enumerate(unknowns)
    )
    pairs = _pairs(unknowns, told.covariance, open_)
    sentences = _sentences(estimates, pairs, found, told.deviation)
    sentences += _directions(unknowns, found.normal, open_)
    derived = _derived(candidates, found, told.covariance, told.half)
    return Verdict(estimates, derived, pairs, tuple(sentences), told.deviation)


def _estimate(
    unit: str, one: Unknown, share: float, sides: Array, start: float, open_: bool
) -> Estimate:
    ends = np.clip(sides, 0.0, 1.0)
    low, high = (float(one.range.at(end)) for end in ends)
    at = "low" if share < AT_END else "high" if share > 1 - AT_END else ""
    return Estimate(
        one.name,
        unit,
        float(one.range.at(share)),
        low,
        high,
        float(one.range.at(start)),
        one.true,
        open_,
        at,
    )


def _pairs(
    unknowns: Sequence[Unknown], covariance: Array, open_: NDArray[np.bool_]
) -> tuple[tuple[str, str, float], ...]:
    """Pairs whose estimates go together, the closest first."""
    spread = np.sqrt(np.diag(covariance))
    correlation = covariance / np.outer(spread, spread)
    found = [
        (unknowns[i].name, unknowns[j].name, float(correlation[i, j]))
        for i in range(len(unknowns))
        for j in range(i)
        if abs(correlation[i, j]) > CLOSE
    ]
    return tuple(sorted(found, key=lambda pair: -abs(pair[2])))


def _sentences(
    estimates: Sequence[Estimate],
    pairs: Sequence[tuple[str, str, float]],
    found: Fitted,
    deviation: float,
) -> list[str]:
    """What a reader must know."""
    # of each unknown and of pairs
    told = []
    if nothing := [e.name for e in estimates if e.open]:
        told.append(
            f"The motion leaves {join_names(nothing, 6)} open: an interval is as wide as the range."
            " Excite it, narrow its range, or give a prior."
        )
    for one in estimates:
        if one.at and not one.open:
            told.append(
                f"{one.name} ends at the {one.at}est value of its range, {one.value:.4g}: widen the"
                " range, or doubt the model."
            )
    for a, b, by in pairs:
        told.append(f"{a} and {b} can hardly be told apart (correlation {by:.3f}).")
    # of the whole
    if deviation > 2:
        told.append(
            f"Residuals are {deviation:.3g} times the noise that was told: the model lacks"
            " something, and intervals hold only as far as it is the same in all windows."
        )
    if not found.settled:
        told.append("The search did not settle: estimates may still move.")
    return told


def _directions(unknowns: Sequence[Unknown], normal: Array, open_: NDArray[np.bool_]) -> list[str]:
    """Combinations of several unknowns that move nothing, though each of them would."""
    values, vectors = np.linalg.eigh(normal)
    most, told = max(float(values.max(initial=0)), 1e-300), []
    for value, vector in zip(values, vectors.T, strict=True):
        names = [one.name for one, v in zip(unknowns, vector, strict=True) if abs(v) > NAMED]
        if value <= NONE * most and len(names) > 1:
            told.append(f"Only a combination of {join_names(names, 6)} shows in the motion.")
    return list(dict.fromkeys(told))


def _derived(
    candidates: Candidates, found: Fitted, covariance: Array, half: Array
) -> tuple[Estimate, ...]:
    """Inertias of bodies, kg m^2, with intervals to first order."""
    unknowns, mechanism = candidates.unknowns, candidates.mechanism
    bodies = dict.fromkeys(one.own.rpartition(".")[0] for one in unknowns if one.part == "inertia")
    scatter = np.sqrt(np.diag(covariance))
    ratio = float(np.max(half / np.maximum(scatter, 1e-300), initial=0.0))
    result = []
    for body in bodies:
        made = mechanism.bodies[mechanism.body_index(body)].inertia

        def inertia(shares: Array, body: str = body, made: Any = made) -> Array:
            own = _of_body(unknowns, shares, body)
            about = changed(made, own)[2]
            return about[:, [0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]

        # to first order about the estimate
        here = found.shares[None]
        width = 1e-4 * np.eye(len(unknowns))
        slope = (inertia(here + width) - inertia(here - width)) / 2e-4
        deviation = ratio * np.sqrt(np.einsum("pk,pq,qk->k", slope, covariance, slope))
        value = inertia(here)[0]
        begun = made.about_com[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
        for k, pair in enumerate(PAIRS):
            ends = value[k] - deviation[k], value[k] + deviation[k]
            numbers = float(value[k]), float(ends[0]), float(ends[1]), float(begun[k])
            unsaid = bool(deviation[k] > 0.5 * value[:3].sum())  # as large as an inertia can be
            result.append(Estimate(f"I_{pair} of {body}", "kg m^2", *numbers, None, unsaid, ""))
    return tuple(result)


def _of_body(unknowns: Sequence[Unknown], shares: Array, body: str) -> Mapping[str, Array]:
    """The numbers of a body's matter at shares (n, p), as `matter.changed` takes them."""
    own: dict[str, Array] = {}
    for k, one in enumerate(unknowns):
        if one.part == "mass" and one.own == body:
            own["mass"] = one.range.at(shares[:, k])
        elif one.part in OF_BODIES and one.own.rpartition(".")[0] == body:
            own[f"{one.part}.{one.own.rpartition('.')[2]}"] = one.range.at(shares[:, k])
    return own
