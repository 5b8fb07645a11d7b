"""Every law on the same walk, with half the step, and MuJoCo."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from tarsus import registry
from tarsus.experiments.base import Check, Exhibit, Finding, Table, Task
from tarsus.experiments.paula2024.walk import GAIT, cheetah
from tarsus.mujoco_runs.settings import MujocoSettings
from tarsus.mujoco_runs.simulation import MujocoSimulation
from tarsus.simulation import resolve
from tarsus.simulation.recording.divergence import Diverged
from tarsus.simulation.recording.summary import summary
from tarsus.simulation.simulation import Simulation
from tarsus.viewer.colors import COLORS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LAWS, MUJOCO = "tarsus.contact.laws", "mujoco"
QUICK = ("moreau",)
DT, SECONDS, QUICK_SECONDS = 2e-4, 5.0, 1.5  # s: small enough for every law
SPEED = 0.4  # m/s that the gait is told
FRICTION = 2.0  # Table I's
APART = 0.1  # of the way: how much of it half the step may change


class Laws(Exhibit):
    """All contact laws."""

    name: ClassVar[str] = "laws"
    title: ClassVar[str] = "Beyond the paper: every contact law on the same walk"
    where: ClassVar[str] = ""
    about: ClassVar[str] = (
        "The same robot, open-loop controller and start under every contact law of Tarsus, each"
        f" with the friction of Table I, its other parameters as they are, in steps of {1e3 * DT:g}"
        " ms and of half as much by symplectic Euler, and in MuJoCo with its default contact. The"
        " last column says how far apart the ways with the two steps are. A rigid law's peak force"
        " is an impulse over one step: it grows as the step shrinks. `tarsus compare mini_cheetah`"
        " does this with error bars for the closed-loop trot."
    )
    caption: ClassVar[str] = "Way along x under each law: steps of dt (circle) and dt / 2 (dot)."

    def measure(self, task: Task) -> Finding:
        # every law with both steps
        names = (*(QUICK if task.quick else registry.names(LAWS)), MUJOCO)
        seconds = QUICK_SECONDS if task.quick else SECONDS
        lines: list[Sequence[float | str | None]] = []
        ways: dict[str, list[float]] = {}
        for name in names:
            task.tell(name)
            coarse, fine = _run(name, (DT, DT / 2), seconds)
            if coarse is None or fine is None:
                lines.append((name, None, None, None, None, None))
                continue
            ways[name] = [coarse["distance"], fine["distance"]]
            apart = 1e3 * abs(coarse["distance"] - fine["distance"])
            creep = fine["creep_max"]
            lines.append(
                (
                    name,
                    fine["distance"],
                    1e3 * fine["penetration_max"],
                    None if creep is None else 1e3 * creep,
                    fine["normal_force_max"],
                    apart,
                )
            )
        columns = (
            "law",
            "way / m",
            "largest depth / mm",
            "largest creep / (mm/s)",
            "peak force / N",
            "way at dt against dt/2 / mm",
        )
        return Finding(
            {"ways": ways},
            (),
            [Table(f"{seconds:g} s told {SPEED:g} m/s", columns, lines)],
            _checks(names, ways),
        )

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
        ax.set_xlabel("way along x / m")
        ax.spines[["top", "right"]].set_visible(False)
        return figure


def _run(name: str, dts: Sequence[float], seconds: float) -> list[dict[str, Any] | None]:
    """The summary of a law's walk, or MuJoCo's, with each step, s; None if it diverged."""
    peer, law = MujocoSettings(mu=FRICTION), None
    if name != MUJOCO:
        law, _ = resolve.with_material(resolve.law(name), {"mu": FRICTION})
    found: list[dict[str, Any] | None] = []
    for dt in dts:
        made = (
            MujocoSimulation(cheetah(), peer, controller=GAIT, dt=dt)
            if law is None
            else Simulation(cheetah(), law, "symplectic_euler", controller=GAIT, dt=dt)
        )
        made.set(command={"speed": SPEED})
        try:
            found.append(summary(made, made.run(seconds)))
        except Diverged:
            found.append(None)
    return found


def _checks(names: Sequence[str], ways: Mapping[str, Sequence[float]]) -> list[Check]:
    missing = [name for name in names if name not in ways]
    changed = {name: abs(both[0] / both[1] - 1) for name, both in ways.items()}
    worst = max(changed, key=lambda name: changed[name])
    return [
        Check("every law walks to the end", not missing, ", ".join(missing) or "none diverged"),
        Check(
            f"half the step changes no way by more than {100 * APART:g} %",
            changed[worst] <= APART,
            f"{worst}: {100 * changed[worst]:.1f} %",
        ),
    ]
