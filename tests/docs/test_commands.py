"""Every command in the documents, in blocks and in sentences, is valid.

Names in its options exist. Files that it reads are placeholders in capitals, or the page creates
them (`tests/docs/test_blocks.py` runs those commands).
"""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest
from helpers.pages import BLOCKS, PAGES, ROOT, inline_commands, is_mention, readings, tarsus_words

import tarsus
from tarsus import cli
from tarsus.identification.spec import parse_spec as identification_of
from tarsus.policies.contract import Contract
from tarsus.policies.policy_toml import overlay
from tarsus.sweeps.spec import from_tables as sweep_of

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS, GROUPS = PROJECT["project"]["optional-dependencies"], PROJECT["dependency-groups"]


MENTIONED = {"render": "LOG.nc OUT.gif", "play": "DIR", "learn": "TASK --out DIR"}
"""What a command that a sentence names without arguments is tried with."""


def commands() -> list[Any]:
    """Each command of each page, from blocks and from sentences."""
    found = {}
    for page in PAGES:
        blocks = [c for block in BLOCKS[page] for c in block.commands]
        for command in (*blocks, *inline_commands(page)):
            found.setdefault(command, page)
    for kind in cli.commands().values():
        for command in kind.examples:
            found.setdefault(command.partition(" > ")[0], Path(f"{kind.__name__}.help"))
    return [pytest.param(c, id=f"{page.name}-{c}") for c, page in found.items()]


@pytest.mark.parametrize("command", commands())
def test_commands_in_the_documents_parse(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for file in re.findall(r"\bmy_\w+\.py\b", command):  # a reader's own
        Path(file).touch()
    if not tarsus_words(command):
        check_other_program(command)
        return
    if is_mention(tarsus_words(command)):
        name = tarsus_words(command)[0]
        what = MENTIONED.get(name, "ROBOT")
        command = command.replace(f"tarsus {name}", f"tarsus {name} {what}", 1)
    for words in readings(command):
        try:
            given = cli.parse_command(words)
            given.check_names()
        except SystemExit as stop:
            assert stop.code == 0  # --help
        except tarsus.TarsusError as error:
            pytest.fail(f"tarsus {' '.join(words)}: {error}")


def check_other_program(command: str) -> None:
    """Check that files, dependency groups, extras and options of tools exist in the project."""
    words = shlex.split(command)
    for word, after in zip(words, (*words[1:], ""), strict=True):
        if re.fullmatch(r"(?:\w+/)+\w+(?:\.py)?", word) and not word.startswith(
            (".venv", "build/")
        ):
            assert (ROOT / word).exists(), word
        if word == "--group":
            assert after in GROUPS
        if word == "--extra":
            assert after in EXTRAS
        for extra in re.findall(r"^\.\[(.*)\]$", word):
            assert set(extra.split(",")) <= set(EXTRAS)
        assert "tarsus[" not in word, "the name is on no package index"
    scripts = [ROOT / word for word in words if word.startswith("tools/")]
    for script in scripts:
        text = script.read_text(encoding="utf-8")
        assert all(
            f'"{word}"' in text for word in words if word.startswith("--") and word != "--group"
        )


LEG = """<robot name="leg"><link name="base"><inertial><mass value="5"/>
<inertia ixx=".1" iyy=".1" izz=".1" ixy="0" ixz="0" iyz="0"/></inertial></link><link name="calf">
<inertial><mass value=".2"/><inertia ixx=".001" iyy=".001" izz=".001" ixy="0" ixz="0" iyz="0"/>
</inertial></link><joint name="FL_calf_joint" type="revolute"><parent link="base"/>
<child link="calf"/><axis xyz="0 1 0"/><limit lower="-2" upper="0" effort="45" velocity="15"/>
</joint></robot>"""
SPECS = [
    pytest.param(block.code, id=f"{page.name}-{block.line}")
    for page, blocks in BLOCKS.items()
    for block in blocks
    if block.language == "toml" and "[project" not in block.code
]


@pytest.mark.parametrize("text", SPECS)
def test_specifications_in_the_documents_load(text: str, tmp_path: Path) -> None:
    """Each is loaded by the command to which its tables belong."""
    tables = tomllib.loads(text)
    for file in re.findall(r'file = "(.*?)"', text):
        (tmp_path / file).write_text("def twice(now): return 2.0\n")
    if "network" in tables:
        found: Any = overlay(Contract(""), tables, "page", tmp_path)
        assert not [q.name for q in found.missing() if q.name not in ("kp", "kd")]
        return
    if "robot" in tables:
        (tmp_path / tables["robot"]).write_text(LEG)
        (tmp_path / "robot.toml").write_text(text)
        loaded = tarsus.load(tmp_path / "robot.toml")
        names = ("FL_calf_joint", "FL_calf_joint_play", "FL_calf_joint_spring")
        assert loaded.joint_names[-3:] == names
        return
    found = (identification_of if "free" in tables else sweep_of)(tables, tmp_path)
    assert found


def test_the_documents_contain_specifications() -> None:
    assert len(SPECS) >= 2
