"""Bounds on an MJCF file, checked before MuJoCo's compiler sees it: it has none of its own.

A heightfield or `replicate` by the million takes it minutes and all memory, and numbers near the
largest can end the process.
"""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

from tarsus.errors import TarsusError, shortened
from tarsus.files import is_file
from tarsus.model.check import LARGEST
from tarsus.model.files import file_bytes, xml_root

BODIES, ELEMENTS = 2000, 20_000  # after replication; the largest robots have a tenth of them
DEPTH = 500  # elements inside each other
POINTS = 10_000_000
SIZES = {  # attributes whose numbers, multiplied, say how much an element makes
    "composite": ("count",),
    "flexcomp": ("count",),
    "hfield": ("nrow", "ncol"),
    "texture": ("width", "height"),
    "numeric": ("size",),
}
MADE_OF_ELEMENTS = ("composite", "flexcomp")
NOT_NUMBERS = ("name", "model", "file", "class", "childclass")
COMMENT = re.compile(rb"<!--.*?-->", re.DOTALL)  # MuJoCo allows -- in it, XML does not


def check_bounds(text: str, path: Path | None) -> None:
    """TarsusError if an MJCF text, or the file `path` and what it includes, is beyond bounds."""
    root = _root(text.encode() if path is None else file_bytes(path))
    bodies = elements = 0
    for element, times, depth in _all(root, path):
        if depth > DEPTH:
            raise TarsusError(f"its elements stand more than {DEPTH} deep in each other.")
        made = _size(element)
        if made > POINTS:
            raise TarsusError(f"its <{element.tag}> is too large: {made:g} points or bytes.")
        elements += times * (made if element.tag in MADE_OF_ELEMENTS else 1)
        bodies += times * (element.tag == "body")
        if elements > ELEMENTS or bodies > BODIES:
            raise TarsusError(
                f"it is too large for one robot: more than {BODIES} bodies or {ELEMENTS} elements,"
                " repetitions included."
            )
        _check_numbers(element)


def elements(text: str, path: Path | None) -> Iterator[ET.Element]:
    """Every element of an MJCF text, or of the file `path` and what it includes."""
    root = _root(text.encode() if path is None else file_bytes(path))
    return (element for element, _, _ in _all(root, path))


def gives(text: str, path: Path | None, tag: str, attribute: str) -> bool:
    """Whether an element of these has the attribute, be it MuJoCo's own default that it gives."""
    return any(attribute in found.attrib for found in elements(text, path) if found.tag == tag)


def _all(root: ET.Element, path: Path | None) -> Iterator[tuple[ET.Element, float, int]]:
    """Every element, also of included files, how often it is repeated, and how deep it stands."""
    folder = Path() if path is None else path.parent
    included = set()
    stack = [(root, 1.0, 0)]
    while stack:
        element, times, depth = stack.pop()
        yield element, times, depth
        if element.tag == "replicate":
            times *= max(_product(element.get("count", "")), 1.0)
        stack += [(child, times, depth + 1) for child in element]
        if element.tag == "include":
            file = folder / element.get("file", "")
            if file not in included and is_file(file):
                stack.append((_root(file_bytes(file)), times, depth + 1))
            included.add(file)


def _root(data: bytes) -> ET.Element:
    try:
        data.decode()
    except UnicodeDecodeError:
        raise TarsusError("its text is not UTF-8, which MJCF must be.") from None
    return xml_root(COMMENT.sub(b"", data))


def _size(element: ET.Element) -> float:
    names = SIZES.get(element.tag, ())
    return math.prod(_product(element.get(name, "")) for name in names) if names else 0.0


def _product(text: str) -> float:
    """The product of an attribute's numbers; 1 for what is no number, which MuJoCo refuses."""
    return math.prod(_numbers(text) or [1.0])


def _numbers(text: str) -> list[float]:
    """An attribute's numbers; none if it holds anything else."""
    try:
        return [float(word) for word in text.split()]
    except ValueError:
        return []


def _check_numbers(element: ET.Element) -> None:
    for key, text in element.attrib.items():
        if key in NOT_NUMBERS:
            continue
        if (
            key == "anchor" and not text.strip()
        ):  # MuJoCo 4.0.0 gives up, and hangs on the next file
            raise TarsusError(f"<{element.tag}>: anchor must be three numbers, and is empty.")
        if not all(abs(number) <= LARGEST for number in _numbers(text)):
            raise TarsusError(
                f"<{element.tag}>: {key} must be finite and at most {LARGEST:g} in SI units, not"
                f" {shortened(text)}."
            )
