"""MJCF text as a tree and back, each element on the line of the file that it came from.

What MuJoCo compiles is written from our own tree, so that it cannot see an element, or a file's
name, that we did not.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.parsers import expat
from xml.sax.saxutils import quoteattr

from tarsus.errors import InvalidFile

COMMENT = re.compile(rb"<!--.*?-->", re.DOTALL)  # MuJoCo allows -- in it, XML does not

Lines = dict[ET.Element, int]


@dataclass
class Document:
    """One model: a file with what it includes.

    lines: of its elements; trees: roots of included files, by their <include>; models: those that
    it attaches, by name
    """

    root: ET.Element
    lines: Lines
    trees: dict[ET.Element, ET.Element] = field(default_factory=dict)
    models: dict[str, Document] = field(default_factory=dict)

    def elements(self) -> Iterator[ET.Element]:
        """Yield every element, also of included files."""
        stack = [self.root]
        while stack:
            element = stack.pop()
            yield element
            stack += element
            if element in self.trees:
                stack.append(self.trees[element])

    def gives(self, tag: str, attribute: str) -> bool:
        """Whether an element has the attribute, be it MuJoCo's own default that it gives."""
        return any(attribute in found.attrib for found in self.elements() if found.tag == tag)


def parsed(data: bytes) -> tuple[ET.Element, Lines]:
    """Return the root element of MJCF text, and the line of each element.

    Prefixes of names stay as they are: MuJoCo knows no namespaces. Raises TarsusError if the XML is
    broken or not UTF-8.
    """
    try:
        data.decode()
    except UnicodeDecodeError:
        raise InvalidFile("the text is not UTF-8: save the file as UTF-8.") from None
    try:
        try:
            return _tree(data)
        except expat.ExpatError:
            return _tree(COMMENT.sub(lambda found: b"\n" * found[0].count(b"\n"), data))
    except (LookupError, ValueError) as error:
        raise InvalidFile(
            f"the encoding cannot be read ({error}): save the file as UTF-8."
        ) from None
    except expat.ExpatError as error:
        raise InvalidFile(f"the XML is malformed: {error}.") from None


def _tree(data: bytes) -> tuple[ET.Element, Lines]:
    reader, builder, lines = expat.ParserCreate(), ET.TreeBuilder(), Lines()

    def start(tag: str, attributes: dict[str, str]) -> None:
        lines[builder.start(tag, attributes)] = reader.CurrentLineNumber

    reader.StartElementHandler = start
    reader.EndElementHandler = builder.end
    reader.Parse(data, True)
    return builder.close(), lines


def written(root: ET.Element, lines: Lines) -> str:
    """Return the XML of a tree without its text; an element without a line goes on the last one."""
    parts, at = list[str](), 1
    stack: list[ET.Element | str] = [root]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            parts.append(item)
            continue
        # down to the element's line
        missing = max(lines.get(item, at) - at, 0)
        at += missing
        attributes = "".join(
            f" {name}={quoteattr(value)}"
            for name, value in item.attrib.items()
            if not name.startswith("xmlns")
        )
        parts.append("\n" * missing + f"<{item.tag}{attributes}{'>' if len(item) else '/>'}")
        if len(item):
            stack.append(f"</{item.tag}>")
            stack += reversed(item)
    return "".join(parts)
