"""Short pieces of logs, each from its own start: chaos of contacts has no time to grow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.errors import InvalidValue, UnmetCondition, unknown_name
from tarsus.identification.recording import MotionLog
from tarsus.model.mechanism import Mechanism
from tarsus.parameters.checks import check_positive

Array = NDArray[np.float64]
USUAL_Q, USUAL_U = 1e-3, 1e-2  # m and rad; m/s and rad/s: of starts whose noise is not told
PLACES = ("position", "attitude", "joints")


@dataclass(frozen=True, eq=False)
class Noise:
    """Standard deviations of what is compared; None: it is not.

    q, u (nu,): m and rad, m/s and rad/s; force: N
    """

    q: Array | None
    u: Array | None
    force: float | None

    @property
    def starts(self) -> Array:
        """Of the start of a window (2 nu,)."""
        size = len(self.q if self.q is not None else self.u if self.u is not None else ())
        q = np.full(size, USUAL_Q) if self.q is None else self.q
        u = np.full(size, USUAL_U) if self.u is None else self.u
        return np.concatenate([q, u])


def noise_of(given: Mapping[str, Any], mechanism: Mechanism) -> Noise:
    """Of the table [compare]: q and u each a number, or { position, attitude, joints }; force."""
    for name in given:
        if name not in ("q", "u", "force"):
            raise unknown_name("entry of [compare]", name, ("q", "u", "force"))
    if not {"q", "u"} & set(given):
        raise InvalidValue(
            "[compare] must list what is compared, with its noise: q = 0.001, u = 0.01.", "compare"
        )
    q, u = (_each(n, given[n], mechanism) if n in given else None for n in ("q", "u"))
    force = check_positive("compare.force", given["force"]) if "force" in given else None
    return Noise(q, u, force)


def _each(name: str, given: Any, mechanism: Mechanism) -> Array:
    """One number for every velocity."""
    if not isinstance(given, Mapping):
        return np.full(mechanism.nu, check_positive(f"compare.{name}", given))
    for key in given:
        if key not in PLACES:
            raise unknown_name(f"entry of compare.{name}", key, PLACES)
    found = np.zeros(mechanism.nu)
    for body, at in zip(mechanism.bodies, mechanism.u_slices, strict=True):
        kinds = {"free": ["position"] * 3 + ["attitude"] * 3, "ball": ["attitude"] * 3}
        for k, place in enumerate(kinds.get(body.joint.kind, ["joints"] * body.joint.nu)):
            if place not in given:
                raise InvalidValue(
                    f"compare.{name} must give the noise of {place} for this robot.",
                    f"compare.{name}.{place}",
                )
            found[at.start + k] = check_positive(f"compare.{name}.{place}", given[place])
    return found


@dataclass(frozen=True, eq=False)
class Windows:
    """Windows of one length.

    which (W,): of the log; first (W,): sample of the start; length: samples after it
    """

    logs: tuple[MotionLog, ...]
    which: NDArray[np.int64]
    first: NDArray[np.int64]
    length: int

    def __len__(self) -> int:
        return len(self.first)

    def some(self, chosen: Any) -> Windows:
        """Those of a mask, or of indices."""
        return replace(self, which=self.which[chosen], first=self.first[chosen])

    def all_of(self, name: str) -> Array:
        """q, u or action from the start of each window to its end, (length + 1, W, size)."""
        found = [getattr(log, name) for log in self.logs]
        parts = zip(self.which, self.first, strict=True)
        return np.stack([found[i][f : f + self.length + 1] for i, f in parts], 1)

    def before(self, name: str, lead: int) -> Array:
        """The same from `lead` samples before each start to the start, (lead + 1, W, size); before
        a log's start its first sample.
        """
        found = [getattr(log, name) for log in self.logs]
        ways = np.arange(-lead, 1)
        parts = zip(self.which, self.first, strict=True)
        return np.stack([found[i][np.maximum(f + ways, 0)] for i, f in parts], 1)


def cut(logs: Sequence[MotionLog], seconds: float, every: float | None, most: int) -> Windows:
    """Windows of so many seconds, one after another or a start `every` so many seconds; at most
    `most`, evenly chosen. TarsusError if no log is as long.
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
    which, first = [], []
    for k, log in enumerate(logs):
        starts = range(0, len(log) - length, step)
        which += [k] * len(starts)
        first += list(starts)
    if not first:
        raise UnmetCondition(
            f"no log is as long as a window of {seconds:g} s: choose a shorter search.window.",
            "search.window",
        )
    if len(first) > most:
        chosen = np.unique(np.linspace(0, len(first) - 1, most).round().astype(int))
        which, first = [which[k] for k in chosen], [first[k] for k in chosen]
    return Windows(tuple(logs), np.array(which), np.array(first), length)


def held_out(windows: Windows, share: float, seed: int) -> tuple[Windows, Windows]:
    """Windows to identify with, and those that are held out, drawn at random."""
    count = round(share * len(windows))
    if not count:
        return windows, windows.some(np.zeros(len(windows), bool))
    if count >= len(windows):
        raise InvalidValue(
            f"search.hold_out = {share:g} leaves no window to identify with: reduce it.",
            "search.hold_out",
        )
    out = np.zeros(len(windows), bool)
    out[np.random.default_rng(seed).permutation(len(windows))[:count]] = True
    return windows.some(~out), windows.some(out)


def folds(count: int, parts: int, seed: int) -> NDArray[np.int64]:
    """The fold of each of `count` windows, as many of one as of another."""
    return np.random.default_rng(seed).permutation(np.arange(count) % parts)
