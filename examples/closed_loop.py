"""Simulate a leg with a closed loop: a five-bar linkage with both motors on the body.

Two thighs have a motor each; their shanks are pinned together at the foot. The script prints how
far the pin drifts, and how the load is shared between the motors.
"""

import numpy as np

import tarsus
from tarsus.model.mechanism import Actuator, Body, Candidate, Inertia, Joint, LoopJoint, Mechanism

THIGH, SHANK, APART = 0.14, 0.26, 0.06  # m: links, and half of what the hips stand apart
Y, Z = np.array([0.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0])


def link(name: str, parent: int, mass: float, length: float, at: np.ndarray) -> Body:
    """A rod that hangs from a hinge about y."""
    across = mass * length**2 / 12
    inertia = Inertia(mass, np.array([0, 0, -length / 2]), np.diag([across, across, 1e-5]))
    return Body(name, parent, Joint(name, "hinge", axis=Y, damping=0.01), inertia, at)


def five_bar() -> tarsus.Robot:
    """A block on a vertical rail, two thighs, two shanks, one pin."""
    block = Body(
        "block", -1, Joint("rail", "slide", axis=Z), Inertia(2.0, np.zeros(3), 0.01 * np.eye(3))
    )
    knee, foot = np.array([0.0, 0.0, -THIGH]), np.array([0.0, 0.0, -SHANK])
    bodies = (
        block,
        link("front", 0, 0.15, THIGH, np.array([APART, 0.0, 0.0])),
        link("front_shank", 1, 0.10, SHANK, knee),
        link("back", 0, 0.15, THIGH, np.array([-APART, 0.0, 0.0])),
        link("back_shank", 3, 0.10, SHANK, knee),
    )
    pin = LoopJoint(Joint("pin", "hinge", axis=Y), 2, 4, foot, in_child=foot)
    guess = np.array([0.30, -0.9, 1.1, 0.9, -1.1])
    return tarsus.Robot.of(
        Mechanism(
            "five_bar",
            bodies,
            (Candidate("foot", 2, foot, 0.015),),
            actuators=(Actuator("front", "front"), Actuator("back", "back")),
            keyframes={"stand": guess},
            loops=(pin,),
        )
    )


def main() -> None:
    """Squat once a second; the servos hold the thighs."""
    robot = five_bar()
    start = robot.close_loops(robot.keyframes["stand"])
    hold = start[[1, 3]]

    def servos(t: float, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        wanted = hold + 0.15 * np.sin(2 * np.pi * t) * np.array([-1.0, 1.0])
        return 80.0 * (wanted - q[[1, 3]]) - 2.0 * u[[1, 3]]

    log = tarsus.Simulation(robot, controller=servos, dt=0.001).run(3.0)
    torque = log["tau"].values[1000:]
    height = log["q"].sel(coordinate="rail").values[1000:]
    print(f"the pin's largest gap in 3 s: {1e9 * float(log['drift'].max()):.1f} nm")
    print(f"the block moves by {1e3 * np.ptp(height):.1f} mm")
    front, back = np.abs(torque).max(0)
    print(f"torques: front {front:.2f} N m, back {back:.2f} N m")
    load = float(log["force_world"].sel(contact="foot", xyz="z")[1000:].mean())
    print(f"mean load on the foot {load:.2f} N, weight {robot.mass * 9.81:.2f} N")


if __name__ == "__main__":
    main()
