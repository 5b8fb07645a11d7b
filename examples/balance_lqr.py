"""Balance Mini Cheetah on two diagonal feet with a linear quadratic regulator (LQR).

Two point feet leave one rotation without a motor: the robot is an inverted pendulum about the line
between them. The contact-constrained dynamics of `robot.symbolic()` are linearized at an
equilibrium, and the LQR is computed on the motions that keep both feet in place. The script prints
which sideways pushes of 0.1 s the LQR and plain joint servos withstand, and how well the linear
model predicts the simulation, and draws the roll in balance_lqr.png.
"""

from dataclasses import replace

import casadi as ca
import matplotlib.pyplot as plt
import numpy as np
from scipy.linalg import block_diag, expm, null_space, solve_continuous_are

import tarsus

SUPPORT, LIFTED = ("FR_foot", "HL_foot"), ("FL", "HR")
DT, SECONDS, PUSH_AT, PUSH_END = 0.002, 3.0, 0.2, 0.3  # s
PUSHES = np.array([0.0, 1, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20])  # N
KP, KD = 60.0, 1.5  # N m/rad and N m s/rad, of the joint servos

robot = tarsus.load("mini_cheetah")
f = robot.symbolic()


def equilibrium() -> tuple[np.ndarray, np.ndarray]:
    """Find coordinates and torques at rest on two feet, near standing with two legs lifted."""
    guess = robot.keyframes["stand"].copy()
    for leg in LIFTED:
        hip = robot.q_slices[robot.joint_index(f"{leg}_hip_joint")].start
        guess[hip : hip + 2] += (-0.25, 0.5)
    opti = ca.Opti()
    q, tau, forces = opti.variable(19), opti.variable(12), opti.variable(3, 2)
    load = f.gravity(q) - ca.mtimes(f.actuation, tau)
    for k, foot in enumerate(SUPPORT):
        load -= ca.mtimes(f.contact_jacobian(foot)(q).T, forces[:, k])
        opti.subject_to(f.contact_position(foot)(q)[2] == 0)
    opti.subject_to(load == 0)
    opti.subject_to(ca.sumsqr(q[3:7]) == 1)
    opti.subject_to(q[:2] == guess[:2])
    opti.minimize(ca.sumsqr(q - guess) + 1e-4 * ca.sumsqr(tau) + 1e-5 * ca.sumsqr(forces))
    opti.set_initial(q, guess)
    opti.solver("ipopt", {"print_time": False}, {"print_level": 0, "sb": "yes"})
    solution = opti.solve()
    return np.array(solution.value(q)), np.array(solution.value(tau))


