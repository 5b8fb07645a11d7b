"""Observation terms: the quantities that a policy can observe, for many worlds at once.

To add a term, write a function here with the decorator `term`, which lists its options. It
returns an array of shape (worlds, size) in SI units, before scaling.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.errors import InvalidValue, unknown_name_error
from tarsus.policies.attitude import heading, rotations, to_heading_axes

Array = NDArray[np.float64]
MAX_STANDING_COMMAND = 1e-6  # m/s, rad/s: a command below this means to stand


@dataclass(frozen=True, eq=False)
class ObservedState:
    """State from which observation terms are computed; arrays have one row per world.

    Parameters
    ----------
    q, u : ndarray
        Coordinates, shape (worlds, nq), and velocities, shape (worlds, nu). The free joint of the
        base comes first.
    positions, velocities : ndarray
        Positions in rad and velocities in rad/s of the policy's joints, in the policy's order,
        shape (worlds, joints).
    default_positions : ndarray
        Default joint positions, shape (joints,), in rad.
    action, previous_action : ndarray
        Last and second-to-last output of the network, shape (worlds, joints), before scaling.
    command : ndarray
        Commanded velocity, shape (worlds, 3): forward and left in m/s, turning left in rad/s.
    time : float
        Time since the policy started, s.
    frames : callable
        Returns the position, shape (3,), and rotation, shape (3, 3), of a named frame of the base,
        relative to the base.
    heights : callable
        Ground height in m below points of shape (worlds, n, 2).
    contacts : ndarray
        1 for each foot that touches the ground, otherwise 0; shape (worlds, feet).
    motion : mapping
        Sample of the reference motion at `time`, by name; empty without a reference motion.
    """

    q: Array
    u: Array
    positions: Array
    velocities: Array
    default_positions: Array
    action: Array
    previous_action: Array
    command: Array
    time: float
    frames: Callable[[str], tuple[Array, Array]]
    heights: Callable[[Array], Array]
    contacts: Array
    motion: Mapping[str, Array] = field(default_factory=dict)

    @property
    def rotation(self) -> Array:
        """Rotation from base to world axes, shape (worlds, 3, 3)."""
        return rotations(self.q[:, 3:7])

    def to_base_axes(self, vectors: Array) -> Array:
        """Return vectors of shape (worlds, 3), given in world axes, in base axes."""
        return np.einsum("wji,wj->wi", self.rotation, vectors)


TermFunction = Callable[[ObservedState, Mapping[str, Any]], Array]


@dataclass(frozen=True)
class TermDefinition:
    """Definition of an observation term.

    Parameters
    ----------
    function : callable
        Computes the term, shape (worlds, size), from an `ObservedState` and the term's options.
    meaning : str
        One-line description with the unit.
    options : tuple of str
        Names of the options that the term accepts.
    """

    function: TermFunction
    meaning: str
    options: tuple[str, ...] = ()


TERMS: dict[str, TermDefinition] = {}


def term(*options: str) -> Callable[[TermFunction], TermFunction]:
    """Register a function as an observation term under its own name, with the given options."""

    def register(function: TermFunction) -> TermFunction:
        meaning = (function.__doc__ or "").strip().rstrip(".")
        TERMS[function.__name__] = TermDefinition(function, meaning, options)
        return function

    return register


@term("frame")
def base_lin_vel(state: ObservedState, options: Mapping[str, Any]) -> Array:
    """Linear velocity of the base, or of a frame on it, in its own axes, m/s."""
    velocity = state.to_base_axes(state.u[:, :3])
    if frame := options.get("frame"):
        position, rotation = state.frames(str(frame))
        velocity = (velocity + np.cross(state.u[:, 3:6], position)) @ rotation
    return velocity


@term("frame")
def base_ang_vel(state: ObservedState, options: Mapping[str, Any]) -> Array:
    """Angular velocity of the base, or of a frame on it, in its own axes, rad/s."""
    velocity = state.u[:, 3:6]
    return velocity @ state.frames(str(frame))[1] if (frame := options.get("frame")) else velocity


@term()
def world_ang_vel(state: ObservedState, options: Mapping[str, Any]) -> Array:
    """Angular velocity of the base in world axes, rad/s."""
    return np.einsum("wij,wj->wi", state.rotation, state.u[:, 3:6])


@term()
def heading_lin_vel(state: ObservedState, options: Mapping[str, Any]) -> Array:
    """Linear velocity of the base in its heading frame (yaw only), m/s."""
    return to_heading_axes(state.rotation, state.u[:, :3])


@term("frame")
def projected_gravity(state: ObservedState, options: Mapping[str, Any]) -> Array:
    """Direction of gravity (unit vector) in the axes of the base, or of a frame on it."""
    down = -state.rotation[:, 2, :]
    return down @ state.frames(str(frame))[1] if (frame := options.get("frame")) else down


@term("order")
def base_quat(state: ObservedState, options: Mapping[str, Any]) -> Array:
    """Orientation of the base as a unit quaternion, in the order wxyz or xyzw."""
    order = options.get("order", "wxyz")
    if order not in ("wxyz", "xyzw"):
        raise unknown_name_error("order of a quaternion", str(order), ("wxyz", "xyzw"))
    return state.q[:, 3:7] if order == "wxyz" else state.q[:, [4, 5, 6, 3]]


@term("axes")
def base_euler(state: ObservedState, options: Mapping[str, Any]) -> Array:
    """Roll, pitch and yaw of the base, rad; `axes` selects some of them, such as "rp"."""
    R, axes = state.rotation, str(options.get("axes", "rpy"))
    roll = np.arctan2(R[:, 2, 1], R[:, 2, 2])
    pitch = np.arcsin(np.clip(-R[:, 2, 0], -1, 1))
    angles = {"r": roll, "p": pitch, "y": np.arctan2(R[:, 1, 0], R[:, 0, 0])}
    if not axes or not set(axes) <= set("rpy"):
        raise InvalidValue(f"axes of base_euler must be letters of 'rpy', not {axes!r}.", "axes")
    return np.stack([angles[axis] for axis in axes], axis=1)


@term()
def base_height(state: ObservedState, options: Mapping[str, Any]) -> Array:
    """Height of the base above the ground, m."""
    return state.q[:, 2:3] - state.heights(state.q[:, None, :2])


@term("order")
def command(state: ObservedState, options: Mapping[str, Any]) -> Array:
    """Commanded velocity: forward and left, m/s, and yaw rate, rad/s; `order` permutes them."""
    order = [int(k) for k in options.get("order", (0, 1, 2))]
    if sorted(order) != [0, 1, 2]:
        raise InvalidValue(
            f"order of command must be a permutation of 0, 1 and 2, not {order}.", "order"
        )
    return state.command[:, order]


@term()
def command_lin_vel(state: ObservedState, options: Mapping[str, Any]) -> Array:
    """Commanded velocity, forward and left, m/s."""
    return state.command[:, :2]


@term()
def command_ang_vel(state: ObservedState, options: Mapping[str, Any]) -> Array:
    """Commanded yaw rate, rad/s."""
    return state.command[:, 2:]


@term()
def joint_pos_rel(state: ObservedState, options: Mapping[str, Any]) -> Array:
    """Joint positions relative to the default positions, rad."""
    return state.positions - state.default_positions


@term()
def joint_pos(state: ObservedState, options: Mapping[str, Any]) -> Array:
    """Joint positions, rad."""
    return state.positions


@term()
def joint_vel(state: ObservedState, options: Mapping[str, Any]) -> Array:
    """Joint velocities, rad/s."""
    return state.velocities


@term()
def last_action(state: ObservedState, options: Mapping[str, Any]) -> Array:
    """Last action of the network."""
    return state.action


@term()
def previous_action(state: ObservedState, options: Mapping[str, Any]) -> Array:
    """Second-to-last action of the network."""
    return state.previous_action


@term("period", "phases", "standing")
def sin_phase(state: ObservedState, options: Mapping[str, Any]) -> Array:
    """Sine of the gait phase of each foot."""
    return np.sin(_phase(state, options))


@term("period", "phases", "standing")
def cos_phase(state: ObservedState, options: Mapping[str, Any]) -> Array:
    """Cosine of the gait phase of each foot."""
    return np.cos(_phase(state, options))


@term()
def foot_contacts(state: ObservedState, options: Mapping[str, Any]) -> Array:
    """1 for each foot that touches the ground, otherwise 0."""
    return state.contacts


@term("length", "width", "spacing", "offset")
def height_scan(state: ObservedState, options: Mapping[str, Any]) -> Array:
    """Height of the base above a grid of ground points around it, minus `offset`, m."""
    length, width = float(options.get("length", 1.6)), float(options.get("width", 1.0))
    spacing, offset = float(options.get("spacing", 0.1)), float(options.get("offset", 0.5))
    if not (spacing > 0 and length >= 0 and width >= 0 and length * width < 1e4 * spacing**2):
        raise InvalidValue(
            "height_scan needs a positive spacing and at most 10,000 points.", "height_scan"
        )
    x = np.arange(-length / 2, length / 2 + 1e-9, spacing)
    y = np.arange(-width / 2, width / 2 + 1e-9, spacing)
    grid = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
    c, s = heading(state.rotation)
    turned = np.stack(
        [
            np.outer(c, grid[:, 0]) - np.outer(s, grid[:, 1]),
            np.outer(s, grid[:, 0]) + np.outer(c, grid[:, 1]),
        ],
        axis=-1,
    )
    return state.q[:, 2:3] - state.heights(state.q[:, None, :2] + turned) - offset


@term("values")
def constant(state: ObservedState, options: Mapping[str, Any]) -> Array:
    """Constant values."""
    values = np.atleast_1d(np.asarray(options.get("values", 0.0), float))
    return np.broadcast_to(values, (len(state.q), values.size))


@term()
def motion_joint_pos(state: ObservedState, options: Mapping[str, Any]) -> Array:
    """Joint positions of the reference motion, rad."""
    return _reference(state, "joint_pos")


@term()
def motion_joint_vel(state: ObservedState, options: Mapping[str, Any]) -> Array:
    """Joint velocities of the reference motion, rad/s."""
    return _reference(state, "joint_vel")


@term()
def motion_anchor_pos(state: ObservedState, options: Mapping[str, Any]) -> Array:
    """Position of the reference motion's base relative to the base, in base axes, m."""
    return state.to_base_axes(_reference(state, "base_pos") - state.q[:, :3])


