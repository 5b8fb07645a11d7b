"""Compile a file's actuators into the step: registers, delayed control signals, settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus import registry
from tarsus.control.actuators.base import ActuatorInputs, ActuatorModel
from tarsus.control.actuators.encoder import Encoder
from tarsus.control.actuators.lag import Lag
from tarsus.control.base import Controller
from tarsus.control.file_actuators import FileActuators, broadcast, check_ranges, has_number
from tarsus.dynamics.actuator_force import ActuatorForce, MotorEffects, clip, next_activation
from tarsus.dynamics.robot import Robot
from tarsus.dynamics.transmission import transmission
from tarsus.errors import IncompatibleOptions, InvalidValue, Unsupported, unknown_name_error
from tarsus.model.file_actuators import MOTOR_NUMBERS, NOT_DRIVING
from tarsus.model.mechanism import Mechanism
from tarsus.model.motors import with_tendon_motors
from tarsus.parameters import name_of
from tarsus.program.ir.loops import Values
from tarsus.program.ir.program import Program
from tarsus.program.ir.symbolic import entries
from tarsus.program.ir.trace import Builder
from tarsus.program.run.backend import Backend
from tarsus.simulation.inputs import to_numpy
from tarsus.simulation.settings import Setting, SettingGroup

Array = NDArray[np.float64]
MOTOR, FILE = "motor", "file"
MODELS = "tarsus.control.actuators"
DELAY_DIGITS = 9  # of a step, so that a whole number of steps stays whole
ACTUATORS = "actuators"  # name of the part of a run with parameters
PLUS = "+"  # between "file" and the names of models
AUTO = "auto"  # default gait
STATE_REGISTERS = ("delayed", "activation")  # registers that a reset sets back
MEMORY = "motor."  # prefix of the registers with the memory of models, which it sets back too


@dataclass(frozen=True)
class Actuation:
    """Parts of the step that are compiled for the actuators of a file.

    Attributes
    ----------
    optional
        Quantities that may differ by world in addition to gains and strengths: those of a
        torque-speed curve, gear ratios, ranges and speeds.
    delay
        Longest delay of a control signal, in steps.
    models
        Models of real motors, without parameter values.
    """

    optional: tuple[str, ...] = ()
    delay: int = 0
    models: tuple[ActuatorModel, ...] = ()


def resolve_actuators(choice: Any, controller: Any) -> tuple[FileActuators | None, Any]:
    """Choose the file's actuators, or None for motors that take torques, and the controller.

    The default gait is dropped if the file's actuators act, because it returns torques.

    Parameters
    ----------
    choice
        "motor", "file", names such as "file+dc_motor", or a `FileActuators`.
    controller
        The controller that the user chose.

    Raises
    ------
    InvalidValue
        If `choice` is none of these.
    """
    if isinstance(choice, FileActuators):
        choices = choice
    elif choice == MOTOR:
        choices = None
    elif isinstance(choice, str) and choice.partition(PLUS)[0] == FILE:
        choices = FileActuators(models=tuple(create_model(n) for n in choice.split(PLUS)[1:]))
    else:
        raise InvalidValue(
            f'actuators must be "{MOTOR}", "{FILE}", "{FILE}" and models such as'
            f' "{FILE}{PLUS}dc_motor", or a FileActuators, not {choice!r}.',
            "actuators",
        )
    default = isinstance(controller, str) and controller == AUTO
    return choices, None if choices is not None and default else controller


def drive_tendons(robot: Robot, controller: Any) -> Robot:
    """Add motors on the tendons that the file's actuators drive.

    Raises
    ------
    IncompatibleOptions
        If the controller is a gait, which returns torques of joints.
    """
    driven, tendons = with_tendon_motors(robot), {tendon.name for tendon in robot.tendons}
    pulling = [motor.name for motor in driven.actuators if motor.joint in tendons]
    if pulling and isinstance(controller, Controller):
        raise IncompatibleOptions(
            "a gait drives joints, but these actuators of the file drive tendons:"
            f" {', '.join(pulling)}; use a function (t, q, u) -> signals as the controller.",
            "actuators",
        )
    return driven


def with_file_motors(
    actuators: FileActuators | None, mechanism: Mechanism, dt: float
) -> FileActuators | None:
    """Add delays, lags and encoder offsets of the file, unless the user chose others.

    Parameters
    ----------
    actuators
        The user's choice, or None.
    mechanism
        The robot.
    dt
        Time step, in s.
    """
    if actuators is None:
        return None
    numbers = {
        name: np.array([[getattr(a, name) for a in mechanism.file_actuators]])
        for name in MOTOR_NUMBERS
    }
    chosen = [name_of(model) for model in actuators.models]
    models = list(actuators.models)
    servos = any(a.depends_on_state for a in mechanism.file_actuators)
    if numbers["encoder_offset"].any() and servos and "encoder" not in chosen:
        models.insert(0, Encoder(numbers["encoder_offset"], 0.0))
    if numbers["lag"].any() and "lag" not in chosen:
        models.append(Lag(numbers["lag"]))
    delay = actuators.delay
    if delay is None:
        delay = np.round(numbers["delay"] / dt, DELAY_DIGITS) if numbers["delay"].any() else 0
    return replace(actuators, delay=delay, models=tuple(models))


def create_model(name: str) -> ActuatorModel:
    """Create an actuator model with its default numbers, by its name or Python file."""
    return registry.create(MODELS, "actuator model", name, ActuatorModel)


def split_models(actuators: FileActuators | None) -> dict[str, Any]:
    """Return the actuators and their models as parts of a run with parameters, by name."""
    models = actuators.models if actuators else ()
    return {ACTUATORS: actuators} | {name_of(model): model for model in models}


def join_models(parts: Mapping[str, Any]) -> FileActuators | None:
    """Put the models of `split_models` back into the actuators."""
    actuators = parts[ACTUATORS]
    if actuators is None or not actuators.models:
        return actuators
    return replace(actuators, models=tuple(parts[name_of(m)] for m in actuators.models))


def plan_actuation(actuators: FileActuators | None, mechanism: Mechanism) -> Actuation | None:
    """Plan what is compiled for the file's actuators; None without them.

    Raises
    ------
    TarsusError
        If the actuators cannot be simulated.
    """
    if actuators is None:
        return None
    if not mechanism.file_actuators:
        for reason in mechanism.unsupported:
            if reason.startswith(NOT_DRIVING):
                raise Unsupported(
                    f"no actuator of {mechanism.name!r} can be simulated: {reason}", "actuators"
                )
        raise IncompatibleOptions(
            f"{mechanism.name!r} has no actuators from a file; use actuators='{MOTOR}'.",
            "actuators",
        )
    strange = [a for a in mechanism.file_actuators if not a.is_simulated]
    if strange:
        listed = ", ".join(f"{a.name} ({a.dynamics})" for a in strange)
        raise Unsupported(
            f"the dynamics of these actuators are not supported: {listed}. Remove them from the"
            f" file, or use actuators='{MOTOR}'.",
            strange[0].name,
        )
    driven = {*mechanism.joint_names, *(tendon.name for tendon in mechanism.tendons)}
    cut = [a.joint for a in mechanism.file_actuators if a.joint not in driven]
    if cut:
        raise IncompatibleOptions(
            f"the file's actuators cannot drive joints outside the tree ({', '.join(cut)}); use"
            " coordinates='minimal'.",
            "coordinates",
        )
    for model in actuators.models:
        if reason := model.why_unsuitable(mechanism):
            raise IncompatibleOptions(
                f"{mechanism.name!r} cannot have the actuator model {name_of(model)}: {reason}.",
                name_of(model),
            )
    models = tuple(model.compiled for model in actuators.models)
    return Actuation(actuators.optional, actuators.longest_delay, models)


def signals_from_torques(mechanism: Mechanism, torque: SX) -> SX:
    """Compute the control signals (n,) with which actuators apply a gait's torques (m,).

    Raises
    ------
    IncompatibleOptions
        Unless every actuator is a motor, one per joint.
    """
    actuators = mechanism.file_actuators
    servos = [a.name for a in actuators if a.kind != "motor" or not a.gear * a.gain[0]]
    joints = [motor.joint for motor in mechanism.actuators]
    if servos or len(actuators) != len(joints):
        raise IncompatibleOptions(
            "a gait returns torques, but the file's actuators take other signals"
            f" ({', '.join(servos) or 'several per joint'}); use actuators='{MOTOR}', or a"
            " function (t, q, u) -> signals as the controller.",
            "actuators",
        )
    return ca.vertcat(*(torque[joints.index(a.joint)] / (a.gear * a.gain[0]) for a in actuators))


@dataclass(frozen=True, eq=False)
class ActingModels:
    """Models of real motors in a step: each model with symbols for its numbers, and its inputs."""

    pairs: tuple[tuple[ActuatorModel, ActuatorInputs], ...] = ()

    def advance(self, mechanism: Mechanism, tau: SX) -> Values:
        """Compute the memory after the step, given the torques (m,) of the joints at its end."""
        motors = [motor.joint for motor in mechanism.actuators]
        torque = tau[[motors.index(a.joint) for a in mechanism.file_actuators]]
        return {
            f"{MEMORY}{name}": value
            for model, inputs in self.pairs
            for name, value in model.advance(inputs, torque).items()
        }


def actuator_forces(
    actuation: Actuation, mechanism: Mechanism, control: SX, state: tuple[SX, SX, SX], b: Builder
) -> tuple[ActuatorForce, Values, ActingModels]:
    """Compute actuator forces under control signals (n,), and state registers after the step.

    Parameters
    ----------
    actuation
        What is compiled.
    mechanism
        The robot.
    control
        Control signals (n,).
    state
        q, u and dt.
    b
        Builder of the program.

    Returns
    -------
    tuple
        The forces, registers after the step, and the models, whose memory depends on its end.
    """
    actuators, dt = mechanism.file_actuators, state[2]
    # delay the signals
    if actuation.delay:
        delay = b.parameter("actuators.delay", len(actuators))
        control, after = delay_signals(control, actuation.delay, delay, b)
    else:
        after = dict[str, SX]()
    names = ("kp", "kv", "strength", *actuation.optional)
    values = {name: b.parameter(f"actuators.{name}", len(actuators)) for name in names}
    law = ActuatorForce(mechanism, control, values)
    signal = [clip(c, law.control_range(k)) for k, c in enumerate(entries(control))]
    # integrate or filter activations
    states = [k for k, a in enumerate(actuators) if a.has_state]
    if states:
        now = b.declare("activation", len(states))
        moved = [next_activation(actuators[k], now[i], signal[k], dt) for i, k in enumerate(states)]
        after["activation"] = ca.vertcat(*moved)
        for i, k in enumerate(states):
            signal[k] = moved[i] if actuators[k].acts_early else now[i]
    law = replace(law, signal=ca.vertcat(*signal))
    # models of real motors
    motor, pairs = MotorEffects(), list[tuple[ActuatorModel, ActuatorInputs]]()
    for compiled in actuation.models:
        symbols = {n: b.parameter(f"actuators.{n}", len(actuators)) for n in compiled.numbers}
        model = compiled.with_values(symbols)
        memory = {
            name: b.declare(f"{MEMORY}{name}", np.shape(value)[-1])
            for name, value in compiled.initial_memory(len(actuators)).items()
        }
        driven = transmission(mechanism, [a.joint for a in actuators], state[0])
        q, u = driven.coordinates, driven.rates(state[1])
        q = q if motor.position_error is None else q + motor.position_error
        u = u if motor.rate_error is None else u + motor.rate_error
        inputs = ActuatorInputs(law.signal, q, u, dt, memory)
        motor = model.apply(inputs, motor)
        pairs.append((model, inputs))
    if pairs:
        motor = b.store_all("motor", motor)
    return replace(law, motor=motor), after, ActingModels(tuple(pairs))


def delay_signals(signals: SX, longest: int, delay: SX, b: Builder) -> tuple[SX, Values]:
    """Delay signals by a number of steps.

    Parameters
    ----------
    signals
        Signals, shape (n,).
    longest
        Largest delay, in steps.
    delay
        Delay of each signal (n,), or of all (1,), in steps. A signal is constant over a step, so a
        fraction of a step mixes two signals: their mean over the step.
    b
        Builder of the program.

    Returns
    -------
    tuple
        The delayed signals, and the register of signals still to come.
    """
    n = signals.numel()
    line = ca.vertcat(signals, b.declare("delayed", n * longest))
    shares = [ca.fmax(1 - ca.fabs(delay - k), 0) for k in range(longest + 1)]
    parts = [share * line[k * n : k * n + n] for k, share in enumerate(shares)]
    return sum(parts, SX.zeros(n)), {"delayed": line[: n * longest]}


def initial_registers(
    actuators: FileActuators | None, mechanism: Mechanism, worlds: int, outside: bool
) -> dict[str, Array]:
    """Create the initial registers of the file's actuators, by name.

    Signals and activations are those of the keyframe. Empty without actuators from a file.

    Parameters
    ----------
    actuators
        The file's actuators, or None.
    mechanism
        The robot.
    worlds
        Number of worlds.
    outside
        Whether signals come from outside instead of a gait.
    """
    if actuators is None:
        return {}
    n, delay = len(mechanism.file_actuators), actuators.longest_delay
    signal, activation = mechanism.signals.get("stand", (np.zeros(n), np.zeros(n)))
    values = {
        f"actuators.{name}": value for name, value in actuators.values(mechanism, worlds).items()
    }
    if delay:
        delays = _arrange_delays(actuators.delay, worlds)
        values["actuators.delay"] = broadcast(mechanism, "delay", delays, np.zeros(n), worlds)
        values["delayed"] = np.tile(signal, delay)
    states = [k for k, a in enumerate(mechanism.file_actuators) if a.has_state]
    if states:
        values["activation"] = activation[states]
    for model, numbers in actuators.model_values(mechanism, worlds):
        values |= {f"actuators.{name}": value for name, value in numbers.items()}
        memory = model.with_values(numbers).initial_memory(n)
        values |= {f"{MEMORY}{name}": value for name, value in memory.items()}
    return values | ({"action": signal} if outside else {})


def state_registers(program: Program) -> list[str]:
    """List the registers that a reset sets back."""
    return [*STATE_REGISTERS, *(name for name in program.sizes if name.startswith(MEMORY))]


def actuator_settings(
    actuators: FileActuators | None, mechanism: Mechanism, compiled: Backend
) -> SettingGroup:
    """Create the settings of the file's actuators, for all or by actuator name."""
    if actuators is None:
        return SettingGroup("actuators", (), lambda worlds, values, mask: {})
    n, settings, lacking = len(mechanism.file_actuators), list[Setting](), dict[str, str]()
    for name, declaration in actuators.declared.items():
        register, about = f"actuators.{name}", (declaration.unit, declaration.meaning)
        if register in compiled:
            settings.append(Setting(name, (register,), (n,), declaration.range, *about))
        elif declaration.is_numeric:  # fixed when the simulation is created
            lacking[name] = (
                f"{name} cannot be changed in this simulation; create it with"
                f" actuators=FileActuators({name}=...)."
            )

    def write(worlds: Backend, values: Mapping[str, Any], mask: Any) -> Mapping[str, Any]:
        new = {
            name: _update_register(actuators, name, value, mechanism, worlds)
            for name, value in values.items()
        }
        # check that new and unchanged values are consistent
        rows = np.ones(worlds.count, bool) if mask is None else to_numpy(worlds, mask) > 0
        values_now = {name: worlds.get(f"actuators.{name}") for name in actuators.optional} | new
        check_ranges(
            mechanism,
            {
                name: np.broadcast_to(v, (worlds.count, v.shape[-1]))[rows]
                for name, v in values_now.items()
            },
        )
        return {f"actuators.{name}": value for name, value in new.items()}

    return SettingGroup("actuators", tuple(settings), write, lacking)


