"""Tables of the numbers that `unisim` can randomize, with one row per world.

Terms of the interface:

    kp, kd                   gains of position servos, if all actuators are such
    geom_friction            of the geom `ground`: mu of the law; torsional and rolling coefficients
                             have no effect, as in MuJoCo with condim 3
    body_mass, body_ipos     kg; center of mass in the link frame, m, with constant inertia about it
    base_mass_delta, base_com_offset   the same for the floating base, added to the model's values
    dof_armature, dof_damping, dof_frictionloss   of hinges and slides; the last if they have any
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.errors import TarsusError
from tarsus.model.mechanism import Mechanism
from tarsus.simulation.simulation import Simulation
from tarsus_unisim.bodies import SCALAR, center_in_link, dof_values, from_link
from tarsus_unisim.model import UnsupportedError

Array = NDArray[np.float64]
GROUND = "ground"
DOFS = {"dof_armature": "armature", "dof_damping": "damping", "dof_frictionloss": "dry_friction"}
DELTAS = {"base_mass_delta": "body_mass", "base_com_offset": "body_ipos"}
SERVOS = {"kp": "kp", "kd": "kv"}
MASS, CENTER, FRICTION = "body_mass", "body_ipos", "geom_friction"


def varied_option(mechanism: Mechanism) -> dict[str, Any]:
    """Return the option `varied` of a simulation whose masses and joints become tables."""
    bodies = [body.name for body in mechanism.bodies if body.inertia.mass > 0]
    options: dict[str, Any] = {"mass": bodies, "com": bodies, "inertia": bodies}
    joints = [body.joint for body in mechanism.bodies if body.joint.kind in SCALAR]
    if joints:
        options |= {"armature": "all", "damping": "all"}
    if any(joint.has_dry_friction for joint in joints):
        options["dry_friction"] = "all"
    return options


class ModelTables:
    """Current tables of a simulation, (worlds, ...) by term."""

    def __init__(self, simulation: Simulation, servos: bool) -> None:
        self.simulation = simulation
        robot, backend = simulation.robot, simulation.backend
        made: dict[str, Array] = {}
        if servos:
            made |= {t: backend.get(f"actuators.{register}") for t, register in SERVOS.items()}
        if "law.mu" in backend:
            friction = np.zeros((simulation.worlds, 1, 3))
            friction[:, 0, 0] = backend.get("law.mu")[:, 0]
            made[FRICTION] = friction
        if simulation.plan.varied.mass:
            made[MASS] = np.array([body.inertia.mass for body in robot.bodies])
            numbers = range(len(robot.bodies))
            made[CENTER] = np.array([center_in_link(robot, i) for i in numbers])
        for term, register in DOFS.items():
            if getattr(simulation.plan.varied, register):
                made[term] = dof_values(robot, register)
        by_world = {FRICTION, *SERVOS}
        self.made = {t: np.array(v[0] if t in by_world else v, float) for t, v in made.items()}
        self._current = {
            t: np.array(np.broadcast_to(v, (simulation.worlds, *self.made[t].shape)), float)
            for t, v in made.items()
        }

    @property
    def terms(self) -> frozenset[str]:
        """Available terms."""
        floating = self.simulation.robot.floating
        deltas = {d for d, of in DELTAS.items() if of in self.made and floating}
        return frozenset(self.made) | deltas

    def current(self, term: str) -> Array:
        """Return a copy of a table, (worlds, ...); zeros (...) for a difference."""
        if term in DELTAS:
            return np.zeros(self.made[DELTAS[term]].shape[1:])
        return self._current[term].copy()

    def check(self, rows: NDArray[np.intp], arrays: Mapping[str, Any]) -> dict[str, Array]:
        """Return checked tables, (rows, ...), for these worlds, without writing them.

        Raises
        ------
        UnsupportedError
            For unknown terms.
        ValueError
            For wrong shapes and numbers.
        """
        # check shapes
        unknown_terms = sorted(set(arrays) - self.terms)
        if unknown_terms:
            raise UnsupportedError(f"these terms cannot be randomized: {', '.join(unknown_terms)}.")
        new: dict[str, Array] = {}
        for term, value in arrays.items():
            shape = (len(rows), *self._tail(term))
            array = np.asarray(value).astype(float)
            if array.size != np.prod(shape) or array.shape[:1] != shape[:1]:
                raise ValueError(f"{term} must have shape {shape}, not {array.shape}.")
            if not np.isfinite(array).all():
                raise ValueError(f"{term} must be finite.")
            new[term] = array.reshape(shape)
        # add differences to the base of the model
        for delta, term in DELTAS.items():
            if delta in new:
                one = np.broadcast_to(self.made[term], (len(rows), *self.made[term].shape))
                new.setdefault(term, one.copy())[:, 0] += new.pop(delta)
        # check numbers
        for term, array in new.items():
            self._check(term, array)
        return new

    def _tail(self, term: str) -> tuple[int, ...]:
        return self.made[DELTAS[term]].shape[1:] if term in DELTAS else self.made[term].shape

    def _check(self, term: str, array: Array) -> None:
        """Raise ValueError for numbers out of range, or in columns without such a number."""
        if term != CENTER and (array < 0).any():
            raise ValueError(f"{term} must not be negative.")
        if term == MASS and ((array > 0) != (self.made[MASS] > 0)).any():
            raise ValueError("body_mass must be positive, and zero for bodies without mass.")
        if term in DOFS:
            robot, names = self.simulation.robot, getattr(self.simulation.plan.varied, DOFS[term])
            has = np.zeros(robot.nu, bool)
            has[[robot.u_slices[robot.joint_index(name)].start for name in names]] = True
            if array[:, ~has].any():
                kind = "dry friction" if term == "dof_frictionloss" else "joint"
                raise ValueError(f"{term} must be zero in columns that have no {kind}.")

    def write(self, rows: NDArray[np.intp], new: Mapping[str, Array]) -> None:
        """Write tables from `check` into the worlds `rows`; the others keep their bits.

        Raises
        ------
        TarsusError
            For a number out of range; nothing is written then.
        """
        # update the tables
        mask = np.zeros(self.simulation.worlds, bool)
        mask[rows] = True
        previous = {term: self._current[term] for term in new}
        for term, array in new.items():
            self._current[term] = self._current[term].copy()
            self._current[term][rows] = array
        # numbers that a simulation sets by name
        values: dict[str, Any] = {SERVOS[t]: self._current[t] for t in SERVOS if t in new}
        if FRICTION in new:
            values["mu"] = self._current[FRICTION][:, 0, 0]
        robot = self.simulation.robot
        for term, field in DOFS.items():
            if term in new:
                names = getattr(self.simulation.plan.varied, field)
                columns = [robot.u_slices[robot.joint_index(name)].start for name in names]
                table = self._current[term][:, columns].T
                values[field] = dict(zip(names, table, strict=True))
        try:
            self.simulation.set(where=mask, **values)
        except TarsusError:  # a number is out of range, and nothing was written
            self._current |= previous
            raise
        # masses, for all worlds of a body at once
        if MASS in new or CENTER in new:
            self.simulation.backend.set("varied.inertia", self._inertia_changes(), mask)

    def center(self, number: int) -> Array:
        """Return the current center of mass of a body in its frame, (3,) or (worlds, 3), in m."""
        robot = self.simulation.robot
        if CENTER not in self.made:
            return robot.bodies[number].inertia.com
        center = from_link(robot, number, self._current[CENTER][:, number])
        unchanged = (self._current[CENTER][:, number] == self.made[CENTER][number]).all(-1)
        center[unchanged] = robot.bodies[number].inertia.com
        return center

    def _inertia_changes(self) -> Array:
        """Return the register of inertia changes, (worlds, 10 bodies); see `simulation.varied`."""
        robot, columns = self.simulation.robot, []
        for i in self.simulation.plan.varied.bodies(robot):
            inertia = robot.bodies[i].inertia
            made = _linear_parameters(
                np.array([inertia.mass]), inertia.com[None], inertia.about_com
            )
            columns.append(
                _linear_parameters(self._current[MASS][:, i], self.center(i), inertia.about_com)
                - made
            )
        return np.concatenate(columns, axis=1)


def _linear_parameters(mass: Array, center: Array, about: Array) -> Array:
    """Return the linear parameters, (n, 10), about the body's origin.

    The masses have shape (n,), the centers (n, 3), and the inertia about them (3, 3).
    """
    x, y, z = center.T
    products = [y * y + z * z, x * x + z * z, x * x + y * y, -x * y, -x * z, -y * z]
    entries = about[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]
    tensor = [mass * product + entry for product, entry in zip(products, entries, strict=True)]
    return np.stack([mass, *(mass * center.T), *tensor], axis=-1)
