"""Plan a jump of Mini Cheetah by direct collocation with IPOPT, then play it in the simulation.

The dynamics are CasADi functions of the full robot (`robot.symbolic()`), projected on motions whose
left and right legs do the same. In stance and landing, feet stick, and forces stay in friction
cones; feet touch down without speed. Torques and joints stay in their ranges. The script prints how
plan and simulation agree, and draws both in plan_jump.png.
"""

import casadi as ca
import matplotlib.pyplot as plt
import numpy as np
import xarray as xr

import tarsus

RISE, LOWEST = 0.15, 0.16  # m: of the trunk above standing at the top, and its lowest height
MU, GROUND_MU = 0.5, 0.7  # friction coefficients of the plan and of the ground
PHASES = {"stance": 20, "flight": 16, "landing": 24}  # intervals
STANCE, LANDING = 0.35, 0.6  # s; the duration of the flight is a variable
KP, KD = 60.0, 1.5  # N m/rad and N m s/rad, of servos at the joints

robot = tarsus.load("mini_cheetah")
f = robot.symbolic()
STAND = robot.keyframes["stand"]
FEET = ("FR_foot", "HR_foot")  # the left feet do the same


# u = S v with the rates v (7,): forward, up, pitch, then hip and knee of front and hind legs
S = np.zeros((robot.nu, 7))
S[[0, 2, 4], [0, 1, 2]] = 1
for joint, at in zip(robot.joint_names, robot.u_slices, strict=True):
    if "hip" in joint or "knee" in joint:
        S[at.start, 3 + 2 * joint.startswith("H") + ("knee" in joint)] = 1
MOTORS, JOINTS = [1, 2, 7, 8], [8, 9, 14, 15]  # of a front and a hind leg, in torques and in q
START = np.array([0.0, STAND[2], 0.0, *STAND[JOINTS]])


def coordinates(x: ca.SX) -> ca.SX:
    """Convert a mirrored posture x (7,) to coordinates q (19,)."""
    return ca.vertcat(x[0], 0, x[1], ca.cos(x[2] / 2), 0, ca.sin(x[2] / 2), 0, ca.mtimes(S[6:], x))


def functions() -> tuple[ca.Function, ca.Function, ca.Function]:
    """Build the defect of an interval (implicit midpoint), foot heights and foot velocities."""
    x, x1, v, v1 = (ca.SX.sym(name, 7) for name in ("x", "x1", "v", "v1"))
    tau, force, dt = ca.SX.sym("tau", 4), ca.SX.sym("force", 4), ca.SX.sym("dt")
    middle, speed = (x + x1) / 2, (v + v1) / 2
    q, u = coordinates(middle), ca.mtimes(S, speed)
    needed = f.inverse_dynamics(q, u, ca.mtimes(S, (v1 - v) / dt)) + f.damping * u
    for foot, pushed in zip(FEET, ca.vertsplit(force, 2), strict=True):
        J = f.contact_jacobian(foot)(q)
        needed -= 2 * ca.mtimes(J.T, ca.vertcat(pushed[0], 0, pushed[1]))
    defect = ca.vertcat(x1 - x - dt * speed, ca.mtimes(S.T, needed) - ca.vertcat(0, 0, 0, 2 * tau))
    q, u = coordinates(x), ca.mtimes(S, v)
    heights = [f.contact_position(foot)(q)[2] for foot in FEET]
    slips = [ca.mtimes(f.contact_jacobian(foot)(q), u)[[0, 2]] for foot in FEET]
    return (
        ca.Function("step", [x, v, x1, v1, tau, force, dt], [defect], {"cse": True}),
        ca.Function("heights", [x], [ca.vertcat(*heights)]),
        ca.Function("slips", [x, v], [ca.vertcat(*slips)]),
    )


