"""Motions planned with `robot.symbolic()` hold in the simulation; the examples compute them."""

from __future__ import annotations

import importlib.util
from types import ModuleType

import numpy as np
import pytest
from helpers.pages import ROOT

MAX_SLIP = 0.005  # m, of a foot over stance and landing together


def example(name: str) -> ModuleType:
    """A script of examples/, as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_a_planned_jump_is_jumped() -> None:
    jump = example("plan_jump")
    found = jump.plan()
    force = found["force"]
    inside = np.abs(force[::2]) <= jump.MU * force[1::2] + 1e-4
    first, last = jump.PHASES["stance"], jump.PHASES["stance"] + jump.PHASES["flight"]
    assert inside.all() and np.allclose(force[:, first:last], 0, atol=1e-6)
    log = jump.play(found)
    z, u = log["q"].values[:, 2], log["u"].values
    assert z.max() == pytest.approx(found["x"][1].max(), abs=0.01)
    planned = np.interp(log["time"].values, found["t"], found["x"][1])
    assert np.abs(z - planned).max() < 0.02
    pressed = log["force_world"].sel(xyz="z") > 1.0
    slid = (log["slip_speed"] * pressed).sum("time") * 0.001
    assert slid.max() < MAX_SLIP
    assert z[-1] == pytest.approx(jump.STAND[2], abs=0.005) and np.abs(u[-1]).max() < 0.01


def test_a_linearized_stance_matches_differences_and_is_stabilized() -> None:
    balance = example("balance_lqr")
    q0, tau0 = balance.equilibrium()
    A, B, N = balance.linearize(q0, tau0)
    K = balance.gains(A, B, N)
    assert A.shape == (24, 24) and B.shape == (24, 12) and K.shape == (12, 24)
    assert np.linalg.eigvals(A).real.max() > 1 and np.linalg.eigvals(A - B @ K).real.max() < -1
    dynamics, f = balance.f.constrained_dynamics(balance.SUPPORT), balance.f
    x, tau = np.random.default_rng(0).uniform(-1, 1, 24), np.random.default_rng(1).normal(size=12)

    def acceleration(step: float) -> np.ndarray:
        q = balance.robot.integrate(q0, N @ x[:12], step)
        u, torques = step * (N @ x[12:]), tau0 + step * tau
        held = f.actuation @ torques - f.damping * u
        return N.T @ dynamics(q, u, held)[0].full().ravel()

    step = 1e-5
    change = (acceleration(step) - acceleration(-step)) / (2 * step)
    expected = A[12:] @ x + B[12:] @ tau
    assert np.allclose(change, expected, rtol=0, atol=1e-6 * np.abs(expected).max())
