"""The report of a log: the numbers of `tarsus run --json`, and of every foot."""

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

COLUMNS = {  # of a foot: heading and format
    "duty": ("duty", "{:.2f}"),
    "period": ("period / s", "{:.3f}"),
    "steps": ("stances", "{:.0f}"),
    "slip": ("slipping", "{:.2f}"),
    "peak_force": ("peak / N", "{:.1f}"),
    "impulse": ("impulse / N s", "{:.2f}"),
    "stride": ("swing / m", "{:.3f}"),
}


class RunReport(dict[str, Any]):
    """The numbers of `tarsus.summary`, and `feet`: {contact: {figure: number}}; its text is a page
    to read.
    """

    def __str__(self) -> str:
        told = {name: text for name, text in summary_lines(self).items() if text}
        page = [f"{name:<10} {text}" for name, text in told.items()]
        page += [f"{'warning':<10} {text}" for text in self["warnings"]]
        # the feet as a table
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


class _Made(NamedTuple):
    """What a summary asks of a simulation."""

    robot: Robot
    dt: float
    stepper: StepperLike


class _AnEngine(NamedTuple):
    """Another engine; its logs name the instant of evaluation where a step has only one."""

    velocity_level: bool

    @property
    def solves_once(self) -> bool:
        """Whether the impulses of a step are one solution."""
        return self.velocity_level


def report(log: xr.Dataset, phases: pd.DataFrame) -> RunReport:
    """The report of one world's log; phases: `log.tarsus.phases()`."""
    log = check_log(log, REQUIRED)
    told, robot = parse_attributes(log.attrs), check_robot(log, robot_of(log))
    stepper: StepperLike = (
        _AnEngine("evaluation_instant" in log.attrs)
        if "engine" in told
        else part_from_attributes("stepper", told)
    )
    numbers = summary(_Made(robot, float(log.attrs["dt"]), stepper), log)
    return RunReport(numbers | {"feet": _feet(phases)})


def _feet(phases: pd.DataFrame) -> dict[str, dict[str, float | None]]:
    """Of each contact that ever presses: duty factor, period from touch-down to touch-down (s),
    stances, the part of them in which it slips, largest force (N), mean impulse of a stance (N s),
    mean way of a swing (m). Means are of whole phases; None where there is none.
    """
    found = {}
    groups: Any = phases.groupby("contact", sort=False)
    for name, own in groups:
        stance, swing = own[own["phase"] == "stance"], own[own["phase"] == "swing"]
        if stance.empty:
            continue
        # what phases that the log cuts off do not spoil
        whole, starts = stance[stance["whole"]], stance["start"].to_numpy()[stance["start"] > 0]
        time = own["duration"].sum()
        slipping = (stance["slip"] * stance["duration"]).sum() / stance["duration"].sum()
        steps = swing[swing["whole"]]
        found[str(name)] = {
            "duty": float(stance["duration"].sum() / time),
            "period": float((starts[-1] - starts[0]) / (len(starts) - 1))
            if len(starts) > 1
            else None,
            "steps": len(stance),
            "slip": float(slipping),
            "peak_force": float(stance["peak_force"].max()),
            "impulse": None if whole.empty else float(whole["impulse"].mean()),
            "stride": None if steps.empty else float(steps["travel"].mean()),
        }
    return found
