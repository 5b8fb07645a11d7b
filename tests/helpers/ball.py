"""File of a ball on a floor for sweeps, and a file of outcomes."""

from __future__ import annotations

from pathlib import Path

MASS, INERTIA, RADIUS = 2.0, 0.02, 0.1
BALL = f"""<mujoco model="ball"><worldbody><geom name="floor" type="plane" size="0 0 1"/>
  <body name="ball" pos="0 0 {RADIUS}"><freejoint/>
    <inertial mass="{MASS}" pos="0 0 0" diaginertia="{INERTIA} {INERTIA} {INERTIA}"/>
    <geom type="sphere" size="{RADIUS}"/></body></worldbody></mujoco>"""


def beside(folder: Path, robot: Path, own: str) -> Path:
    """Create a folder with the file and with outcomes of the test."""
    (folder / "ball.xml").symlink_to(robot)
    (folder / "own.py").write_text(own)
    return folder
