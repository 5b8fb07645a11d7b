"""Force laws against closed forms: rest, bounce and slip of single bodies, formulas, and a trot."""

from __future__ import annotations

from functools import cache
from typing import Any

import casadi as ca
import numpy as np
import pytest
from casadi import SX
from helpers.bench import Bench
from numpy.typing import NDArray
from scipy.optimize import root_scalar

import tarsus
from tarsus.contact import material
from tarsus.contact.base import ForceLaw, Law, symbols
from tarsus.contact.laws.compliant import Compliant
from tarsus.contact.laws.hertz import Hertz
from tarsus.contact.laws.hunt_crossley import HuntCrossley
from tarsus.contact.laws.micro import Micro
from tarsus.contact.problem import Contact
from tarsus.errors import TarsusError
from tarsus.stepping.methods.midpoint import Midpoint
from tarsus.terrain.slope import Slope
from tarsus.validation.bodies import BOX, G, box, point_mass, pose

Array = NDArray[np.float64]
WEIGHTLESS = (0.0, 0.0, 0.0)


def force(law: ForceLaw, gap: float, velocity: list[float]) -> Array:
    """Force (3,) of the law at one instant."""
    parameters = symbols({name: SX(float(value)) for name, value in law.parameters().items()})
    contact = Contact(SX(gap), SX(ca.DM(velocity)), SX.zeros(3), SX.eye(3))
    return np.array(ca.DM(law.force(contact, parameters, SX.zeros(0, 1))[0])).ravel()


def rest_depth(law: Law, body: str) -> float:
    """Depth of a body after 3 s on the plane."""
    mechanism, height = (point_mass(), 0.0) if body == "point" else (box(), BOX[2])
    log = Bench(mechanism, law).run(6000, 5e-4, q=pose([0, 0, height]))
    assert np.abs(log["u"][-1]).max() < 1e-6
    return height - log["q"][-1, 0, 2]


def bounce(
    law: Law, speeds: list[float], dt: float, steps: int, **parameters: Array
) -> tuple[Array, Array]:
    """Restitution and largest depth of a point mass of 1 kg without gravity that hits the
    plane, one speed per world.
    """
    u = np.zeros((len(speeds), 6))
    u[:, 2] = -np.asarray(speeds)
    named = {f"law_{name}": value for name, value in parameters.items()}
    log = Bench(point_mass(gravity=WEIGHTLESS), law).run(
        steps, dt, q=pose([0, 0, 1e-12]), u=u, **named
    )
    assert (log["impulse"][-1] == 0).all(), "still in contact"
    return log["u"][-1, :, 2] / speeds, -log["q"][..., 2].min(0)


# ---------------------------------------------------------------- hertz


@pytest.mark.parametrize(("body", "weight", "corners"), [("point", G, 1), ("box", 2 * G, 4)])
def test_hertz_rests_at_its_depth(body: str, weight: float, corners: int) -> None:
    law = Hertz(c_max=100.0)
    expected = (weight / (corners * float(law.K))) ** (1 / float(law.e))
    assert rest_depth(law, body) == pytest.approx(expected, rel=1e-4)


def test_hertz_touches_down_without_a_jump() -> None:
    law, speed = Hertz(K=1e-9), 0.7
    c = [
        force(law, -x * 1e-4, [-speed, 0, 0])[0] / speed for x in (1e-6, 1e-3, 0.25, 0.5, 1.0, 2.0)
    ]
    np.testing.assert_allclose(c, 10 * np.array([3e-12, 2.998e-6, 0.15625, 0.5, 1, 1]), rtol=1e-4)


def test_hertz_does_not_pull() -> None:
    assert force(Hertz(), -1e-3, [50.0, 1.0, 0.0]).tolist() == [0, 0, 0]


