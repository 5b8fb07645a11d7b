"""Sugihara 2006 as printed: single pass, separate mu_K, phase of the damper, finite membrane."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from helpers.bench import Bench, contacts
from helpers.contact_algebra import problems, solved
from helpers.refused import refused
from numpy.typing import NDArray
from scipy.optimize import lsq_linear

import tarsus
from tarsus.contact.base import Law
from tarsus.contact.laws.macro import Macro
from tarsus.contact.laws.micro import Micro
from tarsus.contact.laws.micro_macro import MicroMacro
from tarsus.errors import IncompatibleOptions
from tarsus.stepping.methods.midpoint import Midpoint
from tarsus.terrain.patched import Patch, Patched
from tarsus.terrain.slope import Slope
from tarsus.validation.bodies import G, point_mass, pose

Array = NDArray[np.float64]
WEIGHTLESS = (0.0, 0.0, 0.0)
ONCE = Macro(passes="once", damping=1e-6)


@cache
def slope(law: Law, angle: float) -> Bench:
    """A point mass of 1 kg on a slope."""
    return Bench(point_mass(), law, Slope(angle))


def on_slope(angle: float) -> Array:
    """Pose slightly inside the slope."""
    return pose([1e-9 * np.sin(angle), 0, -1e-9 * np.cos(angle)])


# ---------------------------------------------------------------- the single pass


@pytest.mark.parametrize("rank", [5, 14])
def test_one_pass_is_the_quadratic_program(rank: int) -> None:
    """Eqn. (33) with contacts that stick, against SciPy; G is singular for rank 5."""
    n, damping = 3, 1e-2
    delassus, free = problems(rank, 40, n, rank)
    law = Macro(mu=1e6, damping=damping, passes="once")
    L, good = solved(law, delassus, free, 0 * free)
    lowest = np.tile([0, -np.inf, -np.inf], n)
    assert good.all() and 0.1 < (L[..., 0] == 0).mean() < 0.9
    for A, v, found in zip(delassus, -free, L.reshape(len(L), -1), strict=True):
        stacked = np.vstack([A, np.sqrt(damping) * np.eye(3 * n)])
        right = np.concatenate([v, np.zeros(3 * n)])
        expected = lsq_linear(stacked, right, (lowest, np.inf), tol=1e-15).x
        expected[np.repeat(found[::3] == 0, 3)] = 0  # no friction without load, by (36)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)


def test_one_pass_slides_and_rebounds_as_printed() -> None:
    """A single sliding contact: f_nu of (31), friction mu_K against the previous slip, e of
    (29).
    """
    mu, mu_K, e, damping = 0.9, 0.4, 0.5, 1e-9
    slip, fall = np.array([0.6, 0.8]), -2.0
    before = np.concatenate([[fall], 3 * slip])[None]
    A = np.random.default_rng(3).normal(size=(3, 3))
    delassus = (A @ A.T + np.eye(3))[None]
    law = Macro(mu=mu, mu_K=mu_K, e_N=e, damping=damping, passes="once")
    L, _ = solved(law, delassus, before, before)
    column = delassus[0, 0, 0] - mu_K * delassus[0, 0, 1:] @ slip
    normal = column * -(1 + e) * fall / (column**2 + damping)
    np.testing.assert_allclose(L[0, 0], normal * np.array([1, *(-mu_K * slip)]), rtol=1e-9)


def test_friction_beyond_mu_S_becomes_mu_K_of_the_load() -> None:
    angle, mu, mu_K = np.arctan(0.6), 0.5, 0.2
    bench = slope(replace(ONCE, mu=mu, mu_K=mu_K), angle)
    impulse = contacts(bench.run(1, 1e-3, q=on_slope(angle)))[0, 0, 0]
    assert impulse[0] == pytest.approx(1e-3 * G * np.cos(angle), rel=1e-4)
    assert np.linalg.norm(impulse[1:]) == pytest.approx(mu_K * impulse[0], rel=1e-9)


# ---------------------------------------------------------------- mu_K


@pytest.mark.parametrize("passes", ["once", "consistent"])
def test_mu_K_may_exceed_mu_S(passes: str) -> None:
    """mu_S = 0, mu_K = 0.4, the second floor of section IV-D: it brakes as mu_K says."""
    law = Macro(mu=0.0, mu_K=0.4, passes=passes)  # type: ignore[arg-type]
    log = slope(law, 0.0).run(200, 1e-3, q=pose([0, 0, -1e-9]), u=[1.0, 0, 0, 0, 0, 0])
    assert log["u"][-1, 0, 0] == pytest.approx(1 - 0.2 * 0.4 * G, rel=1e-6)
    assert log["converged"].all()


def test_a_floor_without_static_friction_dithers_as_printed_and_holds_when_consistent() -> None:
    """At rest on a slope of tan 0.2: (36) turns the friction wanted, 0.2 f_nu, into 0.4 f_nu."""
    angle = np.arctan(0.2)
    speeds = {}
    for passes in ("once", "consistent"):
        law = Macro(mu=0.0, mu_K=0.4, passes=passes)  # type: ignore[arg-type]
        log = slope(law, angle).run(300, 1e-3, q=on_slope(angle))
        speeds[passes] = np.abs(log["u"][100:, 0, 0])
    assert speeds["consistent"].max() < 1e-9
    assert speeds["once"].max() > 0.1 * G * 1e-3


@pytest.mark.parametrize("law", [Macro(), MicroMacro(), Macro(passes="once")])
def test_mu_K_defaults_to_mu_and_the_ground_scales_both(law: Law) -> None:
    icy = Patched(patches=(Patch((0.0, 0.0), (9.0, 9.0), friction=0.5),))
    start = {"q": pose([0, 0, -2e-3]), "u": [2.0, 0, 0, 0, 0, 0]}
    both = (replace(law, mu=0.4), replace(law, mu=0.9, mu_K=0.4))  # type: ignore[call-arg]
    logs = [Bench(point_mass(), each, icy).run(200, 2.5e-4, **start) for each in both]
    np.testing.assert_allclose(logs[0]["q"], logs[1]["q"], rtol=0, atol=1e-12)
    slid = slice(100, None)
    slowing = -np.diff(logs[0]["u"][slid, 0, 0]).mean() / 2.5e-4
    load = contacts(logs[0])[101:, 0, 0, 0].mean() / 2.5e-4
    assert slowing == pytest.approx(0.5 * 0.4 * load, rel=1e-3)


def test_a_default_mu_K_cannot_be_set_later() -> None:
    simulation = tarsus.Simulation(tarsus.Robot.of(point_mass()), Macro())
    with refused(IncompatibleOptions, "mu_K"):
        simulation.set(mu_K=0.3)
    simulation = tarsus.Simulation(tarsus.Robot.of(point_mass()), Macro(mu_K=0.2))
    simulation.set(mu_K=0.3)


# ---------------------------------------------------------------- the membrane


@pytest.mark.parametrize("damper", ["timestep", "conventional"])
@pytest.mark.parametrize("phase", ["compression", "release"])
@pytest.mark.parametrize("sinking", [0.005, -0.005])
def test_damping_acts_only_in_its_phase(damper: str, phase: str, sinking: float) -> None:
    k, c, dt, depth = 4410.0, 282.0, 0.0025, 1e-3
    law = Micro(k=k, c=c, damper=damper, phase=phase)  # type: ignore[arg-type]
    q = pose([0, 0, -depth + 0.5 * dt * sinking])  # the midpoint is `depth` deep
    bench = Bench(point_mass(gravity=WEIGHTLESS), law, stepper=Midpoint(forces="once"))
    impulse = bench.run(1, dt, q=q, u=[0, 0, -sinking, 0, 0, 0])["impulse"][0, 0, 0]
    acts = (sinking > 0) == (phase == "compression")
    rate = (c if acts else 0.0) + (k * dt if damper == "timestep" else 0.0)
    assert impulse == pytest.approx(dt * max(k * depth + rate * sinking, 0), rel=1e-9)


def test_damping_on_release_goes_deeper_and_rebounds_by_restitution() -> None:
    """Compression without loss: depth v sqrt(m / k); a fast release ends early and loses energy."""
    k, c, dt, speed = 4410.0, 20.0, 1e-5, 0.3
    deepest, rebound = {}, {}
    for phase in ("compression", "release"):
        law = Micro(k=k, c=c, damper="conventional", phase=phase)  # type: ignore[arg-type]
        bench = Bench(point_mass(gravity=WEIGHTLESS), law)
        log = bench.run(6000, dt, q=pose([0, 0, 0]), u=[0, 0, -speed, 0, 0, 0])
        deepest[phase], rebound[phase] = -log["q"][:, 0, 2].min(), log["u"][-1, 0, 2] / speed
    assert deepest["release"] == pytest.approx(speed / np.sqrt(k), rel=1e-3)
    assert deepest["compression"] < 0.9 * deepest["release"]
    assert 0 < rebound["release"] < 1 and 0 < rebound["compression"] < 1


def test_membrane_force_saturates_at_its_thickness() -> None:
    """Under lambda so large that the floor carries nothing: 1 kg on k h = 2.756 N falls through."""
    k, thickness, dt = 5512.0, 5e-4, 1e-4
    depths = {}
    for spring in ("endless", "ends"):
        law = MicroMacro(damping=1e12, spring=spring)  # type: ignore[arg-type]
        log = Bench(point_mass(), law).run(3000, dt, q=pose([0, 0, -thickness]))
        depths[spring] = -log["q"][-1, 0, 2]
        force = contacts(log)[-1, 0, 0, 0] / dt
        assert force == pytest.approx(G if spring == "endless" else k * thickness, rel=1e-3)
    assert depths["endless"] == pytest.approx(G / k, rel=1e-3)
    fall = 0.5 * (G - k * thickness) * 0.3**2
    assert depths["ends"] == pytest.approx(fall, rel=1e-2)
