"""Elementary functions: error in ulp, special values, and the same bits in every lane width."""

import ctypes
import re
from collections.abc import Callable
from functools import cache

import llvmlite.binding as llvm
import mpmath
import numpy as np
import pytest

from tarsus.program.codegen import elementary
from tarsus.program.codegen.ir_writer import IrWriter

COUNT = 6400
INF, NAN = np.inf, np.nan
KINDS = {64: np.float64, 32: np.float32}
# (lanes, optimized): the last is the code exactly as written
VARIANTS = [(1, True), (4, True), (8, True), (16, True), (1, False)]
FUNCTIONS: dict[str, tuple[int, Callable[..., str | tuple[str, str]]]] = {
    name: (arguments, getattr(elementary, name))
    for arguments, names in (
        (1, "sin_cos tan atan asin acos exp expm1 log log1p sinh cosh tanh"),
        (2, "atan2 power hypot fmod"),
    )
    for name in names.split()
}
WIDE = np.longdouble
REFERENCES: dict[str, Callable] = {
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "atan": np.arctan, "atan2": np.arctan2,
    "asin": np.arcsin, "acos": np.arccos, "exp": np.exp, "expm1": np.expm1, "log": np.log,
    "log1p": np.log1p, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "power": np.power,
    "hypot": np.hypot, "fmod": np.fmod,
}  # fmt: skip
# the largest error in ulp, as the docstrings state it
BOUNDS = {
    "sin": 1.5, "cos": 1.5, "tan": 3.5, "atan": 2.0, "atan2": 2.0, "asin": 2.5, "acos": 1.5,
    "exp": 1.5, "expm1": 2.5, "log": 1.0, "log1p": 1.0, "sinh": 2.5, "cosh": 2.0, "tanh": 3.0,
    "power": 1.5, "hypot": 1.5, "fmod": 0.0,
}  # fmt: skip
precise = pytest.mark.skipif(
    np.finfo(WIDE).nmant < 63, reason="long double is no wider than double here"
)


def kernel_ir(name: str, lanes: int, bits: int) -> tuple[str, list[str]]:
    """IR of name(x, y, first, second, groups) over arrays, and the intrinsics it declares."""
    arguments, function = FUNCTIONS[name]
    s = IrWriter(lanes, bits)
    results = function(s, *["%x", "%y"][:arguments])
    results = results if isinstance(results, tuple) else (results,)
    lines = [f"define void @{name}(ptr %px, ptr %py, ptr %p0, ptr %p1, i64 %groups) {{"]
    lines += ["entry:", "br label %loop", "loop:", "%at = phi i64 [ 0, %entry ], [ %next, %loop ]"]
    for a in "xy"[:arguments]:
        lines.append(f"%a{a} = getelementptr {s.vector}, ptr %p{a}, i64 %at")
        lines.append(f"%{a} = load {s.vector}, ptr %a{a}, align 4")
    lines += s.lines
    for k, result in enumerate(results):
        lines.append(f"%b{k} = getelementptr {s.vector}, ptr %p{k}, i64 %at")
        lines.append(f"store {s.vector} {result}, ptr %b{k}, align 4")
    lines += ["%next = add i64 %at, 1", "%more = icmp slt i64 %next, %groups"]
    return (
        "\n".join([*lines, "br i1 %more, label %loop, label %done", "done:", "ret void", "}"]),
        s.declarations(),
    )


def parsed(lanes: int, bits: int) -> llvm.ModuleRef:
    """A module of all functions."""
    kernels = [kernel_ir(name, lanes, bits) for name in FUNCTIONS]
    declared = dict.fromkeys(line for _, lines in kernels for line in lines)
    module = llvm.parse_assembly("\n".join([*declared, *(text for text, _ in kernels)]))
    module.verify()
    return module


