"""Impulses at contact gain, Eqn. (4): velocities, momentum and energy of impacts (Ogunsola)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tarsus.contact.laws.lcp_impulse import LcpImpulse
from tarsus.viewer.colors import COLORS
from tarsus_papers.base import Check, Exhibit, Finding, Table, Task
from tarsus_papers.ogunsola.drop_runs import DropRun, Impacts, drops
from tarsus_papers.ogunsola.drops import (
    CASES,
    Array,
    clearances,
    load_hyq,
    normal,
    normal_rows,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MIN_REBOUND_SPEED = float(LcpImpulse().v_0)  # m/s: slower impacts do not rebound


class ImpactsPart(Exhibit):
    """All impacts of all cases."""

    name: ClassVar[str] = "impacts"
    title: ClassVar[str] = "Impulses at contact gain"
    location: ClassVar[str] = "Eqn. (4)"
    description: ClassVar[str] = (
        "By Eqn. (4) the momentum of all joints changes by T Lambda, and the normal velocities of"
        " the contacts are reversed, zeta+ = -e zeta-. As printed, it is an equality for all closed"
        " contacts: if one foot lands while others stand, it may pull these. Here Lambda >= 0 and"
        " zeta+ >= -e zeta- are complementary, so that a foot may lift off; impacts in which this"
        f" makes a difference are counted. e applies above {MIN_REBOUND_SPEED:g} m/s."
    )
    caption: ClassVar[str] = (
        "Ratio of kinetic energy after and before an impact, over its impulse; no point lies above"
        " 1."
    )

    def measure(self, task: Task) -> Finding:
        # residuals of Eqn. (4) in each impact
        run = drops(task.quick)
        smooth = [k for k, case in enumerate(CASES) if case.mu == 0]
        results = {k: _residuals(run, k) for k in range(len(CASES))}
        momentum_error = max(results[k]["momentum"] for k in smooth)
        velocity_error = max(results[k]["turned"] for k in smooth)
        energy_change = max(f["gained"] for f in results.values())
        released = sum(f["let_go"] for f in results.values())
        total = sum(f["impacts"] for f in results.values())
        checks = [
            Check("T Lambda is the change of all joints' momentum, to 1e-10 (no friction)",
                  momentum_error < 1e-10, f"{momentum_error:.1e} of it"),
            Check("zeta+ = -e zeta- where Lambda > 0, to 1e-10 of the fastest (no friction)",
                  velocity_error < 1e-10, f"{velocity_error:.1e}"),
            Check("kinetic energy never grows in an impact, to 1e-12", energy_change < 1e-12,
                  f"largest change {energy_change:+.1e} of it"),
        ]  # fmt: skip
        columns = (
            "case",
            "impacts",
            "released",
            "momentum",
            "velocity",
            "largest change of energy",
        )
        rows = [
            (f"{CASES[k].scenario.name}, {CASES[k].name}", f["impacts"], f["let_go"],
             f["momentum"] if k in smooth else None, f["turned"], f["gained"])
            for k, f in results.items()
        ]  # fmt: skip
        data = {"kept": {str(e): _energies(run, e) for e in (0.0, 0.5)}}
        notes = [
            f"In {released} of {total:,} impacts a closed contact opens that the equality of (4)"
            " would have kept closed.",
            f"{run.lost_impacts:,} more impacts follow each other so closely (more than four in one"
            " step) that the log has their impulses but no row for them.",
            "Friction goes beyond the paper: a Coulomb cone with the same e along the normal. The"
            " momentum of these impacts is not shown, because T contains only normal directions.",
        ]
        return Finding(data, (), [Table("Relative errors", columns, rows)], checks, notes)

    def draw(self, data: Mapping[str, Any]) -> Figure:
        from matplotlib.figure import Figure

        figure = Figure(figsize=(9, 3.6), layout="constrained")
        ax = figure.subplots()
        for (e, points), color in zip(data["kept"].items(), COLORS, strict=False):
            ax.plot(points["impulse"], points["left"], "o", ms=4, color=color, label=f"e {e}")
        ax.axhline(1, color=COLORS[7], lw=0.8)
        ax.set(
            xscale="log", xlabel="sum of impulses / (N s)", ylabel="kinetic energy after / before"
        )
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(1, 0.5))
        return figure


def _residuals(run: DropRun, world: int) -> dict[str, float]:
    """Return the relative residuals of Eqn. (4) in the impacts of one world."""
    case, impacts = CASES[world], run.impacts_in(world)
    impulse = impacts.impulse[..., 0]
    # closed contacts, and their expected velocities after the impact
    up = normal(case.scenario.ground)
    closed = clearances(load_hyq(), impacts.q, up, run.contacts) < 1e-8
    approach, after = impacts.before[..., 0], impacts.after[..., 0]
    expected = np.where(approach < -MIN_REBOUND_SPEED, -case.e * approach, 0.0)
    fastest = np.abs(approach).max(axis=1, initial=0.0)
    error = np.where(impulse > 0, np.abs(after - expected), 0.0).max(axis=1)
    return {
        "impacts": len(impacts.time),
        "let_go": int((closed & (impulse == 0) & (after > expected + 1e-9)).any(axis=1).sum()),
        "momentum": _momentum(run, impacts, up),
        "turned": float((error / fastest).max(initial=0.0)),
        "gained": float((impacts.kinetic_after / impacts.kinetic_before - 1).max(initial=-1.0)),
    }


def _momentum(run: DropRun, impacts: Impacts, up: Array) -> float:
    """Return |M (u+ - u-) - T Lambda| relative to |M u-|, for the normal part only."""
    M = load_hyq().mass_matrix(impacts.q)
    changed = np.einsum("kij,kj->ki", M, impacts.u_after - impacts.u_before)
    T = normal_rows(load_hyq(), impacts.q, up, run.contacts)
    impulse = np.einsum("kni,kn->ki", T, impacts.impulse[..., 0])
    size = np.linalg.norm(np.einsum("kij,kj->ki", M, impacts.u_before), axis=1)
    return float((np.linalg.norm(changed - impulse, axis=1) / size).max(initial=0.0))


def _energies(run: DropRun, e: float) -> dict[str, Array]:
    """Return impulse and energy ratio of all impacts with this restitution."""
    worlds = [k for k, case in enumerate(CASES) if case.e == e]
    impacts = run.impacts.of(np.isin(run.impacts.world, worlds))
    return {
        "impulse": impacts.impulse[..., 0].sum(axis=1),
        "left": impacts.kinetic_after / impacts.kinetic_before,
    }
