"""The propagator over several steppers, each at several steps (Ogunsola, Design)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tarsus import registry
from tarsus.stepping.base import METHODS, Stepper
from tarsus.viewer.colors import COLORS
from tarsus_papers.base import Check, Exhibit, Finding, Table, Task
from tarsus_papers.ogunsola.drops import CASES, stepper
from tarsus_papers.ogunsola.watch import DropRun, watched

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EULER = "symplectic_euler"
INSIDE = ("midpoint", EULER, "heun", "rk4")
QUICK = INSIDE[:1]
WORLD = next(k for k, c in enumerate(CASES) if c.scenario.name == "scenario2" and not c.held)
UNTIL = 0.36  # s: all feet have landed, before the free legs have folded
STEPS = (4e-3, 2e-3, 1e-3, 5e-4)  # s
HIND = "RH_foot"


class Steppers(Exhibit):
    """Landing times and states by the stepper inside."""

    name: ClassVar[str] = "steppers"
    title: ClassVar[str] = "One propagator, several steppers"
    where: ClassVar[str] = "section Design, StatePropagator"
    about: ClassVar[str] = (
        "The paper's propagator takes any stepper of boost::odeint. Here the event-driven stepper"
        " carries another one between the strikes. Scenario 2 with free legs, without friction and"
        " rebound: in the fall no leg moves, and all steppers but symplectic Euler are exact, so"
        " they must find the first landing at the same time; after it the legs swing, and the state"
        f" at {UNTIL:g} s, when all feet have landed, comes to its limit at the order of the"
        " stepper inside, until the 1e-10 m to which landings are located show."
    )
    caption: ClassVar[str] = (
        "Change of the state (largest entry of q, m or rad) when the step is halved, against the"
        " step."
    )

    def measure(self, task: Task) -> Finding:
        # every stepper at every step
        found: dict[str, dict[str, Any]] = {}
        for inside in QUICK if task.quick else INSIDE:
            found[inside] = {"first": [], "hind": [], "state": []}
            for dt in STEPS:
                task.tell(f"{inside}, dt {1e3 * dt:g} ms")
                _keep(found[inside], watched(UNTIL, dt, stepper(inside), held=False))
        # how fast each comes to its limit
        orders = {}
        for inside, kept in found.items():
            states = np.array(kept.pop("state"))
            kept["change"] = np.abs(np.diff(states, axis=0)).max(axis=1)
            orders[inside] = float(np.log2(kept["change"][1] / kept["change"][2]))
        # when the first foot lands
        exact = CASES[WORLD].scenario.fall
        late = {name: np.array(kept["first"]) - exact for name, kept in found.items()}
        spread = max(np.abs(by).max() for name, by in late.items() if name != EULER)
        checks = [
            Check(
                "first landing the same at every step and under all but symplectic Euler, to 1e-9"
                " s",
                spread < 1e-9,
                f"{spread:.1e} s",
            )
        ]
        if EULER in late:
            half = np.abs(late[EULER] / (-np.array(STEPS) / 2) - 1).max()
            claim = "under symplectic Euler half a step early, for it falls so, to 1 %"
            checks.append(Check(claim, half < 0.01, f"{100 * half:.2f} % of it"))
        checks += [
            Check(
                f"{inside}: the state converges at its order, {_order(inside)}",
                order > _order(inside) - 0.3,
                f"order {order:.2f}",
            )
            for inside, order in orders.items()
        ]
        data = {"steps": STEPS, "found": found}
        return Finding(data, (), [_table(found, orders)], checks)

    def draw(self, data: Mapping[str, Any]) -> Figure:
        from matplotlib.figure import Figure

        figure = Figure(figsize=(9, 3.6), layout="constrained")
        ax = figure.subplots()
        steps = 1e3 * np.asarray(data["steps"][1:])
        for (name, kept), color in zip(data["found"].items(), COLORS, strict=False):
            ax.plot(steps, kept["change"], "o-", ms=4, color=color, label=name)
        ax.set(xscale="log", yscale="log", xlabel="step / ms", ylabel="change of the state")
        ax.set_xticks(steps, [f"{dt:g}" for dt in steps])
        ax.minorticks_off()
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(1, 0.5))
        return figure


def _keep(kept: dict[str, Any], run: DropRun) -> None:
    strikes, hind = run.struck_in(WORLD), run.contacts.index(HIND)
    kept["first"].append(float(strikes.time[0]))
    kept["hind"].append(float(strikes.time[np.argmax(strikes.impulse[:, hind, 0] > 0)]))
    kept["state"].append(run.q[round(UNTIL / run.dt) - 1, WORLD])


def _order(inside: str) -> int:
    method = registry.member_class(METHODS, "stepper", inside, Stepper)()
    return method.order or 1


def _table(found: Mapping[str, Any], orders: Mapping[str, float]) -> Table:
    columns = ("inside", "step / ms", "first landing / s", "RH lands / s", "change of the state",
               "order")  # fmt: skip
    rows = []
    for inside, kept in found.items():
        changes = [None, *map(float, kept["change"])]
        shown = 3  # the step whose change the order is taken from
        for k, dt in enumerate(STEPS):
            order = orders[inside] if k == shown else None
            rows.append(
                (inside, 1e3 * dt, f"{kept['first'][k]:.10f}", f"{kept['hind'][k]:.8f}",
                 changes[k], order)
            )  # fmt: skip
    return Table("", columns, rows)
