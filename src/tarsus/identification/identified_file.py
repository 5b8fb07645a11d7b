"""Write the identified joints of a robot as files that `load` reads.

An MJCF file, which MuJoCo reads too, is changed only where joints were identified. Robots of other
formats are written as a new MJCF file; a URDF file is edited too. A TOML file names the robot's own
file and adds what its format cannot say: gains, delays and lags of the servos, offsets of encoders,
armature, springs, and how friction varies (`tarsus.model.robot_toml`).
"""

from __future__ import annotations

import os
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement

import numpy as np

from tarsus.dynamics.robot import Robot
from tarsus.files import write_text
from tarsus.model.joint import Joint
from tarsus.model.mjcf_friction import add_friction
from tarsus.model.robot_toml import find_model_file, write_robot_toml
from tarsus.model.to_mjcf import to_mjcf

NAME = "identified"  # of the files
FOLDERS = ("meshdir", "texturedir", "assetdir")  # of the compiler, relative to the file


def write_identified(robot: Robot, folder: Path) -> list[Path]:
    """Write the robot of an identification.

    Parameters
    ----------
    robot
        Robot with the identified joints and servos; its origin is the file with the others.
    folder
        Folder of the new files.

    Returns
    -------
    list of Path
        The files: MJCF, URDF if the robot was read from URDF, and TOML.
    """
    source = find_model_file(Path(robot.origin.file)) if robot.origin.file else None
    texts: dict[Path, str] = {}
    paths = {suffix: folder / f"{NAME}{suffix}" for suffix in (".xml", ".urdf", ".toml")}
    edited = source and _edit_mjcf(robot, source, paths[".xml"])
    texts[paths[".xml"]] = to_mjcf(robot, floor=False) if not edited else _text(edited)
    if source and (urdf := _edit_urdf(robot, source, paths[".urdf"])):
        texts[paths[".urdf"]] = _text(urdf)
    base = source or paths[".xml"]
    texts[paths[".toml"]] = write_robot_toml(robot, Path(os.path.relpath(base, folder)).as_posix())
    write_text({path: text.rstrip() + "\n" for path, text in texts.items()})
    return [*texts]


def _edit_mjcf(robot: Robot, source: Path, path: Path) -> Element | None:
    """Edit the joints in an MJCF file; None if they are not all in it, by their names."""
    if source.suffix != ".xml":
        return None
    root = ElementTree.parse(source).getroot()
    elements = {e.get("name"): e for e in root.iter("joint") if e.get("name")}
    joints = [body.joint for body in robot.bodies]
    if root.tag != "mujoco" or any(joint.name not in elements for joint in joints):
        return None
    for joint in joints:
        _edit_joint(root, elements[joint.name], joint)
    # the file's folders, seen from the new file
    compiler = root.find("compiler")
    if root.find("asset/mesh") is not None or root.find("asset/texture") is not None:
        compiler = SubElement(root, "compiler") if compiler is None else compiler
        for name in FOLDERS[:2]:
            folder = compiler.get(name, compiler.get(FOLDERS[2], ""))
            compiler.set(name, os.path.relpath(source.parent / folder, path.parent))
    return root


def _edit_urdf(robot: Robot, source: Path, path: Path) -> Element | None:
    """Edit damping and dry friction in a URDF file; None for another file."""
    root = ElementTree.parse(source).getroot()
    if root.tag != "robot":
        return None
    joints = {body.joint.name: body.joint for body in robot.bodies}
    for element in root.findall("joint"):
        if (joint := joints.get(str(element.get("name")))) is None:
            continue
        found = element.find("dynamics")
        dynamics = SubElement(element, "dynamics") if found is None else found
        dynamics.set("damping", repr(float(joint.damping)))
        dynamics.set("friction", repr(float(joint.dry_friction)))
    # the meshes, seen from the new file
    for mesh in root.iter("mesh"):
        name = str(mesh.get("filename"))
        if "://" not in name and not os.path.isabs(name):
            relative = os.path.relpath(source.parent / name, path.parent)
            mesh.set("filename", Path(relative).as_posix())
    return root


def _edit_joint(root: Element, element: Element, joint: Joint) -> None:
    """Write what resists the motion of a joint."""
    numbers = {
        "armature": joint.armature,
        "damping": joint.damping,
        "frictionloss": joint.dry_friction,
    }
    if joint.stiffness:
        compiler = root.find("compiler")
        radian = compiler is not None and compiler.get("angle") == "radian"
        rest = joint.rest if radian or joint.kind == "slide" else np.degrees(joint.rest)
        numbers |= {"stiffness": joint.stiffness, "springref": rest}
    for name, value in numbers.items():
        element.set(name, repr(float(value)))
    if joint.friction:
        add_friction(root, joint.name, joint.friction)


def _text(root: Element) -> str:
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode")
