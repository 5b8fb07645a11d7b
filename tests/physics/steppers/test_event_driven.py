"""The event-driven stepper against closed forms: landing times, rebounds and the order it keeps
across impacts.

The orders that docs/stepper_accuracy.md quotes are printed by
`pytest tests/physics/steppers/test_event_driven.py -k order -s`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from helpers.bench import sole
from helpers.refused import refused
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import tarsus
from tarsus import cli
from tarsus.contact.base import Law
from tarsus.contact.laws.compliant import Compliant
from tarsus.contact.laws.lcp_impulse import LcpImpulse
from tarsus.contact.laws.moreau import Moreau
from tarsus.dynamics.robot import Robot
from tarsus.errors import Unsupported
from tarsus.model.mechanism import Mechanism
from tarsus.program.run.worlds import Worlds
from tarsus.simulation.initial_registers import write_registers
from tarsus.simulation.step_program import Plan, initial_values, step_program
from tarsus.stepping.base import Scene, Stepper
from tarsus.stepping.methods.dormand_prince import DormandPrince
from tarsus.stepping.methods.event_driven import EventDriven
from tarsus.stepping.methods.heun import Heun
from tarsus.stepping.methods.rk4 import RK4
from tarsus.terrain.plane import Plane
from tarsus.validation.bodies import G, box, point_mass, pose, rod

pytestmark = pytest.mark.slow  # the quick suite stays below fifteen minutes
Array = NDArray[np.float64]
DROP, E = 1.0, 0.5
SPEED = math.sqrt(2 * G * DROP)
HARD = [Moreau(mu=0.0, e_N=E), LcpImpulse(e_N=E)]


def worlds(
    mechanism: Mechanism, stepper: Stepper, law: Law, lanes: int = 1, **start: Array | float
) -> Worlds:
    """Worlds with a mechanism on the plane.

    `start` has registers by name, each () or (worlds, size).
    """
    plan = Plan(Scene(mechanism, law, Plane(), mechanism.candidates), stepper, None)
    values = initial_values(plan) | {name: np.atleast_1d(value) for name, value in start.items()}
    count = max(np.atleast_2d(v).shape[0] for v in values.values())
    return write_registers(Worlds(step_program(plan), count, lanes=lanes), values)


def dropped(
    law: Law, dt: float, seconds: float, stepper: Stepper | None = None
) -> dict[str, Array]:
    """Log of a point dropped from DROP."""
    start = {"q": pose([0, 0, DROP]), "u": np.zeros(6)}
    return worlds(point_mass(), stepper or EventDriven(), law, dt=dt, **start).record(
        round(seconds / dt)
    )


def bouncing(times: Array) -> Array:
    """Heights and velocities (n, 2) of a point that falls from DROP and rebounds with E."""
    states = []
    for time in times:
        since, speed, falling = time - SPEED / G, E * SPEED, time < SPEED / G
        while not falling and since > 2 * speed / G:
            since, speed = since - 2 * speed / G, E * speed
        start = (DROP, 0.0, time) if falling else (0.0, speed, since)
        states.append(
            [start[0] + start[1] * start[2] - G / 2 * start[2] ** 2, start[1] - G * start[2]]
        )
    return np.array(states)


# ---------------------------------------------------------------- impacts in time


@pytest.mark.parametrize("dt", [0.02, 0.005, 0.00125])
@pytest.mark.parametrize("law", HARD, ids=lambda law: type(law).__name__)
def test_bounce_times_do_not_depend_on_the_step(law: Law, dt: float) -> None:
    """Five bounces: heights to 1e-8 m, velocities to 1e-7 m/s, no deeper than the tolerance,
    nothing unconverged.
    """
    log, seconds = dropped(law, dt, 1.3), dt * np.arange(1, round(1.3 / dt) + 1)
    got = np.stack([log["q"][:, 0, 2], log["u"][:, 0, 2]], axis=1)
    error = np.abs(got - bouncing(seconds)).max(axis=0)
    assert (error < [1e-8, 1e-7]).all()
    assert got[:, 0].min() >= -1e-10 and log["converged"].all()
    energy = G * got[:, 0] + got[:, 1] ** 2 / 2
    levels = DROP * E ** (
        2 * np.arange(6)
    )  # falls by e^2 at every bounce, and is constant between them
    assert np.abs(energy[:, None] / (G * levels) - 1).min(axis=1).max() < 1e-6
    assert np.diff(energy).max() < 1e-11


@pytest.mark.parametrize("law", HARD, ids=lambda law: type(law).__name__)
def test_it_comes_to_rest_after_infinitely_many_bounces(law: Law) -> None:
    """After sqrt(2 h / g) (1 + e) / (1 - e), independent of the number of steps."""
    rest, dt = SPEED / G * (1 + E) / (1 - E), 0.01
    log = dropped(law, dt, 2.0)
    pressing = np.abs(log["impulse"][:, 0, 0] / (G * dt) - 1) < 1e-2
    assert abs((np.nonzero(~pressing)[0][-1] + 1) * dt - rest) <= dt
    assert np.abs(log["u"][-20:, 0, 2]).max() < 1e-6 and np.abs(log["q"][-20:, 0, 2]).max() < 1e-6


def test_errors_match_the_tolerance() -> None:
    """A landing is located to the tolerance: height errors are a small multiple of it, and no
    depth exceeds it.
    """
    errors = []
    for tolerance in (1e-4, 1e-6, 1e-8):
        log = dropped(Moreau(mu=0.0, e_N=E), 0.01, 0.9, EventDriven(tolerance=tolerance))
        errors.append(
            np.abs(log["q"][:, 0, 2] - bouncing(0.01 * np.arange(1, 91))[:, 0]).max() / tolerance
        )
        assert log["q"][:, 0, 2].min() >= -tolerance
    assert min(errors) > 0.01 and max(errors) < 10


ROD, ROD_E, ROD_SECONDS, BOUNCES = (0.9, 0.3, -1.0, 0.7), 0.8, 0.72, 3


def tumbling(seconds: float) -> Array:
    """Height, angle and their rates of a frictionless rod that has landed on its ends, restitution
    ROD_E, from ROD.
    """
    mass, half = 1.0, 0.5
    inertia, time, y, bounces = mass * (2 * half) ** 2 / 12, 0.0, np.array(ROD), 0

    def flown(t: float) -> Array:
        return np.array([y[0] + y[2] * t - G / 2 * t * t, y[1] + y[3] * t, y[2] - G * t, y[3]])

    def gap(t: float, end: int) -> float:
        z, angle = flown(t)[:2]
        return z - end * half * math.sin(angle)  # turning about y carries +x downwards

    while True:
        grid, hits = np.linspace(1e-9, seconds - time, 2001), []
        for end in (-1, 1):
            below = np.nonzero([gap(t, end) < 0 for t in grid])[0]
            if len(below):
                hits.append(
                    (brentq(gap, grid[below[0] - 1], grid[below[0]], args=(end,), xtol=1e-15), end)
                )
        if not hits:
            assert bounces == BOUNCES
            return flown(seconds - time)
        t, end = min(hits)
        time, y, bounces = time + t, flown(t), bounces + 1
        arm = -end * half * math.cos(y[1])
        push = -(1 + ROD_E) * (y[2] + arm * y[3]) / (1 / mass + arm**2 / inertia)
        y += [0, 0, push / mass, arm * push / inertia]


@pytest.mark.parametrize(
    "stepper",
    [EventDriven(), EventDriven("symplectic_euler")],
    ids=("midpoint", "symplectic_euler"),
)
@pytest.mark.parametrize(
    "law", [Moreau(mu=0.0, e_N=ROD_E), LcpImpulse(e_N=ROD_E)], ids=lambda x: type(x).__name__
)
def test_impacts_preserve_the_order_of_the_inner_stepper(law: Law, stepper: EventDriven) -> None:
    """A rod that tumbles onto its ends: the midpoint scheme's flight is exact, symplectic Euler's
    of first order.
    """
    start = {"q": pose([0, 0, ROD[0]], ROD[1]), "u": np.array([0, 0, ROD[2], 0, ROD[3], 0])}
    end = tumbling(ROD_SECONDS)

    def error(of: Stepper, steps: int) -> float:
        log = worlds(rod(), of, law, dt=ROD_SECONDS / steps, **start).record(steps)
        q, u = log["q"][-1, 0], log["u"][-1, 0]
        return float(np.abs(np.array([q[2], 2 * math.atan2(q[5], q[3]), u[2], u[4]]) - end).max())

    errors = [error(stepper, steps) for steps in (72, 144, 288)]
    alone = [error(stepper.inner_stepper, steps) for steps in (72, 144, 288)]
    if stepper == EventDriven():
        assert max(errors) < 1e-6 and errors[-1] < alone[-1] / 100
    else:
        np.testing.assert_allclose(np.log2(errors[-2] / errors[-1]), 1, atol=0.2)


@pytest.mark.parametrize(
    ("inside", "order", "steps"),
    [(Heun(), 2, 320), (RK4(), 4, 40), (DormandPrince(1e9, 1e9), 5, 40)],
    ids=("heun", "rk4", "dormand_prince"),
)
def test_order_across_a_landing_on_a_damped_spring(inside: Stepper, order: int, steps: int) -> None:
    """The force of the damper jumps at contact. With event location the order is kept; without
    it each stepper is of order 1.
    """
    c, d, seconds, height = 500.0, 20.0, 0.4, 0.5
    law, fall = Compliant(c_N=c, d_N=d), math.sqrt(2 * height / G)

    def sink(t: float, y: Array) -> Array:
        return np.array([y[1], -G - c * y[0] - d * y[1]])

    y = solve_ivp(
        sink, (0, seconds - fall), [0, -G * fall], method="DOP853", rtol=1e-13, atol=1e-15
    ).y
    assert (-c * y[0] - d * y[1]).min() > 0  # not yet lifted off

    def error(stepper: Stepper, steps: int) -> float:
        start = {"q": pose([0, 0, height]), "u": np.zeros(6), "dt": seconds / steps}
        log = worlds(point_mass(), stepper, law, **start).record(steps)
        return float(np.abs([log["q"][-1, 0, 2], log["u"][-1, 0, 2]] - y[:, -1]).max())

    located = [error(EventDriven(inside, tolerance=1e-14), n) for n in (steps, 2 * steps)]
    alone, measured = error(inside, 2 * steps), np.log2(located[0] / located[1])
    told = f"order {measured:.2f}, error {located[1]:.1e}, alone {alone:.1e}"
    print(f"damped spring, {type(inside).__name__} inside: {told}")
    assert measured > order - 0.2
    assert located[1] < alone / 10


# ---------------------------------------------------------------- many contacts, robots


def test_a_flat_box_lands_on_all_corners_at_once() -> None:
    """Four corners land within round-off of each other: one event, no rotation, one restitution."""
    height, half = 0.3, 0.04
    speed = math.sqrt(2 * G * (height - half))
    start = {"q": pose([0, 0, height]), "u": np.zeros(6)}
    log = worlds(sole(), EventDriven(), Moreau(e_N=E), dt=0.01, **start).record(
        round((speed / G + 0.05) / 0.01)
    )
    after = 0.01 * len(log["u"]) - speed / G
    assert np.abs(log["u"][-1, 0, 3:]).max() < 1e-6
    np.testing.assert_allclose(log["u"][-1, 0, 2], E * speed - G * after, atol=1e-6)


@pytest.mark.slow
def test_results_do_not_depend_on_lanes() -> None:
    """Worlds that land at different times have the results of separate runs."""
    u = np.array([[s, 0.3, -1, 2, s, 0] for s in np.linspace(-2, 2, 5)])
    start = {"q": pose([0, 0, 0.09], 0.5), "u": u, "dt": 5e-3}
    logs = [
        worlds(box(), EventDriven(), Moreau(e_N=0.3), lanes, **start).record(60) for lanes in (1, 4)
    ]
    alone = worlds(box(), EventDriven(), Moreau(e_N=0.3), **(start | {"u": u[3]})).record(60)
    assert (logs[0]["impulse"] != 0).any()
    for name in ("q", "u", "memory", "impulse", "iterations", "converged"):
        np.testing.assert_array_equal(logs[0][name], logs[1][name])
        np.testing.assert_array_equal(logs[0][name][:, 3], alone[name][:, 0])


def test_feet_of_compliant_legs_stay_on_the_ground() -> None:
    """HyQ without motors lands and folds: its feet neither sink nor rise by a micrometer.

    Without dW^T/dt u in the LCP's d they sank by 0.2 mm in the same time, and with twice of it they
    rose.
    """
    robot, dt, seconds = tarsus.load("hyq"), 5e-4, 0.2
    feet = tuple(c for c in robot.candidates if c.name.endswith("_foot"))
    robot = replace(robot, candidates=feet)
    q = np.array(robot.keyframes["stand"])
    q[2] += 0.02
    log = worlds(robot, EventDriven(), LcpImpulse(), dt=dt, q=q).record(round(seconds / dt))
    start = round((math.sqrt(2 * 0.02 / G) + 0.005) / dt)
    height = feet_heights(robot, log["q"][start:, 0])
    assert (log["impulse"][start:, 0, ::3] > 0).all() and log["converged"].all()
    assert np.abs(log["u"][-1, 0, 6:]).max() > 3  # rad/s: the legs do fold
    assert np.abs(height).max() < 1e-6


def feet_heights(robot: Robot, q: Array) -> Array:
    """Gaps (steps, feet) at q (steps, nq), m."""
    feet = [
        [robot.position(state, foot.name)[2] - foot.radius for foot in robot.candidates]
        for state in q[::8]
    ]
    return np.array(feet)


@pytest.mark.parametrize("law", [pytest.param("moreau", marks=pytest.mark.slow), "lcp_impulse"])
def test_mini_cheetah_lands_without_penetration(law: str, capsys: pytest.CaptureFixture) -> None:
    arguments = f"run mini_cheetah --law {law} --stepper event_driven --duration 2 --json"
    assert cli.main(arguments.split()) == 0
    numbers = json.loads(capsys.readouterr().out)
    assert not numbers["fell"] and numbers["unconverged_steps"] == 0
    # landings are as deep as the tolerance; then feet move by what is left of second order in dt
    # (before they rested where a step ends, they rose, by 0.15 mm and by 1.05 mm)
    # and joints that friction stops within a phase
    assert numbers["penetration_max"] < {"moreau": 1e-6, "lcp_impulse": 2.5e-5}[law]
    assert numbers["residuals"]["equation_N"] is None and numbers["creep_max"] is None


# ---------------------------------------------------------------- limits and refusals


def test_too_many_events_are_reported() -> None:
    log = dropped(Moreau(mu=0.0, e_N=E), 1.5, 1.5, EventDriven(maximum=3))
    assert not log["converged"].any()


@pytest.mark.parametrize("inside", ["heun", "rk4", "dormand_prince"])
def test_impulsive_laws_are_rejected_inside_with_alternatives(inside: str) -> None:
    with refused(Unsupported, "moreau"):
        tarsus.Simulation("mini_cheetah", law="moreau", stepper=EventDriven(inside))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: EventDriven("heum"), "did you mean heun"),
        (lambda: EventDriven(EventDriven()), "inner must be another stepper"),
        (lambda: EventDriven(tolerance=0.0), "tolerance must be positive"),
        (lambda: EventDriven(maximum=0), "maximum must be at least 1"),
    ],
)
def test_requirements_are_reported(make: Callable[[], EventDriven], message: str) -> None:
    with pytest.raises(tarsus.TarsusError, match=message):
        make()
