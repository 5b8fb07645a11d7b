"""Recorded tosses of an acrylic cube onto a board, read from a NumPy archive.

The archive holds one array per toss, whose key is the number of the toss, of shape (frames, 13) and
type float64: unit quaternion (w, x, y, z) from cube to world; position of the center, m; angular
velocity in the cube's axes, rad/s; linear velocity in world axes, m/s. Frames are 1/148 s apart; z
is up and the board is near z = 0. Coordinates of Tarsus hold the same values in a different order.
"""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tarsus.errors import InvalidFile
from tarsus.model.mechanism import Mechanism
from tarsus.validation import bodies

Array = NDArray[np.float64]
FRAME = 1 / 148  # s
MASS, EDGE = 0.37, 0.1048  # kg, m, published with the data
INERTIA = 0.00081  # kg m^2, about each axis
GIVEN_MU = 0.15  # [1], friction coefficient published with the data
G = 9.81  # m/s^2
COLUMNS = 13
QUATERNION_TOLERANCE = 0.01  # allowed deviation from unit length
VARIABLE = "TARSUS_CUBE_TOSSES"
WHERE = (
    "it is published with ContactNets (Pfrommer 2020) in the repository DAIRLab/dair_pll, folder"
    " assets/contactnets_cube, commit 523d372d, BSD 3-Clause; docs/real_world.md describes how to"
    " convert it to an archive"
)


@dataclass(frozen=True, eq=False)
class Tosses:
    """Recorded tosses; shorter ones are padded with their last frame."""

    names: tuple[str, ...]
    """Numbers of the tosses."""
    q: Array
    """Coordinates (tosses, frames, 7): position in m, and quaternion."""
    u: Array
    """Velocities (tosses, frames, 6): linear in world axes, m/s; angular in cube axes, rad/s."""
    length: NDArray[np.int64]
    """Number of frames of each toss, shape (tosses,)."""

    def __len__(self) -> int:
        return len(self.names)

    @property
    def recorded(self) -> NDArray[np.bool_]:
        """Mask of recorded frames, shape (tosses, frames); false for padding."""
        return np.arange(self.q.shape[1]) < self.length[:, None]

    def select(self, indices: Sequence[int] | NDArray[np.int64]) -> Tosses:
        """Select tosses by index."""
        i = np.asarray(indices)
        return Tosses(tuple(self.names[int(k)] for k in i), self.q[i], self.u[i], self.length[i])

    def with_start(self, q: Array, u: Array) -> Tosses:
        """Replace the first frame of every toss by q (tosses, 7) and u (tosses, 6)."""
        both = self.q.copy(), self.u.copy()
        both[0][:, 0], both[1][:, 0] = q, u
        return replace(self, q=both[0], u=both[1])


def read(path: Path) -> Tosses:
    """Read the tosses of an archive, sorted by number; raise InvalidFile for other files."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: np.asarray(archive[name]) for name in archive.files}
    except (OSError, ValueError, EOFError, AttributeError, zipfile.BadZipFile):
        raise InvalidFile(f"{path} is not a NumPy archive of tosses; {WHERE}.", path) from None
    return from_arrays(arrays, str(path))


def from_arrays(arrays: dict[str, NDArray], source: str = "the tosses") -> Tosses:
    """Build tosses from arrays (frames, 13) by number; raise InvalidFile for invalid arrays."""
    if not arrays:
        raise InvalidFile(f"{source}: the archive contains no tosses.", source)
    # check shape and values
    for name, toss in arrays.items():
        if toss.ndim != 2 or toss.shape[1] != COLUMNS or len(toss) < 2:
            raise InvalidFile(
                f"{source}: the toss {name} must have shape (frames, {COLUMNS}) with at least two"
                f" frames, not {toss.shape}.",
                name,
            )
        if toss.dtype.kind != "f" or not np.isfinite(toss).all():
            raise InvalidFile(f"{source}: the toss {name} must contain finite numbers.", name)
        if np.abs(np.linalg.norm(toss[:, :4], axis=1) - 1).max() > QUATERNION_TOLERANCE:
            raise InvalidFile(
                f"{source}: the quaternions of the toss {name} must have length 1.", name
            )
    # combine in one array, sorted by number
    names = sorted(arrays, key=lambda name: (len(name), name))
    length = np.array([len(arrays[name]) for name in names])
    padded = np.stack(
        [np.pad(arrays[n], ((0, length.max() - len(arrays[n])), (0, 0)), "edge") for n in names]
    ).astype(float)
    quaternion = padded[..., :4] / np.linalg.norm(padded[..., :4], axis=-1, keepdims=True)
    q = np.concatenate([padded[..., 4:7], quaternion], -1)
    u = np.concatenate([padded[..., 10:13], padded[..., 7:10]], -1)
    return Tosses(tuple(names), q, u, length)


def cube(rounding: float = 0.0) -> Mechanism:
    """Build the cube with contacts at its eight corners, rounded with a radius in m."""
    return bodies.create_cube(MASS, EDGE / 2, INERTIA, rounding)
