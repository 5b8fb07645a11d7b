"""Table of the quantities that a robot computes: inputs, shape and expression of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.algebra.ldl import Factor, factorize_tree, lower_triangle
from tarsus.dynamics import crba, energy, jacobian, rnea, springs
from tarsus.dynamics.base_parameters import base_parameters
from tarsus.dynamics.kinematics import Kinematics, coordinate_rate, kinematics
from tarsus.model.mechanism import Frame, Mechanism
from tarsus.program.ir.program import Program
from tarsus.program.ir.symbolic import entries
from tarsus.program.ir.trace import Builder
from tarsus.spatial.inertia import LinearInertia
from tarsus.spatial.rotation import constant

Array = NDArray[np.float64]
SIZES: dict[str, str | int] = {
    "q": "nq",
    "u": "nu",
    "acceleration": "nu",
    "tau": "nu",
    "b": "nu",
    "wrench": 6,
}


@dataclass(frozen=True, eq=False)
class Terms:
    """Terms that the expressions of quantities share, each computed when first used.

    Attributes
    ----------
    mechanism
        Mechanism whose quantities are computed.
    inputs
        Symbols of the inputs, by name.
    named_frame
        Frame of a quantity of a frame.
    """

    mechanism: Mechanism
    inputs: Mapping[str, SX]
    named_frame: Frame | None = None

    @property
    def frame(self) -> Frame:
        """Frame of the quantity."""
        assert self.named_frame is not None
        return self.named_frame

    @cached_property
    def kin(self) -> Kinematics:
        """Kinematics at q and u; at rest without u."""
        return kinematics(self.mechanism, self.inputs["q"], self.inputs.get("u"))

    @cached_property
    def inertias(self) -> list[LinearInertia]:
        """Inertia of each body, for energies and centers of mass."""
        return rnea.body_inertias(self.mechanism)

    @cached_property
    def base_inertias(self) -> list[LinearInertia]:
        """Base inertial parameters, which give the same M, c and g in fewer instructions."""
        return base_parameters(self.mechanism)

    @cached_property
    def factor(self) -> Factor:
        """Factors of M = L^T D L."""
        return factorize_tree(
            lower_triangle(crba.mass_matrix(self.kin, self.base_inertias)), self.mechanism.nu
        )

    @cached_property
    def world_rotation(self) -> SX:
        """Rotation (3, 3) of the frame's body."""
        return self.kin.world_rotation[self.frame.body]


@dataclass(frozen=True)
class Quantity:
    """A quantity of a robot.

    Attributes
    ----------
    inputs
        Names of its inputs.
    shape
        Shape for one state; "nq", "nu", "2nu" and "3nu" stand for the robot's numbers.
    expression
        Expression of the quantity from its terms.
    has_frame
        Whether the quantity belongs to a named frame.
    """

    inputs: tuple[str, ...]
    shape: tuple[str | int, ...]
    expression: Callable[[Terms], SX]
    has_frame: bool = False

    def shape_for(self, mechanism: Mechanism) -> tuple[int, ...]:
        """Compute the shape for one state."""
        return tuple(_number(mechanism, n) for n in self.shape)

    def program(self, mechanism: Mechanism, name: str, frame: Frame | None = None) -> Program:
        """Build a program of one basic block that computes the report `name`, column by column.

        Parameters
        ----------
        mechanism
            Mechanism whose quantity is computed.
        name
            Name of the report register.
        frame
            Frame, for a quantity of a frame.

        Returns
        -------
        Program
            Program with one parameter register per input.
        """
        builder = Builder(f"{mechanism.name}.{name}")
        given = {key: builder.parameter(key, input_size(mechanism, key)) for key in self.inputs}
        return builder.program(**{name: self.expression(Terms(mechanism, given, frame))})

    def reshape(self, mechanism: Mechanism, columns: Array) -> Array:
        """Reshape results (N, size), stored column by column, to (N, *shape)."""
        shape = self.shape_for(mechanism)
        if len(shape) < 2:
            return columns.reshape(-1, *shape)
        return np.ascontiguousarray(columns.reshape(-1, *shape[::-1]).transpose(0, 2, 1))


