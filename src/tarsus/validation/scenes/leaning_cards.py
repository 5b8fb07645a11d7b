"""Two cards that lean on each other stand or slip, depending on friction."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from scipy.integrate import solve_ivp

from tarsus.engines.base import Engine, Start
from tarsus.model.mechanism import Body, Candidate, Inertia, Joint, Mechanism
from tarsus.model.solids import Capsule
from tarsus.validation import bodies
from tarsus.validation.bodies import GRAVITY, TOUCH, G
from tarsus.validation.scenes.base import Case, ValidationScene, falls_below

MASS, LENGTH, WIDTH, ROUNDING = 0.02, 0.1, 0.06, 0.002  # kg, m; length between rounded edges
INCLINE, END = np.deg2rad(60.0), np.deg2rad(45.0)  # rad, from horizontal; at the end of the slip
LIMIT = LENGTH * np.cos(INCLINE) / (2 * (LENGTH * np.sin(INCLINE) + ROUNDING))
STANDING, SLIPPING = 1.02, 0.5  # friction coefficients over the limit
SECONDS, SETTLING, SLIP = 60.0, 1.0, 0.15  # s


class LeaningCards(ValidationScene):
    """Two cards lean on each other at 60 degrees, the smallest house of cards.

    By symmetry the upper edges press on each other horizontally, so a card of length l with rounded
    edges of radius r stands if mu > l cos(a) / (2 (l sin(a) + r)). Above this limit by 2 % the
    cards must not move for 60 s. At half the limit each slips like a ladder at a smooth wall, and
    the time to 45 degrees is that of its equation of motion.
    """

    needs = frozenset({"friction", "sticking", "rigid"})
    tolerance: ClassVar[str] = (
        "1e-9 m/s of creep, as for a single sticking block; 1e-6 m of displacement, while the cards"
        " settle; 2 dt in time, for a first-order method and the first step"
    )

    def measure(self, engine: Engine) -> list[Case]:
        dt, cards = engine.step(0.001), _lean_cards()
        q = _place_cards()
        standing = Start(cards, q, parameters={"mu": STANDING * LIMIT}, motion_only=True)
        motion = engine.run(standing, dt, SECONDS, skip=SETTLING)
        late, early = _centers(motion.q[-1, 0]), _centers(motion.q[0, 0])
        creep = float(np.linalg.norm(late - early, axis=1).max()) / (SECONDS - SETTLING)
        moved = float(np.linalg.norm(late - _centers(q), axis=1).max())
        slipping = Start(cards, q, parameters={"mu": SLIPPING * LIMIT}, motion_only=True)
        motion = engine.run(slipping, dt, SLIP)
        # the left card's z axis points from its lower to its upper edge
        incline = np.pi / 2 - 2 * np.abs(np.arctan2(motion.q[:, 0, 5], motion.q[:, 0, 3]))
        time = falls_below(END, incline, motion.time)
        return [
            Case("creep of standing cards", "m/s", 0.0, creep, 1e-9),
            Case("displacement in 60 s", "m", 0.0, moved, 1e-6),
            Case("slipping to 45 deg", "s", _slip_time(SLIPPING * LIMIT), time, 2 * dt),
        ]


def _lean_cards() -> Mechanism:
    """Build two cards with balls at their corners, the lower ones for the ground."""
    half = LENGTH / 2
    moments = MASS / 12 * np.array([WIDTH**2 + LENGTH**2, LENGTH**2, WIDTH**2])
    cards, feet, tops = list[Body](), list[Candidate](), list[Capsule]()
    for k, side in enumerate(("left", "right")):
        cards.append(
            Body(side, -1, Joint(side, "free"), Inertia(MASS, np.zeros(3), np.diag(moments)))
        )
        for j, y in enumerate((-WIDTH / 2, WIDTH / 2)):
            feet.append(Candidate(f"{side}_foot_{j}", k, np.array([0, y, -half]), ROUNDING))
            middle, bits = np.array([0, y, half]), (1 << j, 1 << j)
            tops.append(Capsule(f"{side}_top_{j}", k, middle, radius=ROUNDING, bits=bits))
    return Mechanism(
        "cards", tuple(cards), tuple(feet), solids=tuple(tops), gravity_acceleration=GRAVITY
    )


def _place_cards() -> bodies.Array:
    """Compute coordinates (14,) at which the cards touch each other and the ground."""
    x = ROUNDING - TOUCH + LENGTH / 2 * np.cos(INCLINE)
    z = ROUNDING - TOUCH + LENGTH / 2 * np.sin(INCLINE)
    lean = np.pi / 2 - INCLINE
    return np.concatenate([bodies.pose([side * x, 0, z], -side * lean) for side in (-1, 1)])


def _centers(q: bodies.Array) -> bodies.Array:
    return q.reshape(2, 7)[:, :3]


def _slip_time(mu: float) -> float:
    """Compute the time in which the cards slip from `INCLINE` to `END`, in s."""
    half, weight, moment = LENGTH / 2, MASS * G, MASS * LENGTH**2 / 12

    def acceleration(_: float, state: bodies.Array) -> list[float]:
        angle, rate = state
        c, s = half * np.cos(angle), half * np.sin(angle)
        # unknown: forces of ground and of the other card, and the angular acceleration
        equations = [
            [mu, -1.0, -MASS * s],
            [1.0, 0.0, -MASS * c],
            [mu * (s + ROUNDING) - c, s, -moment],
        ]
        known = [MASS * c * rate**2, weight - MASS * s * rate**2, 0.0]
        return [rate, float(np.linalg.solve(equations, known)[2])]

    def excess(_: float, state: bodies.Array) -> float:
        return float(state[0] - END)

    start = [INCLINE, 0.0]
    solution = solve_ivp(acceleration, (0.0, SLIP), start, events=excess, rtol=1e-10, atol=1e-12)
    return float(solution.t_events[0][0])
