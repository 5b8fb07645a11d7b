"""`tarsus.load` accepts the options of a robot, and rejects others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from helpers.refused import refused

import tarsus
from tarsus.errors import InvalidValue, TarsusError
from tarsus.model.read import UnknownOption

BALL = """<robot name="ball"><link name="ball"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry><sphere radius=".1"/></geometry></collision></link></robot>"""


@pytest.mark.parametrize(
    ("given", "options", "kind", "subject"),
    [
        (None, {}, InvalidValue, "robot"),
        ("ball.urdf", {"mas": 3.0}, UnknownOption, "mas"),
        ("ball.urdf", {"flaoting": False}, UnknownOption, "flaoting"),
        ("mini_cheetah", {"flaoting": False}, UnknownOption, "flaoting"),
        ("hoap1", {"mas": 3.0}, UnknownOption, "mas"),
    ],
)
def test_unknown_robot_options_are_rejected(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    given: Any,
    options: dict[str, Any],
    kind: type[TarsusError],
    subject: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ball.urdf").write_text(BALL)
    assert tarsus.load("ball.urdf", shapes="collision").mass == 1
    with refused(kind, subject):
        tarsus.load(given, **options)
