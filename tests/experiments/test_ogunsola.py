"""Parts of `tarsus reproduce ogunsola` that its reduced version skips."""

from __future__ import annotations

import numpy as np

from tarsus_papers.ogunsola.drops import load_hyq
from tarsus_papers.ogunsola.scheme import _center_of_mass


def test_diverged_drops_have_no_center_of_mass() -> None:
    """The servos of held legs diverge at 2.5 ms; the other drops are still compared."""
    q = np.tile(np.asarray(load_hyq().keyframes["stand"], float), (3, 1))
    q[1] = np.nan
    center = _center_of_mass(q)
    assert np.isnan(center[1]).all()
    np.testing.assert_array_equal(center[[0, 2]], load_hyq().center_of_mass(q[[0, 2]]))
