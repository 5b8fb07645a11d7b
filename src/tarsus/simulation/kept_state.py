"""The whole state of a simulation as numbers, put back bit for bit; copies and pickles.

State is what evolves: coordinates, velocities, the memory of the law, the controller and the
stepper, the steps done, what the last step reported, and the torques held between two control
instants. What is set stays: commands, pushes, mu and the other parameters.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping
from copy import deepcopy
from functools import cached_property
from types import SimpleNamespace
from typing import Any, Self

from numpy.typing import ArrayLike

from tarsus.control.base import Controller
from tarsus.errors import InvalidFile, InvalidValue, Notice, Unsupported
from tarsus.program.codegen.layout import Target
from tarsus.program.ir.program import Program
from tarsus.program.run.backend import Array, Backend
from tarsus.simulation import inputs
from tarsus.simulation.device import backend
from tarsus.simulation.loading import loaded
from tarsus.simulation.signature import StateMark, checked, signature
from tarsus.simulation.step_program import KEPT, Plan, step_program

HELD = "action"  # the one parameter that belongs to the state: torques between control instants
BEGUN = ("q", "u", "memory", "control", "bilateral", "steps", HELD)  # that a reset takes back
FROZEN = ("robot", "law", "stepper", "terrain", "plan")  # shared by copies, pickled together
REBUILT = ("_worlds", "_action")  # compiled code and the registers it runs over

_PARTS: dict[bytes, dict[str, Any]] = {}


class KeptState:
    """A simulation as what can be kept of it: its state, a copy, a pickle."""

    plan: Plan
    dt: float
    worlds: int
    controller: Controller | Callable[..., Any] | None
    options: SimpleNamespace
    notices: list[Notice]
    _worlds: Backend
    _action: Array | None
    _moved: bool  # whether the state was written since the notices spoke of it

    def _house(self) -> None:
        """Registers for the worlds on their device, and the code that runs over them."""
        chosen, bits = self.options, 32 if self.options.precision == "float32" else 64
        program = step_program(self.plan)
        self._worlds = backend(program, chosen.device, self.worlds, bits, chosen.threads)
        single = self.worlds == 1 and self._worlds.target.lanes == 1 and chosen.device == "cpu"
        self._action = self._worlds.view(HELD) if single and HELD in self._worlds else None

    @property
    def backend(self) -> Backend:
        """The worlds' registers where they live; on a GPU `view("q")` is the state, no copy."""
        return self._worlds

    @property
    def program(self) -> Program:
        """The compiled program of one step."""
        return self._worlds.program

    @property
    def target(self) -> Target:
        """Lanes and bits it was compiled for."""
        return self._worlds.target

    def bytes_per_world(self) -> float:
        """Memory a world takes between steps."""
        return self._worlds.bytes_per_world()

    @cached_property
    def _kept(self) -> dict[str, int]:
        """Names and sizes of the registers that make the state, in order."""
        program = self._worlds.program
        found = {r.name: r.size for r in (*program.of_kind("state"), *program.of_kind("report"))}
        return found | {HELD: program.sizes[HELD]} if HELD in self._worlds else found

    @cached_property
    def _marks(self) -> dict[str, StateMark]:
        """What says of what a state is."""
        return signature(self.plan, self.dt, self._kept)

    def state(self) -> Array:
        """The whole state, (worlds, n), float64 at any precision: a copy for `restore`.

        Columns: numbers that say of what the state is, then the registers of kind state and report
        (docs/kept_state.md), then the torques held, if they come from outside. Commands, pushes and
        parameters are not in it, nor what a Python controller remembers.
        """
        arrays = self._worlds.arrays
        registers = [self._worlds.output(name) for name in self._kept]
        marks = arrays.asarray([mark.number for mark in self._marks.values()])
        whose = arrays.broadcast_to(marks, (self.worlds, len(marks)))
        return arrays.concatenate([whose, *registers], axis=1)

    def restore(self, state: ArrayLike, where: ArrayLike | None = None) -> None:
        """Write a state back: what follows has the same bits as if it had not stopped; the notices
        of the next run speak of its start.

        state: (n,) for all worlds alike, or (worlds, n)
        where: a mask (worlds,): the other worlds stay; then the state may be (chosen worlds, n)
        It may be of another Simulation with other parameters. TarsusError, saying what differs, and
        nothing is written, for a state of one made otherwise, or for another shape.
        """
        # what is given, checked
        mask = inputs.mask(where, self._worlds)
        rows = self._rows(state, self.worlds if mask is None else int(mask.sum()))
        # one row a world: those that stay are not looked at
        arrays = self._worlds.arrays
        if mask is not None and len(rows) != self.worlds:
            full = arrays.zeros((self.worlds, rows.shape[1]))
            full[arrays.flatnonzero(mask)] = rows
            rows = full
        # into the registers
        at = len(self._marks)
        for name, size in self._kept.items():
            self._worlds.set(name, rows[:, at : at + size], mask)
            at += size
        self._moved = True

    def _rows(self, state: ArrayLike, chosen: int) -> Any:
        """The state as (worlds, n) or (chosen, n), where the worlds live; TarsusError unless it is
        one of this simulation's.
        """
        arrays, size = self._worlds.arrays, len(self._marks) + sum(self._kept.values())
        try:
            given = arrays.asarray(state)
        except (TypeError, ValueError):
            given = arrays.zeros(0)
        # of such a simulation, as far as it says
        if given.ndim in (1, 2) and given.size and given.shape[-1] > len(self._marks):
            if given.dtype != float:
                raise InvalidValue(f"state must hold float64 numbers, not {given.dtype}.", "state")
            checked(given, self._marks, arrays)
        # and of the right shape
        if given.shape not in ((size,), (chosen, size), (self.worlds, size)):
            shapes = sorted({chosen, self.worlds} - {0})
            allowed = "".join(f" or ({count}, {size})" for count in shapes)
            raise InvalidValue(
                f"state must have shape ({size},){allowed}, not {given.shape}: one row for all"
                " worlds, or one row per world.",
                "state",
            )
        return given if given.ndim == 2 else arrays.broadcast_to(given, (self.worlds, size))

    def __copy__(self) -> Self:
        """Worlds of its own; robot, law and the like, which are frozen, and a Python controller are
        shared.
        """
        made = type(self).__new__(type(self))
        made.__dict__.update({k: v for k, v in self.__dict__.items() if k not in REBUILT})
        made.notices = list(self.notices)
        made._house()
        loaded(made._worlds, _registers(self._worlds))
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """As a copy, with a Python controller of its own."""
        made = self.__copy__()
        memo[id(self)] = made
        if not isinstance(self.controller, Controller):
            made.controller = deepcopy(self.controller, memo)
        return made

    def __getstate__(self) -> dict[str, Any]:
        """What a pickle holds: frozen parts, registers, the rest; TarsusError naming a part that
        cannot be pickled.
        """
        shared = {name: getattr(self, name) for name in FROZEN}
        left_out = {*FROZEN, *REBUILT, "_kept", "_marks"}
        rest = {name: value for name, value in self.__dict__.items() if name not in left_out}
        if isinstance(self.controller, Controller):
            shared["controller"] = rest.pop("controller")
        else:
            _must_pickle("controller", self.controller)
        parts = _pickled(shared)
        _remembered(parts, shared)
        return {
            "parts": parts,
            "rest": rest,
            "registers": _registers(self._worlds),
            "fingerprint": self._worlds.program.fingerprint,
        }

    def __setstate__(self, kept: Mapping[str, Any]) -> None:
        """Found again: the program is traced, its code comes from the cache or is compiled."""
        self.__dict__.update(_unpickled(kept["parts"]) | kept["rest"])
        program = step_program(self.plan)
        if program.fingerprint != kept["fingerprint"]:
            raise InvalidFile(
                "this simulation was pickled by another version of Tarsus or CasADi and would not"
                " continue with the same bits; create it again and set q and u.",
                "fingerprint",
            )
        self._house()
        loaded(self._worlds, kept["registers"])