def _update_register(
    actuators: FileActuators, name: str, setting: Any, mechanism: Mechanism, worlds: Backend
) -> Array:
    """Update one register with new values."""
    if setting is None:
        raise InvalidValue(f"{name} of the file's actuators must be a number, not None.", name)
    actuators.declared[name].check("the file's actuators", _flatten(setting))
    if name == "delay":
        longest, setting = actuators.longest_delay, _arrange_delays(setting, worlds.count)
        most = np.max(_flatten(setting))
        if most > longest:
            raise InvalidValue(
                f"delay must be at most {longest} steps, the longest with which the simulation was"
                f" created, not {most:g}: create it with FileActuators(delay={most:g}).",
                "delay",
            )
    # one value for all, or values by name
    register = worlds.get(f"actuators.{name}").astype(float)
    if not isinstance(setting, Mapping):
        return broadcast(mechanism, name, setting, register, worlds.count)
    known = [actuator.name for actuator in mechanism.file_actuators]
    for key, value in setting.items():
        if key not in known:
            raise unknown_name_error("actuator", key, known)
        if not has_number(mechanism, name)[known.index(key)]:
            raise InvalidValue(f"the actuator {key!r} is not a servo with a gain {name}.", key)
        if np.shape(value) not in ((), (worlds.count,)):
            raise InvalidValue(f"{name} of {key!r} must be one number, or one per world.", name)
        register[:, known.index(key)] = value
    return register


def _flatten(values: Any) -> Any:
    """Flatten the numbers of a mapping to one array; other values unchanged."""
    if not isinstance(values, Mapping):
        return values
    return np.concatenate([np.ravel(value) for value in values.values()] or [np.zeros(0)])


def _arrange_delays(delays: Any, worlds: int) -> Any:
    """Give one number per world the shape (worlds, 1)."""
    numbers = np.asarray(_flatten(delays), dtype=float)
    by_world = not isinstance(delays, Mapping) and numbers.shape == (worlds,)
    return numbers[:, None] if by_world else delays
