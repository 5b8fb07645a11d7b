"""Tensor methods of `unisim` on the CPU: Torch tensors in and out, copied at each boundary.

Only these methods import PyTorch; the rest of the backend works without it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from unisim.backend.base import (
    SelectedResetPublication,
    SensorDescriptor,
    TensorDataPlane,
    TensorExecution,
    TensorLifecycleCapabilities,
    TrackedBodyStateViews,
)
from unisim.dr.types import TensorResetRandomizationPayload

from tarsus.errors import MissingPackage, unknown_name_error
from tarsus.installation import package_install_command
from tarsus_unisim.model import ModelQueries, UnsupportedError

Array = NDArray[Any]
STATE = ("qpos", "qvel", "ctrl")
TRACKED = {  # prefixes of body states in adapters of this interface
    "track_pos_w_": slice(0, 3),
    "track_quat_w_": slice(3, 7),
    "track_linvel_w_": slice(7, 10),
    "track_angvel_w_": slice(10, 13),
}


def _torch() -> Any:
    """Return PyTorch; raise MissingPackage if it is not installed."""
    try:
        import torch  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise MissingPackage(
            f"the tensor methods of unisim need PyTorch; run {package_install_command('torch')}.",
            "torch",
        ) from None
    return torch


def _check_tensor(name: str, value: Any, shape: tuple[int, ...], dtype: str) -> Array:
    """Return the numbers of a tensor; raise TypeError or ValueError if it breaks the interface."""
    torch = _torch()
    if not isinstance(value, torch.Tensor) or value.dtype != getattr(torch, dtype):
        raise TypeError(f"{name} must be a torch.Tensor of {dtype}.")
    if value.device.type != "cpu":
        raise ValueError(f"{name} must be on the device cpu, not {value.device}.")
    if tuple(value.shape) != shape or not value.is_contiguous():
        raise ValueError(f"{name} must be contiguous, of shape {shape}, not {tuple(value.shape)}.")
    array = value.detach().numpy()
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite.")
    return array


def _tensor(values: Array, device: Any) -> Any:
    """Return a float32 copy on the CPU; raise ValueError for another device."""
    torch = _torch()
    if device is not None and torch.device(device).type != "cpu":
        raise ValueError(f"tensors of this backend are on the device cpu, not {device}.")
    return torch.from_numpy(np.array(values, np.float32, order="C"))


class TensorLifecycle(ModelQueries):
    """Tensor methods on top of the host methods: explicit copies, synchronous, in one process."""

    def get_tensor_execution(self) -> TensorExecution:
        return TensorExecution.HOST_BRIDGE

    def get_tensor_capabilities(self) -> TensorLifecycleCapabilities:
        """Return the capabilities: views of state, sensors and bodies, steps, and resets."""
        return TensorLifecycleCapabilities(
            execution=TensorExecution.HOST_BRIDGE,
            data_plane=TensorDataPlane.HOST_BRIDGE,
            torch_devices=("cpu",),
            stream_event_ownership="none: every call is synchronous on the CPU",
            state_views=True,
            state_fields=frozenset(STATE),
            sensor_views=True,
            tracked_body_views=True,
            stepping=True,
            host_pre_step_control=True,
            selected_reset=True,
            selected_reset_publication=SelectedResetPublication.AUTHORITATIVE_VIEWS,
            mask_selected_reset=True,
            reset_randomization=bool(self.get_dr_capabilities().supported_reset_terms),
        )

    def get_state_views(
        self, fields: tuple[str, ...] | str | None = None, device: Any | None = None
    ) -> Mapping[str, Any]:
        """Return copies of qpos, qvel and ctrl, (num_envs, n)."""
        return {name: _tensor(v, device) for name, v in self._host_get_state(fields).items()}

    def get_sensor_view(self, name: str, device: Any | None = None) -> Any:
        """Return a copy of a sensor reading, (num_envs, k); raise KeyError for an unknown name."""
        return _tensor(self._host_read_sensor(name), device)

    def get_tracked_body_views(
        self, body_names: Sequence[str] | None = None, device: Any | None = None
    ) -> TrackedBodyStateViews:
        """Return poses and velocities of bodies, world axes; by default of all bodies."""
        names = tuple(self.model.body_names if body_names is None else body_names)
        state = self._body_state(self.get_body_ids(names))
        parts = [_tensor(state[..., columns], device) for columns in TRACKED.values()]
        return TrackedBodyStateViews(names, *parts)

    def step_tensor(self, ctrl: Any, nsteps: int = 1) -> dict[str, Any] | None:
        """Advance with constant control signals, (num_envs, num_actuators)."""
        shape = (self.num_envs, self.num_actuators)
        return self._host_step(_check_tensor("ctrl", ctrl, shape, "float32"), nsteps)

    def set_state_tensor(
        self,
        env_indices: Any,
        qpos: Any,
        qvel: Any,
        randomization: TensorResetRandomizationPayload | None = None,
    ) -> dict[str, Any] | None:
        """Set state and randomized numbers of the listed worlds; the others are not affected."""
        rows = _check_tensor("env_indices", env_indices, (len(env_indices),), "int64")
        state = (
            _check_tensor("qpos", qpos, (len(rows), self.model.nq), "float32"),
            _check_tensor("qvel", qvel, (len(rows), self.model.nu), "float32"),
        )
        return self._host_set_state(rows, *state, randomization)

    def set_state_tensor_mask(
        self,
        reset_mask: Any,
        qpos: Any,
        qvel: Any,
        randomization: TensorResetRandomizationPayload | None = None,
        *,
        full_refresh: bool = False,
    ) -> dict[str, Any] | None:
        """Set state and randomized numbers where a mask (num_envs,) is true.

        All tables have one row per world.
        """
        if full_refresh:
            raise UnsupportedError("full_refresh is not supported: views are always up to date.")
        rows = np.flatnonzero(_check_tensor("reset_mask", reset_mask, (self.num_envs,), "bool"))
        state = (
            _check_tensor("qpos", qpos, (self.num_envs, self.model.nq), "float32")[rows],
            _check_tensor("qvel", qvel, (self.num_envs, self.model.nu), "float32")[rows],
        )
        selected = None
        if randomization is not None:
            terms = randomization.requested_terms()
            chosen = {term: getattr(randomization, term)[rows] for term in terms}
            selected = TensorResetRandomizationPayload(**chosen)
        return self._host_set_state(rows, *state, selected)

    def get_sensor_names(self) -> tuple[str, ...]:
        """Return the names of sensors and of body states.

        Vectors of a sensor are "SENSOR.VECTOR", such as "imu.gyro". Each body has
        "track_pos_w_BODY", "track_quat_w_BODY", "track_linvel_w_BODY" and "track_angvel_w_BODY".
        """
        return tuple(d.name for d in self.get_sensor_inventory())

    def get_sensor_inventory(self) -> tuple[SensorDescriptor, ...]:
        """Return the sensors with their numbers of channels."""
        sensors = [
            SensorDescriptor(name, len(columns)) for name, (_, columns) in self._channels().items()
        ]
        tracked = [
            SensorDescriptor(prefix + name, columns.stop - columns.start)
            for prefix, columns in TRACKED.items()
            for name in self.bodies.names
        ]
        return (*sensors, *tracked)

    def _channels(self) -> dict[str, tuple[str, list[int]]]:
        """Return the sensor and channels of each sensor and vector, by name."""
        channels_by_name: dict[str, tuple[str, list[int]]] = {}
        for name, channels in self.simulation.sensor_channels.items():
            channels_by_name[name] = name, list(range(len(channels)))
            for k, channel in enumerate(channels):
                vector, _, component = channel.rpartition("_")
                if component in ("w", "x", "y", "z"):
                    channels_by_name.setdefault(f"{name}.{vector}", (name, []))[1].append(k)
        return channels_by_name

    def _host_read_sensor(self, name: str) -> Array:
        """Return the current reading of a sensor, (num_envs, k); raise KeyError if unknown."""
        known = self._channels()
        if name in known:
            sensor, columns = known[name]
            reading = self.simulation.sense()[sensor]
            return reading.reshape(self.num_envs, -1)[:, columns]
        for prefix, columns in TRACKED.items():
            body = name.removeprefix(prefix)
            if body != name and body in self.bodies.names:
                return self._body_state(self.get_body_ids([body]))[:, 0, columns]
        raise KeyError(str(unknown_name_error("sensor", name, self.get_sensor_names())))

    def _bind_sensor_data_reader(self, names: tuple[str, ...]) -> Any:
        """Return a function that reads the sensors when it is called."""
        return lambda: np.concatenate([self._host_read_sensor(name) for name in names], axis=1)

    def _body_state(self, ids: Array) -> Array:
        raise NotImplementedError

    def _host_step(self, ctrl: Array, nsteps: int = 1) -> dict[str, Any] | None:
        raise NotImplementedError
