"""Interface of real experiments: recorded motions that every law, and MuJoCo, tries to reproduce.

To add an experiment, create a file or folder in `validation/real/` with the name of the experiment.
Define in it one class that derives from `RealExperiment` and describes the recordings in its
docstring. The recordings themselves are never part of Tarsus: `data_source` tells users how to get
them, and `recording` finds the file.
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
    """Options of a real experiment."""

    data: Path | None
    """File with the recordings; by default that of the environment variable."""
    laws: tuple[str, ...]
    """Names of laws, and "mujoco"."""
    candidates: int = 96
    """Number of parameter sets that are tried for each law during identification."""
    parameters: Mapping[str, Mapping[str, float]] | None = None
    """Parameters identified by an earlier run, by law and name; skips the identification."""
    seed: int = 1
    """Seed of all random numbers."""
    threads: int = 1
    """Number of threads that simulate the worlds."""
    on_progress: Callable[[str], None] = lambda text: None
    """Function that is called with the current measurement."""


@dataclass(frozen=True)
class RealOutcome:
    """Results of a real experiment."""

    record: dict[str, Any]
    """All results in JSON's types; `rows` holds the rows of the printed table."""
    page: str
    """Self-contained HTML page."""


class RealExperiment(ABC):
    """Base class of recorded experiments."""

    variable: ClassVar[str]
    """Environment variable with the path of the recordings."""
    data_source: ClassVar[str]
    """Short text that tells users where to get the recordings."""

    @abstractmethod
    def measure(self, request: RealRequest) -> RealOutcome:
        """Compare laws with the recordings; raise TarsusError if these are missing."""

    def recording(self, data: Path | None) -> Path:
        """Find the file with the recordings; the error explains where to get a missing one."""
        named = os.environ.get(self.variable, "")
        path = data if data is not None else Path(named) if named else None
        if path is None:
            raise InvalidFile(
                f"the recordings are not part of Tarsus; give their file with --data FILE or in"
                f" {self.variable}; {self.data_source}.",
                "data",
            )
        if not is_file(path):
            raise InvalidFile(
                f"the file {path} of recordings does not exist; {self.data_source}.", path
            )
        return path
