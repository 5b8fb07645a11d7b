"""Force of the actuators of a robot's file, as a function of the joints' motion in a step.

The force is affine in length and rate, between limits (`model.file_actuators`). Let d (m,) be the
change of the driven joints' rates over the step. At the end of the step the rate is u + d and the
mean coordinate is q + dt/4 d, as for springs (`dynamics.springs`). Within limits the
force falls by its slope, gear^2 (kv + dt/4 kp), per unit of d.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce

import casadi as ca
import numpy as np
from casadi import SX

from tarsus.dynamics.tendons import MEAN_FACTOR
from tarsus.dynamics.transmission import Transmission, transmission
from tarsus.model.file_actuators import FADE_RATIO, FileActuator, Range
from tarsus.model.mechanism import Mechanism
from tarsus.program.ir.symbolic import entries

Limits = tuple[SX, SX] | Range
Line = tuple[SX, SX]  # of a torque-speed curve: force at rest, rate of zero force


@dataclass(frozen=True, eq=False)
class TorqueSpeedLine:
    """Largest torque of each actuator, at its joint; it falls with the rate in the same direction.

    Attributes
    ----------
    top
        Largest torque (n,), in N m.
    stall
        Torque of the line at rest (n,), in N m.
    no_load_speed
        Rate at which the line reaches zero (n,), in rad/s.
    """

    top: SX
    stall: SX
    no_load_speed: SX


@dataclass(frozen=True, eq=False)
class MotorEffects:
    """Changes that models of real motors make to the actuators' forces during one step.

    Attributes
    ----------
    position_error, rate_error
        Measured minus true coordinate and rate of each joint (n,); None: they are exact.
    lines
        Torque-speed lines of the motors.
    share, rest
        A joint gets `share` times the torque of the actuator's law plus `rest` (n,), before the
        limits of lines; None: all of it.
    torque
        Torque (n,), in N m, instead of that of the actuator's law, constant over the step and
        limited to the range of the force; None: that of the law.
    """

    position_error: SX | None = None
    rate_error: SX | None = None
    lines: tuple[TorqueSpeedLine, ...] = ()
    share: SX | None = None
    rest: SX | None = None
    torque: SX | None = None

    def with_errors(self, position: SX, rate: SX) -> MotorEffects:
        """Add errors (n,) of the measured coordinates and rates."""
        before = self.position_error, self.rate_error
        position, rate = (
            new if old is None else old + new
            for old, new in zip(before, (position, rate), strict=True)
        )
        return replace(self, position_error=position, rate_error=rate)

    def with_line(self, line: TorqueSpeedLine) -> MotorEffects:
        """Add a torque-speed line."""
        return replace(self, lines=(*self.lines, line))

    def blended(self, decay: SX, torque: SX) -> MotorEffects:
        """Replace the part `decay` (n,) of the torque by that of another `torque` (n,)."""
        share = 1 - decay if self.share is None else (1 - decay) * self.share
        rest = decay * torque if self.rest is None else decay * torque + (1 - decay) * self.rest
        return replace(self, share=share, rest=rest)


@dataclass(frozen=True, eq=False)
class ActuatorForce:
    """Actuators of a mechanism and their control signals.

    Attributes
    ----------
    mechanism
        Mechanism with `file_actuators`, n of them.
    signal
        Signal of each actuator (n,): control or activation.
    values
        By name (n,): kp, kv and strength; stall_torque and no_load_speed if there is a
        torque-speed curve; gear, limits and speed if they are not constants.
    motor
        Changes by models of real motors.
    """

    mechanism: Mechanism
    signal: SX
    values: Mapping[str, SX]
    motor: MotorEffects = MotorEffects()

    @property
    def has_limits(self) -> bool:
        """Whether a limit can change how force depends on motion."""
        changed = any(n in self.values for n in ("force_lower", "force_upper"))
        fast = any(np.isfinite(a.speed) for a in self.mechanism.file_actuators)
        fast = fast or "speed" in self.values or "stall_torque" in self.values
        fast = fast or bool(self.motor.lines)
        return fast or any(
            a.depends_on_state and (a.has_force_limit or changed)
            for a in self.mechanism.file_actuators
        )

    def value(self, k: int, name: str, constant: float) -> SX:
        """Return a value of actuator k: a symbol of `values`, or a constant."""
        return self.values[name][k] if name in self.values else SX(constant)

    def control_range(self, k: int) -> tuple[SX, SX]:
        """Return the limits of the control signal of actuator k."""
        lower, upper = self.mechanism.file_actuators[k].control
        return self.value(k, "control_lower", lower), self.value(k, "control_upper", upper)

    def force_range(self, k: int) -> tuple[SX, SX]:
        """Return the limits of the force of actuator k, before its gear."""
        lower, upper = self.mechanism.file_actuators[k].force
        return self.value(k, "force_lower", lower), self.value(k, "force_upper", upper)

    def at(self, q: SX, u: SX, dt: SX) -> ActuatorForceAtState:
        """Compute the forces in a step of dt, at coordinates q (nq,) and velocities u (nu,)."""
        names = [motor.joint for motor in self.mechanism.actuators]
        driven = transmission(self.mechanism, names, q)
        return ActuatorForceAtState(self, driven, driven.coordinates, driven.rates(u), dt)


@dataclass(frozen=True, eq=False)
class ActuatorForceAtState:
    """Forces of actuators in a step evaluated at one state.

    Attributes
    ----------
    law
        Actuators and their signals.
    driven
        Joints and tendons that the m motors drive.
    q, u
        Their coordinates and rates, shape (m,).
    dt
        Step size in s.
    """

    law: ActuatorForce
    driven: Transmission
    q: SX
    u: SX
    dt: SX

    def without_limits(self) -> tuple[SX, SX]:
        """Compute force (m,) and slope (m,) without limits, at d = 0."""
        return self._sum(SX.zeros(self.u.numel()), limited=False)

    def with_limits(self, d: SX, extends_below_zero: SX | None = None) -> tuple[SX, SX]:
        """Compute force (m,) and slope (m,) with limits, at a change of rates d (m,).

        Parameters
        ----------
        d
            Change of the joints' rates over the step, shape (m,).
        extends_below_zero
            1 where torque-speed lines continue below zero force, shape (m,).

        Returns
        -------
        tuple of SX
            Force and slope.
        """
        return self._sum(d, limited=True, extends_below_zero=extends_below_zero)

    def max_slopes(self) -> SX:
        """Compute the largest slope (m,) of each joint: its own, or that of torque-speed lines."""
        slopes = []
        for indices, slope in zip(
            self._actuators_by_motor(), entries(self.without_limits()[1]), strict=True
        ):
            lines = [line for k in indices for _, line in self._lines(k)]
            slopes.append(slope + sum((stall / fastest for stall, fastest in lines), SX(0)))
        return ca.vertcat(SX(0, 1), *slopes)

    def select_limiting_lines(self, d: SX, force: SX) -> tuple[SX, SX, SX]:
        """Select the torque-speed line that limits each joint, at a change of rates d (m,).

        Parameters
        ----------
        d
            Change of the joints' rates over the step, shape (m,).
        force
            Force of each joint, shape (m,).

        Returns
        -------
        tuple of SX
            Force of the line at the start of the step, its slope, and how much `force` exceeds the
            line at the end, each (m,); 0, 0 and minus infinity without a line, or if several
            actuators share a joint.
        """
        rows = []
        for j, indices in enumerate(self._actuators_by_motor()):
            rate, best = self.u[j] + d[j], ca.vertcat(0, 0, np.inf)
            sign = ca.if_else(rate < 0, -1, 1)
            for top, line in self._lines(indices[0]) if len(indices) == 1 else []:
                stall, fastest = line
                start = stall * (sign - self.u[j] / fastest)
                this = ca.vertcat(start, stall / fastest, max_force(sign, rate, top, line))
                best = ca.if_else(this[2] < best[2], this, best)
            rows.append(ca.vertcat(best[:2], sign * force[j] - best[2]))
        columns = ca.horzcat(SX(3, 0), *rows)
        return columns[0, :].T, columns[1, :].T, columns[2, :].T

    def exceeds_no_load_speed(self, d: SX) -> SX:
        """Return 1 (m,) where a joint, its rate changed by d (m,), exceeds its no-load speed."""
        flags = []
        for j, indices in enumerate(self._actuators_by_motor()):
            lines = [line for k in indices for _, line in self._lines(k)]
            over = (ca.fabs(self.u[j] + d[j]) > fastest for _, fastest in lines)
            flags.append(reduce(ca.logic_or, over, SX(0)))
        return ca.vertcat(SX(0, 1), *flags)

    def is_within_limits(self, force: SX, d: SX) -> SX:
        """Return 1 if no limit changes the forces (m,) at a change of rates d (m,), else 0.

        It is 0 if several actuators share a joint.
        """
        largest = SX(-1)
        for j, indices in enumerate(self._actuators_by_motor()):
            if len(indices) > 1:
                return SX(0)
            for excess in self._excesses(indices[0], force[j], self.u[j] + d[j]):
                largest = ca.fmax(largest, excess)
        return largest <= 0

    def _excesses(self, k: int, force: SX, rate: SX) -> list[SX]:
        """Compute the excess of a torque of actuator k over each of its limits at a rate."""
        gear, strength = self._gear(k), self.law.values["strength"][k]
        excesses = [
            sign * (force - bound)
            for sign, bound in finite_bounds(self.law.mechanism.file_actuators[k].joint_force)
        ]
        gear_sign = ca.if_else(gear < 0, -1, 1)
        excesses += [
            sign * gear_sign * (force - gear * strength * bound)
            for sign, bound in finite_bounds(self.law.force_range(k))
        ]
        for top, line in self._lines(k):
            excesses += [sign * force - max_force(sign, rate, top, line) for sign in (1, -1)]
        return excesses

    def _actuators_by_motor(self) -> list[list[int]]:
        """Find the indices of the actuators of each motor's joint."""
        m = self.law.mechanism
        return [
            [k for k, actuator in enumerate(m.file_actuators) if actuator.joint == motor.joint]
            for motor in m.actuators
        ]

    def _sum(self, d: SX, limited: bool, extends_below_zero: SX | None = None) -> tuple[SX, SX]:
        forces, slopes = [], []
        for j, indices in enumerate(self._actuators_by_motor()):
            force, slope, limits = SX(0), SX(0), (-np.inf, np.inf)
            for k in indices:
                one = self._torque(
                    k,
                    j,
                    d[j],
                    limited,
                    SX(0) if extends_below_zero is None else extends_below_zero[j],
                )
                limits = self.law.mechanism.file_actuators[k].joint_force
                force, slope = force + one[0], slope + one[1]
            if limited:
                force, slope = clamp(force, slope, limits)
            forces.append(force)
            slopes.append(slope)
        return ca.vertcat(SX(0, 1), *forces), ca.vertcat(SX(0, 1), *slopes)

    def _torque(
        self, k: int, j: int, d: SX, limited: bool, extends_below_zero: SX
    ) -> tuple[SX, SX]:
        """Compute the torque of actuator k on joint j, and its slope."""
        actuator, c = self.law.mechanism.file_actuators[k], self.law.signal[k]
        q, u, motor = self.q[j], self.u[j], self.law.motor
        q = q if motor.position_error is None else q + motor.position_error[k]
        u = u if motor.rate_error is None else u + motor.rate_error[k]
        kp, kv, strength = (self.law.values[name][k] for name in ("kp", "kv", "strength"))
        # the affine law: force, stiffness and damping
        gear, (g0, g1, g2), (b0, b1, b2) = self._gear(k), actuator.gain, actuator.bias
        gain = kp if actuator.has_kp else kv if actuator.kind == "velocity" else SX(g0)
        stiffness = kp if actuator.has_kp else SX(-b1) - g1 * c
        damping = kv if actuator.has_kv else SX(-b2) - g2 * c
        force = gain * c + b0 - gear * (stiffness * q + damping * u)
        # negative stiffness and damping act explicitly, at the start of the step
        slope = gear * (_positive(damping) + MEAN_FACTOR * self.dt * _positive(stiffness))
        force = force - slope * d
        if motor.torque is not None:
            force, slope = motor.torque[k] / gear, SX(0)
        # limits, then gear
        if limited:
            force, slope = clamp(force, slope, self.law.force_range(k))
        force, slope = gear * strength * force, gear * strength * slope
        if motor.share is not None and motor.rest is not None:
            force, slope = motor.rest[k] + motor.share[k] * force, motor.share[k] * slope
        return (
            self._limit_by_lines(k, (force, slope), self.u[j] + d, extends_below_zero)
            if limited
            else (force, slope)
        )

    def _gear(self, k: int) -> SX:
        return self.law.value(k, "gear", self.law.mechanism.file_actuators[k].gear)

    def _limit_by_lines(
        self, k: int, acting: tuple[SX, SX], rate: SX, extends_below_zero: SX
    ) -> tuple[SX, SX]:
        """Limit a torque to the torque-speed lines of the motor at a rate."""
        for top, line in self._lines(k):
            acting = limit_by_line(acting, rate, top, line, extends_below_zero)
        return acting

    def _lines(self, k: int) -> list[tuple[SX, Line]]:
        """Compute the largest torque and the torque-speed line of each limit of actuator k."""
        lines, values = [], self.law.values
        for curve in self.law.motor.lines:
            lines.append((curve.top[k], (curve.stall[k], curve.no_load_speed[k])))
        if "stall_torque" in values:
            stall, fastest = (values[name][k] for name in ("stall_torque", "no_load_speed"))
            lines.append((stall, (stall, fastest)))
        speed = self.law.value(k, "speed", self.law.mechanism.file_actuators[k].speed)
        if is_bound(speed):
            force = ca.fmax(*(ca.fabs(bound) for bound in self.law.force_range(k)))
            top = ca.fabs(self._gear(k)) * force * values["strength"][k]
            lines.append((top, (top / FADE_RATIO, speed)))
        return lines


