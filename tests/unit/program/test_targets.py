"""The same program for other processors: vector code without calls to a math library."""

from __future__ import annotations

import re

import llvmlite.binding as llvm
import pytest

import tarsus
from tarsus.program.codegen import emit
from tarsus.program.codegen.layout import Target

PROCESSORS = {
    "arm": ("aarch64-unknown-linux-gnu", "generic", "+neon", 2, "fmla"),
    "apple": ("arm64-apple-macosx13", "apple-m1", "", 2, "fmla"),
    "x86": ("x86_64-unknown-linux-gnu", "haswell", "", 4, "vfmadd"),
}


@pytest.fixture(scope="module")
def program():
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return tarsus.Simulation("mini_cheetah", controller="trot").program


@pytest.mark.parametrize(
    "name",
    [
        "x86",
        pytest.param("arm", marks=pytest.mark.slow),
        pytest.param("apple", marks=pytest.mark.slow),
    ],
)
def test_code_compiles_for_other_targets_without_library_calls(program, name: str) -> None:
    triple, cpu, features, lanes, fused = PROCESSORS[name]
    module = llvm.parse_assembly(emit.ir_text(program, Target(lanes, 64)))
    module.triple = triple
    target = llvm.Target.from_triple(triple)
    machine = target.create_target_machine(
        cpu=cpu, features=features, opt=2, reloc="pic", codemodel="small"
    )
    assembly = machine.emit_assembly(module)
    # those of the program's own cold functions go through their table, `*`
    called = set(re.findall(r"\t(?:bl|callq?)\t([^\s*]+)\n", assembly))
    assert {name.lstrip("_").removesuffix("@PLT") for name in called} <= {"memcpy"}
    assert assembly.count(fused) > 1000
