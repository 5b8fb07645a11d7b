"""What is read from the model of an SDF file."""

from __future__ import annotations

from tarsus.model.file_schema import Table, left_out, no_effect, refused, taken

POSE = "relative_to frame degrees rotation_format"
ONE_MODEL = "put all links and joints into one model (`gz sdf -p FILE` expands <include>)"


def _values(path: str, tags: str) -> Table:
    """Create the rules of elements that hold one value each."""
    return {f"{path}/{tag}": taken() for tag in tags.split()}


def _shapes(path: str, why: str) -> Table:
    """Create the rules that <collision> and <visual> share."""
    shape = f"{path}/geometry"
    return {
        path: taken(why, "name"),
        f"{path}/pose": taken("", POSE),
        shape: taken("one shape; others are left out by name", elsewhere=True),
        **_values(shape, "box sphere cylinder capsule ellipsoid mesh"),
        **_values(f"{shape}/box", "size"),
        **_values(f"{shape}/sphere", "radius"),
        **_values(f"{shape}/cylinder", "radius length"),
        **_values(f"{shape}/capsule", "radius length"),
        **_values(f"{shape}/ellipsoid", "radii"),
        **_values(f"{shape}/mesh", "uri scale"),
        f"{shape}/mesh/submesh": left_out("the whole mesh is read"),
        f"{path}/laser_retro": no_effect("for laser sensors"),
    }


SDF: Table = {
    "model": taken("exactly one, which must not be static", "name canonical_link placement_frame"),
    "model/include": refused(ONE_MODEL),
    "model/model": refused(ONE_MODEL),
    "model/static": taken("true is refused: nothing could move"),
    "model/pose": taken("", POSE),
    "model/frame": taken("", "name attached_to"),
    "model/frame/pose": taken("", POSE),
    "model/self_collide": no_effect("`self_collision` is an option of a simulation"),
    "model/enable_wind": no_effect("there is no wind"),
    "model/allow_auto_disable": no_effect("bodies at rest are simulated too"),
    "model/plugin": left_out("code of Gazebo"),
    "model/gripper": left_out("grasping is by contact"),
    "model/link": taken("a body, or part of one behind a fixed joint", "name"),
    "model/link/pose": taken("", POSE),
    "model/link/self_collide": no_effect("`self_collision` is an option of a simulation"),
    "model/link/inertial": taken("by default 1 kg and 1 kg m²; auto='true' is refused", "auto"),
    "model/link/inertial/pose": taken("", POSE),
    "model/link/inertial/mass": taken(),
    "model/link/inertial/inertia": taken(),
    **_values("model/link/inertial/inertia", "ixx ixy ixz iyy iyz izz"),
    "model/link/inertial/density": no_effect("mass and inertia are given"),
    "model/link/inertial/fluid_added_mass": left_out("there is no fluid"),
    **_shapes("model/link/collision", "what may touch"),
    "model/link/collision/max_contacts": no_effect("all contacts are simulated"),
    "model/link/collision/surface": left_out("the contact law has these parameters"),
    **_shapes("model/link/visual", "pictures; what may touch, with `shapes='visual'`"),
    "model/link/visual/material": no_effect("for pictures"),
    "model/link/visual/cast_shadows": no_effect("for pictures"),
    "model/link/visual/transparency": no_effect("for pictures"),
    "model/link/visual/visibility_flags": no_effect("for pictures"),
    "model/link/visual/meta": no_effect("for pictures"),
    "model/link/gravity": left_out("all bodies have weight"),
    "model/link/kinematic": left_out("all bodies move by forces"),
    "model/link/velocity_decay": left_out("there is no drag; joints have damping"),
    "model/link/must_be_base_link": left_out("the root is the link without a parent"),
    "model/link/enable_wind": left_out("there is no wind"),
    "model/link/sensor": left_out("sensors are chosen by name (`--sensors`)"),
    "model/link/light": left_out("for pictures"),
    "model/link/battery": left_out("there are no batteries"),
    "model/joint": taken(
        "revolute, continuous, prismatic, ball, fixed or gearbox; other types are refused",
        "name type",
    ),
    "model/joint/pose": taken("", POSE),
    "model/joint/parent": taken("`world` too"),
    "model/joint/child": taken("`world` too; a link with two parents closes a loop"),
    "model/joint/gearbox_ratio": taken("a coupling of two joints"),
    "model/joint/gearbox_reference_body": taken(),
    "model/joint/axis": taken("in the joint's frame, before SDF 1.5 in the model's"),
    "model/joint/axis/xyz": taken("by default 0 0 1", "expressed_in"),
    "model/joint/axis/use_parent_model_frame": taken(),
    "model/joint/axis/limit": taken("range, largest torque or force, and largest speed"),
    **_values("model/joint/axis/limit", "lower upper effort velocity"),
    "model/joint/axis/limit/stiffness": left_out("stops are rigid", elsewhere=True),
    "model/joint/axis/limit/dissipation": left_out("stops are rigid", elsewhere=True),
    "model/joint/axis/dynamics": taken("not of ball joints"),
    **_values("model/joint/axis/dynamics", "damping friction spring_stiffness spring_reference"),
    "model/joint/axis/mimic": taken("a coupling of two joints", "joint axis"),
    **_values("model/joint/axis/mimic", "multiplier offset reference"),
    "model/joint/axis2": no_effect("the joint types with two axes are refused"),
    "model/joint/physics": left_out("settings of an engine"),
    "model/joint/sensor": left_out("sensors are chosen by name (`--sensors`)"),
}
