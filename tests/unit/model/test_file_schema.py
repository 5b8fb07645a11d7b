"""Tables of supported elements of robot files, and the walk over a file."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import mujoco
import pytest
from helpers.refused import refused

from tarsus.errors import InvalidFile, Unsupported
from tarsus.model.file_schema import Table, walk
from tarsus.model.mjcf import read_mjcf
from tarsus.model.mjcf_schema import ALL_ELEMENTS, walk_mjcf
from tarsus.model.mjcf_source import Source
from tarsus.model.mjcf_unsupported import UNSUPPORTED
from tarsus.model.parts import Report
from tarsus.model.sdf_schema import SDF
from tarsus.model.urdf_schema import URDF


def unsupported(text: str, table: Table, start: str, *skip: str) -> list[str]:
    """Return what a walk over a file reports."""
    report = Report("a file")
    walk(ET.fromstring(text), table, start, skip).report(report)
    return report.unsupported


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
def test_unlisted_elements_are_reported_with_suggestions(
    inside: str, named: str, near: str
) -> None:
    (sentence,) = unsupported(f"<robot name='r'>{inside}</robot>", URDF, "robot")
    assert named in sentence
    assert sentence.endswith(f"did you mean {near}?)." if near else "(1).")


def test_comments_namespaces_and_skipped_shapes_are_not_compared() -> None:
    text = """<robot name="r" xmlns:x="urn:x" x:version="2"><!-- a word --><link name="a">
    <visual><paint/></visual></link></robot>"""
    assert not unsupported(text, URDF, "robot", "visual")
    assert len(unsupported(text, URDF, "robot")) == 1


def test_elements_that_a_table_rejects() -> None:
    with refused(Unsupported, "include"):
        walk(ET.fromstring("<model name='m'><include/></model>"), SDF, "model")


@pytest.mark.parametrize("table", [URDF, SDF, ALL_ELEMENTS])
def test_tables_are_trees_with_reasons_for_unsupported_entries(table: Table) -> None:
    for path, rule in table.items():
        above = path.rpartition("/")[0]
        assert not above or table[above].use == "supported", path
        assert not rule.children_path or rule.children_path in table, path
        assert rule.reason or rule.use == "supported", path


NAMES_WIDTH = 30  # columns in which MuJoCo prints the names of elements; attributes follow


def mujoco_schema() -> dict[str, list[str]]:
    """Return the attributes of every element that MuJoCo reads, by the paths of the table."""
    schema: dict[str, list[str]] = {}
    stack: list[str] = []
    for line in mujoco.mj_printSchema(False, False).splitlines():  # type: ignore[attr-defined]
        name = line[:NAMES_WIDTH]
        if name.strip():
            depth = (len(name) - len(name.lstrip())) // 3
            tag = name.split()[0].removeprefix("(world)")
            path = tag if tag in ("default", "body") else "/".join([*stack[depth - 1 : depth], tag])
            stack = [*stack[:depth], path]
            schema[path] = []
        schema[stack[-1]] += line[NAMES_WIDTH:].split()
    return schema


def test_every_element_and_attribute_that_mujoco_reads_is_listed() -> None:
    schema = mujoco_schema()
    assert len(schema) > 150 and "margin" in schema["body/joint"]
    for path, attributes in schema.items():
        parents = [path[:k] for k, letter in enumerate(path) if letter == "/"]
        if all(ALL_ELEMENTS[parent].use == "supported" for parent in parents):
            rule = ALL_ELEMENTS[path]
            assert rule.use != "supported" or set(attributes) <= set(rule.known), path


def test_codes_of_the_table_match_the_checks() -> None:
    codes = {code for rule in ALL_ELEMENTS.values() for code in rule.codes}
    assert codes - {"ground-friction-ignored"} == set(UNSUPPORTED)


def test_unknown_names_are_found_in_classes_and_in_included_and_attached_files(
    tmp_path: Path,
) -> None:
    """MuJoCo rejects them, so the walk finds them only in files of later versions."""
    (tmp_path / "classes.xml").write_text(
        "<mujoco><default><joint new='1'/><default class='a'><geom next='1'/></default></default>"
        "</mujoco>"
    )
    (tmp_path / "arm.xml").write_text(
        "<mujoco><worldbody><body name='hand'><glove/></body></worldbody></mujoco>"
    )
    (tmp_path / "leg.urdf").write_text(
        "<robot name='leg'><mujoco><compiler latest='1'/></mujoco><link name='foot' toes='5'/>"
        "</robot>"
    )
    (tmp_path / "robot.xml").write_text(
        """<mujoco><include file="classes.xml"/><asset><model name="arm" file="arm.xml"/>
        <model name="leg" file="leg.urdf"/></asset><worldbody><frame pos="1 0 0"><replicate
        count="2"><body name="b"><joint sprang="1"/><attach model="arm" body="hand" prefix="x"/>
        </body></replicate></frame></worldbody></mujoco>"""
    )
    report = Report("robot.xml")
    walk_mjcf(Source.of("", tmp_path / "robot.xml").document).report(report)
    (sentence,) = report.unsupported
    for name in ("new of <joint>", "next of <geom>", "<glove>", "latest of <compiler>"):
        assert f"{name} (1)" in sentence
    assert "toes of <link> (1)" in sentence and "sprang of <joint> (1)" in sentence
    assert sentence.count("(") == 6


@pytest.mark.parametrize(
    ("inside", "near"), [("<joint stifness='1'/>", "stiffness"), ("<jiont/>", "<joint>")]
)
def test_typos_that_mujoco_rejects_get_a_suggestion(inside: str, near: str) -> None:
    with pytest.raises(InvalidFile) as caught:
        read_mjcf(f"<mujoco><worldbody><body>{inside}</body></worldbody></mujoco>")
    assert str(caught.value).endswith(f"did you mean {near}?")
