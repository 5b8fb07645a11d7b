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
MIN_SIMILARITY = 0.5  # 0 to 1, of a name that is suggested for a typo
CONTROL_CHARACTERS = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u2028\u2029]"
)  # in names that a message quotes


class TarsusError(ValueError):
    """Error caused by bad input; base class of all errors that Tarsus raises on purpose.

    Raise one of the subclasses, which say what kind of mistake it is.

    Parameters
    ----------
    message : str
        The problem and its remedy, in one sentence. Control characters are escaped, so that the
        message stays on one line even if it quotes such names.
    subject : str, optional
        Name of the option, joint, file or attribute at fault.

    Examples
    --------
    >>> import tarsus
    >>> try:
    ...     tarsus.load("mini_cheeta")
    ... except tarsus.TarsusError as error:
    ...     print(error.subject)
    mini_cheeta
    """

    def __init__(self, message: str = "", subject: object = "") -> None:
        super().__init__(CONTROL_CHARACTERS.sub(_escape, message))
        self.subject = str(subject)

    def with_context(self, context: str) -> Self:
        """Prefix the message of the error with `context` and a colon."""
        copy = type(self).__new__(type(self))
        TarsusError.__init__(copy, f"{context}: {self}", self.subject)
        return copy


class UnknownName(TarsusError):
    """A name that is not defined, such as a law, joint or option; the subject is the name."""


class InvalidValue(TarsusError):
    """A value of the wrong type, shape or range. The subject is the option or parameter."""


class IncompatibleOptions(TarsusError):
    """Options that exclude each other, or one that needs another. The subject is the option."""


class InvalidFile(TarsusError):
    """A file that is missing, unreadable, damaged or of the wrong format.

    The subject is the file, or the attribute or key in it that is at fault.
    """


class InvalidModel(TarsusError):
    """A robot description that contradicts itself or physics. The subject is the element."""


class Unsupported(TarsusError):
    """Valid input that Tarsus does not simulate or cannot do. The subject is the feature."""


class MissingPackage(TarsusError):
    """An optional package or program is not installed. The subject is its name."""


class UnmetCondition(TarsusError):
    """A computation that cannot succeed from this state or data.

    Examples are an equation without a solution, too few samples, or a robot that falls. The subject
    is what is missing.
    """


class UntrustedFile(TarsusError):
    """Data names a Python file that the user does not trust; the subject is the file."""


class PluginError(TarsusError):
    """A plug-in that cannot be used; the subject is the package that registers it.

    It fails to import, or another package registers the same name.
    """


def _escape(control: re.Match[str]) -> str:
    return repr(control[0])[1:-1]


class TarsusWarning(UserWarning):
    """Warning that something was ignored, changed or out of range; the computation continues.

    Parameters
    ----------
    message : str
        Description of the problem and of its remedy.
    code : str, optional
        Kind of the warning, such as "dt-above-stable-limit"; empty if there is only one kind.
    subject : str, optional
        Name of the option, joint or file that it concerns.

    Examples
    --------
    >>> import warnings
    >>> import tarsus
    >>> sim = tarsus.Simulation("mini_cheetah", controller="trot")
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     sim.advance(0.003)
    >>> [(w.message.code, w.message.subject) for w in caught]
    [('duration-rounded', 'seconds')]
    """

    def __init__(self, message: str = "", code: str = "", subject: str = "") -> None:
        super().__init__(message)
        self.code, self.subject = code, subject


class WarningRecord(str):
    """A warning as a string with a code and a subject, for lists and logs.

    Parameters
    ----------
    message : str
        The text of the warning.
    code : str
        Kind of the warning, such as "dt-above-stable-limit".
    subject : str, optional
        Name of the option, joint or file that it concerns.
    """

    __slots__ = ("code", "subject")
    code: str
    subject: str

    def __new__(cls, message: str, code: str, subject: str = "") -> WarningRecord:
        record = super().__new__(cls, message)
        record.code, record.subject = code, subject
        return record

    def __getnewargs__(self) -> tuple[str, str, str]:  # type: ignore[override]
        return str(self), self.code, self.subject

    @property
    def warning(self) -> TarsusWarning:
        """The same as a `TarsusWarning`, for `warnings.warn`."""
        return TarsusWarning(str(self), self.code, self.subject)


def warning_record(warning: Warning | str) -> WarningRecord:
    """Convert a Python warning to a record."""
    code, subject = (str(getattr(warning, name, "")) for name in ("code", "subject"))
    return WarningRecord(str(warning), code, subject)


def one_per_code(warnings: Iterable[WarningRecord]) -> list[WarningRecord]:
    """Select the first warning of every code."""
    first: dict[str, WarningRecord] = {}
    for warning in warnings:
        first.setdefault(warning.code or warning, warning)
    return list(first.values())


class WorldGeometryIgnored(TarsusWarning):
    """Geometry that a robot's file fixes to the world is ignored; it may be used as a terrain."""


def quote(text: str) -> str:
    """Quote a text, shortened in the middle if it is long."""
    return repr(text if len(text) <= MAX_QUOTED_LENGTH else f"{text[:40]} ... {text[-10:]}")


def join_names(names: Sequence[str], limit: int) -> str:
    """Join at most `limit` names for a sentence: "a, b and 3 more"; "none" if there are none."""
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more if names else "none"


def unknown_name_error(kind: str, name: object, known: Iterable[str]) -> UnknownName:
    """Create an error for a name that is not defined, which suggests the closest names.

    Parameters
    ----------
    kind
        Kind of object with such a name, such as "law".
    name
        Value given by the user, even if it is not text.
    known
        Names that are defined.
    """
    known = sorted(set(known))
    suggestions, shown = [], repr(name)[:MAX_QUOTED_LENGTH]
    if isinstance(name, str):
        suggestions, shown = closest_names(name, known), quote(name)
    others = f"choose from: {', '.join(known)}." if known else "none is defined here."
    hint = f"did you mean {' or '.join(suggestions)}?" if suggestions else others
    return UnknownName(f"there is no {kind} named {shown}; {hint}", name)


def branching_error(function: str) -> Unsupported:
    """Create an error for a function that branches in Python on a symbol."""
    return Unsupported(
        f"{function} branches with Python's `if`, `and` or `max` on a symbol: use ca.if_else,"
        " ca.logic_and or ca.fmax.",
        function,
    )


def closest_names(name: str, known: Iterable[str]) -> list[str]:
    """Find up to three known names that a typo may have meant, the closest first."""
    return difflib.get_close_matches(name, list(known), n=3, cutoff=MIN_SIMILARITY)
