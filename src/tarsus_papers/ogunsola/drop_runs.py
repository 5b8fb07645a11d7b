"""Runs of many drops: impacts, forces without impacts, and center of mass."""

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
    load_hyq,
    simulation,
)

QUICK, FULL = 0.6, 2.0  # s: duration of a drop
STANCE = 0.05  # s after landing before a knee of free legs reaches the ground


@dataclass(frozen=True, eq=False)
class Impacts:
    """Impacts k of contacts n, in order of time.

    Attributes
    ----------
    world, time
        World, and time in s, shape (k,).
    impulse, before, after
        Impulse, in N s, and velocities, in m/s, in contact frames, shape (k, n, 3).
    kinetic_before, kinetic_after
        Kinetic energies, shape (k,), in J.
    q, u_before, u_after
        Coordinates, shape (k, nq), and velocities, shape (k, nu).
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

    def of(self, selection: Array) -> Impacts:
        """Return the impacts of a mask or of indices."""
        return Impacts(*(getattr(self, name)[selection] for name in self.__dataclass_fields__))

    @classmethod
    def table(cls, log: xr.Dataset) -> Impacts:
        """Return the impacts of a batch's log."""
        names = (
            "world", "time", "impulse", "velocity_before", "velocity_after", "kinetic_before",
            "kinetic_after", "q", "u_before", "u_after",
        )  # fmt: skip
        return cls(*(log[f"impact_{name}"].values for name in names))


@dataclass(frozen=True, eq=False)
class DropRun:
    """Steps of many worlds.

    Attributes
    ----------
    robot
        The robot.
    dt
        Step size, in s.
    contacts
        Names of the contacts, n.
    time
        Time, shape (steps,), in s.
    q, u
        Coordinates and velocities, shape (steps, worlds, nq) and (steps, worlds, nu).
    tau
        Motor torques, shape (steps, worlds, motors), in N m.
    force
        Mean normal force over each step, without impacts, shape (steps, worlds, n), in N.
    gap
        Gaps evaluated in each step, shape (steps, worlds, n), in m.
    has_impact, converged
        Whether the step contained an impact, and converged, shape (steps, worlds).
    impacts
        The impacts.
    lost_impacts
        Number of impacts beyond those that a step records.
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
    has_impact: Array
    converged: Array
    impacts: Impacts
    lost_impacts: int

    @classmethod
    def of(cls, robot: Robot, log: xr.Dataset) -> DropRun:
        """Return the run of a batch's log."""
        has_impact = (log["impulse_in_impacts"] != 0).any(("contact", "axis")).values
        return cls(
            robot, float(log.attrs["dt"]), tuple(map(str, log["contact"].values)),
            log["time"].values, log["q"].values, log["u"].values, log["tau"].values,
            log["force_without_impacts"].values[..., 0], log["gap"].values, has_impact,
            log["converged"].values > 0, Impacts.table(log), int(log.attrs["impacts_lost"]),
        )  # fmt: skip

    def com(self, world: int) -> Array:
        """Return the center of mass, shape (steps, 3), in m."""
        return self.robot.center_of_mass(self.q[:, world])

    def com_velocity(self, world: int) -> Array:
        """Return the velocity of the center of mass, shape (steps, 3), in m/s."""
        momentum = self.robot.momentum(self.q[:, world], self.u[:, world])
        return momentum[:, :3] / self.robot.mass

    def impacts_in(self, world: int) -> Impacts:
        """Return the impacts of one world."""
        return self.impacts.of(self.impacts.world == world)


def simulate_drops(
    seconds: float,
    dt: float = DT,
    method: Stepper | None = None,
    contacts: Sequence[str] = FEET,
    held: bool = True,
) -> DropRun:
    """Run the drops of HyQ in all cases; `held` False: free legs in all."""
    created = simulation(ground(), dt, method, contacts, held)
    return DropRun.of(load_hyq(), created.run(seconds))


@cache
def drops(quick: bool) -> DropRun:
    """Return the run shared by most parts: short and with feet only, or with knees and trunk."""
    return simulate_drops(QUICK) if quick else simulate_drops(FULL, contacts=BODY)


def worlds_of(cases: Sequence[DropCase], scenario: str) -> list[int]:
    """Return the worlds of a scenario."""
    return [k for k, case in enumerate(cases) if case.scenario.name == scenario]
