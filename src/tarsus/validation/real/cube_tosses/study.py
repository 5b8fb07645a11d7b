"""What is still missing, taken one by one: a rigid cube under `moreau` that may explain more and
more.

Each rung frees numbers that the one before held, identifies all of them again and is judged on
tosses that had no part in it. Two bounds stand next to them: parameters chosen for each toss alone,
and two starts that the tracking cannot tell apart.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from tarsus.contact.base import Law
from tarsus.identification.ranges import SearchRange
from tarsus.validation.real.base import RealRequest
from tarsus.validation.real.cube_tosses.candidates import SCENE
from tarsus.validation.real.cube_tosses.data import Tosses
from tarsus.validation.real.cube_tosses.errors import errors
from tarsus.validation.real.cube_tosses.flight import Flights
from tarsus.validation.real.cube_tosses.identify import (
    Identified,
    difference_interval,
    identified,
)
from tarsus.validation.real.cube_tosses.law_tosses import LawTosses
from tarsus.validation.real.cube_tosses.two_frictions import TwoFrictions

Array = NDArray[np.float64]
LAW = "moreau"
TWO = ("mu", "e_N", "mu_other")
DRAWS = 8  # starts within the tracking's noise


@dataclass(frozen=True)
class Rung:
    """What a rung frees beside the last one that it builds on.

    own: parameters of the law; scene: numbers of `SCENE`
    rounding: radius of the corners, m
    flown: whether tosses start from a motion fitted to their whole flight
    """

    title: str
    own: tuple[str, ...] = ("mu", "e_N")
    scene: tuple[str, ...] = ()
    rounding: float = 0.0
    flown: bool = False
    law: str | Law = LAW


RUNGS = (
    Rung("friction and restitution"),
    Rung("and kinetic friction below static", ("mu", "e_N", "kinetic")),
    Rung("and tangential restitution", ("mu", "e_N", "e_T")),
    Rung("restitution above a speed alone", ("mu", "e_N", "v_0"), law="lcp_impulse"),
    Rung("friction, restitution, height of the board", scene=("height",)),
    Rung("tilt of the board", scene=("tilt_x", "tilt_y")),
    Rung("age of the recorded velocity", scene=("back",)),
    Rung("starts fitted to the flight", flown=True),
    Rung("corners rounded by 2 mm", rounding=0.002),
    Rung("corners rounded by 5 mm", rounding=0.005),
    Rung("another friction of corners that land", TWO, law=TwoFrictions(where="landing")),
    Rung("another friction on corners and edges", TWO, law=TwoFrictions(where="edges")),
    Rung(
        "the latter, height of the board, fitted starts",
        TWO,
        ("height",),
        flown=True,
        law=TwoFrictions(where="edges"),
    ),
)


@dataclass(frozen=True, eq=False)
class Climbed:
    """A rung, what it identified, and how much less it errs than the first, held out: corner
    distance, % of the width, mean and interval.
    """

    rung: Rung
    law: str
    found: Identified
    gain: tuple[float, float, float]


def ladder(tosses: Tosses, flown: Flights, request: RealRequest) -> list[Climbed]:
    """Every rung, with as many candidates each as are asked for."""
    climbed: list[Climbed] = []
    count, seed = request.candidates, request.seed
    for rung in RUNGS:
        tosser = LawTosses(rung.law, rung.rounding, request.threads)
        request.tell(f"{tosser.name}: {rung.title}")
        tried: dict[str, SearchRange] = {name: tosser.tried[name] for name in rung.own}
        tried |= {name: SCENE[name] for name in rung.scene}
        started = from_flight(tosses, flown) if rung.flown else tosses
        found = identified(tosser, started, tried, count, seed)
        first = climbed[0].found if climbed else found
        corners = first.held_out["corners"], found.held_out["corners"]
        gain = difference_interval(*corners, seed)
        climbed.append(Climbed(rung, tosser.name, found, gain))
    return climbed


def from_flight(tosses: Tosses, flown: Flights) -> Tosses:
    """Tosses that start as their whole flight says, those that hardly fly as recorded."""
    q, u = tosses.q[:, 0].copy(), tosses.u[:, 0].copy()
    q[flown.which], u[flown.which] = flown.q, flown.u
    return tosses.starting(q, u)


@dataclass(frozen=True, eq=False)
class Spread:
    """How far simulations with starts within the tracking's noise end from one another: position,
    % of the width, rotation, degrees, corners, % of the width, and how many of them on another
    face, each (tosses,), a mean over draws.
    """

    errors: dict[str, Array] = field(default_factory=dict)


def spread(tosses: Tosses, flown: Flights, values: dict[str, float], seed: int) -> Spread:
    """Of `moreau` with some parameters, from starts perturbed by the noise of a recorded frame."""
    tosser, random = LawTosses(LAW), np.random.default_rng(seed)
    one = {name: np.array([value]) for name, value in values.items()}
    truth = tosser.paths(tosses, one)[0]
    drawn = []
    for _ in range(DRAWS):
        # place, attitude and velocities of the first frame, each with its noise
        q, u = tosses.q[:, 0].copy(), tosses.u[:, 0].copy()
        q[:, :3] += flown.noise[0] * random.standard_normal((len(tosses), 3))
        small = Rotation.from_rotvec(flown.noise[1] * random.standard_normal((len(tosses), 3)))
        own = Rotation.from_quat(q[:, 3:], scalar_first=True)
        q[:, 3:] = (own * small).as_quat(scalar_first=True)
        u[:, :3] += flown.velocity_noise[0] * random.standard_normal((len(tosses), 3))
        u[:, 3:] += flown.velocity_noise[1] * random.standard_normal((len(tosses), 3))
        path = tosser.paths(tosses.starting(q, u), one)[0]
        imagined = Tosses(tosses.names, truth, tosses.u, tosses.length)
        drawn.append(errors(imagined, path[None]).of(0))
    return Spread({name: np.mean([d[name] for d in drawn], 0) for name in drawn[0]})
