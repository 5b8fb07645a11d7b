"""Runge-Kutta method of orders 5 and 4 with error control; for laws that compute forces.

This is the pair of Dormand and Prince 1980.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import casadi as ca
import numpy as np
from casadi import SX

from tarsus.errors import InvalidValue
from tarsus.parameters import parameter
from tarsus.program.ir.loops import Values
from tarsus.program.ir.trace import Builder
from tarsus.references.books import HAIRER_1993
from tarsus.references.papers import DORMAND_1980
from tarsus.references.reference import Citation
from tarsus.stepping import assemble, runge_kutta
from tarsus.stepping.base import Scene, StepOutputs, Stepper, StepStart

# weights of every stage; the last is the step of order 5, whose rate starts the next sub-step
A = np.array(
    [
        [0, 0, 0, 0, 0, 0],
        [1 / 5, 0, 0, 0, 0, 0],
        [3 / 40, 9 / 40, 0, 0, 0, 0],
        [44 / 45, -56 / 15, 32 / 9, 0, 0, 0],
        [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729, 0, 0],
        [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656, 0],
        [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
    ]
)
# weights of order 5 minus those of order 4
ERROR = np.array([71 / 57600, 0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40])
STAGES, COLUMNS = len(A), range(A.shape[1])
SAFETY, SHRINK, GROW = 0.9, 0.2, 5.0
MIN_ERROR = 1e-10  # smaller errors count as this, against division by zero


@dataclass(frozen=True)
class DormandPrince(Stepper):
    """Sub-steps as long as the tolerance permits, with constant torque over the step.

    Each pass of the loop is one evaluation of the dynamics. The error of a sub-step of length h is
    sqrt(S / n): S sums ((y5 - y4) / (atol + rtol |y|))^2 over the n coordinates and velocities y,
    and over the contacts' impulses since the start of dt. One weight of order 5 is negative, so a
    force that begins late in a sub-step would enter with the wrong sign if it were not detected.

    A sub-step is accepted if its error is at most 1. The next one is 0.9 (1 / error)^(1/5) times as
    long, within factors 0.2 and 5, and no longer than one that was just rejected. The first
    sub-step tries the whole of dt. After half of the `maximum` attempts, the others share the
    remaining time and are accepted whatever their error, so that the end of dt is always reached;
    `converged` is 0 if one of them was rejected by its error. `iterations` counts evaluations.
    Joint damping is explicit; the law's memory advances once per accepted sub-step.
    """

    citation: ClassVar[Citation] = (
        DORMAND_1980.at(),
        HAIRER_1993.at("section II.4"),
    )
    velocity_level: ClassVar[bool] = False

    rtol: float = parameter(1e-6, "[1]", "relative tolerance", "[0, inf)")
    atol: float = parameter(1e-8, "m, rad, m/s, rad/s, N s", "absolute tolerance", "[0, inf)")
    maximum: int = parameter(1000, "[1]", "attempts per step", "[2, inf)")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rtol == self.atol == 0:
            raise InvalidValue("rtol and atol must not both be zero.", "rtol")

    @property
    def order(self) -> None:
        """None: a tolerance sets the error."""
        return None

    @property
    def inner_steps(self) -> int:
        """Number of sub-steps that share dt in the worst case."""
        return self.maximum // 2

    def step(self, scene: Scene, start: StepStart, builder: Builder) -> StepOutputs:
        n = 3 * len(scene.candidates)
        state = {
            "q": start.q,
            "u": start.u,
            "memory": start.memory,
            "accepted_memory": start.memory,
            "impulse": SX.zeros(n),
        }
        clock = {"time": SX(0), "h": start.dt, "max_growth": SX(GROW)}
        counts = {"attempts": SX(0), "iterations": SX(0)}
        size = STAGES * (start.q.numel() + start.u.numel() + n)
        stages = {"slopes": SX.zeros(size), "stage": SX(0), "converged": SX(1)}
        stages |= assemble.start_contacts(scene, start)

        def turn(state: Values) -> tuple[Values, SX]:
            return self._stage_step(scene, start, state, builder)

        turns = 1 + (STAGES - 1) * self.maximum
        end = builder.loop(state | clock | counts | stages, turn, turns)
        return StepOutputs.from_registers(end | {"bilateral": SX(0, 1)})

    def _stage_step(
        self, scene: Scene, start: StepStart, state: Values, builder: Builder
    ) -> tuple[Values, SX]:
        """Evaluate the next stage; after the last one, accept or reject the sub-step."""
        # the rate at the next stage
        stage, slopes = state["stage"], ca.reshape(state["slopes"], -1, STAGES)
        instant = stage_start(scene, start, state, slopes)
        rate = assemble.rate(scene, instant, builder)
        fresh = ca.vertcat(rate.q, rate.u, *rate.forces)
        slopes = ca.horzcat(*(ca.if_else(stage == k, fresh, slopes[:, k]) for k in range(STAGES)))

        # after the last stage: the step of order 5, its error, and whether it is accepted
        moved = state["h"] * ca.mtimes(
            slopes, ca.DM(np.stack([np.append(A[-1], 0), ERROR], axis=1))
        )
        impulse = state["impulse"] + moved[moved.shape[0] - state["impulse"].numel() :, 0]
        error = self._error(state, ca.vertcat(instant.q, instant.u, impulse), moved[:, 1])
        attempts = state["attempts"] + (stage == STAGES - 1)
        accepted = ca.logic_and(
            stage == STAGES - 1, ca.logic_or(error <= 1, attempts > self.maximum // 2)
        )

        # values of the next pass
        reached = {
            "q": instant.q,
            "u": instant.u,
            "memory": state["accepted_memory"],
            "impulse": impulse,
        }
        new = {
            name: ca.if_else(accepted, value, state[name]) for name, value in reached.items()
        } | {
            "accepted_memory": ca.if_else(
                ca.logic_or(stage == 0, accepted), rate.memory, state["accepted_memory"]
            ),
            "slopes": ca.vec(ca.horzcat(ca.if_else(accepted, fresh, slopes[:, 0]), slopes[:, 1:])),
            # the last stage is the next sub-step's first
            "stage": ca.if_else(stage == STAGES - 1, 1, stage + 1),
            "converged": ca.fmin(
                ca.if_else(ca.logic_and(accepted, ca.logic_not(error <= 1)), 0, state["converged"]),
                rate.converged,
            ),
            "iterations": state["iterations"] + 1,
        }
        if rate.start_contacts is not None:
            new["start_contacts"] = ca.if_else(
                accepted, rate.start_contacts, state["start_contacts"]
            )
        clock = self._next_clock(start.dt, state, error, attempts, accepted)
        return new | clock | {"attempts": attempts}, clock["time"] < start.dt

    def _error(self, state: Values, reached: SX, difference: SX) -> SX:
        """Compute the difference of the two orders (nq + nu + 3n,) relative to the tolerance."""
        size = ca.fmax(
            ca.fabs(ca.vertcat(state["q"], state["u"], state["impulse"])), ca.fabs(reached)
        )
        ratio = difference / (self.atol + self.rtol * size)
        return ca.sqrt(ca.sumsqr(ratio) / (state["q"].numel() + state["u"].numel()))

    def _next_clock(self, dt: SX, state: Values, error: SX, attempts: SX, accepted: SX) -> Values:
        """Compute the time reached, the length of the next sub-step, and its limit on growth."""
        h, complete = state["h"], state["stage"] == STAGES - 1
        time = ca.if_else(
            accepted, ca.if_else(h < dt - state["time"], state["time"] + h, dt), state["time"]
        )
        factor = ca.fmin(
            state["max_growth"], ca.fmax(SHRINK, SAFETY * ca.fmax(error, MIN_ERROR) ** (-1 / 5))
        )
        share = ca.if_else(
            attempts < self.maximum // 2, 0, (dt - time) / ca.fmax(self.maximum - attempts, 1)
        )
        return {
            "time": time,
            "h": ca.if_else(complete, ca.fmin(ca.fmax(h * factor, share), dt - time), h),
            "max_growth": ca.if_else(complete, ca.if_else(accepted, GROW, 1), state["max_growth"]),
        }


def stage_start(scene: Scene, start: StepStart, state: Values, slopes: SX) -> StepStart:
    """Compute the state at the next stage, given the slopes (nq + nu + 3n, STAGES)."""
    nq, nu = start.q.numel(), start.u.numel()
    weights = [
        sum((ca.if_else(state["stage"] == k, A[k, j], 0) for k in range(j + 1, STAGES)), SX(0))
        for j in COLUMNS
    ]
    slope = ca.mtimes(slopes[: nq + nu, : STAGES - 1], ca.vertcat(*weights))
    memory = ca.if_else(state["stage"] == 0, state["memory"], state["accepted_memory"])
    mean = runge_kutta.Rate(slope[:nq], slope[nq:], [], memory, state.get("start_contacts"))
    begin = replace(start, q=state["q"], u=state["u"], dt=state["h"])
    return runge_kutta.stage_state(scene, begin, mean, mean, state["h"])
