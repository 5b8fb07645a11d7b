"""Choice of coordinates: joints that are cut out of the tree become constraints.

Gehring 2014, p. 5. Minimal coordinates keep the tree (StarlETH: 18 velocities), extended ones cut
the joints that hang on the base (38 velocities, 20 constraints), maximal ones cut every joint (78
velocities, 60 constraints).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from tarsus.errors import InvalidValue, Unsupported, unknown_name_error
from tarsus.model.mechanism import WORLD, Body, Inertia, Joint, LoopJoint, Mechanism
from tarsus.model.tendon import End, Point, as_point

COORDINATES = ("minimal", "extended", "maximal")


def change_coordinates(mechanism: Mechanism, selected: str | Iterable[str]) -> Mechanism:
    """Convert the mechanism to other coordinates.

    Parameters
    ----------
    mechanism
        A robot.
    selected
        "minimal", "extended" (joints on the base are cut), "maximal" (all joints are cut), or the
        names of the joints to cut.
    """
    if not isinstance(selected, str):
        return cut(mechanism, selected)
    if selected not in COORDINATES:
        raise unknown_name_error("set of coordinates", selected, COORDINATES)
    if selected == "minimal":
        return mechanism
    joints = [body.joint.name for body in mechanism.bodies if body.joint.kind != "free"]
    if selected == "extended":
        joints = [
            b.joint.name
            for b in mechanism.bodies
            if b.joint.kind != "free" and b.parent in (WORLD, 0)
        ]
    return cut(mechanism, joints)


def cut(mechanism: Mechanism, joints: Iterable[str]) -> Mechanism:
    """Cut joints of the mechanism: each body below one floats, tied by a loop joint.

    Bodies keep their order and names. A floating body without children has its frame's origin at
    its center of mass, so that its mass matrix is constant. The new free joint of a body is called
    BODY_free.

    Parameters
    ----------
    mechanism
        A robot.
    joints
        Names of the joints to cut.

    Raises
    ------
    UnknownName
        If there is no such joint.
    InvalidValue
        If a joint is named twice.
    Unsupported
        If a joint is free, coupled or part of a tendon, or joints were cut before.
    """
    names = list(joints)
    if mechanism.uncut is not None:
        raise Unsupported(
            f"{mechanism.name!r} already has cut joints: cut the original mechanism once, at all"
            " joints.",
            mechanism.name,
        )
    chosen = {mechanism.joint_index(name) for name in names}
    if len(chosen) != len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        raise InvalidValue(f"joint {repeated!r} is listed twice among those to cut.", repeated)
    if not chosen:
        return mechanism
    for i in chosen:
        if mechanism.bodies[i].joint.kind == "free":
            free = mechanism.bodies[i].joint.name
            raise Unsupported(
                f"joint {free!r} is free and cannot be cut: choose hinge, slide or ball joints.",
                free,
            )
    for coupling in mechanism.couplings:
        for name in {coupling.joint, *coupling.leader_names} & set(names):
            raise Unsupported(
                f"joint {name!r} is coupled to another joint by {coupling.name!r}, so it cannot be"
                " cut.",
                name,
            )
    for tendon in mechanism.tendons:
        for name in {joint for joint, _ in tendon.terms} & set(names):
            raise Unsupported(
                f"joint {name!r} is part of the tendon {tendon.name!r}, so it cannot be cut.", name
            )
    # origins move to the centers of mass of bodies without children
    parents = {body.parent for i, body in enumerate(mechanism.bodies) if i not in chosen}
    shifts = [
        body.inertia.com if i in chosen - parents else np.zeros(3)
        for i, body in enumerate(mechanism.bodies)
    ]
    bodies, loops = [], [_shift_loop(loop, shifts) for loop in mechanism.loops]
    for i, body in enumerate(mechanism.bodies):
        if i not in chosen:
            bodies.append(body)
            continue
        position = body.position - (shifts[body.parent] if body.parent != WORLD else 0)
        loops.append(LoopJoint(body.joint, body.parent, i, position, body.rotation, -shifts[i]))
        bodies.append(_float_body(body, shifts[i]))

    def shift_end(body: int, point: Point) -> End:
        return body, point if body == WORLD else as_point(np.array(point) - shifts[body])

    return replace(
        mechanism,
        bodies=tuple(bodies),
        candidates=tuple(
            replace(c, position=c.position - shifts[c.body]) for c in mechanism.candidates
        ),
        solids=tuple(replace(c, middle=c.middle - shifts[c.body]) for c in mechanism.solids),
        frames=tuple(replace(f, position=f.position - shifts[f.body]) for f in mechanism.frames),
        keyframes={},
        loops=tuple(loops),
        tendons=tuple(tendon.move_ends(shift_end) for tendon in mechanism.tendons),
        uncut=mechanism,
    )


def _shift_loop(loop: LoopJoint, shifts: list[np.ndarray]) -> LoopJoint:
    """Keep a loop joint at its position while the origins of its bodies move by `shifts`."""
    shift = np.zeros(3) if loop.parent == WORLD else shifts[loop.parent]
    return replace(
        loop, position=loop.position - shift, in_child=loop.in_child - shifts[loop.child]
    )


def _float_body(body: Body, shift: np.ndarray) -> Body:
    """Put a body on a free joint, with its frame's origin moved by `shift`, shape (3,)."""
    inertia = Inertia(body.inertia.mass, body.inertia.com - shift, body.inertia.about_com)
    return Body(body.name, WORLD, Joint(f"{body.name}_free", "free"), inertia)
