"""A robot to ask for its dynamics: M(q) u' + c(q, u) + g(q) = tau + J^T f, compiled on demand.

Every method takes one state, q (nq,) and u (nu,), or many, (N, nq) and (N, nu), and answers with
the same leading axis; single states and batches may be mixed. Units SI; conventions as in
`Mechanism`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tarsus.dynamics import loop_closure
from tarsus.dynamics.compiled_quantities import Calls
from tarsus.dynamics.describe import described, totals
from tarsus.dynamics.integrate import difference, integrated
from tarsus.errors import unknown
from tarsus.model.mechanism import Mechanism

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Origin:
    """Where a robot was loaded from.

    file: absolute path; empty for a built-in robot
    sha256: of the file's bytes, hexadecimal; empty without a file
    options: of the importer, or of the built-in robot's description
    """

    file: str = ""
    sha256: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Robot(Mechanism):
    """A `Mechanism` with methods for its dynamics.

    origin: where it was loaded from

    The first call of a method compiles it (and caches it on disk); later calls take microseconds.
    """

    origin: Origin = Origin()

    @classmethod
    def of(cls, mechanism: Mechanism) -> Robot:
        """The same mechanism as a robot."""
        if isinstance(mechanism, cls):
            return mechanism
        return cls(**{f.name: getattr(mechanism, f.name) for f in fields(Mechanism)})

    def __getstate__(self) -> dict[str, Any]:
        """State for copies and pickles: the description, not the compiled code."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @cached_property
    def _ask(self) -> Calls:
        return Calls(self)

    def mass_matrix(self, q: ArrayLike) -> Array:
        """M(q) (nu, nu), kg, kg m, kg m^2, armature on its diagonal.

        Teixeira de Paula 2024, Alg. 5.
        """
        return self._ask("mass_matrix", q=q)

    def velocity_terms(self, q: ArrayLike, u: ArrayLike) -> Array:
        """c(q, u) (nu,), N or N m: Coriolis and centrifugal forces, on the left-hand side.

        Teixeira de Paula 2024, Alg. 2.
        """
        return self._ask("velocity_terms", q=q, u=u)

    def gravity(self, q: ArrayLike) -> Array:
        """g(q) (nu,), N or N m: forces that hold the robot against gravity, left-hand side.

        Teixeira de Paula 2024, Alg. 3.
        """
        return self._ask("gravity", q=q)

    def spring_forces(self, q: ArrayLike) -> Array:
        """-K (q - rest) (nu,), N or N m: of the joints' springs, right-hand side, part of tau for
        `forward_dynamics`.
        """
        return self._ask("spring_forces", q=q)

    def bias(self, q: ArrayLike, u: ArrayLike) -> Array:
        """c(q, u) + g(q) (nu,), N or N m, in one sweep (Teixeira de Paula 2024, Alg. 2 and 3)."""
        return self._ask("bias", q=q, u=u)

    def inverse_dynamics(self, q: ArrayLike, u: ArrayLike, acceleration: ArrayLike) -> Array:
        """tau (nu,) = M u' + c + g, N or N m, for u' = acceleration (nu,), armature included
        (Teixeira de Paula 2024, Alg. 2).
        """
        return self._ask("inverse_dynamics", q=q, u=u, acceleration=acceleration)

    def forward_dynamics(self, q: ArrayLike, u: ArrayLike, tau: ArrayLike) -> Array:
        """u' (nu,) = M^-1 (tau - c - g), m/s^2 or rad/s^2, for tau (nu,), without contact."""
        return self._ask("forward_dynamics", q=q, u=u, tau=tau)

    def solve_mass_matrix(self, q: ArrayLike, b: ArrayLike) -> Array:
        """M(q)^-1 b (nu,) by branch-sparse M = L^T D L (Featherstone 2008, section 6.5)."""
        return self._ask("solve_mass_matrix", q=q, b=b)

    def external_force(self, q: ArrayLike, name: str, wrench: ArrayLike) -> Array:
        """Generalized force (nu,) = J^T wrench, N or N m, right-hand side.

        wrench (6,): force (N) and moment (N m), world-aligned, at the origin of the frame `name`
        (Teixeira de Paula 2024, Alg. 4).
        """
        return self._ask("external_force", name, q=q, wrench=wrench)

    def jacobian(self, q: ArrayLike, name: str) -> Array:
        """J (6, nu), velocity(q, u, name) = J u: rows linear (m/s), angular (rad/s), world-aligned.

        At the origin of a frame, a body, or the center of a contact candidate's sphere (Teixeira de
        Paula 2024, Alg. 6).
        """
        return self._ask("jacobian", name, q=q)

    def position(self, q: ArrayLike, name: str) -> Array:
        """World position (3,) of the frame's origin, m (Teixeira de Paula 2024, Alg. 1)."""
        return self._ask("position", name, q=q)

    def rotation(self, q: ArrayLike, name: str) -> Array:
        """R (3, 3) with x_world = R x_frame (Teixeira de Paula 2024, Alg. 1)."""
        return self._ask("rotation", name, q=q)

    def velocity(self, q: ArrayLike, u: ArrayLike, name: str) -> Array:
        """(6,): velocity of a frame's origin (m/s) and angular (rad/s), world-aligned (Alg. 1)."""
        return self._ask("velocity", name, q=q, u=u)

    def center_of_mass(self, q: ArrayLike) -> Array:
        """World position (3,) of the robot's center of mass, m."""
        return self._ask("center_of_mass", q=q)

    def kinetic_energy(self, q: ArrayLike, u: ArrayLike) -> Array:
        """1/2 u^T M u, J, armature included: () for one state, (N,) for many."""
        return self._ask("kinetic_energy", q=q, u=u)

    def potential_energy(self, q: ArrayLike) -> Array:
        """Energy, J, in gravity, zero with the center of mass at the world's origin, and in the
        joints' springs: () or (N,).
        """
        return self._ask("potential_energy", q=q)

    def momentum(self, q: ArrayLike, u: ArrayLike) -> Array:
        """(6,): linear (N s) and angular momentum about the world's origin (N m s), world frame,
        without armature.
        """
        return self._ask("momentum", q=q, u=u)

    def coordinate_rate(self, q: ArrayLike, u: ArrayLike) -> Array:
        """q' (nq,) = F(q) u (Gehring 2014, Eqns. (1) and (22))."""
        return self._ask("coordinate_rate", q=q, u=u)

    def integrate(self, q: ArrayLike, u: ArrayLike, dt: ArrayLike) -> Array:
        """q (nq,) after constant u for dt seconds, () or (N,); unit quaternions turn exactly."""
        given = self._ask.checked(q=q, u=u)
        return integrated(self, given["q"], given["u"], dt)

    def difference(self, q: ArrayLike, start: ArrayLike) -> Array:
        """The constant u (nu,), or (N, nu), that leads from start to q in one second: what
        `integrate` undoes, for turns of less than half a turn.
        """
        given = [self._ask.checked(q=each)["q"] for each in (q, start)]
        return difference(self, *given)

    def loop_gaps(self, q: ArrayLike) -> Array:
        """g_B (nb,) of the loop joints, or (N, nb): how far apart they stand, m or rad.

        Gehring 2014, Eqn. (4).
        """
        return loop_closure.gaps(self, self._ask.checked(q=q)["q"])

    def closed(self, q: ArrayLike) -> Array:
        """The coordinates (nq,), or (N, nq), nearest to q that close every loop; TarsusError if
        there are none near.
        """
        return loop_closure.closed(self, self._ask.checked(q=q)["q"])

    def with_contacts(self, names: str | Iterable[str]) -> Robot:
        """The robot with only these candidates: names or patterns such as "*_foot", one or more."""
        known = [candidate.name for candidate in self.candidates]
        chosen: set[str] = set()
        many = isinstance(names, Iterable) and not isinstance(names, str)
        for pattern in names if many else [names]:
            wanted = pattern if isinstance(pattern, str) else ""
            found = {name for name in known if name == pattern or fnmatchcase(name, wanted)}
            if not found:
                raise unknown("contact candidate", pattern, known)
            chosen |= found
        return replace(self, candidates=tuple(c for c in self.candidates if c.name in chosen))

    def describe(self) -> str:
        """A table for people: bodies, joints, masses, limits, motors, contact candidates."""
        return described(self)

    def __repr__(self) -> str:
        return f"Robot({totals(self)})"
