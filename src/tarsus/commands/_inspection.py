"""Measurements and output of `tarsus inspect`.

It shows what is read from a robot file, and the robot's compiled time step: blocks, operations,
compile time, and the registers of the GPU kernel.
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
from tarsus.program.lowering.tape import create_tape
from tarsus.program.run import machine, native, ptx
from tarsus.simulation import resolve
from tarsus.simulation.simulation import Simulation

if TYPE_CHECKING:
    from rich.console import Console

    from tarsus.model.mechanism import Mechanism

PIPE_WIDTH = 120  # characters of a line in a file or a pipe
GPU_TIMEOUT = 60.0  # s, for the GPU compiler, and for NVIDIA's assembler
MAX_NAMES = 3  # outputs of a block that a row names
COLUMNS = (
    "block",
    "operations",
    "multiply-\nadds",
    "products",
    "divisions,\nroots",
    "sines,\ncosines,\narcs",
)


def read_contents(robot: Mechanism, law: str) -> dict[str, Any]:
    """Read the supported and unsupported contents of a robot file, as a JSON record.

    The record also has the file's actuators and the stages of the law's contact solver.
    """
    return {
        "robot": robot.name,
        "supported": dict(contents.simulated_rows(robot)),
        "unsupported": list(robot.unsupported),
        "actuators": [
            dict(zip(contents.ACTUATOR_HEAD, row, strict=True))
            for row in contents.actuator_rows(robot)
        ],
        "solver_stages": list(resolve.resolve_law(law).stages[1:]),
    }


def measure_step(simulation: Simulation, bits: int) -> dict[str, Any]:
    """Count the operations of every block of straight-line code, and time the CPU compilation.

    Parameters
    ----------
    simulation
        Simulation whose time step is compiled.
    bits
        Size of a floating-point number, 32 or 64.
    """
    program = simulation.program
    blocks = []
    for block, inside in program.expanded.basic_blocks():
        counts = create_tape(block.function).operation_counts()
        made = [name.removeprefix("~") for name in block.outputs]
        operations = {"operations": sum(counts.values()), "by_name": counts}
        blocks.append({"in_loop": inside, "makes": made, **operations})
    lanes = machine.detect_host().lanes(bits)
    start = perf_counter()
    native.compile_to_assembly(program, Target(lanes, bits))
    return {
        "blocks": blocks,
        "bytes_per_world": simulation.bytes_per_world(),
        "lanes": lanes,
        "bits": bits,
        "compile_seconds": perf_counter() - start,
    }


def compile_kernel(robot: Robot, law: str, bits: int, file: Path | None = None) -> dict[str, Any]:
    """Compile the GPU kernel of the step; return its lines, registers and spills.

    Values that are not available are None, and `ptx_unknown` gives the reason. For a whole robot,
    compiler and assembler take many minutes and gigabytes, so each is stopped after `GPU_TIMEOUT`.

    Parameters
    ----------
    robot, law
        Robot and contact law.
    bits
        Size of a floating-point number, 32 or 64.
    file
        File to write the PTX text to; if set, the compiler has no time limit.
    """
    report = dict.fromkeys(("ptx_lines", "ptx_resources", "ptx_unknown")) | {"ptx_chip": ptx.CHIP}
    # LLVM cannot be interrupted, but its process can be stopped
    ptx.check_target()
    try:
        text = run_in_child(partial(_ptx_text, robot, law, bits), None if file else GPU_TIMEOUT)
    except TimeoutError:
        unknown = (
            f"The GPU kernel was not compiled within {GPU_TIMEOUT:g} s, so its registers are not"
            " known; --ptx FILE has no time limit."
        )
        return report | {"ptx_unknown": unknown}
    except ChildProcessError as error:
        return report | {"ptx_unknown": f"The GPU kernel could not be compiled: {error}."}
    if isinstance(text, TarsusError):
        raise text
    if file:
        write_text({file: text})
    report["ptx_lines"] = len(text.splitlines())
    try:
        resources = ptx.resources(text, seconds=GPU_TIMEOUT)
    except TimeoutError:
        unknown = (
            f"NVIDIA's ptxas did not finish within {GPU_TIMEOUT:g} s, so the kernel's registers are"
            " not known."
        )
        return report | {"ptx_unknown": unknown}
    if resources is None:
        return report | {"ptx_unknown": "Install NVIDIA's ptxas to see registers and spills."}
    return report | {"ptx_resources": vars(resources)}


def _ptx_text(robot: Robot, law: str, bits: int) -> str | TarsusError:
    try:
        return ptx.compile_to_ptx(create_simulation(robot, law, bits).program, bits)
    except TarsusError as error:
        return error


def create_simulation(robot: Robot, law: str, bits: int) -> Simulation:
    """Create the simulation whose time step is inspected."""
    return Simulation(robot, law, controller="auto", precision=f"float{bits}")


def print_step(report: dict[str, Any]) -> None:
    """Print a table of the step's operations, and its memory and compile time."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    # one row per block, named by its outputs
    table = Table(
        title=f"{report['robot']}: code blocks, run once per step or in a loop, and their outputs",
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
    for block in report["blocks"]:
        counts = [str(sum(block["by_name"].get(name, 0) for name in names)) for names in groups]
        table.add_row(_block_name(block), str(block["operations"]), *counts)
    console = _console()
    console.print(table)
    console.print(
        f"{report['bytes_per_world']:.0f} bytes per world; compile time"
        f" {report['compile_seconds']:.2f} s for {report['lanes']} lanes of {report['bits']} bits"
    )


def print_kernel(report: dict[str, Any]) -> None:
    """Print the size and resources of the GPU kernel, or why they are not known."""
    lines, resources = report["ptx_lines"], report["ptx_resources"]
    size = [f"PTX for {report['ptx_chip']}: {lines} lines"] if lines is not None else []
    if resources is None:
        _console().print(". ".join([*size, report["ptx_unknown"]]))
        return
    _console().print(
        f"{size[0]}, {resources['registers']} registers,"
        f" {resources['spill_stores']} / {resources['spill_loads']} bytes of spill stores / loads,"
        f" {resources['planned_stores']} / {resources['planned_loads']} bytes of stores / loads"
        f" planned by Tarsus, {resources['stack']} bytes of stack,"
        f" {resources['code']} bytes of code"
    )


def _console() -> Console:
    from rich.console import Console

    return Console(highlight=False, width=None if sys.stdout.isatty() else PIPE_WIDTH)


def print_contents(report: dict[str, Any]) -> None:
    """Print tables of the supported and unsupported contents of the file, and its actuators."""
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape
    from rich.table import Table

    # supported and unsupported contents
    console = _console()
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold")
    table.add_column()
    for name, text in report.get("supported", {}).items():
        table.add_row(name, escape(text))
    for text in report.get("unsupported", ()):
        table.add_row("[yellow]unsupported[/]", escape(text[0].upper() + text[1:]))
    if stages := report.get("solver_stages"):
        table.add_row("contact solver", " → ".join(stages))
    if table.row_count:
        console.print(table)
        console.print()
    # actuators of the file
    rows = report.get("actuators", [])
    if rows:
        table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
        columns = [column for column in rows[0] if any(row[column] for row in rows)]
        for column in columns:
            table.add_column(column, overflow="fold")
        for row in rows:
            table.add_row(*(escape(row[column]) for column in columns))
        console.print(table)


def _block_name(block: dict[str, Any]) -> str:
    """Name a block after the first registers that it computes."""
    outputs = [name for name in block["makes"] if not name.startswith("more")]
    more = ", ..." if len(outputs) > MAX_NAMES else ""
    return f"{'loop' if block['in_loop'] else 'once'}: {', '.join(outputs[:MAX_NAMES])}{more}"
