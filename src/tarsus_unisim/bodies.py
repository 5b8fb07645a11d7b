"""Poses and velocities of bodies and frames of many worlds; what a file calls a link's own frame.

Bodies are numbered as in `Mechanism.bodies`, without the world; behind them stand the frames that
its file names, sites and links that a fixed joint welded on, so that every link has a pose. Only
bodies proper have masses.
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
KEPT = 32  # compiled selections of bodies; the oldest go first


class BodyStates:
    """Poses and velocities of bodies and frames of many worlds; each selection is compiled once."""

    def __init__(self, mechanism: Mechanism, worlds: int, threads: int) -> None:
        self.mechanism, self._size = mechanism, (worlds, threads)
        own = [link(mechanism, i) for i in range(len(mechanism.bodies))]
        others = {frame.name: frame for frame in mechanism.frames}
        extra = [others[name] for name in others if name not in mechanism.body_names]
        self.frames = (*own, *extra)
        self.names = (*mechanism.body_names, *(frame.name for frame in extra))
        self._compiled: dict[tuple[int, ...], Worlds] = {}

    def __call__(self, ids: Sequence[int] | Array, q: Array, u: Array) -> Array:
        """(worlds, len(ids), 13), world axes: position, quaternion (w, x, y, z), velocity of the
        origin, angular velocity, at q (worlds, nq) and u (worlds, nu).
        """
        chosen = tuple(int(k) for k in np.asarray(ids).reshape(-1))
        if any(not 0 <= k < len(self.frames) for k in chosen):
            raise ValueError(f"body ids must lie in [0, {len(self.frames)}), not {list(chosen)}.")
        if not chosen:
            return np.zeros((self._size[0], 0, WIDTH))
        worlds = self._of(chosen)
        worlds.set("q", q)
        worlds.set("u", u)
        worlds.advance()
        return worlds.get("motion").reshape(self._size[0], len(chosen), WIDTH)

    def _of(self, chosen: tuple[int, ...]) -> Worlds:
        if chosen not in self._compiled:
            builder, robot = Builder("bodies"), self.mechanism
            state = builder.parameter("q", robot.nq), builder.parameter("u", robot.nu)
            kin = kinematics(robot, *state)
            told = ca.vertcat(*(frame_state(kin, self.frames[k]) for k in chosen))
            if len(self._compiled) >= KEPT:
                del self._compiled[next(iter(self._compiled))]
            count, threads = self._size
            program = builder.program(motion=told)
            self._compiled[chosen] = Worlds(program, count, threads=threads)
        return self._compiled[chosen]


def link(mechanism: Mechanism, number: int) -> Frame:
    """A body's frame as its file has it: our bodies' frames sit at their joints."""
    name = mechanism.bodies[number].name
    drawn = [f for f in mechanism.frames if f.body == number and f.name == f"{name}/origin"]
    return drawn[0] if drawn else Frame(name, number)


def of_dofs(robot: Mechanism, field: str) -> Array:
    """A number of the joints as they were made, (nv,); zero of what is no hinge or slide."""
    found = np.zeros(robot.nu)
    for body, at in zip(robot.bodies, robot.u_slices, strict=True):
        if body.joint.kind in SCALAR:
            found[at] = getattr(body.joint, field)
    return found


def center_in_link(mechanism: Mechanism, number: int) -> Array:
    """A body's center of mass (3,) in its link's frame, m."""
    body, frame = mechanism.bodies[number], link(mechanism, number)
    return frame.rotation.T @ (body.inertia.com - frame.position)


def from_link(mechanism: Mechanism, number: int, point: Array) -> Array:
    """A point (..., 3) of a link in the frame of its body."""
    frame = link(mechanism, number)
    return point @ frame.rotation.T + frame.position
