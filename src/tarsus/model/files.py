"""Robot files: existing paths, XML, and errors that name the file."""

from __future__ import annotations

import difflib
import importlib
import os
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tarsus.errors import InvalidFile, TarsusError, quote
from tarsus.installation import missing_package_error
from tarsus.model.mechanism import Mechanism
from tarsus.model.robot_files import file_bytes, require_file

UNBOUND_PREFIX = 27  # expat's code for a tag such as <drake:capsule> whose prefix nothing declares
XACRO = ("http://www.ros.org/wiki/xacro", "http://wiki.ros.org/xacro", "undeclared:xacro")


@contextmanager
def add_file_to_errors(file: str, path: Path | None = None) -> Iterator[None]:
    """Add the name of a file to every error raised inside.

    An error without a subject gets the file's path, or else its name, as its subject.
    """
    try:
        yield
    except TarsusError as error:
        named = error.with_context(file)
        named.subject = named.subject or str(path or file)
        raise named from None


def check_file_exists(path: str | Path) -> Path:
    """Check that a path leads to an existing file, and return it.

    Raises
    ------
    InvalidFile
        If there is no file, or if it is a pipe, socket or device.
    """
    try:
        path = Path(path).expanduser()
        exists, folder = path.exists(), path.is_dir()
    except (OSError, ValueError, RuntimeError):  # too long, with a null, or without a home folder
        raise InvalidFile(f"{quote(str(path))} is not a valid file name.", path) from None
    if folder:
        raise InvalidFile(f"{path} is a folder: give the .urdf, .xml or .sdf file in it.", path)
    if exists:
        return require_file(path)
    if not os.path.isdir(path.parent):
        raise InvalidFile(
            f"there is no file {path}: the folder {path.parent} does not exist.", path
        )
    names = sorted(entry.name for entry in path.parent.iterdir() if entry.is_file())
    suggestions = difflib.get_close_matches(path.name, names, n=3, cutoff=0.4)
    hint = f" did you mean {' or '.join(suggestions)}?" if suggestions else ""
    raise InvalidFile(f"there is no file {path}{f';{hint}' if hint else '.'}", path)


def from_text_or_file(
    source: str | Path, text: str, read: Callable[[str | bytes, str, Path | None], Mechanism]
) -> Mechanism:
    """Read a mechanism with `read` from a file, or from a text that begins with <.

    Parameters
    ----------
    source
        Path of the file, or the text.
    text
        Name of a text in error messages.
    read
        Function of the content, its name, and its path (None for a text).
    """
    if isinstance(source, str) and source.lstrip().startswith("<"):
        with add_file_to_errors(text):
            return read(source, text, None)
    path = check_file_exists(source)
    with add_file_to_errors(path.name, path):
        return read(file_bytes(path), path.name, path)


def import_library(name: str, purpose: str, extra: str = "") -> Any:
    """Import a package that an extra installs.

    Raises
    ------
    MissingPackage
        If it is not installed, with the command that installs it.
    """
    try:
        return importlib.import_module(name)
    except ImportError:
        raise missing_package_error(name.partition(".")[0], purpose, extra) from None


def xml_root(text: bytes | str) -> ET.Element:
    """Parse XML text; return its root element.

    The namespace of the root's tag, which has no meaning in a robot's file, is removed from all
    tags.

    Raises
    ------
    InvalidFile
        If the XML is malformed, with the line.
    """
    try:
        root = ET.fromstring(text)
    except (LookupError, ValueError) as error:
        raise _unknown_encoding(error) from None
    except ET.ParseError as error:
        if error.code == UNBOUND_PREFIX:
            return xml_root(_with_prefixes(text))
        raise InvalidFile(f"the XML is malformed: {error}.") from None
    namespace, mark, _ = root.tag.rpartition("}")
    for element in root.iter() if mark else ():
        if isinstance(element.tag, str):
            element.tag = element.tag.removeprefix(namespace + mark)
    return root


def reject_xacro(root: ET.Element) -> None:
    """Check that a file is not xacro: no xacro elements, no ${...} or $(...) in attributes.

    Raises
    ------
    InvalidFile
        If the file must be expanded first.
    """
    for element in root.iter():
        is_xacro = isinstance(element.tag, str) and element.tag.startswith(
            tuple(f"{{{name}}}" for name in XACRO)
        )
        if is_xacro or any("${" in value or "$(" in value for value in element.attrib.values()):
            raise InvalidFile(
                "this file is xacro, not URDF: expand it first (xacro robot.xacro > robot.urdf)."
            )


def root_tag(path: Path) -> str:
    """Read only the first tag of an XML file, without its namespace."""
    try:
        with path.open("rb") as file:
            for _, element in ET.iterparse(file, events=("start",)):
                return element.tag.rpartition("}")[2]
    except (LookupError, ValueError) as error:
        raise _unknown_encoding(error) from None
    except OSError as error:
        raise InvalidFile(f"the file cannot be read: {error.strerror}.") from None
    except ET.ParseError as error:
        raise InvalidFile(f"the XML is malformed: {error}.") from None
    raise InvalidFile("the XML is empty.")


def _unknown_encoding(error: Exception) -> InvalidFile:
    return InvalidFile(f"the encoding cannot be read ({error}): save the file as UTF-8.")


def _with_prefixes(text: bytes | str) -> str:
    """Declare the prefixes of all tags and attributes on the root element of XML."""
    decoded = text.decode("utf-8", errors="replace") if isinstance(text, bytes) else text
    decoded = re.sub(r"^\s*<\?xml[^>]*\?>", "", decoded)
    used = set(re.findall(r"[<\s/]([A-Za-z_][\w.-]*):[A-Za-z_][\w.-]*[\s=/>]", decoded))
    missing = sorted(used - set(re.findall(r"xmlns:([\w.-]+)", decoded)) - {"xml", "xmlns"})
    declared = "".join(f' xmlns:{prefix}="undeclared:{prefix}"' for prefix in missing)
    if not declared:
        raise InvalidFile("the XML is malformed: a namespace prefix is not declared.")
    return re.sub(r"<([A-Za-z_][\w.-]*)(?=[\s>/])", rf"<\1{declared}", decoded, count=1)
