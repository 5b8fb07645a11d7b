"""Friction acts against the velocity in every direction."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tarsus.engines.base import Engine, Start
from tarsus.model.mechanism import Mechanism
from tarsus.validation import bodies
from tarsus.validation.bodies import BOX, TOUCH
from tarsus.validation.scenes.base import Case, ValidationScene, worst

HEADING = np.linspace(0, 2 * np.pi, 16, endpoint=False) + 0.1


NEAR = {"T_rel": 1e-12, "T_abs": 1e-14}


class IsotropicFriction(ValidationScene):
    """Bodies at 2 m/s in 16 headings, mu 0.4, for 0.3 s: how far the velocity turns.

    A box on compliant ground may turn, so there it is a point alone. Laws that iterate do so to
    T_rel 1e-12 here: it is the law's direction that is judged, not where its solver stops.
    """

    needs = frozenset({"friction"})
    tolerance: ClassVar[str] = (
        "1e-9 of the speed: a friction disc has no preferred direction; a pyramid turns the"
        " velocity by percents"
    )

    def measure(self, engine: Engine) -> list[Case]:
        cases = [self._turned(engine, bodies.point_mass(), 0.0)]
        if engine.impulsive:
            cases.append(self._turned(engine, bodies.box(), BOX[2]))
        return cases

    def _turned(self, engine: Engine, body: Mechanism, height: float) -> Case:
        u = np.zeros((len(HEADING), 6))
        u[:, 0], u[:, 1] = 2 * np.cos(HEADING), 2 * np.sin(HEADING)
        near = {name: value for name, value in NEAR.items() if name in engine.parameters}
        start = Start(body, bodies.pose([0, 0, height - TOUCH]), u, parameters={"mu": 0.4} | near)
        v = engine.run(start, engine.step(0.005), 0.3).u[..., :2]
        across = v[..., 1] * np.cos(HEADING) - v[..., 0] * np.sin(HEADING)
        turned = np.abs(across / np.linalg.norm(v, axis=-1)).max(0)
        labels = [f"heading {np.rad2deg(h):.1f} deg" for h in HEADING]
        return worst((f"{body.name}: turned", "1"), 0.0, turned, 1e-9, labels)
