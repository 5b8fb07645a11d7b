"""What only the site does to the pages: API lists, docstrings as prose, pages for machines.

- `<!-- api: NAME -->` in a page becomes the docstrings of what LISTS has under that name,
  `<!-- script: NAME.py -->` the text of a script of examples/.
- Docstrings are plain prose in numpydoc's sections, not reStructuredText: marks that it would read
  are escaped.
- Formulas, ```` ```math ```` in a page, become MathML.
- Every page is copied next to its HTML as Markdown, for `llms.txt`.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
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
PAGE = re.compile(r"docs/((?:decisions/)?\w[\w-]*)\.md")
ARRAY = re.compile(r"ndarray\[(?:~?typing\.)?tuple.*?\], (?:~?numpy\.)?dtype\[.*?\]\]")
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
    "robot_results": lambda: [
        "tarsus.dynamics.symbolic.SymbolicRobot",
        "tarsus.dynamics.inverse_kinematics.InverseKinematicsResult",
    ],
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
    text = text.replace("```math\n", "```{math}\n")
    source[0] = SCRIPT.sub(
        lambda match: f":::{{literalinclude}} ../examples/{match[1]}\n:language: python\n:::", text
    )


def as_prose(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Escape a docstring of plain prose, before napoleon reads its sections.

    Examples, which end with an empty line, and the underlines of sections stay as they are.
    """
    example = False
    for k, line in enumerate(lines):
        example = bool(line.strip()) and (example or line.lstrip().startswith(">>>"))
        if not example and line.strip("- "):
            lines[k] = _escaped(line)


def short_signature(
    app: Any, what: str, name: str, thing: Any, options: Any, given: str | None, result: str | None
) -> tuple[str | None, str | None]:
    """Return a signature with short array types, and `...` for defaults that are functions."""
    return _shortened(given), _shortened(result)


def _shortened(signature: str | None) -> str | None:
    """Return a signature in which arrays and functions are short."""
    short = ARRAY.sub("ndarray", signature or "")
    return re.sub(r"<factory>|<function .*?>+", "...", short) or None


def _escaped(text: str) -> str:
    """Text without the marks of reStructuredText; code in backticks stays code.

    Names of pages become links to them.
    """
    parts = CODE.split(text)
    for k, part in enumerate(parts):
        if k % 2:
            parts[k] = f"``{part.strip('`')}``"
        else:
            plain = re.sub(r"([\\*|])", r"\\\1", part).replace("`", "\\`")
            plain = re.sub(r"_(?=\W|$)", r"\\_", plain)
            parts[k] = PAGE.sub(r":doc:`\1`", plain)
    return "".join(parts)


def visit_math(self: Any, node: Any) -> None:
    """Write a formula as MathML, which browsers show without a script."""
    self.body.append(tex2mathml(node.astext(), as_block=isinstance(node, nodes.math_block)))
    raise nodes.SkipNode


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
    app.connect("autodoc-process-docstring", as_prose, priority=400)  # napoleon has 500
    app.connect("autodoc-process-signature", short_signature)
    TypeAliasForwardRef.__repr__ = lambda self: self.name  # `Feedback` where a type has a name
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math, None))
    app.connect("build-finished", for_machines)
    return {"version": tarsus.__version__, "parallel_read_safe": True}