def limit_by_line(
    acting: tuple[SX, SX], rate: SX, top: SX, line: Line, extends_below_zero: SX
) -> tuple[SX, SX]:
    """Limit a force along the motion to a torque-speed line.

    Parameters
    ----------
    acting
        Force and slope without this limit.
    rate
        Rate of the joint, in rad/s or m/s.
    top
        Largest force.
    line
        Torque-speed line.
    extends_below_zero
        1 if the line continues below zero force.

    Returns
    -------
    tuple of SX
        Force and slope within the limit.
    """
    (wanted, slope), (stall, fastest) = acting, line
    force = wanted
    for sign in (1, -1):
        far = ca.logic_and(
            extends_below_zero, ca.logic_and(sign * rate > fastest, sign * wanted > 0)
        )
        on_line = stall * (1 - sign * rate / fastest)
        limit = ca.if_else(far, on_line, max_force(sign, rate, top, line))
        falls = ca.logic_or(far, ca.logic_and(limit > 0, limit < top))
        over = sign * wanted > limit
        slope = ca.if_else(over, ca.if_else(falls, stall / fastest, 0), slope)
        force = ca.if_else(over, sign * limit, force)
    return force, slope


def max_force(sign: int | SX, rate: SX, top: SX, line: Line) -> SX:
    """Compute the largest force of a torque-speed line in a direction, 1 or -1, at a rate."""
    stall, fastest = line
    return ca.fmax(ca.fmin(stall * (1 - sign * rate / fastest), top), 0)


