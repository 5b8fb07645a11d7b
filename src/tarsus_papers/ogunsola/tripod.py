"""Robot from a generated URDF file: a plate on three legs with one hinge each."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from tarsus import robots
from tarsus.dynamics.robot import Robot

HEAD = """<robot name="tripod"><link name="plate"><inertial><mass value="3"/>
<inertia ixx="0.02" iyy="0.02" izz="0.04" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
LEG = """<link name="leg{k}"><inertial><origin xyz="0.03 0 -0.08"/><mass value="0.4"/>
<inertia ixx="0.001" iyy="0.001" izz="0.0002" ixy="0" ixz="0" iyz="0"/></inertial>
<collision name="foot{k}"><origin xyz="0.06 0 -0.2"/><geometry><sphere radius="0.02"/></geometry>
</collision></link>
<joint name="hinge{k}" type="revolute"><parent link="plate"/><child link="leg{k}"/>
<origin xyz="{x:.12g} {y:.12g} 0" rpy="0 0 {yaw:.12g}"/><axis xyz="0 1 0"/>
<limit lower="-2" upper="2" effort="20" velocity="20"/><dynamics damping="0.01"/></joint>"""
RADIUS = 0.12  # m: of the hinges from the plate's middle


def tripod() -> Robot:
    """Return a robot of 4.2 kg with nine degrees of freedom; all its numbers are invented."""
    legs = []
    for k in range(3):
        yaw = 2 * np.pi * k / 3
        legs.append(LEG.format(k=k, x=RADIUS * np.cos(yaw), y=RADIUS * np.sin(yaw), yaw=yaw))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "tripod.urdf"
        file.write_text(HEAD + "".join(legs) + "</robot>", encoding="utf-8")
        return robots.load(str(file))
