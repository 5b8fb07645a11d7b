"""Bodies of milligrams move like large ones: the tolerance of the solver scales with their
weight.
"""

from __future__ import annotations

import numpy as np
import pytest
from helpers.free_body import free_body
from numpy.typing import NDArray

from tarsus import Simulation
from tarsus.contact.laws.moreau import Moreau

SCALE = 0.01
DT = 2.5e-3  # s


def tumbled(scale: float, solver: str) -> NDArray[np.float64]:
    """Coordinates of a tumbling block, positions relative to its size; time scales with the
    root of the size.
    """
    sides = " ".join(str(scale * side) for side in (0.2, 0.15, 0.05))
    block, root = free_body(f"type='box' size='{sides}'", 0.3 * scale), np.sqrt(scale)
    law = Moreau(mu=0.6, slop=5e-4 * scale, solver=solver)
    made = Simulation(block, law, dt=DT * root)
    lowered = "tolerance-lowered" in {notice.code for notice in made.warnings}
    assert lowered == (scale < 1)
    made.set(u=[root, 0.3 * root, 0, 2 / root, 1 / root, 0.5 / root])
    q = made.run(1.0 * root).q.values.copy()
    q[:, :3] /= scale
    return q


@pytest.mark.parametrize("solver", ["auto", "exact"])
def test_a_block_of_milligrams_tumbles_as_a_large_one(solver: str) -> None:
    """Froude's similarity; with the tolerance of large robots the trajectories differ by 0.1."""
    large, small = tumbled(1.0, solver), tumbled(SCALE, solver)
    steps = min(len(large), len(small))
    assert np.abs(large[:steps] - small[:steps]).max() < 1e-3


def test_an_explicit_tolerance_is_used_with_a_warning() -> None:
    block = free_body(f"type='box' size='{SCALE / 10} {SCALE / 10} {SCALE / 10}'", SCALE / 10)
    notices = Simulation(block, Moreau(T_abs=1e-5), dt=DT).warnings
    assert [n.subject for n in notices if n.code == "tolerance-above-weight"] == ["T_abs"]
