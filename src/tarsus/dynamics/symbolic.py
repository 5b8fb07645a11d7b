"""The dynamics of a robot as CasADi functions, for optimal control and code generation.

They evaluate the expressions that `Robot` compiles (`dynamics.quantities`), for one state each.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import casadi as ca
import numpy as np
from casadi import SX, Function
from numpy.typing import NDArray

from tarsus.algebra.ldl import factorize_dense
from tarsus.dynamics import jacobian, loop_constraints, symbolic_integrate
from tarsus.dynamics.kinematics import Kinematics, coordinate_rate
from tarsus.dynamics.quantities import QUANTITIES, Terms, input_size
from tarsus.dynamics.support_points import symbolic_contact_point
from tarsus.errors import InvalidValue, unknown_name_error
from tarsus.model.mechanism import Candidate, Mechanism
from tarsus.program.ir.symbolic import entries
from tarsus.spatial.rotation import constant

Array = NDArray[np.float64]
Outputs = Mapping[str, SX]


@dataclass(frozen=True, eq=False)
class SymbolicRobot:
    """CasADi functions of a robot's kinematics and dynamics.

    `robot.symbolic()` returns one. Each function is built when it is first used, and cached. It has
    named inputs and outputs, accepts SX, MX, DM and NumPy arrays, and can be exported as C code
    with `generate`. Outputs are sparse where an entry is zero in every state. Units, frames and
    signs are those of the methods of `Robot` with the same names.

    Inputs have these names and sizes: coordinates `q` (nq,), velocities `u` (nu,), accelerations
    `acceleration` (nu,), generalized forces `tau` (nu,), a `wrench` (6,), and `forces` (3, n).

    The equation of motion is M u' + c + g = tau + J^T f. Springs, damping and dry friction of
    joints are not part of it: add `spring_forces` and `-damping * u` to `tau`. Loop joints and
    mimic joints are not enforced: use `loop_gaps` and `loop_jacobian` as constraints.

    Attributes
    ----------
    mechanism
        Robot whose functions they are.

    Examples
    --------
    >>> import casadi as ca
    >>> import tarsus
    >>> robot = tarsus.load("mini_cheetah")
    >>> f = robot.symbolic()
    >>> f.inverse_dynamics
    Function(inverse_dynamics:(q[19],u[18],acceleration[18])->(tau[18]) SXFunction)

    Functions of a frame take its name first:

    >>> q = ca.MX.sym("q", robot.nq)
    >>> foot = f.position("FR_foot")(q)
    >>> foot.shape, ca.jacobian(foot, q).shape
    ((3, 1), (3, 19))
    >>> f.position("FR_foot")(robot.keyframes["stand"])
    DM([0.19, -0.111, 0.015])
    """

    mechanism: Mechanism
    _functions: dict[tuple[object, ...], Function] = field(
        default_factory=dict, init=False, repr=False
    )

    # kinematics of frames

    def position(self, name: str) -> Function:
        """Build the position of a frame's origin: q -> position (3,).

        Parameters
        ----------
        name
            Frame, body or contact candidate (then its center).
        """
        return self._quantity("position", "position", name)

    def rotation(self, name: str) -> Function:
        """Build the rotation R of a frame, x_world = R x_frame: q -> rotation (3, 3).

        Parameters
        ----------
        name
            Frame, body or contact candidate.
        """
        return self._quantity("rotation", "rotation", name)

    def velocity(self, name: str) -> Function:
        """Build the linear and angular velocity of a frame, world axes: q, u -> velocity (6,).

        Parameters
        ----------
        name
            Frame, body or contact candidate.
        """
        return self._quantity("velocity", "velocity", name)

    def jacobian(self, name: str) -> Function:
        """Build the Jacobian J of a frame, velocity = J u: q -> jacobian (6, nu).

        The first three rows are linear, the others angular, in world axes.

        Parameters
        ----------
        name
            Frame, body or contact candidate (then of its center).
        """
        return self._quantity("jacobian", "jacobian", name)

    def bias_acceleration(self, name: str) -> Function:
        """Build J' u of a frame, its acceleration at u' = 0: q, u -> bias_acceleration (6,).

        Parameters
        ----------
        name
            Frame, body or contact candidate.
        """
        return self._quantity("bias_acceleration", "bias_acceleration", name)

    def frame_acceleration(self, name: str) -> Function:
        """Build the acceleration J u' + J' u of a frame: q, u, acceleration -> (6,).

        Parameters
        ----------
        name
            Frame, body or contact candidate.
        """
        return self._quantity("frame_acceleration", "frame_acceleration", name)

    def external_force(self, name: str) -> Function:
        """Build the generalized force J^T f of a wrench on a frame: q, wrench -> tau (nu,).

        Parameters
        ----------
        name
            Frame, body or contact candidate on which the wrench acts.
        """
        return self._quantity("external_force", "tau", name)

    # kinematics of contact points

    def contact_position(self, name: str) -> Function:
        """Build the lowest point of a contact candidate: q -> position (3,).

        It touches level ground of height z if its third entry is z.

        Parameters
        ----------
        name
            Contact candidate, such as a foot.
        """

        def build(terms: Terms) -> Outputs:
            candidate = self._candidate(name)
            point = _find_lowest_point(terms.kin, candidate)
            return {"position": jacobian.position(terms.kin, candidate.body, point)}

        return self._build_cached("contact_position", ("q",), build, name)

    def contact_jacobian(self, name: str) -> Function:
        """Build the Jacobian J of a contact point: q -> jacobian (3, nu), world axes.

        J u is the velocity of the body's material at the lowest point of the candidate. It is zero
        while the contact sticks or rolls.

        Parameters
        ----------
        name
            Contact candidate, such as a foot.
        """

        def build(terms: Terms) -> Outputs:
            return {"jacobian": _contact_jacobian(terms.kin, self._candidate(name))}

        return self._build_cached("contact_jacobian", ("q",), build, name)

    def contact_bias_acceleration(self, name: str) -> Function:
        """Build J' u of a contact point: q, u -> bias_acceleration (3,).

        Parameters
        ----------
        name
            Contact candidate, such as a foot.
        """

        def build(terms: Terms) -> Outputs:
            return {"bias_acceleration": _contact_bias(terms, self._candidate(name))}

        return self._build_cached("contact_bias_acceleration", ("q", "u"), build, name)

    # dynamics

    @property
    def mass_matrix(self) -> Function:
        """Mass matrix M, armature included: q -> mass_matrix (nu, nu)."""
        return self._quantity("mass_matrix", "mass_matrix")

    @property
    def bias(self) -> Function:
        """Velocity terms and gravity, c + g: q, u -> bias (nu,)."""
        return self._quantity("bias", "bias")

    @property
    def velocity_terms(self) -> Function:
        """Coriolis and centrifugal forces c: q, u -> velocity_terms (nu,)."""
        return self._quantity("velocity_terms", "velocity_terms")

    @property
    def gravity(self) -> Function:
        """Generalized forces g that hold the robot against gravity: q -> gravity (nu,)."""
        return self._quantity("gravity", "gravity")

    @property
    def spring_forces(self) -> Function:
        """Forces of all springs, on the right-hand side: q -> spring_forces (nu,)."""
        return self._quantity("spring_forces", "spring_forces")

    @property
    def inverse_dynamics(self) -> Function:
        """Inverse dynamics M u' + c + g: q, u, acceleration -> tau (nu,)."""
        return self._quantity("inverse_dynamics", "tau")

    @property
    def forward_dynamics(self) -> Function:
        """Acceleration without contact, M^-1 (tau - c - g): q, u, tau -> acceleration (nu,)."""
        return self._quantity("forward_dynamics", "acceleration")

    @property
    def inverse_dynamics_derivatives(self) -> Function:
        """Derivatives of tau by q, then u: q, u, acceleration -> derivatives (nu, 2 nu)."""
        return self._quantity("inverse_dynamics_derivatives", "derivatives")

    @property
    def forward_dynamics_derivatives(self) -> Function:
        """Derivatives of u' by q, u, then tau: q, u, tau -> derivatives (nu, 3 nu)."""
        return self._quantity("forward_dynamics_derivatives", "derivatives")

    @property
    def solve_mass_matrix(self) -> Function:
        """Solution of M x = b by sparse factorization: q, b -> x (nu,)."""
        return self._quantity("solve_mass_matrix", "x")

    def forced_dynamics(self, names: str | Iterable[str]) -> Function:
        """Build the acceleration under forces at points: q, u, tau, forces -> acceleration (nu,).

        Column k of `forces` (3, n) acts on the origin of frame k, in N, world axes.

        Parameters
        ----------
        names
            Frames, bodies or contact candidates (then their centers); one or several.
        """
        points = _names(names)

        def build(terms: Terms) -> Outputs:
            tau = terms.inputs["tau"]
            for k, name in enumerate(points):
                frame = self.mechanism.frame(name)
                columns = jacobian.point_jacobian(terms.kin, frame.body, constant(frame.position))
                J = jacobian.dense(columns, self.mechanism.nu)
                tau += ca.mtimes(J.T, terms.inputs["forces"][:, k])
            given = {**terms.inputs, "tau": tau}
            expression = QUANTITIES["forward_dynamics"].expression
            return {"acceleration": expression(Terms(self.mechanism, given))}

        inputs = ("q", "u", "tau", "forces")
        return self._build_cached("forced_dynamics", inputs, build, *points)

    def constrained_dynamics(
        self, contacts: str | Iterable[str], regularization: float = 0.0
    ) -> Function:
        """Build the acceleration with contact points fixed: q, u, tau -> acceleration, forces.

        The points do not accelerate, J u' + J' u = 0: their forces may have any size and direction.
        `forces` (3, n) are those of the ground on the robot, in N, world axes.

        Parameters
        ----------
        contacts
            Contact candidates, such as feet; one or several.
        regularization
            Number added to the diagonal of J M^-1 J^T, in 1/kg. It must be positive where contacts
            constrain each other, as the corners of a sole do; 1e-6 is small for most robots.

        Raises
        ------
        InvalidValue
            If `regularization` is negative, or no contact is named.

        References
        ----------
        Featherstone 2008, section 8.3.
        """
        points = _names(contacts)
        if not points:
            raise InvalidValue("contacts must name at least one contact candidate.", "contacts")
        if not regularization >= 0:
            raise InvalidValue(
                f"regularization must be >= 0, not {regularization}.", "regularization"
            )

        def build(terms: Terms) -> Outputs:
            candidates = [self._candidate(name) for name in points]
            J = ca.vertcat(*(_contact_jacobian(terms.kin, each) for each in candidates))
            bias = ca.vertcat(*(_contact_bias(terms, each) for each in candidates))
            free = QUANTITIES["forward_dynamics"].expression(terms)
            solved = [
                ca.vertcat(*terms.factor.solve(entries(ca.densify(row.T))))
                for row in ca.vertsplit(J)
            ]
            mobility = ca.mtimes(J, ca.horzcat(*solved))
            rows = [
                [mobility[i, j] + (regularization if i == j else 0) for j in range(i + 1)]
                for i in range(len(solved))
            ]
            forces = ca.vertcat(
                *factorize_dense(rows).solve(entries(ca.densify(-ca.mtimes(J, free) - bias)))
            )
            acceleration = free + ca.mtimes(ca.horzcat(*solved), forces)
            return {"acceleration": acceleration, "forces": ca.reshape(forces, 3, len(points))}

        key = repr(float(regularization))
        return self._build_cached(
            "constrained_dynamics", ("q", "u", "tau"), build, *points, key=key
        )

    # the whole robot

    @property
    def center_of_mass(self) -> Function:
        """Center of mass in the world: q -> center_of_mass (3,)."""
        return self._quantity("center_of_mass", "center_of_mass")

    @property
    def center_of_mass_jacobian(self) -> Function:
        """Jacobian J of the center of mass, velocity = J u: q -> jacobian (3, nu)."""
        return self._quantity("center_of_mass_jacobian", "jacobian")

    @property
    def momentum(self) -> Function:
        """Linear momentum, and angular momentum about the world's origin: q, u -> momentum (6,)."""
        return self._quantity("momentum", "momentum")

    @property
    def centroidal_momentum(self) -> Function:
        """Linear momentum, and angular momentum about the center of mass: q, u -> momentum (6,)."""
        return self._quantity("centroidal_momentum", "momentum")

    @property
    def centroidal_momentum_matrix(self) -> Function:
        """Matrix A with centroidal momentum = A u (Orin 2013): q -> matrix (6, nu)."""
        return self._quantity("centroidal_momentum_matrix", "matrix")

    @property
    def centroidal_momentum_bias(self) -> Function:
        """Rate A' u of the centroidal momentum at u' = 0: q, u -> bias (6,)."""
        return self._quantity("centroidal_momentum_bias", "bias")

    @property
    def kinetic_energy(self) -> Function:
        """Kinetic energy, armature included: q, u -> kinetic_energy ()."""
        return self._quantity("kinetic_energy", "kinetic_energy")

    @property
    def potential_energy(self) -> Function:
        """Potential energy of gravity and springs: q -> potential_energy ()."""
        return self._quantity("potential_energy", "potential_energy")

    # coordinates

    @property
    def coordinate_rate(self) -> Function:
        """Rate of the coordinates, q' = F(q) u: q, u -> coordinate_rate (nq,)."""
        return self._quantity("coordinate_rate", "coordinate_rate")

    @property
    def integrate(self) -> Function:
        """Coordinates after moving with a constant velocity: q, u, dt -> q_end (nq,).

        Quaternions rotate exactly. All derivatives exist, also where a body does not turn.
        """

        def build(terms: Terms) -> Outputs:
            q, u, dt = (terms.inputs[name] for name in ("q", "u", "dt"))
            return {"q_end": symbolic_integrate.integrate(self.mechanism, q, u, dt)}

        return self._build_cached("integrate", ("q", "u", "dt"), build)

    @property
    def difference(self) -> Function:
        """Velocity that moves `start` to `q` in one second: q, start -> u (nu,)."""

        def build(terms: Terms) -> Outputs:
            q, start = terms.inputs["q"], terms.inputs["start"]
            return {"u": symbolic_integrate.difference(self.mechanism, q, start)}

        return self._build_cached("difference", ("q", "start"), build)

    @property
    def loop_gaps(self) -> Function:
        """Gaps of loop joints and mimic joints, zero if closed: q -> gaps (nb,)."""
        return self._build_cached(
            "loop_gaps", ("q",), lambda t: {"gaps": loop_constraints.gaps(t.kin)}
        )

    @property
    def loop_jacobian(self) -> Function:
        """Jacobian W of the gaps, whose rate is W u: q -> jacobian (nb, nu)."""

        def build(terms: Terms) -> Outputs:
            rows = [ca.horzcat(*row) for row in loop_constraints.directions(terms.kin)]
            return {"jacobian": ca.sparsify(ca.vertcat(SX(0, self.mechanism.nu), *rows))}

        return self._build_cached("loop_jacobian", ("q",), build)

    # motors and limits

    @property
    def actuation(self) -> Array:
        """Matrix B (nu, motors) with tau = B torques, in the order of `robot.actuators`."""
        m = self.mechanism
        B = np.zeros((m.nu, len(m.actuators)))
        for k, motor in enumerate(m.actuators):
            B[m.u_slices[m.joint_index(motor.joint)].start, k] = 1.0
        return B

    @property
    def torque_lower(self) -> Array:
        """Smallest torque of each motor, (motors,), in N m or N; -inf without a limit."""
        return np.array([motor.lower for motor in self.mechanism.actuators], dtype=float)

    @property
    def torque_upper(self) -> Array:
        """Largest torque of each motor, (motors,), in N m or N; inf without a limit."""
        return np.array([motor.upper for motor in self.mechanism.actuators], dtype=float)

    @property
    def q_lower(self) -> Array:
        """Lower limits of the coordinates, (nq,), in rad or m; -inf without a limit."""
        return self._limits("lower", -np.inf)

    @property
    def q_upper(self) -> Array:
        """Upper limits of the coordinates, (nq,), in rad or m; inf without a limit."""
        return self._limits("upper", np.inf)

    @property
    def u_limit(self) -> Array:
        """Largest speed of each joint, (nu,), in rad/s or m/s; inf without a limit."""
        return self._by_velocity("velocity_limit", np.inf)

    @property
    def damping(self) -> Array:
        """Damping coefficient of each joint, (nu,), in N m s/rad or N s/m."""
        return self._by_velocity("damping", 0.0)

    @property
    def dry_friction(self) -> Array:
        """Largest torque of dry friction of each joint, (nu,), in N m or N."""
        return self._by_velocity("dry_friction", 0.0)

    def _by_velocity(self, attribute: str, of_base: float) -> Array:
        values = np.full(self.mechanism.nu, of_base)
        for body, in_u in zip(self.mechanism.bodies, self.mechanism.u_slices, strict=True):
            if body.joint.kind != "free":
                values[in_u] = getattr(body.joint, attribute)
        return values

    def _limits(self, attribute: str, without: float) -> Array:
        values = np.full(self.mechanism.nq, without)
        for body, in_q in zip(self.mechanism.bodies, self.mechanism.q_slices, strict=True):
            if body.joint.kind in ("hinge", "slide"):
                values[in_q] = getattr(body.joint, attribute)
        return values

    def _candidate(self, name: str) -> Candidate:
        for candidate in self.mechanism.candidates:
            if candidate.name == name:
                return candidate
        raise unknown_name_error(
            "contact candidate", name, [c.name for c in self.mechanism.candidates]
        )

    def _quantity(self, name: str, output: str, frame: str = "") -> Function:
        """Build the function of a quantity of `QUANTITIES`."""
        quantity = QUANTITIES[name]

        def build(terms: Terms) -> Outputs:
            named = self.mechanism.frame(frame) if quantity.has_frame else None
            return {output: quantity.expression(Terms(self.mechanism, terms.inputs, named))}

        return self._build_cached(
            name, quantity.inputs, build, *([frame] if quantity.has_frame else [])
        )

    def _build_cached(
        self,
        name: str,
        inputs: tuple[str, ...],
        build: Callable[[Terms], Outputs],
        *points: str,
        key: str = "",
    ) -> Function:
        """Return a function from the cache, or build it."""
        if (name, points, key) not in self._functions:
            given = {each: SX.sym(each, *self._shape(each, len(points))) for each in inputs}
            outputs = build(Terms(self.mechanism, given))
            self._functions[name, points, key] = Function(
                _identifier("_".join([name, *points])),
                list(given.values()),
                list(outputs.values()),
                list(given),
                list(outputs),
                {"cse": True},
            )
        return self._functions[name, points, key]

    def _shape(self, name: str, points: int) -> tuple[int, ...]:
        if name == "forces":
            return (3, points)
        if name == "dt":
            return (1,)
        return (input_size(self.mechanism, "q" if name == "start" else name),)


def _names(names: str | Iterable[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def _identifier(name: str) -> str:
    """Turn a name into an identifier that CasADi accepts: letters, digits, single underscores."""
    return re.sub(r"_+", "_", re.sub(r"\W", "_", name, flags=re.ASCII)).strip("_")


def _find_lowest_point(kin: Kinematics, candidate: Candidate) -> SX:
    """Find the point (3,), body frame, where a candidate touches level ground."""
    return symbolic_contact_point(candidate, -kin.world_rotation[candidate.body][2, :].T)


def _contact_jacobian(kin: Kinematics, candidate: Candidate) -> SX:
    point = _find_lowest_point(kin, candidate)
    return jacobian.dense(jacobian.point_jacobian(kin, candidate.body, point), kin.mechanism.nu)


def _contact_bias(terms: Terms, candidate: Candidate) -> SX:
    """Compute dJ/dt u (3,) of a contact point: the derivative of J(q) u along q' = F(q) u."""
    q, u = terms.inputs["q"], terms.inputs["u"]
    velocity = ca.mtimes(_contact_jacobian(terms.kin, candidate), u)
    return ca.jtimes(velocity, q, coordinate_rate(terms.mechanism, q, u))
