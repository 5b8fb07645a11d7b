"""Choice of the joints with motors, for files that do not say it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from tarsus.errors import unknown_name_error
from tarsus.model.file_actuators import motor
from tarsus.model.mechanism import WORLD, Actuator, Mechanism


def with_motors(
    mechanism: Mechanism, names: Iterable[str], efforts: Mapping[str, float] | None = None
) -> Mechanism:
    """Give the mechanism motors at these joints only; those of its file keep their limits.

    Parameters
    ----------
    mechanism
        Mechanism to change.
    names
        Names of hinges and slides.
    efforts
        Largest torque in N m, or force in N, of further motors by joint; by default unlimited.

    Raises
    ------
    UnknownName
        If a name is not that of a hinge or slide that moves by itself.
    """
    movable, chosen = movable_joints(mechanism), set(names)
    for name in chosen:
        if name not in movable:
            raise unknown_name_error("joint", name, movable)
    motors = {actuator.joint: actuator for actuator in mechanism.actuators}
    laws = {actuator.joint: actuator for actuator in mechanism.file_actuators}
    for name in chosen - set(motors):
        effort = (efforts or {}).get(name, np.inf)
        motors[name] = Actuator(name, name, -effort, effort)
        laws.setdefault(name, motor(name, effort, np.inf))
    # in the order of the file, then of the bodies
    order = [*(a.joint for a in mechanism.actuators), *movable]
    in_order = [name for name in dict.fromkeys(order) if name in chosen]
    kept = [actuator for actuator in mechanism.file_actuators if actuator.joint in chosen]
    added = [laws[name] for name in in_order if laws[name] not in kept]
    return replace(
        mechanism,
        actuators=tuple(motors[name] for name in in_order),
        file_actuators=(*kept, *added),
        signals=mechanism.signals if len(kept) == len(mechanism.file_actuators) else {},
    )


def movable_joints(mechanism: Mechanism) -> list[str]:
    """Find the hinges and slides that do not follow other joints, by name."""
    following = {coupling.joint for coupling in mechanism.couplings}
    return [
        body.joint.name
        for body in mechanism.bodies
        if body.joint.kind in ("hinge", "slide") and body.joint.name not in following
    ]


def joints_of_floating_robot(mechanism: Mechanism) -> list[str]:
    """Find the joints with motors in a typical floating robot, by name.

    They have no spring, move bodies on a free joint, and are one per closed loop.
    """
    movable = set(movable_joints(mechanism))
    names = [
        body.joint.name
        for k, body in enumerate(mechanism.bodies)
        if body.joint.name in movable
        and not body.joint.stiffness
        and mechanism.bodies[_chain(mechanism, k)[-1]].joint.kind == "free"
    ]
    return one_per_loop(mechanism, names)


def one_per_loop(mechanism: Mechanism, names: Sequence[str]) -> list[str]:
    """Remove the joints of a closed loop that already has a motor.

    The first joint that moves a contact candidate stays, or else the first.
    """
    touching = {k for point in mechanism.candidates for k in _chain(mechanism, point.body)}
    dropped: set[str] = set()
    for loop in mechanism.loops:
        ends = [set(_chain(mechanism, body)) for body in (loop.parent, loop.child)]
        inside = sorted(ends[0] ^ ends[1], key=lambda k: (k not in touching, k))
        in_loop = [mechanism.bodies[k].joint.name for k in inside]
        dropped |= set([name for name in in_loop if name in names][1:])
    return [name for name in names if name not in dropped]


def _chain(mechanism: Mechanism, body: int) -> list[int]:
    """List a body and its ancestors."""
    chain = []
    while body != WORLD:
        chain.append(body)
        body = mechanism.bodies[body].parent
    return chain
