"""Known parameters are identified from noisy logs, and unidentifiable ones are reported."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.noisy_logs import BALL, moved, noisy, walked
from helpers.refused import refused
from numpy.typing import NDArray

import tarsus
from tarsus import cli
from tarsus.dynamics.robot import Robot
from tarsus.errors import InvalidFile, InvalidValue, TarsusError, UnknownName, UnmetCondition
from tarsus.identification import inertial_parameters
from tarsus.identification.estimates import Estimate
from tarsus.identification.page import build_page
from tarsus.identification.spec import parse_spec
from tarsus.identification.windows import read_noise
from tarsus.model.mechanism import Inertia
from tarsus.model.mjcf import read_mjcf

Array = NDArray[np.float64]
STICTION, DAMPING, ROTOR, LATE, STRONG = 0.25, 0.08, 0.03, 0.008, 0.85
DT, SECONDS = 0.004, 1.2


def arm(damping: float = 0.02, friction: float = 0.1, armature: float = 0.015) -> Robot:
    """A motor that lifts a rod; by default with wrong values from the data sheet."""
    return Robot.of(
        read_mjcf(f"""<mujoco model="arm"><worldbody><body name="rod">
        <joint name="motor" axis="0 1 0" damping="{damping}" frictionloss="{friction}"
        armature="{armature}"/>
        <inertial pos="0 0 -0.15" mass="0.8" diaginertia="0.006 0.006 0.0005"/></body>
        </worldbody><actuator><motor joint="motor"/></actuator></mujoco>""")
    )


def excited() -> Array:
    """Torques (samples, 1), N m, that swing the arm back and forth and let it stick in between."""
    t = DT * np.arange(round(SECONDS / DT))
    return (1.6 * np.sin(2 * np.pi * 1.3 * t) + 1.1 * np.sin(2 * np.pi * 3.1 * t + 1.0))[:, None]


@pytest.fixture(scope="module")
def swung() -> dict[str, Array]:
    """Log of the true arm, whose motor is delayed and weak, with noise."""
    truth = tarsus.Simulation(
        arm(DAMPING, STICTION, ROTOR), dt=DT, varied={"delay": 4, "strength": "motor"}
    )
    truth.set(delay=round(LATE / DT), strength=STRONG)
    return noisy(arm(), moved(truth, excited()), 2e-4, 2e-3)


FREE = {
    "dry_friction.motor": {"low": 0.0, "high": 1.0, "true": STICTION},
    "damping.motor": {"low": 0.0, "high": 0.5, "true": DAMPING},
    "armature.motor": {"low": 0.0, "high": 0.1, "true": ROTOR},
    "strength.motor": {"low": 0.5, "high": 1.2, "true": STRONG},
    "delay": {"low": 0.0, "high": 0.03, "start": 0.0, "true": LATE},
}


def arm_spec(**changed: Any) -> dict[str, Any]:
    search = {"window": 0.12, "candidates": 8, "tries": 1}
    return {"free": FREE, "compare": {"q": 2e-4, "u": 2e-3}, "search": search} | changed


def test_lag_and_encoder_offset_of_a_servo_are_identified() -> None:
    """The log has the readings of the encoder, as that of a real servo has."""
    text = (
        '<mujoco><worldbody><body name="rod"><joint name="motor" axis="0 1 0" damping=".1"'
        ' armature=".02"/><inertial pos="0 0 -0.15" mass="0.8" diaginertia="0.006 0.006 0.0005"/>'
        '</body></worldbody><actuator><position joint="motor" kp="15" kv="0.6"/></actuator>'
        "</mujoco>"
    )
    robot = Robot.of(read_mjcf(text))
    true = {"delay.motor": 0.006, "lag.motor": 0.011, "encoder_offset.motor": -0.03}
    motor = {name.partition(".")[0]: value for name, value in true.items()}
    real = replace(robot.file_actuators[0], **motor)
    simulation = tarsus.Simulation(
        replace(robot, file_actuators=(real,)), actuators="file", dt=DT, contacts=()
    )
    log = noisy(robot, moved(simulation, 0.3 * excited()), 2e-4, 2e-3)
    log["q"] = log["q"] + real.encoder_offset
    spec: dict[str, Any] = {
        "log": {"measured": True},
        "model": {"robot": robot, "option.actuators": "file"},
        "free": {
            "delay.motor": {"low": 0.0, "high": 0.03, "start": 0.01},
            "lag.motor": {"low": 0.001, "high": 0.05, "start": 0.005},
            "encoder_offset.motor": {"low": -0.2, "high": 0.2, "start": 0.0},
        },
        "compare": {"q": 2e-4, "u": 2e-3},
        "search": {"window": 0.2, "candidates": 8, "tries": 1, "scan": False},
    }
    found = tarsus.identify(spec, log)
    for name, value in true.items():
        error = found[name].value - value
        assert abs(error) < (1e-3 if found[name].unit == "rad" else 5e-5), (name, error)
    del spec["model"]["option.actuators"]
    with refused(UnmetCondition, "lag"):
        tarsus.identify(spec, log)


def test_an_actuator_with_stiction_and_delay_is_identified(swung: Any) -> None:
    spec = arm_spec(model={"robot": arm()})
    found = tarsus.identify(spec, swung)
    for one in found.estimates:
        assert one.error is not None and one.true is not None
        assert abs(one.error) < 0.02, (one.name, one.value, one.true)
        assert one.low < one.value < one.high and not one.undetermined
    assert 0.9 < found.held_out["all"] < 1.1 < found.before["all"]


@pytest.mark.slow
def test_a_seed_gives_the_same_bits_with_any_number_of_threads(swung: Any) -> None:
    spec = arm_spec(model={"robot": arm()}, search={"window": 0.12, "tries": 2})
    found = [tarsus.identify(spec, swung, threads=n) for n in (1, 2)]
    assert found[0].estimates == found[1].estimates and found[0].after == found[1].after


def test_a_motion_without_excitation_is_reported() -> None:
    """A hanging arm shows neither its resistance nor the strength of its motor."""
    still = {"time": DT * np.arange(301), "q": np.zeros((301, 1)), "u": np.zeros((301, 1))}
    free = {name: {k: v for k, v in FREE[name].items() if k != "true"} for name in FREE}
    found = tarsus.identify(
        arm_spec(model={"robot": arm()}, free=free),
        {**still, "action": np.zeros((301, 1))},
    )
    assert all(one.undetermined for one in found.estimates)
    assert "dry_friction.motor," in found.remarks[0]
    page = build_page(found)
    assert page.count(">not determined<") == len(found.estimates) and found.remarks[0][:20] in page


@pytest.mark.parametrize("seed", range(3))
def test_inertia_parameters_always_give_a_physical_inertia(seed: int) -> None:
    random = np.random.default_rng(seed)
    made = Inertia(2.0, np.array([0.1, 0.0, -0.2]), np.diag([0.05, 0.04, 0.02]))
    names = [f"inertia.{pair}" for pair in ("xx", "yy", "zz", "xy", "xz", "yz")]
    values = {name: 2 * random.standard_normal(50) for name in names}
    _, _, about = inertial_parameters.apply_values(made, values | {"mass": np.full(50, 3.0)})
    principal = np.linalg.eigvalsh(about)
    assert (principal > 0).all()
    assert (principal[:, 2] <= principal[:, 0] + principal[:, 1] + 1e-12 * principal[:, 2]).all()
    same = inertial_parameters.linear_parameter_changes(made, dict.fromkeys(names, np.zeros(1)))
    assert np.abs(same).max() < 1e-15


@pytest.mark.parametrize(
    ("given", "kind", "subject"),
    [
        ({}, InvalidValue, "free"),
        ({"free": {"law.mu": 3}}, InvalidValue, "law.mu"),
        ({"free": {"law": {"low": 0.1, "high": 1}}}, InvalidValue, "law"),
        ({"free": {"law.mu": {"low": 1}}}, InvalidValue, "law.mu"),
        ({"free": {"law.mu": {"low": 1, "high": 0}}}, InvalidValue, "law.mu"),
        ({"free": {"law.mu": {"low": 0.1, "high": 1, "start": 2}}}, InvalidValue, "law.mu"),
        ({"free": {"law.mu": {"low": 0.1, "high": 1, "sart": 0.2}}}, UnknownName, "sart"),
        ({"free": {"las.mu": {"low": 0.1, "high": 1}}}, UnknownName, "las"),
        ({"free": {"law.mw": {"low": 0.1, "high": 1}}}, UnknownName, "mw"),
        ({"free": {"damping.knee": {"low": 0.0, "high": 1}}}, UnknownName, "knee"),
        ({"free": {"mass.rod": {"low": -1, "high": 1}}}, InvalidValue, "mass.rod"),
        ({"free": FREE, "search": {"method": "magic"}}, UnknownName, "magic"),
        ({"free": FREE, "search": {"hold_out": 1}}, InvalidValue, "search.hold_out"),
        ({"free": FREE, "log": {"sample": 1e-5}}, InvalidValue, "log.sample"),
        ({"free": FREE, "compare": {"z": 1}}, UnknownName, "z"),
        ({"free": FREE, "model": {"rob": 1}}, UnknownName, "rob"),
        ({"free": FREE, "search": {"window": 100.0}}, UnmetCondition, "search.window"),
    ],
)
def test_mistakes_in_a_specification_are_reported_by_name(
    given: Any, kind: type[TarsusError], subject: str, swung: Any
) -> None:
    model = {"robot": arm(), **given.get("model", {})}
    with refused(kind, subject):
        tarsus.identify({**given, "model": model}, swung)


def test_zero_noise_is_rejected(swung: Any) -> None:
    with pytest.raises(TarsusError, match=r"compare\.q"):
        tarsus.identify({"free": FREE, "compare": {"q": 0.0}, "model": {"robot": arm()}}, swung)


def test_noise_may_be_a_numpy_scalar() -> None:
    noise = read_noise({"q": np.float64(1e-3), "force": np.float32(2.0)}, arm())
    assert noise.q is not None and (noise.q == 1e-3).all() and noise.force == 2.0


def test_the_error_of_an_estimate_in_a_table() -> None:
    one = Estimate("law.mu", "1", 0.55, 0.5, 0.6, 0.4, 0.5, False, "")
    assert one.error_text == "+10.00 %"
    assert replace(one, true=0.0).error_text == "+0.55"
    assert replace(one, true=None).error_text == ""


def test_a_log_with_nan_must_be_trimmed(swung: Any) -> None:
    broken = swung["q"].copy()
    broken[200:] = np.nan
    with refused(InvalidFile, "q"):
        tarsus.identify(arm_spec(model={"robot": arm()}), {**swung, "q": broken})


def test_nested_and_quoted_names_are_equivalent() -> None:
    nested = parse_spec({"free": {"law": {"mu": {"low": 0.1, "high": 1.0}}}})
    assert nested.unknowns == parse_spec({"free": {"law.mu": {"low": 0.1, "high": 1.0}}}).unknowns
    names = [one.name for one in parse_spec({"free": {"inertia.base": {}}}).unknowns]
    assert names == [f"inertia.base.{pair}" for pair in ("xx", "yy", "zz", "xy", "xz", "yz")]


@pytest.mark.slow
def test_evolution_identifies_the_actuator(swung: Any) -> None:
    pytest.importorskip("cma")
    search = {"window": 0.12, "method": "cma", "candidates": 16}
    found = tarsus.identify(arm_spec(model={"robot": arm()}, search=search), swung)
    for one in found.estimates:
        assert one.error is not None and abs(one.error) < 0.02, one.name


@pytest.mark.slow
def test_friction_and_trunk_mass_are_identified_from_a_trot() -> None:
    """Trot that slips, heavier and off center; noise of encoders and of a tracked trunk."""
    true = {"mu": 0.3, "mass": 15.5, "x": 0.03}
    robot = tarsus.load("starleth")
    truth = tarsus.Simulation(
        robot, controller="trot", varied={"mass": "base", "com": "base"}, parameters=["mu=0.3"]
    )
    truth.set(mass={"base": true["mass"]}, com={"base": [true["x"], 0.0, 0.0]})
    log = noisy(robot, walked(truth, 3.0), 2e-4, 5e-3)
    free = {
        "law.mu": {"low": 0.1, "high": 1.0, "start": 0.8, "true": true["mu"]},
        "mass.base": {"low": 8.0, "high": 25.0, "true": true["mass"]},
        "com.base.x": {"low": -0.1, "high": 0.1, "true": true["x"]},
    }
    found = tarsus.identify(
        {
            "model": {"robot": "starleth"},
            "free": free,
            "compare": {"q": 2e-4, "u": 5e-3},
            "search": {"tries": 1},
        },
        log,
    )
    for one in found.estimates:
        assert one.error is not None and abs(one.error) < 0.02, (one.name, one.value)


@pytest.mark.slow
def test_slope_and_friction_are_identified() -> None:
    robot, angle = tarsus.load("mini_cheetah"), 0.12
    truth = tarsus.Simulation(
        robot, terrain=tarsus.Slope(angle=angle), controller="trot", parameters=["mu=0.35"]
    )
    log = noisy(robot, walked(truth, 3.0), 2e-4, 5e-3)
    free = {
        "terrain.angle": {"low": 0.0, "high": 0.3, "start": 0.05, "true": angle},
        "law.mu": {"low": 0.1, "high": 1.0, "start": 0.8, "true": 0.35},
    }
    model = {"robot": "mini_cheetah", "terrain": "slope"}
    found = tarsus.identify(
        {"model": model, "free": free, "compare": {"q": 2e-4, "u": 5e-3}, "search": {"tries": 1}},
        log,
    )
    for one in found.estimates:
        assert one.error is not None and abs(one.error) < 0.02, (one.name, one.value)


@pytest.mark.slow
def test_the_law_of_a_log_ranks_first(tmp_path: Path, capsys: Any) -> None:
    """Throws of a ball under Newton's restitution, a spring and damper, and MuJoCo's soft
    contact.
    """
    path = tmp_path / "ball.xml"
    path.write_text(BALL)
    truth = tarsus.Simulation(str(path), "moreau", dt=0.004, parameters=["mu=0.3", "e_N=0.4"])
    logs = []
    for k in range(4):
        truth.reset()
        truth.set(u=[1.0 + 0.3 * k, 0.2, -0.5, 0.0, 3.0 * k, 0.0])
        log = noisy(truth.robot, moved(truth, np.zeros((125, 0))), 1e-4, 2e-3, k)
        logs.append(log)
        np.savez(tmp_path / f"throw_{k}.npz", **log)
    (tmp_path / "throws.toml").write_text(
        '[log]\nfiles = "throw_*.npz"\n[model]\nrobot = "ball.xml"\n'
        '[free]\n"law.mu" = { low = 0.05, high = 1.0 }\n'
        "[compare]\nq = 1e-4\nu = 2e-3\n"
        "[search]\nwindow = 0.12\nwindows = 16\ncandidates = 16\ntries = 1\nfolds = 3\n"
    )
    spec = str(tmp_path / "throws.toml")
    laws = "moreau,compliant"
    assert cli.main(["identify", spec, "--laws", laws, "--out", str(tmp_path)]) == 0
    out = capsys.readouterr().out
    assert "Choose moreau" in out
    assert "Choose moreau" in (tmp_path / "identify.html").read_text()
    found = tarsus.rank_laws(spec, ["moreau", "soft_convex"])
    assert found.laws[0].law == "moreau" and found.laws[0].error < 1.1
    assert abs(found.laws[0].values["law.mu"] / 0.3 - 1) < 0.02
    assert abs(found.laws[0].values["law.e_N"] / 0.4 - 1) < 0.02
    assert found.laws[1].excess[1] > 0
