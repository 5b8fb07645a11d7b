"""Interface of back ends: registers of many worlds, and a program that runs over them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tarsus.errors import InvalidValue, unknown_name_error
from tarsus.program.codegen.layout import Target, layout
from tarsus.program.ir.program import Program

Array = NDArray[Any]  # float64 or float32


class Backend(ABC):
    """Persistent registers of `count` worlds, and a compiled kernel that runs over them.

    Attributes
    ----------
    arrays
        Module of the arrays that it takes and returns, NumPy or CuPy.
    target
        Lanes and bits of the compiled code.
    dtype
        Type of every register.
    threads
        Number of threads of the CPU that share the worlds.
    """

    arrays: Any = np
    threads: int = 1

    def __init__(self, program: Program, worlds: int, target: Target) -> None:
        self.program, self.count, self.target = program, worlds, target
        self.dtype = np.dtype(np.float64 if target.bits == 64 else np.float32)
        self._offsets = layout(program)[0]
        # whether a parameter has nonzero entries, if known; registers that others may write
        self._nonzero: dict[str, bool] = {}
        parameters = {register.name for register in program.of_kind("parameter")}
        self._writable = self._offsets.keys() - parameters

    def __contains__(self, name: str) -> bool:
        return name in self._offsets

    @abstractmethod
    def get(self, name: str) -> Array:
        """Copy a register of all worlds to host memory, (worlds, size)."""

    @abstractmethod
    def to_host(self, array: Any) -> Array:
        """Convert an array of `arrays` to NumPy; this copies it from a GPU."""

    @abstractmethod
    def output(self, name: str) -> Any:
        """Copy a register of all worlds, (worlds, size), to an array of `arrays`."""

    def any(self, name: str) -> bool:
        """Return whether a register is nonzero in any world; cached for parameters."""
        if name in self._writable:
            return self._has_nonzero(name)
        if name not in self._nonzero:
            self._nonzero[name] = self._has_nonzero(name)
        return self._nonzero[name]

    def _has_nonzero(self, name: str) -> bool:
        return bool(self.arrays.any(self.output(name)))

    @abstractmethod
    def view(self, name: str) -> Any:
        """Return a register without a copy; writing to it changes the worlds."""

    @abstractmethod
    def buffer(self, name: str, dtype: type | None = None) -> Any:
        """Create an array of `arrays` for `read`, (worlds, size) or more rows."""

    @abstractmethod
    def read(self, name: str, into: Any) -> None:
        """Copy a register of all worlds to an array from `buffer`."""

    @abstractmethod
    def first(self, name: str) -> Array:
        """Copy the first world's register to host memory, (size,)."""

    @abstractmethod
    def set(self, name: str, values: ArrayLike, where: Any = None) -> None:
        """Write a register.

        Parameters
        ----------
        name
            Name of the register.
        values
            Values, (size,) for all worlds or (worlds, size).
        where
            Mask of the worlds to write, (worlds,); all by default.
        """

    @abstractmethod
    def advance(self, steps: int = 1) -> None:
        """Run the program `steps` times in every world."""

    @abstractmethod
    def record(self, steps: int) -> dict[str, Array]:
        """Run `steps` times and record the states and reports of each: (steps, worlds, size)."""

    @abstractmethod
    def compile_ahead(self) -> None:
        """Compile all cold code now: that of falls, joint limits and fast joints.

        Otherwise the first step that needs such code waits for seconds.
        """

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Size in bytes of all worlds between steps."""

    def bytes_per_world(self) -> float:
        """Compute the bytes per world between steps."""
        return self.nbytes / self.count

    def _entries(self, name: str) -> slice:
        if name not in self._offsets:
            raise unknown_name_error("register", name, self._offsets)
        offset = self._offsets[name]
        return slice(offset, offset + self.program.sizes[name])

    def _for_all(self, name: str, values: Any) -> Any:
        """Convert values to an array (worlds, size) of `arrays`."""
        size = self.program.sizes[name]
        array = self.arrays.asarray(values, dtype=self.dtype)
        try:
            return self.arrays.broadcast_to(array, (self.count, size))
        except ValueError:
            raise InvalidValue(
                f"{name} must have shape ({size},) or ({self.count}, {size}), not {array.shape}.",
                name,
            ) from None
