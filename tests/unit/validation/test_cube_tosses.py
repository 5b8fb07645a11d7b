"""Real tosses of a cube: reading, comparing trajectories, and identification."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.refused import refused
from scipy.spatial.transform import Rotation

from tarsus import cli
from tarsus.errors import InvalidFile
from tarsus.validation.real.base import RealRequest
from tarsus.validation.real.cube_tosses import CubeTosses, data
from tarsus.validation.real.cube_tosses.candidates import BY_ROLE, SearchRange
from tarsus.validation.real.cube_tosses.data import EDGE, FRAME, G, Tosses
from tarsus.validation.real.cube_tosses.errors import toss_errors
from tarsus.validation.real.cube_tosses.flight import fit_flights, measure_sliding
from tarsus.validation.real.cube_tosses.identify import folds, identify_parameters, mean_interval
from tarsus.validation.real.cube_tosses.law_tosses import LawTosses, Tosser
from tarsus.validation.real.cube_tosses.mujoco_tosses import MujocoTosses


def flown(number: int, frames: int = 24, height: float = 2.0) -> np.ndarray:
    """A toss (frames, 13) in free flight; its recorded velocity is half a frame old."""
    random = np.random.default_rng(number)
    v, rate = random.uniform(-1, 1, 3), random.uniform(-5, 5, 3)
    time = FRAME * np.arange(frames)
    first = Rotation.random(rng=random)
    turn = Rotation.from_rotvec(np.outer(time, rate)) * first
    place = np.outer(time, v) - 0.5 * G * np.outer(time**2, [0, 0, 1])
    place[:, 2] += height
    speed = v - G * np.outer(time - FRAME / 2, [0, 0, 1])
    rates = np.tile(first.inv().apply(rate), (frames, 1))
    return np.hstack([turn.as_quat(scalar_first=True), place, rates, speed])


def archive(path: Path, count: int = 3) -> Path:
    tosses: dict[str, Any] = {str(k): flown(k, 20 + k) for k in range(count)}
    np.savez(path, **tosses)
    return path


def test_an_archive_is_read_in_the_order_of_its_numbers(tmp_path: Path) -> None:
    tosses = data.read(archive(tmp_path / "tosses.npz", 12))
    assert tosses.names == tuple(str(k) for k in range(12))
    assert tosses.length.tolist() == [20 + k for k in range(12)] and tosses.q.shape == (12, 31, 7)
    toss = flown(3, 23)
    np.testing.assert_array_equal(tosses.q[3, :23, :3], toss[:, 4:7])
    np.testing.assert_array_equal(tosses.u[3, :23], toss[:, [10, 11, 12, 7, 8, 9]])
    assert tosses.recorded.sum() == tosses.length.sum()


def test_invalid_archives_are_rejected_in_one_sentence(tmp_path: Path) -> None:
    text = tmp_path / "text.npz"
    text.write_text("no archive")
    with refused(InvalidFile, text) as caught:
        data.read(text)
    assert "DAIRLab/dair_pll" in str(caught.value)
    for toss in (np.ones((5, 12)), flown(1) * np.nan, 2 * flown(1)):
        with refused(InvalidFile, "1"):
            data.from_arrays({"1": toss})


def test_the_command_names_the_source_of_the_recordings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    monkeypatch.delenv(data.VARIABLE, raising=False)
    assert cli.main(["validate", "--real", "cube_tosses"]) == 2
    told = capsys.readouterr().err
    assert data.VARIABLE in told and "DAIRLab/dair_pll" in told and "BSD 3-Clause" in told
    assert cli.main(["validate", "--real", "cube_tosses", "--data", str(tmp_path / "no.npz")]) == 2
    assert "no.npz" in capsys.readouterr().err
    assert cli.main(["validate", "--real", "cube_toses"]) == 2
    assert "cube_tosses" in capsys.readouterr().err


def test_errors_cover_centers_angles_and_corners() -> None:
    tosses = data.from_arrays({"1": flown(1)})
    angle, shift = 0.7, np.array([0.01, -0.02, 0.03])
    turned = Rotation.from_quat(tosses.q[0, :, 3:], scalar_first=True)
    other = Rotation.from_rotvec([0, angle, 0]) * turned
    q = np.concatenate([tosses.q[0, :, :3] + shift, other.as_quat(scalar_first=True)], -1)
    q[::2, 3:] *= -1  # the same attitude
    found = toss_errors(tosses, q[None, None])
    assert found.position[0, 0] == pytest.approx(100 * np.linalg.norm(shift) / EDGE, rel=1e-12)
    assert found.rotation[0, 0] == pytest.approx(np.degrees(angle), rel=1e-9)
    corners = EDGE / 2 * np.array(list(product((-1, 1), repeat=3)))
    apart = [
        np.sqrt(np.mean([np.sum((b.apply(c) + shift - a.apply(c)) ** 2) for c in corners]))
        for a, b in zip(turned, other, strict=True)
    ]
    assert found.corners[0, 0] == pytest.approx(100 * np.mean(apart[1:]) / EDGE, rel=1e-9)
    assert found.missed[0, 0] == 0
    q[-1, 0] = np.nan
    assert toss_errors(tosses, q[None, None]).position[0, 0] == np.inf


def test_flight_fit_finds_start_and_velocity_delay() -> None:
    tosses = data.from_arrays({str(k): flown(k) for k in range(6)})
    found = fit_flights(tosses)
    assert len(found.indices) == 6
    assert found.late == pytest.approx(FRAME / 2, rel=1e-9)
    assert max(found.noise) < 1e-9 and max(found.velocity_noise) < 1e-9
    true = tosses.u[:, 0, :3] - [0, 0, G * FRAME / 2]
    np.testing.assert_allclose(found.u[:, :3], true, atol=1e-9)
    np.testing.assert_allclose(found.u[:, 3:], tosses.u[:, 0, 3:], atol=1e-9)


def test_sliding_fit_finds_friction_and_tilt() -> None:
    mu, tilt, toss = 0.2, 0.03, {}
    for k, heading in enumerate(np.linspace(0, 2 * np.pi, 24, endpoint=False)):
        time = FRAME * np.arange(60)
        along = np.array([np.cos(heading), np.sin(heading)])
        drag = G * (mu + tilt * np.cos(heading))
        way = 1.5 * time - 0.5 * drag * time**2
        rows = np.zeros((60, 13))
        rows[:, 0], rows[:, 4:6], rows[:, 6] = 1, np.outer(way, along), EDGE / 2
        rows[:, 10:12] = np.outer(1.5 - drag * time, along)
        toss[str(k)] = rows
    found = measure_sliding(data.from_arrays(toss))
    assert found is not None and found.tosses == 24
    assert found.terms["constant"][0] == pytest.approx(mu, abs=1e-9)
    assert found.terms["cos"][0] == pytest.approx(tilt, abs=1e-9)
    assert abs(found.terms["cos 2"][0]) < 1e-9 and abs(found.lateral[0]) < 1e-9


class Shifted(Tosser):
    """Moves the recording by |mu - what the toss wants|: every toss's best mu is known."""

    name = "shifted"
    search_ranges: Mapping[str, SearchRange] = {"mu": BY_ROLE["friction"]}

    def __init__(self, wanted: np.ndarray) -> None:
        self.wanted = wanted

    def given_parameters(self) -> dict[str, float]:
        return {"mu": 0.15}

    def paths(self, tosses: Tosses, values: Mapping[str, np.ndarray]) -> np.ndarray:
        path = np.tile(tosses.q, (len(values["mu"]), 1, 1, 1))
        path[..., 0] += np.abs(values["mu"][:, None, None] - self.wanted[:, None])
        return path


