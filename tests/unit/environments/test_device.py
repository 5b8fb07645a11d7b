"""Environments on a device with one thread per world, emulated on the CPU: the CPU's bits, no
hidden copies to the host and no waiting.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from casadi import SX
from helpers.device_arrays import DeviceArray, DeviceLauncher, Waits
from helpers.one_legged_hopper import HOPPER
from helpers.refused import refused

import tarsus
from tarsus.environments.gymnasium_api import WorldsEnv
from tarsus.errors import IncompatibleOptions, InvalidValue
from tarsus.model.mechanism import Mechanism
from tarsus.sensing.base import Sensor
from tarsus.sensing.imu import Imu
from tarsus.tasks.base import LearningTask, Observed, StateView
from tarsus.tasks.velocity import Velocity

WORLDS = 6


@dataclass(frozen=True, kw_only=True)
class Swing(LearningTask):
    """Swing a leg: with a history, a delayed sensor, offsets and levels of the ground."""

    episode: float = 0.24
    history: int = 3
    bias: float = 1.0
    start_distance: float = 1.0
    start_tilt: float = 0.2
    levels: tuple[float, float] = (0.1, 1.0)
    command_interval: float = 0.1
    push_interval: float = 0.14

    def commands(self) -> dict[str, tuple[float, float]]:
        return {"angle": (-1.0, 1.0)}

    def sensors(self, mechanism: Mechanism) -> Mapping[str, Sensor]:
        return {"imu": Imu(delay=3)}

    def observations(self, state: StateView) -> dict[str, Observed]:
        return {
            "angle": Observed(state.angles, 0.05),
            "imu": Observed(state.sensed["imu"], 0.1),
            "command": Observed(state.command["angle"]),
        }

    def rewards(self, state: StateView) -> dict[str, SX]:
        return {"near": -((state.angles[0] - state.command["angle"]) ** 2)}

    def progress(self, state: StateView) -> SX:
        return state.angles[0] > -0.5

    def failed(self, state: StateView) -> SX:
        return state.angles[0] > 0.5


def actions(size: int, period: int) -> np.ndarray:
    """Actions (worlds, size) that make the later robots fall."""
    k = np.arange(WORLDS)[:, None]
    return (k * np.sin(k * np.arange(1, size + 1) + 0.7 * period)).astype(np.float32)


def on_device(launcher: DeviceLauncher, array: np.ndarray) -> DeviceArray:
    return launcher.arrays.asarray(array)


def both(*of: Any, **options: Any) -> tuple[tarsus.Environment, tarsus.Environment, DeviceLauncher]:
    """The same environment on the CPU and on the device."""
    launcher = DeviceLauncher()
    cpu, device = (
        tarsus.Environment(*of, worlds=WORLDS, seed=5, device=one, **options)
        for one in ("cpu", launcher)
    )
    return cpu, device, launcher


@pytest.fixture(scope="module")
def hopper(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("robot") / "hopper.xml"
    path.write_text(HOPPER)
    return str(path)


@pytest.fixture(scope="module")
def swings(hopper: str) -> tuple[tarsus.Environment, tarsus.Environment, DeviceLauncher]:
    return both(Swing(), hopper, terrain="rough")


def compare(cpu: tarsus.Environment, device: tarsus.Environment, periods: int) -> dict[str, int]:
    """Compare every number of some periods; count ended episodes."""
    launcher, ended = device.backend.launcher, {"terminated": 0, "truncated": 0}  # type: ignore[attr-defined]
    np.testing.assert_array_equal(cpu.reset(7), launcher.to_host(device.reset(7)))
    for k in range(periods):
        given = actions(cpu.action_size, k)
        one, other = cpu.step(given), device.step(on_device(launcher, given))
        for field in fields(one):
            here, there = getattr(one, field.name), getattr(other, field.name)
            assert isinstance(there, DeviceArray) and there.dtype == here.dtype
            np.testing.assert_array_equal(here, launcher.to_host(there), err_msg=field.name)
        for name in ended:
            ended[name] += int(getattr(one, name).sum())
    for name, values in cpu.state().items():
        np.testing.assert_array_equal(values, device.state()[name], err_msg=name)
    return ended


@pytest.mark.slow
def test_velocity_has_the_same_bits_on_a_device() -> None:
    """Mini Cheetah with falls, resets, pushes and new commands."""
    cpu, device, _ = both(replace(Velocity(), episode=0.7, push_interval=0.3))
    assert min(compare(cpu, device, 70).values()) > 0, "episodes end in both ways"


def test_history_sensors_and_levels_have_the_same_bits_on_a_device(
    swings: tuple[tarsus.Environment, tarsus.Environment, DeviceLauncher],
) -> None:
    cpu, device, _ = swings
    assert min(compare(cpu, device, 60).values()) > 0, "episodes end in both ways"
    assert len(np.unique(cpu.state()["level"])) > 1


def test_a_step_launches_one_kernel_and_copies_nothing_to_the_host(
    swings: tuple[tarsus.Environment, tarsus.Environment, DeviceLauncher],
) -> None:
    """Besides the program, a kernel writes the action and others copy the results."""
    _, device, launcher = swings
    device.reset(1)
    given, outputs = on_device(launcher, actions(1, 0)), len(fields(device.last))
    for advance, most in ((device.advance, 1 + outputs), (device.step, 1 + outputs + 3)):
        vars(launcher.costs).update(launches=0, kernels=0, copies_to_host=0)
        for _ in range(10):
            advance(given)
        assert launcher.costs.launches == 10 and launcher.costs.copies_to_host == 0
        assert launcher.costs.kernels <= 10 * most


def test_the_emulated_arrays_never_convert_by_themselves() -> None:
    array = DeviceLauncher().arrays.asarray(np.ones(3))
    for convert in (np.asarray, lambda one: np.ones(3) + one):
        with pytest.raises(TypeError):
            convert(array)
    for wait in (bool, float, list):
        with pytest.raises((Waits, TypeError)):
            wait(array.sum())


def test_shared_arrays_on_a_device_contain_every_outcome(
    swings: tuple[tarsus.Environment, tarsus.Environment, DeviceLauncher],
) -> None:
    """By DLPack without a copy; so are actions."""
    cpu, device, launcher = swings
    cpu.reset(2)
    device.reset(2)
    shared = {f.name: np.from_dlpack(getattr(device.last, f.name)) for f in fields(device.last)}
    for k in range(20):
        given = actions(1, k)
        found = cpu.step(given)
        assert device.advance(on_device(launcher, given)) is device.last
        for name, array in shared.items():
            np.testing.assert_array_equal(array, getattr(found, name), err_msg=name)
    assert shared["observation"].flags.c_contiguous and shared["terminated"].dtype == bool


def test_a_state_continues_on_either_device(
    swings: tuple[tarsus.Environment, tarsus.Environment, DeviceLauncher],
) -> None:
    cpu, device, launcher = swings
    cpu.reset(3)
    device.reset(3)
    for k in range(15):
        device.step(on_device(launcher, actions(1, k)))
    state = device.state()
    cpu.restore(state)
    ends = []
    for _ in range(2):
        device.restore(state)
        for k in range(15, 30):
            ends.append(launcher.to_host(device.step(on_device(launcher, actions(1, k))).final))
    for k in range(15, 30):
        final = cpu.step(actions(1, k)).final
        np.testing.assert_array_equal(final, ends[k - 15])
        np.testing.assert_array_equal(final, ends[k])


def test_a_nan_action_ends_the_episode_of_its_world_on_a_device(
    swings: tuple[tarsus.Environment, tarsus.Environment, DeviceLauncher],
) -> None:
    cpu, device, launcher = swings
    device.reset(4)
    given = actions(1, 0)
    given[2] = np.nan
    with refused(InvalidValue, "action"):
        cpu.step(given)
    out = device.step(on_device(launcher, given))
    diverged = launcher.to_host(out.diverged).tolist()
    assert diverged == [k == 2 for k in range(WORLDS)]
    assert np.isfinite(launcher.to_host(out.observation)).all()
    with refused(InvalidValue, "action"):
        device.step(on_device(launcher, actions(2, 0)))


def test_gymnasium_receives_numpy_arrays_of_a_device(hopper: str) -> None:
    options: dict[str, Any] = {"task": Swing(), "robot": hopper, "terrain": "rough", "seed": 5}
    cpu, device = (WorldsEnv(WORLDS, device=one, **options) for one in ("cpu", DeviceLauncher()))
    np.testing.assert_array_equal(cpu.reset(seed=1)[0], device.reset(seed=1)[0])
    ended = 0
    for k in range(30):
        (*one, told), (*other, also) = cpu.step(actions(1, k)), device.step(actions(1, k))
        pairs = [*zip(one, other, strict=True), *((told[name], also[name]) for name in told)]
        for here, there in pairs:
            assert type(there) is np.ndarray
            np.testing.assert_array_equal(here, there)
        ended += "final_obs" in also
    assert ended


def test_threads_do_not_apply_to_a_device(hopper: Path) -> None:
    with refused(IncompatibleOptions, "threads"):
        tarsus.Environment(Swing(), str(hopper), device=DeviceLauncher(), threads=2)
