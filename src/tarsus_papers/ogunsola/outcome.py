"""What is measured of one drop (Ogunsola)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tarsus_papers.ogunsola.drops import FEET, DropCase, G, at_landing, hyq, start
from tarsus_papers.ogunsola.watch import STANCE, DropRun


@dataclass(frozen=True, eq=False)
class DropOutcome:
    """What is measured of one case.

    landing: error of the first landing's time, s
    first, expected: sum of the first impulses and that of Eqn. (4), N s
    strikes: how many
    depth: largest depth of a foot in the stance after the landing, m
    sideways: how far the center of mass moved in x and y until then, m
    along: largest error of its velocity along the slope, m/s; of free legs, in the stance
    gained: mean acceleration along the slope in the whole run, m/s^2
    torque: largest, N m
    slowest: largest velocity at the end of the run, m/s or rad/s
    """

    landing: float
    first: float
    expected: float
    strikes: int
    depth: float
    sideways: float
    along: float
    gained: float
    torque: float
    slowest: float
    unconverged: int

    @classmethod
    def of(cls, run: DropRun, world: int, case: DropCase) -> DropOutcome:
        """One world of the run."""
        scenario, strikes = case.scenario, run.struck_in(world)
        lands = at_landing(hyq(), start(hyq(), scenario), scenario)
        early = run.time <= scenario.fall + STANCE
        com, feet = run.com(world), [run.contacts.index(foot) for foot in FEET]
        down = -np.array([np.cos(scenario.ground), 0.0, np.sin(scenario.ground)])
        along = run.com_velocity(world) @ down
        gained = G * np.sin(scenario.ground) * run.time
        return cls(
            float(strikes.time[0] - scenario.fall),
            float(strikes.impulse[0, :, 0].sum()),
            (1 + case.e) * float(lands.sum()),
            len(strikes.time),
            max(-float(run.gap[early, world][:, feet].min()), 0.0),
            float(np.abs(com[early, :2] - com[0, :2]).max()),
            float(np.abs(along - gained)[early | case.held].max()),
            float(along[-1] / run.time[-1]),
            float(np.abs(run.tau[:, world]).max()),
            float(np.abs(run.u[-1, world]).max()),
            int((~run.converged[:, world]).sum()),
        )
