"""Temporary simulator: the robot does not move."""

from __future__ import annotations

from typing import ClassVar

from tarsus_bench.peers.base import Array, PeerSession, Work


class Still(PeerSession):
    """Nothing moves."""

    package: ClassVar[str] = "tarsus"
    distributions: ClassVar[tuple[str, ...]] = ("tarsus",)

    def __init__(self, work: Work, variant: str) -> None:
        super().__init__(work, variant)

    def settings(self) -> dict[str, str]:
        return {"number format": "float64"}

    def mass(self) -> float:
        return self._work.robot.mass

    def reset(self) -> None:
        pass

    def act(self) -> None:
        pass

    def move(self) -> None:
        pass

    def state(self) -> tuple[Array, Array]:
        return self._work.q[None], self._work.u[None]
