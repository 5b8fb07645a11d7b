"""Cases of `tarsus bench --precision`: short motions, each with one measure of error.

They are short because a fall is chaotic: after the first impacts, errors say nothing about the
method. Flight and rolling have exact results. In the other cases a run is compared with the same
simulator at much smaller steps, because contact models differ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from tarsus import robots
from tarsus.dynamics.robot import Robot
from tarsus.morphology.feet import find_soles
from tarsus.validation import bodies
from tarsus.validation.bodies import RADIUS, TOUCH, G
from tarsus_bench import peer_cases
from tarsus_bench.peer_cases import PeerCase, without_limits
from tarsus_bench.peers.base import FRICTION

Array = NDArray[np.float64]
INTERVAL = 0.01  # s between compared states; every dt divides it
STAND_TIME, FLIGHT_TIME, FALL_TIME, DROP_TIME, ROLL_TIME = 1.0, 1.0, 0.4, 0.25, 0.5  # s
DROP_HEIGHT = 0.05  # m, of G1's soles above the ground
ROLL_SPEED = 2.0  # m/s


@dataclass(frozen=True, eq=False)
class PrecisionCase:
    """Motion whose error is compared over the time it takes to compute."""

    motion: PeerCase
    """Robot, initial state and servos."""
    title: str
    """Title of its figure."""
    error: str
    """Quantity that is compared, with its unit."""
    compared: Callable[[Array], Array]
    """Function that selects the compared quantity (samples, k) from coordinates (samples, nq)."""
    exact: Callable[[], Array] | None = None
    """Function that computes the exact quantity at the samples, shape (samples, k)."""

    @property
    def times(self) -> Array:
        """Times of the samples in s, including 0."""
        return sample_times(self.motion.seconds)


def sample_times(seconds: float) -> Array:
    """Compute the times in s at which motions are compared, including 0, shape (samples,)."""
    return INTERVAL * np.arange(round(seconds / INTERVAL) + 1, dtype=float)


def base_position(q: Array) -> Array:
    """Select the position of the base, in m."""
    return q[:, :3]


def joint_angles(q: Array) -> Array:
    """Select the joint angles, in rad."""
    return q[:, 7:]


def horizontal_position(q: Array) -> Array:
    """Select the horizontal position of the base, in m."""
    return q[:, :2]


def largest_difference(values: Array, others: Array) -> float:
    """Compute the largest distance between two motions at the samples; infinite if not finite."""
    distance = np.linalg.norm(values - others, axis=1)
    return float(distance.max()) if np.isfinite(distance).all() else np.inf


@cache
def cases() -> Mapping[str, PrecisionCase]:
    """Create all cases by name.

    Raises
    ------
    MissingPackage
        If the package with the robots' files is not installed.
    """
    anymal = peer_cases.cases()
    flight = replace(anymal["flight"], seconds=FLIGHT_TIME)
    roll = create_rolling_sphere()
    return {
        "flight": PrecisionCase(
            flight,
            f"ANYmal B tumbles in the air for {FLIGHT_TIME:g} s",
            "joint angles / rad",
            joint_angles,
            lambda: joint_angles(exact_flight(flight)),
        ),
        "roll": PrecisionCase(
            roll,
            f"A sphere slides at {ROLL_SPEED:g} m/s until it rolls",
            "position / m",
            horizontal_position,
            lambda: exact_roll(roll.seconds),
        ),
        "stand": PrecisionCase(
            replace(anymal["stand"], seconds=STAND_TIME),
            f"ANYmal B lands on its feet and stands for {STAND_TIME:g} s",
            "base position / m",
            base_position,
        ),
        "fall": PrecisionCase(
            replace(anymal["fall"], seconds=FALL_TIME),
            f"The first {FALL_TIME:g} s of a fall of ANYmal B",
            "base position / m",
            base_position,
        ),
        "g1_drop": PrecisionCase(
            create_dropped_g1(),
            f"G1 without torques is dropped onto its soles from {1e3 * DROP_HEIGHT:g} mm",
            "base position / m",
            base_position,
        ),
    }


def exact_flight(case: PeerCase) -> Array:
    """Compute the exact coordinates (samples, nq) of a flight."""
    samples, q, u = [case.q], case.q, case.u
    for _ in sample_times(case.seconds)[1:]:
        q, u = peer_cases.integrate_flight(case.robot, q, u, INTERVAL, 0.0)
        samples.append(q)
    return np.array(samples)


def create_rolling_sphere() -> PeerCase:
    """Create a sphere that touches the ground and slides along x without spin."""
    sphere = Robot.of(bodies.sphere())
    q = np.asarray(bodies.pose([0.0, 0.0, RADIUS - TOUCH]))
    u = np.array([ROLL_SPEED, 0.0, 0.0, 0.0, 0.0, 0.0])
    return PeerCase(replace(sphere, keyframes={"stand": q}), q, u, ROLL_TIME)


def exact_roll(seconds: float) -> Array:
    """Compute the exact horizontal position (samples, 2), in m, of the sphere.

    Coulomb friction slows it until t = 2 v / (7 mu g); then it rolls at 5/7 of its initial speed.
    """
    times = sample_times(seconds)
    end = 2 * ROLL_SPEED / (7 * FRICTION * G)
    sliding = np.minimum(times, end)
    x = ROLL_SPEED * sliding - 0.5 * FRICTION * G * sliding**2
    x += 5 / 7 * ROLL_SPEED * np.maximum(times - end, 0.0)
    return np.column_stack([x, np.zeros_like(x)])


def create_dropped_g1() -> PeerCase:
    """Create G1 above the ground with only the spheres of its soles, without limits and motors."""
    robot = robots.load("g1")
    below = set(find_soles(robot))
    spheres = [c for c in robot.candidates if c.body in below]
    q = np.zeros(robot.nq)
    q[3] = 1.0
    q[2] = DROP_HEIGHT - min(robot.position(q, c.name)[2] - c.radius for c in spheres)
    return PeerCase(without_limits(robot, spheres, q), q, np.zeros(robot.nu), DROP_TIME)
