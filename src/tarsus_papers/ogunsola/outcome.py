"""Measured quantities of one drop (Ogunsola)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tarsus_papers.ogunsola.drop_runs import STANCE, DropRun
from tarsus_papers.ogunsola.drops import (
    FEET,
    DropCase,
    G,
    landing_impulses,
    load_hyq,
    start_posture,
)


@dataclass(frozen=True, eq=False)
class DropOutcome:
    """Measured quantities of one case.

    Attributes
    ----------
    landing
        Error of the time of the first landing, in s.
    first, expected
        Sum of the first impulses, measured and by Eqn. (4), in N s.
    impacts
        Number of impacts.
    depth
        Largest depth of a foot in the stance after the landing, in m.
    sideways
        Displacement of the center of mass in x and y until the end of that stance, in m.
    slope_velocity_error
        Largest error of the velocity of the center of mass along the slope, in m/s; with free legs
        only until the end of that stance.
    acceleration
        Mean acceleration along the slope over the whole run, in m/s^2.
    torque
        Largest torque, in N m.
    final_speed
        Largest velocity at the end of the run, in m/s or rad/s.
    unconverged
        Number of unconverged steps.
    """

    landing: float
    first: float
    expected: float
    impacts: int
    depth: float
    sideways: float
    slope_velocity_error: float
    acceleration: float
    torque: float
    final_speed: float
    unconverged: int

    @classmethod
    def of(cls, run: DropRun, world: int, case: DropCase) -> DropOutcome:
        """Measure one world of a run."""
        scenario, impacts = case.scenario, run.impacts_in(world)
        impulses = landing_impulses(load_hyq(), start_posture(load_hyq(), scenario), scenario)
        until_stance = run.time <= scenario.fall_time + STANCE
        com, feet = run.com(world), [run.contacts.index(foot) for foot in FEET]
        downhill = -np.array([np.cos(scenario.ground), 0.0, np.sin(scenario.ground)])
        along = run.com_velocity(world) @ downhill
        acceleration = G * np.sin(scenario.ground) * run.time
        return cls(
            float(impacts.time[0] - scenario.fall_time),
            float(impacts.impulse[0, :, 0].sum()),
            (1 + case.e) * float(impulses.sum()),
            len(impacts.time),
            max(-float(run.gap[until_stance, world][:, feet].min()), 0.0),
            float(np.abs(com[until_stance, :2] - com[0, :2]).max()),
            float(np.abs(along - acceleration)[until_stance | case.legs_held].max()),
            float(along[-1] / run.time[-1]),
            float(np.abs(run.tau[:, world]).max()),
            float(np.abs(run.u[-1, world]).max()),
            int((~run.converged[:, world]).sum()),
        )
