"""Identification of actuators from servo logs: simulated logs with known parameters, and a Go2."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.refused import refused

import tarsus
from tarsus.commands.base import BAD_INPUT
from tarsus.commands.identify import Identify
from tarsus.dynamics.robot import Robot
from tarsus.errors import IncompatibleOptions, UnknownName, UnmetCondition
from tarsus.identification.actuators import (
    ActuatorIdentification,
    correlation_time,
    identify_actuators,
    list_joint_groups,
    with_servos,
)
from tarsus.identification.candidates import independent_unknowns
from tarsus.identification.identified_file import write_identified
from tarsus.identification.unknowns import read_unknowns
from tarsus.model.friction import FrictionVariation
from tarsus.model.mjcf import read_mjcf

KP, KD, DT, NOISE = 20.0, 0.5, 0.005, 2e-4
LEG = """<body name="{0}" pos="0 {1} 1"><joint name="{0}_hip" axis="0 1 0"/>
<inertial pos="0 0 -.1" mass="1" diaginertia=".01 .01 .002"/><body name="{0}_lower" pos="0 0 -.2">
<joint name="{0}_knee" axis="0 1 0"/>
<inertial pos="0 0 -.1" mass=".3" diaginertia=".002 .002 .001"/></body></body>"""
TRUE = {"armature": 0.02, "damping": 0.2, "dry_friction": 0.5}
MOTOR = {"delay": 0.0067, "lag": 0.004, "encoder_offset": 0.04}
TIMED = "friction+delay+lag+offset"
VARIATION = FrictionVariation(slope=0.6, curvature=0.5)


def robot(sides: str = "L") -> Robot:
    legs = "".join(LEG.format(side, k) for k, side in enumerate(sides))
    motors = "".join(f'<motor joint="{s}_{j}"/>' for s in sides for j in ("hip", "knee"))
    text = f"<mujoco><worldbody>{legs}</worldbody><actuator>{motors}</actuator></mujoco>"
    return Robot.of(read_mjcf(text))


def simulated_log(
    angle: bool, seed: int = 0, motor: Mapping[str, float] | None = None
) -> dict[str, Any]:
    """Simulate 12 s of two joints that follow chirps, with noise of the encoders.

    `motor` gives delay, lag and encoder offset; the joints then start at rest at their targets.
    """
    made = robot()
    extra: Any = {"friction": VARIATION} if angle else {}
    bodies = [replace(b, joint=replace(b.joint, **TRUE, **extra)) for b in made.bodies]
    driven = with_servos(replace(made, bodies=tuple(bodies)), KP, KD)
    servos = tuple(replace(a, **(motor or {})) for a in driven.file_actuators)
    driven, steps = replace(driven, file_actuators=servos), 4 if motor else 1
    sim = tarsus.Simulation(driven, actuators="file", contacts=(), dt=DT / steps)
    time = DT * np.arange(2400)
    phase = 2 * time * (1 + 0.1 * time)
    middle = 0.0 if motor else -0.5
    target = np.stack([0.6 * np.sin(phase), middle + 0.5 * np.sin(1.3 * phase)], 1)
    q = []
    for goal in target:
        q.append(np.ravel(sim.q) + servos[0].encoder_offset)
        for _ in range(steps):
            sim.step(goal)
    noise = NOISE * np.random.default_rng(seed).standard_normal(target.shape)
    return {"time": time, "q": np.array(q) + noise, "q_desired": target}


@pytest.fixture(scope="module")
def found() -> ActuatorIdentification:
    structures = ["friction", "friction+angle"]
    return identify_actuators(simulated_log(True), robot(), KP, KD, structures=structures)


@pytest.mark.slow
def test_the_true_structure_is_chosen(found: ActuatorIdentification) -> None:
    assert found.chosen == "friction+angle"
    best, simple = found["friction+angle"], found["friction"]
    assert best.held_out_rms < 1.2 * NOISE < 2 * NOISE < simple.held_out_rms
    assert best.bic < simple.bic and best.aic < simple.aic
    assert found.simulated > 0 and found.seconds > 0


@pytest.mark.slow
def test_the_simpler_structure_is_chosen_if_it_is_as_good() -> None:
    structures = ["friction", "friction+load"]
    found = identify_actuators(simulated_log(False), robot(), KP, KD, structures=structures)
    assert found.chosen == "friction"


@pytest.mark.slow
def test_intervals_contain_the_true_values(found: ActuatorIdentification) -> None:
    """Friction of the log's middle angle, its slope and curvature, for both joints."""
    result = found["friction+angle"].identification
    assert result is not None
    inside = []
    for name in ("L_hip", "L_knee"):
        true = true_values(found, name, angle=True)
        for kind, value in true.items():
            one = result[f"{kind}.{name}"]
            inside.append(one.low <= value <= one.high)
            assert abs(one.value - value) < 0.05 + 0.1 * abs(value), (one.name, one.value, value)
    assert sum(inside) >= 8  # of ten; 95 % of each


def true_values(result: ActuatorIdentification, joint: str, angle: bool) -> dict[str, float]:
    """Return the true parameters of a joint; friction is that at the middle angle of the log."""
    k = result.robot.joint_names.index(joint)
    if not angle:
        return TRUE
    c = (result.log.q[:, k].min() + result.log.q[:, k].max()) / 2
    return TRUE | {
        "dry_friction": TRUE["dry_friction"] + c * (VARIATION.slope + c * VARIATION.curvature),
        "friction_slope": VARIATION.slope + 2 * c * VARIATION.curvature,
        "friction_curvature": VARIATION.curvature,
    }


