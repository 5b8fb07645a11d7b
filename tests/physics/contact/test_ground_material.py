"""Ground with varying friction and stiffness: under every law, in the log, and by world."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np
import pytest
from helpers.bench import Bench
from helpers.refused import refused
from numpy.typing import ArrayLike, NDArray

import tarsus
from tarsus import parameters, registry
from tarsus.contact.base import Law
from tarsus.contact.criteria import SLIP, residuals, state
from tarsus.contact.laws.compliant import Compliant
from tarsus.contact.laws.moreau import Moreau
from tarsus.errors import InvalidValue, TarsusError
from tarsus.program.ir import reference
from tarsus.program.ir.trace import Builder
from tarsus.simulation.recording.summary import solved_contacts
from tarsus.terrain.base import Terrain
from tarsus.terrain.heightfield import HeightField
from tarsus.terrain.ice_patch import IcePatch
from tarsus.terrain.patched import Patch, Patched
from tarsus.terrain.plane import Plane
from tarsus.terrain.slope import Slope
from tarsus.validation.bodies import G, point_mass, pose, rod

Array = NDArray[np.float64]
LAWS = registry.names("tarsus.contact.laws")
DT = {"hertz": 1e-4, "micro": 5e-4}  # s


def law_of(name: str, **values: float) -> Law:
    return registry.member_class("tarsus.contact.laws", "law", name, Law)(**values)


def spring_and_damper(name: str) -> tuple[str, ...]:
    """Parameters that the stiffness of the ground scales."""
    return parameters.names_with_role(type(law_of(name)), "stiffness", "damping")


def material(terrain: Terrain, points: ArrayLike) -> tuple[Array, Array]:
    """Factors of friction and stiffness (n,) at points (n, 3)."""
    b = Builder("material")
    friction, stiffness = terrain.material(b.parameter("point", 3), terrain.symbols(b))
    program = b.program(friction=friction, stiffness=stiffness)
    parameters = {f"terrain.{name}": value for name, value in terrain.parameters().items()}
    found = reference.run(program, {"point": np.asarray(points, float), **parameters})
    return found["friction"][:, 0], found["stiffness"][:, 0]


def slid(law: Law, terrain: Terrain, name: str) -> dict[str, Array]:
    """A rod that lands end by end while it slides and turns."""
    u = [1.0, 0.3, -0.2, 0.0, 0.0, 1.0]
    return Bench(rod(), law, terrain).run(
        300, DT.get(name, 1e-3), q=pose([0.0, 0.0, 0.0105], 0.02), u=u
    )


# ---------------------------------------------------------------- every law


@pytest.mark.parametrize("name", LAWS)
def test_halving_ground_friction_equals_halving_the_law_friction(name: str) -> None:
    on_ground = slid(law_of(name, mu=0.4), Patched(friction=0.5), name)
    in_law = slid(law_of(name, mu=0.2), Plane(), name)
    unlike = slid(law_of(name, mu=0.4), Plane(), name)
    assert np.abs(unlike["u"] - in_law["u"]).max() > 1e-3
    for register in ("q", "u", "impulse"):
        np.testing.assert_allclose(on_ground[register], in_law[register], rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", [name for name in LAWS if spring_and_damper(name)])
def test_doubling_ground_stiffness_equals_doubling_the_law_stiffness(name: str) -> None:
    law = law_of(name, mu=0.3)
    doubled = replace(law, **{key: 2 * getattr(law, key) for key in spring_and_damper(name)})
    on_ground, in_law = slid(law, Patched(stiffness=2.0), name), slid(doubled, Plane(), name)
    assert np.abs(slid(law, Plane(), name)["u"] - in_law["u"]).max() > 1e-4
    for register in ("q", "u", "impulse"):
        np.testing.assert_allclose(on_ground[register], in_law[register], rtol=0, atol=1e-9)


STICKING = [name for name in LAWS if "sticking" not in law_of(name).not_modeled]


@pytest.mark.parametrize("name", STICKING)
def test_a_block_on_a_slope_slides_only_on_ice_patches(name: str) -> None:
    """tan(20 deg) = 0.364 lies between 0.5 x 0.4 on the patch and 0.4 next to it."""
    angle = np.deg2rad(20)
    ground = Patched(Slope(angle), (Patch((3.0, 0.0), (2.0, 2.0), friction=0.5),))
    one = {"kinetic": 1.0} if "kinetic" in law_of(name).parameters() else {}
    law = law_of(name, mu=0.4, **one)
    bench = Bench(point_mass(), law, ground)
    on = np.array([np.cos(angle), 0.0, np.sin(angle)])
    log = bench.run(500, 1e-3, q=[pose(d * on - 1e-6) for d in (1.0, 3.0)])
    speed = np.linalg.norm(log["u"][-1, :, :3], axis=1)
    assert speed[0] < 0.01
    assert speed[1] == pytest.approx(0.5 * G * (np.sin(angle) - 0.2 * np.cos(angle)), rel=0.02)


# ---------------------------------------------------------------- closed forms


@pytest.mark.parametrize(
    "law, dt, within", [(Moreau(mu=0.4), 1e-3, 2e-3), (Compliant(mu=0.4), 2e-4, 4e-3)]
)
def test_a_box_that_crosses_ice_stops_at_the_predicted_distance(
    law: Law, dt: float, within: float
) -> None:
    """m v^2 / 2 = mu m g (distance off the ice + factor times distance on it); the ice counts under
    each corner.
    """
    ice = Patched(patches=(Patch((0.3, 0.0), (0.2, 1.0), friction=0.1),))
    v0 = 2.0
    log = Bench(point_mass(), law, ice).run(
        round(1.2 / dt), dt, q=pose([0.0, 0.0, -1e-5]), u=[v0, 0, 0, 0, 0, 0]
    )
    rough = v0**2 / (2 * 0.4 * G)  # on ground without ice
    assert log["q"][-1, 0, 0] == pytest.approx(rough + 0.9 * 0.2, abs=within)
    assert np.abs(log["u"][-1, 0, :3]).max() < 1e-2


@pytest.mark.parametrize("factor", [0.25, 4.0])
def test_a_soft_patch_deflects_by_weight_over_stiffness(factor: float) -> None:
    law = Compliant(c_N=2e4, c_T=2e4, d_N=200.0, d_T=200.0)
    soft = Patched(patches=(Patch((1.0, 0.0), 0.5, stiffness=factor),))
    log = Bench(point_mass(), law, soft).run(8000, 5e-4, q=[pose([0.0, 0, 0]), pose([1.0, 0, 0])])
    np.testing.assert_allclose(log["q"][-1, :, 2], [-G / 2e4, -G / (factor * 2e4)], rtol=1e-6)


# ---------------------------------------------------------------- patches


def test_overlapping_discs_and_rectangles_have_an_order() -> None:
    disc, plank = (
        Patch((1.0, 2.0), 0.5, friction=0.1),
        Patch((1.0, 2.0), (2.0, 0.2), yaw=np.pi / 6, stiffness=3.0),
    )
    along, across = np.array([np.cos(np.pi / 6), 0.5]), np.array([-0.5, np.cos(np.pi / 6)])
    places = [
        (0, 0),
        0.499 * across,
        0.501 * across,
        0.99 * along,
        1.01 * along,
        0.9 * along + 0.099 * across,
    ]
    points = [[*(np.array([1.0, 2.0]) + place), 7.0] for place in places]
    friction, stiffness = material(
        Patched(patches=(disc, plank), friction=0.8, stiffness=0.5), points
    )
    np.testing.assert_array_equal(
        friction, [1.0, 0.1, 0.8, 1.0, 0.8, 1.0]
    )  # the plank lies on the disc
    np.testing.assert_array_equal(stiffness, [3.0, 1.0, 0.5, 3.0, 0.5, 3.0])


def test_patches_can_differ_by_world() -> None:
    ice = Patched(
        patches=(Patch([[0.0, 0.0], [5.0, 0.0]], 1.0, friction=[0.1, 0.2]),), friction=[1.0, 0.7]
    )
    np.testing.assert_array_equal(material(ice, np.zeros((2, 3)))[0], [0.1, 0.7])
    log = Bench(point_mass(), Moreau(mu=0.5), ice).run(
        50, 1e-3, q=pose([0, 0, -1e-6]), u=[1.0, 0, 0, 0, 0, 0]
    )
    slowed = 1.0 - log["u"][-1, :, 0]
    np.testing.assert_allclose(slowed, 0.5 * G * 0.05 * np.array([0.1, 0.7]), rtol=0.03)


def test_patches_do_not_change_heights() -> None:
    bumps = HeightField(0.01 * np.random.default_rng(3).random((20, 20)), 0.05)
    runs = [
        slid(Moreau(), terrain, "moreau")
        for terrain in (bumps, Patched(bumps, (Patch((9, 9), friction=0.1),)))
    ]
    for register in ("q", "u", "impulse"):
        np.testing.assert_allclose(runs[0][register], runs[1][register], rtol=0, atol=1e-12)


def test_uniform_ground_adds_no_code() -> None:
    plane, nothing = (
        Bench(rod(), Moreau(), ground).program for ground in (Plane(), Patched(Plane()))
    )
    assert plane.fingerprint == nothing.fingerprint
    plain, wrapped = (
        slid(Moreau(), Plane(), "moreau"),
        slid(Moreau(), Patched(Plane(), (Patch(),)), "moreau"),
    )
    for register in ("q", "u", "impulse", "memory"):
        assert np.array_equal(plain[register], wrapped[register])


# ---------------------------------------------------------------- a robot, its log, and its user


def test_the_comparison_includes_ice_patches() -> None:
    simulation = tarsus.Simulation(
        "mini_cheetah", terrain=IcePatch(friction=0.05), controller="trot"
    )
    log = simulation.run(3.0)
    on_ice = (
        np.hypot(log["contact_point"].values[..., 0] - 1.0, log["contact_point"].values[..., 1])
        <= 0.4
    )
    factor = log["ground_friction"].values
    assert set(np.unique(factor)) == {0.05, 1.0} and np.array_equal(factor == 0.05, on_ice)
    solved = solved_contacts(log)
    assert (state(solved)[on_ice] == SLIP).any()
    worst = residuals(solved)
    assert worst["cone_Ns"] < 1e-9 and worst["dissipation_J"] < 1e-5
    blind = residuals(replace(solved, mu=0.8, mu_K=None))
    assert blind["dissipation_J"] > 1e-3  # without the factor the same log looks wrong


def test_a_law_without_stiffness_rejects_soft_patches() -> None:
    terrain = Patched(stiffness=0.5)
    hard = tarsus.Simulation(point_mass(), terrain=terrain)
    (notice,) = (n for n in hard.warnings if n.code == "ground-stiffness-ignored")
    assert notice.subject == "moreau" and notice in hard.run(0.01).attrs["warnings"]
    quiet = tarsus.Simulation(point_mass(), "compliant", terrain=terrain, dt=1e-4)
    assert "stiffness" not in quiet.run(0.01).attrs["warnings"]


@pytest.mark.parametrize(
    ("bad", "kind", "subject"),
    [
        (lambda: Patch(size=0.0), InvalidValue, "size"),
        (lambda: Patch(size=(1.0, 2.0, 3.0)), InvalidValue, "size"),  # type: ignore[arg-type]
        (lambda: Patch(center=(1.0, 2.0, 3.0)), InvalidValue, "center"),
        (lambda: Patch(friction=-0.1), InvalidValue, "friction"),
        (lambda: Patch(stiffness=0.0), InvalidValue, "stiffness"),
        (lambda: Patched(friction=np.nan), InvalidValue, "friction"),
        (lambda: Patched(Patched()), InvalidValue, "ground"),
        (lambda: Patched("plane"), InvalidValue, "ground"),  # type: ignore[arg-type]
        (lambda: Patched(patches=("ice",)), InvalidValue, "patches"),  # type: ignore[arg-type]
        (lambda: IcePatch(radius=-1.0), InvalidValue, "radius"),
    ],
)
def test_bad_patches_are_refused(bad: Any, kind: type[TarsusError], subject: str) -> None:
    with refused(kind, subject):
        bad()


def test_the_default_ground_is_uniform() -> None:
    friction, stiffness = Plane().material(ca.SX.sym("point", 3), None)
    assert friction.is_one() and stiffness.is_one()
