"""Recorder of MuJoCo runs in the arrays that `tarsus judge` reads; docs/judge.md."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.errors import UnmetCondition
from tarsus.mujoco_runs.contacts import contact_jacobian, ground_contacts
from tarsus.mujoco_runs.implicit_forces import KNOWN_INTEGRATORS, implicit_forces, integrator_name
from tarsus.mujoco_runs.library import mujoco

Array = NDArray[np.float64]
OPEN_GAP = 1.0  # m, gap recorded for a contact that MuJoCo does not list
UP = (0.0, 0.0, 1.0)
CONTACT_COLUMNS = {
    "contact_force": slice(0, 3),
    "contact_point": slice(3, 6),
    "contact_normal": slice(6, 9),
    "gap": 9,
    "mu": 10,
}


class Recorder:
    """Recorder of every step of a MuJoCo simulation.

    Create it before the first `mj_step`, call `record()` after each step, and `arrays()` or
    `save(path)` at the end. Contacts of the robot with the world are recorded by geom. Forces of
    joint limits, joint friction and contacts between bodies are added to the passive forces.

    Parameters
    ----------
    model, data
        MuJoCo's `MjModel` and `MjData`.
    geoms
        Geoms whose contacts come first, in this order, whether they touch or not. With None,
        `arrays()` raises an error for a run without contact.
    """

    def __init__(self, model: Any, data: Any, geoms: Sequence[int] | None = None) -> None:
        self._may_be_empty = geoms is not None
        self.model, self.data = model, data
        self._rows: list[Array] = []
        self._contacts: list[Array] = []  # in the columns of CONTACT_COLUMNS
        self._indices: list[tuple[int, int]] = []  # row and slot of each contact
        self._slots = {(geom, 0): k for k, geom in enumerate(geoms or ())}
        self._before = np.array(data.qvel)
        self._append_row(np.zeros(model.nv))

    def record(self) -> None:
        """Record the last step of `mj_step`."""
        model, data = self.model, self.data
        others, last_number = np.array(data.qfrc_constraint), dict[int, int]()
        for contact in ground_contacts(model, data):
            force = contact.force @ contact.frame
            others -= force @ contact_jacobian(model, data, contact)
            number = last_number[contact.geom] = last_number.get(contact.geom, -1) + 1
            slot = self._slots.setdefault((contact.geom, number), len(self._slots))
            self._indices.append((len(self._rows), slot))
            columns = (force, contact.point, contact.frame[0], (contact.gap, contact.friction))
            self._contacts.append(np.concatenate(columns))
        self._append_row(others)
        self._before = np.array(data.qvel)

    def drop(self, steps: int) -> None:
        """Discard the last steps."""
        del self._rows[len(self._rows) - steps :]
        count = sum(row < len(self._rows) for row, _ in self._indices)
        del self._indices[count:], self._contacts[count:]
        nq, nv = self.model.nq, self.model.nv
        self._before = self._rows[-1][1 + nq : 1 + nq + nv].copy()

    def _append_row(self, others: Array) -> None:
        """Append the state and the generalized forces.

        Parameters
        ----------
        others
            Generalized forces (nv,) of all constraints except contacts with the world.
        """
        data = self.data
        motors, rest = implicit_forces(self.model, data, data.qvel - self._before)
        passive = data.qfrc_passive + rest + others
        driven = data.qfrc_actuator + data.qfrc_applied + motors
        self._rows.append(np.concatenate(((data.time,), data.qpos, data.qvel, driven, passive)))

    def states(self, first: int = 0) -> tuple[Array, Array]:
        """Return `qpos` (rows, nq) and `qvel` (rows, nv) from row `first`; row 0 is the start."""
        nq, nv = self.model.nq, self.model.nv
        rows = np.array(self._rows[first:]).reshape(-1, len(self._rows[0]))
        return rows[:, 1 : 1 + nq], rows[:, 1 + nq : 1 + nq + nv]

    def arrays(self) -> dict[str, Any]:
        """Return the run so far as arrays, named as `tarsus judge` expects them.

        Raises
        ------
        UnmetCondition
            If the robot never touched the world and no geoms were named.
        """
        mj, model = mujoco(), self.model
        if not self._slots and not self._may_be_empty:
            raise UnmetCondition(
                "the robot never touched the world in this run, so there is no contact to judge.",
                "contacts",
            )
        # the state of every step
        states, rows, n = np.array(self._rows), len(self._rows), len(self._slots)
        ends = np.cumsum([1, model.nq, model.nv, model.nv])
        names = ("time", "qpos", "qvel", "qfrc_actuator", "qfrc_passive")
        arrays: dict[str, Any] = dict(zip(names, np.split(states, ends, axis=1), strict=True))
        arrays["time"] = states[:, 0]
        # contacts are open in every step that recorded none
        bodies = [int(model.geom_bodyid[geom]) for geom, _ in self._slots]
        arrays["contact_body"] = np.array(
            [mj.mj_id2name(model, mj.mjtObj.mjOBJ_BODY, k) for k in bodies]
        )
        contacts = np.zeros((rows, n, 11))
        contacts[..., CONTACT_COLUMNS["contact_normal"]] = UP
        contacts[..., CONTACT_COLUMNS["gap"]] = OPEN_GAP
        if self._indices:
            contacts[tuple(np.transpose(self._indices))] = self._contacts
        arrays |= {name: contacts[..., columns] for name, columns in CONTACT_COLUMNS.items()}
        name = integrator_name(model)
        arrays["stages"] = 4 if name == "RK4" else 1
        if name not in (*KNOWN_INTEGRATORS, "RK4"):  # the judge reports what it cannot judge
            arrays["integrator"] = name
        return arrays

    def save(self, path: str | Path) -> None:
        """Write `arrays()` to an .npz file."""
        np.savez_compressed(path, **self.arrays())
