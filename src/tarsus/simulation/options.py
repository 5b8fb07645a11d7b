"""Declare the options of a Simulation: type, default and meaning of each, in one place."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Annotated, Any, TypedDict, get_args, get_type_hints

import numpy as np
from numpy.typing import ArrayLike

from tarsus.control.file_actuators import FileActuators
from tarsus.errors import InvalidValue, unknown_name_error
from tarsus.parameters.checks import check_positive, is_integer, is_number
from tarsus.simulation.device import Device, check_device
from tarsus.simulation.part_parameters import ParameterSetting, as_list

PRECISIONS = ("float64", "float32")


@dataclass(frozen=True)
class Option:
    """Default and meaning of an option."""

    default: Any
    meaning: str


class Options(TypedDict, total=False):
    """Optional keyword arguments of a `Simulation`."""

    parameters: Annotated[
        Mapping[str, Any] | Sequence[ParameterSetting],
        Option(
            (),
            'parameters of the law, gait, stepper or terrain, such as "kp=60" or {"kp": 60}',
        ),
    ]
    worlds: Annotated[int, Option(1, "number of copies that are simulated side by side")]
    contacts: Annotated[
        str | Sequence[str] | None,
        Option(
            None,
            'contact candidates to simulate: names, patterns such as "*_foot,*_shin", "all" or'
            ' "feet"; by default all, but if there are more than 16, only the feet on a fixed base,'
            " on uneven ground, on a GPU, and with steppers that do not collect active contacts",
        ),
    ]
    actuators: Annotated[
        str | FileActuators,
        Option(
            "motor",
            '"motor": the action is torques; "file": the action is the control signals of the'
            " file's actuators; or a FileActuators",
        ),
    ]
    keyframe: Annotated[
        str | None, Option(None, 'name of the keyframe to start from; by default "stand"')
    ]
    limits: Annotated[bool, Option(True, "whether joints stop at their limits")]
    bounce: Annotated[float, Option(0.0, "coefficient of restitution at joint limits, 0 to 1")]
    stiction: Annotated[
        bool,
        Option(
            True,
            "whether dry friction holds joints at rest; False models it as a damper, which is"
            " faster",
        ),
    ]
    slots: Annotated[
        int | None,
        Option(
            None,
            "maximum number of active contacts in a step when other parts than the feet touch; by"
            " default 12 (20 for a robot with many limbs), and at least four more than the feet"
            " have",
        ),
    ]
    self_collision: Annotated[
        bool,
        Option(False, "whether spheres, capsules, boxes and cylinders of the robot can collide"),
    ]
    mass_scale: Annotated[
        Mapping[str, ArrayLike] | None,
        Option(None, "factors on the masses of bodies: {body: factor, or one per world}"),
    ]
    varied: Annotated[
        Any,
        Option(
            (),
            "quantities that set(...) may change per world: names, or {name: bodies, joints or"
            " actuators} (docs/randomization.md)",
        ),
    ]
    pushes: Annotated[
        str | Sequence[str],
        Option((), 'bodies that set(push=...) may push: names, or "all"'),
    ]
    sensors: Annotated[
        Any,
        Option((), "sensors: a list of objects or names, or {name: sensor} (docs/sensors.md)"),
    ]
    coordinates: Annotated[
        str | Sequence[str],
        Option(
            "minimal",
            '"minimal", "extended", "maximal", or the joints to cut (docs/coordinates.md)',
        ),
    ]
    stabilization: Annotated[
        float, Option(0.0, "fraction of a cut joint's gap that each step corrects, 0 to 1")
    ]
    device: Annotated[Device, Option("cpu", '"cpu" or "cuda" (docs/gpu.md)')]
    precision: Annotated[
        str | None,
        Option(None, '"float64" (default on a CPU) or "float32" (default on a GPU)'),
    ]
    threads: Annotated[int, Option(1, "number of threads that share the worlds")]
    control_rate: Annotated[
        float | None,
        Option(None, "rate at which a Python controller is called, Hz; by default every step"),
    ]


def declared_options() -> dict[str, Option]:
    """Collect every option by name."""
    hints = get_type_hints(Options, include_extras=True)
    return {name: get_args(hint)[1] for name, hint in hints.items()}


def options_section(indent: str) -> str:
    """Format the options as entries of a docstring section."""
    lines = list[str]()
    for name, option in declared_options().items():
        text = f"{option.meaning[0].upper()}{option.meaning[1:]}."
        lines += [f"{indent}{name}", textwrap.indent(textwrap.fill(text, 90), f"{indent}    ")]
    return "\n".join(lines) + "\n"


POSITIONAL = ("law", "stepper", "terrain", "controller", "dt")  # for suggestions


def complete(options: Options) -> SimpleNamespace:
    """Check options and fill in the defaults.

    Raises
    ------
    TarsusError
        If an option is unknown, or its value is not allowed.
    """
    known = declared_options()
    for name in options:
        if name not in known:
            raise unknown_name_error("option", name, (*known, *POSITIONAL))
    chosen = SimpleNamespace(**{name: option.default for name, option in known.items()} | options)
    _normalize_lists(chosen)
    if chosen.precision is not None and str(chosen.precision) not in PRECISIONS:
        raise unknown_name_error("precision", str(chosen.precision), PRECISIONS)
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
    """Convert arrays of names to lists; raise InvalidValue for a value without names."""
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
