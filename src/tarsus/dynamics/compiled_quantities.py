"""Check arguments, compile each quantity once, and evaluate it at one state or many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from threading import Lock

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tarsus.dynamics.quantities import QUANTITIES, input_size
from tarsus.errors import InvalidValue
from tarsus.model.mechanism import Mechanism
from tarsus.program.ir.program import Program
from tarsus.program.run.worlds import Worlds

Array = NDArray[np.float64]
CACHE_SIZE = 64  # compiled quantities in memory; the oldest is dropped first, to be read from disk
UNIT_TOLERANCE = 1e-3  # on the length of a quaternion; wide enough for finite differences


@dataclass(frozen=True, eq=False)
class SingleState:
    """Compiled quantity of one state, with the memory of its inputs and its result.

    A controller calls it in every period, so it avoids all work that only a batch or an error
    message needs.

    Attributes
    ----------
    worlds
        The single world that computes it.
    inputs
        Views of the input registers, by name.
    result
        View of the result in its own shape.
    quaternions
        Entries of q with a unit quaternion.
    """

    worlds: Worlds
    inputs: Mapping[str, Array]
    result: Array
    quaternions: Sequence[slice]

    def evaluate(self, given: Mapping[str, ArrayLike]) -> Array | None:
        """Evaluate the quantity; None if an input is a batch, or needs the slower checks."""
        inputs = {name: np.asarray(given[name], dtype=np.float64) for name in self.inputs}
        for name, view in self.inputs.items():
            value = inputs[name]
            if value.shape != view.shape or not isfinite(value.dot(value)):
                return None
        for entries in self.quaternions:
            p = inputs["q"][entries]
            if abs(p.dot(p) - 1) > UNIT_TOLERANCE:
                return None
        return self.run(inputs)

    def run(self, inputs: Mapping[str, Array]) -> Array:
        """Evaluate the quantity for inputs that were checked."""
        for name, view in self.inputs.items():
            view[:] = inputs[name]
        self.worlds.advance()
        return self.result.copy()


class CompiledQuantities:
    """Compiled quantities of a mechanism, cached by quantity, frame and number of states."""

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism = mechanism
        self._programs: dict[tuple[str, str], Program] = {}
        self._worlds: dict[tuple[str, str, int | None], Worlds] = {}
        self._singles: dict[tuple[str, str], SingleState] = {}
        self._lock = Lock()
        self._quaternions = [
            (body.joint.name, slice(q_slice.stop - 4, q_slice.stop))
            for body, q_slice in zip(mechanism.bodies, mechanism.q_slices, strict=True)
            if body.joint.kind in ("free", "ball")
        ]

    def __call__(self, name: str, frame: str = "", /, **inputs: ArrayLike) -> Array:
        """Evaluate a quantity.

        Parameters
        ----------
        name
            Quantity, a key of `QUANTITIES`.
        frame
            Name of a frame, for quantities of a frame.
        inputs
            Inputs of the quantity, shape (size,) or (N, size).

        Returns
        -------
        Array
            Quantity, of its own shape, or (N, *shape) if an input has N states.
        """
        if single := self._singles.get((name, frame)):
            with self._lock:
                answer = single.evaluate(inputs)
            if answer is not None:
                return answer
        arguments, quantity = self.check_inputs(**inputs), QUANTITIES[name]
        count = self.count_states(arguments)
        if count == 0:
            return np.zeros((0, *quantity.shape_for(self.mechanism)))
        with self._lock:
            worlds = self._compiled(name, frame, count)
            if count is None:
                single = self._singles[name, frame] = self._single_state(name, worlds)
                return single.run(arguments)
            for key, value in arguments.items():
                worlds.set(key, value)
            worlds.advance()
            return quantity.reshape(self.mechanism, np.asarray(worlds.get(name), dtype=np.float64))

    def _single_state(self, name: str, worlds: Worlds) -> SingleState:
        quantity = QUANTITIES[name]
        views = {key: worlds.view(key) for key in quantity.inputs}
        # matrices are stored column by column
        result = worlds.view(name).reshape(quantity.shape_for(self.mechanism)[::-1]).T
        return SingleState(worlds, views, result, [entries for _, entries in self._quaternions])

    def check_inputs(self, **inputs: ArrayLike) -> dict[str, Array]:
        """Check inputs; return them as finite arrays, (size,) or (N, size).

        Raises
        ------
        InvalidValue
            If a shape is wrong, a number is not finite, or a quaternion does not have unit length.
        """
        arguments: dict[str, Array] = {}
        for name, value in inputs.items():
            array = _array(name, value, input_size(self.mechanism, name))
            if name == "q":
                self._check_quaternions(array)
            arguments[name] = array
        self.count_states(arguments)
        return arguments

    @staticmethod
    def count_states(arguments: dict[str, Array]) -> int | None:
        """Count the states; None for a single state without a leading axis."""
        counts = {name: len(value) for name, value in arguments.items() if value.ndim == 2}
        if len(set(counts.values())) > 1:
            given = ", ".join(f"{count} of {name}" for name, count in counts.items())
            raise InvalidValue(
                f"all batches must have the same number of states, not {given}.", next(iter(counts))
            )
        return next(iter(counts.values()), None)

    def _compiled(self, name: str, frame: str, count: int | None) -> Worlds:
        key = name, frame
        if (*key, count) not in self._worlds:
            if key not in self._programs:
                quantity = QUANTITIES[name]
                of = self.mechanism.frame(frame) if quantity.has_frame else None
                self._programs[key] = quantity.program(self.mechanism, name, of)
            if len(self._worlds) >= CACHE_SIZE:
                oldest = next(iter(self._worlds))
                del self._worlds[oldest]
                if oldest[2] is None:
                    self._singles.pop(oldest[:2], None)
            lanes = 1 if count is None else None
            self._worlds[*key, count] = Worlds(self._programs[key], count or 1, lanes=lanes)
        return self._worlds[*key, count]

    def _check_quaternions(self, q: Array) -> None:
        for name, q_slice in self._quaternions:
            p = q[..., q_slice]
            lengths = np.sqrt((p * p).sum(-1))
            if (abs(lengths - 1) > UNIT_TOLERANCE).any():
                worst = lengths.flat[abs(lengths - 1).argmax()]
                raise InvalidValue(
                    f"q must contain unit quaternions (w, x, y, z), but that of joint {name!r},"
                    f" entries {q_slice.start} to {q_slice.stop - 1}, has length {worst:.6g}.",
                    "q",
                )


def _array(name: str, value: ArrayLike, size: int) -> Array:
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise InvalidValue(
            f"{name} must be numbers of shape ({size},) or (N, {size}), not {value!r:.60}.", name
        ) from None
    if array.ndim not in (1, 2) or array.shape[-1] != size:
        raise InvalidValue(
            f"{name} must have shape ({size},) or (N, {size}), not {array.shape}.", name
        )
    if not np.isfinite(array).all():
        index = np.argwhere(~np.isfinite(array))[0].tolist()
        entry = ", ".join(map(str, index))
        raise InvalidValue(
            f"{name} must be finite, but {name}[{entry}] is {array[tuple(index)]}.", name
        )
    return array
