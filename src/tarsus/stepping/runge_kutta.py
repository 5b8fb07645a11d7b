"""Runge-Kutta steps: the robot's rate at an instant, the instants of a step, and its end."""

from __future__ import annotations

from dataclasses import dataclass, replace

import casadi as ca
from casadi import SX

from tarsus.dynamics.kinematics import with_unit_quaternions
from tarsus.stepping.base import Scene, StepInputs, StepOutputs


@dataclass(frozen=True, eq=False)
class Rate:
    """The smooth robot at an instant: q' (nq,), u' (nu,), contact forces[i] (3,) in N, and the
    law's next memory.
    """

    q: SX
    u: SX
    forces: list[SX]
    memory: SX


def stage(scene: Scene, start: StepInputs, first: Rate, slope: Rate, dt: SX) -> StepInputs:
    """The instant dt later along `slope`; the law remembers what the `first` instant left."""
    q = with_unit_quaternions(scene.mechanism, start.q + dt * slope.q)
    return replace(start, q=q, u=start.u + dt * slope.u, memory=first.memory)


def weighted(
    scene: Scene, start: StepInputs, weights: list[float], rates: list[Rate]
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
    return StepOutputs.of(
        {"q": end.q, "u": end.u, "iterations": SX(0), "converged": SX(1)} | solved
    )
