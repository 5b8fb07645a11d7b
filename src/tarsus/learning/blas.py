"""NumPy's matrix products on one thread, on which those of small networks are fastest."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from tarsus.installation import missing_package


def one_thread() -> AbstractContextManager[Any]:
    """Limit NumPy's matrix products to one thread inside a `with` block.

    Their threads wait for each other longer than products of 2048 rows and 32 columns take: 65
    times as long on two busy cores. How many there are also changes the last bits of a product.
    """
    return _controller().limit(limits=1, user_api="blas")


@cache
def _controller() -> Any:
    """What sets the threads of the libraries that are loaded; finding them takes milliseconds."""
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        raise missing_package("threadpoolctl", "learning", "learn") from None
    return ThreadpoolController()
