"""The interface of a real experiment: recorded motions that every law, and MuJoCo, tries to repeat.

To add one: a file or folder in `validation/real/`, its name the experiment's; in it one class that
derives from `RealExperiment`, whose docstring says what was recorded. The recordings themselves are
never part of Tarsus: `data` says where a person gets them, and `recording` finds the file.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from tarsus.errors import InvalidFile
from tarsus.files import is_file


@dataclass(frozen=True)
class RealRequest:
    """What is asked of a real experiment.

    data: the file with the recordings; None: where the environment variable says
    laws: names of laws, and "mujoco"
    candidates: sets of parameters tried for each law when they are identified
    at: identified parameters of an earlier run, law -> {name: value}; nothing is then identified
    seed: of all that is drawn
    threads: how many share the worlds
    tell: called with what is being measured
    """

    data: Path | None
    laws: tuple[str, ...]
    candidates: int = 96
    at: Mapping[str, Mapping[str, float]] | None = None
    seed: int = 1
    threads: int = 1
    tell: Callable[[str], None] = lambda text: None


@dataclass(frozen=True)
class RealOutcome:
    """What was found.

    record: everything, in JSON's types; `rows` are the lines of the table on the screen
    page: a self-contained HTML page
    """

    record: dict[str, Any]
    page: str


class RealExperiment(ABC):
    """A recorded experiment."""

    variable: ClassVar[str]
    """Environment variable with the path of the recordings."""
    where: ClassVar[str]
    """Where a person gets the recordings, in a few words."""

    @abstractmethod
    def measure(self, request: RealRequest) -> RealOutcome:
        """Hold laws against the recordings; TarsusError if there are none."""

    def recording(self, given: Path | None) -> Path:
        """The file with the recordings; TarsusError that says where to get it if there is none."""
        named = os.environ.get(self.variable, "")
        path = given if given is not None else Path(named) if named else None
        if path is None:
            raise InvalidFile(
                f"the recordings are not part of Tarsus; give their file with --data FILE or in"
                f" {self.variable}; {self.where}.",
                "data",
            )
        if not is_file(path):
            raise InvalidFile(f"there is no file {path} with the recordings; {self.where}.", path)
        return path
