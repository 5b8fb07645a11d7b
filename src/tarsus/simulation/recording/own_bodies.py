"""What a log shows of bodies that went through each other, for their robot does not meet itself."""

from __future__ import annotations

import numpy as np
import xarray as xr

from tarsus.errors import Notice, several
from tarsus.model.mechanism import Mechanism
from tarsus.morphology.passed_through import passed_through

SOME = 3  # names that a notice shows


def notices(mechanism: Mechanism, log: xr.Dataset) -> list[Notice]:
    """A warning for shapes of the robot (before cuts) that its file lets touch, and that went
    through each other without self-collision.
    """
    end = "_uncut" if "q_uncut" in log else ""
    q = np.asarray(log[f"q{end}"].values, float).reshape(-1, mechanism.nq)
    start = q[:1] if end else np.asarray(log["q_start"].values, float).reshape(-1, mechanism.nq)
    found = passed_through(mechanism, start, q)
    if not found:
        return []
    named = [f"{p.first.name}:{p.second.name} (by {1e3 * deep:.3g} mm)" for p, deep in found]
    text = (
        f"shapes of {mechanism.name!r} passed through each other although they can collide:"
        f" {several(named, SOME)}. Use self_collision=True, or --self-collision."
    )
    return [Notice(text, "passed-through-itself", found[0][0].first.name)]
