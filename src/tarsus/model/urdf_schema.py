"""What is read from a URDF file."""

from __future__ import annotations

from tarsus.model.file_schema import Table, no_effect, supported, unsupported


def _create_shapes(path: str, reason: str) -> Table:
    """Create the rules of <collision> and <visual>, which hold the same."""
    return {
        path: supported(reason, "name group"),
        f"{path}/origin": supported("pose in the link's frame", "xyz rpy"),
        f"{path}/geometry": supported(
            "one shape; others are ignored and listed", "name", reported_by_reader=True
        ),
        f"{path}/geometry/box": supported("", "size"),
        f"{path}/geometry/sphere": supported("", "radius"),
        f"{path}/geometry/cylinder": supported("", "radius length"),
        f"{path}/geometry/capsule": supported("", "radius length"),
        f"{path}/geometry/mesh": supported(
            "its convex hull; a missing file is ignored and listed", "filename scale"
        ),
        f"{path}/material": no_effect("for pictures"),
        f"{path}/verbose": no_effect("settings of a reader"),
    }


URDF: Table = {
    "robot": supported("the root; xacro must be expanded", "name version"),
    "robot/material": no_effect("for pictures"),
    "robot/transmission": unsupported(
        "motors act at the joint itself, within the effort of <limit>"
    ),
    "robot/gazebo": unsupported(
        "settings of Gazebo: contact laws and sensors are chosen in Tarsus; only a <joint> in it is"
        " read, which closes a loop"
    ),
    "robot/loop_joint": supported("closes a loop (Drake, Isaac Sim)", "name type"),
    "robot/loop_joint/link1": supported("frame of the joint in its link", "link xyz rpy"),
    "robot/loop_joint/link2": supported("frame of the joint in its link", "link xyz rpy"),
    "robot/loop_joint/axis": supported("by default 1 0 0", "xyz"),
    "robot/loop": supported("closes a loop (URDF+, Chignoli 2024)", "name type"),
    "robot/loop/predecessor": supported("", "link"),
    "robot/loop/predecessor/origin": supported("", "xyz rpy"),
    "robot/loop/successor": supported("", "link"),
    "robot/loop/successor/origin": supported("", "xyz rpy"),
    "robot/loop/axis": supported("by default 1 0 0", "xyz"),
    "robot/ros2_control": unsupported("interfaces of controllers"),
    "robot/sensor": unsupported("sensors are chosen by name (`--sensors`)"),
    "robot/link": supported("a body, or part of one behind a fixed joint", "name type"),
    "robot/link/inertial": supported("without it the link has no mass"),
    "robot/link/inertial/origin": supported("", "xyz rpy"),
    "robot/link/inertial/mass": supported("", "value"),
    "robot/link/inertial/inertia": supported("", "ixx ixy ixz iyy iyz izz"),
    **_create_shapes("robot/link/collision", "collision shapes"),
    **_create_shapes("robot/link/visual", "visual shapes; collision shapes with `shapes='visual'`"),
    "robot/link/contact": unsupported("the contact law has these parameters"),
    "robot/link/sensor": unsupported("sensors are chosen by name (`--sensors`)"),
    "robot/joint": supported(
        "revolute, continuous, prismatic, floating or fixed; other types are rejected",
        "name type dont_collapse",
        ignored="independent",
    ),
    "robot/joint/origin": supported("", "xyz rpy"),
    "robot/joint/parent": supported("", "link"),
    "robot/joint/child": supported("", "link"),
    "robot/joint/axis": supported("by default 1 0 0", "xyz"),
    "robot/joint/limit": supported(
        "range, largest torque or force, and largest speed", "lower upper effort velocity"
    ),
    "robot/joint/dynamics": supported("", "damping friction"),
    "robot/joint/mimic": supported("a coupling of two joints", "joint multiplier offset"),
    "robot/joint/calibration": no_effect("reference positions of a real robot's encoders"),
    "robot/joint/safety_controller": unsupported("limits of a controller of the real robot"),
}
