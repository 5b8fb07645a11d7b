"""Derive the polynomial tables of `tarsus.program.codegen.coefficients` and print that module.

Each polynomial is a weighted least-squares fit on Chebyshev nodes (so it is close to minimax) in
60-digit arithmetic. Coefficients are rounded to the working precision one at a time, lowest power
first, and the others fitted again after each rounding, so that the later ones absorb the rounding
of the earlier ones.

    python tools/derive_coefficients.py | ruff format - > src/tarsus/program/codegen/coefficients.py
"""

from collections.abc import Callable
from dataclasses import dataclass

import mpmath as mp
import numpy as np

mp.mp.dps = 60
Real = Callable[[mp.mpf], mp.mpf]
HEADER = '''"""Polynomial coefficients and split constants of the elementary functions.

Printed by tools/derive_coefficients.py; do not edit by hand. Every table maps the precision in
bits to a tuple, lowest power first. The error named is of the exactly evaluated polynomial with its
rounded coefficients, relative to the whole function.
"""
'''


@dataclass
class Fit:
    """Fit of `target(t)` on [low, high].

    The error is weighted by `weight(t)`, which makes it relative to the whole function.
    """

    name: str
    meaning: str
    target: Real
    weight: Real
    low: mp.mpf
    high: mp.mpf
    degrees: dict[int, int]


def round_to(value: mp.mpf, bits: int) -> float:
    """Round `value` to float64 or float32 and return it as a Python float."""
    with mp.workprec({64: 53, 32: 24}[bits]):
        return float(+value)


def split(value: mp.mpf, bits: int, parts: int) -> tuple[float, ...]:
    """Split `value` into a sum of floats that is exact to `parts` times the precision."""
    pieces: list[float] = []
    for _ in range(parts):
        pieces.append(round_to(value - mp.fsum(pieces), bits))
    return tuple(pieces)


def fit(job: Fit, bits: int) -> tuple[list[float], mp.mpf]:
    """Fit rounded coefficients; return them and the largest weighted error."""
    degree, middle, half = job.degrees[bits], (job.low + job.high) / 2, (job.high - job.low) / 2
    count = 4 * degree + 9
    nodes = [middle + half * mp.cos(mp.pi * (2 * i + 1) / (2 * count)) for i in range(count)]
    targets = [job.weight(t) * job.target(t) for t in nodes]
    columns = [[job.weight(t) * t**k for t in nodes] for k in range(degree + 1)]
    coefficients: list[float] = []
    for k in range(degree + 1):
        free = mp.matrix(columns[k:]).T
        coefficients.append(round_to(mp.lu_solve(free, mp.matrix(targets))[0], bits))
        targets = [
            value - coefficients[-1] * column
            for value, column in zip(targets, columns[k], strict=True)
        ]
    samples = [middle + half * mp.cos(mp.pi * (i + mp.mpf("0.31")) / 1500) for i in range(1500)]
    errors = (job.weight(t) * (mp.polyval(coefficients[::-1], t) - job.target(t)) for t in samples)
    return coefficients, max(abs(value) for value in errors)


def create_jobs() -> list[Fit]:
    """Return every polynomial to fit; `z` is the square of the reduced argument."""
    root, ln2, slack = mp.sqrt, mp.ln(2), mp.mpf("1.0005")
    quarter, half_ln2 = (slack * mp.pi / 4) ** 2, slack * ln2 / 2
    eighth, log_top = mp.tan(mp.pi / 8) ** 2, ((root(2) - 1) / (root(2) + 1)) ** 2
    lead = 2 / ln2
    return [
        Fit("SIN", "sin(r) = r + r*z*P(z)", lambda z: (mp.sin(root(z)) / root(z) - 1) / z,
            lambda z: z * root(z) / mp.sin(root(z)), mp.mpf(0), quarter, {64: 5, 32: 2}),
        Fit("COS", "cos(r) = 1 - z/2 + z*z*P(z)", lambda z: (mp.cos(root(z)) - 1 + z / 2) / z**2,
            lambda z: z**2 / mp.cos(root(z)), mp.mpf(0), quarter, {64: 5, 32: 2}),
        Fit("ATAN", "atan(u) = u + u*z*P(z)", lambda z: (mp.atan(root(z)) / root(z) - 1) / z,
            lambda z: z * root(z) / mp.atan(root(z)), mp.mpf(0), eighth, {64: 10, 32: 4}),
        Fit("ASIN", "asin(v) = v + v*z*P(z)", lambda z: (mp.asin(root(z)) / root(z) - 1) / z,
            lambda z: z * root(z) / mp.asin(root(z)), mp.mpf(0), mp.mpf("0.25"), {64: 11, 32: 4}),
        Fit("EXPM1", "expm1(r) = r + r*r*P(r)", lambda r: (mp.expm1(r) - r) / r**2,
            lambda r: r**2 / mp.expm1(r), -half_ln2, half_ln2, {64: 9, 32: 4}),
        Fit("LOG", "log((1+s)/(1-s)) = 2*s + s*z*P(z)",
            lambda z: (2 * mp.atanh(root(z)) / root(z) - 2) / z,
            lambda z: z * root(z) / (2 * mp.atanh(root(z))), mp.mpf(0), log_top, {64: 6, 32: 2}),
        Fit("LOG2", "log2((1+s)/(1-s)) = s*(a + z*(a/3 + z*P(z))), a = 2/log(2)",
            lambda z: (lead * mp.atanh(root(z)) / root(z) - lead - lead / 3 * z) / z**2,
            lambda z: z**2 * root(z) / (lead * mp.atanh(root(z))), mp.mpf(0), log_top,
            {64: 6, 32: 2}),
    ]  # fmt: skip


def print_table(
    name: str, comments: dict[int, str], table: dict[int, tuple[float, ...] | list[float]]
) -> None:
    """Print one table with a comment line before each precision."""
    print(f"{name} = {{")
    for bits, values in table.items():
        kind = {64: np.float64, 32: np.float32}[bits]
        assert all(float(kind(value)) == value for value in values)
        print(
            f"    # float{bits}: {comments[bits]}\n    {bits}: ({', '.join(map(repr, values))},),"
        )
    print("}")


def main() -> None:
    """Print the module."""
    print(HEADER)
    for job in create_jobs():
        fits = {bits: fit(job, bits) for bits in job.degrees}
        span = f"[{mp.nstr(job.low, 5)}, {mp.nstr(job.high, 5)}]"
        comments = {
            bits: f"degree {job.degrees[bits]} on {span}, error 2**{mp.nstr(mp.log(error, 2), 4)}"
            for bits, (_, error) in fits.items()
        }
        print(f"\n# {job.meaning}")
        print_table(job.name, comments, {bits: values for bits, (values, _) in fits.items()})
    third = 2 / mp.ln(2) / 3
    constants = {"HALF_PI": (mp.pi / 2, 3), "PI": (mp.pi, 2), "LN2": (mp.ln(2), 2)}
    constants |= {"TWO_OVER_LN2": (3 * third, 2), "TWO_THIRDS_OVER_LN2": (third, 2)}
    for name, (value, parts) in constants.items():
        note = f"{parts} parts, largest first"
        print()
        print_table(
            name,
            dict.fromkeys((64, 32), note),
            {bits: split(value, bits, parts) for bits in (64, 32)},
        )


if __name__ == "__main__":
    main()
