"""Inverse kinematics of frames by damped least squares with joint limits.

Each iteration solves min |J du - e|^2 + lambda |du|^2 (Levenberg-Marquardt). Joints that would pass
a limit move to it and no further; the others are solved again for what is left of the error. A step
that increases the error is repeated with more damping. All states of a batch are solved at once.

References
----------
Nocedal and Wright 2006, section 10.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from tarsus.dynamics.integrate import integrate
from tarsus.dynamics.symbolic import SymbolicRobot
from tarsus.errors import InvalidValue, Unsupported

Array = NDArray[np.float64]
FIRST_DAMPING = 1e-3
MIN_DAMPING, MAX_DAMPING = 1e-12, 1e6
LESS_DAMPING, MORE_DAMPING = 0.2, 5.0  # factors after a better and a worse step
MAX_SOLVES = 8  # per iteration, each with more joints at their limits
ROTATION_TOLERANCE = 1e-6  # on R^T R = 1 of a target


@dataclass(frozen=True, eq=False)
class InverseKinematicsResult:
    """Coordinates that bring frames to their targets, or as near as possible.

    Attributes
    ----------
    q
        Coordinates, shape (nq,) or (N, nq).
    error
        Largest error of a position (m) or rotation (rad), shape () or (N,).
    reached
        Whether the error is within the tolerance, shape () or (N,).
    """

    q: Array
    error: Array
    reached: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class FrameTarget:
    """Pose of a frame for one state or each of N: position, and rotation unless it is free.

    Attributes
    ----------
    name
        Frame, body or contact candidate.
    position
        In m, world frame, shape (N, 3) or (1, 3).
    rotation
        From the frame to the world, shape (N, 3, 3) or (1, 3, 3), or None.
    """

    name: str
    position: Array
    rotation: Array | None

    @property
    def count(self) -> int | None:
        """Number of states, None if the same pose serves every state."""
        counts = {len(each) for each in (self.position, self.rotation) if each is not None} - {1}
        return max(counts, default=None)


def read_target(name: str, value: object) -> FrameTarget:
    """Check a target: a position, or a pair of a position and a rotation matrix.

    Raises
    ------
    InvalidValue
        If it has another shape, is not finite, or is not a rotation.
    """
    pose = value if isinstance(value, tuple) and len(value) == 2 else (value, None)
    position = _read_numbers(name, pose[0], (3,))
    if pose[1] is None:
        return FrameTarget(name, position, None)
    rotation = _read_numbers(name, pose[1], (3, 3))
    error = np.abs(rotation.transpose(0, 2, 1) @ rotation - np.eye(3)).max()
    if error > ROTATION_TOLERANCE or (np.linalg.det(rotation) < 0).any():
        raise InvalidValue(f"the target of {name!r} must have a rotation matrix.", name)
    return FrameTarget(name, position, rotation)


def inverse_kinematics(
    symbolic: SymbolicRobot,
    q: Array,
    targets: Mapping[str, object],
    *,
    move_base: bool,
    iterations: int,
    tolerance: float,
) -> InverseKinematicsResult:
    """Find coordinates that bring frames to targets; see `Robot.inverse_kinematics`.

    Parameters
    ----------
    symbolic
        Functions of a robot without loops.
    q
        Coordinates to start from, shape (nq,) or (N, nq).
    targets
        Position, or pair of position and rotation, by frame.
    move_base
        Whether floating bases move.
    iterations
        Largest number of iterations.
    tolerance
        Largest error that counts as reached, in m and rad.

    Returns
    -------
    InverseKinematicsResult
        Coordinates, errors and whether they are within the tolerance.
    """
    mechanism = symbolic.mechanism
    if mechanism.constrained:
        raise Unsupported(
            f"inverse kinematics does not support loops and mimic joints, which {mechanism.name!r}"
            " has: solve for its tree, then call `close_loops`.",
            mechanism.name,
        )
    if not targets:
        raise InvalidValue("targets must name at least one frame.", "targets")
    requested = [read_target(name, given) for name, given in targets.items()]
    counts = {target.count for target in requested} | {len(q) if q.ndim == 2 else None}
    if len(counts - {None}) > 1:
        raise InvalidValue("all batches must have the same number of states.", "targets")
    count = max((each for each in counts if each is not None), default=None)
    search = _Search(symbolic, requested, move_base)
    states, error = search.run(np.atleast_2d(q), count or 1, iterations, tolerance)
    if count is None:
        return InverseKinematicsResult(states[0], error[0], error[0] <= tolerance)
    return InverseKinematicsResult(states, error, error <= tolerance)


class _Search:
    """Levenberg-Marquardt search for all states of a batch."""

    def __init__(
        self, symbolic: SymbolicRobot, targets: list[FrameTarget], move_base: bool
    ) -> None:
        self.mechanism = mechanism = symbolic.mechanism
        self.symbolic, self.targets = symbolic, targets
        self.lower, self.upper = np.full((2, mechanism.nu), np.inf) * [[-1], [1]]
        self.can_move = np.ones(mechanism.nu, dtype=bool)
        self.columns = np.zeros(mechanism.nu, dtype=int)  # of q, where a joint has limits
        for body, in_q, in_u in zip(
            mechanism.bodies, mechanism.q_slices, mechanism.u_slices, strict=True
        ):
            if body.joint.kind == "free":
                self.can_move[in_u] = move_base
            elif body.joint.kind in ("hinge", "slide"):
                self.lower[in_u], self.upper[in_u] = body.joint.lower, body.joint.upper
                self.columns[in_u] = in_q.start

    def run(
        self, start: Array, count: int, iterations: int, tolerance: float
    ) -> tuple[Array, Array]:
        """Search from `start`; return coordinates (count, nq) and errors (count,)."""
        q = self._clip_to_limits(np.array(np.broadcast_to(start, (count, self.mechanism.nq))))
        damping = np.full(count, FIRST_DAMPING)
        error, J = self._errors(q)
        for _ in range(iterations):
            active = (self._largest(error) > 1e-3 * tolerance) & (damping < MAX_DAMPING)
            if not active.any():
                break
            step = self._step(q, error, J, damping)
            trial = integrate(self.mechanism, q, np.where(active[:, None], step, 0.0), 1.0)
            trial = self._clip_to_limits(trial)
            next_error, next_J = self._errors(trial)
            better = active & ((next_error**2).sum(1) < (error**2).sum(1))
            q = np.where(better[:, None], trial, q)
            error = np.where(better[:, None], next_error, error)
            J = np.where(better[:, None, None], next_J, J)
            damping *= np.where(better, LESS_DAMPING, np.where(active, MORE_DAMPING, 1.0))
            damping = np.maximum(damping, MIN_DAMPING)
        return q, self._largest(error)

    def _clip_to_limits(self, q: Array) -> Array:
        """Clip the coordinates of hinges and slides to their ranges."""
        limited = np.isfinite(self.lower) | np.isfinite(self.upper)
        columns = self.columns[limited]
        q[:, columns] = np.clip(q[:, columns], self.lower[limited], self.upper[limited])
        return q

    def _step(self, q: Array, error: Array, J: Array, damping: Array) -> Array:
        """Compute the damped step (N, nu), with joints at their limits held there."""
        coordinates = q[:, self.columns]
        low, high = self.lower - coordinates, self.upper - coordinates
        free = np.broadcast_to(self.can_move, low.shape).copy()
        step = np.zeros_like(low)
        for _ in range(MAX_SOLVES):
            rest = error - (J @ (step * ~free)[..., None])[..., 0]
            open_J = J * free[:, None, :]
            A = open_J @ open_J.transpose(0, 2, 1) + damping[:, None, None] * np.eye(J.shape[1])
            solved = np.linalg.solve(A, rest[..., None])
            step = np.where(free, (open_J.transpose(0, 2, 1) @ solved)[..., 0], step)
            beyond = free & ((step < low) | (step > high))
            step = np.clip(step, low, high)
            if not beyond.any():
                break
            free &= ~beyond
        return step

    def _errors(self, q: Array) -> tuple[Array, Array]:
        """Compute the errors (N, m) of all targets, world axes, and their Jacobians (N, m, nu)."""
        errors, jacobians = [], []
        for target in self.targets:
            position = self.symbolic.position(target.name)(q.T).full()
            J = self.symbolic.jacobian(target.name)(q.T).full()
            J = J.reshape(6, len(q), self.mechanism.nu).transpose(1, 0, 2)
            errors.append(target.position - position.T)
            if target.rotation is not None:
                rotation = self.symbolic.rotation(target.name)(q.T).full()
                R = rotation.reshape(3, len(q), 3).transpose(1, 0, 2)
                turn = target.rotation @ R.transpose(0, 2, 1)
                errors.append(Rotation.from_matrix(turn).as_rotvec())
            jacobians.append(J[:, : 3 if target.rotation is None else 6])
        return np.concatenate(errors, axis=1), np.concatenate(jacobians, axis=1)

    @staticmethod
    def _largest(error: Array) -> Array:
        """Compute the largest length of a position or rotation error of each state, (N,)."""
        return np.linalg.norm(error.reshape(len(error), -1, 3), axis=2).max(1)


def _read_numbers(name: str, value: object, shape: tuple[int, ...]) -> Array:
    """Read an array of a shape, or N of them; return (N, *shape)."""
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        array = np.empty(0)
    if array.shape[-len(shape) :] != shape or array.ndim > len(shape) + 1:
        raise InvalidValue(
            f"the target of {name!r} must be a position (3,) or (N, 3), or a tuple of a position"
            " and a rotation matrix (3, 3) or (N, 3, 3).",
            name,
        )
    if not np.isfinite(array).all():
        raise InvalidValue(f"the target of {name!r} must be finite.", name)
    return array.reshape(-1, *shape)
