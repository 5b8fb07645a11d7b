"""Compare gaits of a Go2 with ideal and with identified actuators, for docs/real_go2.md.

    uv run python tools/real_go2_gait.py identified.toml

The file is that of `tarsus identify LOG.npz ... --out FOLDER`. Its joints are put on the floating
robot go2 of example-robot-data. The tool prints a Markdown table: speed, torque and power of
`stand` and `trot`, and the largest push to the side that they survive.
"""

from __future__ import annotations

import sys
import tempfile
import tomllib
import warnings
from pathlib import Path

import numpy as np

import tarsus
from tarsus.model.robot_toml import RESISTANCES

PUSH, SETTLE, RECOVER = 0.1, 2.0, 3.0  # s: length of a push, time before and after it
PHASES = 4  # of the gait at which a push begins
FORCES = np.arange(10.0, 610.0, 10.0)  # N
FALL = 0.5  # cosine of the tilt at which the robot has fallen


def floating(identified: Path, kinds: tuple[str, ...]) -> tarsus.Robot:
    """Load go2 with some of the identified numbers of its joints."""
    lines = ['robot = "go2"']
    for joint, values in tomllib.loads(identified.read_text())["joints"].items():
        lines.append(f'[joints."{joint}"]')
        for name in kinds:
            if name == "friction" and name in values:
                inner = ", ".join(f"{key} = {value!r}" for key, value in values[name].items())
                lines.append(f"friction = {{ {inner} }}")
            elif name in values:
                lines.append(f"{name} = {values[name]!r}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "go2.toml"
        path.write_text("\n".join(lines))
        return tarsus.load(path)


def describe_motion(robot: tarsus.Robot, gait: str) -> list[str]:
    """Simulate 10 s of a gait and return speed, torque and power of the last 8 s."""
    log = tarsus.Simulation(robot, controller=gait, dt=0.0025).run(10.0)
    last = log.time.values > SETTLE
    u, tau = log.u.values[last], log.tau.values[last]
    speed = float(np.ptp(log.q.values[last][[0, -1], 0])) / (10.0 - SETTLE)
    power = float(np.mean(np.abs(tau * u[:, 6:]).sum(1)))
    return [f"{speed:.3f} m/s", f"{np.sqrt(np.mean(tau**2)):.2f} N m", f"{power:.1f} W"]


def find_largest_push(robot: tarsus.Robot, gait: str) -> float:
    """Return the largest force to the left, in N, below which no push makes the robot fall."""
    base = robot.bodies[0].name
    largest = np.inf
    for phase in range(PHASES):
        simulation = tarsus.Simulation(
            robot, controller=gait, dt=0.0025, worlds=len(FORCES), pushes=[base]
        )
        simulation.advance(SETTLE + 0.1 * phase)
        simulation.set(push={base: FORCES[:, None] * np.array([0.0, 1.0, 0.0])})
        simulation.advance(PUSH)
        simulation.set(push={base: (0.0, 0.0, 0.0)})
        simulation.advance(RECOVER)
        x, y = np.asarray(simulation.q)[:, 4:6].T
        fell = ~(1 - 2 * (x**2 + y**2) > FALL)
        stood = int(np.argmax(fell)) if fell.any() else len(FORCES)
        largest = min(largest, FORCES[stood - 1] if stood else 0.0)
    return float(largest)


def main(identified: Path) -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    resistances = (*RESISTANCES, "friction")
    rows = {
        "ideal": (),
        "identified armature alone": ("armature",),
        "identified": resistances,
    }
    print("| gait | actuators | speed | torque, RMS | power | push |")
    print("|---|---|---|---|---|---|")
    for gait in ("stand", "trot"):
        for name, kinds in rows.items():
            robot = floating(identified, kinds)
            cells = [*describe_motion(robot, gait), f"{find_largest_push(robot, gait):.0f} N"]
            print(f"| `{gait}` | {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
