"""`tarsus completion`: tab completion for bash, zsh and fish."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

import tyro

from tarsus import registry
from tarsus.commands._completion_scripts import SCRIPTS, CommandWords
from tarsus.commands._options import options
from tarsus.commands.base import Command, print_json


@dataclass(frozen=True)
class Completion(Command):
    """Print a script for tab completion in a shell.

    The script completes commands, options and names that are installed now. Run it in the shell's
    start file, as in the examples, or print it again after an update.
    """

    position: ClassVar[int] = 95
    topic: ClassVar[str] = "Speed and machine"
    examples: ClassVar[Mapping[str, str]] = {
        'eval "$(tarsus completion bash)"': "line for ~/.bashrc",
        'eval "$(tarsus completion zsh)"': "line for ~/.zshrc, after compinit",
        "tarsus completion fish > ~/.config/fish/completions/tarsus.fish": "run once for fish",
    }

    shell: tyro.conf.Positional[Literal["bash", "zsh", "fish"]]
    """Shell."""

    def execute(self) -> int:
        known = []
        for name, kind in registry.member_classes("tarsus.commands", "command", Command).items():
            assert isinstance(kind, type)
            known.append(CommandWords(name, kind.summary(), tuple(options(kind))))
        script = SCRIPTS[self.shell](known)
        print_json({"shell": self.shell, "script": script}) if self.json else print(script, end="")
        return 0
