"""A free body of one shape, as a robot."""

from __future__ import annotations

from tarsus.dynamics.robot import Robot
from tarsus.model.mjcf import read_mjcf


def free_body(
    geom: str, height: float = 1.0, turn: str = "", density: float = 1000.0, beside: str = ""
) -> Robot:
    """Of a shape called `part`, its middle that high (m), kg/m^3.

    geom: the shape's attributes in MJCF; turn: the body's; beside: shapes that carry nothing
    """
    part = f"<geom name='part' {geom} density='{density}'/>{beside}"
    body = f"<body pos='0 0 {height}' {turn}><freejoint/>{part}</body>"
    return Robot.of(read_mjcf(f"<mujoco><worldbody>{body}</worldbody></mujoco>"))
