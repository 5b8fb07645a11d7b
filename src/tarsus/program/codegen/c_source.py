"""Write a program as C source for one world: a function per basic block, and loops of calls.

Operations and their order are those of the machine code. Every fused multiply-add is a call of
`fma`, and elementary functions are written out. A compiler that contracts no operations by itself
(ISO C, `-ffp-contract=off`) gives the same bits.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tarsus.program.codegen.ir_writer import IrWriter
from tarsus.program.codegen.layout import layout
from tarsus.program.ir.blocks import BasicBlock, Block, Lookup, Slice, Stamp, While
from tarsus.program.ir.program import Program
from tarsus.program.lowering.tape import create_tape

NAME = re.compile(r"\b[vmi]\d+\b")
DEFINED = re.compile(r"    const \w+ ([vmi]\d+) = ")
INTEGERS = {"add": "+", "and": "&", "or": "|", "shl": "<<", "lshr": ">>"}
HELPERS = {
    "bits_of": "uint64_t bits_of(double x) { uint64_t b; memcpy(&b, &x, sizeof b); return b; }",
    "from_bits": "double from_bits(uint64_t b) { double x; memcpy(&x, &b, sizeof x); return x; }",
}
Place = Callable[[str, int], str]


@dataclass(frozen=True)
class Code:
    """C functions, the names of the helpers they call, and the size of their workspace."""

    functions: str
    helpers: frozenset[str]
    workspace: int


def identifier(name: str) -> str:
    """Convert a name to a C identifier."""
    text = re.sub(r"\W", "_", name.removeprefix("~"), flags=re.ASCII)
    return text if re.match(r"[A-Za-z_]", text) else f"_{text}"


def members(program: Program) -> dict[str, str]:
    """Name the members of a world's record: one for each persistent register."""
    names: dict[str, str] = {}
    for register in program.persistent:
        if register.size:
            name = identifier(register.name)
            while name in names.values():
                name += "_"
            names[register.name] = name
    return names


def step_function(program: Program, name: str, record: str) -> Code:
    """Generate `void NAME(RECORD *d)`, one run over a record with `members` and `work`."""
    program = program.expanded
    fields, temporary = members(program), layout(program)[1]

    def operand(register: str, entry: int) -> str:
        if register in fields:
            return f"d->{fields[register]}[{entry}]"
        return f"d->work[{temporary[register] + entry}]"

    writer = _Functions(program, name, record, operand)
    calls = writer.calls(program.blocks, "    ")
    tables = [
        f"static const double {name}_{identifier(table)}[] = {{\n{numbers(values)}\n}};\n"
        for table, values in program.tables.items()
    ]
    body = f"void {name}({record} *d)\n{{\n{calls}}}\n"
    workspace = sum(register.size for register in program.of_kind("temporary"))
    return Code("\n".join([*tables, *writer.made, body]), frozenset(writer.helpers), workspace)


def plain_function(program: Program, signature: str, operand: Place) -> Code:
    """Generate a function for a program that is one basic block.

    Parameters
    ----------
    program
        Program of one basic block.
    signature
        Signature of the C function.
    operand
        Function (register, entry) that returns a C expression.

    Returns
    -------
    Code
        The function.
    """
    blocks = [block for block in program.blocks if isinstance(block, BasicBlock)]
    if len(blocks) != len(program.blocks) or len(blocks) != 1:
        raise ValueError(f"the program {program.name!r} is not one basic block")
    lines, helpers = write_basic_block(blocks[0], operand)
    return Code(f"{signature}\n{{\n{lines}}}\n", frozenset(helpers), 0)


def numbers(values: object, width: int = 4) -> str:
    """Format numbers as C literals, `width` per line."""
    texts = [literal(x) for x in values]  # type: ignore[attr-defined]
    rows = [texts[k : k + width] for k in range(0, len(texts), width)]
    return ",\n".join("    " + ", ".join(row) for row in rows)


def literal(x: float) -> str:
    """Format the shortest C literal that reads back as the same number."""
    x = float(x)
    if math.isnan(x):
        return "NAN"
    if math.isinf(x):
        return "INFINITY" if x > 0 else "(-INFINITY)"
    return repr(x) if math.copysign(1.0, x) > 0 else f"({x!r})"


def write_basic_block(block: BasicBlock, operand: Place) -> tuple[str, set[str]]:
    """Generate the lines of a basic block, and the helpers that they call."""
    t, s = create_tape(block.function), _CWriter()
    uses, values = t.use_counts(), [""] * len(t.nodes)
    for k, node in enumerate(t.nodes):
        if not uses[k]:
            continue
        if node.op == "input":
            values[k] = s.define(operand(block.inputs[node.slot[0]], node.slot[1]))
        elif node.op == "const":
            values[k] = s.const(node.value)
        else:
            values[k] = s.operation(node.op, [values[a] for a in node.args])
    # all inputs are read before any output is written
    stores = [
        (operand(block.outputs[argument], entry), s.number(values[node]))
        for (argument, entry), node in t.outputs
    ]
    lines = s.lines + [f"    {to} = {value};" for to, value in stores]
    return _without_dead_code(lines), s.helpers


def _without_dead_code(lines: list[str]) -> str:
    """Remove definitions that nothing reads."""
    remaining, read = [], set[str]()
    for line in reversed(lines):
        defined = DEFINED.match(line)
        if defined and defined[1] not in read:
            continue
        remaining.append(line)
        read.update(NAME.findall(line[defined.end() :] if defined else line))
    return "".join(f"{line}\n" for line in reversed(remaining))


