"""One file in Tarsus and in MuJoCo: stops and meetings at the same instants, the same rest."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.capsule_biped import biped
from helpers.events import Array, Course, Torques, in_mujoco, in_tarsus

from tarsus.dynamics.robot import Robot
from tarsus.model.mjcf import read_mjcf

DT = 0.001  # s
WITHIN = 2  # steps
MILLIMETER, FIFTH = 1e-3, np.deg2rad(0.2)

LINK = """<body name="{name}" pos="{x} 0 {z}"><joint name="{name}" axis="0 1 0" range="{range}"/>
<geom name="{name}" type="capsule" fromto="0 0 0 .3 0 0" size=".02" mass="{mass}"/>{inner}</body>"""


def chain() -> str:
    """Three links that fold up: the last stops on its range, then meets the first."""
    last = LINK.format(name="c", x=0.3, z=0, range="-100 100", mass=0.3, inner="")
    middle = LINK.format(name="b", x=0.3, z=0, range="-170 170", mass=0.6, inner=last)
    first = LINK.format(name="a", x=0, z=1, range="-170 170", mass=1.0, inner=middle)
    return f"<mujoco><compiler autolimits='true'/><worldbody>{first}</worldbody></mujoco>"


LEG = """<body name="{s}_thigh" pos="{x} {y} 0"><joint name="{s}_hip" axis="0 1 0" range="-60 100"/>
<geom type="capsule" fromto="0 0 -.04 0 0 -.18" size=".03" mass="1"/>
<body name="{s}_shank" pos="0 0 -.22"><joint name="{s}_knee" axis="0 1 0" range="-140 -30"/>
<geom type="capsule" fromto="0 0 -.02 0 0 -.18" size=".02" mass=".3"/>
<geom name="{s}_foot" type="sphere" pos="0 0 -.22" size=".025" mass=".1"/></body></body>"""


def quadruped() -> str:
    """A trunk on four legs of two joints, above a floor: 14 degrees of freedom, 17.6 kg."""
    sides = {"fl": (0.2, 0.12), "fr": (0.2, -0.12), "hl": (-0.2, 0.12), "hr": (-0.2, -0.12)}
    legs = "".join(LEG.format(s=s, x=x, y=y) for s, (x, y) in sides.items())
    motors = "".join(f'<motor joint="{s}_{j}"/>' for s in sides for j in ("hip", "knee"))
    return f"""<mujoco><compiler autolimits="true"/><default><joint damping=".5" armature=".01"/>
<motor ctrlrange="-200 200"/></default><worldbody><geom type="plane" size="5 5 1"/>
<body name="trunk" pos="0 0 .5"><freejoint/>
<geom type="box" size=".25 .08 .05" mass="12"/>{legs}</body></worldbody>
<actuator>{motors}</actuator></mujoco>"""


def both(
    text: str, q: Array, u: Array, torques: Torques, seconds: float
) -> tuple[Robot, Course, Course]:
    """The same run in both engines."""
    robot, steps = Robot.of(read_mjcf(text)), round(seconds / DT)
    ours = in_tarsus(robot, (q, u), torques, DT, steps)
    return robot, ours, in_mujoco(text, (q, u), torques, DT, steps)


def limp(t: float, q: Array, u: Array) -> Array:
    """No torques of eight motors at most."""
    return np.zeros(0)
