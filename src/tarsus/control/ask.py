"""What a controller answers, with the mistakes of a new one explained in one sentence."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, cast

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.control.base import ControlInputs, Controller
from tarsus.errors import InvalidValue, TarsusError, python_branching, unknown_name
from tarsus.model.mechanism import Mechanism

Array = NDArray[np.float64]
INPUTS = tuple(f.name for f in fields(ControlInputs))


def torque(controller: Controller, now: ControlInputs, gains: SX | None = None) -> tuple[SX, SX]:
    """controller.torque(now): torques (n_actuators,) N m and the next memory (m,), checked.

    gains: symbols that stand in place of its own
    """
    name = type(controller).__name__
    answer = _answer(lambda: controller.torque(now), controller, now)
    if not isinstance(answer, tuple) or len(answer) != 2:
        raise InvalidValue(
            f"{name}.torque must return two values: the torques (n_actuators,) and the next memory"
            " (now.memory if it has none).",
            f"{name}.torque",
        )
    sizes = {"torques": len(now.mechanism.actuators), "a next memory": now.memory.numel()}
    wanted, kept = (
        _vector(f"{name}.torque", what, value, size)
        for value, (what, size) in zip(answer, sizes.items(), strict=True)
    )
    _only_inputs(name, ca.vertcat(wanted, kept), now, gains)
    _without_nan(name, ca.vertcat(wanted, kept))
    return wanted, kept


def memory(controller: Controller, mechanism: Mechanism) -> Array:
    """Return the memory (m,) that it starts with; InvalidValue unless these are finite numbers."""
    return _numbers(controller, "initial_memory", controller.initial_memory(mechanism), None)


def coordinates(controller: Controller, mechanism: Mechanism) -> Array:
    """Return the coordinates (nq,) that it starts from; InvalidValue unless all are finite."""
    q = controller.initial_coordinates(mechanism)
    return _numbers(controller, "initial_coordinates", q, mechanism.nq)


def commands(controller: Controller) -> Array:
    """Return the defaults (n_commands,) of its commands; InvalidValue unless all are finite."""
    given: object = controller.commands
    if not isinstance(given, Mapping):
        raise InvalidValue(
            f"{type(controller).__name__}.commands must be a dictionary {{name: default}}, not"
            f" {given!r}.",
            f"{type(controller).__name__}.commands",
        )
    return _numbers(controller, "commands", list(given.values()), len(given))


def _answer(ask: Callable[[], object], controller: Controller, now: ControlInputs) -> object:
    """What the controller gives back; what it raises as a sentence."""
    name = type(controller).__name__
    # a sentence of its own
    try:
        return ask()
    except TarsusError:
        raise
    # a name that is not there
    except AttributeError as error:
        if error.obj is now:
            raise unknown_name(f"input of {name}.torque", str(error.name), INPUTS) from None
        if error.obj is controller:
            own = (f.name for f in fields(cast(Any, controller)))
            raise unknown_name(f"parameter of {name}", str(error.name), own) from None
        reason = _reason(name, error)
    # CasADi's: a branch on a symbol, an index
    except RuntimeError as error:
        if "truth value" in str(error):
            raise python_branching(f"{name}.torque") from None
        if "out of bounds" in str(error):
            sizes = ", ".join(
                f"{what} {getattr(now, what).numel()}" for what in ("q", "u", "command", "memory")
            )
            raise InvalidValue(
                f"{name}.torque uses an index out of bounds: for this robot the sizes are {sizes}.",
                f"{name}.torque",
            ) from error
        reason = _reason(name, error)
    # all else
    except Exception as error:
        reason = _reason(name, error)
    raise reason


def _reason(name: str, error: Exception) -> InvalidValue:
    """An error in the controller's own code, with that error as its cause."""
    lines = str(error).strip().splitlines()
    found = InvalidValue(
        f"{name}.torque failed: {type(error).__name__}: {lines[-1] if lines else ''}",
        f"{name}.torque",
    )
    found.__cause__ = error
    return found


def _vector(who: str, what: str, value: Any, size: int) -> SX:
    """The value as a column (size,)."""
    try:
        vector = SX(value)
    except (NotImplementedError, TypeError, RuntimeError, ValueError):
        raise InvalidValue(
            f"{who} returned {what} of type {type(value).__name__}; it must be a casadi.SX.", who
        ) from None
    if vector.numel() != size or min(vector.shape) > 1:
        shape = vector.shape[:1] if vector.shape[1] == 1 else vector.shape
        of = "that of initial_memory" if what == "a next memory" else "one per actuator"
        raise InvalidValue(
            f"{who} returned {what} of shape {shape}; it must be ({size},), {of}.", who
        )
    return ca.vec(vector)


def _only_inputs(name: str, answer: SX, now: ControlInputs, gains: SX | None) -> None:
    """Raise InvalidValue if the answer contains a symbol that is not one of the inputs."""
    own = SX(0, 1) if gains is None else gains
    given = ca.vertcat(now.t, now.q, now.u, now.command, now.memory, now.dt, own)
    known = {symbol.element_hash() for symbol in ca.symvar(given)}
    for symbol in ca.symvar(answer):
        if symbol.element_hash() not in known:
            raise InvalidValue(
                f"{name}.torque uses a symbol {symbol.name()!r} of its own: use only those of now"
                f" ({', '.join(INPUTS[1:])}), and a command for what differs by world.",
                f"{name}.torque",
            )


def _without_nan(name: str, answer: SX) -> None:
    """Raise InvalidValue if the expression contains NaN as a constant."""
    function = ca.Function("answer", ca.symvar(answer), [answer])
    for k in range(function.n_instructions()):
        constant = function.instruction_id(k) == ca.OP_CONST
        if constant and np.isnan(function.instruction_constant(k)):
            raise InvalidValue(
                f"{name}.torque computes with NaN: use CasADi's functions, because float() and"
                " Python's math turn a symbol into NaN.",
                f"{name}.torque",
            )


def _numbers(controller: Controller, what: str, value: Any, size: int | None) -> Array:
    """The value as an array (size,), of any length if size is None, of finite numbers."""
    who = f"{type(controller).__name__}.{what}"
    try:
        array = np.array(value, dtype=float)
    except (TypeError, ValueError):
        raise InvalidValue(f"{who} must be finite numbers, not {value!r}.", who) from None
    if array.ndim != 1 or (size is not None and len(array) != size):
        needed = "(m,)" if size is None else f"({size},)"
        raise InvalidValue(f"{who} must have shape {needed}, not {array.shape}.", who)
    if not np.isfinite(array).all():
        raise InvalidValue(f"{who} must be finite, but it contains NaN or infinity.", who)
    return array
