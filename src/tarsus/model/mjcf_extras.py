"""The rest of a compiled MuJoCo model: names, a report of what a mechanism cannot hold."""

from __future__ import annotations

from typing import Any

import numpy as np

from tarsus.errors import several
from tarsus.model.joint_coupling import JointCoupling
from tarsus.model.mechanism import LoopJoint
from tarsus.model.mjcf_couplings import couples
from tarsus.model.mjcf_dropped import LEFT_OUT, elements_dropped, soft_stops
from tarsus.model.mjcf_loops import closes_loop
from tarsus.model.parts import Report

EQUALITIES = (
    "connect",
    "weld",
    "joint",
    "tendon",
    "flex",
    "flexvert",
    "flexstrain",
    "distance",
)  # mjtEq
SITE = 6  # mjtObj
SOME = 5  # names that a note shows


def body_names(model: Any) -> list[str]:
    """A unique name for every MuJoCo body; unnamed ones are called body_<number>."""
    given = {model.body(body).name for body in range(model.nbody)}
    names: list[str] = []
    for body in range(model.nbody):
        name = model.body(body).name
        while not name or (name in names):
            name = f"body_{body}" if f"body_{body}" not in given else f"body_{body}_unnamed"
        names.append(name)
    return names


def report_dropped(model: Any, report: Report) -> None:
    """A warning for everything that moves or pushes in MuJoCo but that a mechanism lacks."""
    dropped = [
        _equality_name(model, number)
        for number in range(model.neq)
        if not closes_loop(model, number) and not couples(model, number)
    ]
    if dropped:
        report.warn(
            "equality constraints other than active connect, weld and joint ones are left out:"
            f" {', '.join(dropped)}.",
            "equalities-left-out",
            dropped[0],
        )
    for code, found in elements_dropped(model, body_names(model)).items():
        report.warn(f"{LEFT_OUT[code]} left out: {found.listed}.", code, found.names[0])
    if np.any(np.array(model.geom_plugin) >= 0):
        report.note("A geom with a plugin touches by its mesh.")
    if soft := soft_stops(model):
        report.leave(
            "The softness of joint limits and dry friction (solreflimit, solreffriction and the"
            f" like) is left out, both are rigid: {several(soft, SOME)}."
        )
    if model.nsensor:
        read = [model.sensor(number).name or f"sensor {number}" for number in range(model.nsensor)]
        report.leave(f"Sensors are left out, a simulation has its own: {several(read, SOME)}.")


def report_constraints(
    loops: tuple[LoopJoint, ...], couplings: tuple[JointCoupling, ...], report: Report
) -> None:
    """A note on how equality constraints are held."""
    told = {
        "'connect' is a ball joint that closes a loop": [
            loop.joint.name for loop in loops if loop.joint.kind == "ball"
        ],
        "'weld' is a fixed joint that closes a loop": [
            loop.joint.name for loop in loops if loop.joint.kind == "fixed"
        ],
        "'joint' equality couples two joints": [coupling.name for coupling in couplings],
    }
    for what, names in told.items():
        if names:
            report.note(f"Each active {what}, held without give: {', '.join(names)}.")


def _equality_name(model: Any, number: int) -> str:
    """The kind of an equality constraint, its name, and what it ties together."""
    kind = (
        EQUALITIES[int(model.eq_type[number])]
        if model.eq_type[number] < len(EQUALITIES)
        else "constraint"
    )
    look = {
        "joint": model.joint,
        "tendon": model.tendon,
        "connect": model.body,
        "weld": model.body,
    }.get(kind)
    if model.eq_objtype[number] == SITE:
        look = model.site
    ends = [int(model.eq_obj1id[number]), int(model.eq_obj2id[number])]
    between = " and ".join(look(end).name or str(end) for end in ends if end >= 0) if look else ""
    words = [kind, model.equality(number).name, f"of {between}" if between else ""]
    return " ".join(word for word in words if word)
