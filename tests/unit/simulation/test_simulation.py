"""The simulation as a user drives it: one world, batches, Python controllers, mistakes."""

from __future__ import annotations

import warnings
from dataclasses import fields, replace

import numpy as np
import pytest
from helpers.refused import refused

import tarsus
from tarsus.contact import criteria
from tarsus.control.gaits.stand import Stand
from tarsus.errors import IncompatibleOptions, InvalidModel, InvalidValue, UnknownName
from tarsus.simulation.fingerprint import fingerprint
from tarsus.simulation.recording.summary import solved_contacts
from tarsus.stepping.methods.midpoint import Midpoint


@pytest.fixture(scope="module")
def trot() -> tarsus.Simulation:
    return tarsus.Simulation("mini_cheetah", controller="trot")


@pytest.fixture(scope="module")
def log(trot: tarsus.Simulation):
    trot.reset()
    return trot.run(2.0)


def test_the_log_has_names_units_and_the_last_state(trot: tarsus.Simulation, log) -> None:
    assert log.sizes["time"] == 800
    assert log["time"].values[0] == pytest.approx(0.0025)
    assert list(log["contact"].values) == ["FR_foot", "FL_foot", "HR_foot", "HL_foot"]
    assert all(
        "units" in log[name].attrs
        for name in ("q", "u", "tau", "gap", "force_world", "impulse_contact")
    )
    np.testing.assert_array_equal(log["q"].values[-1], trot.q)
    assert trot.time == pytest.approx(2.0)


def test_repr_is_one_line() -> None:
    trot = tarsus.Simulation("mini_cheetah", controller="trot")
    trot.advance(0.5)
    told = "moreau, controller trot, dt 0.0025 s, 1 world, float64, t = 0.5 s"
    assert repr(trot) == f"Simulation(mini_cheetah: {told})"
    many = tarsus.Simulation("mini_cheetah", worlds=3, precision="float32", dt=0.001)
    told = "moreau, controller none, dt 0.001 s, 3 worlds, float32, t = 0 s"
    assert repr(many) == f"Simulation(mini_cheetah: {told})"


def test_mini_cheetah_trots_by_default(log) -> None:
    assert 0.3 < float(log["q"].sel(coordinate="floating_base.x")[-1]) < 1.0
    assert bool((log["converged"] == 1).all())


def test_every_step_obeys_the_law_and_the_equation_of_motion(log) -> None:
    residuals = criteria.residuals(solved_contacts(log))
    # the solver promises 1e-6 N s; feet move at up to 1 m/s
    assert residuals["signorini_J"] < 1e-6
    assert residuals["cone_Ns"] < 2e-6
    assert residuals["dissipation_J"] < 2e-6
    assert residuals["creep_m_per_s"] < 2e-4  # the way over a step, by dt; joints stick and slip
    assert float(log["equation_residual"].max()) < 1e-9


def test_forces_in_both_frames_and_impulses_agree(log) -> None:
    dt = log.attrs["dt"]
    np.testing.assert_allclose(
        log["force_contact"] * dt, log["impulse_contact"], rtol=1e-12, atol=1e-15
    )
    np.testing.assert_allclose(
        log["force_world"].sel(xyz="z"),
        log["force_contact"].sel(axis="normal").values,
        rtol=1e-12,
        atol=1e-12,
    )


def test_standing_forces_balance_the_weight() -> None:
    log = tarsus.Simulation("mini_cheetah", controller="stand").run(5.0)
    weight = tarsus.load("mini_cheetah").mass * 9.81
    assert float(log["force_world"].sel(xyz="z").sum("contact")[-1]) == pytest.approx(
        weight, rel=1e-4
    )
    assert float(np.abs(log["u"][-1]).max()) < 1e-4


def test_the_same_run_twice_has_the_same_bits(trot: tarsus.Simulation, log) -> None:
    trot.reset()
    np.testing.assert_array_equal(trot.run(0.5)["q"].values, log["q"].values[:200])


def test_worlds_differ_by_state_command_and_parameters() -> None:
    sim = tarsus.Simulation(
        "mini_cheetah",
        law=tarsus.Moreau(mu=np.array([0.05, 0.8, 0.8, 0.8])),
        terrain=tarsus.Slope(angle=np.deg2rad([0.0, 0.0, 3.0, 0.0])),
        controller="trot",
        worlds=4,
        mass_scale={"base": [1.0, 1.0, 1.0, 1.5]},
    )
    sim.set(command={"speed": [0.4, 0.4, 0.4, 0.0]})
    log = sim.run(1.0)
    assert dict(log.sizes)["world"] == 4
    q = log["q"].isel(time=-1).values
    assert len(np.unique(q[:, 0])) == 4
    alone = tarsus.Simulation(
        "mini_cheetah", terrain=tarsus.Slope(angle=0.0), controller="trot", mass_scale={"base": 1.0}
    )
    np.testing.assert_array_equal(q[1], alone.run(1.0)["q"].values[-1])
    assert float(log["equation_residual"].max()) < 1e-9
    heavy = log["force_world"].sel(xyz="z").isel(world=3).sum("contact").mean()
    light = log["force_world"].sel(xyz="z").isel(world=1).sum("contact").mean()
    assert float(heavy - light) == pytest.approx(
        0.5 * sim.robot.bodies[0].inertia.mass * 9.81, rel=0.2
    )


