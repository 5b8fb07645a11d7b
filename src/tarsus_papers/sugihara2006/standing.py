"""The standing motion on floors of many lambdas side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.simulation.simulation import Simulation
from tarsus_papers.sugihara2006.configurations import DT, STEPPER, G, floor, gains, hoap1
from tarsus_papers.sugihara2006.motion import SquatAndSway

Array = NDArray[Any]
SETTLE, SECONDS = 1.0, 3.0  # s: the motion takes 4 s


@dataclass(frozen=True)
class Stood:
    """A standing motion, one world for each lambda."""

    force: Array
    """Normal force of every vertex (steps, lambdas, vertices), N."""
    depth: Array
    """Mean depth of the vertices (steps, lambdas), m."""
    finite: NDArray[np.bool_]
    """Whether the run stayed finite (lambdas,)."""
    unconverged: NDArray[np.int64]
    """Steps not solved (lambdas,)."""
    names: tuple[str, ...]
    """Of the vertices."""

    @property
    def roughness(self) -> Array:
        """Mean change of a vertex's force from step to step (lambdas,), N."""
        return np.abs(np.diff(self.force, axis=0)).mean(axis=(0, 2))

    @property
    def unevenness(self) -> Array:
        """Standard deviation over the vertices of a sole by their mean, in the mean of time."""
        soles = self.force.reshape(*self.force.shape[:2], 2, -1)
        mean = soles.mean(axis=-1)
        return (soles.std(axis=-1) / np.where(mean > 0, mean, np.nan)).mean(axis=(0, 2))

    @property
    def load(self) -> Array:
        """Mean of the whole force by the weight (lambdas,)."""
        return self.force.sum(axis=-1).mean(axis=0) / (hoap1().mass * G)

    @property
    def deepest(self) -> Array:
        """Mean depth at the end of the motion (lambdas,), m."""
        return self.depth[-200:].mean(axis=0)


def stood(lambdas: Array, armature: float | None, **changes: Any) -> Stood:
    """The standing motion on floors of these lambdas side by side."""
    robot = hoap1(armature)
    law = floor(lambdas, **changes)
    motion = SquatAndSway(**gains(robot, DT))
    simulation = Simulation(
        robot, law, STEPPER, controller=motion, dt=DT, worlds=len(lambdas), contacts="feet"
    )
    simulation.advance(SETTLE)
    # registers alone: a log would observe far more than is asked for
    worlds = simulation.backend
    records = worlds.record(round(SECONDS / DT))
    impulse = records["impulse"].reshape(*records["impulse"].shape[:2], -1, 3)
    return Stood(
        impulse[..., 0] / DT,
        _depths(simulation, records["q"]),
        np.asarray(np.isfinite(records["q"]).all(axis=(0, 2))),
        (records["converged"][..., 0] == 0).sum(axis=0),
        tuple(candidate.name for candidate in simulation.plan.scene.candidates),
    )


def _depths(simulation: Simulation, q: Array) -> Array:
    """Mean depth of the soles' vertices (steps, worlds), m, every tenth step repeated."""
    robot = simulation.robot
    few = q[::10]
    names = [candidate.name for candidate in simulation.plan.scene.candidates]
    flat = few.reshape(-1, few.shape[-1])
    height = np.mean([robot.position(flat, name)[:, 2] for name in names], axis=0)
    return np.repeat(-height.reshape(few.shape[:2]), 10, axis=0)[: len(q)]
