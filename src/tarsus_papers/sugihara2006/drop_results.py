"""Results of the drops of Figure 6: verdicts, tables and checks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, get_args

from numpy.typing import NDArray

from tarsus.contact.membrane import Damper, Phase
from tarsus_papers.base import Check, Table
from tarsus_papers.sugihara2006.configurations import hoap1, rotor

Array = NDArray[Any]
HEIGHT, SECONDS = 0.05, 1.5  # m (section IV-B), s
STEPS, ALL_STEPS = (0.001, 0.0025), (0.001, 0.0025, 0.004, 0.006, 0.01)  # s: of the paper, and all
POINTS = (4, 6, 8)  # vertices per sole
LEAP = 0.1 * HEIGHT  # m: a larger rise above standing after landing is a leap
LEAP_TOLERANCE = 1e-3  # m
PHASES: tuple[Phase, ...] = get_args(Phase)
DAMPERS: tuple[Damper, ...] = get_args(Damper)[::-1]  # conventional first
EQUATIONS = {"conventional": "(13)", "timestep": "(14)"}


@dataclass(frozen=True)
class Fall:
    """Result of one drop.

    Attributes
    ----------
    leap
        Rise of the trunk above standing after landing, in m; None: the run diverged.
    time
        Time, in s.
    height
        Height of the trunk above standing, in m.
    energy
        Kinetic and potential energy above that of standing still, in J.
    closed
        Number of closed contacts.
    """

    leap: float | None
    time: Array
    height: Array
    energy: Array
    closed: Array

    @property
    def verdict(self) -> str:
        """The verdict: "diverges", "leaps" or "stays"."""
        if self.leap is None:
            return "diverges"
        return "leaps" if self.leap > LEAP else "stays"


def law_name(damper: str, phase: str) -> str:
    """Name one interpretation of the paper's damper, for tables."""
    return f"{EQUATIONS[damper]}, c in {phase}"


def _mm(fall: Fall) -> float | str:
    return "diverges" if fall.leap is None else 1e3 * fall.leap


def tables(flat: dict, many: dict, servoed: dict) -> list[Table]:
    """Return leaps in mm by law and step, by law and vertices, and by law, step and armature."""
    laws = [(damper, phase) for damper in DAMPERS for phase in PHASES]

    def table(title: str, falls: dict, ends: list[tuple], names: list[str]) -> Table:
        rows = [(law_name(*law), *(_mm(falls[(*law, *end)]) for end in ends)) for law in laws]
        return Table(title, ("leap / mm", *names), rows)

    steps = list(dict.fromkeys(dt for *_, dt in flat))
    result = [
        table(
            "Joints locked, 8 vertices",
            flat,
            [(dt,) for dt in steps],
            [f"{1e3 * dt:g} ms" for dt in steps],
        )
    ]
    if many:
        names = [f"{2 * n} vertices" for n in POINTS]
        result.append(table("Joints locked, 2.5 ms", many, [(n,) for n in POINTS], names))
    if servoed:
        ends = list(dict.fromkeys((dt, a) for *_, dt, a in servoed))
        names = [f"{1e3 * dt:g} ms, {a:g} kg m²" for dt, a in ends]
        result.append(table("Joints held by servos, by step and armature", servoed, ends, names))
    return result


def check_drops(flat: dict, servoed: dict) -> list[Check]:
    """Check that runs at 1 ms are finite, and compare the dampers of Eqns. (13) and (14).

    With damping c on release, (14) must not leap more than 1 mm higher than (13), nor diverge where
    (13) stays finite.
    """
    # runs at the smaller step
    armature = rotor(hoap1())
    ran = {k: f for k, f in flat.items() if k[2] == STEPS[0]}
    ran |= {k: f for k, f in servoed.items() if k[2] == STEPS[0] and k[3] == armature}
    diverged = [k for k, fall in ran.items() if fall.leap is None]
    # steps at which both dampers stay finite, and at which only the conventional one does
    extra = [
        flat["timestep", "release", dt].leap - flat["conventional", "release", dt].leap
        for (d, p, dt), fall in flat.items()
        if (d, p) == ("timestep", "release")
        and fall.leap is not None
        and flat["conventional", "release", dt].leap is not None
    ]
    worse = [
        dt
        for (d, p, dt), fall in flat.items()
        if (d, p) == ("timestep", "release")
        and fall.leap is None
        and flat["conventional", "release", dt].leap is not None
    ]
    return [
        Check(
            f"every run at 1 ms is finite, joints locked or held with rotors of {armature:g} kg m²",
            not diverged,
            f"{len(diverged)} of {len(ran)} diverge",
        ),
        Check(
            "with c on release, (14) never leaps more than 1 mm higher than (13)",
            not worse and max(extra) < LEAP_TOLERANCE,
            f"at most {1e3 * max(extra):.2g} mm higher",
        ),
    ]
