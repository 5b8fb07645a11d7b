"""MuJoCo's contact and integrator as options of a run, and the named settings that pages show.

`NAMED` is the only place that declares them. Source: MuJoCo 4.0 documentation, chapter Modeling,
section "Model tuning" ("Tuning defaults" and "Global options").
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from tarsus import registry
from tarsus.dynamics.robot import Robot
from tarsus.errors import InvalidValue, WarningRecord, join_names, unknown_name
from tarsus.model.mjcf_contacts import SOFTNESS
from tarsus.model.parts import MAX_LISTED
from tarsus.mujoco_runs.library import mujoco
from tarsus.parameters import check, choice, friction, parameter
from tarsus.simulation.part_parameters import assigned_names, set_parameters

LEAST_FRICTION = 1e-5  # [1]: MuJoCo takes no less
ENGINE = "mujoco"
DEFAULT, TUNED, DISCRETE, OWN = "default", "tuned", "discrete", "set"
FILE_NUMBERS = ("solref", "solimp", "impratio")  # that a file gives beside its friction
SHOWN = (DEFAULT, TUNED)  # what a table shows unless asked for others


@dataclass(frozen=True)
class MujocoSettings:
    """One contact for every foot; the defaults are MuJoCo's own, except for the friction
    coefficient.
    """

    mu: float = friction(0.8)
    solref: tuple[float, float] = parameter(
        (0.02, 1.0),
        "s, [1]",
        "time constant and damping ratio of contacts; both negative: -stiffness, -damping",
    )
    solimp: tuple[float, float, float, float, float] = parameter(
        (0.9, 0.95, 0.001, 0.5, 2.0),
        "[1], [1], m, [1], [1]",
        "impedance of contacts: smallest, largest, width, midpoint, power",
        "[0, inf)",
    )
    integrator: str = choice(
        "Euler",
        "how a step is made",
        Euler="semi-implicit, joint damping implicit",
        implicit="velocities implicit",
        implicitfast="the same without Coriolis forces",
        RK4="Runge-Kutta of fourth order",
        discrete="contacts and implicit velocities and springs solved as one (MuJoCo 3.13)",
    )
    cone: str = choice("pyramidal", "friction cone", pyramidal="four-sided", elliptic="round")
    impratio: float = parameter(1.0, "[1]", "impedance of friction over that of normal", "(0, inf)")
    noslip_iterations: int = parameter(
        0, "[1]", "passes after the solver that remove slip of contacts that stick", "[0, inf)"
    )

    def __post_init__(self) -> None:
        check(self)
        if (self.solref[0] > 0) != (self.solref[1] > 0):
            raise InvalidValue(
                "solref must be a time constant and a damping ratio, such as 0.02,1, or the"
                " negative numbers -stiffness,-damping, not"
                f" {self.solref[0]:g},{self.solref[1]:g}.",
                "solref",
            )

    @classmethod
    def of_file(
        cls,
        robot: Robot,
        notices: list[WarningRecord],
        mu: float | None = None,
        replaced: Collection[str] = (),
    ) -> MujocoSettings:
        """Those with the numbers that the robot's file gives its contacts; notices say which, and
        what is left out.

        mu: in place of the file's; replaced: names of numbers that are set afterwards
        """
        # the file's numbers in place of the defaults
        usual, own = cls() if mu is None else cls(mu=mu), robot.material
        soft = zip(SOFTNESS, (*usual.solref, *usual.solimp), strict=True)
        soft = tuple(own.get(name, value) for name, value in soft)
        taken = {
            "mu": own.get("mu", usual.mu) if mu is None else mu,
            "solref": soft[: len(usual.solref)],
            "solimp": soft[len(usual.solref) :],
            "impratio": own.get("impratio", usual.impratio),
        }
        # what is said of them
        told = ", ".join(
            f"{name} {_text(value)}"
            for name, value in taken.items()
            if value != getattr(usual, name) and name not in replaced
        )
        if told:
            text = f"contacts use these values from the file of {robot.name!r}: {told}."
            notices.append(WarningRecord(text, "contact-values-of-file", robot.name))
        different = [c.name for c in robot.candidates if not np.isclose(c.friction, 1.0)]
        if different:
            text = (
                "runs in MuJoCo have one friction coefficient for all contacts, so that of these"
                f" geoms is ignored: {join_names(different, MAX_LISTED)}."
            )
            notices.append(WarningRecord(text, "friction-of-geoms-ignored", different[0]))
        return cls(**taken)  # type: ignore[arg-type]

    def described(self) -> str:
        """Return every setting but friction as text: "integrator Euler, cone pyramidal, ..."."""
        shown = (f.name for f in fields(self) if f.name != "mu")
        return ", ".join(f"{name} {_text(getattr(self, name))}" for name in shown)

    @property
    def velocity_level(self) -> bool:
        """Whether one balance of momentum makes a step."""
        return self.integrator != "RK4"

    @property
    def solves_once(self) -> bool:
        """Whether the impulses of a step are one solution."""
        return self.velocity_level

    @property
    def coefficient(self) -> float:
        """The friction coefficient that MuJoCo takes [1]."""
        return max(self.mu, LEAST_FRICTION)

    def apply(self, model: Any) -> None:
        """Set a model's options and the contacts of all its geoms, friction aside."""
        mj = mujoco()
        model.opt.integrator = getattr(mj.mjtIntegrator, f"mjINT_{self.integrator.upper()}")
        model.opt.cone = getattr(mj.mjtCone, f"mjCONE_{self.cone.upper()}")
        model.opt.impratio, model.opt.noslip_iterations = self.impratio, self.noslip_iterations
        model.geom_solref[:], model.geom_solimp[:] = self.solref, self.solimp


