"""Guessed states of contacts that minimize an error norm, and how signs correct them.

A contact that pulls is released, and a released one that would sink presses again. Static friction
beyond mu_S f_N becomes kinetic in the same direction, Sugihara 2006, Eqns. (35)-(36). Kinetic
friction that would reverse the slip becomes static, because it cannot do more than stop it; so does
that of a contact which it would press into the ground by more than any normal impulse lifts it.
"""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
from casadi import SX

from tarsus.algebra.products import Matrix, dot, multiply
from tarsus.algebra.projections import TINY
from tarsus.program.ir.loops import Values
from tarsus.program.ir.symbolic import entries

MAX_REPEATS = 2  # releases of a contact, and changes to static friction, within a step
SIGN_TOLERANCE = 1e-9  # relative size below which a wrong sign is round-off
# relative to the velocity due to the largest impulse: speed at which a contact of a solution may
# sink, where the norm distributes the error of contacts that cannot all have their velocity
SINKING_TOLERANCE = 1e-3
DAMPING_TOLERANCE = 10.0  # velocity that damping leaves, as a multiple of damping f / G_NN


@dataclass(frozen=True)
class ErrorNormProblem:
    """Inputs of Eqns. (30)-(36), for n contacts together.

    Attributes
    ----------
    G
        Delassus matrix (3n, 3n), 1/kg.
    free
        Velocities (3n,) without impulses, m/s.
    c
        Part of them that is to vanish (3n,), m/s.
    closing_speed
        Speed at which a contact above the ground may approach it (n,), m/s.
    closed
        1 for a contact that may press, else 0 (n,).
    mu
        Friction coefficients of sticking contacts (n,): mu_S, or mu_K if that is larger.
    mu_K
        Friction coefficients of sliding contacts (n,).
    damping
        Parameter lambda of the paper, 1/kg^2.
    """

    G: Matrix
    free: list[SX]
    c: list[SX]
    closing_speed: list[SX]
    closed: list[SX]
    mu: list[SX]
    mu_K: list[SX]
    damping: SX

    @property
    def n(self) -> int:
        """Number of contacts."""
        return len(self.closed)

    def speed_tolerance(self, i: int, largest: SX) -> SX:
        """Compute the speed of contact i, m/s, below which its sign is not significant."""
        G_ii = self.G[3 * i][3 * i]
        return SIGN_TOLERANCE * largest * G_ii + DAMPING_TOLERANCE * self.damping / G_ii * largest


@dataclass(frozen=True)
class Guess:
    """Guessed state of each contact; the fields name registers of the loop.

    Attributes
    ----------
    pressing
        1 if it has a normal impulse.
    in_error
        1 if its normal velocity counts in the error.
    sticking
        1 if its friction is static.
    release_count
        Number of times it was released in this step.
    stick_count
        Number of times its friction was made static in this step.
    directions
        Unit vector (2,) of its slip, if it slides.
    """

    pressing: list[SX]
    in_error: list[SX]
    sticking: list[SX]
    release_count: list[SX]
    stick_count: list[SX]
    directions: list[SX]

    def to_registers(self) -> Values:
        """Return the guess as registers of a loop."""
        return {name: ca.vertcat(*of) for name, of in vars(self).items()}

    @staticmethod
    def from_registers(values: Values) -> Guess:
        """Restore the guess from the registers of a loop."""
        names = ("pressing", "in_error", "sticking", "release_count", "stick_count")
        directions = [
            values["directions"][2 * i : 2 * i + 2] for i in range(values["pressing"].numel())
        ]
        return Guess(directions=directions, **{name: entries(values[name]) for name in names})


@dataclass(frozen=True)
class GuessResult:
    """Result of one contact under a guess.

    Attributes
    ----------
    impulse
        Impulse (3,).
    residual
        Residual velocity (3,).
    gradient
        Derivative of half the error (33) with respect to its normal impulse.
    largest
        Largest normal impulse of all contacts.
    """

    impulse: SX
    residual: list[SX]
    gradient: SX
    largest: SX


