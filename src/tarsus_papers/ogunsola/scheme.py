"""Event-driven integration against Moreau's time-stepping (beyond Ogunsola)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tarsus.contact.laws.moreau import Moreau
from tarsus.stepping.methods.midpoint import Midpoint
from tarsus.viewer.colors import COLORS
from tarsus_papers.base import Check, Exhibit, Finding, Table, Task
from tarsus_papers.ogunsola.drops import CASES, Array, Ground, ground, hyq, simulation
from tarsus_papers.ogunsola.watch import STANCE, DropRun, drops, watched

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EVERY, LAST = 0.01, 0.51  # s between the instants that are compared, and until the last
MIDPOINT = Midpoint()
STEPS, FEW = (2.5e-3, 1e-3, 5e-4, 2.5e-4, 1e-4), (1e-3, 2.5e-4)
LONGEST = 1e-3  # s, with held legs: their torques are held over a step, and longer ones diverge
FINEST = 1e-4  # s, of the reference
WORLDS = tuple(k for k, c in enumerate(CASES) if c.mu == 0 and c.e == 0)


class Scheme(Exhibit):
    """Distance of the center of mass's path from that of located impacts."""

    name: ClassVar[str] = "scheme"
    title: ClassVar[str] = "Located impacts against time-stepping"
    where: ClassVar[str] = ""
    about: ClassVar[str] = (
        "The paper ends a step where a foot lands. Moreau's midpoint scheme (Gehring 2014, Eqns."
        " (6)-(8)) does not: a landing takes effect in the step whose middle finds the foot in the"
        " ground. Both run the drops without friction and rebound, and the path of the center of"
        f" mass until {STANCE:g} s after the first landing is compared with the event-driven one"
        " at the finest step."
    )
    caption: ClassVar[str] = (
        "Largest distance of the center of mass from the path with located impacts, against the"
        " step, for the four drops."
    )

    def measure(self, task: Task) -> Finding:
        # the path with located impacts
        task.tell("located impacts")
        best = _located(drops(True) if task.quick else watched(LAST, FINEST))
        # time-stepping, at several steps
        laws = ("lcp_impulse",) if task.quick else ("lcp_impulse", "moreau")
        steps = FEW if task.quick else STEPS
        off: dict[str, dict[str, list[float | None]]] = {law: {} for law in laws}
        for law in laws:
            runs = []
            for dt in steps:
                task.tell(f"midpoint, {law}, dt {1e3 * dt:g} ms")
                runs.append(_plain(law, dt))
            for k in WORLDS:
                off[law][_name(k)] = [
                    None if CASES[k].held and dt > LONGEST else _distance(run, best, k)
                    for dt, run in zip(steps, runs, strict=True)
                ]
        # how fast it comes close
        orders = {
            (law, name): _order(steps, errors)
            for law, found in off.items()
            for name, errors in found.items()
        }
        least = min(orders.values())
        checks = [
            Check("time-stepping comes to the located path as dt shrinks, in every drop",
                  least > 0.5, f"least order {least:.2f}"),
        ]  # fmt: skip
        columns = ("law", "drop", *(f"{1e3 * dt:g} ms / mm" for dt in steps), "order")
        rows = [
            (law, name, *(e and 1e3 * e for e in errors), orders[law, name])
            for law, found in off.items()
            for name, errors in found.items()
        ]
        note = (
            "The time of a landing is off by up to a step and its sign changes with dt, so that"
            " the order is that over all steps. Where feet land almost together, time-stepping may"
            " see them land in one step and so in one impact. The servo of held legs diverges at"
            f" steps above {1e3 * LONGEST:g} ms, for its torques are held over a step."
        )
        return Finding({"steps": steps, "off": off}, (), [Table("", columns, rows)], checks, [note])

    def draw(self, data: Mapping[str, Any]) -> Figure:
        from matplotlib.figure import Figure

        figure = Figure(figsize=(9, 3.8), layout="constrained")
        ax = figure.subplots()
        steps = 1e3 * np.asarray(data["steps"])
        for (law, found), style in zip(data["off"].items(), ("o-", "s--"), strict=False):
            for (name, errors), color in zip(found.items(), COLORS, strict=False):
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
def _hard() -> Ground:
    """The grounds of all cases under Moreau's law."""
    e, mu = (np.array([getattr(case, name) for case in CASES]) for name in ("e", "mu"))
    return Ground(Moreau(mu=mu, e_N=e), ground().terrain, CASES)


def _plain(law: str, dt: float) -> Array:
    """The center of mass (instants, worlds, 3) every EVERY seconds, m, under the midpoint scheme
    alone.
    """
    on = _hard() if law == "moreau" else ground()
    found, path = simulation(on, dt, MIDPOINT), []
    for _ in range(round(LAST / EVERY)):
        found.advance(EVERY)
        path.append(hyq().center_of_mass(found.q))
    return np.array(path)


def _located(run: DropRun) -> Array:
    """The same of located impacts."""
    each = round(EVERY / run.dt)
    count = round(LAST / EVERY)
    return np.stack([run.com(k)[each - 1 :: each][:count] for k in range(len(CASES))], axis=1)


def _distance(path: Array, reference: Array, world: int) -> float:
    """Between two paths of a world until its stance is over, m."""
    until = round((CASES[world].scenario.fall + STANCE) / EVERY)
    return float(np.linalg.norm((path - reference)[:until, world], axis=1).max())


def _order(steps: Sequence[float], errors: Sequence[float | None]) -> float:
    """The slope of the errors over the steps, both logarithmic."""
    both = [(dt, error) for dt, error in zip(steps, errors, strict=True) if error]
    x, y = np.log(np.array(both)).T
    return float(np.polyfit(x, y, 1)[0])


def _name(world: int) -> str:
    case = CASES[world]
    return f"{case.scenario.name}, {'held' if case.held else 'free'}"
