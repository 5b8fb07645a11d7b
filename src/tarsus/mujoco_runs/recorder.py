"""Record a MuJoCo run in the arrays that `tarsus judge` reads; docs/judge.md."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.errors import UnmetCondition
from tarsus.mujoco_runs.contacts import contact_jacobian, ground_contacts
from tarsus.mujoco_runs.implicit_part import EXPLAINED, implicit_part, integrator_of
from tarsus.mujoco_runs.library import mujoco

Array = NDArray[np.float64]
APART = 1.0  # m, the gap of a contact that MuJoCo does not list
UP = (0.0, 0.0, 1.0)
TOUCH = {  # columns of a recorded contact
    "contact_force": slice(0, 3),
    "contact_point": slice(3, 6),
    "contact_normal": slice(6, 9),
    "gap": 9,
    "mu": 10,
}


class Recorder:
    """Keeps every step of a MuJoCo simulation (model, data).

    Make it before the first `mj_step`, call `take()` after each step, and `arrays()` or
    `save(path)` at the end. Contacts of the robot with the world are kept, each under its geom.
    The forces of joint limits, joint friction and contacts between bodies are added to the passive
    forces.

    geoms: those whose contacts come first, in this order, whether they touch or not; with None a
        run that touches nothing has no arrays
    """

    def __init__(self, model: Any, data: Any, geoms: Sequence[int] | None = None) -> None:
        self._may_be_empty = geoms is not None
        self.model, self.data = model, data
        self._rows: list[Array] = []
        self._touches: list[Array] = []  # the columns of TOUCH
        self._places: list[tuple[int, int]] = []  # row and slot of each
        self._slots = {(geom, 0): k for k, geom in enumerate(geoms or ())}
        self._before = np.array(data.qvel)
        self._keep(np.zeros(model.nv))

    def take(self) -> None:
        """Keep the step that mj_step just made."""
        model, data = self.model, self.data
        others, seen = np.array(data.qfrc_constraint), dict[int, int]()
        for contact in ground_contacts(model, data):
            force = contact.force @ contact.frame
            others -= force @ contact_jacobian(model, data, contact)
            number = seen[contact.geom] = seen.get(contact.geom, -1) + 1
            slot = self._slots.setdefault((contact.geom, number), len(self._slots))
            self._places.append((len(self._rows), slot))
            touch = (force, contact.point, contact.frame[0], (contact.gap, contact.friction))
            self._touches.append(np.concatenate(touch))
        self._keep(others)
        self._before = np.array(data.qvel)

    def drop(self, steps: int) -> None:
        """Forget the last steps."""
        del self._rows[len(self._rows) - steps :]
        count = sum(row < len(self._rows) for row, _ in self._places)
        del self._places[count:], self._touches[count:]
        nq, nv = self.model.nq, self.model.nv
        self._before = self._rows[-1][1 + nq : 1 + nq + nv].copy()

    def _keep(self, others: Array) -> None:
        """The state of a row, and the generalized forces (nv,): others are those of constraints
        without contacts with the world.
        """
        data = self.data
        motors, rest = implicit_part(self.model, data, data.qvel - self._before)
        passive = data.qfrc_passive + rest + others
        driven = data.qfrc_actuator + data.qfrc_applied + motors
        self._rows.append(np.concatenate(((data.time,), data.qpos, data.qvel, driven, passive)))

    def states(self, first: int = 0) -> tuple[Array, Array]:
        """qpos (rows, nq) and qvel (rows, nv) from row `first` on; row 0 is the start."""
        nq, nv = self.model.nq, self.model.nv
        kept = np.array(self._rows[first:]).reshape(-1, len(self._rows[0]))
        return kept[:, 1 : 1 + nq], kept[:, 1 + nq : 1 + nq + nv]

    def arrays(self) -> dict[str, Any]:
        """The run so far by the names of the format."""
        mj, model = mujoco(), self.model
        if not self._slots and not self._may_be_empty:
            raise UnmetCondition(
                "the robot never touched the world in this run, so there is no contact to judge.",
                "contacts",
            )
        # the state of every step
        kept, rows, n = np.array(self._rows), len(self._rows), len(self._slots)
        ends = np.cumsum([1, model.nq, model.nv, model.nv])
        names = ("time", "qpos", "qvel", "qfrc_actuator", "qfrc_passive")
        found: dict[str, Any] = dict(zip(names, np.split(kept, ends, axis=1), strict=True))
        found["time"] = kept[:, 0]
        # the contacts, apart from the ground unless a step says otherwise
        bodies = [int(model.geom_bodyid[geom]) for geom, _ in self._slots]
        found["contact_body"] = np.array(
            [mj.mj_id2name(model, mj.mjtObj.mjOBJ_BODY, k) for k in bodies]
        )
        touches = np.zeros((rows, n, 11))
        touches[..., TOUCH["contact_normal"]], touches[..., TOUCH["gap"]] = UP, APART
        if self._places:
            touches[tuple(np.transpose(self._places))] = self._touches
        found |= {name: touches[..., columns] for name, columns in TOUCH.items()}
        name = integrator_of(model)
        found["stages"] = 4 if name == "RK4" else 1
        if name not in (*EXPLAINED, "RK4"):  # the judge says what it cannot judge
            found["integrator"] = name
        return found

    def save(self, path: str | Path) -> None:
        """Write `arrays()` to an .npz file."""
        np.savez_compressed(path, **self.arrays())
