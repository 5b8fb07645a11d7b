"""Every parameter of every law, gait, stepper and terrain is declared, and its range is
enforced.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np
import pytest
from helpers.refused import refused

from tarsus import registry
from tarsus.contact.base import Law
from tarsus.control.base import Controller
from tarsus.errors import InvalidValue, UnknownName, Unsupported
from tarsus.parameters import Parameter, declared_fields, markdown, name_of, table
from tarsus.stepping.base import Stepper
from tarsus.terrain.base import Terrain
from tarsus.terrain.heightfield import HeightField
from tarsus.terrain.surface import Surface
from tarsus.terrain.world import World

YARD = Path(__file__).parents[1] / "helpers" / "yard.xml"
FAMILIES: dict[str, tuple[str, type]] = {
    "law": ("tarsus.contact.laws", Law),
    "gait": ("tarsus.control.gaits", Controller),
    "stepper": ("tarsus.stepping.methods", Stepper),
    "terrain": ("tarsus.terrain", Terrain),
}
MEMBERS = [
    pytest.param(registry.member_class(package, kind, name, family), id=f"{kind} {name}")
    for kind, (package, family) in FAMILIES.items()
    for name in registry.names(package)
]


def sound(owner: type) -> Any:
    """Create a member with its defaults and the minimum of required arguments."""
    if owner is HeightField:
        return HeightField(np.zeros((3, 3)))
    if owner is World:
        return World(str(YARD))
    return Surface(lambda x, y: 0.1 * x) if owner is Surface else owner()


def outside(p: Parameter) -> list[float]:
    """Values just outside the range of a parameter, and values that are not numbers."""
    found = [np.nan, np.inf, -np.inf]
    for bound, excluded, away in (
        (p.range.low, p.range.low_excluded, -1.0),
        (p.range.high, p.range.high_excluded, 1.0),
    ):
        if np.isfinite(bound):
            found.append(bound if excluded else bound + away * max(1e-9, 1e-9 * abs(bound)))
    return found


@pytest.mark.parametrize(
    "package, name",
    [(package, name) for package, _ in FAMILIES.values() for name in registry.names(package)],
)
def test_parameter_names_are_read_from_the_source(package: str, name: str) -> None:
    """So that a typo is reported before CasADi is imported."""
    family = {package: family for package, family in FAMILIES.values()}[package]
    owner: Any = registry.member_class(package, "member", name, family)
    assert registry.parameter_names(package, name) == tuple(declared_fields(owner))


@pytest.mark.parametrize("owner", MEMBERS)
def test_every_field_is_declared_with_unit_and_meaning(owner: type) -> None:
    assert is_dataclass(owner)
    for f in fields(owner):
        assert f.name in declared_fields(owner), f"{f.name} is not declared"
        p = declared_fields(owner)[f.name]
        assert len(p.meaning) > 1 and not p.meaning.endswith(".")
        number = isinstance(p.default, (int, float)) or (p.default and isinstance(p.default, tuple))
        assert not number or p.unit, f"{f.name} is a number without a unit"
        assert p.unit != "1" and "-" not in p.unit.split(), f"{f.name}: write [1]"


@pytest.mark.parametrize("owner", MEMBERS)
def test_defaults_are_in_range(owner: type) -> None:
    for p in declared_fields(owner).values():
        p.check(name_of(sound(owner)), p.default)


@pytest.mark.parametrize("owner", MEMBERS)
def test_choices_match_the_annotation(owner: type) -> None:
    hints = get_type_hints(owner)
    for name, p in declared_fields(owner).items():
        literal = get_origin(hints[name]) is Literal
        if literal:
            assert get_args(hints[name]) == tuple(p.choices), name
        assert bool(p.choices) == (literal or hints[name] is str), name


@pytest.mark.parametrize("owner", MEMBERS)
def test_out_of_range_values_are_rejected_by_name(owner: type) -> None:
    whole = sound(owner)
    for name, p in declared_fields(owner).items():
        if p.choices:
            with refused(UnknownName, "nothing of the kind"):
                replace(whole, **{name: "nothing of the kind"})
        elif p.is_numeric:
            several = len(p.default) if isinstance(p.default, tuple) else 0
            for wrong in outside(p):
                value = (wrong,) * several if several else wrong
                with refused(InvalidValue, name):
                    replace(whole, **{name: value})
            with refused(InvalidValue, name):
                replace(whole, **{name: "much"})


@pytest.mark.parametrize("owner", [m for m in MEMBERS if str(m.id).startswith("law")])
def test_a_value_out_of_range_in_one_world_is_rejected(owner: type) -> None:
    for name, p in declared_fields(owner).items():
        if p.is_numeric:
            for wrong in outside(p):
                with refused(InvalidValue, name):
                    replace(owner(), **{name: np.array([p.default, wrong])})


@pytest.mark.parametrize("owner", MEMBERS)
def test_the_table_has_a_row_for_each_field(owner: type) -> None:
    assert [row.name for row in table(owner)] == [f.name for f in fields(owner)]  # type: ignore[arg-type]
    widths = {line.replace("\\|", "").count("|") for line in markdown(owner)}
    assert widths == {6}


@pytest.mark.parametrize("name", registry.names("tarsus.control.gaits"))
def test_a_gait_explains_why_it_does_not_suit_a_robot(name: str) -> None:
    """`why_unsuitable` and the error on use give the same reason."""
    gait = registry.member_class("tarsus.control.gaits", "gait", name, Controller)()
    for robot in registry.names("tarsus.robots"):
        mechanism = registry.member_module("tarsus.robots", "robot", robot).describe()
        reason = gait.why_unsuitable(mechanism)
        if reason is None:
            gait.initial_memory(mechanism)
        else:
            assert reason.endswith(".")
            with refused(Unsupported, name) as caught:
                gait.initial_memory(mechanism)
            assert str(caught.value) == reason


@pytest.mark.parametrize("owner", MEMBERS)
def test_arrays_are_rejected_for_scalar_parameters(owner: type) -> None:
    """A field annotated as one number accepts one; the message gives the number of values."""
    for name, p in declared_fields(owner).items():
        if p.is_numeric and p.scalar:
            with refused(InvalidValue, name) as caught:
                replace(sound(owner), **{name: (p.default or 1,) * 13})
            assert "13" in str(caught.value)
