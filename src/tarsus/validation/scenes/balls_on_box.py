"""Balls roll on a box that is dragged over the ground: the rolling test of SimBenchmark."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from tarsus.engines.base import Engine, Start
from tarsus.model.mechanism import Mechanism
from tarsus.model.objects import Ball, Box
from tarsus.validation import bodies
from tarsus.validation.bodies import TOUCH, G
from tarsus.validation.scenes.base import Case, ValidationScene

BOX_MASS, BALL_MASS = 10.0, 25.0  # kg; of all 25 balls
EDGES, RADIUS = (20.0, 20.0, 1.0), 0.5  # m
MU, MU_BALL, FORCE, SECONDS = 0.4, 0.8, 150.0, 4.0  # [1], [1], N, s
HEADINGS = {"y": np.deg2rad(90.0), "xy": np.deg2rad(60.0)}  # rad, from x


class BallsOnBox(ValidationScene):
    """A force of 150 N drags a box of 10 kg, mu 0.4, on which balls roll, mu 0.8.

    SimBenchmark's 25 balls of 1 kg all move alike, so one ball of 25 kg stands for them. Box and
    ball accelerate uniformly; to the box, the rolling ball counts as 2/7 of its mass. The error is
    SimBenchmark's: the squared velocity errors of box and ball, averaged over 4 s. A friction
    pyramid resists too much along xy, between its axes: there the box does not move.
    """

    needs = frozenset({"friction", "sticking", "rigid"})
    tolerance: ClassVar[str] = (
        "1e-12 (m/s)^2: time stepping integrates constant forces exactly, which leaves the solver's"
        " tolerance of 1e-6 of a step's change of velocity, 1e-8 m/s at most, each step"
    )

    def measure(self, engine: Engine) -> list[Case]:
        dt, world = engine.step(0.001), _build_world()
        heights = [EDGES[2] / 2 - TOUCH, EDGES[2] + RADIUS - 2 * TOUCH]
        q = bodies.coordinates(world, *([0.0, 0.0, height] for height in heights))
        moving = FORCE - MU * (BOX_MASS + BALL_MASS) * G
        acceleration = moving / (BOX_MASS + 2 / 7 * BALL_MASS)
        cases = []
        for name, heading in HEADINGS.items():
            along = np.array([np.cos(heading), np.sin(heading), 0.0])
            start = Start(world, q, parameters={"mu": MU}, push=FORCE * along, motion_only=True)
            motion = engine.run(start, dt, SECONDS)
            velocity = motion.u[:, 0].reshape(-1, 2, 6)[..., :3]
            shares = np.array([1.0, 2 / 7])[:, None]
            expected = acceleration * motion.time[:, None, None] * shares * along
            error = float(np.square(velocity - expected).sum(axis=(1, 2)).mean())
            cases.append(Case(f"mean squared error, along {name}", "m^2/s^2", 0.0, error, 1e-12))
        return cases


def _build_world() -> Mechanism:
    """Build the box, whose lower corners touch the ground, and the ball on it."""
    world = bodies.combine_objects(
        Box(mass=BOX_MASS, edges=EDGES), Ball(mass=BALL_MASS, radius=RADIUS)
    )
    corners = tuple(c for c in world.candidates if c.body == 0)
    factors = (1.0, MU_BALL / MU)
    solids = tuple(replace(solid, friction=factors[solid.body]) for solid in world.solids)
    return replace(world, candidates=corners, solids=solids)