def clamp(force: SX, slope: SX, limits: Limits) -> tuple[SX, SX]:
    """Clamp a force to a range, with slope zero at the limits."""
    lower, upper = limits
    for bound, over in ((upper, force > upper), (lower, force < lower)):
        if is_bound(bound):
            force, slope = ca.if_else(over, bound, force), ca.if_else(over, 0, slope)
    return force, slope


def finite_bounds(limits: Limits) -> list[tuple[int, SX]]:
    """Return the finite bounds of a range: -1 for the lower one, 1 for the upper one."""
    pairs = zip((-1, 1), limits, strict=True)
    return [(sign, SX(bound)) for sign, bound in pairs if is_bound(bound)]


def is_bound(limit: SX | float) -> bool:
    """Return whether a limit is a symbol or a finite number."""
    return (isinstance(limit, SX) and not limit.is_constant()) or bool(np.isfinite(float(limit)))


def next_activation(actuator: FileActuator, activation: SX, control: SX, dt: SX) -> SX:
    """Compute the activation after a step of dt with a control signal."""
    if actuator.dynamics == "integrator":
        after = activation + dt * control
    elif actuator.dynamics == "filter":
        after = activation + dt * (control - activation) / actuator.time_constant
    else:
        after = activation + (control - activation) * (1 - ca.exp(-dt / actuator.time_constant))
    return clip(after, actuator.activation)


def clip(value: SX, limits: Limits) -> SX:
    """Clip a value to a range."""
    clipped = ca.fmin(value, limits[1]) if is_bound(limits[1]) else value
    return ca.fmax(clipped, limits[0]) if is_bound(limits[0]) else clipped


def _positive(value: SX) -> SX:
    return ca.fmax(value, 0)
