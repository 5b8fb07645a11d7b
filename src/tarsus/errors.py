"""Errors and warnings: each is one sentence that tells the reader what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class TarsusError(ValueError):
    """Bad input: the message is one complete sentence for the person at the keyboard."""


class TarsusWarning(UserWarning):
    """Something was dropped, ignored or out of range; the work goes on."""


def unknown(kind: str, name: str, known: Iterable[str]) -> TarsusError:
    """An error for a name that is not there, with the nearest names suggested."""
    known = sorted(known)
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.4)
    hint = f"did you mean {' or '.join(near)}?" if near else f"known are: {', '.join(known)}."
    return TarsusError(f"there is no {kind} named {name!r}; {hint}")