@cache
def engine(lanes: int, bits: int, optimized: bool) -> llvm.ExecutionEngine:
    """All functions compiled for this processor."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = parsed(lanes, bits)
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=3 if optimized else 0,
    )
    if optimized:
        builder = llvm.create_pass_builder(
            machine, llvm.create_pipeline_tuning_options(speed_level=2)
        )
        builder.getModulePassManager().run(module, builder)
    made = llvm.create_mcjit_compiler(module, machine)
    made.finalize_object()
    return made


def evaluate(
    name: str, *args: np.ndarray, lanes: int = 8, optimized: bool = True
) -> list[np.ndarray]:
    """The compiled function's results (two for sin_cos) on float32 or float64 arrays."""
    bits, count = args[0].itemsize * 8, len(args[0])
    padded = [np.concatenate([a, np.ones(-count % 16, a.dtype)]) for a in (args[0], args[-1])]
    out = [np.empty_like(padded[0]) for _ in range(2)]
    address = engine(lanes, bits, optimized).get_function_address(name)
    call = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4, ctypes.c_int64)(address)
    call(*(a.ctypes.data for a in (*padded, *out)), len(padded[0]) // lanes)
    return [a[:count] for a in out[: 2 if name == "sin_cos" else 1]]


def neighbors(points: list[float]) -> list[float]:
    """Points and numbers close to them, at distances from tiny to moderate."""
    beside = [
        p * (1 + side * 2.0**-k) for p in points for k in (52, 40, 23, 12, 4) for side in (1, -1)
    ]
    return points + beside + [-p for p in points + beside]


def spread(rng: np.random.Generator, low: float, high: float) -> np.ndarray:
    """Half uniform within [-high, high], half of all sizes between low and high, either sign."""
    sizes = np.exp(rng.uniform(np.log(low), np.log(high), COUNT // 2))
    return np.concatenate(
        [rng.uniform(-high, high, COUNT // 2), sizes * rng.choice([-1.0, 1.0], COUNT // 2)]
    )


def domain(name: str, bits: int) -> tuple[np.ndarray, ...]:
    """Random and awkward arguments whose results are normal numbers."""
    rng, double = np.random.default_rng(7), bits == 64
    tiny, huge, steep = (1e-300, 1e300, 700.0) if double else (1e-36, 1e36, 86.0)
    angle = 1e5 if double else 1e4
    quarters = [k * np.pi / 4 for k in (*range(1, 40), *range(4000, 12000, 37))]
    ranges = {
        "sin_cos": ([*quarters], 1e-30, angle), "tan": ([*quarters], 1e-30, angle),
        "atan": ([np.tan(k * np.pi / 8) for k in (1, 2, 3)], tiny, huge),
        "asin": ([0.5, 1 - 1e-5], 1e-30, 1.0), "acos": ([0.5, 1 - 1e-5], 1e-30, 1.0),
        "exp": ([k * np.log(2) / 2 for k in range(1, 120, 3)], 1e-30, steep),
        "expm1": ([k * np.log(2) / 2 for k in range(1, 120, 3)], tiny * 1e4, steep),
        "sinh": ([k * np.log(2) / 2 for k in range(1, 120, 3)], tiny * 1e4, steep),
        "cosh": ([1.0], 1e-30, steep), "tanh": ([0.3, 0.55, 9.0, 19.0], tiny * 1e4, 30.0),
        "log": ([1.0, 2.0, 0.5, np.sqrt(2), np.sqrt(0.5)], tiny, huge),
        "log1p": ([1.0, np.sqrt(2) - 1, 1 - np.sqrt(0.5)], tiny * 1e4, huge),
        "atan2": ([1.0], tiny, huge), "power": ([1.0], tiny, huge), "hypot": ([1.0], tiny, huge),
        "fmod": ([1.0], 1e-3, 1e3),
    }  # fmt: skip
    points, low, high = ranges[name]
    x = np.concatenate([spread(rng, low, high), neighbors(points)]).astype(KINDS[bits])
    if name in ("asin", "acos"):
        x = x[np.abs(x) <= 1]
    if name == "log":
        x = np.abs(x)
    if name == "log1p":
        x = np.concatenate(
            [x[x > -1], -np.abs(x[np.abs(x) < 1]), rng.uniform(-1, 3, COUNT).astype(x.dtype)]
        )
    if FUNCTIONS[name][0] == 1:
        return (x,)
    return pairs(name, x, rng)


def pairs(name: str, x: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Second arguments for first ones."""
    y = rng.permutation(x)
    if name in ("atan2", "hypot"):
        close = rng.uniform(-3, 3, len(x)) * x
        y = np.where(rng.random(len(x)) < 0.7, close, y / 4).astype(x.dtype)
        return (x / 4, y / 4) if name == "hypot" else (x / 8, y / 8)
    if name == "power":
        x = np.where(rng.random(len(x)) < 0.5, np.abs(x), rng.uniform(0.2, 3, len(x))).astype(
            x.dtype
        )
        top = np.log2(KINDS[32](1e36)) if x.itemsize == 4 else np.log2(1e300)
        with np.errstate(divide="ignore"):
            y = (rng.uniform(-top, top, len(x)) / np.log2(x.astype(WIDE))).astype(x.dtype)
        keep = np.isfinite(y)
        return x[keep], y[keep]
    return x, y


def ulps(got: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """Distance in units of the last place of the exact result."""
    info = np.finfo(got.dtype)
    _, exponent = np.frexp(exact)
    return np.abs(got.astype(WIDE) - exact) / np.ldexp(
        WIDE(1), np.maximum(exponent - 1, info.minexp) - info.nmant
    )


def errors(name: str, bits: int) -> dict[str, np.ndarray]:
    """Errors in ulp over the domain, by result."""
    args = domain(name, bits)
    wide = [a.astype(WIDE) for a in args]
    names = ["sin", "cos"] if name == "sin_cos" else [name]
    results = evaluate(name, *args)
    return {n: ulps(got, REFERENCES[n](*wide)) for n, got in zip(names, results, strict=True)}


@precise
@pytest.mark.parametrize("bits", [64, 32])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_error_is_within_the_stated_bound(name: str, bits: int) -> None:
    for result, found in errors(name, bits).items():
        assert found.max() <= BOUNDS[result] + 0.1 * (bits == 32 and name == "sin_cos"), result


@precise
@pytest.mark.parametrize("name", REFERENCES)
def test_the_reference_agrees_with_mpmath(name: str) -> None:
    args = [a[::97] for a in domain("sin_cos" if name in ("sin", "cos") else name, 64)]
    known = {
        "power": mpmath.power,
        "fmod": lambda x, y: mpmath.sign(x) * mpmath.fmod(abs(x), abs(y)),
    }
    function = known.get(name) or getattr(mpmath, name)
    with mpmath.workdps(700 if name == "fmod" else 50):
        exact = [function(*map(mpmath.mpf, map(float, point))) for point in zip(*args, strict=True)]
        exact = np.array([WIDE(mpmath.nstr(value, 25)) for value in exact])
    found = REFERENCES[name](*(a.astype(WIDE) for a in args))
    assert np.all(np.abs(found - exact) <= 2.0**-62 * np.abs(exact))


@pytest.mark.parametrize("bits", [64, 32])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_do_not_depend_on_lane_width_or_optimizer(name: str, bits: int) -> None:
    kind = KINDS[bits]
    special = np.array(
        [0.0, -0.0, INF, -INF, NAN, 1.0, -1.0, 0.5, 1e-40, -3.0, 2.0, 1e30, 88.9, -103.5], kind
    )
    x, y = (a.ravel() for a in np.meshgrid(special, special))
    args = domain(name, bits)
    args = [np.concatenate([a, b]) for a, b in zip(args, (x, y), strict=False)]
    words = [
        np.where(np.isnan(r), kind(NAN), r).view(f"u{kind().itemsize}")
        for r in evaluate(name, *args)
    ]
    for lanes, optimized in VARIANTS:
        for got, word in zip(
            evaluate(name, *args, lanes=lanes, optimized=optimized), words, strict=True
        ):
            same = np.where(np.isnan(got), kind(NAN), got).view(word.dtype) == word
            assert same.all(), (lanes, optimized, [a[~same][:3] for a in args])


@pytest.mark.parametrize("bits", [64, 32])
@pytest.mark.parametrize(
    "processor", ["nvptx64 sm_90 0", "aarch64 neoverse-n1 128", "x86_64 haswell 256"]
)
def test_generated_code_calls_no_functions_and_fuses_nothing(processor: str, bits: int) -> None:
    triple, cpu, vector = processor.split()
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    machine = llvm.Target.from_triple(triple).create_target_machine(cpu=cpu, opt=3)
    text = machine.emit_assembly(parsed(max(int(vector) // bits, 1), bits))
    assert not re.search(r"^\s+(call|callq|bl|blr)\s", text, re.MULTILINE)
    if cpu == "sm_90":  # the PTX assembler fuses operations without an explicit rounding
        used = set(re.findall(rf"\b((?:add|sub|mul|fma|div|rcp|sqrt)\S*)\.f{bits}", text))
        assert used == {f"{name}.rn" for name in ("add", "sub", "mul", "fma", "div", "rcp", "sqrt")}


SPECIAL = {
    "sin_cos": [0.0, INF, -INF, NAN], "tan": [0.0, INF, NAN],
    "atan": [0.0, -0.0, INF, -INF, NAN, 1.0], "asin": [0.0, -0.0, 1.0, -1.0, 1.5, -1.5, INF, NAN],
    "acos": [0.0, 1.0, -1.0, 1.5, -1.5, INF, NAN, -0.0],
    "exp": [0.0, -0.0, INF, -INF, NAN, 1e4, -1e4], "expm1": [0.0, -0.0, INF, -INF, NAN, 1e4, -1e4],
    "log": [0.0, -0.0, 1.0, INF, -INF, NAN, -1.0, 1e-40],
    "log1p": [0.0, -0.0, -1.0, INF, -INF, NAN, -2.0],
    "sinh": [0.0, -0.0, INF, -INF, NAN, 1e4, -1e4], "cosh": [0.0, -0.0, INF, -INF, NAN, 1e4, -1e4],
    "tanh": [0.0, -0.0, INF, -INF, NAN, 1e4, -1e4],
}  # fmt: skip
NUMBERS = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 3.0, -3.0, 0.5, -0.5, -1.5, 1e30, INF, -INF, NAN]


@pytest.mark.parametrize("bits", [64, 32])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_special_values(name: str, bits: int) -> None:
    kind = KINDS[bits]
    if FUNCTIONS[name][0] == 1:
        args = [np.array(SPECIAL[name], kind)]
    else:
        args = [a.ravel().astype(kind) for a in np.meshgrid(NUMBERS, NUMBERS)]
    if name in (
        "hypot",
        "fmod",
    ):  # C's hypot(inf, nan) is inf, ours NaN; fmod's quotient must not be huge
        size, by = np.abs(args)
        out = np.isnan(size) | np.isnan(by) if name == "hypot" else (size == kind(1e30)) & (by <= 3)
        args = [a[~out] for a in args]
    names = ["sin", "cos"] if name == "sin_cos" else [name]
    with np.errstate(all="ignore"):
        for result, got in zip(names, evaluate(name, *args), strict=True):
            want = REFERENCES[result](*args)
            np.testing.assert_allclose(
                got, want, rtol=4 * np.finfo(kind).eps, atol=0, err_msg=result
            )
            there = ~np.isnan(want)
            np.testing.assert_array_equal(
                np.signbit(got[there]), np.signbit(want[there]), err_msg=result
            )


@pytest.mark.parametrize("bits", [64, 32])
def test_overflow_and_gradual_underflow(bits: int) -> None:
    kind = KINDS[bits]
    info = np.finfo(kind)
    top, bottom = np.log(WIDE(info.max)), np.log(WIDE(info.smallest_subnormal))
    near_top = top * (1 + WIDE(2) ** -np.arange(5, 22) * np.array([[1], [-1]])).ravel()
    for name, shift in {"exp": 0, "expm1": 0, "sinh": 1, "cosh": 1}.items():
        x = (near_top + shift * np.log(WIDE(2))).astype(kind)
        with np.errstate(over="ignore"):
            want = REFERENCES[name](x.astype(WIDE)).astype(kind)
        np.testing.assert_allclose(evaluate(name, x)[0], want, rtol=4 * info.eps)
    x = np.linspace(float(bottom) - 1, float(bottom) + 40, 800).astype(kind)
    e = np.full_like(x, np.e)
    assert ulps(evaluate("exp", x)[0], np.exp(x.astype(WIDE))).max() <= BOUNDS["exp"]
    assert ulps(evaluate("power", e, x)[0], np.power(e.astype(WIDE), x)).max() <= BOUNDS["power"]
    x = np.geomspace(float(info.smallest_subnormal) * 2, float(info.tiny), 500).astype(kind)
    assert ulps(evaluate("log", x)[0], np.log(x.astype(WIDE))).max() <= BOUNDS["log"]
    assert ulps(evaluate("hypot", x, x)[0], np.hypot(x.astype(WIDE), x)).max() <= BOUNDS["hypot"]


@pytest.mark.parametrize(("bits", "limit", "worst"), [(64, 2.0**50, 1e-15), (32, 2.0**21, 5e-7)])
def test_sine_and_cosine_of_large_angles(bits: int, limit: float, worst: float) -> None:
    x = spread(np.random.default_rng(3), 1.0, limit).astype(KINDS[bits])
    for got, function in zip(evaluate("sin_cos", x), (np.sin, np.cos), strict=True):
        assert np.abs(got - function(x.astype(WIDE))).max() < worst


def test_remainder_is_exact_up_to_the_largest_quotient() -> None:
    rng = np.random.default_rng(5)
    y = rng.uniform(0.1, 10, 2000)
    x = y * np.exp(rng.uniform(0, np.log(2.0**52), 2000)) * rng.choice([-1, 1], 2000)
    np.testing.assert_array_equal(evaluate("fmod", x, y)[0], np.fmod(x, y))
    whole = np.floor(rng.uniform(1, 2**40, 2000)) * 3.0
    np.testing.assert_array_equal(evaluate("fmod", whole, np.full(2000, 3.0))[0], np.zeros(2000))
