"""Generated tables in the documentation are up to date."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest
import xarray as xr

import tarsus
from tarsus import registry
from tarsus.simulation.sensors import SENSOR_PACKAGE as SENSORS

ROOT = Path(__file__).parents[2]


def tool(name: str) -> ModuleType:
    """Import a script of tools/."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def make_docs() -> ModuleType:
    """Return tools/make_docs.py."""
    return tool("make_docs")


def test_figures_are_up_to_date_and_shown() -> None:
    folder, figures = ROOT / "docs" / "figures", tool("draw_figures").FIGURES
    pages = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*.md"))
    assert {path.stem for path in folder.iterdir()} == set(figures)
    for name, draw in figures.items():
        assert (folder / f"{name}.svg").read_text(encoding="utf-8") == draw(), name
        assert f"(figures/{name}.svg)" in pages, name


def test_every_page_has_a_summary(make_docs: ModuleType) -> None:
    """Below its title: plain text of one or two sentences, which llms.txt shows."""
    for path in (ROOT / "docs").glob("*.md"):
        title, summary = make_docs.find_title_and_summary(path.read_text(encoding="utf-8"))
        assert title, path.name
        assert 20 < len(summary) <= 150 and summary.endswith("."), f"{path.name}: {summary}"
        assert "](" not in summary and not summary.startswith(("|", "`", "<")), path.name


def test_generated_tables_are_up_to_date(make_docs: ModuleType) -> None:
    old = [
        path.name
        for path, text in make_docs.pages().items()
        if path.read_text(encoding="utf-8") != text
    ]
    assert not old, f"run `uv run python tools/make_docs.py`: {', '.join(old)} would change"


def test_every_page_is_in_the_navigation() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8").splitlines()
    pages = [path.stem for path in (ROOT / "docs").glob("*.md") if path.stem != "index"]
    assert not [page for page in pages if page not in index]


def test_generated_tables_are_used_and_terminated(make_docs: ModuleType) -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*.md"))
    assert set(re.findall(r"<!-- generated: (\w+) -->", text)) == set(make_docs.TABLES)
    assert text.count("<!-- generated: ") == text.count("<!-- end -->")


@pytest.mark.parametrize("kind", ["with cut joints", "with every sensor"])
def test_the_conventions_page_lists_all_log_variables(kind: str, make_docs: ModuleType) -> None:
    """Variables, labels and dimensions, in backticks below the heading `Log`."""
    log = make_docs.simulate_log() if kind == "with cut joints" else sensed_run()
    page = (ROOT / "docs" / "conventions.md").read_text(encoding="utf-8").partition("## Log")[2]
    names = {
        re.sub(r"^(sensed|channel)_.*", r"\1_NAME", str(n)) for n in (*log.variables, *log.dims)
    }
    missing = [name for name in sorted(names) if f"`{name}`" not in page]
    assert not missing, f"conventions.md lacks {', '.join(missing)}"


def sensed_run() -> xr.Dataset:
    """The log of a step of a robot with a sensor of every kind."""
    simulation = tarsus.Simulation("mini_cheetah", sensors=list(registry.names(SENSORS)))
    return simulation.run(simulation.dt)
