"""`tarsus judge` on states of MuJoCo: every integrator, float32, thinned rows, tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import mujoco
import numpy as np
import pandas as pd
import pytest
from helpers.refused import refused

import tarsus
from tarsus.cli import main
from tarsus.errors import InvalidFile, InvalidValue, UnknownName

HOPPER = """<mujoco model="hopper"><option timestep="0.0025" cone="elliptic" integrator="{0}"/>
<worldbody><geom type="plane" size="9 9 .1"/><body name="trunk" pos="0 0 {1}"><freejoint/>
<geom type="box" size=".2 .12 .04" mass="6"/>{legs}</body></worldbody>
<actuator>{servos}</actuator></mujoco>"""
LEG = """<body name="{0}" pos="{1} {2} -.04"><joint name="{0}" axis="0 1 0" damping=".2"/>
<geom type="capsule" fromto="0 0 0 0 0 -.3" size=".02" mass=".5"/>
<geom type="sphere" size=".03" pos="0 0 -.35" mass=".1"/></body>"""
LEGS = {"a": (0.15, 0.1), "b": (0.15, -0.1), "c": (-0.15, 0.1), "d": (-0.15, -0.1)}
SERVO = '<position joint="{0}" kp="90" kv="3"/>'


@pytest.fixture
def hopper(tmp_path: Path) -> Any:
    """Return the file of a robot on servos with damping, under an integrator."""

    def written(integrator: str = "implicitfast", height: float = 0.42) -> str:
        legs = "".join(LEG.format(name, *at) for name, at in LEGS.items())
        servos = "".join(SERVO.format(name) for name in LEGS)
        text = HOPPER.format(integrator, height, legs=legs, servos=servos)
        (tmp_path / "hopper.xml").write_text(text)
        return str(tmp_path / "hopper.xml")

    return written


def run(file: str, steps: int = 120, hold: int = 1) -> dict[str, np.ndarray]:
    """Return the states of a run and the forces in its data; ctrl changes every `hold` steps."""
    model = mujoco.MjModel.from_xml_path(file)
    data = mujoco.MjData(model)
    names = ("time", "qpos", "qvel", "ctrl", "qfrc_actuator")
    rows = [[np.copy(getattr(data, name)) for name in names]]
    for k in range(steps):
        if k % hold == 0:
            data.ctrl[:] = 0.4 * np.sin(9 * data.time + np.arange(model.nu))
        mujoco.mj_step(model, data)
        rows.append([np.copy(getattr(data, name)) for name in names])
    return {name: np.array(part) for name, part in zip(names, zip(*rows, strict=True), strict=True)}


def states(log: dict[str, np.ndarray]) -> dict[str, Any]:
    """Return the states from which MuJoCo can step again."""
    return {name: log[name] for name in ("time", "qpos", "qvel", "ctrl")}


@pytest.mark.parametrize("integrator", ["Euler", "implicit", "implicitfast"])
def test_momentum_and_energy_balance_under_every_integrator(hopper: Any, integrator: str) -> None:
    """Servo damping of 3 N m s, taken implicitly, changes a motor's torque by newtons."""
    file = hopper(integrator)
    card = tarsus.judge(states(run(file)), file)
    assert card["residuals"]["equation_N"] < 1e-9
    assert card["energy"]["unbalanced"] < 1e-10
    assert card["verdicts"]["equation_N"]["verdict"] == "pass"
    assert not card["not_judged"]


def in_the_air(log: dict[str, np.ndarray]) -> dict[str, Any]:
    """Return the full arrays of a flight, with the torques in `mjData`."""
    count = len(log["time"])
    bare = states(log) | {"qfrc_actuator": log["qfrc_actuator"]}
    return bare | {"contact_force": np.zeros((count, 20, 3)), "mu": 0.8}


