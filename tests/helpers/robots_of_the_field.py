"""URDF files of the package example-robot-data."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from tarsus.model.robot_data import robots_folder

LEGGED = (  # folders of quadrupeds, bipeds and humanoids
    "a1_description",
    "alex_description",
    "alexander_description",
    "anymal_b_simple_description",
    "anymal_c_simple_description",
    "b1_description",
    "bolt_description",
    "centauro_description",
    "g1_description",
    "go1_description",
    "go2_description",
    "human_description",
    "hyq_description",
    "icub_description",
    "laikago_description",
    "quadruped_description",
    "romeo_description",
    "simple_humanoid_description",
    "solo_description",
    "talos_data",
)


@cache
def urdf_files() -> list[Path]:
    """Every URDF file with a link in it, sorted by path."""
    folder = robots_folder()
    files = sorted(folder.rglob("*.urdf")) if folder else []
    return [file for file in files if "<link" in file.read_text(encoding="utf-8", errors="replace")]


def legged_urdf_files() -> list[Path]:
    """URDF files of legged robots."""
    folder = robots_folder()
    return [file for file in urdf_files() if folder and file.relative_to(folder).parts[0] in LEGGED]


def label(file: Path) -> str:
    """Name of a test for a file: two robots are called anymal.urdf."""
    folder = robots_folder()
    return f"{file.relative_to(folder).parts[0]}-{file.stem}" if folder else file.stem
