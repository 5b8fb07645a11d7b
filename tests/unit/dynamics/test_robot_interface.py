"""Interface of robots: shapes, error messages, contacts by name, loading, the readable table."""

from __future__ import annotations

import pickle
import subprocess
import sys
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.refused import refused

from tarsus.dynamics.robot import Robot
from tarsus.errors import InvalidFile, InvalidModel, InvalidValue, TarsusError, UnknownName
from tarsus.model.mechanism import Mechanism
from tarsus.model.to_mjcf import to_mjcf
from tarsus.robots import load, mini_cheetah
from tarsus.simulation.simulation import Simulation

ROBOT = load("mini_cheetah")
Q, U = ROBOT.keyframes["stand"], np.zeros(18)


def with_entry(values: np.ndarray, at: Any, value: float) -> np.ndarray:
    changed = values.copy()
    changed[at] = value
    return changed


@pytest.mark.parametrize(
    ("question", "kind", "subject"),
    [
        (lambda: ROBOT.mass_matrix(Q[:18]), InvalidValue, "q"),
        (
            lambda: ROBOT.gravity(np.zeros((2, 3, 19))),
            InvalidValue,
            "q",
        ),
        (lambda: ROBOT.gravity(1.0), InvalidValue, "q"),
        (lambda: ROBOT.keyframes["stant"], UnknownName, "stant"),
        (lambda: ROBOT.bias(Q, np.zeros(19)), InvalidValue, "u"),
        (
            lambda: ROBOT.external_force(Q, "base", np.zeros(3)),
            InvalidValue,
            "wrench",
        ),
        (
            lambda: ROBOT.bias(np.tile(Q, (2, 1)), np.zeros((3, 18))),
            InvalidValue,
            "q",
        ),
        (lambda: ROBOT.bias(Q, with_entry(U, 4, np.nan)), InvalidValue, "u"),
        (
            lambda: ROBOT.gravity(with_entry(np.tile(Q, (3, 1)), (1, 7), -np.inf)),
            InvalidValue,
            "q",
        ),
        (
            lambda: ROBOT.gravity(np.zeros(19)),
            InvalidValue,
            "q",
        ),
        (lambda: ROBOT.gravity("up"), InvalidValue, "q"),
        (
            lambda: ROBOT.jacobian(Q, "FR_fot"),
            UnknownName,
            "FR_fot",
        ),
        (
            lambda: ROBOT.integrate(Q, U, np.nan),
            InvalidValue,
            "dt",
        ),
        (lambda: ROBOT.integrate(Q, U, [0.1, 0.2]), InvalidValue, "dt"),
        (
            lambda: ROBOT.with_contacts("FR_fot"),
            UnknownName,
            "FR_fot",
        ),
        (
            lambda: ROBOT.with_contacts(["FR_foot", "hand*"]),
            UnknownName,
            "hand*",
        ),
        (lambda: ROBOT.with_contacts(3), UnknownName, "3"),
        (lambda: ROBOT.with_contacts([None]), UnknownName, "None"),
        (lambda: Simulation(ROBOT, keyframe=0), UnknownName, "0"),
        (
            lambda: load("mini_chetah"),
            UnknownName,
            "mini_chetah",
        ),
        (lambda: load("nothing_like_it.urdf"), InvalidFile, "nothing_like_it.urdf"),
    ],
)
def test_mistakes_are_reported_by_name(
    question: Any, kind: type[TarsusError], subject: str
) -> None:
    with refused(kind, subject):
        question()


def test_single_states_and_batches() -> None:
    many = np.tile(Q, (5, 1))
    assert ROBOT.bias(many, U).shape == ROBOT.bias(Q, np.tile(U, (5, 1))).shape == (5, 18)
    assert ROBOT.mass_matrix(many[:1]).shape == (1, 18, 18)
    assert ROBOT.mass_matrix(many[:0]).shape == (0, 18, 18)
    assert ROBOT.mass_matrix(Q.tolist()).shape == (18, 18)
    assert np.shape(ROBOT.potential_energy(Q)) == () and ROBOT.potential_energy(many).shape == (5,)