class _Functions:
    """Writes the functions of a program's blocks, and the calls of them."""

    def __init__(self, program: Program, name: str, record: str, operand: Place) -> None:
        self.program, self.name, self.record, self.slot = program, name, record, operand
        self.made: list[str] = []
        self.helpers: set[str] = set()
        self._loops = 0

    def calls(self, blocks: tuple[Block, ...], indent: str, count: str = "") -> str:
        """Generate the code that runs blocks; `count` is the counter of the enclosing loop."""
        parts = []
        for block in blocks:
            if isinstance(block, BasicBlock):
                parts.append(self._write_basic_block(block, indent))
            elif isinstance(block, While):
                parts.append(self._write_while(block, indent))
            elif isinstance(block, Lookup):
                parts.append(self._write_lookup(block, indent))
            elif isinstance(block, Slice):
                parts.append(self._write_slice(block, indent, count))
            elif isinstance(block, Stamp):
                raise ValueError(
                    f"the program {self.program.name!r} is timed, which C does not support"
                )
        return "".join(parts)

    def _write_basic_block(self, block: BasicBlock, indent: str) -> str:
        name = f"{self.name}_{len(self.made)}"
        lines, helpers = write_basic_block(block, self.slot)
        self.helpers |= helpers
        self.made.append(f"static void {name}({self.record} *d)\n{{\n{lines}}}\n")
        return f"{indent}{name}(d);\n"

    def _write_while(self, block: While, indent: str) -> str:
        self._loops += 1
        count = f"k{self._loops}"
        more = f"{count} < {block.max_iterations} && {self.slot(block.condition, 0)} > 0.0"
        body = self.calls(block.body, indent + "    ", count)
        return f"{indent}for (long {count} = 0; {more}; ++{count}) {{\n{body}{indent}}}\n"

    def _write_slice(self, block: Slice, indent: str, count: str) -> str:
        size = self.program.sizes[block.slice]
        whole = f"(&{self.slot(block.array, 0)})[{count} * {size} + i]"
        part = f"(&{self.slot(block.slice, 0)})[i]"
        moved = f"{whole} = {part}" if block.is_store else f"{part} = {whole}"
        return f"{indent}for (long i = 0; i < {size}; ++i) {moved};\n"

    def _write_lookup(self, block: Lookup, indent: str) -> str:
        self.helpers.add("entry_of")
        table = f"{self.name}_{identifier(block.table)}"
        last = len(self.program.tables[block.table]) - 1
        parts = []
        for k in range(self.program.sizes[block.index]):
            index, to = self.slot(block.index, k), self.slot(block.output, k)
            parts.append(f"{indent}{to} = {table}[entry_of({index}, {last}.0)];\n")
        return "".join(parts)


class _CWriter(IrWriter):
    """Writes lines of C; names begin with v for doubles, m for masks, i for integers."""

    def __init__(self) -> None:
        super().__init__(1, 64)
        self.helpers: set[str] = set()

    def _new(self, letter: str, kind: str, expression: str) -> str:
        self._count += 1
        self.lines.append(f"    const {kind} {letter}{self._count} = {expression};")
        return f"{letter}{self._count}"

    def define(self, expression: str) -> str:
        return self._new("v", "double", expression)

    def const(self, x: float) -> str:
        return literal(x)

    def integer(self, x: int) -> str:
        return f"UINT64_C({x})"

    def _binary(self, op: str, a: str, b: str) -> str:
        return self.define(f"{a} {OPERATORS[op]} {b}")

    def neg(self, a: str) -> str:
        return self.define(f"-{a}")

    def operation(self, op: str, args: list[str]) -> str:
        return self.neg(self.number(args[0])) if op == "neg" else super().operation(op, args)

    def _intrinsic(self, name: str, *args: str) -> str:
        return self.define(f"{name}({', '.join(args)})")

    def _compare(self, how: str, a: str, b: str) -> str:
        name = self._new("m", "int", f"{a} {COMPARISONS[how]} {b}")
        self._masks.add(name)
        return name

    def select(self, condition: str, a: str, b: str) -> str:
        return self.define(f"{self.to_mask(condition)} ? {a} : {b}")

    def number(self, a: str) -> str:
        return self.define(f"{a} ? 1.0 : 0.0") if a in self._masks else a

    def _logic(self, op: str, a: str, b: str) -> str:
        expression = f"!{a}" if op == "xor" else f"{a} {LOGIC[op]} {b}"
        name = self._new("m", "int", expression)
        self._masks.add(name)
        return name

    def bits_of(self, a: str) -> str:
        self.helpers.add("bits_of")
        return self._new("i", "uint64_t", f"bits_of({a})")

    def from_bits(self, a: str) -> str:
        self.helpers.add("from_bits")
        return self.define(f"from_bits({a})")

    def integer_op(self, op: str, a: str, b: str) -> str:
        return self._new("i", "uint64_t", f"{a} {INTEGERS[op]} {b}")


OPERATORS: Mapping[str, str] = {"fadd": "+", "fsub": "-", "fmul": "*", "fdiv": "/"}
COMPARISONS: Mapping[str, str] = {"olt": "<", "ole": "<=", "oeq": "==", "une": "!="}
LOGIC: Mapping[str, str] = {"and": "&&", "or": "||"}


def helper_text(names: frozenset[str]) -> str:
    """Generate the definitions of helpers."""
    known = HELPERS | {
        "entry_of": (
            "size_t entry_of(double x, double last)\n{\n    double at = floor(x);\n"
            "    at = 0.0 < at ? at : 0.0; /* also of NaN */\n"
            "    return (size_t)(at < last ? at : last);\n}"
        )
    }
    return "".join(f"static {known[name]}\n\n" for name in sorted(names))
