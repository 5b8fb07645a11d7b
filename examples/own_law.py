"""Write a contact law: sand after Bekker, stiff in loading, dead in unloading.

The force is F = A (k z^n). The law is a dataclass with one method; it is compiled into the step
like the built-in ones, and compared here with two of them on the same robot.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca

import tarsus
from tarsus.parameters import Value, friction, parameter, stiffness


@dataclass(frozen=True)
class Sand(tarsus.ForceLaw):
    """Pressure grows with the depth's power n; only what sinks further is held up.

    Memory: the greatest depth so far of this footprint, m.
    """

    citation: ClassVar[str] = "pressure and sinkage of soil, with a footprint that stays"
    contact_memory: ClassVar[int] = 1

    k: Value = stiffness(8000.0, "N/m^n", "of the sand under one foot")
    n: Value = parameter(1.1, "[1]", "exponent of the depth", "(0, inf)")
    steep: Value = parameter(4.0, "[1]", "stiffness of packed sand, over k", "[1, inf)")
    mu: Value = friction(0.6)
    d: Value = parameter(150.0, "N s/m", "damping", "[0, inf)")
    v_s: Value = parameter(0.05, "m/s", "slip speed at which friction is 71 % of mu F", "(0, inf)")

    def force(self, contact: Any, p: Any, memory: Any) -> tuple[Any, Any]:
        depth = ca.fmax(-contact.gap, 0)
        packed = ca.fmax(memory[0], depth)
        virgin = p.k * packed**p.n
        force = ca.fmax(virgin - p.steep * p.k * (packed - depth), 0)
        normal = ca.fmax(force - p.d * contact.velocity[0] * (force > 0), 0)
        slip = contact.velocity[1:]
        tangent = -p.mu * normal * slip / ca.sqrt(ca.dot(slip, slip) + p.v_s**2)
        return ca.vertcat(normal, tangent), packed

    def memory_when_open(self, contact: Any, p: Any, memory: Any) -> Any:
        return ca.SX.zeros(1)  # another footprint


def main() -> None:
    """The same trot on sand, on a spring, and on rock."""
    print("law          speed     deepest   motor work per meter")
    for law, dt in ((Sand(), 2.5e-4), ("compliant", 2.5e-4), ("moreau", 2.5e-3)):
        sim = tarsus.Simulation("mini_cheetah", law, controller="trot", dt=dt)
        sim.advance(1.0)
        log = sim.run(2.0)
        x = log["q"][:, 0]
        way = float(x[-1] - x[0])
        depth, work = -float(log["gap"].min()), float(log["energy_motors"].sum())
        name = law if isinstance(law, str) else "sand"
        print(f"{name:10s} {way / 2:6.3f} m/s {1e3 * depth:7.2f} mm {work / way:8.1f} J/m")


if __name__ == "__main__":
    main()
