"""`tarsus list`: what there is, by the files in a folder."""

from __future__ import annotations

import ast
import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import tyro

from tarsus import registry
from tarsus.commands.base import Command

FOLDERS = {
    "robots": "tarsus.robots",
    "laws": "tarsus.contact.laws",
    "steppers": "tarsus.stepping.methods",
    "terrains": "tarsus.terrain",
    "gaits": "tarsus.control.gaits",
    "scenes": "tarsus.validation.scenes",
    "experiments": "tarsus.experiments",
}


@dataclass(frozen=True)
class List(Command):
    """List what there is: robots, laws, ..., scenes of `tarsus validate`, experiments of `tarsus reproduce`."""

    what: tyro.conf.Positional[Literal["robots", "laws", "steppers", "terrains", "gaits", "scenes", "experiments"]]
    """The kind of thing."""

    def execute(self) -> int:
        package = FOLDERS[self.what]
        for name in registry.names(package):
            spec = importlib.util.find_spec(f"{package}.{name}")
            source = Path(str(spec.origin)).read_text() if spec else ""
            summary = (ast.get_docstring(ast.parse(source)) or "").split("\n")[0]
            print(f"{name:16} {summary}")
        return 0
