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
FALL = 0.1  # s, a multiple of the step; the paper states no height
SPEED, HEIGHT = G * FALL, 0.5 * G * FALL**2  # m/s, m
DT, SECONDS = 2e-5, 2.0  # s
FINE_DT, FINE_SECONDS = 2e-7, 2e-3  # s, for the first instant of the landing
STOP_TIME = 5e-3  # s after the landing, when the ball has stopped
CURVE_TOLERANCE = 1e-5  # relative to the depth
LOCATION = "Fig. 4"
STYLES = dict(zip(K_P, ("--", "-", ":"), strict=True))  # those of the paper's figures


@cache
def landing_stepper() -> EventDriven:
    """Return a fourth-order stepper that locates the landing; the paper states no integrator."""
    return EventDriven(RK4())


class BallLanding(Exhibit):
    """Landing of a ball under three gains k_p, from the fall until long after the landing."""

    name: ClassVar[str] = "ball"
    title: ClassVar[str] = "Figures 4 and 5: the ball that lands"
    location: ClassVar[str] = "section II.A, Figs. 4 and 5"
    description: ClassVar[str] = (
        f"A ball falls {1e3 * HEIGHT:.2f} mm onto the ground with the paper's gains, k_v 5000 1/s"
        " and k_p 0, 1 and 5 1/s². Mass (1 kg), height and step are not stated in the paper. The"
        f" integrator is RK4 with a located landing and steps of {1e6 * DT:g} µs. The published"
        " force at the landing is the paper's formula m g - m k_v p' at the speed used here; its"
        " figures give no numbers. All other results are compared with the closed form of Eqn. (3),"
        " which does not contain the mass."
    )
    caption: ClassVar[str] = (
        "Left: height of the ball after the landing, as in Fig. 4 (dashed k_p 0, solid 1, dotted"
        " 5). Right: force of the ground, as in Fig. 5: in the first 2 ms (the three curves"
        " coincide), and its excess over m g from when the ball has stopped until it returns to the"
        " surface."
    )

    def measure(self, task: Task) -> Finding:
        # the whole landing, then its first instant with small steps
        task.on_progress("landing")
        whole = _run(HEIGHT, 0.0, DT, SECONDS)
        task.on_progress("the first instant")
        first = _run(0.0, SPEED, FINE_DT, FINE_SECONDS)
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
            "curves": {f"{k_p:g}": _decimate(curve) for k_p, curve in curves.items()},
            "first": {"time": first["time"][::50], "force": first["force"][::50, 1]},
            "errors": {f"{k_p:g}": error for k_p, error in errors.items()},
        }
        return Finding(
            data, _build_rows(curves, peaks), checks=_build_checks(curves, peaks, errors)
        )

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
            stopped = (time > STOP_TIME) & (time < Landing(k_p, K_V, SPEED).return_time - 2e-3)
            right.plot(time[stopped], 1e3 * (force[stopped] / G - 1), **look)
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
    """Compute the largest errors relative to the closed form until the ball has returned.

    The error of the height is relative to the depth, that of the force to m g, once the ball has
    stopped.
    """
    exact, time = Landing(k_p, K_V, SPEED), curve["time"]
    inside = time < exact.return_time - 2 * DT
    height = np.abs(curve["height"] - exact.height(time))[inside].max() / exact.depth
    stopped = inside & (time > STOP_TIME)
    error = (curve["force"] - G - exact.acceleration(time))[stopped]
    return {"height": float(height), "force": float(np.abs(error).max() / G)}


def _decimate(curve: Mapping[str, Array]) -> dict[str, Array]:
    """Select the first 200 steps, then every 200th."""
    steps = np.concatenate([np.arange(200), np.arange(200, len(curve["time"]), 200)])
    return {name: np.round(values[steps], 10) for name, values in curve.items()}


def return_time(curve: Mapping[str, Array]) -> float | None:
    """Return the time (s) at which the ball is above the surface again, or None if never."""
    above = np.flatnonzero(curve["height"] > 0)
    return float(curve["time"][above[0]]) if above.size else None


def _build_rows(curves: Mapping[float, Mapping[str, Array]], peaks: Array) -> list[Row]:
    exact = "closed form of Eqn. (3)"
    rows = []
    for k, (k_p, curve) in enumerate(curves.items()):
        form, back = Landing(k_p, K_V, SPEED), return_time(curve)
        until = f"{exact}: {form.return_time:.4f} s" if k_p else "never, as stated in the paper"
        rows += [
            Row(f"k_p {k_p:g}: force at the landing", G + K_V * SPEED, float(peaks[k]), "N",
                "section II.A", f"m g - m k_v p' at {SPEED:g} m/s and 1 kg"),
            Row(f"k_p {k_p:g}: largest depth", None, -1e3 * float(curve["height"].min()), "mm",
                LOCATION,
                f"{exact}: {1e3 * form.depth:.5f} mm; v / k_v {1e3 * SPEED / K_V:.5f} mm"),
            Row(f"k_p {k_p:g}: back at the surface after", None, back, "s", LOCATION, until),
        ]  # fmt: skip
    rows.append(
        Row("force at the end", G, float(curves[K_P[-1]]["force"][-1]), "N", "Fig. 5",
            f"k_p {K_P[-1]:g}, {SECONDS:g} s; m g, as in Fig. 2")
    )  # fmt: skip
    return rows


def _build_checks(
    curves: Mapping[float, Mapping[str, Array]],
    peaks: Array,
    errors: Mapping[float, Mapping[str, float]],
) -> list[Check]:
    # depth, first force, return
    depth_error = max(abs(-c["height"].min() * K_V / SPEED - 1) for c in curves.values())
    peak_error = float(np.abs(peaks / (G + K_V * SPEED) - 1).max())
    moving = [k_p for k_p in K_P if k_p]
    returns = {k_p: return_time(curves[k_p]) for k_p in moving}
    return_error = max(abs((returns[k] or np.inf) / (np.pi / 2 / np.sqrt(k)) - 1) for k in moving)
    # whole curves, and final state
    height_error = max(error["height"] for error in errors.values())
    force_error = max(error["force"] for error in errors.values())
    end_error = max(abs(c["force"][-1] / G - 1) for c in curves.values())
    motion = float(np.ptp(curves[0.0]["height"][curves[0.0]["time"] > STOP_TIME]))
    return [
        Check("the depth is v / k_v to 1 %", depth_error < 0.01, f"error {depth_error:.1e}"),
        Check(
            "the first force is m g + m k_v v to 1e-3", peak_error < 1e-3, f"error {peak_error:.1e}"
        ),
        Check(
            "the ball returns π / (2 √k_p) after the landing, to 1 %; with k_p = 0 it stays",
            return_error < 0.01 and return_time(curves[0.0]) is None and motion < 1e-12,
            ", ".join(f"{returns[k]:.4f} s for k_p {k:g}" for k in moving),
        ),
        Check(
            f"heights follow the closed form to {power_of_ten(CURVE_TOLERANCE)} of the depth,"
            " forces to 1e-6 of m g once the ball has stopped",
            height_error < CURVE_TOLERANCE and force_error < 1e-6,
            f"{height_error:.1e} and {force_error:.1e}",
        ),
        Check(
            "at the end the ground carries m g to 1e-6", end_error < 1e-6, f"error {end_error:.1e}"
        ),
    ]
