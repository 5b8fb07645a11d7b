"""Rules of the architecture, checked on the source code.

Imports follow the layers and public names have docstrings. An import counts wherever it is: at the
top of a file, inside a function, under TYPE_CHECKING, or as the name of a module in a string. There
is no list of exceptions.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import tarsus

SOURCE = Path(tarsus.__file__).parents[1]
BESIDE = ("tarsus_papers", "tarsus_bench", "tarsus_unisim")  # packages that use Tarsus

FLOORS = (  # from the roof down; what stands on one floor does not see its neighbors
    BESIDE,
    ("__main__",),
    ("cli",),
    ("commands",),
    ("__init__",),
    ("policies",),
    ("comparison", "validation", "sweeps", "learning", "planning"),
    ("engines", "identification"),
    ("mujoco_runs", "viewer", "exchange", "environments"),
    ("simulation",),
    ("tasks",),
    ("stepping", "control", "robots", "sensing"),
    ("collision",),
    ("terrain",),
    ("morphology",),
    ("dynamics",),
    ("model",),
    ("spatial",),
    ("algebra",),
    ("program",),
    ("registry", "parameters"),
    ("onnx_files",),
    ("files", "file_locks", "installation", "plugins", "processes", "schema"),
    ("errors", "references"),
)
LAWS_WING = "contact"  # stands beside the mechanics wing, on the algebra
MECHANICS_WING = {
    *("spatial", "model", "dynamics", "morphology", "terrain", "collision", "control", "robots"),
    *("sensing", "tasks"),
}
HALL = "stepping"
FAMILIES = (  # one file, one member: siblings share through base alone
    "tarsus_bench.peers",
    "tarsus.commands",
    "tarsus.contact.laws",
    "tarsus.contact.solvers",
    "tarsus.control.actuators",
    "tarsus.control.gaits",
    "tarsus.engines",
    "tarsus_papers",
    "tarsus.learning.methods",
    "tarsus.planning.goals",
    "tarsus.planning.methods",
    "tarsus.robots",
    "tarsus.sensing",
    "tarsus.stepping.methods",
    "tarsus.tasks",
    "tarsus.terrain",
    "tarsus.validation.real",
    "tarsus.validation.scenes",
)
LADDERS = {  # rooms with floors of their own inside, from the roof down
    "tarsus.program": ("run", "codegen", "lowering", "ir"),
}
LIGHT = ("tarsus", "tarsus.cli", "tarsus.errors", "tarsus.parameters", "tarsus.registry")
HEAVY = ("casadi", "llvmlite", "mujoco", "xarray", "matplotlib")

NAMED_MODULE = re.compile(rf"tarsus(\.\w+)+|({'|'.join(BESIDE)})(\.\w+)*")  # in a string

Function = ast.FunctionDef | ast.AsyncFunctionDef
Named = Function | ast.ClassDef


@dataclass(frozen=True)
class Module:
    """Source file: dotted name, path and syntax tree."""

    name: str
    path: Path
    tree: ast.Module

    @property
    def part(self) -> str:
        """The room it stands in: the first name below `tarsus`, or the package beside it."""
        package, *below = self.name.split(".")
        if package in BESIDE:
            return package
        return below[0] if below else "__init__"

    @property
    def package(self) -> str:
        """The folder it stands in."""
        return self.name if self.path.name == "__init__.py" else self.name.rpartition(".")[0]

    @cached_property
    def imported(self) -> set[str]:
        """Every module it names, ours (resolved to files) and others' (their top name)."""
        found: set[str] = set()
        for node in ast.walk(self.tree):
            found.update(_imports(node, self.package))
        return {_resolved(name) for name in found} - {self.name}

    @property
    def ours(self) -> set[str]:
        """The modules of Tarsus among them."""
        return {name for name in self.imported if name in MODULES}

    @property
    def parts(self) -> set[str]:
        """The rooms of Tarsus it looks into, its own left out."""
        return {MODULES[name].part for name in self.ours} - {self.part}


def _imports(node: ast.AST, package: str) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
        source = ".".join([*above, node.module] if node.module else above)
        yield from (f"{source}.{alias.name}" for alias in node.names)
    elif isinstance(node, ast.Constant) and NAMED_MODULE.fullmatch(str(node.value)):
        yield str(node.value)


def _resolved(name: str) -> str:
    """Find the file of an imported name; the top-level package if it is not part of Tarsus."""
    if name.split(".")[0] not in ("tarsus", *BESIDE):
        return name.split(".")[0]
    while name not in MODULES:
        name = name.rpartition(".")[0]
    return name


