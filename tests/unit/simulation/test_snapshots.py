"""Snapshots: stopped, copied and pickled simulations continue to the same bits."""

from __future__ import annotations

import copy
import multiprocessing
import pickle

import numpy as np
import pytest
from helpers.refused import refused

import tarsus
from tarsus.errors import InvalidFile, InvalidValue, Unsupported
from tarsus.model.mechanism import Actuator, Body, Candidate, Inertia, Joint
from tarsus.program.run import native
from tarsus.program.run.threads import HostLauncher
from tarsus.sensing.imu import Imu

DT, STEPS = 0.0025, 30
MARKS = 13  # columns that say of what a state is


def hopper(name: str = "hopper") -> tarsus.Robot:
    """A trunk on one leg with a motor: it falls over in half a second."""
    trunk = Inertia(2.0, np.zeros(3), 0.02 * np.eye(3))
    leg = Inertia(0.3, np.array([0.0, 0.0, -0.1]), 1e-3 * np.eye(3))
    hip = Joint("hip", "hinge", np.array([0.0, 1.0, 0.0]), armature=0.01, damping=0.02)
    bodies = (Body("trunk", -1, Joint("root", "free"), trunk), Body("leg", 0, hip, leg))
    feet = [Candidate(f"foot_{y:+}", 1, np.array([0.0, 0.05 * y, -0.2]), 0.02) for y in (-1, 1)]
    motors = (Actuator("hip", "hip", -20.0, 20.0),)
    return tarsus.Robot(name, bodies, tuple(feet), actuators=motors)


HOPPER, MOREAU = hopper(), tarsus.Moreau()  # the same objects: traced and compiled once
OTHER = tarsus.Moreau(mu=0.3)
TORQUES = np.random.default_rng(3).uniform(-4.0, 4.0, (2 * STEPS, 6, 1))  # N m


