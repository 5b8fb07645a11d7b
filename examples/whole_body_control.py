"""Control the whole body with a quadratic program.

At every control step, choose accelerations, torques and contact forces that minimize the error of a
desired trunk motion. The equation of motion holds, the feet rest, forces are in a linearized
friction cone and torques in their range. The solver is qpOASES, which comes with CasADi. The robot
squats and rolls while all feet stand.
"""

from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np

import tarsus
from tarsus.morphology.feet import find_feet

RATE, MU = 250.0, 0.6  # Hz, and a cautious friction coefficient
KP, KD = 100.0, 20.0  # 1/s^2, 1/s: of the trunk's motion


class WholeBody:
    """The controller: call it with t, q, u, and it gives torques."""

    def __init__(self, robot: tarsus.Robot) -> None:
        self.robot, self.home = robot, np.array(robot.keyframes["stand"])
        self.feet = [foot.name for foot in find_feet(robot)]
        nv, nf = robot.nu, 3 * len(self.feet)
        size, rows = nv + nf, 6 + nf + 4 * len(self.feet) + (nv - 6)
        shape = {"h": ca.Sparsity.dense(size, size), "a": ca.Sparsity.dense(rows, size)}
        options = {"printLevel": "none", "error_on_fail": False}
        self.solve = ca.conic("wbc", "qpoases", shape, options)
        self.failed = 0

    def wanted(self, t: float, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Acceleration (6,) of the trunk: 3 cm up and down, 6 degrees of roll."""
        w, lift, tilt = np.pi, 0.03, np.deg2rad(6.0)  # rad/s, m, rad; the roll is twice as fast
        up, over = np.array([0.0, 0.0, lift]), np.array([tilt, 0.0, 0.0])
        place, moving = self.home[:3] + up * np.sin(w * t), up * w * np.cos(w * t)
        turned = 2 * q[4:7] * np.sign(q[3]) - over * np.sin(2 * w * t)  # small angles
        turning = over * 2 * w * np.cos(2 * w * t)
        linear = KP * (place - q[:3]) + KD * (moving - u[:3]) - up * w**2 * np.sin(w * t)
        angular = -KP * turned + KD * (turning - u[3:6]) - over * (2 * w) ** 2 * np.sin(2 * w * t)
        return np.concatenate([linear, angular])

    def __call__(self, t: float, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        robot, nv, n = self.robot, self.robot.nu, len(self.feet)
        M, h = robot.mass_matrix(q), robot.bias(q, u)
        J = np.vstack([robot.jacobian(q, name)[:3] for name in self.feet])
        # the cost: the trunk's acceleration, small joint accelerations, small forces
        weight = np.concatenate([np.full(6, 1.0), np.full(nv - 6, 1e-4), np.full(3 * n, 1e-6)])
        goal = np.concatenate([self.wanted(t, q, u), np.zeros(nv - 6 + 3 * n)])
        # rows: the trunk's six equations, feet at rest, cones, torques
        torque = np.hstack([M, -J.T])
        cone = np.kron(np.eye(n), [[1, 0, MU], [-1, 0, MU], [0, 1, MU], [0, -1, MU]])
        A = np.vstack(
            [
                torque[:6],
                np.hstack([J, np.zeros((3 * n, 3 * n))]),
                np.hstack([np.zeros((4 * n, nv)), cone]),
                torque[6:],
            ]
        )
        still = -20.0 * (J @ u)  # feet that move are braked
        limit = np.array([a.upper for a in robot.actuators])
        low = np.concatenate([-h[:6], still, np.zeros(4 * n), -limit - h[6:]])
        high = np.concatenate([-h[:6], still, np.full(4 * n, np.inf), limit - h[6:]])
        bound = np.concatenate([np.full(nv, np.inf), np.tile([np.inf, np.inf, 300.0], n)])
        found: Any = self.solve(
            h=np.diag(weight), g=-weight * goal, a=A, lba=low, uba=high, lbx=-bound, ubx=bound
        )
        self.failed += not self.solve.stats()["success"]
        x = np.array(found["x"]).ravel()
        return (torque @ x + h)[6:]


def without_friction(robot: tarsus.Robot) -> tarsus.Robot:
    """The robot with motors that make up for the friction of their joints."""
    free = [
        replace(body, joint=replace(body.joint, damping=0.0, dry_friction=0.0))
        for body in robot.bodies
    ]
    return replace(robot, bodies=tuple(free))


def main() -> None:
    """Three seconds; how well the trunk follows."""
    robot = without_friction(tarsus.load("mini_cheetah"))
    controller = WholeBody(robot)
    log = tarsus.Simulation(robot, controller=controller, control_rate=RATE, dt=0.002).run(3.0)
    t, z = log["time"].values, log["q"].values[:, 2]
    error = z - controller.home[2] - 0.03 * np.sin(np.pi * t)
    force, roll = log["force_contact"], tarsus.trunk_angles(log)
    used = np.hypot(force[..., 1], force[..., 2]) / np.maximum(force[..., 0], 1.0)
    print(f"height: {1e3 * np.sqrt(np.mean(error[500:] ** 2)):.1f} mm rms of 30 mm commanded")
    most = float(np.rad2deg(abs(roll.sel(angle="roll")).max()))
    print(f"roll: {most:.1f} deg at most, of 6 commanded")
    print(f"friction used: {float(used[500:].max()):.2f} of {MU} allowed")
    print(f"steps whose quadratic program failed: {controller.failed}")


if __name__ == "__main__":
    main()
