"""Examples in the docstrings of the public names run and print what they show."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

import tarsus

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
NAMES = [name for name in tarsus.__all__ if name != "__version__"]


def examples(name: str) -> doctest.DocTest:
    """Return the examples in the docstring of a public name."""
    text = getattr(tarsus, name).__doc__ or ""
    return doctest.DocTestParser().get_doctest(text, {"__name__": "__main__"}, name, None, None)


EXAMPLES = {name: test for name in NAMES if (test := examples(name)).examples}


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_of_a_public_name_run(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    report = list[str]()
    results = doctest.DocTestRunner(optionflags=FLAGS).run(EXAMPLES[name], out=report.append)
    assert results.failed == 0, "".join(report)


def test_simulations_and_their_results_have_examples() -> None:
    names = {"Simulation", "world", "summary", "trunk_angles", "impacts", "Diverged", "trust"}
    assert names | {"Interrupted", "TarsusError", "TarsusWarning"} <= EXAMPLES.keys()
