"""Assert that a call is rejected, by the kind of error and the name at fault, never by its
words.
"""

from __future__ import annotations

from typing import TypeVar

import pytest

from tarsus.errors import TarsusError

E = TypeVar("E", bound=TarsusError)


def refused(kind: type[E], subject: object) -> pytest.RaisesExc[E]:
    """Expect an error of exactly this class whose subject is this name.

    Examples
    --------
    >>> with refused(UnknownName, "frog"):
    ...     tarsus.load("frog")
    """
    return pytest.raises(
        kind, check=lambda error: type(error) is kind and error.subject == str(subject)
    )
