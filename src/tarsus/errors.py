"""Errors and warnings of Tarsus.

Every error that bad input can cause is a `TarsusError`: one sentence that says what is wrong and
what to do. Its class says which kind of mistake it is, and its `subject` names the option, joint,
file or attribute at fault, so that programs and tests need not read the sentence.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from typing import Self

MAX_QUOTED_LENGTH = 80  # characters of a text that a message quotes in full
MIN_SIMILARITY = 0.5  # likeness, 0 to 1, from which a name is suggested
CONTROL_CHARACTERS = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u2028\u2029]"
)  # in names that a message quotes


class TarsusError(ValueError):
    """Bad input, in one sentence for the person at the keyboard.

    Raise one of the subclasses, which say what kind of mistake it is.

    Parameters
    ----------
    message : str
        What is wrong, then what to do, as one sentence. Control characters are escaped, so that it
        stays on one line whatever names it quotes.
    subject : str, optional
        Name of the option, joint, file or attribute at fault.
    """

    def __init__(self, message: str = "", subject: object = "") -> None:
        super().__init__(CONTROL_CHARACTERS.sub(_escaped, message))
        self.subject = str(subject)

    def within(self, context: str) -> Self:
        """Return the same error with `context` and a colon in front of its message."""
        copy = type(self).__new__(type(self))
        TarsusError.__init__(copy, f"{context}: {self}", self.subject)
        return copy


class UnknownName(TarsusError):
    """A name that is not defined: a law, a joint, an option, a column. The subject is the name."""


class InvalidValue(TarsusError):
    """A value of the wrong type, shape or range. The subject is the option or parameter."""


class IncompatibleOptions(TarsusError):
    """Options that exclude each other, or one that needs another. The subject is the option."""


class InvalidFile(TarsusError):
    """A file that is missing, unreadable, damaged or of another format. The subject is the file,
    or the attribute or key in it that is at fault.
    """


class InvalidModel(TarsusError):
    """A robot description that contradicts itself or physics. The subject is the element."""


class Unsupported(TarsusError):
    """Valid input that Tarsus does not simulate or cannot do. The subject is the feature."""


class MissingPackage(TarsusError):
    """An optional package or program is not installed. The subject is its name."""


class UnmetCondition(TarsusError):
    """A computation that cannot succeed from this state or data: no solution, too few samples,
    a robot that falls. The subject is what is missing.
    """


class UntrustedFile(TarsusError):
    """Data names a file of Python code that the user has not named. The subject is the file."""


class PluginError(TarsusError):
    """An installed package whose plug-in cannot be used: it fails to import, or another package has
    one of the same name. The subject is the package.
    """


def _escaped(control: re.Match[str]) -> str:
    return repr(control[0])[1:-1]


class TarsusWarning(UserWarning):
    """Something was dropped, ignored or out of range; the work goes on.

    code: its kind, such as "dt-above-stable-limit", empty where there is but one; subject: the name
    that it concerns, or empty
    """

    def __init__(self, message: str = "", code: str = "", subject: str = "") -> None:
        super().__init__(message)
        self.code, self.subject = code, subject


class WarningRecord(str):
    """A warning as a record: the sentence, with its kind and what it concerns.

    code: its kind, such as "dt-above-stable-limit"; subject: the name that it concerns, or empty
    """

    __slots__ = ("code", "subject")
    code: str
    subject: str

    def __new__(cls, message: str, code: str, subject: str = "") -> WarningRecord:
        made = super().__new__(cls, message)
        made.code, made.subject = code, subject
        return made

    def __getnewargs__(self) -> tuple[str, str, str]:  # type: ignore[override]
        return str(self), self.code, self.subject

    @property
    def warning(self) -> TarsusWarning:
        """The same for `warnings.warn`."""
        return TarsusWarning(str(self), self.code, self.subject)


def warning_record(warning: Warning | str) -> WarningRecord:
    """Return a Python warning as a record."""
    code, subject = (str(getattr(warning, name, "")) for name in ("code", "subject"))
    return WarningRecord(str(warning), code, subject)


def one_per_code(notices: Iterable[WarningRecord]) -> list[WarningRecord]:
    """Return the first notice of every kind."""
    first: dict[str, WarningRecord] = {}
    for notice in notices:
        first.setdefault(notice.code or notice, notice)
    return list(first.values())


class WorldGeometryIgnored(TarsusWarning):
    """What a robot's file fixes to its world is no part of the robot, and may be its terrain."""


def quoted(text: str) -> str:
    """A text in quotation marks, its middle left out if it is long."""
    return repr(text if len(text) <= MAX_QUOTED_LENGTH else f"{text[:40]} ... {text[-10:]}")


def join_names(names: Sequence[str], most: int) -> str:
    """The names in a sentence, no more than `most`: "a, b and 3 more"; "none" of none."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more if names else "none"


def unknown_name(kind: str, name: object, known: Iterable[str]) -> UnknownName:
    """An error for a name that is not there, or for what is no name, with the nearest names
    suggested.
    """
    known = sorted(set(known))
    near, told = [], repr(name)[:MAX_QUOTED_LENGTH]
    if isinstance(name, str):
        near, told = closest_names(name, known), quoted(name)
    others = f"known are: {', '.join(known)}." if known else "there is none at all."
    hint = f"did you mean {' or '.join(near)}?" if near else others
    return UnknownName(f"there is no {kind} named {told}; {hint}", name)


def python_branching(who: str) -> Unsupported:
    """An error for a function that branches with Python on a symbol."""
    return Unsupported(
        f"{who} branches with Python's `if`, `and` or `max` on a symbol: use ca.if_else,"
        " ca.logic_and or ca.fmax.",
        who,
    )


def closest_names(name: str, known: Iterable[str]) -> list[str]:
    """At most three of the known names that a typo may have meant, the nearest first."""
    return difflib.get_close_matches(name, list(known), n=3, cutoff=MIN_SIMILARITY)
