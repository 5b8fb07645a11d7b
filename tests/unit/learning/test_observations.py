"""Observations besides the state: sensors, contacts, and offsets that are constant in an
episode.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np
import pytest

import tarsus
from tarsus.environments.task_observer import TaskObserver
from tarsus.learning.network import Network
from tarsus.learning.play import _inputs_at_rest, _observe, _read_inputs
from tarsus.learning.policy import ObservationScale, Policy
from tarsus.learning.task_controller import TaskController
from tarsus.learning.trials import draw_trials
from tarsus.model.mechanism import Mechanism
from tarsus.sensing.base import Sensor
from tarsus.sensing.height_scan import HeightScan
from tarsus.sensing.imu import Imu
from tarsus.sensing.touch import TouchSensor
from tarsus.tasks.base import Observed, StateView
from tarsus.tasks.velocity import Velocity

FOOT = "FR_foot"
SENSORS: dict[str, Sensor] = {
    "imu": Imu(),
    "late": Imu(delay=3),
    "foot": TouchSensor(frame=FOOT),
    "ground": HeightScan(length=0.2, width=0.1),
}
SURE: dict[str, Any] = {"friction": (1, 1), "mass": (1, 1), "lift": 0.0, "push": 0.0}


@dataclass(frozen=True, kw_only=True)
class Sensing(Velocity):
    """Follow a velocity with sensors, contacts and torques in view."""

    def sensors(self, mechanism: Mechanism) -> Mapping[str, Sensor]:
        return SENSORS

    def observations(self, state: StateView) -> Mapping[str, Observed]:
        felt = {"touch": ca.vertcat(*state.in_contact.values()), "torque": state.torque}
        return {name: Observed(value) for name, value in {**state.sensed, **felt}.items()}


def parts(env: tarsus.Environment, seen: np.ndarray) -> dict[str, np.ndarray]:
    """An observation (worlds, k) by its parts."""
    sizes = env.outline.observed
    return dict(zip(sizes, np.split(seen, np.cumsum([*sizes.values()])[:-1], axis=1), strict=True))


def test_readings_match_a_simulation_across_command_changes() -> None:
    """The same robot under the same servos; commands change every period, episodes go on."""
    task = Sensing(**SURE, command_interval=0.02, start_offset=0.3)
    env = tarsus.Environment(task, terrain="rough", precision="float64", worlds=2, seed=4)
    seen = parts(env, env.reset(4))
    # as an episode begins nothing presses, and gravity alone is felt
    assert not seen["foot"][:, 0].any() and not seen["touch"].any() and not seen["torque"].any()
    assert np.linalg.norm(seen["imu"][:, :3], axis=1) == pytest.approx(9.81)
    sim = tarsus.Simulation(
        *(env.robot, env.law),
        terrain="rough",
        dt=env.dt,
        contacts=[candidate.name for candidate in env.work.scene.candidates],
        stiction=False,
        sensors=SENSORS,
    )
    gains, moved = env.work.gains, env.robot.keyframes["stand"][7:]
    state = env.state()
    sim.set(q=state["q"][1], u=state["u"][1])
    for name, reading in sim.sense().items():
        np.testing.assert_allclose(seen[name][1], reading, atol=1e-12, err_msg=name)
    for _ in range(12):
        seen = parts(env, env.step(np.zeros(12)).observation)
        for _ in range(env.work.steps):
            sim.step(gains.kp * (moved - sim.q[7:]) - gains.kd * sim.u[6:])
        for name, reading in sim.sense().items():
            np.testing.assert_allclose(seen[name][1], reading, atol=1e-6, err_msg=name)
        feet = [candidate.name for candidate in env.work.scene.candidates]
        assert seen["touch"][1, feet.index(FOOT)] == seen["foot"][1, 0]
    assert seen["foot"][1, 0] == 1 and seen["foot"][1, 1] > 0, "it stands"


def test_observations_match_between_training_and_play() -> None:
    """Observations of `play` in changed worlds: at rest, and after a step."""
    env = tarsus.Environment(Sensing(**SURE), precision="float64", worlds=3, seed=4)
    eyes, noise = TaskObserver(env.work, env.terrain.parameters()), np.random.default_rng(0)
    assert set(eyes.inputs) == {"tau", "impulse", *(f"sensed.{name}" for name in SENSORS)}
    begun = env.reset(4)
    for k in range(2):
        felt = _read_inputs(eyes, env) if k else _inputs_at_rest(eyes, env)
        np.testing.assert_allclose(_observe(eyes, env, felt, noise), begun, atol=1e-12)
        begun = env.step(np.zeros(12)).observation
    net = Network((env.observation_size, env.action_size))
    blind = ObservationScale(*(np.full(env.observation_size, v, np.float32) for v in (0, 1)))
    policy = Policy(net, np.zeros(net.count, np.float32), blind)
    with pytest.raises(tarsus.TarsusError, match="contacts or sensors"):
        TaskController(policy, env)


def test_sensor_noise_appears_in_observations() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Noisy(Sensing):
        def sensors(self, mechanism: Mechanism) -> Mapping[str, Sensor]:
            return {"imu": Imu(noise=0.1)}

    with pytest.raises(tarsus.TarsusError, match="'imu'"):
        tarsus.Environment(Noisy())


# ---------------------------------------------------------------- offsets


def offsets(worlds: int, periods: int, **options: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Bias of observations (periods, worlds, k) and of final ones, and the ends of episodes
    (periods, worlds); the noise of both is the same.
    """
    task = Velocity(episode=0.1, **options)
    pair = [
        tarsus.Environment(replace(task, bias=bias), worlds=worlds, seed=6) for bias in (0.0, 0.5)
    ]
    rows = [[env.reset(6) for env in pair]]
    finals, ended = [], []
    for _ in range(periods):
        outs = [env.step(np.zeros(12)) for env in pair]
        rows.append([out.observation for out in outs])
        finals.append(outs[1].final - outs[0].final)
        ended.append(outs[1].truncated | outs[1].terminated)
    return np.array([b - a for a, b in rows]), np.array(finals), np.array(ended)