@term()
def motion_anchor_ori(state: ObservedState, options: Mapping[str, Any]) -> Array:
    """First two columns of the rotation from the base to the reference motion's base, by rows."""
    goal = rotations(_reference(state, "base_quat"))
    relative = np.einsum("wji,wjk->wik", state.rotation, goal)
    return relative[:, :, :2].reshape(len(relative), 6)


def _reference(state: ObservedState, name: str) -> Array:
    if name not in state.motion:
        raise InvalidValue(
            f"the terms of this policy follow a reference motion: set motion to an .npz file that"
            f" holds {name!r}.",
            "motion",
        )
    return np.broadcast_to(state.motion[name], (len(state.q), state.motion[name].shape[-1]))


def _phase(state: ObservedState, options: Mapping[str, Any]) -> Array:
    """Compute the gait phase, shape (worlds, feet), in [-pi, pi) rad.

    While the command is to stand, the phase is the option `standing`, if set.
    """
    period = float(options.get("period", 1.0))
    if not period > 0:
        raise InvalidValue(f"period of the gait must be positive, not {period:g}.", "period")
    offsets = np.atleast_1d(np.asarray(options.get("phases", 0.0), float))
    phase = np.mod(offsets + 2 * np.pi * state.time / period + np.pi, 2 * np.pi) - np.pi
    phase = np.broadcast_to(phase, (len(state.q), offsets.size))
    if "standing" not in options:
        return phase
    stands = (np.abs(state.command) < MAX_STANDING_COMMAND).all(1, keepdims=True)
    return np.where(stands, float(options["standing"]), phase)
