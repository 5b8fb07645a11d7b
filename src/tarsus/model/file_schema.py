"""Tables of what is read from a robot's file, and the one walk that compares a file with its table.

A table lists the elements of a format. Each is supported, has no effect on motion, is unsupported
and ignored with a warning, or makes the file invalid. Other elements and attributes are ignored
with a warning as well, which suggests a similar name where a typo is likely. docs/file_formats.md
prints the tables.
"""

from __future__ import annotations

import difflib
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from tarsus.errors import Unsupported
from tarsus.model.parts import Report

Use = Literal["supported", "no effect", "unsupported", "rejected"]
MIN_LIKENESS = 0.8  # likeness, 0 to 1, from which another name is suggested


@dataclass(frozen=True)
class ElementRule:
    """Outcome of one element.

    Attributes
    ----------
    use
        "supported", "no effect", "unsupported" or "rejected".
    reason
        Reason, or what a supported element becomes.
    attributes
        Attributes of a supported element that are read.
    ignored
        Attributes of a supported element that have no effect on motion.
    codes
        Attributes with values that are not simulated, by the code of the reader's warning or note.
        An element that is unsupported as a whole has its code without attributes.
    reported_by_reader
        Whether the reader itself reports this element, or its unknown children, with the names of
        the links or joints, so that the walk does not.
    children_path
        Path of the rules for the element's children, if it is not the element's own path.
    """

    use: Use
    reason: str = ""
    attributes: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    codes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    reported_by_reader: bool = False
    children_path: str = ""

    @property
    def known(self) -> list[str]:
        """Names of all attributes that the rule lists."""
        coded = [name for names in self.codes.values() for name in names]
        return list(dict.fromkeys([*self.attributes, *self.ignored, *coded]))


Table = Mapping[str, ElementRule]
"""Rules by path: "robot/link/inertial"."""


def supported(
    reason: str = "",
    attributes: str = "",
    *,
    ignored: str = "",
    codes: Mapping[str, str] | None = None,
    reported_by_reader: bool = False,
    children_path: str = "",
) -> ElementRule:
    """Create the rule of an element that is read; attribute names are separated by blanks."""
    by_code = {code: tuple(names.split()) for code, names in (codes or {}).items()}
    return ElementRule(
        "supported",
        reason,
        tuple(attributes.split()),
        tuple(ignored.split()),
        by_code,
        reported_by_reader,
        children_path,
    )


def no_effect(reason: str) -> ElementRule:
    """Create the rule of an element that has no effect on motion and needs no warning."""
    return ElementRule("no effect", reason)


def unsupported(reason: str, reported_by_reader: bool = False) -> ElementRule:
    """Create the rule of an unsupported element, which the walk reports."""
    return ElementRule("unsupported", reason, reported_by_reader=reported_by_reader)


def reported(reason: str, code: str) -> ElementRule:
    """Create the rule of an unsupported element, which the reader reports by its code."""
    return ElementRule("unsupported", reason, codes={code: ()}, reported_by_reader=True)


def rejected(reason: str) -> ElementRule:
    """Create the rule of an element that is rejected; `reason` explains what to do instead."""
    return ElementRule("rejected", reason)


class UnsupportedItems:
    """Unsupported elements and attributes, counted by name."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._near: dict[str, str] = {}

    def add(self, name: str, suggestion: str = "") -> None:
        """Count one element or attribute; `suggestion` is the name that was probably meant."""
        self._counts[name] = self._counts.get(name, 0) + 1
        if suggestion:
            self._near[name] = suggestion

    def merge(self, other: UnsupportedItems) -> None:
        """Add the counts of another walk."""
        for name, count in other._counts.items():
            self._counts[name] = self._counts.get(name, 0) + count
        self._near |= other._near

    def find_near(self, name: str) -> str:
        """Find the name that was probably meant by an element's or attribute's, or ""."""
        return next(
            (meant for written, meant in self._near.items() if name == _format_name(written)), ""
        )

    def report(self, report: Report) -> None:
        """Report the unsupported elements and attributes in one sentence."""
        hints = {name: f"; did you mean {meant}?" for name, meant in self._near.items()}
        if self._counts:
            listed = (f"{n} ({c}{hints.get(n, '')})" for n, c in sorted(self._counts.items()))
            report.ignore(f"Not read: {', '.join(listed)}.")


def walk(
    root: ET.Element,
    table: Table,
    start: str,
    skip: Sequence[str] = (),
    children: Callable[[ET.Element], Iterable[ET.Element]] = iter,
) -> UnsupportedItems:
    """Compare a file with the table of its format; return what is unsupported.

    Parameters
    ----------
    root
        Element that stands at the path `start` of the table.
    table
        Rules of the format.
    start
        Path of `root`.
    skip
        Tags whose content is not compared, such as "visual" where these shapes are not simulated.
    children
        Function that returns the child elements of an element, by default those of the tree.

    Raises
    ------
    Unsupported
        For an element that the table rejects.
    """
    unread = UnsupportedItems()
    pending = [(root, start)]
    while pending:
        element, path = pending.pop()
        rule = table[path]
        tag = path.rpartition("/")[2]
        for key in element.attrib:
            if key not in rule.known and not key.startswith(("{", "xmlns")):
                unread.add(f"{key} of <{tag}>", _find_near_name(key, rule.known))
        for child in children(element):
            if not isinstance(child.tag, str):  # a comment
                continue
            name = child.tag.rpartition("}")[2]
            inner_path = f"{rule.children_path or path}/{name}"
            inner = table.get(inner_path) if name == child.tag else None
            if inner is None:
                if not rule.reported_by_reader:
                    suggestion = _find_near_name(
                        name, _list_children(rule.children_path or path, table)
                    )
                    unread.add(f"<{name}>", f"<{suggestion}>" if suggestion else "")
            elif inner.use == "rejected":
                raise Unsupported(
                    f"a <{name}> inside the {tag} is not supported: {inner.reason}.", name
                )
            elif inner.use == "unsupported" and not inner.reported_by_reader:
                unread.add(f"<{name}>")
            elif inner.use == "supported" and name not in skip:
                pending.append((child, inner_path))
    return unread


def _list_children(path: str, table: Table) -> list[str]:
    """List the tags that a table lists below a path."""
    split = (known.rpartition("/") for known in table)
    return [tag for parent, _, tag in split if parent == path]


def _format_name(name: str) -> str:
    """Format the name of an element or attribute as in the file."""
    return name.partition(" of <")[0].strip("<>")


def _find_near_name(name: str, known: Sequence[str]) -> str:
    """Find the known name that a typo was probably meant to be, or ""."""
    return next(iter(difflib.get_close_matches(name, known, 1, MIN_LIKENESS)), "")
