"""Rollouts of all candidates on all windows in one batch, and their residuals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.dynamics.integrate import difference, integrate
from tarsus.errors import InvalidFile, InvalidValue, UnmetCondition
from tarsus.identification.candidates import Candidates, independent_unknowns
from tarsus.identification.windows import Noise, Windows
from tarsus.program.run.worlds import Worlds
from tarsus.simulation.contact_reports import collect_impulses
from tarsus.simulation.initial_registers import write_registers

Array = NDArray[np.float64]
MAX_WORLDS = 1 << 12  # of a batch
LEAD_TIME = 0.1  # s: duration of the observer before a window
OBSERVER_GAIN = 0.2  # fraction of the error that the observer corrects per sample
MAX_RESIDUAL = 1e3  # deviations; also the residual of worlds that diverge


@dataclass(frozen=True, eq=False)
class ObserverStates:
    """States of the observer at the starts of the windows.

    Attributes
    ----------
    registers
        State besides q and u, such as the law's memory, shape (candidates, W, size), by name.
    starts
        Differences of q and u from the log, shape (candidates, W, 2 nu), in deviations of the
        noise.
    """

    registers: Mapping[str, Array]
    starts: Array

    def select_candidates(self, index: Any) -> ObserverStates:
        """Select the states of some candidates, by slice or indices."""
        return ObserverStates({n: v[index] for n, v in self.registers.items()}, self.starts[index])

    def select_windows(self, windows: Any) -> ObserverStates:
        """Select the states on some windows, by indices."""
        return self.select_candidates((slice(None), windows))


class Rollouts:
    """Residuals of candidates on windows, in standard deviations of the noise.

    The hidden state at the start of a window comes from an observer: a world that follows the log
    from sample to sample and corrects a fifth of its error each time. So its feet stand where noise
    alone would lift one and press another into the ground.

    Parameters
    ----------
    candidates
        The compiled step and its registers.
    windows
        Windows of the logs.
    noise
        Standard deviations of what is compared.
    threads
        Number of threads.

    Attributes
    ----------
    evaluations
        Number of windows simulated so far.
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
        self._action_size = program.sizes.get("action", 0)
        for log in windows.logs:
            if log.action.shape[1] != self._action_size and self._action_size:
                raise InvalidFile(
                    f"the log has {log.action.shape[1]} actions per sample, but {mechanism.name}"
                    f" needs {self._action_size}.",
                    "action",
                )
        self._hidden_state = [
            r.name for r in program.of_kind("state") if r.size and r.name not in ("q", "u", "steps")
        ]
        # actions of all logs in one array, and the offset of each window's log
        self._signals = np.concatenate([log.action for log in windows.logs])
        lengths = np.array([len(log) for log in windows.logs])
        self._offsets = (np.cumsum(lengths) - lengths)[windows.indices]
        self._lengths = lengths[windows.indices] - 1
        self._lead = round(LEAD_TIME / windows.logs[0].dt)
        self._logged = {name: windows.cut(name) for name in ("q", "u")}
        self._before = {name: windows.cut_lead(name, self._lead) for name in ("q", "u")}
        if noise.force:
            self._logged["force"] = self._collect_forces()
        self.evaluations = 0

    def with_windows(self, windows: Windows) -> Rollouts:
        """Create rollouts on other windows of the same logs."""
        return Rollouts(self.candidates, windows, self.noise, self._threads)

    @property
    def quantities(self) -> dict[str, Any]:
        """Compared quantities, with their slices in the residuals of a sample."""
        nu, start, slices = self.candidates.mechanism.nu, 0, {}
        for name in ("q", "u"):
            if getattr(self.noise, name) is not None:
                slices[name] = slice(start, start + nu)
                start += nu
        if self.noise.force:
            slices["force"] = slice(start, start + 3 * len(self._contacts))
        return slices

    @property
    def independent_unknowns(self) -> list[tuple[list[int], list[NDArray[np.bool_]]]]:
        """Groups of unknowns that affect different residuals, with masks of these (numbers,)."""
        if self.noise.force:
            return []
        count = sum(noise is not None for noise in (self.noise.q, self.noise.u))
        groups = independent_unknowns(self.candidates.robot, self.candidates.unknowns)
        return [(members, [np.tile(mask, count) for mask in masks]) for members, masks in groups]

    @property
    def _contacts(self) -> tuple[str, ...]:
        return tuple(self.candidates.plan.scene.geometry.contact_names)

    def run_observer(self, values: Array) -> ObserverStates:
        """Run an observer towards each window, for values of shape (candidates, unknowns)."""
        # one world per candidate and window, from `lead` samples before it or the log's start
        windows, mechanism, count = self.windows, self.candidates.mechanism, len(values)
        width, lead = len(windows), self._lead
        n = count * width
        worlds = self._create_worlds(np.repeat(values, width, 0))
        initial = {name: self.candidates.registers[name][0] for name in self._hidden_state}
        offsets, before = self._repeat_offsets(values), self._before
        q, u = self._repeat(before["q"][0], count) - offsets, self._repeat(before["u"][0], count)
        for k in range(lead):
            write_registers(worlds, {"q": q, "u": u})
            self._advance(worlds, self._collect_actions(values, windows.first - lead + k + 1))
            # correct part of the error
            logged = [self._repeat(before[name][k + 1], count) for name in ("q", "u")]
            logged[0] = logged[0] - offsets
            q, u = worlds.get("q"), worlds.get("u")
            invalid = ~(np.isfinite(q).all(1) & np.isfinite(u).all(1))
            invalid |= np.tile(windows.first - lead + k + 1 <= 0, count)
            q, u = (np.where(invalid[:, None], *pair) for pair in zip(logged, (q, u), strict=True))
            q = integrate(mechanism, q, OBSERVER_GAIN * difference(mechanism, logged[0], q), 1.0)
            u = u + OBSERVER_GAIN * (logged[1] - u)
            if invalid.any():
                for name, value in initial.items():
                    worlds.set(name, np.broadcast_to(value, (n, len(value))), invalid)
        # differences from the log
        logged = [self._repeat(self._logged[name][0], count) for name in ("q", "u")]
        logged[0] = logged[0] - offsets
        errors = np.concatenate([difference(mechanism, q, logged[0]), u - logged[1]], 1)
        registers = {n: worlds.get(n).reshape(count, width, -1) for n in self._hidden_state}
        return ObserverStates(registers, (errors / self.noise.starts).reshape(count, width, -1))

    def _repeat(self, rows: Array, count: int) -> Array:
        """Repeat rows of the windows, (W, size), for each candidate: (candidates W, size)."""
        return np.broadcast_to(rows, (count, *rows.shape)).reshape(-1, rows.shape[-1])

    def _repeat_offsets(self, values: Array) -> Array:
        """Repeat the offsets of the log's coordinates for each window: (candidates W, nq)."""
        return np.repeat(self.candidates.offsets(values), len(self.windows), 0)

    def residuals(
        self, values: Array, observer: ObserverStates, starts: Array | None = None
    ) -> Array:
        """Compute residuals, shape (candidates, W, samples, numbers).

        Parameters
        ----------
        values
            Values of the unknowns, shape (candidates, unknowns).
        observer
            Result of `run_observer`.
        starts
            Shifts of the starts from the log, shape (candidates, W, 2 nu), in deviations; None:
            none.
        """
        count, width = len(values), len(self.windows)
        batch = max(1, MAX_WORLDS // max(width, 1))
        parts = []
        for first in range(0, count, batch):
            chunk = slice(first, first + batch)
            chunk_starts = None if starts is None else starts[chunk]
            parts.append(
                self._compute_chunk(values[chunk], observer.select_candidates(chunk), chunk_starts)
            )
        self.evaluations += count * width
        return np.concatenate(parts)

    def _compute_chunk(
        self, values: Array, observer: ObserverStates, starts: Array | None
    ) -> Array:
        """Compute the residuals of as many candidates as are simulated at once."""
        # one world per candidate and window, from its start
        mechanism, logged = self.candidates.mechanism, self._logged
        count, width = len(values), len(self.windows)
        n = count * width
        offsets = self._repeat_offsets(values)
        q, u = self._repeat(logged["q"][0], count) - offsets, self._repeat(logged["u"][0], count)
        if starts is not None:
            shifts = (starts * self.noise.starts).reshape(n, -1)
            q = integrate(mechanism, q, shifts[:, : mechanism.nu], 1.0)
            u = u + shifts[:, mechanism.nu :]
        worlds = self._create_worlds(np.repeat(values, width, 0))
        write_registers(worlds, {"q": q, "u": u})
        write_registers(worlds, {name: v.reshape(n, -1) for name, v in observer.registers.items()})
        # sample by sample
        samples = []
        for k in range(1, self.windows.length + 1):
            force = self._advance(worlds, self._collect_actions(values, self.windows.first + k))
            samples.append(self._sample_residuals(worlds, force, k, offsets))
        # (candidates, W, samples, numbers)
        residuals = np.stack(samples, 2)
        residuals[:, :, : self.windows.skipped] = 0.0
        invalid = ~np.isfinite(residuals).all(-1, keepdims=True)
        return np.where(
            invalid, MAX_RESIDUAL, np.clip(np.nan_to_num(residuals), -MAX_RESIDUAL, MAX_RESIDUAL)
        )

    def _create_worlds(self, values: Array) -> Worlds:
        """Create worlds, one per row of values (n, unknowns), with all registers set."""
        candidates = self.candidates
        worlds = Worlds(candidates.program, len(values), threads=self._threads)
        write_registers(worlds, {name: value[0] for name, value in candidates.registers.items()})
        return write_registers(worlds, candidates.registers_for(values))

    def _advance(self, worlds: Worlds, actions: Sequence[Array]) -> Array | None:
        """Advance by one sample; return mean contact forces (n, 3 contacts), in N, if compared.

        `actions` (n, actions) have equal shares of the sample.
        """
        total, steps = 0.0, self._steps // len(actions)
        for action in actions:
            if self._action_size:
                worlds.set("action", action)
            if not self.noise.force:
                worlds.advance(steps)
                continue
            for _ in range(steps):
                worlds.advance()
                total = total + collect_impulses(self.candidates.plan.scene, worlds)
        if not self.noise.force:
            return None
        mean = np.asarray(total) / (self._steps * self.candidates.dt)
        return mean.reshape(worlds.count, -1)

    def _sample_residuals(
        self, worlds: Worlds, force: Array | None, k: int, offsets: Array
    ) -> Array:
        """Compute residuals (candidates, W, numbers) k samples after the starts."""
        noise, logged, parts = self.noise, self._logged, []
        shape = len(offsets) // len(self.windows), len(self.windows), -1
        with np.errstate(all="ignore"):
            if noise.q is not None:
                q = worlds.get("q").reshape(shape)
                true = logged["q"][k][None] - offsets.reshape(shape)
                errors = difference(self.candidates.mechanism, q, true)
                parts.append(errors / noise.q)
            if noise.u is not None:
                parts.append((worlds.get("u").reshape(shape) - logged["u"][k]) / noise.u)
            if force is not None:
                parts.append((force.reshape(shape) - logged["force"][k]) / noise.force)
        return np.concatenate(parts, -1)

    def _collect_actions(self, values: Array, ends: NDArray[np.int64]) -> list[Array]:
        """Collect the actions during samples that end with these indices, shape (W,).

        The list has one array (candidates W, actions), or one per step if there are delays. Signals
        are constant over a step: with a fraction of a step as delay, their mean over the step acts.
        """
        seconds = self.candidates.delays(values)
        parts = self._steps if seconds.any() else 1
        delay = seconds * parts / self.windows.logs[0].dt
        whole = np.floor(delay + 1e-9).astype(int)
        share = np.clip(delay - whole, 0.0, 1.0)[:, None]
        offset, last = self._offsets[:, None], self._lengths[:, None]
        columns, actions = np.arange(self._action_size), list[Array]()
        for part in range(parts):
            step = parts * ends[:, None] + part - whole[:, None]
            signal = self._signals[offset + np.clip(step // parts, 0, last), columns]
            if share.any():
                older = self._signals[offset + np.clip((step - 1) // parts, 0, last), columns]
                signal = (1 - share) * signal + share * older
            actions.append(signal.reshape(-1, self._action_size))
        return actions

    def _collect_forces(self) -> Array:
        """Collect the contact forces like `Windows.all_of`, shape (..., 3 contacts), in N.

        A contact that is missing in the log has zero force.
        """
        windows, names, forces = self.windows, self._contacts, []
        for log in windows.logs:
            if not any(name in log.force for name in names):
                raise UnmetCondition(
                    "the log contains no forces of this robot's contacts: leave out compare.force.",
                    "compare.force",
                )
            zero = np.zeros((len(log), 3))
            parts = [np.nan_to_num(log.force.get(name, zero)) for name in names]
            forces.append(np.concatenate(parts, 1))
        rows = zip(windows.indices, windows.first, strict=True)
        return np.stack([forces[i][f : f + windows.length + 1] for i, f in rows], 1)
