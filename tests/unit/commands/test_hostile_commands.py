"""Part of tools/fuzz_commands.py that needs no simulation: all hostile parameters, and a sample
of hostile options.
"""

from __future__ import annotations

import importlib.util
import random
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tarsus import cli, registry
from tarsus.errors import TarsusError
from tarsus.parameters import declared_fields, name_of
from tarsus.parameters.range import MAX_VALUE
from tarsus.simulation.part_parameters import set_parameters

TOOLS = Path(__file__).parents[3] / "tools"


@pytest.fixture(scope="module")
def fuzz() -> ModuleType:
    spec = importlib.util.spec_from_file_location("fuzz_commands", TOOLS / "fuzz_commands.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("kind", ["law", "stepper", "terrain", "gait"])
def test_hostile_parameters_are_rejected_or_harmless(kind: str, fuzz: ModuleType) -> None:
    """Either one sentence names the parameter, or the value is finite and of the declared
    length.
    """
    package, family = fuzz.FAMILIES[kind]
    for name in registry.names(package):
        try:
            member: Any = registry.member_class(package, kind, name, family)()
        except TarsusError:
            continue  # heightfield and surface cannot do without heights
        for p in declared_fields(type(member)).values():
            for value in fuzz.yield_hostile_values(p):
                try:
                    changed = set_parameters({kind: member}, [f"{p.name}={value}"])[kind]
                except TarsusError as error:
                    assert "\n" not in str(error).replace(value, "")
                    assert name_of(member) in str(error) or p.name in str(error)
                    continue
                if p.is_numeric and getattr(changed, p.name) is not None:
                    found = np.asarray(getattr(changed, p.name), float)
                    assert np.isfinite(found).all() and np.abs(found).max() <= MAX_VALUE
                    assert not p.scalar or found.shape == ()


def test_hostile_options_are_rejected_in_one_sentence(
    fuzz: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [line for line in fuzz.list_command_lines() if "--set" not in line]
    for line in random.Random(0).sample(lines, 200):
        try:
            cli.parse_command(line).check_names()
        except TarsusError as error:
            assert str(error)
        except SystemExit as done:
            assert done.code in (0, 2)
        assert "NoneType" not in capsys.readouterr().err
