"""The force of a file's actuators as their joints' motion changes over a step.

By `model.file_actuators` the force is affine in length and rate, between limits. With d (m,) the
change of the driven joints' rates over the step, seen at q and u as the springs of joints are
(`dynamics.springs`), the rate at its end is u + d and the mean coordinate q + dt/4 d: the force
falls by its slope, gear^2 (kv + dt/4 kp), a unit of d, where no limit holds it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce

import casadi as ca
import numpy as np
from casadi import SX

from tarsus.dynamics.springs import MEAN
from tarsus.model.file_actuators import FALLING, FileActuator, Range
from tarsus.model.mechanism import Mechanism
from tarsus.program.ir.symbolic import entries

Ends = tuple[SX, SX] | Range
Line = tuple[SX, SX]  # a force at rest, and the rate at which it has fallen to zero


@dataclass(frozen=True, eq=False)
class ActuatorForce:
    """The actuators of a mechanism under control signals.

    signal: what each one gets (n,), control or activation
    values: kp, kv and strength (n,) of each; stall_torque and no_load_speed (n,) where there is a
        torque-speed curve; gear, ends of ranges, and speed (n,) where they are no constants
    """

    mechanism: Mechanism
    signal: SX
    values: Mapping[str, SX]

    def joints(self) -> tuple[list[int], list[int]]:
        """Where the motors' joints stand in q and in u, in the order of the motors."""
        m = self.mechanism
        at = [m.joint_index(motor.joint) for motor in m.actuators]
        return [m.q_slices[i].start for i in at], [m.u_slices[i].start for i in at]

    @property
    def held_by_limits(self) -> bool:
        """Whether a limit can come in between force and motion."""
        changed = any(n in self.values for n in ("force_lower", "force_upper"))
        fast = any(np.isfinite(a.speed) for a in self.mechanism.file_actuators)
        fast = fast or "speed" in self.values or "stall_torque" in self.values
        return fast or any(a.soft and (a.limited or changed) for a in self.mechanism.file_actuators)

    def number(self, k: int, name: str, constant: float) -> SX:
        """A number of actuator k: that of its world, or a constant."""
        return self.values[name][k] if name in self.values else SX(constant)

    def signals(self, k: int) -> tuple[SX, SX]:
        """Least and greatest signal of actuator k."""
        lower, upper = self.mechanism.file_actuators[k].control
        return self.number(k, "control_lower", lower), self.number(k, "control_upper", upper)

    def range(self, k: int) -> tuple[SX, SX]:
        """Least and greatest force of actuator k, before its gear."""
        lower, upper = self.mechanism.file_actuators[k].force
        return self.number(k, "force_lower", lower), self.number(k, "force_upper", upper)

    def at(self, q: SX, u: SX, dt: SX) -> AtState:
        """The forces at coordinates q (nq,) and velocities u (nu,) of a step of dt."""
        in_q, in_u = self.joints()
        return AtState(self, ca.vec(q[in_q]), ca.vec(u[in_u]), dt)


