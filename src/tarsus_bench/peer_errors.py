"""How wrong a simulator was: the same yardstick for all, from the states that it gave.

Nothing is asked of a simulator but q and u; energies, momenta and places of feet are computed here.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from tarsus.dynamics.robot import Robot
from tarsus_bench.peer_cases import PeerCase

Array = NDArray[np.float64]
LATER = 0.5  # of a run in which the robot stands, the first part is not judged


def errors(name: str, case: PeerCase, q: Array, u: Array, dt: float) -> dict[str, float]:
    """The errors of a run of the case `name`; q (steps + 1, nq) and u begin with the start.

    dt: s
    """
    with np.errstate(over="ignore"):  # a run that blows up says so by its numbers
        return MEASURES[name](case, q, u, dt)


def standing(case: PeerCase, q: Array, u: Array, dt: float) -> dict[str, float]:
    """Of the second half: deepest foot (m), creep (m/s); height of the base at the end (m).

    Creep: how far the touching point of a foot has moved over the ground, rolling left out.
    """
    first = round(LATER * len(q))
    late, seconds = q[first:], (len(q) - 1 - first) * dt
    return {
        "penetration_m": deepest(case.robot, late),
        "creep_m_per_s": creep(case.robot, late[0], late[-1]) / seconds,
        "height_m": float(q[-1, 2]),
    }


def flying(case: PeerCase, q: Array, u: Array, dt: float) -> dict[str, float]:
    """Largest change of the energy (J), of the linear momentum beside gravity's (N s) and of the
    angular momentum about the center of mass (N m s); mean of the squared error of the energy
    (J^2), which SimBenchmark gives; largest error of a joint at the end (rad).
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
        "joint_rad": _largest(q[-1, 7:] - case.flown((len(q) - 1) * dt)[7:]),
    }


def falling(case: PeerCase, q: Array, u: Array, dt: float) -> dict[str, float]:
    """Deepest sphere at any time and at the end (m); energy that came from nowhere (J): by how much
    the passive robot's ever rose above what it had been; its speed at the end (m/s or rad/s).
    """
    energy = total_energy(case.robot, q, u)
    gained = energy - np.minimum.accumulate(energy)
    return {
        "penetration_m": deepest(case.robot, q),
        "penetration_end_m": deepest(case.robot, q[-1:]),
        "gained_J": _largest(gained),
        "speed_end": _largest(u[-1]),
    }


MEASURES = {"stand": standing, "flight": flying, "fall": falling}


def total_energy(robot: Robot, q: Array, u: Array) -> Array:
    """Kinetic and potential energy (steps,), J."""
    return robot.kinetic_energy(q, u) + robot.potential_energy(q)


def deepest(robot: Robot, q: Array) -> float:
    """How far below the ground the lowest point of a sphere comes, m; 0 if it never does."""
    lowest = [robot.position(q, c.name)[:, 2].min() - c.radius for c in robot.candidates]
    return max(0.0, -float(min(lowest)))


def creep(robot: Robot, before: Array, after: Array) -> float:
    """The longest way, m, of a sphere's touching point over the ground between two states."""
    ways = []
    for c in robot.candidates:
        turned = robot.rotation(after, c.name) @ robot.rotation(before, c.name).T
        rolled = np.cross(Rotation.from_matrix(turned).as_rotvec(), [0.0, 0.0, c.radius])
        moved = robot.position(after, c.name) - robot.position(before, c.name)
        ways.append(np.hypot(*(moved - rolled)[:2]))
    return float(max(ways))


def _largest(values: Array) -> float:
    return float(np.abs(values).max())
