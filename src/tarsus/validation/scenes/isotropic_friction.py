"""Friction opposes the sliding velocity in every direction."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tarsus.engines.base import Engine, Start
from tarsus.model.mechanism import Mechanism
from tarsus.validation import bodies
from tarsus.validation.bodies import BOX, TOUCH
from tarsus.validation.scenes.base import Case, ValidationScene, worst

HEADINGS = np.linspace(0, 2 * np.pi, 16, endpoint=False) + 0.1  # rad
SOLVER_TOLERANCES = {"T_rel": 1e-12, "T_abs": 1e-14}


class IsotropicFriction(ValidationScene):
    """Bodies slide for 0.3 s at 2 m/s in 16 headings with mu 0.4: change of their heading.

    On compliant ground only a point mass is measured, because a box may rotate there. Iterative
    solvers run to T_rel 1e-12, so that the direction of friction is judged and not their accuracy.
    """

    needs = frozenset({"friction"})
    tolerance: ClassVar[str] = (
        "1e-9 of the speed: a friction disc has no preferred direction, whereas a pyramid turns the"
        " velocity by several percent"
    )

    def measure(self, engine: Engine) -> list[Case]:
        cases = [self._deflection(engine, bodies.point_mass(), 0.0)]
        if engine.impulsive:
            cases.append(self._deflection(engine, bodies.box(), BOX[2]))
        return cases

    def _deflection(self, engine: Engine, body: Mechanism, height: float) -> Case:
        u = np.zeros((len(HEADINGS), 6))
        u[:, 0], u[:, 1] = 2 * np.cos(HEADINGS), 2 * np.sin(HEADINGS)
        accuracy = {k: v for k, v in SOLVER_TOLERANCES.items() if k in engine.parameters}
        start = Start(
            body, bodies.pose([0, 0, height - TOUCH]), u, parameters={"mu": 0.4} | accuracy
        )
        v = engine.run(start, engine.step(0.005), 0.3).u[..., :2]
        across = v[..., 1] * np.cos(HEADINGS) - v[..., 0] * np.sin(HEADINGS)
        deflection = np.abs(across / np.linalg.norm(v, axis=-1)).max(0)
        labels = [f"heading {np.rad2deg(h):.1f} deg" for h in HEADINGS]
        return worst((f"{body.name}: deflection", "1"), 0.0, deflection, 1e-9, labels)
