"""Robots of the package example-robot-data by name, and their files."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from tarsus.errors import MissingPackage
from tarsus.installation import package_install_command

NAME = "example-robot-data"

LEGGED = {  # files of legged robots, relative to the package's folder of robots
    "go1": "go1_description/urdf/go1.urdf",
    "go2": "go2_description/urdf/go2.urdf",
    "a1": "a1_description/urdf/a1.urdf",
    "b1": "b1_description/urdf/b1.urdf",
    "b1_z1": "b1_description/urdf/b1-z1.urdf",
    "laikago": "laikago_description/urdf/laikago.urdf",
    "solo8": "solo_description/robots/solo.urdf",
    "solo12": "solo_description/robots/solo12.urdf",
    "anymal_b": "anymal_b_simple_description/robots/anymal.urdf",
    "anymal_b_kinova": "anymal_b_simple_description/robots/anymal-kinova.urdf",
    "anymal_c": "anymal_c_simple_description/urdf/anymal.urdf",
    "hyq_file": "hyq_description/robots/hyq_no_sensors.urdf",
    "quadruped": "quadruped_description/urdf/quadruped.urdf",
    "centauro": "centauro_description/urdf/centauro.urdf",
    "g1": "g1_description/urdf/g1_29dof_rev_1_0.urdf",
    "g1_hands": "g1_description/urdf/g1_29dof_with_hand_rev_1_0.urdf",
    "talos": "talos_data/robots/talos_full_v2.urdf",
    "talos_box": "talos_data/robots/talos_full_v2_box.urdf",
    "talos_reduced": "talos_data/robots/talos_reduced.urdf",
    "talos_reduced_box": "talos_data/robots/talos_reduced_box.urdf",
    "romeo": "romeo_description/urdf/romeo.urdf",
    "romeo_small": "romeo_description/urdf/romeo_small.urdf",
    "icub": "icub_description/robots/icub.urdf",
    "icub_reduced": "icub_description/robots/icub_reduced.urdf",
    "cassie": "cassie_description/robots/cassie_v2.sdf",
    "bolt": "bolt_description/robots/bolt.urdf",
    "simple_humanoid": "simple_humanoid_description/urdf/simple_humanoid.urdf",
    "human": "human_description/robots/human.urdf",
    "alexander": "alexander_description/urdf/alexander_v1.lowerBodyOnly.urdf",
}
ARMS = {  # with a fixed base
    "alex": "alex_description/urdf/alex_nub_hands.urdf",
    "panda": "panda_description/urdf/panda.urdf",
    "ur3": "ur_description/urdf/ur3_robot.urdf",
    "ur5": "ur_description/urdf/ur5_robot.urdf",
    "ur10": "ur_description/urdf/ur10_robot.urdf",
}


def find_file(name: str) -> Path | None:
    """Find the file of a robot of the package, or None for any other name.

    Raises
    ------
    MissingPackage
        If the package is not installed.
    """
    file = (LEGGED | ARMS).get(name)
    if file is None:
        return None
    folder = robots_folder()
    if folder is None:
        raise MissingPackage(
            f"the robot {name!r} needs the package {NAME}: run {package_install_command(NAME)}.",
            NAME,
        )
    return folder / file


@cache
def robots_folder() -> Path | None:
    """Find the folder with one folder per robot, or None if the package is not installed."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        files = distribution(NAME).files or ()
    except PackageNotFoundError:
        return None
    for file in files:
        if file.suffix == ".urdf":
            path = Path(str(file.locate()))
            return next(
                above
                for above in path.parents
                if above.name == "robots" and above.parent.name == NAME
            )
    return None
