"""Logs of simulations as arrays, with sensor noise."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import tarsus
from tarsus.dynamics.integrate import integrate
from tarsus.dynamics.robot import Robot

Array = NDArray[np.float64]
BALL = """<mujoco model="ball"><worldbody><geom type="plane" size="0 0 1"/>
<body name="ball" pos="0 0 0.1"><freejoint/><geom type="sphere" size="0.1" mass="2"/></body>
</worldbody></mujoco>"""


def moved(simulation: tarsus.Simulation, actions: Array) -> dict[str, Array]:
    """Log of a simulation under given torques, as arrays."""
    q, u = [np.atleast_1d(simulation.q)], [np.atleast_1d(simulation.u)]
    for action in actions:
        simulation.step(action)
        q.append(np.atleast_1d(simulation.q))
        u.append(np.atleast_1d(simulation.u))
    time = np.asarray(simulation.dt * np.arange(len(q)), np.float64)
    action = np.concatenate([np.zeros((1, actions.shape[1])), actions])
    return {"time": time, "q": np.array(q), "u": np.array(u), "action": action}


def noisy(robot: Robot, log: dict[str, Array], of_q: float, of_u: float, seed: int = 7) -> Any:
    """Add noise to a log: deviations in m and rad, m/s and rad/s."""
    random = np.random.default_rng(seed)
    moves = of_q * random.standard_normal(log["u"].shape)
    u = log["u"] + of_u * random.standard_normal(log["u"].shape)
    return {**log, "q": integrate(robot, log["q"], moves, 1.0), "u": u}


def walked(simulation: tarsus.Simulation, seconds: float) -> dict[str, Array]:
    """Log of a gait, with its torques."""
    log = simulation.run(seconds)
    q = np.concatenate([log["q_start"].values[None], log["q"].values])
    u = np.concatenate([log["u_start"].values[None], log["u"].values])
    action = np.concatenate([log["tau"].values[:1], log["tau"].values])
    time = np.concatenate([[0.0], log["time"].values])
    return {"time": time, "q": q, "u": u, "action": action}
