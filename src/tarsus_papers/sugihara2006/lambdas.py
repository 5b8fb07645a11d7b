"""Figures 7 and 8: effect of lambda on the forces of a standing motion, and floor failure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tarsus.viewer import strip
from tarsus.viewer.colors import COLORS
from tarsus_papers.base import Check, Exhibit, Finding, Row, Table, Task
from tarsus_papers.sugihara2006.configurations import (
    ARMATURES,
    DT,
    hoap1,
    rotor,
)
from tarsus_papers.sugihara2006.standing import SETTLE, Array, StandingRun, run_standing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PAPER_LAMBDAS = (0.01, 0.1, 1.0, 4.0)  # section IV-C
FAILURE_LAMBDA = 7.0  # section IV-C: about "lambda = 7.0"
LAMBDAS = (1e-4, 1e-3, 0.01, 0.03, 0.1, 0.3, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 10.0, 20.0)
QUICK = (0.01, 1.0)
SHOWN_VERTEX = "L_foot_toe_left"  # "one of the vertices of the left sole"
FAILURE_DEPTH = 5e-3  # m: ten membranes
ROUGHNESS_RATIO = 20.0
MAX_ROUGHNESS = 0.02  # N
LOAD_TOLERANCE = 1e-3  # relative to the weight
LOCATION = "section IV-C, Fig. 7"


class Lambda(Exhibit):
    """Squat and sway on the floor of section IV-C, with single-pass and consistent solution."""

    name: ClassVar[str] = "lambda"
    title: ClassVar[str] = "Figures 7 and 8: lambda smooths the forces, until the floor fails"
    location: ClassVar[str] = "section IV-C, Figs. 7 and 8"
    description: ClassVar[str] = (
        "HOAP-1 squats by 20 mm and sways by 12 mm on both feet. The paper does not print its"
        " standing motion; this one is our own, with servos computed from weight, inertia and"
        " step. The floor is rigid under a membrane of 0.5 mm. Eqn. (33) is solved once per step,"
        " as printed, or until stick, slip and separation are consistent. Roughness is the mean"
        " change of a vertex's force from one step to the next; unevenness is the standard"
        " deviation over the vertices of a sole divided by their mean. Rules: a small lambda"
        " chatters if the roughness at 0.01 is at least 20 times that at 1; the floor fails if the"
        " soles end more than 5 mm deep."
    )
    caption: ClassVar[str] = (
        "Above: normal force of a vertex of the left sole as in Fig. 7, single pass (the scales"
        " differ). Below: roughness and unevenness by lambda, and the depth of the soles at the"
        " end, for a membrane whose spring is unlimited or ends at its thickness."
    )

    def measure(self, task: Task) -> Finding:
        lambdas = np.array(QUICK if task.quick else LAMBDAS)
        results = {}
        for name, changes in VARIANTS.items():
            if task.quick and name != ONCE:
                continue
            task.on_progress(name)
            results[name] = run_standing(lambdas, None, **changes)
        by_armature = {}
        for armature in () if task.quick else ARMATURES:
            task.on_progress(f"{ONCE}, rotors of {armature:g} kg m^2")
            by_armature[armature] = run_standing(
                np.array(PAPER_LAMBDAS), armature, **VARIANTS[ONCE]
            )
        data = _data(lambdas, results, by_armature)
        return Finding(data, _build_rows(data), _build_tables(data), _build_checks(data, results))

    def draw(self, data: Mapping[str, Any]) -> Figure:
        from matplotlib.figure import Figure

        figure = Figure(figsize=(10, 5.6), layout="constrained")
        top, bottom = strip.split_vertically(figure, 0.87)
        shown = {key: np.array(force) for key, force in data["vertex"].items()}
        for ax, (key, force) in zip(
            np.atleast_1d(top.subplots(1, len(shown))), shown.items(), strict=True
        ):
            ax.plot(SETTLE + DT * np.arange(len(force)), force, lw=0.7, color=COLORS[0])
            ax.set_title(f"λ = {float(key):g}", fontsize=10)
            ax.set_ylim(0, 1.05 * force.max())
            ax.set_xlabel("time / s", fontsize=9)
            ax.spines[["top", "right"]].set_visible(False)
        top.supylabel("force of a vertex / N", fontsize=9)
        rough, uneven, deep = bottom.subplots(1, 3)
        _draw_by_lambda(rough, data, "roughness", "roughness / N")
        _draw_by_lambda(uneven, data, "unevenness", "unevenness of a sole")
        _draw_by_lambda(deep, data, "depth_mm", "depth at the end / mm")
        rough.legend(frameon=False, fontsize=7)
        deep.axvline(FAILURE_LAMBDA, color="#999999", lw=0.8, ls=":")
        return figure


ONCE, CONSISTENT = "single pass", "consistent"
ENDS, ENDS_CONSISTENT = "single pass, membrane ends", "consistent, membrane ends"
UNLIMITED = (ONCE, CONSISTENT)  # variants whose membrane carries any load
VARIANTS: dict[str, dict[str, Any]] = {
    ONCE: {"passes": "once"},
    CONSISTENT: {"passes": "consistent"},
    ENDS: {"passes": "once", "spring": "ends"},
    ENDS_CONSISTENT: {"passes": "consistent", "spring": "ends"},
}


def _draw_by_lambda(ax: Axes, data: Mapping[str, Any], key: str, title: str) -> None:
    for color, (name, runs) in zip(COLORS, data["variants"].items(), strict=False):
        known = [
            (a, b)
            for a, b in zip(data["lambda"], runs[key], strict=True)
            if b is not None and b > 0
        ]
        ax.loglog(*zip(*known, strict=True), "o-", ms=3, lw=1.1, color=color, label=name)
    ax.set_title(title, fontsize=10)
    ax.set_xlabel("λ / 1/kg²", fontsize=9)
    ax.spines[["top", "right"]].set_visible(False)


def _data(
    lambdas: Array, results: dict[str, StandingRun], by_armature: dict[float, StandingRun]
) -> dict[str, Any]:
    """Return the measures by lambda, and the series of Fig. 7."""
    once = results[ONCE]
    vertex = once.names.index(SHOWN_VERTEX)
    indices = [
        int(np.flatnonzero(lambdas == value)[0]) for value in PAPER_LAMBDAS if value in lambdas
    ]
    return {
        "lambda": lambdas,
        "variants": {
            name: {
                "roughness": run.roughness,
                "unevenness": run.unevenness,
                "load": run.load,
                "depth_mm": 1e3 * run.final_depth,
                "finite": run.finite,
                "unconverged": run.unconverged,
            }
            for name, run in results.items()
        },
        "armature": {
            f"{armature:g}": {"roughness": run.roughness, "unevenness": run.unevenness}
            for armature, run in by_armature.items()
        },
        "vertex": {f"{lambdas[k]:g}": np.round(once.force[:, k, vertex], 3) for k in indices},
        "own_armature": rotor(hoap1()),
    }


def failure_lambda(data: Mapping[str, Any], variant: str) -> float | None:
    """Return the least lambda from which the soles end deeper than FAILURE_DEPTH, or None."""
    values = data["variants"][variant]
    failures = [
        not finite or depth is None or 1e-3 * depth > FAILURE_DEPTH
        for finite, depth in zip(values["finite"], values["depth_mm"], strict=True)
    ]
    holds = [k for k, fails in enumerate(failures) if not fails]
    first = holds[-1] + 1 if holds else 0
    return float(data["lambda"][first]) if first < len(failures) else None


def _build_rows(data: dict[str, Any]) -> list[Row]:
    rows = []
    lambdas = list(data["lambda"])
    for name in (name for name in (ONCE, CONSISTENT) if name in data["variants"]):
        for value in (v for v in PAPER_LAMBDAS if v in lambdas):
            rough = float(data["variants"][name]["roughness"][lambdas.index(value)])
            rows.append(Row(f"roughness, {name}, λ = {value:g}", None, rough, "N", LOCATION))
    for name in data["variants"]:
        failure = failure_lambda(data, name)
        rows.append(
            Row(
                f"λ at which the floor fails, {name}",
                FAILURE_LAMBDA,
                failure,
                "1/kg²",
                "section IV-C",
                ""
                if failure
                else f"none up to {max(lambdas):g}: the soles end less than 5 mm deep",
            )
        )
    return rows


def _build_tables(data: dict[str, Any]) -> list[Table]:
    columns = ("λ / 1/kg²", "roughness / N", "unevenness", "load / weight", "depth at the end / mm",
               "unconverged steps")  # fmt: skip
    keys = ("roughness", "unevenness", "load", "depth_mm", "unconverged")
    tables = [
        Table(
            name,
            columns,
            [
                (float(value), *(float(runs[key][k]) for key in keys))
                for k, value in enumerate(data["lambda"])
            ],
        )
        for name, runs in data["variants"].items()
    ]
    if data["armature"]:
        names = [f"{float(a):g} kg m²" for a in data["armature"]]
        rows = [
            (value, *(float(runs["roughness"][k]) for runs in data["armature"].values()))
            for k, value in enumerate(PAPER_LAMBDAS)
        ]
        tables.append(
            Table("Roughness / N by rotor inertia, single pass", ("λ / 1/kg²", *names), rows)
        )
    return tables


def _build_checks(data: dict[str, Any], runs: dict[str, StandingRun]) -> list[Check]:
    # single pass
    lambdas = list(data["lambda"])
    small, one = lambdas.index(0.01), lambdas.index(1.0)
    rough = data["variants"][ONCE]["roughness"]
    times = float(rough[small] / rough[one])
    carried = [run.load[small : one + 1] for name, run in runs.items() if name in UNLIMITED]
    deviation = float(np.abs(np.array(carried) - 1).max())
    checks = [
        Check(
            "single pass: the forces at lambda 0.01 are at least 20 times as rough as at 1",
            times >= ROUGHNESS_RATIO,
            f"{times:.0f} times",
        ),
        Check(
            "the soles carry the weight to 1e-3 at lambda 0.01 to 1",
            deviation < LOAD_TOLERANCE,
            f"apart by at most {deviation:.1g}",
        ),
    ]
    if CONSISTENT in runs:
        smooth = float(runs[CONSISTENT].roughness.max())
        checks.append(
            Check(
                "solved until consistent: roughness below 0.02 N at every lambda",
                smooth < MAX_ROUGHNESS,
                f"at most {smooth:.2g} N",
            )
        )
    return checks
