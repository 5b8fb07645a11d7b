"""Noise, bias and delay of sensors: by world, by episode, in logs and snapshots."""

from __future__ import annotations

import pickle
from copy import copy, deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.refused import refused

import tarsus
from tarsus.errors import IncompatibleOptions, InvalidValue, UnknownName, Unsupported
from tarsus.program.run.threads import HostLauncher
from tarsus.sensing.encoders import Encoders
from tarsus.sensing.frame_motion import FrameMotion
from tarsus.sensing.imu import Imu
from tarsus.sensing.touch import TouchSensor

BALL = """<mujoco model="ball"><worldbody><body name="ball" pos="0 0 0.3"><freejoint/>
<inertial pos="0 0 0" mass="2" diaginertia=".1 .1 .1"/>
<geom type="sphere" size=".1" mass="0"/></body></worldbody></mujoco>"""
K = 9  # channels of an IMU
EACH = np.linspace(0.1, 0.9, 3 * K).reshape(3, K)
CHANGED: dict[str, Any] = {"noise": EACH, "bias": [0.5, 0.0, -0.5], "delay": [0, 1, 3]}


@pytest.fixture(scope="module")
def ball(tmp_path_factory: pytest.TempPathFactory) -> str:
    file = tmp_path_factory.mktemp("ball") / "ball.xml"
    file.write_text(BALL)
    return str(file)


def made(ball: str, worlds: int = 3, **options: Any) -> tarsus.Simulation:
    """Simulation of a fall and landing; sensors have a delay of up to three steps."""
    sensors = {"imu": Imu(delay=3, seed=5), "clean": Imu(), "foot": TouchSensor(delay=2)}
    return tarsus.Simulation(ball, sensors=sensors, controller=None, worlds=worlds, **options)


def noise_of(simulation: tarsus.Simulation) -> np.ndarray:
    """Noise of the IMU in the initial state of a simulation."""
    told = simulation.sense()
    return told["imu"] - told["clean"]


def test_changed_settings_match_sensors_created_with_them(ball: str) -> None:
    sensors = {
        "imu": Imu(noise=EACH, bias=np.array([0.5, 0.0, -0.5]), delay=np.array([0, 1, 3]), seed=5),
        "clean": Imu(),
        "foot": TouchSensor(delay=2),
    }
    other = tarsus.Simulation(ball, sensors=sensors, controller=None, worlds=3)
    one = made(ball)
    assert one.program is other.program  # nothing is compiled twice
    one.set(sensors={"imu": CHANGED})
    logs = [simulation.run(0.3) for simulation in (one, other)]
    assert (logs[0]["sensed_imu"].values == logs[1]["sensed_imu"].values).all()
    for simulation, log in zip((one, other), logs, strict=True):
        assert (simulation.sense()["imu"] == log["sensed_imu"].values[-1]).all()
    off = logs[0]["sensed_imu"].values - logs[0]["sensed_clean"].values
    assert off[:, 0].std(axis=0) == pytest.approx(EACH[0], rel=0.3)  # of 120 steps
    assert off[:, 1, 3:].std(axis=0) == pytest.approx(EACH[1, 3:], rel=0.3)


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("bias", 0.25, np.full((3, K), 0.25)),
        ("bias", [0.1, 0.2, 0.3], np.tile([[0.1], [0.2], [0.3]], K)),
        ("bias", EACH[:1], np.tile(EACH[:1], (3, 1))),
        ("bias", EACH, EACH),
    ],
)
def test_values_apply_to_all_or_by_world_or_by_channel(
    ball: str, field: str, value: Any, expected: np.ndarray
) -> None:
    simulation = made(ball)
    simulation.set(sensors={"imu": {field: value}})
    assert noise_of(simulation) == pytest.approx(expected, abs=1e-12)
    simulation.set(where=[False, True, False], sensors={"imu": {field: 0.0}})
    assert noise_of(simulation)[1] == pytest.approx(np.zeros(K), abs=1e-12)
    assert noise_of(simulation)[::2] == pytest.approx(expected[::2], abs=1e-12)


def test_readings_do_not_depend_on_other_sensors_or_threads(ball: str) -> None:
    alone, many = made(ball, 2), made(ball, 40, threads=2)
    for simulation in (alone, many):
        by_world = np.linspace(0, 1, 40)[: simulation.worlds]
        late = np.arange(40)[: simulation.worlds] % 4
        simulation.set(sensors={"imu": {"noise": by_world, "bias": -by_world, "delay": late}})
        simulation.advance(0.3)
        simulation.reset(where=np.arange(simulation.worlds) == 1)
        simulation.advance(0.02)
    assert (alone.sense()["imu"] == many.sense()["imu"][:2]).all()


