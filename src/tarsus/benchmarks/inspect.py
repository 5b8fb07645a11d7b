"""`tarsus inspect`: what is taken of a robot's file, and the compiled step of the robot.

The step's blocks and operations, the time to compile it, and the registers of its GPU kernel.
"""

from __future__ import annotations

import sys
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from tarsus.dynamics import contents
from tarsus.files import write_text
from tarsus.program.codegen.layout import Target
from tarsus.program.lowering.tape import tape
from tarsus.program.run import machine, native, ptx
from tarsus.simulation.simulation import Simulation

if TYPE_CHECKING:
    from rich.console import Console

    from tarsus.model.mechanism import Mechanism

WIDTH = 120  # of what goes to a file or a pipe
SOME = 3  # names of what a block makes that a row shows
COLUMNS = (
    "block",
    "operations",
    "multiply-\nadds",
    "products",
    "divisions,\nroots",
    "sines,\ncosines,\narcs",
)


def contents_of(robot: Mechanism) -> dict[str, Any]:
    """What of the robot's file is simulated, what is left out, and its actuators."""
    return {
        "robot": robot.name,
        "taken": dict(contents.taken(robot)),
        "left_out": list(robot.left_out),
        "actuators": [
            dict(zip(contents.ACTUATOR_HEAD, row, strict=True))
            for row in contents.actuator_rows(robot)
        ],
    }


def inspect(simulation: Simulation, bits: int, kernel: Path | None = None) -> dict[str, Any]:
    """Operations of every block of straight code, seconds to compile, registers and spills.

    bits: of a number, 32 or 64; kernel: where to write the PTX text, if anywhere.
    """
    # operations
    program = simulation.program
    blocks = []
    for block, inside in program.whole.straights():
        counts = tape(block.function).counts()
        made = [name.removeprefix("~") for name in block.outputs]
        operations = {"operations": sum(counts.values()), "by_name": counts}
        blocks.append({"in_loop": inside, "makes": made, **operations})

    # for the processor, and for the GPU
    lanes = machine.host().lanes(bits)
    began = perf_counter()
    native.assembly(program, Target(lanes, bits))
    compiled = perf_counter() - began
    text = ptx.ptx(program, bits)
    if kernel:
        write_text({kernel: text})
    found = ptx.resources(text)
    return {
        "blocks": blocks,
        "bytes_per_world": simulation.bytes_per_world(),
        "lanes": lanes,
        "bits": bits,
        "compile_seconds": compiled,
        "ptx_lines": len(text.splitlines()),
        "ptx_chip": ptx.CHIP,
        "ptx_resources": vars(found) if found else None,
    }


def tell(found: dict[str, Any]) -> None:
    """Print the contents, and the step if it is there, as tables to read."""
    from rich.console import Console

    console = Console(highlight=False, width=None if sys.stdout.isatty() else WIDTH)
    tell_contents(found, console)
    if "blocks" in found:
        _tell_step(found, console)


def _tell_step(found: dict[str, Any], console: Console) -> None:
    """Operations, memory and registers."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    # one row a block, named by what it makes
    table = Table(
        title=f"{found['robot']}: straight code, run once a step or in a loop, and what it makes",
        title_justify="left",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    for column in COLUMNS:
        table.add_column(column, justify="left" if column == COLUMNS[0] else "right")
    groups = (
        ("fma", "fnma", "fms"),
        ("mul", "sq"),
        ("div", "inv", "sqrt"),
        ("sin", "cos", "atan2", "acos", "asin"),
    )
    for block in found["blocks"]:
        counts = [str(sum(block["by_name"].get(name, 0) for name in names)) for names in groups]
        table.add_row(_name(block), str(block["operations"]), *counts)
    console.print(table)
    console.print(
        f"{found['bytes_per_world']:.0f} bytes per world; {found['lanes']} lanes of {found['bits']}"
        f" bits compile in {found['compile_seconds']:.2f} s"
    )

    # the GPU kernel
    resources = found["ptx_resources"]
    if resources is None:
        console.print(
            f"PTX: {found['ptx_lines']} lines; install NVIDIA's ptxas to see registers and spills"
        )
        return
    console.print(
        f"PTX for {found['ptx_chip']}: {found['ptx_lines']} lines, {resources['registers']}"
        f" registers, {resources['spill_stores']} / {resources['spill_loads']} bytes of spill"
        f" stores / loads, {resources['planned_stores']} / {resources['planned_loads']} bytes that"
        f" Tarsus itself keeps in memory, {resources['stack']} bytes of stack,"
        f" {resources['code']} bytes of code"
    )


def tell_contents(found: dict[str, Any], console: Console) -> None:
    """What of the robot's file is simulated, what is left out, and its actuators, as tables."""
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape
    from rich.table import Table

    # taken, and left out
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold")
    table.add_column()
    for what, told in found.get("taken", {}).items():
        table.add_row(what, escape(told))
    for text in found.get("left_out", ()):
        table.add_row("[yellow]left out[/]", escape(text[0].upper() + text[1:]))
    if table.row_count:
        console.print(table)
        console.print()
    # the file's actuators
    rows = found.get("actuators", [])
    if rows:
        table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
        columns = [column for column in rows[0] if any(row[column] for row in rows)]
        for column in columns:
            table.add_column(column, overflow="fold")
        for row in rows:
            table.add_row(*(escape(row[column]) for column in columns))
        console.print(table)


def _name(block: dict[str, Any]) -> str:
    """A block by the first registers that it makes."""
    made = [name for name in block["makes"] if not name.startswith("more")]
    more = ", ..." if len(made) > SOME else ""
    return f"{'loop' if block['in_loop'] else 'once'}: {', '.join(made[:SOME])}{more}"
