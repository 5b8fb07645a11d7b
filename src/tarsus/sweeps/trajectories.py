"""Trajectories that a sweep keeps: the log of one world each, as `Simulation.run` writes it.

Which worlds are kept is known when their outcomes are; those are run again, each alone, with a log.
They have the same bits as in their batch (docs/decisions/0002), so the log is of what was measured.
Who worked on it, when and how long is left out: the bytes depend on the chunk alone.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tarsus.errors import TarsusError, TarsusWarning
from tarsus.simulation.recording.divergence import Diverged
from tarsus.sweeps.built import ChunkPush, built
from tarsus.sweeps.groups import Chunk

if TYPE_CHECKING:
    import xarray as xr

Array = NDArray[Any]
ALL, FAILED = "all", "failed"
OTHERWISE = ("command_line", "processor", "wall_time")  # of a log, where it differs by worker


@dataclass(frozen=True)
class TrajectoryFile:
    """A netCDF file: its name, and its bytes."""

    name: str
    content: bytes


def trajectories(
    chunk: Chunk, measured: Mapping[str, Array], failure: Sequence[str | None]
) -> dict[int, TrajectoryFile]:
    """The logs of a chunk's worlds that are kept, by sample.

    measured: outcomes by name, (worlds,); failure: why a world failed
    """
    found: dict[int, TrajectoryFile] = {}
    for k in np.flatnonzero(kept(chunk, measured, failure)).tolist():
        log = logged(chunk.part(k, k + 1))
        if log is not None:
            content = bytes(log.to_netcdf(engine="scipy"))
            found[chunk.samples[k]] = TrajectoryFile(f"{chunk.samples[k]}.nc", content)
    return found


def kept(
    chunk: Chunk, measured: Mapping[str, Array], failure: Sequence[str | None]
) -> NDArray[np.bool_]:
    """Which worlds of a chunk keep their trajectory (worlds,)."""
    keep = chunk.keep
    if not isinstance(keep, str):
        return np.isin(chunk.samples, keep)
    if keep in ("", ALL):
        return np.full(len(chunk), keep == ALL)
    if keep == FAILED:
        return np.array([reason is not None for reason in failure])
    value = np.asarray(measured[keep], float)
    return np.isfinite(value) & (value != 0)


def logged(one: Chunk) -> xr.Dataset | None:
    """The log of a chunk of one world, up to where it left the physical range; None if it has not
    one step.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TarsusWarning)  # the batch has told them
            simulation = built(one)
            push, dt = ChunkPush(one, simulation.dt), simulation.dt
            pushing = None if push.body is None else lambda t: push.at(round(t / dt))
            log = simulation.run(one.structure["seconds"], push=pushing)
    except Diverged as ended:
        log = ended.log
    except TarsusError:  # its parameters were refused, as its row says
        log = None
    if log is None:
        return None
    attributes = {name: v for name, v in log.attrs.items() if name not in OTHERWISE}
    return log.drop_attrs(deep=False).assign_attrs({**attributes, "sample": int(one.samples[0])})
