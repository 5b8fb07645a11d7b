"""Runge-Kutta steps: rate of the robot at an instant, stages of a step, and its end."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import reduce

import casadi as ca
from casadi import SX

from tarsus.dynamics.kinematics import with_unit_quaternions
from tarsus.stepping.base import Scene, StepOutputs, StepStart


@dataclass(frozen=True, eq=False)
class Rate:
    """Time derivative of the state at an instant.

    Attributes
    ----------
    q, u
        q' (nq,) and u' (nu,).
    forces
        Contact forces (3,), N.
    memory
        Next memory of the law.
    start_contacts
        Contacts there, for a law of impulses (`instants.start_contacts`).
    iterations, converged
        How the law's solve went.
    """

    q: SX
    u: SX
    forces: list[SX]
    memory: SX
    start_contacts: SX | None = None
    iterations: SX = field(default_factory=lambda: SX(0))
    converged: SX = field(default_factory=lambda: SX(1))


def stage_state(scene: Scene, start: StepStart, first: Rate, slope: Rate, dt: SX) -> StepStart:
    """Compute the instant dt later along `slope`.

    The law's memory and the contacts at the start of the step are those that the `first` instant
    returned.
    """
    q = with_unit_quaternions(scene.mechanism, start.q + dt * slope.q)
    u = start.u + dt * slope.u
    evaluation = replace(start.evaluation, start_contacts=first.start_contacts)
    return replace(start, q=q, u=u, memory=first.memory, evaluation=evaluation)


def combine_rates(
    scene: Scene, start: StepStart, weights: list[float], rates: list[Rate]
) -> StepOutputs:
    """Compute the end of an explicit step.

    Impulses are dt times the weighted forces; the memory is that of the first instant.
    """
    pairs = list(zip(weights, rates, strict=True))
    q, u = sum((w * k.q for w, k in pairs), SX(0)), sum((w * k.u for w, k in pairs), SX(0))
    forces = [sum((w * k.forces[i] for w, k in pairs), SX(0)) for i in range(len(scene.candidates))]
    end = stage_state(scene, start, rates[0], Rate(q, u, forces, rates[0].memory), start.dt)
    impulse = ca.vertcat(SX(0, 1), *(start.dt * force for force in forces))
    solved = {"memory": rates[0].memory, "impulse": impulse, "bilateral": SX(0, 1)}
    solved["iterations"] = sum((k.iterations for k in rates), SX(0))
    solved["converged"] = reduce(ca.fmin, (k.converged for k in rates))
    return StepOutputs.from_registers({"q": end.q, "u": end.u} | solved)
