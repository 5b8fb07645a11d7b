"""NumPy's matrix products on one thread: those of small networks lose by more."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tarsus.installation import missing_package


@contextmanager
def one_thread() -> Iterator[None]:
    """Inside the `with` block; TarsusError if the package for it is missing.

    Its threads wait for each other longer than products of 2048 rows and 32 columns take: 65 times
    as long on two busy cores.
    """
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        raise missing_package("threadpoolctl", "learning", "learn") from None
    with threadpool_limits(1, user_api="blas"):
        yield
