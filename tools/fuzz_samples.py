"""Valid robot files and logs that fuzzing modifies: built-in ones, small ones and public ones."""

from __future__ import annotations

import contextlib
import io
import os
import socket
import sys
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

import tarsus
from tarsus.comparison.trajectory import log_to_arrays
from tarsus.model.to_mjcf import to_mjcf
from tarsus.robots import biped, hoap1, hyq, mini_cheetah, starleth
from tarsus.simulation.recording.log import save_log

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from helpers.robots_of_the_field import urdf_files

TETRAHEDRON = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
SIDE_FILES = (  # names of traps in the folder of a mutant
    *("pipe.xml", "pipe.obj", "pipe.png", "a.socket", "folder.stl", "out.obj", "out", "lfs.stl"),
    *("attach_self.xml", "attach_a.xml", "doubled.xml", "named_pipe.gltf", "named_pipe.obj"),
    *("named_pipe.dae", "huge.png", "self.xml", "s.urdf"),
)
SMALL_MJCF = """<mujoco model="small">
<compiler angle="radian"/><option gravity="0 0 -9.81"/>
<default><geom friction="0.7"/><default class="leg"><joint damping="0.1" armature="0.01"/>
</default></default>
<asset><mesh name="t" file="t.obj" scale="0.1 0.1 0.1"/>
<hfield name="h" nrow="4" ncol="4" size="1 1 0.1 0.1"/></asset>
<worldbody><geom type="plane" size="5 5 1"/><geom type="hfield" hfield="h"/>
<body name="base" pos="0 0 0.5"><freejoint/><geom type="box" size="0.2 0.1 0.05"/>
<geom type="mesh" mesh="t"/><site name="imu" quat="1 0 0 0"/>
<replicate count="2" offset="0 0.2 0"><body pos="0.1 -0.1 0" euler="0 0 0.1"><geom size="0.02"/>
</body></replicate>
<body name="thigh" pos="0.1 0 0" axisangle="0 1 0 0.2" childclass="leg">
<joint name="hip" axis="0 1 0" range="-1 1" ref="0.1"/>
<joint name="roll" axis="1 0 0" pos="0 0 0.01"/>
<geom type="capsule" fromto="0 0 0 0 0 -0.2" size="0.02"/>
<body name="shank" pos="0 0 -0.2">
<inertial pos="0 0 -0.1" mass="0.2" fullinertia="0.01 0.02 0.02 0.001 0 0"/>
<joint name="knee" type="hinge" axis="0 1 0" actuatorfrcrange="-20 20" frictionloss="0.1"
 stiffness="1"/>
<geom type="cylinder" size="0.02 0.1"/><geom type="ellipsoid" size="0.02 0.03 0.04"/></body></body>
<body name="ball" pos="-0.2 0 0"><joint type="ball"/><geom type="sphere" size="0.03" mass="0.3"/>
</body>
<body name="rail" pos="-0.1 0 0.1"><joint name="slide" type="slide" axis="1 0 0"/>
<geom size="0.02"/></body>
</body></worldbody>
<contact><exclude body1="base" body2="thigh"/></contact>
<equality><connect body1="shank" body2="base" anchor="0 0 -0.2"/>
<joint joint1="hip" joint2="knee"/></equality>
<actuator><motor name="m" joint="knee" gear="6" ctrlrange="-2 2" ctrllimited="true"/>
<position joint="hip" kp="10" forcerange="-5 5"/><general joint="slide" gear="2"/></actuator>
<keyframe><key name="home" qpos="0 0 0.5 1 0 0 0 0 0 0 1 0 0 0 0"/></keyframe></mujoco>"""
SMALL_URDF = """<?xml version="1.0"?><robot name="small">
<link name="base"><inertial><origin xyz="0 0 0.1" rpy="0 0 0.1"/><mass value="3"/>
<inertia ixx="0.1" ixy="0.01" ixz="0" iyy="0.2" iyz="0" izz="0.2"/></inertial>
<collision><geometry><box size="0.4 0.2 0.1"/></geometry></collision>
<collision name="tetra"><origin xyz="0 0 0" rpy="0 0 1"/><geometry>
<mesh filename="t.obj" scale="0.1 0.1 0.1"/></geometry></collision></link>
<link name="thigh"><inertial><mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.01"/></inertial>
<collision><geometry><cylinder radius="0.02" length="0.2"/></geometry></collision></link>
<link name="foot"><inertial><mass value="0.2"/><inertia ixx="0.001" iyy="0.001" izz="0.001"/>
</inertial>
<collision><geometry><sphere radius="0.03"/></geometry></collision></link>
<link name="tip"/>
<joint name="hip" type="revolute"><origin xyz="0 0 -0.1" rpy="0.1 0 0"/><parent link="base"/>
<child link="thigh"/>
<axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="20" velocity="10"/>
<dynamics damping="0.1" friction="0.05"/></joint>
<joint name="slide" type="prismatic"><origin xyz="0 0 -0.2"/><parent link="thigh"/>
<child link="foot"/>
<axis xyz="0 0 1"/><limit lower="-0.1" upper="0.1" effort="50" velocity="2"/></joint>
<joint name="end" type="fixed"><parent link="foot"/><child link="tip"/><origin xyz="0 0 -0.05"/>
</joint></robot>"""

