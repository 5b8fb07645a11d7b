"""The parts of an observation: what a policy may see of a robot, for many worlds at once.

To add a term: one function here with the decorator `term`, which lists its options. It returns an
array (worlds, size) in SI units, before scaling.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.errors import InvalidValue, unknown_name
from tarsus.policies.attitude import heading, rotations, to_heading_axes

Array = NDArray[np.float64]
MAX_STANDING_COMMAND = 1e-6  # m/s, rad/s: a command below this is to stand


@dataclass(frozen=True, eq=False)
class ObservedState:
    """What terms look at; every array has one row for each world.

    Parameters
    ----------
    q, u : ndarray
        Coordinates (worlds, nq) and velocities (worlds, nu), with a free joint first.
    positions, rates : ndarray
        Of the policy's joints, in its order, rad and rad/s.
    default : ndarray
        Default positions (joints,), rad.
    action, previous : ndarray
        The last action and the one before (worlds, joints), as the network gave them.
    command : ndarray
        Velocity asked for (worlds, 3): forward, to the left, m/s, and turning left, rad/s.
    time : float
        Since the policy began, s.
    frames : mapping
        Position (3,) and rotation (3, 3) of frames of the base, by name, in the base's axes.
    heights : callable
        Returns the ground's height, m, below points (worlds, n, 2).
    contacts : ndarray
        Whether each foot touches the ground (worlds, feet), 0 or 1.
    motion : ReferenceMotion or None
        A reference motion at this instant.
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
        """From the base's axes to the world's (worlds, 3, 3)."""
        return rotations(self.q[:, 3:7])

    def in_base(self, vectors: Array) -> Array:
        """Vectors (worlds, 3) of the world in the base's axes."""
        return np.einsum("wji,wj->wi", self.rotation, vectors)


TermFunction = Callable[[ObservedState, Mapping[str, Any]], Array]


@dataclass(frozen=True)
class TermDefinition:
    """A kind of term.

    Parameters
    ----------
    function : callable
        Returns the numbers (worlds, size) from a view and the term's options.
    meaning : str
        In half a sentence, with the unit.
    options : tuple of str
        Names of what may be set.
    """

    function: TermFunction
    meaning: str
    options: tuple[str, ...] = ()


TERMS: dict[str, TermDefinition] = {}


def term(*options: str) -> Callable[[TermFunction], TermFunction]:
    """Enter a function among the terms, under its own name, with the names of its options."""

    def register(function: TermFunction) -> TermFunction:
        meaning = (function.__doc__ or "").strip().rstrip(".")
        TERMS[function.__name__] = TermDefinition(function, meaning, options)
        return function

    return register


@term("frame")
def base_lin_vel(state: ObservedState, options: Mapping[str, Any]) -> Array:
    """Velocity of the base, or of a frame on it, in its own axes, m/s."""
    velocity = state.in_base(state.u[:, :3])
    if frame := options.get("frame"):
        position, rotation = state.frames(str(frame))
        velocity = (velocity + np.cross(state.u[:, 3:6], position)) @ rotation
    return velocity


@term("frame")
def base_ang_vel(state: ObservedState, options: Mapping[str, Any]) -> Array:
    """Angular velocity of the base, or of a frame on it, in its own axes, rad/s."""
    turning = state.u[:, 3:6]
    return turning @ state.frames(str(frame))[1] if (frame := options.get("frame")) else turning


@term()
def world_ang_vel(state: ObservedState, options: Mapping[str, Any]) -> Array:
    """Angular velocity of the base in the world's axes, rad/s."""
    return np.einsum("wij,wj->wi", state.rotation, state.u[:, 3:6])


@term()
def heading_lin_vel(state: ObservedState, options: Mapping[str, Any]) -> Array:
    """Velocity of the base in axes that turn with its heading alone, m/s."""
    return to_heading_axes(state.rotation, state.u[:, :3])


@term("frame")
def projected_gravity(state: ObservedState, options: Mapping[str, Any]) -> Array:
    """Direction of gravity in the axes of the base, or of a frame on it."""
    down = -state.rotation[:, 2, :]
    return down @ state.frames(str(frame))[1] if (frame := options.get("frame")) else down


@term("order")
def base_quat(state: ObservedState, options: Mapping[str, Any]) -> Array:
    """Orientation of the base as a unit quaternion; order is wxyz or xyzw."""
    order = options.get("order", "wxyz")
    if order not in ("wxyz", "xyzw"):
        raise unknown_name("order of a quaternion", str(order), ("wxyz", "xyzw"))
    return state.q[:, 3:7] if order == "wxyz" else state.q[:, [4, 5, 6, 3]]


