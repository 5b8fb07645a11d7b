"""Assemble observations: evaluate terms, scale them, and stack their histories."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.policies.binding import BoundPolicy
from tarsus.policies.contract import Term
from tarsus.policies.terms import TERMS, ObservedState

Array = NDArray[np.float64]


class Observer:
    """Assembles observations of many worlds and stores the history of each term."""

    def __init__(self, policy: BoundPolicy) -> None:
        self._contract, self._terms = policy.contract, policy.contract.ordered_terms
        self._past: list[Array] = []

    def __call__(self, view: ObservedState) -> NDArray[np.float32]:
        """Add a sample to the history and return the observations, shape (worlds, n)."""
        samples = [_sample(term, view) for term in self._terms]
        if not self._past:
            self._past = [
                self._initial_history(term, s) for term, s in zip(self._terms, samples, strict=True)
            ]
        else:
            for past, sample in zip(self._past, samples, strict=True):
                past[:, :-1] = past[:, 1:]
                past[:, -1] = sample
        parts = [p if self._contract.newest == "last" else p[:, ::-1] for p in self._past]
        if self._contract.layout == "by sample":
            count = parts[0].shape[1]
            parts = [np.concatenate([p[:, k] for p in parts], axis=1) for k in range(count)]
            return np.concatenate(parts, axis=1).astype(np.float32)
        flat = [p.reshape(len(p), -1) for p in parts]
        return np.concatenate(flat, axis=1).astype(np.float32)

    def _initial_history(self, term: Term, sample: Array) -> Array:
        """Build the history (worlds, history, size) from the first sample, oldest first."""
        past = np.repeat(sample[:, None], term.history, axis=1)
        if self._contract.first == "zero":
            past[:, :-1] = 0.0
        return past


def _sample(term: Term, view: ObservedState) -> Array:
    value: Any = TERMS[term.name].function(view, term.options)
    if term.clip is not None:
        value = np.clip(value, *term.clip)
    return np.asarray(value * np.asarray(term.scale, float), float)
