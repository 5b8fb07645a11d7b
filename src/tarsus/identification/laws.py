"""Which law would you choose from data? Laws ranked by windows that they were not fitted to.

Every law gets the unknowns of the spec that are not a law's, and its own parameters: those that the
spec frees, else all that have a usual range. Windows are split into folds; what is judged on a fold
was identified with the others. Every law repeats the same windows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus import registry
from tarsus.contact.base import Law
from tarsus.errors import TarsusError, UnmetCondition
from tarsus.identification import windows
from tarsus.identification.candidates import Candidates, ModelParts
from tarsus.identification.least_squares import Fitted, LeastSquares
from tarsus.identification.ranges import usual
from tarsus.identification.resampling import mean_interval
from tarsus.identification.rollouts import Rollouts
from tarsus.identification.run import Prepared, Tell, begins, prepare, solved
from tarsus.identification.spec import IdentificationSpec
from tarsus.identification.unknowns import Unknown
from tarsus.identification.windows import Windows
from tarsus.parameters import declared, name_of, names_with_role
from tarsus.simulation import resolve

Array = NDArray[np.float64]
LAWS = "tarsus.contact.laws"
SOFT = 2.5e-4  # s: the longest step of a law of springs
RESAMPLED = 2000  # times
ROUNDS = 12  # of a fold, which begins where all windows ended


@dataclass(frozen=True)
class RankedLaw:
    """A law, how well it repeats what was held out, and with how many numbers.

    error: root of the mean squared residual of held-out windows, large residuals by their size, in
        deviations of the noise: mean over windows; low, high: 95 % of resampled windows
    behind: by how much more it errs than the best, window by window: mean and 95 % interval
    parameters: how many are identified; values: at which all windows are repeated best
    dt: s, of its steps
    as_good: whether the data cannot tell it from the best
    """

    law: str
    error: float
    low: float
    high: float
    behind: tuple[float, float, float]
    parameters: int
    values: dict[str, float]
    dt: float
    as_good: bool = False


@dataclass(frozen=True)
class LawRanking:
    """Laws, the least error first.

    chosen: of those that the data cannot tell from the best, the one with the fewest parameters
    failed: laws that could not be identified, and why
    windows, folds: of the cross-validation
    """

    laws: tuple[RankedLaw, ...]
    chosen: str
    failed: tuple[str, ...]
    windows: int
    folds: int


def rank_laws(
    spec: IdentificationSpec | Mapping[str, Any] | str | Path,
    laws: str | Sequence[str] = "all",
    logs: Any = None,
    threads: int = 1,
    tell: Tell = lambda text: None,
) -> LawRanking:
    """Rank contact laws by how well they repeat windows that had no part in their identification.

    spec, logs, threads: as of `tarsus.identify`; hold_out is not used
    laws: "all", or names and paths of one's own
    """
    names = registry.names(LAWS) if laws == "all" else [laws] if isinstance(laws, str) else laws
    prepared = prepare(spec, logs)
    both = (prepared.train, prepared.test)
    whole = replace(
        both[0],
        which=np.concatenate([w.which for w in both]),
        first=np.concatenate([w.first for w in both]),
    )
    order = np.lexsort((whole.first, whole.which))
    whole = whole.some(order)
    search = prepared.spec.search
    parts = min(search["folds"], len(whole))
    if parts < 2:
        raise UnmetCondition(
            f"ranking laws by cross-validation needs at least two windows, not {len(whole)}: choose"
            " a shorter search.window or give a longer log.",
            "search.window",
        )
    fold = windows.folds(len(whole), parts, search["seed"])
    # every law on every fold
    found: list[tuple[RankedLaw, Array]] = []
    failed: list[TarsusError] = []
    for name in names:
        tell(f"{name}: {len(whole)} windows, {parts} folds")
        try:
            found.append(_judged(name, prepared, whole, fold, threads))
        except TarsusError as error:
            failed.append(error.within(name))
    if not found:
        raise failed[0].within("no law could be identified")
    return LawRanking(*_ranked(found, search["seed"]), tuple(map(str, failed)), len(whole), parts)


def law_of(name: str, model: Mapping[str, Any]) -> tuple[Law, frozenset[str]]:
    """A law with what [model] knows of it (law.NAME, where it has one), and the names of that."""
    law = resolve.law(name)
    told = {n.partition(".")[2]: v for n, v in model.items() if n.startswith("law.")}
    known = {n: v for n, v in told.items() if n in declared(type(law))}
    return (replace(law, **known) if known else law), frozenset(known)


def unknowns_of(
    law: Law, asked: Sequence[Unknown], known: frozenset[str] = frozenset()
) -> tuple[Unknown, ...]:
    """What is identified under a law: what the spec frees that it has, and else its usual ranges,
    but for what is known.
    """
    others = [one for one in asked if one.part != "law"]
    told = {one.own: one for one in asked if one.part == "law" and one.own in declared(type(law))}
    own = []
    for name, within in usual(name_of(law), law).items():
        if getattr(law, name) is not None and name not in {*told, *known}:
            own.append(Unknown(f"law.{name}", within))
    return (*told.values(), *own, *others)


def _judged(
    name: str, prepared: Prepared, whole: Windows, fold: NDArray[np.int64], threads: int
) -> tuple[RankedLaw, Array]:
    """A law's errors, window by window (W,), each identified without it."""
    law, known = law_of(name, prepared.spec.model)
    parts = _fine(replace(prepared.parts, law=law))
    unknowns = unknowns_of(law, prepared.spec.unknowns, known)
    candidates = Candidates(parts, unknowns)
    rollouts = Rollouts(candidates, whole, prepared.noise, threads)
    # with all windows, then without each fold
    search = prepared.spec.search
    problem = LeastSquares(rollouts, search["starts"])
    first = np.array([o.range.share(v) for o, v in zip(unknowns, candidates.start, strict=True)])
    starting = begins(problem, first, search, lambda text: None)
    best = solved(problem, starting, search, lambda text: None)
    error = np.empty(len(whole))
    for k in range(int(fold.max()) + 1):
        inside = LeastSquares(rollouts.on(whole.some(fold != k)), search["starts"])
        own = inside.search(best.shares, best.starts[fold != k], ROUNDS)
        outside = LeastSquares(rollouts.on(whole.some(fold == k)), search["starts"])
        error[fold == k] = _by_window(outside.settle(own.shares))
    values = {o.name: float(o.range.at(s)) for o, s in zip(unknowns, best.shares, strict=True)}
    none = (0.0, 0.0, 0.0)
    mean, low, high = mean_interval(error, RESAMPLED, search["seed"])
    return RankedLaw(name, mean, low, high, none, len(unknowns), values, parts.dt), error


def _by_window(found: Fitted) -> Array:
    """Root of the mean of each window's residuals, large ones by their size, with what its start
    is moved by.
    """
    numbers = found.residuals[0].size
    return np.sqrt(2 * found.by_window / numbers)


def _fine(parts: ModelParts) -> ModelParts:
    """With steps that springs bear."""
    law = parts.law
    springs = names_with_role(type(law), "stiffness") or (law.at_instants and not law.impulsive)
    if not springs or parts.dt <= SOFT:
        return parts
    return replace(parts, dt=parts.dt / int(np.ceil(parts.dt / SOFT - 1e-9)))


def _ranked(
    found: Sequence[tuple[RankedLaw, Array]], seed: int
) -> tuple[tuple[RankedLaw, ...], str]:
    """Best first, and the one to choose."""
    order = sorted(found, key=lambda pair: pair[0].error)
    least = order[0][1]
    laws = []
    for law, error in order:
        behind = mean_interval(error - least, RESAMPLED, seed)
        laws.append(replace(law, behind=behind, as_good=bool(behind[1] <= 0)))
    good = [law for law in laws if law.as_good]
    return tuple(laws), min(good, key=lambda law: (law.parameters, law.error)).law
