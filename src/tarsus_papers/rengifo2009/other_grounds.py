"""The same walk on spring-damper ground and on rigid ground (beyond the paper)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tarsus.contact.laws.compliant import Compliant
from tarsus.contact.laws.moreau import Moreau
from tarsus.viewer.colors import COLORS
from tarsus_papers.base import Exhibit, Finding, Row, Table, Task
from tarsus_papers.rengifo2009.biped_runs import (
    DT,
    MU,
    BipedRun,
    paper_walk,
    run_walk_on,
    weight,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STIFFNESS, DAMPING = 1.1e5, 300.0  # N/m, N s/m of a vertex: depth of 1 mm on one foot
COARSE = 1e-3  # s
PAPER_LAW = "the paper's law"
NOT_MEASURED = "Not measured in the reduced version, because the walk is compiled for each ground."


class OtherGrounds(Exhibit):
    """Depth, slip, forces and cost of the walk under other contact laws."""

    name: ClassVar[str] = "others"
    title: ClassVar[str] = "The same walk on spring-damper ground and on rigid ground"
    location: ClassVar[str] = ""
    description: ClassVar[str] = (
        "The walk of Figs. 11 and 12 on two other grounds: springs and dampers at each vertex"
        f" (compliant, Eqn. (2) without tensile forces, {STIFFNESS:g} N/m and {DAMPING:g} N s/m,"
        " chosen for a depth of 1 mm on one foot; the paper gives none), and Moreau's rigid"
        " contact. Steps are 40 µs, and also 1 ms for rigid contact. These results are not checked."
        " Roughness is the mean change of a vertex's force between steps, per millisecond; slip is"
        " the largest distance that a vertex moves along the ground in the second half of a"
        " stance."
    )
    caption: ClassVar[str] = (
        "Load of the right foot in its first stance, and height of its right heel, under each law."
    )

    def measure(self, task: Task) -> Finding:
        if task.quick:
            return Finding({}, notes=[NOT_MEASURED])
        # every ground
        runs = {}
        for name, run in GROUNDS.items():
            task.on_progress(name)
            runs[name] = run()
        columns = (
            "", "steps", "largest depth / mm", "largest load of a foot / weight",
            "roughness / N/ms", "slip / mm", "distance / m", "unconverged", "µs per step",
        )  # fmt: skip
        rows = [(name, *_figures(run)) for name, run in runs.items()]
        data = {"stance": {name: _stance(run) for name, run in runs.items()}, "rows": rows}
        counts = [
            Row(f"{name}: steps walked", None, float(row[1]), "", "", "")
            for name, row in zip(runs, rows, strict=True)
        ]
        note = (
            "A rigid landing stops a foot within a step. Its load is an impulse divided by dt,"
            " which is not a property of the robot, and is larger at 40 µs than at 1 ms."
        )
        return Finding(data, counts, [Table("", columns, rows)], notes=[note])

    def draw(self, data: Mapping[str, Any]) -> Figure | None:
        if not data:
            return None
        from matplotlib.figure import Figure

        figure = Figure(figsize=(10, 5), layout="constrained")
        top, bottom = figure.subplots(2, 1, sharex=True)
        for color, (name, stance) in zip(COLORS, data["stance"].items(), strict=False):
            time = np.array(stance["time"])
            top.plot(time, stance["load"], color=color, lw=0.8, label=name)
            bottom.plot(time, 1e3 * np.array(stance["height"]), color=color, lw=1.1)
        top.set_ylim(0, 2.0)
        top.set_ylabel("load / weight")
        bottom.set_ylim(-1.6, 0.5)
        bottom.set_ylabel("height of the heel / mm")
        bottom.set_xlabel("time after landing / s")
        top.legend(frameon=False, fontsize=9, ncols=2, loc="upper right")
        for ax in (top, bottom):
            ax.spines[["top", "right"]].set_visible(False)
        return figure


@cache
def _rigid(dt: float) -> BipedRun:
    return run_walk_on(Moreau(mu=MU), 1, dt)


@cache
def _spring() -> BipedRun:
    law = Compliant(mu=MU, c_N=STIFFNESS, c_T=STIFFNESS, d_N=DAMPING, d_T=DAMPING)
    return run_walk_on(law, 1, DT)


GROUNDS = {
    PAPER_LAW: lambda: paper_walk(False),
    "spring and damper": _spring,
    "rigid, 40 µs": lambda: _rigid(DT),
    "rigid, 1 ms": lambda: _rigid(COARSE),
}


def _figures(run: BipedRun) -> tuple[float, ...]:
    """Compute the columns of the table for the first world."""
    force = run.force[:, 0]
    rough = np.abs(np.diff(force, axis=0)).mean() / (1e3 * run.dt)
    return (
        float(len(run.landings(0))),
        -1e3 * float(run.height[:, 0].min()),
        float(run.load[:, 0].max() / weight()),
        float(rough),
        1e3 * run.slip(0),
        float(run.q[-1, 0, 0] - run.q[0, 0, 0]),
        float(run.unconverged[0]),
        1e6 * run.cost,
    )


def _stance(run: BipedRun) -> dict[str, Any]:
    """Return load and heel height of the right foot from its first landing to its stance's end."""
    landed = next(time for time, foot in run.landings(0) if foot == 0)
    leaves = next(time for time in run.lift_offs(0, 0) if time > landed)
    span = np.flatnonzero((run.time > landed - 0.03) & (run.time < leaves))[::5]
    steps = np.round(run.time[span] / run.dt).astype(int) - 1
    return {
        "time": np.round(run.time[span] - landed, 5),
        "load": np.round(run.load[steps, 0, 0] / weight(), 4),
        "height": np.round(run.height[span, 0, 0], 7),
    }
