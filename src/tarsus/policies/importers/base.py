"""Base class of importers, and parsers that they share.

To add an importer, create a file in this folder with one subclass of `Importer`, named after the
software whose files it reads.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from tarsus.errors import InvalidFile, unknown_name_error
from tarsus.policies.contract import Contract, Numbers, Term, as_numbers
from tarsus.policies.terms import TERMS

ALIASES = {  # names in Isaac Lab, mjlab, holosoma and legged_gym
    "velocity_commands": "command",
    "generated_commands": "command",
    "commands": "command",
    "twist": "command",
    "joint_pos_rel": "joint_pos_rel",
    "dof_pos": "joint_pos_rel",
    "joint_vel_rel": "joint_vel",
    "dof_vel": "joint_vel",
    "actions": "last_action",
    "prev_actions": "last_action",
    "gravity": "projected_gravity",
    "gravity_orientation": "projected_gravity",
    "lin_vel": "base_lin_vel",
    "ang_vel": "base_ang_vel",
    "root_lin_vel_b": "base_lin_vel",
    "root_ang_vel_b": "base_ang_vel",
    "base_pos_z": "base_height",
    "height_scanner": "height_scan",
}


class Importer(ABC):
    """Reader of the files or metadata of one training framework."""

    @abstractmethod
    def recognizes(self, data: Mapping[str, Any]) -> bool:
        """Return whether the data of a file or a network come from this framework."""

    @abstractmethod
    def fill(self, contract: Contract, data: Mapping[str, Any], source: str) -> Contract:
        """Add the values of the data to a contract.

        Parameters
        ----------
        contract : Contract
            Contract with the values of earlier sources.
        data : mapping
            Table of the file, or metadata of the network.
        source : str
            Name of the file, for the origin of values and for messages.

        Raises
        ------
        InvalidFile
            If a value is invalid.
        """


def find_term(label: str, **values: Any) -> Term:
    """Find the term with this name or alias; raise UnknownName, with suggestions, otherwise."""
    name = ALIASES.get(label, label)
    if name not in TERMS:
        raise unknown_name_error("observation term", label, [*TERMS, *ALIASES])
    return Term(name, label=label, **values)


def as_list(name: str, value: Any) -> list[Any]:
    """Check that a value is a list, and return it."""
    if not isinstance(value, list):
        raise InvalidFile(f"{name} must be a list.", name)
    return value


def as_table(name: str, value: Any) -> Mapping[str, Any]:
    """Check that a value is a table, and return it."""
    if not isinstance(value, Mapping):
        raise InvalidFile(f"{name} must be a table.", name)
    return value


def parse_list(name: str, value: Any) -> list[Any]:
    """Parse a list that is JSON or separated by commas."""
    if isinstance(value, str):
        text = value.strip()
        if not text.startswith("["):
            return [word.strip() for word in text.split(",") if word.strip()]
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            raise InvalidFile(
                f"{name} must be a JSON list, or values separated by commas.", name
            ) from None
    return as_list(name, value)


def number_list(name: str, value: Any) -> Numbers:
    """Parse a number, or a list of numbers that is JSON or separated by commas."""
    if isinstance(value, int | float):
        return as_numbers(name, value)
    try:
        values = [float(item) for item in parse_list(name, value)]
    except (TypeError, ValueError):
        raise InvalidFile(f"{name} must be a list of numbers.", name) from None
    return as_numbers(name, values if len(values) != 1 else values[0])


def name_list(name: str, value: Any) -> tuple[str, ...]:
    """Parse a list of names that is JSON or separated by commas."""
    values = parse_list(name, value)
    if not all(isinstance(item, str) for item in values):
        raise InvalidFile(f"{name} must be a list of names.", name)
    return tuple(values)


def parse_range(name: str, value: Any) -> tuple[float, float] | None:
    """Parse a range of two numbers; None remains None."""
    if value is None:
        return None
    if not isinstance(value, Sequence) or len(value) != 2:
        raise InvalidFile(f"{name} must be two numbers, the lower and the upper limit.", name)
    low, high = (as_numbers(name, item) for item in value)
    if not isinstance(low, float) or not isinstance(high, float):
        raise InvalidFile(f"{name} must be two numbers, not two lists.", name)
    return low, high
