"""Drift of hard contacts: sinking speed of the feet while standing (Gehring 2014, Accuracy)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tarsus.viewer.colors import COLORS
from tarsus_papers.base import Check, Exhibit, Finding, Row, Table, Task
from tarsus_papers.gehring2014.configurations import (
    DT,
    MIDPOINT,
    TOLERANCE,
    HmJ,
    HmS,
    create_stand,
    load_robot,
)
from tarsus_papers.gehring2014.runs import initial_worlds

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FEET = ("LF_foot", "RF_foot", "LH_foot", "RH_foot")
PUBLISHED = 750.0  # µm/min
TOLERANCES = (1e-3, 1e-4, 1e-5, 1e-6, 1e-8, 1e-10, 1e-12)
SETTLE, STAND = 5.0, 60.0  # s
METHODS = {  # name: configuration, solver, whether every step starts from zero impulses
    "JOR, from zero": (HmJ, "jor", True),
    "SOR, from zero": (HmS, "sor", True),
    "JOR": (HmJ, "jor", False),
    "SOR": (HmS, "sor", False),
    "newton, our default": (HmJ, "auto", False),
}
STEPS = (DT, DT / 2, DT / 4)
MIN_DRIFT = 1e-9  # µm/min: resolution of a position in double precision after a minute


class Drift(Exhibit):
    """Sixty seconds of standing with several tolerances, time steps and solvers."""

    name: ClassVar[str] = "drift"
    title: ClassVar[str] = "Drift: sinking speed of the feet while standing"
    location: ClassVar[str] = "section Accuracy"
    description: ClassVar[str] = (
        "Hard contact is solved for velocities, so that the residual velocity of a foot permitted"
        " by the tolerance accumulates. The robot stands for 60 s after it has settled for 5 s; the"
        " drift is the change in height of the foot that moves most. The paper finds about"
        " 750 µm/min with T_rel = T_abs = 1e-6, independent of the step size. It does not state"
        " where the iterations start. We measure both: starting every step from zero impulses, and"
        " from the impulses of the last step, as Tarsus does."
    )
    caption: ClassVar[str] = (
        "Vertical drift of the worst foot while standing against the tolerance T_rel = T_abs, with"
        " steps of 2.5 ms (solid), 1.25 ms (dashed) and 0.625 ms (dotted). Values below 1e-5 µm/min"
        " are round-off."
    )

    def measure(self, task: Task) -> Finding:
        settle, stand = (1.0, 3.0) if task.quick else (SETTLE, STAND)
        drifts: dict[str, dict[str, list[float]]] = {}
        for method in METHODS:
            drifts[method] = {}
            for dt in STEPS[:2] if task.quick else STEPS:
                task.on_progress(f"{method}, dt {1e3 * dt:g} ms")
                drifts[method][f"{1e3 * dt:g}"] = measure_drifts(method, dt, settle, stand)
        data = {"tolerance": TOLERANCES, "um_per_min": drifts, "seconds": stand}
        return Finding(data, _build_rows(drifts), [_build_table(drifts)], _build_checks(drifts))

    def draw(self, data: Mapping[str, Any]) -> Figure:
        from matplotlib.figure import Figure

        # a line for each method and step
        figure = Figure(figsize=(9, 4), layout="constrained")
        ax = figure.subplots()
        lines = zip(COLORS, data["um_per_min"].items(), "os^vD", strict=False)
        for color, (method, by_dt), marker in lines:
            for dt, style in zip(by_dt, ("-", "--", ":"), strict=False):
                drift = np.maximum(np.abs(by_dt[dt]), MIN_DRIFT)
                ax.plot(
                    data["tolerance"],
                    drift,
                    style,
                    marker=marker,
                    ms=4,
                    color=color,
                    label=method if style == "-" else None,
                )
        # the paper's number
        ax.plot(TOLERANCE, PUBLISHED, "*", color="#1c1e21", ms=13, label="paper")
        # axes and legend
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xlabel("tolerance T_rel = T_abs (N s)")
        ax.set_ylabel("drift / (µm/min)")
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
        return figure


def measure_drifts(method: str, dt: float, settle: float, stand: float) -> list[float]:
    """Measure the largest height change of a foot (µm/min) for all tolerances in one batch."""
    configuration, solver, from_zero = METHODS[method]
    tolerance = np.array(TOLERANCES)
    law = configuration.law(solver=solver, T_rel=tolerance, T_abs=tolerance)
    simulation = configuration.simulation(
        create_stand(), law, worlds=len(tolerance), dt=dt, stepper=MIDPOINT
    )
    worlds = initial_worlds(simulation)
    heights = []
    for seconds in (settle, stand):
        if not from_zero:
            worlds.advance(round(seconds / dt))
        else:
            for _ in range(round(seconds / dt)):
                worlds.set("memory", np.zeros(worlds.program.sizes["memory"]))
                worlds.advance(1)
        heights.append(
            np.stack([load_robot().position(worlds.get("q"), foot)[:, 2] for foot in FEET], axis=1)
        )
    return [
        float(value) for value in 1e6 * 60 / stand * np.abs(heights[1] - heights[0]).max(axis=1)
    ]


def _build_rows(drifts: dict[str, dict[str, list[float]]]) -> list[Row]:
    k = TOLERANCES.index(TOLERANCE)
    return [
        Row(
            f"1e-6, 2.5 ms: {method}",
            PUBLISHED,
            by_dt[f"{1e3 * DT:g}"][k],
            "µm/min",
            Drift.location,
            _start_comment(method),
        )
        for method, by_dt in drifts.items()
    ]


def _start_comment(method: str) -> str:
    start = "zero" if METHODS[method][2] else "the impulses of the last step"
    return f"every step starts from {start}"


def _build_table(drifts: dict[str, dict[str, list[float]]]) -> Table:
    columns = ("solver", "step / ms", *(f"{t:g}" for t in TOLERANCES))
    rows = [
        (method, dt, *values) for method, by_dt in drifts.items() for dt, values in by_dt.items()
    ]
    return Table("Drift in µm/min by tolerance", columns, rows)


def _build_checks(drifts: dict[str, dict[str, list[float]]]) -> list[Check]:
    k = TOLERANCES.index(TOLERANCE)
    cold, warm = (
        [
            values[k]
            for method, by_dt in drifts.items()
            if METHODS[method][2] == from_zero
            for values in by_dt.values()
        ]
        for from_zero in (True, False)
    )
    return [
        Check(
            "from zero: within a factor of five of the paper",
            all(0.2 < d / PUBLISHED < 5 for d in cold),
            _range(cold),
        ),
        Check("from the last impulses: below 1 µm/min", max(warm) < 1.0, _range(warm)),
    ]


def _range(drifts: list[float]) -> str:
    return f"{min(drifts):.3g} to {max(drifts):.3g} µm/min"
