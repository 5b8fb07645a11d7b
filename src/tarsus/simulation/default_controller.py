"""Choose a robot's default gait, standing posture and servo gains."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus import registry
from tarsus.control import servo
from tarsus.control.base import Controller
from tarsus.control.static_torques import static_torques
from tarsus.dynamics import tree
from tarsus.dynamics.loop_closure import apply_couplings
from tarsus.dynamics.robot import Robot
from tarsus.errors import WarningRecord, join_names, unknown_name_error
from tarsus.morphology import looped_posture, posture
from tarsus.morphology.drawn import AS_DRAWN, nearest_drawn
from tarsus.morphology.feet import find_feet
from tarsus.simulation import resolve
from tarsus.simulation.time_steps import DEFAULT_DT

GAITS, ROBOTS = "tarsus.control.gaits", "tarsus.robots"
HOLDING_TORQUE_FIELD = "feedforward"  # field of a gait for the torques that carry the robot
AUTO = "auto"  # the robot's default gait
TROT, VIRTUAL_MODEL, WALK, STAND = "trot", "virtual_model", "walk", "stand"
MAX_BUILT_IN_TROT_MASS, MAX_TROT_MASS = 15.0, 70.0  # kg
REFERENCE_ROBOT = "mini_cheetah"  # robot for which the gaits' default gains are tuned
STANDING_KEYFRAMES = (
    "stand",
    "standing",
    "stance",
    "home",
    "default",
)  # in order of preference
CACHE_SIZE = 64  # robots
SOFT = "servos-too-soft"  # code of a warning
MAX_NAMES = 3  # names in a message
BIPED_FEET = 2
LIGHT_FOOT_DT = 0.001  # s, for legs whose servos are too soft at DEFAULT_DT
MAX_FILE_DT = 0.005  # s: a longer step in a file is ignored, as legs move too fast for it

ControllerChoice = Controller | Callable[..., Any] | str | None


def prepare(
    robot: Robot, controller: ControllerChoice, dt: float, records: list[WarningRecord]
) -> tuple[Robot, Any]:
    """Prepare the robot with a keyframe to start from, and the controller.

    Every robot starts from its keyframe "stand"; a robot without one gets it here. The servos of a
    gait given by name are sized for the robot's weight and inertia and for the step
    (`tarsus.control.servo`). Only Mini Cheetah uses the gaits' default gains, which are its own. A
    gait from a user's file keeps its gains.

    Parameters
    ----------
    robot
        The robot.
    controller
        "auto" for the default gait, the name of a gait, a Controller, a function, or None.
    dt
        Longest time for which a torque is constant, in s.
    records
        List to which warnings are appended.
    """
    # posture and gait
    built_in = _is_built_in(robot)
    robot, of_posture = with_standing_keyframe(robot)
    auto = isinstance(controller, str) and controller == AUTO
    name = _choose_default_gait(robot, built_in, records) if auto else controller
    records += of_posture
    gait: Any = resolve.resolve_controller(name)
    # gains
    named = isinstance(name, str) and not name.endswith(registry.PYTHON_SUFFIX)
    if named and not (built_in and robot.name == REFERENCE_ROBOT):
        gait = _size_servo_gains(robot, gait, dt, records)
    return robot, gait


def default_time_step(robot: Robot, controller: ControllerChoice) -> float:
    """Choose the step size for a robot and its controller, in s.

    The step of the robot's file is used if it is at most `MAX_FILE_DT`. Without one, the step is
    `DEFAULT_DT`, or `LIGHT_FOOT_DT` if `DEFAULT_DT` would leave a leg's servo too soft to support
    the weight.

    Parameters
    ----------
    robot
        The robot.
    controller
        As in `prepare`.
    """
    if robot.timestep is not None and robot.timestep <= MAX_FILE_DT:
        return robot.timestep
    records = list[WarningRecord]()
    fitted, gait = prepare(robot, controller, DEFAULT_DT, records)
    if not any(record.code == SOFT for record in records):
        return DEFAULT_DT
    # joints of the legs among the soft ones
    q = gait.initial_coordinates(fitted)
    soft = {
        fitted.joint_index(name) for name in _sized_gains(fitted, _key(q), DEFAULT_DT).soft_joints
    }
    legs = (tree.support_path(fitted, foot.body) for foot in find_feet(fitted))
    return LIGHT_FOOT_DT if any(soft & set(leg) for leg in legs) else DEFAULT_DT


def _choose_default_gait(robot: Robot, built_in: bool, records: list[WarningRecord]) -> str:
    """Choose the gait for the robot's legs: a trot on four, "walk" on two, otherwise "stand".

    A robot that can do neither gets a warning that says why; an arm, a hand or a robot on a stand
    does not.

    The trot of a built-in robot has Mini Cheetah's gains, which are too soft above
    `MAX_BUILT_IN_TROT_MASS`. Heavier robots get virtual_model, whose gains scale with mass, and so
    do robots from a file above `MAX_TROT_MASS`: with sized servos B1 (56 kg) trots steadily, but
    HyQ (87 kg) sways by 15 degrees and drifts.
    """
    name = (
        VIRTUAL_MODEL
        if robot.mass > (MAX_BUILT_IN_TROT_MASS if built_in else MAX_TROT_MASS)
        else TROT
    )
    reason = registry.member_class(GAITS, "gait", name, Controller)().why_unsuitable(robot)
    if not reason:
        return name
    if not robot.mobile:
        return STAND
    no_walk = registry.member_class(GAITS, "gait", WALK, Controller)().why_unsuitable(robot)
    if no_walk is None:
        return WALK
    two_legs = len({foot.body for foot in find_feet(robot)}) == BIPED_FEET
    text = f"the robot stands: {no_walk if two_legs or not robot.floating else reason}"
    records.append(WarningRecord(text, "stands", robot.name))
    return STAND


def _is_built_in(robot: Robot) -> bool:
    """Return whether a robot is a built-in one, by name, posture and joints.

    A robot from a file may have the same name.
    """
    if robot.name not in registry.names(ROBOTS) or "stand" not in robot.keyframes:
        return False
    return (
        robot.joint_names
        == registry.member_module(ROBOTS, "robot", robot.name).describe().joint_names
    )


@lru_cache(maxsize=CACHE_SIZE)
def with_standing_keyframe(robot: Robot) -> tuple[Robot, tuple[WarningRecord, ...]]:
    """Add a keyframe "stand" to the robot, with a warning if its file has no such keyframe.

    The keyframe is the first of `STANDING_KEYFRAMES` that the file has, ignoring case. Without one,
    a robot without loops whose base moves gets bent knees, and a robot on a stand the pose in its
    file, moved into the joint limits. Mimic joints follow their leaders. The result is cached per
    robot object, so that simulations of one robot share one program.
    """
    keyframes = {name.lower(): name for name in reversed(list(robot.keyframes))}
    keyframe = next((keyframes[name] for name in STANDING_KEYFRAMES if name in keyframes), None)
    if keyframe is not None:
        return _with_start(robot, robot.keyframes[keyframe], keyframe), ()
    q = looped_posture.find_standing_posture(robot) if robot.loops else nearest_drawn(robot)
    if q is None or all(body.joint.kind == "free" for body in robot.bodies):
        drawn = robot.keyframes.get(AS_DRAWN)
        return (robot if drawn is None else _with_start(robot, apply_couplings(robot, drawn))), ()
    q = apply_couplings(robot, q)
    if not robot.mobile or not robot.candidates:
        return (robot if np.array_equal(q, robot.neutral()) else _with_start(robot, q)), ()
    # bend the knees
    bent = q if robot.loops else posture.find_standing_posture(robot)
    q = apply_couplings(robot, bent)
    others = f" (only {', '.join(map(repr, robot.keyframes))})" if keyframes else ""
    start = f"it starts {_describe_posture(robot, bent, q)}."
    text = f"{robot.name!r} has no keyframe 'stand'{others}; {start}"
    return _with_start(robot, q), (WarningRecord(text, "no-standing-keyframe", robot.name),)


def _describe_posture(robot: Robot, bent: NDArray[np.float64], q: NDArray[np.float64]) -> str:
    """Describe a posture for a warning.

    Parameters
    ----------
    robot
        The robot.
    bent
        Coordinates before mimic joints followed their leaders, shape (nq,).
    q
        Coordinates after it, shape (nq,).
    """
    if robot.loops:
        return "with its loops closed and level soles below its center of mass"
    objects = tree.object_bodies(robot)
    moving = [
        q_slice
        for i, (body, q_slice) in enumerate(zip(robot.bodies, robot.q_slices, strict=True))
        if body.joint.kind in ("hinge", "slide") and i not in objects and i not in robot.base_chain
    ]
    drawn = robot.keyframes.get(AS_DRAWN, robot.neutral())
    if any(bent[q_slice].any() for q_slice in moving):
        if all(np.array_equal(bent[q_slice], drawn[q_slice]) for q_slice in moving):
            return "as its file draws it"
        if not find_feet(robot):
            return "with all joints as close to the pose in its file as their limits allow"
        return "with bent knees and its feet below its hips"
    following_too = " and mimic joints at the angle given by their leader"
    return "with all joints at zero" + ("" if np.array_equal(q, bent) else following_too)


def _with_start(robot: Robot, q: NDArray[np.float64], name: str = "") -> Robot:
    """Set the keyframe "stand" of the robot to q and the control signals of a keyframe."""
    if robot.keyframes.get("stand") is q:
        return robot
    signals = {key: value for key, value in robot.signals.items() if key != "stand"}
    if name in signals:
        signals["stand"] = signals[name]
    return replace(robot, keyframes={**robot.keyframes, "stand": q}, signals=signals)


def start_at_keyframe(robot: Robot, keyframe: str | None) -> Robot:
    """Start the robot at one of its keyframes; None: unchanged.

    Raises
    ------
    UnknownName
        If there is no such keyframe.
    """
    if keyframe is None:
        return robot
    if not isinstance(keyframe, str) or keyframe not in robot.keyframes:
        raise unknown_name_error("keyframe", keyframe, list(robot.keyframes))
    return _with_start_at_keyframe(robot, keyframe)


@lru_cache(maxsize=CACHE_SIZE)
def _with_start_at_keyframe(robot: Robot, keyframe: str) -> Robot:
    return _with_start(robot, robot.keyframes[keyframe], keyframe)


def _size_servo_gains(
    robot: Robot, gait: Controller, dt: float, records: list[WarningRecord]
) -> Controller:
    """Size the servos of the gait for this robot, and append warnings about them."""
    changed: Any = gait
    # gaits without servos need no gains
    if not {"kp", "kd"} <= {f.name for f in fields(changed)} or not robot.actuators:
        return gait
    # make the servos stiff enough for the start posture
    q = gait.initial_coordinates(robot)
    standing = find_feet(robot) if robot.candidates else ()
    gains = _sized_gains(robot, _key(q), dt)
    text = (
        f"the servos are sized for {robot.name!r}: kp {_format_range(gains.kp)} N m/rad, kd"
        f" {_format_range(gains.kd)} N m s/rad; change them with --set kp=... kd=..., or use your"
        " own controller."
    )
    records.append(WarningRecord(text, "servos-sized", robot.name))
    # warn about what may go wrong
    if gains.soft_joints:
        text = (
            f"the servos of {join_names(gains.soft_joints, MAX_NAMES)} are too soft to support the"
            f" weight, because dt = {dt:g} s or the motor limits allow no more; the robot may fall."
            " A smaller dt allows stiffer servos at light feet."
        )
        records.append(WarningRecord(text, SOFT, gains.soft_joints[0]))
    if robot.mobile and standing and not posture.is_balanced(robot, q):
        text = (
            "the center of mass is not above the contact points, so the robot will tip over."
            " Choose other contacts, or give it a keyframe 'stand' in balance."
        )
        records.append(WarningRecord(text, "out-of-balance", robot.name))
    objects = [robot.bodies[i].joint.name for i in sorted(tree.object_bodies(robot))]
    passive = [motor.joint for motor in robot.actuators if motor.joint in objects]
    if passive:
        text = (
            "the gait drives only the first robot; the motors of the others"
            f" ({join_names(passive, MAX_NAMES)}) get no torque. Use Stand(kp=..., kd=...) or your"
            " own controller."
        )
        records.append(WarningRecord(text, "motors-without-torque", passive[0]))
    # set the gains, and the torques that carry the weight
    if HOLDING_TORQUE_FIELD in {f.name for f in fields(changed)}:
        changed = replace(changed, **{HOLDING_TORQUE_FIELD: static_torques(robot, q, standing)})
    return replace(changed, kp=gains.kp, kd=gains.kd)


@lru_cache(maxsize=CACHE_SIZE)
def _sized_gains(robot: Robot, q: tuple[float, ...], dt: float) -> servo.Gains:
    """Compute the gains that hold a robot on its feet at coordinates q, shape (nq,)."""
    return servo.size_gains(robot, np.array(q), find_feet(robot) if robot.candidates else (), dt)


def _key(q: NDArray[np.float64]) -> tuple[float, ...]:
    return tuple(np.asarray(q, float).tolist())


def _format_range(values: tuple[float, ...]) -> str:
    low, high = f"{min(values):g}", f"{max(values):g}"
    return low if low == high else f"{low} to {high}"
