"""Reference motions for motion-tracking policies: joints and base over time, from an .npz file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tarsus.errors import InvalidFile
from tarsus.files import read_npz

Array = NDArray[np.float64]
WIDTHS = {"joint_pos": None, "joint_vel": None, "base_pos": 3, "base_quat": 4}


@dataclass(frozen=True, eq=False)
class ReferenceMotion:
    """Motion of joints and base, sampled at a constant rate.

    Parameters
    ----------
    rate : float
        Sampling rate, Hz.
    samples : dict
        Arrays joint_pos and joint_vel (n, joints), base_pos (n, 3) and base_quat (n, 4), w first.
    """

    rate: float
    samples: dict[str, Array]

    @staticmethod
    def load(path: str | Path) -> ReferenceMotion:
        """Read an .npz file with `fps` and the samples; raise InvalidFile for an invalid array."""
        arrays = read_npz(Path(path))
        rate = float(np.ravel(arrays.get("fps", 0.0))[0])
        if not (np.isfinite(rate) and 0 < rate < 1e5):
            raise InvalidFile(f"{path}: fps must be a positive number.", "fps")
        samples = {}
        for name, width in WIDTHS.items():
            if name not in arrays:
                continue
            array = np.asarray(arrays[name], float)
            if array.ndim != 2 or (width and array.shape[1] != width) or not len(array):
                columns = "" if width is None else f" and {width} columns"
                raise InvalidFile(
                    f"{path}: {name} must have two dimensions, at least one row{columns}.", name
                )
            if not np.isfinite(array).all():
                raise InvalidFile(f"{path}: {name} must be finite.", name)
            samples[name] = array
        if not samples or len({len(array) for array in samples.values()}) > 1:
            raise InvalidFile(
                f"{path}: give arrays with equal numbers of rows, such as joint_pos.", path
            )
        return ReferenceMotion(rate, samples)

    def sample(self, time: float) -> dict[str, Array]:
        """Select the sample (1, n) of each array that is closest to a time in s.

        After the end of the motion, it is the last sample.
        """
        k = round(time * self.rate)
        return {name: a[min(k, len(a) - 1)][None] for name, a in self.samples.items()}
