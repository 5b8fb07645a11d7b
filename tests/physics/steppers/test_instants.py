"""Laws that solve all contacts together, as forces at an instant: order of the stepper."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

import tarsus
from tarsus import cli
from tarsus.contact.base import Law
from tarsus.contact.laws.compliant import Compliant
from tarsus.contact.laws.lcp_impulse import LcpImpulse
from tarsus.contact.laws.linearized import Linearized
from tarsus.contact.laws.micro import Micro
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
from tarsus.validation.bodies import G, point_mass, pose, rod

Array = NDArray[np.float64]
HALF, ANGLE, SECONDS = 0.5, 0.9, 0.3  # m; rad above the ground; s


def final(
    mechanism: Mechanism, stepper: Stepper, law: Law, steps: int, seconds: float, **start: Array
) -> tuple[Array, Array, dict[str, Array]]:
    """Final q and u, and the log."""
    plan = Plan(Scene(mechanism, law, Plane(), mechanism.candidates), stepper, None)
    values = initial_values(plan) | start | {"dt": np.array([seconds / steps])}
    log = write_registers(Worlds(step_program(plan), 1, lanes=1), values).record(steps)
    return log["q"][-1, 0], log["u"][-1, 0], log


def exact(rate: Callable[[float, Array], list[float]], start: list[float], seconds: float) -> Array:
    """Final state of a motion by DOP853."""
    found = solve_ivp(rate, (0, seconds), start, method="DOP853", rtol=1e-13, atol=1e-15)
    return found.y[:, -1]


def sliding_rod(t: float, y: Array) -> list[float]:
    """Angle and rate of a rod of 1 kg whose lower end slides on the ground without friction."""
    angle, turn = y
    inertia = (2 * HALF) ** 2 / 12
    arm, height = HALF * math.cos(angle), HALF * math.sin(angle)
    return [turn, (arm * height * turn**2 - G * arm) / (inertia + arm**2)]


@pytest.mark.parametrize(
    ("inner", "order", "steps"),
    [(Heun(), 2, 40), (RK4(), 4, 20)],
    ids=("heun", "rk4"),
)
def test_ogunsola_s_lcp_preserves_the_order_of_the_inner_stepper(
    inner: Stepper, order: int, steps: int
) -> None:
    """A rod with one end on the ground, whose force at an instant is Eqn. (3); the end stays in
    place.
    """
    end = exact(sliding_rod, [ANGLE, 0.0], SECONDS)
    law, stepper = LcpImpulse(), EventDriven(inner, tolerance=1e-13)

    def error(steps: int) -> float:
        start = {"q": pose([0, 0, HALF * math.sin(ANGLE)], -ANGLE), "u": np.zeros(6)}
        q, u, log = final(rod(), stepper, law, steps, SECONDS, **start)
        assert log["converged"].all()
        assert (log["impulse"][:, 0].reshape(-1, 2, 3)[..., 0].max(1) > 0).all()
        return float(np.abs([-2 * math.atan2(q[5], q[3]) - end[0], -u[4] - end[1]]).max())

    errors = [error(steps), error(2 * steps)]
    measured = math.log2(errors[0] / errors[1])
    print(f"lcp_impulse, {type(inner).__name__} inside: order {measured:.2f}, {errors[1]:.1e}")
    assert measured > order - 0.3


def test_ogunsola_s_lcp_under_error_control() -> None:
    end = exact(sliding_rod, [ANGLE, 0.0], SECONDS)
    start = {"q": pose([0, 0, HALF * math.sin(ANGLE)], -ANGLE), "u": np.zeros(6)}
    stepper = EventDriven(DormandPrince(1e-9, 1e-11), tolerance=1e-13)
    q, u, log = final(rod(), stepper, LcpImpulse(), 6, SECONDS, **start)
    assert log["converged"].all()
    assert abs(-2 * math.atan2(q[5], q[3]) - end[0]) < 1e-7 and abs(-u[4] - end[1]) < 1e-6


@pytest.mark.parametrize("inner", [Heun(), RK4()], ids=("heun", "rk4"))
def test_a_landing_without_events_takes_one_step(inner: Stepper) -> None:
    """Without event location the LCP's forces stop a ball within a step, with its restitution."""
    start = {"q": pose([0, 0, 0.2]), "u": np.zeros(6)}
    _, _, log = final(point_mass(), inner, LcpImpulse(e_N=0.5), 220, 0.22, **start)
    speed, dt = math.sqrt(2 * G * 0.2), 1e-3
    since = 0.22 - speed / G
    assert log["u"][-1, 0, 2] == pytest.approx(0.5 * speed - G * since, abs=2 * G * dt)
    assert log["q"][:, 0, 2].min() > -2 * speed * dt and log["converged"].all()