@term("axes")
def base_euler(state: ObservedState, options: Mapping[str, Any]) -> Array:
    """Roll, pitch and yaw of the base, rad; axes names those that are seen."""
    R, axes = state.rotation, str(options.get("axes", "rpy"))
    roll = np.arctan2(R[:, 2, 1], R[:, 2, 2])
    pitch = np.arcsin(np.clip(-R[:, 2, 0], -1, 1))
    angles = {"r": roll, "p": pitch, "y": np.arctan2(R[:, 1, 0], R[:, 0, 0])}
    if not axes or not set(axes) <= set("rpy"):
        raise InvalidValue(f"axes of base_euler must be letters of 'rpy', not {axes!r}.", "axes")
    return np.stack([angles[axis] for axis in axes], axis=1)


@term()
def base_height(state: ObservedState, options: Mapping[str, Any]) -> Array:
    """Height of the base above the ground below it, m."""
    return state.q[:, 2:3] - state.heights(state.q[:, None, :2])


@term("order")
def command(state: ObservedState, options: Mapping[str, Any]) -> Array:
    """Velocity asked for, forward and to the left, m/s, and turning, rad/s; order: of the three."""
    order = [int(k) for k in options.get("order", (0, 1, 2))]
    if sorted(order) != [0, 1, 2]:
        raise InvalidValue(f"order of command must be 0, 1 and 2, not {order}.", "order")
    return state.command[:, order]


@term()
def command_lin_vel(state: ObservedState, options: Mapping[str, Any]) -> Array:
    """Commanded velocity forward and to the left, m/s."""
    return state.command[:, :2]


@term()
def command_ang_vel(state: ObservedState, options: Mapping[str, Any]) -> Array:
    """Commanded yaw rate, rad/s."""
    return state.command[:, 2:]


@term()
def joint_pos_rel(state: ObservedState, options: Mapping[str, Any]) -> Array:
    """Joint positions from the default ones, rad."""
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
    """Sine of the gait's phase, one number per foot."""
    return np.sin(_phase(state, options))


@term("period", "phases", "standing")
def cos_phase(state: ObservedState, options: Mapping[str, Any]) -> Array:
    """Cosine of the gait's phase, one number per foot."""
    return np.cos(_phase(state, options))


@term()
def foot_contacts(state: ObservedState, options: Mapping[str, Any]) -> Array:
    """Whether each foot touches the ground, 0 or 1."""
    return state.contacts


@term("length", "width", "spacing", "offset")
def height_scan(state: ObservedState, options: Mapping[str, Any]) -> Array:
    """Height of the base above the ground at a grid around it, m; offset is subtracted."""
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
    """Numbers that never change."""
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
    """Where the base of the reference motion is, in the base's axes, m."""
    return state.in_base(_reference(state, "base_pos") - state.q[:, :3])


@term()
def motion_anchor_ori(state: ObservedState, options: Mapping[str, Any]) -> Array:
    """Two columns of the rotation from the base to that of the reference motion."""
    goal = rotations(_reference(state, "base_quat"))
    turned = np.einsum("wji,wjk->wik", state.rotation, goal)
    return turned[:, :, :2].reshape(len(turned), 6)


def _reference(state: ObservedState, name: str) -> Array:
    if name not in state.motion:
        raise InvalidValue(
            f"the contract has terms of a reference motion: name a file with {name!r} as its"
            " motion.",
            "motion",
        )
    return np.broadcast_to(state.motion[name], (len(state.q), state.motion[name].shape[-1]))


def _phase(state: ObservedState, options: Mapping[str, Any]) -> Array:
    """Compute the gait's phase (worlds, feet), rad, in [-pi, pi); at rest it is `standing`."""
    period = float(options.get("period", 1.0))
    if not period > 0:
        raise InvalidValue(f"period of a gait must be positive, not {period:g}.", "period")
    begin = np.atleast_1d(np.asarray(options.get("phases", 0.0), float))
    phase = np.mod(begin + 2 * np.pi * state.time / period + np.pi, 2 * np.pi) - np.pi
    phase = np.broadcast_to(phase, (len(state.q), begin.size))
    if "standing" not in options:
        return phase
    stands = (np.abs(state.command) < MAX_STANDING_COMMAND).all(1, keepdims=True)
    return np.where(stands, float(options["standing"]), phase)
