"""HyQ dropped as in both scenarios of Ogunsola, with all cases in one batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar

import casadi as ca
import numpy as np
from numpy.typing import NDArray

from tarsus import robots
from tarsus.contact.base import Law
from tarsus.contact.laws.lcp_impulse import LcpImpulse
from tarsus.control.base import ControlInputs
from tarsus.control.gaits.stand import Stand
from tarsus.dynamics.robot import Robot
from tarsus.simulation.simulation import Simulation
from tarsus.stepping.base import Stepper
from tarsus.stepping.methods.event_driven import EventDriven
from tarsus.terrain.slope import Slope

Array = NDArray[Any]
G = 9.81  # m/s^2
FIVE_DEGREES = np.deg2rad(5.0)  # section Results
DT = 2.5e-4  # s; the paper states none
KP, KD = 1500.0, 30.0  # N m/rad, N m s/rad, of held legs; the paper states none
INNER_STEPPER = "midpoint"  # between impacts
FEET = ("LF_foot", "RF_foot", "LH_foot", "RH_foot")
BODY = ("*_foot", "*_knee", "trunk_*_bottom")  # contacts when the legs collapse


@dataclass(frozen=True)
class Scenario:
    """One of the two drops of the paper (section Results).

    Attributes
    ----------
    name
        Name of the scenario.
    height
        Height of the lowest foot above the ground, in m.
    trunk
        Angle of the trunk about the y axis, in rad.
    ground
        Slope of the ground about the y axis, in rad.
    """

    name: str
    height: float
    trunk: float
    ground: float

    @property
    def fall_time(self) -> float:
        """Time of free fall, in s, until the first foot lands.

        `height` is the distance of that foot above its landing point.
        """
        return float(np.sqrt(2 * self.height / G))


TILTED_TRUNK = Scenario("scenario1", 1.0, FIVE_DEGREES, 0.0)
TILTED_GROUND = Scenario("scenario2", 0.5, 0.0, FIVE_DEGREES)


@dataclass(frozen=True)
class DropCase:
    """One drop: scenario, free or held legs, restitution and friction."""

    scenario: Scenario
    legs_held: bool
    e: float
    mu: float

    @property
    def name(self) -> str:
        """Description of the case."""
        return f"{'held' if self.legs_held else 'free'}, e {self.e:g}, mu {self.mu:g}"


CASES = tuple(
    DropCase(scenario, held, e, mu)
    for scenario in (TILTED_TRUNK, TILTED_GROUND)
    for held in (False, True)
    for e in (0.0, 0.5)
    for mu in (0.0, 0.6)
)


@dataclass(frozen=True)
class SwitchedServo(Stand):
    """Joint servo that command `hold` turns on (1) or off (0)."""

    commands: ClassVar[Mapping[str, float]] = {"hold": 1.0}

    def torque(self, inputs: ControlInputs) -> tuple[ca.SX, ca.SX]:
        torque, memory = super().torque(inputs)
        return inputs.command[0] * torque, memory


@cache
def load_hyq() -> Robot:
    """Return HyQ without torque limits, because the paper states none."""
    robot = robots.load("hyq")
    strong = (replace(motor, lower=-np.inf, upper=np.inf) for motor in robot.actuators)
    return replace(robot, actuators=tuple(strong))


HOLD = SwitchedServo(kp=KP, kd=KD)


@dataclass(frozen=True, eq=False)
class Ground:
    """Law and terrain of many worlds, shared by their simulations."""

    law: Law
    terrain: Slope
    cases: tuple[DropCase, ...]


@cache
def ground(cases: tuple[DropCase, ...] = CASES) -> Ground:
    """Return restitution, friction and slope of each case."""
    e, mu = (np.array([getattr(case, name) for case in cases]) for name in ("e", "mu"))
    angle = np.array([case.scenario.ground for case in cases])
    return Ground(LcpImpulse(mu=mu, e_N=e), Slope(angle=angle), cases)


@cache
def stepper(inner: str) -> Stepper:
    """Return the paper's propagator with an inner stepper."""
    return EventDriven(inner)


def simulation(
    drop_ground: Ground,
    dt: float = DT,
    method: Stepper | None = None,
    contacts: Sequence[str] = FEET,
    held: bool = True,
) -> Simulation:
    """Return HyQ at rest above the ground in each case.

    Parameters
    ----------
    drop_ground
        Law and terrain of each case.
    dt
        Step size, in s.
    method
        Stepper; by default the paper's propagator.
    contacts
        Names of the contact candidates to simulate.
    held
        Whether servos lock the legs in the cases with `DropCase.legs_held`; False: free legs in all
        cases.
    """
    created = Simulation(
        load_hyq(),
        drop_ground.law,
        method or stepper(INNER_STEPPER),
        drop_ground.terrain,
        HOLD,
        dt,
        worlds=len(drop_ground.cases),
        contacts=list(contacts),
        limits=False,
    )
    created.set(
        q=np.array([start_posture(load_hyq(), case.scenario) for case in drop_ground.cases]),
        command={"hold": [float(held and case.legs_held) for case in drop_ground.cases]},
    )
    return created


def start_posture(robot: Robot, scenario: Scenario, feet: Sequence[str] = FEET) -> Array:
    """Return the standing posture, rotated and lifted: coordinates, shape (nq,)."""
    q = np.array(robot.keyframes["stand"])
    q[3:7] = [np.cos(scenario.trunk / 2), 0.0, np.sin(scenario.trunk / 2), 0.0]
    up = normal(scenario.ground)
    q[2] += scenario.height - clearances(robot, q, up, feet).min() / up[2]
    return q


def normal(ground: float) -> Array:
    """Return the normal of the ground, (3,), which rises by this angle along x."""
    return np.array([-np.sin(ground), 0.0, np.cos(ground)])


def clearances(robot: Robot, q: Array, up: Array, feet: Sequence[str] = FEET) -> Array:
    """Return the distances of the feet from the ground through the origin, (..., feet), in m."""
    radius = {c.name: c.radius for c in robot.candidates}
    return np.stack([robot.position(q, foot) @ up - radius[foot] for foot in feet], axis=-1)


def normal_rows(robot: Robot, q: Array, up: Array, feet: Sequence[str] = FEET) -> Array:
    """Return T^T of Eqn. (2) at coordinates (N, nq), shape (N, n, nu).

    The normal velocities of the feet are rows @ u.
    """
    return np.stack([np.einsum("i,...ij->...j", up, robot.jacobian(q, foot)[..., :3, :])
                     for foot in feet], axis=-2)  # fmt: skip


def landing_impulses(
    robot: Robot, q: Array, scenario: Scenario, feet: Sequence[str] = FEET
) -> Array:
    """Compute the impulses Lambda (feet,) of Eqn. (4), in N s, as the first feet land with e = 0.

    Joints do not move during the fall, because legs and trunk fall alike. If Eqn. (4) would pull
    one of these feet, it is solved for the others only.
    """
    up = normal(scenario.ground)
    gaps = clearances(robot, q, up, feet)
    landing = gaps < gaps.min() + 1e-9
    before = np.zeros(robot.nu)
    before[2] = -np.sqrt(2 * G * scenario.height)
    T, M = normal_rows(robot, q, up, feet), robot.mass_matrix(q)
    impulses = np.zeros(len(feet))
    while True:
        rows = T[landing]
        impulses[landing] = np.linalg.solve(rows @ np.linalg.solve(M, rows.T), -rows @ before)
        if (impulses >= 0).all():
            return impulses
        landing, impulses = landing & (impulses >= 0), np.zeros(len(feet))
