"""Figure 5: normal force of the left forefoot over a cycle (Gehring 2014, Accuracy)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tarsus.stepping.substeps import Substeps
from tarsus.viewer.colors import COLORS
from tarsus_papers.base import Check, Exhibit, Finding, Row, Table, Task
from tarsus_papers.gehring2014.configurations import (
    CYCLE,
    DAMPING,
    DT,
    ONCE,
    SUBSTEPS,
    Cm,
    HmJ,
    create_trot,
    load_robot,
)
from tarsus_papers.gehring2014.runs import fine_forces

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FOOT = "LF_foot"
DAMPING_FACTOR = 10.0
STEP_FACTOR = 4  # reduction of the step


class Figure5(Exhibit):
    """Hard contact, compliant contact, and compliant contact with ten times the damping."""

    name: ClassVar[str] = "figure5"
    title: ClassVar[str] = "Figure 5: normal force of the left fore foot"
    location: ClassVar[str] = "Figure 5, section Accuracy"
    description: ClassVar[str] = (
        "One cycle of the steady trot at 1.25 Hz with the controller at 400 Hz. A force is the"
        " impulse of one simulation step divided by the step. The paper finds that hard and"
        " compliant forces agree, that the lightly damped spring oscillates, and that ten times"
        " the damping stops the oscillation but makes impacts harder and requires a quarter of the"
        " step. It gives no numbers; the numbers below are ours. With a quarter of the step our"
        " robot trots, but the force jumps from step to step; with an eighth it does not."
    )
    caption: ClassVar[str] = (
        "Normal force of the left fore foot over one cycle: hard contact (HmJ), compliant contact"
        " (Cm), and compliant contact with ten times the damping at a quarter and an eighth of the"
        " step. Peaks outside the figure are listed in the table."
    )

    def measure(self, task: Task) -> Finding:
        # force on one foot over one cycle
        before = 2.4 if task.quick else 8.0
        foot = [candidate.name for candidate in load_robot().candidates].index(FOOT)
        curves: dict[str, dict[str, Any]] = {}
        for name, (configuration, damping, substeps) in CURVES.items():
            task.on_progress(name)
            law = configuration.law(
                **({} if configuration.hard else {"d_N": damping, "d_T": damping})
            )
            force = fine_forces(configuration, law, substeps, before)
            curves[name] = {"dt": DT / substeps, "force": force[:, foot]}
        # mean and peak, as rows
        mean = {name: float(np.mean(curve["force"])) for name, curve in curves.items()}
        peak = {name: float(np.max(curve["force"])) for name, curve in curves.items()}
        weight = -load_robot().mass * load_robot().gravity_acceleration[2]
        rows = [
            Row(
                f"{name}: mean over the cycle",
                None,
                mean[name],
                "N",
                "",
                f"a quarter of the weight: {weight / 4:.1f} N",
            )
            for name in curves
        ] + [Row(f"{name}: peak", None, peak[name], "N", "") for name in curves]
        # steps with which the stronger damping diverges
        diverges = {} if task.quick else _test_steps(before, task)
        data = {"curves": curves, "mean": mean, "peak": peak, "diverges": diverges}
        return Finding(
            data,
            rows,
            _build_tables(diverges),
            _build_checks(mean, peak),
            [_describe_chatter(curves)],
        )

    def draw(self, data: Mapping[str, Any]) -> Figure:
        from matplotlib.figure import Figure

        figure = Figure(figsize=(9, 4.2), layout="constrained")
        ax = figure.subplots()
        styles = zip(
            data["curves"].items(), (2, 0, 4, 1), (1.8, 1.2, 0.3, 1.2), (4, 3, 1, 2), strict=True
        )
        for (name, curve), color, width, order in styles:
            time = curve["dt"] * (np.arange(len(curve["force"])) + 0.5)
            ax.plot(time, curve["force"], color=COLORS[color], lw=width, zorder=order, label=name)
        typical = max(float(np.quantile(curve["force"], 0.98)) for curve in data["curves"].values())
        ax.set_ylim(0, 2 * typical)
        ax.set_xlim(0, CYCLE * DT)
        ax.set_xlabel("time in the cycle / s")
        ax.set_ylabel("normal force / N")
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False, loc="upper right")
        return figure


CURVES = {
    "hard": (HmJ, 0.0, 1),
    "compliant": (Cm, DAMPING, SUBSTEPS),
    "compliant, damping x 10, step / 4": (Cm, DAMPING_FACTOR * DAMPING, STEP_FACTOR * SUBSTEPS),
    "compliant, damping x 10, step / 8": (
        Cm,
        DAMPING_FACTOR * DAMPING,
        2 * STEP_FACTOR * SUBSTEPS,
    ),
}


def _describe_chatter(curves: Mapping[str, Any]) -> str:
    """Describe the change of each force between steps while the foot is in contact."""
    changes = {}
    for name, curve in curves.items():
        closed = (curve["force"][1:] > 0) & (curve["force"][:-1] > 0)
        changes[name] = float(np.median(np.abs(np.diff(curve["force"]))[closed]))
    numbers = "; ".join(f"{name}: {change:.1f} N" for name, change in changes.items())
    return f"Median change of the force from one step to the next: {numbers}."


def _test_steps(before: float, task: Task) -> dict[int, bool]:
    """Test whether the trot with ten times the damping diverges, by steps per control update."""
    diverges = {}
    for substeps in (2, 4, 8, 16):
        task.on_progress(f"damping x {DAMPING_FACTOR:g}, {substeps} steps per control update")
        law = Cm.law(d_N=DAMPING_FACTOR * DAMPING, d_T=DAMPING_FACTOR * DAMPING)
        simulation = Cm.simulation(create_trot(), law, stepper=Substeps(ONCE, substeps))
        simulation.advance(before)
        diverges[substeps] = not (
            np.isfinite(simulation.q).all()
            and simulation.q[2] > 0.5 * load_robot().keyframes["stand"][2]
        )
    return diverges


def _build_tables(diverges: dict[int, bool]) -> list[Table]:
    rows = [
        (n, 1e3 * DT / n, "falls or diverges" if diverged else "trots")
        for n, diverged in diverges.items()
    ]
    columns = ("steps per control update", "step / ms", "outcome")
    return (
        [Table("Compliant contact with ten times the damping, by step", columns, rows)]
        if rows
        else []
    )


def _build_checks(mean: dict[str, float], peak: dict[str, float]) -> list[Check]:
    _, soft, _, damped = CURVES
    smallest = min(mean.values())
    return [
        Check(
            "the foot carries part of the weight in every run",
            smallest > 0,
            f"on average at least {smallest:.1f} N",
        ),
        Check(
            "ten times the damping makes impacts harder",
            peak[damped] > peak[soft],
            f"peaks {peak[damped]:.0f} N and {peak[soft]:.0f} N",
        ),
    ]
