"""Combine a contact law with the contact parameters in a robot's file.

In a world made of several files the law's friction is that of the first file. The factors of the
others are relative to it, so that each robot has the friction that it has alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from tarsus import registry
from tarsus.contact.base import Law
from tarsus.dynamics.robot import Robot
from tarsus.errors import WarningRecord
from tarsus.model.file_numbers import FileNumbers
from tarsus.model.solids import Solid
from tarsus.parameters import names_with_role
from tarsus.simulation import part_parameters, resolve
from tarsus.simulation.part_parameters import ParameterSetting

MU = "mu"  # name of the friction coefficient in a file
CACHE_SIZE = 64  # robots


def law_for_robot(
    law: Law | str,
    robot: Robot,
    records: list[WarningRecord],
    parameters: Sequence[ParameterSetting] = (),
    flags: Mapping[str, str] | None = None,
) -> tuple[Law, Robot]:
    """Apply the contact parameters of the robot's file to the law; return it and the robot.

    A law by name takes the file's numbers instead of its defaults. A law object keeps its numbers.
    With several files the robot's friction factors become relative to the first file; files without
    a friction use the law's. Warnings say which numbers are taken.

    Parameters
    ----------
    law
        Name of a law, or a law.
    robot
        The robot.
    records
        List to which warnings are appended.
    parameters
        Parameters that the user sets, which take precedence over the file.
    flags
        Command-line option for a parameter, where it is not `--set`.
    """
    chosen, files = resolve.resolve_law(law), robot.files
    by_name = isinstance(law, str) and not law.endswith(registry.PYTHON_SUFFIX)
    law_parameters = chosen.parameters()
    friction = next(
        (name for name in names_with_role(type(chosen), "friction") if name in law_parameters), None
    )
    if files and friction:
        robot = _with_relative_friction(robot, float(law_parameters[friction]) if by_name else None)
    if not by_name:
        return chosen, robot
    # translate to the names of the law
    of_law = {
        (friction if name == MU and friction else name): value
        for name, value in robot.material.items()
    }
    replaced = part_parameters.assigned_names(parameters, "law", chosen)
    taken = {k: v for k, v in of_law.items() if k in law_parameters and k not in replaced}
    each = (
        _describe_friction_per_file(files, friction, float(law_parameters[friction]))
        if friction
        else ""
    )
    if each:
        each += _ratio_hint(friction, friction in replaced, flags)
    alike = {name: value for name, value in taken.items() if not (each and name == friction)}
    if alike:
        values = ", ".join(f"{name} {value:g}" for name, value in alike.items())
        name = (files or (robot,))[0].name
        hint = _override_hint(alike, flags)
        text = f"contacts take these values from the file of {name!r}: {values}{hint}."
        records.append(WarningRecord(text, "contact-values-of-file", name))
    records += [WarningRecord(each, "friction-of-each-file", files[0].name)] if each else []
    for file in files[1:]:
        if text := _describe_ignored_values(file, files[0], law_parameters):
            records.append(WarningRecord(text, "file-values-ignored", file.name))
    return replace(chosen, **taken), robot


def _with_relative_friction(robot: Robot, default: float | None) -> Robot:
    """Make the friction factors of a robot of several files relative to the first file.

    If the first file has no friction, they are relative to the largest.

    Parameters
    ----------
    robot
        The robot.
    default
        Friction of files that specify none; None: that of the law, whatever it is.
    """
    frictions = [file.material.get(MU, default) for file in robot.files]
    known = [mu for mu in frictions if mu is not None]
    law_s = (frictions[0] or max(known, default=0.0)) if frictions[0] is not None else None
    factors = tuple(mu / law_s if law_s and mu is not None else 1.0 for mu in frictions)
    return _scale_friction(robot, factors, law_s if law_s != frictions[0] else None)


@lru_cache(maxsize=CACHE_SIZE)
def _scale_friction(robot: Robot, factors: tuple[float, ...], law_s: float | None) -> Robot:
    """Scale the friction of each file's bodies.

    Cached per robot object, so that its simulations share one program.

    Parameters
    ----------
    robot
        The robot.
    factors
        One factor per file.
    law_s
        Friction coefficient of the law; None: that of the first file.
    """
    named_so = {
        body: factor
        for file, factor in zip(robot.files, factors, strict=True)
        for body in file.bodies
    }
    # bodies without a file use the factor of the first
    of_body = {i: named_so.get(body.name, factors[0]) for i, body in enumerate(robot.bodies)}
    return replace(
        robot,
        candidates=tuple(
            replace(c, friction=of_body.get(c.body, 1.0) * c.friction) for c in robot.candidates
        ),
        solids=tuple(_scale_solid(solid, of_body.get(solid.body, 1.0)) for solid in robot.solids),
        material=robot.material if law_s is None else {**robot.material, MU: law_s},
        files=(),
    )


def _scale_solid(shape: Solid, factor: float) -> Solid:
    paired = {number: factor * value for number, value in shape.paired.items()}
    return replace(shape, friction=factor * shape.friction, paired=paired)


def _describe_friction_per_file(files: Sequence[FileNumbers], name: str, default: float) -> str:
    """Describe the friction of each file of a world; empty if all are the same."""
    mu = [file.material.get(MU, default) for file in files]
    if len(set(mu)) < 2:
        return ""
    values = ", ".join(
        f"{value:g} for {file.name!r}" + ("" if MU in file.material else " (from the law)")
        for file, value in zip(files, mu, strict=True)
    )
    return f"contacts use the friction of each robot's own file: {name} {values}"


def _ratio_hint(name: str | None, replaced: bool, flags: Mapping[str, str] | None) -> str:
    """Explain how the friction of the other files follows from that of the first."""
    if replaced:
        return ", scaled in proportion to the value set for the first."
    flag = f"--set {name}=..." if flags is None else flags.get(name or "", "")
    return f"; {flag} sets that of the first and scales the others in proportion." if flag else "."


def _override_hint(names: Iterable[str], flags: Mapping[str, str] | None) -> str:
    """Explain how to use other numbers than those of the file."""
    if flags is None:
        return f"; change them with --set {next(iter(names))}=..."
    return "".join(f"; change {name} with {flags[name]}" for name in names if name in flags)


def _describe_ignored_values(
    file: FileNumbers, first: FileNumbers, known: Mapping[str, Any]
) -> str:
    """Describe the parameters of another file that differ from the first file and are ignored."""
    names = [name for name in {**first.material, **file.material} if name != MU and name in known]
    other = [n for n in names if file.material.get(n) != first.material.get(n)]
    if not other:
        return ""
    return f"all contacts use the {', '.join(other)} of {first.name!r}, not of {file.name!r}."