def _text(value: Any) -> str:
    """A setting as `--set` takes it."""
    return value if isinstance(value, str) else ",".join(f"{x:g}" for x in np.atleast_1d(value))


RECOMMENDED = MujocoSettings(
    # the guide's table: "implicitfast"; "elliptic" cones; solref[0] from 0.004 to 0.01 s and at
    # least two steps, which are 2.5 ms here; solimp[0] kept. Its text: impratio 10 to 100 for legs
    integrator="implicitfast",
    cone="elliptic",
    impratio=100.0,
    solref=(0.005, 1.0),
)
NAMED: Mapping[str, MujocoSettings] = {
    DEFAULT: MujocoSettings(),
    TUNED: RECOMMENDED,
    # the guide's note: on trial as the next recommended integrator
    DISCRETE: replace(RECOMMENDED, integrator="discrete"),
}


@dataclass(frozen=True)
class ShownSettings:
    """The settings at which a table shows MuJoCo, one row each.

    names: keys of `NAMED`
    own: NAME=VALUE on top of MuJoCo's defaults, shown as a row of its own; empty for none
    """

    names: tuple[str, ...] = SHOWN
    own: tuple[str, ...] = ()

    def own_settings(self, base: MujocoSettings | None = None) -> MujocoSettings:
        """Return the settings of `own`; TarsusError for a name or value that MuJoCo has not."""
        return set_parameters({"engine": base or NAMED[DEFAULT]}, self.own)["engine"]

    def of(
        self, robot: Robot, mu: float | None = None
    ) -> dict[str, tuple[MujocoSettings, list[WarningRecord]]]:
        """Return label -> settings for a robot, with notices on what its file changes.

        `default` and one's own take the numbers that the file gives its contacts; the others keep
        theirs and take its friction.
        """
        found = dict[str, tuple[MujocoSettings, list[WarningRecord]]]()
        for name in (*self.names, *([OWN] if self.own else [])):
            notices = list[WarningRecord]()
            replaced = set[str]() if name == DEFAULT else set(FILE_NUMBERS)
            if name == OWN:
                replaced = assigned_names(self.own, "engine", MujocoSettings())
            settings = MujocoSettings.of_file(robot, notices, mu, replaced)
            if name == OWN:
                settings = self.own_settings(settings)
            elif name != DEFAULT:
                settings = replace(named(name), mu=settings.mu)
            found[label(name)] = settings, notices
        return found


def named(name: str) -> MujocoSettings:
    """Return the settings of this name; TarsusError with near names for an unknown one."""
    if name not in NAMED:
        raise unknown_name("MuJoCo setting", name, NAMED)
    return NAMED[name]


def tuned(mu: float) -> MujocoSettings:
    """Return the tuned settings with a friction coefficient: those that benchmarks time."""
    return replace(NAMED[TUNED], mu=mu)


def names_listed(text: str) -> tuple[str, ...]:
    """Return the names in "default,tuned", each once; "all" stands for all there are."""
    given = registry.split_names(text)
    chosen = list(NAMED) if "all" in given else given
    for name in chosen:
        named(name)
    return tuple(dict.fromkeys(chosen))


def label(name: str) -> str:
    """Return the row's name in a table: "mujoco tuned"."""
    return f"{ENGINE} {name}"


def printed(settings: Mapping[str, MujocoSettings]) -> list[str]:
    """Return the lines under a table: label, MuJoCo's version and all numbers of each setting."""
    version = mujoco().__version__ if settings else ""
    return [f"{name} (MuJoCo {version}): {each.described()}" for name, each in settings.items()]
