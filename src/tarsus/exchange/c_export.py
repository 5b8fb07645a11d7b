"""A robot's dynamics and one closed-loop step as C without dependencies, with test vectors.

The C code is the program that the simulator compiles, so the step has the same bits.
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
from tarsus.simulation.recording.provenance import versions
from tarsus.simulation.simulation import Simulation

Array = NDArray[np.float64]
STATES, EPISODES, STEPS = 6, 3, 200  # of the test vectors
SEED = 20
WHAT = {
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
    """A C function of the robot's dynamics: name, inputs with sizes, size of the result, code, what
    it is, and which method of `Robot` says the same.
    """

    name: str
    inputs: tuple[tuple[str, int], ...]
    size: int
    code: Code
    meaning: str
    method: tuple[str, tuple[str, ...]]

    @property
    def signature(self) -> str:
        """Its declaration, without the semicolon."""
        given = "".join(f"const double {name}[{size}], " for name, size in self.inputs)
        return f"void {self.name}({given}double out[{self.size}])"


def export_c(simulation: Simulation, folder: Path) -> list[Path]:
    """Write header, source, test vectors, test, example and CMakeLists.txt of a simulation's robot
    and step; the files written.

    The step is one world's in float64. TarsusError for a program that C cannot hold.
    """
    if simulation.worlds != 1 or simulation.target.bits != 64:
        raise Unsupported(
            "C code simulates one world in float64: use worlds=1 and precision='float64'.",
            "worlds" if simulation.worlds != 1 else "precision",
        )
    robot, program = simulation.robot, simulation.program
    name = identifier(robot.name).lower()
    # the functions, then what they give
    functions = _functions(robot, name)
    step = step_function(program, f"{name}_step", f"{name}_t")
    start = {r: simulation.backend.get(r)[0].copy() for r in members(program)}
    helpers = frozenset[str]().union(step.helpers, *(f.code.helpers for f in functions))
    told = _told(simulation)
    parts = templates.CSource(
        name=name,
        told=told,
        sizes={"nq": robot.nq, "nu": robot.nu, "motors": len(robot.actuators)},
        record=_record(program, name, step.workspace),
        init=_init(program, name, start),
        declarations=[(f.signature, f.meaning) for f in functions],
        code=[helper_text(helpers), *(f.code.functions for f in functions), step.functions],
    )
    vectors = [*_dynamics_vectors(robot, functions), *_step_vectors(simulation, name, start)]
    texts = {
        f"{name}.h": templates.header(parts),
        f"{name}.c": templates.source(parts),
        f"{name}_vectors.h": templates.vectors_text(parts, vectors),
        f"test_{name}.c": templates.test(parts, vectors),
        "example.c": templates.example(parts),
        "CMakeLists.txt": templates.cmake(parts),
    }
    folder.mkdir(parents=True, exist_ok=True)
    write_text({folder / file: text for file, text in texts.items()})
    return [folder / file for file in texts]


def _told(simulation: Simulation) -> Sequence[str]:
    """What the code is of, for its head."""
    scene = simulation.plan.scene
    gait = (
        type(simulation.controller).__name__ if simulation.controller else "none: torques come in"
    )
    return (
        f"{simulation.robot.name}: dynamics, Jacobians and one closed-loop step.",
        f"law {type(scene.law).__name__}, stepper {type(simulation.stepper).__name__}, terrain"
        f" {type(scene.terrain).__name__}, gait {gait}, dt {simulation.dt:g} s.",
        f"Written by Tarsus with CasADi {versions()['casadi']}; program"
        f" {simulation.program.fingerprint[:16]}.",
    )


def _functions(robot: Robot, prefix: str) -> list[Function]:
    """The dynamics, and of every contact candidate's frame Jacobian, position and velocity."""
    found = [
        _function(robot, prefix, quantity, asked, "")
        for quantity, asked in QUANTITIES.items()
        if quantity in WHAT and not asked.framed
    ]
    frames = list(dict.fromkeys([robot.body_names[0], *(c.name for c in robot.candidates[:16])]))
    for frame in frames:
        for quantity in ("jacobian", "position", "rotation", "velocity"):
            found.append(_function(robot, prefix, quantity, QUANTITIES[quantity], frame))
    return found