SMALL_SDF = """<?xml version="1.0"?><sdf version="1.7"><model name="small">
<frame name="mark" attached_to="base"><pose>0 0 -0.1 0.1 0 0</pose></frame>
<link name="base"><pose>0 0 1 0 0 0</pose><inertial><pose>0 0 0.1 0 0 0.1</pose><mass>3</mass>
<inertia><ixx>0.1</ixx><ixy>0.01</ixy><iyy>0.2</iyy><izz>0.2</izz></inertia></inertial>
<collision name="c"><geometry><box><size>0.4 0.2 0.1</size></box></geometry></collision>
<collision name="tetra"><pose>0 0 0 0 0 1</pose><geometry><mesh><uri>t.obj</uri>
<scale>0.1 0.1 0.1</scale></mesh></geometry></collision></link>
<link name="crank"><pose relative_to="mark"/><inertial><mass>1</mass><inertia><ixx>0.01</ixx>
<iyy>0.01</iyy><izz>0.01</izz></inertia></inertial></link>
<link name="rod"><pose relative_to="crank">0 0 -0.2 0 0 0</pose><inertial><mass>0.5</mass><inertia>
<ixx>0.01</ixx><iyy>0.01</iyy><izz>0.01</izz></inertia></inertial>
<collision name="f"><geometry><sphere><radius>0.03</radius></sphere></geometry></collision></link>
<link name="rocker"><pose relative_to="crank">0.3 0 0 0 0 0</pose><inertial><mass>1</mass><inertia>
<ixx>0.01</ixx><iyy>0.01</iyy><izz>0.01</izz></inertia></inertial></link>
<link name="rotor"><pose relative_to="mark"/><inertial><mass>0.1</mass><inertia><ixx>0.001</ixx>
<iyy>0.001</iyy><izz>0.001</izz></inertia></inertial></link>
<joint name="hip" type="revolute"><parent>base</parent><child>crank</child><axis>
<xyz expressed_in="base">0 1 0</xyz><limit><lower>-1</lower><upper>1</upper><effort>20</effort>
<velocity>10</velocity></limit><dynamics><damping>0.1</damping><friction>0.05</friction></dynamics>
</axis></joint>
<joint name="spin" type="continuous"><parent>base</parent><child>rotor</child><axis>
<xyz expressed_in="base">0 1 0</xyz></axis></joint>
<joint name="gears" type="gearbox"><parent>rotor</parent><child>crank</child><axis>
<xyz expressed_in="base">0 1 0</xyz></axis><gearbox_ratio>0.1</gearbox_ratio>
<gearbox_reference_body>base</gearbox_reference_body></joint>
<joint name="knee" type="revolute"><parent>crank</parent><child>rod</child><axis><xyz>0 1 0</xyz>
<dynamics><spring_stiffness>50</spring_stiffness><spring_reference>0.1</spring_reference></dynamics>
</axis></joint>
<joint name="swing" type="revolute"><parent>rocker</parent><child>base</child>
<pose relative_to="rocker"/><axis><xyz>0 1 0</xyz></axis></joint>
<joint name="close" type="ball"><parent>rod</parent><child>rocker</child>
<pose relative_to="rod">0.1 0 0 0 0 0</pose></joint></model></sdf>"""


