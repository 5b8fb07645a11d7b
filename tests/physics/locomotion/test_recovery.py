"""Standing contacts neither creep nor sink, and deep ones recover."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

import tarsus
from tarsus.model.mechanism import Body, Candidate, Inertia, Joint, Mechanism

Array = NDArray[np.float64]
RADIUS = 0.1
PUBLISHED = tarsus.Moreau(recovery=0.0, standing="midpoint")


def ball_in_a_bowl(recovery: float) -> float:
    """Deepest penetration (m) of a ball that rocks in a bowl for ten seconds."""
    body = Body("ball", -1, Joint("root", "free"), Inertia(1.0, np.zeros(3), 4e-3 * np.eye(3)))
    ball = Mechanism("ball", (body,), (Candidate("ball", 0, np.zeros(3), RADIUS),))
    bowl = tarsus.Surface(height=lambda x, y: 0.5 * (x * x + y * y))
    sim = tarsus.Simulation(ball, law=tarsus.Moreau(mu=0.5, recovery=recovery), terrain=bowl)
    q = sim.q
    q[0], q[2] = 0.5, 0.125 + 1.15 * RADIUS
    sim.set(q=q)
    return -float(sim.run(10.0)["gap"].min())


def test_recovery_keeps_a_rocking_ball_from_sinking() -> None:
    sunk = ball_in_a_bowl(0.0)
    assert sunk > 0.01  # the velocity-level law alone drifts in curved ground
    assert ball_in_a_bowl(0.05) < 0.1 * sunk + 1e-3


@pytest.mark.parametrize("slop", [0.0, 2e-4])
def test_recovery_of_a_resting_block_is_exponential(slop: float) -> None:
    body = Body("block", -1, Joint("root", "free"), Inertia(1.0, np.zeros(3), 1e-2 * np.eye(3)))
    point = Mechanism("block", (body,), (Candidate("foot", 0, np.zeros(3), 0.0),))
    sim = tarsus.Simulation(point, law=tarsus.Moreau(recovery=0.1, slop=slop))
    sim.set(q=np.array([0, 0, -1e-3, 1, 0, 0, 0.0]))
    gap = sim.run(0.25)["gap"].values[1:, 0]  # it lands in the first step
    # the midpoint looks half a step ahead: g' = g + dt v with v = -0.1 g / dt over each whole step
    left = (gap[0] + slop) * 0.9 ** (len(gap) - 1)
    assert gap[-1] + slop == pytest.approx(left, rel=0.15)
    assert (np.diff(gap) >= 0).all() and (gap <= -slop).all()


def stance_drift(law: tarsus.Moreau, dt: float) -> tuple[float, float]:
    """Drift of the point feet of a trotting Mini Cheetah in mid-stance, along the ground and
    vertically, m/s.

    It is the median over all stances, from foot positions.
    """
    cheetah = tarsus.load("mini_cheetah")
    cheetah = replace(cheetah, candidates=tuple(replace(c, radius=0.0) for c in cheetah.candidates))
    log = tarsus.Simulation(cheetah, law=law, controller="trot", dt=dt).run(3.0)
    names = [c.name for c in cheetah.candidates]
    places = np.stack([cheetah.position(log["q"].values, name) for name in names], 1)
    pressing = log["impulse_contact"].values[..., 0] > 0
    edge, drifts = round(0.02 / dt), []
    for foot in range(len(names)):
        change = np.flatnonzero(np.diff(pressing[:, foot].astype(int)))
        for begin, end in pairwise(change):
            if pressing[begin + 1, foot] and (end - begin) * dt > 0.1:
                a, b = places[begin + edge, foot], places[end - edge, foot]
                drifts.append(np.abs(b - a) / ((end - begin - 2 * edge) * dt))
    along = np.median([np.hypot(d[0], d[1]) for d in drifts])
    return float(along), float(np.median([d[2] for d in drifts]))


@pytest.mark.slow
def test_stance_feet_creep_ten_times_less_than_as_published() -> None:
    law = replace(PUBLISHED, standing="end")
    along, up = stance_drift(law, 0.0025)
    assert along < 1e-5
    published = stance_drift(PUBLISHED, 0.0025)
    assert along < 0.15 * published[0] and up < published[1]
    finer = stance_drift(law, 0.00125)
    assert finer[0] < 0.4 * along  # second order


def fallen(
    robot: str, law: tarsus.Moreau, worlds: int, seconds: float, contacts: str | None = "all"
) -> tuple[Array, float, int]:
    """Depth (worlds,) in m after a passive fall from any attitude, largest energy gain during it in
    J, and number of unsolved steps.

    The joints are free and limbs still rock, each contact deep for a moment. The depth is therefore
    the smallest of the last second.
    """
    sim = tarsus.Simulation(robot, law=law, worlds=worlds, contacts=contacts)
    body, candidates = sim.robot, sim.plan.scene.candidates
    rng = np.random.default_rng(1)
    q = np.array(sim.q)
    q[:, 3:7] = rng.normal(size=(worlds, 4))
    q[:, 3:7] /= np.linalg.norm(q[:, 3:7], axis=1, keepdims=True)
    q[:, 2] += 0.3
    sim.set(q=q, u=0.5 * rng.normal(size=(worlds, body.nu)))

    def energy() -> Array:
        return body.kinetic_energy(sim.q, sim.u) + body.potential_energy(sim.q)

    def deepest() -> Array:
        heights = [body.position(sim.q, c.name)[:, 2] - c.radius for c in candidates]
        return -np.min(heights, axis=0)

    unsolved, start = 0, energy()
    gain, depth = 0.0, np.full(worlds, np.inf)
    for step in range(round(seconds / sim.dt)):
        sim.advance(sim.dt)
        unsolved += int((~sim.converged).sum())
        if step % 20 == 0:
            gain = max(gain, float((energy() - start).max()))
            if (step + 1) * sim.dt > seconds - 1:
                depth = np.fmin(depth, deepest())
    return depth, gain, unsolved


@pytest.mark.slow
def test_a_fallen_humanoid_does_not_sink() -> None:
    worlds, seconds = 8, 8.0  # one still swings on its feet, nearly 2 mm deep, after 6 s
    depth, _, unsolved = fallen("hoap1", tarsus.Moreau(), worlds, seconds, None)
    assert depth.max() < 1e-3
    assert unsolved <= 2e-3 * worlds * seconds / 0.0025


@pytest.mark.slow
def test_the_published_scheme_lets_a_fallen_humanoid_sink() -> None:
    sunk, _, _ = fallen("hoap1", PUBLISHED, 8, 6.0)
    depth, gain, unsolved = fallen("hoap1", tarsus.Moreau(), 8, 6.0)
    assert sunk.max() > 5e-3 and depth.max() < 1e-3
    assert gain < 0.01 and unsolved <= 1e-3 * 8 * 6.0 / 0.0025


@pytest.mark.slow
@pytest.mark.parametrize("robot", ["hoap1", "biped", "hyq", "mini_cheetah", "starleth"])
def test_no_robot_sinks_within_a_minute(robot: str) -> None:
    depth, gain, _ = fallen(robot, tarsus.Moreau(), 16, 60.0)
    assert depth.max() < 1e-3
    assert gain < 1.0
