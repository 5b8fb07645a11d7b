"""Drift of hard contacts: sinking speed of standing feet (Gehring 2014, Accuracy)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tarsus.stepping.methods.midpoint import Midpoint
from tarsus.viewer.colors import COLORS
from tarsus_papers.base import Check, Exhibit, Finding, Row, Table, Task
from tarsus_papers.gehring2014.configurations import DT, TOLERANCE, HmJ, HmS, robot, standing
from tarsus_papers.gehring2014.runs import at_start

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
VISIBLE = 1e-9  # µm/min: what double precision leaves of a position after a minute


class Drift(Exhibit):
    """Sixty seconds of standing under several tolerances, time steps and solvers."""

    name: ClassVar[str] = "drift"
    title: ClassVar[str] = "Drift: how fast standing feet sink"
    where: ClassVar[str] = "section Accuracy"
    about: ClassVar[str] = (
        "Hard contact is solved for velocities, so what the tolerance leaves of a foot's velocity"
        " adds up. The robot stands for 60 s after 5 s to settle; the drift is the change of a"
        " foot's height, of the foot that moves most. The paper finds about 750 µm/min at T_rel"
        " = T_abs = 1e-6, whatever the step. It does not say where its iterations start. Both ways"
        " are measured: every step from zero impulses, and, as Tarsus does, from the impulses"
        " of the step before."
    )
    caption: ClassVar[str] = (
        "Vertical drift of the worst foot while standing, against the tolerance T_rel = T_abs, at"
        " steps of 2.5 ms (solid), 1.25 ms (dashed) and 0.625 ms (dotted). What is below 1e-5"
        " µm/min is round-off."
    )

    def measure(self, task: Task) -> Finding:
        settle, stand = (1.0, 3.0) if task.quick else (SETTLE, STAND)
        drifts: dict[str, dict[str, list[float]]] = {}
        for method in METHODS:
            drifts[method] = {}
            for dt in STEPS[:2] if task.quick else STEPS:
                task.tell(f"{method}, dt {1e3 * dt:g} ms")
                drifts[method][f"{1e3 * dt:g}"] = measure_drifts(method, dt, settle, stand)
        data = {"tolerance": TOLERANCES, "um_per_min": drifts, "seconds": stand}
        return Finding(data, _rows(drifts), [_table(drifts)], _checks(drifts))

    def draw(self, data: Mapping[str, Any]) -> Figure:
        from matplotlib.figure import Figure

        # a line for each method and step
        figure = Figure(figsize=(9, 4), layout="constrained")
        ax = figure.subplots()
        lines = zip(COLORS, data["um_per_min"].items(), "os^vD", strict=False)
        for color, (method, by_dt), marker in lines:
            for dt, style in zip(by_dt, ("-", "--", ":"), strict=False):
                drift = np.maximum(np.abs(by_dt[dt]), VISIBLE)
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
    """Return the largest height change of a foot (µm/min) per tolerance, run in one batch."""
    configuration, solver, from_zero = METHODS[method]
    tolerance = np.array(TOLERANCES)
    law = configuration.law(solver=solver, T_rel=tolerance, T_abs=tolerance)
    simulation = configuration.simulation(
        standing(), law, worlds=len(tolerance), dt=dt, stepper=Midpoint()
    )
    worlds = at_start(simulation)
    heights = []
    for seconds in (settle, stand):
        if not from_zero:
            worlds.advance(round(seconds / dt))
        else:
            for _ in range(round(seconds / dt)):
                worlds.set("memory", np.zeros(worlds.program.sizes["memory"]))
                worlds.advance(1)
        heights.append(
            np.stack([robot().position(worlds.get("q"), foot)[:, 2] for foot in FEET], axis=1)
        )
    return [
        float(value) for value in 1e6 * 60 / stand * np.abs(heights[1] - heights[0]).max(axis=1)
    ]


def _rows(drifts: dict[str, dict[str, list[float]]]) -> list[Row]:
    at = TOLERANCES.index(TOLERANCE)
    return [
        Row(
            f"1e-6, 2.5 ms: {method}",
            PUBLISHED,
            by_dt[f"{1e3 * DT:g}"][at],
            "µm/min",
            Drift.where,
            _starts(method),
        )
        for method, by_dt in drifts.items()
    ]


def _starts(method: str) -> str:
    start = "from zero" if METHODS[method][2] else "from the last step's impulses"
    return f"every step starts {start}"


def _table(drifts: dict[str, dict[str, list[float]]]) -> Table:
    columns = ("solver", "step / ms", *(f"{t:g}" for t in TOLERANCES))
    rows = [
        (method, dt, *values) for method, by_dt in drifts.items() for dt, values in by_dt.items()
    ]
    return Table("Drift in µm/min by tolerance", columns, rows)


def _checks(drifts: dict[str, dict[str, list[float]]]) -> list[Check]:
    at = TOLERANCES.index(TOLERANCE)
    found = {method: [values[at] for values in by_dt.values()] for method, by_dt in drifts.items()}
    cold = [drift for method, values in found.items() if METHODS[method][2] for drift in values]
    warm = [drift for method, values in found.items() if not METHODS[method][2] for drift in values]
    return [
        Check(
            "from zero: within a factor of five of the paper",
            all(0.2 < d / PUBLISHED < 5 for d in cold),
            _span(cold),
        ),
        Check("from the last impulses: below 1 µm/min", max(warm) < 1.0, _span(warm)),
    ]


def _span(drifts: list[float]) -> str:
    return f"{min(drifts):.3g} to {max(drifts):.3g} µm/min"
