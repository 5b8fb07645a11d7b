"""Make Mini Cheetah jump to a given height, with torques found by iLQR.

The goal contains no crouch, push or lift-off. Each round runs the torques, takes the derivatives of
all steps through contact at once, and improves the torques by a linear regulator along the
trajectory. The script prints cost and height by round, then the final height and time of flight.
"""

import numpy as np

import tarsus

DT, STEPS, HEIGHT = 0.005, 90, 0.48  # s; steps to the top; m, the trunk's there
ROUNDS = 8

robot = tarsus.load("mini_cheetah")
law = tarsus.Moreau(mu=0.8)
NU, MOTORS = robot.nu, len(robot.actuators)
STAND = robot.keyframes["stand"]


def simulation(worlds: int = 1) -> tarsus.Simulation:
    """Without the joints' dry friction, which hides what small torques do; only feet touch."""
    return tarsus.Simulation(
        robot, law, dt=DT, stiction=False, contacts="feet", worlds=worlds, threads=2
    )


def wanted() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weights (2 nu,) of a step and of the end, and the state at the end (nq,): high, level."""
    step, end = np.zeros(2 * NU), np.zeros(2 * NU)
    step[3:6], step[6:NU], step[NU:] = 1.0, 0.05, 1e-4  # turned, joints, rates
    end[:3], end[3:6], end[6:NU], end[NU : NU + 6] = (50, 50, 5e3), 50.0, 0.2, 2.0
    top = STAND.copy()
    top[2] = HEIGHT
    return step, end, top


def off(sim: tarsus.Simulation, q: np.ndarray) -> np.ndarray:
    """How far it is from standing still at q, (2 nu,)."""
    return np.concatenate([robot.difference(sim.q, q), sim.u])


def main() -> None:
    sim, many = simulation(), simulation(STEPS)
    step, end, top = wanted()
    start = sim.state()
    effort = 1e-4

    def run(torques: np.ndarray, gains: np.ndarray, near: list) -> tuple:
        """Torques with feedback from a way found before: states, torques, coordinates, cost."""
        sim.restore(start)
        states, used, way, cost = [], np.empty_like(torques), [], 0.0
        for k in range(STEPS):
            tau = torques[k]
            if near:
                q, u = near[k]
                tau = tau + gains[k] @ np.concatenate([robot.difference(sim.q, q), sim.u - u])
            tau = np.clip(
                tau, [m.lower for m in robot.actuators], [m.upper for m in robot.actuators]
            )
            x = off(sim, STAND)
            states.append(sim.state()[0])
            way.append((sim.q, sim.u))
            used[k], cost = tau, cost + step @ x**2 + effort * tau @ tau
            sim.step(tau)
        x = off(sim, top)
        return np.array(states), used, way, cost + end @ x**2

    bent = STAND[7:]
    hold = np.zeros((STEPS, MOTORS))
    sim.restore(start)
    for k in range(STEPS):
        hold[k] = 60.0 * (bent - sim.q[7:]) - 1.5 * sim.u[6:]
        sim.step(hold[k])
    states, torques, way, cost = run(hold, np.zeros((STEPS, MOTORS, 2 * NU)), [])
    damping = 1e-3
    for number in range(ROUNDS):
        # the height counts for more and more
        end[2] *= 1.5
        states, torques, way, cost = run(torques, np.zeros((STEPS, MOTORS, 2 * NU)), [])
        many.restore(states)
        found = many.derivatives(action=torques)
        # backward: the value of being off, and the gains
        x = off(sim, top)
        V, v = np.diag(2 * end), 2 * end * x
        ahead, gains = np.empty_like(torques), np.empty((STEPS, MOTORS, 2 * NU))
        for k in reversed(range(STEPS)):
            A, B = found.state[k], found.action[k]
            q, u = way[k]
            x = np.concatenate([robot.difference(q, STAND), u])
            Q = 2 * effort * np.eye(MOTORS) + B.T @ V @ B + damping * np.eye(MOTORS)
            gains[k] = -np.linalg.solve(Q, B.T @ V @ A)
            ahead[k] = -np.linalg.solve(Q, 2 * effort * torques[k] + B.T @ v)
            v = 2 * step * x + A.T @ v + gains[k].T @ (2 * effort * torques[k] + B.T @ v)
            V = np.diag(2 * step) + A.T @ V @ (A + B @ gains[k])
            V = (V + V.T) / 2
        # forward: as far as it pays
        part, tried = 1.0, run(torques + ahead, gains, way)
        while tried[3] >= cost and part > 0.005:
            part *= 0.6
            tried = run(torques + part * ahead, gains, way)
        if tried[3] < cost:
            states, torques, way, cost = tried
            damping = max(damping / 3, 1e-6)
        else:
            damping *= 10
        run(torques, gains, way)
        print(
            f"round {number:2d}: cost {cost:8.2f}, trunk at {sim.q[2]:.3f} m, damping {damping:.0e}"
        )
    # once more, to see how long no foot touches
    sim.restore(start)
    air = 0.0
    for tau in torques:
        sim.step(tau)
        air += DT * (not sim.contact_force.any())
    print(f"top: {sim.q[2]:.3f} m of {HEIGHT} m asked, {air:.3f} s of it in the air")


if __name__ == "__main__":
    main()