def test_settings_survive_copies_pickles_and_resets(ball: str) -> None:
    simulation = made(ball)
    simulation.set(sensors={"imu": CHANGED})
    twins = copy(simulation), deepcopy(simulation), pickle.loads(pickle.dumps(simulation))
    for one in (simulation, *twins):
        one.advance(0.1)
        one.reset()
        one.advance(0.05)
    for twin in twins:
        assert (twin.sense()["imu"] == simulation.sense()["imu"]).all()
    simulation.set(sensors={"imu": {"noise": 0.0, "bias": 0.0, "delay": 0}})
    assert (twins[0].sense()["imu"] != simulation.sense()["imu"]).any()


def test_a_log_with_changed_settings_reruns(ball: str, tmp_path: Path) -> None:
    simulation = made(ball)
    simulation.advance(0.1)
    simulation.reset()  # another episode
    simulation.set(sensors={"imu": CHANGED})
    simulation.run(0.1, to=tmp_path / "log.nc")
    again = tarsus.rerun(tmp_path / "log.nc")
    assert again.reproduced and not again.changed


def test_each_episode_has_its_own_noise_and_a_seed_repeats_it(ball: str) -> None:
    def begun(simulation: tarsus.Simulation, **how: Any) -> np.ndarray:
        """Noise of the first steps of an episode."""
        simulation.reset(**how)
        told = simulation.run(0.02)
        return (told["sensed_imu"] - told["sensed_clean"]).values

    one, two = made(ball), made(ball)
    for simulation in (one, two):
        simulation.set(sensors={"imu": {"noise": 1.0, "delay": 0}})
    log = two.run(0.02)
    first = (log["sensed_imu"] - log["sensed_clean"]).values
    seeds = [begun(one, **how) for how in ({"seed": 0}, {}, {}, {"seed": 3}, {}, {"seed": 3}, {})]
    assert (seeds[0] == first).all()  # a new simulation is at the first episode of seed 0
    assert (seeds[5] == seeds[3]).all() and (seeds[6] == seeds[4]).all()
    new = [seeds[k] for k in (0, 1, 2, 3, 4)]
    for k, noise in enumerate(new):
        for other in new[:k]:
            assert abs(np.corrcoef(noise.ravel(), other.ravel())[0, 1]) < 0.35  # 216 samples, 5 s
    # the same calls, the same bits; worlds that go on keep theirs
    assert all((begun(two, **how) == seeds[k]).all() for k, how in ((1, {}), (2, {})))
    there = two.sense()["imu"]
    two.reset(where=[True, False, False])
    assert (two.sense()["imu"][1:] == there[1:]).all()


def test_noise_state_is_part_of_the_snapshot(ball: str) -> None:
    simulation, other = made(ball), made(ball)
    for one in (simulation, other):
        one.set(sensors={"imu": CHANGED})
    simulation.reset(seed=8)
    simulation.reset()
    simulation.advance(0.05)
    kept, there = simulation.state(), simulation.sense()["imu"]
    simulation.advance(0.05)
    after = simulation.sense()["imu"]
    for one in (simulation, other):
        one.reset(seed=2)
        one.restore(kept)
        assert (one.sense()["imu"] == there).all()
        one.advance(0.05)
        assert (one.sense()["imu"] == after).all()


def test_touch_sensors_report_flags_and_times(ball: str) -> None:
    with refused(IncompatibleOptions, "noise"):
        TouchSensor(noise=0.1)
    with refused(IncompatibleOptions, "bias"):
        TouchSensor(bias=np.array([0.0, 0.1]))
    simulation = made(ball)
    for field in ("noise", "bias"):
        with refused(Unsupported, field):
            simulation.set(sensors={"foot": {field: 0.1}})
    simulation.set(sensors={"foot": {"delay": [0, 1, 2]}})
    on = simulation.run(0.6)["sensed_foot"].values[..., 0]
    assert set(np.unique(on)) == {0.0, 1.0}
    landed = on.argmax(axis=0)
    assert (landed - landed[0] == [0, 1, 2]).all()


