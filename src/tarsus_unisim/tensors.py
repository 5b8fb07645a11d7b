"""`unisim`'s tensor methods on the processor: Torch tensors in and out, copies at every boundary.

PyTorch is imported by who calls these methods alone; all else of the backend works without it.
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

from tarsus.errors import MissingPackage, unknown_name
from tarsus.installation import package_install_command
from tarsus_unisim.model import ModelQueries, UnsupportedError

Array = NDArray[Any]
STATE = ("qpos", "qvel", "ctrl")
TRACKED = {  # what adapters of this contract call the states of bodies
    "track_pos_w_": slice(0, 3),
    "track_quat_w_": slice(3, 7),
    "track_linvel_w_": slice(7, 10),
    "track_angvel_w_": slice(10, 13),
}


def _torch() -> Any:
    """PyTorch; TarsusError without it."""
    try:
        import torch  # pyright: ignore[reportMissingImports]
    except ImportError:
        raise MissingPackage(
            f"the tensor methods of unisim need PyTorch; run {package_install_command('torch')}.",
            "torch",
        ) from None
    return torch


def _given(name: str, value: Any, shape: tuple[int, ...], dtype: str) -> Array:
    """A tensor's numbers; TypeError or ValueError unless it is as the contract has it."""
    torch = _torch()
    if not isinstance(value, torch.Tensor) or value.dtype != getattr(torch, dtype):
        raise TypeError(f"{name} must be a torch.Tensor of {dtype}.")
    if value.device.type != "cpu":
        raise ValueError(f"{name} must be on the device cpu, not {value.device}.")
    if tuple(value.shape) != shape or not value.is_contiguous():
        raise ValueError(f"{name} must be contiguous, of shape {shape}, not {tuple(value.shape)}.")
    found = value.detach().numpy()
    if not np.isfinite(found).all():
        raise ValueError(f"{name} must be finite.")
    return found


def _tensor(values: Array, device: Any) -> Any:
    """A copy (float32) on the processor; ValueError for another device."""
    torch = _torch()
    if device is not None and torch.device(device).type != "cpu":
        raise ValueError(f"tensors of this backend are on the device cpu, not {device}.")
    return torch.from_numpy(np.array(values, np.float32, order="C"))


class TensorLifecycle(ModelQueries):
    """Tensors over the host methods: explicit copies, synchronous, one process."""

    def get_tensor_execution(self) -> TensorExecution:
        return TensorExecution.HOST_BRIDGE

    def get_tensor_capabilities(self) -> TensorLifecycleCapabilities:
        """What is there: views of state, sensors and bodies, steps, resets by rows and by mask."""
        return TensorLifecycleCapabilities(
            execution=TensorExecution.HOST_BRIDGE,
            data_plane=TensorDataPlane.HOST_BRIDGE,
            torch_devices=("cpu",),
            stream_event_ownership="none: every call is synchronous on the processor",
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
        """qpos, qvel and ctrl, copies (num_envs, n)."""
        return {name: _tensor(v, device) for name, v in self._host_get_state(fields).items()}

    def get_sensor_view(self, name: str, device: Any | None = None) -> Any:
        """A sensor's reading, a copy (num_envs, k); KeyError for a name that there is not."""
        return _tensor(self._host_read_sensor(name), device)

    def get_tracked_body_views(
        self, body_names: Sequence[str] | None = None, device: Any | None = None
    ) -> TrackedBodyStateViews:
        """Poses and velocities in world axes of bodies by name, of all without names."""
        names = tuple(self.model.body_names if body_names is None else body_names)
        state = self._body_state(self.get_body_ids(names))
        parts = [_tensor(state[..., at], device) for at in TRACKED.values()]
        return TrackedBodyStateViews(names, *parts)

    def step_tensor(self, ctrl: Any, nsteps: int = 1) -> dict[str, Any] | None:
        """Steps under control signals (num_envs, num_actuators) that are held."""
        shape = (self.num_envs, self.num_actuators)
        return self._host_step(_given("ctrl", ctrl, shape, "float32"), nsteps)

    def set_state_tensor(
        self,
        env_indices: Any,
        qpos: Any,
        qvel: Any,
        randomization: TensorResetRandomizationPayload | None = None,
    ) -> dict[str, Any] | None:
        """State, and numbers drawn anew, of the worlds named; no other is touched."""
        rows = _given("env_indices", env_indices, (len(env_indices),), "int64")
        state = (
            _given("qpos", qpos, (len(rows), self.model.nq), "float32"),
            _given("qvel", qvel, (len(rows), self.model.nu), "float32"),
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
        """The same where a mask (num_envs,) is true; all tables have a row a world."""
        if full_refresh:
            raise UnsupportedError("a full refresh is not declared: views are always fresh.")
        rows = np.flatnonzero(_given("reset_mask", reset_mask, (self.num_envs,), "bool"))
        state = (
            _given("qpos", qpos, (self.num_envs, self.model.nq), "float32")[rows],
            _given("qvel", qvel, (self.num_envs, self.model.nu), "float32")[rows],
        )
        drawn = None
        if randomization is not None:
            terms = randomization.requested_terms()
            chosen = {term: getattr(randomization, term)[rows] for term in terms}
            drawn = TensorResetRandomizationPayload(**chosen)
        return self._host_set_state(rows, *state, drawn)

    def get_sensor_names(self) -> tuple[str, ...]:
        """The simulation's sensors, their vectors as "SENSOR.VECTOR" such as "imu.gyro", and of
        every body "track_pos_w_BODY", "track_quat_w_BODY", "track_linvel_w_BODY" and
        "track_angvel_w_BODY".
        """
        return tuple(d.name for d in self.get_sensor_inventory())

    def get_sensor_inventory(self) -> tuple[SensorDescriptor, ...]:
        """The sensors with their numbers of channels."""
        own = [SensorDescriptor(name, len(at)) for name, (_, at) in self._channels().items()]
        tracked = [
            SensorDescriptor(prefix + name, at.stop - at.start)
            for prefix, at in TRACKED.items()
            for name in self.bodies.names
        ]
        return (*own, *tracked)

    def _channels(self) -> dict[str, tuple[str, list[int]]]:
        """Of sensors and their vectors: the sensor, and which channels."""
        found: dict[str, tuple[str, list[int]]] = {}
        for name, channels in self.simulation.sensor_channels.items():
            found[name] = name, list(range(len(channels)))
            for k, channel in enumerate(channels):
                vector, _, component = channel.rpartition("_")
                if component in ("w", "x", "y", "z"):
                    found.setdefault(f"{name}.{vector}", (name, []))[1].append(k)
        return found

    def _host_read_sensor(self, name: str) -> Array:
        """A sensor's reading now, (num_envs, k); KeyError for a name that there is not."""
        known = self._channels()
        if name in known:
            sensor, at = known[name]
            reading = self.simulation.sense()[sensor]
            return reading.reshape(self.num_envs, -1)[:, at]
        for prefix, at in TRACKED.items():
            body = name.removeprefix(prefix)
            if body != name and body in self.bodies.names:
                return self._body_state(self.get_body_ids([body]))[:, 0, at]
        raise KeyError(str(unknown_name("sensor", name, self.get_sensor_names())))

    def _bind_sensor_data_reader(self, names: tuple[str, ...]) -> Any:
        """A reader of what the sensors tell when it is called."""
        return lambda: np.concatenate([self._host_read_sensor(name) for name in names], axis=1)

    def _body_state(self, ids: Array) -> Array:
        raise NotImplementedError

    def _host_step(self, ctrl: Array, nsteps: int = 1) -> dict[str, Any] | None:
        raise NotImplementedError