@dataclass(frozen=True)
class Sample:
    """Valid file: its kind (mjcf, urdf, sdf, nc, npz), its bytes and the folder of its meshes."""

    kind: str
    data: bytes
    folder: Path | None = None


def small_files() -> list[Sample]:
    """Return three small robots with a bit of everything."""
    made = {"mjcf": SMALL_MJCF, "urdf": SMALL_URDF, "sdf": SMALL_SDF}
    return [Sample(kind, text.encode()) for kind, text in made.items()]


@cache
def robot_files() -> list[Sample]:
    """Return built-in robots as MJCF, small files with a bit of everything, and public robots.

    The small files are repeated, so that they are chosen more often.
    """
    own = (biped, hoap1, hyq, mini_cheetah, starleth)
    found = [Sample("mjcf", to_mjcf(robot.describe()).encode()) for robot in own]
    found += 6 * small_files()
    of_field = [Sample("urdf", file.read_bytes(), file.parent) for file in urdf_files()]
    return found + [sample for sample in of_field if len(sample.data) < 40_000]


@cache
def logs() -> list[Sample]:
    """Simulate the small robot and a quadruped; return the logs as netCDF and as arrays."""
    found = []
    for robot, duration in ((tarsus.load(small_robot()), 0.03), ("mini_cheetah", 0.02)):
        simulation = tarsus.Simulation(robot, controller=None, law="moreau")
        log = simulation.run(duration)
        path = small_robot().with_name("log.nc")
        save_log(log, path)
        found.append(Sample("nc", path.read_bytes()))
        arrays = io.BytesIO()
        np.savez(arrays, **log_to_arrays(log, simulation.robot))
        found.append(Sample("npz", arrays.getvalue()))
    return found


@cache
def small_robot() -> Path:
    """Write the small URDF with its mesh to a new folder."""
    folder = Path(tempfile.mkdtemp())
    (folder / "t.obj").write_text(TETRAHEDRON)
    (folder / "small.urdf").write_text(SMALL_URDF)
    return folder / "small.urdf"


def write_side_files(folder: Path) -> None:
    """Write the files `SIDE_FILES` that mutants may name: traps that must not be opened or run."""
    if (folder / "pipe.xml").exists():
        return
    for name in ("pipe.xml", "pipe.obj", "pipe.png"):
        os.mkfifo(folder / name)
    with contextlib.suppress(OSError):  # its path may be too long
        socket.socket(socket.AF_UNIX).bind(str(folder / "a.socket"))
    (folder / "folder.stl").mkdir()
    (folder / "out.obj").symlink_to("/etc/passwd")
    (folder / "out").symlink_to("/etc")
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"
    model = '<mujoco model="{0}"><asset><model name="{1}" file="{1}.xml"/></asset><worldbody>{2}'
    attach = '<frame><attach model="{0}" body="b" prefix="{1}"/></frame>'
    body = '<body name="b"><geom size="1"/></body></worldbody></mujoco>'
    gltf = (
        '{"asset":{"version":"2.0"},"buffers":[{"uri":"pipe.obj","byteLength":36}],"images":[{}]}'
    )
    dae = '<!DOCTYPE COLLADA [<!ENTITY x SYSTEM "pipe.xml">]><COLLADA>&x;</COLLADA>'
    pixels = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + (90_000).to_bytes(4, "big") * 2 + b"\x08\x02"
    texts = {
        "lfs.stl": pointer,
        "attach_self.xml": model.format("attach_self", "attach_self", "") + body,
        "attach_a.xml": model.format("attach_a", "attach_b", attach.format("attach_b", "x")) + body,
        "attach_b.xml": model.format("attach_b", "attach_a", attach.format("attach_a", "x")) + body,
        "named_pipe.gltf": gltf,
        "named_pipe.obj": "mtllib pipe.obj\nusemtl x\n" + TETRAHEDRON,
        "named_pipe.dae": dae,
    }
    for k in range(12):  # each holds the next one nine times
        inner = "".join(attach.format(f"doubled{k + 1}", f"p{j}") for j in range(9))
        name = "doubled" if k == 0 else f"doubled{k}"
        texts[f"{name}.xml"] = model.format(name, f"doubled{k + 1}", inner) + body
    texts["doubled12.xml"] = "<mujoco><worldbody>" + body
    for name, text in texts.items():
        (folder / name).write_text(text)
    (folder / "huge.png").write_bytes(pixels)
