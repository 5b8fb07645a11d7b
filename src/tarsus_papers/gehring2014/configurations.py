"""The eleven configurations of Table 1 (Gehring 2014), and their robot and controllers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from tarsus import robots
from tarsus.contact.base import Law
from tarsus.contact.laws.compliant import Compliant
from tarsus.contact.laws.moreau import Moreau
from tarsus.control.base import Controller
from tarsus.control.gaits.stand import Stand
from tarsus.control.gaits.virtual_model import VirtualModel
from tarsus.dynamics.robot import Robot
from tarsus.simulation.simulation import Simulation
from tarsus.stepping.base import Stepper
from tarsus.stepping.methods.midpoint import Midpoint
from tarsus.stepping.substeps import Substeps

DT = 0.0025  # s: one control update at 400 Hz (section Evaluation)
CYCLE = 320  # steps of DT per gait cycle at 1.25 Hz (section Evaluation)
SUBSTEPS = 2  # compliant steps per control update (section Robustness and Ease of Use)
MU, TOLERANCE = 0.8, 1e-6  # sections Evaluation and Accuracy
# the scheme as printed, Eqns. (8) and (15): contacts rest at the midpoint and keep the depth at
# which they closed
# the paper evaluates velocity terms at the start of a step (Eqn. (7))
MIDPOINT = Midpoint(velocity_terms="start")
ONCE = Midpoint(forces="once", velocity_terms="start")
PUBLISHED: dict[str, Any] = {"standing": "midpoint", "recovery": 0.0, "slop": 0.0}
STIFFNESS, DAMPING = (
    30000.0,
    50.0,
)  # N/m, N s/m, normal and tangential (section Robustness and Ease of Use)


@dataclass(frozen=True)
class Configuration:
    """A row of Table 1: computation method and published speed."""

    name: str
    """Name used in the paper."""
    solver: str | None
    """jor or sor; None for compliant contact."""
    coordinates: str
    """minimal, extended or maximal."""
    bilateral: str | None
    """Solution of the bilateral constraints: direct or prox; None in minimal coordinates."""
    alpha: float | None
    """Relaxation of the iteration [1]; None for compliant contact."""
    evaluations: float
    """Published evaluations per second, 1/s."""
    realtime: float
    """Published real-time factor [1]."""

    @property
    def hard(self) -> bool:
        """Whether contact is hard; otherwise it is compliant."""
        return self.solver is not None

    @property
    def evaluations_per_update(self) -> int:
        """Simulation steps per control update: one, or two with the compliant law."""
        return 1 if self.hard else SUBSTEPS

    @property
    def words(self) -> str:
        """Description of the configuration in words."""
        if not self.hard:
            return "compliant, minimal coordinates"
        bilateral = f", bilateral constraints {self.bilateral}" if self.bilateral else ""
        return f"hard, {self.coordinates} coordinates, {str(self.solver).upper()}{bilateral}"

    def law(self, **changes: Any) -> Law:
        """Create the contact law with the paper's parameters, overridden by `changes`."""
        if not self.hard:
            parameters: dict[str, Any] = {
                "mu": MU,
                "c_N": STIFFNESS,
                "c_T": STIFFNESS,
                "d_N": DAMPING,
                "d_T": DAMPING,
            }
            return Compliant(**(parameters | changes))
        parameters = PUBLISHED | {
            "mu": MU,
            "solver": self.solver,
            "alpha": self.alpha,
            "T_rel": TOLERANCE,
            "T_abs": TOLERANCE,
        }
        if self.bilateral:
            parameters["bilateral"] = self.bilateral
        return Moreau(**(parameters | changes))

    def simulation(
        self, controller: Controller | None, law: Law | None = None, **options: Any
    ) -> Simulation:
        """Create a simulation of the robot with step `DT`; options as for `Simulation`."""
        stepper: Stepper = MIDPOINT if self.hard else Substeps(ONCE, SUBSTEPS)
        arguments: dict[str, Any] = {
            "stepper": stepper,
            "dt": DT,
            "coordinates": self.coordinates,
            "contacts": "feet",
        } | options
        return Simulation(load_robot(), law or self.law(), controller=controller, **arguments)


CONFIGURATIONS = (
    Configuration("Cm", None, "minimal", None, None, 8900, 11.5),
    Configuration("HmJ", "jor", "minimal", None, 0.6, 5400, 13.5),
    Configuration("HmS", "sor", "minimal", None, 0.6, 4700, 11.8),
    Configuration("HEJD", "jor", "extended", "direct", 0.6, 2700, 6.8),
    Configuration("HEJP", "jor", "extended", "prox", 0.5, 2900, 7.1),
    Configuration("HESD", "sor", "extended", "direct", 0.6, 2500, 6.1),
    Configuration("HESP", "sor", "extended", "prox", 0.6, 2400, 6.0),
    Configuration("HMJD", "jor", "maximal", "direct", 1.0, 1600, 4.1),
    Configuration("HMJP", "jor", "maximal", "prox", 0.4, 600, 1.5),
    Configuration("HMSD", "sor", "maximal", "direct", 1.0, 1600, 3.9),
    Configuration("HMSP", "sor", "maximal", "prox", 0.6, 800, 2.0),
)
BY_NAME = {configuration.name: configuration for configuration in CONFIGURATIONS}
QUICK = ("Cm", "HmJ", "HmS", "HEJD")
Cm, HmJ, HmS = (BY_NAME[name] for name in ("Cm", "HmJ", "HmS"))


def select_configurations(quick: bool) -> tuple[Configuration, ...]:
    """Select all configurations, or for the reduced version one of each kind that compiles fast."""
    return tuple(BY_NAME[name] for name in QUICK) if quick else CONFIGURATIONS


@cache
def load_robot() -> Robot:
    """Load StarlETH."""
    return robots.load("starleth")


def create_stand() -> Controller:
    """Create the controller that holds the default posture."""
    return Stand(kp=300.0, kd=5.0)


def create_trot() -> Controller:
    """Create the trot at 1.25 Hz with virtual forces on the trunk (reference [22] of the paper)."""
    return VirtualModel(frequency=1.25)
