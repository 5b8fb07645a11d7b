"""A GPU's launcher and arrays, emulated on the CPU, with counts of what they would cost."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from tarsus.program.run.threads import HostLauncher


class Waits(Exception):
    """The host needs a value of the device, so it would wait for all kernels to end."""


class DeviceArray(NDArrayOperatorsMixin):
    """Array that, like CuPy's, never becomes a NumPy array or a number by itself.

    `array` is its memory; `costs` counts `kernels` and `copies_to_host`.
    """

    __hash__ = None

    def __init__(self, array: Any, costs: SimpleNamespace) -> None:
        self.array, self.costs = np.asarray(array), costs

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError("implicit conversion to a NumPy array is not allowed")

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        out = [self._array(one) for one in options.pop("out", ())]
        if out:
            options["out"] = tuple(out)
        self.costs.kernels += 1
        return self._wrap(getattr(ufunc, method)(*map(self._array, inputs), **options))

    def __getattr__(self, name: str) -> Any:
        if name in ("item", "tolist", "tobytes") or name.startswith("__"):
            raise AttributeError(name)
        member = getattr(self.array, name)
        if not callable(member):
            return self._wrap(member) if isinstance(member, np.ndarray) else member
        return self._kernel(member)

    def __getitem__(self, key: Any) -> Any:
        return self._wrap(self.array[self._index(key)])

    def __setitem__(self, key: Any, value: Any) -> None:
        self.costs.kernels += 1
        self.array[self._index(key)] = self._array(value)

    def __len__(self) -> int:
        return len(self.array)

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()

    def _waits(self, *_: Any) -> Any:
        raise Waits

    __bool__ = __float__ = __int__ = __iter__ = _waits  # type: ignore[assignment]

    def _wrap(self, value: Any) -> Any:
        return DeviceArray(value, self.costs)

    def _array(self, value: Any) -> Any:
        if isinstance(value, np.ndarray):
            raise TypeError("a NumPy array must be copied to the device first")
        return value.array if isinstance(value, DeviceArray) else value

    def _index(self, key: Any) -> Any:
        parts = key if isinstance(key, tuple) else (key,)
        return tuple(self._array(part) for part in parts)

    def _kernel(self, function: Any) -> Any:
        def call(*inputs: Any, **options: Any) -> Any:
            self.costs.kernels += 1
            return self._wrap(function(*map(self._array, inputs), **options))

        return call


class DeviceModule:
    """Functions of NumPy for arrays of the device."""

    def __init__(self, costs: SimpleNamespace) -> None:
        self._costs = costs

    def asarray(self, value: Any, dtype: Any = None) -> DeviceArray:
        """Convert an array of the device, or copy one of the host to it."""
        array = value.array if isinstance(value, DeviceArray) else np.array(value)
        if dtype is not None and array.dtype != dtype:
            self._costs.kernels += 1
        return DeviceArray(np.asarray(array, dtype), self._costs)

    def from_dlpack(self, value: Any) -> DeviceArray:
        return DeviceArray(np.from_dlpack(value), self._costs)

    def broadcast_to(self, array: DeviceArray, shape: tuple[int, ...]) -> DeviceArray:
        return DeviceArray(np.broadcast_to(array.array, shape), self._costs)

    def __getattr__(self, name: str) -> Any:
        return DeviceArray(np.zeros(()), self._costs)._kernel(getattr(np, name))


class DeviceLauncher(HostLauncher):
    """One thread per world on an emulated device.

    Attributes
    ----------
    costs
        Counts of `launches` of a program, other `kernels`, and `copies_to_host`.
    """

    def __init__(self) -> None:
        self.costs = SimpleNamespace(launches=0, kernels=0, copies_to_host=0)
        self.arrays = DeviceModule(self.costs)

    def start(self, kernel: Any, worlds: int, arguments: tuple[Any, Any, Any, int]) -> None:
        self.costs.launches += 1
        *arrays, steps = arguments
        super().start(kernel, worlds, (*(one.array for one in arrays), steps))

    def to_host(self, array: DeviceArray) -> np.ndarray:
        self.costs.copies_to_host += 1
        return np.array(array.array)
