"""Tables and summaries of contracts and of the results of checks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from tarsus.policies.attitude import planar_velocity, rotations
from tarsus.policies.binding import BoundPolicy
from tarsus.policies.contract import Contract, numbers
from tarsus.policies.doctor import ContractDiagnosis
from tarsus.policies.events import FirstEvents
from tarsus.policies.margins import Margin
from tarsus.policies.rollout import MIN_HEIGHT, MIN_TILT_COSINE
from tarsus.policies.separation import Separation
from tarsus.policies.survival import EngineResult

Array = NDArray[np.float64]
Table = tuple[list[str], list[list[str]]]  # headings and rows
MAX_SHOWN = 4  # items of a list that are printed
HIDDEN_FIELDS = ("origins", "assumptions", "terms", "ranges")


def contract_rows(contract: Contract) -> list[list[str]]:
    """List name, value and origin of each value that is set."""
    rows = []
    for f in fields(Contract):
        value = getattr(contract, f.name)
        if f.name in HIDDEN_FIELDS or value in (None, "", ()):
            continue
        rows.append([f.name, _short(value), contract.origin(f.name)])
    for term in contract.ordered_terms:
        history = f", history of {term.history}" if term.history > 1 else ""
        options = "".join(f", {key} {_short(value)}" for key, value in term.options.items())
        scale = "" if set(numbers(term.scale)) == {1.0} else f", scale {_short(term.scale)}"
        clip = f", clipped to {_short(term.clip)}" if term.clip else ""
        known = f" ({term.name})" if term.label not in ("", term.name) else ""
        rows.append(
            [
                f"term {term.key}{known}",
                f"observed{scale}{clip}{history}{options}",
                contract.origin("terms"),
            ]
        )
    for name, ends in contract.ranges.items():
        rows.append([f"command {name}", _short(ends), contract.origin("ranges")])
    return rows


def contract_data(contract: Contract) -> dict[str, Any]:
    """Convert the contract to JSON values."""
    data: dict[str, Any] = {
        f.name: getattr(contract, f.name) for f in fields(Contract) if f.name not in HIDDEN_FIELDS
    }
    data["terms"] = [
        {name: getattr(term, name) for name in ("key", "name", "scale", "clip", "history")}
        | {"options": dict(term.options)}
        for term in contract.ordered_terms
    ]
    data["ranges"], data["origins"] = dict(contract.ranges), dict(contract.origins)
    data["missing"] = [question.name for question in contract.missing()]
    return data


def summarize_run(policy: BoundPolicy, log: xr.Dataset, command: Array) -> dict[str, Any]:
    """Summarize a run of one robot: mean velocity, final position and time of the fall."""
    q, u = (np.asarray(log[name].values, float) for name in ("q", "u"))
    time = np.asarray(log["time"].values, float)
    R = rotations(q[:, 3:7])
    down = (R[:, 2, 2] < MIN_TILT_COSINE) | (q[:, 2] < MIN_HEIGHT * q[0, 2])
    fell = float(time[np.argmax(down)]) if down.any() else None
    end = int(np.argmax(down)) if down.any() else len(q)
    later = time[:end] > min(1.0, time[end - 1] / 2)
    mean = planar_velocity(R, u)[:end][later].mean(axis=0) if later.any() else np.full(3, np.nan)
    return {
        "robot": policy.robot.name,
        "law": str(log.attrs.get("law", log.attrs.get("engine", ""))),
        "command": [float(value) for value in command],
        "mean velocity": [round(float(value), 3) for value in mean],
        "final position": [round(float(value), 3) for value in q[end - 1, :2]],
        "fell at": fell,
        "duration": float(time[-1]),
    }


def survival_table(results: Sequence[EngineResult]) -> Table:
    """Tabulate survival and tracking in each engine."""
    heads = ["engine", "stood", "95 % interval", "error forward (m/s)", "left (m/s)"]
    heads += ["turning (rad/s)", "first fall (s)", "not converged (%)", "remark"]
    cells = []
    for row in results:
        if row.survival is None:
            cells.append([row.engine, *["-"] * 7, row.failure])
            continue
        cells.append(
            [
                row.engine,
                *row.survival.cells,
                *(f"{value:.3f}" if np.isfinite(value) else "-" for value in row.tracking_error),
                f"{row.first_fall:.2f}" if np.isfinite(row.first_fall) else "-",
                f"{100 * row.unconverged:.2g}",
                "",
            ]
        )
    if not any(row[-1] for row in cells):
        heads, cells = heads[:-1], [row[:-1] for row in cells]
    return heads, cells


def margin_table(margins: Sequence[Margin]) -> Table:
    """Tabulate the failure threshold of each factor."""
    cells = []
    for margin in margins:
        low, high = sorted((margin.low, margin.high))
        interval = f"{low:.3g} to {high:.3g}" if margin.fails else "-"
        value = f"{margin.value:.3g}" if margin.fails else f"not up to {margin.high:.3g}"
        cells.append([margin.factor, value, interval, margin.unit, margin.law])
    return ["factor", "fails beyond", "between", "unit", "law"], cells


def events_table(events: Sequence[FirstEvents]) -> Table:
    """Tabulate the falls in each engine by the kind of their first event."""
    kinds = list(dict.fromkeys(kind for one in events for kind in one.counts))
    cells = []
    for one in events:
        row = [one.engine, str(one.falls)]
        for kind in kinds:
            lead = f" ({one.lead_time[kind]:.2f} s before)" if kind in one.lead_time else ""
            row.append(f"{one.counts[kind]}{lead}" if kind in one.counts else "-")
        cells.append(row)
    return ["engine", "falls examined", *kinds], cells


def separation_table(separation: Separation) -> Table:
    """Tabulate survival with single settings of an engine changed."""
    cells = [
        [v.change, *v.survival.cells, "yes" if v in separation.explaining_variants else ""]
        for v in separation.variants
    ]
    return ["change", "stood", "95 % interval", "closes the difference"], cells


def suggestion_table(diagnosis: ContractDiagnosis, count: int) -> Table:
    """Tabulate the suggested changes, the best first."""
    heads = ["mistake", "change", "gain", "score", "stood (%)", "sway (rad/s)"]
    return heads, [
        [
            trial.mistake,
            trial.change,
            f"{trial.gain(diagnosis.unchanged):.2f}",
            f"{trial.score:.2f}",
            f"{100 * trial.stood:.0f}",
            f"{trial.sway:.2f}",
        ]
        for trial in diagnosis.suggestions[:count]
    ]


def _short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, tuple):
        if len(value) > 1 and len(set(value)) == 1:
            return f"{_short(value[0])} for each of {len(value)}"
        shown = ", ".join(_short(item) for item in value[:MAX_SHOWN])
        return shown + (f", ... ({len(value)})" if len(value) > MAX_SHOWN else "")
    return str(value)