def test_hertz_friction_is_mu_s_at_v_s_and_mu_d_beyond_v_d_at_every_heading() -> None:
    law = Hertz(mu=0.6, mu_ratio=1.5, v_s=0.05, v_d=0.2)
    speeds = np.array([0.0, 0.025, 0.05, 0.125, 0.2, 5.0])
    expected = np.array([0.0, 0.9 * 0.5 * (3 - 0.25) / 2, 0.9, 0.75, 0.6, 0.6])
    for heading in np.linspace(0, 6, 7):
        along = np.array([np.cos(heading), np.sin(heading)])
        found = np.array([force(law, -1e-3, [0, *(v * along)]) for v in speeds])
        np.testing.assert_allclose(
            found[:, 1:] / found[:, :1], -expected[:, None] * along, atol=1e-14
        )


def test_hertz_with_separate_axes_follows_the_curve_along_each_tangent() -> None:
    """Eqn. (38): each component depends on its own slip; along one tangent both options agree."""
    together, apart = (
        Hertz(mu=0.6, v_s=0.05, v_d=0.2, axes=axes) for axes in ("together", "separate")
    )
    x, y = 0.03, -0.1
    alone = [force(law, -1e-3, [0.0, x, 0.0]) for law in (together, apart)]
    assert alone[0] == pytest.approx(alone[1], abs=1e-12)
    both = force(apart, -1e-3, [0.0, x, y])
    assert both[1] == pytest.approx(force(apart, -1e-3, [0.0, x, 0.0])[1], abs=1e-12)
    assert both[2] == pytest.approx(force(apart, -1e-3, [0.0, 0.0, y])[2], abs=1e-12)
    # sliding obliquely at full friction meets sqrt(2) mu f_n
    fast = force(apart, -1e-3, [0.0, 1.0, 1.0])
    assert np.hypot(*fast[1:]) == pytest.approx(np.sqrt(2) * 0.6 * fast[0])


def test_hertz_with_v_s_equal_to_v_d_has_no_middle() -> None:
    law = Hertz(mu=0.6, mu_ratio=1.5, v_s=0.05, v_d=0.05)
    ratios = [np.divide(*force(law, -1e-3, [0, v, 0])[[1, 0]]) for v in (0.05, 0.0501)]
    np.testing.assert_allclose(ratios, [-0.9, -0.6], rtol=1e-12)


def test_hertz_slides_at_mu_d_and_creeps_as_its_curve_predicts() -> None:
    fast = Bench(point_mass(), Hertz(mu=0.5)).run(
        4000, 1e-4, q=pose([0, 0, -1e-3]), u=[3, 4, 0, 0, 0, 0]
    )["u"][:, 0]
    slowing = (fast[1999, :2] - fast[3999, :2]) / 0.2
    np.testing.assert_allclose(slowing, 0.5 * G * np.array([0.6, 0.8]), rtol=1e-3)
    angle, law = 0.2, Hertz(mu=0.5, c_max=100.0)
    log = Bench(point_mass(), law, Slope(angle)).run(10000, 1e-4, q=pose([0, 0, -1e-4]))
    r = root_scalar(lambda r: 0.5 * r * (3 - r * r) / 2 - np.tan(angle), bracket=(0, 1)).root
    assert np.linalg.norm(log["u"][-1, 0, :3]) == pytest.approx(float(law.v_s) * r, rel=1e-4)


@pytest.mark.parametrize("wrong", [{"K": 0.0}, {"w": -1.0}, {"c_max": -1.0}, {"v_d": 0.01}])
def test_hertz_rejects_invalid_parameters(wrong: dict[str, float]) -> None:
    with pytest.raises(TarsusError, match=next(iter(wrong))):
        Hertz(**wrong)


# ---------------------------------------------------------------- micro


def first_impulse(law: Micro, dt: float, speed: float) -> float:
    """Impulse of one step that starts 1 mm deep (at the midpoint) and sinks at a speed."""
    u = [0, 0, -speed, 0, 0, 0]
    log = Bench(point_mass(gravity=WEIGHTLESS), law, stepper=Midpoint(forces="once")).run(
        1, dt, q=pose([0, 0, -1e-3 + 0.5 * dt * speed]), u=u
    )
    return float(log["impulse"][0, 0, 0])


