"""The texts of the files that `tarsus export --c` writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tarsus.program.codegen.c_text import identifier, numbers

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
    "push": "external forces (N) and moments (N m), world axes",
}


@dataclass(frozen=True)
class Parts:
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


def head(parts: Parts) -> str:
    """The comment above every file."""
    return "/* " + "\n * ".join(parts.told) + "\n */\n"


def header(parts: Parts) -> str:
    """NAME.h."""
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


def source(parts: Parts) -> str:
    """NAME.c."""
    includes = [f'#include "{parts.name}.h"', "", "#include <math.h>", "#include <stddef.h>"]
    includes += ["#include <stdint.h>", "#include <string.h>", ""]
    return "\n".join([head(parts), *includes, *parts.code, parts.init])


def vectors_text(parts: Parts, vectors: Sequence[Vectors]) -> str:
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


def test(parts: Parts, vectors: Sequence[Vectors]) -> str:
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


def _step_test(parts: Parts, vector: Vectors) -> list[str]:
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


UNITS = """\
/* SI units. q: world position, quaternion (w, x, y, z), joints; u: world linear and body angular
 * velocity, joint rates. Nothing is allocated and nothing is shared: every record is a world of its
 * own, and may be stepped in any thread. */"""

TEST = """{head}
#include "{name}.h"
#include "{name}_vectors.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define STEPS 200
#define SIZE(array) (sizeof(array) / sizeof((array)[0]))

static long compared = 0, other_bits = 0, failures = 0;
static double worst = 0.0;

/* within {tolerance} of what Python computes, relative to numbers above 1 */
static void compare(const char *what, const double *found, const double *expected, size_t count)
{{
    for (size_t i = 0; i < count; ++i) {{
        const double scale = fmax(1.0, fabs(expected[i]));
        const double off = fabs(found[i] - expected[i]) / scale;
        const int same = memcmp(&found[i], &expected[i], sizeof(double)) == 0;
        const int both_nan = isnan(found[i]) && isnan(expected[i]);
        ++compared;
        other_bits += !same && !both_nan;
        if (off > worst)
            worst = off;
        if (!both_nan && !(off <= {tolerance})) {{
            if (++failures <= 20)
                printf("%s[%zu]: %.17g, not %.17g\\n", what, i, found[i], expected[i]);
        }}
    }}
}}

int main(void)
{{
{body}
    printf("%ld numbers compared, %ld with other bits, largest difference %.1e, %ld failures\\n",
           compared, other_bits, worst, failures);
    return failures != 0;
}}
"""

EXAMPLE = """{head}
/* A main loop, and how long a step takes. On a robot the loop waits for its period, reads sensors
 * into d.q and d.u, and sends d.tau to the motors. */
#include "{name}.h"

#include <stdio.h>
#include <time.h>

#define STEPS 20000

static double now(void)
{{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}}

int main(void)
{{
    static {name}_t d; /* {size} */
    double longest = 0.0, unsolved = 0.0;
    {name}_init(&d);
    {name}_step(&d); /* the caches warm up */
    const double began = now();
    for (long k = 0; k < STEPS; ++k) {{
        const double start = now();
        {name}_step(&d);
        const double took = now() - start;
        if (took > longest)
            longest = took;
        unsolved += d.converged[0] < 1.0;
    }}
    const double mean = (now() - began) / STEPS;
    printf("%d steps of %g s: mean %.2f us, longest %.2f us a step, %.0f unsolved\\n", STEPS,
           d.dt[0], 1e6 * mean, 1e6 * longest, unsolved);
    printf("%.0f times real time; q after them:", d.dt[0] / mean);
    for (int i = 0; i < {name_upper}_NQ && i < 7; ++i)
        printf(" %.4f", d.q[i]);
    printf("\\n");
    return 0;
}}
"""

CMAKE = """# {told}
cmake_minimum_required(VERSION 3.10)
project({name} C)

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_EXTENSIONS OFF)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

# without fused multiply-add instructions a step calls the library's fma: right, but slower
option(NATIVE "compile for this machine's processor" ON)

add_library({name} STATIC {name}.c)
target_include_directories({name} PUBLIC .)
if(NOT MSVC)
  # nothing is contracted that is not written as fma, or the bits would not be Python's
  target_compile_options({name} PRIVATE -ffp-contract=off -fno-math-errno)
  if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
    # its vectorizer contracts additions and subtractions side by side in spite of that
    target_compile_options({name} PRIVATE -fno-tree-slp-vectorize)
  endif()
  target_link_libraries({name} PUBLIC m)
  if(NATIVE)
    target_compile_options({name} PRIVATE -march=native)
  endif()
endif()

add_executable(example example.c)
target_link_libraries(example {name})

enable_testing()
add_executable(test_{name} test_{name}.c)
target_link_libraries(test_{name} {name})
add_test(NAME {name} COMMAND test_{name})

foreach(target {name} example test_{name})
  if(MSVC)
    target_compile_options(${{target}} PRIVATE /W4)
  else()
    target_compile_options(${{target}} PRIVATE -Wall -Wextra -Wpedantic)
  endif()
endforeach()
"""


def example(parts: Parts) -> str:
    """example.c: a main loop with the time of a step."""
    return EXAMPLE.format(
        head=head(parts),
        name=parts.name,
        name_upper=parts.name.upper(),
        size="a world: some tens of kilobytes",
    )


def cmake(parts: Parts) -> str:
    """CMakeLists.txt."""
    return CMAKE.format(name=parts.name, told=parts.told[0])
