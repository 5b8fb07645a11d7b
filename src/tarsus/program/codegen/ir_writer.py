"""Write operations as LLVM IR; without fast-math flags, this file alone determines the bits."""

from __future__ import annotations

from collections.abc import Callable

from tarsus.program.codegen import elementary
from tarsus.program.codegen.ir_lines import IrLines


class IrWriter(IrLines):
    """Writes operations on values of `lanes` numbers."""

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
        """Write a * b + c with one rounding."""
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
        """Select a where the condition holds, else b."""
        return self.define(
            f"select {self.mask} {self.to_mask(condition)}, {self.vector} {a}, {self.vector} {b}"
        )

    def fmin(self, a: str, b: str) -> str:
        return self.select(self.lt(b, a), b, a)

    def fmax(self, a: str, b: str) -> str:
        return self.select(self.lt(a, b), b, a)

    def to_mask(self, a: str) -> str:
        """Convert a value to a mask: nonzero is true."""
        return a if a in self._masks else self.ne(a, self.const(0.0))

    def number(self, a: str) -> str:
        """Convert a value to a number: a mask becomes 1 or 0."""
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

    def declare_mask(self, name: str) -> str:
        """Register a name as a mask that other lines define."""
        self._masks.add(name)
        return name

    def any(self, mask: str) -> str:
        """Write an i1: whether any lane of the mask is set."""
        return self._reduce_mask("or", mask)

    def all(self, mask: str) -> str:
        """Write an i1: whether all lanes of the mask are set."""
        return self._reduce_mask("and", mask)

    def _reduce_mask(self, how: str, mask: str) -> str:
        if self.lanes == 1:
            return mask
        name = f"i1 @llvm.vector.reduce.{how}.v{self.lanes}i1"
        self.declare(f"{name}({self.mask})")
        return self.define(f"call {name}({self.mask} {mask})")

    def bits_of(self, a: str) -> str:
        """Convert the bits of a number to an integer."""
        return self.define(f"bitcast {self.vector} {a} to {self._of(f'i{self.bits}')}")

    def from_bits(self, a: str) -> str:
        """Convert the bits of an integer to a number."""
        return self.define(f"bitcast {self._of(f'i{self.bits}')} {a} to {self.vector}")

    def integer_op(self, op: str, a: str, b: str) -> str:
        """Write an integer instruction (add, and, or, shl, lshr, ashr) on all lanes."""
        return self.define(f"{op} {self._of(f'i{self.bits}')} {a}, {b}")

    def gather(self, table: str, index: str) -> str:
        """Write table[index] in every lane.

        Parameters
        ----------
        table
            Typed pointer to the first entry.
        index
            Index inside of the table; NaN reads entry 0.

        Returns
        -------
        str
            Name of the values.
        """
        index = self.select(self.eq(index, index), index, self.const(0.0))
        wide = self.define(f"fptosi {self.vector} {index} to {self._of('i64')}")
        if self.lanes == 1:
            return self._entry(table, wide)
        gathered = "poison"
        for lane in range(self.lanes):
            one = self.define(f"extractelement {self._of('i64')} {wide}, i32 {lane}")
            value = self._entry(table, one)
            gathered = self.define(
                f"insertelement {self.vector} {gathered}, {self.scalar} {value}, i32 {lane}"
            )
        return gathered

    def _entry(self, table: str, index: str) -> str:
        space = table.rpartition(" ")[0]
        address = self.access(f"getelementptr {self.scalar}, {table}, i64 {index}")
        return self.access(f"load {self.scalar}, {space} {address}")

    def operation(self, op: str, args: list[str]) -> str:
        """Write an operation of a tape and return the name of its result."""
        direct = DIRECT.get(op)
        if direct is not None:
            if not self._masks.isdisjoint(args):
                args = [self.number(a) for a in args]
            return direct(self, *args)
        if op in ("and", "or"):
            return self._logic(op, self.to_mask(args[0]), self.to_mask(args[1]))
        if op == "not":
            return self._logic(
                "xor", self.to_mask(args[0]), "true" if self.lanes == 1 else "splat (i1 true)"
            )
        if op in ("select", "if_else_zero"):
            values = [self.number(a) for a in args[1:]] + [self.const(0.0)]
            return self.select(args[0], values[0], values[1])
        numbers = [self.number(a) for a in args]
        if op in ("sin", "cos"):
            return self._sin_cos(numbers[0])[op == "cos"]
        function = getattr(elementary, FUNCTIONS.get(op, op), None)
        if function is None:
            raise ValueError(f"operation {op!r} is unsupported: write it with simpler ones")
        return function(self, *numbers)

    def _sin_cos(self, angle: str) -> tuple[str, str]:
        if angle not in self._angles:
            self._angles[angle] = elementary.sin_cos(self, angle)
        return self._angles[angle]


def _sign(s: IrWriter, a: str) -> str:
    zero = s.const(0.0)
    return s.select(s.lt(zero, a), s.const(1.0), s.select(s.lt(a, zero), s.const(-1.0), a))


DIRECT: dict[str, Callable[..., str]] = {
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
