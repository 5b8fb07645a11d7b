"""Falls: robots without torques, thrown in any attitude, stay finite and gain no energy."""

from __future__ import annotations

from itertools import product
from typing import Any

import casadi as ca
import numpy as np
import pytest
from casadi import DM, SX
from helpers.capsule_biped import biped
from helpers.falls import dropped, falls
from helpers.patched_code import forget_programs

import tarsus
from tarsus.dynamics import crba, rnea
from tarsus.dynamics.energy import kinetic_energy
from tarsus.dynamics.kinematics import displace, kinematics
from tarsus.dynamics.robot import Robot
from tarsus.model.mjcf import read_mjcf
from tarsus.model.robot_data import LEGGED, robots_folder
from tarsus.simulation.recording.step_observables import Array
from tarsus.stepping import fast_motion
from tarsus.stepping.methods.midpoint import Midpoint


def thrown(
    name: str | Robot, worlds: int, rate: float, law: str = "moreau", **options: Any
) -> tuple[Robot, tarsus.Simulation]:
    """Robot half a meter above its standing height, with random attitudes and joint rates."""
    robot = tarsus.load(name) if isinstance(name, str) else name
    simulation = tarsus.Simulation(robot, law, worlds=worlds, **options)
    rng = np.random.default_rng(0)
    q = np.array(simulation.q)
    q[:, 2] += 0.5
    q[:, 3:7] = rng.normal(size=(worlds, 4))
    q[:, 3:7] /= np.linalg.norm(q[:, 3:7], axis=1, keepdims=True)
    simulation.set(q=q, u=rate * rng.normal(size=(worlds, robot.nu)))
    return robot, simulation


def energy(robot: Robot, simulation: tarsus.Simulation) -> Array:
    """Kinetic and potential energy of every world, J."""
    return robot.kinetic_energy(simulation.q, simulation.u) + robot.potential_energy(simulation.q)


QUICK = ("mini_cheetah", "moreau"), ("hyq", "moreau")
FALLS = [(name, "moreau") for name in ("hoap1", "biped", "hyq", "mini_cheetah", "starleth")]


@pytest.mark.parametrize(
    ("name", "law"),
    [
        pytest.param(*pair, marks=pytest.mark.slow if pair not in QUICK else ())
        for pair in (*FALLS, ("hyq", "soft_convex"), ("hyq", "linearized"))
    ],
)
def test_a_fall_gains_no_energy(name: str, law: str) -> None:
    """No motors, dt = 2.5 ms: HOAP-1 and the biped used to end in NaN here.

    Under `soft_convex` 1,419 of 20,000 HyQ gained more than 10 J, under `linearized` 67 of 512.
    """
    robot, simulation = thrown(name, worlds=128, rate=1.0, law=law)
    start = energy(robot, simulation)
    weight = robot.mass * 9.81
    for _ in range(25):
        simulation.advance(0.1)
        gained = energy(robot, simulation) - start
        assert np.isfinite(gained).all()
        assert gained.max() < 0.01 * weight  # the energy of a centimeter of height


ROBOTS = ("mini_cheetah", "starleth", "hyq", "hoap1", "biped")
LAWS = (
    *("compliant", "hertz", "hunt_crossley", "micro", "micro_macro"),
    *("moreau", "macro", "lcp_impulse", "linearized", "soft_convex"),
)
FIRST_ORDER = Midpoint(velocity_terms="start")
SOFT = ("compliant", "hertz", "hunt_crossley", "micro", "micro_macro")


@pytest.mark.parametrize("law", LAWS)
def test_a_passive_fall_gains_no_energy_under_any_law(law: str) -> None:
    """At the default dt; 52 to 100 of 100 worlds did under each of the first five laws."""
    found = falls("mini_cheetah", law, worlds=24, seconds=0.8)
    assert found.gained == 0
    assert found.diverged == 0


