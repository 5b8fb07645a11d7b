"""How two runs of one robot's scene differ: a row of `tarsus robots check --mujoco`."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tarsus.dynamics.robot import Robot
from tarsus.validation.two_engines.course import Apart, RobotRun, apart, together

DT = 0.001  # s
ALIKE = Apart(1e-3, float(np.deg2rad(0.2)))  # poses that agree
WITHIN = 2  # steps: events so near are the same
LASTING = 20  # steps: an impact spreads over some of MuJoCo's, and the poses differ meanwhile


@dataclass(frozen=True)
class Beheld:
    """How two runs of a scene differ.

    together: s, how long their poses are within `ALIKE`, or soon again (`LASTING`)
    early, early_within: events of both until then; of these within `WITHIN` steps
    shared, within: events of both in the whole run; of these within `WITHIN` steps
    latest: steps, by which the event comes later or earlier that differs most
    place, angle: m and rad at the end, trunk and largest joint
    """

    together: float = 0.0
    early: int = 0
    early_within: int = 0
    shared: int = 0
    within: int = 0
    latest: int = 0
    place: float = 0.0
    angle: float = 0.0

    @staticmethod
    def of(robot: Robot, one: RobotRun, other: RobotRun) -> Beheld:
        """Of two runs."""
        late, until = one.late(other), together(robot, one, other, ALIKE, LASTING)
        early = {name: steps for name, steps in late.items() if one.events[name] <= until}
        end = apart(robot, one.q[-1], other.q[-1])
        return Beheld(
            until * DT,
            len(early),
            _within(early),
            len(late),
            _within(late),
            max(late.values(), key=abs, default=0),
            end.place,
            end.angle,
        )


@dataclass(frozen=True)
class TruthRow:
    """One robot in one scene.

    settings: MuJoCo's, `HARD` or a name of `SHOWN`; empty in flight and of a swing
    found: how Tarsus and MuJoCo differ
    soft: how MuJoCo and MuJoCo twice as soft do; None in flight and of a swing
    ours_alone, theirs_alone: events of one engine
    order: of our steps, from two lengths of step (flight, swing)
    unsolved: steps of ours that did not converge
    why: what went wrong
    """

    robot: str
    scene: str
    settings: str = ""
    seconds: float = 0.0
    found: Beheld | None = None
    soft: Beheld | None = None
    ours_alone: tuple[str, ...] = ()
    theirs_alone: tuple[str, ...] = ()
    order: float | None = None
    unsolved: int = 0
    why: str = ""

    def as_json(self) -> dict[str, Any]:
        """All fields by name."""
        return asdict(self)


def _within(late: dict[str, int]) -> int:
    return sum(abs(steps) <= WITHIN for steps in late.values())
