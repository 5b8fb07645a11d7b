"""Evaluation of programs over samples: each sample is independent of the others."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from tarsus.program.ir import reference
from tarsus.program.ir.trace import Builder
from tarsus.program.run import evaluation


@pytest.mark.parametrize("count", [1, 4, 5, 8, 9])
def test_split_random_draws_match_the_reference(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluation, "CHUNK_SIZE", 4)
    b = Builder("samples")
    x, s = b.parameter("x", 3), b.parameter("s")
    program = b.program(scaled=s * x, length=ca.sqrt(ca.dot(x, x)))
    rng = np.random.default_rng(count)
    given = {"x": rng.normal(size=(count, 3)), "s": rng.normal(size=(count, 1))}
    found = evaluation.evaluate(program, given)
    assert {name: value.shape for name, value in found.items()} == {
        "scaled": (count, 3),
        "length": (count, 1),
    }
    expected = reference.run(program, given)
    for name, value in found.items():
        np.testing.assert_allclose(value, expected[name], rtol=1e-14)