def test_identification_is_judged_on_held_out_tosses() -> None:
    count = 40
    tosses = data.from_arrays({str(k): flown(k) for k in range(count)})
    fold = folds(count, 1)
    assert np.bincount(fold).tolist() == [8] * 5
    wanted = np.full(count, 0.23)
    found = identify_parameters(Shifted(wanted), tosses, Shifted.search_ranges, 80, 1)
    assert found.values["mu"] == pytest.approx(0.23, abs=0.003)
    low, high = found.intervals["mu"]
    assert low <= found.values["mu"] <= high and found.diverged == 0
    np.testing.assert_allclose(found.given_errors["position"], 100 * 0.08 / EDGE, rtol=1e-9)
    assert found.held_out_errors["position"].max() < 100 * 0.005 / EDGE
    # one fold wants what no other does: it is judged by what the others want
    own = identify_parameters(
        Shifted(np.where(fold == 0, 0.1, 0.23)), tosses, Shifted.search_ranges, 80, 1
    )
    np.testing.assert_allclose(
        own.held_out_errors["position"][fold == 0], 100 * 0.13 / EDGE, rtol=0.05
    )
    assert own.held_out_errors["position"][fold != 0].max() < 100 * 0.005 / EDGE


def test_intervals_of_a_mean_have_their_coverage() -> None:
    random = np.random.default_rng(3)
    inside = 0
    for k in range(200):
        _, low, high = mean_interval(random.exponential(1.0, 60), k)
        inside += low <= 1.0 <= high
    assert 0.88 < inside / 200 <= 1.0


