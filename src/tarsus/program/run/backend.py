"""What a simulation asks of a back end: many worlds' registers, and a program run over them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tarsus.errors import InvalidValue, unknown_name
from tarsus.program.codegen.layout import Target, layout
from tarsus.program.ir.program import Program

Array = NDArray[Any]  # float64 or float32


class Backend(ABC):
    """`count` copies of a program's persistent registers and a compiled kernel that runs over them.

    arrays: the module whose arrays it gives and takes, NumPy or CuPy
    target: lanes and bits of the compiled code
    dtype: of every register
    """

    arrays: Any = np

    def __init__(self, program: Program, worlds: int, target: Target) -> None:
        self.program, self.count, self.target = program, worlds, target
        self.dtype = np.dtype(np.float64 if target.bits == 64 else np.float32)
        self._at = layout(program)[0]
        # parameters that were looked through since they were set, and registers others may write
        self._known: dict[str, bool] = {}
        parameters = {register.name for register in program.of_kind("parameter")}
        self._lent = self._at.keys() - parameters

    def __contains__(self, name: str) -> bool:
        return name in self._at

    @abstractmethod
    def get(self, name: str) -> Array:
        """A copy of one register of all worlds in this computer's memory, (worlds, size)."""

    @abstractmethod
    def output(self, name: str) -> Any:
        """A copy of a register of all worlds, (worlds, size), an array of the back end's kind."""

    def any(self, name: str) -> bool:
        """Whether a register holds anything but zeros in any world; of a parameter, which only
        `set` changes, remembered.
        """
        if name in self._lent:
            return self._looked_through(name)
        if name not in self._known:
            self._known[name] = self._looked_through(name)
        return self._known[name]

    def _looked_through(self, name: str) -> bool:
        """Whether a register holds anything but zeros in any world."""
        return bool(self.arrays.any(self.output(name)))

    @abstractmethod
    def view(self, name: str) -> Any:
        """A register in place, without a copy: writing to it changes the worlds."""

    @abstractmethod
    def first(self, name: str) -> Array:
        """The register of the first world, (size,): a copy in this computer's memory."""

    @abstractmethod
    def set(self, name: str, values: ArrayLike, where: Any = None) -> None:
        """Write one register, (size,) for all worlds alike or (worlds, size); only the worlds in
        `where` if given.
        """

    @abstractmethod
    def advance(self, steps: int = 1) -> None:
        """Run the program `steps` times on every world."""

    @abstractmethod
    def record(self, steps: int) -> dict[str, Array]:
        """Run `steps` times; state and report registers after each: (steps, worlds, size)."""

    @abstractmethod
    def compile_ahead(self) -> None:
        """Compile at once what only some steps run, such as falls, limits and joints that turn
        fast: otherwise the first step that does waits for it, for seconds.
        """

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Memory of all worlds between steps."""

    def bytes_per_world(self) -> float:
        """Memory a world takes between steps."""
        return self.nbytes / self.count

    def _entries(self, name: str) -> slice:
        if name not in self._at:
            raise unknown_name("register", name, self._at)
        return slice(self._at[name], self._at[name] + self.program.sizes[name])

    def _for_all(self, name: str, values: Any) -> Any:
        """The values as an array (worlds, size) of the back end's kind."""
        size = self.program.sizes[name]
        given = self.arrays.asarray(values, dtype=self.dtype)
        try:
            return self.arrays.broadcast_to(given, (self.count, size))
        except ValueError:
            raise InvalidValue(
                f"{name} must have shape ({size},) or ({self.count}, {size}), not {given.shape}.",
                name,
            ) from None
