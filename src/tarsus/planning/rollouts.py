"""Rollouts of many samples in one compiled call, and of a single plan to predict the state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tarsus.planning.rollout_program import RolloutPlan, rollout_program
from tarsus.program.run.worlds import Worlds
from tarsus.simulation.initial_registers import write_registers

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RolloutResults:
    """Results of rollouts.

    Attributes
    ----------
    costs
        Costs integrated over time, not weighted, shape (worlds, m).
    unconverged
        Number of steps whose contact problem did not converge, shape (worlds,).
    """

    costs: Array
    unconverged: Array


class RolloutWorlds:
    """Worlds in which a planner rolls out samples.

    Parameters
    ----------
    work
        Goal and scene.
    count
        Number of worlds.
    bits
        64 or 32.
    threads
        Number of threads; the results do not depend on it.
    fixed
        Registers that all rollouts share, such as dt, kp and law.mu.
    """

    def __init__(
        self, work: RolloutPlan, count: int, bits: int, threads: int, fixed: Mapping[str, Array]
    ) -> None:
        self.work, self._fixed, self._bits = work, fixed, bits
        self._worlds, self._one = self._create(count, threads), self._create(1)

    def _create(self, count: int, threads: int = 1) -> Worlds:
        program = rollout_program(self.work)
        return write_registers(
            Worlds(program, count, bits=self._bits, threads=threads), self._fixed
        )

    def roll_out(
        self, state: tuple[Array, Array], knots: Array, inputs: Mapping[str, Array]
    ) -> RolloutResults:
        """Roll out from one state along splines.

        Parameters
        ----------
        state
            Coordinates, shape (nq,), and velocities, shape (nu,).
        knots
            Joint targets, shape (worlds, count, n), in rad.
        inputs
            The registers position, steps and command.
        """
        worlds = _run(self._worlds, state, knots.reshape(len(knots), -1), inputs)
        return RolloutResults(worlds.get("costs").astype(float), worlds.get("unconverged")[:, 0])

    def predict(
        self, state: tuple[Array, Array], knots: Array, inputs: Mapping[str, Array]
    ) -> tuple[Array, Array]:
        """Predict q and u after the steps along one spline with knots of shape (count, n)."""
        one = _run(self._one, state, knots.ravel(), inputs)
        q, u = (one.first(name).astype(float) for name in ("end_q", "end_u"))
        return q, u


def _run(
    worlds: Worlds, state: tuple[Array, Array], knots: Array, inputs: Mapping[str, Array]
) -> Worlds:
    """Load and run the worlds, and return them."""
    write_registers(worlds, {"q": state[0], "u": state[1], "knots": knots} | dict(inputs))
    worlds.advance()
    return worlds
