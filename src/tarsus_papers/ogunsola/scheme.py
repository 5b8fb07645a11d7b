"""Event-driven integration compared with Moreau's time-stepping (beyond Ogunsola)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tarsus.contact.laws.moreau import Moreau
from tarsus.stepping.methods.midpoint import Midpoint
from tarsus.viewer.colors import COLORS
from tarsus_papers.base import Check, Exhibit, Finding, Table, Task
from tarsus_papers.ogunsola.drop_runs import STANCE, DropRun, drops, simulate_drops
from tarsus_papers.ogunsola.drops import CASES, Array, Ground, ground, load_hyq, simulation

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SAMPLE, DURATION = 0.01, 0.51  # s
MIDPOINT = Midpoint()
STEPS, QUICK_STEPS = (2.5e-3, 1e-3, 5e-4, 2.5e-4, 1e-4), (1e-3, 2.5e-4)
MAX_SERVO_STEP = 1e-3  # s: with longer steps, the servos of held legs diverge
REFERENCE_STEP = 1e-4  # s
WORLDS = tuple(k for k, c in enumerate(CASES) if c.mu == 0 and c.e == 0)


class Scheme(Exhibit):
    """Distance of the path of the center of mass from that with located impacts."""

    name: ClassVar[str] = "scheme"
    title: ClassVar[str] = "Located impacts compared with time-stepping"
    location: ClassVar[str] = ""
    description: ClassVar[str] = (
        "The paper ends a step when a foot lands. Moreau's midpoint scheme (Gehring 2014, Eqns."
        " (6)-(8)) does not: a landing takes effect in the step at whose midpoint the foot is in"
        " the ground. Both run the drops without friction and rebound. The path of the center of"
        f" mass until {STANCE:g} s after the first landing is compared with the event-driven one"
        " at the smallest step."
    )
    caption: ClassVar[str] = (
        "Largest distance of the center of mass from the path with located impacts, over the step"
        " size, for the four drops."
    )

    def measure(self, task: Task) -> Finding:
        # reference path with located impacts
        task.on_progress("located impacts")
        reference = _event_driven_path(
            drops(True) if task.quick else simulate_drops(DURATION, REFERENCE_STEP)
        )
        # time-stepping, at several step sizes
        laws = ("lcp_impulse",) if task.quick else ("lcp_impulse", "moreau")
        steps = QUICK_STEPS if task.quick else STEPS
        distances: dict[str, dict[str, list[float | None]]] = {law: {} for law in laws}
        for law in laws:
            runs = []
            for dt in steps:
                task.on_progress(f"midpoint, {law}, dt {1e3 * dt:g} ms")
                runs.append(_time_stepping_path(law, dt))
            for k in WORLDS:
                distances[law][_name(k)] = [
                    None
                    if CASES[k].legs_held and dt > MAX_SERVO_STEP
                    else _distance(run, reference, k)
                    for dt, run in zip(steps, runs, strict=True)
                ]
        # order of convergence
        orders = {
            (law, name): _order(steps, errors)
            for law, values in distances.items()
            for name, errors in values.items()
        }
        least = min(orders.values())
        checks = [
            Check("time-stepping converges to the located path as dt shrinks, in all drops",
                  least > 0.5, f"least order {least:.2f}"),
        ]  # fmt: skip
        columns = ("law", "drop", *(f"{1e3 * dt:g} ms / mm" for dt in steps), "order")
        rows = [
            (law, name, *(e and 1e3 * e for e in errors), orders[law, name])
            for law, values in distances.items()
            for name, errors in values.items()
        ]
        note = (
            "The time of a landing has an error of up to one step whose sign changes with dt, so"
            " the order is fitted over all steps. Where feet land almost together, time-stepping"
            " may resolve them as one impact. The servo of held legs diverges at steps above"
            f" {1e3 * MAX_SERVO_STEP:g} ms, because its torques are constant over a step."
        )
        return Finding(
            {"steps": steps, "off": distances}, (), [Table("", columns, rows)], checks, [note]
        )

    def draw(self, data: Mapping[str, Any]) -> Figure:
        from matplotlib.figure import Figure

        figure = Figure(figsize=(9, 3.8), layout="constrained")
        ax = figure.subplots()
        steps = 1e3 * np.asarray(data["steps"])
        for (law, values), style in zip(data["off"].items(), ("o-", "s--"), strict=False):
            for (name, errors), color in zip(values.items(), COLORS, strict=False):
                label = f"{law}: {name}"
                ax.plot(
                    steps, 1e3 * np.asarray(errors, float), style, ms=4, color=color, label=label
                )
        ax.set(xscale="log", yscale="log", xlabel="step / ms", ylabel="distance / mm")
        ax.set_xticks(steps, [f"{dt:g}" for dt in steps])
        ax.minorticks_off()
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(1, 0.5))
        return figure


@cache
def _moreau_ground() -> Ground:
    """Return the grounds of all cases under Moreau's law."""
    e, mu = (np.array([getattr(case, name) for case in CASES]) for name in ("e", "mu"))
    return Ground(Moreau(mu=mu, e_N=e), ground().terrain, CASES)


def _time_stepping_path(law: str, dt: float) -> Array:
    """Return the path of the center of mass, (instants, worlds, 3), in m, by time-stepping."""
    drop_ground = _moreau_ground() if law == "moreau" else ground()
    created, path = simulation(drop_ground, dt, MIDPOINT), []
    for _ in range(round(DURATION / SAMPLE)):
        created.advance(SAMPLE)
        path.append(_center_of_mass(created.q))
    return np.array(path)


def _center_of_mass(q: Array) -> Array:
    """Return the center of mass of each world, (worlds, 3), in m; NaN if the world diverged."""
    finite = np.isfinite(q).all(axis=1)
    center = np.full((len(q), 3), np.nan)
    center[finite] = load_hyq().center_of_mass(q[finite])
    return center


def _event_driven_path(run: DropRun) -> Array:
    """Return the same path with located impacts."""
    stride = round(SAMPLE / run.dt)
    count = round(DURATION / SAMPLE)
    return np.stack([run.com(k)[stride - 1 :: stride][:count] for k in range(len(CASES))], axis=1)


def _distance(path: Array, reference: Array, world: int) -> float:
    """Return the distance between two paths of a world until its stance is over, in m."""
    until = round((CASES[world].scenario.fall_time + STANCE) / SAMPLE)
    return float(np.linalg.norm((path - reference)[:until, world], axis=1).max())


def _order(steps: Sequence[float], errors: Sequence[float | None]) -> float:
    """Return the slope of the errors over the steps, both logarithmic."""
    points = [(dt, error) for dt, error in zip(steps, errors, strict=True) if error]
    x, y = np.log(np.array(points)).T
    return float(np.polyfit(x, y, 1)[0])


def _name(world: int) -> str:
    case = CASES[world]
    return f"{case.scenario.name}, {'held' if case.legs_held else 'free'}"
