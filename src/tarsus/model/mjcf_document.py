"""MJCF text as a tree and back, each element on the line of its file.

MuJoCo compiles text that is written from this tree, so it cannot see an element or a file name that
Tarsus has not checked.
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
    """One model: a file with the files that it includes.

    Attributes
    ----------
    root
        Root element of the file.
    lines
        Line of each element in its file.
    trees
        Root elements of included files, by their <include>.
    models
        Models that the file attaches, by name.
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

    def children(self, element: ET.Element) -> Iterator[ET.Element]:
        """Yield the children of an element, with those of the file instead of its <include>."""
        pending = list(reversed(element))
        while pending:
            child = pending.pop()
            if child in self.trees:
                pending += reversed(self.trees[child])
            else:
                yield child

    def has_attribute(self, tag: str, attribute: str) -> bool:
        """Return whether an element gives the attribute, even if the value is MuJoCo's default."""
        return any(attribute in e.attrib for e in self.elements() if e.tag == tag)


def parse_xml(data: bytes) -> tuple[ET.Element, Lines]:
    """Parse MJCF text; return the root element and the line of each element.

    Prefixes of names stay as they are, because MuJoCo knows no namespaces.

    Raises
    ------
    InvalidFile
        If the XML is malformed or not UTF-8.
    """
    try:
        data.decode()
    except UnicodeDecodeError:
        raise InvalidFile("the text is not UTF-8: save the file as UTF-8.") from None
    try:
        try:
            return _tree(data)
        except expat.ExpatError:
            return _tree(COMMENT.sub(lambda match: b"\n" * match[0].count(b"\n"), data))
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


def format_xml(root: ET.Element, lines: Lines) -> str:
    """Format a tree as XML, without its text.

    Each element stands on its line in `lines`, or after the previous element if it has none.
    """
    output, line = list[str](), 1
    stack: list[ET.Element | str] = [root]
    while stack:
        item = stack.pop()
        if isinstance(item, str):
            output.append(item)
            continue
        missing = max(lines.get(item, line) - line, 0)
        line += missing
        attributes = "".join(
            f" {name}={quoteattr(value)}"
            for name, value in item.attrib.items()
            if not name.startswith("xmlns")
        )
        output.append("\n" * missing + f"<{item.tag}{attributes}{'>' if len(item) else '/>'}")
        if len(item):
            stack.append(f"</{item.tag}>")
            stack += reversed(item)
    return "".join(output)
