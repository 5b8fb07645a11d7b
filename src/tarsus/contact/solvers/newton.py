"""All contacts at once, by a cascade of stages: an active-set Newton method and what follows it.

A solution of the inclusions (12)-(13) of Gehring 2014 is a linear system once it is known who
presses and who slides how fast: (G + S) L = -c over the pressing contacts, with S = s_i on both
tangents of contact i, because xi_T = -s L_T. Sticking is s = 0. What remains are n scalars, s_i >=
0 with |L_T| <= mu L_N, and the set of pressing contacts.

The stages, in order; a world leaves the cascade at the first one that solves its problem:

1. `standing` (`_standing.py`): contacts that share few rigid bodies, as if all stick.
2. `edges`: Newton steps on the edges of the cones from the last step's impulses, through the shared
   bodies (`_shared_edges.py`) or, of robots that lie, by the Delassus matrix (`_cone_edges.py`):
   no roots settle a load that many contacts share, and from step to step it hardly changes.
3. `roots`: each iteration factors G + S (symmetric, positive definite), then corrects every s_i by
   a Newton step on 1 / |L_T| with the contact's own block as derivative (as for a trust region),
   and the set by signs: a contact that pulls opens if it would fly off by itself, else it slides;
   one that closes by itself presses. While feet stick, one factorization gives the exact answer.
4. `refinement`: where rigid bodies touch with several points the roots chase one another. Steps on
   the edges go on from them; with more contacts than are solved at once, Gauss-Seidel sweeps.
5. `interior points` (`_interior_point.py`), refined in the same way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import casadi as ca
from casadi import SX

from tarsus.algebra.blocks import flat, lower_triangle, triples
from tarsus.algebra.ldl import HELD_AT_ZERO, factorize_dense
from tarsus.algebra.projections import TINY, radial_return
from tarsus.contact.solvers._cone_edges import ByBlocks, on_edges
from tarsus.contact.solvers._exact_blocks import Local, mobile, prepared
from tarsus.contact.solvers._interior_point import in_two_rounds, settled
from tarsus.contact.solvers._shared_edges import ByBodies
from tarsus.contact.solvers._standing import own_sizes, standing
from tarsus.contact.solvers.base import (
    DENSE,
    HardProblem,
    Outcome,
    Solver,
    into_cones,
    one_by_one,
    velocity_from_others,
    without_gain,
)
from tarsus.program.ir.loops import Values
from tarsus.program.ir.symbolic import entries, is_float64

# the least relative trace on the diagonal: round-off must not decide who carries the load
SPREAD = 1e-10
SLIGHT = 1e-12  # that where friction that holds joints decides it


@dataclass(frozen=True)
class Newton(Solver):
    """All contacts at once."""

    patience: int = 4
    """Steps on the roots before refinement; an even number, as roots that go to and fro are too
    large after it: loads start well inside the cones."""
    edges: int = 20
    """Steps on the cones' edges, in each stage that takes them."""
    many: int = 12
    """Steps on the roots of more contacts than are solved at once, before sweeps."""

    def solve(self, hard: HardProblem, start: list[SX], roots: list[SX]) -> Outcome:
        inputs = StageInputs.of(self, hard, start, roots)
        return cascaded([stage for stage in CASCADE if stage.applies(inputs)], inputs, None)


@dataclass(frozen=True)
class StageInputs:
    """What every stage is given.

    Parameters
    ----------
    method : Newton
        Numbers of steps.
    hard : HardProblem
        The inclusions.
    start, roots : list of SX
        Impulses (3,) and sliding root of each contact to begin from.
    pressing : list of SX
        1 for each contact that pressed in the last step or would sink without an impulse.
    sizes : list of SX or None
        `own_sizes` of contacts that share few rigid bodies, which are solved through these; None:
        they are solved by the Delassus matrix.
    """

    method: Newton
    hard: HardProblem
    start: list[SX]
    roots: list[SX]
    pressing: list[SX]
    sizes: list[SX] | None

    @staticmethod
    def of(method: Newton, hard: HardProblem, start: list[SX], roots: list[SX]) -> StageInputs:
        """Prepare the stages from the last step's impulses and roots."""
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
        if shared is None or inputs.crowded:
            return inputs
        pressing = hard.builder.store_all("pressing", pressing)
        sizes = hard.builder.store_all("own", own_sizes(shared))
        return replace(inputs, pressing=pressing, sizes=sizes)

    @property
    def crowded(self) -> bool:
        """Whether there are more contacts than a standing robot usually has."""
        return len(self.start) > DENSE

    @property
    def lies(self) -> bool:
        """Whether the contacts are those of a robot that lies, few enough to solve at once."""
        return (
            self.hard.builder.is_tracing_cold and not one_by_one(self.hard) and self.sizes is None
        )

    @property
    def movable(self) -> bool:
        """Whether every shared body can move in all directions: else it has no inertia there."""
        shared = self.hard.problem.shared
        assert shared is not None
        return not any(row[k].is_zero() for k, row in enumerate(shared.mobility))