def plan() -> dict[str, np.ndarray]:
    """Solve the optimal control problem: times, postures, velocities, torques and forces."""
    step, heights, slips = functions()
    opti, count = ca.Opti(), sum(PHASES.values())
    x, v = opti.variable(7, count + 1), opti.variable(7, count + 1)
    tau, force, flight = opti.variable(4, count), opti.variable(4, count), opti.variable()
    seconds = {"stance": STANCE, "flight": flight, "landing": LANDING}
    first, cost, times = 0, 0, [0]
    for phase, n in PHASES.items():
        dt, last = seconds[phase] / n, first + n
        now, after = slice(first, last), slice(first + 1, last + 1)
        ends = (x[:, now], v[:, now], x[:, after], v[:, after])
        opti.subject_to(ca.vec(step.map(n)(*ends, tau[:, now], force[:, now], dt)) == 0)
        if phase == "flight":
            opti.subject_to(ca.vec(force[:, now]) == 0)
            opti.subject_to(ca.vec(heights.map(n - 1)(x[:, first + 1 : last])) >= 0)
            opti.subject_to(heights(x[:, last]) == 0)
            opti.subject_to(slips(x[:, last], v[:, last]) == 0)
        else:
            along, normal = ca.vec(force[[0, 2], now]), ca.vec(force[[1, 3], now])
            opti.subject_to(ca.vec(slips.map(n)(x[:, after], v[:, after])) == 0)
            opti.subject_to(ca.vertcat(normal, MU * normal - along, MU * normal + along) >= 0)
        effort = ca.sumsqr(tau[:, now]) + ca.sumsqr(v[3:, now]) + 10 * ca.sumsqr(v[2, now])
        cost += dt * (effort / 100 + 1e-4 * ca.sumsqr(force[:, now]))
        times += [times[-1] + dt * k for k in range(1, n + 1)]
        first = last
    cost += 1e-3 * ca.sumsqr(ca.diff(v, 1, 1)) + 1e-4 * ca.sumsqr(ca.diff(tau, 1, 1))
    for k in range(count):
        opti.subject_to(opti.bounded(f.torque_lower[MOTORS], tau[:, k], f.torque_upper[MOTORS]))
        opti.subject_to(opti.bounded(f.q_lower[JOINTS], x[3:, k], f.q_upper[JOINTS]))
    opti.subject_to(x[1, :count].T >= LOWEST)
    opti.subject_to(x[1, PHASES["stance"] + PHASES["flight"] // 2] == START[1] + RISE)
    opti.subject_to(ca.horzcat(x[:, 0], x[:, count]) == np.stack([START, START], 1))
    opti.subject_to(ca.vec(v[:, [0, count - 2, count - 1, count]]) == 0)  # it stands at the end
    opti.subject_to(opti.bounded(0.2, flight, 0.6))
    opti.set_initial(x, np.tile(START[:, None], count + 1))
    opti.set_initial(flight, 0.35)
    opti.set_initial(force[[1, 3], :], robot.mass * 9.81 / 4)
    opti.minimize(cost)
    quiet = {"print_time": False, "record_time": True}
    opti.solver("ipopt", quiet, {"print_level": 0, "sb": "yes", "max_iter": 500})
    value = opti.solve().value
    print(f"IPOPT: {opti.stats()['iter_count']} iterations, {opti.stats()['t_proc_total']:.1f} s")
    solution = {"t": ca.vertcat(*times), "x": x, "v": v, "tau": tau, "force": force}
    return {name: np.array(value(each)) for name, each in solution.items()}


def play(solution: dict[str, np.ndarray]) -> xr.Dataset:
    """Simulate the planned torques, with dry friction compensated and servos along the angles."""
    times = solution["t"]

    def controller(t: float, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        angles = S[6:] @ [np.interp(t, times, row) for row in solution["x"]]
        rates = S[6:] @ [np.interp(t, times, row) for row in solution["v"]]
        now = min(int(np.searchsorted(times, t, side="right")), len(times) - 1) - 1
        tau = S[6:, 3:] @ solution["tau"][:, now] + f.dry_friction[6:] * np.tanh(2 * rates)
        tau += KP * (angles - q[7:]) + KD * (rates - u[6:])
        return np.clip(tau, f.torque_lower, f.torque_upper)

    sim = tarsus.Simulation(robot, tarsus.Moreau(mu=GROUND_MU), controller=controller, dt=0.001)
    return sim.run(2.0)


def compare(solution: dict[str, np.ndarray], log: xr.Dataset) -> None:
    """Print and draw plan and simulation together."""
    t, z, joints = log["time"].values, log["q"].values[:, 2], log["q"].values[:, 7:].T
    pressed = log["force_world"].sel(xyz="z")
    height_error = np.abs(np.interp(t, solution["t"], solution["x"][1]) - z)
    postures = np.array([np.interp(t, solution["t"], row) for row in solution["x"]])
    angle_error = np.abs(S[6:] @ postures - joints)
    slip = (log["slip_speed"] * (pressed > 1.0)).sum("time") * float(t[1] - t[0])
    in_air = t[(pressed.values < 1.0).all(1)]
    takes_off, lands = (solution["t"][k] for k in (PHASES["stance"], -1 - PHASES["landing"]))
    print(f"trunk at the top: {solution['x'][1].max():.3f} m planned, {z.max():.3f} m simulated")
    print(f"flight: {lands - takes_off:.3f} s planned, {in_air[-1] - in_air[0]:.3f} s simulated")
    print(f"largest error: {1e3 * height_error.max():.0f} mm, {angle_error.max():.2f} rad")
    print(f"feet slid by {1e3 * slip.values.max():.1f} mm at most")
    print(f"trunk at the end: {z[-1]:.3f} m, {np.abs(log['u'].values[-1, :3]).max():.4f} m/s")
    figure, (above, below) = plt.subplots(2, sharex=True, figsize=(7, 5), layout="constrained")
    above.plot(t, z, label="simulated")
    above.plot(solution["t"], solution["x"][1], "k--", label="planned")
    above.set(ylabel="trunk height / m")
    below.plot(t, pressed.sel(contact="HR_foot"), label="simulated, right hind foot")
    below.stairs(solution["force"][3], solution["t"], color="k", linestyle="--", label="planned")
    below.set(ylabel="normal force / N", xlabel="time / s")
    for axes in (above, below):
        axes.axvspan(takes_off, lands, color="0.9")
        axes.legend()
    figure.savefig("plan_jump.png", dpi=100)


def main() -> None:
    solution = plan()
    compare(solution, play(solution))


if __name__ == "__main__":
    main()
