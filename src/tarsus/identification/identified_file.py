"""Write the identified joints of a robot into its file, as MJCF that `load` and MuJoCo read.

An MJCF file is changed only where joints were identified; everything else stays as it is. Robots of
other formats are written as a new MJCF file.
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
from tarsus.model.to_mjcf import to_mjcf

FOLDERS = ("meshdir", "texturedir", "assetdir")  # of the compiler, relative to the file


def write_identified(robot: Robot, path: Path) -> None:
    """Write the robot of an identification as MJCF.

    Parameters
    ----------
    robot
        Robot with the identified joints; its origin is the file with the others.
    path
        Path of the new file.
    """
    source = Path(robot.origin.file) if robot.origin.file else None
    root = _edit_file(robot, source, path) if source and source.suffix == ".xml" else None
    text = to_mjcf(robot, floor=False) if root is None else _text(root)
    write_text({path: text + "\n"})


def _edit_file(robot: Robot, source: Path, path: Path) -> Element | None:
    """Edit the joints in the file; None if they are not all in it, by their names."""
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
