"""`tarsus bench --precision`: exact motions, measured curves, and their table and figure."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tarsus import cli
from tarsus.errors import IncompatibleOptions
from tarsus.model.robot_data import robots_folder
from tarsus.validation.bodies import G
from tarsus_bench import precision_cases, work_precision
from tarsus_bench._command import Bench
from tarsus_bench.peer_process import EngineServer
from tarsus_bench.peers.base import FRICTION
from tarsus_bench.precision_cases import INTERVAL, largest_difference
from tarsus_bench.precision_report import draw_precision, print_precision

pytestmark = pytest.mark.skipif(robots_folder() is None, reason="without example-robot-data")
DT = 0.005


@pytest.fixture(scope="module")
def results() -> dict[str, Any]:
    """Return the curves of the rolling sphere in Tarsus and MuJoCo."""
    return work_precision.measure(
        ["mujoco", "tarsus"], ["roll"], (0.01, 0.005, 0.0025), variants=[""]
    )


def test_rolling_sphere_keeps_its_momentum_about_the_contact() -> None:
    """The sphere ends at 5/7 of its speed, and slides by 12 v^2 / (49 mu g) until then."""
    case = precision_cases.cases()["roll"]
    assert case.exact is not None
    x, v = case.exact()[:, 0], precision_cases.ROLL_SPEED
    assert (x[-1] - x[-2]) / INTERVAL == pytest.approx(5 / 7 * v)
    end = 2 * v / (7 * FRICTION * G)
    slid = 12 * v**2 / (49 * FRICTION * G)
    assert x[-1] == pytest.approx(slid + 5 / 7 * v * (case.times[-1] - end))


@pytest.mark.parametrize(("name", "limit"), [("flight", 1e-6), ("roll", 1e-5)])
def test_exact_motions_match_a_good_method(name: str, limit: float) -> None:
    """RK4 follows the flight, and the hard law the rolling sphere."""
    case = precision_cases.cases()[name]
    assert case.exact is not None
    engine, variant = ("mujoco", "rk4") if name == "flight" else ("tarsus", "")
    dt = 0.001
    server = EngineServer(engine, variant)
    server.build(name, case.motion.work(dt))
    q, _ = server.trace(name, 0.2, INTERVAL)
    assert len(q) == 21
    assert largest_difference(case.compared(q), case.exact()[:21]) < limit


def test_motions_that_are_not_finite_have_an_infinite_error() -> None:
    values = np.zeros((3, 2))
    values[1, 0] = np.nan
    assert largest_difference(values, np.zeros((3, 2))) == np.inf


def test_errors_decrease_with_the_step_size(results: dict[str, Any]) -> None:
    for curve in results["curves"]:
        errors = [point["error"] for point in curve["points"]]
        assert len(errors) == 3 and errors[-1] < errors[0]
        assert all(point["time"] > 0 for point in curve["points"])
        assert curve["limit_difference"] is None and not curve["failures"]


def test_tarsus_comes_first(results: dict[str, Any]) -> None:
    """Its limits are the ones with which the others are compared."""
    assert [curve["simulator"] for curve in results["curves"]] == ["tarsus", "mujoco"]


def test_results_are_printed_and_drawn(
    results: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    print_precision(results)
    printed = capsys.readouterr().out
    assert "mujoco" in printed and "2.5 ms" in printed
    (file,) = draw_precision(results, tmp_path / "new")
    assert file.read_text().count("<path") > 10


def test_options_without_their_measurement_are_refused(tmp_path: Path) -> None:
    with pytest.raises(IncompatibleOptions):
        Bench(figures=tmp_path)._check()
    assert cli.main(["bench", "--precision", "--peers"]) == 2
