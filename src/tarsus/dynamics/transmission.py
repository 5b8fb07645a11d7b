"""Motion of the joints and tendons that motors drive, and the generalized force of the motors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.dynamics import tendons
from tarsus.dynamics.kinematics import kinematics
from tarsus.model.mechanism import Mechanism
from tarsus.program.ir.symbolic import entries

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Transmission:
    """Joints and tendons that m motors drive.

    Attributes
    ----------
    size
        Number of velocities, nu.
    rows
        For each motor the index of its joint in u, or the row (nu,) of its tendon.
    coordinates
        Coordinates of joints and lengths of tendons (m,), in rad or m.
    """

    size: int
    rows: list[int | SX]
    coordinates: SX

    def rates(self, u: SX) -> SX:
        """Compute the rates (m,) of the motors' joints and tendons at velocities u (nu,)."""
        each = (u[row] if isinstance(row, int) else ca.dot(row, u) for row in self.rows)
        return ca.vertcat(SX(0, 1), *each)

    def force(self, torque: SX) -> SX:
        """Compute the generalized force (nu,) of the motors' torques or forces (m,)."""
        force = SX.zeros(self.size)
        for row, along in zip(self.rows, entries(torque), strict=True):
            if isinstance(row, int):
                force[row] += along
            else:
                force += row * along
        return force

    def damping(self, slopes: SX) -> SX:
        """Compute the damping of torques that decrease by `slopes` (m,) per change of their rates.

        It is a vector (nu,), the diagonal of a matrix, or with tendons a matrix (nu, nu).
        """
        diagonal, others = SX.zeros(self.size), list[SX]()
        for row, slope in zip(self.rows, entries(slopes), strict=True):
            if isinstance(row, int):
                diagonal[row] += slope
            else:
                others.append(slope * ca.mtimes(row, row.T))
        return sum(others, ca.diag(diagonal)) if others else diagonal


def transmission(mechanism: Mechanism, names: Sequence[str], q: SX) -> Transmission:
    """Find how motors on joints and tendons of these names act at coordinates q (nq,)."""
    pulled = {tendon.name: tendon for tendon in mechanism.tendons if tendon.name in names}
    kin = kinematics(mechanism, q) if pulled else None
    coordinates, rows = [SX(0, 1)], list[int | SX]()
    for name in names:
        if kin is not None and name in pulled:
            coordinates.append(tendons.length(kin, pulled[name]))
            rows.append(tendons.rate_row(kin, pulled[name]))
        else:
            body = mechanism.joint_index(name)
            coordinates.append(q[mechanism.q_slices[body].start])
            rows.append(mechanism.u_slices[body].start)
    return Transmission(mechanism.nu, rows, ca.vertcat(*coordinates))


def numeric_forces(
    mechanism: Mechanism, names: Sequence[str], q: Array, torques: Array
) -> NDArray[Any]:
    """Compute the generalized forces (N, nu) of torques (N, m) at N coordinates (N, nq)."""
    at, tau = SX.sym("q", mechanism.nq), SX.sym("tau", len(names))
    force = transmission(mechanism, names, at).force(tau)
    return np.array(ca.Function("forces", [at, tau], [force])(q.T, torques.T)).T


def numeric_rates(mechanism: Mechanism, names: Sequence[str], q: Array, u: Array) -> NDArray[Any]:
    """Compute the rates (N, m) of joints and tendons at N states, (N, nq) and (N, nu)."""
    at, moving = SX.sym("q", mechanism.nq), SX.sym("u", mechanism.nu)
    driven = transmission(mechanism, names, at)
    indices = [row for row in driven.rows if isinstance(row, int)]
    if len(indices) == len(names):
        return u[:, indices]
    rates = driven.rates(moving)
    return np.array(ca.Function("rates", [at, moving], [rates])(q.T, u.T)).T


def scatter(size: int, indices: list[int], values: SX) -> SX:
    """Add values (m,) at their indices of a zero vector (size,)."""
    vector = SX.zeros(size)
    for index, value in zip(indices, entries(values), strict=True):
        vector[index] += value
    return vector