@pytest.mark.parametrize("speed", [0.05, -0.05])
def test_micro_matches_equations_13_to_15(speed: float) -> None:
    k, c, dt = 4410.0, 282.0, 0.0025
    c_now = c if speed > 0 else 0.0
    old, new = (
        first_impulse(Micro(k=k, c=c, damper=d), dt, speed) for d in ("conventional", "timestep")
    )
    assert old == pytest.approx(dt * (k * 1e-3 + c_now * speed), rel=1e-12)
    assert new == pytest.approx(dt * (k * (1e-3 + speed * dt) + c_now * speed), rel=1e-12)


@pytest.mark.parametrize("dt", [1e-4, 0.0025])
def test_the_timestep_damper_of_micro_reduces_depth_and_rebound(dt: float) -> None:
    """The paper's claim below (14); to first order in dt the damper is one of ratio omega dt /
    2, in both phases.
    """
    k, speeds, steps = 4410.0, [0.2, 1.0], round(0.1 / dt)
    old, old_depth = bounce(Micro(k=k, c=0.0, damper="conventional"), speeds, dt, steps)
    new, new_depth = bounce(Micro(k=k, c=0.0), speeds, dt, steps)
    assert (new_depth < old_depth).all() and (new < old).all()
    if dt < 1e-3:
        np.testing.assert_allclose(old, 1, atol=1e-2)
        np.testing.assert_allclose(new / old, material.restitution(np.sqrt(k) * dt / 2), atol=2e-3)


def test_micro_overshoots_where_its_damper_is_too_strong_for_the_step() -> None:
    """Known artifact: at dt (c + k dt) > m one step of damping reverses a mass, and (14) does so
    more than (13).
    """
    k, c, dt, speed = 4410.0, 282.0, 0.0025, 1.0
    for mass in (0.5, 1.0):
        rebound = []
        for damper in ("conventional", "timestep"):
            law = Micro(k=k, c=c, damper=damper)  # type: ignore[arg-type]
            u = [0, 0, -speed, 0, 0, 0]
            bench = Bench(point_mass(mass, WEIGHTLESS), law, stepper=Midpoint(forces="once"))
            log = bench.run(1, dt, q=pose([0, 0, 0]), u=u)
            rebound.append(log["u"][0, 0, 2])
        per_step = (
            dt / mass * (c + k * dt / 2 + np.array([0, k * dt]))
        )  # half a step deep at the midpoint
        np.testing.assert_allclose(rebound, speed * (per_step - 1), rtol=1e-9)
        assert (rebound[1] > 0) == (mass == 0.5)


@pytest.mark.parametrize("stepper", ["midpoint", "symplectic_euler"])
def test_a_subcycled_contact_rests_without_a_bounce_inside_the_step(stepper: str) -> None:
    """A damper that acts in one phase would carry a part of the weight of a body that bounces."""
    law, dt = Micro(k=1e5), 5e-3
    assert min(law.largest_steps((0.5, 0.5), 1.0).values()) < dt
    log = tarsus.Simulation(point_mass(), law, stepper, dt=dt, controller=None).run(3.0)
    assert log["iterations"].values[-1] > 1
    assert -log["q"].values[-1, 2] == pytest.approx(G / 1e5, rel=1e-9)
    assert abs(log["u"].values[-1]).max() < 1e-12


