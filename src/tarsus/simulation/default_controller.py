"""Which gait a robot gets, and for a robot that no gait is tuned for, its posture and the gains of
its servos.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

from tarsus import registry
from tarsus.control import servo
from tarsus.control.base import Controller
from tarsus.dynamics.robot import Robot
from tarsus.morphology import posture
from tarsus.morphology.feet import feet
from tarsus.simulation import resolve

GAITS, ROBOTS = "tarsus.control.gaits", "tarsus.robots"
AUTO = "auto"  # in place of a gait's name: the robot's default gait
TROT, VIRTUAL_MODEL, STAND = "trot", "virtual_model", "stand"
LIGHT = 15.0  # kg
MINI_CHEETAH = 8.912 * 0.286  # kg m: its mass times the height it stands at
STEP = 0.0025  # s, the default step of a simulation
SOME = 3  # names that a notice shows

Given = Controller | Callable[..., Any] | str | None


def prepared(robot: Robot, given: Given, dt: float, notices: list[str]) -> tuple[Robot, Any]:
    """The controller to use, and the robot with a posture to start from.

    given: "auto" for the robot's default gait, a gait's name, a Controller, a function, or None
    dt: s, the longest that a torque is held

    A built-in robot has the gait's gains and its own posture. Another one gets a keyframe "stand"
    if it has none, and with a gait by name servos for its weight and inertia and for torques held
    over dt (`tarsus.control.servo`).
    """
    auto = isinstance(given, str) and given == AUTO
    if not auto and not isinstance(resolve.controller(given), Controller):
        return robot, given

    # posture, gait, gains
    built_in, on_posture = _built_in(robot), list[str]()
    robot = _with_posture(robot, on_posture)
    name = _default_gait(robot, built_in, notices) if auto else given
    notices += on_posture
    gait: Any = resolve.controller(name)
    if isinstance(name, str) and not built_in:
        gait = _with_gains(robot, gait, dt, notices)
    elif auto and name == STAND:
        gait = _scaled(robot, gait, notices)
    return robot, gait


def _default_gait(robot: Robot, built_in: bool, notices: list[str]) -> str:
    """The name of a trot for a robot with legs that can, else "stand" and a notice why.

    The trot of a built-in robot has Mini Cheetah's servo, too soft for more than `LIGHT` kg: those
    get virtual_model, whose gains go by mass.
    """
    name = VIRTUAL_MODEL if built_in and robot.mass > LIGHT else TROT
    reason = registry.member(GAITS, "gait", name, Controller)().suits(robot)
    if reason:
        notices.append(f"the robot stands instead of trotting: {reason}")
        return STAND
    return name


def _built_in(robot: Robot) -> bool:
    """Whether it is one of ours, by its name, posture and joints.

    A robot from a file may have the same name.
    """
    if robot.name not in registry.names(ROBOTS) or "stand" not in robot.keyframes:
        return False
    return robot.joint_names == registry.module(ROBOTS, "robot", robot.name).describe().joint_names


def _with_posture(robot: Robot, notices: list[str]) -> Robot:
    """The robot with a keyframe "stand": its own, "home" as files for MuJoCo call it, or one with
    bent knees.
    """
    if "stand" in robot.keyframes or not robot.floating or not robot.candidates or robot.loops:
        return robot
    if "home" in robot.keyframes:
        return replace(robot, keyframes={**robot.keyframes, "stand": robot.keyframes["home"]})
    q = posture.stand(robot)
    notices.append(
        f"{robot.name!r} has no keyframe 'stand': it starts with bent knees and its feet below"
        " its hips."
        if q[7:].any()
        else f"{robot.name!r} has no keyframe 'stand': it starts with all joints at zero."
    )
    return replace(robot, keyframes={**robot.keyframes, "stand": q})


def _with_gains(robot: Robot, gait: Controller, dt: float, notices: list[str]) -> Controller:
    """The gait with servos for this robot, where it has servos, and notices about
    them.
    """
    changed: Any = gait
    # gaits without servos need none
    if not {"kp", "kd"} <= {f.name for f in fields(changed)} or not robot.actuators:
        return gait
    # stiff enough to hold the robot where it starts
    q = gait.initial_coordinates(robot)
    standing = feet(robot) if robot.candidates else ()
    found = servo.gains(robot, q, standing, dt)
    notices.append(
        f"the servos are sized for {robot.name!r}: kp {_range(found.kp)} N m/rad, kd"
        f" {_range(found.kd)} N m s/rad; --set kp=... kd=..., or a controller of your own, gives"
        " others."
    )
    # what may go wrong
    if found.soft:
        some = ", ".join(found.soft[:SOME]) + (
            f" and {len(found.soft) - SOME} more" if len(found.soft) > SOME else ""
        )
        notices.append(
            f"the servos of {some} are softer than gravity, for dt = {dt:g} s or their motors allow"
            " no more: it may fall; a smaller dt lets light feet have stiffer servos."
        )
    if robot.floating and standing and not posture.balanced(robot, q):
        notices.append(
            "the center of mass is not above the points that the robot stands on: it will tip over;"
            " name other contacts, or give it a keyframe 'stand' that balances."
        )
    # the gait with these gains
    return replace(changed, kp=found.kp, kd=found.kd)


def _range(values: tuple[float, ...]) -> str:
    low, high = f"{min(values):g}", f"{max(values):g}"
    return low if low == high else f"{low} to {high}"


def _scaled(robot: Robot, stand: Any, notices: list[str]) -> Controller:
    """The servo of `stand`: Mini Cheetah's gains, scaled with mass times height.

    Its damping suits the step `STEP`: a stronger explicit damper makes light feet oscillate.
    """
    if not robot.floating:
        return stand
    kp = float(f"{stand.kp * robot.mass * robot.keyframes['stand'][2] / MINI_CHEETAH:.3g}")
    kd = float(f"{kp * STEP:.3g}")
    notices.append(
        f"the servo that holds the posture is scaled to {robot.name!r}: kp {kp:g} N m/rad, kd"
        f" {kd:g} N m s/rad."
    )
    return replace(stand, kp=kp, kd=kd)
