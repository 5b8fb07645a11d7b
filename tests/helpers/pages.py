"""Documentation pages, their code blocks, and the commands in blocks and sentences."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tarsus import cli
from tarsus.commands._options import Argument, options

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(
    r"(?:^<!-- (?P<remark>setup\n.*?|not run: .*?)-->\n\s*)?"
    r"^```(?:\{code-cell\} )?(?P<language>\w*)\n(?P<code>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)
PROGRAMS = ("tarsus", "pip", "uv", "pytest")
INLINE = re.compile(rf"(?<!`)`((?:{'|'.join(PROGRAMS)}|python) [^`\n]+)`(?!`)")
TAKES_ONE = (
    "run",
    "compare",
    "judge",
    "rerun",
    "export",
    "inspect",
    "cite",
    "view",
    "render",
    "play",
    "learn",
)
PLACEHOLDER = re.compile(r"(?:NAME=VALUE|[A-Z]{2,}(?:\.\w+)?)\b(?![./])")


@dataclass(frozen=True)
class Block:
    """Code block of a page: position, language, code, and the comment above it."""

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
    """Remove the explanation from a command line: from a # on, or from two spaces on."""
    return re.split(r"\s+#|\s{2,}", line.strip())[0]


def blocks_of(page: Path) -> list[Block]:
    """Return the fenced blocks of a page, in order."""
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


def inline_commands(page: Path) -> list[str]:
    """Return the commands in the sentences and tables of a page, each once."""
    text = BLOCK.sub("", page.read_text(encoding="utf-8"))
    return list(dict.fromkeys(INLINE.findall(text)))


def is_usage(command: str) -> bool:
    """Return whether a command contains placeholders or alternatives."""
    bare = re.sub(r"'[^']*'|\"[^\"]*\"", "", command)
    return bool(
        "[" in bare or "..." in bare or re.search(rf"(?:^|[\s,|]){PLACEHOLDER.pattern}", bare)
    )


def is_mention(words: list[str]) -> bool:
    """Return whether it is only the name of a command, as in "like `tarsus run`"."""
    return words[:1] != [] and words[0] in TAKES_ONE and not any(w[0] != "-" for w in words[1:2])


def tarsus_words(command: str) -> list[str]:
    """Return the arguments of a command line of Tarsus, as `python -m tarsus` too; else []."""
    words = shlex.split(command)
    for start in (["uv", "run"], ["python", "-m"]):
        words = words[2:] if words[:2] == start else words
    return words[1:] if words[:1] == ["tarsus"] else []


def readings(command: str) -> Iterator[list[str]]:
    """Yield the arguments as a reader takes them: bare, and with every [option].

    Of alternatives a|b|... each stands alone; placeholders are filled in.
    """
    bare = re.sub(r"\s*\[[^]]*\]", "", command)
    full = re.sub(r"[\[\]]", "", command)
    for text in dict.fromkeys((bare, full)):
        words = [word for word in tarsus_words(text) if word != "..."]
        choices = [word.split("|") if " " not in word else [word] for word in words]
        for k in range(max(map(len, choices), default=0)):
            chosen = [choice[min(k, len(choice) - 1)] for choice in choices]
            if "..." not in chosen:
                yield filled(chosen)


def filled(words: list[str]) -> list[str]:
    """Return the arguments with a value that the command knows for each placeholder."""
    if words[0] == "COMMAND":
        return ["run", *words[1:]]
    kind: Any = cli.commands().get(words[0])
    known = options(kind) if kind else []
    by_flag = {flag: option for option in known for flag in option.flags}
    places = [option for option in known if not option.flags]
    found, asked = [words[0]], None
    for word in words[1:]:
        if word.startswith("--"):
            asked = by_flag.get(word)
            found.append(word)
            continue
        option = asked or (places[0] if places else None)
        if asked is None and len(places) > 1:
            places.pop(0)
        parts = [_value(part, option) for part in word.split(",")]
        found.append(",".join(parts))
        asked = asked if asked and asked.value.endswith("...") else None
    return found


def _value(word: str, option: Argument | None) -> str:
    """Return the word, or if it is a placeholder a value that its option takes."""
    if not PLACEHOLDER.fullmatch(word):
        return word
    if word == "NAME=VALUE":
        return "mu=0.5"
    if option is not None and option.choices:
        return option.choices[0]
    if word == "SECONDS":
        return "1"
    robot = option is not None and option.value == "ROBOT"
    return "mini_cheetah" if robot or word.startswith("ROBOT") else word.lower()
