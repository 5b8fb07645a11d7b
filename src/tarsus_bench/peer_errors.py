"""Errors of simulators, computed in the same way for all from their coordinates and velocities.

Energies, momenta and positions of feet are computed here, not by the simulators.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from tarsus.dynamics.robot import Robot
from tarsus_bench.peer_cases import PeerCase

Array = NDArray[np.float64]
SETTLING_FRACTION = 0.5  # of a standing run, which is not judged


def compute_errors(name: str, case: PeerCase, q: Array, u: Array, dt: float) -> dict[str, float]:
    """Compute the errors of a run.

    Parameters
    ----------
    name
        Name of the case.
    case
        Case that was simulated.
    q, u
        Coordinates (steps + 1, nq) and velocities, including the initial state.
    dt
        Step size, s.
    """
    with np.errstate(over="ignore"):  # the errors of a diverged run are large or infinite
        return MEASURES[name](case, q, u, dt)


def standing_errors(case: PeerCase, q: Array, u: Array, dt: float) -> dict[str, float]:
    """Compute the errors of standing.

    They are the largest depth of a foot in m and the creep in m/s in the second half, and the
    height of the base at the end in m. Creep is the motion of a foot's contact point over the
    ground without rolling.
    """
    first = round(SETTLING_FRACTION * len(q))
    late, seconds = q[first:], (len(q) - 1 - first) * dt
    return {
        "penetration_m": largest_depth(case.robot, late),
        "creep_m_per_s": largest_slip(case.robot, late[0], late[-1]) / seconds,
        "height_m": float(q[-1, 2]),
    }


def flight_errors(case: PeerCase, q: Array, u: Array, dt: float) -> dict[str, float]:
    """Compute the errors of a free flight.

    They are the largest changes of the energy in J, of the linear momentum apart from gravity in
    N s, and of the angular momentum about the center of mass in N m s; the mean squared error of
    the energy in J^2, as in SimBenchmark; and the largest error of a joint at the end in rad.
    """
    robot, time = case.robot, np.arange(len(q)) * dt
    energy = total_energy(robot, q, u)
    momentum, center = robot.momentum(q, u), robot.center_of_mass(q)
    pull = robot.mass * np.outer(time, robot.gravity_acceleration)
    linear = momentum[:, :3]
    angular = momentum[:, 3:] - np.cross(center, linear)
    return {
        "energy_J": _largest(energy - energy[0]),
        "energy_squared_J2": float(np.mean((energy - energy[0]) ** 2)),
        "momentum_Ns": _largest(np.linalg.norm(linear - linear[0] - pull, axis=1)),
        "angular_momentum_Nms": _largest(np.linalg.norm(angular - angular[0], axis=1)),
        "joint_rad": _largest(q[-1, 7:] - case.exact_flight((len(q) - 1) * dt)[7:]),
    }


def fall_errors(case: PeerCase, q: Array, u: Array, dt: float) -> dict[str, float]:
    """Compute the errors of a fall.

    They are the largest depth of a sphere at any time and at the end in m; the largest increase of
    the passive robot's energy above an earlier value in J; and the largest velocity at the end in
    m/s or rad/s.
    """
    energy = total_energy(case.robot, q, u)
    gained = energy - np.minimum.accumulate(energy)
    return {
        "penetration_m": largest_depth(case.robot, q),
        "penetration_end_m": largest_depth(case.robot, q[-1:]),
        "gained_J": _largest(gained),
        "speed_end": _largest(u[-1]),
    }


MEASURES = {"stand": standing_errors, "flight": flight_errors, "fall": fall_errors}


def total_energy(robot: Robot, q: Array, u: Array) -> Array:
    """Compute the sum of kinetic and potential energy (steps,), J."""
    return robot.kinetic_energy(q, u) + robot.potential_energy(q)


def largest_depth(robot: Robot, q: Array) -> float:
    """Compute the largest depth of a sphere below the ground in m, or 0."""
    lowest = [robot.position(q, c.name)[:, 2].min() - c.radius for c in robot.candidates]
    return max(0.0, -float(min(lowest)))


def largest_slip(robot: Robot, before: Array, after: Array) -> float:
    """Compute the largest slip in m of a sphere's contact point between two states."""
    slips = []
    for c in robot.candidates:
        rotation = robot.rotation(after, c.name) @ robot.rotation(before, c.name).T
        rolled = np.cross(Rotation.from_matrix(rotation).as_rotvec(), [0.0, 0.0, c.radius])
        moved = robot.position(after, c.name) - robot.position(before, c.name)
        slips.append(np.hypot(*(moved - rolled)[:2]))
    return float(max(slips))


def _largest(values: Array) -> float:
    return float(np.abs(values).max())