@dataclass(frozen=True, eq=False)
class AtState:
    """The forces seen at one state.

    q, u: of the driven joints (m,)
    dt: s
    """

    law: ActuatorForce
    q: SX
    u: SX
    dt: SX

    def free(self) -> tuple[SX, SX]:
        """Force (m,) and its slope (m,), no limit in between."""
        return self._summed(SX.zeros(self.u.numel()), limited=False)

    def limited(self, d: SX, onward: SX | None = None) -> tuple[SX, SX]:
        """Force (m,) and slope (m,) once the joints' rates have changed by d (m,).

        onward (m,): 1 where the lines along which force falls go on beyond the rate without any
        """
        return self._summed(d, limited=True, onward=onward)

    def steepest(self) -> SX:
        """The most (m,) that force may lose per change of rate: by its slope, or on a line."""
        most = []
        for own, slope in zip(self._of_motors(), entries(self.free()[1]), strict=True):
            lines = [line for k in own for _, line in self._lines(k)]
            most.append(slope + sum((steep / fastest for steep, fastest in lines), SX(0)))
        return ca.vertcat(SX(0, 1), *most)

    def on_line(self, d: SX, force: SX) -> tuple[SX, SX, SX]:
        """The line that bounds what drives each joint on, its rate changed by d (m,): the force
        (m,) that it has at the start, what it loses (m,) per change of rate, and by how much a
        force (m,) drives it on more than the line allows there; 0, 0 and minus infinity where
        there is none, or several actuators share a joint.
        """
        found = []
        for j, own in enumerate(self._of_motors()):
            rate, best = self.u[j] + d[j], ca.vertcat(0, 0, np.inf)
            way = ca.if_else(rate < 0, -1, 1)
            for top, line in self._lines(own[0]) if len(own) == 1 else []:
                steep, fastest = line
                begins, most = steep * (way - self.u[j] / fastest), most_along(way, rate, top, line)
                this = ca.vertcat(begins, steep / fastest, most)
                best = ca.if_else(this[2] < best[2], this, best)
            found.append(ca.vertcat(best[:2], way * force[j] - best[2]))
        columns = ca.horzcat(SX(3, 0), *found)
        return columns[0, :].T, columns[1, :].T, columns[2, :].T

    def beyond(self, d: SX) -> SX:
        """1 (m,) where a joint, its rate changed by d (m,), is faster than its motor drives it."""
        found = []
        for j, own in enumerate(self._of_motors()):
            lines = [line for k in own for _, line in self._lines(k)]
            over = (ca.fabs(self.u[j] + d[j]) > fastest for _, fastest in lines)
            found.append(reduce(ca.logic_or, over, SX(0)))
        return ca.vertcat(SX(0, 1), *found)

    def allows(self, force: SX, d: SX) -> SX:
        """1 if no limit holds forces (m,) that would act without any, the joints' rates changed by
        d (m,); 0 too where several actuators share a joint.
        """
        beyond = SX(-1)
        for j, own in enumerate(self._of_motors()):
            if len(own) > 1:
                return SX(0)
            for excess in self._excesses(own[0], force[j], self.u[j] + d[j]):
                beyond = ca.fmax(beyond, excess)
        return beyond <= 0

    def _excesses(self, k: int, force: SX, rate: SX) -> list[SX]:
        """By how much a torque of actuator k exceeds each of its limits at a rate, where > 0."""
        gear, strength = self._gear(k), self.law.values["strength"][k]
        found = [
            way * (force - end)
            for way, end in finite(self.law.mechanism.file_actuators[k].at_joint)
        ]
        way_round = ca.if_else(gear < 0, -1, 1)
        found += [
            way * way_round * (force - gear * strength * end)
            for way, end in finite(self.law.range(k))
        ]
        for top, line in self._lines(k):
            found += [way * force - most_along(way, rate, top, line) for way in (1, -1)]
        return found

    def _of_motors(self) -> list[list[int]]:
        """The actuators of each motor's joint."""
        m = self.law.mechanism
        return [
            [k for k, actuator in enumerate(m.file_actuators) if actuator.joint == motor.joint]
            for motor in m.actuators
        ]

    def _summed(self, d: SX, limited: bool, onward: SX | None = None) -> tuple[SX, SX]:
        forces, slopes = [], []
        for j, own in enumerate(self._of_motors()):
            force, slope, ends = SX(0), SX(0), (-np.inf, np.inf)
            for k in own:
                one = self._one(k, j, d[j], limited, SX(0) if onward is None else onward[j])
                ends = self.law.mechanism.file_actuators[k].at_joint
                force, slope = force + one[0], slope + one[1]
            if limited:
                force, slope = between(force, slope, ends)
            forces.append(force)
            slopes.append(slope)
        return ca.vertcat(SX(0, 1), *forces), ca.vertcat(SX(0, 1), *slopes)

    def _one(self, k: int, j: int, d: SX, limited: bool, onward: SX) -> tuple[SX, SX]:
        """Torque of actuator k on joint j, and its slope; onward: of `limited`."""
        actuator, c = self.law.mechanism.file_actuators[k], self.law.signal[k]
        kp, kv, strength = (self.law.values[name][k] for name in ("kp", "kv", "strength"))
        # its law: a force, what it loses per length and per rate
        gear, (g0, g1, g2), (b0, b1, b2) = self._gear(k), actuator.gain, actuator.bias
        gain = kp if actuator.has_kp else kv if actuator.kind == "velocity" else SX(g0)
        back_p = kp if actuator.has_kp else SX(-b1) - g1 * c
        back_v = kv if actuator.has_kv else SX(-b2) - g2 * c
        force = gain * c + b0 - gear * (back_p * self.q[j] + back_v * self.u[j])
        # what feeds motion acts as the step's start has it
        slope = gear * (_positive(back_v) + MEAN * self.dt * _positive(back_p))
        force = force - slope * d
        # its limits, through its gear
        if limited:
            force, slope = between(force, slope, self.law.range(k))
        force, slope = gear * strength * force, gear * strength * slope
        return (
            self._at_rate(k, (force, slope), self.u[j] + d, onward) if limited else (force, slope)
        )

    def _gear(self, k: int) -> SX:
        return self.law.number(k, "gear", self.law.mechanism.file_actuators[k].gear)

    def _at_rate(self, k: int, acting: tuple[SX, SX], rate: SX, onward: SX) -> tuple[SX, SX]:
        """Torque within what the motor gives at a rate: linear from stall to no load, and none that
        drives the joint on beyond a limit of speed.
        """
        for top, line in self._lines(k):
            acting = falling(acting, rate, top, line, onward)
        return acting

    def _lines(self, k: int) -> list[tuple[SX, Line]]:
        """The lines within which actuator k acts along the motion, and the most of each."""
        found, values = [], self.law.values
        if "stall_torque" in values:
            stall, fastest = (values[name][k] for name in ("stall_torque", "no_load_speed"))
            found.append((stall, (stall, fastest)))
        speed = self.law.number(k, "speed", self.law.mechanism.file_actuators[k].speed)
        if bounds(speed):
            most = ca.fmax(*(ca.fabs(end) for end in self.law.range(k)))
            top = ca.fabs(self._gear(k)) * most * values["strength"][k]
            found.append((top, (top / FALLING, speed)))
        return found