def test_delay_lag_and_offset_are_identified() -> None:
    """True values are in the intervals, to 1 ms and 2 mrad, and kept in the identified robot."""
    log = simulated_log(False, motor=MOTOR)
    result = identify_actuators(log, robot(), KP, KD, structures=[TIMED])
    fit = result[TIMED].identification
    assert fit is not None and result[TIMED].held_out_rms < 1.2 * NOISE
    tolerance = {"delay": 1e-3, "lag": 1e-3, "encoder_offset": 2e-3}
    for joint, servo in zip(("L_hip", "L_knee"), result.robot.file_actuators, strict=True):
        for kind, value in MOTOR.items():
            one = fit[f"{kind}.{joint}"]
            assert one.low <= value <= one.high, (one.name, one.low, value, one.high)
            assert abs(one.value - value) < tolerance[kind], (one.name, one.value)
            assert getattr(servo, kind) == one.value


@pytest.mark.slow
@pytest.mark.parametrize(
    ("structure", "logs", "least"),
    [("friction", 30, 160), ("friction+angle", 30, 270), (TIMED, 10, 97)],
)
def test_intervals_hold_on_simulated_logs(structure: str, logs: int, least: int) -> None:
    """Of 180, 300 and 120 intervals 95 % are expected; 4 standard deviations are allowed.

    With delay and lag, the six intervals of a joint are correlated and count as two. They are too
    narrow: 317 of 360 held on 30 logs.
    """
    angle, inside, count = "angle" in structure, 0, 0
    for seed in range(logs):
        log = simulated_log(angle, seed, MOTOR if structure == TIMED else None)
        result = identify_actuators(log, robot(), KP, KD, structures=[structure])
        fit = result[structure].identification
        assert fit is not None
        for one in fit.estimates:
            kind, _, joint = one.name.partition(".")
            true = true_values(result, joint, angle) | MOTOR
            inside += one.low <= true[kind] <= one.high
            count += 1
    assert count == (120 if structure == TIMED else 300 if angle else 180)
    assert inside >= least, inside


@pytest.mark.slow
def test_the_identified_robot_is_read_back(found: ActuatorIdentification, tmp_path: Path) -> None:
    write_identified(found.robot, tmp_path)
    read = tarsus.load(tmp_path / "identified.xml")
    for one, other in zip(read.bodies, found.robot.bodies, strict=True):
        assert one.joint.friction == other.joint.friction is not None
        for kind in TRUE:
            assert getattr(one.joint, kind) == pytest.approx(getattr(other.joint, kind))


def test_unknowns_of_different_legs_are_moved_at_once() -> None:
    made = robot("LR")
    entries = {f"damping.{name}": {"low": 0, "high": 1} for name in made.joint_names}
    groups = independent_unknowns(made, read_unknowns(entries))
    assert [members for members, _ in groups] == [[0, 2], [1, 3]]
    assert np.array_equal(groups[0][1][0], [True, True, False, False])
    shared = read_unknowns({"damping.*_hip": {"low": 0, "high": 1}})
    assert [mask.all() for _, masks in independent_unknowns(made, shared) for mask in masks] == [1]
    assert list_joint_groups(made, "type") == ["*_hip", "*_knee"]


def test_the_correlation_time_of_an_autoregression() -> None:
    """It is (1 + a) / (1 - a) samples for x_k = a x_(k-1) + noise."""
    random, a = np.random.default_rng(0), 0.8
    x = np.zeros(100_000)
    for k, e in enumerate(random.standard_normal(len(x) - 1), 1):
        x[k] = a * x[k - 1] + e
    assert correlation_time(x) == pytest.approx((1 + a) / (1 - a), rel=0.1)


def test_bad_requests_are_rejected() -> None:
    log = simulated_log(False)
    with refused(UnknownName, "backlash"):
        identify_actuators(log, robot(), KP, KD, structures=["friction+backlash"])
    with refused(UnknownName, "leg"):
        identify_actuators(log, robot(), KP, KD, per="leg")
    with refused(UnmetCondition, "hold_out_from"):
        identify_actuators(log, robot(), KP, KD, hold_out_from=11.9)


def test_a_log_needs_a_robot_and_gains(tmp_path: Path) -> None:
    from tarsus import cli

    np.savez(tmp_path / "log.npz", **simulated_log(False))
    (tmp_path / "arm.xml").write_text("<mujoco/>")
    path = str(tmp_path / "log.npz")
    assert cli.main(["identify", path]) == BAD_INPUT
    assert cli.main(["identify", path, "--robot", str(tmp_path / "arm.xml")]) == BAD_INPUT


@pytest.mark.parametrize("option", [{"per": "type"}, {"structures": "friction"}])
def test_options_of_a_servo_log_are_rejected_with_a_spec(option: dict[str, Any]) -> None:
    with refused(IncompatibleOptions, f"--{next(iter(option))}"):
        Identify(Path("slope.toml"), **option).execute()


@pytest.mark.slow
@pytest.mark.skipif("TARSUS_GO2_LOG" not in os.environ, reason="needs go2_hardware.npz")
def test_a_real_go2() -> None:
    """Needs the path of the log in TARSUS_GO2_LOG, and go2_fixed.xml in the same folder."""
    path = Path(os.environ["TARSUS_GO2_LOG"])
    made = tarsus.load(path.with_name("go2_fixed.xml"))
    structures = ["friction+spring+angle"]
    found = identify_actuators(path, made, 20, 1.5, structures=structures, hold_out_from=12.0)
    fit = found[structures[0]]
    assert fit.held_out_rms < 0.008
    assert np.sqrt(np.mean(fit.held_out[2::3] ** 2)) < 0.011
