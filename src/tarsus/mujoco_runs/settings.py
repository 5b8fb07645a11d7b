"""MuJoCo's contact and integrator settings as options of a run, and named sets of them.

Only `NAMED` declares the sets. Source: MuJoCo 4.0 documentation, chapter Modeling, section "Model
tuning" ("Tuning defaults" and "Global options").
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from tarsus import registry
from tarsus.dynamics.robot import Robot
from tarsus.errors import InvalidValue, WarningRecord, join_names, unknown_name_error
from tarsus.model.mjcf_contacts import SOFTNESS
from tarsus.model.parts import MAX_LISTED
from tarsus.mujoco_runs.library import mujoco
from tarsus.parameters import check, choice, friction, parameter
from tarsus.simulation.part_parameters import assigned_names, set_parameters

MIN_FRICTION = 1e-5  # [1], smallest friction coefficient that MuJoCo accepts
ENGINE = "mujoco"
DEFAULT, TUNED, DISCRETE, CUSTOM = "default", "tuned", "discrete", "set"
FILE_PARAMETERS = ("solref", "solimp", "impratio")  # that a model file sets, besides its friction
SHOWN = (DEFAULT, TUNED)  # sets that a table shows by default


@dataclass(frozen=True)
class MujocoSettings:
    """Contact and integrator settings of a run in MuJoCo, the same for every contact.

    The defaults are MuJoCo's own, except for the friction coefficient.
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
        "time integration",
        Euler="semi-implicit, with implicit joint damping",
        implicit="implicit in velocity",
        implicitfast="implicit in velocity, except for Coriolis forces",
        RK4="fourth-order Runge-Kutta",
        discrete="contacts solved together with implicit velocities and springs (MuJoCo 3.13)",
    )
    cone: str = choice("pyramidal", "friction cone", pyramidal="four-sided", elliptic="round")
    impratio: float = parameter(
        1.0, "[1]", "ratio of frictional to normal impedance of contacts", "(0, inf)"
    )
    noslip_iterations: int = parameter(
        0, "[1]", "iterations after the solver that remove slip of sticking contacts", "[0, inf)"
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
    def from_file(
        cls,
        robot: Robot,
        records: list[WarningRecord],
        mu: float | None = None,
        replaced: Collection[str] = (),
    ) -> MujocoSettings:
        """Create settings with the contact parameters of the robot's file.

        Parameters
        ----------
        robot
            Robot whose file may set contact parameters.
        records
            List to which warnings are appended: values taken from the file, and values ignored.
        mu
            Friction coefficient [1] that replaces the file's.
        replaced
            Names of parameters that the caller sets afterwards, which need no warning.
        """
        # the file's parameters override the defaults
        defaults, material = cls() if mu is None else cls(mu=mu), robot.material
        soft = zip(SOFTNESS, (*defaults.solref, *defaults.solimp), strict=True)
        soft = tuple(material.get(name, value) for name, value in soft)
        values = {
            "mu": material.get("mu", defaults.mu) if mu is None else mu,
            "solref": soft[: len(defaults.solref)],
            "solimp": soft[len(defaults.solref) :],
            "impratio": material.get("impratio", defaults.impratio),
        }
        # warnings
        changed = ", ".join(
            f"{name} {_format_text(value)}"
            for name, value in values.items()
            if value != getattr(defaults, name) and name not in replaced
        )
        if changed:
            text = f"contacts use these values from the file of {robot.name!r}: {changed}."
            records.append(WarningRecord(text, "contact-values-of-file", robot.name))
        different = [c.name for c in robot.candidates if not np.isclose(c.friction, 1.0)]
        if different:
            text = (
                "runs in MuJoCo have one friction coefficient for all contacts; the coefficients of"
                f" these geoms are ignored: {join_names(different, MAX_LISTED)}."
            )
            records.append(WarningRecord(text, "friction-of-geoms-ignored", different[0]))
        return cls(**values)  # type: ignore[arg-type]

    def description(self) -> str:
        """Describe all settings except friction: "integrator Euler, cone pyramidal, ..."."""
        shown = (f.name for f in fields(self) if f.name != "mu")
        return ", ".join(f"{name} {_format_text(getattr(self, name))}" for name in shown)

    @property
    def velocity_level(self) -> bool:
        """Whether a step is a single balance of momentum."""
        return self.integrator != "RK4"

    @property
    def solves_once(self) -> bool:
        """Whether the contact problem is solved once per step."""
        return self.velocity_level

    @property
    def coefficient(self) -> float:
        """Friction coefficient passed to MuJoCo [1]."""
        return max(self.mu, MIN_FRICTION)

    def apply(self, model: Any) -> None:
        """Set a model's options and the contact parameters of all its geoms, except friction."""
        mj = mujoco()
        model.opt.integrator = getattr(mj.mjtIntegrator, f"mjINT_{self.integrator.upper()}")
        model.opt.cone = getattr(mj.mjtCone, f"mjCONE_{self.cone.upper()}")
        model.opt.impratio, model.opt.noslip_iterations = self.impratio, self.noslip_iterations
        model.geom_solref[:], model.geom_solimp[:] = self.solref, self.solimp


def _format_text(value: Any) -> str:
    """Format a setting as `--set` accepts it."""
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
    # the guide names it as a candidate for the next recommended integrator
    DISCRETE: replace(RECOMMENDED, integrator="discrete"),
}


