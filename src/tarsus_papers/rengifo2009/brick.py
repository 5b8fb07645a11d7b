"""Section II.B: a brick slides down a ramp, slows and stops."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tarsus.contact.laws.linearized import Linearized
from tarsus.simulation.simulation import Simulation
from tarsus.stepping.methods.rk4 import RK4
from tarsus.terrain.slope import Slope
from tarsus.viewer.colors import COLORS
from tarsus_papers.base import Check, Exhibit, Finding, Row, Task
from tarsus_papers.rengifo2009.bodies import BRICK, Array, G, ball, brick, pose_on_slope

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ANGLE, MU, SPEED = np.deg2rad(20.0), 0.6, 0.25  # rad, 1, m/s; not stated in the paper
K_V, EPSILON = 250.0, 1e-6  # sections IV and V
DT, SECONDS = 1e-4, 0.25  # s
BRAKING = G * (MU * np.cos(ANGLE) - np.sin(ANGLE))  # m/s^2
SLOW = BRAKING / K_V  # m/s, v_s below Eqn. (9)
LOCATION = "section II.B"
SATURATIONS = {"repeated": "forces limited consistently", "once": "limited once, as printed"}
WITHOUT_HEIGHT, WITH_HEIGHT = "without height", "a box"


@dataclass(frozen=True, eq=False)
class Slide:
    """Recorded slide of a brick.

    Attributes
    ----------
    time : ndarray of shape (steps,)
        Time in s.
    speed : ndarray of shape (steps,)
        Downhill speed at the middle of each step in m/s.
    friction : ndarray of shape (steps,)
        Mean friction force of each step in N.
    fastest : float
        Largest angular velocity in rad/s.
    last : float
        Speed at the end in m/s.
    """

    time: Array
    speed: Array
    friction: Array
    fastest: float
    last: float

    @property
    def threshold(self) -> float:
        """Speed v_s (m/s) at which the linear part of the friction force reaches the plateau."""
        low = (self.speed < 0.7 * SLOW) & (self.speed > 0.05 * SLOW)
        slope, rest = np.polyfit(self.speed[low], self.friction[low], 1)
        return float((self.friction[: len(low) // 10].mean() - rest) / slope)

    @property
    def decay(self) -> float:
        """Rate (1/s) at which the remaining speed decays."""
        low = (self.speed < 0.5 * SLOW) & (self.speed > 1e-4 * SLOW)
        return -float(np.polyfit(self.time[low], np.log(self.speed[low]), 1)[0])


class SlidingBrick(Exhibit):
    """Sliding brick of zero height, as in the paper, and sliding box."""

    name: ClassVar[str] = "brick"
    title: ClassVar[str] = "The brick on a ramp"
    location: ClassVar[str] = f"{LOCATION}, Figs. 6 and 7, Eqns. (5)-(9)"
    description: ClassVar[str] = (
        "A brick of 1 kg slides down a ramp at 0.25 m/s, slows down and stops. Friction is"
        " μ m g cos α while it is faster than v_s = (g / k_v) (μ cos α - sin α), then"
        " m g sin α + m k_v v, so that its speed decays as e^(-k_v t) and the force approaches"
        " m g sin α. The law has no speed below which friction is static. The paper states no"
        " numbers; 20 degrees, μ 0.6 and the sizes were chosen here, k_v 250 1/s is that of section"
        " IV, and the integrator is RK4 with steps of 100 µs. The paper's brick has no height; a"
        " box has forces at its corners. If Eqns. (18)-(20) are solved and the friction is limited"
        " once, the normal forces correspond to the friction before the limit, not to that after"
        " it."
    )
    caption: ClassVar[str] = (
        "Left: speed of the brick and the paper's two pieces (gray). Middle: the same on a"
        " logarithmic scale, with v_s. Right: friction force over speed, the map of Fig. 7 (gray:"
        " Eqn. (9))."
    )

    def measure(self, task: Task) -> Finding:
        # the point; the box with forces limited consistently and as printed
        task.on_progress(WITHOUT_HEIGHT)
        slides = {WITHOUT_HEIGHT: _run_slide(ball(), 0.0, "repeated")}
        rates = {}
        if not task.quick:
            for saturation in ("repeated", "once"):
                task.on_progress(f"{WITH_HEIGHT}, {saturation}")
                slide = _run_slide(brick(), BRICK[2], saturation)
                rates[saturation] = slide.fastest
                if saturation == "repeated":
                    slides[WITH_HEIGHT] = slide
        data = {
            "slides": {
                name: {"time": s.time, "speed": s.speed, "friction": s.friction}
                for name, s in slides.items()
            },
            "turned": rates,
        }
        rows = [row for name, slide in slides.items() for row in _build_rows(name, slide)]
        rows += [
            Row(f"box, {SATURATIONS[key]}: largest angular velocity", None, rate, "rad/s",
                "Eqns. (18)-(20)",
                "the paper's procedure" if key == "once" else "the law's default")
            for key, rate in rates.items()
        ]  # fmt: skip
        checks = [check for name, slide in slides.items() for check in _build_checks(name, slide)]
        return Finding(data, rows, checks=checks)

    def draw(self, data: Mapping[str, Any]) -> Figure:
        from matplotlib.figure import Figure

        figure = Figure(figsize=(10, 3.3), layout="constrained")
        left, middle, right = figure.subplots(1, 3)
        # formulas of the paper
        time = np.linspace(0, SECONDS, 400)
        end = (SPEED - SLOW) / BRAKING
        published = np.where(
            time < end, SPEED - BRAKING * time, SLOW * np.exp(-K_V * np.fmax(time - end, 0))
        )
        speeds = np.linspace(0, 3 * SLOW, 100)
        plateau = G * MU * np.cos(ANGLE)
        map_ = np.fmin(plateau, G * np.sin(ANGLE) + K_V * speeds)
        gray = {"color": "#bbbbbb", "lw": 4, "zorder": 0}
        left.plot(time, published, **gray)
        middle.plot(time, published, **gray)
        right.plot(1e3 * speeds, map_, **gray)
        # simulated bricks
        for style, color, (name, slide) in zip(
            ("-", "--"), COLORS, data["slides"].items(), strict=False
        ):
            t, v = np.array(slide["time"]), np.array(slide["speed"])
            look = {"color": color, "lw": 1.3, "ls": style}
            left.plot(t, v, label=name, **look)
            middle.plot(t, np.abs(v), **look)
            is_slow = v < 3 * SLOW
            right.plot(1e3 * v[is_slow], np.array(slide["friction"])[is_slow], **look)
        middle.axhline(SLOW, color="#999999", lw=0.8, ls=":")
        middle.text(0.01, 1.3 * SLOW, "v_s", fontsize=9, color="#666666")
        middle.set_yscale("log")
        middle.set_ylim(1e-10, 1)
        left.legend(frameon=False, fontsize=9)
        for ax, title, label in (
            (left, "speed / (m/s)", "time / s"),
            (middle, "speed / (m/s)", "time / s"),
            (right, "friction / N", "speed / (mm/s)"),
        ):
            ax.set_title(title, fontsize=10)
            ax.set_xlabel(label)
            ax.spines[["top", "right"]].set_visible(False)
        return figure


def _run_slide(body: Any, height: float, saturation: Any) -> Slide:
    """Simulate the slide until rest; `height` is that of the origin above the contacts in m."""
    law = Linearized(mu=MU, k_p=500.0, k_v=K_V, epsilon=EPSILON, saturation=saturation)
    simulation = Simulation(body, law, RK4(), Slope(ANGLE), dt=DT)
    down = -np.array([np.cos(ANGLE), 0.0, np.sin(ANGLE)])
    simulation.set(q=pose_on_slope(height - EPSILON, ANGLE), u=[*(SPEED * down), 0, 0, 0])
    records = simulation.backend.record(round(SECONDS / DT))
    force = records["impulse"][:, 0].reshape(len(records["q"]), -1, 3).sum(axis=1) / DT
    moving = records["u"][:, 0]
    speed = np.concatenate([[SPEED], moving[:, :3] @ down])
    return Slide(
        DT * (np.arange(len(force)) + 0.5),
        0.5 * (speed[1:] + speed[:-1]),
        np.linalg.norm(force[:, 1:], axis=1),
        float(np.abs(moving[:, 3:]).max()),
        float(abs(speed[-1])),
    )


def _build_rows(name: str, slide: Slide) -> list[Row]:
    return [
        Row(f"{name}: v_s", 1e3 * SLOW, 1e3 * slide.threshold, "mm/s", "below Eqn. (9)",
            "the paper's formula with the numbers used here"),
        Row(f"{name}: rate of the exponential stop", K_V, slide.decay, "1/s", "Eqn. (7)", "k_v"),
        Row(f"{name}: friction at rest", G * np.sin(ANGLE), float(slide.friction[-1]), "N",
            LOCATION, "m g sin α"),
        Row(f"{name}: speed at the end", 0.0, slide.last, "m/s", LOCATION),
    ]  # fmt: skip


def _build_checks(name: str, slide: Slide) -> list[Check]:
    threshold_error = abs(slide.threshold / SLOW - 1)
    rate_error = abs(slide.decay / K_V - 1)
    friction_error = abs(float(slide.friction[-1]) - G * np.sin(ANGLE)) / G
    creep = slide.last
    return [
        Check(f"{name}: v_s agrees to 1 %", threshold_error < 0.01,
              f"error {threshold_error:.1e}"),
        Check(f"{name}: the speed decays at the rate k_v, to 1e-3", rate_error < 1e-3,
              f"error {rate_error:.1e}"),
        Check(f"{name}: friction at rest is m g sin α to 1e-3 of the weight, creep is below"
              " 1e-9 m/s",
              friction_error < 1e-3 and creep < 1e-9, f"{friction_error:.1e}, {creep:.1e} m/s"),
    ]  # fmt: skip
