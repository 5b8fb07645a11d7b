"""What became of the drops of Figure 6: verdicts, tables, checks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, get_args

from numpy.typing import NDArray

from tarsus.contact.membrane import Damper, Phase
from tarsus_papers.base import Check, Table
from tarsus_papers.sugihara2006.configurations import hoap1, rotor

Array = NDArray[Any]
HEIGHT, SECONDS = 0.05, 1.5  # m (section IV-B), s
STEPS, ALL_STEPS = (0.001, 0.0025), (0.001, 0.0025, 0.004, 0.006, 0.01)  # s: the paper's, and more
POINTS = (4, 6, 8)  # of a sole: 8 to 16 vertices in all
LEAP = 0.1 * HEIGHT  # m: what rises higher above its standing height after landing leaps
HIGHER = 1e-3  # m
PHASES: tuple[Phase, ...] = get_args(Phase)
DAMPERS: tuple[Damper, ...] = get_args(Damper)[::-1]  # conventional first
EQUATIONS = {"conventional": "(13)", "timestep": "(14)"}


@dataclass(frozen=True)
class Fall:
    """What became of one drop."""

    leap: float | None
    """How high the trunk rose above standing after it had landed, m; None: the run diverged."""
    time: Array
    """s."""
    height: Array
    """Of the trunk above standing, m."""
    energy: Array
    """Kinetic and potential energy less that of standing still, J."""
    closed: Array
    """Contacts that press."""

    @property
    def verdict(self) -> str:
        """In one word."""
        if self.leap is None:
            return "diverges"
        return "leaps" if self.leap > LEAP else "stays"


def law_name(damper: str, phase: str) -> str:
    """Of a reading of the damper, for tables."""
    return f"{EQUATIONS[damper]}, c in {phase}"


def _mm(fall: Fall) -> float | str:
    return "diverges" if fall.leap is None else 1e3 * fall.leap


def tables(flat: dict, many: dict, servoed: dict) -> list[Table]:
    """Leaps in mm by law and step, by law and vertices, by law, step and armature."""
    laws = [(damper, phase) for damper in DAMPERS for phase in PHASES]

    def table(title: str, falls: dict, ends: list[tuple], names: list[str]) -> Table:
        rows = [(law_name(*law), *(_mm(falls[(*law, *end)]) for end in ends)) for law in laws]
        return Table(title, ("leap / mm", *names), rows)

    steps = list(dict.fromkeys(dt for *_, dt in flat))
    found = [
        table(
            "Joints locked, 8 vertices",
            flat,
            [(dt,) for dt in steps],
            [f"{1e3 * dt:g} ms" for dt in steps],
        )
    ]
    if many:
        names = [f"{2 * n} vertices" for n in POINTS]
        found.append(table("Joints locked, 2.5 ms", many, [(n,) for n in POINTS], names))
    if servoed:
        ends = list(dict.fromkeys((dt, a) for *_, dt, a in servoed))
        names = [f"{1e3 * dt:g} ms, {a:g} kg m²" for dt, a in ends]
        found.append(table("Joints held by servos, by step and armature", servoed, ends, names))
    return found


def checks(flat: dict, servoed: dict) -> list[Check]:
    """Finite at 1 ms, and (14) no worse than (13) with c on release."""
    # runs at the small step
    own = rotor(hoap1())
    ran = {k: f for k, f in flat.items() if k[2] == STEPS[0]}
    ran |= {k: f for k, f in servoed.items() if k[2] == STEPS[0] and k[3] == own}
    wrong = [k for k, fall in ran.items() if fall.leap is None]
    # where both dampers stay finite, and where only the conventional one does
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
            f"every run at 1 ms is finite, joints locked or held with rotors of {own:g} kg m²",
            not wrong,
            f"{len(wrong)} of {len(ran)} diverge",
        ),
        Check(
            "with c on release, (14) never leaps more than 1 mm higher than (13)",
            not worse and max(extra) < HIGHER,
            f"at most {1e3 * max(extra):.2g} mm higher",
        ),
    ]
