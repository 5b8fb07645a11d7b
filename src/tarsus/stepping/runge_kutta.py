"""Runge-Kutta steps: the robot's rate at an instant, the instants of a step, and its end."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import reduce

import casadi as ca
from casadi import SX

from tarsus.dynamics.kinematics import with_unit_quaternions
from tarsus.stepping.base import Scene, StepOutputs, StepStart


@dataclass(frozen=True, eq=False)
class Rate:
    """The smooth robot at an instant: q' (nq,), u' (nu,), contact forces[i] (3,) in N, the law's
    next memory, what a step that began there holds (`instants.begun`), and how the law's solve
    went.
    """

    q: SX
    u: SX
    forces: list[SX]
    memory: SX
    begun: SX | None = None
    iterations: SX = field(default_factory=lambda: SX(0))
    converged: SX = field(default_factory=lambda: SX(1))


def stage(scene: Scene, start: StepStart, first: Rate, slope: Rate, dt: SX) -> StepStart:
    """The instant dt later along `slope`; the law remembers what the `first` instant left, and
    what the step began with.
    """
    q = with_unit_quaternions(scene.mechanism, start.q + dt * slope.q)
    u = start.u + dt * slope.u
    evaluation = replace(start.evaluation, begun=first.begun)
    return replace(start, q=q, u=u, memory=first.memory, evaluation=evaluation)


def weighted(
    scene: Scene, start: StepStart, weights: list[float], rates: list[Rate]
) -> StepOutputs:
    """The end of an explicit step: impulses are dt times the weighted forces, the memory is the
    first instant's.
    """
    pairs = list(zip(weights, rates, strict=True))
    q, u = sum((w * k.q for w, k in pairs), SX(0)), sum((w * k.u for w, k in pairs), SX(0))
    forces = [sum((w * k.forces[i] for w, k in pairs), SX(0)) for i in range(len(scene.candidates))]
    end = stage(scene, start, rates[0], Rate(q, u, forces, rates[0].memory), start.dt)
    impulse = ca.vertcat(SX(0, 1), *(start.dt * force for force in forces))
    solved = {"memory": rates[0].memory, "impulse": impulse, "bilateral": SX(0, 1)}
    solved["iterations"] = sum((k.iterations for k in rates), SX(0))
    solved["converged"] = reduce(ca.fmin, (k.converged for k in rates))
    return StepOutputs.of({"q": end.q, "u": end.u} | solved)
