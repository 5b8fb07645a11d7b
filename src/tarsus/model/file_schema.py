"""Tables of what is read from a robot's file, and the one walk that compares a file with its table.

A table lists the elements of a format. Each is taken, has no effect on motion, is left out with a
warning, or is refused. Elements and attributes that no table lists are left out as well, with a
near name where a typo is likely. docs/file_formats.md prints the tables.
"""

from __future__ import annotations

import difflib
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tarsus.errors import Unsupported
from tarsus.model.parts import Report

Use = Literal["taken", "no effect", "left out", "refused"]
MIN_LIKENESS = 0.8  # likeness, 0 to 1, from which another name is suggested


@dataclass(frozen=True)
class ElementRule:
    """What becomes of one element.

    use: as above; why: the reason, or what it is taken for; attributes: those that are read or
        change no motion, which matters for taken elements alone
    elsewhere: the reader warns about this element itself, or about its unknown children, with the
        names of the links or joints, so the walk does not
    """

    use: Use
    why: str = ""
    attributes: tuple[str, ...] = ()
    elsewhere: bool = False


Table = Mapping[str, ElementRule]
"""Rules by path: "robot/link/inertial"."""


def taken(why: str = "", attributes: str = "", elsewhere: bool = False) -> ElementRule:
    """Return the rule of an element that is read; attributes: with blanks between them."""
    return ElementRule("taken", why, tuple(attributes.split()), elsewhere)


def no_effect(why: str) -> ElementRule:
    """Return the rule of an element that changes no motion and needs no warning."""
    return ElementRule("no effect", why)


def left_out(why: str, elsewhere: bool = False) -> ElementRule:
    """Return the rule of an element that is not simulated, which a warning says."""
    return ElementRule("left out", why, elsewhere=elsewhere)


def refused(why: str) -> ElementRule:
    """Return the rule of an element that makes a file unreadable; why: what to do instead."""
    return ElementRule("refused", why)


class Unread:
    """Counts what a walk leaves out, by name."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._near: dict[str, str] = {}

    def add(self, name: str, near: str = "") -> None:
        """Count one element or attribute; near: what was probably meant."""
        self._counts[name] = self._counts.get(name, 0) + 1
        if near:
            self._near[name] = f"; did you mean {near}?"

    def report(self, report: Report) -> None:
        """Say what is left out, in one sentence."""
        if self._counts:
            listed = (f"{n} ({c}{self._near.get(n, '')})" for n, c in sorted(self._counts.items()))
            report.leave(f"Not read: {', '.join(listed)}.")


def walk(root: ET.Element, table: Table, start: str, skip: Sequence[str] = ()) -> Unread:
    """Compare a file with the table of its format, and return what is left out.

    Parameters
    ----------
    root : Element
        Element that stands at the path `start` of the table.
    table : mapping of str to ElementRule
        Rules of the format.
    start : str
        Path of `root`.
    skip : sequence of str
        Tags whose content is not compared, such as "visual" where these shapes are not simulated.

    Raises
    ------
    Unsupported
        For an element that the table refuses.
    """
    unread = Unread()
    pending = [(root, start)]
    while pending:
        element, path = pending.pop()
        rule = table[path]
        tag = path.rpartition("/")[2]
        for key in element.attrib:
            if key not in rule.attributes and not key.startswith("{"):
                unread.add(f"{key} of <{tag}>", _near(key, rule.attributes))
        for child in element:
            if not isinstance(child.tag, str):  # a comment
                continue
            name = child.tag.rpartition("}")[2]
            below = f"{path}/{name}"
            found = table.get(below) if name == child.tag else None
            if found is None:
                if not rule.elsewhere:
                    near = _near(name, _children(path, table))
                    unread.add(f"<{name}>", f"<{near}>" if near else "")
            elif found.use == "refused":
                raise Unsupported(
                    f"a <{name}> inside the {tag} is not supported: {found.why}.", name
                )
            elif found.use == "left out" and not found.elsewhere:
                unread.add(f"<{name}>")
            elif found.use == "taken" and name not in skip:
                pending.append((child, below))
    return unread


def _children(path: str, table: Table) -> list[str]:
    """Return the tags that a table lists below a path."""
    heads = (known.rpartition("/") for known in table)
    return [tag for head, _, tag in heads if head == path]


def _near(name: str, known: Sequence[str]) -> str:
    """Return the known name that a typo was probably meant to be, or ""."""
    return next(iter(difflib.get_close_matches(name, known, 1, MIN_LIKENESS)), "")
