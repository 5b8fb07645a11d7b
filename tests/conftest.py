"""Configuration of all tests.

It makes `tests/helpers` importable and gives each session its own cache of compiled code. Code is
not optimized unless requested: `TARSUS_OPTIMIZE=1 pytest`.
"""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.ball import BALL
from helpers.diagonal import beside_the_diagonal
from helpers.slow_cases import SLOW_CASES

from tarsus.program.run import tiers


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark slow cases that have a quicker sibling, and cases off the diagonal."""
    for item in items:
        if item.nodeid.endswith(SLOW_CASES):
            item.add_marker(pytest.mark.slow)
    for item in beside_the_diagonal(items):
        item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session", autouse=True)
def session_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Use a cache folder for this session, which its workers share, so that the user's cache
    stays untouched.
    """
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "tarsus_cache"
    folder.mkdir(mode=0o700, exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TARSUS_CACHE", str(folder))
        if tiers.OPTIMIZE not in os.environ:
            patch.setenv(tiers.OPTIMIZE, "0")  # the same bits in half the time to compile
        patch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)  # or commands start a second later
        yield folder


@pytest.fixture(scope="session", autouse=True)
def ctrl_c() -> None:
    """Make Ctrl-C interrupt, also if tests run in the background of a shell that ignores it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="module")
def optimized(session_cache: Path) -> Iterator[None]:
    """Compile optimized code, as users get it, for tests of the code itself and for long runs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(tiers.OPTIMIZE, "1")
        yield


@pytest.fixture(scope="session")
def ball(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """File of a ball, the same for all tests, so that they share a compiled step."""
    path = tmp_path_factory.mktemp("ball") / "ball.xml"
    path.write_text(BALL)
    return path
