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
SPRING, DAMPER = 1e4, 100.0  # N/m, N s/m: half the critical damping of 1 kg; not in the paper
HEIGHT, SECONDS, DT, LAST = 1e-3, 12.0, 1e-4, 0.5  # m, s, s, s
LOCATION = "section II.A"


class SteadyDepth(Exhibit):
    """Balls of three masses under the law with and without interpenetration, and on a spring."""

    name: ClassVar[str] = "rest"
    title: ClassVar[str] = "Depth of a resting ball"
    location: ClassVar[str] = f"{LOCATION}, Eqns. (2)-(4), section V"
    description: ClassVar[str] = (
        f"Balls of 0.1, 1 and 10 kg fall {1e3 * HEIGHT:g} mm. On a spring and damper as in Eqn. (2)"
        " they rest at a depth of m g / k_p, which depends on the mass. Under the paper's law they"
        " should rest at the surface, or at the depth ε of section V, for any mass. Spring and"
        " damper (1e4 N/m, 100 N s/m, without tensile forces) were chosen here; the gains of the"
        " law are those of section IV. With ε = 0 a ball does not come to rest: it leaves the"
        " surface, falls for part of a step, reaches a speed of at most g dt, and sinks by"
        " g dt / k_v. Section V calls this a false impact."
    )

    def measure(self, task: Task) -> Finding:
        # the same fall on all grounds
        task.on_progress("spring and damper")
        spring = _depths(Compliant(c_N=SPRING, d_N=DAMPER))
        task.on_progress("the law")
        law = {eps: _depths(Linearized(k_p=K_P, k_v=K_V, epsilon=eps)) for eps in (0.0, EPSILON)}
        # comparison with the formulas
        expected = MASSES * G / SPRING
        false_depth = G * DT / K_V
        rows = [
            Row(f"spring, {m:g} kg: depth at rest", 1e3 * e, 1e3 * float(d.mean()), "mm", LOCATION,
                "m g / k_p")
            for m, e, d in zip(MASSES, expected, spring.T, strict=True)
        ]  # fmt: skip
        rows += [
            Row("the law, ε 0, all masses: largest depth", 0.0, 1e3 * float(law[0.0].max()), "mm",
                LOCATION,
                f"below g dt / k_v = {1e3 * false_depth:.1e} mm, which decreases with dt"),
            Row("the law, ε 1e-6 m, all masses: depth", 1e3 * EPSILON,
                1e3 * float(law[EPSILON].mean()), "mm", "section V"),
        ]  # fmt: skip
        spring_error = float(np.abs(spring / expected - 1).max())
        law_error = float(np.abs(law[EPSILON] / EPSILON - 1).max())
        checks = [
            Check(
                "the depth on the spring is m g / k_p to 1e-6",
                spring_error < 1e-6,
                f"error {spring_error:.1e}",
            ),
            Check(
                "the depth under the law is ε to 1e-6 for any mass",
                law_error < 1e-6,
                f"error {law_error:.1e}",
            ),
            Check(
                "with ε = 0 the depth is less than g dt / k_v",
                bool(law[0.0].max() < false_depth),
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
