"""Every candidate on every window: worlds of one batch, and how far they end from the log."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.dynamics.integrate import difference, integrate
from tarsus.errors import InvalidFile, InvalidValue, UnmetCondition
from tarsus.identification.candidates import Candidates
from tarsus.identification.windows import Noise, Windows
from tarsus.program.run.worlds import Worlds
from tarsus.simulation.contact_reports import contact_impulses
from tarsus.simulation.initial_registers import write_registers

Array = NDArray[np.float64]
MOST = 1 << 12  # worlds at once
LEAD = 0.1  # s: for which a world follows the log before a window
GAIN = 0.2  # of a sample's difference is taken up by a world that follows the log
LOST = 1e3  # residual, in deviations, of what left the finite numbers, and the largest there is


@dataclass(frozen=True, eq=False)
class Followed:
    """Worlds that followed the log, as they were at the windows' starts.

    registers: by name (candidates, W, size), what q and u do not show: the law's memory, ...
    starts (candidates, W, 2 nu): how far q and u were from the log, in deviations of its noise
    """

    registers: Mapping[str, Array]
    starts: Array

    def of(self, which: Any) -> Followed:
        """Of some candidates: a slice or indices."""
        return Followed({n: v[which] for n, v in self.registers.items()}, self.starts[which])

    def on(self, windows: Any) -> Followed:
        """On some windows: indices."""
        return self.of((slice(None), windows))


class Rollouts:
    """Residuals of candidates on windows, in standard deviations of the noise.

    What a window's start does not show is that of a world that follows the log: it is simulated
    from sample to sample, and a fifth of what it is off is taken up each time (an observer). So its
    feet stand where noise alone would lift one and press down another.
    """

    def __init__(
        self, candidates: Candidates, windows: Windows, noise: Noise, threads: int = 1
    ) -> None:
        self.candidates, self.windows, self.noise = candidates, windows, noise
        self._threads = threads
        mechanism, program = candidates.mechanism, candidates.program
        ratio = windows.logs[0].dt / candidates.dt
        self._steps = max(round(ratio), 1)
        if abs(ratio - self._steps) > 1e-3 * ratio:
            raise InvalidValue(
                f"the log's sample time of {windows.logs[0].dt:g} s must be a multiple of"
                f" dt = {candidates.dt:g} s: choose another dt under [model].",
                "dt",
            )
        self._acted = program.sizes.get("action", 0)
        for log in windows.logs:
            if log.action.shape[1] != self._acted and self._acted:
                raise InvalidFile(
                    f"the log has {log.action.shape[1]} actions per sample, but {mechanism.name}"
                    f" needs {self._acted}.",
                    "action",
                )
        self._hidden = [
            r.name for r in program.of_kind("state") if r.size and r.name not in ("q", "u", "steps")
        ]
        # all logs in one array, and where each window's begins
        self._signals = np.concatenate([log.action for log in windows.logs])
        lengths = np.array([len(log) for log in windows.logs])
        self._offsets = (np.cumsum(lengths) - lengths)[windows.which]
        self._lengths = lengths[windows.which] - 1
        self._lead = round(LEAD / windows.logs[0].dt)
        self._logged = {name: windows.all_of(name) for name in ("q", "u")}
        self._before = {name: windows.before(name, self._lead) for name in ("q", "u")}
        if noise.force:
            self._logged["force"] = self._forces()
        self.evaluations = 0
        """Windows simulated so far."""

    def on(self, windows: Windows) -> Rollouts:
        """The same on other windows of the same logs."""
        return Rollouts(self.candidates, windows, self.noise, self._threads)

    @property
    def quantities(self) -> dict[str, Any]:
        """What is compared, with the places of its residuals in a sample."""
        nu, at, found = self.candidates.mechanism.nu, 0, {}
        for name in ("q", "u"):
            if getattr(self.noise, name) is not None:
                found[name] = slice(at, at + nu)
                at += nu
        if self.noise.force:
            found["force"] = slice(at, at + 3 * len(self._contacts))
        return found

    @property
    def _contacts(self) -> tuple[str, ...]:
        return tuple(self.candidates.plan.scene.geometry.contact_names)

    def follow(self, values: Array) -> Followed:
        """Worlds that follow the log towards each window under values (candidates, unknowns)."""
        # a world for each candidate and window, from `lead` samples before, or from the log's start
        windows, mechanism, count = self.windows, self.candidates.mechanism, len(values)
        width, lead = len(windows), self._lead
        n = count * width
        worlds = self._worlds(np.repeat(values, width, 0))
        fresh = {name: self.candidates.registers[name][0] for name in self._hidden}
        late = self.candidates.delays(values)[:, None] / windows.logs[0].dt
        before = self._before
        q, u = (self._for_all(before[name][0], count) for name in ("q", "u"))
        for k in range(lead):
            write_registers(worlds, {"q": q, "u": u})
            if self._acted:
                actions = self._acting(windows.first - lead + k + 1, late)
                worlds.set("action", actions.reshape(n, -1))
            worlds.advance(self._steps)
            # some of the way to what was logged
            logged = [self._for_all(before[name][k + 1], count) for name in ("q", "u")]
            q, u = worlds.get("q"), worlds.get("u")
            lost = ~(np.isfinite(q).all(1) & np.isfinite(u).all(1))
            lost |= np.tile(windows.first - lead + k + 1 <= 0, count)
            q, u = (np.where(lost[:, None], *pair) for pair in zip(logged, (q, u), strict=True))
            q = integrate(mechanism, q, GAIN * difference(mechanism, logged[0], q), 1.0)
            u = u + GAIN * (logged[1] - u)
            if lost.any():
                for name, value in fresh.items():
                    worlds.set(name, np.broadcast_to(value, (n, len(value))), lost)
        # how far they are from the log
        logged = [self._for_all(self._logged[name][0], count) for name in ("q", "u")]
        off = np.concatenate([difference(mechanism, q, logged[0]), u - logged[1]], 1)
        registers = {n: worlds.get(n).reshape(count, width, -1) for n in self._hidden}
        return Followed(registers, (off / self.noise.starts).reshape(count, width, -1))

    def _for_all(self, rows: Array, count: int) -> Array:
        """Rows of the windows (W, size) for as many candidates, (candidates W, size)."""
        return np.broadcast_to(rows, (count, *rows.shape)).reshape(-1, rows.shape[-1])

    def residuals(self, values: Array, followed: Followed, starts: Array | None = None) -> Array:
        """(candidates, W, samples, numbers) of values (candidates, unknowns).

        followed: of `follow`
        starts (candidates, W, 2 nu): deviations from the log's; None: the log's
        """
        count, width = len(values), len(self.windows)
        at_once = max(1, MOST // max(width, 1))
        parts = []
        for first in range(0, count, at_once):
            some = slice(first, first + at_once)
            begun = None if starts is None else starts[some]
            parts.append(self._part(values[some], followed.of(some), begun))
        self.evaluations += count * width
        return np.concatenate(parts)

    def _part(self, values: Array, followed: Followed, starts: Array | None) -> Array:
        """Of as many candidates as are simulated at once."""
        # a world for each candidate and window, from its start
        mechanism, logged = self.candidates.mechanism, self._logged
        count, width = len(values), len(self.windows)
        n = count * width
        q, u = (self._for_all(logged[name][0], count) for name in ("q", "u"))
        if starts is not None:
            moved = (starts * self.noise.starts).reshape(n, -1)
            q = integrate(mechanism, q, moved[:, : mechanism.nu], 1.0)
            u = u + moved[:, mechanism.nu :]
        worlds = self._worlds(np.repeat(values, width, 0))
        write_registers(worlds, {"q": q, "u": u})
        write_registers(worlds, {name: v.reshape(n, -1) for name, v in followed.registers.items()})
        # sample by sample
        actions = self._actions(values)
        found = []
        for k in range(1, self.windows.length + 1):
            if self._acted:
                worlds.set("action", actions[k - 1].reshape(n, -1))
            found.append(self._compared(worlds, self._advanced(worlds), k, count))
        # (candidates, W, samples, numbers)
        all_of_them = np.stack(found, 2)
        lost = ~np.isfinite(all_of_them).all(-1, keepdims=True)
        return np.where(lost, LOST, np.clip(np.nan_to_num(all_of_them), -LOST, LOST))

    def _worlds(self, values: Array) -> Worlds:
        """Worlds, one for each row of values (n, unknowns), all registers set."""
        own = self.candidates
        worlds = Worlds(own.program, len(values), threads=self._threads)
        write_registers(worlds, {name: value[0] for name, value in own.registers.items()})
        return write_registers(worlds, own.in_registers(values))

    def _advanced(self, worlds: Worlds) -> Array | None:
        """A sample on; the contacts' mean force (n, 3 contacts), N, if it is compared."""
        if not self.noise.force:
            worlds.advance(self._steps)
            return None
        total = 0.0
        for _ in range(self._steps):
            worlds.advance()
            total = total + contact_impulses(self.candidates.plan.scene, worlds)
        mean = np.asarray(total) / (self._steps * self.candidates.dt)
        return mean.reshape(worlds.count, -1)

    def _compared(self, worlds: Worlds, force: Array | None, k: int, count: int) -> Array:
        """Residuals (candidates, W, numbers) k samples after the starts."""
        noise, logged, parts = self.noise, self._logged, []
        shape = count, len(self.windows), -1
        with np.errstate(all="ignore"):
            if noise.q is not None:
                q = worlds.get("q").reshape(shape)
                off = difference(self.candidates.mechanism, q, logged["q"][k][None])
                parts.append(off / noise.q)
            if noise.u is not None:
                parts.append((worlds.get("u").reshape(shape) - logged["u"][k]) / noise.u)
            if force is not None:
                parts.append((force.reshape(shape) - logged["force"][k]) / noise.force)
        return np.concatenate(parts, -1)

    def _actions(self, values: Array) -> Array:
        """What acts in every step of the windows, (samples, candidates, W, actions)."""
        windows = self.windows
        late = self.candidates.delays(values)[:, None] / windows.logs[0].dt
        ends = range(1, windows.length + 1)
        return np.stack([self._acting(windows.first + k, late) for k in ends])

    def _acting(self, samples: Any, late: Array) -> Array:
        """What acts in the steps that end with these samples (W,), late by so many steps
        (candidates, 1): (candidates, W, actions).

        Signals are held over a step: late by part of one, their mean over the step acts.
        """
        whole = np.floor(late + 1e-9).astype(int)
        part = np.clip(late - whole, 0.0, 1.0)[..., None]
        which, last = self._offsets, self._lengths
        at = np.clip(samples - whole, 0, last)
        newer = self._signals[which + at]
        if not part.any():
            return newer
        return (1 - part) * newer + part * self._signals[which + np.clip(at - 1, 0, last)]

    def _forces(self) -> Array:
        """As `Windows.all_of`, N, of every contact of the step (3 contacts); none where the log has
        none.
        """
        windows, names, of_logs = self.windows, self._contacts, []
        for log in windows.logs:
            if not any(name in log.force for name in names):
                raise UnmetCondition(
                    "the log contains no forces of this robot's contacts: leave out compare.force.",
                    "compare.force",
                )
            still = np.zeros((len(log), 3))
            parts = [np.nan_to_num(log.force.get(name, still)) for name in names]
            of_logs.append(np.concatenate(parts, 1))
        rows = zip(windows.which, windows.first, strict=True)
        return np.stack([of_logs[i][f : f + windows.length + 1] for i, f in rows], 1)
