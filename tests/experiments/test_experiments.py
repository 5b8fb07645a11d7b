"""Every experiment in its reduced version: checks hold, and page and data are correct."""

from __future__ import annotations

import base64
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from helpers.refused import refused

import tarsus_papers
from tarsus import cli
from tarsus.errors import InvalidFile
from tarsus.references.reference import Reference
from tarsus_papers import _record
from tarsus_papers.base import Check, Exhibit, Experiment, Finding, Row, Task

# its quick version times sections of steps and compiles forty of them: two minutes
SLOW = ("gehring2014",)


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name
        for name in tarsus_papers.names()
    ],
)
def made(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Path, dict[str, Any]]:
    """Name, folder and record of the reduced version."""
    folder = tmp_path_factory.mktemp(request.param)
    return request.param, folder, tarsus_papers.reproduce(request.param, folder, quick=True)


class Page(HTMLParser):
    """Addresses that a page loads or links to, names of its elements, and unclosed tags."""

    VOID = ("meta", "img", "br")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.names: list[str] = []
        self.open: list[str] = []
        self.tags: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.addresses += [str(given[key]) for key in ("src", "href") if key in given]
        self.names += [str(given["id"])] if "id" in given else []
        self.tags.append(tag)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_all_checks_hold(made: tuple[str, Path, dict[str, Any]]) -> None:
    assert tarsus_papers.failed_checks(made[2]) == []
    assert any(part["checks"] for part in made[2]["parts"].values())


def test_published_values_cite_their_location(made: tuple[str, Path, dict[str, Any]]) -> None:
    for part in made[2]["parts"].values():
        for row in part["rows"]:
            assert row["published"] is None or row["location"], row
            if row["ratio"] is not None:
                assert row["ratio"] == pytest.approx(row["measured"] / row["published"])


def test_the_page_is_self_contained(made: tuple[str, Path, dict[str, Any]]) -> None:
    name, folder, record = made
    text = (folder / f"{name}.html").read_text(encoding="utf-8")
    page = Page(text)
    assert not page.open and len(set(page.names)) == len(page.names)
    assert {f"#{part}" for part in record["parts"]} <= set(page.addresses)
    assert all(
        address.startswith(("#", "data:image/svg+xml;base64,")) for address in page.addresses
    )
    assert not re.search(r"@import|url\(|<script|<link", text)
    assert all(address[1:] in page.names for address in page.addresses if address[0] == "#")
    assert record["machine"]["processor"].split(" (")[0] in text.replace("&amp;", "&")


def test_pictures_are_drawn_from_the_data_alone(made: tuple[str, Path, dict[str, Any]]) -> None:
    name, folder, _ = made
    kept = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))["parts"]
    drawn = {
        part.name
        for part in tarsus_papers.load(name).parts
        if part.draw(kept[part.name]["data"]) is not None
    }
    pictures = re.findall(
        r'src="data:image/svg\+xml;base64,([^"]+)"', (folder / f"{name}.html").read_text("utf-8")
    )
    assert len(drawn) == len(pictures) > 0
    assert all(b"<svg" in base64.b64decode(picture)[:1000] for picture in pictures)


def test_the_json_is_the_record(made: tuple[str, Path, dict[str, Any]]) -> None:
    name, folder, record = made
    assert json.loads((folder / f"{name}.json").read_text(encoding="utf-8")) == record
    assert record["quick"] is True and record["citation"] and record["versions"]["tarsus"]
    assert sorted(path.name for path in folder.iterdir()) == [f"{name}.html", f"{name}.json"]


class First(Exhibit):
    """Part that others depend on."""

    name, title, location, description = "first", "First <&>", "Table 9", "about"

    def measure(self, task: Task) -> Finding:
        return Finding(
            {"x": 2.0}, [Row("x", 4.0, 2.0, "m", "Table 9"), Row("y", None, float("inf"), "m", "")]
        )


class Second(Exhibit):
    """Part that depends on the first."""

    name, title, location, description, needs = "second", "Second", "", "about", ("first",)

    def measure(self, task: Task) -> Finding:
        x = task.findings["first"].data["x"]
        return Finding({"double": 2 * x}, checks=[Check("x is three", x == 3, f"{x:g}")])


PAPER = Reference("Nobody", "misc", ("Nobody, N.",), "Nothing", "n.d.")
SMALL = Experiment("Small", PAPER, "about", (First(), Second()))


def test_parts_include_their_dependencies_in_order() -> None:
    assert [part.name for part in SMALL.select(["second"])] == ["first", "second"]
    assert [part.name for part in SMALL.select(["first"])] == ["first"]
    assert tarsus_papers.findings(SMALL, ["second"])["second"].data == {"double": 4.0}


def test_failed_checks_are_reported() -> None:
    record = _record.record("small", SMALL, tarsus_papers.findings(SMALL), quick=False)
    assert tarsus_papers.failed_checks(record) == ["second: x is three: 2"]
    assert record["parts"]["first"]["rows"][0]["ratio"] == 0.5
    assert record["parts"]["first"]["rows"][1]["measured"] is None


def test_files_are_written_together_or_not_at_all(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()  # a folder in the way of the second file
    with refused(InvalidFile, tmp_path / "a"):
        _record.write({tmp_path / "a": "1", tmp_path / "b": "2"})
    assert [path.name for path in tmp_path.iterdir()] == ["b"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("reproduce gehring2041", "did you mean gehring2014"),
        ("reproduce gehring2014 --parts tabel1", "did you mean table1"),
        ("reproduce gehring2014 --out /dev/null/x", "/dev/null/x"),
    ],
)
def test_bad_input_is_rejected_before_anything_runs(
    arguments: str, message: str, capsys: pytest.CaptureFixture
) -> None:
    assert cli.main(arguments.split()) == 2
    said = capsys.readouterr()
    assert message in said.err and not said.out and len(said.err.splitlines()) == 1


def test_without_a_name_it_lists_experiments_and_parts(capsys: pytest.CaptureFixture) -> None:
    assert cli.main(["reproduce"]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in tarsus_papers.names()) and "table1" in out
    assert cli.main(["list", "experiments"]) == 0
    assert "gehring2014" in capsys.readouterr().out


@pytest.mark.slow
def test_the_command_writes_the_files_it_reports(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    arguments = [
        "reproduce",
        "gehring2014",
        "--parts",
        "sinkage",
        "--quick",
        "--out",
        str(tmp_path / "new"),
    ]
    assert cli.main(arguments) == 0
    said = capsys.readouterr()
    assert "sinkage" in said.err and str(tmp_path / "new" / "gehring2014.html") in said.out
    assert list(json.loads((tmp_path / "new" / "gehring2014.json").read_text())["parts"]) == [
        "sinkage"
    ]
