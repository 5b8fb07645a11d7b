"""440 of 550 real tosses of an acrylic cube: which law repeats them, and what none does."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tarsus.files import json_value
from tarsus.validation.real.base import RealExperiment, RealOutcome, RealRequest
from tarsus.validation.real.cube_tosses import data, page, study
from tarsus.validation.real.cube_tosses.data import Tosses
from tarsus.validation.real.cube_tosses.flight import Flights, flights, sliding
from tarsus.validation.real.cube_tosses.identify import Identified, identified, mean_interval
from tarsus.validation.real.cube_tosses.law_tosses import LawTosses, Tosser
from tarsus.validation.real.cube_tosses.mujoco_tosses import NAME, MujocoTosses

Array = NDArray[np.float64]
DRAWN = 3  # worst and best tosses each


class CubeTosses(RealExperiment):
    """Tosses of an acrylic cube of 0.37 kg and 0.1048 m onto a board, tracked by cameras at 148 Hz.

    Every law starts from the first frame of each toss and runs to its last. Position error: the
    centers' distance, % of the cube's width; rotation error: angle between the attitudes; means
    over time and tosses. Data: Pfrommer 2020.
    """

    variable: ClassVar[str] = data.VARIABLE
    where: ClassVar[str] = data.WHERE

    def measure(self, request: RealRequest) -> RealOutcome:
        path = self.recording(request.data)
        tosses = data.read(path)
        rows: list[dict[str, Any]] = []
        found: dict[str, Identified] = {}
        tossers: dict[str, Tosser] = {}
        # every law, as given and identified; or at parameters identified elsewhere
        for law in request.laws:
            request.tell(f"{law}: {len(tosses)} tosses")
            threads = request.threads
            own = MujocoTosses(threads) if law == NAME else LawTosses(law, threads=threads)
            tossers[law] = own
            if request.at is not None:
                rows += _at(own, tosses, dict(request.at.get(law, {})), request.seed)
                continue
            count, seed = request.candidates, request.seed
            found[law] = identified(own, tosses, own.tried, count, seed)
            rows += _rows(law, found[law], seed)
        record: dict[str, Any] = {
            "experiment": "cube_tosses",
            "tosses": len(tosses),
            "file": path.name,
            "rows": rows,
            "laws": {law: _described(each) for law, each in found.items()},
        }
        # what the data say by themselves, and what is missing
        flown, slid = flights(tosses), sliding(tosses)
        record["flight"] = {k: v for k, v in vars(flown).items() if k not in ("q", "u", "which")}
        record["flight"]["tosses"] = len(flown.which)
        record["sliding"] = vars(slid) if slid else None
        if study.LAW in found:
            record["missing"] = _missing(tosses, flown, request)
        best = _drawn(tossers, tosses, found, request)
        return RealOutcome(json_value(record), page.page(record, best))


def _rows(law: str, found: Identified, seed: int) -> list[dict[str, Any]]:
    """Three lines of the table: as given, identified and held out, identified with all."""
    kinds = {
        "given": found.given,
        "identified, held out": found.held_out,
        "identified": found.best,
    }
    return [_row(law, kind, errors, seed) for kind, errors in kinds.items()]


def _row(law: str, kind: str, errors: dict[str, Array], seed: int) -> dict[str, Any]:
    """Mean and interval of each error."""
    means = {name: mean_interval(value, seed) for name, value in errors.items()}
    return {"law": law, "parameters": kind} | means


def _at(own: Tosser, tosses: Tosses, values: dict[str, float], seed: int) -> list[dict[str, Any]]:
    """Two lines: as given, and at parameters from elsewhere."""
    kinds = {"given": own.given()} | ({"identified elsewhere": values} if values else {})
    found = []
    for kind, each in kinds.items():
        one = {name: np.array([value]) for name, value in each.items()}
        found.append(_row(own.name, kind, own.errors(tosses, one).of(0), seed))
    return found


def _described(found: Identified) -> dict[str, Any]:
    """What a law's identification found, without the numbers of every toss."""
    return {
        "values": found.values,
        "intervals": found.intervals,
        "tried": found.tried,
        "diverged": found.diverged,
        "least_corners": float(found.least.mean()),
    }


def _missing(tosses: Tosses, flown: Flights, request: RealRequest) -> dict[str, Any]:
    """The ladder and the two bounds."""
    climbed = study.ladder(tosses, flown, request)
    rungs = [
        {"title": c.rung.title, "law": c.law, "gain": c.gain}
        | _row(c.law, "identified, held out", c.found.held_out, request.seed)
        | _described(c.found)
        for c in climbed
    ]
    request.tell(f"{study.LAW}: starts within the tracking's noise")
    values = climbed[0].found.values
    noise = study.spread(tosses, flown, values, request.seed).errors
    return {
        "rungs": rungs,
        "spread": {name: mean_interval(value, request.seed) for name, value in noise.items()},
    }


def _drawn(
    tossers: dict[str, Tosser], tosses: Tosses, found: dict[str, Identified], request: RealRequest
) -> page.Drawn | None:
    """The tosses that the best law repeats worst and best, and its paths of them."""
    if not found:
        return None
    law = min(found, key=lambda name: float(found[name].held_out["corners"].mean()))
    order = np.argsort(found[law].best["corners"], kind="stable")
    which = np.concatenate([order[-DRAWN:][::-1], order[:DRAWN]])
    some = tosses.some(which)
    values = {name: np.array([value]) for name, value in found[law].values.items()}
    path = tossers[law].paths(some, values)[0]
    return page.Drawn(law, some, path, found[law].best["corners"][which])