def linearize(q0: np.ndarray, tau0: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Compute A and B of x' = A x + B (tau - tau0), and N (18, 12).

    The state x holds N^T times the displacement, then N^T times the velocity. The columns of N are
    motions that keep the supporting feet in place.
    """
    moved, u, tau = (ca.MX.sym(name, n) for name, n in (("moved", 18), ("u", 18), ("tau", 12)))
    q = f.integrate(q0, moved, 1.0)
    dynamics = f.constrained_dynamics(SUPPORT)
    acceleration, _ = dynamics(q, u, ca.mtimes(f.actuation, tau) - f.damping * u)
    derivatives = [ca.jacobian(acceleration, each) for each in (moved, u, tau)]
    at = ca.Function("at", [moved, u, tau], derivatives)(np.zeros(18), np.zeros(18), tau0)
    by_q, by_u, by_tau = (each.full() for each in at)
    N = null_space(np.vstack([f.contact_jacobian(foot)(q0).full() for foot in SUPPORT]))
    zero, one = np.zeros((12, 12)), np.eye(12)
    A = np.block([[zero, one], [N.T @ by_q @ N, N.T @ by_u @ N]])
    return A, np.vstack([zero, N.T @ by_tau]), N


def gains(A: np.ndarray, B: np.ndarray, N: np.ndarray) -> np.ndarray:
    """Compute the LQR gains K (12, 24), with the largest weight on the pose of the trunk."""
    pose, rate = np.diag([20.0] * 6 + [1.0] * 12), 0.1 * np.eye(18)
    R = 0.05 * np.eye(12)
    P = solve_continuous_are(A, B, block_diag(N.T @ pose @ N, N.T @ rate @ N), R)
    return np.linalg.solve(R, B.T @ P)


def without_dry_friction() -> tarsus.Robot:
    """Remove the dry friction of the joints, which the linear model lacks."""
    bodies = [replace(each, joint=replace(each.joint, dry_friction=0.0)) for each in robot.bodies]
    return replace(robot, bodies=tuple(bodies))


def main() -> None:
    q0, tau0 = equilibrium()
    A, B, N = linearize(q0, tau0)
    K = gains(A, B, N)
    print(f"fastest unstable mode: {np.linalg.eigvals(A).real.max():.1f} 1/s without control,")
    print(f"slowest mode with LQR: {np.linalg.eigvals(A - B @ K).real.max():.1f} 1/s")

    def state(q: np.ndarray, u: np.ndarray) -> np.ndarray:
        return np.hstack([robot.difference(q, q0) @ N, u @ N])

    def simulate_pushes(control: str, friction: bool = True) -> tuple[np.ndarray, np.ndarray]:
        """Return the roll (steps, worlds) in degrees and the states (steps, worlds, 24)."""
        model = robot if friction else without_dry_friction()
        sim = tarsus.Simulation(model, dt=DT, worlds=len(PUSHES), pushes=["base"])
        sim.set(q=q0)
        rolls, states = [], []
        for k in range(round(SECONDS / DT)):
            on = PUSH_AT <= k * DT < PUSH_END
            sim.set(push={"base": np.outer(PUSHES * on, [0.0, 1.0, 0.0])})
            q, u = sim.q, sim.u
            states.append(state(q, u))
            rolls.append(np.rad2deg(2 * q[:, 4]))  # for small angles
            servo = KP * (q0[7:] - q[:, 7:]) - KD * u[:, 6:]
            tau = tau0 + (servo if control == "servos" else -states[-1] @ K.T)
            sim.step(np.clip(tau, f.torque_lower, f.torque_upper))
        return np.array(rolls), np.array(states)

    time, first = DT * np.arange(round(SECONDS / DT)), round(PUSH_END / DT)
    figure, axes = plt.subplots(2, sharex=True, figsize=(7, 5), layout="constrained")
    for axis, control in zip(axes, ("servos", "LQR"), strict=True):
        rolls, _ = simulate_pushes(control)
        stands = (np.abs(rolls[-250:]) < 3).all(0)
        withstood = PUSHES[: len(PUSHES) if stands.all() else int(np.argmin(stands))]
        print(f"{control}: stands after pushes up to {withstood.max():.0f} N for 0.1 s")
        for k in (0, 1, 2, 5):
            axis.plot(time, rolls[:, k], label=f"{PUSHES[k]:.0f} N")
        axis.set(ylabel=f"roll with {control} / deg", ylim=(-12, 12))
    step = expm((A - B @ K) * DT)
    for friction in (True, False):
        states = simulate_pushes("LQR", friction)[1][first:, 2]  # after a push of 2 N
        model = [states[0]]
        for _ in states[1:]:
            model.append(step @ model[-1])
        error = np.abs(np.array(model) - states)[:, :12].max() / np.abs(states[:, :12]).max()
        name = "with dry friction" if friction else "without it"
        print(f"{name}: the linear model is wrong by {100 * error:.1f} % after {PUSHES[2]:.0f} N")
    axes[1].set(xlabel="time / s")
    axes[0].legend(title="push")
    figure.savefig("balance_lqr.png", dpi=100)


if __name__ == "__main__":
    main()
