"""Record a MuJoCo run in the arrays that `tarsus judge` reads; docs/judge.md."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.errors import TarsusError
from tarsus.mujoco_runs.contacts import contact_jacobian, ground_contacts
from tarsus.mujoco_runs.library import mujoco

Array = NDArray[np.float64]
APART = 1.0  # m, the gap of a contact that MuJoCo does not list
UP = (0.0, 0.0, 1.0)


class Recorder:
    """Keeps every step of a MuJoCo simulation (model, data).

    Make it before the first `mj_step`, call `take()` after each step, and `arrays()` or
    `save(path)` at the end. Contacts of the robot with the world are kept, each under its geom.
    The forces of joint limits, joint friction and contacts between bodies are added to the passive
    forces.
    """

    def __init__(self, model: Any, data: Any) -> None:
        self.model, self.data = model, data
        self._rows: list[dict[str, Any]] = []
        self._slots: dict[tuple[int, int], int] = {}
        self._damping = np.array(model.dof_damping)
        self._before = np.array(data.qvel)
        self._rows.append(self._row([], np.zeros(model.nv)))

    def take(self) -> None:
        """Keep the step that mj_step just made."""
        contacts, others = self._contacts()
        self._rows.append(self._row(contacts, others))
        self._before = np.array(self.data.qvel)

    def _row(self, contacts: list[tuple[int, dict[str, Any]]], others: Array) -> dict[str, Any]:
        data = self.data
        # Euler and the implicit integrators take joint damping at the end of the step
        damped = np.array(data.qfrc_passive) + self._damping * (self._before - data.qvel)
        return {
            "time": float(data.time),
            "qpos": np.array(data.qpos),
            "qvel": np.array(data.qvel),
            "qfrc_actuator": data.qfrc_actuator + data.qfrc_applied,
            "qfrc_passive": damped + others,
            "contacts": contacts,
        }

    def _contacts(self) -> tuple[list[tuple[int, dict[str, Any]]], Array]:
        """Slot and values of each contact with the world, and all other constraint forces (nv,)."""
        model, data = self.model, self.data
        found, others, seen = [], np.array(data.qfrc_constraint), dict[int, int]()
        for contact in ground_contacts(model, data):
            force = contact.frame.T @ contact.force
            others -= contact_jacobian(model, data, contact).T @ force
            number = seen[contact.geom] = seen.get(contact.geom, -1) + 1
            slot = self._slots.setdefault((contact.geom, number), len(self._slots))
            values = {
                "contact_force": force,
                "contact_point": contact.point,
                "contact_normal": contact.frame[0].copy(),
                "gap": contact.gap,
                "mu": contact.friction,
            }
            found.append((slot, values))
        return found, others

    def arrays(self) -> dict[str, Any]:
        """The run so far by the names of the format."""
        mj = mujoco()
        if not self._slots:
            raise TarsusError("this run never touched the world: there is no contact to judge.")
        # the state of every step
        rows, n = len(self._rows), len(self._slots)
        names = [name for name in self._rows[0] if name != "contacts"]
        found: dict[str, Any] = {
            name: np.array([row[name] for row in self._rows]) for name in names
        }
        # the contacts, apart from the ground unless a step says otherwise
        bodies = [int(self.model.geom_bodyid[geom]) for geom, _ in self._slots]
        found["contact_body"] = np.array(
            [mj.mj_id2name(self.model, mj.mjtObj.mjOBJ_BODY, k) for k in bodies]
        )
        found |= {"contact_force": np.zeros((rows, n, 3)), "contact_point": np.zeros((rows, n, 3))}
        found |= {
            "contact_normal": np.tile(UP, (rows, n, 1)),
            "gap": np.full((rows, n), APART),
            "mu": np.zeros((rows, n)),
        }
        # what the steps say
        for k, row in enumerate(self._rows):
            for slot, values in row["contacts"]:
                for name, value in values.items():
                    found[name][k, slot] = value
        found["stages"] = 4 if self.model.opt.integrator == mj.mjtIntegrator.mjINT_RK4 else 1
        return found

    def save(self, path: str | Path) -> None:
        """Write `arrays()` to an .npz file."""
        np.savez_compressed(path, **self.arrays())
