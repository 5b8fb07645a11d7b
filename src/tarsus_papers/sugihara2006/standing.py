"""Standing motion on floors with many lambdas side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.simulation.simulation import Simulation
from tarsus_papers.sugihara2006.configurations import DT, STEPPER, G, floor, gains, hoap1
from tarsus_papers.sugihara2006.motion import SquatAndSway

Array = NDArray[Any]
SETTLE, SECONDS = 1.0, 3.0  # s, of a motion of 4 s


@dataclass(frozen=True)
class StandingRun:
    """Standing motion, with one world per lambda.

    Attributes
    ----------
    force
        Normal force of each vertex, shape (steps, lambdas, vertices), in N.
    depth
        Mean depth of the vertices, shape (steps, lambdas), in m.
    finite
        Whether the run stayed finite, shape (lambdas,).
    unconverged
        Number of unconverged steps, shape (lambdas,).
    names
        Names of the vertices.
    """

    force: Array
    depth: Array
    finite: NDArray[np.bool_]
    unconverged: NDArray[np.int64]
    names: tuple[str, ...]

    @property
    def roughness(self) -> Array:
        """Mean change of a vertex's force from step to step, shape (lambdas,), in N."""
        return np.abs(np.diff(self.force, axis=0)).mean(axis=(0, 2))

    @property
    def unevenness(self) -> Array:
        """Standard deviation over a sole's vertices divided by their mean, averaged over time."""
        soles = self.force.reshape(*self.force.shape[:2], 2, -1)
        mean = soles.mean(axis=-1)
        return (soles.std(axis=-1) / np.where(mean > 0, mean, np.nan)).mean(axis=(0, 2))

    @property
    def load(self) -> Array:
        """Mean total force divided by the weight, shape (lambdas,)."""
        return self.force.sum(axis=-1).mean(axis=0) / (hoap1().mass * G)

    @property
    def final_depth(self) -> Array:
        """Mean depth at the end of the motion, shape (lambdas,), in m."""
        return self.depth[-200:].mean(axis=0)


def run_standing(lambdas: Array, armature: float | None, **changes: Any) -> StandingRun:
    """Run the standing motion on floors with these lambdas side by side."""
    robot = hoap1(armature)
    law = floor(lambdas, **changes)
    motion = SquatAndSway(**gains(robot, DT))
    simulation = Simulation(
        robot, law, STEPPER, controller=motion, dt=DT, worlds=len(lambdas), contacts="feet"
    )
    simulation.advance(SETTLE)
    # read registers: a log would compute far more than needed
    worlds = simulation.backend
    records = worlds.record(round(SECONDS / DT))
    impulse = records["impulse"].reshape(*records["impulse"].shape[:2], -1, 3)
    return StandingRun(
        impulse[..., 0] / DT,
        _depths(simulation, records["q"]),
        np.asarray(np.isfinite(records["q"]).all(axis=(0, 2))),
        (records["converged"][..., 0] == 0).sum(axis=0),
        tuple(candidate.name for candidate in simulation.plan.scene.candidates),
    )


def _depths(simulation: Simulation, q: Array) -> Array:
    """Return the mean depth of the vertices, (steps, worlds), in m, every tenth step repeated."""
    robot = simulation.robot
    sampled = q[::10]
    names = [candidate.name for candidate in simulation.plan.scene.candidates]
    flat = sampled.reshape(-1, sampled.shape[-1])
    height = np.mean([robot.position(flat, name)[:, 2] for name in names], axis=0)
    return np.repeat(-height.reshape(sampled.shape[:2]), 10, axis=0)[: len(q)]