def _modules() -> dict[str, Module]:
    found: dict[str, Module] = {}
    paths = [p for package in ("tarsus", *BESIDE) for p in (SOURCE / package).rglob("*.py")]
    for path in sorted(paths):
        words = path.relative_to(SOURCE).with_suffix("").parts
        name = ".".join(words[:-1] if words[-1] == "__init__" else words)
        found[name] = Module(name, path, ast.parse(path.read_text(encoding="utf-8"), str(path)))
    return found


MODULES = _modules()


@dataclass(frozen=True, eq=False)
class Definition:
    """Function or class of a module; `owners` are the definitions that enclose it, outermost
    first.
    """

    module: Module
    node: Named
    owners: tuple[Named, ...]

    @property
    def where(self) -> str:
        """Module, line and name."""
        return (
            f"{self.module.name}:{self.node.lineno}"
            f" {'.'.join(node.name for node in (*self.owners, self.node))}"
        )

    @property
    def public(self) -> bool:
        """Seen by a reader of the documentation: no underscore on the way, not inside a
        function.
        """
        inside = any(not isinstance(owner, ast.ClassDef) for owner in self.owners)
        return not inside and not any(
            node.name.startswith("_") for node in (*self.owners, self.node)
        )


def _definitions(module: Module, node: ast.AST, *owners: Named) -> Iterator[Definition]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Named):
            yield Definition(module, child, owners)
            yield from _definitions(module, child, *owners, child)
        else:
            yield from _definitions(module, child, *owners)


DEFINITIONS = [
    definition for module in MODULES.values() for definition in _definitions(module, module.tree)
]
CLASSES = {d.node.name: d.node for d in DEFINITIONS if isinstance(d.node, ast.ClassDef)}


def _floor(part: str) -> int:
    return next(
        (height for height, floor in enumerate(reversed(FLOORS)) if part in floor), len(FLOORS)
    )


def _documented(owner: ast.ClassDef, name: str) -> bool:
    """Return whether a method has a docstring in its class or in a base class of that name."""
    own = [child for child in owner.body if isinstance(child, Function) and child.name == name]
    bases = [ast.unparse(base).split("[")[0].split(".")[-1] for base in owner.bases]
    above = [CLASSES[base] for base in bases if base in CLASSES and base != owner.name]
    return any(ast.get_docstring(child) for child in own) or any(
        _documented(base, name) for base in above
    )


def _explained(definition: Definition) -> bool:
    """Return whether a definition has a docstring: its own, its base's, or its class's for a
    one-line operation such as `add`.
    """
    node, owner = definition.node, definition.owners[-1] if definition.owners else None
    if ast.get_docstring(node):
        return True
    if not isinstance(owner, ast.ClassDef) or isinstance(node, ast.ClassDef):
        return False
    speaks_for_itself = len(node.body) == 1 and not node.decorator_list and ast.get_docstring(owner)
    return bool(speaks_for_itself) or _documented(owner, node.name)


def _none(violations: list[str], rule: str) -> None:
    assert not violations, f"{rule}\n  " + "\n  ".join(sorted(violations))


def test_every_package_has_a_layer() -> None:
    """A new folder or file next to `cli.py` must be added to a layer here."""
    known = {LAWS_WING, *(part for floor in FLOORS for part in floor)}
    _none(
        [name for name, module in MODULES.items() if module.part not in known],
        "no floor is known for",
    )


def test_imports_follow_the_layers() -> None:
    """Packages import only packages in lower layers; contact laws are between algebra and
    stepping. Nothing in `tarsus` imports the packages next to it, nor do these import each
    other.
    """
    wrong = []
    for module in MODULES.values():
        for part in module.parts:
            if module.part == LAWS_WING:
                below = _floor(part) <= _floor("algebra")
            elif part == LAWS_WING:
                below = _floor(module.part) >= _floor(HALL)
            else:
                below = _floor(part) < _floor(module.part)
            if not below:
                wrong.append(f"{module.name} -> {part}")
    _none(wrong, "imports that do not go down:")


def test_separate_packages_do_not_import_each_other() -> None:
    """Dynamics names no contact law; contact laws name no robot, rotation or terrain."""
    wrong = [
        f"{m.name} -> {LAWS_WING}"
        for m in MODULES.values()
        if m.part in MECHANICS_WING and LAWS_WING in m.parts
    ]
    laws = [m for m in MODULES.values() if m.part == LAWS_WING]
    wrong += [f"{m.name} -> {part}" for m in laws for part in m.parts & MECHANICS_WING]
    _none(wrong, "imports from wing to wing:")


