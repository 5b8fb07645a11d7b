"""Compare what contact laws do to the numbers in your paper.

Run the same robot, gait and friction under several laws, and print the figures that papers report.
Rigid laws take steps of 2.5 ms, laws with springs the step that their springs need.
"""

import tarsus

LAWS = {"moreau": 2.5e-3, "macro": 2.5e-3, "compliant": 2.5e-4, "hunt_crossley": 1e-4}  # dt, s
MU = 0.8


def main() -> None:
    """Run and tabulate."""
    print("law            dt/ms   speed   peak force   deepest   slip     steps/s")
    for law, dt in LAWS.items():
        sim = tarsus.Simulation("mini_cheetah", law, controller="trot", dt=dt)
        sim.set(mu=MU)
        sim.advance(1.0)
        log = sim.run(2.0)
        x = log["q"][:, 0]
        force = float(log["force_contact"].sel(axis="normal").max())
        slip = float((log["slip_speed"] * dt).sum())
        print(
            f"{law:14s} {1e3 * dt:5.2f} {float(x[-1] - x[0]) / 2:7.3f} {force:9.0f} N"
            f" {-1e3 * float(log['gap'].min()):8.2f} mm {1e3 * slip:6.1f} mm"
            f" {len(log['time']) / log.attrs['wall_time']:9.0f}"
        )


if __name__ == "__main__":
    main()