def test_offsets_are_constant_in_an_episode_and_redrawn() -> None:
    added, finals, ended = offsets(24, 22)
    env = tarsus.Environment()
    wide = 0.5 * TaskObserver(env.work, env.terrain.parameters()).noise
    assert wide.any() and (np.abs(added) <= wide + 1e-5).all()
    assert not added[..., wide == 0].any()
    felt = added[..., wide > 0] / wide[wide > 0]
    # even between the ends, other numbers in other worlds
    assert felt.min() < -0.95 and felt.max() > 0.95
    assert abs(felt[0].mean()) < 4 / np.sqrt(3 * felt[0].size)
    for k in range(len(ended)):
        stays = ~ended[k]
        np.testing.assert_allclose(added[k + 1][stays], added[k][stays], atol=2e-6)
        # the last observation of an episode has that episode's
        np.testing.assert_allclose(finals[k], added[k], atol=2e-6)
        assert (np.abs(added[k + 1] - added[k])[ended[k]].max(1, initial=0) > 1e-3).all()
    assert ended.sum() == 24 * 4


def test_tasks_can_set_the_offset_of_each_observation() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Shifted(Velocity):
        def observations(self, state: StateView) -> Mapping[str, Observed]:
            found = super().observations(state)
            return {k: replace(v, bias=0.3 if k == "turning" else 0.0) for k, v in found.items()}

    env = tarsus.Environment(Shifted(bias=1.0), worlds=3)
    assert np.flatnonzero(TaskObserver(env.work, env.terrain.parameters()).bias).tolist() == [
        3,
        4,
        5,
    ]
    bias = env.state()["bias"]
    assert (np.abs(bias[:, 3:6]) <= 0.3).all() and bias[:, 3:6].all() and not bias[:, 6:].any()


def test_each_trial_has_its_observation_offset() -> None:
    env = tarsus.Environment(Velocity(bias=0.5), worlds=1)
    net = Network((env.observation_size, env.action_size))
    blind = ObservationScale(*(np.full(env.observation_size, v, np.float32) for v in (0, 1)))
    pilot = TaskController(Policy(net, np.zeros(net.count, np.float32), blind), env)
    assert not pilot._bias.any(), "nothing is drawn where nobody asks for noise"
    found = []
    for k in range(2):
        pilot.start_episode(np.random.default_rng([k]))
        found.append(pilot._bias)
    assert not np.array_equal(*found) and (np.abs(found) <= 0.5 * pilot._observer.noise).all()
    assert draw_trials(env.task, 12, 2, 1.0, 0).count == 2