def test_reset_and_set_by_mask(trot: tarsus.Simulation) -> None:
    sim = tarsus.Simulation("mini_cheetah", controller="trot", worlds=3)
    start = sim.q
    sim.advance(0.2)
    moved = sim.q
    with refused(InvalidValue, "where"):
        sim.reset(where=[True, False])
    sim.reset(where=[True, False, False])
    np.testing.assert_array_equal(sim.q[0], start[0])
    np.testing.assert_array_equal(sim.q[1:], moved[1:])
    sim.set(where=[False, True, False], u=np.ones(18))
    assert (sim.u[1] == 1).all() and not (sim.u[2] == 1).any()


def test_actions_step_by_step_equal_a_python_controller_at_its_own_rate() -> None:
    target = tarsus.load("mini_cheetah").keyframes["stand"][7:]
    calls: list[float] = []

    def servo(t: float, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        calls.append(t)
        return 40 * (target - q[7:]) - 1.0 * u[6:]

    driven = tarsus.Simulation("mini_cheetah", controller=servo, control_rate=200.0)
    log = driven.run(0.5)
    assert len(calls) == 100
    assert calls[1] == pytest.approx(0.005)

    stepped = tarsus.Simulation("mini_cheetah")
    for k in range(200):
        stepped.step(servo(0.0, stepped.q, stepped.u) if k % 2 == 0 else None)
    np.testing.assert_array_equal(stepped.q, log["q"].values[-1])
    assert stepped.contact_force.shape == (len(stepped.robot.candidates), 3)


def test_float32_and_threads_run_the_same_robot() -> None:
    exact = tarsus.Simulation("mini_cheetah", controller="trot").run(0.1)["q"].values[-1]
    coarse = tarsus.Simulation(
        "mini_cheetah", controller="trot", precision="float32", worlds=40, threads=2
    )
    coarse.advance(0.1)  # before the first foot lands: after that, impacts amplify round-off
    np.testing.assert_allclose(coarse.q, np.broadcast_to(exact, (40, 19)), atol=1e-3)
    assert "float32-tolerance" in {notice.code for notice in coarse.warnings}


def test_a_divergence_stops_with_its_location_and_the_log() -> None:
    once = Midpoint(forces="once")
    sim = tarsus.Simulation("mini_cheetah", "compliant", once, controller="trot", dt=0.02)
    assert "dt-above-stable-limit" in {notice.code for notice in sim.warnings}
    with pytest.raises(
        tarsus.Diverged, match=r"diverged at t = .* joint '.*' moves faster than its steps"
    ) as caught:
        sim.run(10.0)
    log = caught.value.log
    assert log is not None and np.isfinite(log["u"].values).all()
    assert 0 < log.sizes["time"] < 1000


@pytest.mark.parametrize(
    ("arguments", "kind", "subject"),
    [
        ({"robot": "mini_chetah"}, UnknownName, "mini_chetah"),
        ({"law": "moreauu"}, UnknownName, "moreauu"),
        ({"controller": "trott"}, UnknownName, "trott"),
        ({"terrain": "plan"}, UnknownName, "plan"),
        ({"stepper": "midpiont"}, UnknownName, "midpiont"),
        ({"dt": 0.0}, InvalidValue, "dt"),
        ({"dt": float("nan")}, InvalidValue, "dt"),
        ({"worlds": 0}, InvalidValue, "worlds"),
        ({"precision": "float16"}, UnknownName, "float16"),
        ({"world": 3}, UnknownName, "world"),
        ({"contacts": ["FL_fot"]}, UnknownName, "FL_fot"),
        ({"controller": "trot", "control_rate": 100.0}, IncompatibleOptions, "control_rate"),
        (
            {"controller": lambda t, q, u: np.zeros(12), "control_rate": 300.0},
            IncompatibleOptions,
            "control_rate",
        ),
        ({"mass_scale": {"base": -1.0}}, InvalidValue, "mass_scale"),
        ({"mass_scale": {"bas": 1.0}}, UnknownName, "bas"),
    ],
)
def test_mistakes_are_named(arguments: dict, kind: type[tarsus.TarsusError], subject: str) -> None:
    arguments = {"robot": "mini_cheetah"} | arguments
    with refused(kind, subject):
        tarsus.Simulation(**arguments)


def test_unknown_names_get_a_suggestion() -> None:
    with pytest.raises(UnknownName, match="did you mean mini_cheetah"):
        tarsus.Simulation("mini_chetah")


def test_invalid_later_values_get_a_suggestion(trot: tarsus.Simulation) -> None:
    for bad, kind, subject in [
        (lambda: trot.set(q=np.zeros(18)), InvalidValue, "q"),
        (lambda: trot.set(u=np.full(18, np.nan)), InvalidValue, "u"),
        (lambda: trot.set(mv=0.3), UnknownName, "mv"),
        (lambda: trot.set(command={"sped": 1.0}), UnknownName, "sped"),
        (lambda: trot.step(np.zeros(12)), IncompatibleOptions, "action"),
        (lambda: trot.run(-1.0), InvalidValue, "seconds"),
    ]:
        with refused(kind, subject):
            bad()


def test_a_robot_without_contacts_is_refused() -> None:
    from dataclasses import replace

    with refused(InvalidModel, "mini_cheetah"):
        tarsus.Simulation(replace(tarsus.load("mini_cheetah"), candidates=()))


def test_equal_simulations_share_only_their_program() -> None:
    robot, law, gait = tarsus.load("mini_cheetah"), tarsus.Moreau(), Stand()
    first = tarsus.Simulation(robot, law, controller=gait, dt=0.0025)
    second = tarsus.Simulation(robot, law, controller=gait, dt=0.001)
    assert second.program is first.program
    first.advance(0.1)
    assert second.time == 0 and (second.q != first.q).any()
    second.advance(0.1)
    another = replace(robot, name="another")
    alone = tarsus.Simulation(another, tarsus.Moreau(), controller=gait, dt=0.001)
    assert alone.program is not first.program
    alone.advance(0.1)
    assert (alone.q == second.q).all()


def test_different_plans_have_different_programs() -> None:
    first = tarsus.Simulation("mini_cheetah", controller="trot")
    again = tarsus.Simulation("mini_cheetah", tarsus.Moreau(), controller="trot", dt=0.001)
    assert again.plan is first.plan and again.robot is not first.robot
    plan = first.plan
    for whole, rest in ((plan, ()), (plan.scene, ("scene",))):
        for part in fields(whole):
            other = replace(whole, **{part.name: object()})
            other = replace(plan, scene=other) if rest else other
            assert fingerprint(plan) != fingerprint(other), part.name
    # in one bit, of one body, however deep
    trunk, *legs = plan.scene.mechanism.bodies
    mass = np.nextafter(trunk.inertia.mass, 100.0)
    heavier = replace(trunk, inertia=replace(trunk.inertia, mass=mass))
    robot = replace(plan.scene.mechanism, bodies=(heavier, *legs))
    other = replace(plan, scene=replace(plan.scene, mechanism=robot))
    assert fingerprint(plan) != fingerprint(other)


def test_hidden_attributes_affect_the_program_key() -> None:
    class Own(Stand):
        def __init__(self, lift: float) -> None:
            super().__init__()
            object.__setattr__(self, "lift", lift)

    assert fingerprint(Own(0.1)) == fingerprint(Own(0.1)) != fingerprint(Own(0.2))
    assert fingerprint(Own(0.1)) != fingerprint(Stand())


def test_durations_that_are_no_multiple_of_dt_are_reported() -> None:
    simulation = tarsus.Simulation("mini_cheetah", controller="trot", dt=0.0025)
    with pytest.warns(tarsus.TarsusWarning, match=r"0\.0025 s are simulated; dt=0\.002 fits"):
        simulation.advance(0.002)
    assert simulation.time == 0.0025
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        simulation.advance(0.1)
        simulation.advance(0.026)  # ten steps: 4 % less


@pytest.mark.parametrize("law", ["compliant", "micro_macro", "linearized", "moreau"])
def test_moved_robots_have_new_contacts(law: str) -> None:
    """Nothing pulls it back to where it stood."""
    simulation = tarsus.Simulation("mini_cheetah", law, controller="stand", worlds=2, dt=0.0005)
    simulation.advance(0.5)
    q, u = simulation.q, 0 * simulation.u
    q[1, 0] += 1.0
    simulation.set(q=q, u=u)
    simulation.advance(0.01)
    here, there = simulation.contact_force
    assert np.abs(here).max() > 10
    np.testing.assert_allclose(there, here, rtol=0, atol=1e-6)


@pytest.mark.parametrize("law", ["soft_convex", "moreau"])
def test_diverged_worlds_continue_from_a_new_state(law: str) -> None:
    simulation = tarsus.Simulation("mini_cheetah", law, controller="stand", worlds=2, dt=0.002)
    q, u, first = simulation.q, simulation.u, [True, False]
    simulation.advance(0.1)
    simulation.set(u=np.full_like(u, 1e200), where=first)
    simulation.advance(0.01)
    assert not np.isfinite(simulation.q[0]).all()
    simulation.set(q=q, u=u, where=first)
    simulation.advance(0.1)
    assert np.isfinite(simulation.q).all() and simulation.converged.all()