@dataclass(frozen=True)
class SettingsSelection:
    """Sets of MuJoCo settings that a table compares, one row each."""

    names: tuple[str, ...] = SHOWN
    """Keys of `NAMED`."""
    assignments: tuple[str, ...] = ()
    """NAME=VALUE changes of MuJoCo's defaults, shown as an additional row."""

    def custom_settings(self, base: MujocoSettings | None = None) -> MujocoSettings:
        """Change `base`, by default MuJoCo's defaults, by `assignments`.

        Raises
        ------
        TarsusError
            If a name or value is not valid.
        """
        return set_parameters({"engine": base or NAMED[DEFAULT]}, self.assignments)["engine"]

    def for_robot(
        self, robot: Robot, mu: float | None = None
    ) -> dict[str, tuple[MujocoSettings, list[WarningRecord]]]:
        """Build the settings for a robot, with warnings about what its file changes.

        `default` and the custom settings use the contact parameters of the robot's file. The other
        sets use only its friction coefficient.

        Parameters
        ----------
        robot
            Robot whose file may set contact parameters.
        mu
            Friction coefficient [1] that replaces the file's.

        Returns
        -------
        dict
            Settings and warnings by label.
        """
        selected = dict[str, tuple[MujocoSettings, list[WarningRecord]]]()
        for name in (*self.names, *([CUSTOM] if self.assignments else [])):
            records = list[WarningRecord]()
            replaced = set[str]() if name == DEFAULT else set(FILE_PARAMETERS)
            if name == CUSTOM:
                replaced = assigned_names(self.assignments, "engine", MujocoSettings())
            settings = MujocoSettings.from_file(robot, records, mu, replaced)
            if name == CUSTOM:
                settings = self.custom_settings(settings)
            elif name != DEFAULT:
                settings = replace(find_settings(name), mu=settings.mu)
            selected[row_label(name)] = settings, records
        return selected


def find_settings(name: str) -> MujocoSettings:
    """Look up settings by name; raise UnknownName for an unknown one."""
    if name not in NAMED:
        raise unknown_name_error("MuJoCo setting", name, NAMED)
    return NAMED[name]


def tuned_settings(mu: float) -> MujocoSettings:
    """Return the tuned settings, which benchmarks time, with a friction coefficient."""
    return replace(NAMED[TUNED], mu=mu)


def parse_names(text: str) -> tuple[str, ...]:
    """Parse a list such as "default,tuned", without duplicates; "all" stands for every name."""
    names = registry.split_names(text)
    chosen = list(NAMED) if "all" in names else names
    for name in chosen:
        find_settings(name)
    return tuple(dict.fromkeys(chosen))


def row_label(name: str) -> str:
    """Create the label of a row in a table, such as "mujoco tuned"."""
    return f"{ENGINE} {name}"


def describe_sets(settings: Mapping[str, MujocoSettings]) -> list[str]:
    """Describe each set below a table: its label, MuJoCo's version, and all its values."""
    version = mujoco().__version__ if settings else ""
    return [f"{name} (MuJoCo {version}): {each.description()}" for name, each in settings.items()]