class Shaker:
    """Python controller with state: an angle that it advances at every call."""

    def __init__(self) -> None:
        self.angle = 0.0

    def __call__(self, t: float, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        self.angle += 0.3
        return 2.0 * np.sin(self.angle) - 3.0 * q[..., 7:] - 0.1 * u[..., 6:]


def servo(t: float, q: np.ndarray, u: np.ndarray) -> np.ndarray:
    return 3.0 * np.sin(40.0 * t) - 5.0 * q[..., 7:] - 0.1 * u[..., 6:]


def moved(sim: tarsus.Simulation, first: int, last: int) -> list[bytes]:
    """Everything that can be read after each of the steps, with the torques of those steps."""
    seen = []
    for k in range(first, last):
        sim.step(TORQUES[k, : sim.worlds].reshape(sim.worlds, 1))
        seen.append(readings(sim))
    return seen


def readings(sim: tarsus.Simulation) -> bytes:
    told = (sim.q, sim.u, sim.contact_force, sim.iterations, sim.converged, sim.time)
    return b"".join(np.asarray(part).tobytes() for part in told)


@pytest.mark.diagonal
@pytest.mark.parametrize(
    ("law", "stepper", "options"),
    [
        ("moreau", "midpoint", {"worlds": 5, "threads": 2}),
        ("moreau", "midpoint", {"worlds": 5, "precision": "float32"}),
        ("moreau", "midpoint", {"worlds": 3, "device": HostLauncher(), "precision": "float32"}),
        ("moreau", "event_driven", {}),
        ("linearized", "midpoint", {}),
        ("lcp_impulse", "midpoint", {}),
        ("compliant", "heun", {}),
        ("moreau", "midpoint", {"coordinates": "maximal"}),
    ],
)
def test_stopped_runs_continue_to_the_same_bits(law: str, stepper: str, options: dict) -> None:
    chosen = MOREAU if law == "moreau" else law
    sim = tarsus.Simulation(HOPPER, chosen, stepper, dt=DT, **options)
    moved(sim, 0, STEPS)
    kept, then = sim.state(), readings(sim)
    assert kept.shape == (sim.worlds, kept.shape[1]) and kept.dtype == np.float64
    assert np.abs(sim.contact_force).max() > 0  # it stands on something
    expected = moved(sim, STEPS, 2 * STEPS)
    # the same simulation again, and another one that stands at its start
    other = tarsus.Simulation(HOPPER, sim.law, stepper, dt=DT, **options)
    for again in (sim, other):
        again.restore(kept)
        assert readings(again) == then
        assert again.state().tobytes() == kept.tobytes()
        assert moved(again, STEPS, 2 * STEPS) == expected


def test_a_gait_continues_from_its_memory() -> None:
    sim = tarsus.Simulation("mini_cheetah", "moreau", controller="trot", worlds=3)
    sim.set(command={"speed": [0.0, 0.2, 0.4]})
    sim.advance(0.2)
    kept, q, u = sim.state(), sim.q, sim.u
    sim.advance(0.1)
    expected = readings(sim)
    sim.restore(kept)
    sim.advance(0.1)
    assert readings(sim) == expected
    # coordinates and velocities alone do not make the state
    sim.reset()
    sim.set(q=q, u=u)
    sim.advance(0.1)
    assert readings(sim) != expected


@pytest.mark.parametrize("law", ["moreau", "compliant"])
def test_resets_and_moves_clear_the_contact_memory(law: str) -> None:
    """The whole state is that of a new simulation; before the first step there are no contact
    results.
    """
    sim = tarsus.Simulation(HOPPER, law, worlds=2)
    new = sim.state()
    sim.advance(0.3)
    assert sim.contact_force.any()
    sim.reset()
    assert np.array_equal(sim.state(), new)
    assert not sim.contact_force.any() and not sim.converged.any()
    # one of two worlds lifted
    sim.advance(0.3)
    felt, q = sim.contact_force, sim.q
    sim.set(where=[False, True], q=q + 3.0 * (np.arange(8) == 2))
    assert np.array_equal(sim.contact_force[0], felt[0]) and not sim.contact_force[1].any()


@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_nearly_unit_quaternions_are_normalized(precision: str) -> None:
    """One that has it keeps its bits."""
    sim = tarsus.Simulation(HOPPER, worlds=2, precision=precision)
    sim.advance(0.3)
    q = sim.q
    sim.set(q=q)
    assert np.array_equal(sim.q, q)
    sim.set(q=q * [1, 1, 1, 1.009, 1.009, 1.009, 1.009, 1])
    assert sim.q == pytest.approx(q, abs=2e-7)
    assert np.linalg.norm(sim.q[:, 3:7], axis=1) == pytest.approx(1, abs=1e-7)
    sim.robot.mass_matrix(sim.q)


@pytest.mark.parametrize("worlds", [1, 3])
def test_a_reset_clears_held_torques(worlds: int) -> None:
    """The motion after a reset repeats the motion after the start, only in the worlds of the
    mask.
    """
    fresh, used = (tarsus.Simulation(HOPPER, MOREAU, worlds=worlds, dt=DT) for _ in range(2))
    fresh.advance(10 * DT)
    for _ in range(5):
        used.step(np.full(1, 4.0))
    used.reset(where=np.arange(worlds) == 0)
    used.advance(10 * DT)
    at = (0,) if worlds > 1 else ()
    assert (used.q[at] == fresh.q[at]).all() and (used.u[at] == fresh.u[at]).all()
    assert worlds == 1 or np.abs(used.q[1, 7] - fresh.q[1, 7]) > 0.01  # rad: still 4 N m


@pytest.mark.parametrize("worlds", [1, 4])
def test_torques_are_constant_between_control_instants(worlds: int) -> None:
    made = {"worlds": worlds, "dt": DT, "control_rate": 80.0}  # Hz: every fifth step
    sim = tarsus.Simulation(HOPPER, MOREAU, controller=servo, **made)
    sim.advance(13 * DT)  # three steps into an interval
    kept = sim.state()
    sim.advance(20 * DT)
    expected = readings(sim)
    other = tarsus.Simulation(HOPPER, MOREAU, controller=servo, **made)
    other.restore(kept)
    other.run(20 * DT)  # a log does not move the control instants
    assert readings(other) == expected
    assert other.time == pytest.approx(33 * DT)


def test_one_state_rolled_out_under_many_actions() -> None:
    sim = tarsus.Simulation(HOPPER, MOREAU, dt=DT)
    planner = tarsus.Simulation(HOPPER, MOREAU, dt=DT, worlds=5)
    moved(sim, 0, STEPS)
    actions = np.linspace(-4.0, 4.0, 5)[:, None]
    for _ in range(2):  # a plan at a time
        planner.restore(sim.state()[0])
        for _ in range(STEPS):
            planner.step(actions)
        for _ in range(STEPS):
            sim.step(actions[1])
        assert len(np.unique(planner.q[:, 7])) == 5
        np.testing.assert_array_equal(planner.state()[1], sim.state()[0])


def test_selected_worlds_are_restored() -> None:
    sim = tarsus.Simulation(HOPPER, MOREAU, dt=DT, worlds=5)
    moved(sim, 0, STEPS)
    early = sim.state()
    moved(sim, STEPS, 2 * STEPS)
    late, where = sim.state(), np.array([False, True, False, True, False])
    rows = early[[1, 4]]
    for given, expected in ((early, early[where]), (rows, rows), (early[2], early[[2, 2]])):
        sim.restore(late)
        sim.restore(given, where=where)
        np.testing.assert_array_equal(sim.state()[where], expected)
        np.testing.assert_array_equal(sim.state()[~where], late[~where])
    sim.restore(early[[4, 4, 0, 1, 1]])  # worlds change places
    np.testing.assert_array_equal(sim.state(), early[[4, 4, 0, 1, 1]])


def test_diverged_worlds_stay_frozen() -> None:
    sim = tarsus.Simulation(HOPPER, MOREAU, dt=DT, worlds=5)
    moved(sim, 0, STEPS)
    sound = sim.state()
    moved(sim, STEPS, 2 * STEPS)
    expected, broken = sim.state(), sound.copy()
    broken[1, MARKS : MARKS + 19] = np.nan
    sim.restore(broken)
    assert sim.state().tobytes() == broken.tobytes()
    moved(sim, STEPS, 2 * STEPS)
    np.testing.assert_array_equal(np.delete(sim.state(), 1, 0), np.delete(expected, 1, 0))
    assert np.isnan(sim.q[1]).any()


def test_settings_are_not_part_of_a_snapshot() -> None:
    sim = tarsus.Simulation(HOPPER, MOREAU, dt=DT, worlds=5)
    kept = sim.state()
    sim.set(mu=0.1)
    np.testing.assert_array_equal(sim.state(), kept)
    sim.restore(kept)
    assert (sim.backend.get("law.mu") == 0.1).all()
    # so it fits another simulation whose parameters differ
    tarsus.Simulation(HOPPER, OTHER, dt=DT, worlds=5).restore(kept)


@pytest.fixture(scope="module")
def standing() -> tarsus.Simulation:
    return tarsus.Simulation(HOPPER, MOREAU, dt=DT, worlds=5)


def test_snapshots_of_other_simulations_are_rejected(standing: tarsus.Simulation) -> None:
    own = standing.state()
    twin = hopper("twin")
    strangers = {
        "robot (here hopper);": tarsus.Simulation(twin, MOREAU, dt=DT, worlds=5),
        "dt = 0.005 instead of 0.0025;": tarsus.Simulation(HOPPER, MOREAU, dt=2 * DT, worlds=5),
    }
    for told, stranger in strangers.items():
        with refused(InvalidValue, "state") as caught:
            standing.restore(stranger.state())
        assert told in str(caught.value)
    for mixed in (1, 3):  # one strange row is enough
        rows = own.copy()
        rows[mixed] = stranger.state()[0]
        with refused(InvalidValue, "state"):
            standing.restore(rows)
    np.testing.assert_array_equal(standing.state(), own)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"limits": False}, "limits"),
        ({"bounce": 0.5}, "bounce"),
        ({"law": tarsus.Moreau(solver="sor")}, "moreau(solver=sor"),
        ({"law": "compliant"}, "compliant"),
        ({"stepper": "symplectic_euler"}, "symplectic_euler"),
        ({"sensors": {"imu": Imu(frame="leg")}}, "sensors"),
        ({"sensors": {"imu": Imu(attitude="quaternion")}}, "sensors"),
        ({"sensors": ()}, "sensors"),
        ({"controller": servo, "control_rate": 80.0}, ""),  # its own memory is its own affair
        ({"terrain": tarsus.Slope(angle=0.1)}, ""),
        ({"pushes": "trunk"}, ""),
        ({"varied": ["mass", "strength"]}, ""),
        ({"law": OTHER}, ""),
        ({"sensors": {"imu": Imu(frame="trunk", noise=0.1, bias=1.0, seed=3)}}, ""),
        ({"precision": "float32"}, ""),
    ],
)
def test_snapshots_describe_their_simulation(options: dict, told: str) -> None:
    """Also if shapes agree; values that may differ by world, or are set, stay those of the
    restoring simulation.
    """
    usual: dict = {"law": MOREAU, "dt": DT, "sensors": {"imu": Imu()}}
    kept = tarsus.Simulation(HOPPER, **usual).state()
    other = tarsus.Simulation(HOPPER, **usual | options)
    before = other.state()
    for given in (kept, kept[0], np.vstack([kept])[0], pickle.loads(pickle.dumps(kept))):
        if not told:
            other.restore(given)
            taken, rounded = other.state()[:, MARKS:], kept[:, MARKS:].astype(other.q.dtype)
            np.testing.assert_array_equal(taken, rounded)
            continue
        with refused(InvalidValue, "state") as caught:
            other.restore(given)
        assert told in str(caught.value)
        np.testing.assert_array_equal(other.state(), before)


