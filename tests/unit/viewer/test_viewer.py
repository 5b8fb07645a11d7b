"""The figure of a run is readable with many contacts and long names."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import xarray as xr
from matplotlib.figure import Figure

import tarsus
from tarsus.viewer.figure import MAX_NAME_LENGTH, run_figure, shorten


@pytest.fixture(scope="module")
def log() -> xr.Dataset:
    return tarsus.Simulation("mini_cheetah", controller="trot").run(0.5)


def drawn(log: xr.Dataset, title: str = "mini_cheetah, moreau") -> Figure:
    """The figure, its layout done; a warning is an error."""
    figure = run_figure(log, title)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure.draw_without_rendering()
    return figure


def readable(figure: Figure) -> None:
    """Wide axes, and no legend on the title or on another panel's axes."""
    renderer = figure._get_renderer()  # type: ignore[attr-defined]
    title = figure._suptitle.get_window_extent(renderer)  # type: ignore[attr-defined]
    width, height = figure.bbox.width, figure.bbox.height
    assert title.x0 >= 0 and title.x1 <= width and title.y1 <= height
    for ax in figure.axes:
        box = ax.get_window_extent(renderer)
        assert box.width > 0.55 * width and box.height > 0.5 * figure.dpi
        assert not box.overlaps(title)
        legend = ax.get_legend()
        if legend is None:
            continue
        around = legend.get_window_extent(renderer)
        assert not around.overlaps(title) and around.x1 <= width + 1 and around.x0 >= 0
        others = [a.get_window_extent(renderer) for a in figure.axes if a is not ax]
        rows = [other for other in others if other.y0 != box.y0]
        assert not any(around.overlaps(other) for other in rows)


@pytest.mark.diagonal
@pytest.mark.parametrize("count", [1, 2, 4, 8, 16, 40])
@pytest.mark.parametrize("name", ["foot", "front_left_lower_leg_collision", "_$x_{$"])
def test_contacts(count: int, name: str, log: xr.Dataset) -> None:
    many = log.isel(contact=np.arange(count) % 4)
    many = many.assign_coords(contact=[f"{name}_{k}" for k in range(count)])
    figure = drawn(many, f"{name}, soft_convex, dt 2.5 ms: 0.51 m in 2 s")
    readable(figure)
    legend = figure.axes[2].get_legend()
    assert legend is not None and len(legend.get_texts()) == min(count, 8)


def test_contacts_of_the_same_name_are_all_shown(log: xr.Dataset) -> None:
    same = log.assign_coords(contact=["foot"] * 4)
    assert len(drawn(same).axes[3].get_yticklabels()) == 4


@pytest.mark.parametrize("motors", [True, False])
def test_a_fixed_robot_without_contacts_shows_its_joints(motors: bool, log: xr.Dataset) -> None:
    fixed = log.isel(coordinate=slice(7, None), velocity=slice(6, None)).drop_dims("contact")
    figure = drawn(fixed if motors else fixed.drop_dims("actuator"))
    readable(figure)
    assert [len(ax.get_lines()) for ax in figure.axes] == [8, 8]
    assert "joint" in figure.axes[0].get_ylabel()


def test_a_floating_robot_without_contacts(log: xr.Dataset) -> None:
    figure = drawn(log.drop_dims("contact"), "a" * 300)
    readable(figure)
    assert "attitude" in figure.axes[1].get_ylabel()


def test_short_names_are_unique() -> None:
    names = [f"a_very_long_name_{k}_with_a_very_long_end" for k in range(12)]
    assert len(set(shorten(names))) == 12 and max(map(len, shorten(names))) <= MAX_NAME_LENGTH
    assert shorten(["foot", "hand"]) == ["foot", "hand"]


@pytest.mark.slow
def test_hoap_1_with_its_eight_contacts() -> None:
    log = tarsus.Simulation("hoap1").run(0.05)
    readable(drawn(log))
