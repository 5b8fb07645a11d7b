"""Figures 4 and 5: a ball lands on the ground."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tarsus.contact.laws.linearized import Linearized
from tarsus.simulation.simulation import Simulation
from tarsus.stepping.methods.event_driven import EventDriven
from tarsus.stepping.methods.rk4 import RK4
from tarsus.viewer.colors import COLORS
from tarsus_papers.base import Check, Exhibit, Finding, Row, Task
from tarsus_papers.rengifo2009.bodies import Array, G, ball, pose_on_slope, power_of_ten
from tarsus_papers.rengifo2009.landing import Landing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

K_P, K_V = (0.0, 1.0, 5.0), 5000.0  # 1/s^2, 1/s: Fig. 4
FALL = 0.1  # s, which lands on a step's end: the paper states no height
SPEED, HEIGHT = G * FALL, 0.5 * G * FALL**2  # m/s, m
DT, SECONDS = 2e-5, 2.0  # s
FINE, SHORT = 2e-7, 2e-3  # s: step and duration of the look at the first instant
LIMP = 5e-3  # s after the landing: the ball has stopped
CURVE = 1e-5  # of the depth
WHERE = "Fig. 4"
STYLES = dict(zip(K_P, ("--", "-", ":"), strict=True))  # those of the paper's figures


@cache
def landing_stepper() -> EventDriven:
    """Return a fourth-order stepper that locates the landing; the paper states no integrator."""
    return EventDriven(RK4())


class BallLanding(Exhibit):
    """Landing of a ball under three gains k_p, from the fall until long after the landing."""

    name: ClassVar[str] = "ball"
    title: ClassVar[str] = "Figures 4 and 5: the ball that lands"
    where: ClassVar[str] = "section II.A, Figs. 4 and 5"
    about: ClassVar[str] = (
        f"A ball falls {1e3 * HEIGHT:.2f} mm onto the ground, k_v 5000 1/s and k_p 0, 1 and 5"
        " 1/s²: the gains are the paper's; mass (1 kg), height and step are not stated; ours are"
        f" used. RK4 with the landing located, steps of {1e6 * DT:g} µs. The published force at the"
        " landing is the paper's formula m g - m k_v p' at our speed; its figures print no number."
        " Everything else is compared with the closed form of Eqn. (3), in which the mass does not"
        " occur."
    )
    caption: ClassVar[str] = (
        "Left: height of the ball after the landing, as in Fig. 4 (dashed k_p 0, solid 1, dotted"
        " 5). Right: force of the ground, as in Fig. 5: the first 2 ms (all three on one line),"
        " and how far it is above m g once the ball has stopped, until it is back at the surface."
    )

    def measure(self, task: Task) -> Finding:
        # the whole landing, then its first instant in small steps
        task.tell("landing")
        whole = _run(HEIGHT, 0.0, DT, SECONDS)
        task.tell("the first instant")
        first = _run(0.0, SPEED, FINE, SHORT)
        after = whole["time"] > FALL
        curves = {
            k_p: {
                "time": whole["time"][after] - FALL,
                "height": whole["height"][after, k],
                "force": whole["force"][after, k],
            }
            for k, k_p in enumerate(K_P)
        }
        peaks = first["force"].max(axis=0)
        errors = {k_p: _errors(k_p, curve) for k_p, curve in curves.items()}
        data = {
            "curves": {f"{k_p:g}": _decimated(curve) for k_p, curve in curves.items()},
            "first": {"time": first["time"][::50], "force": first["force"][::50, 1]},
            "errors": {f"{k_p:g}": found for k_p, found in errors.items()},
        }
        return Finding(data, _rows(curves, peaks), checks=_checks(curves, peaks, errors))

    def draw(self, data: Mapping[str, Any]) -> Figure:
        from matplotlib.figure import Figure

        # height, first milliseconds, and the long run
        figure = Figure(figsize=(10, 3.4), layout="constrained")
        left, middle, right = figure.subplots(1, 3, width_ratios=[1.4, 0.8, 1.1])
        for (k_p, style), color in zip(STYLES.items(), COLORS, strict=False):
            curve = data["curves"][f"{k_p:g}"]
            time, force = np.array(curve["time"]), np.array(curve["force"])
            look = {"ls": style, "color": color, "lw": 1.4, "label": f"k_p = {k_p:g} 1/s²"}
            left.plot(time, 1e3 * np.array(curve["height"]), **look)
            shown = (time > LIMP) & (time < Landing(k_p, K_V, SPEED).back - 2e-3)
            right.plot(time[shown], 1e3 * (force[shown] / G - 1), **look)
        first = data["first"]
        middle.plot(1e3 * np.array(first["time"]), first["force"], color="#444444", lw=1.4)
        left.legend(frameon=False, fontsize=9, loc="lower right", bbox_to_anchor=(1, 0.12))
        for ax, title, label in (
            (left, "height / mm", "time after landing / s"),
            (middle, "force / N", "time after landing / ms"),
            (right, "1000 (force / (m g) - 1)", "time after landing / s"),
        ):
            _label(ax, title, label)
        for ax in (left, right):
            ax.axhline(0.0, color="#999999", lw=0.8, zorder=0)
        return figure


def _label(ax: Axes, title: str, label: str) -> None:
    ax.set_title(title, fontsize=10)
    ax.set_xlabel(label)
    ax.spines[["top", "right"]].set_visible(False)


def _run(height: float, speed: float, dt: float, seconds: float) -> dict[str, Array]:
    """Simulate a ball dropped from a height (m) with a downward speed (m/s).

    Returns
    -------
    dict
        ``time`` of shape (steps,) in s; ``height`` in m and ``force`` in N, of shape (steps, 3).
    """
    law = Linearized(k_p=np.array(K_P), k_v=K_V, epsilon=0.0)
    simulation = Simulation(ball(), law, landing_stepper(), dt=dt, worlds=len(K_P))
    simulation.set(q=pose_on_slope(np.full(len(K_P), height)), u=[0, 0, -speed, 0, 0, 0])
    records = simulation.backend.record(round(seconds / dt))
    force = records["impulse"][..., 0] / dt
    return {
        "time": dt * np.arange(1, len(force) + 1),
        "height": records["q"][..., 2],
        "force": force,
    }


def _errors(k_p: float, curve: Mapping[str, Array]) -> dict[str, float]:
    """Return the largest errors against the closed form until the ball has returned.

    The error of the height is relative to the depth, that of the force to m g, once the ball has
    stopped.
    """
    exact, time = Landing(k_p, K_V, SPEED), curve["time"]
    inside = time < exact.back - 2 * DT
    height = np.abs(curve["height"] - exact.height(time))[inside].max() / exact.depth
    slow = inside & (time > LIMP)
    push = (curve["force"] - G - exact.acceleration(time))[slow]
    return {"height": float(height), "force": float(np.abs(push).max() / G)}


def _decimated(curve: Mapping[str, Array]) -> dict[str, Array]:
    """Keep the first 200 steps, then every 200th."""
    near = np.arange(200)
    few = np.concatenate([near, np.arange(200, len(curve["time"]), 200)])
    return {name: np.round(values[few], 10) for name, values in curve.items()}


def return_time(curve: Mapping[str, Array]) -> float | None:
    """Return the time (s) at which the ball is above the surface again, or None if never."""
    above = np.flatnonzero(curve["height"] > 0)
    return float(curve["time"][above[0]]) if above.size else None


def _rows(curves: Mapping[float, Mapping[str, Array]], peaks: Array) -> list[Row]:
    exact = "closed form of Eqn. (3)"
    rows = []
    for k, (k_p, curve) in enumerate(curves.items()):
        form, back = Landing(k_p, K_V, SPEED), return_time(curve)
        until = f"{exact}: {form.back:.4f} s" if k_p else "never, as the paper says"
        rows += [
            Row(f"k_p {k_p:g}: force at the landing", G + K_V * SPEED, float(peaks[k]), "N",
                "section II.A", f"m g - m k_v p' at our {SPEED:g} m/s and 1 kg"),
            Row(f"k_p {k_p:g}: largest depth", None, -1e3 * float(curve["height"].min()), "mm",
                WHERE, f"{exact}: {1e3 * form.depth:.5f} mm; v / k_v {1e3 * SPEED / K_V:.5f} mm"),
            Row(f"k_p {k_p:g}: back at the surface after", None, back, "s", WHERE, until),
        ]  # fmt: skip
    rows.append(
        Row("force at the end", G, float(curves[K_P[-1]]["force"][-1]), "N", "Fig. 5",
            f"k_p {K_P[-1]:g}, {SECONDS:g} s; m g, as in Fig. 2")
    )  # fmt: skip
    return rows


def _checks(
    curves: Mapping[float, Mapping[str, Array]],
    peaks: Array,
    errors: Mapping[float, Mapping[str, float]],
) -> list[Check]:
    # depth, first force, way back
    deep = max(abs(-c["height"].min() * K_V / SPEED - 1) for c in curves.values())
    first = float(np.abs(peaks / (G + K_V * SPEED) - 1).max())
    moving = [k_p for k_p in K_P if k_p]
    returns = {k_p: return_time(curves[k_p]) for k_p in moving}
    late = max(abs((returns[k] or np.inf) / (np.pi / 2 / np.sqrt(k)) - 1) for k in moving)
    # the whole curves, and what remains
    curve = max(found["height"] for found in errors.values())
    push = max(found["force"] for found in errors.values())
    ends = max(abs(c["force"][-1] / G - 1) for c in curves.values())
    stays = float(np.ptp(curves[0.0]["height"][curves[0.0]["time"] > LIMP]))
    return [
        Check("the ball goes v / k_v deep, to 1 %", deep < 0.01, f"{deep:.1e} off"),
        Check("the first force is m g + m k_v v, to 1e-3", first < 1e-3, f"{first:.1e} off"),
        Check(
            "it is back π / (2 √k_p) after the landing, to 1 %; with k_p = 0 it stays",
            late < 0.01 and return_time(curves[0.0]) is None and stays < 1e-12,
            ", ".join(f"{returns[k]:.4f} s for k_p {k:g}" for k in moving),
        ),
        Check(
            f"heights follow the closed form to {power_of_ten(CURVE)} of the depth, forces to 1e-6"
            " of m g once the ball has stopped",
            curve < CURVE and push < 1e-6,
            f"{curve:.1e} and {push:.1e}",
        ),
        Check("at the end the ground carries m g to 1e-6", ends < 1e-6, f"{ends:.1e} off"),
    ]
