"""Many rollouts of one state in one compiled call, and one of them to look ahead."""

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
class Rolled:
    """What came of rollouts.

    costs (worlds, m): over time, not weighed; unconverged (worlds,): steps whose contact problem
    was not solved
    """

    costs: Array
    unconverged: Array


class Futures:
    """The worlds of rollouts.

    count: of them; bits: 64 or 32; threads: that share them, which changes no bit
    fixed: registers that all have, such as dt, kp, law.mu
    """

    def __init__(
        self, work: RolloutPlan, count: int, bits: int, threads: int, fixed: Mapping[str, Array]
    ) -> None:
        self.work, self._fixed, self._bits = work, fixed, bits
        self._worlds, self._one = self._made(count, threads), self._made(1)

    def _made(self, count: int, threads: int = 1) -> Worlds:
        program = rollout_program(self.work)
        return write_registers(
            Worlds(program, count, bits=self._bits, threads=threads), self._fixed
        )

    def try_all(self, state: tuple[Array, Array], knots: Array, now: Mapping[str, Array]) -> Rolled:
        """From q (nq,), u (nu,) along splines through knots (worlds, count, n).

        now: position, steps, command
        """
        worlds = _begun(self._worlds, state, knots.reshape(len(knots), -1), now)
        return Rolled(worlds.get("costs").astype(float), worlds.get("unconverged")[:, 0])

    def ahead(
        self, state: tuple[Array, Array], knots: Array, now: Mapping[str, Array]
    ) -> tuple[Array, Array]:
        """q and u after the steps along one spline through knots (count, n)."""
        one = _begun(self._one, state, knots.ravel(), now)
        q, u = (one.first(name).astype(float) for name in ("end_q", "end_u"))
        return q, u


def _begun(
    worlds: Worlds, state: tuple[Array, Array], knots: Array, now: Mapping[str, Array]
) -> Worlds:
    """The worlds, having run."""
    write_registers(worlds, {"q": state[0], "u": state[1], "knots": knots} | dict(now))
    worlds.advance()
    return worlds
