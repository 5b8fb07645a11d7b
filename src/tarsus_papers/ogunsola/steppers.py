"""The propagator with several inner steppers, each at several step sizes (Ogunsola, Design)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tarsus import registry
from tarsus.stepping.base import METHODS, Stepper
from tarsus.viewer.colors import COLORS
from tarsus_papers.base import Check, Exhibit, Finding, Table, Task
from tarsus_papers.ogunsola.drop_runs import DropRun, simulate_drops
from tarsus_papers.ogunsola.drops import CASES, stepper

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EULER = "symplectic_euler"
INNER_STEPPERS = ("midpoint", EULER, "heun", "rk4")
QUICK = INNER_STEPPERS[:1]
WORLD = next(k for k, c in enumerate(CASES) if c.scenario.name == "scenario2" and not c.legs_held)
END = 0.36  # s: all feet have landed, but the free legs have not folded
STEPS = (4e-3, 2e-3, 1e-3, 5e-4)  # s
HIND = "RH_foot"


class Steppers(Exhibit):
    """Landing times and states by inner stepper."""

    name: ClassVar[str] = "steppers"
    title: ClassVar[str] = "One propagator, several steppers"
    location: ClassVar[str] = "section Design, StatePropagator"
    description: ClassVar[str] = (
        "The paper's propagator takes any stepper of boost::odeint. Here the event-driven stepper"
        " uses an inner stepper between impacts. In scenario 2 with free legs, without friction and"
        " rebound, no leg moves during the fall, and all steppers except symplectic Euler are"
        " exact. So they must find the first landing at the same time. After it the legs swing, and"
        f" the state at {END:g} s, when all feet have landed, converges at the order of the inner"
        " stepper, down to the 1e-10 m to which landings are located."
    )
    caption: ClassVar[str] = (
        "Change of the state (largest entry of q, in m or rad) when the step is halved, over the"
        " step size."
    )

    def measure(self, task: Task) -> Finding:
        # all steppers at all step sizes
        results: dict[str, dict[str, Any]] = {}
        for inner in QUICK if task.quick else INNER_STEPPERS:
            results[inner] = {"first": [], "hind": [], "state": []}
            for dt in STEPS:
                task.on_progress(f"{inner}, dt {1e3 * dt:g} ms")
                _append(results[inner], simulate_drops(END, dt, stepper(inner), held=False))
        # order of convergence
        orders = {}
        for inner, result in results.items():
            states = np.array(result.pop("state"))
            result["change"] = np.abs(np.diff(states, axis=0)).max(axis=1)
            orders[inner] = float(np.log2(result["change"][1] / result["change"][2]))
        # time of the first landing
        exact = CASES[WORLD].scenario.fall_time
        errors = {name: np.array(result["first"]) - exact for name, result in results.items()}
        spread = max(np.abs(error).max() for name, error in errors.items() if name != EULER)
        checks = [
            Check(
                "first landing at the same time at all steps and for all steppers except symplectic"
                " Euler, to 1e-9 s",
                spread < 1e-9,
                f"{spread:.1e} s",
            )
        ]
        if EULER in errors:
            half = np.abs(errors[EULER] / (-np.array(STEPS) / 2) - 1).max()
            claim = "with symplectic Euler half a step early, as its free fall predicts, to 1 %"
            checks.append(Check(claim, half < 0.01, f"{100 * half:.2f} %"))
        checks += [
            Check(
                f"{inner}: the state converges at its order, {_order(inner)}",
                order > _order(inner) - 0.3,
                f"order {order:.2f}",
            )
            for inner, order in orders.items()
        ]
        data = {"steps": STEPS, "found": results}
        return Finding(data, (), [_build_table(results, orders)], checks)

    def draw(self, data: Mapping[str, Any]) -> Figure:
        from matplotlib.figure import Figure

        figure = Figure(figsize=(9, 3.6), layout="constrained")
        ax = figure.subplots()
        steps = 1e3 * np.asarray(data["steps"][1:])
        for (name, result), color in zip(data["found"].items(), COLORS, strict=False):
            ax.plot(steps, result["change"], "o-", ms=4, color=color, label=name)
        ax.set(xscale="log", yscale="log", xlabel="step / ms", ylabel="change of the state")
        ax.set_xticks(steps, [f"{dt:g}" for dt in steps])
        ax.minorticks_off()
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(1, 0.5))
        return figure


def _append(result: dict[str, Any], run: DropRun) -> None:
    impacts, hind = run.impacts_in(WORLD), run.contacts.index(HIND)
    result["first"].append(float(impacts.time[0]))
    result["hind"].append(float(impacts.time[np.argmax(impacts.impulse[:, hind, 0] > 0)]))
    result["state"].append(run.q[round(END / run.dt) - 1, WORLD])


def _order(inner: str) -> int:
    method = registry.member_class(METHODS, "stepper", inner, Stepper)()
    # velocity terms in contact are of first order in steppers with one balance of momentum
    return 1 if method.velocity_level else method.order or 1


def _build_table(results: Mapping[str, Any], orders: Mapping[str, float]) -> Table:
    columns = ("inner stepper", "step / ms", "first landing / s", "RH lands / s", "change of state",
               "order")  # fmt: skip
    rows = []
    for inner, result in results.items():
        changes = [None, *map(float, result["change"])]
        order_index = 3  # the step whose change gives the order
        for k, dt in enumerate(STEPS):
            order = orders[inner] if k == order_index else None
            rows.append(
                (inner, 1e3 * dt, f"{result['first'][k]:.10f}", f"{result['hind'][k]:.8f}",
                 changes[k], order)
            )  # fmt: skip
    return Table("", columns, rows)