def input_size(mechanism: Mechanism, name: str) -> int:
    """Compute the size of an input for one state."""
    return _number(mechanism, SIZES[name])


def _number(mechanism: Mechanism, size: str | int) -> int:
    if isinstance(size, int):
        return size
    nq, nu = mechanism.nq, mechanism.nu
    return {"nq": nq, "nu": nu, "2nu": 2 * nu, "3nu": 3 * nu}[size]


def _inverse_dynamics(t: Terms) -> SX:
    armature = [body.joint.armature for body in t.mechanism.bodies for _ in range(body.joint.nu)]
    acceleration = t.inputs["acceleration"]
    return rnea.inverse_dynamics(t.kin, t.base_inertias, acceleration) + SX(armature) * acceleration


def _forward_dynamics(t: Terms) -> SX:
    return ca.vertcat(*t.factor.solve(entries(t.inputs["tau"] - rnea.bias(t.kin, t.base_inertias))))


def _inverse_dynamics_derivatives(t: Terms) -> SX:
    """Differentiate M u' + c + g (nu,) with respect to coordinates and velocities, (nu, 2 nu).

    A change of coordinates is a velocity times one second, so that its effect is that of q' = F u.
    """
    q, u, tau = t.inputs["q"], t.inputs["u"], _inverse_dynamics(t)
    directions = ca.jacobian(coordinate_rate(t.mechanism, q, u), u)
    return ca.densify(ca.horzcat(ca.mtimes(ca.jacobian(tau, q), directions), ca.jacobian(tau, u)))


def _forward_dynamics_derivatives(t: Terms) -> SX:
    """Differentiate the acceleration (nu, 3 nu) with respect to coordinates, velocities, forces.

    The first two are -M^-1 times those of inverse dynamics at this acceleration (Carpentier 2018).
    """
    acceleration = SX.sym("acceleration", t.mechanism.nu)
    inverse = replace(t, inputs={**t.inputs, "acceleration": acceleration})
    derivatives = _inverse_dynamics_derivatives(inverse)
    (changes,) = ca.substitute([derivatives], [acceleration], [_forward_dynamics(t)])
    right = ca.horzcat(-changes, SX.eye(t.mechanism.nu))
    columns = [t.factor.solve(entries(ca.densify(column))) for column in ca.horzsplit(right)]
    return ca.horzcat(*(ca.vertcat(*column) for column in columns))


def _solve(t: Terms) -> SX:
    return ca.vertcat(*t.factor.solve(entries(t.inputs["b"])))


def _external_force(t: Terms) -> SX:
    wrench, body = t.inputs["wrench"], t.frame.body
    force = jacobian.direction_in_body(t.kin, body, wrench[:3])
    moment = jacobian.direction_in_body(t.kin, body, wrench[3:])
    moment += ca.cross(constant(t.frame.position), force)
    return rnea.external_terms(t.kin, {body: (moment, force)})


def _jacobian(t: Terms) -> SX:
    linear = jacobian.point_jacobian(t.kin, t.frame.body, constant(t.frame.position))
    angular = jacobian.angular_jacobian(t.kin, t.frame.body)
    return ca.vertcat(
        jacobian.dense(linear, t.mechanism.nu), jacobian.dense(angular, t.mechanism.nu)
    )


def _position(t: Terms) -> SX:
    return jacobian.position(t.kin, t.frame.body, constant(t.frame.position))


def _rotation(t: Terms) -> SX:
    return ca.mtimes(t.world_rotation, constant(t.frame.rotation))


def _velocity(t: Terms) -> SX:
    omega, v = t.kin.omega[t.frame.body], t.kin.velocity[t.frame.body]
    linear = v + ca.cross(omega, constant(t.frame.position))
    return ca.vertcat(ca.mtimes(t.world_rotation, linear), ca.mtimes(t.world_rotation, omega))


