"""Write the tables of the docs that are generated from the code: `python tools/make_docs.py`.

In docs/*.md a table stands between the lines `<!-- generated: NAME -->` and `<!-- end -->`;
docs/gallery.md and docs/llms.txt are generated as a whole. To add a table: a function here that
returns its Markdown, its name in TABLES, and the two lines in a page. tests/docs/test_generated.py
checks that all are up to date.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path

import xarray as xr

import tarsus
import tarsus_papers
from tarsus import references, registry, robots
from tarsus.contact.base import Law
from tarsus.control.actuators.base import ActuatorModel
from tarsus.control.base import Controller
from tarsus.dynamics.symbolic import SymbolicRobot
from tarsus.model.file_schema import Table
from tarsus.model.mjcf_schema import MJCF, OBSOLETE
from tarsus.model.mjcf_unsupported import UNSUPPORTED
from tarsus.model.sdf_schema import SDF
from tarsus.model.urdf_schema import URDF
from tarsus.mujoco_runs.settings import MujocoSettings
from tarsus.parameters import declared_fields, tables
from tarsus.references import reference
from tarsus.references.data import TARSUS
from tarsus.references.reference import Reference
from tarsus.sensing.base import Sensor
from tarsus.simulation import options
from tarsus.simulation.actuation import MODELS as ACTUATORS
from tarsus.simulation.sensors import SENSOR_PACKAGE as SENSORS
from tarsus.stepping.base import Stepper
from tarsus.validation.scenes.base import EFFECTS, ValidationScene
from tarsus.validation.table import SCENES, STEPPERS
from tarsus_bench import history

DOCS = Path(__file__).parents[1] / "docs"
EXAMPLES, SOURCE = DOCS.parent / "examples", DOCS.parent / "src"
MARKED = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Format a table in Markdown."""
    cells = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(_cell(text) for text in row)} |\n" for row in cells)


def _cell(text: str) -> str:
    """Return a cell's text on one line, with bars and stars escaped."""
    line = " ".join(text.split()).replace("|", "\\|")
    parts = re.split(r"(`[^`]*`|\*\*[^*]+\*\*)", line)  # code and bold text stay
    return "".join(p if k % 2 else p.replace("*", "\\*") for k, p in enumerate(parts))


@cache
def simulate_log() -> xr.Dataset:
    """Simulate a robot with cut joints for one step, so that the log has every variable."""
    simulation = tarsus.Simulation("mini_cheetah", controller="trot", coordinates="extended")
    return simulation.run(simulation.dt)


def log_variables() -> str:
    """List every variable of the log with its dimensions after time, unit and meaning."""
    rows = [
        (
            f"`{name}`",
            ", ".join(str(dimension) for dimension in variable.dims if dimension != "time"),
            str(variable.attrs["units"]),
            str(variable.attrs["long_name"]),
        )
        for name, variable in simulate_log().data_vars.items()
        if "units" in variable.attrs and "time" in variable.dims
    ]
    return markdown(("variable", "dimensions after time", "unit", "meaning"), rows)


def file_format(table: Table) -> str:
    """Return one row for each element of a format of robot files."""
    rows = [
        (f"`{path}`", _quoted(rule.attributes), rule.use, rule.reason)
        for path, rule in table.items()
    ]
    return markdown(("element", "attributes", "outcome", "remark"), rows)


def mjcf_format() -> str:
    """Return one row for each element of MJCF, with the codes of what is reported."""
    rows = []
    for path, rule in MJCF.items():
        codes = [
            f"`{code}` ({_quoted(names)})" if names else f"`{code}`"
            for code, names in rule.codes.items()
        ]
        attributes = _quoted(rule.attributes), _quoted(rule.ignored)
        rows.append((f"`{path}`", *attributes, rule.use, rule.reason, ", ".join(codes)))
    head = ("element", "attributes read", "without effect", "outcome", "remark", "reported as")
    return markdown(head, rows)


