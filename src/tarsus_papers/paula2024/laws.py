"""The same walk under every contact law, with half the time step, and in MuJoCo."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tarsus import registry
from tarsus.mujoco_runs.settings import NAMED, SHOWN, row_label
from tarsus.mujoco_runs.simulation import MujocoSimulation
from tarsus.simulation import resolve
from tarsus.simulation.recording.divergence import Diverged
from tarsus.simulation.recording.summary import summary
from tarsus.simulation.simulation import Simulation
from tarsus.viewer.colors import COLORS
from tarsus_papers.base import Check, Exhibit, Finding, Table, Task
from tarsus_papers.paula2024.walk import GAIT, load_cheetah

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]
LAWS, STEPPER = "tarsus.contact.laws", "symplectic_euler"
MUJOCO = {row_label(name): NAMED[name] for name in SHOWN}
QUICK = ("moreau",)
DT, SECONDS, QUICK_SECONDS = 2e-4, 5.0, 1.5  # s: small enough for every law
SPEED = 0.4  # m/s, commanded
FRICTION = 2.0  # friction coefficient of Table I
MAX_STEP_CHANGE = 0.05  # relative change of the distance when the step is halved
STARTS, START_OFFSET = 8, 1e-10  # number of initial states, and distance between them, m
MAX_SPREAD = 0.01  # relative spread of the distances from these initial states
RIGID, MAX_RIGID_DIFFERENCE = ("lcp_impulse", "macro", "moreau"), 0.01  # relative, of the distance
COLUMNS = (
    "law",
    "distance / m",
    "largest depth / mm",
    "largest creep / (mm/s)",
    "peak force / N",
    "change of the distance with half the step / %",
    f"spread of distances from starts {START_OFFSET:g} m apart / %",
)


class Laws(Exhibit):
    """Distance and forces of the walk under every contact law."""

    name: ClassVar[str] = "laws"
    title: ClassVar[str] = "Beyond the paper: every contact law on the same walk"
    location: ClassVar[str] = ""
    description: ClassVar[str] = (
        "The same robot, open-loop controller and initial state under every contact law of Tarsus"
        " and in MuJoCo with default and tuned settings. Each law has the friction coefficient of"
        f" Table I and otherwise its defaults; steps are {1e3 * DT:g} ms and half of that by"
        " symplectic Euler. The peak force of a rigid law is an impulse divided by one step, so it"
        " grows as the step decreases. Two columns show how reliable a distance is: its change when"
        f" the step is halved, and the spread of distances from {STARTS} initial states that are"
        f" {START_OFFSET:g} m apart in height. Both are large for a chaotic walk and for a law that"
        " reacts discontinuously to small changes. `tarsus compare mini_cheetah` makes this"
        " comparison with error bars for the closed-loop trot."
    )
    caption: ClassVar[str] = (
        "Distance walked under each law, with steps of dt (circle) and dt / 2 (dot)."
    )

    def measure(self, task: Task) -> Finding:
        # every law with both steps
        names = (*(QUICK if task.quick else registry.names(LAWS)), *MUJOCO)
        seconds = QUICK_SECONDS if task.quick else SECONDS
        lines: list[Sequence[float | str | None]] = []
        distances: dict[str, list[float]] = {}
        spreads: dict[str, float] = {}
        for name in names:
            task.on_progress(name)
            coarse, fine = _run(name, (DT, DT / 2), seconds)
            if coarse is None or fine is None:
                lines.append((name, *[None] * (len(COLUMNS) - 1)))
                continue
            distances[name] = [coarse["distance"], fine["distance"]]
            if not task.quick:
                walked = _simulate_distances(name, seconds)
                spreads[name] = float(np.ptp(walked) / walked.mean())
            creep = fine["creep_max"]
            lines.append(
                (
                    name,
                    fine["distance"],
                    1e3 * fine["penetration_max"],
                    None if creep is None else 1e3 * creep,
                    fine["normal_force_max"],
                    100 * _relative_change(distances[name]),
                    100 * spreads[name] if name in spreads else None,
                )
            )
        table = Table(f"{seconds:g} s, command {SPEED:g} m/s", COLUMNS, lines)
        checks = _build_checks(names, distances, spreads)
        return Finding({"distances": distances}, (), [table], checks)

    def draw(self, data: Mapping[str, Any]) -> Figure:
        from matplotlib.figure import Figure

        distances = data["distances"]
        figure = Figure(figsize=(9, 0.6 + 0.32 * len(distances)), layout="constrained")
        ax = figure.subplots()
        for row, (coarse, fine) in enumerate(distances.values()):
            ax.plot([coarse, fine], [row, row], color=COLORS[7], lw=1)
            ax.plot(coarse, row, "o", color=COLORS[0], ms=8, mfc="none")
            ax.plot(fine, row, "o", color=COLORS[0], ms=4)
        ax.set_yticks(range(len(distances)), list(distances))
        ax.set_ylim(len(distances) - 0.5, -0.5)
        ax.set_xlim(0, None)
        ax.set_xlabel("distance walked / m")
        ax.spines[["top", "right"]].set_visible(False)
        return figure


def _create(name: str, dt: float, worlds: int = 1) -> Simulation | MujocoSimulation:
    """Create the walk under a law or in MuJoCo, which has one world, at a step `dt` in s."""
    if name in MUJOCO:
        settings = replace(MUJOCO[name], mu=FRICTION)
        simulation = MujocoSimulation(load_cheetah(), settings, controller=GAIT, dt=dt)
    else:
        law, _ = resolve.apply_material(resolve.resolve_law(name), {"mu": FRICTION})
        simulation = Simulation(load_cheetah(), law, STEPPER, controller=GAIT, dt=dt, worlds=worlds)
    simulation.set(command={"speed": SPEED})
    return simulation


def _run(name: str, dts: Sequence[float], seconds: float) -> list[dict[str, Any] | None]:
    """Summarize the walk under a law or in MuJoCo for each step (s); None if it diverged."""
    summaries: list[dict[str, Any] | None] = []
    for dt in dts:
        simulation = _create(name, dt)
        try:
            summaries.append(summary(simulation, simulation.run(seconds)))
        except Diverged:
            summaries.append(None)
    return summaries


def _simulate_distances(name: str, seconds: float) -> Array:
    """Simulate the walk from each of `STARTS` and return the distances walked, m."""
    simulation = _create(name, DT, STARTS)
    offsets = START_OFFSET * np.arange(STARTS)
    if isinstance(simulation, Simulation):
        start = np.array(simulation.q)
        start[:, 2] -= offsets
        simulation.set(q=start)
        simulation.advance(seconds)
        return np.linalg.norm((simulation.q - start)[:, :2], axis=1)
    distances = []
    for offset in offsets:
        simulation.reset()
        simulation.data.qpos[2] -= offset
        start = simulation.q
        simulation.advance(seconds)
        distances.append(np.linalg.norm((simulation.q - start)[:2]))
    return np.array(distances)


def _relative_change(distances: Sequence[float]) -> float:
    """Compute the relative change of the distance when the step is halved."""
    return abs(distances[0] / distances[1] - 1)


def _build_checks(
    names: Sequence[str], distances: Mapping[str, Sequence[float]], spreads: Mapping[str, float]
) -> list[Check]:
    # both step sizes
    missing = [name for name in names if name not in distances]
    worst = max(distances, key=lambda name: _relative_change(distances[name]))
    checks = [
        Check("every law walks to the end", not missing, ", ".join(missing) or "none diverged"),
        Check(
            f"halving the step changes distances by at most {100 * MAX_STEP_CHANGE:g} %",
            _relative_change(distances[worst]) <= MAX_STEP_CHANGE,
            f"{worst}: {100 * _relative_change(distances[worst]):.1f} %",
        ),
    ]
    if not spreads:
        return checks
    # initial states close together, and laws that should agree
    widest = max(spreads, key=lambda name: spreads[name])
    rigid = [distances[name][1] for name in RIGID if name in distances]
    difference = max(rigid) / min(rigid) - 1
    return [
        *checks,
        Check(
            f"under every law, distances from {STARTS} starts {START_OFFSET:g} m apart agree to"
            f" {100 * MAX_SPREAD:g} %",
            spreads[widest] <= MAX_SPREAD,
            f"{widest}: {100 * spreads[widest]:.2f} %",
        ),
        Check(
            f"distances under the rigid laws {', '.join(RIGID)} agree to"
            f" {100 * MAX_RIGID_DIFFERENCE:g} %",
            difference <= MAX_RIGID_DIFFERENCE,
            f"{100 * difference:.2f} %",
        ),
    ]
