"""All contacts at once, by a cascade of stages: an active-set Newton method and its fallbacks.

A solution of the inclusions (12)-(13) of Gehring 2014 is that of a linear system once it is known
which contacts press and how fast each slides: (G + S) L = -c over the pressing contacts, with S =
s_i on both tangents of contact i, because xi_T = -s L_T. Sticking is s = 0. The remaining unknowns
are n scalars, s_i >= 0 with |L_T| <= mu L_N, and the set of pressing contacts.

The stages, in order; a world leaves the cascade at the first one that solves its problem:

1. `standing` (`_standing.py`): contacts that share few rigid bodies, solved as if all stick.
2. `edges`: Newton steps on the edges of the cones from the last step's impulses, through the shared
   bodies (`_shared_edges.py`) or, for a robot that lies on the ground, by the Delassus matrix
   (`_cone_edges.py`). Roots cannot determine a load that many contacts share, while such a load
   hardly changes from step to step.
3. `roots`: each iteration factors G + S (symmetric, positive definite). It then corrects every s_i
   by a Newton step on 1 / |L_T| with the contact's own block as derivative (as for a trust region),
   and the set by signs: a contact that pulls opens if it would separate by itself, else it slides;
   an open contact that would approach by itself presses. While feet stick, one factorization gives
   the exact solution.
4. `refinement`: where rigid bodies touch at several points, the roots do not converge. Steps on the
   edges continue from them; with more contacts than are solved at once, Gauss-Seidel sweeps do.
5. `interior points` (`_interior_point.py`), refined in the same way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import casadi as ca
from casadi import SX

from tarsus.algebra.blocks import flatten, lower_triangle, triples
from tarsus.algebra.ldl import ZERO_IMPULSE_DIAGONAL, factorize_dense
from tarsus.algebra.projections import TINY, radial_return
from tarsus.contact.solvers._cone_edges import BlockSteps, solve_on_edges
from tarsus.contact.solvers._exact_blocks import LocalBlock, prepare_blocks, tangent_safe_diagonal
from tarsus.contact.solvers._interior_point import refine_twice, sweep_or_interior
from tarsus.contact.solvers._shared_edges import BodySteps
from tarsus.contact.solvers._standing import inverse_diagonals, solve_sticking
from tarsus.contact.solvers.base import (
    MAX_DENSE,
    HardProblem,
    Outcome,
    Solver,
    exceeds_dense,
    project_into_cones,
    velocity_from_others,
    without_energy_gain,
)
from tarsus.program.ir.loops import Values
from tarsus.program.ir.symbolic import entries, is_float64

# least relative regularization of the diagonal, so that round-off does not decide how contacts
# share a load; less where joints locked by friction decide it
MIN_REGULARIZATION, MIN_REGULARIZATION_LOCKED = 1e-10, 1e-12


@dataclass(frozen=True)
class Newton(Solver):
    """Solve all contacts at once.

    Attributes
    ----------
    root_steps
        Number of steps on the roots before refinement. It is even, because alternating roots are
        too large after an even number of steps, so that impulses start well inside the cones.
    edge_steps
        Number of steps on the edges of the cones, in each stage with such steps.
    root_steps_many
        Number of steps on the roots before sweeps, if there are too many contacts to be solved at
        once.
    """

    root_steps: int = 4
    edge_steps: int = 20
    root_steps_many: int = 12

    def solve(self, hard: HardProblem, start: list[SX], roots: list[SX]) -> Outcome:
        inputs = StageInputs.of(self, hard, start, roots)
        return solve_cascade([stage for stage in CASCADE if stage.applies(inputs)], inputs, None)


@dataclass(frozen=True)
class StageInputs:
    """Inputs of every stage.

    Parameters
    ----------
    method : Newton
        Numbers of steps.
    hard : HardProblem
        Inclusions.
    start, roots : list of SX
        Impulse (3,) and sliding root of each contact to start from.
    pressing : list of SX
        1 for each contact that pressed in the last step or would approach without an impulse.
    sizes : list of SX or None
        `inverse_diagonals` of contacts that share few rigid bodies and are solved through these;
        None if they are solved by the Delassus matrix.
    """

    method: Newton
    hard: HardProblem
    start: list[SX]
    roots: list[SX]
    pressing: list[SX]
    sizes: list[SX] | None

    @staticmethod
    def of(method: Newton, hard: HardProblem, start: list[SX], roots: list[SX]) -> StageInputs:
        """Prepare the stages from the impulses and roots of the last step."""
        pressing = [
            ca.logic_and(active, ca.logic_or(last[0] > 0, c[0] < 0))
            for active, last, c in zip(hard.problem.active, start, hard.c, strict=True)
        ]
        restart = hard.problem.restart
        if restart is not None:
            pressing = [
                ca.logic_or(presses, ca.logic_and(active, restart))
                for presses, active in zip(pressing, hard.problem.active, strict=True)
            ]
            roots = [ca.if_else(restart, 0, root) for root in roots]
        inputs = StageInputs(method, hard, start, roots, pressing, None)
        shared = hard.problem.shared
        if shared is None or inputs.has_many_contacts:
            return inputs
        pressing = hard.builder.store_all("pressing", pressing)
        sizes = hard.builder.store_all("inverse_diagonals", inverse_diagonals(shared))
        return replace(inputs, pressing=pressing, sizes=sizes)

    @property
    def has_many_contacts(self) -> bool:
        """Whether there are more contacts than a standing robot usually has."""
        return len(self.start) > MAX_DENSE

    @property
    def is_lying(self) -> bool:
        """Whether the robot lies on the ground, with contacts few enough to solve at once."""
        return (
            self.hard.builder.is_tracing_cold
            and not exceeds_dense(self.hard)
            and self.sizes is None
        )

    @property
    def is_movable(self) -> bool:
        """Whether every shared body can move in all directions; else its inertia is singular."""
        shared = self.hard.problem.shared
        assert shared is not None
        return not any(row[k].is_zero() for k, row in enumerate(shared.mobility))


@dataclass(frozen=True)
class SolverStage:
    """Stage of the cascade.

    Parameters
    ----------
    name : str
        One of `STAGES`.
    applies : callable
        Whether the stage is part of the cascade for these inputs.
    solve : callable
        Continues from the outcome of the stage before, None for the first one.
    selects_worlds : bool
        Whether its own loops skip the worlds that the stage before solved, and it names its stages.
    often_fails : bool
        Whether many worlds go on to the next stage, which then is not cold code.
    """

    name: str
    applies: Callable[[StageInputs], bool]
    solve: Callable[[StageInputs, Outcome | None], Outcome]
    selects_worlds: bool = False
    often_fails: bool = False


def solve_cascade(
    stages: list[SolverStage], inputs: StageInputs, before: Outcome | None
) -> Outcome:
    """Run the stages until one solves the problem; return its outcome, or that of the last."""
    stage, *rest = stages
    outcome = stage.solve(inputs, before)
    if not stage.selects_worlds:
        outcome = outcome.with_stage(stage.name)
        if before is not None:
            outcome = replace(outcome, iterations=before.iterations + outcome.iterations)
    if not rest:
        return outcome
    if rest[0].selects_worlds:
        return solve_cascade(rest, inputs, outcome)

    def next_stages(values: Values) -> tuple[Values, SX]:
        return solve_cascade(rest, inputs, Outcome.from_registers(values)).to_registers(), SX(0)

    builder, unsolved = inputs.hard.builder, ca.logic_not(outcome.converged)
    values = outcome.to_registers()
    if inputs.is_lying:
        return Outcome.from_registers(builder.cold_loop(values, next_stages, 1, unsolved))
    return Outcome.from_registers(
        builder.loop(values, next_stages, 1, unsolved, cold=not stage.often_fails)
    )


def _solve_standing(inputs: StageInputs, _: Outcome | None) -> Outcome:
    shared = inputs.hard.problem.shared
    assert shared is not None and inputs.sizes is not None
    return solve_sticking(inputs.hard, shared, inputs.sizes, inputs.pressing)


def _solve_edges(inputs: StageInputs, before: Outcome | None) -> Outcome:
    hard, begin, restart = inputs.hard, inputs.start, inputs.hard.problem.restart
    if restart is not None:
        zeros = [SX.zeros(3)] * len(begin)
        restarted = zeros if before is None else before.impulses
        begin = [ca.if_else(restart, a, b) for a, b in zip(restarted, begin, strict=True)]
    begin, steps = project_into_cones(hard, begin), BlockSteps(hard)
    if inputs.sizes is not None:
        assert hard.problem.shared is not None
        steps = BodySteps.of(hard, hard.problem.shared, inputs.sizes)
    return trim_impulses(hard, solve_on_edges(hard, steps, begin, inputs.method.edge_steps))


def _solve_roots(inputs: StageInputs, _: Outcome | None) -> Outcome:
    hard, n, local = inputs.hard, len(inputs.start), prepare_blocks(inputs.hard)
    begin = {
        "impulse": SX.zeros(3 * n),
        "pressing": ca.vertcat(*inputs.pressing),
        "root": ca.vertcat(*inputs.roots),
        "sweeps": SX(0),
        "unsettled": SX(1),
    }
    steps = inputs.method.root_steps_many if inputs.has_many_contacts else inputs.method.root_steps
    last = hard.builder.loop(begin, lambda values: _correct_once(hard, local, values), steps)
    impulses, done = triples(last["impulse"]), ca.logic_not(last["unsettled"])
    outcome = Outcome(impulses, last["sweeps"], done, entries(last["root"]))
    if not exceeds_dense(hard):
        return outcome
    pairs = zip(project_into_cones(hard, impulses), impulses, strict=True)
    return replace(outcome, impulses=[ca.if_else(done, b, a) for a, b in pairs])


def _refine(inputs: StageInputs, before: Outcome | None) -> Outcome:
    """Continue from the stage before, then from interior points; shorten what stays unsolved."""
    hard = inputs.hard
    assert before is not None
    if exceeds_dense(hard):
        outcome = sweep_or_interior(hard, prepare_blocks(hard), before, inputs.method.maximum)
    else:
        steps = BlockSteps(hard)
        outcome = refine_twice(
            hard,
            before,
            lambda L, _: solve_on_edges(
                hard, steps, project_into_cones(hard, L), inputs.method.edge_steps
            ),
        )
    return without_energy_gain(hard, trim_impulses(hard, outcome))


CASCADE = (
    SolverStage(
        "standing", lambda inputs: inputs.sizes is not None, _solve_standing, often_fails=True
    ),
    SolverStage(
        "edges",
        lambda inputs: inputs.is_lying or (inputs.sizes is not None and inputs.is_movable),
        _solve_edges,
    ),
    SolverStage(
        "roots", lambda inputs: not (inputs.is_lying and inputs.has_many_contacts), _solve_roots
    ),
    SolverStage("refinement", lambda inputs: True, _refine, selects_worlds=True),
)
"""The cascade; its last stage ends with interior points where refinement does not converge."""


def _correct_once(hard: HardProblem, local: list[LocalBlock], values: Values) -> tuple[Values, SX]:
    """Solve with the current contacts and roots, and correct both."""
    n = len(hard.c)
    pressing, roots = entries(values["pressing"]), entries(values["root"])
    solved = triples(linear_solution(hard, pressing, roots))
    impulses = [ca.if_else(pressing[i], solved[i], 0) for i in range(n)]
    unsettled = SX(0)
    for i in range(n):
        b = velocity_from_others(hard, i, impulses)
        state = AssumedState(pressing[i], roots[i], impulses[i])
        pressing[i], roots[i], wrong = correct_state(hard, i, local[i], state, b)
        unsettled = ca.logic_or(unsettled, wrong)
    new = {
        "impulse": ca.vertcat(*impulses),
        "pressing": ca.vertcat(*pressing),
        "root": ca.vertcat(*roots),
        "sweeps": values["sweeps"] + 1,
        "unsettled": unsettled,
    }
    return new, unsettled


def trim_impulses(hard: HardProblem, outcome: Outcome) -> Outcome:
    """Shorten impulses that lie outside their cones within the tolerance."""
    contacts = zip(outcome.impulses, hard.mu, outcome.roots, strict=True)
    impulses = [radial_return(L, mu, root > 0) for L, mu, root in contacts]
    return replace(outcome, impulses=impulses)


def linear_solution(hard: HardProblem, pressing: list[SX], roots: list[SX]) -> SX:
    """Solve (G + S) L = -c by L D L^T, with zero impulses of contacts that do not press.

    A regularization of T_rel^1.5 on the diagonal lets redundant contacts share a load evenly.
    """
    n, G = len(hard.c), hard.problem.G
    regularization = ca.fmax(hard.p.T_rel * ca.sqrt(hard.p.T_rel), MIN_REGULARIZATION)
    if hard.problem.loads_determined:
        double = is_float64(hard.problem.dt)
        regularization = ca.if_else(double, MIN_REGULARIZATION_LOCKED, regularization)
    factor = 1 + regularization
    K = lower_triangle(G, n)
    for i in range(n):
        added = ca.if_else(pressing[i], 0, ZERO_IMPULSE_DIAGONAL)
        for k in range(3 * i, 3 * i + 3):
            diagonal = tangent_safe_diagonal(G[i, i])[k - 3 * i] * factor
            K[k][k] = diagonal + (added if k == 3 * i else added + roots[i])
    return ca.vertcat(*factorize_dense(K).solve([-c for c in flatten(hard.c)]))


@dataclass(frozen=True)
class AssumedState:
    """Assumed state of a contact.

    It has whether the contact presses (1 or 0), its sliding root and its impulse (3,).
    """

    pressing: SX
    root: SX
    impulse: SX


def correct_state(
    hard: HardProblem, i: int, local: LocalBlock, state: AssumedState, b: SX
) -> tuple[SX, SX, SX]:
    """Correct whether contact i presses, and its sliding root; also return 1 if either was wrong.

    b (3,) is its velocity due to all other contacts.
    """
    p, mu, impulse = hard.p, hard.mu[i], state.impulse
    pulls = ca.logic_and(state.pressing, impulse[0] < -p.T_abs)
    opens = ca.logic_and(pulls, b[0] >= 0)
    free = ca.logic_and(hard.problem.active[i], ca.logic_not(state.pressing))
    closes = ca.logic_and(free, local.a * b[0] < -p.T_abs)

    length = ca.sqrt(ca.dot(impulse[1:], impulse[1:]) + TINY)
    beyond, tolerance = length - mu * impulse[0], length * p.T_rel + p.T_abs
    off_edge = ca.logic_or(beyond > tolerance, ca.logic_and(state.root > 0, beyond < -tolerance))
    off = ca.logic_and(ca.logic_and(state.pressing, ca.logic_not(pulls)), off_edge)

    begin = ca.fmax(local.sliding_root(b, mu), 0)
    begin = ca.if_else(pulls, ca.fmax(2 * state.root, begin), begin)
    root = ca.if_else(off, local.improve_root(impulse, length, mu, state.root), state.root)
    root = ca.if_else(ca.logic_or(pulls, closes), begin, root)
    presses = ca.logic_or(ca.logic_and(state.pressing, ca.logic_not(opens)), closes)
    return presses, ca.if_else(presses, root, 0), ca.logic_or(ca.logic_or(pulls, closes), off)
