"""Elastic gears and backlash: a joint between each motor and its link.

The motor's joint keeps its name, its actuator, its limits, its friction and the rotor inertia (its
armature). It turns an additional body, the rotor, and the link follows behind another joint about
the same axis: with a spring and a damper (series elasticity), or with a narrow range (backlash).
Teeth that meet are a joint at the end of its range. Servos see the angle of the rotor; the angle of
the link is the sum of both joints. Nothing else of the simulation changes: the parts are ordinary
joints, whose numbers `Simulation(varied=...)` varies by world.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from tarsus.errors import InvalidValue, UnmetCondition, unknown_name_error
from tarsus.model.mechanism import WORLD, Body, Inertia, Joint, Mechanism

SPRING, PLAY = "spring", "play"  # ends of the names of inserted joints

M = TypeVar("M", bound=Mechanism)


def with_series_elasticity(
    robot: M,
    stiffness: ArrayLike,
    damping: ArrayLike = 0.0,
    output_inertia: ArrayLike = 0.0,
    joints: Sequence[str] | None = None,
) -> M:
    """Put a spring and a damper between motors and links.

    Parameters
    ----------
    robot : Robot or Mechanism
        Robot whose motors' joints have armature, the inertia of the rotors.
    stiffness, damping : float or array_like, shape (n,)
        Of each spring, in N m/rad and N m s/rad (slides: N/m and N s/m).
    output_inertia : float or array_like, shape (n,)
        Inertia of the parts between motor and spring, in kg m^2 (slides: kg), such as the last
        stage of a gear with backlash.
    joints : sequence of str, optional
        Names of n driven hinges or slides; by default all.

    Returns
    -------
    Robot or Mechanism
        Robot with a joint JOINT_spring for each of them.

    Raises
    ------
    TarsusError
        If a number is not physical, a joint is not driven, or its rotor has no inertia.

    References
    ----------
    Pratt, G. A. and Williamson, M. M. (1995), Series elastic actuators, IROS.
    """
    names = _select_joints(robot, joints)
    numbers = _assign_numbers(
        names, stiffness=stiffness, damping=damping, output_inertia=output_inertia
    )
    for name, number in zip(names, numbers, strict=True):
        if not number["stiffness"] > 0:
            raise InvalidValue(f"stiffness of {name!r} must be > 0.", "stiffness")
        link = _find_link(robot, name)
        if robot.bodies[link].joint.name == f"{name}_{PLAY}" and not number["output_inertia"]:
            raise UnmetCondition(
                f"a spring behind the backlash of {name!r} needs output_inertia > 0, the inertia of"
                " the parts between them.",
                "output_inertia",
            )
        spring = {"stiffness": number["stiffness"], "damping": number["damping"]}
        robot = _insert_joint(robot, link, name, SPRING, spring, number["output_inertia"])
    return robot


def with_backlash(robot: M, play: ArrayLike, joints: Sequence[str] | None = None) -> M:
    """Put backlash between motors and links.

    Within the play, motor and link turn freely; the rotor starts in its middle. For elastic teeth,
    add a spring behind it (`with_series_elasticity` with `output_inertia`).

    Parameters
    ----------
    robot : Robot or Mechanism
        Robot whose motors' joints have armature, the inertia of the rotors.
    play : float or array_like, shape (n,)
        Angle by which each link can turn while its motor stands still, in rad (slides: m).
    joints : sequence of str, optional
        Names of n driven hinges or slides; by default all.

    Returns
    -------
    Robot or Mechanism
        Robot with a joint JOINT_play for each of them.

    Raises
    ------
    TarsusError
        If a number is not physical, a joint is not driven, or its rotor has no inertia.

    References
    ----------
    Nordin, M. and Gutman, P.-O. (2002), Controlling mechanical systems with backlash: a survey,
    Automatica 38(10).
    """
    names = _select_joints(robot, joints)
    for name, number in zip(names, _assign_numbers(names, play=play), strict=True):
        if not number["play"] > 0:
            raise InvalidValue(f"play of {name!r} must be > 0.", "play")
        half = number["play"] / 2
        link = _find_link(robot, name)
        robot = _insert_joint(robot, link, name, PLAY, {"lower": -half, "upper": half}, 0.0)
    return robot


def _select_joints(robot: Mechanism, joints: Sequence[str] | None) -> list[str]:
    """Check the names of driven joints; None: all."""
    driven = list(dict.fromkeys(motor.joint for motor in robot.actuators))
    names = driven if joints is None else [joints] if isinstance(joints, str) else list(joints)
    for name in names:
        if name not in driven:
            raise unknown_name_error("joint with a motor", name, driven)
        if name not in robot.joint_names:
            raise UnmetCondition(f"the joint {name!r} closes a loop: it cannot be elastic.", name)
        if not robot.bodies[robot.joint_index(name)].joint.armature > 0:
            raise UnmetCondition(
                f"the joint {name!r} has no armature, the inertia of its rotor, which an elastic"
                " gear needs: give its joint an armature.",
                name,
            )
    if not names:
        raise UnmetCondition(f"{robot.name!r} has no joint with a motor.", robot.name)
    return names


def _assign_numbers(names: Sequence[str], **numbers: ArrayLike) -> list[dict[str, float]]:
    """Assign numbers, one or one per joint, to joints."""
    arrays: dict[str, Any] = {}
    for key, value in numbers.items():
        array = np.asarray(value, dtype=float)
        if array.shape not in ((), (len(names),)):
            raise InvalidValue(
                f"{key} must be one number or {len(names)} (one per joint), not of shape"
                f" {array.shape}.",
                key,
            )
        if not (np.isfinite(array).all() and (array >= 0).all()):
            raise InvalidValue(f"{key} must be finite and >= 0, not {value}.", key)
        arrays[key] = np.broadcast_to(array, len(names)).tolist()
    return [{key: arrays[key][k] for key in arrays} for k in range(len(names))]


def _find_link(robot: Mechanism, joint: str) -> int:
    """Find the link that a motor moves, behind joints that were inserted before."""
    index = robot.joint_index(joint)
    inserted = {f"{joint}_{SPRING}", f"{joint}_{PLAY}"}
    for k, body in enumerate(robot.bodies):
        if body.joint.name in inserted and body.parent == index:
            index = k
    return index


def _insert_joint(
    robot: M, link: int, motor: str, kind: str, fields: dict[str, Any], inertia: float
) -> M:
    """Insert a body above a link, which takes the link's joint, and a joint between the two."""
    body, name = robot.bodies[link], f"{motor}_{kind}"
    if name in robot.joint_names:
        raise InvalidValue(f"the joint {motor!r} already has a joint {name!r}.", motor)
    if body.joint.kind not in ("hinge", "slide"):
        raise UnmetCondition(f"the joint {motor!r} is neither a hinge nor a slide.", motor)

    def shift(k: int) -> int:
        return k if k < link else k + 1

    axis = body.joint.axis
    disc = 0.5 * inertia * (np.eye(3) + np.outer(axis, axis))  # about the axis, and across it
    slide = body.joint.kind == "slide"
    part = Inertia(inertia) if slide else Inertia(0.0, np.zeros(3), disc)
    upper = Body(f"{name}_motor", body.parent, body.joint, part, body.position, body.rotation)
    lower = Body(body.name, link, Joint(name, body.joint.kind, axis, **fields), body.inertia)
    others = [replace(b, parent=shift(b.parent)) for b in robot.bodies]
    place = robot.q_slices[link].stop
    # link and parent overlap at the joint, as before
    separated = () if body.parent == WORLD else ((robot.bodies[body.parent].name, body.name),)
    return replace(
        robot,
        bodies=(*others[:link], upper, lower, *others[link + 1 :]),
        candidates=tuple(replace(c, body=shift(c.body)) for c in robot.candidates),
        frames=tuple(replace(f, body=shift(f.body)) for f in robot.frames),
        solids=tuple(replace(s, body=shift(s.body)) for s in robot.solids),
        loops=tuple(replace(p, parent=shift(p.parent), child=shift(p.child)) for p in robot.loops),
        tendons=tuple(t.move_ends(lambda body, p: (shift(body), p)) for t in robot.tendons),
        keyframes={key: np.insert(q, place, 0.0) for key, q in robot.keyframes.items()},
        excluded=(*robot.excluded, *separated),
    )
