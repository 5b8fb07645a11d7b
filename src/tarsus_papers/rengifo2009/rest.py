"""Section II.A: depth of a resting ball under the paper's law and on a spring."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from tarsus.contact.laws.compliant import Compliant
from tarsus.contact.laws.linearized import Linearized
from tarsus.simulation.simulation import Simulation
from tarsus_papers.base import Check, Exhibit, Finding, Row, Table, Task
from tarsus_papers.rengifo2009.ball import landing_stepper
from tarsus_papers.rengifo2009.bodies import Array, G, ball, pose_on_slope

MASSES = np.array([0.1, 1.0, 10.0])  # kg
K_P, K_V = 500.0, 250.0  # section IV
EPSILON = 1e-6  # m, section V
SPRING, DAMPER = 1e4, 100.0  # N/m, N s/m, ours: half the critical damping of 1 kg
HEIGHT, SECONDS, DT, LAST = 1e-3, 12.0, 1e-4, 0.5  # m, s, s, s
WHERE = "section II.A"


class SteadyDepth(Exhibit):
    """Balls of three masses under the law with and without interpenetration, and on a spring."""

    name: ClassVar[str] = "rest"
    title: ClassVar[str] = "How deep a ball rests"
    where: ClassVar[str] = f"{WHERE}, Eqns. (2)-(4), section V"
    about: ClassVar[str] = (
        f"Balls of 0.1, 1 and 10 kg fall {1e3 * HEIGHT:g} mm. A spring and damper as in Eqn. (2)"
        " keep them m g / k_p deep, which depends on the mass; the paper's own law should keep them"
        " at the surface, or at the ε of section V, whatever they weigh. Spring and damper are ours"
        " (1e4 N/m, 100 N s/m), and never pull; the law's gains are those of section IV. With ε = 0"
        " a ball does not come to rest: it surfaces, falls for a part of a step, at g dt at most,"
        " and goes g dt / k_v deep by that. This is what section V calls a false impact."
    )

    def measure(self, task: Task) -> Finding:
        # the same fall on all grounds
        task.tell("spring and damper")
        spring = _depths(Compliant(c_N=SPRING, d_N=DAMPER))
        task.tell("the law")
        law = {eps: _depths(Linearized(k_p=K_P, k_v=K_V, epsilon=eps)) for eps in (0.0, EPSILON)}
        # beside the formulas
        expected = MASSES * G / SPRING
        false = G * DT / K_V
        rows = [
            Row(f"spring, {m:g} kg: depth at rest", 1e3 * e, 1e3 * float(d.mean()), "mm", WHERE,
                "m g / k_p")
            for m, e, d in zip(MASSES, expected, spring.T, strict=True)
        ]  # fmt: skip
        rows += [
            Row("the law, ε 0, all masses: largest depth", 0.0, 1e3 * float(law[0.0].max()), "mm",
                WHERE, f"below g dt / k_v = {1e3 * false:.1e} mm, which shrinks with dt"),
            Row("the law, ε 1e-6 m, all masses: depth", 1e3 * EPSILON,
                1e3 * float(law[EPSILON].mean()), "mm", "section V"),
        ]  # fmt: skip
        off = float(np.abs(spring / expected - 1).max())
        own = float(np.abs(law[EPSILON] / EPSILON - 1).max())
        checks = [
            Check("the spring's depth is m g / k_p to 1e-6", off < 1e-6, f"{off:.1e} off"),
            Check("the law's depth is ε to 1e-6, whatever the mass", own < 1e-6, f"{own:.1e} off"),
            Check(
                "with ε = 0 no ball stays deeper than g dt / k_v",
                bool(law[0.0].max() < false),
                f"{law[0.0].max():.1e} m",
            ),
        ]
        columns = ("", *(f"{m:g} kg: depth / mm" for m in MASSES))
        table = Table(
            f"Largest depth in the last {LAST:g} s of {SECONDS:g} s",
            columns,
            [
                (name, *(1e3 * d.max(axis=0)))
                for name, d in (
                    (f"spring {SPRING:g} N/m", spring),
                    ("the law, ε 0", law[0.0]),
                    ("the law, ε 1e-6 m", law[EPSILON]),
                )
            ],
        )
        data = {
            "masses": MASSES,
            "spring": spring[-1],
            "law": law[EPSILON][-1],
            "surface": law[0.0].max(),
        }
        return Finding(data, rows, [table], checks)


def _depths(law: Any) -> Array:
    """Return the depths of the balls (m), shape (steps, masses), at the end of the fall."""
    simulation = Simulation(
        ball(), law, landing_stepper(), dt=DT, worlds=len(MASSES), mass_scale={"ball": MASSES}
    )
    simulation.set(q=pose_on_slope(np.full(len(MASSES), HEIGHT)))
    simulation.advance(SECONDS - LAST)
    return -simulation.backend.record(round(LAST / DT))["q"][..., 2]
