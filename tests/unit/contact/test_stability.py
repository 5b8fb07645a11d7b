"""Longest stable steps of laws, against closed forms and simulation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.bench import Bench

import tarsus
from tarsus.comparison.stable_step import MAX_DT, MIN_DT, find_largest_dt
from tarsus.contact.laws.compliant import Compliant
from tarsus.contact.laws.hertz import Hertz
from tarsus.contact.laws.hunt_crossley import HuntCrossley
from tarsus.contact.laws.linearized import Linearized
from tarsus.contact.laws.micro import Micro
from tarsus.contact.laws.moreau import Moreau
from tarsus.contact.laws.soft_convex import SoftConvex
from tarsus.simulation import resolve
from tarsus.stepping.methods.midpoint import Midpoint
from tarsus.validation.bodies import G, point_mass, pose

MASSES, LOAD = (0.3, 0.08), 90.0
NORMAL, ACROSS = "the ground's spring and damper", "friction near rest"


def test_the_linear_spring() -> None:
    law = Compliant(c_N=4e4, d_N=30.0, c_T=1e4, d_T=60.0)
    found = law.largest_steps(MASSES, LOAD)
    for name, c, d, m in ((NORMAL, 4e4, 30.0, MASSES[0]), (ACROSS, 1e4, 60.0, MASSES[1])):
        dt = found[name]
        assert c * dt**2 + 2 * d * dt == pytest.approx(4 * m, rel=1e-9)


def test_hertz_and_hunt_crossley_at_the_depth_that_carries_the_load() -> None:
    hertz = Hertz(mu=1.2, mu_ratio=1.5, v_s=0.2)
    depth = (LOAD / float(hertz.K)) ** (1 / float(hertz.e))
    found = hertz.largest_steps(MASSES, LOAD)
    dt = found[NORMAL]
    assert hertz.e * LOAD / depth * dt**2 + 2 * hertz.c_max * dt == pytest.approx(
        4 * MASSES[0], rel=1e-6
    )
    assert found[ACROSS] == pytest.approx(4 / 3 * 0.2 * MASSES[1] / (1.8 * LOAD), rel=1e-9)

    crossley = HuntCrossley()
    depth = (LOAD / 5e5) ** (1 / 1.5)
    found = crossley.largest_steps(MASSES, LOAD)
    dt = found[NORMAL]
    assert 1.5 * LOAD / depth * dt**2 + 2 * 1.5 * 1.5 * LOAD * dt == pytest.approx(
        4 * MASSES[0], rel=1e-6
    )
    assert found[ACROSS] == pytest.approx(2 * 0.1 * MASSES[1] / (0.8 * LOAD), rel=1e-9)


def test_the_limit_is_that_of_the_worst_world() -> None:
    both = Compliant(c_N=np.array([1e4, 9e4]), mu=np.array([0.2, 0.8])).largest_steps(MASSES, LOAD)
    assert both[NORMAL] == pytest.approx(Compliant(c_N=9e4).largest_steps(MASSES, LOAD)[NORMAL])


def test_laws_without_springs_have_no_limit() -> None:
    assert Moreau().largest_steps(MASSES, LOAD) == {}
    assert list(SoftConvex(timeconst=0.004).largest_steps(MASSES, LOAD).values()) == [0.002]
    [dt] = Micro().largest_steps(MASSES, LOAD).values()
    assert (158 + 5512 * dt) * dt == pytest.approx(2 * MASSES[0])
    [dt] = Linearized(k_p=0.0, k_v=250.0).largest_steps(MASSES, LOAD).values()
    assert dt == pytest.approx(2 / 250)


@pytest.mark.parametrize(
    "law", [Compliant(mu=0.0), Hertz(mu=0.0, c_max=0.01), HuntCrossley(mu=0.0, alpha=0.01)]
)
def test_a_resting_mass_is_stable_only_below_the_limit(law: Any) -> None:
    """Pushed by a millionth of its depth: the disturbance of a step 2 % too long grows, of one 2 %
    shorter does not.
    """
    mass = 2.0
    dt = law.largest_steps((mass, mass), mass * G)[NORMAL]
    bench = Bench(point_mass(mass), law, stepper=Midpoint(forces="once"))
    settled = (
        bench.run(40000, dt / 10, q=pose([0, 0, -1e-3]))["q"][-1, 0, 2]
        if law.parameters().get("d_N", 0)
        else None
    )
    rest = settled if settled is not None else -depth_of(law, mass * G)
    off = [
        np.abs(bench.run(400, share * dt, q=pose([0, 0, rest * (1 + 1e-6)]))["q"][:, 0, 2] - rest)
        for share in (0.98, 1.02)
    ]
    assert off[0][-50:].max() < 20e-6 * abs(rest)
    assert off[1][-50:].max() > 1e-3 * abs(rest)


def depth_of(law: Any, load: float) -> float:
    p = law.parameters()
    return float((load / p["K"]) ** (1 / p["e"]) if "K" in p else (load / p["k"]) ** (1 / p["n"]))


@pytest.mark.parametrize("law", ["compliant", "hertz", "hunt_crossley", "soft_convex"])
def test_too_long_steps_are_reported(law: str) -> None:
    once: dict[str, Any] = {"robot": "mini_cheetah", "law": law, "controller": "stand", "dt": 0.012}
    notices = tarsus.Simulation(**once, stepper=Midpoint(forces="once")).warnings
    assert "dt-above-stable-limit" in {notice.code for notice in notices}
    assert tarsus.Simulation("mini_cheetah", law=law, controller="stand", dt=1e-4).warnings == []


def test_bisection_finds_the_limit_or_reports_none() -> None:
    for turn in (3e-5, 4.2e-4, 1e-3, 7.7e-3):
        found = find_largest_dt(lambda dt, turn=turn: dt <= turn)
        assert found is not None and turn / 2 ** (1 / 16) < found * (1 + 1e-12) and found <= turn
    assert find_largest_dt(lambda dt: False) is None
    assert MAX_DT / 2 <= (find_largest_dt(lambda dt: True) or 0) <= MAX_DT and MIN_DT < 1e-4


def test_ignored_settings_of_a_law_are_reported() -> None:
    law, ignored = resolve.apply_material(Hertz(), {"mu": 0.5, "e_N": 0.3})
    assert law.parameters()["mu"] == 0.5 and ignored == [
        "the law 'hertz' has no parameter 'e_N': ignored."
    ]
    with pytest.raises(tarsus.TarsusError, match="did you mean"):
        tarsus.Simulation("mini_cheetah", law="hertz", controller="stand").set(mu_ration=0.5)
