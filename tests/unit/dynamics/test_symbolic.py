"""CasADi functions of a robot: shapes, derivatives, symbols of both kinds, generated C code."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from helpers.numpy_mechanics import random_state
from helpers.refused import refused

import tarsus
from tarsus.dynamics.quantities import QUANTITIES
from tarsus.dynamics.symbolic import SymbolicRobot
from tarsus.errors import InvalidValue, UnknownName

CHEETAH = tarsus.load("mini_cheetah")
FEET = [c.name for c in CHEETAH.candidates if c.name.endswith("_foot")]
BIPED, HOAP = tarsus.load("biped"), tarsus.load("hoap1")


def functions(f: SymbolicRobot, foot: str) -> list[ca.Function]:
    """Every function of a robot."""
    found = []
    for name in sorted(vars(SymbolicRobot)):
        if name.startswith("_"):
            continue
        value = getattr(f, name)
        if name in ("forced_dynamics", "constrained_dynamics"):
            value = value([foot])
        elif callable(value) and not isinstance(value, ca.Function):
            value = value(foot)
        if isinstance(value, ca.Function):
            found.append(value)
    return found


def numbers(robot: tarsus.Robot, function: ca.Function, seed: int) -> list[np.ndarray]:
    """Random values of the inputs of a function."""
    q, u = random_state(robot, seed)
    start, _ = random_state(robot, seed + 50)
    random, known = np.random.default_rng(seed), {"q": q, "u": u, "start": start}
    return [
        known.get(function.name_in(k), random.uniform(-1, 1, function.size_in(k)))
        for k in range(function.n_in())
    ]


@pytest.mark.parametrize("robot", [CHEETAH, BIPED, HOAP], ids=lambda robot: robot.name)
def test_functions_are_those_of_the_robot(robot: tarsus.Robot) -> None:
    """The same numbers as the compiled methods, with named inputs."""
    f, foot = robot.symbolic(), robot.candidates[0].name
    for name, quantity in QUANTITIES.items():
        if robot is not CHEETAH and name not in ("bias_acceleration", "centroidal_momentum_bias"):
            continue  # each compiles
        function = getattr(f, name)
        function = function(foot) if quantity.has_frame else function
        assert tuple(function.name_in()) == quantity.inputs
        values = [value.ravel() for value in numbers(robot, function, 3)]
        expected = getattr(robot, name)(
            **dict(zip(quantity.inputs, values, strict=True)),
            **({"name": foot} if quantity.has_frame else {}),
        )
        value = np.asarray(function(*values).full()).reshape(np.shape(expected))
        assert np.allclose(value, expected, rtol=1e-10, atol=1e-12), name


def test_displacements_are_those_of_the_robot() -> None:
    f = CHEETAH.symbolic()
    q, u = random_state(CHEETAH, 4)
    for scale in (0.0, 1e-9, 1e-3, 0.019, 0.021, 1.0, 3.0):
        end = np.asarray(f.integrate(q, u, scale)).ravel()
        assert np.allclose(end, CHEETAH.integrate(q, u, scale), rtol=0, atol=1e-15)
        back = np.asarray(f.difference(end, q)).ravel()
        assert np.allclose(back, CHEETAH.difference(end, q), rtol=0, atol=1e-14)
        flipped = end.copy()
        flipped[3:7] *= -1
        assert np.allclose(np.asarray(f.difference(flipped, q)).ravel(), back, rtol=0, atol=1e-14)


def test_derivatives_match_finite_differences() -> None:
    """Check every function of Mini Cheetah in all inputs, and at rest without rotation."""
    f, step = CHEETAH.symbolic(), 1e-6
    for function in functions(f, "FR_foot"):
        values = numbers(CHEETAH, function, 5)
        sizes = [value.size for value in values]
        x = ca.MX.sym("x", sum(sizes))
        parts = ca.vertsplit(x, np.cumsum([0, *sizes]).tolist())
        shaped = [ca.reshape(p, *function.size_in(k)) for k, p in enumerate(parts)]
        outputs = function.call(shaped)
        y = ca.vertcat(*(ca.vec(ca.densify(out)) for out in outputs))
        if not y.numel():
            continue
        flat = ca.Function("flat", [x], [y, ca.jacobian(y, x)])
        at = np.concatenate([value.ravel(order="F") for value in values])
        exact = flat(at)[1].full()
        direction = np.random.default_rng(6).uniform(-1, 1, at.size)
        change = (flat(at + step * direction)[0] - flat(at - step * direction)[0]).full().ravel()
        assert np.allclose(
            exact @ direction, change / (2 * step), rtol=1e-6, atol=1e-6 * max(1, abs(exact).max())
        ), function.name()


def test_second_derivatives_exist_at_rest() -> None:
    """They exist where a body does not turn, and where a rotation vector is zero."""
    f, stand = CHEETAH.symbolic(), CHEETAH.keyframes["stand"]
    q, u = ca.SX.sym("q", 19), ca.SX.sym("u", 18)
    x = ca.vertcat(q, u)
    for expression in (f.integrate(q, u, 0.1), f.difference(q, stand)):
        hessian, gradient = ca.hessian(ca.sum1(expression), x)
        values = ca.Function("second", [q, u], [hessian, gradient])(stand, np.zeros(18))
        assert all(np.isfinite(value.full()).all() for value in values)


def test_contact_points() -> None:
    """The lowest point of a rolling foot follows from its center, and moves with the shank."""
    f = CHEETAH.symbolic()
    q, u = random_state(CHEETAH, 8)
    radius = CHEETAH.candidates[0].radius
    lowest = f.contact_position("FR_foot")(q).full().ravel()
    assert np.allclose(lowest, CHEETAH.position(q, "FR_foot") - [0, 0, radius], atol=1e-15)
    velocity = CHEETAH.velocity(q, u, "FR_foot")
    material = velocity[:3] + np.cross(velocity[3:], [0, 0, -radius])
    assert np.allclose(f.contact_jacobian("FR_foot")(q).full() @ u, material, atol=1e-14)
    # the arm from the center stays vertical: J' u = a + alpha x arm
    bias = CHEETAH.bias_acceleration(q, u, "FR_foot")
    expected = bias[:3] + np.cross(bias[3:], [0, 0, -radius])
    found = f.contact_bias_acceleration("FR_foot")(q, u).full().ravel()
    assert np.allclose(found, expected, rtol=0, atol=1e-12)


def test_constrained_dynamics_balance_and_hold() -> None:
    f = CHEETAH.symbolic()
    q, u = random_state(CHEETAH, 9)
    tau = np.random.default_rng(9).uniform(-5, 5, 18)
    J = np.vstack([f.contact_jacobian(foot)(q).full() for foot in FEET])
    bias = np.concatenate([f.contact_bias_acceleration(foot)(q, u).full().ravel() for foot in FEET])
    acceleration, forces = (out.full() for out in f.constrained_dynamics(FEET)(q, u, tau))
    assert np.allclose(J @ acceleration.ravel() + bias, 0, atol=1e-9)
    required = CHEETAH.inverse_dynamics(q, u, acceleration.ravel())
    assert np.allclose(required, tau + J.T @ forces.ravel(order="F"), atol=1e-9)
    # redundant contacts have a solution with regularization
    twice = f.constrained_dynamics([*FEET, "FR_foot"], regularization=1e-8)
    assert np.allclose(twice(q, u, tau)[0].full(), acceleration, rtol=1e-5, atol=1e-4)


def test_loops_are_left_to_the_user() -> None:
    """Rows of the mimic joints and loops of a robot, as `loop_gaps` has them."""
    f = HOAP.symbolic()
    assert f.loop_gaps.size_out(0) == (0, 1) and f.loop_jacobian.size_out(0) == (0, HOAP.nu)


def test_motors_and_limits() -> None:
    f = CHEETAH.symbolic()
    torques = np.arange(12.0)
    assert np.array_equal((f.actuation @ torques)[6:], torques)
    assert f.actuation.shape == (18, 12) and not f.actuation[:6].any()
    assert f.torque_upper[:3].tolist() == [17.0, 17.0, 26.0]
    assert np.array_equal(f.torque_lower, -f.torque_upper)
    assert np.isinf(f.q_lower[:7]).all() and f.q_upper[7] == 2.094
    assert f.damping[:6].tolist() == [0] * 6 and f.damping[6] == 0.01
    assert f.dry_friction[6] == 0.2 and np.isinf(f.u_limit[:6]).all()


def test_functions_are_cached_and_robots_can_be_copied() -> None:
    f = CHEETAH.symbolic()
    assert f is CHEETAH.symbolic() and f.mass_matrix is f.mass_matrix
    assert f.position("FR_foot") is not f.position("FL_foot")


def test_unknown_names_are_refused() -> None:
    f = CHEETAH.symbolic()
    with refused(UnknownName, "FR_foo"):
        f.position("FR_foo")
    with refused(UnknownName, "base"):
        f.contact_position("base")
    with refused(InvalidValue, "contacts"):
        f.constrained_dynamics([])
    with refused(InvalidValue, "regularization"):
        f.constrained_dynamics(FEET, regularization=-1.0)


@pytest.mark.skipif(shutil.which("cc") is None, reason="needs a C compiler")
def test_generated_c_code_gives_the_same_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # CasADi writes into the current folder
    function = BIPED.symbolic().bias
    function.generate("bias.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "bias.c", "-o", "bias.so", "-lm"], check=True)
    compiled = ca.external("bias", str(tmp_path / "bias.so"))
    q, u = random_state(BIPED, 10)
    assert np.allclose(compiled(q, u).full(), function(q, u).full(), rtol=1e-13, atol=1e-13)
