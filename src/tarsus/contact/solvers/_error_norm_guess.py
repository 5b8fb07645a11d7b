"""What is guessed of contacts that minimize an error norm, and what its signs show to be wrong.

A contact that pulls is let go, one that is let go and would sink is taken back; static friction
beyond mu_S f_N becomes kinetic in the same direction, Sugihara 2006, Eqns. (35)-(36); kinetic
friction that would turn the slip about is static, for it cannot do more than stop it; so is that of
a contact which it would press into the ground by more than any normal impulse lifts it.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
from casadi import SX

from tarsus.algebra.products import Matrix, dot, times
from tarsus.algebra.projections import TINY
from tarsus.program.ir.loops import Values
from tarsus.program.ir.symbolic import entries

AGAIN = 2  # how often within a step a contact may be let go, or its kinetic friction become static
ROUND_OFF = 1e-9  # relative size below which a wrong sign is none
# of the velocity that the largest impulse makes: how fast a contact of a solution may sink, where
# the norm shares the error of contacts that cannot all have their velocity
SUNK = 1e-3
NEAR = 10.0  # velocities that damping leaves, as a multiple of damping f / G_NN


@dataclass(frozen=True)
class ErrorNormProblem:
    """The inputs of Eqns. (30)-(36), n contacts together."""

    G: Matrix
    """Delassus matrix (3n, 3n), 1/kg."""
    free: list[SX]
    """Velocities (3n,) without impulses, m/s."""
    c: list[SX]
    """The part of them that is to vanish (3n,), m/s."""
    room: list[SX]
    """How fast a contact above the ground may approach it (n,), m/s."""
    closed: list[SX]
    """1 for a contact that may press, else 0 (n,)."""
    mu: list[SX]
    """Friction coefficients of sticking (n,), [1]: mu_S, or mu_K if that is larger."""
    mu_K: list[SX]
    """Friction coefficients of sliding (n,), [1]."""
    damping: SX
    """The paper's lambda, 1/kg^2."""

    @property
    def n(self) -> int:
        """Number of contacts."""
        return len(self.closed)

    def slow(self, i: int, largest: SX) -> SX:
        """Velocity of contact i, m/s, below which its sign says nothing: round-off or damping."""
        G_ii = self.G[3 * i][3 * i]
        return ROUND_OFF * largest * G_ii + NEAR * self.damping / G_ii * largest


@dataclass(frozen=True)
class Guess:
    """The guessed state of each contact: 1 or 0, a count, or a direction."""

    pressing: list[SX]
    """It has a normal impulse."""
    counted: list[SX]
    """Its normal velocity counts in the error."""
    sticking: list[SX]
    """Its friction is static."""
    lost: list[SX]
    """How often it was let go in this step."""
    held: list[SX]
    """How often its friction was made static in this step."""
    ways: list[SX]
    """Unit vector (2,) of its slip, if it slides."""

    def values(self) -> Values:
        """As registers of a loop."""
        return {name: ca.vertcat(*of) for name, of in vars(self).items()}

    @staticmethod
    def of(values: Values) -> Guess:
        """From the registers of a loop."""
        names = ("pressing", "counted", "sticking", "lost", "held")
        ways = [values["ways"][2 * i : 2 * i + 2] for i in range(values["pressing"].numel())]
        return Guess(ways=ways, **{name: entries(values[name]) for name in names})


@dataclass(frozen=True)
class Tried:
    """Of one contact under a guess: impulse (3,), residual velocity (3,), derivative of half the
    error of (33) by its normal impulse, and the largest normal impulse of all contacts.
    """

    impulse: SX
    residual: list[SX]
    gradient: SX
    largest: SX


