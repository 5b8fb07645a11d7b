"""Writes operations on lanes as LLVM IR: no fast-math flags, so only this file decides the bits."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable

from tarsus.program.codegen import elementary

UNARY = {"neg", "fabs", "sqrt", "floor", "ceil"}


class IrWriter:
    """Lines of IR over values of `lanes` numbers with `bits` bits; values go by their SSA names.

    Masks (one bit a lane) and numbers are told apart by name, so that comparisons stay masks until
    used as 0 or 1.
    """

    def __init__(self, lanes: int, bits: int, letter: str = "v") -> None:
        self.lanes, self.bits, self._letter = lanes, bits, letter
        self.lines: list[str] = []
        self._count = self._of_memory = 0
        self._masks: set[str] = set()
        self._declared: dict[str, None] = {}
        self._angles: dict[str, tuple[str, str]] = {}
        self._calls: dict[str, str] = {}
        self.scalar = "double" if bits == 64 else "float"
        self.vector = self._of(self.scalar)
        self.mask = self._of("i1")
        self._suffix = (f"v{lanes}" if lanes > 1 else "") + f"f{bits}"

    def beside(self, lanes: int) -> IrWriter:
        """A writer of so many lanes into the same lines."""
        other = IrWriter(lanes, self.bits, "w")
        other.lines, other._declared = self.lines, self._declared
        return other

    def _of(self, scalar: str) -> str:
        return scalar if self.lanes == 1 else f"<{self.lanes} x {scalar}>"

    def declare(self, signature: str) -> None:
        """Remember an intrinsic to declare."""
        self._declared["declare " + signature] = None

    def declarations(self) -> list[str]:
        """Declarations of all intrinsics used."""
        return list(self._declared)

    def forget(self) -> None:
        """A new block of code begins: nothing computed before may be shared."""
        self._angles.clear()

    @property
    def arithmetic(self) -> int:
        """How many instructions there are that are no access to memory."""
        return self._count - self._of_memory

    def define(self, expression: str) -> str:
        """A new name for an instruction's result."""
        self._count += 1
        name = f"%{self._letter}{self._count}"
        self.lines.append(f"  {name} = {expression}")
        return name

    def access(self, expression: str) -> str:
        """The same for a load or an address."""
        self._of_memory += 1
        return self.define(expression)

    def const(self, x: float) -> str:
        """The same number in every lane."""
        if self.bits == 32:
            x = _rounded(x)
        word = f"0x{struct.unpack('<Q', struct.pack('<d', x))[0]:016X}"
        return word if self.lanes == 1 else f"splat ({self.scalar} {word})"

    def everywhere(self, number: str) -> str:
        """A scalar in every lane."""
        if self.lanes == 1:
            return number
        one = self.define(f"insertelement {self.vector} poison, {self.scalar} {number}, i64 0")
        how = f"<{self.lanes} x i32> zeroinitializer"
        return self.define(f"shufflevector {self.vector} {one}, {self.vector} poison, {how}")

    def integer(self, x: int) -> str:
        """The same integer in every lane."""
        return str(x) if self.lanes == 1 else f"splat (i{self.bits} {x})"

    def _binary(self, op: str, a: str, b: str) -> str:
        return self.define(f"{op} {self.vector} {a}, {b}")

    def add(self, a: str, b: str) -> str:
        return self._binary("fadd", a, b)

    def sub(self, a: str, b: str) -> str:
        return self._binary("fsub", a, b)

    def mul(self, a: str, b: str) -> str:
        return self._binary("fmul", a, b)

    def div(self, a: str, b: str) -> str:
        return self._binary("fdiv", a, b)

    def neg(self, a: str) -> str:
        return self.define(f"fneg {self.vector} {a}")

    def _intrinsic(self, name: str, *args: str) -> str:
        call = self._calls.get(name)
        if call is None:
            full = f"{self.vector} @llvm.{name}.{self._suffix}"
            self.declare(f"{full}({', '.join([self.vector] * len(args))})")
            call = f"call {full}({', '.join([f'{self.vector} %s'] * len(args))})"
            self._calls[name] = call
        return self.define(call % args)

    def fma(self, a: str, b: str, c: str) -> str:
        """a * b + c with one rounding."""
        return self._intrinsic("fma", a, b, c)

    def abs(self, a: str) -> str:
        return self._intrinsic("fabs", a)

    def sqrt(self, a: str) -> str:
        return self._intrinsic("sqrt", a)

    def floor(self, a: str) -> str:
        return self._intrinsic("floor", a)

    def ceil(self, a: str) -> str:
        return self._intrinsic("ceil", a)

    def copysign(self, magnitude: str, sign: str) -> str:
        return self._intrinsic("copysign", magnitude, sign)

    def _compare(self, how: str, a: str, b: str) -> str:
        name = self.define(f"fcmp {how} {self.vector} {a}, {b}")
        self._masks.add(name)
        return name

    def lt(self, a: str, b: str) -> str:
        return self._compare("olt", a, b)

    def le(self, a: str, b: str) -> str:
        return self._compare("ole", a, b)

    def eq(self, a: str, b: str) -> str:
        return self._compare("oeq", a, b)

    def ne(self, a: str, b: str) -> str:
        return self._compare("une", a, b)

    def select(self, condition: str, a: str, b: str) -> str:
        """a where the condition holds, else b."""
        return self.define(
            f"select {self.mask} {self.truth(condition)}, {self.vector} {a}, {self.vector} {b}"
        )

    def fmin(self, a: str, b: str) -> str:
        return self.select(self.lt(b, a), b, a)

    def fmax(self, a: str, b: str) -> str:
        return self.select(self.lt(a, b), b, a)

    def truth(self, a: str) -> str:
        """A mask: non-zero is true."""
        return a if a in self._masks else self.ne(a, self.const(0.0))

    def number(self, a: str) -> str:
        """A number: a mask becomes 1 or 0."""
        if a not in self._masks:
            return a
        return self.define(
            f"select {self.mask} {a}, {self.vector} {self.const(1.0)}, {self.vector}"
            f" {self.const(0.0)}"
        )

    def _logic(self, op: str, a: str, b: str) -> str:
        name = self.define(f"{op} {self.mask} {a}, {b}")
        self._masks.add(name)
        return name

    def any(self, mask: str) -> str:
        """One bit: is any lane's mask set?"""
        if self.lanes == 1:
            return mask
        self.declare(f"i1 @llvm.vector.reduce.or.v{self.lanes}i1({self.mask})")
        return self.define(f"call i1 @llvm.vector.reduce.or.v{self.lanes}i1({self.mask} {mask})")

    def bits_of(self, a: str) -> str:
        """The number's bits as an integer."""
        return self.define(f"bitcast {self.vector} {a} to {self._of(f'i{self.bits}')}")

    def from_bits(self, a: str) -> str:
        """An integer's bits as a number."""
        return self.define(f"bitcast {self._of(f'i{self.bits}')} {a} to {self.vector}")

    def integer_op(self, op: str, a: str, b: str) -> str:
        """An integer instruction (add, and, or, shl, lshr, ashr) on all lanes."""
        return self.define(f"{op} {self._of(f'i{self.bits}')} {a}, {b}")

    def to_integer(self, a: str) -> str:
        """An integral number as a signed integer."""
        return self.define(f"fptosi {self.vector} {a} to {self._of(f'i{self.bits}')}")

    def to_float(self, a: str) -> str:
        """A signed integer as a number."""
        return self.define(f"sitofp {self._of(f'i{self.bits}')} {a} to {self.vector}")

    def gather(self, table: str, index: str) -> str:
        """table[index] lane by lane, `table` being a typed pointer; the index must be inside it;
        NaN reads entry 0.
        """
        index = self.select(self.eq(index, index), index, self.const(0.0))
        wide = self.define(f"fptosi {self.vector} {index} to {self._of('i64')}")
        if self.lanes == 1:
            return self._entry(table, wide)
        gathered = "poison"
        for lane in range(self.lanes):
            at = self.define(f"extractelement {self._of('i64')} {wide}, i32 {lane}")
            value = self._entry(table, at)
            gathered = self.define(
                f"insertelement {self.vector} {gathered}, {self.scalar} {value}, i32 {lane}"
            )
        return gathered

    def _entry(self, table: str, at: str) -> str:
        space = table.rpartition(" ")[0]
        address = self.access(f"getelementptr {self.scalar}, {table}, i64 {at}")
        return self.access(f"load {self.scalar}, {space} {address}")

    def operation(self, op: str, args: list[str]) -> str:
        """One node of a tape."""
        simple = SIMPLE.get(op)
        if simple is not None:
            if not self._masks.isdisjoint(args):
                args = [self.number(a) for a in args]
            return simple(self, *args)
        if op in ("and", "or"):
            return self._logic(op, self.truth(args[0]), self.truth(args[1]))
        if op == "not":
            return self._logic(
                "xor", self.truth(args[0]), "true" if self.lanes == 1 else "splat (i1 true)"
            )
        if op in ("select", "if_else_zero"):
            values = [self.number(a) for a in args[1:]] + [self.const(0.0)]
            return self.select(args[0], values[0], values[1])
        numbers = [self.number(a) for a in args]
        if op in ("sin", "cos"):
            return self._turn(numbers[0])[op == "cos"]
        function = getattr(elementary, FUNCTIONS.get(op, op), None)
        if function is None:
            raise ValueError(f"the operation {op!r} cannot be compiled; write it with simpler ones")
        return function(self, *numbers)

    def _turn(self, angle: str) -> tuple[str, str]:
        if angle not in self._angles:
            self._angles[angle] = elementary.sin_cos(self, angle)
        return self._angles[angle]