@pytest.mark.parametrize(
    ("given", "kind", "subject"),
    [
        (3, InvalidValue, "sensors"),
        ({"imu": 0.1}, InvalidValue, "sensors"),
        ({"imo": {}}, UnknownName, "imo"),
        ({"imu": {"nois": 0.1}}, UnknownName, "nois"),
        ({"imu": {"gain": 0.1}}, UnknownName, "gain"),
        ({"imu": {"noise": [0.1, 0.2]}}, InvalidValue, "noise"),
        ({"imu": {"bias": np.zeros(K)}}, InvalidValue, "bias"),
        ({"imu": {"delay": 4}}, InvalidValue, "delay"),
        ({"imu": {"delay": np.zeros((1, K), int)}}, InvalidValue, "delay"),
        ({"imu": {"seed": 4}}, Unsupported, "seed"),
        ({"clean": {"delay": 1}}, IncompatibleOptions, "delay"),
    ],
)
def test_invalid_settings_are_reported_by_name(
    ball: str, given: Any, kind: type[tarsus.TarsusError], subject: str
) -> None:
    simulation = made(ball)
    before = simulation.sense()["imu"]
    with refused(kind, subject) as caught:
        simulation.set(sensors=given)
    assert "\n" not in str(caught.value)
    assert (simulation.sense()["imu"] == before).all()


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"imu": {"noise": -0.1}}, "must not be negative, not -0.1"),
        ({"imu": {"bias": None}}, "must be a number, not None"),
        ({"imu": {"bias": [0, 0, np.nan]}}, "must be finite"),
        ({"imu": {"delay": 0.5}}, "whole number"),
    ],
)
def test_out_of_range_values_are_rejected_in_one_sentence(ball: str, given: Any, word: str) -> None:
    simulation = made(ball)
    before = simulation.sense()["imu"]
    with pytest.raises(tarsus.TarsusError) as caught:
        simulation.set(sensors=given)
    assert word in str(caught.value) and "\n" not in str(caught.value)
    assert (simulation.sense()["imu"] == before).all()


def test_sensors_are_selected_by_name(ball: str) -> None:
    simulation, plain = made(ball), tarsus.Simulation(ball, controller=None)
    with refused(UnknownName, "noise") as caught:
        simulation.set(noise=0.1)
    assert "set(sensors=" in str(caught.value)
    with refused(UnknownName, "sensor"):
        simulation.set(sensor={})
    with refused(IncompatibleOptions, "sensors"):
        plain.set(sensors={"imu": {"noise": 0.1}})
    with refused(IncompatibleOptions, "seed"):
        plain.reset(seed=1)
    for seed in (-1, 0.5, "one"):
        with refused(InvalidValue, "seed"):
            simulation.reset(seed=seed)  # pyright: ignore[reportArgumentType]


def test_single_precision_keeps_episodes_and_flags(ball: str) -> None:
    single, double = made(ball, precision="float32"), made(ball)
    for simulation in (single, double):
        simulation.set(sensors={"imu": {"noise": 0.5}})
        simulation.reset(seed=123456789)
        simulation.reset()
    assert noise_of(single) == pytest.approx(noise_of(double), abs=1e-6)
    assert np.abs(noise_of(single)).max() > 0.5


def test_noise_of_one_channel_does_not_affect_others(ball: str) -> None:
    """For every kind of sensor with several channels."""
    sensors = {"there": FrameMotion(), "joints": Encoders()}
    simulation = tarsus.Simulation("mini_cheetah", controller=None, sensors=sensors)
    before = simulation.sense()
    for name, reading in before.items():
        noise = np.zeros((1, reading.size))
        noise[0, 1] = 0.5
        simulation.set(sensors={name: {"noise": noise}})
        changed = simulation.sense()[name] != reading
        assert changed[1] and changed.sum() == 1


@pytest.mark.parametrize("device", ["cpu", HostLauncher()], ids=["lanes", "threads"])
def test_without_noise_and_bias_the_reading_is_exact(
    ball: str, device: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    simulation = made(ball, device=device)
    asked: list[str] = []
    entries = simulation.backend._entries
    simulation.sense()
    monkeypatch.setattr(simulation.backend, "_entries", lambda n: (asked.append(n), entries(n))[1])
    plain = simulation.sense()
    assert asked == ["sensed.imu", "sensed.clean", "sensed.foot"]
    # what is set is told, and what is taken back is not
    simulation.set(sensors={"imu": CHANGED})
    assert (noise_of(simulation) != 0).all()
    simulation.set(sensors={"imu": {"noise": 0, "bias": 0}})
    assert all((told == plain[name]).all() for name, told in simulation.sense().items())


def test_bias_modified_in_place_is_detected(ball: str) -> None:
    """In the memory of the worlds: code that holds a view of a register may write to it at any
    time.
    """
    simulation = made(ball, device=HostLauncher())
    bias = simulation.backend.view("bias.imu")
    assert not noise_of(simulation).any()
    bias[...] = 0.25
    assert noise_of(simulation) == pytest.approx(0.25)
