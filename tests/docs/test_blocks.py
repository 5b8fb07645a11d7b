"""README's and the documents' blocks of code run as they stand.

Python blocks of a page run one after the other in one folder and one namespace. Of the shell
blocks, `tarsus run`, `list`, `cite`, `inspect`, `judge` and `rerun` run; of the other commands, and
where there are placeholders such as ROBOT, the command line is read by the parser and no more.

Above a block there may stand an HTML comment, which a reader of the page does not see:

    <!-- setup
    Python code that makes what the block takes for granted; `blocks` are the earlier blocks' texts
    -->
    <!-- not run: REASON -->
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

import tarsus
from tarsus import cli

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(
    r"(?:^<!-- (?P<remark>setup\n.*?|not run: .*?)-->\n\s*)?"
    r"^```(?:\{code-cell\} )?(?P<language>\w*)\n(?P<code>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)
INLINE = re.compile(r"(?<!`)`(tarsus [^`\n]+)`(?!`)")
SLOW = {  # pages whose blocks take more than two seconds of a processor
    "add_a_gait.md", "add_a_terrain.md", "benchmarks.md", "c_code.md", "controllers.md",
    "coordinates.md", "first_steps.md", "from_mujoco.md", "from_raisim.md",
    "from_drake_pinocchio.md", "gpu.md", "identification.md", "index.md", "judge.md", "learning.md",
    "planning.md",
    "terrain.md", "tutorial.md", "watch.md",
}  # fmt: skip
PROGRAMS = ("tarsus", "pip", "uv", "pytest")
EXECUTED = (
    "run",
    "list",
    "cite",
    "inspect",
    "judge",
    "rerun",
)  # seconds each; the others take minutes
STANDS_FOR = {
    "ROBOT": "mini_cheetah", "COMMAND": "run", "NAME": "moreau", "DIR": "out", "FILE": "kernel.ptx",
    "LOG": "run.nc", "PART": "table1", "SECONDS": "60", "NAME=VALUE": "mu=0.5",
}  # fmt: skip


@dataclass(frozen=True)
class Block:
    """One block of a page: where it begins, its language, its code, and the remark above it."""

    page: Path
    line: int
    language: str
    code: str
    remark: str

    @property
    def skipped(self) -> bool:
        """Whether a reason not to run it is given."""
        return self.remark.startswith("not run: ")

    @property
    def setup(self) -> str:
        """Python code to run before it."""
        return self.remark.removeprefix("setup\n") if self.remark.startswith("setup") else ""

    @property
    def commands(self) -> list[str]:
        """The command lines of a shell block; none if the block shows output."""
        lines = [line for line in self.code.splitlines() if line.strip()]
        if self.language not in ("", "sh") or lines[0].split()[0] not in PROGRAMS:
            return []
        return [part for line in lines for part in without_comment(line).split(" && ")]


def without_comment(line: str) -> str:
    """A command line without what explains it: from a # on, or from two spaces on."""
    return re.split(r"\s+#|\s{2,}", line.strip())[0]


def blocks_of(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    return [
        Block(
            page,
            text[: match.start("language")].count("\n") + 1,
            match["language"],
            match["code"],
            match["remark"] or "",
        )
        for match in BLOCK.finditer(text)
    ]


BLOCKS = {page: blocks_of(page) for page in PAGES}
RUN = [
    p for p, blocks in BLOCKS.items() if any(b.language == "python" or b.commands for b in blocks)
]


def readings(command: str) -> Iterator[list[str]]:
    """The words of a command line as a reader takes it: bare, and with every [option] in it.

    Of alternatives a|b|... each stands alone; a placeholder is filled in.
    """
    bare = re.sub(r"\[[^]]*\]", "", command)
    full = re.sub(r"[\[\]]", "", command)
    for text in (bare, full) if "[" in command else (command,):
        words = [word for word in shlex.split(text) if word != "..."]
        choices = [word.split("|") for word in words]
        for k in range(max(len(choice) for choice in choices)):
            chosen = [choice[min(k, len(choice) - 1)] for choice in choices]
            if "..." not in chosen:
                yield [filled(word) for word in chosen]


def filled(word: str) -> str:
    """The word, or what a placeholder in it stands for."""
    return ",".join(STANDS_FOR.get(part, part) for part in word.split(","))


def accepted(command: str) -> None:
    """The parser takes the command line."""
    for words in readings(command):
        assert words[0] == "tarsus"
        try:
            cli.parsed(words[1:])
        except SystemExit as stop:
            assert stop.code == 0  # --help
        except tarsus.TarsusError as error:
            pytest.fail(f"not a command line: {' '.join(words)}: {error}")


def is_usage(command: str) -> bool:
    """Whether there is something to fill in or to choose."""
    placeholders = any(part in STANDS_FOR for part in re.split(r"[\s,]", command))
    return placeholders or "[" in command or "..." in command


def run_command(command: str) -> None:
    """Run what takes seconds, read what takes minutes."""
    words = shlex.split(command)
    words = words[2:] if words[:2] == ["uv", "run"] else words
    if words[0] != "tarsus":
        assert words[0] in PROGRAMS, command
        return
    if is_usage(command) or words[1] not in EXECUTED:
        accepted(shlex.join(words) if not is_usage(command) else command)
        return
    assert cli.main(words[1:]) == 0, command


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(
            page,
            id=str(page.relative_to(ROOT)),
            marks=pytest.mark.slow if page.name in SLOW else (),
        )
        for page in RUN
    ],
)
def test_a_page_s_blocks_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    room = ModuleType("page")
    monkeypatch.setitem(sys.modules, "page", room)
    names = vars(room)
    names["blocks"] = []
    for block in BLOCKS[page]:
        if not block.skipped:
            where = f"{page.name}:{block.line}"
            exec(compile(block.setup, f"{where} setup", "exec"), names)
            if block.language == "python":
                exec(compile("\n" * block.line + block.code, str(page), "exec"), names)
            for command in block.commands:
                run_command(command)
        names["blocks"].append(block.code)


def test_a_block_that_is_not_run_has_a_reason() -> None:
    skipped = [block for blocks in BLOCKS.values() for block in blocks if block.skipped]
    assert all(len(block.remark) > len("not run: ") + 10 for block in skipped)


LINES = [
    pytest.param(match[1], id=f"{page.name}-{k}")
    for page in PAGES
    for k, match in enumerate(INLINE.finditer(page.read_text(encoding="utf-8")))
]


@pytest.mark.parametrize("command", LINES)
def test_a_command_in_a_sentence_is_one(command: str) -> None:
    """As it stands, or with a robot or a file after the command's name."""
    words = command.split(" ", 2)
    takes_one = words[1] in ("run", "compare", "judge", "rerun", "export", "inspect", "cite")
    named = len(words) > 2 and not words[2].startswith("-")
    accepted(" ".join([*words[:2], "ROBOT", *words[2:]]) if takes_one and not named else command)
