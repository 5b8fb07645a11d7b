"""Find which joints dry friction locks: guesses that converge to Coulomb's law.

With the contact impulses fixed, the velocities at the end of a step that obey Coulomb's law in all
joints minimize a convex function, 1/2 (u - u_free)^T M (u - u_free) + sum f |u_j|. A step solved
with each joint either locked or braked against one sign of its rate gives the minimum as if these
signs were right. Where the rate of a braked joint changes its sign, the next signs are those at the
minimum of the function between the last such point and the end of this step. Only where no rate
changes its sign, joints that would need more than f are released, at last one at a time. The
function therefore decreases from pass to pass, and no guess comes twice (the search of Lee 2007 for
the signs of a sparse regression, which is the same problem).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce

import casadi as ca
from casadi import SX

from tarsus.stepping.joint_states import RELATIVE_NOISE, JointState

NO_REVERSAL = 2.0  # position of a reversal that does not happen, beyond the range 0 to 1
MIN_ENERGY, MIN_IMPULSE = 1e-30, 1e-30  # J; N m s or N s, against division by zero
RELEASE_ALL_PASSES = 5  # passes that release every overloaded joint; later ones release the worst


@dataclass(frozen=True, eq=False)
class BrakedJoint:
    """Joint with dry friction in a step that has been solved.

    Attributes
    ----------
    state
        Rates and friction that the step allows.
    modes
        Modes (3,) in which the step was solved (`JointState`).
    impulse
        Impulse of the friction, N m s or N s.
    """

    state: JointState
    modes: SX
    impulse: SX

    @property
    def friction(self) -> SX:
        """Largest impulse of dry friction, N m s or N s."""
        assert self.state.friction is not None
        return self.state.friction

    @property
    def load(self) -> SX:
        """Impulse of dry friction relative to its largest value; 0 where that is 0."""
        return ca.fabs(self.impulse) / ca.fmax(self.friction, MIN_IMPULSE)

    def reverses(self, u: SX) -> SX:
        """Return 1 if the joint slid and its rate has the other sign at the velocities u (nu,)."""
        side, sign, damping = ca.vertsplit(self.modes)
        slides = ca.logic_and(side == 0, damping == 0)
        return ca.logic_and(slides, sign * self.state.rate(u) < 0)


def modes_change(joints: list[BrakedJoint], u: SX) -> SX:
    """Return 1 if a joint reverses in a step that ends with u (nu,), or is overloaded."""
    flags = [joint.reverses(u) for joint in joints]
    flags += [
        ca.logic_and(joint.modes[1] == 0, joint.load >= 1 + RELATIVE_NOISE) for joint in joints
    ]
    return reduce(ca.logic_or, flags)


def next_slide_signs(
    joints: list[BrakedJoint], indices: list[int], M: SX, last: SX, u: SX, done: SX
) -> tuple[list[SX], SX]:
    """Choose, for each joint, the sign of the rate that friction brakes next; 0 locks it.

    Also return the velocities (n,) between those of `last` and those of u, the end of the step, at
    which the function is least. Where no change is needed, these are the signs of before, and u.
    Robots that do not move each other are searched one by one.

    Parameters
    ----------
    joints : list of BrakedJoint
        Joints of a robot with dry friction.
    indices : list of int
        Indices of the robot's velocities, n of them.
    M : SX
        Mass matrix (nu, nu).
    last, u : SX
        Velocities (nu,) from which the last pass went on, and at the end of this one.
    done : SX
        Number of passes before this one.
    """
    # joints that reverse, their positions on the line from last (0) to u (1), and the rise of the
    # function beyond each
    reversals, positions, rises = [], [], []
    for joint in joints:
        sign, reverses = joint.modes[1], joint.reverses(u)
        before, after = joint.state.rate(last), joint.state.rate(u)
        position = ca.if_else(
            sign * before > 0, before / ca.if_else(reverses, before - after, 1), 0
        )
        reversals.append(reverses)
        positions.append(ca.if_else(reverses, position, NO_REVERSAL))
        rises.append(ca.if_else(reverses, 2 * joint.friction * ca.fabs(after - before), 0))
    # the first reversal from which the function no longer falls; its minimum may lie before that
    change = (u - last)[indices]
    fall = ca.fmax(ca.dot(change, ca.mtimes(M[indices, indices], change)), MIN_ENERGY)
    stop = SX(NO_REVERSAL)
    for position in positions:
        risen = _rise_before(positions, rises, position, ca.le)
        stop = ca.fmin(stop, ca.if_else(risen >= (1 - position) * fall, position, NO_REVERSAL))
    least = ca.fmin(1 - _rise_before(positions, rises, stop, ca.lt) / fall, stop)
    # joints that reverse before the minimum change their sign; one that does so there is locked
    old_signs = (joint.modes[1] for joint in joints)
    signs = [
        ca.if_else(
            reverses,
            ca.if_else(position < least, -sign, ca.if_else(position == least, 0, sign)),
            sign,
        )
        for sign, reverses, position in zip(old_signs, reversals, positions, strict=True)
    ]
    # where none reverses, overloaded locked joints are released
    loads = [joint.load for joint in joints]
    limit = ca.if_else(done < RELEASE_ALL_PASSES, 0, reduce(ca.fmax, loads))
    limit = ca.if_else(reduce(ca.logic_or, reversals), SX.inf(), ca.fmax(limit, 1 + RELATIVE_NOISE))
    for k, joint in enumerate(joints):
        released = ca.logic_and(joint.modes[1] == 0, loads[k] >= limit)
        signs[k] = ca.if_else(released, -ca.sign(joint.impulse), signs[k])
    return signs, last[indices] + least * change


def _rise_before(
    positions: list[SX], rises: list[SX], limit: SX, compare: Callable[[SX, SX], SX]
) -> SX:
    """Compute how much the function rises due to the joints that reverse before a position."""
    pairs = zip(positions, rises, strict=True)
    return sum((ca.if_else(compare(position, limit), rise, 0) for position, rise in pairs), SX(0))
