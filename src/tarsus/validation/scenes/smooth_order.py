"""Order of convergence of smooth motion without contact."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import ClassVar

import numpy as np

from tarsus.engines.base import Array, Engine, Start
from tarsus.errors import Unsupported
from tarsus.validation import bodies
from tarsus.validation.scenes.base import Case, ValidationScene

STEPS, DURATION = (0.004, 0.002, 0.001), 0.4  # s
ROUND_OFF = 1e-10  # rad or m: differences below which no order is computed


class SmoothOrder(ValidationScene):
    """A pendulum, a spinning top, a four-bar linkage and a hopper in the air, each for 0.4 s.

    The order is log2 of (x(4 ms) - x(2 ms)) / (x(2 ms) - x(1 ms)), with x the coordinates at the
    end. The top spins at 30 rad/s about its axis, at 0.5 rad from the vertical. The hopper, a trunk
    on a spring leg, tumbles.
    """

    tolerance: ClassVar[str] = "0.2 of the order, which is reached only as dt approaches zero"

    def measure(self, engine: Engine) -> list[Case]:
        order = float(engine.order or 1)  # at least the first
        cases = []
        for name, start in STARTS.items():
            try:
                ends = [_end(engine, start(), dt) for dt in STEPS]
            except Unsupported:
                continue
            coarse, fine = (np.abs(a - b).max() for a, b in pairwise(ends))
            got = order if fine < ROUND_OFF else float(np.log2(coarse / fine))
            cases.append(Case(f"order of a {name}", "1", order, got, 0.2, at_least=True))
        return cases


def _end(engine: Engine, start: Start, dt: float) -> Array:
    return engine.run(start, dt, DURATION).q[-1, 0]


def _top() -> Start:
    quaternion = bodies.pose(np.zeros(3), 0.5)[3:]
    return Start(bodies.top(), quaternion, [0.5, 0.3, 30.0])


STARTS: dict[str, Callable[[], Start]] = {
    "pendulum": lambda: Start(bodies.arm(), [0.3], [2.0]),
    "spinning top": _top,
    "four-bar linkage": lambda: Start(bodies.parallelogram(np.inf), [0.6, -0.6, 0.6], [3.0, -3, 3]),
    "hopper in the air": lambda: Start(
        bodies.hopper(), [*bodies.pose([0, 0, 5.0], 0.3), 0.05], [1.0, 0, 2, 3, 4, -2, 0.5]
    ),
}
