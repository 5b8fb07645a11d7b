"""A robot with methods for its dynamics: M(q) u' + c(q, u) + g(q) = tau + J^T f.

Every method takes one state, `q` of shape (nq,) and `u` of shape (nu,), or N states, (N, nq) and
(N, nu), and returns results with the same leading axis. One state can be combined with N others. SI
units; layout and signs as in `tarsus.model.mechanism.Mechanism`.
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
from tarsus.dynamics.compiled_quantities import CompiledQuantities
from tarsus.dynamics.description import description, summary_line
from tarsus.dynamics.integrate import difference, integrate
from tarsus.dynamics.inverse_kinematics import InverseKinematicsResult, inverse_kinematics
from tarsus.dynamics.symbolic import SymbolicRobot
from tarsus.errors import unknown_name_error
from tarsus.model.mechanism import Mechanism

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Origin:
    """Source that a robot was loaded from.

    Attributes
    ----------
    file
        Absolute path, empty for a built-in robot.
    sha256
        Hash of the file's bytes, hexadecimal; empty without a file.
    options
        Options given to the importer, or to `describe` of a built-in robot.
    """

    file: str = ""
    sha256: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Robot(Mechanism):
    """A mechanism with methods for its dynamics, compiled on demand.

    `tarsus.load` returns one. It has all attributes of `Mechanism`. The first call of a method
    compiles it and caches the code on disk; later calls take microseconds.

    Attributes
    ----------
    origin
        Source that the robot was loaded from.

    Examples
    --------
    >>> import numpy as np
    >>> import tarsus
    >>> robot = tarsus.load("starleth")
    >>> q, u = robot.keyframes["stand"], np.zeros(robot.nu)
    >>> robot.mass_matrix(q).shape
    (18, 18)
    >>> tau = robot.inverse_dynamics(q, u, acceleration=np.zeros(robot.nu))
    >>> bool(np.allclose(robot.forward_dynamics(q, u, tau), 0, atol=1e-9))
    True
    >>> robot.jacobian(q, "LF_foot").shape
    (6, 18)

    Many states are computed in one call:

    >>> robot.gravity(np.stack([q, q, q])).shape
    (3, 18)
    """

    origin: Origin = Origin()

    @classmethod
    def of(cls, mechanism: Mechanism) -> Robot:
        """Return the mechanism as a robot.

        Parameters
        ----------
        mechanism
            Mechanism, or a robot, which is returned as it is.

        Returns
        -------
        Robot
            Robot with the same bodies, joints and contact candidates.
        """
        if isinstance(mechanism, cls):
            return mechanism
        return cls(**{f.name: getattr(mechanism, f.name) for f in fields(Mechanism)})

    def __getstate__(self) -> dict[str, Any]:
        """Return the description without the compiled code, for copies and pickles."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    @cached_property
    def _compute(self) -> CompiledQuantities:
        return CompiledQuantities(self)

    def mass_matrix(self, q: ArrayLike) -> Array:
        """Compute the mass matrix M(q), with armature on its diagonal.

        Parameters
        ----------
        q
            Coordinates, shape (nq,) or (N, nq).

        Returns
        -------
        Array
            M, shape (nu, nu) or (N, nu, nu), in kg, kg m and kg m^2.

        References
        ----------
        Teixeira de Paula 2024, Algorithm 5.
        """
        return self._compute("mass_matrix", q=q)

    def velocity_terms(self, q: ArrayLike, u: ArrayLike) -> Array:
        """Compute the Coriolis and centrifugal forces c(q, u).

        Parameters
        ----------
        q
            Coordinates, shape (nq,) or (N, nq).
        u
            Velocities, shape (nu,) or (N, nu).

        Returns
        -------
        Array
            c, shape (nu,) or (N, nu), in N or N m, on the left-hand side of the equations of
            motion.

        References
        ----------
        Teixeira de Paula 2024, Algorithm 2.
        """
        return self._compute("velocity_terms", q=q, u=u)

    def gravity(self, q: ArrayLike) -> Array:
        """Compute the generalized forces g(q) that hold the robot against gravity.

        Parameters
        ----------
        q
            Coordinates, shape (nq,) or (N, nq).

        Returns
        -------
        Array
            g, shape (nu,) or (N, nu), in N or N m, on the left-hand side of the equations of
            motion.

        References
        ----------
        Teixeira de Paula 2024, Algorithm 3.
        """
        return self._compute("gravity", q=q)

    def spring_forces(self, q: ArrayLike) -> Array:
        """Compute the forces of the springs of joints and tendons, such as -K (q - rest).

        They belong on the right-hand side: add them to `tau` of `forward_dynamics`.

        Parameters
        ----------
        q
            Coordinates, shape (nq,) or (N, nq).

        Returns
        -------
        Array
            Generalized forces, shape (nu,) or (N, nu), in N or N m.
        """
        return self._compute("spring_forces", q=q)

    def bias(self, q: ArrayLike, u: ArrayLike) -> Array:
        """Compute c(q, u) + g(q) in one sweep.

        Parameters
        ----------
        q
            Coordinates, shape (nq,) or (N, nq).
        u
            Velocities, shape (nu,) or (N, nu).

        Returns
        -------
        Array
            c + g, shape (nu,) or (N, nu), in N or N m, on the left-hand side of the equations of
            motion.

        References
        ----------
        Teixeira de Paula 2024, Algorithms 2 and 3.
        """
        return self._compute("bias", q=q, u=u)

    def inverse_dynamics(self, q: ArrayLike, u: ArrayLike, acceleration: ArrayLike) -> Array:
        """Compute the generalized forces that cause an acceleration, tau = M u' + c + g.

        Armature is included; contact and springs are not.

        Parameters
        ----------
        q
            Coordinates, shape (nq,) or (N, nq).
        u
            Velocities, shape (nu,) or (N, nu).
        acceleration
            u', shape (nu,) or (N, nu), in m/s^2 or rad/s^2.

        Returns
        -------
        Array
            tau, shape (nu,) or (N, nu), in N or N m.

        References
        ----------
        Teixeira de Paula 2024, Algorithm 2.
        """
        return self._compute("inverse_dynamics", q=q, u=u, acceleration=acceleration)

    def forward_dynamics(self, q: ArrayLike, u: ArrayLike, tau: ArrayLike) -> Array:
        """Compute the acceleration without contact, u' = M^-1 (tau - c - g).

        Parameters
        ----------
        q
            Coordinates, shape (nq,) or (N, nq).
        u
            Velocities, shape (nu,) or (N, nu).
        tau
            Generalized forces, shape (nu,) or (N, nu), in N or N m.

        Returns
        -------
        Array
            u', shape (nu,) or (N, nu), in m/s^2 or rad/s^2.
        """
        return self._compute("forward_dynamics", q=q, u=u, tau=tau)

    def inverse_dynamics_derivatives(
        self, q: ArrayLike, u: ArrayLike, acceleration: ArrayLike
    ) -> Array:
        """Compute the derivatives of `inverse_dynamics` with respect to coordinates and velocities.

        A change of coordinates is expressed as a velocity times one second, as in `integrate`. The
        derivative with respect to the acceleration is the mass matrix.

        Parameters
        ----------
        q
            Coordinates, shape (nq,) or (N, nq).
        u
            Velocities, shape (nu,) or (N, nu).
        acceleration
            u', shape (nu,) or (N, nu), in m/s^2 or rad/s^2.

        Returns
        -------
        Array
            Derivatives of tau with respect to q, then u, shape (nu, 2 nu) or (N, nu, 2 nu).

        References
        ----------
        Carpentier 2018.

        Examples
        --------
        >>> import numpy as np
        >>> import tarsus
        >>> robot = tarsus.load("mini_cheetah")
        >>> stand, rest = robot.keyframes["stand"], np.zeros(robot.nu)
        >>> both = robot.inverse_dynamics_derivatives(stand, rest, rest)
        >>> by_position, by_velocity = np.split(both, 2, axis=-1)
        >>> by_position.shape, bool(abs(by_velocity).max() < 1e-12)
        ((18, 18), True)
        """
        name = "inverse_dynamics_derivatives"
        return self._compute(name, q=q, u=u, acceleration=acceleration)

    def forward_dynamics_derivatives(self, q: ArrayLike, u: ArrayLike, tau: ArrayLike) -> Array:
        """Compute the derivatives of `forward_dynamics` with respect to all its inputs.

        A change of coordinates is expressed as a velocity times one second, as in `integrate`.

        Parameters
        ----------
        q
            Coordinates, shape (nq,) or (N, nq).
        u
            Velocities, shape (nu,) or (N, nu).
        tau
            Generalized forces, shape (nu,) or (N, nu), in N or N m.

        Returns
        -------
        Array
            Derivatives of u' with respect to q, u and tau, shape (nu, 3 nu) or (N, nu, 3 nu). The
            last nu columns are the inverse of the mass matrix.

        References
        ----------
        Carpentier 2018.
        """
        return self._compute("forward_dynamics_derivatives", q=q, u=u, tau=tau)

    def solve_mass_matrix(self, q: ArrayLike, b: ArrayLike) -> Array:
        """Solve M(q) x = b by the sparse factorization M = L^T D L.

        Parameters
        ----------
        q
            Coordinates, shape (nq,) or (N, nq).
        b
            Right-hand side, shape (nu,) or (N, nu).

        Returns
        -------
        Array
            x, shape (nu,) or (N, nu).

        References
        ----------
        Featherstone 2008, section 6.5.
        """
        return self._compute("solve_mass_matrix", q=q, b=b)

    def external_force(self, q: ArrayLike, name: str, wrench: ArrayLike) -> Array:
        """Compute the generalized force J^T f of a wrench on a frame.

        Parameters
        ----------
        q
            Coordinates, shape (nq,) or (N, nq).
        name
            Frame, body or contact candidate on which the wrench acts.
        wrench
            Force (N) and moment (N m) at the origin of the frame, in world axes, shape (6,) or
            (N, 6).

        Returns
        -------
        Array
            Generalized force, shape (nu,) or (N, nu), in N or N m, on the right-hand side of the
            equations of motion.

        References
        ----------
        Teixeira de Paula 2024, Algorithm 4.
        """
        return self._compute("external_force", name, q=q, wrench=wrench)

    def jacobian(self, q: ArrayLike, name: str) -> Array:
        """Compute the Jacobian J of a frame: velocity(q, u, name) = J u.

        Parameters
        ----------
        q
            Coordinates, shape (nq,) or (N, nq).
        name
            Frame, body, or contact candidate (then J is that of its sphere's center).

        Returns
        -------
        Array
            J, shape (6, nu) or (N, 6, nu), in world axes: three rows of linear velocity (m/s), then
            three of angular velocity (rad/s).

        References
        ----------
        Teixeira de Paula 2024, Algorithm 6.
        """
        return self._compute("jacobian", name, q=q)

    def position(self, q: ArrayLike, name: str) -> Array:
        """Compute the position of a frame's origin in the world.

        Parameters
        ----------
        q
            Coordinates, shape (nq,) or (N, nq).
        name
            Frame, body or contact candidate.

        Returns
        -------
        Array
            Position, shape (3,) or (N, 3), in m, world frame.

        References
        ----------
        Teixeira de Paula 2024, Algorithm 1.
        """
        return self._compute("position", name, q=q)

    def rotation(self, q: ArrayLike, name: str) -> Array:
        """Compute the rotation R of a frame: x_world = R x_frame.

        Parameters
        ----------
        q
            Coordinates, shape (nq,) or (N, nq).
        name
            Frame, body or contact candidate.

        Returns
        -------
        Array
            R, shape (3, 3) or (N, 3, 3).

        References
        ----------
        Teixeira de Paula 2024, Algorithm 1.
        """
        return self._compute("rotation", name, q=q)

    def velocity(self, q: ArrayLike, u: ArrayLike, name: str) -> Array:
        """Compute the linear and angular velocity of a frame.

        Parameters
        ----------
        q
            Coordinates, shape (nq,) or (N, nq).
        u
            Velocities, shape (nu,) or (N, nu).
        name
            Frame, body or contact candidate.

        Returns
        -------
        Array
            Velocity of the frame's origin (m/s), then angular velocity (rad/s), shape (6,) or
            (N, 6), in world axes.

        References
        ----------
        Teixeira de Paula 2024, Algorithm 1.
        """
        return self._compute("velocity", name, q=q, u=u)

    def bias_acceleration(self, q: ArrayLike, u: ArrayLike, name: str) -> Array:
        """Compute J' u of a frame, its acceleration at u' = 0.

        Parameters
        ----------
        q
            Coordinates, shape (nq,) or (N, nq).
        u
            Velocities, shape (nu,) or (N, nu).
        name
            Frame, body or contact candidate.

        Returns
        -------
        Array
            Acceleration of the frame's origin (m/s^2), then angular acceleration (rad/s^2), shape
            (6,) or (N, 6), in world axes.

        References
        ----------
        Teixeira de Paula 2024, Algorithm 2.
        """
        return self._compute("bias_acceleration", name, q=q, u=u)

    def frame_acceleration(
        self, q: ArrayLike, u: ArrayLike, acceleration: ArrayLike, name: str
    ) -> Array:
        """Compute the linear and angular acceleration of a frame, J u' + J' u.

        Parameters
        ----------
        q
            Coordinates, shape (nq,) or (N, nq).
        u
            Velocities, shape (nu,) or (N, nu).
        acceleration
            u', shape (nu,) or (N, nu), in m/s^2 or rad/s^2.
        name
            Frame, body or contact candidate.

        Returns
        -------
        Array
            Acceleration of the frame's origin (m/s^2), then angular acceleration (rad/s^2), shape
            (6,) or (N, 6), in world axes. The former is the second time derivative of `position`,
            without gravity.
        """
        return self._compute("frame_acceleration", name, q=q, u=u, acceleration=acceleration)

    def center_of_mass(self, q: ArrayLike) -> Array:
        """Compute the position of the robot's center of mass in the world.

        Parameters
        ----------
        q
            Coordinates, shape (nq,) or (N, nq).

        Returns
        -------
        Array
            Position, shape (3,) or (N, 3), in m, world frame.
        """
        return self._compute("center_of_mass", q=q)

    def center_of_mass_jacobian(self, q: ArrayLike) -> Array:
        """Compute the Jacobian J of the center of mass, whose velocity is J u.

        Parameters
        ----------
        q
            Coordinates, shape (nq,) or (N, nq).

        Returns
        -------
        Array
            J, shape (3, nu) or (N, 3, nu), in world axes.
        """
        return self._compute("center_of_mass_jacobian", q=q)

    def kinetic_energy(self, q: ArrayLike, u: ArrayLike) -> Array:
        """Compute the kinetic energy 1/2 u^T M u, armature included.

        Parameters
        ----------
        q
            Coordinates, shape (nq,) or (N, nq).
        u
            Velocities, shape (nu,) or (N, nu).

        Returns
        -------
        Array
            Energy, shape () or (N,), in J.
        """
        return self._compute("kinetic_energy", q=q, u=u)

    def potential_energy(self, q: ArrayLike) -> Array:
        """Compute the potential energy of gravity and of the springs of joints and tendons.

        The energy of gravity is zero with the center of mass at the world's origin.

        Parameters
        ----------
        q
            Coordinates, shape (nq,) or (N, nq).

        Returns
        -------
        Array
            Energy, shape () or (N,), in J.
        """
        return self._compute("potential_energy", q=q)

    def momentum(self, q: ArrayLike, u: ArrayLike) -> Array:
        """Compute the robot's linear and angular momentum, without armature.

        Parameters
        ----------
        q
            Coordinates, shape (nq,) or (N, nq).
        u
            Velocities, shape (nu,) or (N, nu).

        Returns
        -------
        Array
            Linear momentum (N s), then angular momentum about the world's origin (N m s), shape
            (6,) or (N, 6), world frame.
        """
        return self._compute("momentum", q=q, u=u)

    def centroidal_momentum(self, q: ArrayLike, u: ArrayLike) -> Array:
        """Compute the linear momentum, and the angular momentum about the center of mass.

        Armature is not included.

        Parameters
        ----------
        q
            Coordinates, shape (nq,) or (N, nq).
        u
            Velocities, shape (nu,) or (N, nu).

        Returns
        -------
        Array
            Linear momentum (N s), then angular momentum (N m s), shape (6,) or (N, 6), in world
            axes.

        References
        ----------
        Orin 2013.
        """
        return self._compute("centroidal_momentum", q=q, u=u)

    def centroidal_momentum_matrix(self, q: ArrayLike) -> Array:
        """Compute the matrix A with centroidal_momentum(q, u) = A u.

        Parameters
        ----------
        q
            Coordinates, shape (nq,) or (N, nq).

        Returns
        -------
        Array
            A, shape (6, nu) or (N, 6, nu), in world axes.

        References
        ----------
        Orin 2013.
        """
        return self._compute("centroidal_momentum_matrix", q=q)

    def centroidal_momentum_bias(self, q: ArrayLike, u: ArrayLike) -> Array:
        """Compute A' u, the rate of the centroidal momentum at u' = 0.

        The rate of the centroidal momentum is A u' + A' u. It equals the sum of external forces,
        gravity included, and of their moments about the center of mass.

        Parameters
        ----------
        q
            Coordinates, shape (nq,) or (N, nq).
        u
            Velocities, shape (nu,) or (N, nu).

        Returns
        -------
        Array
            Rate of the linear momentum (N), then of the angular momentum (N m), shape (6,) or
            (N, 6), in world axes.

        References
        ----------
        Orin 2013.
        """
        return self._compute("centroidal_momentum_bias", q=q, u=u)

    def coordinate_rate(self, q: ArrayLike, u: ArrayLike) -> Array:
        """Compute the rate of the coordinates, q' = F(q) u.

        Parameters
        ----------
        q
            Coordinates, shape (nq,) or (N, nq).
        u
            Velocities, shape (nu,) or (N, nu).

        Returns
        -------
        Array
            q', shape (nq,) or (N, nq).

        References
        ----------
        Gehring 2014, Eqns. (1) and (22).
        """
        return self._compute("coordinate_rate", q=q, u=u)

    def integrate(self, q: ArrayLike, u: ArrayLike, dt: ArrayLike) -> Array:
        """Move the coordinates with a constant velocity; quaternions turn exactly.

        Parameters
        ----------
        q
            Coordinates at the start, shape (nq,) or (N, nq).
        u
            Velocities, shape (nu,) or (N, nu).
        dt
            Duration in s, shape () or (N,).

        Returns
        -------
        Array
            Coordinates at the end, shape (nq,) or (N, nq).
        """
        states = self._compute.check_inputs(q=q, u=u)
        return integrate(self, states["q"], states["u"], dt)

    def difference(self, q: ArrayLike, start: ArrayLike) -> Array:
        """Compute the constant velocity that moves `start` to `q` in one second.

        It is the inverse of `integrate`, provided that bodies turn by less than half a turn.

        Parameters
        ----------
        q
            Coordinates at the end, shape (nq,) or (N, nq).
        start
            Coordinates at the start, shape (nq,) or (N, nq).

        Returns
        -------
        Array
            Velocities, shape (nu,) or (N, nu).
        """
        ends = [self._compute.check_inputs(q=each)["q"] for each in (q, start)]
        return difference(self, *ends)

    def inverse_kinematics(
        self,
        q: ArrayLike,
        targets: Mapping[str, ArrayLike | tuple[ArrayLike, ArrayLike]],
        *,
        move_base: bool = False,
        iterations: int = 100,
        tolerance: float = 1e-6,
    ) -> InverseKinematicsResult:
        """Find coordinates that bring frames to targets, within joint limits.

        Several frames may have targets, and each of N states its own. If joints are redundant, they
        stay near the start. Out of reach, the result is the nearest posture found.

        Parameters
        ----------
        q
            Coordinates to start from, shape (nq,) or (N, nq).
        targets
            By frame, body or contact candidate (then its center): a position (3,) or (N, 3) in m,
            world frame, or a tuple of position and rotation matrix, (3, 3) or (N, 3, 3).
        move_base
            Whether floating bases move too. By default only joints do.
        iterations
            Largest number of iterations.
        tolerance
            Largest error of a position (m) or rotation (rad) that counts as reached.

        Returns
        -------
        InverseKinematicsResult
            Coordinates `q`, `error` and `reached`.

        Raises
        ------
        UnknownName
            If a frame does not exist.
        InvalidValue
            If a target has the wrong shape.
        Unsupported
            If the robot has loops or mimic joints.

        References
        ----------
        Nocedal and Wright 2006, section 10.3.

        Examples
        --------
        >>> import tarsus
        >>> robot = tarsus.load("mini_cheetah")
        >>> stand = robot.keyframes["stand"]
        >>> lifted = robot.position(stand, "FR_foot") + [0.05, 0, 0.1]
        >>> result = robot.inverse_kinematics(stand, {"FR_foot": lifted})
        >>> bool(result.reached)
        True
        """
        return inverse_kinematics(
            self._symbolic,
            self._compute.check_inputs(q=q)["q"],
            targets,
            move_base=move_base,
            iterations=iterations,
            tolerance=tolerance,
        )

    def symbolic(self) -> SymbolicRobot:
        """Return the dynamics as CasADi functions, for optimal control and code generation.

        Returns
        -------
        SymbolicRobot
            Functions of the same expressions that the methods of the robot compile.

        Examples
        --------
        >>> import casadi as ca
        >>> import tarsus
        >>> robot = tarsus.load("biped")
        >>> q = ca.MX.sym("q", robot.nq)
        >>> robot.symbolic().mass_matrix(q).shape == (robot.nu, robot.nu)
        True
        """
        return self._symbolic

    @cached_property
    def _symbolic(self) -> SymbolicRobot:
        return SymbolicRobot(self)

    def loop_gaps(self, q: ArrayLike) -> Array:
        """Compute the gaps g_B of all loop joints and joint couplings.

        Parameters
        ----------
        q
            Coordinates, shape (nq,) or (N, nq).

        Returns
        -------
        Array
            Gap of each constraint row, shape (nb,) or (N, nb), in m or rad; zero where it is
            closed.

        References
        ----------
        Gehring 2014, Eqn. (4).
        """
        return loop_closure.gaps(self, self._compute.check_inputs(q=q)["q"])

    def close_loops(self, q: ArrayLike) -> Array:
        """Find the nearest coordinates that close all loops.

        Parameters
        ----------
        q
            Coordinates, shape (nq,) or (N, nq).

        Returns
        -------
        Array
            Coordinates with closed loops, shape (nq,) or (N, nq).

        Raises
        ------
        TarsusError
            If no nearby coordinates close the loops.
        """
        return loop_closure.close_loops(self, self._compute.check_inputs(q=q)["q"])

    def with_contacts(self, names: str | Iterable[str]) -> Robot:
        """Copy the robot with fewer contact candidates.

        Parameters
        ----------
        names
            Names of candidates, or patterns such as "*_foot"; one or several.

        Returns
        -------
        Robot
            Robot with the named candidates only.

        Raises
        ------
        TarsusError
            If a name or a pattern matches no candidate.
        """
        known = [candidate.name for candidate in self.candidates]
        selected: set[str] = set()
        many = isinstance(names, Iterable) and not isinstance(names, str)
        for pattern in names if many else [names]:
            text = pattern if isinstance(pattern, str) else ""
            matches = {name for name in known if name == pattern or fnmatchcase(name, text)}
            if not matches:
                raise unknown_name_error("contact candidate", pattern, known)
            selected |= matches
        return replace(self, candidates=tuple(c for c in self.candidates if c.name in selected))

    def describe(self) -> str:
        """Describe bodies, joints, masses, limits, motors and contact candidates in tables.

        Returns
        -------
        str
            Plain text of several lines.
        """
        return description(self)

    def __repr__(self) -> str:
        return f"Robot({summary_line(self)})"
