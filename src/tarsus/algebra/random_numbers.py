"""Random numbers without a state: words scrambled from a seed, a world, a count and a stream.

Words have 12 bits, so that every product is a whole number below 2^24 and exact in float32: a
program draws the same numbers at any precision, in any lane, thread or order, and one world can be
run again alone. In each round the middle digits of the squares of two words are added to the other
two (Widynski 2017), and all change places, as in a Feistel cipher, which is invertible.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

WORD = 4096  # values of a word
ROUNDS = 10
BUMPS = (2531, 3037)  # what the keys grow by from round to round
GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # of SplitMix64, as are the two below
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def splitmix64(number: Any) -> Any:
    """Compute SplitMix64 of a number (uint64): a pseudorandom number, different for every input."""
    with np.errstate(over="ignore"):
        z = np.asarray(number, np.uint64) + GOLDEN
        z = (z ^ (z >> np.uint64(30))) * FIRST
        z = (z ^ (z >> np.uint64(27))) * SECOND
        return z ^ (z >> np.uint64(31))


def hash_seed(seed: int) -> NDArray[np.float64]:
    """Hash a whole number to four words (4,)."""
    number = int(splitmix64(seed % (1 << 64)))
    return np.array([(number >> 12 * k) % WORD for k in range(4)], dtype=float)


def draw_words(seed: SX, world: SX, count: SX, stream: SX | int) -> list[SX]:
    """Draw four words, each equally likely to be any of 0 to 4095.

    Parameters
    ----------
    seed : SX
        Words (4,) of `hash_seed`.
    world, count : SX
        Whole numbers below 2^24.
    stream : SX or int
        Whole number below 4096, different for each purpose.
    """
    high = [ca.floor(x * (1 / WORD)) for x in (world, count)]
    low = [x - WORD * h for x, h in zip((world, count), high, strict=True)]
    c = [low[0], _lower_word(high[0] + seed[2]), low[1], _lower_word(high[1] + seed[3])]
    key = [_lower_word(seed[0] + stream), seed[1]]
    for _ in range(ROUNDS):
        mixed = [
            _lower_word(x + _middle_bits(_lower_word(y + k)))
            for y, x, k in zip(c[::2], c[1::2], key, strict=True)
        ]
        c = [mixed[0], c[2], mixed[1], c[0]]
        key = [_lower_word(k + bump) for k, bump in zip(key, BUMPS, strict=True)]
    return c


def to_uniform(words: Sequence[SX]) -> tuple[SX, SX]:
    """Convert four words to two numbers in [0, 1), multiples of 2^-24."""
    a, b, c, d = words
    return (a * WORD + b) * (1 / WORD**2), (c * WORD + d) * (1 / WORD**2)


def _middle_bits(word: SX) -> SX:
    """Extract the middle twelve of the 24 bits of a word's square."""
    return _lower_word(ca.floor(word * word * (1 / 64)))


def _lower_word(total: SX) -> SX:
    """Return the lower word of a sum."""
    return total - WORD * ca.floor(total * (1 / WORD))