def test_results_are_copies() -> None:
    first = ROBOT.mass_matrix(Q)
    kept = first.copy()
    first[:] = 0
    other = ROBOT.mass_matrix(with_entry(Q, 8, 1.0))
    assert np.array_equal(ROBOT.mass_matrix(Q), kept) and not np.array_equal(other, kept)


def test_the_cache_of_compiled_code_is_bounded() -> None:
    robot = Robot.of(mini_cheetah.describe())
    robot.gravity(Q)
    worlds = dict(robot._compute._worlds)
    robot.gravity(-Q)
    assert robot._compute._worlds == worlds
    for count in range(1, 80):
        assert robot.coordinate_rate(np.tile(Q, (count, 1)), U).shape == (count, 19)
    assert len(robot._compute._worlds) <= 64


def test_a_robot_is_a_mechanism() -> None:
    described = mini_cheetah.describe()
    robot = Robot.of(described)
    assert isinstance(robot, Mechanism) and Robot.of(robot) is robot
    assert robot.bodies is described.bodies and robot.name == "mini_cheetah"
    height = robot.potential_energy(Q)
    for copy in (deepcopy(robot), pickle.loads(pickle.dumps(robot)), replace(robot, notes=())):
        assert isinstance(copy, Robot) and "_compute" not in vars(copy)
        assert copy.potential_energy(Q) == height


def test_contacts_by_name_and_pattern() -> None:
    def names(robot: Robot) -> list[str]:
        return [candidate.name for candidate in robot.candidates]

    assert names(ROBOT.with_contacts("HL_foot")) == ["HL_foot"]
    assert names(ROBOT.with_contacts(["HL_foot", "F*_foot"])) == ["FR_foot", "FL_foot", "HL_foot"]
    assert names(ROBOT.with_contacts("*")) == names(ROBOT)
    assert names(ROBOT.with_contacts([])) == []
    assert isinstance(ROBOT.with_contacts("*"), Robot)


def test_the_readable_table() -> None:
    table = ROBOT.describe()
    assert (
        "mini_cheetah: 13 bodies, 18 degrees of freedom (floating base), 8.912 kg, 12 motors"
        in table
    )
    [row] = [line for line in table.splitlines() if line.startswith("FR_shank")]
    assert row.split() == [
        "FR_shank",
        "FR_thigh",
        "FR_knee_joint",
        "hinge",
        "0.064",
        "-2.705",
        "..",
        "2.705",
        "rad",
        "-26",
        "..",
        "26",
        "N",
        "m",
    ]
    assert "FR_foot, FL_foot, HR_foot, HL_foot" in table and "keyframes: stand" in table


def test_load_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "cheetah.xml"
    file.write_text(to_mjcf(ROBOT))
    robot = load(file)
    assert isinstance(robot, Robot)
    assert np.allclose(robot.mass_matrix(Q), ROBOT.mass_matrix(Q), rtol=0, atol=1e-12)
    assert load(str(file)).name == "mini_cheetah"


def test_listing_robots_is_fast() -> None:
    code = (
        "import sys; from tarsus import registry; assert 'mini_cheetah' in"
        " registry.names('tarsus.robots');assert not {'casadi', 'llvmlite', 'mujoco', 'numpy'} &"
        " set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_free_body_has_the_pose_of_q() -> None:
    base = ROBOT.bodies[0]
    moved = replace(
        ROBOT, bodies=(replace(base, position=np.array([0.0, 0.0, 1.0])), *ROBOT.bodies[1:])
    )
    with refused(InvalidModel, "base"):
        moved.mass_matrix(Q)


def test_robots_without_collisions_are_reported() -> None:
    """An empty list is taken at its word, once for all of a floating robot."""
    falling = Simulation("mini_cheetah", contacts=[])
    [told] = falling.warnings
    assert (told.code, told.subject) == ("no-contacts", "mini_cheetah")
    falling.advance(0.25)
    assert falling.u[2] == pytest.approx(-9.81 * 0.25, rel=1e-3)
    with refused(UnknownName, "L*"):
        Simulation("mini_cheetah", contacts=["L*"])
