"""Measurements of learning environments on a GPU, and the script that runs all of them, without a
GPU.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from helpers.pages import ROOT

from tarsus import cli
from tarsus.program.run.threads import HostLauncher
from tarsus_bench import gpu, gpu_environments

RECORDER = """#!{python}
import sys, time
with open({log!r}, "a") as log:
    print(*sys.argv[1:], sep="\\x1f", file=log)
if "play" in sys.argv:
    sys.exit(3)
if sys.argv[1] == "-c":
    print("/robots")
if "tests/gpu" in sys.argv:
    time.sleep({seconds})
"""


def make(block: int) -> HostLauncher:
    return HostLauncher()


def run_session(folder: Path, budget: int, seconds: float) -> tuple[int, str, list[list[str]]]:
    """Run the script with an interpreter that only records its arguments."""
    log, python = folder / "log", folder / "python"
    python.write_text(RECORDER.format(python=sys.executable, log=str(log), seconds=seconds))
    python.chmod(0o755)
    out = folder / "out"
    done = subprocess.run(
        ["bash", str(ROOT / "tools" / "gpu_session.sh"), str(out), str(budget)],
        cwd=ROOT,
        env={"PYTHON": str(python), "PATH": "/usr/bin:/bin"},
        check=False,
        capture_output=True,
    )
    calls = [line.split("\x1f") for line in log.read_text().splitlines()]
    return done.returncode, (out / "session.txt").read_text(), calls


@pytest.mark.skipif(sys.platform == "win32", reason="a shell script")
def test_the_session_runs_every_part_and_its_commands_are_valid(tmp_path: Path) -> None:
    code, report, calls = run_session(tmp_path, 500, 0)
    assert code == 1 and report.count("exit code 0") == 4 and "play_go2: exit code 3" in report
    commands = [call[2:] for call in calls if call[:2] == ["-m", "tarsus"]]
    assert [words[0] for words in commands] == ["bench", "learn", "play", "bench"]
    for words in commands:
        cli.parse_command(words).check_names()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="a shell script")
def test_the_session_ends_parts_with_the_time_that_is_left(tmp_path: Path) -> None:
    code, report, calls = run_session(tmp_path, 16, 60)
    assert code == 1 and "tests: exit code 124" in report
    assert report.count("not started") == 4 and len(calls) == 2


def test_the_parts_of_the_benchmark_can_be_sent_to_other_processes() -> None:
    parts = gpu.environment_parts(make, gpu.SMALL)
    assert list(parts)[-1] == "learning_g1"
    for part in parts.values():
        assert isinstance(pickle.loads(pickle.dumps(part)), partial)


@pytest.mark.slow
def test_environments_agree_with_the_cpu_and_a_difference_is_detected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = gpu_environments.compare_environment(make, "mini_cheetah", 5, 40)
    assert found["ok"] and found["ended_episodes"] > 0, found
    create = gpu_environments.create_environment

    def heavier(device: object, *of: object) -> object:
        environment = create(device, *of)  # type: ignore[arg-type]
        if device != "cpu":
            environment.backend.set("mass", np.full(1, 1.1))
        return environment

    monkeypatch.setattr(gpu_environments, "create_environment", heavier)
    found = gpu_environments.compare_environment(make, "mini_cheetah", 5, 10)
    assert not found["ok"] and found["first_period_apart"]["observation"] == 0


@pytest.mark.slow
def test_control_periods_per_second_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_environments, "MIN_SECONDS", 0.01)
    found = gpu_environments.measure_periods(make, "mini_cheetah", (2, 4))
    assert min(found["periods_per_second"].values()) > 0 and "name" in found["device"]
    pytest.importorskip("rsl_rl", reason="the group `learners` is not installed")
    found = gpu_environments.measure_learning(make, "mini_cheetah", (4,), 2)
    assert found["periods_per_second"][4] > 0
