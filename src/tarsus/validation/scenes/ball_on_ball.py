"""Balls that rest on and hit each other: static forces, central impacts, a cradle of two."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tarsus.engines.base import Engine, Start
from tarsus.model.objects import Ball
from tarsus.validation import bodies
from tarsus.validation.bodies import RADIUS, TOUCH, G
from tarsus.validation.scenes.base import Case, ValidationScene, worst

MASSES = (2.0, 1.0)  # kg
RESTITUTION = np.array([0.0, 0.5, 1.0])
SPEED = 1.0  # m/s, of the first ball; the second is at rest


class BallOnBall(ValidationScene):
    """A ball of 1 kg on one of 2 kg, with forces m g and (m + M) g, and a central impact.

    After the impact the balls separate at e times the speed of approach, and momentum is conserved.
    With equal masses and e = 1 the second ball takes all of it, as in a cradle of two. (In a cradle
    of three or more, Newton's law acts on all touching balls at once; the motion is passed on only
    if the balls are slightly apart.)
    """

    needs = frozenset({"restitution", "rigid"})
    tolerance: ClassVar[str] = (
        "1e-6 of the forces and speeds: neither depends on dt, but solvers stop iterating at their"
        " tolerance"
    )

    def measure(self, engine: Engine) -> list[Case]:
        # at rest: contacts of both balls with the ground, then of one with the other
        heavy, light = (Ball(mass=m, radius=RADIUS) for m in MASSES)
        stack, dt = bodies.combine_objects(heavy, light), engine.step(0.0025)
        heights = RADIUS - TOUCH, 3 * RADIUS - 2 * TOUCH
        start = Start(stack, bodies.coordinates(stack, *([0, 0, z] for z in heights)))
        force = engine.run(start, dt, 0.1, skip=0.1 - dt).impulse[-1, 0, :, 0] / dt
        ground_force, contact_force = float(force[0]), float(force[2])
        weight = sum(MASSES) * G
        # impacts
        cases = [
            Case("force between", "N", MASSES[1] * G, contact_force, 1e-6 * weight),
            Case("force on the ground", "N", weight, ground_force, 1e-6 * weight),
        ]
        labels = [f"e {e:g}" for e in RESTITUTION]
        for masses in ((3.0, 1.0), (1.0, 1.0)):
            pair = bodies.combine_objects(
                *(Ball(mass=m, radius=RADIUS) for m in masses), gravity=(0, 0, 0), ground=False
            )
            q = bodies.coordinates(pair, [0, 0, 0], [2 * RADIUS + 0.05, 0, 0])
            start = Start(pair, q, [SPEED, *[0.0] * 11], parameters={"e_N": RESTITUTION})
            motion = engine.run(start, dt, 0.1)
            struck = np.argmax(motion.impulse[:, :, 0, 0] > 0, axis=0)
            u = motion.u[struck, np.arange(len(labels))]
            center = masses[0] * SPEED / sum(masses)
            second = center + RESTITUTION * SPEED * masses[0] / sum(masses)
            name = f"second ball's speed, {masses[0]:g} on {masses[1]:g} kg"
            cases.append(worst((name, "m/s"), second, u[:, 6], 1e-6, labels))
        return cases
