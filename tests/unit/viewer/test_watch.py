"""Pages without a browser: playback runs in real time, live simulations respond to controls."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from helpers.refused import refused

import tarsus
from tarsus.cli import main
from tarsus.errors import InvalidValue
from tarsus.model.mechanism import Body, Candidate, Inertia, Joint
from tarsus.viewer import live as live_page
from tarsus.viewer import playback as playback_page
from tarsus.viewer.access import Address, free_port
from tarsus.viewer.live import Live
from tarsus.viewer.live_panel import Choice
from tarsus.viewer.live_recorder import LiveRecorder
from tarsus.viewer.page import Page
from tarsus.viewer.playback import Playback, titles
from tarsus.viewer.track import IMPACT, Track, build_track


@pytest.fixture
def page() -> Iterator[Page]:
    made = Page("test", Address(0))
    yield made
    made.stop()


@pytest.fixture(scope="module")
def trot() -> Track:
    return build_track(tarsus.Simulation("mini_cheetah", controller="trot").run(0.2))


def test_playback_runs_in_real_time(page: Page, trot: Track) -> None:
    playback = Playback(page, [trot], ["trot"])
    playback.draw(0.1)
    assert playback.time == pytest.approx(trot.time[0])  # it does not play yet
    playback.playing = True
    for _ in range(4):
        playback.draw(0.02)
    assert playback.time == pytest.approx(trot.time[0] + 0.08)
    playback.seek(99.0)
    assert playback.time == pytest.approx(trot.time[-1])
    # it begins again
    playback.draw(0.02)
    assert playback.time == pytest.approx(trot.time[0]) and playback.playing


def test_signals_of_other_logs_are_plotted_next_to_the_first(page: Page, trot: Track) -> None:
    later = replace(trot, time=trot.time + 0.01)
    playback = Playback(page, [trot, later], ["first", "later"])
    playback.seek(float(trot.time[-1]))
    playback.draw(0.0)
    drawn = playback._plot._plot
    assert drawn is not None
    time, *lines = (np.asarray(line) for line in drawn.data)
    own, others = np.split(np.array(lines), 2)
    assert own.shape == others.shape == (4, len(time))
    assert np.isnan(others[:, time < later.time[0]]).all()
    expected = np.interp(time[-1] - 0.01, time, own[0])
    assert others[0, -1] == pytest.approx(expected, rel=1e-9)


@pytest.mark.slow
def test_other_worlds_and_logs_are_drawn_next_to_the_first(page: Page, trot: Track) -> None:
    simulation = tarsus.Simulation("mini_cheetah", controller="stand", worlds=12)
    many = build_track(simulation.run(0.02))
    playback = Playback(page, [many, trot], ["many", "trot"])
    playback.draw(0.0)
    places = playback.offsets()
    apart = np.linalg.norm(places[:, None] - places, axis=-1) + 9 * np.eye(12)
    assert apart.min() > float(many.extent[:2].max())  # thirteen do not stand in each other
    assert np.linalg.norm(places, axis=1).min() > 0


@pytest.fixture(scope="module")
def live() -> Iterator[Live]:
    def made(choice: Choice) -> tarsus.Simulation:
        return tarsus.Simulation(
            "mini_cheetah", choice.law, controller=choice.gait, dt=choice.dt, pushes=["base"]
        )

    page = Page("test", Address(0))
    yield Live(page, made, Choice("moreau", "stand", 0.0025))
    page.stop()


def test_a_live_simulation_follows_the_clock(live: Live) -> None:
    live.reset()
    begin = live.simulation.time
    for _ in range(10):
        live.draw(0.013)
    assert live.simulation.time - begin == pytest.approx(0.13, abs=0.0025)
    live.draw(5.0)  # after a long wait it does not catch up
    assert live.simulation.time - begin < 0.2


def test_live_panels_match_the_log(trot: Track) -> None:
    """Bit for bit, and a foot that landed in one glance still flashes in the next."""
    recorder = LiveRecorder(tarsus.Simulation("mini_cheetah", controller="trot"))
    seen = [recorder.record(16) for _ in range(5)]
    np.testing.assert_array_equal(np.concatenate([part.q for part in seen]), trot.q)
    for name in ("point", "force", "normal", "phase", "mu"):
        parts = [getattr(part.contacts, name) for part in seen]
        np.testing.assert_array_equal(np.concatenate(parts), getattr(trot.contacts, name))
    assert IMPACT in trot.contacts.phase  # a foot lands
    for title, signal in seen[-1].signals.items():
        lines = dict(zip(signal.names, signal.values.T, strict=True))
        whole = trot.signals[title]
        for name in set(lines) & set(whole.names):
            column = whole.values[-16:, whole.names.index(name)]
            np.testing.assert_allclose(lines[name], column, rtol=0, atol=1e-9)


def test_opening_contacts_stay_visible() -> None:
    """Of a wheel with 48 points four touch at a time: a program compiled for six of them shows
    five.
    """
    angles = 2 * np.pi * np.arange(24) / 24
    rim = [(0.2 * np.cos(a), y, 0.2 * np.sin(a)) for a in angles for y in (-0.05, 0.05)]
    points = tuple(Candidate(f"p{k}", 0, np.array(at)) for k, at in enumerate(rim))
    inertia = Inertia(1.0, np.zeros(3), 0.02 * np.eye(3))
    body = Body("wheel", -1, Joint("root", "free"), inertia)
    simulation = tarsus.Simulation(tarsus.Robot("wheel", (body,), points), contacts="all")
    simulation.set(u=[1.0, 0.0, 0.0, 0.0, 5.0, 0.0])
    recorder = LiveRecorder(simulation)
    looked = [recorder.record(8).contacts.force for _ in range(12)]
    counts = [force.shape[2] for force in looked]
    assert sorted(counts) == counts and counts[-1] > counts[0]
    assert (looked[-1][-1, 0, :, 0] == 0).sum() >= 2  # some have opened


def test_the_page_does_not_affect_the_simulation(live: Live) -> None:
    live.reset()
    alone = tarsus.Simulation("mini_cheetah", controller="stand")
    alone.advance(0.0025)
    for _ in range(8):
        live.advance(5)
    alone.advance(0.1)
    np.testing.assert_array_equal(live.simulation.q, alone.q)


def test_a_push_is_an_impulse_of_its_force_and_time(live: Live) -> None:
    live.reset()
    robot = live.simulation.robot
    q = live.simulation.q
    q[2] += 1.0  # in the air
    live.simulation.set(q=q)
    before = robot.momentum(live.simulation.q, live.simulation.u)
    live.push((0, 1), 0.5)
    for _ in range(100):
        live.advance(1)
    momentum = robot.momentum(live.simulation.q, live.simulation.u) - before
    weight = robot.mass * 9.81
    assert momentum[1] == pytest.approx(0.5 * weight * live_page.PUSH_DURATION, rel=0.02)
    assert abs(momentum[0]) < 1e-5 * momentum[1]  # as straight as the trunk stands


def test_requests_are_handled_between_frames_and_invalid_ones_reported(live: Live) -> None:
    live.reset()
    said: list[str] = []
    live.notify = lambda title, text, seconds=0.0: said.append(text)  # type: ignore[method-assign]
    live.request(lambda: live.simulation.set(mu=-1.0))
    live.draw(0.0)
    assert len(said) == 1 and "mu" in said[0]
    q = live.simulation.q
    live.request(lambda: live.rebuild(replace(live.choice, law="compliant", dt=0.001)))
    live.playing = False
    live.draw(0.0)
    np.testing.assert_array_equal(live.simulation.q, q)
    assert live.simulation.dt == 0.001 and type(live.simulation.law).__name__ == "Compliant"
    live.request(lambda: live.rebuild(replace(live.choice, gait="walk")))  # a biped's
    live.draw(0.0)
    assert live.choice.gait == "stand" and "two feet" in said[-1]


def test_ports_in_use_are_skipped() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        if port < 60000:
            assert port < free_port("127.0.0.1", port) < port + 20
    with refused(InvalidValue, "port"):
        free_port("127.0.0.1", 70000)


def test_logs_with_equal_names_are_distinguished(tmp_path) -> None:
    names = [tmp_path / "a" / "trot.nc", tmp_path / "b" / "trot.nc", tmp_path / "stand.nc"]
    assert titles(names) == ["a/trot", "b/trot", "stand"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "`tarsus run`"),
        (["a.nc", "hyq"], "hyq"),
        (["hyq", "hoap1"], "not 2"),
        (["hoap"], "did you mean hoap1"),
        (["gone.nc"], "there is no file gone.nc"),
        (["mini_cheetah", "--port", "70000"], "port"),
    ],
)
def test_invalid_options_are_rejected(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["view", *arguments]) == 2
    error = capsys.readouterr().err
    assert said in error and error.count("\n") == 1


def test_run_view_shows_the_simulation_of_run(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tarsus.Simulation] = []

    def watched(make, choice, port=None) -> int:
        seen.append(make(choice))
        return 0

    monkeypatch.setattr(live_page, "watch", watched)
    asked = ["run", "mini_cheetah", "--view", "--friction", "0.4", "--slope", "5", "--speed", "0.2"]
    assert main(asked) == 0
    assert seen[0].law.parameters()["mu"] == 0.4 and seen[0].plan.pushed_bodies == ("base",)
    assert seen[0].backend.output("command")[0, 0] == pytest.approx(0.2)
    assert main(["run", "mini_cheetah", "--view", "--out", "x"]) == 2
    assert main(["run", "mini_cheetah", "--view", "--engine", "mujoco"]) == 2


def test_ctrl_c_ends_a_page(trot: Track, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(self: Playback) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Playback, "run", interrupted)
    before = threading.active_count()
    assert playback_page.watch([trot], ["trot"], Address(0)) == 0
    assert threading.active_count() <= before + 34  # the server's own threads end by themselves
