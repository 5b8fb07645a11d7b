"""Text of the files that `tarsus export --c` writes."""

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
    "memory": "memory of the contact law",
    "control": "memory of the gait",
    "steps": "number of steps done; the time is steps * dt",
    "bilateral": "impulses of loop joints, N s",
    "impulse": "contact impulses over the step, N s: normal, tangent 1, tangent 2 of each",
    "iterations": "iterations of the contact solver",
    "converged": "1 if the step was solved and is finite",
    "tau": "motor torques during the step, N m",
    "dt": "time step, s",
    "action": "input torques, N m",
    "command": "commands of the gait",
    "episode": "not used: number of the sensor noise's episode",
    "noise": "not used: the step adds no sensor noise",
    "bias": "not used: the step adds no sensor bias",
    "push": "external forces (N) and moments (N m), world axes",
}


@dataclass(frozen=True)
class CSource:
    """Parts of the C files.

    Attributes
    ----------
    name
        Prefix of every C name.
    description
        Lines of the header comment.
    sizes
        Constants by name.
    record
        Type of a world's record.
    init
        Function that initializes a record.
    declarations
        Signatures and meanings of the functions.
    code
        Helpers and functions.
    """

    name: str
    description: Sequence[str]
    sizes: Mapping[str, int]
    record: str
    init: str
    declarations: Sequence[tuple[str, str]]
    code: Sequence[str]


@dataclass(frozen=True, eq=False)
class Vectors:
    """Test vectors of one function.

    Attributes
    ----------
    function
        Name of the function.
    inputs
        Names and values of the inputs, each of shape (n, size).
    results
        Results, shape (n, size).
    registers
        For the step, the registers that a result consists of, in order; else empty.
    """

    function: str
    inputs: Sequence[tuple[str, Array]]
    results: Array
    registers: Sequence[str] = ()


def write_comment(parts: CSource) -> str:
    """Generate the comment at the top of every file."""
    return "/* " + "\n * ".join(parts.description) + "\n */\n"


def write_header(parts: CSource) -> str:
    """Generate the text of NAME.h."""
    # constants and functions, inside the include guard and extern "C"
    guard = f"{parts.name.upper()}_H"
    constants = [
        f"#define {parts.name.upper()}_{key.upper()} {size}" for key, size in parts.sizes.items()
    ]
    functions = [f"/* {meaning} */\n{signature};\n" for signature, meaning in parts.declarations]
    return "\n".join(
        [
            write_comment(parts),
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
            "/* initialize: the robot stands, and every parameter has its default value */",
            f"void {parts.name}_init({parts.name}_t *d);",
            "",
            "/* one time step: controller, torque limits, contacts and motion */",
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


def write_source(parts: CSource) -> str:
    """Generate the text of NAME.c."""
    includes = [f'#include "{parts.name}.h"', "", "#include <math.h>", "#include <stddef.h>"]
    includes += ["#include <stdint.h>", "#include <string.h>", ""]
    return "\n".join([write_comment(parts), *includes, *parts.code, parts.init])


def write_vectors(parts: CSource, vectors: Sequence[Vectors]) -> str:
    """Generate the text of NAME_vectors.h: inputs, and the results of Python."""
    lines = [write_comment(parts)]
    inputs: dict[str, Array] = {}
    for vector in vectors:
        kind = "step" if vector.registers else "of"
        inputs |= {f"{kind}_{name}": values for name, values in vector.inputs}
    for name, values in inputs.items():
        lines.append(_write_table(f"given_{name}", values))
    for vector in vectors:
        lines.append(_write_table(f"expected_{vector.function}", vector.results))
    return "\n".join(lines)


def _write_table(name: str, values: Array) -> str:
    rows = ",\n".join("    {\n" + numbers(row) + "\n    }" for row in values)
    shape = "".join(f"[{size}]" for size in values.shape)
    return f"static const double {name}{shape} = {{\n{rows}\n}};\n"


def write_test(parts: CSource, vectors: Sequence[Vectors]) -> str:
    """Generate the text of test_NAME.c, which compares every function with its test vectors."""
    body = []
    for vector in vectors:
        count, size = vector.results.shape
        if vector.registers:
            body += _write_step_test(parts, vector)
            continue
        arguments = "".join(f"given_of_{name}[k], " for name, _ in vector.inputs)
        body += [
            f"    for (int k = 0; k < {count}; ++k) {{",
            f"        double out[{size}];",
            f"        {vector.function}({arguments}out);",
            f'        compare("{vector.function}", out, expected_{vector.function}[k], {size});',
            "    }",
        ]
    return TEST.format(
        comment=write_comment(parts), name=parts.name, body="\n".join(body), tolerance=TOLERANCE
    )


def _write_step_test(parts: CSource, vector: Vectors) -> list[str]:
    nu = vector.inputs[0][1].shape[1]
    lines = [
        f"    for (int k = 0; k < {len(vector.results)}; ++k) {{",
        f"        static {parts.name}_t d;",
        f"        {parts.name}_init(&d);",
        f"        for (int i = 0; i < {nu}; ++i)",
        "            d.u[i] = given_step_u[k][i];",
        "        for (int step = 0; step < STEPS; ++step)",
        f"            {parts.name}_step(&d);",
        f"        const double *expected = expected_{vector.function}[k];",
    ]
    for register in vector.registers:
        member = identifier(register)
        label = f"{vector.function}: {member}"
        lines += [
            f'        compare("{label}", d.{member}, expected, SIZE(d.{member}));',
            f"        expected += SIZE(d.{member});",
        ]
    return [*lines, "        (void)expected;", "    }"]


def write_example(parts: CSource) -> str:
    """Generate the text of example.c, a main loop that measures the time of a step."""
    return EXAMPLE.format(
        comment=write_comment(parts),
        name=parts.name,
        name_upper=parts.name.upper(),
        size="one world: tens of kilobytes",
    )


def write_cmake(parts: CSource) -> str:
    """Generate the text of CMakeLists.txt."""
    return CMAKE.format(name=parts.name, description=parts.description[0])
