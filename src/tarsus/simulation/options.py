"""The options of a Simulation, each written once: type, default, meaning."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Annotated, Any, TypedDict, get_args, get_type_hints

import numpy as np
from numpy.typing import ArrayLike

from tarsus.control.file_actuators import FileActuators
from tarsus.errors import InvalidValue, unknown_name
from tarsus.parameters.checks import check_positive, is_integer, is_number
from tarsus.simulation.device import Device, check_device
from tarsus.simulation.part_parameters import ParameterSetting, as_list

PRECISIONS = ("float64", "float32")


@dataclass(frozen=True)
class Option:
    """The default of an option and what it means, in one line."""

    default: Any
    meaning: str


class Options(TypedDict, total=False):
    """The optional keyword arguments of a Simulation."""

    parameters: Annotated[
        Mapping[str, Any] | Sequence[ParameterSetting],
        Option(
            (),
            'of the law, gait, stepper or terrain, "NAME=VALUE" each, such as "kp=60"; or {"kp":'
            " 60}",
        ),
    ]
    worlds: Annotated[int, Option(1, "how many copies are simulated side by side")]
    contacts: Annotated[
        str | Sequence[str] | None,
        Option(
            None,
            "names of the contact candidates that may touch, or patterns such as"
            ' "*_foot,*_shin", "all" or "feet"; by default all; of'
            " more than 16 the feet's alone on a fixed base, on uneven ground, on a GPU and under"
            " steppers that gather no contacts",
        ),
    ]
    actuators: Annotated[
        str | FileActuators,
        Option(
            "motor",
            '"motor": the action is torques; "file": the control signals of the file\'s actuators;'
            " or a FileActuators",
        ),
    ]
    keyframe: Annotated[
        str | None, Option(None, 'name of the keyframe to start from; by default "stand"')
    ]
    limits: Annotated[bool, Option(True, "whether joints stop at the ends of their ranges")]
    bounce: Annotated[float, Option(0.0, "restitution coefficient of joints at these ends")]
    stiction: Annotated[
        bool,
        Option(
            True, "whether dry friction holds joints at rest; False: it is a damper, and faster"
        ),
    ]
    slots: Annotated[
        int | None,
        Option(
            None,
            "how many contacts a step holds where others than the feet's touch; by default 12 (20"
            " for a robot of many limbs), and four more than the feet's",
        ),
    ]
    self_collision: Annotated[
        bool,
        Option(
            False, "whether spheres, capsules, boxes and cylinders of the robot touch each other"
        ),
    ]
    mass_scale: Annotated[
        Mapping[str, ArrayLike] | None,
        Option(None, "{body: factor, or (worlds,) factors} on the bodies' masses"),
    ]
    varied: Annotated[
        Any,
        Option(
            (),
            "what set(...) may change by world: names, or {name: bodies, joints or actuators}"
            " (docs/randomization.md)",
        ),
    ]
    pushes: Annotated[
        str | Sequence[str],
        Option((), 'names of the bodies that set(push=...) may push, or "all"'),
    ]
    sensors: Annotated[
        Any,
        Option((), "a list of sensors, or of their names, or {name: sensor} (docs/sensors.md)"),
    ]
    coordinates: Annotated[
        str | Sequence[str],
        Option(
            "minimal",
            '"minimal", "extended", "maximal", or names of the joints to cut (docs/coordinates.md)',
        ),
    ]
    stabilization: Annotated[
        float, Option(0.0, "part of a cut joint's gap taken back each step, 0 to 1")
    ]
    device: Annotated[Device, Option("cpu", '"cpu" or "cuda" (docs/gpu.md)')]
    precision: Annotated[
        str | None,
        Option(None, '"float64" (default on a processor) or "float32" (default on a GPU)'),
    ]
    threads: Annotated[int, Option(1, "how many threads share the worlds")]
    control_rate: Annotated[
        float | None,
        Option(None, "Hz at which a Python controller is called; by default every step"),
    ]


def declared() -> dict[str, Option]:
    """Every option by name."""
    hints = get_type_hints(Options, include_extras=True)
    return {name: get_args(hint)[1] for name, hint in hints.items()}


def options_section(indent: str) -> str:
    """One line an option, for docstrings."""
    lines = (f"{indent}{name}: {option.meaning}\n" for name, option in declared().items())
    return "".join(lines)


POSITIONAL = ("law", "stepper", "terrain", "controller", "dt")  # of a `Simulation`, for near names


def complete(given: Options) -> SimpleNamespace:
    """All options, checked, with their defaults; TarsusError with near names for an unknown one."""
    # their names
    known = declared()
    for name in given:
        if name not in known:
            raise unknown_name("option", name, (*known, *POSITIONAL))
    chosen = SimpleNamespace(**{name: option.default for name, option in known.items()} | given)
    # their values
    _normalize_lists(chosen)
    if chosen.precision is not None and str(chosen.precision) not in PRECISIONS:
        raise unknown_name("precision", str(chosen.precision), PRECISIONS)
    for name in ("worlds", "threads", "slots"):
        value = getattr(chosen, name)
        if name == "slots" and value is None:
            continue
        if not is_integer(value) or value < 1:
            raise InvalidValue(f"{name} must be a whole number of at least 1, not {value!r}.", name)
    for name in ("stabilization", "bounce"):
        part = getattr(chosen, name)
        if not is_number(part) or not 0 <= part <= 1:
            raise InvalidValue(f"{name} must lie between 0 and 1, not {part!r}.", name)
    for name in ("limits", "stiction", "self_collision"):
        if not isinstance(getattr(chosen, name), bool | np.bool_):
            raise InvalidValue(
                f"{name} must be True or False, not {getattr(chosen, name)!r}.", name
            )
    if chosen.control_rate is not None:
        check_positive("control_rate", chosen.control_rate, "Hz")
    if not isinstance(chosen.mass_scale, Mapping | None):
        raise InvalidValue(
            f'mass_scale must be a dictionary such as {{"base": 1.2}}, not {chosen.mass_scale!r}.',
            "mass_scale",
        )
    chosen.device, chosen.precision = check_device(chosen.device, chosen.precision, chosen.threads)
    return chosen


def _normalize_lists(chosen: SimpleNamespace) -> None:
    """Make lists of names in arrays; InvalidValue for what is no list of names at all."""
    for name in ("contacts", "pushes", "coordinates", "parameters"):
        if isinstance(value := getattr(chosen, name), np.ndarray):
            setattr(chosen, name, value.ravel().tolist())
    if isinstance(chosen.parameters, Mapping):
        chosen.parameters = as_list(chosen.parameters)
    for name, such in {
        "pushes": 'names of bodies, such as ["base"], or "all"',
        "coordinates": '"minimal", "extended", "maximal" or names of joints',
        "parameters": '"NAME=VALUE", one or a list, such as ["kp=60"], or {"kp": 60}',
    }.items():
        value = getattr(chosen, name)
        if isinstance(value, Mapping) or not isinstance(value, Iterable):
            raise InvalidValue(f"{name} must be {such}, not {value!r}.", name)
    if isinstance(chosen.parameters, str):
        chosen.parameters = (chosen.parameters,)
