"""Sections I and VI: the same gains for every robot and every mass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tarsus.viewer.colors import COLORS
from tarsus_papers.base import Check, Exhibit, Finding, Table, Task
from tarsus_papers.rengifo2009.bodies import power_of_ten
from tarsus_papers.rengifo2009.landing import Landing
from tarsus_papers.rengifo2009.scaled import (
    BODIES,
    DT,
    K_P,
    K_V,
    ROBOTS,
    SPEED,
    LandingRun,
    run_landing,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FACTORS = (0.1, 1.0, 10.0)
EQUAL, CURVE = 1e-6, 0.01  # of the depth
FORM = Landing(K_P, K_V, SPEED)
TITLES = {
    "ball": "ball", "brick": "brick", "biped": "biped", "hoap1": "HOAP-1",
    "mini_cheetah": "Mini Cheetah",
}  # fmt: skip


class SameGains(Exhibit):
    """Bodies from a ball to a quadruped, at three masses each."""

    name: ClassVar[str] = "parameters"
    title: ClassVar[str] = "The same gains for every robot and mass"
    location: ClassVar[str] = "abstract, sections II.A, III and VI"
    description: ClassVar[str] = (
        "The first advantage that the paper claims: the contact parameters do not depend on masses,"
        " inertias or the number of contacts. A ball, a brick, the biped, HOAP-1 and Mini Cheetah"
        f" land flat on the ground at {SPEED:g} m/s with the gains of section IV, k_p 500 1/s² and"
        f" k_v 250 1/s, ε 0, μ 0.8 (not stated), and steps of {1e6 * DT:g} µs. All masses,"
        " inertias, rotors, joint friction, torque limits, servo gains and the solver's tolerance,"
        " which is an impulse, are multiplied by 0.1, 1 and 10. With unscaled servo gains the legs,"
        " and therefore the feet, would move differently. Servos tuned for weight and step hold the"
        " standing posture. All contacts must follow the closed form of Eqn. (3) while no force is"
        " limited."
    )
    caption: ClassVar[str] = (
        "Left: gap of every contact of every body over time, and the closed form of Eqn. (3) for"
        " one point (gray): 25 contacts on one curve. Right: largest error of each body's contacts,"
        " which is due to the first-order integrator; Mini Cheetah's round feet also roll."
    )

    def measure(self, task: Task) -> Finding:
        # every body at every mass
        runs = {}
        for name in (*BODIES, *(() if task.quick else ROBOTS)):
            for factor in FACTORS:
                task.on_progress(f"{name}, masses times {factor:g}")
                runs[name, factor] = run_landing(name, factor)
        names = list(dict.fromkeys(name for name, _ in runs))
        differences = {
            name: [_largest_difference(runs[name, factor], runs[name, 1.0]) for factor in FACTORS]
            for name in names
        }
        errors = {name: _form_error(runs[name, 1.0]) for name in names}
        data = {
            "gaps": {name: _decimate(runs[name, 1.0]) for name in names},
            "differences": differences,
            "off": errors,
            "unconverged": sum(run.unconverged for run in runs.values()),
        }
        # differences from each other and from the closed form
        columns = (
            "", "contacts", "difference, masses × 0.1", "difference, masses × 10",
            "error of the closed form", "largest depth / mm",
        )  # fmt: skip
        rows = [
            (TITLES[name], float(runs[name, 1.0].gap.shape[1]), differences[name][0],
             differences[name][2], errors[name], -1e3 * float(runs[name, 1.0].gap.min()))
            for name in names
        ]  # fmt: skip
        title = f"Differences relative to the depth, {1e3 * FORM.depth:.4f} mm by the closed form"
        worst = max(max(values) for values in differences.values())
        checks = [
            Check(
                "masses times 0.1 and 10 move no contact by more than"
                f" {power_of_ten(EQUAL)} of the depth",
                worst < EQUAL,
                f"at most {worst:.1e}",
            ),
            Check(
                "every contact of every body follows the closed form of one point, to 1 %",
                max(errors.values()) < CURVE,
                ", ".join(f"{TITLES[name]} {value:.1e}" for name, value in errors.items()),
            ),
            Check(
                "the solver converges in every step",
                data["unconverged"] == 0,
                f"{data['unconverged']} unconverged",
            ),
        ]
        return Finding(data, (), [Table(title, columns, rows)], checks)

    def draw(self, data: Mapping[str, Any]) -> Figure:
        from matplotlib.figure import Figure
        from matplotlib.lines import Line2D

        figure = Figure(figsize=(10, 3.5), layout="constrained")
        left, right = figure.subplots(1, 2, width_ratios=[1.5, 1])
        # all on one curve
        time = np.linspace(0, FORM.return_time, 300)
        left.plot(1e3 * time, 1e3 * FORM.height(time), color="#c8c8c8", lw=6, zorder=0)
        for k, (color, gaps) in enumerate(zip(COLORS, data["gaps"].values(), strict=False)):
            time, gap = np.array(gaps["time"]), np.array(gaps["gap"])
            inside = time < FORM.return_time
            exact = FORM.height(time[inside])[:, None]
            style = {"color": color, "lw": 1.2, "ls": (4 * k, (4, 4 * len(data["gaps"]) - 4))}
            left.plot(1e3 * time[inside], 1e3 * gap[inside], **style)
            right.plot(
                1e3 * time[inside], 1e2 * np.abs(gap[inside] - exact).max(axis=1) / FORM.depth,
                color=color, lw=6.0 - k,
            )  # fmt: skip
        # names and scales
        solid = [Line2D([], [], color=c, lw=1.5) for c in COLORS[: len(data["gaps"])]]
        left.legend(solid, [TITLES[n] for n in data["gaps"]], frameon=False, fontsize=9)
        for ax, title in (
            (left, "gap of every contact / mm"),
            (right, "error of the closed form / % of the depth"),
        ):
            ax.set_title(title, fontsize=10)
            ax.set_xlabel("time after landing / ms")
            ax.spines[["top", "right"]].set_visible(False)
        return figure


def _select_samples_inside(run: LandingRun) -> Any:
    """Select the samples at which the closed form is below the ground."""
    return run.time < FORM.return_time - 2 * DT


def _largest_difference(run: LandingRun, other: LandingRun) -> float:
    """Compute the largest difference between the contacts of two runs, relative to the depth."""
    return float(np.abs(run.gap - other.gap).max() / FORM.depth)


def _form_error(run: LandingRun) -> float:
    """Compute the largest error of a contact relative to the closed form, divided by the depth."""
    exact = FORM.height(run.time)[:, None]
    return float(np.abs(run.gap - exact)[_select_samples_inside(run)].max() / FORM.depth)


def _decimate(run: LandingRun) -> dict[str, Any]:
    """Select every 20th step."""
    return {"time": run.time[::20], "gap": np.round(run.gap[::20], 9)}
