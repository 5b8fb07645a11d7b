"""Tarsus simulates legged robots in contact, with contact laws compiled for your robot.

import tarsus
simulation = tarsus.Simulation("mini_cheetah", law="moreau", controller="trot")
log = simulation.run(10.0)
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

from tarsus.environments.names import register
from tarsus.simulation.recording.log_hooks import before_first_log

if TYPE_CHECKING:
    from tarsus.comparison.judge import judge as judge
    from tarsus.comparison.rerun import rerun as rerun
    from tarsus.contact.base import ForceLaw as ForceLaw
    from tarsus.contact.base import Law as Law
    from tarsus.contact.laws.compliant import Compliant as Compliant
    from tarsus.contact.laws.moreau import Moreau as Moreau
    from tarsus.contact.material import material as material
    from tarsus.control.base import Controller as Controller
    from tarsus.dynamics.robot import Robot as Robot
    from tarsus.environments.environment import Environment as Environment
    from tarsus.errors import TarsusError as TarsusError
    from tarsus.errors import TarsusWarning as TarsusWarning
    from tarsus.identification.laws import rank_laws as rank_laws
    from tarsus.identification.run import identify as identify
    from tarsus.learning.methods.ppo import PPO as PPO
    from tarsus.learning.policy import Policy as Policy
    from tarsus.model.objects import Ball as Ball
    from tarsus.model.objects import Box as Box
    from tarsus.model.objects import Cylinder as Cylinder
    from tarsus.planning.planner import Planner as Planner
    from tarsus.policies.controller import PolicyController as PolicyController
    from tarsus.registry import trust as trust
    from tarsus.robots import load as load
    from tarsus.simulation.recording.attitude import trunk_angles as trunk_angles
    from tarsus.simulation.recording.divergence import Diverged as Diverged
    from tarsus.simulation.recording.impact_table import impacts as impacts
    from tarsus.simulation.recording.interrupt import Interrupted as Interrupted
    from tarsus.simulation.recording.summary import summary as summary
    from tarsus.simulation.simulation import Simulation as Simulation
    from tarsus.simulation.world import world as world
    from tarsus.stepping.substeps import Substeps as Substeps
    from tarsus.sweeps.run import sweep as sweep
    from tarsus.terrain.heightfield import HeightField as HeightField
    from tarsus.terrain.plane import Plane as Plane
    from tarsus.terrain.slope import Slope as Slope
    from tarsus.terrain.surface import Surface as Surface
    from tarsus.viewer.log_accessor import open_log as open_log
    from tarsus.viewer.user_loop import view as view

__version__ = "0.1.0"

# public names in reading order and their modules, imported on first use so that `import tarsus`
# is fast
_HOMES = {
    "load": "tarsus.robots",
    "Simulation": "tarsus.simulation.simulation",
    "open_log": "tarsus.viewer.log_accessor",
    "view": "tarsus.viewer.user_loop",
    "world": "tarsus.simulation.world",
    "Environment": "tarsus.environments.environment",
    "PPO": "tarsus.learning.methods.ppo",
    "Policy": "tarsus.learning.policy",
    "PolicyController": "tarsus.policies.controller",
    "Planner": "tarsus.planning.planner",
    "Ball": "tarsus.model.objects",
    "Box": "tarsus.model.objects",
    "Cylinder": "tarsus.model.objects",
    "summary": "tarsus.simulation.recording.summary",
    "trunk_angles": "tarsus.simulation.recording.attitude",
    "impacts": "tarsus.simulation.recording.impact_table",
    "sweep": "tarsus.sweeps.run",
    "identify": "tarsus.identification.run",
    "rank_laws": "tarsus.identification.laws",
    "judge": "tarsus.comparison.judge",
    "rerun": "tarsus.comparison.rerun",
    "trust": "tarsus.registry",
    "Robot": "tarsus.dynamics.robot",
    "Moreau": "tarsus.contact.laws.moreau",
    "Compliant": "tarsus.contact.laws.compliant",
    "Law": "tarsus.contact.base",
    "ForceLaw": "tarsus.contact.base",
    "Substeps": "tarsus.stepping.substeps",
    "Plane": "tarsus.terrain.plane",
    "Slope": "tarsus.terrain.slope",
    "HeightField": "tarsus.terrain.heightfield",
    "Surface": "tarsus.terrain.surface",
    "material": "tarsus.contact.material",
    "Controller": "tarsus.control.base",
    "TarsusError": "tarsus.errors",
    "TarsusWarning": "tarsus.errors",
    "Diverged": "tarsus.simulation.recording.divergence",
    "Interrupted": "tarsus.simulation.recording.interrupt",
}
__all__ = [*_HOMES, "__version__"]  # noqa: PLE0604  # pyright: ignore  the names above


if "gymnasium" in sys.modules:  # register our environments for its users
    register()
before_first_log(lambda: importlib.import_module("tarsus.viewer.log_accessor"))


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'tarsus' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