def test_micro_friction_slides_as_coulomb_and_stops_a_box_to_within_one_step() -> None:
    mu, speed, dt = 0.4, 1.0, 0.001
    depth = 2 * G / (4 * 5512.0)
    log = Bench(box(), Micro(mu=mu)).run(
        1000, dt, q=pose([0, 0, BOX[2] - depth]), u=[speed, 0, 0, 0, 0, 0]
    )
    x, u, omega = log["q"][:, 0, :2], log["u"][:, 0, :2], log["u"][:, 0, 3:5]
    sole = u + BOX[2] * omega[:, ::-1] * [-1, 1]  # the box rocks back on its springs when it stops
    assert np.linalg.norm(x[-1]) == pytest.approx(speed**2 / (2 * mu * G), rel=0.02)
    assert (sole[:, 0] > -mu * G * dt).all() and np.abs(u[:, 1]).max() < 1e-9
    assert np.abs(u[-1]).max() < 1e-6


def test_micro_friction_is_isotropic() -> None:
    headings = np.linspace(0, 6, 7)
    u = np.zeros((7, 6))
    u[:, 0], u[:, 1] = np.cos(headings), np.sin(headings)
    log = Bench(point_mass(), Micro(mu=0.4)).run(100, 0.001, q=pose([0, 0, -G / 5512.0]), u=u)
    expected = (1 - 0.4 * G * 0.1) * u[:, :2]
    np.testing.assert_allclose(log["u"][-1, :, :2], expected, atol=2e-3)
    np.testing.assert_allclose(np.linalg.norm(log["u"][-1, :, :2], axis=-1).std(), 0, atol=1e-14)


def test_micro_creeps_on_a_slope_and_less_with_a_smaller_step() -> None:
    creep = []
    for dt in (0.001, 0.0005):
        bench = Bench(point_mass(), Micro(mu=0.4, eps=1e-4), Slope(0.2))
        log = bench.run(round(1 / dt), dt, q=pose([0, 0, -1e-3]))
        creep.append(np.linalg.norm(log["u"][-1, 0, :3]))
    np.testing.assert_allclose(
        creep, np.sqrt(2) * G * np.sin(0.2) * np.array([0.001, 0.0005]), rtol=1e-3
    )


# ---------------------------------------------------------------- hunt_crossley


def test_hunt_crossley_rests_at_its_depth() -> None:
    law = HuntCrossley(alpha=5.0)
    assert rest_depth(law, "box") == pytest.approx((2 * G / (4 * 5e5)) ** (1 / 1.5), rel=1e-3)


def test_hunt_crossley_rebounds_as_the_energy_integral_predicts() -> None:
    """With y = 3/2 alpha v, y - ln(1 + y) before equals -y - ln(1 - y) after; for alpha v << 1, e =
    1 - alpha v.
    """
    alpha, speeds = 0.5, [0.02, 0.1, 0.5, 2.0]
    found, _ = bounce(HuntCrossley(alpha=alpha), speeds, 1e-5, 6000)
    exact = []
    for v in speeds:
        y = 1.5 * alpha * v
        lost = y - np.log(1 + y)
        found_y = root_scalar(
            lambda z, lost=lost: -z - np.log(1 - z) - lost, bracket=(0, min(y, 1 - 1e-9))
        ).root
        exact.append(found_y / y)
    np.testing.assert_allclose(found, exact, rtol=2e-3)
    first_order = alpha * np.array(speeds[:3])
    assert (np.abs(found[:3] - (1 - first_order)) < first_order**2).all()
    loss = 1 - found[:2] ** 2  # share of the energy: 2 alpha v to first order
    np.testing.assert_allclose(loss, 2 * alpha * np.array(speeds[:2]), rtol=0.08)


def test_hunt_crossley_never_pulls_and_friction_stays_below_mu() -> None:
    law = HuntCrossley()
    assert force(law, -1e-3, [1 / (1.5 * float(law.alpha)) + 0.01, 0.3, 0]).tolist() == [0, 0, 0]
    normal, *tangent = force(law, -1e-3, [0, 0.6, 0.8])
    np.testing.assert_allclose(
        tangent, -0.8 * normal / np.sqrt(1.01) * np.array([0.6, 0.8]), rtol=1e-14
    )


# ---------------------------------------------------------------- material


