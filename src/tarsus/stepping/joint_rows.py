"""Joints that limits or dry friction may hold, one row each, and where their impulses act.

`joint_states` says what a row allows within a step, `joints` solves a step under all of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.dynamics import loop_constraints
from tarsus.dynamics.actuator_force import scatter
from tarsus.dynamics.kinematics import Kinematics
from tarsus.model.mechanism import Mechanism
from tarsus.program.ir.symbolic import entries
from tarsus.stepping.base import Scene, Stepper

Array = NDArray[np.float64]

QUARTER = 0.5 * np.pi  # rad


@dataclass(frozen=True)
class JointRow:
    """A hinge or slide that may be held, or an axis of another joint that dry friction holds: its
    number in q and in u, its range, rad or m, and dry friction, N m or N.

    loop: its number among the joints that close loops, which have no q and u; -1: in the tree
    rubs: whether it has dry friction, which may be a symbol
    """

    q: int
    u: int
    lower: float
    upper: float
    friction: float
    loop: int = -1
    rubs: bool = False

    @property
    def is_bounded(self) -> bool:
        """Whether it has an end."""
        return bool(np.isfinite([self.lower, self.upper]).any())

    @property
    def middle(self) -> float:
        """Half a turn to either side of it lies what is told apart of a loop joint's angle."""
        if np.isfinite([self.lower, self.upper]).all():
            return 0.5 * (self.lower + self.upper)
        return self.lower + QUARTER if np.isfinite(self.lower) else self.upper - QUARTER


def rows(scene: Scene) -> list[JointRow]:
    """The joints of a scene that have limits, if they are held, or dry friction; of ball and free
    joints one for each axis.
    """
    found, mechanism = [], scene.mechanism
    for body, q, u in zip(mechanism.bodies, mechanism.q_slices, mechanism.u_slices, strict=True):
        joint = body.joint
        bounded = scene.limits and joint.kind in ("hinge", "slide")
        lower, upper = (joint.lower, joint.upper) if bounded else (-np.inf, np.inf)
        rubs = joint.rubs and scene.stiction
        friction = joint.dry_friction if rubs else 0.0
        if np.isfinite([lower, upper]).any() or rubs:
            found += [
                JointRow(q.start, k, lower, upper, friction, rubs=rubs)
                for k in range(u.start, u.stop)
            ]
    return found + loop_rows(scene)


def loop_rows(scene: Scene) -> list[JointRow]:
    """Those that close loops and have limits, if these are held; whose range is a turn or more has
    none.
    """
    found = []
    for k, joint in enumerate(loop.joint for loop in scene.mechanism.loops if scene.limits):
        ends, turns = [joint.lower, joint.upper], joint.kind == "hinge"
        if joint.kind not in ("hinge", "slide") or not np.isfinite(ends).any():
            continue
        if not (turns and np.isfinite(ends).all() and joint.upper - joint.lower >= 4 * QUARTER):
            found.append(JointRow(-1, -1, joint.lower, joint.upper, 0.0, k))
    return found


def without_dry_friction(scene: Scene) -> Mechanism:
    """The mechanism whose tree's joints have none, where `step_with_joints` brakes them."""
    mechanism = scene.mechanism
    if not any(row.rubs for row in rows(scene)):
        return mechanism
    free = [replace(b, joint=replace(b.joint, dry_friction=0.0)) for b in mechanism.bodies]
    return replace(mechanism, bodies=tuple(free))


def rubbing_places(scene: Scene) -> list[int]:
    """Which of the rows have dry friction."""
    return [k for k, row in enumerate(rows(scene)) if row.rubs]


def acting_places(scene: Scene) -> tuple[list[int], list[int], list[int]]:
    """Where the impulses act that a step reports: of all rows' limits, entries of u, then numbers
    of joints that close loops; then entries of u of those with dry friction.
    """
    found = [row for row in rows(scene) if row.loop < 0]
    loops = [row.loop for row in loop_rows(scene)]
    return [row.u for row in found], loops, [row.u for row in found if row.rubs]


def impulse_count(scene: Scene) -> int:
    """How many impulses a step reports."""
    return sum(map(len, acting_places(scene)))


def in_velocities(scene: Scene, impulse: SX, kin: Kinematics) -> tuple[SX, SX]:
    """Impulses of limits (nu,) and of dry friction (nu,) from those that a step reports."""
    (limited, loops, rubbing), m = acting_places(scene), scene.mechanism
    cuts = np.cumsum([0, len(limited), len(loops), len(rubbing)]).tolist()
    limits, closing, friction = ca.vertsplit(impulse, cuts)
    found = scatter(m, limited, limits)
    if loops:
        ways = loop_constraints.rate_rows(kin)
        for k, own in zip(loops, entries(closing), strict=True):
            found += ca.vertcat(*ways[k]) * own
    return found, scatter(m, rubbing, friction)


def placed(scene: Scene, impulse: Array) -> tuple[Array, Array, Array]:
    """Recorded impulses (..., impulse_count) of limits and of dry friction in the tree, both
    (..., nu), and of the limits of loop joints (..., as many as `loop_rows`).
    """
    (limited, loops, rubbing), own = acting_places(scene), np.asarray(impulse)
    limits, friction = np.zeros((2, *own.shape[:-1], scene.mechanism.nu))
    limits[..., limited], behind = own[..., : len(limited)], len(limited) + len(loops)
    friction[..., rubbing] = own[..., behind:]
    return limits, friction, own[..., len(limited) : behind]


def reported(scene: Scene, stepper: Stepper) -> bool:
    """Whether this stepper reports impulses in joints; others take forces of a spring there."""
    return stepper.holds_constraints and bool(rows(scene))