def _registers(worlds: Backend) -> dict[str, Array]:
    """Every register of the worlds by name, (worlds, size)."""
    return {r.name: worlds.get(r.name) for r in worlds.program.persistent}


def _pickled(parts: dict[str, Any]) -> bytes:
    """The parts in one pickle; TarsusError naming the first that cannot be pickled."""
    try:
        found = pickle.dumps(parts)
    except Exception:
        for kind, part in parts.items():
            _must_pickle(kind, part)
        raise
    return found


def _must_pickle(kind: str, part: Any) -> None:
    """TarsusError, naming the part, unless it can be pickled."""
    try:
        pickle.dumps(part)
    except Exception as error:
        name = getattr(part, "__qualname__", type(part).__qualname__)
        reason = str(error).rstrip(".")
        raise Unsupported(
            f"the {kind} {name!r} cannot be pickled ({reason}); define its function or class at the"
            " top level of a module.",
            name,
        ) from error


def _remembered(pickled: bytes, parts: dict[str, Any]) -> dict[str, Any]:
    """The parts, kept: those of one pickle are the same objects, and nothing is traced twice."""
    _PARTS[pickled] = parts
    for oldest in list(_PARTS)[:-KEPT]:
        _PARTS.pop(oldest, None)
    return parts


def _unpickled(pickled: bytes) -> dict[str, Any]:
    """The parts of a pickle; the same objects where it is one that this process has read before."""
    return _PARTS.get(pickled) or _remembered(pickled, pickle.loads(pickled))
