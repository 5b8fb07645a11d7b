"""Derivatives of the step, through contact.

Directions are worlds: the step's tangent (`program.ir.tangent`) runs once with a world a direction,
so that the columns of a Jacobian lie in the lanes of vector instructions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from threading import RLock
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import ArrayLike, NDArray

from tarsus.dynamics.kinematics import coordinate_rate
from tarsus.errors import TarsusError, unknown
from tarsus.model.mechanism import Mechanism
from tarsus.program.ir.blocks import Program, Register, Straight
from tarsus.program.ir.tangent import named, tangent
from tarsus.program.run.backend import Backend
from tarsus.program.run.worlds import Worlds
from tarsus.simulation import inputs
from tarsus.simulation.step_program import Plan, step_program

Array = NDArray[np.float64]
ALONG, MOVED = "along", "moved"  # directions before the step and after it: q as a velocity, and u
SETTLED = {"law.T_rel": 1e-12, "law.T_abs": 1e-12}  # tolerances: what a solver leaves is not smooth
KEPT = 4  # tangents that are kept

_ONE_AT_A_TIME = RLock()  # their worlds are shared


@dataclass(frozen=True)
class Derivatives:
    """Jacobians of the state after the next step; a leading axis (worlds,) if there are several.

    A change of state is (2 nu,): of the coordinates as a velocity times one second (a base turns by
    a small rotation vector), then of the velocities.
    """

    state: Array
    """By the state before it, (2 nu, 2 nu)."""
    action: Array
    """By torques (N m) or control signals held over the step, (2 nu, actuators); (2 nu, 0) if a
    controller is compiled in."""
    command: Array
    """By the controller's commands, (2 nu, commands); (2 nu, 0) without a compiled controller."""
    parameters: dict[str, Array]
    """By each parameter that was named, (2 nu, its size)."""
    converged: bool | NDArray[np.bool_]
    """Whether the contact problem was solved to 1e-12, which the derivatives need; (worlds,) of
    several."""


class Differentiated:
    """A simulation whose step has derivatives."""

    plan: Plan
    worlds: int
    options: Any
    _worlds: Backend

    def derivatives(self, *parameters: str, action: ArrayLike | None = None) -> Derivatives:
        """Jacobians of the next step of every world, from the state as it is; nothing moves.

        parameters: of the law by name ("mu"), or registers of `program` of kind parameter, such as
            "law.mu", "terrain.slope", "mass_scale", "push"
        action: held over the step, (actuators,) or (worlds, actuators); None: the last one
        They are those of the branches that the step takes: a contact that just closes, opens or
        begins to slide has other ones on the other side. Exact but for round-off where the law's
        solver ends in a linear system (`moreau` with newton or exact) and under force laws;
        `jor` and `sor` leave the error with which they stop. What the law remembers of the step
        before is held. Raises TarsusError for an unknown parameter, on a GPU and in float32.
        """
        own = self._worlds
        if self.options.device != "cpu" or self.options.precision == "float32":
            raise TarsusError("derivatives are computed on device 'cpu' with precision 'float64'.")
        given = tuple(name for name in ("action", "command") if name in own)
        if action is not None and "action" not in own:
            raise TarsusError("a compiled controller moves this robot: derivatives take no action.")
        wanted = {name: _register(name, own.program) for name in parameters}
        # a world for each direction, from where each world is
        others = (*given, *dict.fromkeys(wanted.values()))
        with _ONE_AT_A_TIME:
            worlds, ends = _spread(self.plan, others, self.worlds, self.options.threads)
            for register in own.program.of_kind("state", "parameter"):
                if register.name not in SETTLED:
                    values = own.get(register.name)
                    if register.name == "action" and action is not None:
                        values[:] = inputs.acting(action, "the action", own)
                    alike = self.worlds == 1
                    each = values[0] if alike else np.repeat(values, ends[-1], axis=0)
                    worlds.set(register.name, each)
            worlds.advance()
            moved, solved = worlds.get(MOVED), worlds.get("converged")
        # (worlds, 2 nu, directions), and by what each is of
        moved = moved.reshape(self.worlds, ends[-1], -1).transpose(0, 2, 1)
        solved: Any = solved.reshape(self.worlds, -1).astype(bool).all(axis=1)
        if self.worlds == 1:
            moved, solved = moved[0], bool(solved[0])
        state, *parts = np.split(moved, ends, axis=-1)[:-1]
        by = dict(zip(others, parts, strict=True))
        none = np.zeros((*state.shape[:-1], 0))
        action, command = by.get("action", none), by.get("command", none)
        own_parameters = {name: by[register] for name, register in wanted.items()}
        return Derivatives(state, action, command, own_parameters, solved)


