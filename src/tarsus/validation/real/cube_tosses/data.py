"""The recordings: tosses of an acrylic cube onto a board, read from one NumPy archive.

One array a toss, its key the toss's number, (frames, 13) float64: unit quaternion (w, x, y, z),
cube to world; position of the center, m; angular velocity in the cube's axes, rad/s; linear
velocity, m/s, world. Frames are 1/148 s apart; z is up and the board near z = 0. Our coordinates
are the same numbers in another order.
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
MASS, EDGE = 0.37, 0.1048  # kg, m: as given with the data
INERTIA = 0.00081  # kg m^2, about each axis
GIVEN_MU = 0.15  # [1]: the friction coefficient given with the data
G = 9.81  # m/s^2
COLUMNS = 13
UNIT = 0.01  # [1]: how far a quaternion's length may be from 1
VARIABLE = "TARSUS_CUBE_TOSSES"
WHERE = (
    "it is published with ContactNets (Pfrommer 2020) in the repository DAIRLab/dair_pll, folder"
    " assets/contactnets_cube, commit 523d372d, BSD 3-Clause; docs/real_world.md says how to make"
    " the archive of it"
)


@dataclass(frozen=True, eq=False)
class Tosses:
    """Tosses, the shorter ones filled up with their last frame.

    names: numbers of the tosses
    q: coordinates (tosses, frames, 7): position, m, and quaternion
    u: velocities (tosses, frames, 6): linear, m/s, world; angular, rad/s, cube's axes
    length: frames of each (tosses,)
    """

    names: tuple[str, ...]
    q: Array
    u: Array
    length: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.names)

    @property
    def seen(self) -> NDArray[np.bool_]:
        """Which frames were recorded (tosses, frames)."""
        return np.arange(self.q.shape[1]) < self.length[:, None]

    def some(self, which: Sequence[int] | NDArray[np.int64]) -> Tosses:
        """Those with these indices."""
        at = np.asarray(which)
        return Tosses(
            tuple(self.names[int(i)] for i in at), self.q[at], self.u[at], self.length[at]
        )

    def starting(self, q: Array, u: Array) -> Tosses:
        """The same tosses with another first frame: q (tosses, 7), u (tosses, 6)."""
        both = self.q.copy(), self.u.copy()
        both[0][:, 0], both[1][:, 0] = q, u
        return replace(self, q=both[0], u=both[1])


def read(path: Path) -> Tosses:
    """Return the tosses of an archive, by number; InvalidFile if it is not one."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: np.asarray(archive[name]) for name in archive.files}
    except (OSError, ValueError, EOFError, AttributeError, zipfile.BadZipFile):
        raise InvalidFile(f"{path} is not a NumPy archive of tosses; {WHERE}.", path) from None
    return of(arrays, str(path))


def of(arrays: dict[str, NDArray], source: str = "the tosses") -> Tosses:
    """Tosses of arrays (frames, 13) by name; TarsusError for another shape or no motion."""
    if not arrays:
        raise InvalidFile(f"{source}: the archive holds no toss.", source)
    # each a motion of at least two frames
    for name, toss in arrays.items():
        if toss.ndim != 2 or toss.shape[1] != COLUMNS or len(toss) < 2:
            raise InvalidFile(
                f"{source}: the toss {name} must have shape (frames, {COLUMNS}) with at least two"
                f" frames, not {toss.shape}.",
                name,
            )
        if toss.dtype.kind != "f" or not np.isfinite(toss).all():
            raise InvalidFile(f"{source}: the toss {name} must hold finite numbers.", name)
        if np.abs(np.linalg.norm(toss[:, :4], axis=1) - 1).max() > UNIT:
            raise InvalidFile(
                f"{source}: the quaternions of the toss {name} must have length 1.", name
            )
    # in one array, in the order of their numbers
    names = sorted(arrays, key=lambda name: (len(name), name))
    length = np.array([len(arrays[name]) for name in names])
    filled = np.stack(
        [np.pad(arrays[n], ((0, length.max() - len(arrays[n])), (0, 0)), "edge") for n in names]
    ).astype(float)
    turn = filled[..., :4] / np.linalg.norm(filled[..., :4], axis=-1, keepdims=True)
    q = np.concatenate([filled[..., 4:7], turn], -1)
    u = np.concatenate([filled[..., 10:13], filled[..., 7:10]], -1)
    return Tosses(tuple(names), q, u, length)


def cube(rounding: float = 0.0) -> Mechanism:
    """The cube, touching with its eight corners; rounding: their radius, m."""
    return bodies.cube_of(MASS, EDGE / 2, INERTIA, rounding)
