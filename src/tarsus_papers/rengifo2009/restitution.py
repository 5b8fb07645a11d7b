"""Section II.A: restitution from 0 to 1, and the gain ratio that determines it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tarsus.contact.laws.linearized import Linearized
from tarsus.simulation.simulation import Simulation
from tarsus.viewer.colors import COLORS
from tarsus_papers.base import Check, Exhibit, Finding, Row, Table, Task
from tarsus_papers.rengifo2009.ball import landing_stepper
from tarsus_papers.rengifo2009.bodies import Array, G, ball, power_of_ten
from tarsus_papers.rengifo2009.landing import Landing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SPEED, DT = 1.0, 2e-6  # m/s, s
RATIOS = 10.0 ** np.arange(-4, 4.5, 0.5)  # k_p / k_v^2
QUICK_RATIOS = 10.0 ** np.array([-2.0, 0.0, 2.0])
GAINS = {"k_p 100 000 1/s²": 1e5, "k_p 1000 1/s²": 1e3}  # each with k_v from the ratio
BEST = "k_p 1000 1/s²"  # with the smallest k_v dt, because forces are means over a step
COMMON_RATIO = 10**1.5  # k_p / k_v, 1/s, that both have
LOCATION = "section II.A"


class RestitutionCurve(Exhibit):
    """Restitution for many gains, as a function of k_p / k_v² and of k_p / k_v."""

    name: ClassVar[str] = "restitution"
    title: ClassVar[str] = "Restitution from 0 to 1"
    location: ClassVar[str] = LOCATION
    description: ClassVar[str] = (
        "According to the paper, restitution goes from 0 to 1 as k_p / k_v goes from 0 to infinity."
        " Balls land at 1 m/s with many pairs of gains; e is the ratio of the speeds after and"
        " before the contact. By the closed form of Eqn. (3), e depends only on k_p / k_v², so that"
        " two pairs of gains with equal k_p / k_v have different e. The largest force is also"
        " measured; according to the paper it depends only on k_v. Rule, fixed before the run:"
        " values are equal if they agree to 1 %."
    )
    caption: ClassVar[str] = (
        "Left: restitution over k_p / k_v² for two k_p, and the closed form (gray). Middle: the"
        " same over k_p / k_v, where the curves differ. Right: largest force minus m g, divided by"
        " that at the landing, m k_v v."
    )

    def measure(self, task: Task) -> Finding:
        # balls with both k_p
        ratios = QUICK_RATIOS if task.quick else RATIOS
        bounces = {}
        for name, k_p in GAINS.items():
            task.on_progress(name)
            bounces[name] = _run_bounces(k_p, ratios)
        # comparison with the closed form
        exact = np.array([Landing(k, 1.0, SPEED).restitution for k in ratios])
        worst = max(float(np.abs(b["e"] / exact - 1).max()) for b in bounces.values())
        pair = {name: _at_common_ratio(bounces[name]) for name in GAINS}
        data = {
            "ratio": ratios, "exact": exact, "found": bounces, "same_k_p_over_k_v": pair,
            "worst": worst,
        }  # fmt: skip
        lowest, highest = (float(next(iter(bounces.values()))["e"][k]) for k in (0, -1))
        rows = [
            Row(
                "e at the smallest k_p / k_v²",
                0.0,
                lowest,
                "",
                LOCATION,
                f"at {power_of_ten(float(ratios[0]))}; the paper's 0 is the limit",
            ),
            Row(
                "e at the largest k_p / k_v²",
                1.0,
                highest,
                "",
                LOCATION,
                f"at {ratios[-1]:g}; the paper's 1 is the limit",
            ),
        ]
        checks = [
            Check("e agrees with the closed form to 1 %", worst < 0.01, f"error {worst:.1e}"),
            *_build_checks(lowest, highest, pair, task.quick),
        ]
        return Finding(
            data, rows, [] if task.quick else [_build_table(ratios, bounces, exact)], checks
        )

    def draw(self, data: Mapping[str, Any]) -> Figure:
        from matplotlib.figure import Figure

        figure = Figure(figsize=(10, 3.3), layout="constrained")
        left, middle, right = figure.subplots(1, 3)
        # closed form and simulations
        ratio = np.array(data["ratio"])
        fine = np.geomspace(ratio[0], ratio[-1], 200)
        curve = [Landing(k, 1.0, SPEED).restitution for k in fine]
        left.plot(fine, curve, color="#999999", lw=1.2, zorder=0)
        for marker, color, (name, bounces) in zip(
            ("o", "x"), COLORS, data["found"].items(), strict=False
        ):
            look = {"color": color, "ms": 5, "ls": "none", "marker": marker, "label": name}
            left.plot(ratio, bounces["e"], **look)
            middle.plot(np.array(bounces["k_p"]) / bounces["k_v"], bounces["e"], **look)
        # largest force, and axes
        peak = data["found"][BEST]["peak"]
        right.plot(ratio, peak, "x", color=COLORS[1], ms=5)
        middle.legend(frameon=False, fontsize=9, loc="upper left")
        right.set_yscale("log")
        for ax, title, label in (
            (left, "restitution e", "k_p / k_v²"),
            (middle, "restitution e", "k_p / k_v / (1/s)"),
            (right, "(largest force - m g) / (m k_v v)", "k_p / k_v²"),
        ):
            ax.set_xscale("log")
            ax.set_title(title, fontsize=10)
            ax.set_xlabel(label)
            ax.spines[["top", "right"]].set_visible(False)
        return figure


def _run_bounces(k_p: float, ratios: Array) -> dict[str, Array]:
    """Simulate balls; return gains, restitution and largest force for each k_p / k_v²."""
    k_v = np.sqrt(k_p / ratios)
    seconds = 1.2 * max(Landing(k_p, v, SPEED).return_time for v in k_v)
    law = Linearized(k_p=np.full(len(ratios), k_p), k_v=k_v, epsilon=0.0)
    simulation = Simulation(ball(), law, landing_stepper(), dt=DT, worlds=len(ratios))
    simulation.set(q=[0, 0, 0, 1, 0, 0, 0], u=[0, 0, -SPEED, 0, 0, 0])
    records = simulation.backend.record(round(seconds / DT))
    force = records["impulse"][..., 0].max(axis=0) / DT
    return {
        "k_p": np.full(len(ratios), k_p),
        "k_v": k_v,
        "e": records["u"][..., 2].max(axis=0) / SPEED,
        "peak": (force - G) / (k_v * SPEED),
    }


def _at_common_ratio(bounces: Mapping[str, Array]) -> dict[str, float]:
    """Return the gains and the restitution at the k_p / k_v closest to `COMMON_RATIO`."""
    k = int(np.argmin(np.abs(np.log(bounces["k_p"] / bounces["k_v"] / COMMON_RATIO))))
    return {name: float(bounces[name][k]) for name in ("k_p", "k_v", "e")}


def _build_checks(
    lowest: float, highest: float, pair: Mapping[str, Mapping[str, float]], quick: bool
) -> list[Check]:
    """Check the range of e, and that e is not a function of k_p / k_v."""
    low, high = (0.1, 0.9) if quick else (0.02, 0.98)
    one, other = pair.values()
    texts = (
        f"k_p {point['k_p']:g}, k_v {point['k_v']:.4g}: e {point['e']:.3f}"
        for point in pair.values()
    )
    same = abs(np.log(one["k_p"] / one["k_v"] * other["k_v"] / other["k_p"])) < 1e-9
    return [
        Check(
            f"e goes from below {low:g} to above {high:g} as k_p / k_v² grows",
            lowest < low and highest > high,
            f"{lowest:.4f} to {highest:.4f}",
        ),
        Check(
            "e is not a function of k_p / k_v: two pairs of gains with this ratio differ",
            bool(same and abs(one["e"] - other["e"]) > 0.01 * other["e"]),
            "; ".join(texts),
        ),
    ]


def _build_table(ratios: Array, bounces: Mapping[str, Mapping[str, Array]], exact: Array) -> Table:
    columns = ("k_p / k_v²", "e, closed form", *(f"e, {name}" for name in bounces),
               "(largest force - m g) / (m k_v v)")  # fmt: skip
    peak = bounces[BEST]["peak"]
    rows = [
        (float(ratio), float(exact[k]), *(float(b["e"][k]) for b in bounces.values()),
         float(peak[k]))
        for k, ratio in enumerate(ratios)
    ]  # fmt: skip
    return Table("", columns, rows)
