"""A robot as a table for people, in plain text."""

from __future__ import annotations

import numpy as np

from tarsus.errors import several
from tarsus.model.mechanism import WORLD, Body, LoopJoint, Mechanism

HEAD = ("body", "parent", "joint", "kind", "mass kg", "range", "motor")
SHOWN = 12  # names listed before "and ... more"


def described(mechanism: Mechanism) -> str:
    """Totals, one row a body, contact candidates, keyframes and notes."""
    m = mechanism
    lines = [
        totals(m),
        "",
        *_table([HEAD, *(_row(m, body) for body in m.bodies)]),
        "",
        f"contact candidates: {several([c.name for c in m.candidates], SHOWN)}",
        *([f"loop joints: {several([_loop(m, k) for k in m.loops], SHOWN)}"] if m.loops else []),
        *([f"joints that follow others: {several(_followers(m), SHOWN)}"] if m.couplings else []),
        f"frames: {several([f.name for f in m.frames], SHOWN)}",
        f"keyframes: {several(list(m.keyframes), SHOWN)}",
    ]
    return "\n".join([*lines, *(f"note: {note}" for note in m.notes)])


def totals(mechanism: Mechanism) -> str:
    """What it is made of, in one line."""
    m = mechanism
    base = "floating base" if m.floating else "fixed base"
    return (
        f"{m.name}: {len(m.bodies)} bodies, {m.nu} degrees of freedom ({base}), {m.mass:.6g} kg, "
        f"{len(m.actuators)} motors, {len(m.candidates)} contact candidates"
    )


def _row(mechanism: Mechanism, body: Body) -> tuple[str, ...]:
    joint, unit = body.joint, "m" if body.joint.kind == "slide" else "rad"
    limited = np.isfinite(joint.lower) or np.isfinite(joint.upper)
    span = f"{joint.lower:.4g} .. {joint.upper:.4g} {unit}" if limited else ""
    push = "N" if joint.kind == "slide" else "N m"
    motors = [
        f"{a.lower:.4g} .. {a.upper:.4g} {push}"
        for a in mechanism.actuators
        if a.joint == joint.name
    ]
    parent = "" if body.parent == WORLD else mechanism.bodies[body.parent].name
    return (
        body.name,
        parent,
        joint.name,
        joint.kind,
        f"{body.inertia.mass:.4g}",
        span,
        ", ".join(motors),
    )


def _loop(mechanism: Mechanism, loop: LoopJoint) -> str:
    ends = [
        "world" if end == WORLD else mechanism.bodies[end].name for end in (loop.parent, loop.child)
    ]
    return f"{loop.joint.name} ({loop.joint.kind}, {ends[0]} to {ends[1]})"


def _followers(mechanism: Mechanism) -> list[str]:
    return [f"{c.joint} ({c.leader or 'held where it is'})" for c in mechanism.couplings]


def _table(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[k]) for row in rows) for k in range(len(HEAD))]
    lines = [
        "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    return [lines[0], "-" * max(map(len, lines)), *lines[1:]]