@pytest.mark.parametrize(
    "change",
    [
        lambda s: s[:, :-1],
        lambda s: s[:2],
        lambda s: s[None],
        lambda s: s[0, 0],
        lambda s: None,
        lambda s: "kept",
        lambda s: [[1.0], [1.0, 2.0]],
        lambda s: s.astype(np.float32),
        lambda s: s + 1.0,
        lambda s: np.full_like(s, np.nan),
        lambda s: s[:, MARKS:],
    ],
)
def test_invalid_snapshots_are_rejected_in_one_sentence(
    standing: tarsus.Simulation, change
) -> None:
    own = standing.state()
    moved(standing, 0, 3)
    now = standing.state()
    for where in (None, [True, False, True, True, False]):
        with refused(InvalidValue, "state") as caught:
            standing.restore(change(own), where)
        assert "\n" not in str(caught.value)
    np.testing.assert_array_equal(standing.state(), now)
    with refused(InvalidValue, "where"):
        standing.restore(own, where=[True])


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
@pytest.mark.parametrize("worlds", [1, 5])
def test_copies_are_independent_and_bitwise_equal(copied, worlds: int) -> None:
    sim = tarsus.Simulation(HOPPER, MOREAU, dt=DT, worlds=worlds)
    sim.set(mu=0.3)
    moved(sim, 0, STEPS)
    twin, kept = copied(sim), sim.state()
    assert twin.program is sim.program and twin.robot is sim.robot
    expected = moved(twin, STEPS, 2 * STEPS)
    np.testing.assert_array_equal(sim.state(), kept)  # which has not moved
    assert moved(sim, STEPS, 2 * STEPS) == expected
    twin.reset()
    assert twin.time == 0 and sim.time > 0


