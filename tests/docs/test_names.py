"""Names in backticks in the documentation exist: files, modules and their attributes."""

from __future__ import annotations

import importlib
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "tarsus"
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
FILE = re.compile(r"`((?:[\w.-]+/)*[\w.-]+\.(?:py|md|toml))`")
BACKTICKS, WORD = re.compile(r"`[^`]+`"), re.compile(r"\w+")
BARE = re.compile(r"(?<![\w./`:-])((?:[\w-]+/)+[\w-]+\.(?:py|md|toml))\b")  # not in backticks
DOTTED = re.compile(r"`(tarsus\w*(?:\.\w+)+)")
KIND = re.compile(r'^KIND = "(\w+)"$', re.MULTILINE)
GROUPS = {"tarsus.KIND", "tarsus.kinds"} | {  # of entry points
    f"tarsus.{kind}"
    for path in SOURCE.parent.rglob("__init__.py")
    for kind in KIND.findall(path.read_text(encoding="utf-8"))
}


@cache
def files() -> frozenset[str]:
    """Every file of the project, by its path from the root."""
    folders = [ROOT / name for name in ("src", "tests", "docs", "tools", "examples", ".ci")]
    found = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    return frozenset(p.relative_to(ROOT).as_posix() for p in (*found, *ROOT.glob("*.*")))


def is_there(name: str, page: Path) -> bool:
    """Return whether a path exists from the root, from the page, or as the end of a path in the
    package or the tests.
    """
    beside = (page.parent / name).is_file()
    return beside or any(path == name or path.endswith(f"/{name}") for path in files())


def test_the_page_on_plug_ins_has_every_kind() -> None:
    page = (ROOT / "docs" / "plugins.md").read_text(encoding="utf-8")
    table = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `tarsus.")]
    assert set(DOTTED.findall("".join(table))) | {"tarsus.KIND"} == GROUPS


def resolves(dotted: str) -> bool:
    """Return whether a name is a module or an attribute of one."""
    words = dotted.split(".")
    for k in range(len(words), 0, -1):
        try:
            found: object = importlib.import_module(".".join(words[:k]))
        except ModuleNotFoundError:
            continue
        for word in words[k:]:
            if not hasattr(found, word):
                return False
            found = getattr(found, word)
        return True
    return False


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_names_in_pages_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    own = {"my_floor.py", "my_gait.py", "my_ridge.py", "my_task.py", "my_goal.py", "my_outcomes.py"}
    own |= {"policy.toml", "my_package/soft_mud.py", "my_package/drop_height.py"}
    own |= {"identified.toml"}  # written by tarsus identify
    wrong = [f"`{n}`" for n in FILE.findall(text) if n not in own and not is_there(n, page)]
    wrong += [name for name in BARE.findall(text) if not is_there(name, page)]
    wrong += [
        f"`{name}`" for name in DOTTED.findall(text) if not resolves(name) and name not in GROUPS
    ]
    assert not wrong, f"{page.name} names what is not there: {', '.join(sorted(set(wrong)))}"


def test_identifiers_in_the_notation_exist_in_the_code() -> None:
    """Every word in backticks in a column `identifier` occurs in a file in src."""
    known = {w for path in SOURCE.rglob("*.py") for w in WORD.findall(path.read_text("utf-8"))}
    wrong, rows, column = list[str](), 0, -1
    for line in (ROOT / "docs" / "notation.md").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if "identifier" in cells:
            column = cells.index("identifier")
        elif not line.startswith("|"):
            column = -1
        elif column >= 0:
            named = "".join(name for name in BACKTICKS.findall(cells[column]) if ".py" not in name)
            rows += 1
            wrong += [word for word in WORD.findall(named) if word not in known]
    assert rows > 50 and not wrong, f"no file in src has {', '.join(wrong)}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_are_valid(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    targets = re.findall(r"\]\((?!https?:|mailto:|#)([^)#\s]+)", text)
    wrong = [target for target in targets if not (page.parent / target).exists()]
    assert not wrong, wrong
