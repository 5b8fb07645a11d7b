"""Biped walking: pattern of the pendulum, and walks of HOAP-1 and the biped."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
import pytest
from casadi import SX
from numpy.typing import NDArray

from tarsus import Simulation
from tarsus.contact.laws.moreau import Moreau
from tarsus.control.gaits.walk import Walk
from tarsus.control.pendulum import StepPattern
from tarsus.dynamics.jacobian import numeric_position
from tarsus.dynamics.kinematics import kinematics
from tarsus.errors import TarsusError
from tarsus.morphology.feet import find_feet
from tarsus.robots import load, mini_cheetah
from tarsus.simulation.ground_placement import place_on_ground
from tarsus.stepping.base import Scene
from tarsus.terrain.plane import Plane
from tarsus.terrain.steps import Steps

Array = NDArray[np.float64]
UPRIGHT = np.cos(np.radians(5))
COMMANDS = {  # speed m/s, sideways m/s, turn rad/s, gait
    "stand": (0.1, 0.0, 0.0, 0.0),
    "on the spot": (0.0, 0.0, 0.0, 1.0),
    "forward": (0.1, 0.0, 0.0, 1.0),
    "backward": (-0.1, 0.0, 0.0, 1.0),
    "sideways": (0.0, 0.03, 0.0, 1.0),
    "turning": (0.0, 0.0, 0.3, 1.0),
    "a curve": (0.1, 0.0, 0.3, 1.0),
    "stopped": (0.1, 0.0, 0.0, 1.0),
}


# ---------------------------------------------------------------- the pattern


def test_the_pendulum_pattern_is_periodic():
    """Steps are integrated numerically, without the closed forms of the pattern."""
    pattern = StepPattern(height=0.8, gravity=9.81, step=0.7, double=0.15)
    same, across, n = 0.2, 0.15, 20000
    dt, w = pattern.step / n, pattern.rate
    before, foot, side = np.array([-same, across]), np.zeros(2), 1.0
    alternating = np.array([0.0, -across])
    start = np.array([float(pattern.offset(same, 0)), float(pattern.offset(0, alternating[1]))])
    point = start.copy()
    for _ in range(2):
        for k in range(n):
            left = max(1 - (k + 0.5) * dt / pattern.double, 0.0)
            pressure = foot + left * (before - foot)
            point = pressure + (point - pressure) * np.exp(w * dt)
        before, foot, side = foot, foot + np.array([same, side * across]), -side
        assert point - foot == pytest.approx(start * [1, side], abs=1e-6)


def test_the_end_of_a_step_is_predicted():
    pattern = StepPattern(height=0.3, gravity=9.81, step=0.4, double=0.1)
    t = SX.sym("t")
    foreseen = ca.Function("f", [t], [*pattern.transfer(t), pattern.remaining_growth(t)])
    before, begin, n = -0.08, 0.03, 40000
    dt, point, ends = pattern.step / n, begin, []
    for k in range(n):
        if k % 5000 == 0:
            _, moving, grown = (float(x) for x in foreseen(k * dt))
            ends.append(grown * (point - before * moving))
        pressure = before * max(1 - (k + 0.5) * dt / pattern.double, 0.0)
        point = pressure + (point - pressure) * np.exp(pattern.rate * dt)
    assert ends == pytest.approx([point] * 8, abs=1e-5)


# ---------------------------------------------------------------- robots


@dataclass(frozen=True)
class Walked:
    """Samples of all worlds every `every` s: q (times, worlds, nq) and load of each foot
    (times, worlds, 2).
    """

    every: float
    q: Array
    loads: Array
    unconverged: int

    @property
    def upright(self) -> float:
        """Smallest cosine of the tilt."""
        return float((1 - 2 * (self.q[..., 4] ** 2 + self.q[..., 5] ** 2)).min())

    @property
    def heading(self) -> Array:
        """Heading (times, worlds), rad."""
        w, x, y, z = np.moveaxis(self.q[..., 3:7], -1, 0)
        return np.unwrap(np.arctan2(2 * (x * y + w * z), 1 - 2 * (y * y + z * z)), axis=0)

    @property
    def steps(self) -> Array:
        """Number of touchdowns (worlds,)."""
        down = self.loads > 0
        return (down[1:] & ~down[:-1]).sum((0, 2))

    def rates(self, since: float) -> dict[str, Array]:
        """Mean velocities along x and y and turn rate for every command, after a given time in
        s.
        """
        k = round(since / self.every)
        time = self.every * (len(self.q) - 1 - k)
        way = np.c_[(self.q[-1] - self.q[k])[:, :2], self.heading[-1] - self.heading[k]]
        return dict(zip(COMMANDS, way / time, strict=True))


def sampled(simulation: Simulation, seconds: float, every: float = 0.05) -> Walked:
    """Samples of all worlds during further steps."""
    q, loads, unconverged = [np.atleast_2d(simulation.q)], [], 0
    for _ in range(round(seconds / every)):
        simulation.advance(every)
        q.append(np.atleast_2d(simulation.q))
        normal = simulation.contact_force.reshape(simulation.worlds, -1, 3)[..., 0]
        loads.append(np.stack([normal[:, :4].sum(1), normal[:, 4:8].sum(1)], -1))
        unconverged += int((~simulation.converged).sum())
    return Walked(every, np.array(q), np.array(loads), unconverged)


@pytest.fixture(scope="module")
def hoap1() -> Simulation:
    return Simulation("hoap1", controller="walk", worlds=len(COMMANDS), pushes="torso")


def told(simulation: Simulation, commands: Array) -> None:
    """Commands (worlds, 4)."""
    names = ("speed", "sideways", "turn", "gait")
    simulation.set(command=dict(zip(names, commands.T, strict=True)))


def test_hoap1_follows_walking_commands(hoap1):
    """More than ten steps per command, in one run of eight worlds."""
    hoap1.reset()
    told(hoap1, np.array(list(COMMANDS.values())))
    first = sampled(hoap1, 3.0)
    commands = np.array(list(COMMANDS.values()))
    commands[-1] = 0.0
    told(hoap1, commands)
    walked = sampled(hoap1, 3.5)
    rates = walked.rates(since=0.0)
    assert min(first.upright, walked.upright) > UPRIGHT
    assert (first.steps + walked.steps)[1:-1].min() >= 13 and first.steps[0] + walked.steps[0] <= 2
    assert first.unconverged + walked.unconverged == 0
    assert np.abs(rates["stand"]).max() < 1e-3
    assert rates["on the spot"] == pytest.approx([0, 0, 0], abs=0.01)
    assert rates["forward"] == pytest.approx([0.1, 0, 0], abs=0.015)
    assert rates["backward"] == pytest.approx([-0.1, 0, 0], abs=0.015)
    assert rates["sideways"] == pytest.approx([0, 0.03, 0], abs=0.015)
    assert rates["turning"] == pytest.approx([0, 0, 0.3], abs=0.03)
    assert rates["a curve"][2] == pytest.approx(0.3, abs=0.03)
    assert np.abs(walked.q[-1, -1] - walked.q[-11, -1]).max() < 1e-3, "it stands again"
    assert walked.loads[-1, -1].min() > 15, "on both feet"


def test_a_walk_on_soles_takes_few_iterations(hoap1):
    """The corners of a sole share its load. The mean used to be 20, because the active set
    cycled.
    """
    hoap1.reset()
    told(hoap1, np.array(list(COMMANDS.values())))
    iterations, converged = [], []
    for _ in range(800):
        hoap1.step()
        iterations.append(hoap1.iterations)
        converged.append(hoap1.converged)
    assert np.all(converged)
    assert np.mean(iterations) < 3 and np.percentile(iterations, 99) < 20


def test_hoap1_withstands_pushes(hoap1):
    """A tenth of its weight for 0.1 s, from eight sides, at two phases of a step, while it
    walks.
    """
    angles = np.arange(len(COMMANDS)) * np.pi / 4
    force = (
        0.1 * hoap1.robot.mass * 9.81 * np.stack([np.cos(angles), np.sin(angles), 0 * angles], 1)
    )
    for delay in (2.0, 2.2):
        hoap1.reset()
        hoap1.set(push={"torso": np.zeros(3)})
        told(hoap1, np.tile([0.1, 0.0, 0.0, 1.0], (len(COMMANDS), 1)))
        hoap1.advance(delay)
        hoap1.set(push={"torso": force})
        hoap1.advance(0.1)
        hoap1.set(push={"torso": np.zeros(3)})
        after = sampled(hoap1, 2.0)
        assert after.upright > UPRIGHT and after.unconverged == 0
        assert (after.q[-1] - after.q[0])[:, 0].min() > 0.1, "it walks on"


@pytest.mark.slow
def test_hoap1_walks_over_unknown_steps():
    """Steps of 5 mm and of 8 mm up and down, every 5 to 12 cm."""
    rise = np.array([5, -5, 5, -5, 5, -5, 8, -8]) * 1e-3
    run = np.array([50, 50, 80, 80, 120, 120, 80, 80]) * 1e-3
    ground = Steps(rise=rise, run=run, count=8, start=0.1, edge_radius=1e-3, corner_radius=1e-3)
    simulation = Simulation("hoap1", controller="walk", terrain=ground, worlds=8)
    walked = sampled(simulation, 10.0)
    assert walked.upright > np.cos(np.radians(15))
    assert walked.q[-1, :, 0].min() > 0.75 and walked.steps.min() >= 20


@pytest.mark.slow
def test_a_trip_ends_at_rest_on_many_contacts():
    simulation = Simulation("hoap1", controller=Walk(trip_time=2.0), contacts="all")
    simulation.advance(8.0)
    energy = 0.5 * simulation.u @ simulation.robot.mass_matrix(simulation.q) @ simulation.u
    assert simulation.q[2] < 0.15 and energy < 1e-4
    assert (simulation.contact_force[:, 0] > 0).sum() >= 6


@pytest.mark.parametrize("name", ["biped", "hoap1"])
def test_all_corners_are_closed_at_the_start_of_a_walk(name):
    """Round-off must not leave a foot in the air for the first step."""
    robot = load(name)
    scene = Scene(robot, Moreau(), Plane(), tuple(find_feet(robot)))
    kin = kinematics(robot, SX(place_on_ground(scene, Walk().initial_coordinates(robot))))
    heights = [numeric_position(kin, c.body, c.position)[2] for c in find_feet(robot)]
    assert len(heights) == 8 and max(heights) < 0 and min(heights) > -1e-8


@pytest.mark.slow
@pytest.mark.parametrize("speed", [0.0, 0.25])
def test_the_biped_of_seven_joint_legs_walks(speed):
    simulation = Simulation("biped", controller="walk")
    simulation.set(command={"speed": speed})
    first, walked = sampled(simulation, 4.0), sampled(simulation, 6.0)
    assert min(first.upright, walked.upright) > UPRIGHT
    assert first.steps[0] + walked.steps[0] >= 10
    assert first.unconverged + walked.unconverged == 0
    velocity = (walked.q[-1, 0] - walked.q[0, 0])[:2] / 6.0
    assert velocity == pytest.approx([speed, 0.0], abs=0.02)


def test_walk_needs_two_flat_feet():
    with pytest.raises(TarsusError, match="two feet"):
        Walk().initial_memory(mini_cheetah.describe())
