"""HyQ dropped as in both scenarios of Ogunsola, all cases in one batch."""

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
KP, KD = 1500.0, 30.0  # N m/rad, N m s/rad, of the legs that are held; the paper states none
INSIDE = "midpoint"  # the stepper between strikes
FEET = ("LF_foot", "RF_foot", "LH_foot", "RH_foot")
BODY = ("*_foot", "*_knee", "trunk_*_bottom")  # what reaches the ground when the legs give way


@dataclass(frozen=True)
class Scenario:
    """One of the paper's two drops (section Results)."""

    name: str
    height: float
    """Of the lowest foot above the ground, m."""
    trunk: float
    """Angle of the trunk about the y-axis, rad."""
    ground: float
    """Incline of the ground about the y-axis, rad."""

    @property
    def fall(self) -> float:
        """Time until the first foot lands, s: the height is vertical, over its foot's landing."""
        return float(np.sqrt(2 * self.height / G))


TILTED_TRUNK = Scenario("scenario1", 1.0, FIVE_DEGREES, 0.0)
TILTED_GROUND = Scenario("scenario2", 0.5, 0.0, FIVE_DEGREES)


@dataclass(frozen=True)
class DropCase:
    """One drop: a scenario, the legs free or held, restitution and friction."""

    scenario: Scenario
    held: bool
    e: float
    mu: float

    @property
    def name(self) -> str:
        """In words."""
        return f"{'held' if self.held else 'free'}, e {self.e:g}, mu {self.mu:g}"


CASES = tuple(
    DropCase(scenario, held, e, mu)
    for scenario in (TILTED_TRUNK, TILTED_GROUND)
    for held in (False, True)
    for e in (0.0, 0.5)
    for mu in (0.0, 0.6)
)


@dataclass(frozen=True)
class Held(Stand):
    """The joint servo, with `hold` 1, or nothing, with `hold` 0."""

    commands: ClassVar[Mapping[str, float]] = {"hold": 1.0}

    def torque(self, now: ControlInputs) -> tuple[ca.SX, ca.SX]:
        torque, memory = super().torque(now)
        return now.command[0] * torque, memory


@cache
def hyq() -> Robot:
    """HyQ with motors of any torque: the paper names no limit."""
    robot = robots.load("hyq")
    strong = (replace(motor, lower=-np.inf, upper=np.inf) for motor in robot.actuators)
    return replace(robot, actuators=tuple(strong))


HOLD = Held(kp=KP, kd=KD)


@dataclass(frozen=True, eq=False)
class Ground:
    """Law and terrain of many worlds, the objects that their simulations share."""

    law: Law
    terrain: Slope
    cases: tuple[DropCase, ...]


@cache
def ground(cases: tuple[DropCase, ...] = CASES) -> Ground:
    """Restitution, friction and incline of each case."""
    e, mu = (np.array([getattr(case, name) for case in cases]) for name in ("e", "mu"))
    angle = np.array([case.scenario.ground for case in cases])
    return Ground(LcpImpulse(mu=mu, e_N=e), Slope(angle=angle), cases)


@cache
def stepper(inside: str) -> Stepper:
    """The paper's propagator with a stepper inside."""
    return EventDriven(inside)


def simulation(
    on: Ground,
    dt: float = DT,
    by: Stepper | None = None,
    contacts: Sequence[str] = FEET,
    held: bool = True,
) -> Simulation:
    """HyQ above the ground in every case, at rest; held: False for free legs in all."""
    found = Simulation(
        hyq(), on.law, by or stepper(INSIDE), on.terrain, HOLD, dt, worlds=len(on.cases),
        contacts=list(contacts), limits=False,
    )  # fmt: skip
    found.set(
        q=np.array([start(hyq(), case.scenario) for case in on.cases]),
        command={"hold": [float(held and case.held) for case in on.cases]},
    )
    return found


def start(robot: Robot, scenario: Scenario, feet: Sequence[str] = FEET) -> Array:
    """The robot's stand posture, turned and lifted: coordinates (nq,)."""
    q = np.array(robot.keyframes["stand"])
    q[3:7] = [np.cos(scenario.trunk / 2), 0.0, np.sin(scenario.trunk / 2), 0.0]
    up = normal(scenario.ground)
    q[2] += scenario.height - clearances(robot, q, up, feet).min() / up[2]
    return q


def normal(ground: float) -> Array:
    """Of the ground (3,), which rises by this angle along x."""
    return np.array([-np.sin(ground), 0.0, np.cos(ground)])


def clearances(robot: Robot, q: Array, up: Array, feet: Sequence[str] = FEET) -> Array:
    """Distances of the feet from the ground through the origin, m: (..., feet)."""
    radius = {c.name: c.radius for c in robot.candidates}
    return np.stack([robot.position(q, foot) @ up - radius[foot] for foot in feet], axis=-1)


def normal_rows(robot: Robot, q: Array, up: Array, feet: Sequence[str] = FEET) -> Array:
    """T^T of Eqn. (2) at coordinates (N, nq): normal velocities of the feet are rows @ u, (N, n,
    nu).
    """
    return np.stack([np.einsum("i,...ij->...j", up, robot.jacobian(q, foot)[..., :3, :])
                     for foot in feet], axis=-2)  # fmt: skip


def at_landing(robot: Robot, q: Array, scenario: Scenario, feet: Sequence[str] = FEET) -> Array:
    """Eqn. (4), impulses Lambda (feet,), N s, e = 0, of the feet that land first, others zero.

    No joint moves in the fall: every leg falls as the trunk does. Where Eqn. (4) would pull one of
    these feet, the others alone are solved for.
    """
    up = normal(scenario.ground)
    gaps = clearances(robot, q, up, feet)
    on = gaps < gaps.min() + 1e-9
    before = np.zeros(robot.nu)
    before[2] = -np.sqrt(2 * G * scenario.height)
    T, M = normal_rows(robot, q, up, feet), robot.mass_matrix(q)
    found = np.zeros(len(feet))
    while True:
        rows = T[on]
        found[on] = np.linalg.solve(rows @ np.linalg.solve(M, rows.T), -rows @ before)
        if (found >= 0).all():
            return found
        on, found = on & (found >= 0), np.zeros(len(feet))
