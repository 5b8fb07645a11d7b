"""The texts of the files that `tarsus export --c` writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tarsus.exchange.c_files import CMAKE, EXAMPLE, TEST, UNITS
from tarsus.program.codegen.c_source import identifier, numbers

Array = NDArray[np.float64]
TOLERANCE = "1e-12"
NOTES: Mapping[str, str] = {
    "q": "coordinates: world position, quaternion (w, x, y, z), joints",
    "u": "velocities: world linear, body angular, joint rates",
    "memory": "the contact law's",
    "control": "the gait's",
    "steps": "done so far; time is steps * dt",
    "bilateral": "impulses of loop joints, N s",
    "impulse": "contact impulses over the step, N s: normal, tangent 1, tangent 2 of each",
    "iterations": "of the contact solver",
    "converged": "1 if the step was solved and is finite",
    "tau": "motor torques during the step, N m",
    "dt": "length of a step, s",
    "action": "torques from outside, N m",
    "command": "what the gait is told",
    "episode": "of the sensors' noise: no step looks at it",
    "noise": "no step adds it: readings are without noise",
    "bias": "no step adds it: readings are without bias",
    "push": "external forces (N) and moments (N m), world axes",
}


@dataclass(frozen=True)
class CSource:
    """What the files are made of.

    name: prefix of every C name; told: lines for the head; sizes: constants by name; record: the
    type of a world's record; init: the function that starts it; declarations: signatures and
    meanings; code: helpers and functions
    """

    name: str
    told: Sequence[str]
    sizes: Mapping[str, int]
    record: str
    init: str
    declarations: Sequence[tuple[str, str]]
    code: Sequence[str]


@dataclass(frozen=True, eq=False)
class Vectors:
    """Inputs (n, size) of a function and its results (n, size); of the step the registers that make
    a result, in order.
    """

    function: str
    inputs: Sequence[tuple[str, Array]]
    results: Array
    registers: Sequence[str] = ()


def head(parts: CSource) -> str:
    """The comment above every file."""
    return "/* " + "\n * ".join(parts.told) + "\n */\n"


def header(parts: CSource) -> str:
    """NAME.h."""
    # constants and functions, between what C++ and a second #include need
    guard = f"{parts.name.upper()}_H"
    constants = [
        f"#define {parts.name.upper()}_{key.upper()} {size}" for key, size in parts.sizes.items()
    ]
    functions = [f"/* {meaning} */\n{signature};\n" for signature, meaning in parts.declarations]
    return "\n".join(
        [
            head(parts),
            UNITS,
            f"#ifndef {guard}",
            f"#define {guard}",
            "",
            *constants,
            "",
            "#ifdef __cplusplus",
            'extern "C" {',
            "#endif",
            "",
            parts.record,
            "/* the start: the robot stands, every parameter has its value */",
            f"void {parts.name}_init({parts.name}_t *d);",
            "",
            "/* one step of dt: controller, torque limits, contacts, motion */",
            f"void {parts.name}_step({parts.name}_t *d);",
            "",
            *functions,
            "#ifdef __cplusplus",
            "}",
            "#endif",
            "",
            f"#endif /* {guard} */",
            "",
        ]
    )


def source(parts: CSource) -> str:
    """NAME.c."""
    includes = [f'#include "{parts.name}.h"', "", "#include <math.h>", "#include <stddef.h>"]
    includes += ["#include <stdint.h>", "#include <string.h>", ""]
    return "\n".join([head(parts), *includes, *parts.code, parts.init])


def vectors_text(parts: CSource, vectors: Sequence[Vectors]) -> str:
    """NAME_vectors.h: inputs and what Python computes."""
    lines = [head(parts)]
    inputs: dict[str, Array] = {}
    for vector in vectors:
        kind = "step" if vector.registers else "of"
        inputs |= {f"{kind}_{name}": values for name, values in vector.inputs}
    for name, values in inputs.items():
        lines.append(_table(f"given_{name}", values))
    for vector in vectors:
        lines.append(_table(f"expected_{vector.function}", vector.results))
    return "\n".join(lines)


def _table(name: str, values: Array) -> str:
    rows = ",\n".join("    {\n" + numbers(row) + "\n    }" for row in values)
    shape = "".join(f"[{size}]" for size in values.shape)
    return f"static const double {name}{shape} = {{\n{rows}\n}};\n"


def test(parts: CSource, vectors: Sequence[Vectors]) -> str:
    """test_NAME.c: every function against its vectors."""
    body = []
    for vector in vectors:
        count, size = vector.results.shape
        if vector.registers:
            body += _step_test(parts, vector)
            continue
        arguments = "".join(f"given_of_{name}[k], " for name, _ in vector.inputs)
        body += [
            f"    for (int k = 0; k < {count}; ++k) {{",
            f"        double out[{size}];",
            f"        {vector.function}({arguments}out);",
            f'        compare("{vector.function}", out, expected_{vector.function}[k], {size});',
            "    }",
        ]
    return TEST.format(head=head(parts), name=parts.name, body="\n".join(body), tolerance=TOLERANCE)


def _step_test(parts: CSource, vector: Vectors) -> list[str]:
    from_start = vector.inputs[0][1].shape[1]
    lines = [
        f"    for (int k = 0; k < {len(vector.results)}; ++k) {{",
        f"        static {parts.name}_t d;",
        f"        {parts.name}_init(&d);",
        f"        for (int i = 0; i < {from_start}; ++i)",
        "            d.u[i] = given_step_u[k][i];",
        "        for (int step = 0; step < STEPS; ++step)",
        f"            {parts.name}_step(&d);",
        f"        const double *expected = expected_{vector.function}[k];",
    ]
    for register in vector.registers:
        member = identifier(register)
        told = f"{vector.function}: {member}"
        lines += [
            f'        compare("{told}", d.{member}, expected, SIZE(d.{member}));',
            f"        expected += SIZE(d.{member});",
        ]
    return [*lines, "        (void)expected;", "    }"]


def example(parts: CSource) -> str:
    """example.c: a main loop with the time of a step."""
    return EXAMPLE.format(
        head=head(parts),
        name=parts.name,
        name_upper=parts.name.upper(),
        size="a world: some tens of kilobytes",
    )


def cmake(parts: CSource) -> str:
    """CMakeLists.txt."""
    return CMAKE.format(name=parts.name, told=parts.told[0])