def test_torques_of_mjdata_are_shifted_to_the_step_they_acted_in(hopper: Any) -> None:
    """The integrator comes from the robot file, the run or an argument; else it is unknown."""
    file = hopper("implicitfast", 1.0)
    log = in_the_air(run(file, steps=15))
    urdf_like = tarsus.load(file)
    for given, argument in ((log, None), (log | {"integrator": "implicitfast"}, None)):
        card = tarsus.judge(given, file, integrator=argument)
        assert card["residuals"]["equation_N"] < 1e-9
    assert tarsus.judge(log, urdf_like, integrator="implicitfast")["residuals"]["equation_N"] < 1e-9
    assert tarsus.judge(log, file, integrator="Euler")["residuals"]["equation_N"] > 1.0
    # without control signals, and without a file, the servos' part is not known
    bare = {name: value for name, value in log.items() if name != "ctrl"}
    for card in (
        tarsus.judge(bare, file),
        tarsus.judge(log | {"integrator": "discrete"}, file),
    ):
        assert {"equation_N", "energy"} == set(card["not_judged"])
        assert card["verdicts"]["equation_N"]["verdict"] == "not judged"
    with refused(UnknownName, "implicit_fast"):
        tarsus.judge(log, file, integrator="implicit_fast")


@pytest.mark.skipif(
    not hasattr(mujoco.mjtIntegrator, "mjINT_DISCRETE"), reason="this MuJoCo has no such integrator"
)
def test_the_discrete_integrator_is_not_judged_by_motion(hopper: Any) -> None:
    file = hopper("discrete")
    card = tarsus.judge(states(run(file)), file)
    assert {"equation_N", "energy"} == set(card["not_judged"])
    assert card["residuals"]["penetration_m"] is not None


def test_float32_states_are_judged_to_their_digits(hopper: Any) -> None:
    file = hopper()
    single = {name: value.astype(np.float32) for name, value in states(run(file, 400)).items()}
    card = tarsus.judge(single, file)
    assert card["dt"] == 0.0025 and card["steps"] == 400
    assert card["residuals"]["equation_N"] < 1e-2
    assert card["verdicts"]["equation_N"]["verdict"] == "pass"
    assert card["verdicts"]["energy"]["verdict"] == "pass"


def test_rows_several_steps_apart_with_constant_control_are_judged(hopper: Any) -> None:
    file = hopper()
    log = states(run(file, hold=4))
    thinned = {name: value[::4] for name, value in log.items()}
    card, whole = tarsus.judge(thinned, file), tarsus.judge(log, file)
    assert card["steps"] == whole["steps"] == 120 and card["dt"] == pytest.approx(0.0025)
    for name, value in whole["residuals"].items():
        assert card["residuals"][name] == pytest.approx(value, rel=1e-6, abs=1e-9), name


def test_without_control_signals_only_the_depth_is_judged(hopper: Any) -> None:
    file = hopper()
    log = states(run(file))
    whole = tarsus.judge(log, file)
    bare = {name: value for name, value in log.items() if name != "ctrl"}
    card = tarsus.judge(bare, file)
    assert all("ctrl" in reason for reason in card["not_judged"].values())
    judged = {name for name, value in card["residuals"].items() if value is not None}
    assert judged == {"penetration_m"} and card["energy"] is None
    assert card["residuals"]["penetration_m"] == pytest.approx(
        whole["residuals"]["penetration_m"], rel=0.05
    )
    # so do rows between which the control changed
    thinned = tarsus.judge({name: value[::3] for name, value in log.items()}, file)
    assert "3 steps" in thinned["not_judged"]["equation_N"]
    assert thinned["residuals"]["penetration_m"] > 0


