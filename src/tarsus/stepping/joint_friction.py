"""Which joints dry friction holds: guesses that come down to Coulomb's law.

With the contacts acting as they did, the velocities at a step's end that obey Coulomb's law in all
joints are the least of a convex function, 1/2 (u - u_free)^T M (u - u_free) + sum f |u_j|. A step
solved with each joint braked one way, or held, gives the least of it as if these ways were right.
Where one turns, the next ways are those at the least of the function between the last such point
and this step's end; only where none turns, joints that would need more than f are let go, at last
one at a time. So the function falls from pass to pass, and no guess comes twice (the search of Lee
2007 for the signs of a sparse regression, which is the same problem).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce

import casadi as ca
from casadi import SX

from tarsus.stepping.joint_states import NOISE, JointState

NEVER = 2.0  # on the way from 0 to 1
SMALL, TINY = 1e-30, 1e-30  # J; N m s or N s
TOGETHER = 5  # passes in which all that ask for more are let go, later the one that asks for most


@dataclass(frozen=True, eq=False)
class Rubbed:
    """A joint with dry friction in a step that has been solved.

    modes (3,): those that it was solved in; impulse: of the friction, N m s or N s
    """

    state: JointState
    modes: SX
    impulse: SX

    @property
    def friction(self) -> SX:
        """The largest impulse, N m s or N s."""
        assert self.state.friction is not None
        return self.state.friction

    @property
    def excess(self) -> SX:
        """The impulse by the largest [1]; 0 where that is 0."""
        return ca.fabs(self.impulse) / ca.fmax(self.friction, TINY)

    def turns(self, u: SX) -> SX:
        """1 if it slid, and ends the other way at u (nu,)."""
        side, way, drag = ca.vertsplit(self.modes)
        slides = ca.logic_and(side == 0, drag == 0)
        return ca.logic_and(slides, way * self.state.rate(u) < 0)


def change(joints: list[Rubbed], u: SX) -> SX:
    """1 if a joint turns in a step that ends with u (nu,), or one that is held asks for more."""
    found = [joint.turns(u) for joint in joints]
    found += [ca.logic_and(joint.modes[1] == 0, joint.excess >= 1 + NOISE) for joint in joints]
    return reduce(ca.logic_or, found)


def next_ways(joints: list[Rubbed], M: SX, last: SX, u: SX, done: SX) -> tuple[list[SX], SX]:
    """The way in which friction shall brake each joint next, 0 where it shall hold; and where
    (nu,) the function is least between `last` (nu,) and the step's end u (nu,).

    Where nothing asks for a `change`, these are the ways of before, and u.
    M: mass matrix (nu, nu); done: passes before
    """
    # who turns, and where on the way, 0 to 1; what the function then rises by on the rest of it
    turns, where, rise = [], [], []
    for joint in joints:
        way, turn = joint.modes[1], joint.turns(u)
        before, after = joint.state.rate(last), joint.state.rate(u)
        part = ca.if_else(way * before > 0, before / ca.if_else(turn, before - after, 1), 0)
        turns.append(turn)
        where.append(ca.if_else(turn, part, NEVER))
        rise.append(ca.if_else(turn, 2 * joint.friction * ca.fabs(after - before), 0))
    # the first at which the function does not fall any more; it may be least before that
    fall = ca.fmax(ca.dot(u - last, ca.mtimes(M, u - last)), SMALL)
    stop = SX(NEVER)
    for at in where:
        risen = _before(where, rise, at, ca.le)
        stop = ca.fmin(stop, ca.if_else(risen >= (1 - at) * fall, at, NEVER))
    least = ca.fmin(1 - _before(where, rise, stop, ca.lt) / fall, stop)
    # those that turn before it turn, one that does there is held
    found = [
        ca.if_else(turn, ca.if_else(at < least, -way, ca.if_else(at == least, 0, way)), way)
        for way, turn, at in zip((joint.modes[1] for joint in joints), turns, where, strict=True)
    ]
    # where none turns, held ones that ask for more are let go
    excess = [joint.excess for joint in joints]
    much = ca.if_else(done < TOGETHER, 0, reduce(ca.fmax, excess))
    much = ca.if_else(reduce(ca.logic_or, turns), SX.inf(), ca.fmax(much, 1 + NOISE))
    for k, joint in enumerate(joints):
        let_go = ca.logic_and(joint.modes[1] == 0, excess[k] >= much)
        found[k] = ca.if_else(let_go, -ca.sign(joint.impulse), found[k])
    return found, last + least * (u - last)


def _before(where: list[SX], rise: list[SX], place: SX, compare: Callable[[SX, SX], SX]) -> SX:
    """What the function rises by, of those that turn before a place."""
    pairs = zip(where, rise, strict=True)
    return sum((ca.if_else(compare(at, place), own, 0) for at, own in pairs), SX(0))
