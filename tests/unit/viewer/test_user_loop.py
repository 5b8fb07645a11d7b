"""A page that follows the user's own loop."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
from helpers.refused import refused

import tarsus
from tarsus.errors import InvalidValue
from tarsus.viewer.track import OPEN


def test_the_page_shows_the_last_step_and_changes_nothing() -> None:
    simulation = tarsus.Simulation("mini_cheetah", controller="trot")
    alone = tarsus.Simulation("mini_cheetah", controller="trot")
    with tarsus.view(simulation, speed=None, port=0) as page:
        for _ in range(40):
            simulation.step()
            page.sync()
        track = page._recorder.look()
    alone.advance(40 * alone.dt)
    np.testing.assert_array_equal(simulation.q, alone.q)
    np.testing.assert_array_equal(track.q[0, 0], simulation.q)
    vertical = track.contacts.force[0, 0, :, 2]
    assert vertical.sum() == pytest.approx(alone.contact_force[:, 0].sum(), rel=1e-12)
    closed = track.contacts.phase[0, 0] != OPEN
    assert (vertical[~closed] == 0).all() and (vertical[closed] > 0).any()


def test_many_worlds_and_python_controllers_are_shown() -> None:
    def torques(t: float, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        return -0.1 * u[..., 6:]

    simulation = tarsus.Simulation("mini_cheetah", controller=torques, worlds=3)
    with tarsus.view(simulation, speed=None, port=0) as page:
        simulation.advance(0.05)
        page.sync()
        track = page._recorder.look()
    np.testing.assert_array_equal(track.q[0, 0], simulation.q[0])


def test_the_loop_runs_at_the_given_speed() -> None:
    """At most: a busy machine may be slower."""
    simulation = tarsus.Simulation("mini_cheetah", controller="stand")
    with tarsus.view(simulation, speed=2.0, port=0) as page:
        page.sync()
        begin, simulated = time.perf_counter(), simulation.time
        for _ in range(80):
            simulation.step()
            page.sync()
        assert time.perf_counter() - begin >= 0.9 * (simulation.time - simulated) / 2.0


def test_a_paused_page_holds_the_loop_until_it_resumes() -> None:
    simulation = tarsus.Simulation("mini_cheetah", controller="stand")
    with tarsus.view(simulation, speed=None, port=0) as page:
        page.pause()
        thread = threading.Thread(target=page.sync)
        thread.start()
        thread.join(0.3)
        assert thread.is_alive()
        page.pause(False)
        thread.join(10.0)
        assert not thread.is_alive()


def test_the_mouse_pulls_like_a_spring_until_it_lets_go() -> None:
    """A floating robot gains F t."""
    simulation = tarsus.Simulation("mini_cheetah", controller="stand", pushes=["base"])
    robot = simulation.robot
    q = simulation.q
    q[2] += 1.0
    simulation.set(q=q)
    with tarsus.view(simulation, speed=None, port=0) as page:
        drag = page._drag
        assert drag is not None
        drag.grab()
        drag.control.position = (q[0], q[1] + 0.1, q[2])
        page._show()
        pull = 0.1 * drag.stiffness
        simulation.step()
        momentum = robot.momentum(simulation.q, simulation.u)
        assert momentum[1] == pytest.approx(pull * simulation.dt, rel=1e-6)
        drag.release()
        page._show()
        simulation.step()
        assert robot.momentum(simulation.q, simulation.u)[1] == pytest.approx(momentum[1], rel=1e-6)


def test_speeds_that_are_not_positive_are_rejected() -> None:
    simulation = tarsus.Simulation("mini_cheetah", controller="stand")
    for speed in (0.0, -1.0, np.nan):
        with refused(InvalidValue, "speed"):
            tarsus.view(simulation, speed=speed)
