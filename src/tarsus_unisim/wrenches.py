"""Forces and torques on bodies for the next call of `step`, as `unisim` has them.

The contract's forces act at a body's center of mass, ours at its origin: the moment of the one
about the other is found anew before every step.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.simulation.simulation import Simulation
from tarsus_unisim.bodies import BodyStates, link
from tarsus_unisim.model import UnsupportedError
from tarsus_unisim.tables import ModelTables

Array = NDArray[Any]


class Wrenches:
    """Of the bodies that a simulation was told may be pushed.

    staged (worlds, n, 6): force (N) at the center of mass and torque (N m) about it, world axes
    """

    def __init__(self, simulation: Simulation, bodies: BodyStates, tables: ModelTables) -> None:
        self.simulation, self._states, self._tables = simulation, bodies, tables
        names = simulation.plan.pushed_bodies
        self.bodies = [simulation.robot.body_index(name) for name in names]
        self.staged = np.zeros((simulation.worlds, len(names), 6))
        self._held = False

    def of(self, body_ids: Any, force: Any, torque: Any) -> Array:
        """Staged for bodies by number (k,), forces and torques (worlds, k, 3) or None, and zero for
        the others; UnsupportedError for a body that was not named in `pushes`.
        """
        found = np.zeros_like(self.staged)
        numbers = [int(k) for k in np.asarray(body_ids).reshape(-1)]
        shape = (len(found), len(numbers), 3)
        for values, at in ((force, slice(0, 3)), (torque, slice(3, 6))):
            if values is None:
                continue
            array = np.asarray(values, float)
            if array.shape != shape or not np.isfinite(array).all():
                raise ValueError(f"forces and torques must be finite, of shape {shape}.")
            for k, number in enumerate(numbers):
                found[:, self._column(number), at] += array[:, k]
        return found

    def _column(self, number: int) -> int:
        if number not in self.bodies:
            names = self._states.names
            name = names[number] if 0 <= number < len(names) else str(number)
            raise UnsupportedError(f"the body {name!r} takes no forces: name it in pushes=[...].")
        return self.bodies.index(number)

    @property
    def idle(self) -> bool:
        """Whether nothing is staged, nor stands in the register of the next step."""
        return not self._held and not self.staged.any()

    def into_step(self, q: Array, u: Array, also: Array | None = None) -> None:
        """The register of the next step at q (worlds, nq), u: what is staged, and `also`."""
        wrench = self.staged if also is None else self.staged + also
        force, torque = wrench[..., :3], wrench[..., 3:]
        moment = torque + np.cross(self._arms(q, u), force)
        push = np.concatenate([force, moment], axis=-1)
        self.simulation.backend.set("push", push.reshape(len(push), -1))
        self._held = bool(wrench.any())

    def _arms(self, q: Array, u: Array) -> Array:
        """From origins to centers of mass (worlds, n, 3), m, world axes."""
        robot, arms = self.simulation.robot, []
        for number in self.bodies:
            center = self._tables.center(number)
            arms.append(np.broadcast_to(center, (len(q), 3)) @ link(robot, number).rotation)
        p = self._states(self.bodies, q, u)[..., 3:7]
        w, axis, arm = p[..., :1], p[..., 1:], np.stack(arms, axis=1)
        across = np.cross(axis, arm)
        return arm + 2 * (w * across + np.cross(axis, across))

    def release(self) -> None:
        """No force on any body, now and in the next step."""
        self.clear()
        if self._held:
            self.simulation.backend.set("push", np.zeros(6 * len(self.bodies)))
            self._held = False

    def clear(self, where: Array | None = None) -> None:
        """Nothing is staged, in all worlds or those of a mask."""
        self.staged[slice(None) if where is None else where] = 0
