"""MuJoCo's contact and integrator, as options of a run (MuJoCo documentation, chapter Modeling)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tarsus.dynamics.robot import Robot
from tarsus.errors import Notice, TarsusError, several
from tarsus.model.mjcf_contacts import SOFTNESS, SOME
from tarsus.mujoco_runs.library import mujoco
from tarsus.parameters import check, choice, friction, parameter
from tarsus.simulation.settings import names_set

LEAST_FRICTION = 1e-5  # [1]: MuJoCo takes no less


@dataclass(frozen=True)
class MujocoSettings:
    """The same contact of every foot with the ground; the defaults are MuJoCo's own, but for
    elliptic cones and the friction coefficient.
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
    )
    cone: str = choice("elliptic", "friction cone", elliptic="round", pyramidal="four-sided")
    impratio: float = parameter(1.0, "[1]", "impedance of friction over that of normal", "(0, inf)")

    def __post_init__(self) -> None:
        check(self)
        if (self.solref[0] > 0) != (self.solref[1] > 0):
            raise TarsusError(
                "solref must be a time constant and a damping ratio, such as 0.02,1, or both"
                f" negative, -stiffness and -damping, not {self.solref[0]:g},{self.solref[1]:g}."
            )

    @classmethod
    def of_file(
        cls,
        robot: Robot,
        notices: list[Notice],
        mu: float | None = None,
        parameters: Sequence[str] = (),
    ) -> MujocoSettings:
        """Those with the numbers that the robot's file gives its contacts; notices say which, and
        what is left out.

        mu: in place of the file's; parameters: NAME=VALUE that are set afterwards
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
        replaced = names_set(parameters, "engine", usual)
        told = ", ".join(
            f"{name} {','.join(f'{x:g}' for x in np.atleast_1d(value))}"
            for name, value in taken.items()
            if value != getattr(usual, name) and name not in replaced
        )
        if told:
            text = f"contacts take these values from the file of {robot.name!r}: {told}."
            notices.append(Notice(text, "contact-values-of-file", robot.name))
        different = [c.name for c in robot.candidates if not np.isclose(c.friction, 1.0)]
        if different:
            text = (
                "MuJoCo's runs have one friction for all contacts: that of other geoms is ignored"
                f" ({several(different, SOME)})."
            )
            notices.append(Notice(text, "friction-of-geoms-ignored", different[0]))
        return cls(**taken)  # type: ignore[arg-type]

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
        model.opt.impratio = self.impratio
        model.geom_solref[:], model.geom_solimp[:] = self.solref, self.solimp
