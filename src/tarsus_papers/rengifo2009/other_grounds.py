"""The same walk on a spring-damper ground and on a hard one (beyond the paper)."""

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

STIFFNESS, DAMPING = 1.1e5, 300.0  # N/m, N s/m of a vertex: 1 mm on one foot
COARSE = 1e-3  # s
OWN = "the paper's law"
LEFT_OUT = "Left out of the reduced version: each ground takes another walk to compile."


class OtherGrounds(Exhibit):
    """Depth, slip, forces and cost of the walk under other contact laws."""

    name: ClassVar[str] = "others"
    title: ClassVar[str] = "The same walk on a spring-damper and on a hard ground"
    where: ClassVar[str] = ""
    about: ClassVar[str] = (
        "The walk of Figs. 11 and 12 on two other grounds: springs and dampers at each vertex"
        f" (compliant, Eqn. (2) without its pull, {STIFFNESS:g} N/m and {DAMPING:g} N s/m, chosen"
        " so that the robot stands 1 mm deep on one foot; the paper prints none) and Moreau's hard"
        " contact, at the same step of 40 µs, and the hard one also at 1 ms. Rows to read, nothing"
        " must hold. Roughness is the mean change of a vertex's force from step to step per"
        " millisecond; slip the largest way that a vertex moves along the ground in the second"
        " half of a stance."
    )
    caption: ClassVar[str] = (
        "Load of the right foot in its first stance, and height of its right heel, under each law."
    )

    def measure(self, task: Task) -> Finding:
        if task.quick:
            return Finding({}, notes=[LEFT_OUT])
        # every ground
        found = {}
        for name, run in GROUNDS.items():
            task.tell(name)
            found[name] = run()
        columns = (
            "", "steps", "deepest / mm", "largest load of a foot / weight", "roughness / N/ms",
            "slip / mm", "way / m", "unconverged", "µs a step",
        )  # fmt: skip
        rows = [(name, *_measured(run)) for name, run in found.items()]
        data = {"stance": {name: _stance(run) for name, run in found.items()}, "rows": rows}
        told = [
            Row(f"{name}: steps walked", None, float(row[1]), "", "", "")
            for name, row in zip(found, rows, strict=True)
        ]
        note = (
            "A hard landing stops a foot within a step: its load is an impulse over dt and says"
            " nothing of a robot, at 40 µs even less than at 1 ms."
        )
        return Finding(data, told, [Table("", columns, rows)], notes=[note])

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
def _hard(dt: float) -> BipedRun:
    return run_walk_on(Moreau(mu=MU), 1, dt)


@cache
def _spring() -> BipedRun:
    law = Compliant(mu=MU, c_N=STIFFNESS, c_T=STIFFNESS, d_N=DAMPING, d_T=DAMPING)
    return run_walk_on(law, 1, DT)


GROUNDS = {
    OWN: lambda: paper_walk(False),
    "spring and damper": _spring,
    "hard, 40 µs": lambda: _hard(DT),
    "hard, 1 ms": lambda: _hard(COARSE),
}


def _measured(run: BipedRun) -> tuple[float, ...]:
    """Return the table columns of the first world."""
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
