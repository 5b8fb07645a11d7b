"""Numbers in, numbers out: arguments checked, programs compiled once, run on one state or many."""

from __future__ import annotations

from threading import Lock

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tarsus.dynamics.quantities import QUANTITIES, input_size
from tarsus.errors import InvalidValue
from tarsus.model.mechanism import Mechanism
from tarsus.program.ir.program import Program
from tarsus.program.run.worlds import Worlds

Array = NDArray[np.float64]
KEPT = 64  # compiled quantities in memory; the oldest go first and come back from the disk
UNIT = 1e-3  # how far from 1 a quaternion's length may be: room for finite differences


class Calls:
    """A mechanism's compiled quantities, kept by quantity, frame and number of states."""

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism = mechanism
        self._programs: dict[tuple[str, str], Program] = {}
        self._worlds: dict[tuple[str, str, int | None], Worlds] = {}
        self._lock = Lock()
        self._quaternions = [
            (body.joint.name, slice(where.stop - 4, where.stop))
            for body, where in zip(mechanism.bodies, mechanism.q_slices, strict=True)
            if body.joint.kind in ("free", "ball")
        ]

    def __call__(self, quantity: str, frame: str = "", /, **given: ArrayLike) -> Array:
        """The quantity at the given states: its shape, or (N, *shape) if an argument is a batch."""
        arguments, asked = self.checked(**given), QUANTITIES[quantity]
        count = self.states(arguments)
        if count == 0:
            return np.zeros((0, *asked.shape_for(self.mechanism)))
        with self._lock:
            worlds = self._compiled(quantity, frame, count)
            for name, value in arguments.items():
                if count is None:
                    worlds.view(name)[:] = value
                else:
                    worlds.set(name, value)
            worlds.advance()
            answer = asked.shaped(
                self.mechanism, np.asarray(worlds.get(quantity), dtype=np.float64)
            )
        return answer[0] if count is None else answer

    def checked(self, **given: ArrayLike) -> dict[str, Array]:
        """The arguments as finite arrays (size,) or (N, size); TarsusError for any other shape."""
        arguments: dict[str, Array] = {}
        for name, value in given.items():
            array = _array(name, value, input_size(self.mechanism, name))
            if name == "q":
                self._check_quaternions(array)
            arguments[name] = array
        self.states(arguments)
        return arguments

    @staticmethod
    def states(arguments: dict[str, Array]) -> int | None:
        """How many states there are; None for a single one without a leading axis."""
        counts = {name: len(value) for name, value in arguments.items() if value.ndim == 2}
        if len(set(counts.values())) > 1:
            said = ", ".join(f"{count} of {name}" for name, count in counts.items())
            raise InvalidValue(
                f"all batches must have the same number of states, not {said}.", next(iter(counts))
            )
        return next(iter(counts.values()), None)

    def _compiled(self, quantity: str, frame: str, count: int | None) -> Worlds:
        key = quantity, frame
        if (*key, count) not in self._worlds:
            if key not in self._programs:
                asked = QUANTITIES[quantity]
                place = self.mechanism.frame(frame) if asked.framed else None
                self._programs[key] = asked.program(self.mechanism, quantity, place)
            if len(self._worlds) >= KEPT:
                del self._worlds[next(iter(self._worlds))]
            lanes = 1 if count is None else None
            self._worlds[*key, count] = Worlds(self._programs[key], count or 1, lanes=lanes)
        return self._worlds[*key, count]

    def _check_quaternions(self, q: Array) -> None:
        for name, where in self._quaternions:
            p = q[..., where]
            lengths = np.sqrt((p * p).sum(-1))
            if (abs(lengths - 1) > UNIT).any():
                worst = lengths.flat[abs(lengths - 1).argmax()]
                raise InvalidValue(
                    f"q must contain unit quaternions (w, x, y, z), but that of joint {name!r},"
                    f" entries {where.start} to {where.stop - 1}, has length {worst:.6g}.",
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
        at = np.argwhere(~np.isfinite(array))[0].tolist()
        where = ", ".join(map(str, at))
        raise InvalidValue(
            f"{name} must be finite, but {name}[{where}] is {array[tuple(at)]}.", name
        )
    return array
