"""Here so that every test finds the helpers that stand next to this file; the compiler's cache is
the session's own.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="session", autouse=True)
def session_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Compiled objects are kept in a folder of this session alone: caching is exercised, nobody's
    cache is touched.
    """
    folder = tmp_path_factory.mktemp("tarsus_cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TARSUS_CACHE", str(folder))
        yield folder
