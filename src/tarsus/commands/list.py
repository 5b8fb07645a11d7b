"""`tarsus list`: what there is, by the files in a folder."""

from __future__ import annotations

import ast
import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal

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
    """List the available robots, laws, steppers, terrains, gaits, scenes, papers."""

    place: ClassVar[int] = 20

    what: tyro.conf.Positional[
        Literal["all", "robots", "laws", "steppers", "terrains", "gaits", "scenes", "experiments"]
    ] = "all"
    """What to list."""

    def execute(self) -> int:
        for kind in FOLDERS if self.what == "all" else (self.what,):
            if self.what == "all":
                print(f"{kind}:")
            for name in registry.names(FOLDERS[kind]):
                spec = importlib.util.find_spec(f"{FOLDERS[kind]}.{name}")
                source = Path(str(spec.origin)).read_text() if spec else ""
                first, _, _ = (ast.get_docstring(ast.parse(source)) or "").partition("\n\n")
                summary = " ".join(first.split())
                print(f"{'  ' if self.what == 'all' else ''}{name:20} {summary}")
        return 0
