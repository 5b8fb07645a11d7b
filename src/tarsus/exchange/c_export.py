"""Export a robot's dynamics and one closed-loop step as C without dependencies, with tests.

The C code is the program that the simulator compiles, so the results of a step are bit-identical.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tarsus.dynamics.quantities import QUANTITIES, Quantity, input_size
from tarsus.dynamics.robot import Robot
from tarsus.errors import Unsupported
from tarsus.exchange import c_templates as templates
from tarsus.exchange.c_templates import Vectors
from tarsus.files import write_text
from tarsus.program.codegen.c_source import (
    Code,
    helper_text,
    identifier,
    literal,
    members,
    numbers,
    plain_function,
    step_function,
)
from tarsus.program.ir.program import Program
from tarsus.simulation.recording.provenance import collect_versions
from tarsus.simulation.simulation import Simulation

Array = NDArray[np.float64]
STATE_COUNT, EPISODE_COUNT, STEP_COUNT = 6, 3, 200  # of the test vectors
SEED = 20
MAX_FRAMES = 16  # contact candidates whose kinematics are exported
MEANINGS = {
    "mass_matrix": "M(q), row by row",
    "velocity_terms": "Coriolis and centrifugal forces c(q, u), left-hand side",
    "gravity": "g(q), left-hand side",
    "bias": "c(q, u) + g(q)",
    "inverse_dynamics": "M(q) acceleration + c + g",
    "forward_dynamics": "M(q)^-1 (tau - c - g), without contact",
    "jacobian": "J (6 x nu), row by row: linear, then angular velocity, world axes",
    "position": "world position, m",
    "rotation": "R (3 x 3), row by row: x_world = R x_frame",
    "velocity": "linear (m/s) and angular (rad/s) velocity, world axes",
    "center_of_mass": "world position, m",
    "kinetic_energy": "J",
    "potential_energy": "J, zero with the center of mass at the world's origin",
    "coordinate_rate": "q' = F(q) u",
}


@dataclass(frozen=True)
class Function:
    """C function of the robot's dynamics.

    Attributes
    ----------
    name
        Name in C.
    inputs
        Names of the inputs, and their sizes.
    size
        Size of the result.
    code
        Source code.
    meaning
        Description for the header.
    method
        Method of `Robot` that computes the same, and its frame.
    """

    name: str
    inputs: tuple[tuple[str, int], ...]
    size: int
    code: Code
    meaning: str
    method: tuple[str, tuple[str, ...]]

    @property
    def signature(self) -> str:
        """Declaration without the semicolon."""
        arguments = "".join(f"const double {name}[{size}], " for name, size in self.inputs)
        return f"void {self.name}({arguments}double out[{self.size}])"


def export_c(simulation: Simulation, folder: Path) -> list[Path]:
    """Write the C code of a simulation's robot and time step.

    Parameters
    ----------
    simulation
        Simulation of one world in float64.
    folder
        Folder for the header, source, test vectors, test, example and CMakeLists.txt.

    Returns
    -------
    list of Path
        Files that were written.

    Raises
    ------
    Unsupported
        If the simulation has several worlds or uses float32.
    TarsusError
        If the program cannot be expressed in C.
    """
    if simulation.worlds != 1 or simulation.target.bits != 64:
        raise Unsupported(
            "C code simulates one world in float64: use worlds=1 and precision='float64'.",
            "worlds" if simulation.worlds != 1 else "precision",
        )
    robot, program = simulation.robot, simulation.program
    name = identifier(robot.name).lower()
    functions = _list_functions(robot, name)
    step = step_function(program, f"{name}_step", f"{name}_t")
    start = {r: simulation.backend.get(r)[0].copy() for r in members(program)}
    helpers = frozenset[str]().union(step.helpers, *(f.code.helpers for f in functions))
    parts = templates.CSource(
        name=name,
        description=_describe_code(simulation),
        sizes={"nq": robot.nq, "nu": robot.nu, "motors": len(robot.actuators)},
        record=_record(program, name, step.workspace),
        init=_generate_init(program, name, start),
        declarations=[(f.signature, f.meaning) for f in functions],
        code=[helper_text(helpers), *(f.code.functions for f in functions), step.functions],
    )
    vectors = [*_dynamics_vectors(robot, functions), *_step_vectors(simulation, name, start)]
    texts = {
        f"{name}.h": templates.write_header(parts),
        f"{name}.c": templates.write_source(parts),
        f"{name}_vectors.h": templates.write_vectors(parts, vectors),
        f"test_{name}.c": templates.write_test(parts, vectors),
        "example.c": templates.write_example(parts),
        "CMakeLists.txt": templates.write_cmake(parts),
    }
    folder.mkdir(parents=True, exist_ok=True)
    write_text({folder / file: text for file, text in texts.items()})
    return [folder / file for file in texts]


def _describe_code(simulation: Simulation) -> Sequence[str]:
    """Describe the code in the lines of every file's header comment."""
    scene = simulation.plan.scene
    gait = (
        type(simulation.controller).__name__
        if simulation.controller
        else "none (torques are an input)"
    )
    return (
        f"{simulation.robot.name}: dynamics, Jacobians and one closed-loop step.",
        f"law {type(scene.law).__name__}, stepper {type(simulation.stepper).__name__}, terrain"
        f" {type(scene.terrain).__name__}, gait {gait}, dt {simulation.dt:g} s.",
        f"Generated by Tarsus with CasADi {collect_versions()['casadi']}; program"
        f" {simulation.program.fingerprint[:16]}.",
    )