def _rounded(x: float) -> float:
    return ctypes.c_float(x).value


def _sign(s: IrWriter, a: str) -> str:
    zero = s.const(0.0)
    return s.select(s.lt(zero, a), s.const(1.0), s.select(s.lt(a, zero), s.const(-1.0), a))


SIMPLE: dict[str, Callable[..., str]] = {
    "add": IrWriter.add,
    "sub": IrWriter.sub,
    "mul": IrWriter.mul,
    "div": IrWriter.div,
    "fma": IrWriter.fma,
    "fnma": lambda s, a, b, c: s.fma(s.neg(a), b, c),
    "fms": lambda s, a, b, c: s.fma(a, b, s.neg(c)),
    "neg": IrWriter.neg,
    "sq": lambda s, a: s.mul(a, a),
    "twice": lambda s, a: s.add(a, a),
    "inv": lambda s, a: s.div(s.const(1.0), a),
    "assign": lambda s, a: a,
    "lt": IrWriter.lt,
    "le": IrWriter.le,
    "eq": IrWriter.eq,
    "ne": IrWriter.ne,
    "fabs": IrWriter.abs,
    "sqrt": IrWriter.sqrt,
    "floor": IrWriter.floor,
    "ceil": IrWriter.ceil,
    "copysign": IrWriter.copysign,
    "fmin": IrWriter.fmin,
    "fmax": IrWriter.fmax,
    "sign": _sign,
}
FUNCTIONS = {"pow": "power", "constpow": "power"}
