"""Eqns. (41)-(42): rates of Euler angles, a correction, and the singularity."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tarsus.viewer.colors import COLORS
from tarsus_papers.base import Check, Exhibit, Finding, Row, Table, Task

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]
PITCH = np.deg2rad(20.0)
YAWS = np.deg2rad([0.0, 30.0, 60.0, 90.0])
ROUND_OFF = 1e-7  # rad/s, error of central differences


class Euler(Exhibit):
    """Comparison of the printed matrices for Euler angles with differences of rotation matrices."""

    name: ClassVar[str] = "euler"
    title: ClassVar[str] = "Euler angles: the printed matrices and their singularity"
    location: ClassVar[str] = "Eqns. (41)-(42), section 6.1"
    description: ClassVar[str] = (
        "Eqn. (41) maps the rates of yaw, pitch and roll to the angular velocity omega_0, which in"
        " the paper is expressed in trunk axes. Differences of rotation matrices show that the"
        " printed G gives the angular velocity in world axes. With omega_0, the rates of Eqn. (42)"
        " are therefore wrong unless the trunk is level and faces along x. The identity matrix in"
        " the block for the position confuses velocities in trunk and world axes in the same way."
        " Tarsus uses quaternions and has neither the error nor the singularity."
    )
    caption: ClassVar[str] = (
        "Left: condition number of G over pitch, computed (line) and (1 + sin) / cos (dots)."
        " Right: error of the rates by the printed Eqn. (42) at 20 degrees of pitch, for a trunk"
        " that rolls at 1 rad/s about its own x axis."
    )

    def measure(self, task: Task) -> Finding:
        # axes of the angular velocity that G gives
        world, body = _mismatches()
        # condition number up to the singularity
        pitch = np.linspace(0, 89.9, 400)
        condition = np.array(
            [np.linalg.cond(printed_matrix(np.array([0.4, p, 0.0]))) for p in np.deg2rad(pitch)]
        )
        closed = (1 + np.sin(np.deg2rad(pitch))) / np.cos(np.deg2rad(pitch))
        deviation = float(np.abs(condition / closed - 1).max())
        # rates for the angular velocity in trunk axes
        yaw = np.linspace(0, np.pi, 181)
        errors = np.array([_rate_error(psi) for psi in yaw])
        rows = [
            Row("printed G, error of omega in world axes", None, world, "rad/s", ""),
            Row("printed G, error of omega in trunk axes", None, body, "rad/s", ""),
        ]
        lines = [(round(np.rad2deg(psi)), *np.round(_rate_error(psi), 6).tolist()) for psi in YAWS]
        titles = ("yaw / degrees", *(f"error of the {n} rate / (rad/s)" for n in NAMES))
        return Finding(
            {
                "pitch": pitch,
                "condition": condition,
                "closed": closed,
                "yaw": np.rad2deg(yaw),
                "errors": errors,
            },
            rows,
            [
                Table(
                    "Rates by the printed Eqn. (42), pitch 20 degrees, rolling at 1 rad/s",
                    titles,
                    lines,
                )
            ],
            [
                Check(
                    "G gives the angular velocity in world axes",
                    world < ROUND_OFF,
                    f"{world:.1e} rad/s",
                ),
                Check("G does not give it in trunk axes", body > 0.1, f"{body:.2f} rad/s"),
                Check(
                    "cond(G) = (1 + sin pitch) / cos pitch",
                    deviation < 1e-9,
                    f"{deviation:.1e} relative",
                ),
            ],
        )

    def draw(self, data: Mapping[str, Any]) -> Figure:
        from matplotlib.figure import Figure

        figure = Figure(figsize=(9, 3.4), layout="constrained")
        left, right = figure.subplots(1, 2)
        left.semilogy(data["pitch"], data["condition"], color=COLORS[0], lw=1.6)
        left.semilogy(data["pitch"][::20], data["closed"][::20], "o", color=COLORS[1], ms=4)
        left.set_xlabel("pitch / degrees")
        left.set_ylabel("condition number of G")
        errors = np.asarray(data["errors"])
        for k, name in enumerate(NAMES):
            right.plot(data["yaw"], errors[:, k], color=COLORS[k], lw=1.6, label=name)
        right.set_xlabel("yaw / degrees")
        right.set_ylabel("error of the rate / (rad/s)")
        right.legend(frameon=False, fontsize=9)
        for ax in (left, right):
            ax.spines[["top", "right"]].set_visible(False)
        return figure


NAMES = ("yaw", "pitch", "roll")


def printed_matrix(angles: Array) -> Array:
    """Return G (3, 3) of Eqn. (41), as printed, for yaw, pitch and roll in rad."""
    psi, theta, _ = angles
    return np.array(
        [
            [0.0, -np.sin(psi), np.cos(theta) * np.cos(psi)],
            [0.0, np.cos(psi), np.cos(theta) * np.sin(psi)],
            [1.0, 0.0, -np.sin(theta)],
        ]
    )


def rotation(angles: Array) -> Array:
    """Return R = R_z(yaw) R_y(pitch) R_x(roll), which maps from trunk to world."""
    (cz, cy, cx), (sz, sy, sx) = np.cos(angles), np.sin(angles)
    about_z = np.array([[cz, -sz, 0], [sz, cz, 0], [0, 0, 1]])
    about_y = np.array([[cy, 0, sy], [0, 1, 0], [-sy, 0, cy]])
    return about_z @ about_y @ np.array([[1, 0, 0], [0, cx, -sx], [0, sx, cx]])


def _mismatches(count: int = 100, step: float = 1e-6) -> tuple[float, float]:
    """Compute the largest errors (rad/s) of G times rates as omega in world and in trunk axes."""
    drawn = np.random.default_rng(41)
    worst = np.zeros(2)
    for _ in range(count):
        angles, rates = drawn.uniform(-1.4, 1.4, 3), drawn.uniform(-1, 1, 3)
        change = rotation(angles + step * rates) - rotation(angles - step * rates)
        cross = change / (2 * step) @ rotation(angles).T  # cross product matrix of omega
        omega = np.array([cross[2, 1], cross[0, 2], cross[1, 0]])
        product = printed_matrix(angles) @ rates
        errors = product - omega, product - rotation(angles).T @ omega
        worst = np.maximum(worst, [np.abs(error).max() for error in errors])
    return float(worst[0]), float(worst[1])


def _rate_error(yaw: float) -> Array:
    """Compute the error (3,) of Eqn. (42) in rad/s, for a roll of 1 rad/s in trunk axes."""
    angles, omega = np.array([yaw, PITCH, 0.0]), np.array([1.0, 0.0, 0.0])
    inverse = np.linalg.inv(printed_matrix(angles))
    return np.abs(inverse @ omega - inverse @ rotation(angles) @ omega)
