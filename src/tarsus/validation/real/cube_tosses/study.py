"""Study of missing effects: models of a rigid cube under `moreau` with more and more parameters.

Each model has further free parameters, all of which are identified again, and is judged on held-out
tosses. Two bounds are given for comparison: parameters chosen separately for every toss,
and initial states that differ only by the tracking noise.
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
from tarsus.validation.real.cube_tosses.errors import toss_errors
from tarsus.validation.real.cube_tosses.flight import Flights
from tarsus.validation.real.cube_tosses.identify import (
    IdentifiedParameters,
    difference_interval,
    identify_parameters,
)
from tarsus.validation.real.cube_tosses.law_tosses import LawTosses
from tarsus.validation.real.cube_tosses.two_frictions import TwoFrictions

Array = NDArray[np.float64]
LAW = "moreau"
TWO_FRICTIONS = ("mu", "e_N", "mu_other")
DRAWS = 8  # random initial states within the tracking noise


@dataclass(frozen=True)
class StudyModel:
    """Model in the study's sequence, with its free parameters."""

    title: str
    """Title of the row."""
    parameters: tuple[str, ...] = ("mu", "e_N")
    """Free parameters of the law."""
    scene: tuple[str, ...] = ()
    """Free parameters of `SCENE`."""
    rounding: float = 0.0
    """Radius of the corners, m."""
    uses_fitted_starts: bool = False
    """Whether tosses start from a motion fitted to their whole flight."""
    law: str | Law = LAW
    """Contact law."""


STUDY_MODELS = (
    StudyModel("friction and restitution"),
    StudyModel("and kinetic friction below static", ("mu", "e_N", "kinetic")),
    StudyModel("and tangential restitution", ("mu", "e_N", "e_T")),
    StudyModel("restitution only above a speed", ("mu", "e_N", "v_0"), law="lcp_impulse"),
    StudyModel("friction, restitution, height of the board", scene=("height",)),
    StudyModel("tilt of the board", scene=("tilt_x", "tilt_y")),
    StudyModel("age of the recorded velocity", scene=("back",)),
    StudyModel("starts fitted to the flight", uses_fitted_starts=True),
    StudyModel("corners rounded by 2 mm", rounding=0.002),
    StudyModel("corners rounded by 5 mm", rounding=0.005),
    StudyModel(
        "other friction of landing corners", TWO_FRICTIONS, law=TwoFrictions(where="landing")
    ),
    StudyModel(
        "other friction on corners and edges", TWO_FRICTIONS, law=TwoFrictions(where="edges")
    ),
    StudyModel(
        "the latter, height of the board, fitted starts",
        TWO_FRICTIONS,
        ("height",),
        uses_fitted_starts=True,
        law=TwoFrictions(where="edges"),
    ),
)


@dataclass(frozen=True, eq=False)
class ModelResult:
    """Errors of one model of the study, with its identified parameters."""

    model: StudyModel
    """Model."""
    law: str
    """Name of the law."""
    identification: IdentifiedParameters
    """Identified parameters and errors."""
    gain: tuple[float, float, float]
    """Decrease of the held-out corner distance from the first model: mean and interval, % of the
    width."""


def run_study(tosses: Tosses, flown: Flights, request: RealRequest) -> list[ModelResult]:
    """Identify and evaluate every model of the study."""
    results: list[ModelResult] = []
    count, seed = request.candidates, request.seed
    for model in STUDY_MODELS:
        tosser = LawTosses(model.law, model.rounding, request.threads)
        request.on_progress(f"{tosser.name}: {model.title}")
        tried: dict[str, SearchRange] = {
            name: tosser.search_ranges[name] for name in model.parameters
        }
        tried |= {name: SCENE[name] for name in model.scene}
        recordings = replace_starts(tosses, flown) if model.uses_fitted_starts else tosses
        identification = identify_parameters(tosser, recordings, tried, count, seed)
        first = results[0].identification if results else identification
        corners = first.held_out_errors["corners"], identification.held_out_errors["corners"]
        gain = difference_interval(*corners, seed)
        results.append(ModelResult(model, tosser.name, identification, gain))
    return results


def replace_starts(tosses: Tosses, flown: Flights) -> Tosses:
    """Replace the initial states by those fitted to the flight, if a toss flies long enough."""
    q, u = tosses.q[:, 0].copy(), tosses.u[:, 0].copy()
    q[flown.indices], u[flown.indices] = flown.q, flown.u
    return tosses.with_start(q, u)


@dataclass(frozen=True, eq=False)
class NoiseSpread:
    """Effect of the tracking noise on simulated tosses."""

    errors: dict[str, Array] = field(default_factory=dict)
    """Mean errors by name as in `TossErrors`, between simulations from perturbed initial states,
    each of shape (tosses,)."""


def measure_spread(
    tosses: Tosses, flown: Flights, values: dict[str, float], seed: int
) -> NoiseSpread:
    """Measure the effect of tracking noise on simulations with `moreau`.

    Parameters
    ----------
    tosses
        Recorded tosses.
    uses_fitted_starts
        Flights, which give the noise of a recorded frame.
    values
        Parameters of the law.
    seed
        Seed of the random perturbations.
    """
    tosser, random = LawTosses(LAW), np.random.default_rng(seed)
    one = {name: np.array([value]) for name, value in values.items()}
    truth = tosser.paths(tosses, one)[0]
    drawn = []
    for _ in range(DRAWS):
        # perturb position, orientation and velocities of the first frame
        q, u = tosses.q[:, 0].copy(), tosses.u[:, 0].copy()
        q[:, :3] += flown.noise[0] * random.standard_normal((len(tosses), 3))
        small = Rotation.from_rotvec(flown.noise[1] * random.standard_normal((len(tosses), 3)))
        rotation = Rotation.from_quat(q[:, 3:], scalar_first=True)
        q[:, 3:] = (rotation * small).as_quat(scalar_first=True)
        u[:, :3] += flown.velocity_noise[0] * random.standard_normal((len(tosses), 3))
        u[:, 3:] += flown.velocity_noise[1] * random.standard_normal((len(tosses), 3))
        path = tosser.paths(tosses.with_start(q, u), one)[0]
        reference = Tosses(tosses.names, truth, tosses.u, tosses.length)
        drawn.append(toss_errors(reference, path[None]).of(0))
    return NoiseSpread({name: np.mean([d[name] for d in drawn], 0) for name in drawn[0]})
