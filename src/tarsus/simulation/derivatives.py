"""Derivatives of the step, through contact.

The tangent of the step (`program.ir.tangent`) runs once along all directions
(`program.run.directions`): the columns of a Jacobian are in the lanes of vector instructions.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from threading import RLock
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import ArrayLike, NDArray

from tarsus.dynamics.kinematics import coordinate_rate
from tarsus.errors import IncompatibleOptions, Unsupported, unknown_name_error
from tarsus.model.mechanism import Mechanism
from tarsus.program.codegen.layout import layout
from tarsus.program.ir.blocks import BasicBlock, Register
from tarsus.program.ir.program import Program
from tarsus.program.ir.tangent import ENTERED, tangent_name, tangent_program
from tarsus.program.run.backend import Backend
from tarsus.program.run.directions import Directions
from tarsus.program.run.worlds import Worlds
from tarsus.simulation import inputs
from tarsus.simulation.step_program import Plan, step_program

Array = NDArray[np.float64]
INPUT_DIRECTION, OUTPUT_DIRECTION = (
    "along",
    "moved",
)  # registers of directions before and after the step
TIGHT_TOLERANCES = {
    "law.T_rel": 1e-12,
    "law.T_abs": 1e-12,
}  # remaining solver errors are not smooth
CACHE_SIZE = 4  # tangent programs

_LOCK = RLock()  # runners share memory


@dataclass(frozen=True)
class Derivatives:
    """Jacobians of the state after the next step.

    With several worlds every array has a leading axis (worlds,). A change of state has shape (2
    nu,): first of the coordinates, as a velocity times one second (a base turns by a small rotation
    vector), then of the velocities.
    """

    state: Array
    """With respect to the state before the step, shape (2 nu, 2 nu)."""
    action: Array
    """With respect to torques (N m) or control signals, shape (2 nu, actuators); (2 nu, 0) if a
    controller is compiled in."""
    command: Array
    """With respect to the commands of a compiled controller, shape (2 nu, commands)."""
    parameters: dict[str, Array]
    """With respect to each named parameter, shape (2 nu, size of the parameter)."""
    converged: bool | NDArray[np.bool_]
    """Whether the contact problem was solved to 1e-12, as the derivatives require; shape (worlds,)
    with several worlds."""


def step_derivatives(
    plan: Plan, worlds: Backend, options: Any, names: Sequence[str], action: ArrayLike | None
) -> Derivatives:
    """Compute the Jacobians of the next step, as described in `Simulation.derivatives`.

    Parameters
    ----------
    plan
        Compiled step.
    worlds
        Worlds, which are not changed.
    options
        Options of the simulation.
    names
        Names of parameters.
    action
        Torques or control signals, or None.
    """
    if not isinstance(worlds, Worlds) or options.precision == "float32":
        raise Unsupported(
            "derivatives are available only with device='cpu' and precision='float64'.",
            "derivatives",
        )
    given = tuple(name for name in ("action", "command") if name in worlds)
    if action is not None and "action" not in worlds:
        raise IncompatibleOptions(
            "derivatives take no action, because a compiled controller drives this robot.",
            "action",
        )
    wanted = {name: _register(name, worlds.program) for name in names}
    actions: Array | None = None
    if action is not None:
        checked = inputs.check_action(action, "action", worlds)
        actions = np.broadcast_to(checked, (worlds.count, worlds.program.sizes["action"]))
    others = (*given, *dict.fromkeys(wanted.values()))
    moved, solved, ends = _jacobians(plan, others, worlds, actions, options.threads)
    solved: Any = solved
    if worlds.count == 1:
        moved, solved = moved[0], bool(solved[0])
    # split the columns by register
    state, none = moved[..., : ends[0]], np.zeros((*moved.shape[:-1], 0))
    by = {name: moved[..., a:b] for name, (a, b) in zip(others, pairwise(ends), strict=True)}
    by_action, by_command = by.get("action", none), by.get("command", none)
    own_parameters = {name: by[register] for name, register in wanted.items()}
    return Derivatives(state, by_action, by_command, own_parameters, solved)


def _register(name: str, program: Program) -> str:
    """Find the register of a parameter."""
    known = [r.name for r in program.of_kind("parameter")]
    known = [k for k in known if k not in ("action", "command", *TIGHT_TOLERANCES)]
    for register in (f"law.{name}", name):
        if register in known:
            return register
    raise unknown_name_error("parameter", name, [k.removeprefix("law.") for k in known])


class _TangentRunner:
    """Runs the tangent of a step along the directions of the state, then of the other registers.

    Parameters
    ----------
    plan
        Compiled step.
    others
        Registers with respect to which the step is differentiated, besides the state.
    include_cold
        Whether cold loops are compiled in.
    """

    def __init__(self, plan: Plan, others: tuple[str, ...], include_cold: bool) -> None:
        # seed directions
        program = _trace_tangent_program(plan, others, include_cold)
        sizes = [program.sizes[INPUT_DIRECTION], *(program.sizes[name] for name in others)]
        self.ends: list[int] = np.cumsum(sizes).tolist()
        varying = [r.name for r in program.registers if r.name.startswith(tangent_name(""))]
        end_of = dict(zip((INPUT_DIRECTION, *map(tangent_name, others)), self.ends, strict=True))
        self._directions = Directions(
            program, (*varying, INPUT_DIRECTION, OUTPUT_DIRECTION), end_of
        )
        for name, value in TIGHT_TOLERANCES.items():
            if name in program.sizes:
                self._directions.set(name, value)
        # copy registers of the step into the tangent's record
        step = step_program(plan)
        source, target = (layout(traced)[0] for traced in (step, program))
        common = [r for r in step.of_kind("state", "parameter") if r.name not in TIGHT_TOLERANCES]
        span = {r.name: np.arange(r.size) for r in common}
        self._from = np.concatenate([source[r.name] + span[r.name] for r in common])
        self._to = np.concatenate([target[r.name] + span[r.name] for r in common])
        self.moved, self._solved = (
            self._directions.view(n) for n in (OUTPUT_DIRECTION, "converged")
        )
        self._entered = np.zeros(1) if include_cold else self._directions.view(ENTERED)

    def compute_jacobian(self, record: Array, action: Array | None) -> tuple[Array, bool] | None:
        """Compute the Jacobian (2 nu, directions) for a record, and whether the step was solved.

        None if the step enters a cold loop that is not compiled in.
        """
        directions = self._directions
        directions.record[self._to] = record[self._from]
        if action is not None:
            directions.set("action", action)
        directions.run()
        return None if self._entered[0] > 0 else (self.moved, self._solved[0] > 0)


def _jacobians(
    plan: Plan, others: tuple[str, ...], worlds: Worlds, action: Array | None, threads: int
) -> tuple[Array, NDArray[np.bool_], list[int]]:
    """Compute Jacobians (worlds, 2 nu, directions), whether each was solved, and column ends."""
    with _LOCK:
        # try without cold loops first; repeat worlds that enter one
        indices, shares = range(worlds.count), min(threads, worlds.count)
        runners = _create_runners(plan, others, False, shares)
        moved, solved = (
            np.empty((worlds.count, *runners[0].moved.shape)),
            np.empty(worlds.count, bool),
        )
        entered = _fill_worlds(runners, indices, worlds, action, (moved, solved))
        if entered:
            _fill_worlds(
                _create_runners(plan, others, True, shares),
                entered,
                worlds,
                action,
                (moved, solved),
            )
    return moved, solved, runners[0].ends


def _fill_worlds(
    runners: list[_TangentRunner],
    indices: Sequence[int],
    worlds: Worlds,
    action: Array | None,
    into: tuple[Array, NDArray[np.bool_]],
) -> list[int]:
    """Write the Jacobians of these worlds; return the worlds that need a cold loop."""
    (moved, solved), shares, unfinished = into, min(len(runners), len(indices)), list[int]()

    def fill(k: int) -> None:
        for world in indices[k::shares]:
            world_action = None if action is None else action[world]
            result = runners[k].compute_jacobian(worlds.record_of(world), world_action)
            if result is None:
                unfinished.append(world)
            else:
                moved[world], solved[world] = result

    if shares == 1:
        fill(0)
    else:
        with ThreadPoolExecutor(shares) as pool:
            list(pool.map(fill, range(shares)))
    return unfinished


def _create_runners(
    plan: Plan, others: tuple[str, ...], include_cold: bool, shares: int
) -> list[_TangentRunner]:
    """Create one runner for each thread."""
    runners = _cached_runners(plan, others, include_cold)
    while len(runners) < shares:
        runners.append(_TangentRunner(plan, others, include_cold))
    return runners[:shares]


@lru_cache(maxsize=CACHE_SIZE)
def _cached_runners(
    plan: Plan, others: tuple[str, ...], include_cold: bool
) -> list[_TangentRunner]:
    """Look up the cached runners of a plan; the list grows with use."""
    return []


@lru_cache(maxsize=CACHE_SIZE)
def _trace_tangent_program(plan: Plan, others: tuple[str, ...], include_cold: bool) -> Program:
    """Trace the tangent of the step, with the coordinates of `Derivatives` at both ends."""
    smooth = step_program(replace(plan, smooth=True))
    program = tangent_program(smooth, ("q", "u", *others), ("q", "u"), include_cold)
    mechanism = plan.scene.mechanism
    q, u = SX.sym("q", mechanism.nq), SX.sym("u", mechanism.nu)
    dq, along = SX.sym("dq", mechanism.nq), SX.sym("along", 2 * mechanism.nu)
    turned, nu = coordinate_rate(mechanism, q, u), mechanism.nu
    # set tangents of the state; other states have none
    states = [r for r in program.of_kind("state") if r.name.startswith(tangent_name(""))]
    still = {r.name: SX.zeros(r.size) for r in states}
    forth = ca.substitute(turned, u, along[:nu])
    begin = still | {tangent_name("q"): forth, tangent_name("u"): along[nu:]}
    before = ca.Function("before", [q, along], [ca.densify(value) for value in begin.values()])
    # convert back by F^T and the inverse of F^T F
    back = ca.jtimes(turned, u, dq, True) / ca.vertcat(*_gram_diagonal(mechanism))
    after = ca.Function("after", [q, dq, u], [ca.densify(ca.vertcat(back, u))])
    blocks = (
        BasicBlock.of(before, ("q", INPUT_DIRECTION), list(begin)),
        *program.blocks,
        BasicBlock.of(after, ("q", tangent_name("q"), tangent_name("u")), (OUTPUT_DIRECTION,)),
    )
    ends = (
        Register(INPUT_DIRECTION, 2 * nu, "parameter"),
        Register(OUTPUT_DIRECTION, 2 * nu, "report"),
    )
    return Program(program.name, (*program.registers, *ends), blocks, program.tables)


def _gram_diagonal(mechanism: Mechanism) -> list[float]:
    """Compute the diagonal of F^T F, q' = F(q) u; quaternions change at half the body's rate."""
    turning = {"free": [1.0] * 3 + [0.25] * 3, "ball": [0.25] * 3}
    return [k for body in mechanism.bodies for k in turning.get(body.joint.kind, [1.0])]
