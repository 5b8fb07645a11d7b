"""An arm on the stops of its joint."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tarsus.engines.base import Engine, Start
from tarsus.validation import bodies
from tarsus.validation.bodies import ARM, G
from tarsus.validation.scenes.base import Case, ValidationScene

START, STOP = -0.4, 0.3  # rad: from rest, and where the range ends
RANGE, RATE, E = 0.5, 4.0, 0.5  # rad to both sides, rad/s, [1]: of the arm that flies
MOMENT, INERTIA = G * ARM / 2, ARM**2 / 3  # of 1 kg, N m and kg m^2


class JointStop(ValidationScene):
    """A rod falls onto the end of its joint's range, restitution 0 and 0.5; one flies between two.

    With m g l and I about the hinge it arrives at sqrt(2 m g l (sin b - sin a) / I), is thrown back
    with e of that and rises by e^2 of its drop, or stays and presses with m g l cos b. Without
    gravity the flights between stops last range / (e^k rate).
    """

    needs = frozenset({"hard joints"})
    tolerance: ClassVar[str] = (
        "what gravity changes of the rate in two steps, 2 m g l dt / I; in height the way of a step"
        " at both speeds, as a rebound begins up to a step early; (1 + 1 / e) dt of a flight, for"
        " the same reason; 1e-9 of the moment at rest, as equilibrium does not depend on dt; 2e-6"
        " of the rate after three stops and of the way of a step beyond one, as a stop is 1e6 times"
        " the joint's inertia"
    )

    def measure(self, engine: Engine) -> list[Case]:
        dt = engine.step(0.001)
        return [*self._rest(engine, dt), *self._rebound(engine, dt), *self._flights(engine, dt)]

    def _rest(self, engine: Engine, dt: float) -> list[Case]:
        start = Start(bodies.arm(upper=STOP), [START], limits=True)
        motion = engine.run(start, dt, 2.0)
        pressed, weight = motion.joints[-1, 0, 0] / dt, MOMENT * np.cos(STOP)
        beyond = max(float(motion.q[:, 0, 0].max()) - STOP, 0.0)
        way = dt * float(motion.u[:, 0, 0].max())
        return [
            Case("rest: moment of the stop", "N m", -weight, float(pressed), 1e-9 * weight),
            Case("rest: rate", "rad/s", 0.0, float(np.abs(motion.u[-1, 0, 0])), 1e-9),
            Case("beyond the stop", "rad", 0.0, beyond, 2e-6 * way),
        ]

    def _rebound(self, engine: Engine, dt: float) -> list[Case]:
        drop = np.sin(STOP) - np.sin(START)
        arrival, gained = np.sqrt(2 * MOMENT * drop / INERTIA), MOMENT / INERTIA * dt
        start = Start(bodies.arm(upper=STOP), [START], limits=True, bounce=E)
        motion = engine.run(start, dt, 0.6)
        q, u = motion.q[:, 0, 0], motion.u[:, 0, 0]
        hit = int(np.argmax(u < 0))
        second = hit + int(np.argmax(u[hit:] > 0)) + 1
        risen = ARM / 2 * (np.sin(STOP) - np.sin(q[hit:second].min()))
        way = ARM / 2 * arrival * dt
        return [
            Case("rate on arrival", "rad/s", float(arrival), float(u[hit - 1]), 2 * gained),
            Case("rate after it", "rad/s", float(-E * u[hit - 1]), float(u[hit]), 2 * gained),
            Case("rise", "m", E**2 * ARM / 2 * drop, float(risen), (1 + 2 * E**2) * way),
        ]

    def _flights(self, engine: Engine, dt: float) -> list[Case]:
        weightless = bodies.arm(-RANGE, RANGE, gravity=(0.0, 0.0, 0.0))
        start = Start(weightless, [0.0], [RATE], limits=True, bounce=E)
        times = [2 * RANGE / (E**k * RATE) for k in (1, 2)]
        motion = engine.run(start, dt, RANGE / RATE + sum(times) + 0.2)
        u = motion.u[:, 0, 0]
        turns = np.flatnonzero(np.sign(u[1:]) * np.sign(u[:-1]) < 0) + 1
        flights = np.append(np.diff(motion.time[turns]), [np.nan] * 2)
        return [
            *(
                Case(f"flight after stop {k}", "s", expected, float(got), (1 + 1 / E) * dt)
                for k, expected, got in zip((1, 2), times, flights, strict=False)
            ),
            Case("rate after three stops", "rad/s", -(E**3) * RATE, float(u[-1]), 2e-6 * RATE),
        ]
