"""Hinges without mass between them are reported where their axes align, because M is singular
there.
"""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np
import pytest

from tarsus.errors import TarsusWarning
from tarsus.model.mass_matrix import mass_matrix
from tarsus.model.mechanism import Mechanism
from tarsus.model.read import read

INERTIA = '<inertia ixx="0.1" iyy="0.2" izz="0.25"/>'
MIDDLE = "-1.2 2.2"
AXES = ("0 0 1", "1 0 0", "0.6 0.8 0")


def arm(
    middle: str = MIDDLE, axes: tuple[str, str, str] = AXES, offset: str = "0 0 0", mass: str = ""
) -> str:
    """A floating trunk and an arm on three hinges, with mass between them on request."""
    solid = f'<inertial><mass value="1"/>{INERTIA}</inertial>'
    lower, upper = middle.split()
    links = (
        f'<link name="trunk">{solid}</link><link name="v1">{mass}</link><link name="v2"/>'
        f'<link name="arm">{solid}</link>'
    )
    text = ""
    ends = zip(("trunk", "v1", "v2"), ("v1", "v2", "arm"), axes, strict=True)
    for name, (parent, child, axis) in zip("abc", ends, strict=True):
        at = offset if name == "c" else "0 0 0"
        range_ = f'<limit lower="{lower}" upper="{upper}" effort="9" velocity="9"/>'
        text += (
            f'<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/>'
            f'<origin xyz="{at}" rpy="0 0.3 0"/><axis xyz="{axis}"/>{range_}</joint>'
        )
    return f'<robot name="r">{links}{text}</robot>'


def loaded(text: str, folder: Path) -> tuple[Mechanism, list[str]]:
    path = folder / "r.urdf"
    path.write_text(text)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always", TarsusWarning)
        mechanism = read(path)
    told = [w.message for w in seen if isinstance(w.message, TarsusWarning)]
    return mechanism, [str(w) for w in told if w.code == "aligned-massless-hinges"]


def smallest(mechanism: Mechanism, angle: float) -> float:
    """The least eigenvalue of the mass matrix of joints a, b, c with b at an angle, kg m^2."""
    q = np.zeros(mechanism.nq)
    q[3] = 1.0  # quaternion (w, x, y, z) behind the position
    q[-2] = angle
    return float(np.linalg.eigvalsh(mass_matrix(mechanism, q))[0])


def test_the_mass_matrix_is_singular_at_the_reported_angle(tmp_path: Path) -> None:
    mechanism, (said,) = loaded(arm(), tmp_path)
    assert "hinges 'a', 'b' and 'c' at 'b' =" in said
    found = re.search(r"'b' = (-?[\d.]+) rad", said)
    assert found
    told = float(found[1])
    angles = np.linspace(-1.2, 2.2, 3401)
    least = [smallest(mechanism, angle) for angle in angles]
    assert angles[np.argmin(least)] == pytest.approx(told, abs=0.006)  # told to 0.01 rad
    assert min(least) < 1e-6 < 1e-2 < max(least)


@pytest.mark.parametrize(
    "robot",
    [
        arm("-0.1 0.1"),  # the middle hinge does not get there
        arm(offset="0.1 0 0"),  # axes that do not meet
        arm(mass=f'<inertial><mass value="1"/>{INERTIA}</inertial>'),
    ],
    ids=["range", "offset", "mass"],
)
def test_no_warning_if_something_always_resists(robot: str, tmp_path: Path) -> None:
    mechanism, said = loaded(robot, tmp_path)
    assert not said
    lower, upper = mechanism.bodies[2].joint.lower, mechanism.bodies[2].joint.upper
    assert min(smallest(mechanism, angle) for angle in np.linspace(lower, upper, 201)) > 1e-4