def test_restitution_of_the_linear_bounce() -> None:
    zeta = np.array([0.01, 0.1, 0.3, 0.7, 0.999, 1.0, 1.5, 4.0])
    law = Compliant(c_N=1e4)
    found, _ = bounce(law, [1.0] * len(zeta), 1e-5, 4000, d_N=material.damping(1e4, 1.0, zeta))
    np.testing.assert_allclose(found, material.restitution(zeta), rtol=5e-3)


def test_gravity_reduces_restitution_within_the_stated_bound() -> None:
    zeta, speed, c_N = np.array([0.05, 0.2, 0.5, 1.0]), 1.0, 1e4
    share = G / (np.sqrt(c_N) * speed)
    d_N = material.damping(c_N, 1.0, zeta)
    log = Bench(point_mass(), Compliant(c_N=c_N)).run(
        8000, 1e-5, q=pose([0, 0, 0]), u=[0, 0, -1, 0, 0, 0], law_d_N=d_N
    )
    z, w = log["q"][..., 2], log["u"][..., 2]
    energy = np.where(z > 0, G * z + 0.5 * w**2, 0).max(0)  # on the way up, past the surface
    error = material.restitution(zeta) - np.where(energy > 0, np.sqrt(2 * energy), 0)
    assert share == pytest.approx(0.0981) and (error > 0).all() and (error < 5 * zeta * share).all()


def test_material_round_trips() -> None:
    e = np.array([1.0, 0.99, 0.5, np.exp(-2.0), 0.01, 1e-6])
    np.testing.assert_allclose(material.restitution(material.damping_ratio_of(e)), e, rtol=1e-10)
    given = material.material(1e-3, 22.0, 0.3, restitution=0.2)
    assert given["c_N"] == pytest.approx(22000) and material.penetration(
        given["c_N"], 22.0
    ) == pytest.approx(1e-3)
    ratio = material.damping_ratio(given["c_N"], given["d_N"], 0.3)
    assert material.restitution(ratio) == pytest.approx(0.2)
    Compliant(**given)
    zeta = material.material(1e-3, 22.0, 0.3, damping_ratio=0.7)
    assert material.damping_ratio(zeta["c_N"], zeta["d_N"], 0.3) == pytest.approx(0.7)


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"damping_ratio": 0.5, "restitution": 0.5},
        {"restitution": 0.0},
        {"restitution": 1.1},
        {"damping_ratio": -0.1},
        {"restitution": 0.5, "depth": 0.0},
        {"restitution": np.nan},
    ],
)
def test_material_rejects_unphysical_constants(wrong: dict[str, Any]) -> None:
    with pytest.raises(TarsusError):
        material.material(**({"depth": 1e-3, "load": 22.0, "mass": 0.3} | wrong))


# ---------------------------------------------------------------- on a robot


@cache
def trot(law: Law, dt: float) -> tuple[dict[str, Any], float]:
    """Summary of 2 s and the largest change of a foot's friction from step to step, N."""
    simulation = tarsus.Simulation("mini_cheetah", law=law, controller="trot", dt=dt)
    log = simulation.run(2.0)
    return tarsus.summary(simulation, log), float(
        np.abs(np.diff(log["force_contact"].values[..., 1:], axis=0)).max()
    )


@pytest.mark.parametrize(
    ("law", "dt"),
    [
        pytest.param(Hertz(), 1e-4, marks=pytest.mark.slow),
        (Micro(), 1e-3),
        pytest.param(HuntCrossley(), 1e-4, marks=pytest.mark.slow),
    ],
)
def test_mini_cheetah_trots(law: Law, dt: float) -> None:
    numbers, _ = trot(law, dt)
    assert numbers["fell"] is False
    assert 0.3 < numbers["distance"] < 0.8


@pytest.mark.parametrize("law", [Hertz(), HuntCrossley()])
def test_friction_does_not_chatter_at_the_recommended_step(law: Law) -> None:
    _, jump = trot(law, 1e-4)
    assert jump < 40
