"""`tarsus.load` takes the options that a robot has, and says so of others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tarsus
from tarsus.errors import TarsusError

BALL = """<robot name="ball"><link name="ball"><inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
<collision><geometry><sphere radius=".1"/></geometry></collision></link></robot>"""


@pytest.mark.parametrize(
    ("given", "options", "message"),
    [
        (None, {}, "by its name or path, not None"),
        ("ball.urdf", {"driven": ["j"]}, "ball.urdf: there is no option of such a robot named"),
        ("ball.urdf", {"flaoting": False}, "did you mean floating"),
        ("mini_cheetah", {"flaoting": False}, "did you mean floating"),
        ("hoap1", {"mas": 3.0}, "did you mean mass"),
    ],
)
def test_what_is_no_option_of_a_robot_is_told(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    given: Any,
    options: dict[str, Any],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ball.urdf").write_text(BALL)
    assert tarsus.load("ball.urdf", shapes="collision").mass == 1
    with pytest.raises(TarsusError, match=message):
        tarsus.load(given, **options)
