"""Trace sensors as part of a step's program, and as a program that reads a single state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from types import SimpleNamespace

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.dynamics import coordinates
from tarsus.dynamics.kinematics import Kinematics, kinematics
from tarsus.errors import InvalidValue
from tarsus.model.mechanism import Mechanism
from tarsus.model.solids import Pair
from tarsus.program.ir.loops import Values
from tarsus.program.ir.program import Program
from tarsus.program.ir.symbolic import entries
from tarsus.program.ir.trace import Builder
from tarsus.sensing.base import Load, Sensor, SensorInput
from tarsus.stepping.assemble import contact_kinematics
from tarsus.stepping.base import Scene, Stepper
from tarsus.terrain._rays import first_hits

CACHE_SIZE = 8  # programs
MAX_DELAYED_VALUES = 20_000  # delayed numbers per sensor; each takes an instruction or two


@dataclass(frozen=True, eq=False)
class Sensing:
    """Sensors of a simulation by name, in order."""

    sensors: tuple[tuple[str, Sensor], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.sensors)

    @property
    def compiled(self) -> Sensing:
        """Sensors as they are compiled: with their longest delays, and without noise and bias."""
        plain = [(n, replace(s, noise=0.0, bias=0.0, delay=max_delay(s))) for n, s in self.sensors]
        return Sensing(tuple(plain))


NO_SENSORS = Sensing()


def max_delay(sensor: Sensor) -> int:
    """Find the longest delay of a sensor in any world, in steps."""
    return int(np.max(sensor.delay))


def initial_memory(
    sensor: Sensor, mechanism: Mechanism, reading: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Create the memory (worlds, m + delay k) of a sensor whose first reading is (worlds, k)."""
    sensor_memory = sensor.initial_memory(mechanism)
    initial = np.broadcast_to(sensor_memory, (len(reading), len(sensor_memory)))
    return np.concatenate([initial, np.tile(reading, max_delay(sensor))], axis=1)


def uncut_mechanism(scene: Scene) -> Mechanism:
    """Find the robot before joints were cut."""
    return scene.mechanism.uncut or scene.mechanism


@dataclass(frozen=True, eq=False)
class SensedStep:
    """Quantities of a step that sensors may read.

    Attributes
    ----------
    start, end
        Coordinates and velocities q, u at the start and end of the step.
    impulses
        Impulses (3,) in N s of the primary contacts and the slots.
    memory
        The law's memory after the step.
    dt
        Time step, in s.
    terrain
        Symbols of the terrain.
    """

    start: tuple[SX, SX]
    end: tuple[SX, SX]
    impulses: list[SX]
    memory: SX
    dt: SX
    terrain: SimpleNamespace


def declare_memories(sensing: Sensing, scene: Scene, b: Builder) -> Values:
    """Declare the registers `sensing.NAME`, the memories of sensors."""
    memories: Values = {}
    for name, sensor in sensing.sensors:
        k, m = (
            len(sensor.channels(uncut_mechanism(scene))),
            sensor.initial_memory(uncut_mechanism(scene)).size,
        )
        if k * max_delay(sensor) > MAX_DELAYED_VALUES:
            raise InvalidValue(
                f"the delay of the sensor {name!r} with its {k} channels must be at most"
                f" {MAX_DELAYED_VALUES // k} steps, not {max_delay(sensor)}.",
                "delay",
            )
        memories[f"sensing.{name}"] = b.declare(f"sensing.{name}", m + max_delay(sensor) * k)
    return memories


def sense_step(
    sensing: Sensing,
    scene: Scene,
    stepper: Stepper,
    moment: SensedStep,
    last_values: Values,
    b: Builder,
) -> Values:
    """Compute the outputs of a step: readings `sensed.NAME` (k,), memories `sensing.NAME`.

    Declares the parameter `delay.NAME` of delayed sensors.

    Parameters
    ----------
    sensing, scene, stepper
        Parts of the plan.
    moment
        The step.
    last_values
        Memories before the step, by the same names.
    b
        Builder of the program.
    """
    if not sensing:
        return {}
    # kinematics at both ends of the step, and loads
    q, u = moment.start
    looked = stepper.evaluation(scene.mechanism, q, u, moment.dt)
    states = (moment.start, moment.end, (looked, u))
    before, after, pressed = (_kinematics(scene, *state) for state in states)
    loads, (heights, ranges) = (
        _create_loads(scene, looked, moment),
        _create_ground(scene, moment.terrain, b),
    )
    values: Values = {}
    for name, sensor in sensing.sensors:
        # memory of the sensor, then readings of the last steps
        k, m = (
            len(sensor.channels(uncut_mechanism(scene))),
            sensor.initial_memory(uncut_mechanism(scene)).size,
        )
        late, sensor_memory = max_delay(sensor), last_values[f"sensing.{name}"]
        sensor_input = SensorInput(
            before, after, pressed, loads, moment.dt, heights, ranges, sensor_memory[:m]
        )
        reading, memory = (entries(part) for part in read_sensor(name, sensor, sensor_input, k))
        past, reported = [*reading, *entries(sensor_memory)[m:]], ca.vertcat(*reading)
        if late:
            delay = b.parameter(f"delay.{name}")
            for steps in range(1, late + 1):
                older = ca.vertcat(*past[steps * k : (steps + 1) * k])
                reported = ca.if_else(delay == steps, older, reported)
        values[f"sensed.{name}"] = reported
        values[f"sensing.{name}"] = ca.vertcat(SX(0, 1), *memory, *past[: late * k])
    return values


