"""Intervals keep their digits, and names of files are short."""

from __future__ import annotations

import pytest

from tarsus.viewer.number_format import interval, plus_minus, short_name


@pytest.mark.parametrize(
    ("value", "half", "form", "told"),
    [
        (0.4, 0.003, "{:.3f}", "0.400 ±0.003"),
        (0.4, 0.0003, "{:.3f}", "0.4000 ±0.0003"),
        (502.0, 0.2, "{:.0f}", "502.0 ±0.2"),
        (0.4, 2e-7, "{:.3f}", "0.4 ±2e-07"),
        (1234.5, 0.0, "{:,.0f}", "1,234"),
    ],
)
def test_an_interval_is_not_rounded_away(value: float, half: float, form: str, told: str) -> None:
    assert plus_minus(value, half, form) == told


@pytest.mark.parametrize(
    ("low", "high"), [(0.369999, 0.370001), (2.0, 2.0000001), (-3.3000012, -3.3), (0.1, 0.5)]
)
def test_the_ends_of_an_interval_differ(low: float, high: float) -> None:
    first, second = map(float, interval(low, high).split(" to "))
    assert second - first == pytest.approx(high - low, rel=0.1)


def test_user_laws_have_a_short_name() -> None:
    names = ("moreau", "a/b/my_floor.py", "scene.xml", "go2")
    assert [short_name(n) for n in names] == ["moreau", "my_floor", "scene", "go2"]
