"""Bit sets: visit the few flags that are set among many, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import casadi as ca
from casadi import SX

from tarsus.program.ir.symbolic import entries

BITS = 24  # bits of a whole number that float32 holds
HALVES = (16, 8, 4, 2, 1)


@dataclass(frozen=True, eq=False)
class Flags:
    """Flags packed into whole numbers, so that finding the next one costs a few operations.

    Attributes
    ----------
    words
        Words, shape (ceil(count / BITS),); the first flag is the highest bit of the first word.
    """

    words: SX

    @staticmethod
    def of(flags: Sequence[SX]) -> Flags:
        """Pack expressions that are 1 or 0."""
        parts = [flags[k : k + BITS] for k in range(0, len(flags), BITS)]
        weights = [2.0 ** (BITS - 1 - k) for k in range(BITS)]
        words = [
            sum((w * flag for w, flag in zip(weights, part, strict=False)), SX(0)) for part in parts
        ]
        return Flags(ca.vertcat(*words))

    @property
    def any(self) -> SX:
        """1 if a flag is set, else 0."""
        return ca.sum1(self.words) > 0

    def first(self) -> tuple[SX, Flags]:
        """Find the number of the first set flag, and the remaining flags; one must be set."""
        # the first word that is not zero
        words = entries(self.words)
        word, base = words[-1], SX(BITS * (len(words) - 1))
        for k in reversed(range(len(words) - 1)):
            word = ca.if_else(words[k] > 0, words[k], word)
            base = ca.if_else(words[k] > 0, BITS * k, base)
        # its highest bit
        rest, bit, weight = word, SX(0), SX(1)
        for half in HALVES:
            high = rest >= 2.0**half
            rest = ca.if_else(high, rest * 2.0**-half, rest)
            bit += ca.if_else(high, half, 0)
            weight = ca.if_else(high, weight * 2.0**half, weight)
        left = [word - ca.if_else(base == BITS * k, weight, 0) for k, word in enumerate(words)]
        return base + (BITS - 1) - bit, replace(self, words=ca.vertcat(*left))
