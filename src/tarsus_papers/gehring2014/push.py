"""Stress test: pushes that make the standing robot fall (Gehring 2014, Robustness)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tarsus.morphology.fall import MIN_UPRIGHT, uprightness
from tarsus.viewer.colors import COLORS
from tarsus_papers.base import Check, Exhibit, Finding, Row, Table, Task
from tarsus_papers.gehring2014.configurations import (
    CONFIGURATIONS,
    DT,
    Cm,
    Configuration,
    HmJ,
    create_stand,
    load_robot,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[Any]
DIRECTIONS, STRENGTHS, WEAKEST, STRONGEST = 36, 31, 40.0, 100.0  # N s
TRUNK = "base"
HEIGHT = 0.1  # m above the trunk's frame, where the push acts
SETTLE, FALL = 0.2, 1.3  # s
PUSH_DURATION = BLOCK = 0.1  # s; every block of the simulation is evaluated
OURS = replace(HmJ, name="our default", solver="auto")
MAX_DEPTH = 0.02  # m: a contact with a larger depth has failed
OUTCOMES = {"stays up": 7, "falls": 0, "some step unconverged": 4, "fails": 1}  # with their colors


@dataclass(frozen=True)
class Falls:
    """Outcome of every push; each field has shape (worlds,)."""

    strength: Array
    """Impulse of the push, N s."""
    direction: Array
    """Direction of the push, rad: 0 forwards."""
    fell: Array
    """Whether the robot fell."""
    finite: Array
    """Whether all numbers stayed finite."""
    unconverged: Array
    """Steps that did not converge."""
    depth: Array
    """Largest penetration, m."""
    closed: Array
    """Largest number of contacts closed at the same time."""
    force: Array
    """Largest normal force, N."""

    @property
    def failed(self) -> Array:
        """Whether the simulation failed."""
        return ~self.finite | (self.depth > MAX_DEPTH)


class Push(Exhibit):
    """Pushes of every strength and direction: over a thousand falls in one batch."""

    name: ClassVar[str] = "push"
    title: ClassVar[str] = "Push: falls on the side"
    location: ClassVar[str] = "section Robustness and Ease of Use"
    description: ClassVar[str] = (
        "The trunk of the standing robot is pushed horizontally for 0.1 s, 0.1 m above its center,"
        " with 400 to 1000 N (40 to 100 N s) from all sides. All feet, joints and corners of the"
        " trunk can touch the ground. The controller keeps holding the joints. The robot counts as"
        " fallen if the trunk tilts by more than 60 degrees. A simulation fails if a number is not"
        " finite or a contact becomes deeper than 20 mm; steps whose iteration did not reach its"
        " tolerance are counted separately."
    )
    caption: ClassVar[str] = (
        "Outcome of each push by direction (angle: 0 forwards, 90 to the left) and strength"
        " (radius), hard contact."
    )

    def measure(self, task: Task) -> Finding:
        count = (8, 4) if task.quick else (DIRECTIONS, STRENGTHS)
        chosen = (HmJ,) if task.quick else (*CONFIGURATIONS, OURS)
        falls = {}
        for configuration in chosen:
            task.on_progress(f"{configuration.name}: {count[0] * count[1]} pushes")
            falls[configuration.name] = run_pushes(
                configuration, *count, 1.0 if task.quick else FALL
            )
        data = {
            name: {key: getattr(f, key) for key in (*f.__dataclass_fields__, "failed")}
            for name, f in falls.items()
        }
        rows = [row for name, f in falls.items() for row in _build_rows(name, f)]
        return Finding(data, rows, [_build_table(falls)], _build_checks(falls, task.quick))

    def draw(self, data: Mapping[str, Any]) -> Figure:
        from matplotlib.figure import Figure

        # a polar plot for each configuration, the last position for the legend
        hard = {name: f for name, f in data.items() if name != Cm.name}
        columns = min(len(hard) + 1, 4)
        rows = -(-(len(hard) + 1) // columns)
        figure = Figure(figsize=(9, 4.4 if columns < 4 else 2.6 * rows), layout="constrained")
        axes = figure.subplots(
            rows, columns, subplot_kw={"projection": "polar"}, squeeze=False
        ).ravel()
        for ax in axes[len(hard) :]:
            ax.axis("off")
        # every push by its direction, strength and outcome
        for ax, (name, f) in zip(axes, hard.items(), strict=False):
            failed, fell = np.asarray(f["failed"], bool), np.asarray(f["fell"], bool)
            unconverged = np.asarray(f["unconverged"]) > 0
            outcomes = (
                ~fell & ~unconverged & ~failed,
                fell & ~unconverged & ~failed,
                unconverged & ~failed,
                failed,
            )
            for mask, color in zip(outcomes, OUTCOMES.values(), strict=True):
                angle, radius = np.asarray(f["direction"])[mask], np.asarray(f["strength"])[mask]
                ax.scatter(angle, radius, s=7, color=COLORS[color], lw=0)
            # the polar grid
            ax.set_title(name, fontsize=10)
            ax.set_ylim(0, STRONGEST)
            ax.set_rticks([25, 50, 75, 100], ["", "50", "", "100 N s"], fontsize=7)
            ax.set_thetagrids([0, 90, 180, 270], ["0°", "90°", "180°", "270°"], fontsize=8)
            ax.tick_params(pad=0)
            ax.grid(alpha=0.3)
        # the legend
        marks = [
            axes[-1].scatter([], [], s=20, color=COLORS[color], lw=0) for color in OUTCOMES.values()
        ]
        axes[-1].legend(marks, list(OUTCOMES), frameon=False, fontsize=9, loc="center")
        return figure


def run_pushes(
    configuration: Configuration, directions: int, strengths: int, seconds: float
) -> Falls:
    """Push the standing robot and simulate every fall."""
    # one world for each push, at rest
    angle = np.repeat(np.arange(directions) * 2 * np.pi / directions, strengths)
    strength = np.tile(np.linspace(WEAKEST, STRONGEST, strengths), directions)
    simulation = configuration.simulation(
        create_stand(),
        worlds=len(angle),
        contacts="all",
        slots=len(load_robot().candidates),  # enough for every candidate
        pushes=TRUNK,
        threads=os.cpu_count() or 1,
    )
    simulation.advance(SETTLE)
    # the push: a force above the trunk's origin for one block
    push = (
        strength[:, None]
        * np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=-1)
        / PUSH_DURATION
    )
    wrench = np.concatenate([push, np.cross([0, 0, HEIGHT], push)], axis=-1)
    simulation.set(push={TRUNK: wrench})
    # simulate the fall in blocks, of which only the extremes are kept
    worlds = np.zeros(len(angle))
    fell, finite, unconverged = worlds > 0, worlds == 0, worlds.copy()
    depth, closed, force = worlds.copy(), worlds.copy(), worlds.copy()
    for _ in range(round(seconds / BLOCK)):
        log = simulation.run(BLOCK)
        simulation.set(push={TRUNK: np.zeros(6)})
        q, normal = log["q"].values, log["impulse_contact"].values[..., 0]
        finite &= np.isfinite(q).all(axis=(0, 2))
        unconverged += (log["converged"].values == 0).sum(axis=0)
        depth = np.fmax(depth, -np.nan_to_num(log["gap"].values, nan=0.0).min(axis=(0, 2)))
        closed = np.maximum(closed, (normal > 0).sum(axis=2).max(axis=0))
        force = np.fmax(force, np.nan_to_num(normal, nan=0.0).max(axis=(0, 2)) / DT)
        fell |= (uprightness(simulation.robot, q) < MIN_UPRIGHT).any(axis=0)
    return Falls(strength, angle, fell, finite, unconverged, depth, closed, force)


def _build_rows(name: str, f: Falls) -> list[Row]:
    comment = f"of {len(f.fell):,} pushes, {int(f.fell.sum()):,} falls"
    return [
        Row(
            f"{name}, divergent simulations",
            0.0,
            float((~f.finite).sum()),
            "",
            "section Robustness",
            comment,
        ),
    ]


def _build_table(falls: dict[str, Falls]) -> Table:
    columns = (
        "", "pushes", "falls", "not finite", "with unconverged steps", "unconverged steps",
        "deeper than 20 mm", "max. depth / mm", "max. closed contacts", "max. force / kN",
    )  # fmt: skip
    rows = [
        (
            name,
            len(f.fell),
            int(f.fell.sum()),
            int((~f.finite).sum()),
            int((f.unconverged > 0).sum()),
            int(f.unconverged.sum()),
            int((f.depth > MAX_DEPTH).sum()),
            1e3 * float(f.depth.max()),
            int(f.closed.max()),
            1e-3 * float(f.force.max()),
        )
        for name, f in falls.items()
    ]
    return Table("Outcomes", columns, rows)


def _build_checks(falls: dict[str, Falls], quick: bool) -> list[Check]:
    checks = []
    for name, f in falls.items():
        if name == Cm.name:
            continue
        diverged = int((~f.finite).sum())
        claim = f"{name}: no simulation diverges"
        checks.append(Check(claim, diverged == 0, f"{diverged} of {len(f.fell):,}"))
        required = 1 if quick else 1000
        checks.append(
            Check(
                f"{name}: at least {required:,} falls",
                int(f.fell.sum()) >= required,
                f"{int(f.fell.sum())}",
            )
        )
    return checks
