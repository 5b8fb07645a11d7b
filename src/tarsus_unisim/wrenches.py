"""Forces and torques on bodies for the next `step`.

The forces of the interface act at a body's center of mass, those of Tarsus at its origin. The
moment of one about the other is computed before each step.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.simulation.simulation import Simulation
from tarsus_unisim.bodies import BodyStates, link_frame
from tarsus_unisim.model import UnsupportedError
from tarsus_unisim.tables import ModelTables

Array = NDArray[Any]


class Wrenches:
    """Wrenches on the bodies listed in `pushes`.

    Attributes
    ----------
    staged
        Force (N) at the center of mass and torque (N m) about it, (worlds, n, 6), world axes.
    """

    def __init__(self, simulation: Simulation, bodies: BodyStates, tables: ModelTables) -> None:
        self.simulation, self._states, self._tables = simulation, bodies, tables
        names = simulation.plan.pushed_bodies
        self.bodies = [simulation.robot.body_index(name) for name in names]
        self.staged = np.zeros((simulation.worlds, len(names), 6))
        self._active = False

    def wrenches_of(self, body_ids: Any, force: Any, torque: Any) -> Array:
        """Return the wrenches for forces and torques, (worlds, k, 3) or None, on bodies by index.

        Raises
        ------
        UnsupportedError
            For a body that is not listed in `pushes`.
        """
        wrenches = np.zeros_like(self.staged)
        numbers = [int(k) for k in np.asarray(body_ids).reshape(-1)]
        shape = (len(wrenches), len(numbers), 3)
        for values, columns in ((force, slice(0, 3)), (torque, slice(3, 6))):
            if values is None:
                continue
            array = np.asarray(values, float)
            if array.shape != shape or not np.isfinite(array).all():
                raise ValueError(f"forces and torques must be finite, of shape {shape}.")
            for k, number in enumerate(numbers):
                wrenches[:, self._column(number), columns] += array[:, k]
        return wrenches

    def _column(self, number: int) -> int:
        if number not in self.bodies:
            names = self._states.names
            name = names[number] if 0 <= number < len(names) else str(number)
            raise UnsupportedError(f"the body {name!r} accepts no forces: list it in pushes=[...].")
        return self.bodies.index(number)

    @property
    def idle(self) -> bool:
        """Whether no force is staged or active in the next step."""
        return not self._active and not self.staged.any()

    def write(self, q: Array, u: Array, extra: Array | None = None) -> None:
        """Write the staged wrenches, and `also`, into the register of the next step."""
        wrench = self.staged if extra is None else self.staged + extra
        force, torque = wrench[..., :3], wrench[..., 3:]
        moment = torque + np.cross(self._arms(q, u), force)
        push = np.concatenate([force, moment], axis=-1)
        self.simulation.backend.set("push", push.reshape(len(push), -1))
        self._active = bool(wrench.any())

    def _arms(self, q: Array, u: Array) -> Array:
        """Return the vectors from origins to centers of mass, (worlds, n, 3), in m, world axes."""
        robot, arms = self.simulation.robot, []
        for number in self.bodies:
            center = self._tables.center(number)
            arms.append(np.broadcast_to(center, (len(q), 3)) @ link_frame(robot, number).rotation)
        p = self._states(self.bodies, q, u)[..., 3:7]
        w, axis, arm = p[..., :1], p[..., 1:], np.stack(arms, axis=1)
        across = np.cross(axis, arm)
        return arm + 2 * (w * across + np.cross(axis, across))

    def release(self) -> None:
        """Remove all forces, now and in the next step."""
        self.clear()
        if self._active:
            self.simulation.backend.set("push", np.zeros(6 * len(self.bodies)))
            self._active = False

    def clear(self, where: Array | None = None) -> None:
        """Remove the staged forces, in all worlds or those of a mask."""
        self.staged[slice(None) if where is None else where] = 0
