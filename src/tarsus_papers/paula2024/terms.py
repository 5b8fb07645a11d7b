"""Algorithms 1-6 on Mini Cheetah, compared with finite differences and Pinocchio."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tarsus.dynamics.robot import Robot
from tarsus.errors import TarsusError
from tarsus.model.conventions import to_pinocchio
from tarsus.model.files import import_library
from tarsus.model.to_mjcf import to_mjcf
from tarsus_papers.base import Check, Exhibit, Finding, Table, Task
from tarsus_papers.paula2024.walk import LEFT_FORELEG, load_cheetah

Array = NDArray[np.float64]
STATES, QUICK_STATES = 100, 10
TOLERANCE = 1e-10  # relative to the largest entry
WEIGHTS = {1: 3 / 4, 2: -3 / 20, 3: 1 / 60}  # central differences of sixth order
STEP = 1e-3  # s
KINEMATICS, VELOCITY, GRAVITY, WRENCH, MASS, JACOBIAN = (f"Alg. {k}" for k in range(1, 7))


class DynamicTerms(Exhibit):
    """Errors of the dynamic terms relative to two independent references."""

    name: ClassVar[str] = "terms"
    title: ClassVar[str] = "Algorithms 1-6: kinematics, velocity terms, gravity, inertia, Jacobian"
    location: ClassVar[str] = "Algorithms 1-6, sections 3 and 4, appendix B"
    description: ClassVar[str] = (
        "The partitioned terms of Mini Cheetah at random states, compared with sixth-order central"
        " differences of independent quantities (positions, energies) and with Pinocchio, if it is"
        " installed. Differences are relative to the largest entry."
    )

    def measure(self, task: Task) -> Finding:
        robot, states = (
            load_cheetah(),
            _draw_states(load_cheetah(), QUICK_STATES if task.quick else STATES),
        )
        numeric = {name: _worst(check, robot, states) for name, check in BY_DIFFERENCES.items()}
        lines: list[tuple[str, float | None, float | None]] = []
        peer, notes = _by_pinocchio(robot, states), []
        if not peer:
            notes.append("Pinocchio is not installed; only finite differences are compared.")
        for name in {**numeric, **peer}:
            lines.append((name, numeric.get(name), peer.get(name)))
        worst = max(*numeric.values(), *peer.values(), 0.0)
        agreement = f"{worst:.1e} in {len(lines)} terms"
        return Finding(
            {"differences": numeric, "pinocchio": peer},
            (),
            [Table("Largest relative difference", ("", "finite differences", "Pinocchio"), lines)],
            [Check(f"all terms agree to {TOLERANCE:g}", worst < TOLERANCE, agreement)],
            notes,
        )


def _draw_states(robot: Robot, count: int) -> tuple[Array, Array]:
    """Draw coordinates (count, nq) near the stand, and velocities (count, nu) of order 1."""
    random = np.random.default_rng(2024)
    stand = np.tile(robot.keyframes["stand"], (count, 1))
    q = robot.integrate(stand, random.normal(size=(count, robot.nu)), 1.0)
    return q, random.normal(size=(count, robot.nu))


def _worst(
    check: Callable[[Robot, Array, Array], tuple[Array, Array]],
    robot: Robot,
    states: tuple[Array, Array],
) -> float:
    """Compute the largest difference of a comparison, relative to the largest entry."""
    ours, other = check(robot, *states)
    return float(np.abs(ours - other).max() / max(float(np.abs(other).max()), 1e-300))


def _rate(value: Callable[[Array], Array], robot: Robot, q: Array, u: Array) -> Array:
    """Compute the rate of change of a function of q while the robot moves with u."""
    parts = [
        weight * (value(robot.integrate(q, u, k * STEP)) - value(robot.integrate(q, u, -k * STEP)))
        for k, weight in WEIGHTS.items()
    ]
    return np.sum(parts, axis=0) / STEP


def _position(robot: Robot, q: Array, u: Array) -> tuple[Array, Array]:
    moved = _rate(lambda x: robot.position(x, LEFT_FORELEG), robot, q, u)
    return robot.velocity(q, u, LEFT_FORELEG)[:, :3], moved


def _jacobian(robot: Robot, q: Array, u: Array) -> tuple[Array, Array]:
    moved = _rate(lambda x: robot.position(x, LEFT_FORELEG), robot, q, u)
    return np.einsum("nij,nj->ni", robot.jacobian(q, LEFT_FORELEG)[:, :3], u), moved


def _gravity(robot: Robot, q: Array, u: Array) -> tuple[Array, Array]:
    return np.sum(robot.gravity(q) * u, 1), _rate(robot.potential_energy, robot, q, u)


def _mass(robot: Robot, q: Array, u: Array) -> tuple[Array, Array]:
    power = np.einsum("ni,nij,nj->n", u, robot.mass_matrix(q), u)
    return power / 2, robot.kinetic_energy(q, u)


def _velocity_terms(robot: Robot, q: Array, u: Array) -> tuple[Array, Array]:
    """Compare the power of the velocity terms with that of the inertia: u . c = 1/2 u . M' u."""
    rate = _rate(lambda x: robot.mass_matrix(x), robot, q, u)
    return np.sum(robot.velocity_terms(q, u) * u, 1), np.einsum("ni,nij,nj->n", u, rate, u) / 2


