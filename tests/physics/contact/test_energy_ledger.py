"""Every share of the energy ledger against closed forms, and their sum against the energy
change.
"""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from casadi import DM, SX
from helpers.bench import sole

import tarsus
from tarsus import registry
from tarsus.contact.base import Law
from tarsus.contact.laws.hertz import Hertz
from tarsus.contact.ledger import SHARES, stored_energy
from tarsus.contact.problem import Contact
from tarsus.dynamics.robot import Robot
from tarsus.simulation.recording.summary import energy_ledger
from tarsus.simulation.recording.variables import ROBOT_SHARES
from tarsus.validation.bodies import G, point_mass

pytestmark = pytest.mark.slow  # the quick suite stays below fifteen minutes
LAWS = registry.names("tarsus.contact.laws")
STEPPERS = registry.names("tarsus.stepping.methods")
SOFT = "compliant"  # a law that every stepper takes


def law_of(name: str) -> Law:
    """Law on ground with friction."""
    law = registry.member_class("tarsus.contact.laws", "law", name, Law)()
    return law if law.parameters()["mu"] > 0 else replace(law, mu=0.8)  # type: ignore[call-arg]


def step_of(law: Law) -> float:
    """Time step that suits the law, s: compliant laws under light feet need a shorter one."""
    return 0.001 if law.impulsive else 0.0001


def falling(law: Law, height: float, dt: float, seconds: float):
    """Log of a point mass of 1 kg released at a height."""
    simulation = tarsus.Simulation(Robot.of(point_mass()), law, dt=dt)
    simulation.set(q=np.array([0.0, 0.0, height, 1.0, 0.0, 0.0, 0.0]))
    return simulation.run(seconds)


@pytest.mark.parametrize(
    ("name", "stepper"),
    [*((name, "midpoint") for name in LAWS), *((SOFT, s) for s in STEPPERS if s != "midpoint")],
)
def test_energy_shares_sum_to_the_energy_change(name: str, stepper: str) -> None:
    law = law_of(name)
    dt = step_of(law)
    simulation = tarsus.Simulation("mini_cheetah", law, stepper, controller="trot", dt=dt)
    log = simulation.run(0.5)
    total = energy_ledger(log)
    robot, size = simulation.robot, float(log["energy_motors"].sum())
    start = robot.kinetic_energy(log["q_start"], log["u_start"]) + robot.potential_energy(
        log["q_start"]
    )
    end = robot.kinetic_energy(log["q"][-1], log["u"][-1]) + robot.potential_energy(log["q"][-1])
    assert sum(total[share] for share in (*SHARES, *ROBOT_SHARES)) == pytest.approx(
        end - start, abs=1e-12 * size
    )
    assert total["unbalanced"] < 1e-12 * size
    assert total["friction"] < 0 and total["joints"] < 0 and total["damping"] <= 0


def test_energy_balances_with_pushes_and_changed_masses() -> None:
    simulation = tarsus.Simulation(
        "mini_cheetah", controller="stand", pushes=["base"], mass_scale={"base": 1.3}
    )
    simulation.set(push={"base": [20.0, 10.0, 0.0]})
    total = energy_ledger(simulation.run(0.3))
    assert abs(total["pushes"]) > 1e-3
    assert total["unbalanced"] < 1e-12


def test_a_sliding_box_loses_mu_m_g_times_distance() -> None:
    mu, robot = 0.4, Robot.of(sole())
    simulation = tarsus.Simulation(
        robot, tarsus.Moreau(mu=mu, T_rel=1e-12, T_abs=1e-12), dt=0.002, contacts="all"
    )
    simulation.set(u=np.array([1.5, 0.8, 0.0, 0.0, 0.0, 0.0]))
    log = simulation.run(0.3)  # it stops after 0.43 s
    way = float(np.linalg.norm(log["q"][-1, :2] - log["q_start"][:2]))
    assert energy_ledger(log)["friction"] == pytest.approx(-mu * robot.mass * G * way, rel=1e-9)
    assert energy_ledger(log)["impact"] == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("e_N", [0.0, 0.5, 1.0])
def test_an_impact_dissipates_one_minus_e_squared(e_N: float) -> None:
    simulation = tarsus.Simulation(
        Robot.of(point_mass(gravity=(0.0, 0.0, 0.0))), tarsus.Moreau(e_N=e_N), dt=0.001
    )
    simulation.set(
        q=np.array([0.0, 0.0, 0.1, 1.0, 0.0, 0.0, 0.0]), u=np.array([0.7, 0.0, -2.0, 0.0, 0.0, 0.0])
    )
    log = simulation.run(0.1)
    landing = int(np.argmax(log["impulse_contact"].values[:, 0, 0] > 0))
    falling_energy = 0.5 * 2.0**2
    # to what the solver leaves: it promises impulses to 1e-6
    assert float(log["energy_impact"][landing, 0]) == pytest.approx(
        -(1 - e_N**2) * falling_energy, abs=1e-8
    )
    assert energy_ledger(log)["damping"] == pytest.approx(0, abs=1e-8)


def test_an_undamped_spring_returns_its_energy() -> None:
    stiffness, height = 4000.0, 0.05
    spring = tarsus.Compliant(c_N=stiffness, d_N=0.0)
    log = falling(spring, height, 1e-4, 0.3)
    z = log["q"].sel(coordinate="free.z").values
    held = -np.cumsum(log["energy_elastic"].values[:, 0])
    np.testing.assert_allclose(held, 0.5 * stiffness * np.maximum(-z, 0) ** 2, atol=1e-14)
    deepest = G / stiffness + np.sqrt(
        (G / stiffness) ** 2 + 2 * G * height / stiffness
    )  # 1/2 c d^2 = g (h + d)
    assert held.max() == pytest.approx(G * (height + deepest), rel=1e-3)
    total = energy_ledger(log)
    assert z[-1] > 0 and total["elastic"] == pytest.approx(0, abs=1e-14)
    assert (
        max(abs(total[share]) for share in ("impact", "damping", "stabilization"))
        < 1e-4 * G * height
    )


def test_a_damper_dissipates_the_energy_missing_after_the_bounce() -> None:
    log = falling(tarsus.Compliant(c_N=4000.0, d_N=20.0), 0.05, 1e-4, 0.17)
    total = energy_ledger(log)
    assert float(log["gap"][-1, 0]) > 0
    lost = total["impact"] + total["damping"]
    assert lost < -0.05
    assert total["change"] == pytest.approx(lost, rel=2e-3)


@pytest.mark.parametrize("exponent", [1.0, 1.5, 2.0])
def test_spring_energy_is_the_integral_of_force_over_depth(exponent: float) -> None:
    law = Hertz(e=exponent)
    p = SimpleNamespace(**{name: SX(float(value)) for name, value in law.parameters().items()})
    frame = SX([[0, 0, 1], [1, 0, 0], [0, 1, 0]])
    depth = 3e-3
    held = float(DM(stored_energy(law, Contact(SX(-depth), SX.zeros(3), SX.zeros(3), frame), p)))
    assert held == pytest.approx(float(law.K) * depth ** (exponent + 1) / (exponent + 1), rel=1e-12)
    assert (
        float(
            DM(
                stored_energy(
                    tarsus.Moreau(), Contact(SX(-depth), SX.zeros(3), SX.zeros(3), frame), p
                )
            )
        )
        == 0
    )
