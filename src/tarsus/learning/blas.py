"""Run NumPy's matrix products on one thread, which is fastest for small networks."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from tarsus.installation import missing_package_error


def limit_to_one_thread() -> AbstractContextManager[Any]:
    """Limit NumPy's matrix products to one thread inside a `with` block.

    For products of 2048 rows and 32 columns, threads spend most of the time waiting for each other:
    65 times as long on two busy cores. The number of threads also changes the last bits of a
    product.
    """
    return _find_controller().limit(limits=1, user_api="blas")


@cache
def _find_controller() -> Any:
    """Find the object that sets the threads of the loaded libraries; this takes time."""
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        raise missing_package_error("threadpoolctl", "learning", "learn") from None
    return ThreadpoolController()