def test_deep_copies_have_their_own_python_controller() -> None:
    sim = tarsus.Simulation(HOPPER, MOREAU, controller=Shaker(), dt=DT)
    sim.advance(10 * DT)
    twins = [copy.deepcopy(sim), pickle.loads(pickle.dumps(sim))]
    sim.advance(10 * DT)
    for twin in twins:
        twin.advance(10 * DT)
        assert readings(twin) == readings(sim)


def _compiles_nothing() -> None:
    def refused(text: str) -> bytes:
        raise AssertionError("compiled again")

    native.__dict__["_compile"] = refused


def _goes_on(sim: tarsus.Simulation) -> tuple[list[bytes], bytes, int]:
    """In another process: continue, and return the next states, their bytes, and the sizes of
    the traced program.
    """
    seen = moved(sim, STEPS, 2 * STEPS)
    return seen, pickle.dumps(sim), len(sim.program.blocks)


def test_pickled_simulations_continue_in_another_process() -> None:
    sim = tarsus.Simulation(HOPPER, MOREAU, dt=DT, worlds=5)
    sim.set(mu=[0.1, 0.2, 0.3, 0.4, 0.5])
    moved(sim, 0, STEPS)
    with multiprocessing.get_context("spawn").Pool(1, _compiles_nothing) as pool:
        seen, back, blocks = pool.apply(_goes_on, (sim,))
    assert moved(sim, STEPS, 2 * STEPS) == seen and len(sim.program.blocks) == blocks
    returned = pickle.loads(back)
    np.testing.assert_array_equal(returned.state(), sim.state())
    np.testing.assert_array_equal(returned.backend.get("law.mu"), sim.backend.get("law.mu"))
    returned.restore(sim.state())  # the same robot after its journey


def test_pickles_in_one_process_share_one_program() -> None:
    sim = tarsus.Simulation(HOPPER, MOREAU, dt=DT)
    again = [pickle.loads(pickle.dumps(sim)) for _ in range(2)]
    assert all(one.program is sim.program for one in again)
    assert len(pickle.dumps(sim)) < 20_000  # a description and its registers, no code


def test_unpicklable_parts_are_reported_by_name() -> None:
    sim = tarsus.Simulation(HOPPER, MOREAU, controller=lambda t, q, u: servo(t, q, u), dt=DT)
    with refused(Unsupported, getattr(sim.controller, "__qualname__", "")):
        pickle.dumps(sim)
    assert copy.deepcopy(sim).controller is sim.controller  # a function has no copies


def test_a_pickle_of_another_version_is_refused(standing: tarsus.Simulation) -> None:
    kept = standing.__getstate__() | {"fingerprint": "another"}
    with refused(InvalidFile, "fingerprint"):
        object.__new__(tarsus.Simulation).__setstate__(kept)
