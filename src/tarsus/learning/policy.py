"""Policies: a network, the scale of its observations, and the robot and task of its training."""

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
MAX_LAYER_SIZE = 1_000_000
ARRAYS = {  # arrays of a policy file: NumPy kinds, and number of dimensions
    "sizes": ("iu", 1),
    "free_weights": ("iu", 0),
    **dict.fromkeys(("weights", "mean", "deviation"), ("f", 1)),
    "metadata": ("U", 0),
}
NAME = TextRule(longest=4096)
GAINS = ListRule(NumberRule(0, 1e9), max_items=10_000)
METADATA = TableRule(  # metadata, as from `TrainingSpec.metadata`
    {
        **dict.fromkeys(("task", "robot", "law", "terrain", "method"), NAME),
        "dt": NumberRule(1e-6, 0.1),
        "seed": NumberRule(0, 2**63 - 1, integer=True),
        "settings": ListRule(NAME, max_items=1000),
        "gains": TableRule({"kp": GAINS, "kd": GAINS}, required=("kp", "kd")),
        "files": TableRule(others=TableRule({"file": NAME, "sha256": NAME}, required=("sha256",))),
        **dict.fromkeys(
            ("action_size", "observation_size"), NumberRule(1, MAX_LAYER_SIZE, integer=True)
        ),
        "parameters": TableRule(),
    }
)
CLIP_LIMIT = 5.0  # scaled observations are clipped to this many standard deviations


@dataclass(frozen=True, eq=False)
class ObservationScale:
    """Mean and standard deviation of observations, shape (k,) each."""

    mean: Array
    deviation: Array

    def __call__(self, observation: Array) -> Array:
        """Scale observations, shape (..., k), to magnitude one."""
        x = np.asarray(observation, np.float32) - self.mean
        x /= self.deviation
        return np.clip(x, -CLIP_LIMIT, CLIP_LIMIT, out=x)


@dataclass(frozen=True, eq=False)
class Policy:
    """Trained policy: actions from observations.

    Parameters
    ----------
    network : Network
        Network of scaled observations.
    weights : numpy.ndarray
        Its weights, shape (count,).
    scale : ObservationScale
        Scale of the observations.
    metadata : dict
        Metadata: task, robot, law, dt and servo gains of the training, as JSON values.

    Examples
    --------
    Train for one round, then act:

    >>> import numpy as np
    >>> import tarsus
    >>> env = tarsus.Environment("velocity", worlds=8)
    >>> learner = tarsus.PPO(worlds=8).create_learner(env, seed=0)
    >>> round = learner.run_round()
    >>> learner.policy.save("policy.npz")
    >>> policy = tarsus.Policy.load("policy.npz")
    >>> action = policy(env.reset())
    >>> action.shape
    (8, 12)
    """

    network: Network
    weights: Array
    scale: ObservationScale
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, observation: Any) -> Array:
        """Compute actions without noise, shape (..., n), for observations, shape (..., k)."""
        return self.network(self.weights, self.scale(observation))

    def save(self, path: str | Path) -> None:
        """Write the policy to an .npz file, completely or not at all."""
        with atomic_write(Path(path)) as temporary, temporary.open("wb") as file:
            np.savez(
                file,
                format=np.array(FORMAT),
                sizes=np.array(self.network.sizes),
                weights=self.weights,
                free_weights=np.array(self.network.free_weights),
                mean=self.scale.mean,
                deviation=self.scale.deviation,
                metadata=np.array(json_text(self.metadata)),
            )

    @classmethod
    def load(cls, path: str | Path) -> Policy:
        """Read a policy from its file, or from the folder of `tarsus learn`.

        Raises
        ------
        InvalidFile
            If the file is missing, damaged or not a policy.
        """
        file = Path(path)
        file = file / "policy.npz" if os.path.isdir(file) else file
        if not is_file(file):
            raise InvalidFile(
                f"there is no policy at {file}: train one with `tarsus learn TASK --out DIR`.", file
            )
        arrays = read_npz(file)
        if str(arrays.get("format")) != FORMAT:
            raise InvalidFile(
                f"{file} is damaged or not a policy of Tarsus: train one with"
                " `tarsus learn TASK --out DIR`.",
                file,
            )
        with error_context(file):
            return _check_arrays(cls, arrays)


def _check_arrays(kind: type[Policy], arrays: Mapping[str, NDArray[Any]]) -> Policy:
    """Create the policy of a file's arrays; raise InvalidFile that names an invalid array."""
    # types and finite numbers
    for name, (kinds, dimensions) in ARRAYS.items():
        if name not in arrays:
            raise InvalidFile(f"{name} is missing.", name)
        array = arrays[name]
        if array.dtype.kind not in kinds or array.ndim != dimensions:
            raise InvalidFile(
                f"{name} must have {dimensions} dimensions and the type {kinds[0]}, not"
                f" {array.ndim} and {array.dtype}.",
                name,
            )
    numbers = {name: arrays[name].astype(np.float32) for name in ("weights", "mean", "deviation")}
    for name, array in numbers.items():
        if not np.isfinite(array).all():
            raise InvalidFile(f"{name} must be finite.", name)
    sizes, free_weights = tuple(arrays["sizes"].tolist()), int(arrays["free_weights"])
    if (
        len(sizes) < 2
        or min(sizes) < 1
        or max(sizes) > MAX_LAYER_SIZE
        or not 0 <= free_weights <= MAX_LAYER_SIZE
    ):
        raise InvalidFile(
            f"sizes must be two or more whole numbers from 1 to {MAX_LAYER_SIZE}, not {sizes}.",
            "sizes",
        )
    # matching shapes
    network = Network(sizes, free_weights)
    if arrays["weights"].shape != (network.count,):
        raise InvalidFile(
            f"weights must have the shape {(network.count,)} for the sizes {sizes}.", "weights"
        )
    for name in ("mean", "deviation"):
        if arrays[name].shape != sizes[:1]:
            raise InvalidFile(f"{name} must have the shape {sizes[:1]}.", name)
    if not (numbers["deviation"] > 0).all():
        raise InvalidFile("deviation must be above 0.", "deviation")
    metadata = parse_json("metadata", str(arrays["metadata"]))
    JsonValueRule().check("metadata", metadata)
    METADATA.check("metadata", metadata)
    scale = ObservationScale(numbers["mean"], numbers["deviation"])
    return kind(network, numbers["weights"], scale, metadata)
