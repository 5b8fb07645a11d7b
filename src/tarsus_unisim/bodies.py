"""Poses and velocities of bodies and frames in many worlds, in the link frames of the robot's file.

Bodies are numbered as in `Mechanism.bodies`, without the world. They are followed by the frames of
the file: sites, and links that are fixed to others, so that each link has a pose. Only bodies have
masses.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from tarsus.dynamics.kinematics import kinematics
from tarsus.model.mechanism import Frame, Mechanism
from tarsus.program.ir.trace import Builder
from tarsus.program.run.worlds import Worlds
from tarsus.sensing.frame_motion import frame_state

Array = NDArray[Any]
SCALAR = ("hinge", "slide")
WIDTH = 13  # of a frame's state: position, quaternion, velocity, angular velocity
CACHE_SIZE = 32  # compiled selections of bodies; the oldest are removed first


class BodyStates:
    """Poses and velocities of bodies and frames in many worlds; each selection is compiled once."""

    def __init__(self, mechanism: Mechanism, worlds: int, threads: int) -> None:
        self.mechanism, self._size = mechanism, (worlds, threads)
        links = [link_frame(mechanism, i) for i in range(len(mechanism.bodies))]
        others = {frame.name: frame for frame in mechanism.frames}
        extra = [others[name] for name in others if name not in mechanism.body_names]
        self.frames = (*links, *extra)
        self.names = (*mechanism.body_names, *(frame.name for frame in extra))
        self._compiled: dict[tuple[int, ...], Worlds] = {}

    def __call__(self, ids: Sequence[int] | Array, q: Array, u: Array) -> Array:
        """Return the states of bodies or frames, shape (worlds, len(ids), 13), world axes.

        A state is position, quaternion (w, x, y, z), velocity of the origin and angular velocity,
        at q, shape (worlds, nq), and u, shape (worlds, nu).
        """
        chosen = tuple(int(k) for k in np.asarray(ids).reshape(-1))
        if any(not 0 <= k < len(self.frames) for k in chosen):
            raise ValueError(f"body ids must lie in [0, {len(self.frames)}), not {list(chosen)}.")
        if not chosen:
            return np.zeros((self._size[0], 0, WIDTH))
        worlds = self._compile(chosen)
        worlds.set("q", q)
        worlds.set("u", u)
        worlds.advance()
        return worlds.get("motion").reshape(self._size[0], len(chosen), WIDTH)

    def _compile(self, chosen: tuple[int, ...]) -> Worlds:
        if chosen not in self._compiled:
            builder, robot = Builder("bodies"), self.mechanism
            state = builder.parameter("q", robot.nq), builder.parameter("u", robot.nu)
            kin = kinematics(robot, *state)
            states = ca.vertcat(*(frame_state(kin, self.frames[k]) for k in chosen))
            if len(self._compiled) >= CACHE_SIZE:
                del self._compiled[next(iter(self._compiled))]
            count, threads = self._size
            program = builder.program(motion=states)
            self._compiled[chosen] = Worlds(program, count, threads=threads)
        return self._compiled[chosen]


def link_frame(mechanism: Mechanism, number: int) -> Frame:
    """Return the frame of a body as in its file; Tarsus puts body frames at their joints."""
    name = mechanism.bodies[number].name
    origins = [f for f in mechanism.frames if f.body == number and f.name == f"{name}/origin"]
    return origins[0] if origins else Frame(name, number)


def dof_values(robot: Mechanism, field: str) -> Array:
    """Return a number of the model's joints, shape (nv,); zero except for hinges and slides."""
    values = np.zeros(robot.nu)
    for body, columns in zip(robot.bodies, robot.u_slices, strict=True):
        if body.joint.kind in SCALAR:
            values[columns] = getattr(body.joint, field)
    return values


def center_in_link(mechanism: Mechanism, number: int) -> Array:
    """Return the center of mass of a body in its link frame, shape (3,), in m."""
    body, frame = mechanism.bodies[number], link_frame(mechanism, number)
    return frame.rotation.T @ (body.inertia.com - frame.position)


def from_link(mechanism: Mechanism, number: int, point: Array) -> Array:
    """Return a point of a link, shape (..., 3), in the frame of its body."""
    frame = link_frame(mechanism, number)
    return point @ frame.rotation.T + frame.position
