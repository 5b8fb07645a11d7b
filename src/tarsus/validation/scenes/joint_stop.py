"""An arm that runs into the stops of its joint."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tarsus.engines.base import Engine, Start
from tarsus.validation import bodies
from tarsus.validation.bodies import ARM, G
from tarsus.validation.scenes.base import Case, ValidationScene

START, STOP = -0.4, 0.3  # rad: initial angle, and upper end of the range
RESTITUTION = 0.5  # at the stops
HALF_RANGE, RATE = 0.5, 4.0  # rad and rad/s, of the arm without gravity
MOMENT, INERTIA = G * ARM / 2, ARM**2 / 3  # of an arm of 1 kg, N m and kg m^2


class JointStop(ValidationScene):
    """A rod falls onto a joint stop with restitution 0 or 0.5, or flies between two stops.

    The rod falls from angle a to the stop at b. With the moment m g l and the inertia I about the
    hinge, it arrives at sqrt(2 m g l (sin b - sin a) / I). With restitution e it rebounds at e
    times that rate and rises by e^2 of its drop; without, it rests on the stop with m g l cos b.
    Without gravity, the flight after stop k lasts range / (e^k rate).
    """

    needs = frozenset({"hard joints"})
    tolerance: ClassVar[str] = (
        "rates at impact: change by gravity in two steps, 2 m g l dt / I; rise: distance traveled"
        " in one step before and after impact, because a rebound starts up to a step early;"
        " flights: (1 + 1 / e) dt, for the same reason; moment at rest: 1e-9, because equilibrium"
        " does not depend on dt; rate after three stops: 2e-6; penetration of the stop: 2e-6 of the"
        " distance traveled in a step, because a stop has 1e6 times the joint's inertia"
    )

    def measure(self, engine: Engine) -> list[Case]:
        dt = engine.step(0.001)
        return [*self._rest(engine, dt), *self._rebound(engine, dt), *self._flights(engine, dt)]

    def _rest(self, engine: Engine, dt: float) -> list[Case]:
        start = Start(bodies.arm(upper=STOP), [START], limits=True)
        motion = engine.run(start, dt, 2.0)
        moment, weight = motion.joints[-1, 0, 0] / dt, MOMENT * np.cos(STOP)
        penetration = max(float(motion.q[:, 0, 0].max()) - STOP, 0.0)
        step_angle = dt * float(motion.u[:, 0, 0].max())
        return [
            Case("rest: moment of the stop", "N m", -weight, float(moment), 1e-9 * weight),
            Case("rest: rate", "rad/s", 0.0, float(np.abs(motion.u[-1, 0, 0])), 1e-9),
            Case("penetration of the stop", "rad", 0.0, penetration, 2e-6 * step_angle),
        ]

    def _rebound(self, engine: Engine, dt: float) -> list[Case]:
        drop = np.sin(STOP) - np.sin(START)
        arrival, change = np.sqrt(2 * MOMENT * drop / INERTIA), MOMENT / INERTIA * dt
        start = Start(bodies.arm(upper=STOP), [START], limits=True, bounce=RESTITUTION)
        motion = engine.run(start, dt, 0.6)
        q, u = motion.q[:, 0, 0], motion.u[:, 0, 0]
        impact = int(np.argmax(u < 0))
        second = impact + int(np.argmax(u[impact:] > 0)) + 1
        rise = ARM / 2 * (np.sin(STOP) - np.sin(q[impact:second].min()))
        expected = RESTITUTION**2 * ARM / 2 * drop
        step_distance = ARM / 2 * arrival * dt
        return [
            Case("rate on arrival", "rad/s", float(arrival), float(u[impact - 1]), 2 * change),
            Case(
                "rate after impact",
                "rad/s",
                float(-RESTITUTION * u[impact - 1]),
                float(u[impact]),
                2 * change,
            ),
            Case("rise", "m", expected, float(rise), (1 + 2 * RESTITUTION**2) * step_distance),
        ]

    def _flights(self, engine: Engine, dt: float) -> list[Case]:
        weightless = bodies.arm(-HALF_RANGE, HALF_RANGE, gravity=(0.0, 0.0, 0.0))
        start = Start(weightless, [0.0], [RATE], limits=True, bounce=RESTITUTION)
        durations = [2 * HALF_RANGE / (RESTITUTION**k * RATE) for k in (1, 2)]
        motion = engine.run(start, dt, HALF_RANGE / RATE + sum(durations) + 0.2)
        u = motion.u[:, 0, 0]
        turns = np.flatnonzero(np.sign(u[1:]) * np.sign(u[:-1]) < 0) + 1
        flights = np.append(np.diff(motion.time[turns]), [np.nan] * 2)
        return [
            *(
                Case(
                    f"flight after stop {k}", "s", expected, float(got), (1 + 1 / RESTITUTION) * dt
                )
                for k, expected, got in zip((1, 2), durations, flights, strict=False)
            ),
            Case(
                "rate after three stops",
                "rad/s",
                -(RESTITUTION**3) * RATE,
                float(u[-1]),
                2e-6 * RATE,
            ),
        ]
