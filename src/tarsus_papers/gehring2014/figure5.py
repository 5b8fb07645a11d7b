"""Figure 5: normal force of the left forefoot over a cycle (Gehring 2014, Accuracy)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tarsus.stepping.methods.midpoint import Midpoint
from tarsus.stepping.substeps import Substeps
from tarsus.viewer.colors import COLORS
from tarsus_papers.base import Check, Exhibit, Finding, Row, Table, Task
from tarsus_papers.gehring2014.configurations import (
    CYCLE,
    DAMPING,
    DT,
    SUBSTEPS,
    Cm,
    HmJ,
    robot,
    trotting,
)
from tarsus_papers.gehring2014.runs import fine_forces

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FOOT = "LF_foot"
STIFFER = 10.0  # times the damping
FINER = 4  # times the steps


class Figure5(Exhibit):
    """Hard contact, compliant contact, and ten times its damping at smaller steps."""

    name: ClassVar[str] = "figure5"
    title: ClassVar[str] = "Figure 5: normal force of the left fore foot"
    where: ClassVar[str] = "Figure 5, section Accuracy"
    about: ClassVar[str] = (
        "One cycle of the settled trot at 1.25 Hz, controller at 400 Hz in all three. A force is"
        " the impulse over one simulation step divided by the step. The paper finds that hard"
        " and compliant forces coincide, that the lightly damped spring oscillates, and that ten"
        " times the damping ends the oscillation but makes impacts harder and needs a quarter of"
        " the step. It gives no numbers: those are ours. At a quarter of the step our robot trots,"
        " but its force jumps from step to step; at an eighth it no longer does."
    )
    caption: ClassVar[str] = (
        "Normal force of the left fore foot over one cycle: hard contact (HmJ), compliant contact"
        " (Cm), and compliant contact with ten times the damping at a quarter and an eighth of the"
        " step. Peaks beyond the picture are in the table."
    )

    def measure(self, task: Task) -> Finding:
        # the force on one foot over the last cycle
        before = 2.4 if task.quick else 8.0
        foot = [candidate.name for candidate in robot().candidates].index(FOOT)
        curves: dict[str, dict[str, Any]] = {}
        for name, (configuration, damping, substeps) in CURVES.items():
            task.tell(name)
            law = configuration.law(
                **({} if configuration.hard else {"d_N": damping, "d_T": damping})
            )
            force = fine_forces(configuration, law, substeps, before)
            curves[name] = {"dt": DT / substeps, "force": force[:, foot]}
        # mean and peak, as rows
        load = {name: float(np.mean(curve["force"])) for name, curve in curves.items()}
        peak = {name: float(np.max(curve["force"])) for name, curve in curves.items()}
        weight = -robot().mass * robot().gravity_acceleration[2]
        rows = [
            Row(
                f"{name}: mean over the cycle",
                None,
                load[name],
                "N",
                "",
                f"a quarter of the weight: {weight / 4:.1f} N",
            )
            for name in curves
        ] + [Row(f"{name}: peak", None, peak[name], "N", "") for name in curves]
        # the steps with which it diverges
        steps = {} if task.quick else _largest_step(before, task)
        data = {"curves": curves, "mean": load, "peak": peak, "diverges": steps}
        return Finding(data, rows, _tables(steps), _checks(load, peak), [_chatter(curves)])

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
        quiet = max(float(np.quantile(curve["force"], 0.98)) for curve in data["curves"].values())
        ax.set_ylim(0, 2 * quiet)
        ax.set_xlim(0, CYCLE * DT)
        ax.set_xlabel("time in the cycle / s")
        ax.set_ylabel("normal force / N")
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False, loc="upper right")
        return figure


CURVES = {
    "hard": (HmJ, 0.0, 1),
    "compliant": (Cm, DAMPING, SUBSTEPS),
    "compliant, damping x 10, step / 4": (Cm, STIFFER * DAMPING, FINER * SUBSTEPS),
    "compliant, damping x 10, step / 8": (Cm, STIFFER * DAMPING, 2 * FINER * SUBSTEPS),
}


def _chatter(curves: Mapping[str, Any]) -> str:
    """Describe the change of each force between steps while the foot is in contact."""
    moves = {}
    for name, curve in curves.items():
        pressed = (curve["force"][1:] > 0) & (curve["force"][:-1] > 0)
        moves[name] = float(np.median(np.abs(np.diff(curve["force"]))[pressed]))
    words = "; ".join(f"{name}: {move:.1f} N" for name, move in moves.items())
    return f"Median change of the force from one step to the next: {words}."


def _largest_step(before: float, task: Task) -> dict[int, bool]:
    """Test whether the trot with ten times the damping diverges, by steps per control update."""
    wrong = {}
    for substeps in (2, 4, 8, 16):
        task.tell(f"damping x {STIFFER:g}, {substeps} steps a control update")
        law = Cm.law(d_N=STIFFER * DAMPING, d_T=STIFFER * DAMPING)
        simulation = Cm.simulation(
            trotting(), law, stepper=Substeps(Midpoint(forces="once"), substeps)
        )
        simulation.advance(before)
        wrong[substeps] = not (
            np.isfinite(simulation.q).all()
            and simulation.q[2] > 0.5 * robot().keyframes["stand"][2]
        )
    return wrong


def _tables(diverges: dict[int, bool]) -> list[Table]:
    rows = [
        (n, 1e3 * DT / n, "falls or diverges" if wrong else "trots")
        for n, wrong in diverges.items()
    ]
    columns = ("steps a control update", "step / ms", "outcome")
    return (
        [Table("Compliant contact with ten times the damping, by step", columns, rows)]
        if rows
        else []
    )


def _checks(load: dict[str, float], peak: dict[str, float]) -> list[Check]:
    _, soft, _, damped = CURVES
    least = min(load.values())
    return [
        Check(
            "the foot carries a share of the weight in every run",
            least > 0,
            f"at least {least:.1f} N in the mean",
        ),
        Check(
            "ten times the damping makes impacts harder",
            peak[damped] > peak[soft],
            f"peaks {peak[damped]:.0f} N and {peak[soft]:.0f} N",
        ),
    ]
