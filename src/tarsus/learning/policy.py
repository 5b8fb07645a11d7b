"""What was learned: a network, the scale of what it sees, and for which robot and task."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.errors import TarsusError
from tarsus.files import is_file, json_text, replacing
from tarsus.learning.network import Network

Array = NDArray[np.float32]
FORMAT = "tarsus policy 1"
CLIPPED = 5.0  # deviations from the mean: what is seen farther off counts as that


@dataclass(frozen=True, eq=False)
class SeenScale:
    """Mean (k,) and standard deviation (k,) of what is seen."""

    mean: Array
    deviation: Array

    def __call__(self, seen: Array) -> Array:
        """What is seen (..., k), of magnitude one."""
        x = np.asarray(seen, np.float32) - self.mean
        x /= self.deviation
        return np.clip(x, -CLIPPED, CLIPPED, out=x)


@dataclass(frozen=True, eq=False)
class Policy:
    """Actions from observations.

    network, weights (count,): of scaled observations
    scale: of the observations
    about: which task, robot, law, dt and gains it was learned with, as JSON has it
    """

    network: Network
    weights: Array
    scale: SeenScale
    about: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, observation: Any) -> Array:
        """Actions (..., n), without noise, for observations (..., k)."""
        return self.network(self.weights, self.scale(observation))

    def save(self, path: str | Path) -> None:
        """Write it to an .npz file, whole or not at all."""
        with replacing(Path(path)) as temporary, temporary.open("wb") as file:
            np.savez(
                file,
                format=np.array(FORMAT),
                sizes=np.array(self.network.sizes),
                weights=self.weights,
                own=np.array(self.network.own),
                mean=self.scale.mean,
                deviation=self.scale.deviation,
                about=np.array(json_text(self.about)),
            )

    @classmethod
    def load(cls, path: str | Path) -> Policy:
        """Read it from the file, or from the folder of `tarsus learn`; TarsusError if it cannot be
        read.
        """
        file = Path(path)
        file = file / "policy.npz" if os.path.isdir(file) else file
        if not is_file(file):
            raise TarsusError(f"there is no policy {file}: tarsus learn TASK --out DIR makes one.")
        try:
            with np.load(file, allow_pickle=False) as found:
                if str(found["format"]) != FORMAT:
                    raise KeyError("format")
                network = Network(tuple(found["sizes"].tolist()), int(found["own"]))
                weights, scale = found["weights"], SeenScale(found["mean"], found["deviation"])
                about = json.loads(str(found["about"]))
        except (OSError, KeyError, ValueError, EOFError, zipfile.BadZipFile):
            raise TarsusError(
                f"{file} is no policy of Tarsus, or is damaged: tarsus learn TASK --out DIR makes"
                " one."
            ) from None
        if weights.shape != (network.count,) or scale.mean.shape != network.sizes[:1]:
            raise TarsusError(f"{file}: the weights do not fit the network {network.sizes}.")
        return cls(network, weights, scale, about)
