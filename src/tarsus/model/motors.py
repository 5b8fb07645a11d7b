"""Choice of the joints with motors or servos, for files that do not state them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from tarsus.errors import unknown_name_error
from tarsus.model.file_actuators import FREE, MOTOR_NUMBERS, create_motor, create_servo
from tarsus.model.mechanism import WORLD, Actuator, Mechanism

M = TypeVar("M", bound=Mechanism)


def with_motors(
    mechanism: Mechanism, names: Iterable[str], efforts: Mapping[str, float] | None = None
) -> Mechanism:
    """Keep the motors at these joints, with their limits, remove all others and add missing ones.

    Parameters
    ----------
    mechanism
        Mechanism to change.
    names
        Names of hinges and slides.
    efforts
        Largest torque in N m, or force in N, of added motors by joint; by default unlimited.

    Raises
    ------
    UnknownName
        If a name is not that of a hinge or slide that moves by itself.
    """
    movable, chosen = movable_joints(mechanism), list(names)
    for name in chosen:
        if name not in movable:
            raise unknown_name_error("joint", name, movable)
    # those of the file first
    actuators = [each for each in mechanism.actuators if each.joint in chosen]
    file_actuators = [each for each in mechanism.file_actuators if each.joint in chosen]
    driven = {each.joint for each in actuators}
    for name in movable:
        if name in chosen and name not in driven:
            effort = (efforts or {}).get(name, np.inf)
            actuators.append(Actuator(name, name, -effort, effort))
            file_actuators.append(create_motor(name, effort, 0.0))
    unchanged = tuple(file_actuators) == mechanism.file_actuators
    return replace(
        mechanism,
        actuators=tuple(actuators),
        file_actuators=tuple(file_actuators),
        signals=mechanism.signals if unchanged else {},
    )


def with_servos(mechanism: M, gains: Mapping[str, tuple[float, float]]) -> M:
    """Replace the file's actuators of some joints by position servos.

    They have the limits, delay, lag and encoder offset of the motors before, and hold the
    coordinates of the keyframes.

    Parameters
    ----------
    mechanism
        Mechanism to change.
    gains
        kp and kd by joint, in N m/rad and N m s/rad.

    Raises
    ------
    UnknownName
        If a joint has no motor.
    """
    limits = {motor.joint: (motor.lower, motor.upper) for motor in mechanism.actuators}
    actuators = [a for a in mechanism.file_actuators if a.joint not in gains]
    columns = [k for k, a in enumerate(mechanism.file_actuators) if a.joint not in gains]
    for joint, (kp, kd) in gains.items():
        if joint not in limits:
            raise unknown_name_error("joint with a motor", joint, limits)
        of_joint = [a for a in mechanism.file_actuators if a.joint == joint]
        speed = min([a.speed for a in of_joint], default=np.inf)
        force = limits[joint] if np.isfinite(limits[joint]).all() else FREE
        servo = create_servo(joint, kp, kd, force, speed)
        for actuator in of_joint[:1]:
            servo = replace(servo, **{name: getattr(actuator, name) for name in MOTOR_NUMBERS})
        actuators.append(servo)
    # in the order of the motors; those on tendons come last
    order = [motor.joint for motor in mechanism.actuators]
    order += [a.joint for a in actuators if a.joint not in order]
    places = sorted(range(len(actuators)), key=lambda k: order.index(actuators[k].joint))
    signals = {}
    for key, q in mechanism.keyframes.items():
        targets = [q[mechanism.q_slices[mechanism.joint_index(joint)].start] for joint in gains]
        blank = np.zeros(len(mechanism.file_actuators))
        control, activation = mechanism.signals.get(key, (blank, blank))
        control = np.concatenate([control[columns], targets])[places]
        activation = np.concatenate([activation[columns], np.zeros(len(gains))])[places]
        signals[key] = control, activation
    return replace(mechanism, file_actuators=tuple(actuators[k] for k in places), signals=signals)


def with_tendon_motors(mechanism: M) -> M:
    """Add a motor without limits for each tendon that actuators of the file drive.

    Motors on tendons come after those on joints.
    """
    tendons = {tendon.name for tendon in mechanism.tendons}
    tendons -= {motor.joint for motor in mechanism.actuators}
    motors = {a.joint: a.name for a in reversed(mechanism.file_actuators) if a.joint in tendons}
    added = tuple(Actuator(name, tendon) for tendon, name in reversed(motors.items()))
    return replace(mechanism, actuators=(*mechanism.actuators, *added))


def movable_joints(mechanism: Mechanism) -> list[str]:
    """Find the hinges and slides that do not follow other joints, by name."""
    following = {coupling.joint for coupling in mechanism.couplings}
    return [
        body.joint.name
        for body in mechanism.bodies
        if body.joint.kind in ("hinge", "slide") and body.joint.name not in following
    ]


def joints_of_floating_robot(mechanism: Mechanism) -> list[str]:
    """Find the joints with motors in a typical robot whose base moves, by name.

    They are those without a spring behind the base or in trees on a free joint, one for each closed
    loop.
    """
    movable = set(movable_joints(mechanism))
    names = [
        body.joint.name
        for k, body in enumerate(mechanism.bodies)
        if body.joint.name in movable
        and not body.joint.stiffness
        and k not in mechanism.base_chain
        and (
            mechanism.base in _list_ancestors(mechanism, k)
            or mechanism.bodies[_list_ancestors(mechanism, k)[-1]].joint.kind == "free"
        )
    ]
    return select_one_per_loop(mechanism, names)


def select_one_per_loop(mechanism: Mechanism, names: Sequence[str]) -> list[str]:
    """Keep one joint of each closed loop: the first that moves a contact candidate, if any."""
    touching = {k for point in mechanism.candidates for k in _list_ancestors(mechanism, point.body)}
    dropped: set[str] = set()
    for loop in mechanism.loops:
        ends = [set(_list_ancestors(mechanism, body)) for body in (loop.parent, loop.child)]
        inside = sorted(ends[0] ^ ends[1], key=lambda k: (k not in touching, k))
        in_loop = [mechanism.bodies[k].joint.name for k in inside]
        dropped |= set([name for name in in_loop if name in names][1:])
    return [name for name in names if name not in dropped]


def _list_ancestors(mechanism: Mechanism, body: int) -> list[int]:
    """List a body and its ancestors."""
    chain = []
    while body != WORLD:
        chain.append(body)
        body = mechanism.bodies[body].parent
    return chain
