"""Check and normalize quaternions that a user sets."""

from __future__ import annotations

from typing import Any

from tarsus.errors import InvalidValue
from tarsus.model.mechanism import Mechanism

MAX_NORM_ERROR = 0.01  # larger errors are rejected
NORM_TOLERANCE = 1e-6  # smaller errors are round-off, also in float32


def check_norms(mechanism: Mechanism, q: Any) -> None:
    """Raise InvalidValue unless the quaternions in q (..., nq) have length 1, within 1 %."""
    for q_slice, name in _find_quaternion_slices(mechanism):
        norms = (q[..., q_slice] ** 2).sum(-1) ** 0.5
        off = abs(norms - 1)
        if bool((off > MAX_NORM_ERROR).any()):
            worst = float(norms.ravel()[int(off.ravel().argmax())])
            raise InvalidValue(
                f"the quaternion (w, x, y, z) of {name!r} in q must have length 1, not {worst:.3g};"
                " upright is (1, 0, 0, 0).",
                "q",
            )


def normalize(mechanism: Mechanism, q: Any) -> Any:
    """Normalize the quaternions in q (..., nq); those of unit length are unchanged."""
    q = q.copy()
    for q_slice, _ in _find_quaternion_slices(mechanism):
        lengths = (q[..., q_slice] ** 2).sum(-1, keepdims=True) ** 0.5
        lengths[abs(lengths - 1) < NORM_TOLERANCE] = 1
        q[..., q_slice] /= lengths
    return q


def _find_quaternion_slices(mechanism: Mechanism) -> list[tuple[slice, str]]:
    """Find the slice of each quaternion in q, and the name of its joint."""
    return [
        (slice(q_slice.stop - 4, q_slice.stop), body.joint.name)
        for body, q_slice in zip(mechanism.bodies, mechanism.q_slices, strict=True)
        if body.joint.kind in ("free", "ball")
    ]