def _register(name: str, program: Program) -> str:
    """The register of a parameter."""
    known = [r.name for r in program.of_kind("parameter")]
    known = [k for k in known if k not in ("action", "command", *SETTLED)]
    for register in (f"law.{name}", name):
        if register in known:
            return register
    raise unknown("parameter", name, [k.removeprefix("law.") for k in known])


@lru_cache(maxsize=KEPT)
def _spread(
    plan: Plan, others: tuple[str, ...], count: int, threads: int
) -> tuple[Worlds, list[int]]:
    """The tangent over `count` times as many worlds as there are directions, each along its own;
    and the numbers of directions up to the end of the state, and of each of the others.
    """
    program = _tangent(plan, others)
    sizes = [program.sizes[ALONG], *(program.sizes[name] for name in others)]
    ends = np.cumsum(sizes).tolist()
    seeds = np.tile(np.eye(ends[-1]), (count, 1))
    worlds = Worlds(program, len(seeds), threads=threads)
    for name, end, size in zip((ALONG, *map(named, others)), ends, sizes, strict=True):
        worlds.set(name, seeds[:, end - size : end])
    for name, value in SETTLED.items():
        if name in worlds:
            worlds.set(name, value)
    return worlds, ends


@lru_cache(maxsize=KEPT)
def _tangent(plan: Plan, others: tuple[str, ...]) -> Program:
    """The tangent of the step, with directions in the coordinates of `Derivatives` at both ends."""
    program = tangent(step_program(plan), ("q", "u", *others), ("q", "u"))
    mechanism = plan.scene.mechanism
    q, u = SX.sym("q", mechanism.nq), SX.sym("u", mechanism.nu)
    dq, along = SX.sym("dq", mechanism.nq), SX.sym("along", 2 * mechanism.nu)
    turned, nu = coordinate_rate(mechanism, q, u), mechanism.nu
    # into the registers: what is not varied has no tangent
    states = [r for r in program.of_kind("state") if r.name.startswith(named(""))]
    still = {r.name: SX.zeros(r.size) for r in states}
    forth = ca.substitute(turned, u, along[:nu])
    begin = still | {named("q"): forth, named("u"): along[nu:]}
    before = ca.Function("before", [q, along], [ca.densify(value) for value in begin.values()])
    # and out of them: F^T, and the inverse of F^T F
    back = ca.jtimes(turned, u, dq, True) / ca.vertcat(*_squared(mechanism))
    after = ca.Function("after", [q, dq, u], [ca.densify(ca.vertcat(back, u))])
    blocks = (
        Straight.of(before, ("q", ALONG), list(begin)),
        *program.blocks,
        Straight.of(after, ("q", named("q"), named("u")), (MOVED,)),
    )
    ends = Register(ALONG, 2 * nu, "parameter"), Register(MOVED, 2 * nu, "report")
    return Program(program.name, (*program.registers, *ends), blocks, program.tables)


def _squared(mechanism: Mechanism) -> list[float]:
    """The diagonal of F^T F, of q' = F(q) u: quaternions change half as fast as bodies turn."""
    turning = {"free": [1.0] * 3 + [0.25] * 3, "ball": [0.25] * 3}
    return [k for body in mechanism.bodies for k in turning.get(body.joint.kind, [1.0])]
