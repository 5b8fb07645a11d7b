"""Assert that a call warns, by the code and the subject of the warning, never by its words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tarsus.errors import TarsusWarning


@contextmanager
def warned(code: str, subject: object) -> Iterator[None]:
    """Expect at least one TarsusWarning of this code whose subject is this name.

    Examples
    --------
    >>> with warned("massless-root-fixed", "base"):
    ...     tarsus.load("robot.urdf")
    """
    with pytest.warns(TarsusWarning) as caught:
        yield
    issued = [w.message for w in caught if isinstance(w.message, TarsusWarning)]
    found = [(warning.code, warning.subject) for warning in issued]
    assert (code, str(subject)) in found, found
