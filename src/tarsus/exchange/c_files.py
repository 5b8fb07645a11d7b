"""Templates of the test, the example and CMakeLists.txt of exported C code."""

from __future__ import annotations

UNITS = """\
/* SI units. q: world position, quaternion (w, x, y, z), joints; u: world linear and body angular
 * velocity, joint rates. The code allocates no memory and has no shared state: every record is a
 * separate world and may be stepped in any thread. */"""

TEST = """{comment}
#include "{name}.h"
#include "{name}_vectors.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define STEPS 200
#define SIZE(array) (sizeof(array) / sizeof((array)[0]))

static long compared = 0, different = 0, failures = 0;
static double worst = 0.0;

/* the tolerance is {tolerance}, relative for values above 1 */
static void compare(const char *name, const double *actual, const double *expected, size_t count)
{{
    for (size_t i = 0; i < count; ++i) {{
        const double scale = fmax(1.0, fabs(expected[i]));
        const double error = fabs(actual[i] - expected[i]) / scale;
        const int same = memcmp(&actual[i], &expected[i], sizeof(double)) == 0;
        const int both_nan = isnan(actual[i]) && isnan(expected[i]);
        ++compared;
        different += !same && !both_nan;
        if (error > worst)
            worst = error;
        if (!both_nan && !(error <= {tolerance})) {{
            if (++failures <= 20)
                printf("%s[%zu]: %.17g, expected %.17g\\n", name, i, actual[i], expected[i]);
        }}
    }}
}}

int main(void)
{{
{body}
    printf("%ld numbers compared, %ld not bit-identical, largest error %.1e, %ld failures\\n",
           compared, different, worst, failures);
    return failures != 0;
}}
"""

EXAMPLE = """{comment}
/* A main loop that measures the time of a step. On a robot, the loop would wait for its period,
 * read the sensors into d.q and d.u, and send d.tau to the motors. */
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
    {name}_step(&d); /* warm up the caches */
    const double begin = now();
    for (long k = 0; k < STEPS; ++k) {{
        const double start = now();
        {name}_step(&d);
        const double elapsed = now() - start;
        if (elapsed > longest)
            longest = elapsed;
        unsolved += d.converged[0] < 1.0;
    }}
    const double mean = (now() - begin) / STEPS;
    printf("%d steps of %g s: mean %.2f us, longest %.2f us per step, %.0f unsolved\\n", STEPS,
           d.dt[0], 1e6 * mean, 1e6 * longest, unsolved);
    printf("%.0f times faster than real time; final q:", d.dt[0] / mean);
    for (int i = 0; i < {name_upper}_NQ && i < 7; ++i)
        printf(" %.4f", d.q[i]);
    printf("\\n");
    return 0;
}}
"""

CMAKE = """# {description}
cmake_minimum_required(VERSION 3.10)
project({name} C)

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_EXTENSIONS OFF)
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

# without fused multiply-add instructions, a step calls the library's fma, which is slower
option(NATIVE "compile for this machine's processor" ON)

add_library({name} STATIC {name}.c)
target_include_directories({name} PUBLIC .)
if(NOT MSVC)
  # contract only explicit calls of fma, so that results are bit-identical to those of Python
  target_compile_options({name} PRIVATE -ffp-contract=off -fno-math-errno)
  if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
    # GCC's vectorizer contracts adjacent additions and subtractions despite -ffp-contract=off
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
