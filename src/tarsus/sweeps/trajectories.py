"""Saved trajectories of a sweep: the log of one world each, as `Simulation.run` writes it.

Once the outcomes are known, the selected worlds are simulated again, each alone and with a log.
Their results are bit-identical to those in the batch (docs/decisions/0002), so the log shows what
was measured. Attributes that depend on the worker are removed, so that the bytes depend on the
chunk alone.
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
from tarsus.sweeps.chunk_simulation import ChunkPush, chunk_simulation
from tarsus.sweeps.groups import Chunk

if TYPE_CHECKING:
    import xarray as xr

Array = NDArray[Any]
ALL, FAILED = "all", "failed"
WORKER_ATTRIBUTES = ("command_line", "processor", "wall_time")  # of a log, which vary by worker


@dataclass(frozen=True)
class TrajectoryFile:
    """Name and content of a netCDF file."""

    name: str
    content: bytes


def simulate_trajectories(
    chunk: Chunk, measured: Mapping[str, Array], failure: Sequence[str | None]
) -> dict[int, TrajectoryFile]:
    """Simulate the saved trajectories of a chunk, by sample.

    Parameters
    ----------
    chunk
        Worlds of the chunk.
    measured
        Outcomes by name, each of shape (worlds,).
    failure
        Reason why each world failed, or None.
    """
    files: dict[int, TrajectoryFile] = {}
    for k in np.flatnonzero(select_worlds(chunk, measured, failure)).tolist():
        log = simulate_log(chunk.part(k, k + 1))
        if log is not None:
            content = bytes(log.to_netcdf(engine="scipy"))
            files[chunk.samples[k]] = TrajectoryFile(f"{chunk.samples[k]}.nc", content)
    return files


def select_worlds(
    chunk: Chunk, measured: Mapping[str, Array], failure: Sequence[str | None]
) -> NDArray[np.bool_]:
    """Find the worlds of a chunk whose trajectory is saved, shape (worlds,)."""
    keep = chunk.keep
    if not isinstance(keep, str):
        return np.isin(chunk.samples, keep)
    if keep in ("", ALL):
        return np.full(len(chunk), keep == ALL)
    if keep == FAILED:
        return np.array([reason is not None for reason in failure])
    value = np.asarray(measured[keep], float)
    return np.isfinite(value) & (value != 0)


def simulate_log(world: Chunk) -> xr.Dataset | None:
    """Simulate the log of a chunk of one world until it diverges; None if it has no step."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TarsusWarning)  # reported by the batch
            simulation = chunk_simulation(world)
            push, dt = ChunkPush(world, simulation.dt), simulation.dt
            push_at = None if push.body is None else lambda t: push.at(round(t / dt))
            log = simulation.run(world.structure["seconds"], push=push_at)
    except Diverged as error:
        log = error.log
    except TarsusError:  # invalid parameters, which its row reports
        log = None
    if log is None:
        return None
    attributes = {name: v for name, v in log.attrs.items() if name not in WORKER_ATTRIBUTES}
    return log.drop_attrs(deep=False).assign_attrs({**attributes, "sample": int(world.samples[0])})