def mjcf_codes() -> str:
    """Return one row for each feature of MJCF that is not simulated."""
    rows = [
        (f"`{code}`", "warning" if feature.warns else "note", feature.statement)
        for code, feature in UNSUPPORTED.items()
    ]
    return markdown(("code", "kind", "meaning"), rows)


def mjcf_obsolete() -> str:
    """Return one row for each attribute of older MuJoCo versions."""
    rows = [
        (f"`{tag}`", f"`{name}`", "any" if value is None else f"`{value}`")
        for tag, attributes in OBSOLETE.items()
        for name, value in attributes.items()
    ]
    return markdown(("element", "attribute", "value"), rows)


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def scenes() -> str:
    """List every scene of `tarsus validate` with the effects it needs and its tolerance."""
    rows = []
    for name in registry.names(SCENES):
        scene = registry.member_class(SCENES, "scene", name, ValidationScene)()
        needs = ", ".join(sorted(scene.needs)) or "-"
        rows.append((f"`{name}`", scene.__doc__ or "", needs, scene.tolerance))
    return markdown(("scene", "what it shows", "a law must model", "tolerance, and why"), rows)


def effects() -> str:
    """List the effects that a law may declare as not modeled."""
    return markdown(("effect", "meaning"), [(f"`{k}`", text) for k, text in EFFECTS.items()])


def simulation_options() -> str:
    """List the options of a `Simulation` with their defaults."""
    rows = [
        (f"`{name}`", f"`{option.default!r}`", option.meaning)
        for name, option in options.declared_options().items()
    ]
    return markdown(("option", "default", "meaning"), rows)


def steppers() -> str:
    """List every stepper with its properties."""
    head = ("stepper", "order", "contacts evaluated at", "supports", "constraints", "source")
    rows = []
    for name in registry.names(STEPPERS):
        stepper = registry.member_class(STEPPERS, "stepper", name, Stepper)()
        instant = stepper.instant
        rows.append(
            (
                f"`{name}`",
                "by its tolerance" if stepper.order is None else str(stepper.order),
                "several instants" if instant is None else f"{instant:g} of the step",
                "every law" if stepper.supports_impulses else "laws with forces",
                "yes" if stepper.supports_constraints else "no",
                reference.text(stepper.citation),
            )
        )
    return markdown(head, rows)


def symbolic() -> str:
    """Return one row for each function and array of a symbolic robot, by its docstring."""
    rows = []
    for name, member in vars(SymbolicRobot).items():
        if name.startswith("_") or not (isinstance(member, property) or callable(member)):
            continue
        meaning, _, signature = (member.__doc__ or "").partition("\n")[0][:-1].rpartition(": ")
        if isinstance(member, property):
            call, meaning = f"`{name}`", meaning or (member.__doc__ or "")[:-1]
        else:
            call = f"`{name}({', '.join(list(inspect.signature(member).parameters)[1:2])})`"
            meaning = meaning.removeprefix("Build ").removeprefix("the ")
        rows.append((call, signature if "->" in signature else "array", _capital(meaning)))
    return markdown(("member", "inputs -> outputs", "meaning"), rows)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def sensors() -> str:
    """List every sensor with its channels on a Mini Cheetah."""
    rows, robot = [], robots.load("mini_cheetah")
    for name in registry.names(SENSORS):
        sensor_class = registry.member_class(SENSORS, "sensor", name, Sensor)
        sensor, units = sensor_class(), dict[str, list[str]]()
        for channel, unit in sensor.channels(robot).items():
            units.setdefault(unit, []).append(channel)
        reads = "; ".join(
            f"{', '.join(names) if len(names) < 8 else f'{len(names)} numbers'} [{unit}]"
            for unit, names in units.items()
        )
        own = [f for f in declared_fields(sensor_class) if f not in declared_fields(Sensor)]  # type: ignore[arg-type]
        rows.append((f"`{name}`", reads, ", ".join(own), (sensor.__doc__ or "").strip()))
    return markdown(("sensor", "channels", "its own fields", "what it is"), rows)