def _function(robot: Robot, prefix: str, quantity: str, asked: Quantity, frame: str) -> Function:
    """One quantity as a C function, its result row by row."""
    program = asked.program(robot, quantity, robot.frame(frame) if asked.framed else None)
    size = int(np.prod(asked.shape_for(robot), dtype=int))
    rows = asked.reshape(robot, np.arange(size, dtype=float)[None]).ravel().astype(int)
    at = np.argsort(rows)  # of the program's entry, in the result

    def place(register: str, entry: int) -> str:
        return f"out[{at[entry]}]" if register == quantity else f"{register}[{entry}]"

    name = f"{prefix}_{quantity}" + (f"_{identifier(frame)}" if frame else "")
    inputs = tuple((key, input_size(robot, key)) for key in asked.inputs)
    meaning = WHAT[quantity] + (f"; {frame}" if frame else "")
    method = (quantity, (frame,) if frame else ())
    empty = Function(name, inputs, size, Code("", frozenset(), 0), meaning, method)
    code = plain_function(program, empty.signature, place)
    # what a result does not depend on is named once, so that no compiler complains
    body = code.functions.partition("{")[2]
    unused = [key for key, _ in inputs if f" {key}[" not in body]
    voids = "".join(f"    (void){key};\n" for key in unused)
    text = code.functions.replace("{\n", "{\n" + voids, 1)
    return replace(empty, code=replace(code, functions=text))


def _record(program: Program, name: str, workspace: int) -> str:
    """The type of a world's record."""
    own, lines = members(program), list[str]()
    for kind, heading in (
        ("state", "state: read and written by every step"),
        ("report", "reports: written by every step"),
        ("parameter", "parameters: only read; yours to set"),
    ):
        held = [r for r in program.registers if r.kind == kind and r.name in own]
        lines += [f"    /* {heading} */"] if held else []
        for register in held:
            note = templates.NOTES.get(register.name.partition(".")[0], "")
            lines.append(
                f"    double {own[register.name]}[{register.size}];"
                + (f" /* {note} */" if note else "")
            )
    lines += ["    /* room for a step's own numbers */", f"    double work[{max(workspace, 1)}];"]
    return "typedef struct {\n" + "\n".join(lines) + f"\n}} {name}_t;\n"


def _init(program: Program, name: str, start: dict[str, Array]) -> str:
    """The function that puts a record at its start."""
    own, arrays, copies = members(program), list[str](), list[str]()
    for register in (r for r in program.registers if r.name in own):
        values, member = start[register.name], own[register.name]
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
    """Random states, and what Python says of them."""
    random = np.random.default_rng(SEED)
    start = np.asarray(robot.keyframes.get("stand", robot.neutral()), float)
    u = random.normal(size=(STATES, robot.nu))
    given = {
        "q": robot.integrate(np.tile(start, (STATES, 1)), 0.7 * random.normal(size=u.shape), 1.0),
        "u": u,
        "acceleration": random.normal(size=u.shape),
        "tau": random.normal(size=u.shape),
    }
    found = []
    for function in functions:
        quantity, frame = function.method
        inputs = [name for name, _ in function.inputs]
        result = getattr(robot, quantity)(*(given[name] for name in inputs), *frame)
        pairs = [(name, given[name]) for name in inputs]
        found.append(Vectors(function.name, pairs, np.reshape(result, (STATES, -1))))
    return found


def _step_vectors(simulation: Simulation, name: str, start: dict[str, Array]) -> list[Vectors]:
    """Episodes of the step from disturbed velocities: state and reports at the end of each."""
    random, worlds = np.random.default_rng(SEED + 1), simulation.backend
    program, found, end = simulation.program, list[Array](), list[Array]()
    asked = [r.name for r in program.of_kind("state", "report") if r.size]
    for episode in range(EPISODES):
        for register, values in start.items():
            worlds.set(register, values)
        u = start["u"] + 0.1 * episode * random.normal(size=start["u"].shape)
        worlds.set("u", u)
        worlds.advance(STEPS)
        found.append(u)
        end.append(np.concatenate([worlds.get(register)[0] for register in asked]))
    for register, values in start.items():
        worlds.set(register, values)
    return [Vectors(f"{name}_step", [("u", np.array(found))], np.array(end), asked)]