def test_separate_packages_meet_in_one_file() -> None:
    """Below the simulation, `stepping/assemble.py` alone imports both `dynamics` and `contact`.

    `stepping/base.py` (inputs of a step), `stepping/slots.py` and `stepping/patches.py` (which
    contacts are solved) use types of both packages but none of their algorithms. Other modules of
    `stepping` use at most the types of a law and of its problem, and steppers not even these.
    """
    below = [
        m for m in MODULES.values() if m.part == LAWS_WING or _floor(m.part) < _floor("simulation")
    ]
    both = {m.name for m in below if {"dynamics", LAWS_WING} <= m.parts}
    assert both == {f"tarsus.{HALL}.assemble"}
    seen = {m.name for m in below if LAWS_WING in m.parts and m.parts & MECHANICS_WING}
    assert seen == {f"tarsus.{HALL}.{name}" for name in ("assemble", "base", "patches", "slots")}
    hall = [m for m in below if m.part == HALL]
    of_laws = {m.name: {n for n in m.ours if n.split(".")[1] == LAWS_WING} for m in hall}
    known = {f"tarsus.{LAWS_WING}.base", f"tarsus.{LAWS_WING}.problem"}
    assert set().union(*of_laws.values()) == known
    assert not any(names for m, names in of_laws.items() if m.startswith(f"tarsus.{HALL}.methods."))


@pytest.mark.parametrize("room", LADDERS)
def test_upward_imports_are_only_lazy(room: str) -> None:
    """Within a layered package, imports also follow the order; every file has its place in it."""
    height = {f"{room}.{rung}": k for k, rung in enumerate(reversed(LADDERS[room]))}

    def rung(name: str) -> str:
        return ".".join(name.split(".")[:3])

    inside = {name for name in MODULES if name.startswith(f"{room}.")}
    _none([name for name in inside if rung(name) not in height], f"on no rung of {room}:")
    wrong = [
        f"{name} -> {other}"
        for name in inside
        for other in MODULES[name].ours & (inside | {room})
        if height[rung(name)] < height.get(rung(other), len(height))
    ]
    _none(wrong, f"imports that climb inside {room}:")


@pytest.mark.parametrize("family", FAMILIES)
def test_members_do_not_import_each_other(family: str) -> None:
    """Members of a kind share only `base` and files with a leading underscore, so that one file
    adds a member.
    """
    files = {name for name, module in MODULES.items() if module.package == family} - {
        family,
        f"{family}.base",
    }
    members = {name for name in files if not name.split(".")[-1].startswith("_")}
    wrong = [f"{name} -> {other}" for name in members for other in MODULES[name].ours & members]
    _none(wrong, f"members of {family} that import a sibling:")


def test_plotting_is_imported_only_by_the_viewer() -> None:
    """Only the viewer and the layers above it import plotting libraries."""
    rooms = [
        m for m in MODULES.values() if m.part == LAWS_WING or _floor(m.part) < _floor("viewer")
    ]
    _none([m.name for m in rooms if "matplotlib" in m.imported], "plotting below the viewer:")


def test_imports_have_no_cycle() -> None:
    """The import graph of files has no cycle, including imports inside functions."""
    try:
        TopologicalSorter({m.name: m.ours for m in MODULES.values()}).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(reversed(error.args[1])))


@pytest.mark.parametrize("name", [name for name in LIGHT if name in MODULES])
def test_importing_tarsus_is_fast(name: str) -> None:
    """Importing `tarsus` loads no compiler, simulator or plotting library."""
    code = f"import sys, {name}; print(*(m for m in {HEAVY} if m in sys.modules))"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not loaded, f"import {name} loads {', '.join(loaded)}"


def test_public_class_names_are_unique() -> None:
    """No two public classes have the same name."""
    homes: dict[str, list[str]] = {}
    for d in DEFINITIONS:
        if isinstance(d.node, ast.ClassDef) and d.public and not d.owners:
            homes.setdefault(d.node.name, []).append(d.module.name)
    _none(
        [f"{name}: {', '.join(found)}" for name, found in homes.items() if len(found) > 1],
        "public classes of one name:",
    )


def test_test_names_are_unique() -> None:
    """Pytest does not collect a second test file of the same name, and reports it only if both
    run.
    """
    files = sorted(Path(__file__).parents[1].rglob("test_*.py"))
    seen: dict[str, Path] = {}
    assert not [file for file in files if seen.setdefault(file.name, file) != file]


def test_public_names_have_docstrings() -> None:
    """Every file, public class, function and method has a docstring, its own or its base's."""
    missing = [name for name, module in MODULES.items() if not ast.get_docstring(module.tree)]
    missing += [d.where for d in DEFINITIONS if d.public and not _explained(d)]
    _none(missing, "without a docstring:")


def test_errors_have_a_kind() -> None:
    """Every error that bad input causes is one of the subclasses of `TarsusError`."""
    bare = [
        f"{m.name}:{node.lineno}"
        for m in MODULES.values()
        if m.name != "tarsus.errors"
        for node in ast.walk(m.tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == "TarsusError"
    ]
    _none(bare, "errors without a kind:")