def read_sensor(name: str, sensor: Sensor, inputs: SensorInput, channels: int) -> tuple[SX, SX]:
    """Compute a sensor's reading and memory; raise InvalidValue if their sizes are wrong."""
    answer = sensor.read(inputs)
    for what, part, size in zip(
        ("reading", "memory"), answer, (channels, inputs.memory.numel()), strict=True
    ):
        if SX(part).numel() != size:
            raise InvalidValue(
                f"the sensor {name!r} returned a {what} of {SX(part).numel()} numbers, but it"
                f" declares {size}.",
                name,
            )
    reading, memory = (ca.densify(SX(part)) for part in answer)
    return reading, memory


@lru_cache(maxsize=CACHE_SIZE)
def contact_free_program(sensing: Sensing, scene: Scene) -> Program:
    """Trace readings `sensed.NAME` (k,) of a state q, u without contact forces.

    Parameters: q, u, dt, terrain.*.
    """
    b = Builder(f"{scene.mechanism.name}_look")
    state = b.parameter("q", scene.mechanism.nq), b.parameter("u", scene.mechanism.nu)
    readings = contact_free_readings(
        sensing, scene, state, b.parameter("dt"), scene.terrain.symbols(b), b
    )
    return b.program(
        **{f"sensed.{name}": readings[f"sensed.{name}"] for name, _ in sensing.sensors}
    )


def contact_free_readings(
    sensing: Sensing,
    scene: Scene,
    state: tuple[SX, SX],
    dt: SX,
    terrain: SimpleNamespace,
    b: Builder,
) -> Values:
    """Compute readings `sensed.NAME` (k,) and memories `sensing.NAME` of a free state."""
    kin, (heights, ranges) = _kinematics(scene, *state), _create_ground(scene, terrain, b)
    values: Values = {}
    for name, sensor in sensing.sensors:
        memory = SX(sensor.initial_memory(uncut_mechanism(scene)))
        sensor_input = SensorInput(kin, kin, kin, lambda body: [], dt, heights, ranges, memory)
        reading = read_sensor(
            name, sensor, sensor_input, len(sensor.channels(uncut_mechanism(scene)))
        )[0]
        values[f"sensed.{name}"] = reading
        values[f"sensing.{name}"] = ca.vertcat(memory, *([reading] * max_delay(sensor)))
    return values


def _kinematics(scene: Scene, q: SX, u: SX) -> Kinematics:
    """Compute the kinematics of the robot before joints were cut."""
    if scene.mechanism.uncut is not None:
        q, u = coordinates.uncut_state(scene.mechanism, q, u)
    return kinematics(uncut_mechanism(scene), q, u)


def _create_ground(
    scene: Scene, p: SimpleNamespace, b: Builder
) -> tuple[Callable[[list[SX]], list[SX]], Callable[[SX, list[SX], float, float], SX]]:
    """Create the functions `heights` and `ranges` of `SensorInput`."""
    terrain = scene.terrain

    def ranges(origin: SX, directions: list[SX], reach: float, spacing: float) -> SX:
        return first_hits(terrain, p, (origin, directions), (reach, spacing), b)

    return lambda points: terrain.elevations(points, p), ranges


def _create_loads(scene: Scene, impulses: SX, moment: SensedStep) -> Callable[[str], list[Load]]:
    """Create a function for the mean forces over the step on a body, by its name.

    Parameters
    ----------
    scene
        Scene of the step.
    impulses
        Coordinates at which the step first evaluates contacts.
    moment
        The step.
    """
    start_kin = kinematics(scene.mechanism, impulses, moment.start[1])
    bodies = [
        (part.first.body, part.second.body) if isinstance(part, Pair) else (part.body,)
        for part in scene.geometry.contacts
    ]

    def of(body: str) -> list[Load]:
        body_index = scene.mechanism.body_index(body)
        candidates_of_body = {
            i: part for i, part in enumerate(scene.geometry.contacts) if body_index in bodies[i]
        }
        touching = contact_kinematics(
            scene, start_kin, moment.terrain, list(candidates_of_body.values())
        )
        contacts = [touch.contact for touch in touching]
        # the impulse of a pair acts on its first body
        signs = [1 if bodies[i][0] == body_index else -1 for i in candidates_of_body]
        impulses = [_select_impulse(scene, moment, i) for i in candidates_of_body]
        forces = [sign * x / moment.dt for sign, x in zip(signs, impulses, strict=True)]
        pairs = zip(contacts, forces, strict=True)
        return [Load(c.point, ca.mtimes(c.frame.T, force)) for c, force in pairs]

    return of


def _select_impulse(scene: Scene, moment: SensedStep, candidate: int) -> SX:
    """Select the impulse (3,) on a candidate: its own, or that of the slot that holds it."""
    index, usual = scene.geometry.order.index(candidate), len(scene.geometry.primary)
    total = moment.impulses[index] if index < usual else SX.zeros(3)
    for slot in range(scene.slots):
        number = moment.memory[scene.slot_numbers][slot]
        total += ca.if_else(number == index, moment.impulses[usual + slot], 0)
    return total
