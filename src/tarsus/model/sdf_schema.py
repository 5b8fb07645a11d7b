"""What is read from the model of an SDF file."""

from __future__ import annotations

from tarsus.model.file_schema import Table, no_effect, rejected, supported, unsupported

POSE = "relative_to frame degrees rotation_format"
ONE_MODEL = "put all links and joints into one model (`gz sdf -p FILE` expands <include>)"


def _create_values(path: str, tags: str) -> Table:
    """Create the rules of elements that hold one value each."""
    return {f"{path}/{tag}": supported() for tag in tags.split()}


def _create_shapes(path: str, reason: str) -> Table:
    """Create the rules that <collision> and <visual> share."""
    shape = f"{path}/geometry"
    return {
        path: supported(reason, "name"),
        f"{path}/pose": supported("", POSE),
        shape: supported("one shape; others are ignored and listed", reported_by_reader=True),
        **_create_values(shape, "box sphere cylinder capsule ellipsoid mesh"),
        **_create_values(f"{shape}/box", "size"),
        **_create_values(f"{shape}/sphere", "radius"),
        **_create_values(f"{shape}/cylinder", "radius length"),
        **_create_values(f"{shape}/capsule", "radius length"),
        **_create_values(f"{shape}/ellipsoid", "radii"),
        **_create_values(f"{shape}/mesh", "uri scale"),
        f"{shape}/mesh/submesh": unsupported("the whole mesh is read"),
        f"{path}/laser_retro": no_effect("for laser sensors"),
    }


SDF: Table = {
    "model": supported(
        "exactly one, which must not be static", "name canonical_link placement_frame"
    ),
    "model/include": rejected(ONE_MODEL),
    "model/model": rejected(ONE_MODEL),
    "model/static": supported("true is rejected: nothing could move"),
    "model/pose": supported("", POSE),
    "model/frame": supported("", "name attached_to"),
    "model/frame/pose": supported("", POSE),
    "model/self_collide": no_effect("`self_collision` is an option of a simulation"),
    "model/enable_wind": no_effect("there is no wind"),
    "model/allow_auto_disable": no_effect("bodies at rest are simulated too"),
    "model/plugin": unsupported("code of Gazebo"),
    "model/gripper": unsupported("grasping is by contact"),
    "model/link": supported("a body, or part of one behind a fixed joint", "name"),
    "model/link/pose": supported("", POSE),
    "model/link/self_collide": no_effect("`self_collision` is an option of a simulation"),
    "model/link/inertial": supported(
        "by default 1 kg and 1 kg m²; auto='true' is rejected", "auto"
    ),
    "model/link/inertial/pose": supported("", POSE),
    "model/link/inertial/mass": supported(),
    "model/link/inertial/inertia": supported(),
    **_create_values("model/link/inertial/inertia", "ixx ixy ixz iyy iyz izz"),
    "model/link/inertial/density": no_effect("mass and inertia are given"),
    "model/link/inertial/fluid_added_mass": unsupported("there is no fluid"),
    **_create_shapes("model/link/collision", "collision shapes"),
    "model/link/collision/max_contacts": no_effect("all contacts are simulated"),
    "model/link/collision/surface": unsupported("the contact law has these parameters"),
    **_create_shapes("model/link/visual", "visual shapes; collision shapes with `shapes='visual'`"),
    "model/link/visual/material": no_effect("for pictures"),
    "model/link/visual/cast_shadows": no_effect("for pictures"),
    "model/link/visual/transparency": no_effect("for pictures"),
    "model/link/visual/visibility_flags": no_effect("for pictures"),
    "model/link/visual/meta": no_effect("for pictures"),
    "model/link/gravity": unsupported("all bodies have weight"),
    "model/link/kinematic": unsupported("all bodies move by forces"),
    "model/link/velocity_decay": unsupported("there is no drag; joints have damping"),
    "model/link/must_be_base_link": unsupported("the root is the link without a parent"),
    "model/link/enable_wind": unsupported("there is no wind"),
    "model/link/sensor": unsupported("sensors are chosen by name (`--sensors`)"),
    "model/link/light": unsupported("for pictures"),
    "model/link/battery": unsupported("there are no batteries"),
    "model/joint": supported(
        "revolute, continuous, prismatic, ball, fixed or gearbox; other types are rejected",
        "name type",
    ),
    "model/joint/pose": supported("", POSE),
    "model/joint/parent": supported("`world` too"),
    "model/joint/child": supported("`world` too; a link with two parents closes a loop"),
    "model/joint/gearbox_ratio": supported("a coupling of two joints"),
    "model/joint/gearbox_reference_body": supported(),
    "model/joint/axis": supported("in the joint's frame, before SDF 1.5 in the model's"),
    "model/joint/axis/xyz": supported("by default 0 0 1", "expressed_in"),
    "model/joint/axis/use_parent_model_frame": supported(),
    "model/joint/axis/limit": supported("range, largest torque or force, and largest speed"),
    **_create_values("model/joint/axis/limit", "lower upper effort velocity"),
    "model/joint/axis/limit/stiffness": unsupported("stops are rigid", reported_by_reader=True),
    "model/joint/axis/limit/dissipation": unsupported("stops are rigid", reported_by_reader=True),
    "model/joint/axis/dynamics": supported("not of ball joints"),
    **_create_values(
        "model/joint/axis/dynamics", "damping friction spring_stiffness spring_reference"
    ),
    "model/joint/axis/mimic": supported("a coupling of two joints", "joint axis"),
    **_create_values("model/joint/axis/mimic", "multiplier offset reference"),
    "model/joint/axis2": no_effect("the joint types with two axes are rejected"),
    "model/joint/physics": unsupported("settings of an engine"),
    "model/joint/sensor": unsupported("sensors are chosen by name (`--sensors`)"),
}
