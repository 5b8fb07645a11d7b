"""Limits on an MJCF file: its size and its numbers before it is compiled, its ranges afterwards.

MuJoCo's compiler has no limits of its own. A heightfield or a `replicate` with millions of elements
takes minutes and all memory, and numbers near the largest can end the process. A range whose ends
are swapped counts as no range, without a warning.
"""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from typing import Any

import numpy as np

from tarsus.errors import InvalidFile, InvalidModel, Unsupported, quote
from tarsus.model.check import LARGEST
from tarsus.model.conventions import mujoco_joint_names
from tarsus.model.mjcf_actuators import control_indices
from tarsus.model.mjcf_document import Document

MAX_BODIES, MAX_ELEMENTS = 2000, 20_000  # after replication, ten times those of large robots
MAX_DEPTH = 500  # elements inside each other
MAX_POINTS = 10_000_000
SIZE_ATTRIBUTES = {  # attributes whose product is the number of points of an element
    "composite": ("count",),
    "flexcomp": ("count",),
    "hfield": ("nrow", "ncol"),
    "texture": ("width", "height"),
    "numeric": ("size",),
}
MADE_OF_ELEMENTS = ("composite", "flexcomp")
NOT_NUMBERS = ("name", "model", "file", "class", "childclass")
SLIDE, HINGE = 2, 3  # mjtJoint
JOINT_RANGES = {"range": "jnt_range", "actuatorfrcrange": "jnt_actfrcrange"}
ACTUATOR_RANGES = {"forcerange": "actuator_forcerange", "actrange": "actuator_actrange"}


def check_size(document: Document) -> None:
    """Check the size of a model, with its included and attached files, and its numbers.

    Raises
    ------
    Unsupported
        If the model has too many elements, bodies or points.
    InvalidFile
        If a number is not finite or too large.
    """
    _count(document, {})


def check_ranges(model: Any) -> None:
    """Check the ranges of the hinges, slides and actuators of a compiled model.

    Raises
    ------
    InvalidModel
        For the first range whose lower end is above its upper end.
    """
    joints = mujoco_joint_names(model)
    for joint in np.flatnonzero(np.isin(model.jnt_type, (SLIDE, HINGE))).tolist():
        for attribute, field in JOINT_RANGES.items():
            _check_range(getattr(model, field)[joint], "joint", joints[joint], attribute)
    for actuator in range(len(model.actuator_trntype)):
        name = model.actuator(actuator).name or f"actuator {actuator}"
        for attribute, field in ACTUATOR_RANGES.items():
            _check_range(getattr(model, field)[actuator], "actuator", name, attribute)
        for control in control_indices(model, actuator):
            _check_range(model.actuator_ctrlrange[control], "actuator", name, "ctrlrange")


def _count(document: Document, known: dict[ET.Element, tuple[float, float]]) -> tuple[float, float]:
    """Count bodies and elements of a model, repeated and attached ones included.

    Parameters
    ----------
    known
        Counts of the models counted so far, by their roots.
    """
    if document.root in known:
        return known[document.root]
    bodies = elements = 0.0
    for element, repetitions, depth in _all_elements(document):
        if depth > MAX_DEPTH:
            raise Unsupported(
                f"the elements are nested more than {MAX_DEPTH} levels deep.", element.tag
            )
        points = _count_points(element)
        if points > MAX_POINTS:
            raise Unsupported(
                f"<{element.tag}> is too large: it has {points:g} points or bytes; the limit is"
                f" {MAX_POINTS:g}.",
                element.tag,
            )
        elements += repetitions * (points if element.tag in MADE_OF_ELEMENTS else 1)
        bodies += repetitions * (element.tag == "body")
        if element.tag == "attach" and (inner := document.models.get(element.get("model", ""))):
            inner_bodies, inner_elements = _count(inner, known)
            bodies += repetitions * inner_bodies
            elements += repetitions * inner_elements
        if elements > MAX_ELEMENTS or bodies > MAX_BODIES:
            raise Unsupported(
                f"the model is too large for one robot: it has more than {MAX_BODIES} bodies or"
                f" {MAX_ELEMENTS} elements, repetitions included.",
                "body" if bodies > MAX_BODIES else element.tag,
            )
        _check_numbers(element)
    # models that nothing attaches
    for inner in document.models.values():
        _count(inner, known)
    known[document.root] = bodies, elements
    return bodies, elements


def _all_elements(document: Document) -> Iterator[tuple[ET.Element, float, int]]:
    """Yield every element of a model, the number of its repetitions, and its depth."""
    stack = [(document.root, 1.0, 0)]
    while stack:
        element, repetitions, depth = stack.pop()
        yield element, repetitions, depth
        if element.tag == "replicate":
            repetitions *= max(_product(element.get("count", "")), 1.0)
        stack += [(child, repetitions, depth + 1) for child in element]
        if element in document.trees:
            stack.append((document.trees[element], repetitions, depth + 1))


def _count_points(element: ET.Element) -> float:
    """Count the points or bytes that MuJoCo generates for an element, if the number is known."""
    names = SIZE_ATTRIBUTES.get(element.tag, ())
    return math.prod(_product(element.get(name, "")) for name in names) if names else 0.0


def _product(text: str) -> float:
    """Multiply the numbers of an attribute; 1 if MuJoCo rejects the attribute."""
    return math.prod(_read_numbers(text) or [1.0])


def _read_numbers(text: str) -> list[float]:
    """Read an attribute's numbers; none if it contains anything else."""
    try:
        return [float(word) for word in text.split()]
    except ValueError:
        return []


def _check_numbers(element: ET.Element) -> None:
    for key, text in element.attrib.items():
        if key in NOT_NUMBERS:
            continue
        # MuJoCo 4.0.0 gives up on an empty anchor, and hangs on the next file
        if key == "anchor" and not text.strip():
            raise InvalidFile(f"<{element.tag}>: anchor must be three numbers; it is empty.", key)
        if not all(abs(number) <= LARGEST for number in _read_numbers(text)):
            raise InvalidFile(
                f"<{element.tag}>: {key} must be finite and at most {LARGEST:g} in SI units, not"
                f" {quote(text)}.",
                key,
            )


def _check_range(ends: np.ndarray, kind: str, name: str, attribute: str) -> None:
    lower, upper = (float(end) for end in ends)
    if lower > upper:
        raise InvalidModel(
            f"{kind} {name!r}: the lower end {lower:g} of {attribute} is above the upper end"
            f" {upper:g}: swap them, or remove the range for no limit.",
            name,
        )
