"""Calls to a controller's methods, with checks on what they return.

A mistake in a new controller becomes an error message of one sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, cast

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.control.base import ControlInputs, Controller
from tarsus.errors import InvalidValue, TarsusError, branching_error, unknown_name_error
from tarsus.model.mechanism import Mechanism

Array = NDArray[np.float64]
INPUTS = tuple(f.name for f in fields(ControlInputs))


def call_torque(
    controller: Controller, inputs: ControlInputs, gains: SX | None = None
) -> tuple[SX, SX]:
    """Call ``controller.torque(now)`` and check the result.

    Parameters
    ----------
    controller
        The controller to call.
    inputs
        Its inputs, as symbols.
    gains
        Symbols that replace the controller's own gains, if any.

    Returns
    -------
    tuple of casadi.SX
        Torques, shape (n_actuators,), in N m or N, and the next memory, shape (m,).

    Raises
    ------
    InvalidValue
        If a value has the wrong type or shape, contains NaN, or uses symbols other than the inputs.
    """
    name = type(controller).__name__
    result = _call(lambda: controller.torque(inputs), controller, inputs)
    if not isinstance(result, tuple) or len(result) != 2:
        raise InvalidValue(
            f"{name}.torque must return two values: the torques (n_actuators,) and the next memory"
            " (now.memory if it has none).",
            f"{name}.torque",
        )
    sizes = {"torques": len(inputs.mechanism.actuators), "a next memory": inputs.memory.numel()}
    torques, next_memory = (
        _vector(f"{name}.torque", what, value, size)
        for value, (what, size) in zip(result, sizes.items(), strict=True)
    )
    _check_symbols(name, ca.vertcat(torques, next_memory), inputs, gains)
    _check_nan(name, ca.vertcat(torques, next_memory))
    return torques, next_memory


def call_initial_memory(controller: Controller, mechanism: Mechanism) -> Array:
    """Return the initial memory, shape (m,).

    Raises
    ------
    InvalidValue
        Unless the controller returns a vector of finite numbers.
    """
    return _numbers(controller, "initial_memory", controller.initial_memory(mechanism), None)


def call_initial_coordinates(controller: Controller, mechanism: Mechanism) -> Array:
    """Return the initial coordinates, shape (nq,).

    Raises
    ------
    InvalidValue
        Unless the controller returns nq finite numbers.
    """
    q = controller.initial_coordinates(mechanism)
    return _numbers(controller, "initial_coordinates", q, mechanism.nq)


def check_commands(controller: Controller) -> Array:
    """Return the default commands, shape (n_commands,).

    Raises
    ------
    InvalidValue
        Unless `commands` maps names to finite numbers.
    """
    defaults: object = controller.commands
    if not isinstance(defaults, Mapping):
        raise InvalidValue(
            f"{type(controller).__name__}.commands must be a dictionary {{name: default}}, not"
            f" {defaults!r}.",
            f"{type(controller).__name__}.commands",
        )
    return _numbers(controller, "commands", list(defaults.values()), len(defaults))


def _call(method: Callable[[], object], controller: Controller, inputs: ControlInputs) -> object:
    """Call the controller, and convert any exception to a `TarsusError`."""
    name = type(controller).__name__
    # an error of Tarsus needs no translation
    try:
        return method()
    except TarsusError:
        raise
    # a misspelled input or parameter
    except AttributeError as error:
        if error.obj is inputs:
            raise unknown_name_error(f"input of {name}.torque", str(error.name), INPUTS) from None
        if error.obj is controller:
            parameters = (f.name for f in fields(cast(Any, controller)))
            raise unknown_name_error(f"parameter of {name}", str(error.name), parameters) from None
        failure = _failure(name, error)
    # from CasADi: a Python branch on a symbol, or a bad index
    except RuntimeError as error:
        if "truth value" in str(error):
            raise branching_error(f"{name}.torque") from None
        if "out of bounds" in str(error):
            sizes = ", ".join(
                f"{what} {getattr(inputs, what).numel()}"
                for what in ("q", "u", "command", "memory")
            )
            raise InvalidValue(
                f"{name}.torque uses an index out of bounds: for this robot the sizes are {sizes}.",
                f"{name}.torque",
            ) from error
        failure = _failure(name, error)
    # anything else
    except Exception as error:
        failure = _failure(name, error)
    raise failure


def _failure(name: str, error: Exception) -> InvalidValue:
    """Return an error for a failure in the controller's own code, caused by that failure."""
    lines = str(error).strip().splitlines()
    failure = InvalidValue(
        f"{name}.torque failed: {type(error).__name__}: {lines[-1] if lines else ''}",
        f"{name}.torque",
    )
    failure.__cause__ = error
    return failure


def _vector(caller: str, quantity: str, value: Any, size: int) -> SX:
    """Return `value` as a column vector, shape (size,)."""
    try:
        vector = SX(value)
    except (NotImplementedError, TypeError, RuntimeError, ValueError):
        raise InvalidValue(
            f"{caller} returned {quantity} of type {type(value).__name__}; it must be a casadi.SX.",
            caller,
        ) from None
    if vector.numel() != size or min(vector.shape) > 1:
        shape = vector.shape[:1] if vector.shape[1] == 1 else vector.shape
        expected = "that of initial_memory" if quantity == "a next memory" else "one per actuator"
        raise InvalidValue(
            f"{caller} returned {quantity} of shape {shape}; it must be ({size},), {expected}.",
            caller,
        )
    return ca.vec(vector)


def _check_symbols(name: str, expression: SX, inputs: ControlInputs, gains: SX | None) -> None:
    """Raise InvalidValue if the expression contains a symbol that is not one of the inputs."""
    extra = SX(0, 1) if gains is None else gains
    allowed = ca.vertcat(
        inputs.t, inputs.q, inputs.u, inputs.command, inputs.memory, inputs.dt, extra
    )
    known = {symbol.element_hash() for symbol in ca.symvar(allowed)}
    for symbol in ca.symvar(expression):
        if symbol.element_hash() not in known:
            raise InvalidValue(
                f"{name}.torque uses the symbol {symbol.name()!r}, which is not an input: use"
                f" only {', '.join(INPUTS[1:])}, and a command for values that differ between"
                " worlds.",
                f"{name}.torque",
            )


def _check_nan(name: str, expression: SX) -> None:
    """Raise InvalidValue if the expression contains NaN as a constant."""
    function = ca.Function("answer", ca.symvar(expression), [expression])
    for k in range(function.n_instructions()):
        constant = function.instruction_id(k) == ca.OP_CONST
        if constant and np.isnan(function.instruction_constant(k)):
            raise InvalidValue(
                f"{name}.torque contains NaN: use CasADi's functions, because float() and"
                " Python's math module turn a symbol into NaN.",
                f"{name}.torque",
            )


def _numbers(controller: Controller, method: str, value: Any, size: int | None) -> Array:
    """Return `value` as an array of finite numbers, shape (size,); any length if `size` is None."""
    caller = f"{type(controller).__name__}.{method}"
    try:
        array = np.array(value, dtype=float)
    except (TypeError, ValueError):
        raise InvalidValue(f"{caller} must be finite numbers, not {value!r}.", caller) from None
    if array.ndim != 1 or (size is not None and len(array) != size):
        needed = "(m,)" if size is None else f"({size},)"
        raise InvalidValue(f"{caller} must have shape {needed}, not {array.shape}.", caller)
    if not np.isfinite(array).all():
        raise InvalidValue(f"{caller} must be finite, but it contains NaN or infinity.", caller)
    return array
