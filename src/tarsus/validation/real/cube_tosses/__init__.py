"""440 of 550 real tosses of an acrylic cube: comparison with every law, and remaining errors."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tarsus.files import json_value
from tarsus.validation.real.base import RealExperiment, RealOutcome, RealRequest
from tarsus.validation.real.cube_tosses import data, page, study
from tarsus.validation.real.cube_tosses.data import Tosses
from tarsus.validation.real.cube_tosses.flight import Flights, fit_flights, measure_sliding
from tarsus.validation.real.cube_tosses.identify import (
    IdentifiedParameters,
    identify_parameters,
    mean_interval,
)
from tarsus.validation.real.cube_tosses.law_tosses import LawTosses, Tosser
from tarsus.validation.real.cube_tosses.mujoco_tosses import NAME, MujocoTosses

Array = NDArray[np.float64]
DRAWN = 3  # worst and best tosses each


class CubeTosses(RealExperiment):
    """Tosses of an acrylic cube of 0.37 kg and 0.1048 m onto a board, tracked by cameras at 148 Hz.

    Every simulation starts from the first frame of a toss and runs to its last. The position error
    is the distance of the centers in % of the cube's width; the rotation error is the angle between
    the orientations. Both are means over time and tosses. Data: Pfrommer 2020.
    """

    variable: ClassVar[str] = data.VARIABLE
    data_source: ClassVar[str] = data.WHERE

    def measure(self, request: RealRequest) -> RealOutcome:
        path = self.recording(request.data)
        tosses = data.read(path)
        rows: list[dict[str, Any]] = []
        results: dict[str, IdentifiedParameters] = {}
        tossers: dict[str, Tosser] = {}
        # every law with given and identified parameters, or with those identified elsewhere
        for law in request.laws:
            request.on_progress(f"{law}: {len(tosses)} tosses")
            threads = request.threads
            tosser = MujocoTosses(threads) if law == NAME else LawTosses(law, threads=threads)
            tossers[law] = tosser
            if request.parameters is not None:
                rows += _build_fixed_rows(
                    tosser, tosses, dict(request.parameters.get(law, {})), request.seed
                )
                continue
            count, seed = request.candidates, request.seed
            results[law] = identify_parameters(tosser, tosses, tosser.search_ranges, count, seed)
            rows += _build_rows(law, results[law], seed)
        record: dict[str, Any] = {
            "experiment": "cube_tosses",
            "tosses": len(tosses),
            "file": path.name,
            "rows": rows,
            "laws": {law: _summarize_identification(result) for law, result in results.items()},
        }
        # model-free analysis of the data, and the missing effects
        flown, slid = fit_flights(tosses), measure_sliding(tosses)
        record["flight"] = {k: v for k, v in vars(flown).items() if k not in ("q", "u", "indices")}
        record["flight"]["tosses"] = len(flown.indices)
        record["sliding"] = vars(slid) if slid else None
        if study.LAW in results:
            record["missing"] = _measure_missing_effects(tosses, flown, request)
        drawing = _select_drawing(tossers, tosses, results, request)
        return RealOutcome(json_value(record), page.build_page(record, drawing))


def _build_rows(law: str, identification: IdentifiedParameters, seed: int) -> list[dict[str, Any]]:
    """Build three rows: given parameters, identified and held out, identified with all tosses."""
    kinds = {
        "given": identification.given_errors,
        "identified, held out": identification.held_out_errors,
        "identified": identification.best_errors,
    }
    return [_build_row(law, kind, errors, seed) for kind, errors in kinds.items()]


def _build_row(law: str, kind: str, errors: dict[str, Array], seed: int) -> dict[str, Any]:
    """Build a row with the mean and the interval of each error."""
    means = {name: mean_interval(value, seed) for name, value in errors.items()}
    return {"law": law, "parameters": kind} | means


def _build_fixed_rows(
    tosser: Tosser, tosses: Tosses, values: dict[str, float], seed: int
) -> list[dict[str, Any]]:
    """Build two rows: given parameters, and parameters identified elsewhere."""
    kinds = {"given": tosser.given_parameters()} | (
        {"identified elsewhere": values} if values else {}
    )
    rows = []
    for kind, parameters in kinds.items():
        one = {name: np.array([value]) for name, value in parameters.items()}
        rows.append(_build_row(tosser.name, kind, tosser.errors(tosses, one).of(0), seed))
    return rows


def _summarize_identification(identification: IdentifiedParameters) -> dict[str, Any]:
    """Summarize an identification without the errors of every toss."""
    return {
        "values": identification.values,
        "intervals": identification.intervals,
        "tried": identification.candidate_count,
        "diverged": identification.diverged,
        "least_corners": float(identification.min_errors.mean()),
    }


def _measure_missing_effects(
    tosses: Tosses, flown: Flights, request: RealRequest
) -> dict[str, Any]:
    """Measure models with more parameters, and the effect of tracking noise."""
    results = study.run_study(tosses, flown, request)
    models = [
        {"title": r.model.title, "law": r.law, "gain": r.gain}
        | _build_row(r.law, "identified, held out", r.identification.held_out_errors, request.seed)
        | _summarize_identification(r.identification)
        for r in results
    ]
    request.on_progress(f"{study.LAW}: initial states within the tracking noise")
    values = results[0].identification.values
    noise = study.measure_spread(tosses, flown, values, request.seed).errors
    return {
        "models": models,
        "spread": {name: mean_interval(value, request.seed) for name, value in noise.items()},
    }


def _select_drawing(
    tossers: dict[str, Tosser],
    tosses: Tosses,
    identified_laws: dict[str, IdentifiedParameters],
    request: RealRequest,
) -> page.Drawing | None:
    """Select the worst and the best tosses of the best law, with its simulated paths."""
    if not identified_laws:
        return None
    errors = {n: float(i.held_out_errors["corners"].mean()) for n, i in identified_laws.items()}
    law = min(errors, key=lambda name: errors[name])
    best = identified_laws[law]
    order = np.argsort(best.best_errors["corners"], kind="stable")
    indices = np.concatenate([order[-DRAWN:][::-1], order[:DRAWN]])
    selection = tosses.select(indices)
    values = {name: np.array([value]) for name, value in best.values.items()}
    path = tossers[law].paths(selection, values)[0]
    return page.Drawing(law, selection, path, best.best_errors["corners"][indices])