def _bias_acceleration(t: Terms) -> SX:
    return rnea.bias_acceleration(t.kin, t.frame.body, constant(t.frame.position))


def _frame_acceleration(t: Terms) -> SX:
    return ca.mtimes(_jacobian(t), t.inputs["acceleration"]) + _bias_acceleration(t)


def _center_of_mass_jacobian(t: Terms) -> SX:
    return energy.centroidal_momentum_matrix(t.kin, t.inertias)[:3, :] / t.mechanism.mass


QUANTITIES: dict[str, Quantity] = {
    "mass_matrix": Quantity(
        ("q",), ("nu", "nu"), lambda t: crba.mass_matrix(t.kin, t.base_inertias)
    ),
    "velocity_terms": Quantity(
        ("q", "u"), ("nu",), lambda t: rnea.velocity_terms(t.kin, t.base_inertias)
    ),
    "gravity": Quantity(("q",), ("nu",), lambda t: rnea.gravity_terms(t.kin, t.base_inertias)),
    "spring_forces": Quantity(("q",), ("nu",), lambda t: springs.force(t.kin)),
    "bias": Quantity(("q", "u"), ("nu",), lambda t: rnea.bias(t.kin, t.base_inertias)),
    "inverse_dynamics": Quantity(("q", "u", "acceleration"), ("nu",), _inverse_dynamics),
    "forward_dynamics": Quantity(("q", "u", "tau"), ("nu",), _forward_dynamics),
    "inverse_dynamics_derivatives": Quantity(
        ("q", "u", "acceleration"), ("nu", "2nu"), _inverse_dynamics_derivatives
    ),
    "forward_dynamics_derivatives": Quantity(
        ("q", "u", "tau"), ("nu", "3nu"), _forward_dynamics_derivatives
    ),
    "solve_mass_matrix": Quantity(("q", "b"), ("nu",), _solve),
    "external_force": Quantity(("q", "wrench"), ("nu",), _external_force, has_frame=True),
    "jacobian": Quantity(("q",), (6, "nu"), _jacobian, has_frame=True),
    "position": Quantity(("q",), (3,), _position, has_frame=True),
    "rotation": Quantity(("q",), (3, 3), _rotation, has_frame=True),
    "velocity": Quantity(("q", "u"), (6,), _velocity, has_frame=True),
    "bias_acceleration": Quantity(("q", "u"), (6,), _bias_acceleration, has_frame=True),
    "frame_acceleration": Quantity(
        ("q", "u", "acceleration"), (6,), _frame_acceleration, has_frame=True
    ),
    "center_of_mass": Quantity(("q",), (3,), lambda t: energy.center_of_mass(t.kin, t.inertias)),
    "center_of_mass_jacobian": Quantity(("q",), (3, "nu"), _center_of_mass_jacobian),
    "kinetic_energy": Quantity(("q", "u"), (), lambda t: energy.kinetic_energy(t.kin, t.inertias)),
    "potential_energy": Quantity(("q",), (), lambda t: energy.potential_energy(t.kin, t.inertias)),
    "momentum": Quantity(("q", "u"), (6,), lambda t: energy.momentum(t.kin, t.inertias)),
    "centroidal_momentum": Quantity(
        ("q", "u"), (6,), lambda t: energy.centroidal_momentum(t.kin, t.inertias)
    ),
    "centroidal_momentum_matrix": Quantity(
        ("q",), (6, "nu"), lambda t: energy.centroidal_momentum_matrix(t.kin, t.inertias)
    ),
    "centroidal_momentum_bias": Quantity(
        ("q", "u"), (6,), lambda t: energy.centroidal_momentum_bias(t.kin, t.inertias)
    ),
    "coordinate_rate": Quantity(
        ("q", "u"), ("nq",), lambda t: coordinate_rate(t.mechanism, t.inputs["q"], t.inputs["u"])
    ),
}
