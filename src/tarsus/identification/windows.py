"""Windows: short pieces of logs with their own starts, too short for contact chaos to grow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.errors import InvalidValue, UnmetCondition, unknown_name_error
from tarsus.identification.recording import MotionLog
from tarsus.model.mechanism import Mechanism
from tarsus.parameters.checks import check_positive

Array = NDArray[np.float64]
DEFAULT_NOISE_Q, DEFAULT_NOISE_U = 1e-3, 1e-2  # m and rad; m/s and rad/s: noise of starts
GROUPS = ("position", "attitude", "joints")


@dataclass(frozen=True, eq=False)
class Noise:
    """Standard deviations of the compared quantities; None for a quantity that is not compared.

    Attributes
    ----------
    q, u
        Standard deviations of coordinates, in m and rad, and velocities, in m/s and rad/s, shape
        (nu,).
    force
        Standard deviation of contact forces, in N.
    """

    q: Array | None
    u: Array | None
    force: float | None

    @property
    def starts(self) -> Array:
        """Standard deviations of the start of a window, shape (2 nu,)."""
        size = len(self.q if self.q is not None else self.u if self.u is not None else ())
        q = np.full(size, DEFAULT_NOISE_Q) if self.q is None else self.q
        u = np.full(size, DEFAULT_NOISE_U) if self.u is None else self.u
        return np.concatenate([q, u])


def read_noise(table: Mapping[str, Any], mechanism: Mechanism) -> Noise:
    """Read the noise of the table [compare].

    q and u are numbers, or tables { position, attitude, joints }; force is a number.
    """
    for name in table:
        if name not in ("q", "u", "force"):
            raise unknown_name_error("entry of [compare]", name, ("q", "u", "force"))
    if not {"q", "u"} & set(table):
        raise InvalidValue(
            "[compare] must give the noise of q or u, such as q = 0.001, u = 0.01.", "compare"
        )
    q, u = (_expand_noise(n, table[n], mechanism) if n in table else None for n in ("q", "u"))
    force = check_positive("compare.force", table["force"]) if "force" in table else None
    return Noise(q, u, force)


def _expand_noise(name: str, table: Any, mechanism: Mechanism) -> Array:
    """Expand the noise to one number for each velocity."""
    if not isinstance(table, Mapping):
        return np.full(mechanism.nu, check_positive(f"compare.{name}", table))
    for key in table:
        if key not in GROUPS:
            raise unknown_name_error(f"entry of compare.{name}", key, GROUPS)
    noise = np.zeros(mechanism.nu)
    for body, velocities in zip(mechanism.bodies, mechanism.u_slices, strict=True):
        kinds = {"free": ["position"] * 3 + ["attitude"] * 3, "ball": ["attitude"] * 3}
        for k, group in enumerate(kinds.get(body.joint.kind, ["joints"] * body.joint.nu)):
            if group not in table:
                raise InvalidValue(
                    f"compare.{name} must give the noise of {group} for this robot.",
                    f"compare.{name}.{group}",
                )
            noise[velocities.start + k] = check_positive(f"compare.{name}.{group}", table[group])
    return noise


@dataclass(frozen=True, eq=False)
class Windows:
    """Windows of one length.

    Attributes
    ----------
    logs
        The logs.
    indices
        Index of each window's log, shape (W,).
    first
        Sample at which each window starts, shape (W,).
    length
        Number of samples after the start.
    skipped
        Number of these that are not compared, until errors of the logged start have decayed.
    """

    logs: tuple[MotionLog, ...]
    indices: NDArray[np.int64]
    first: NDArray[np.int64]
    length: int
    skipped: int = 0

    def __len__(self) -> int:
        return len(self.first)

    def subset(self, selection: Any) -> Windows:
        """Select the windows of a mask or of indices."""
        return replace(self, indices=self.indices[selection], first=self.first[selection])

    def cut(self, name: str) -> Array:
        """Cut q, u or action from start to end of each window, shape (length + 1, W, size)."""
        arrays = [getattr(log, name) for log in self.logs]
        parts = zip(self.indices, self.first, strict=True)
        return np.stack([arrays[i][f : f + self.length + 1] for i, f in parts], 1)

    def cut_lead(self, name: str, lead: int) -> Array:
        """Cut the `lead` samples before each start and the start, shape (lead + 1, W, size).

        Samples before the start of a log are replaced by its first one.
        """
        arrays = [getattr(log, name) for log in self.logs]
        offsets = np.arange(-lead, 1)
        parts = zip(self.indices, self.first, strict=True)
        return np.stack([arrays[i][np.maximum(f + offsets, 0)] for i, f in parts], 1)


def cut_windows(
    logs: Sequence[MotionLog], seconds: float, every: float | None, limit: int
) -> Windows:
    """Cut logs into windows.

    Parameters
    ----------
    logs
        The logs.
    seconds
        Duration of a window, in s.
    every
        Time between starts, in s; None: one window after another.
    limit
        Largest number of windows, evenly chosen.

    Raises
    ------
    UnmetCondition
        If no log is long enough, or their sample times differ.
    """
    dt = logs[0].dt
    for log in logs:
        if abs(log.dt - dt) > 1e-6 * dt:
            raise UnmetCondition(
                f"the logs have different sample times, {dt:g} and {log.dt:g} s: set log.sample to"
                " a multiple of both.",
                "log.sample",
            )
    length = max(round(seconds / dt), 1)
    step = max(round((seconds if every is None else every) / dt), 1)
    indices, first = [], []
    for k, log in enumerate(logs):
        starts = range(0, len(log) - length, step)
        indices += [k] * len(starts)
        first += list(starts)
    if not first:
        raise UnmetCondition(
            f"no log is as long as a window of {seconds:g} s: choose a shorter search.window.",
            "search.window",
        )
    if len(first) > limit:
        chosen = np.unique(np.linspace(0, len(first) - 1, limit).round().astype(int))
        indices, first = [indices[k] for k in chosen], [first[k] for k in chosen]
    return Windows(tuple(logs), np.array(indices), np.array(first), length)


def split_held_out(windows: Windows, share: float, seed: int) -> tuple[Windows, Windows]:
    """Split windows at random into those that are used and those that are held out."""
    count = round(share * len(windows))
    if not count:
        return windows, windows.subset(np.zeros(len(windows), bool))
    if count >= len(windows):
        raise InvalidValue(
            f"search.hold_out = {share:g} leaves no window to identify with: reduce it.",
            "search.hold_out",
        )
    out = np.zeros(len(windows), bool)
    out[np.random.default_rng(seed).permutation(len(windows))[:count]] = True
    return windows.subset(~out), windows.subset(out)


def assign_folds(count: int, parts: int, seed: int) -> NDArray[np.int64]:
    """Assign each of `count` windows to a fold; folds have equal sizes."""
    return np.random.default_rng(seed).permutation(np.arange(count) % parts)
