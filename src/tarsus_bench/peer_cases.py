"""Cases of `tarsus bench --peers`: ANYmal stands, flies and falls, the same in every simulator.

The robot is ANYmal B of the package example-robot-data. Links at fixed joints are merged, and only
spheres touch the ground, so that every simulator can use the same model. The servos, the posture
and the step of 5 ms are those of SimBenchmark. So is the flight: the robot is lifted for a second
by twice its weight, with passive legs, and then flies for two seconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from tarsus.dynamics.robot import Robot
from tarsus.errors import InvalidFile, MissingPackage
from tarsus.installation import package_install_command
from tarsus.model.mechanism import Actuator, Candidate
from tarsus.model.robot_data import NAME, robots_folder
from tarsus.model.urdf import read_urdf
from tarsus_bench.peers.base import Work

Array = NDArray[np.float64]
FILE = "anymal_b_simple_description/robots/anymal.urdf"
LEGS = ("LF", "RF", "LH", "RH")
# SimBenchmark, anymal-pd.yaml and anymal-energy.yaml
POSTURE = (0.03, 0.4, -0.8, -0.03, 0.4, -0.8, 0.03, -0.4, 0.8, -0.03, -0.4, 0.8)  # rad
KP, KD = 40.0, 1.0  # N m/rad, N m s/rad
HEIGHT, FLIGHT_HEIGHT = 0.54, 2.0  # m
LIFTED, FLOWN = 1.0, 2.0  # s
KNEE, TRUNK = 0.06, 0.05  # m, radii of the spheres at the knees and in the trunk's lower corners
CORNER = (0.2155, 0.085, 0.01)  # m, centers of spheres that end at the corners of the trunk's box
FALL_HEIGHT, TILT, SPIN = 0.65, (0.25, 0.15, 0.0), (0.3, -0.5, 0.2)  # m, rad (x, y, z), rad/s
REFERENCE_TOLERANCE = 1e-11  # relative tolerance of the reference flight


@dataclass(frozen=True, eq=False)
class PeerCase:
    """Motion of the robot that all simulators compute."""

    robot: Robot
    """Robot to simulate."""
    q: Array
    """Initial coordinates, shape (nq,)."""
    u: Array
    """Initial velocities, shape (nu,)."""
    seconds: float
    """Duration, s."""
    kp: float = 0.0
    """Proportional gain of the servos, N m/rad."""
    kd: float = 0.0
    """Derivative gain of the servos, N m s/rad."""

    def work(self, dt: float) -> Work:
        """Create the task of a simulator with steps of dt in s."""
        return Work(self.robot, self.q, self.u, self.kp, self.kd, dt)

    @cache  # noqa: B019, the cases live as long as the process
    def exact_flight(self, seconds: float) -> Array:
        """Compute the coordinates (nq,) after a flight by an integrator of order 8."""
        return integrate_flight(self.robot, self.q, self.u, seconds, 0.0)[0]


def load_anymal() -> Robot:
    """Load ANYmal B in its standing posture, without limits of joints and motors.

    Raises
    ------
    MissingPackage
        If the package with its file is not installed.
    InvalidFile
        If the file does not describe the expected robot.
    """
    # file and feet
    folder = robots_folder()
    if folder is None or not (folder / FILE).is_file():
        raise MissingPackage(
            f"the robot ANYmal is part of the package {NAME}: run {package_install_command(NAME)}.",
            NAME,
        )
    robot = Robot.of(read_urdf(folder / FILE))
    names = {f"{leg}_FOOT" for leg in LEGS}
    feet = tuple(c for c in robot.candidates if c.name in names)
    if len(feet) != len(LEGS):
        raise InvalidFile(
            f"{folder / FILE} is not the expected ANYmal: its feet must be named"
            f" {', '.join(f'{leg}_FOOT' for leg in LEGS)}.",
            folder / FILE,
        )
    return without_limits(robot, feet, [0.0, 0.0, HEIGHT, 1.0, 0.0, 0.0, 0.0, *POSTURE])


def without_limits(robot: Robot, candidates: Iterable[Candidate], stand: ArrayLike) -> Robot:
    """Remove the limits of joints and motors, and all contacts except some spheres.

    Parameters
    ----------
    robot
        Robot to change.
    candidates
        Contact candidates to keep; they get names that no frame has.
    stand
        Coordinates of its keyframe "stand", shape (nq,).
    """
    return replace(
        robot,
        bodies=tuple(
            replace(body, joint=replace(body.joint, lower=-np.inf, upper=np.inf))
            for body in robot.bodies
        ),
        candidates=tuple(replace(c, name=f"{c.name}_sphere") for c in candidates),
        actuators=tuple(Actuator(a.name, a.joint) for a in robot.actuators),
        keyframes={"stand": np.asarray(stand, float)},
        notes=(),
    )


def with_body_contacts(robot: Robot) -> Robot:
    """Add contact spheres at the knees and the lower corners of the trunk."""
    knees = [
        Candidate(f"{leg}_knee", body.parent, body.position, KNEE)
        for leg in LEGS
        for body in robot.bodies
        if body.joint.name == f"{leg}_KFE"
    ]
    corners = [
        Candidate(f"trunk_{k}", 0, np.array(CORNER) * (x, y, 1.0), TRUNK)
        for k, (x, y) in enumerate(((1, 1), (1, -1), (-1, 1), (-1, -1)))
    ]
    return replace(robot, candidates=(*robot.candidates, *knees, *corners))


def integrate_flight(
    robot: Robot, q: Array, u: Array, seconds: float, push: float
) -> tuple[Array, Array]:
    """Compute q and u after a flight with an upward force `push` in N at the base.

    The result is accurate nearly to round-off.
    """
    nq, tau = robot.nq, np.zeros(robot.nu)
    tau[2] = push

    def rate(_: float, y: Array) -> Array:
        return np.concatenate(
            [
                robot.coordinate_rate(y[:nq], y[nq:]),
                robot.forward_dynamics(y[:nq], y[nq:], tau),
            ]
        )

    start = np.concatenate([q, u])
    tolerance = REFERENCE_TOLERANCE
    solution = solve_ivp(rate, (0, seconds), start, method="DOP853", rtol=tolerance, atol=tolerance)
    end = solution.y[:, -1]
    end[3:7] /= np.linalg.norm(end[3:7])
    return end[:nq], end[nq:]


@cache
def cases() -> Mapping[str, PeerCase]:
    """Create all cases by name."""
    robot = load_anymal()
    stand, rest = np.asarray(robot.keyframes["stand"]), np.zeros(robot.nu)
    # the flight starts where the lift ends
    high = stand.copy()
    high[2] = FLIGHT_HEIGHT
    weight = robot.mass * float(np.linalg.norm(robot.gravity_acceleration))
    lifted = integrate_flight(robot, high, rest, LIFTED, 2 * weight)
    # the fall starts tilted
    askew, turning = stand.copy(), rest.copy()
    askew[2] = FALL_HEIGHT
    askew[3:7] = Rotation.from_euler("xyz", TILT).as_quat(scalar_first=True)
    turning[3:6] = SPIN
    return {
        "stand": PeerCase(robot, stand, rest, 10.0, KP, KD),
        "flight": PeerCase(robot, *lifted, FLOWN),
        "fall": PeerCase(with_body_contacts(robot), askew, turning, 4.0),
    }


def describe_settings(robot: Robot) -> dict[str, Any]:
    """Describe the settings that all simulators share."""
    return {
        "robot": f"ANYmal B of {NAME}, {robot.mass:.4f} kg, {robot.nu} degrees of freedom",
        "stand": f"PD, kp {KP:g}, kd {KD:g}, torques constant over a step; contacts at the feet",
        "flight": f"no contact, no motors; after a lift of {LIFTED:g} s by twice the weight",
        "fall": "no motors; contacts at feet, knees and the lower corners of the trunk",
    }
