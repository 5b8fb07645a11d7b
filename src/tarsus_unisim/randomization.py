"""Domain randomization of robot, ground and motion, at resets and between."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from unisim.dr.types import (
    DomainRandomizationCapabilities,
    IntervalRandomizationPlan,
    IntervalTermOp,
    TensorIntervalPayload,
)

from tarsus_unisim import tables
from tarsus_unisim.bodies import center_in_link
from tarsus_unisim.model import UnsupportedError
from tarsus_unisim.tensors import TensorLifecycle
from tarsus_unisim.wrenches import Wrenches

Array = NDArray[Any]


class Randomization(TensorLifecycle):
    """Tables of numbers by world, forces on bodies, and changes of velocity."""

    tables: tables.ModelTables
    wrenches: Wrenches

    def get_dr_capabilities(self) -> DomainRandomizationCapabilities:
        """Return the terms: those of `ModelTables`, forces on bodies in `pushes`, base velocity."""
        terms = {"body_force", "body_torque"} if self.wrenches.bodies else set[str]()
        if self.model.floating:
            terms |= {"body_linear_velocity_delta", "body_angular_velocity_delta"}
            terms |= {"push"} if 0 in self.wrenches.bodies else set()
        return DomainRandomizationCapabilities(self.tables.terms, frozenset(terms))

    def get_reset_term_default(self, term: str) -> Array:
        """Return the current numbers of the worlds, (num_envs, ...); zeros for differences."""
        known = term in self.tables.terms
        return self.tables.current(term) if known else super().get_reset_term_default(term)

    def get_body_ipos(self, env_ids: Sequence[int] | Array | None = None) -> Array:
        """Return centers of mass of the model (bodies, 3), or current ones (n, bodies, 3), in m."""
        centers = np.array([center_in_link(self.model, i) for i in range(len(self.model.bodies))])
        if env_ids is None:
            return centers
        rows = self._validate_env_ids(env_ids)
        if tables.CENTER in self.tables.made:
            return self.tables.current(tables.CENTER)[rows]
        return np.broadcast_to(centers, (len(rows), *centers.shape)).copy()

    def get_geom_names(self) -> tuple[str, ...]:
        """Return one geom, `ground`, whose friction is mu of the law; none if the law has no mu."""
        return (tables.GROUND,) if tables.FRICTION in self.tables.made else ()

    def get_geom_id(self, name: str) -> int:
        return int(self._ids("geom", [name], self.get_geom_names())[0])

    def get_geom_friction(self) -> Array:
        """Return sliding, torsional and rolling friction of the model, (1, 3).

        The last two have no effect.
        """
        if not self.get_geom_names():
            raise UnsupportedError("this contact law has no mu.")
        return self.tables.made[tables.FRICTION].copy()

    def apply_interval_randomization(self, plan: IntervalRandomizationPlan) -> None:
        """Stage forces for the next `step`, replacing earlier ones, and change velocities now."""
        if not plan.is_empty():
            self._reject_wrench_write_inside_pre_step_control("apply_interval_randomization")
            self.wrenches.clear()
            super().apply_interval_randomization(plan)

    def apply_body_force(self, body_ids: Array, force: Array, torque: Array | None = None) -> None:
        """Add forces for the next `step`, (num_envs, n, 3), world axes."""
        self._reject_wrench_write_inside_pre_step_control("apply_body_force")
        self.wrenches.staged += self.wrenches.wrenches_of(body_ids, force, torque)

    def _interval_term_handlers(self) -> dict[str, Callable[[IntervalTermOp], None]]:
        known: dict[str, Callable[[IntervalTermOp], None]] = {
            "body_force": lambda op: self._wrench(op, op.payload, None),
            "body_torque": lambda op: self._wrench(op, None, op.payload),
            "push": self._push,
            "body_linear_velocity_delta": lambda op: self._kick(op, slice(0, 3)),
            "body_angular_velocity_delta": lambda op: self._kick(op, slice(3, 6)),
        }
        return {term: known[term] for term in self.get_dr_capabilities().supported_interval_terms}

    def _wrench(self, op: IntervalTermOp, force: Any, torque: Any) -> None:
        self.wrenches.staged += self.wrenches.wrenches_of(op.body_ids, force, torque)

    def _push(self, op: IntervalTermOp) -> None:
        payload = op.payload
        force = payload.push_force if isinstance(payload, TensorIntervalPayload) else payload
        self.apply_body_force(np.zeros(1, int), np.asarray(force, float)[:, None])

    def _kick(self, op: IntervalTermOp, columns: slice) -> None:
        """Change the velocity of the base by (num_envs, 1, 3), world axes."""
        change, q, u = np.asarray(op.payload, float), self._q, self._u.astype(float)
        if np.asarray(op.body_ids).tolist() != [0] or change.shape != (self.num_envs, 1, 3):
            raise UnsupportedError(
                "only the velocity of the base can be changed; pass an array of shape"
                " (num_envs, 1, 3)."
            )
        increment = _into_body(q[:, 3:7], change[:, 0]) if columns.start else change[:, 0]
        u[:, columns] += increment
        self.simulation.set(u=u, where=change.any((1, 2)))


def _into_body(p: Array, vector: Array) -> Array:
    """Rotate world vectors, (worlds, 3), into bodies with quaternions p, (worlds, 4)."""
    axis, w = -p[:, 1:], p[:, :1]
    across = np.cross(axis, vector)
    return vector + 2 * (w * across + np.cross(axis, across))