def correct_contact(
    equations: ErrorNormProblem, guess: Guess, i: int, result: GuessResult
) -> tuple[SX, SX]:
    """Correct the state of contact i (in the order of `Guess`); also return 1 if it was wrong."""
    pressing, counted, sticking, direction = (
        guess.pressing[i],
        guess.in_error[i],
        guess.sticking[i],
        guess.directions[i],
    )
    G_ii, small = equations.G[3 * i][3 * i], SIGN_TOLERANCE * result.largest
    speed_tolerance = equations.speed_tolerance(i, result.largest)
    # pressing: a contact that pulls is released, one that would sink presses again
    normal, tangent = result.impulse[0], result.impulse[1:]
    pulls = ca.logic_and(pressing, normal < -small)
    towards = ca.if_else(
        counted, result.gradient < -small * G_ii * G_ii, result.residual[0] < -speed_tolerance
    )
    sinks = ca.logic_and(ca.logic_and(equations.closed[i], ca.logic_not(pressing)), towards)

    # sticking: beyond mu_S f_N a contact slips; one that would slide backwards sticks, and so does
    # one whose friction would press it into the ground
    length = ca.sqrt(ca.dot(tangent, tangent) + TINY)
    stays = ca.logic_and(pressing, ca.logic_not(pulls))
    slips = ca.logic_and(ca.logic_and(stays, sticking), length > equations.mu[i] * normal + small)
    velocity = ca.vertcat(*result.residual[1:])
    after = ca.dot(velocity, direction)
    turns = ca.logic_and(ca.logic_and(stays, ca.logic_not(sticking)), after < -speed_tolerance)
    jams = is_jammed(equations, guess, i, result, sinks)
    holds = ca.logic_and(ca.logic_or(turns, jams), guess.stick_count[i] < MAX_REPEATS)

    # the corrected state
    presses = ca.logic_or(ca.logic_or(stays, sinks), jams)
    stands = ca.logic_or(
        presses,
        ca.logic_and(
            counted, ca.logic_or(ca.logic_not(pulls), guess.release_count[i] >= MAX_REPEATS)
        ),
    )
    slides = ca.logic_and(
        ca.logic_and(sinks, guess.release_count[i] > 0), ca.logic_not(holds)
    )  # if it stuck, it would pull; without impulse it sinks
    sticks = ca.logic_or(holds, ca.logic_and(sticking, ca.logic_not(ca.logic_or(slips, slides))))
    change = ca.vertcat(
        presses, stands, sticks, guess.release_count[i] + pulls, guess.stick_count[i] + holds
    )
    wrong = ca.logic_or(ca.logic_or(pulls, sinks), ca.logic_or(slips, ca.logic_or(turns, jams)))
    direction = ca.if_else(slides, velocity / ca.sqrt(ca.dot(velocity, velocity) + TINY), direction)
    return ca.vertcat(change, ca.if_else(slips, -tangent / length, direction)), wrong


def is_jammed(
    equations: ErrorNormProblem, guess: Guess, i: int, result: GuessResult, sinks: SX
) -> SX:
    """Return 1 for a sliding contact without impulse that sinks and cannot press.

    It was released for good, or its kinetic friction would press it down by more than its normal
    impulse lifts it.
    """
    normal, *tangent = equations.G[3 * i][3 * i : 3 * i + 3]
    lifted = normal - equations.mu_K[i] * dot(tangent, entries(guess.directions[i]))
    idle = ca.logic_not(ca.logic_or(guess.pressing[i], guess.sticking[i]))
    falls = ca.logic_and(
        equations.closed[i], result.residual[0] < -equations.speed_tolerance(i, result.largest)
    )
    helpless = ca.logic_or(lifted <= 0, ca.logic_not(sinks))
    return ca.logic_and(ca.logic_and(idle, falls), ca.logic_and(helpless, equations.mu_K[i] > 0))


def sinks_through(equations: ErrorNormProblem, impulses: list[SX]) -> SX:
    """Return 1 if a closed contact with friction sinks into the ground under these impulses (3,).

    The error norm may be smaller for such a guess than for one in which other contacts lift off.
    """
    flat, largest = entries(ca.vertcat(*impulses)), largest_normal(impulses)
    change, sinks = multiply(equations.G, flat), SX(0)
    for i in range(equations.n):
        after = change[3 * i] + equations.free[3 * i] + equations.closing_speed[i]
        limit = (
            equations.speed_tolerance(i, largest)
            + SINKING_TOLERANCE * largest * equations.G[3 * i][3 * i]
        )
        has_friction = ca.logic_and(equations.closed[i], equations.mu[i] > 0)
        sinks = ca.logic_or(sinks, ca.logic_and(has_friction, after < -limit))
    return sinks


def largest_normal(impulses: list[SX]) -> SX:
    """Find the largest normal impulse, N s, at least 0."""
    largest = SX(0)
    for impulse in impulses:
        largest = ca.fmax(largest, impulse[0])
    return largest