@dataclass(frozen=True)
class SolverStage:
    """A stage of the cascade.

    Parameters
    ----------
    name : str
        One of `STAGES`.
    applies : callable
        Whether the stage is part of the cascade for these inputs.
    solve : callable
        Goes on from the outcome of the stage before, None for the first one.
    selects : bool
        Whether its own loops skip the worlds that the stage before solved, and it names its stages.
    often_fails : bool
        Whether many worlds go on to the next stage, which then is not cold code.
    """

    name: str
    applies: Callable[[StageInputs], bool]
    solve: Callable[[StageInputs, Outcome | None], Outcome]
    selects: bool = False
    often_fails: bool = False


def cascaded(stages: list[SolverStage], inputs: StageInputs, before: Outcome | None) -> Outcome:
    """Return the outcome of the first stage that solves the problem, else that of the last."""
    stage, *rest = stages
    outcome = stage.solve(inputs, before)
    if not stage.selects:
        outcome = outcome.at_stage(stage.name)
        if before is not None:
            outcome = replace(outcome, iterations=before.iterations + outcome.iterations)
    if not rest:
        return outcome
    if rest[0].selects:
        return cascaded(rest, inputs, outcome)

    def next_stages(values: Values) -> tuple[Values, SX]:
        return cascaded(rest, inputs, Outcome.of(values)).reached(), SX(0)

    builder, unsolved = inputs.hard.builder, ca.logic_not(outcome.converged)
    reached = outcome.reached()
    if inputs.lies:
        return Outcome.of(builder.cold_loop(reached, next_stages, 1, unsolved))
    return Outcome.of(builder.loop(reached, next_stages, 1, unsolved, cold=not stage.often_fails))


def _standing(inputs: StageInputs, _: Outcome | None) -> Outcome:
    shared = inputs.hard.problem.shared
    assert shared is not None and inputs.sizes is not None
    return standing(inputs.hard, shared, inputs.sizes, inputs.pressing)


def _on_edges(inputs: StageInputs, before: Outcome | None) -> Outcome:
    hard, begin, restart = inputs.hard, inputs.start, inputs.hard.problem.restart
    if restart is not None:
        stood = [SX.zeros(3)] * len(begin) if before is None else before.impulses
        begin = [ca.if_else(restart, a, b) for a, b in zip(stood, begin, strict=True)]
    begin, steps = into_cones(hard, begin), ByBlocks(hard)
    if inputs.sizes is not None:
        assert hard.problem.shared is not None
        steps = ByBodies.of(hard, hard.problem.shared, inputs.sizes)
    return trimmed(hard, on_edges(hard, steps, begin, inputs.method.edges))


def _on_roots(inputs: StageInputs, _: Outcome | None) -> Outcome:
    hard, n, local = inputs.hard, len(inputs.start), prepared(inputs.hard)
    begin = {
        "impulse": SX.zeros(3 * n),
        "pressing": ca.vertcat(*inputs.pressing),
        "root": ca.vertcat(*inputs.roots),
        "sweeps": SX(0),
        "unsettled": SX(1),
    }
    steps = inputs.method.many if inputs.crowded else inputs.method.patience
    last = hard.builder.loop(begin, lambda values: _corrected_once(hard, local, values), steps)
    moved, done = triples(last["impulse"]), ca.logic_not(last["unsettled"])
    near = Outcome(moved, last["sweeps"], done, entries(last["root"]))
    if not one_by_one(hard):
        return near
    pairs = zip(into_cones(hard, moved), moved, strict=True)
    return replace(near, impulses=[ca.if_else(done, b, a) for a, b in pairs])


def _refined(inputs: StageInputs, before: Outcome | None) -> Outcome:
    """Go on from the stage before, then from interior points; shorten what stays unsolved."""
    hard = inputs.hard
    assert before is not None
    if one_by_one(hard):
        found = settled(hard, prepared(hard), before, inputs.method.maximum)
    else:
        steps = ByBlocks(hard)
        found = in_two_rounds(
            hard,
            before,
            lambda L, _: on_edges(hard, steps, into_cones(hard, L), inputs.method.edges),
        )
    return without_gain(hard, trimmed(hard, found))


