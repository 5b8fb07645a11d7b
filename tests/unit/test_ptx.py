"""The GPU kernel as text: it is made without a GPU; where ptxas is installed, its registers and spills are watched."""

from __future__ import annotations

import shutil

import pytest

import tarsus
from tarsus.program import ptx

LIMITS = {32: 2560, 64: 8192}  # bytes of spill stores for Mini Cheetah's trot on hard ground (measured 2316 and 7220)


@pytest.fixture(scope="module")
def program():
    return tarsus.Simulation("mini_cheetah", controller="trot").program


def test_a_kernel_with_a_world_a_thread(program) -> None:
    text = ptx.ptx(program)
    assert ".visible .entry kernel(" in text and ".target sm_90" in text
    assert "ld.global" in text and "fma.rn.f32" in text
    assert ".approx" not in text and ".ftz" not in text  # divisions and roots round as on a processor


@pytest.mark.skipif(shutil.which("ptxas") is None, reason="ptxas is not installed")
@pytest.mark.parametrize("bits", [32, 64])
def test_spills_do_not_grow_unnoticed(program, bits: int) -> None:
    found = ptx.resources(ptx.ptx(program, bits))
    assert found is not None
    assert found.registers <= 255 and found.code > 0
    assert found.spill_stores <= LIMITS[bits]