GAINS = {"k_p": 100.0, "k_v": 30.0}
COUPLED = {
    "linearized": (
        Linearized(mu=0.0, epsilon=1e-3, **GAINS),
        lambda t, y: [y[1], 100.0 * (-1e-3 - y[0]) - 30.0 * min(y[1], 0.0)],
    ),
    "micro": (
        Micro(k=500.0, c=20.0, mu=0.0, damper="conventional"),
        lambda t, y: [y[1], -G - 500.0 * y[0] - 20.0 * y[1]],
    ),
}


@pytest.mark.parametrize("name", COUPLED)
def test_compliant_laws_preserve_the_order_of_rk4(name: str) -> None:
    """A point that sinks in: Rengifo 2009, Eqns. (17)-(18); Sugihara 2006, Eqn. (13)."""
    law, rate = COUPLED[name]
    end = exact(rate, [-1e-4, -0.5], 0.06)
    assert end[1] < 0  # still sinking

    def error(steps: int) -> float:
        start = {"q": pose([0, 0, -1e-4]), "u": np.array([0, 0, -0.5, 0, 0, 0])}
        q, u, _ = final(point_mass(), RK4(), law, steps, 0.06, **start)
        return float(np.abs([q[2] - end[0], u[2] - end[1]]).max())

    errors = [error(6), error(12)]
    assert math.log2(errors[0] / errors[1]) > 3.7, errors


@pytest.mark.parametrize(
    ("inner", "order", "steps"),
    [
        pytest.param(Heun(), 2, 80, id="heun"),
        pytest.param(RK4(), 2, 80, id="rk4", marks=pytest.mark.slow),
    ],
)
def test_contact_loss_is_of_second_order(inner: Stepper, order: int, steps: int) -> None:
    """A point lands on a damped spring and leaves. Its force has a kink at separation but no
    jump, so one step across it errs by dt^2; separation is therefore not located.
    """
    c, d, height, seconds = 500.0, 5.0, 0.2, 0.4
    fall, law = math.sqrt(2 * height / G), Compliant(c_N=c, d_N=d)

    def pushed(t: float, y: Array) -> list[float]:
        return [y[1], -G - c * y[0] - d * y[1]]

    def lets_go(t: float, y: Array) -> float:
        return -c * y[0] - d * y[1]

    lets_go.terminal, lets_go.direction = True, -1  # type: ignore[attr-defined]
    found = solve_ivp(
        pushed, (0, 1), [0, -G * fall - 1e-12], method="DOP853", rtol=1e-13, atol=1e-15,
        events=lets_go,
    )  # fmt: skip
    z, v = found.y[:, -1]
    left = seconds - fall - found.t[-1]
    assert left > 0.01
    end = np.array([z + v * left - G / 2 * left**2, v - G * left])

    def error(steps: int) -> float:
        start = {"q": pose([0, 0, height]), "u": np.zeros(6)}
        stepper = EventDriven(inner, tolerance=1e-14)
        q, u, _ = final(point_mass(), stepper, law, steps, seconds, **start)
        return float(np.abs([q[2], u[2]] - end).max())

    # where in a step the contact is lost varies with dt: the largest of several
    errors = [max(error(n + 3 * k) for k in range(12)) for n in (steps, 8 * steps)]
    measured = math.log2(errors[0] / errors[1]) / 3
    print(f"contact loss, {type(inner).__name__} inside: order {measured:.2f}, {errors[1]:.1e}")
    assert measured > order - 0.3


def test_moreau_has_no_forces_at_instants(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = "run mini_cheetah --stepper event_driven --set"
    assert cli.main([*arguments.split(), "inner=rk4"]) == 2
    assert "'moreau'" in capsys.readouterr().err
    assert cli.main([*arguments.split(), "inner=rk5"]) == 2
    assert "rk4" in capsys.readouterr().err


def test_the_inner_stepper_appears_in_text() -> None:
    made = tarsus.Simulation(point_mass(), "lcp_impulse", "event_driven", parameters=["inner=heun"])
    assert isinstance(made.stepper, EventDriven) and isinstance(made.stepper.inner_stepper, Heun)
