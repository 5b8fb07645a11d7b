"""References: declared once, cited where they are used, and printed as BibTeX."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import tarsus
from tarsus import cli, references, registry
from tarsus.references.data import TARSUS
from tarsus.references.reference import Citation, Reference, text

ROOT = Path(__file__).parents[3]
SOURCE = Path(tarsus.__file__).parent
EVERY = references.all_references()
NEEDED = {  # what an entry of each type must have, besides author, title and year
    "article": {"journal"},
    "inproceedings": {"booktitle"},
    "incollection": {"booktitle", "publisher"},
    "book": {"publisher"},
    "misc": set(),
}
FAMILIES = {  # folder -> the base that a file's class derives from
    "tarsus.contact.laws": ("tarsus.contact.base", "Law"),
    "tarsus.stepping.methods": ("tarsus.stepping.base", "Stepper"),
    "tarsus.control.gaits": ("tarsus.control.base", "Controller"),
}


def entries(bibtex: str) -> list[tuple[str, str, dict[str, str]]]:
    """Type, key and fields of each entry; AssertionError for what BibTeX would refuse."""
    found = []
    while (start := bibtex.find("@")) >= 0:
        head = re.match(r"@(\w+)\{([^\s,{}]+),", bibtex[start:])
        assert head, bibtex[start : start + 40]
        depth, end = 1, start + head.end()
        while depth:
            depth += {"{": 1, "}": -1}.get(bibtex[end], 0)
            end += 1
        body = bibtex[start + head.end() : end - 1]
        rows = [row.strip() for row in body.strip().split("\n")]
        fields = {}
        for row in rows:
            match = re.fullmatch(r"(\w+) = \{(.+)\},", row)
            assert match, row
            assert match.group(1) not in fields, row
            fields[match.group(1)] = match.group(2)
        found.append((head.group(1), head.group(2), fields))
        bibtex = bibtex[end:]
    return found


def citations() -> dict[str, Citation]:
    """Citations of every law, stepper, gait and robot."""
    found: dict[str, Citation] = {}
    for folder, (base, family) in FAMILIES.items():
        above: Any = getattr(__import__(base, fromlist=[family]), family)
        for name in registry.names(folder):
            found[f"{folder}.{name}"] = registry.member_class(
                folder, "member", name, above
            ).citation  # pyright: ignore[reportFunctionMemberAccess]
    for name in registry.names("tarsus.robots"):
        found[f"tarsus.robots.{name}"] = registry.member_module(
            "tarsus.robots", "robot", name
        ).CITATION
    return found


@pytest.mark.parametrize("reference", EVERY, ids=lambda reference: reference.key)
def test_every_reference_is_a_bibtex_entry(reference: Reference) -> None:
    ((kind, key, fields),) = entries(reference.bibtex())
    assert kind in NEEDED and key == reference.key
    assert {"author", "title", "year"} | NEEDED[kind] <= set(fields)
    assert re.fullmatch(r"(18|19|20)\d\d|n\.d\.", fields["year"])
    assert reference.bibtex().isascii(), "BibTeX reads accents as TeX's commands"


def test_keys_and_names_are_unique() -> None:
    assert len({reference.key for reference in EVERY}) == len(EVERY)
    assert len({reference.name for reference in EVERY}) == len(EVERY)


@pytest.mark.parametrize(("where", "citation"), citations().items(), ids=list(citations()))
def test_every_law_stepper_gait_and_robot_has_a_citation(where: str, citation: Citation) -> None:
    assert not isinstance(citation, str) and citation
    assert all(cited.reference in EVERY for cited in citation), "listed in docs/references.md"
    assert citation[0].reference.name in text(citation)


def test_the_reference_page_is_complete() -> None:
    page = (ROOT / "docs" / "references.md").read_text()
    missing = [r.name for r in EVERY if r is not TARSUS and r.text() not in page]
    assert not missing


def test_every_reference_is_used() -> None:
    """In a `citation`, or by its name in the source, the docs or the tests."""
    used = {c.reference.key for each in citations().values() for c in each}  # pyright: ignore
    files = [*SOURCE.rglob("*.py"), *(ROOT / "docs").rglob("*.md")]
    prose = " ".join(
        " ".join(file.read_text().split())
        for file in files
        if file.parent.name != "references" and file.name != "references.md"
    )
    unused = [
        r.name for r in EVERY if r is not TARSUS and r.key not in used and r.name not in prose
    ]
    assert not unused


def test_papers_named_in_prose_are_declared() -> None:
    """ "Author 1990", also "Author and Author 1990", is a reference's name."""
    known = {reference.name for reference in EVERY}
    strange = set()
    for file in [*SOURCE.rglob("*.py"), *(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]:
        words = re.sub(r"[\s#]+", " ", file.read_text())
        for name in re.findall(r"(?:[A-Z]\w+ and )?[A-Z][\w-]+ (?:19|20)\d\d\b(?!-)", words):
            if not any(each.endswith(name) for each in known):
                strange.add((file.name, name))
    assert not strange


def test_the_entry_of_tarsus_has_its_version() -> None:
    assert tarsus.__version__ in TARSUS.details["note"]


def test_the_file_for_citing_tarsus_lists_the_five_papers() -> None:
    cff = " ".join((ROOT / "CITATION.cff").read_text().split())
    five = [r for r in EVERY if r.name in cff or r.title in cff]
    assert len([r for r in five if r is not TARSUS]) == 5


def test_cite_lists_the_sources_of_a_run(capsys: pytest.CaptureFixture) -> None:
    arguments = ["cite", "starleth", "--law", "hunt_crossley", "--stepper", "rk4"]
    assert cli.main(arguments) == 0
    printed = capsys.readouterr().out
    keys = [key for _, key, _ in entries(re.sub(r"^%.*$", "", printed, flags=re.MULTILINE))]
    assert len(set(keys)) == len(keys)
    assert {"tarsus", "gehring2014", "huntandcrossley1975", "kutta1901", "gehring2013"} <= set(keys)
    assert "moreau1988" not in keys, "another stepper's"
    assert "ESTIMATE" in printed, "a number that was not published is said to be one"


def test_cite_prints_the_citation_of_a_user_law(
    tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    code = re.search(
        r"```python\n(.*?)```", (ROOT / "docs" / "add_a_law.md").read_text(), re.DOTALL
    )
    assert code is not None
    file = tmp_path / "my_floor.py"
    file.write_text(code.group(1))
    assert cli.main(["cite", "mini_cheetah", "--law", str(file)]) == 0
    assert "my notes of today" in capsys.readouterr().out