GAINING = {("hyq", "hertz"), ("hyq", "lcp_impulse")}  # in 1 of 1,000 worlds each: decision 0067


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "law"),
    [
        pytest.param(
            *pair,
            marks=pytest.mark.xfail(strict=True) if pair in GAINING else (),
            id="-".join(pair),
        )
        for pair in product(ROBOTS, LAWS)
    ],
)
def test_1000_passive_falls_gain_no_energy(name: str, law: str) -> None:
    """`pytest -s` prints the results."""
    found = falls(name, law, worlds=1000, seconds=1.0)
    print(found)
    assert found.gained == 0
    assert found.diverged == 0


@pytest.mark.parametrize("law", SOFT)
def test_explicit_forces_diverge_and_are_reported(law: str) -> None:
    """A state outside the physical range has not converged, and the log reports the energy.

    In steps of 2.5 ms, `compliant` does not diverge since the trunk also touches the ground.
    """
    stepper = Midpoint(forces="once")
    found = falls("mini_cheetah", law, worlds=24, seconds=0.8, stepper=stepper, dt=0.005)
    assert found.gained > 0
    assert found.silent == 0


@pytest.mark.parametrize("forces", ["resolved", "once"])
def test_a_log_reports_energy_gain(forces: str) -> None:
    """The gain is within a centimeter's worth with substeps, and far above it without."""
    stepper = Midpoint(forces=forces)  # type: ignore[arg-type]
    simulation = tarsus.Simulation("mini_cheetah", "hertz", stepper, worlds=24)
    dropped(simulation)
    log = simulation.run(0.5)
    centimeter = 0.01 * simulation.robot.mass * 9.81
    assert (log.attrs["energy_gained"] < centimeter) == (forces == "resolved")


