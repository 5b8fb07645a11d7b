"""Report of a log: the numbers of `tarsus run --json`, and gait figures of every foot."""

from __future__ import annotations

from typing import Any, NamedTuple

import pandas as pd
import xarray as xr

from tarsus.dynamics.robot import Robot
from tarsus.simulation.recording.log_robot import robot_of
from tarsus.simulation.recording.log_schema import check_log, check_robot
from tarsus.simulation.recording.part_serialization import part_from_attributes
from tarsus.simulation.recording.provenance import parse_attributes
from tarsus.simulation.recording.summary import REQUIRED, StepperLike, summary
from tarsus.simulation.recording.summary_lines import summary_lines

COLUMNS = {  # heading and format of each figure of a foot
    "duty": ("duty factor", "{:.2f}"),
    "period": ("period / s", "{:.3f}"),
    "steps": ("stances", "{:.0f}"),
    "slip": ("slip share", "{:.2f}"),
    "peak_force": ("peak force / N", "{:.1f}"),
    "impulse": ("impulse / (N s)", "{:.2f}"),
    "stride": ("stride / m", "{:.3f}"),
}


class RunReport(dict[str, Any]):
    """Summary of a run that prints as a readable page.

    It has the numbers of `tarsus.summary`, and under `feet` the figures of each contact that
    touches: {contact: {figure: number}}.
    """

    def __str__(self) -> str:
        page = [f"{name:<10} {text}" for name, text in summary_lines(self).items() if text]
        page += [f"{'warning':<10} {text}" for text in self["warnings"]]
        # table of the feet
        if self["feet"]:
            width = max(len("foot"), *(len(name) for name in self["feet"]))
            heads = [head for head, _ in COLUMNS.values()]
            page += ["", "  ".join([f"{'foot':<{width}}", *heads])]
            for name, foot in self["feet"].items():
                cells = [
                    (form.format(foot[key]) if foot[key] is not None else "-").rjust(len(head))
                    for key, (head, form) in COLUMNS.items()
                ]
                page.append("  ".join([f"{name:<{width}}", *cells]))
        return "\n".join(page)


class _LoggedSimulation(NamedTuple):
    """Properties of a simulation that its summary needs, read from the log."""

    robot: Robot
    dt: float
    stepper: StepperLike


class _OtherEngine(NamedTuple):
    """Stepper of another engine, whose logs name an evaluation instant if a step has only one."""

    velocity_level: bool

    @property
    def solves_once(self) -> bool:
        """Whether a step solves its contacts once."""
        return self.velocity_level


def report(log: xr.Dataset, phases: pd.DataFrame) -> RunReport:
    """Compute the report of a log of one world.

    Parameters
    ----------
    log
        Log of one world.
    phases
        Its phases, from `log.tarsus.phases()`.
    """
    log = check_log(log, REQUIRED)
    origin, robot = parse_attributes(log.attrs), check_robot(log, robot_of(log))
    stepper: StepperLike = (
        _OtherEngine("evaluation_instant" in log.attrs)
        if "engine" in origin
        else part_from_attributes("stepper", origin)
    )
    numbers = summary(_LoggedSimulation(robot, float(log.attrs["dt"]), stepper), log)
    return RunReport(numbers | {"feet": _feet(phases)})


def _feet(phases: pd.DataFrame) -> dict[str, dict[str, float | None]]:
    """Compute the gait figures of each contact that touches.

    These are the duty factor, the period between touchdowns (s), the number of stances, the share
    of stance time with slip, the peak force (N), the mean impulse of a stance (N s) and the mean
    displacement in a swing (m). Means exclude phases that the log truncates; None if there are no
    others.
    """
    figures = {}
    groups: Any = phases.groupby("contact", sort=False)
    for name, rows in groups:
        stance, swing = rows[rows["phase"] == "stance"], rows[rows["phase"] == "swing"]
        if stance.empty:
            continue
        # phases that the log does not truncate
        whole, starts = stance[stance["whole"]], stance["start"].to_numpy()[stance["start"] > 0]
        time = rows["duration"].sum()
        slip = (stance["slip"] * stance["duration"]).sum() / stance["duration"].sum()
        swings = swing[swing["whole"]]
        figures[str(name)] = {
            "duty": float(stance["duration"].sum() / time),
            "period": float((starts[-1] - starts[0]) / (len(starts) - 1))
            if len(starts) > 1
            else None,
            "steps": len(stance),
            "slip": float(slip),
            "peak_force": float(stance["peak_force"].max()),
            "impulse": None if whole.empty else float(whole["impulse"].mean()),
            "stride": None if swings.empty else float(swings["travel"].mean()),
        }
    return figures
