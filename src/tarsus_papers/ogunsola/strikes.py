"""Impulses at contact gain, Eqn. (4): velocities, momentum, energy of all strikes (Ogunsola)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tarsus.contact.laws.lcp_impulse import LcpImpulse
from tarsus.viewer.colors import COLORS
from tarsus_papers.base import Check, Exhibit, Finding, Table, Task
from tarsus_papers.ogunsola.drops import (
    CASES,
    Array,
    clearances,
    hyq,
    normal,
    normal_rows,
)
from tarsus_papers.ogunsola.watch import DropRun, Impacts, drops

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SLOWEST = float(LcpImpulse().v_0)  # m/s: what approaches slower does not rebound


class StrikesPart(Exhibit):
    """All strikes of all cases."""

    name: ClassVar[str] = "strikes"
    title: ClassVar[str] = "Impulses at contact gain"
    where: ClassVar[str] = "Eqn. (4)"
    about: ClassVar[str] = (
        "Eqn. (4): the momentum of all joints changes by T Lambda, and the normal velocities of the"
        " contacts turn round, zeta+ = -e zeta-. As printed it is an equality for every closed"
        " contact: where one foot lands while others stand, it may pull those. Here Lambda >= 0,"
        " zeta+ >= -e zeta-, complementary, so that a foot may leave; strikes in which that differs"
        f" are counted. e acts on what approaches faster than {SLOWEST:g} m/s."
    )
    caption: ClassVar[str] = (
        "Kinetic energy that a strike leaves, of what there was, against its impulse; no point lies"
        " above 1."
    )

    def measure(self, task: Task) -> Finding:
        # every strike, and what is left of Eqn. (4) in it
        run = drops(task.quick)
        smooth = [k for k, case in enumerate(CASES) if case.mu == 0]
        found = {k: _of(run, k) for k in range(len(CASES))}
        moved = max(found[k]["momentum"] for k in smooth)
        turned = max(found[k]["turned"] for k in smooth)
        gained = max(f["gained"] for f in found.values())
        pulled = sum(f["let_go"] for f in found.values())
        total = sum(f["strikes"] for f in found.values())
        checks = [
            Check("T Lambda is the change of every joint's momentum, to 1e-10 (no friction)",
                  moved < 1e-10, f"{moved:.1e} of it"),
            Check("zeta+ = -e zeta- where Lambda > 0, to 1e-10 of the fastest (no friction)",
                  turned < 1e-10, f"{turned:.1e}"),
            Check("kinetic energy never rises in a strike, to 1e-12 of it", gained < 1e-12,
                  f"largest change {gained:+.1e} of it"),
        ]  # fmt: skip
        columns = ("case", "strikes", "let go", "momentum", "velocity", "largest change of energy")
        rows = [
            (f"{CASES[k].scenario.name}, {CASES[k].name}", f["strikes"], f["let_go"],
             f["momentum"] if k in smooth else None, f["turned"], f["gained"])
            for k, f in found.items()
        ]  # fmt: skip
        data = {"kept": {str(e): _energies(run, e) for e in (0.0, 0.5)}}
        notes = [
            f"{pulled} of {total:,} strikes let a closed contact go that the equality of (4) would"
            " have held, or pulled.",
            f"{run.lost:,} strikes more came so close together (more than"
            " four in one step) that the log has their impulses, but no row for them.",
            "Friction goes beyond the paper: Coulomb's cone, with the same e along the normal."
            " The momentum of these strikes is not shown, for T holds normal directions alone.",
        ]
        return Finding(data, (), [Table("Errors relative", columns, rows)], checks, notes)

    def draw(self, data: Mapping[str, Any]) -> Figure:
        from matplotlib.figure import Figure

        figure = Figure(figsize=(9, 3.6), layout="constrained")
        ax = figure.subplots()
        for (e, points), color in zip(data["kept"].items(), COLORS, strict=False):
            ax.plot(points["impulse"], points["left"], "o", ms=4, color=color, label=f"e {e}")
        ax.axhline(1, color=COLORS[7], lw=0.8)
        ax.set(
            xscale="log", xlabel="sum of impulses / (N s)", ylabel="kinetic energy left / before"
        )
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(1, 0.5))
        return figure


def _of(run: DropRun, world: int) -> dict[str, float]:
    """How far the strikes of one world are from Eqn. (4), relative."""
    case, strikes = CASES[world], run.struck_in(world)
    pushed = strikes.impulse[..., 0]
    # contacts that a strike finds closed, and what each should leave with
    up = normal(case.scenario.ground)
    closed = clearances(hyq(), strikes.q, up, run.contacts) < 1e-8
    approach, left = strikes.before[..., 0], strikes.after[..., 0]
    wanted = np.where(approach < -SLOWEST, -case.e * approach, 0.0)
    fastest = np.abs(approach).max(axis=1, initial=0.0)
    error = np.where(pushed > 0, np.abs(left - wanted), 0.0).max(axis=1)
    return {
        "strikes": len(strikes.time),
        "let_go": int((closed & (pushed == 0) & (left > wanted + 1e-9)).any(axis=1).sum()),
        "momentum": _momentum(run, strikes, up),
        "turned": float((error / fastest).max(initial=0.0)),
        "gained": float((strikes.kinetic_after / strikes.kinetic_before - 1).max(initial=-1.0)),
    }


def _momentum(run: DropRun, strikes: Impacts, up: Array) -> float:
    """|M (u+ - u-) - T Lambda|, of |M u-|; the normal part alone."""
    M = hyq().mass_matrix(strikes.q)
    changed = np.einsum("kij,kj->ki", M, strikes.u_after - strikes.u_before)
    T = normal_rows(hyq(), strikes.q, up, run.contacts)
    given = np.einsum("kni,kn->ki", T, strikes.impulse[..., 0])
    size = np.linalg.norm(np.einsum("kij,kj->ki", M, strikes.u_before), axis=1)
    return float((np.linalg.norm(changed - given, axis=1) / size).max(initial=0.0))


def _energies(run: DropRun, e: float) -> dict[str, Array]:
    """Impulse and part of the kinetic energy left, of all strikes with this restitution."""
    which = [k for k, case in enumerate(CASES) if case.e == e]
    strikes = run.strikes.of(np.isin(run.strikes.world, which))
    return {
        "impulse": strikes.impulse[..., 0].sum(axis=1),
        "left": strikes.kinetic_after / strikes.kinetic_before,
    }
