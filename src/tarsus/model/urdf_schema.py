"""What is read from a URDF file."""

from __future__ import annotations

from tarsus.model.file_schema import Table, left_out, no_effect, taken


def _shapes(path: str, why: str) -> Table:
    """Create the rules of <collision> and <visual>, which hold the same."""
    return {
        path: taken(why, "name group"),
        f"{path}/origin": taken("pose in the link's frame", "xyz rpy"),
        f"{path}/geometry": taken("one shape; others are left out by name", "name", elsewhere=True),
        f"{path}/geometry/box": taken("", "size"),
        f"{path}/geometry/sphere": taken("", "radius"),
        f"{path}/geometry/cylinder": taken("", "radius length"),
        f"{path}/geometry/capsule": taken("", "radius length"),
        f"{path}/geometry/mesh": taken(
            "its convex hull; a file that is missing is left out by name", "filename scale"
        ),
        f"{path}/material": no_effect("for pictures"),
        f"{path}/verbose": no_effect("settings of a reader"),
    }


URDF: Table = {
    "robot": taken("the root; xacro must be expanded", "name version"),
    "robot/material": no_effect("for pictures"),
    "robot/transmission": left_out("motors act at the joint itself, within the effort of <limit>"),
    "robot/gazebo": left_out("settings of Gazebo: contact laws and sensors are chosen in Tarsus"),
    "robot/ros2_control": left_out("interfaces of controllers"),
    "robot/sensor": left_out("sensors are chosen by name (`--sensors`)"),
    "robot/link": taken("a body, or part of one behind a fixed joint", "name type"),
    "robot/link/inertial": taken("without it the link has no mass"),
    "robot/link/inertial/origin": taken("", "xyz rpy"),
    "robot/link/inertial/mass": taken("", "value"),
    "robot/link/inertial/inertia": taken("", "ixx ixy ixz iyy iyz izz"),
    **_shapes("robot/link/collision", "what may touch"),
    **_shapes("robot/link/visual", "pictures; what may touch, with `shapes='visual'`"),
    "robot/link/contact": left_out("the contact law has these parameters"),
    "robot/link/sensor": left_out("sensors are chosen by name (`--sensors`)"),
    "robot/joint": taken(
        "revolute, continuous, prismatic, floating or fixed; other types are refused",
        "name type dont_collapse",
    ),
    "robot/joint/origin": taken("", "xyz rpy"),
    "robot/joint/parent": taken("", "link"),
    "robot/joint/child": taken("", "link"),
    "robot/joint/axis": taken("by default 1 0 0", "xyz"),
    "robot/joint/limit": taken(
        "range, largest torque or force, and largest speed", "lower upper effort velocity"
    ),
    "robot/joint/dynamics": taken("", "damping friction"),
    "robot/joint/mimic": taken("a coupling of two joints", "joint multiplier offset"),
    "robot/joint/calibration": no_effect("reference positions of a real robot's encoders"),
    "robot/joint/safety_controller": left_out("limits of a controller of the real robot"),
}
