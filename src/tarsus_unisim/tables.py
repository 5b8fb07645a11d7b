"""What of robot and ground `unisim` may draw anew for each world, as tables of a row a world.

Terms of the contract and what they are here:

    kp, kd                   gains of position servos, where all actuators are such
    geom_friction            of one geom, `ground`: the law's mu; torsional and rolling coefficients
                             have no effect, as in MuJoCo with condim 3
    body_mass, body_ipos     kg; center of mass in the link's frame, m: the inertia about it stays
    base_mass_delta, base_com_offset   the same of the floating base, added to what it was made with
    dof_armature, dof_damping, dof_frictionloss   of hinges and slides; the last where there is some
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.errors import TarsusError
from tarsus.model.mechanism import Mechanism
from tarsus.simulation.simulation import Simulation
from tarsus_unisim.bodies import SCALAR, center_in_link, from_link, of_dofs
from tarsus_unisim.model import UnsupportedError

Array = NDArray[np.float64]
GROUND = "ground"
DOFS = {"dof_armature": "armature", "dof_damping": "damping", "dof_frictionloss": "dry_friction"}
DELTAS = {"base_mass_delta": "body_mass", "base_com_offset": "body_ipos"}
SERVOS = {"kp": "kp", "kd": "kv"}
MASS, CENTER, FRICTION = "body_mass", "body_ipos", "geom_friction"


def varied(mechanism: Mechanism) -> dict[str, Any]:
    """The option `varied` of a simulation whose masses and joints shall be tables."""
    heavy = [body.name for body in mechanism.bodies if body.inertia.mass > 0]
    found: dict[str, Any] = {"mass": heavy, "com": heavy, "inertia": heavy}
    joints = [body.joint for body in mechanism.bodies if body.joint.kind in SCALAR]
    if joints:
        found |= {"armature": "all", "damping": "all"}
    if any(joint.rubs for joint in joints):
        found["dry_friction"] = "all"
    return found


class ModelTables:
    """The tables of a simulation, as they are now: (worlds, ...) by term."""

    def __init__(self, simulation: Simulation, servos: bool) -> None:
        self.simulation = simulation
        robot, backend = simulation.robot, simulation.backend
        made: dict[str, Array] = {}
        if servos:
            made |= {t: backend.get(f"actuators.{own}") for t, own in SERVOS.items()}
        if "law.mu" in backend:
            friction = np.zeros((simulation.worlds, 1, 3))
            friction[:, 0, 0] = backend.get("law.mu")[:, 0]
            made[FRICTION] = friction
        if simulation.plan.varied.mass:
            made[MASS] = np.array([body.inertia.mass for body in robot.bodies])
            numbers = range(len(robot.bodies))
            made[CENTER] = np.array([center_in_link(robot, i) for i in numbers])
        for term, own in DOFS.items():
            if getattr(simulation.plan.varied, own):
                made[term] = of_dofs(robot, own)
        each = {FRICTION, *SERVOS}
        self.made = {t: np.array(v[0] if t in each else v, float) for t, v in made.items()}
        self._now = {
            t: np.array(np.broadcast_to(v, (simulation.worlds, *self.made[t].shape)), float)
            for t, v in made.items()
        }

    @property
    def terms(self) -> frozenset[str]:
        """The terms that there are."""
        floating = self.simulation.robot.floating
        deltas = {d for d, of in DELTAS.items() if of in self.made and floating}
        return frozenset(self.made) | deltas

    def now(self, term: str) -> Array:
        """(worlds, ...): a copy; zeros (...) of a term that is a difference."""
        if term in DELTAS:
            return np.zeros(self.made[DELTAS[term]].shape[1:])
        return self._now[term].copy()

    def planned(self, rows: NDArray[np.intp], given: Mapping[str, Any]) -> dict[str, Array]:
        """Tables (rows, ...) for these worlds, checked, nothing written; UnsupportedError for terms
        that there are not, ValueError for other shapes and for numbers that nothing here can have.
        """
        # what is given, in its shape
        strange = sorted(set(given) - self.terms)
        if strange:
            raise UnsupportedError(f"these terms cannot be drawn anew here: {', '.join(strange)}.")
        new: dict[str, Array] = {}
        for term, value in given.items():
            shape = (len(rows), *self._tail(term))
            array = np.asarray(value).astype(float)
            if array.size != np.prod(shape) or array.shape[:1] != shape[:1]:
                raise ValueError(f"{term} must have shape {shape}, not {array.shape}.")
            if not np.isfinite(array).all():
                raise ValueError(f"{term} must be finite.")
            new[term] = array.reshape(shape)
        # differences, added to the base as it was made
        for delta, term in DELTAS.items():
            if delta in new:
                one = np.broadcast_to(self.made[term], (len(rows), *self.made[term].shape))
                new.setdefault(term, one.copy())[:, 0] += new.pop(delta)
        # numbers that a robot can have
        for term, array in new.items():
            self._check(term, array)
        return new

    def _tail(self, term: str) -> tuple[int, ...]:
        return self.made[DELTAS[term]].shape[1:] if term in DELTAS else self.made[term].shape

    def _check(self, term: str, array: Array) -> None:
        """ValueError for what is out of range, or where there is nothing to change."""
        if term != CENTER and (array < 0).any():
            raise ValueError(f"{term} must not be negative.")
        if term == MASS and ((array > 0) != (self.made[MASS] > 0)).any():
            raise ValueError("body_mass must be positive, and zero of bodies that have none.")
        if term in DOFS:
            robot, own = self.simulation.robot, getattr(self.simulation.plan.varied, DOFS[term])
            has = np.zeros(robot.nu, bool)
            has[[robot.u_slices[robot.joint_index(name)].start for name in own]] = True
            if array[:, ~has].any():
                kind = "dry friction" if term == "dof_frictionloss" else "joint"
                raise ValueError(f"{term} must be zero in columns that have no {kind}.")

    def write(self, rows: NDArray[np.intp], new: Mapping[str, Array]) -> None:
        """Tables from `planned` into the worlds `rows`; the others keep their bits. TarsusError,
        and nothing is written, for a number that is out of range.
        """
        # tables, and whose they are
        where = np.zeros(self.simulation.worlds, bool)
        where[rows] = True
        before = {term: self._now[term] for term in new}
        for term, array in new.items():
            self._now[term] = self._now[term].copy()
            self._now[term][rows] = array
        # what a simulation sets by name
        values: dict[str, Any] = {SERVOS[t]: self._now[t] for t in SERVOS if t in new}
        if FRICTION in new:
            values["mu"] = self._now[FRICTION][:, 0, 0]
        robot = self.simulation.robot
        for term, own in DOFS.items():
            if term in new:
                names = getattr(self.simulation.plan.varied, own)
                columns = [robot.u_slices[robot.joint_index(name)].start for name in names]
                table = self._now[term][:, columns].T
                values[own] = dict(zip(names, table, strict=True))
        try:
            self.simulation.set(where=where, **values)
        except TarsusError:  # a number out of range, and nothing is written
            self._now |= before
            raise
        # masses, all worlds of a body at once
        if MASS in new or CENTER in new:
            self.simulation.backend.set("varied.inertia", self._matter(), where)

    def center(self, number: int) -> Array:
        """A body's center of mass in its own frame as it is now, m: (3,), or (worlds, 3)."""
        robot = self.simulation.robot
        if CENTER not in self.made:
            return robot.bodies[number].inertia.com
        center = from_link(robot, number, self._now[CENTER][:, number])
        same = (self._now[CENTER][:, number] == self.made[CENTER][number]).all(-1)
        center[same] = robot.bodies[number].inertia.com
        return center

    def _matter(self) -> Array:
        """The register of changes of matter (worlds, 10 bodies) (`tarsus.simulation.varied`)."""
        robot, columns = self.simulation.robot, []
        for i in self.simulation.plan.varied.bodies(robot):
            own = robot.bodies[i].inertia
            made = _ten(np.array([own.mass]), own.com[None], own.about_com)
            columns.append(_ten(self._now[MASS][:, i], self.center(i), own.about_com) - made)
        return np.concatenate(columns, axis=1)


def _ten(mass: Array, center: Array, about: Array) -> Array:
    """The linear parameters (n, 10) of masses (n,) with centers (n, 3) and one inertia (3, 3) about
    them, about the body's origin.
    """
    x, y, z = center.T
    places = [y * y + z * z, x * x + z * z, x * x + y * y, -x * y, -x * z, -y * z]
    entries = about[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
    tensor = [mass * place + entry for place, entry in zip(places, entries, strict=True)]
    return np.stack([mass, *(mass * center.T), *tensor], axis=-1)
