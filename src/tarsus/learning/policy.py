"""What was learned: a network, the scale of what it sees, and for which robot and task."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.errors import InvalidFile
from tarsus.files import atomic_write, is_file, json_text, read_npz
from tarsus.learning.network import Network
from tarsus.schema import (
    JsonValueRule,
    ListRule,
    NumberRule,
    TableRule,
    TextRule,
    error_context,
    parse_json,
)

Array = NDArray[np.float32]
FORMAT = "tarsus policy 1"
WIDEST = 1_000_000  # numbers of a layer
ARRAYS = {  # of a policy's file: kinds of NumPy's types, and how many dimensions
    "sizes": ("iu", 1),
    "own": ("iu", 0),
    **dict.fromkeys(("weights", "mean", "deviation"), ("f", 1)),
    "about": ("U", 0),
}
NAME = TextRule(longest=4096)
GAINS = ListRule(NumberRule(0, 1e9), max_items=10_000)
ABOUT = TableRule(  # what `Lesson.about` tells
    {
        **dict.fromkeys(("task", "robot", "law", "terrain", "method"), NAME),
        "dt": NumberRule(1e-6, 0.1),
        "seed": NumberRule(0, 2**63 - 1, whole=True),
        "settings": ListRule(NAME, max_items=1000),
        "gains": TableRule({"kp": GAINS, "kd": GAINS}, required=("kp", "kd")),
        "files": TableRule(others=TableRule({"file": NAME, "sha256": NAME}, required=("sha256",))),
        **dict.fromkeys(("action", "sees"), NumberRule(1, WIDEST, whole=True)),
        "parameters": TableRule(),
    }
)
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
        with atomic_write(Path(path)) as temporary, temporary.open("wb") as file:
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
            raise InvalidFile(
                f"there is no policy {file}: train one with `tarsus learn TASK --out DIR`.", file
            )
        found = read_npz(file)
        if str(found.get("format")) != FORMAT:
            raise InvalidFile(
                f"{file} is damaged or not a policy of Tarsus: train one with"
                " `tarsus learn TASK --out DIR`.",
                file,
            )
        with error_context(file):
            return _checked(cls, found)


def _checked(kind: type[Policy], found: Mapping[str, NDArray[Any]]) -> Policy:
    """The policy of a file's arrays; TarsusError, naming the array, for what does not fit."""
    # numbers of the right kind
    for name, (kinds, dimensions) in ARRAYS.items():
        if name not in found:
            raise InvalidFile(f"{name} is missing.", name)
        array = found[name]
        if array.dtype.kind not in kinds or array.ndim != dimensions:
            raise InvalidFile(
                f"{name} must have {dimensions} dimensions and the type {kinds[0]}, not"
                f" {array.ndim} and {array.dtype}.",
                name,
            )
    numbers = {name: found[name].astype(np.float32) for name in ("weights", "mean", "deviation")}
    for name, array in numbers.items():
        if not np.isfinite(array).all():
            raise InvalidFile(f"{name} must be finite.", name)
    sizes, own = tuple(found["sizes"].tolist()), int(found["own"])
    if len(sizes) < 2 or min(sizes) < 1 or max(sizes) > WIDEST or not 0 <= own <= WIDEST:
        raise InvalidFile(
            f"sizes must be two or more whole numbers from 1 to {WIDEST}, not {sizes}.", "sizes"
        )
    # that fit together
    network = Network(sizes, own)
    if found["weights"].shape != (network.count,):
        raise InvalidFile(
            f"weights must have the shape {(network.count,)} for the sizes {sizes}.", "weights"
        )
    for name in ("mean", "deviation"):
        if found[name].shape != sizes[:1]:
            raise InvalidFile(f"{name} must have the shape {sizes[:1]}.", name)
    if not (numbers["deviation"] > 0).all():
        raise InvalidFile("deviation must be above 0.", "deviation")
    about = parse_json("about", str(found["about"]))
    JsonValueRule().check("about", about)
    ABOUT.check("about", about)
    scale = SeenScale(numbers["mean"], numbers["deviation"])
    return kind(network, numbers["weights"], scale, about)