CASCADE = (
    SolverStage("standing", lambda inputs: inputs.sizes is not None, _standing, often_fails=True),
    SolverStage(
        "edges",
        lambda inputs: inputs.lies or (inputs.sizes is not None and inputs.movable),
        _on_edges,
    ),
    SolverStage("roots", lambda inputs: not (inputs.lies and inputs.crowded), _on_roots),
    SolverStage("refinement", lambda inputs: True, _refined, selects=True),
)
"""The cascade: its last stage ends with interior points where refinement does not settle."""


def _corrected_once(hard: HardProblem, local: list[Local], values: Values) -> tuple[Values, SX]:
    """Solve with the present contacts and roots, and correct both."""
    n = len(hard.c)
    pressing, roots = entries(values["pressing"]), entries(values["root"])
    solved = triples(linear_solution(hard, pressing, roots))
    impulses = [ca.if_else(pressing[i], solved[i], 0) for i in range(n)]
    unsettled = SX(0)
    for i in range(n):
        b = velocity_from_others(hard, i, impulses)
        state = State(pressing[i], roots[i], impulses[i])
        pressing[i], roots[i], wrong = corrected(hard, i, local[i], state, b)
        unsettled = ca.logic_or(unsettled, wrong)
    new = {
        "impulse": ca.vertcat(*impulses),
        "pressing": ca.vertcat(*pressing),
        "root": ca.vertcat(*roots),
        "sweeps": values["sweeps"] + 1,
        "unsettled": unsettled,
    }
    return new, unsettled


def trimmed(hard: HardProblem, found: Outcome) -> Outcome:
    """Without what the tolerance left outside the cones."""
    each = zip(found.impulses, hard.mu, found.roots, strict=True)
    return replace(found, impulses=[radial_return(L, mu, root > 0) for L, mu, root in each])


def linear_solution(hard: HardProblem, pressing: list[SX], roots: list[SX]) -> SX:
    """L = -(G + S)^-1 c by L D L^T, contacts that do not press held at zero.

    A trace of T_rel^1.5 on the diagonal shares the load of redundant contacts evenly.
    """
    n, G = len(hard.c), hard.problem.G
    trace = ca.fmax(hard.p.T_rel * ca.sqrt(hard.p.T_rel), SPREAD)
    if hard.problem.loads_determined:
        trace = ca.if_else(is_float64(hard.problem.dt), SLIGHT, trace)
    spread = 1 + trace
    K = lower_triangle(G, n)
    for i in range(n):
        far = ca.if_else(pressing[i], 0, HELD_AT_ZERO)
        for at in range(3 * i, 3 * i + 3):
            own = mobile(G[i, i])[at - 3 * i] * spread
            K[at][at] = own + (far if at == 3 * i else far + roots[i])
    return ca.vertcat(*factorize_dense(K).solve([-c for c in flat(hard.c)]))


@dataclass(frozen=True)
class State:
    """What is believed of a contact: presses (1) or not (0), sliding root, and its impulse (3,)."""

    pressing: SX
    root: SX
    impulse: SX


def corrected(hard: HardProblem, i: int, local: Local, state: State, b: SX) -> tuple[SX, SX, SX]:
    """Whether contact i presses, its sliding root, and 1 if either was wrong; b: its velocity from
    all others.
    """
    p, mu, impulse = hard.p, hard.mu[i], state.impulse
    pulls = ca.logic_and(state.pressing, impulse[0] < -p.T_abs)
    opens = ca.logic_and(pulls, b[0] >= 0)
    free = ca.logic_and(hard.problem.active[i], ca.logic_not(state.pressing))
    closes = ca.logic_and(free, local.a * b[0] < -p.T_abs)

    length = ca.sqrt(ca.dot(impulse[1:], impulse[1:]) + TINY)
    beyond, allowed = length - mu * impulse[0], length * p.T_rel + p.T_abs
    astray = ca.logic_or(beyond > allowed, ca.logic_and(state.root > 0, beyond < -allowed))
    off = ca.logic_and(ca.logic_and(state.pressing, ca.logic_not(pulls)), astray)

    begin = ca.fmax(local.sliding_root(b, mu), 0)
    begin = ca.if_else(pulls, ca.fmax(2 * state.root, begin), begin)
    root = ca.if_else(off, local.improved_root(impulse, length, mu, state.root), state.root)
    root = ca.if_else(ca.logic_or(pulls, closes), begin, root)
    presses = ca.logic_or(ca.logic_and(state.pressing, ca.logic_not(opens)), closes)
    return presses, ca.if_else(presses, root, 0), ca.logic_or(ca.logic_or(pulls, closes), off)