def falling(acting: tuple[SX, SX], rate: SX, top: SX, line: Line, onward: SX) -> tuple[SX, SX]:
    """Force and slope `acting`, along the motion within a line, `top` at most.

    onward: 1 if the line goes on below zero
    """
    (wanted, slope), (steep, fastest) = acting, line
    force = wanted
    for way in (1, -1):
        far = ca.logic_and(onward, ca.logic_and(way * rate > fastest, way * wanted > 0))
        most = ca.if_else(far, steep * (1 - way * rate / fastest), most_along(way, rate, top, line))
        falls = ca.logic_or(far, ca.logic_and(most > 0, most < top))
        over = way * wanted > most
        slope = ca.if_else(over, ca.if_else(falls, steep / fastest, 0), slope)
        force = ca.if_else(over, way * most, force)
    return force, slope


def most_along(way: int | SX, rate: SX, top: SX, line: Line) -> SX:
    """The largest force along the motion in one of two ways, 1 or -1, at a rate."""
    steep, fastest = line
    return ca.fmax(ca.fmin(steep * (1 - way * rate / fastest), top), 0)


def between(force: SX, slope: SX, ends: Ends) -> tuple[SX, SX]:
    """The force held in a range, with slope zero where it is held."""
    for bound, over in ((ends[1], force > ends[1]), (ends[0], force < ends[0])):
        if bounds(bound):
            force, slope = ca.if_else(over, bound, force), ca.if_else(over, 0, slope)
    return force, slope


def finite(ends: Ends) -> list[tuple[int, SX]]:
    """The ends of a range that there are: -1 and the lower, 1 and the upper."""
    return [(way, SX(end)) for way, end in zip((-1, 1), ends, strict=True) if bounds(end)]


def bounds(end: SX | float) -> bool:
    """Whether the end of a range is one: a symbol, or a finite number."""
    return (isinstance(end, SX) and not end.is_constant()) or bool(np.isfinite(float(end)))


def next_activation(actuator: FileActuator, now: SX, control: SX, dt: SX) -> SX:
    """The activation after a step under a control signal in its range."""
    if actuator.dynamics == "integrator":
        after = now + dt * control
    elif actuator.dynamics == "filter":
        after = now + dt * (control - now) / actuator.time_constant
    else:
        after = now + (control - now) * (1 - ca.exp(-dt / actuator.time_constant))
    return clipped(after, actuator.activation)


def clipped(value: SX, ends: Ends) -> SX:
    """A value within a range."""
    held = ca.fmin(value, ends[1]) if bounds(ends[1]) else value
    return ca.fmax(held, ends[0]) if bounds(ends[0]) else held


def _positive(value: SX) -> SX:
    return ca.fmax(value, 0)


def spread(mechanism: Mechanism, places: list[int], values: SX) -> SX:
    """Values (m,) of driven joints at their places in u, (nu,), zero elsewhere."""
    found = SX.zeros(mechanism.nu)
    for at, value in zip(places, entries(values), strict=True):
        found[at] += value
    return found