def _wrench(robot: Robot, q: Array, u: Array) -> tuple[Array, Array]:
    force = np.tile([10.0, -20.0, 30.0, 0.0, 0.0, 0.0], (len(q), 1))
    moved = _rate(lambda x: robot.position(x, LEFT_FORELEG), robot, q, u)
    return (
        np.sum(robot.external_force(q, LEFT_FORELEG, force) * u, 1),
        np.sum(force[:, :3] * moved, 1),
    )


BY_DIFFERENCES = {
    f"{KINEMATICS}, velocity of a foot": _position,
    f"{VELOCITY}, power of the velocity terms": _velocity_terms,
    f"{GRAVITY}, power of gravity": _gravity,
    f"{WRENCH}, power of a force on a foot": _wrench,
    f"{MASS}, kinetic energy": _mass,
    f"{JACOBIAN}, velocity of a foot": _jacobian,
}


def _by_pinocchio(robot: Robot, states: tuple[Array, Array]) -> dict[str, float]:
    """Compare the terms entry by entry with Pinocchio; nothing if it is not installed."""
    try:
        pin = import_library("pinocchio", "a comparison with Pinocchio", "peers")
    except TarsusError:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "robot.xml"
        path.write_text(to_mjcf(robot), encoding="utf-8")
        model: Any = pin.buildModelFromMJCF(str(path))
    data = model.createData()
    pairs: dict[str, list[tuple[Array, Array]]] = {}
    for q, u in zip(*states, strict=True):
        for name, pair in _terms_at(pin, (model, data), robot, q, u).items():
            pairs.setdefault(name, []).append(pair)
    differences = {}
    for name, both in pairs.items():
        ours, other = (np.array(part) for part in zip(*both, strict=True))
        differences[name] = float(np.abs(ours - other).max() / np.abs(other).max())
    return differences


def _terms_at(
    pin: Any, peer: tuple[Any, Any], robot: Robot, q: Array, u: Array
) -> dict[str, tuple[Array, Array]]:
    """Compute the terms of Tarsus and of Pinocchio, both in the velocities of Tarsus.

    Pinocchio's velocities are v = A u, where A rotates the linear velocity of the base.
    """
    # Pinocchio's state
    model, data = peer
    theirs, v = to_pinocchio(robot, model, q, u)
    A, A_rate_u = np.eye(robot.nu), np.zeros(robot.nu)
    A[:3, :3] = robot.rotation(q, robot.bodies[0].name).T
    A_rate_u[:3] = -np.cross(u[3:6], A[:3, :3] @ u[:3])
    mass, gravity = (
        pin.crba(model, data, theirs),
        pin.computeGeneralizedGravity(model, data, theirs),
    )
    mass = np.triu(mass) + np.triu(mass, 1).T
    bias = pin.rnea(model, data, theirs, v, A_rate_u) - gravity
    pin.forwardKinematics(model, data, theirs, v)
    shank, joint = robot.bodies[-1].name, model.getJointId(robot.joint_names[-1])
    return {
        f"{KINEMATICS}, position of a shank": (
            robot.position(q, shank),
            np.array(data.oMi[joint].translation),
        ),
        f"{VELOCITY}, velocity terms": (robot.velocity_terms(q, u), A.T @ bias),
        f"{GRAVITY}, gravity": (robot.gravity(q), A.T @ gravity),
        f"{MASS}, mass matrix": (robot.mass_matrix(q), A.T @ mass @ A),
    }