def _list_functions(robot: Robot, prefix: str) -> list[Function]:
    """List the functions of the dynamics, and of the kinematics of the base and the contacts."""
    functions = [
        _generate_function(robot, prefix, name, quantity, "")
        for name, quantity in QUANTITIES.items()
        if name in MEANINGS and not quantity.has_frame
    ]
    contacts = (candidate.name for candidate in robot.candidates[:MAX_FRAMES])
    for frame in dict.fromkeys([robot.body_names[0], *contacts]):
        for name in ("jacobian", "position", "rotation", "velocity"):
            functions.append(_generate_function(robot, prefix, name, QUANTITIES[name], frame))
    return functions


def _generate_function(
    robot: Robot, prefix: str, quantity_name: str, quantity: Quantity, frame: str
) -> Function:
    """Generate one quantity as a C function; its result is stored row by row."""
    program = quantity.program(
        robot, quantity_name, robot.frame(frame) if quantity.has_frame else None
    )
    size = int(np.prod(quantity.shape_for(robot), dtype=int))
    rows = quantity.reshape(robot, np.arange(size, dtype=float)[None]).ravel().astype(int)
    index = np.argsort(rows)  # position of each program entry in the result

    def location(register: str, entry: int) -> str:
        return f"out[{index[entry]}]" if register == quantity_name else f"{register}[{entry}]"

    name = f"{prefix}_{quantity_name}" + (f"_{identifier(frame)}" if frame else "")
    inputs = tuple((key, input_size(robot, key)) for key in quantity.inputs)
    meaning = MEANINGS[quantity_name] + (f"; {frame}" if frame else "")
    method = (quantity_name, (frame,) if frame else ())
    empty = Function(name, inputs, size, Code("", frozenset(), 0), meaning, method)
    code = plain_function(program, empty.signature, location)
    # cast unused inputs to void, so that compilers do not warn
    body = code.functions.partition("{")[2]
    unused = [key for key, _ in inputs if f" {key}[" not in body]
    voids = "".join(f"    (void){key};\n" for key in unused)
    text = code.functions.replace("{\n", "{\n" + voids, 1)
    return replace(empty, code=replace(code, functions=text))


def _record(program: Program, name: str, workspace: int) -> str:
    """Generate the C type of a world's record."""
    names, lines = members(program), list[str]()
    for kind, heading in (
        ("state", "state: read and written by every step"),
        ("report", "reports: written by every step"),
        ("parameter", "parameters: set by you, read by every step"),
    ):
        registers = [r for r in program.registers if r.kind == kind and r.name in names]
        lines += [f"    /* {heading} */"] if registers else []
        for register in registers:
            note = templates.NOTES.get(register.name.partition(".")[0], "")
            lines.append(
                f"    double {names[register.name]}[{register.size}];"
                + (f" /* {note} */" if note else "")
            )
    lines += ["    /* workspace of a step */", f"    double work[{max(workspace, 1)}];"]
    return "typedef struct {\n" + "\n".join(lines) + f"\n}} {name}_t;\n"


def _generate_init(program: Program, name: str, start: dict[str, Array]) -> str:
    """Generate the C function that initializes a record."""
    names, arrays, copies = members(program), list[str](), list[str]()
    for register in (r for r in program.registers if r.name in names):
        values, member = start[register.name], names[register.name]
        if not values.any():
            continue
        if register.size == 1:
            copies.append(f"    d->{member}[0] = {literal(float(values[0]))};")
            continue
        arrays.append(f"    static const double {member}[] = {{\n{numbers(values, 6)}\n    }};")
        copies.append(f"    memcpy(d->{member}, {member}, sizeof {member});")
    lines = [*arrays, "    memset(d, 0, sizeof *d);", *copies]
    return f"void {name}_init({name}_t *d)\n{{\n" + "\n".join(lines) + "\n}\n"


def _dynamics_vectors(robot: Robot, functions: Sequence[Function]) -> list[Vectors]:
    """Compute test vectors of the dynamics: random states, and the results of Python."""
    random = np.random.default_rng(SEED)
    posture = np.asarray(robot.keyframes.get("stand", robot.neutral()), float)
    u = random.normal(size=(STATE_COUNT, robot.nu))
    postures = np.tile(posture, (STATE_COUNT, 1))
    values = {
        "q": robot.integrate(postures, 0.7 * random.normal(size=u.shape), 1.0),
        "u": u,
        "acceleration": random.normal(size=u.shape),
        "tau": random.normal(size=u.shape),
    }
    vectors = []
    for function in functions:
        quantity, frame = function.method
        inputs = [name for name, _ in function.inputs]
        result = getattr(robot, quantity)(*(values[name] for name in inputs), *frame)
        pairs = [(name, values[name]) for name in inputs]
        vectors.append(Vectors(function.name, pairs, np.reshape(result, (STATE_COUNT, -1))))
    return vectors


def _step_vectors(simulation: Simulation, name: str, start: dict[str, Array]) -> list[Vectors]:
    """Compute test vectors of the step: disturbed velocities, and the final states of episodes."""
    random, worlds = np.random.default_rng(SEED + 1), simulation.backend
    program, initial, final = simulation.program, list[Array](), list[Array]()
    registers = [r.name for r in program.of_kind("state", "report") if r.size]
    for episode in range(EPISODE_COUNT):
        for register, values in start.items():
            worlds.set(register, values)
        u = start["u"] + 0.1 * episode * random.normal(size=start["u"].shape)
        worlds.set("u", u)
        worlds.advance(STEP_COUNT)
        initial.append(u)
        final.append(np.concatenate([worlds.get(register)[0] for register in registers]))
    for register, values in start.items():
        worlds.set(register, values)
    return [Vectors(f"{name}_step", [("u", np.array(initial))], np.array(final), registers)]