@pytest.mark.parametrize(
    ("separator", "decimal"), [(",", "."), (";", ","), ("\t", "."), (";", ".")]
)
def test_a_table_of_states(hopper: Any, separator: str, decimal: str, tmp_path: Path) -> None:
    """A table as written by a spreadsheet."""
    file = hopper()
    columns = {}
    for name, value in states(run(file, 60)).items():
        flat = {name: value} if value.ndim == 1 else {}
        flat |= {f"{name}[{k}]": value[:, k] for k in range(value.shape[-1]) if value.ndim == 2}
        columns |= flat
    frame = pd.DataFrame(columns)
    frame.to_csv(tmp_path / "run.csv", sep=separator, decimal=decimal, index=False)
    assert tarsus.judge(tmp_path / "run.csv", file)["residuals"]["equation_N"] < 1e-6
    # what is missing is named by row and column
    frame.loc[7, "qvel[2]"] = np.nan
    frame.to_csv(tmp_path / "run.csv", sep=separator, decimal=decimal, index=False)
    with pytest.raises(tarsus.TarsusError, match=r"qvel\[2\] .* row 7"):
        tarsus.judge(tmp_path / "run.csv", file)
    frame = frame.drop(columns="qpos[3]")
    frame.to_csv(tmp_path / "run.csv", sep=separator, decimal=decimal, index=False)
    with refused(InvalidFile, "qpos[3]"):
        tarsus.judge(tmp_path / "run.csv", file)
    text = (tmp_path / "run.csv").read_text().splitlines()
    text[3] = separator.join(["later", *text[3].split(separator)[1:]])
    (tmp_path / "run.csv").write_text("\n".join(text))
    with refused(InvalidFile, "time") as caught:
        tarsus.judge(tmp_path / "run.csv", file)
    assert "row 2" in str(caught.value)


def test_uneven_rows_are_named(hopper: Any) -> None:
    file = hopper()
    log = states(run(file))
    keep = np.delete(np.arange(121), 50)
    with pytest.raises(tarsus.TarsusError, match="row 50"):
        tarsus.judge({name: value[keep] for name, value in log.items()}, file)
    log["qpos"] = np.where(np.arange(121)[:, None] == 30, np.nan, log["qpos"])
    with pytest.raises(tarsus.TarsusError, match=r"qpos\[0\] .* row 30"):
        tarsus.judge(log, file)


def test_sparse_forces_are_judged_by_contact_only() -> None:
    """Every fifth row of a Tarsus run, with the length of its steps."""
    simulation = tarsus.Simulation("mini_cheetah", controller="stand")
    from tarsus.comparison.trajectory import log_to_arrays

    arrays = log_to_arrays(simulation.run(0.5), simulation.robot)
    rows = len(arrays["time"])
    thinned = {
        name: value[::5] if np.ndim(value) and len(value) == rows else value
        for name, value in arrays.items()
    }
    card = tarsus.judge(thinned | {"dt": 0.0025}, "mini_cheetah")
    assert card["steps"] == rows - 1 and card["dt"] == 0.0025
    assert set(card["not_judged"]) == {"equation_N", "energy"}
    assert card["residuals"]["cone_Ns"] < 1e-6 and card["residuals"]["creep_m_per_s"] < 1e-3
    with refused(InvalidValue, "dt"):
        tarsus.judge(thinned | {"dt": 0.002}, "mini_cheetah")


def test_verdict_limits_scale_with_the_robot(hopper: Any) -> None:
    """MuJoCo's default contact creeps, that of Tarsus does not. Limits scale with the robot."""
    ours = tarsus.judge(tarsus.Simulation("mini_cheetah", controller="stand").run(0.3))
    assert {told["verdict"] for told in ours["verdicts"].values()} == {"pass"}
    file = hopper()
    theirs = tarsus.judge(states(run(file)), file)["verdicts"]
    assert theirs["signorini_J"]["verdict"] == "doubtful"
    assert theirs["creep_m_per_s"]["verdict"] == "fail"
    assert theirs["cone_Ns"]["good"] == pytest.approx(1e-3 * 9.81 * 8.4 * 0.0025, rel=0.01)


def test_the_table_shows_verdicts(
    hopper: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = hopper()
    np.savez(tmp_path / "run.npz", **states(run(file)))
    assert main(["judge", str(tmp_path / "run.npz"), "--robot", file]) == 0
    told = capsys.readouterr().out
    assert "pass" in told and "fail" in told
    assert main(["judge", str(tmp_path / "run.npz"), "--robot", file, "--integrator", "eul"]) == 2
    assert "Euler" in capsys.readouterr().err
