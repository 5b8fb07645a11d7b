"""The publications and data that Tarsus is built on, each declared once.

Prose names them by author and year ("Gehring 2014"), `citation` fields point to them, and
`tarsus cite` prints them as BibTeX.
"""

from __future__ import annotations

import importlib

from tarsus.references.reference import Reference

FILES = ("papers", "numerics", "learning", "books", "data")


def all_references() -> tuple[Reference, ...]:
    """Collect all references, file by file, each in the order of its file."""
    modules = [importlib.import_module(f"{__name__}.{name}") for name in FILES]
    return tuple(
        value
        for module in modules
        for value in vars(module).values()
        if isinstance(value, Reference)
    )
