"""`tarsus inspect`: what is taken of a robot's file, and the compiled step of the robot.

The step's blocks and operations, the time to compile it, and the registers of its GPU kernel.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from tarsus.dynamics import contents
from tarsus.dynamics.robot import Robot
from tarsus.errors import TarsusError
from tarsus.files import write_text
from tarsus.processes import run_in_child
from tarsus.program.codegen.layout import Target
from tarsus.program.lowering.tape import tape
from tarsus.program.run import machine, native, ptx
from tarsus.simulation import resolve
from tarsus.simulation.simulation import Simulation

if TYPE_CHECKING:
    from rich.console import Console

    from tarsus.model.mechanism import Mechanism

WIDTH = 120  # of what goes to a file or a pipe
PATIENCE = 60.0  # s that the GPU's compiler may take, and NVIDIA's assembler
SOME = 3  # names of what a block makes that a row shows
COLUMNS = (
    "block",
    "operations",
    "multiply-\nadds",
    "products",
    "divisions,\nroots",
    "sines,\ncosines,\narcs",
)


def contents_of(robot: Mechanism, law: str) -> dict[str, Any]:
    """Return what of the robot's file is simulated and what is not, its actuators, and the stages
    of the law's contact solver.
    """
    return {
        "robot": robot.name,
        "taken": dict(contents.simulated_rows(robot)),
        "left_out": list(robot.left_out),
        "actuators": [
            dict(zip(contents.ACTUATOR_HEAD, row, strict=True))
            for row in contents.actuator_rows(robot)
        ],
        "solver_stages": list(resolve.law(law).stages[1:]),
    }


def compiled_step(simulation: Simulation, bits: int) -> dict[str, Any]:
    """Operations of every block of straight code and seconds to compile for the processor.

    bits: of a number, 32 or 64
    """
    program = simulation.program
    blocks = []
    for block, inside in program.expanded.basic_blocks():
        counts = tape(block.function).operation_counts()
        made = [name.removeprefix("~") for name in block.outputs]
        operations = {"operations": sum(counts.values()), "by_name": counts}
        blocks.append({"in_loop": inside, "makes": made, **operations})
    lanes = machine.host().lanes(bits)
    began = perf_counter()
    native.assembly(program, Target(lanes, bits))
    return {
        "blocks": blocks,
        "bytes_per_world": simulation.bytes_per_world(),
        "lanes": lanes,
        "bits": bits,
        "compile_seconds": perf_counter() - began,
    }


def kernel(robot: Robot, law: str, bits: int, file: Path | None = None) -> dict[str, Any]:
    """The GPU's kernel of the same step: its lines, registers and spills; where they are not known,
    `ptx_unknown` says why.

    For a whole robot its compiler and NVIDIA's assembler take many minutes and gigabytes: each is
    ended after `PATIENCE`.
    file: where to write the PTX text, if anywhere; then that is waited for
    """
    found = dict.fromkeys(("ptx_lines", "ptx_resources", "ptx_unknown")) | {"ptx_chip": ptx.CHIP}
    # in a process that can be ended, for LLVM cannot
    ptx.check_target()
    try:
        text = run_in_child(partial(_text, robot, law, bits), None if file else PATIENCE)
    except TimeoutError:
        unknown = (
            f"The GPU's kernel was not ready after {PATIENCE:g} s, so its registers are not known;"
            " --ptx FILE waits for it."
        )
        return found | {"ptx_unknown": unknown}
    except ChildProcessError as error:
        return found | {"ptx_unknown": f"The GPU's kernel was not made: {error}."}
    if isinstance(text, TarsusError):
        raise text
    if file:
        write_text({file: text})
    # the registers
    found["ptx_lines"] = len(text.splitlines())
    try:
        made = ptx.resources(text, seconds=PATIENCE)
    except TimeoutError:
        unknown = (
            f"NVIDIA's ptxas was ended after {PATIENCE:g} s, so the kernel's registers are not"
            " known."
        )
        return found | {"ptx_unknown": unknown}
    if made is None:
        return found | {"ptx_unknown": "Install NVIDIA's ptxas to see registers and spills."}
    return found | {"ptx_resources": vars(made)}


def _text(robot: Robot, law: str, bits: int) -> str | TarsusError:
    try:
        return ptx.ptx(simulated(robot, law, bits).program, bits)
    except TarsusError as error:
        return error


def simulated(robot: Robot, law: str, bits: int) -> Simulation:
    """The simulation whose step is looked at."""
    return Simulation(robot, law, controller="auto", precision=f"float{bits}")


def tell_step(found: dict[str, Any]) -> None:
    """Print operations and memory of the step as a table to read."""
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
    console = _console()
    console.print(table)
    console.print(
        f"{found['bytes_per_world']:.0f} bytes per world; {found['lanes']} lanes of {found['bits']}"
        f" bits compile in {found['compile_seconds']:.2f} s"
    )


def tell_kernel(found: dict[str, Any]) -> None:
    """Print what the GPU's kernel takes, or why that is not known."""
    lines, resources = found["ptx_lines"], found["ptx_resources"]
    told = [f"PTX for {found['ptx_chip']}: {lines} lines"] if lines is not None else []
    if resources is None:
        _console().print(". ".join([*told, found["ptx_unknown"]]))
        return
    _console().print(
        f"{told[0]}, {resources['registers']}"
        f" registers, {resources['spill_stores']} / {resources['spill_loads']} bytes of spill"
        f" stores / loads, {resources['planned_stores']} / {resources['planned_loads']} bytes that"
        f" Tarsus itself keeps in memory, {resources['stack']} bytes of stack,"
        f" {resources['code']} bytes of code"
    )


def _console() -> Console:
    from rich.console import Console

    return Console(highlight=False, width=None if sys.stdout.isatty() else WIDTH)


def tell_contents(found: dict[str, Any]) -> None:
    """What of the robot's file is simulated, what is left out, and its actuators, as tables."""
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape
    from rich.table import Table

    # taken, and left out
    console = _console()
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold")
    table.add_column()
    for what, told in found.get("taken", {}).items():
        table.add_row(what, escape(told))
    for text in found.get("left_out", ()):
        table.add_row("[yellow]left out[/]", escape(text[0].upper() + text[1:]))
    if stages := found.get("solver_stages"):
        table.add_row("contact solver", " → ".join(stages))
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
