"""`tarsus bench --robots`: a row per robot, whatever its file, and what limits its speed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tarsus import cli
from tarsus_bench import robot_speeds
from tarsus_bench.report import ROBOT_COLUMNS, robot_table

HOPPER = """<mujoco model="hopper"><worldbody><body name="trunk" pos="0 0 0.35"><freejoint/>
<geom type="box" size="0.1 0.1 0.05" mass="2"/><body name="leg" pos="0 0 -0.05">
<joint name="knee" axis="0 1 0" range="-30 30" damping="0.5"/>
<geom type="capsule" fromto="0 0 0 0 0 -0.2" size="0.03" mass="0.5"/></body></body></worldbody>
<actuator><motor joint="knee" ctrlrange="-20 20"/></actuator></mujoco>"""


def test_two_robots_and_a_broken_file_are_three_rows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("hopper.xml").write_text(HOPPER)
    Path("box.xml").write_text(HOPPER.split('<body name="leg"')[0] + "</body></worldbody></mujoco>")
    Path("broken.xml").write_text("<mujoco><worldbody><body/></mujoco>")
    arguments = ["bench", "--robots", "hopper.xml,box.xml", "broken.xml", "--quick", "--json"]
    assert cli.main([*arguments, "--out", "speeds.json"]) == 0
    results = json.loads(capsys.readouterr().out)
    assert results == json.loads(Path("speeds.json").read_text())
    hopper, box, broken = results["rows"]
    assert [row["robot"] for row in results["rows"]] == ["hopper.xml", "box.xml", "broken.xml"]
    assert (hopper["dof"], box["dof"]) == (7, 6)
    for row in (hopper, box):
        rates = row["steps_per_second"]
        assert rates.keys() >= {*robot_speeds.OURS, *robot_speeds.PEERS}
        assert min(rates.values()) > 0
        for peer in robot_speeds.PEERS:
            assert row["times_mujoco"][peer]["one"] > 0
        assert row["compile"]["warm"] < row["compile"]["cold"]
        assert 0 <= row["solver"]["unconverged"] <= 1
    assert broken["problem"] and "dof" not in broken
    # every row fills the table
    assert {len(cells) for cells in robot_table(results["rows"]).rows} == {len(ROBOT_COLUMNS)}


@pytest.mark.parametrize(
    ("arguments", "subject"),
    [
        (["--quick"], "--quick"),
        (["--whole", "--robots", "g1", "--quick"], "--quick"),
        (["--robots", "hyq", "--laws"], "--laws"),
    ],
)
def test_options_that_do_not_belong_to_robots_are_refused(
    arguments: list[str], subject: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["bench", *arguments]) == 2
    assert subject in capsys.readouterr().err
