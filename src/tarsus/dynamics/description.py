"""Describe a robot in plain text: totals, one row per body, names."""

from __future__ import annotations

import numpy as np

from tarsus.errors import join_names
from tarsus.model.mechanism import WORLD, Body, LoopJoint, Mechanism

HEAD = ("body", "parent", "joint", "kind", "mass kg", "range", "motor")
MAX_NAMES = 12  # names listed before "and ... more"


def description(mechanism: Mechanism) -> str:
    """Describe totals, bodies, contact candidates, keyframes and notes as text."""
    m = mechanism
    lines = [
        summary_line(m),
        "",
        *_table([HEAD, *(_row(m, body) for body in m.bodies)]),
        "",
        f"contact candidates: {join_names([c.name for c in m.candidates], MAX_NAMES)}",
        *(
            [f"loop joints: {join_names([_loop(m, k) for k in m.loops], MAX_NAMES)}"]
            if m.loops
            else []
        ),
        *([f"mimic joints: {join_names(_mimic_joints(m), MAX_NAMES)}"] if m.couplings else []),
        *([f"tendons: {join_names([t.name for t in m.tendons], MAX_NAMES)}"] if m.tendons else []),
        f"frames: {join_names([f.name for f in m.frames], MAX_NAMES)}",
        f"keyframes: {join_names(list(m.keyframes), MAX_NAMES)}",
    ]
    return "\n".join([*lines, *(f"note: {note}" for note in m.notes)])


def summary_line(mechanism: Mechanism) -> str:
    """Summarize the counts of bodies, degrees of freedom, motors and candidates in a line."""
    m = mechanism
    base = "floating base" if m.floating else "moving base" if m.mobile else "fixed base"
    return (
        f"{m.name}: {len(m.bodies)} bodies, {m.nu} degrees of freedom ({base}), {m.mass:.6g} kg, "
        f"{len(m.actuators)} motors, {len(m.candidates)} contact candidates"
    )


def _row(mechanism: Mechanism, body: Body) -> tuple[str, ...]:
    joint, unit = body.joint, "m" if body.joint.kind == "slide" else "rad"
    limited = np.isfinite(joint.lower) or np.isfinite(joint.upper)
    lower = 0.0 if joint.kind == "ball" else joint.lower
    span = f"{lower:.4g} .. {joint.upper:.4g} {unit}" if limited else ""
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


def _mimic_joints(mechanism: Mechanism) -> list[str]:
    return [f"{c.joint} ({', '.join(c.leader_names) or 'locked'})" for c in mechanism.couplings]


def _table(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[k]) for row in rows) for k in range(len(HEAD))]
    lines = [
        "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    return [lines[0], "-" * max(map(len, lines)), *lines[1:]]