def changed(known: ErrorNormProblem, guess: Guess, i: int, tried: Tried) -> tuple[SX, SX]:
    """What to believe of contact i instead (ordered as `Guess`), and 1 if the guess was wrong."""
    pressing, counted, sticking, way = (
        guess.pressing[i],
        guess.counted[i],
        guess.sticking[i],
        guess.ways[i],
    )
    G_ii, small = known.G[3 * i][3 * i], ROUND_OFF * tried.largest
    slow = known.slow(i, tried.largest)
    # who presses: one that pulls is let go, one that would sink is taken back
    normal, tangent = tried.impulse[0], tried.impulse[1:]
    pulls = ca.logic_and(pressing, normal < -small)
    towards = ca.if_else(counted, tried.gradient < -small * G_ii * G_ii, tried.residual[0] < -slow)
    sinks = ca.logic_and(ca.logic_and(known.closed[i], ca.logic_not(pressing)), towards)

    # who sticks: beyond mu_S f_N it slips; one that would slide backwards sticks, and one whose
    # friction would press it into the ground
    length = ca.sqrt(ca.dot(tangent, tangent) + TINY)
    stays = ca.logic_and(pressing, ca.logic_not(pulls))
    slips = ca.logic_and(ca.logic_and(stays, sticking), length > known.mu[i] * normal + small)
    velocity = ca.vertcat(*tried.residual[1:])
    after = ca.dot(velocity, way)
    turns = ca.logic_and(ca.logic_and(stays, ca.logic_not(sticking)), after < -slow)
    jams = jammed(known, guess, i, tried, sinks)
    holds = ca.logic_and(ca.logic_or(turns, jams), guess.held[i] < AGAIN)

    # what to believe instead
    presses = ca.logic_or(ca.logic_or(stays, sinks), jams)
    stands = ca.logic_or(
        presses, ca.logic_and(counted, ca.logic_or(ca.logic_not(pulls), guess.lost[i] >= AGAIN))
    )
    slides = ca.logic_and(
        ca.logic_and(sinks, guess.lost[i] > 0), ca.logic_not(holds)
    )  # sticking it would be pulled, left alone it sinks
    sticks = ca.logic_or(holds, ca.logic_and(sticking, ca.logic_not(ca.logic_or(slips, slides))))
    change = ca.vertcat(presses, stands, sticks, guess.lost[i] + pulls, guess.held[i] + holds)
    wrong = ca.logic_or(ca.logic_or(pulls, sinks), ca.logic_or(slips, ca.logic_or(turns, jams)))
    way = ca.if_else(slides, velocity / ca.sqrt(ca.dot(velocity, velocity) + TINY), way)
    return ca.vertcat(change, ca.if_else(slips, -tangent / length, way)), wrong


def jammed(known: ErrorNormProblem, guess: Guess, i: int, tried: Tried, sinks: SX) -> SX:
    """1 for a sliding contact that comes into the ground, let go for good, or as its kinetic
    friction presses it down by more than its normal impulse lifts it.
    """
    normal, *tangent = known.G[3 * i][3 * i : 3 * i + 3]
    lifted = normal - known.mu_K[i] * dot(tangent, entries(guess.ways[i]))
    idle = ca.logic_not(ca.logic_or(guess.pressing[i], guess.sticking[i]))
    falls = ca.logic_and(known.closed[i], tried.residual[0] < -known.slow(i, tried.largest))
    helpless = ca.logic_or(lifted <= 0, ca.logic_not(sinks))
    return ca.logic_and(ca.logic_and(idle, falls), ca.logic_and(helpless, known.mu_K[i] > 0))


def passed_through(known: ErrorNormProblem, impulses: list[SX]) -> SX:
    """1 if under these impulses (3,) a closed contact with friction goes into the ground: the error
    norm may let it rather than throw up others.
    """
    flat, largest = entries(ca.vertcat(*impulses)), largest_normal(impulses)
    change, found = times(known.G, flat), SX(0)
    for i in range(known.n):
        after = change[3 * i] + known.free[3 * i] + known.room[i]
        least = known.slow(i, largest) + SUNK * largest * known.G[3 * i][3 * i]
        rubs = ca.logic_and(known.closed[i], known.mu[i] > 0)
        found = ca.logic_or(found, ca.logic_and(rubs, after < -least))
    return found


def largest_normal(impulses: list[SX]) -> SX:
    """Of impulses (3,), N s, at least 0."""
    largest = SX(0)
    for impulse in impulses:
        largest = ca.fmax(largest, impulse[0])
    return largest
