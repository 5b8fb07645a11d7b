"""The publications and data that Tarsus is built on, each declared once.

Prose names them by author and year ("Gehring 2014"), `citation` fields point to them, and
`tarsus cite` prints them as BibTeX.
"""

from __future__ import annotations

import importlib

from tarsus.references.reference import Reference

SHELVES = ("papers", "numerics", "learning", "books", "data")


def every() -> tuple[Reference, ...]:
    """All references, shelf by shelf, each in the order of its file."""
    files = [importlib.import_module(f"{__name__}.{shelf}") for shelf in SHELVES]
    return tuple(
        value for file in files for value in vars(file).values() if isinstance(value, Reference)
    )
