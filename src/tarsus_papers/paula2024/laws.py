"""The same walk under every contact law, with half the time step, and in MuJoCo."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tarsus import registry
from tarsus.mujoco_runs.settings import NAMED, SHOWN, label
from tarsus.mujoco_runs.simulation import MujocoSimulation
from tarsus.simulation import resolve
from tarsus.simulation.recording.divergence import Diverged
from tarsus.simulation.recording.summary import summary
from tarsus.simulation.simulation import Simulation
from tarsus.viewer.colors import COLORS
from tarsus_papers.base import Check, Exhibit, Finding, Table, Task
from tarsus_papers.paula2024.walk import GAIT, cheetah

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]
LAWS, STEPPER = "tarsus.contact.laws", "symplectic_euler"
MUJOCO = {label(name): NAMED[name] for name in SHOWN}
QUICK = ("moreau",)
DT, SECONDS, QUICK_SECONDS = 2e-4, 5.0, 1.5  # s: small enough for every law
SPEED = 0.4  # m/s that the gait is told
FRICTION = 2.0  # Table I's
APART = 0.05  # of the way: how much of it half the step may change
STARTS, LOWER = 8, 1e-10  # starts, and how much lower each is than the one before, m
CHAOS = 0.01  # of the way: how far apart starts so close may end
RIGID, ALIKE = ("lcp_impulse", "macro", "moreau"), 0.01  # of the way: how far rigid laws may differ
COLUMNS = (
    "law",
    "way / m",
    "largest depth / mm",
    "largest creep / (mm/s)",
    "peak force / N",
    "half the step changes the way by / %",
    f"starts {LOWER:g} m apart end apart by / % of the way",
)


class Laws(Exhibit):
    """Distance and forces of the walk under every contact law."""

    name: ClassVar[str] = "laws"
    title: ClassVar[str] = "Beyond the paper: every contact law on the same walk"
    where: ClassVar[str] = ""
    about: ClassVar[str] = (
        "The same robot, open-loop controller and start under every contact law of Tarsus, each"
        f" with the friction of Table I, its other parameters as they are, in steps of {1e3 * DT:g}"
        " ms and of half as much by symplectic Euler, and in MuJoCo at its defaults and tuned. A"
        " rigid law's peak force is an impulse over one step: it grows as the step shrinks. Two"
        " columns say how far a way can be trusted: how much half the step changes it, and how far"
        f" apart {STARTS} starts end, each {LOWER:g} m lower than the one before. A walk that is"
        " chaotic, or a law that makes another choice for a hair's breadth, shows there first."
        " `tarsus compare mini_cheetah` does this with error bars for the closed-loop trot."
    )
    caption: ClassVar[str] = (
        "Way over the ground under each law: steps of dt (circle) and dt / 2 (dot)."
    )

    def measure(self, task: Task) -> Finding:
        # every law with both steps
        names = (*(QUICK if task.quick else registry.names(LAWS)), *MUJOCO)
        seconds = QUICK_SECONDS if task.quick else SECONDS
        lines: list[Sequence[float | str | None]] = []
        ways: dict[str, list[float]] = {}
        spreads: dict[str, float] = {}
        for name in names:
            task.tell(name)
            coarse, fine = _run(name, (DT, DT / 2), seconds)
            if coarse is None or fine is None:
                lines.append((name, *[None] * (len(COLUMNS) - 1)))
                continue
            ways[name] = [coarse["distance"], fine["distance"]]
            if not task.quick:
                ends = _distances(name, seconds)
                spreads[name] = float(np.ptp(ends) / ends.mean())
            creep = fine["creep_max"]
            lines.append(
                (
                    name,
                    fine["distance"],
                    1e3 * fine["penetration_max"],
                    None if creep is None else 1e3 * creep,
                    fine["normal_force_max"],
                    100 * _relative_change(ways[name]),
                    100 * spreads[name] if name in spreads else None,
                )
            )
        table = Table(f"{seconds:g} s told {SPEED:g} m/s", COLUMNS, lines)
        return Finding({"ways": ways}, (), [table], _checks(names, ways, spreads))

    def draw(self, data: Mapping[str, Any]) -> Figure:
        from matplotlib.figure import Figure

        ways = data["ways"]
        figure = Figure(figsize=(9, 0.6 + 0.32 * len(ways)), layout="constrained")
        ax = figure.subplots()
        for row, (coarse, fine) in enumerate(ways.values()):
            ax.plot([coarse, fine], [row, row], color=COLORS[7], lw=1)
            ax.plot(coarse, row, "o", color=COLORS[0], ms=8, mfc="none")
            ax.plot(fine, row, "o", color=COLORS[0], ms=4)
        ax.set_yticks(range(len(ways)), list(ways))
        ax.set_ylim(len(ways) - 0.5, -0.5)
        ax.set_xlim(0, None)
        ax.set_xlabel("way over the ground / m")
        ax.spines[["top", "right"]].set_visible(False)
        return figure


def _create(name: str, dt: float, worlds: int = 1) -> Simulation | MujocoSimulation:
    """Create the walk under a law or in MuJoCo, which has one world, at a step `dt` in s."""
    if name in MUJOCO:
        settings = replace(MUJOCO[name], mu=FRICTION)
        made = MujocoSimulation(cheetah(), settings, controller=GAIT, dt=dt)
    else:
        law, _ = resolve.apply_material(resolve.law(name), {"mu": FRICTION})
        made = Simulation(cheetah(), law, STEPPER, controller=GAIT, dt=dt, worlds=worlds)
    made.set(command={"speed": SPEED})
    return made


def _run(name: str, dts: Sequence[float], seconds: float) -> list[dict[str, Any] | None]:
    """Summarize the walk under a law or in MuJoCo for each step (s); None if it diverged."""
    found: list[dict[str, Any] | None] = []
    for dt in dts:
        made = _create(name, dt)
        try:
            found.append(summary(made, made.run(seconds)))
        except Diverged:
            found.append(None)
    return found


def _distances(name: str, seconds: float) -> Array:
    """Return the distance (m) of the trunk over the ground from each of `STARTS`."""
    made = _create(name, DT, STARTS)
    lower = LOWER * np.arange(STARTS)
    if isinstance(made, Simulation):
        start = np.array(made.q)
        start[:, 2] -= lower
        made.set(q=start)
        made.advance(seconds)
        return np.linalg.norm((made.q - start)[:, :2], axis=1)
    ends = []
    for down in lower:
        made.reset()
        made.data.qpos[2] -= down
        start = made.q
        made.advance(seconds)
        ends.append(np.linalg.norm((made.q - start)[:2]))
    return np.array(ends)


def _relative_change(ways: Sequence[float]) -> float:
    """Return the relative change of the distance when the step is halved."""
    return abs(ways[0] / ways[1] - 1)


def _checks(
    names: Sequence[str], ways: Mapping[str, Sequence[float]], spreads: Mapping[str, float]
) -> list[Check]:
    # with both steps
    missing = [name for name in names if name not in ways]
    worst = max(ways, key=lambda name: _relative_change(ways[name]))
    checks = [
        Check("every law walks to the end", not missing, ", ".join(missing) or "none diverged"),
        Check(
            f"half the step changes no way by more than {100 * APART:g} %",
            _relative_change(ways[worst]) <= APART,
            f"{worst}: {100 * _relative_change(ways[worst]):.1f} %",
        ),
    ]
    if not spreads:
        return checks
    # from starts close together, and under laws that ought to agree
    widest = max(spreads, key=lambda name: spreads[name])
    rigid = [ways[name][1] for name in RIGID if name in ways]
    differ = max(rigid) / min(rigid) - 1
    return [
        *checks,
        Check(
            f"{STARTS} starts {LOWER:g} m apart end within {100 * CHAOS:g} % of the way, under"
            " every law",
            spreads[widest] <= CHAOS,
            f"{widest}: {100 * spreads[widest]:.2f} %",
        ),
        Check(
            f"the rigid laws {', '.join(RIGID)} go equally far, to {100 * ALIKE:g} %",
            differ <= ALIKE,
            f"{100 * differ:.2f} %",
        ),
    ]
