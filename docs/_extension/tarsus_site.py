"""What only the site does to the pages: API lists, docstrings as prose, pages for machines.

- `<!-- api: NAME -->` in a page becomes the docstrings of what LISTS has under that name,
  `<!-- script: NAME.py -->` the text of a script of examples/.
- Docstrings are plain prose, not reStructuredText: marks that it would read are escaped, and
  lines "name: meaning" become a list.
- Every page is copied beside its HTML as Markdown, as `llms.txt` says.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sphinx.util.inspect import TypeAliasForwardRef

import tarsus
from tarsus import registry
from tarsus.contact.base import Law
from tarsus.contact.solvers.base import Solver
from tarsus.control.base import Controller
from tarsus.sensing.base import Sensor
from tarsus.stepping.base import Stepper
from tarsus.terrain.base import Terrain

MARK = re.compile(r"<!-- api: (\w+) -->")
SCRIPT = re.compile(r"<!-- script: (\w+\.py) -->")
CODE = re.compile(r"(``[^`]+``|`[^`]+`)")
FIELD = re.compile(r"^((?:\*{0,2}[A-Za-z_][\w.]*(?:, )?)+): (.*)$")
LISTED = re.compile(r"^\s*(?:\d+\.|-) ")
FAMILIES: dict[str, tuple[str, type]] = {
    "laws": ("tarsus.contact.laws", Law),
    "solvers": ("tarsus.contact.solvers", Solver),
    "steppers": ("tarsus.stepping.methods", Stepper),
    "terrains": ("tarsus.terrain", Terrain),
    "gaits": ("tarsus.control.gaits", Controller),
    "sensors": ("tarsus.sensing", Sensor),
}


def public() -> list[str]:
    """The names of `import tarsus`, in reading order."""
    return [f"tarsus.{name}" for name in tarsus.__all__ if not name.startswith("__")]


def family(name: str) -> list[str]:
    """The classes of a folder that holds one a file."""
    package, base = FAMILIES[name]
    found = [
        registry.member_class(package, name[:-1], each, base)  # type: ignore[type-abstract]
        for each in registry.names(package)
    ]
    return [f"{each.__module__}.{each.__qualname__}" for each in found]


LISTS: dict[str, Callable[[], list[str]]] = {
    "public": public,
    **{name: lambda name=name: family(name) for name in FAMILIES},
}


def listed(name: str) -> str:
    """Markdown that asks autodoc for the docstrings of a list."""
    lines = []
    for path in LISTS[name]():
        *_, last = path.rpartition(".")
        found = _found(path)
        kind = "autoclass" if isinstance(found, type) else "autofunction"
        inherited = "\n   :inherited-members: Mechanism" if last == "Robot" else ""
        lines.append(f"```{{eval-rst}}\n.. {kind}:: {path}{inherited}\n```\n")
    return "\n".join(lines)


def _found(path: str) -> Any:
    """What stands under a dotted name."""
    import importlib

    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def with_lists(app: Any, name: str, source: list[str]) -> None:
    """A page with what only the site has: API lists, scripts, the changelog, pages of decisions."""
    if name == "changelog":
        kept = Path(app.srcdir).parent / "CHANGELOG.md"
        source[0] = kept.read_text(encoding="utf-8").replace("](docs/", "](")
    if name.startswith("decisions/"):
        source[0] = source[0].replace("](../../CHANGELOG.md)", "](../changelog.md)")
    if name == "decisions/README":
        source[0] += "\n:::{toctree}\n:hidden:\n:glob:\n\n0*\n:::\n"
    text = MARK.sub(lambda match: listed(match[1]), source[0])
    source[0] = SCRIPT.sub(
        lambda match: f":::{{literalinclude}} ../examples/{match[1]}\n:language: python\n:::", text
    )


def as_prose(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """A docstring of plain prose as reStructuredText that shows the same."""
    shown: list[str] = []
    paragraph: list[str] = []
    for line in [*lines, ""]:
        if line.strip():
            paragraph.append(line)
            continue
        shown += [*_paragraph(paragraph), ""]
        paragraph = []
    lines[:] = shown


def _paragraph(lines: list[str]) -> list[str]:
    """A paragraph: its fields as a list, its lists as they are, the rest escaped.

    What goes on from a field or an item is indented; what is not ends the list.
    """
    shown: list[str] = []
    inside = False
    for line in lines:
        text = line.strip()
        field = FIELD.match(text) if not line.startswith(" ") else None
        if field:
            shown += [""] if shown and not inside else []
            shown.append(f"- **{_escaped(field[1])}**: {_escaped(field[2])}")
            inside = True
        elif LISTED.match(line):
            shown.append(_escaped(text))
            inside = True
        elif inside and line.startswith("  "):
            shown.append("  " + _escaped(text))
        else:
            shown += [""] if inside else []
            shown.append(_escaped(text))
            inside = False
    return _spaced(shown)


def _spaced(lines: list[str]) -> list[str]:
    """Lists end with an empty line, and numbered items go on under their text."""
    shown, indent = [], ""
    for line in lines:
        number = re.match(r"^\d+\. ", line)
        if number:
            indent = " " * (len(number[0]) - 2)
        elif line.startswith("- "):
            indent = ""
        shown.append(indent + line if line.startswith("  ") else line)
    return shown


def _escaped(text: str) -> str:
    """Text without the marks of reStructuredText; code in backticks stays code."""
    parts = CODE.split(text)
    for k, part in enumerate(parts):
        if k % 2:
            parts[k] = f"``{part.strip('`')}``"
        else:
            plain = re.sub(r"([\\*|])", r"\\\1", part).replace("`", "\\`")
            parts[k] = re.sub(r"_(?=\W|$)", r"\\_", plain)
    return "".join(parts)


def for_machines(app: Any, error: Exception | None) -> None:
    """Every page as Markdown beside its HTML, and the list of them."""
    if error or app.builder.format != "html":
        return
    source, out = Path(app.srcdir), Path(app.outdir)
    for page in [*source.glob("*.md"), *source.glob("decisions/*.md"), source / "llms.txt"]:
        target = out / page.relative_to(source)
        target.parent.mkdir(exist_ok=True)
        shutil.copyfile(page, target)


def setup(app: Any) -> dict[str, Any]:
    """Called by Sphinx."""
    app.connect("source-read", with_lists)
    app.connect("autodoc-process-docstring", as_prose)
    TypeAliasForwardRef.__repr__ = lambda self: self.name  # `Feedback` where a type has a name
    app.connect("build-finished", for_machines)
    return {"version": tarsus.__version__, "parallel_read_safe": True}