@pytest.mark.parametrize("tosser", [LawTosses("compliant"), MujocoTosses()], ids=lambda t: t.name)
def test_a_tossed_cube_flies_freely(tosser: Tosser) -> None:
    tosses = data.from_arrays({"1": flown(1)})
    true = tosses.u.copy()
    true[:, 0, 2] -= G * FRAME / 2
    started = tosses.with_start(tosses.q[:, 0], true[:, 0])
    values = {name: np.array([value]) for name, value in tosser.given_parameters().items()}
    found = tosser.errors(started, values)
    assert found.position[0, 0] < 0.7 and found.rotation[0, 0] < 1e-3, "first order, per cent"
    late = tosser.errors(tosses, {**values, "back": np.array([FRAME / 2])})
    assert late.position[0, 0] == pytest.approx(found.position[0, 0], abs=1e-9)


@pytest.mark.parametrize("kind", [lambda n: LawTosses("compliant", threads=n), MujocoTosses])
def test_trajectories_do_not_depend_on_threads(kind: Callable[[int], Tosser]) -> None:
    tosses = data.from_arrays({str(k): flown(k, 40, 0.1) for k in range(9)})
    one, two = kind(1), kind(2)
    values = {name: np.array([value]) for name, value in one.given_parameters().items()}
    np.testing.assert_array_equal(one.paths(tosses, values), two.paths(tosses, values))


@pytest.mark.slow
def test_friction_is_identified_from_simulated_tosses(tmp_path: Path) -> None:
    made = data.from_arrays({str(k): flown(k, 70, 0.25) for k in range(30)})
    law = LawTosses("moreau")
    true = {"mu": 0.21, "kinetic": 1.0, "e_N": 0.15, "e_T": 0.0}
    path = law.paths(made, {name: np.array([value]) for name, value in true.items()})[0]
    own = Tosses(made.names, path, made.u, made.length)
    search_ranges = {name: law.search_ranges[name] for name in ("mu", "e_N")}
    found = identify_parameters(law, own, search_ranges, 160, 1)
    assert found.values["mu"] == pytest.approx(0.21, rel=0.05)
    assert found.best_errors["corners"].mean() < 0.25 * found.given_errors["corners"].mean()
    rows = np.concatenate([path[..., 3:], path[..., :3], made.u[..., 3:], made.u[..., :3]], -1)
    np.savez(tmp_path / "own.npz", **dict(zip(made.names, rows, strict=True)))
    asked = RealRequest(tmp_path / "own.npz", ("compliant",), 8)
    outcome = CubeTosses().measure(asked)
    kinds = [row["parameters"] for row in outcome.record["rows"]]
    assert kinds == ["given", "identified, held out", "identified"]
    assert re.search(r"<h2>Worst and best tosses under compliant", outcome.page)
