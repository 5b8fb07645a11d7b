"""The tables in docs that code generates are up to date."""

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


@pytest.fixture(scope="module")
def make_docs() -> ModuleType:
    """tools/make_docs.py."""
    spec = importlib.util.spec_from_file_location("make_docs", ROOT / "tools" / "make_docs.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_they_are_up_to_date(make_docs: ModuleType) -> None:
    old = [
        path.name
        for path, text in make_docs.pages().items()
        if path.read_text(encoding="utf-8") != text
    ]
    assert not old, f"run `uv run python tools/make_docs.py`: {', '.join(old)} would change"


def test_every_page_stands_on_the_site() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8").splitlines()
    pages = [path.stem for path in (ROOT / "docs").glob("*.md") if path.stem != "index"]
    assert not [page for page in pages if page not in index]


def test_every_table_is_used_and_ends(make_docs: ModuleType) -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*.md"))
    assert set(re.findall(r"<!-- generated: (\w+) -->", text)) == set(make_docs.TABLES)
    assert text.count("<!-- generated: ") == text.count("<!-- end -->")


@pytest.mark.parametrize("kind", ["with cut joints", "with every sensor"])
def test_whatever_stands_in_a_log_is_in_the_conventions(kind: str, make_docs: ModuleType) -> None:
    """Variables, labels and dimensions, in backticks below the heading `Log`."""
    log = make_docs.log() if kind == "with cut joints" else sensed_run()
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
