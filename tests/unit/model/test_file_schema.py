"""Tables of what is read from URDF and SDF files, and the walk over a file."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest
from helpers.refused import refused

from tarsus.errors import Unsupported
from tarsus.model.file_schema import Table, walk
from tarsus.model.parts import Report
from tarsus.model.sdf_schema import SDF
from tarsus.model.urdf_schema import URDF


def left_out(text: str, table: Table, start: str, *skip: str) -> list[str]:
    """Return what a walk over a file reports."""
    report = Report("a file")
    walk(ET.fromstring(text), table, start, skip).report(report)
    return report.left_out


@pytest.mark.parametrize(
    ("inside", "named", "near"),
    [
        ("<link name='a'><colision/></link>", "<colision>", "<collision>"),
        ("<link name='a'><payload/></link>", "<payload>", ""),
        ("<joint name='a' type='fixed'><limit eff0rt='1'/></joint>", "eff0rt of <limit>", "effort"),
        ("<joint name='a' type='fixed'><limit current='1'/></joint>", "current of <limit>", ""),
        ("<link name='a'><inertial><mass value='1'/><com/></inertial></link>", "<com>", ""),
    ],
)
def test_what_no_table_lists_is_named_with_what_was_meant(
    inside: str, named: str, near: str
) -> None:
    (sentence,) = left_out(f"<robot name='r'>{inside}</robot>", URDF, "robot")
    assert named in sentence
    assert sentence.endswith(f"did you mean {near}?)." if near else "(1).")


def test_comments_namespaces_and_skipped_shapes_are_not_compared() -> None:
    text = """<robot name="r" xmlns:x="urn:x" x:version="2"><!-- a word --><link name="a">
    <visual><paint/></visual></link></robot>"""
    assert not left_out(text, URDF, "robot", "visual")
    assert len(left_out(text, URDF, "robot")) == 1


def test_elements_that_a_table_refuses() -> None:
    with refused(Unsupported, "include"):
        walk(ET.fromstring("<model name='m'><include/></model>"), SDF, "model")


@pytest.mark.parametrize(("table", "root"), [(URDF, "robot"), (SDF, "model")])
def test_tables_are_trees_with_a_reason_for_all_that_is_not_taken(table: Table, root: str) -> None:
    for path, rule in table.items():
        above = path.rpartition("/")[0]
        assert path == root or table[above].use == "taken", path
        assert rule.why or rule.use == "taken", path