def law_parameters() -> str:
    """List the parameters of every law."""
    return parameters("tarsus.contact.laws", Law)


def gait_parameters() -> str:
    """List the parameters of every gait."""
    return parameters("tarsus.control.gaits", Controller)


def actuator_parameters() -> str:
    """List the parameters of every actuator model."""
    return parameters(ACTUATORS, ActuatorModel)


def actuator_models() -> str:
    """List every actuator model with its summary and source."""
    rows = []
    for name in registry.names(ACTUATORS):
        source = registry.member_module(ACTUATORS, "actuator model", name)
        model = registry.single_class(source, ActuatorModel)()
        summary = (source.__doc__ or "").partition("\n\n")[0].rstrip(".")
        rows.append((f"`{name}`", summary, reference.text(model.citation)))
    return markdown(("model", "what it is", "source"), rows)


def mujoco_parameters() -> str:
    """List the contact and integrator options of runs in MuJoCo."""
    return "\n".join(tables.markdown(MujocoSettings)) + "\n"


def parameters(package: str, family: type) -> str:
    """Write a heading and a table for each member that declares parameters."""
    parts = []
    for name in registry.names(package):
        lines = tables.markdown(registry.member_class(package, "member", name, family))  # type: ignore[arg-type]
        if len(lines) > 2:
            parts.append("\n".join([f"### `{name}`\n", *lines]) + "\n")
    return "\n" + "\n".join(parts) + "\n"


def list_references() -> str:
    """List every reference by kind."""
    titles = {
        "papers": "Papers",
        "numerics": "Computing",
        "learning": "Learning, planning and random numbers",
    }
    titles |= {"books": "Books and manuals", "data": "Robot data"}
    parts = []
    for shelf in references.FILES:
        members = vars(importlib.import_module(f"tarsus.references.{shelf}")).values()
        rows = [(r.name, r.text()) for r in members if isinstance(r, Reference) and r is not TARSUS]
        parts.append(f"## {titles[shelf]}\n\n{markdown(('name', 'source'), rows)}\n")
    return "".join(parts)


def examples() -> str:
    """List every script of examples/ with its docstring; the site adds the script itself."""
    parts = []
    for path in sorted(EXAMPLES.glob("*.py")):
        docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        first, _, rest = docstring.partition("\n")
        link = f"[`examples/{path.name}`](../examples/{path.name})"
        parts.append(
            f"### {first.rstrip('.')}\n\n{rest.strip()}\n\n{link}\n\n<!-- script: {path.name} -->\n"
        )
    return "\n" + "\n".join(parts) + "\n"


READ_FIRST = """
algebra/projections.py spatial/rotation.py model/mechanism.py morphology/legs.py dynamics/rnea.py
terrain/base.py collision/narrow_phase.py robots/mini_cheetah.py sensing/base.py control/base.py
tasks/base.py contact/base.py stepping/assemble.py program/ir/blocks.py simulation/simulation.py
environments/environment.py learning/run.py policies/contract.py planning/planner.py
identification/run.py sweeps/run.py
validation/table.py comparison/laws.py engines/base.py mujoco_runs/simulation.py viewer/figure.py
exchange/table.py parameters/declare.py references/reference.py commands/run.py
"""  # packages in the order of the tour, each with the file to read first


def list_packages() -> str:
    """List every package with the first paragraph of its docstring, in the order of READ_FIRST."""
    return _packages(SOURCE / "tarsus", READ_FIRST)


def list_other_packages() -> str:
    """List the other import packages of the distribution."""
    return _packages(SOURCE, "tarsus_papers/base.py tarsus_bench/speed.py tarsus_unisim/backend.py")


