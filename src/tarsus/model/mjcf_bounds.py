"""Bounds on an MJCF file, checked before MuJoCo's compiler sees it: it has none of its own.

A heightfield or `replicate` by the million takes it minutes and all memory, and numbers near the
largest can end the process.
"""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from collections.abc import Iterator

from tarsus.errors import InvalidFile, Unsupported, shortened
from tarsus.model.check import LARGEST
from tarsus.model.mjcf_text import Document

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


def check_bounds(document: Document) -> None:
    """Raise Unsupported if a model, with what it includes and attaches, is too large."""
    _weigh(document, {})


def _weigh(document: Document, known: dict[ET.Element, tuple[float, float]]) -> tuple[float, float]:
    """Count bodies and elements of a model, repeated and attached ones included.

    known: counts of models by their roots
    """
    if document.root in known:
        return known[document.root]
    # what it has itself
    bodies = elements = 0.0
    for element, times, depth in _all(document):
        if depth > DEPTH:
            raise Unsupported(
                f"the elements are nested more than {DEPTH} levels deep.", element.tag
            )
        made = _size(element)
        if made > POINTS:
            raise Unsupported(
                f"<{element.tag}> is too large: {made:g} points or bytes, at most {POINTS:g} are"
                " read.",
                element.tag,
            )
        elements += times * (made if element.tag in MADE_OF_ELEMENTS else 1)
        bodies += times * (element.tag == "body")
        if element.tag == "attach" and (inner := document.models.get(element.get("model", ""))):
            more = _weigh(inner, known)
            bodies, elements = bodies + times * more[0], elements + times * more[1]
        if elements > ELEMENTS or bodies > BODIES:
            raise Unsupported(
                f"the model is too large for one robot: it has more than {BODIES} bodies or"
                f" {ELEMENTS} elements, repetitions included.",
                "body" if bodies > BODIES else element.tag,
            )
        _check_numbers(element)
    # models that nothing attaches
    for inner in document.models.values():
        _weigh(inner, known)
    known[document.root] = bodies, elements
    return bodies, elements


def _all(document: Document) -> Iterator[tuple[ET.Element, float, int]]:
    """Yield every element of a model, how often it is repeated, and how deep it stands."""
    stack = [(document.root, 1.0, 0)]
    while stack:
        element, times, depth = stack.pop()
        yield element, times, depth
        if element.tag == "replicate":
            times *= max(_product(element.get("count", "")), 1.0)
        stack += [(child, times, depth + 1) for child in element]
        if element in document.trees:
            stack.append((document.trees[element], times, depth + 1))


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
            raise InvalidFile(f"<{element.tag}>: anchor must be three numbers; it is empty.", key)
        if not all(abs(number) <= LARGEST for number in _numbers(text)):
            raise InvalidFile(
                f"<{element.tag}>: {key} must be finite and at most {LARGEST:g} in SI units, not"
                f" {shortened(text)}.",
                key,
            )