def test_velocity_terms_of_fast_joints_keep_momentum_to_second_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Mini Cheetah tumbles in the air: half the step gives a quarter of the momentum error."""
    turns_fast = fast_motion.turns_fast
    # all steps are fast
    monkeypatch.setattr(fast_motion, "turns_fast", lambda m, u, dt, _: turns_fast(m, u, dt, 0.0))
    forget_programs(monkeypatch)
    robot = tarsus.load("mini_cheetah")
    rng = np.random.default_rng(0)
    q, u = np.array(robot.keyframes["stand"]), 4 * rng.normal(size=robot.nu)
    q[2] += 10

    def after(dt: float) -> Array:
        simulation = tarsus.Simulation(
            robot, stepper=FIRST_ORDER, dt=dt, limits=False, stiction=False
        )
        simulation.set(q=q, u=u)
        simulation.advance(0.2)
        return robot.momentum(simulation.q, simulation.u).ravel()

    # in the air the weight's impulse is all that changes linear momentum
    coarse, fine, finer = (after(dt) for dt in (0.004, 0.002, 0.001))
    ratio = np.linalg.norm(coarse - fine) / np.linalg.norm(fine - finer)
    assert ratio == pytest.approx(4, rel=0.1)


def energy_halfway(robot: Robot, simulation: tarsus.Simulation) -> Array:
    """Energy of every world at the coordinates in the middle of the last step.

    If joints turn half a radian in a step, the energy differs by some percent half a step later.
    """
    q, u = SX.sym("q", robot.nq), SX.sym("u", robot.nu)
    middle = ca.Function("middle", [q, u], [displace(robot, q, u, SX(-0.5 * simulation.dt))])
    halfway = np.array(middle(simulation.q.T, simulation.u.T)).T
    return robot.kinetic_energy(halfway, simulation.u) + robot.potential_energy(halfway)


def kicked(robot: Robot, simulation: tarsus.Simulation, seconds: float) -> tuple[Array, Array]:
    """Largest energy gain beyond the work of motors and pushes per world, and largest turn of a
    joint, rad.

    Motor torques (within their limits, or 100 N m) and a push of up to 1000 N on the trunk change
    at random every 50 ms. The energy is evaluated every 50 ms and at the midpoint of the last step,
    where a step bounds it; the turn of a joint is evaluated in every step.
    """
    worlds, trunk, rng = simulation.worlds, robot.bodies[0].name, np.random.default_rng(0)
    most = np.array([min(actuator.upper, 100.0) for actuator in robot.actuators])
    at = [robot.u_slices[robot.joint_index(a.joint)].start for a in robot.actuators]
    start, work = energy(robot, simulation), np.zeros(worlds)
    gained, turned = np.full(worlds, -np.inf), np.zeros(worlds)
    for _ in range(round(seconds / 0.05)):
        torque = most * rng.uniform(-1, 1, (worlds, len(most)))
        push = 1000 * rng.uniform(-1, 1, (worlds, 3)) / np.sqrt(3)
        simulation.set(push={trunk: push})
        for _ in range(20):
            q, u = simulation.q, simulation.u
            simulation.step(torque)
            work += 0.5 * simulation.dt * ((u + simulation.u)[:, at] * torque).sum(1)
            work += ((simulation.q - q)[:, :3] * push).sum(1)
            turned = np.fmax(turned, simulation.dt * np.abs(simulation.u[:, 6:]).max(1))
        gained = np.fmax(gained, energy_halfway(robot, simulation) - start - work)
    return gained, turned


@pytest.mark.parametrize(
    "worlds", [256, pytest.param(20_000, marks=pytest.mark.slow, id="20,000 worlds")]
)
@pytest.mark.parametrize(
    "name", ["mini_cheetah", "hyq", pytest.param("biped", marks=pytest.mark.slow)]
)
def test_random_torques_and_pushes_do_not_diverge(name: str, worlds: int) -> None:
    """At 2.5 ms: 812 worlds of Mini Cheetah, 2,197 of HyQ and all of the biped ended in NaN."""
    robot = tarsus.load(name)
    simulation = tarsus.Simulation(robot, worlds=worlds, pushes=[robot.bodies[0].name])
    gained, turned = kicked(robot, simulation, 1.0)
    assert np.isfinite(simulation.q).all()
    assert turned.max() < np.pi  # rad in a step: no run is told as diverged
    assert gained.max() < 0.01 * robot.mass * 9.81


MANY = {"mini_cheetah": 5000, "hyq": 5000, "hoap1": 5000, "biped": 5000}  # worlds: 20,000 in all
MEETING = {"anymal_c": 5000, "go1": 5000, "capsules": 10_000}  # robots whose shapes meet


def unsolved(simulation: tarsus.Simulation, seconds: float, driven: bool) -> float:
    """Share of steps that are not solved while robots fall, passively or under random torques
    that change every 50 ms.
    """
    worlds = simulation.worlds
    most = np.array([min(a.upper, 100.0) for a in simulation.robot.actuators])
    rng, count, every = np.random.default_rng(0), 0, round(0.05 / simulation.dt)
    steps = round(seconds / simulation.dt)
    torque = np.zeros((worlds, len(most)))
    for k in range(steps):
        if driven and k % every == 0:
            torque = most * rng.uniform(-1, 1, (worlds, len(most)))
        simulation.step(torque)
        count += int((~simulation.converged).sum())
    assert np.isfinite(simulation.q).all() and np.isfinite(simulation.u).all()
    share, how = count / (steps * worlds), "driven" if driven else "limp"
    print(f"{simulation.robot.name}, {worlds} {how} falls: {share:.4%} unsolved")
    return share


@pytest.mark.slow
@pytest.mark.parametrize("driven", [False, True], ids=["limp", "driven"])
@pytest.mark.parametrize("name", MANY)
def test_almost_all_steps_of_20_000_falls_converge(name: str, driven: bool) -> None:
    """With joint limits; `pytest -s` prints the remaining failures. These robots have no shapes
    that collide with each other.
    """
    _, simulation = thrown(name, MANY[name], rate=1.0)
    assert unsolved(simulation, 1.0, driven) < 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("driven", [False, True], ids=["limp", "driven"])
@pytest.mark.parametrize(
    ("name", "worlds"),
    [
        *((name, 100) for name in MEETING),
        *(pytest.param(n, count, id=f"{n}, 20_000 in all") for n, count in MEETING.items()),
    ],
)
def test_almost_all_steps_with_self_collision_converge(
    name: str, worlds: int, driven: bool
) -> None:
    """With limits, stiction and all candidates. Torques act through the actuators of the file,
    whose speed limits prevent deep penetration of limbs within one step.
    """
    options = {"self_collision": True, "contacts": "all"}
    if name == "capsules":
        _, simulation = thrown(Robot.of(read_mjcf(biped())), worlds, rate=1.0, **options)
    else:
        folder = robots_folder()
        if folder is None:
            pytest.skip("the package example-robot-data is not installed")
        own = {"actuators": "file"} if driven else {}
        _, simulation = thrown(str(folder / LEGGED[name]), worlds, rate=1.0, **options, **own)
    assert unsolved(simulation, 1.0, driven) < 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("terrain", ["steps", "rough"])
def test_a_fall_on_uneven_ground_gains_no_energy(terrain: str) -> None:
    """Shanks and trunk also touch the noses of stairs between their corners."""
    folder = robots_folder()
    if folder is None:
        pytest.skip("the package example-robot-data is not installed")
    path = str(folder / LEGGED["go1"])
    robot, simulation = thrown(path, 64, rate=1.0, contacts="all", terrain=terrain)
    assert simulation.plan.scene.spans
    start, unsolved = energy(robot, simulation), 0
    for _ in range(600):
        simulation.step()
        unsolved += int((~simulation.converged).sum())
        assert (energy(robot, simulation) - start).max() < 0.01 * robot.mass * 9.81
    assert np.isfinite(simulation.q).all() and unsolved < 1e-3 * 600 * 64


def test_spurious_velocities_are_limited_by_energy_and_momentum() -> None:
    """For any target, even an infinite one: T <= T before + push . (u^S + u^E) / 2."""
    robot = tarsus.load("hyq")
    rng = np.random.default_rng(1)
    u, push = rng.normal(size=robot.nu), rng.normal(size=robot.nu)
    inertias = rnea.body_inertias(robot)
    kin = kinematics(robot, SX(robot.keyframes["stand"]), SX(u))
    M = crba.mass_matrix(kin, inertias)
    dense = np.array(DM(M))
    bound = fast_motion.EnergyBound(M, kin.u, SX(push), kinetic_energy(kin, inertias))
    momentum = fast_motion.base_momentum(kin, kin, inertias)
    np.testing.assert_allclose(np.array(DM(momentum)).ravel()[:6], dense[:6] @ u, rtol=1e-12)

    def after(target: Array) -> tuple[Array, float]:
        found = fast_motion.without_energy_gain(robot, bound, momentum + SX(push), SX(target))
        end = np.array(DM(found)).ravel()
        gained = 0.5 * end @ dense @ end - 0.5 * u @ dense @ u - 0.5 * push @ (u + end)
        return end, float(gained)

    slower = 0.5 * u
    np.testing.assert_array_equal(after(slower)[0], slower)
    for size in (3.0, 1e3, 1e40):  # as much energy and momentum as there may be
        end, gained = after(size * rng.normal(size=robot.nu))
        assert gained == pytest.approx(0, abs=1e-9)
        np.testing.assert_allclose(dense[:6] @ end, dense[:6] @ u + push[:6], rtol=1e-9)
    for nothing in (np.inf, np.nan):
        end, gained = after(np.full(robot.nu, nothing))
        assert np.isfinite(end).all()
        assert gained <= 1e-9


def test_steps_of_fast_joints_are_counted() -> None:
    """The log has no momentum balance for these steps, and counts them."""
    simulation = tarsus.Simulation("mini_cheetah", stepper=FIRST_ORDER)
    u = np.zeros(simulation.robot.nu)
    u[10] = 60.0  # rad/s: 0.15 rad a step
    q = np.array(simulation.q)
    q[2] += 1
    simulation.set(q=q, u=u)
    log = simulation.run(0.02)
    fast = int(np.isnan(log["equation_residual"].values).sum())
    assert fast == log.attrs["fast_steps"] > 0
    assert "turned by more than 0.1 rad" in log.attrs["warnings"]