def _packages(folder: Path, read_first: str) -> str:
    found = {path.parent.name: path for path in folder.glob("*/__init__.py")}
    found.pop("tarsus", None)
    first = {path.partition("/")[0]: f"`{path}`" for path in read_first.split()}
    rows = []
    for name in [*first, *sorted(found.keys() - first)]:
        docstring = ast.get_docstring(ast.parse(found[name].read_text(encoding="utf-8"))) or ""
        rows.append((f"`{name}`", docstring.partition("\n\n")[0].rstrip("."), first.get(name, "")))
    return markdown(("package", "contents", "read first"), rows)


def gallery() -> str:
    """Write the page of experiments with the pictures docs/pictures/NAME.png."""
    text = tarsus_papers.gallery()
    for picture in sorted((DOCS / "pictures").glob("*.png")):
        heading = re.compile(rf"^## `{picture.stem}`: (.+)\n", re.MULTILINE)
        text = heading.sub(rf"\g<0>\n![\1](pictures/{picture.name})\n", text)
    return text


LISTED = re.compile(r"^:::\{toctree\}.*?:caption: ([^\n]+)\n\n(.*?)^:::$", re.DOTALL | re.MULTILINE)
TITLE = re.compile(r"^# (.+)$", re.MULTILINE)
LEAD = """# Tarsus

> A simulator of legged robots in contact with the ground: ten contact laws behind one interface, \
compiled for your robot, one world or thousands. Python, SI units, z up, quaternions (w, x, y, z).

Each page below is Markdown. Start with first_steps.md, cheat_sheet.md and conventions.md. In a \
clone, run `uv run tarsus --help`; in Python, `import tarsus`.
"""


def write_llms() -> str:
    """Write llms.txt: every page of the site in order, with its title and summary."""
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    parts = [LEAD]
    for caption, names in LISTED.findall(index):
        parts.append(f"\n## {caption}\n\n")
        for name in names.split():
            path = DOCS / f"{name}.md"
            page = gallery() if name == "gallery" else path.read_text(encoding="utf-8")
            title, summary = find_title_and_summary(page)
            parts.append(f"- [{title}]({name}.md): {summary}\n")
    return "".join(parts)


def find_title_and_summary(page: str) -> tuple[str, str]:
    """Return a page's title and its summary: the paragraph below the title, written by hand."""
    title = TITLE.search(page)
    if title is None:
        return "", ""
    paragraph = page[title.end() :].strip().partition("\n\n")[0]
    return title[1], " ".join(paragraph.split())


TABLES: dict[str, Callable[[], str]] = {
    "log_variables": log_variables,
    "packages": list_packages,
    "other_packages": list_other_packages,
    "scenes": scenes,
    "effects": effects,
    "steppers": steppers,
    "sensors": sensors,
    "symbolic": symbolic,
    "simulation_options": simulation_options,
    "law_parameters": law_parameters,
    "gait_parameters": gait_parameters,
    "actuator_models": actuator_models,
    "actuator_parameters": actuator_parameters,
    "mujoco_parameters": mujoco_parameters,
    "references": list_references,
    "examples": examples,
    "urdf": lambda: file_format(URDF),
    "sdf": lambda: file_format(SDF),
    "mjcf": mjcf_format,
    "mjcf_codes": mjcf_codes,
    "mjcf_obsolete": mjcf_obsolete,
    "speed_history": lambda: history.markdown(history.read(DOCS / "speed_history.json")),
}


def update_page(text: str) -> str:
    """Return a page with its generated tables updated."""

    def table(match: re.Match[str]) -> str:
        return f"{match[1]}{TABLES[match[2]]()}{match[3]}"

    return MARKED.sub(table, text)


def pages() -> dict[Path, str]:
    """Return every page with generated parts, brought up to date."""
    found = {
        path: update_page(text)
        for path in sorted(DOCS.glob("*.md"))
        if MARKED.search(text := path.read_text(encoding="utf-8"))
    }
    sensor_class = {DOCS / "gallery.md": gallery(), DOCS / "llms.txt": write_llms()}
    return found | sensor_class


if __name__ == "__main__":
    for page, text in pages().items():
        page.write_text(text, encoding="utf-8")
        print(page.relative_to(DOCS.parent))
