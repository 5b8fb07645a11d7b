"""A run of many drops: its strikes, its forces apart from them, and its center of mass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import xarray as xr

from tarsus.dynamics.robot import Robot
from tarsus.stepping.base import Stepper
from tarsus_papers.ogunsola.drops import (
    BODY,
    DT,
    FEET,
    Array,
    DropCase,
    ground,
    hyq,
    simulation,
)

QUICK, FULL = 0.6, 2.0  # s of each drop
STANCE = 0.05  # s after the landing in which no knee of free legs reaches the ground


@dataclass(frozen=True, eq=False)
class Impacts:
    """Impacts (k) of some contacts (n), in the order of time.

    world (k,); time (k,), s; impulse, before, after (k, n, 3): N s and m/s in contact frames;
    kinetic_before, kinetic_after (k,), J; q (k, nq), u_before, u_after (k, nu)
    """

    world: Array
    time: Array
    impulse: Array
    before: Array
    after: Array
    kinetic_before: Array
    kinetic_after: Array
    q: Array
    u_before: Array
    u_after: Array

    def of(self, which: Array) -> Impacts:
        """Those where the mask or index says so."""
        return Impacts(*(getattr(self, name)[which] for name in self.__dataclass_fields__))

    @classmethod
    def table(cls, log: xr.Dataset) -> Impacts:
        """Those of a batch's log."""
        names = (
            "world", "time", "impulse", "velocity_before", "velocity_after", "kinetic_before",
            "kinetic_after", "q", "u_before", "u_after",
        )  # fmt: skip
        return cls(*(log[f"strike_{name}"].values for name in names))


@dataclass(frozen=True, eq=False)
class DropRun:
    """Steps of many worlds.

    dt: s; contacts: names (n)
    time (steps,), s; q (steps, worlds, nq), u (steps, worlds, nu)
    tau (steps, worlds, motors), N m
    force (steps, worlds, n): normal, N, mean of each step, without strikes
    gap (steps, worlds, n): m, as each step looks at it
    struck (steps, worlds): whether the step held a strike
    converged (steps, worlds)
    lost: strikes beyond those that a step keeps
    """

    robot: Robot
    dt: float
    contacts: tuple[str, ...]
    time: Array
    q: Array
    u: Array
    tau: Array
    force: Array
    gap: Array
    struck: Array
    converged: Array
    strikes: Impacts
    lost: int

    @classmethod
    def of(cls, robot: Robot, log: xr.Dataset) -> DropRun:
        """A batch's log."""
        struck = (log["impulse_strikes"] != 0).any(("contact", "axis")).values
        return cls(
            robot, float(log.attrs["dt"]), tuple(map(str, log["contact"].values)),
            log["time"].values, log["q"].values, log["u"].values, log["tau"].values,
            log["force_without_strikes"].values[..., 0], log["gap"].values, struck,
            log["converged"].values > 0, Impacts.table(log), int(log.attrs["strikes_lost"]),
        )  # fmt: skip

    def com(self, world: int) -> Array:
        """Center of mass (steps, 3), m."""
        return self.robot.center_of_mass(self.q[:, world])

    def com_velocity(self, world: int) -> Array:
        """Its velocity (steps, 3), m/s."""
        momentum = self.robot.momentum(self.q[:, world], self.u[:, world])
        return momentum[:, :3] / self.robot.mass

    def struck_in(self, world: int) -> Impacts:
        """The strikes of one world."""
        return self.strikes.of(self.strikes.world == world)


def watched(
    seconds: float,
    dt: float = DT,
    by: Stepper | None = None,
    contacts: Sequence[str] = FEET,
    held: bool = True,
) -> DropRun:
    """HyQ dropped in every case; held: False for free legs in all."""
    found = simulation(ground(), dt, by, contacts, held)
    return DropRun.of(hyq(), found.run(seconds))


@cache
def drops(quick: bool) -> DropRun:
    """The run that most parts look at: the feet alone and short, or with knees and trunk."""
    return watched(QUICK) if quick else watched(FULL, contacts=BODY)


def worlds(cases: Sequence[DropCase], scenario: str) -> list[int]:
    """The worlds of a scenario."""
    return [k for k, case in enumerate(cases) if case.scenario.name == scenario]
