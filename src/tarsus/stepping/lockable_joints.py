"""Joints and tendons that limits or dry friction may lock, and where their impulses act.

`joint_states` gives the rates that a step allows them, `joints` solves a step under all of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import casadi as ca
import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus.dynamics import dependent_coordinates, tree
from tarsus.dynamics.free_motion import dissipation
from tarsus.dynamics.kinematics import Kinematics
from tarsus.dynamics.transmission import scatter
from tarsus.model.mechanism import WORLD, Mechanism
from tarsus.program.ir.symbolic import entries
from tarsus.stepping.base import Scene, Stepper

Array = NDArray[np.float64]

QUARTER_TURN = 0.5 * np.pi  # rad


@dataclass(frozen=True)
class LockableJoint:
    """Hinge, slide or tendon with limits, or an axis of any joint with dry friction.

    Attributes
    ----------
    q, u
        Index in q and in u; -1 for a dependent coordinate.
    lower, upper
        Range, rad or m.
    friction
        Dry friction, N m or N.
    dependent
        Number among the dependent coordinates (`dynamics.dependent_coordinates`), which are not
        entries of q; -1 for a joint of the tree.
    has_friction
        Whether the joint has dry friction, whose value may be a symbol.
    """

    q: int
    u: int
    lower: float
    upper: float
    friction: float
    dependent: int = -1
    has_friction: bool = False

    @property
    def is_bounded(self) -> bool:
        """Whether the joint has at least one finite limit."""
        return bool(np.isfinite([self.lower, self.upper]).any())

    @property
    def branch_center(self) -> float:
        """Center of the turn in which the angle of a loop joint is measured, rad."""
        if np.isfinite([self.lower, self.upper]).all():
            return 0.5 * (self.lower + self.upper)
        return self.lower + QUARTER_TURN if np.isfinite(self.lower) else self.upper - QUARTER_TURN


def find_lockable_joints(scene: Scene) -> list[LockableJoint]:
    """List the joints of a scene that have limits or dry friction, if these are simulated.

    Ball and free joints with dry friction appear once per axis.
    """
    joints, mechanism = [], scene.mechanism
    for body, q, u in zip(mechanism.bodies, mechanism.q_slices, mechanism.u_slices, strict=True):
        joint = body.joint
        bounded = scene.limits and joint.kind in ("hinge", "slide")
        lower, upper = (joint.lower, joint.upper) if bounded else (-np.inf, np.inf)
        has_friction = joint.has_dry_friction and scene.stiction
        friction = joint.dry_friction if has_friction else 0.0
        if np.isfinite([lower, upper]).any() or has_friction:
            joints += [
                LockableJoint(q.start, k, lower, upper, friction, has_friction=has_friction)
                for k in range(u.start, u.stop)
            ]
    return joints + lockable_dependents(scene)


def lockable_dependents(scene: Scene) -> list[LockableJoint]:
    """List the loop joints, tendons and ball joints that have limits, if limits are simulated.

    A hinge whose range is a full turn or more has none.
    """
    joints, loops = [], [loop.joint for loop in scene.mechanism.loops]
    ranges = dependent_coordinates.limits(scene.mechanism) if scene.limits else []
    for k, (lower, upper) in enumerate(ranges):
        kind = loops[k].kind if k < len(loops) else "slide"
        full_turn = upper - lower >= 4 * QUARTER_TURN
        turns = kind == "hinge" and np.isfinite([lower, upper]).all() and full_turn
        if kind in ("hinge", "slide") and np.isfinite([lower, upper]).any() and not turns:
            joints.append(LockableJoint(-1, -1, lower, upper, 0.0, k))
    return joints


def without_dry_friction(scene: Scene) -> Mechanism:
    """Remove dry friction from the mechanism's tree where `step_with_joints` models it."""
    mechanism = scene.mechanism
    if not any(joint.has_friction for joint in find_lockable_joints(scene)):
        return mechanism
    free = [replace(b, joint=replace(b.joint, dry_friction=0.0)) for b in mechanism.bodies]
    return replace(mechanism, bodies=tuple(free))


def dry_friction_damping(scene: Scene, u: SX) -> SX | None:
    """Compute the damping (nu,) of the dry friction that `without_dry_friction` removes.

    None if it removes none. u (nu,) is the velocity.
    """
    free = without_dry_friction(scene)
    if free is scene.mechanism:
        return None
    return dissipation(scene.mechanism, u) - dissipation(free, u)


def friction_indices(scene: Scene) -> list[int]:
    """Find the indices of the lockable joints that have dry friction."""
    return [k for k, joint in enumerate(find_lockable_joints(scene)) if joint.has_friction]


def friction_groups(scene: Scene) -> list[tuple[list[int], list[int]]]:
    """Group the tree joints with dry friction by robot.

    Trees that loops, mimic joints or tendons connect are one robot. For every group these are the
    numbers of its joints among those with dry friction, and the indices of its robot's velocities;
    all velocities if there is one group.
    """
    mechanism = scene.mechanism
    roots = [tree.support_path(mechanism, i)[-1] for i in range(len(mechanism.bodies))]
    links = [{loop.parent, loop.child} - {WORLD} for loop in mechanism.loops]
    names = [(coupling.joint, *coupling.leader_names) for coupling in mechanism.couplings]
    names += [tuple(joint for joint, _ in tendon.terms) for tendon in mechanism.tendons]
    links += [{mechanism.joint_index(name) for name in connected} for connected in names]
    segments = [segment for tendon in mechanism.tendons for segment in tendon.segments]
    links += [{segment.start[0], segment.end[0]} - {WORLD} for segment in segments]
    for ends in links:
        joined = {roots[i] for i in ends}
        roots = [min(joined) if root in joined else root for root in roots]
    owners = [
        root
        for root, u in zip(roots, mechanism.u_slices, strict=True)
        for _ in range(*u.indices(mechanism.nu))
    ]
    columns = [joint.u for joint in find_lockable_joints(scene) if joint.has_friction]
    groups = sorted({owners[column] for column in columns})
    if len(groups) == 1:
        return [(list(range(len(columns))), list(range(mechanism.nu)))]
    return [
        (
            [k for k, column in enumerate(columns) if owners[column] == group],
            [k for k, owner in enumerate(owners) if owner == group],
        )
        for group in groups
    ]


def impulse_locations(scene: Scene) -> tuple[list[int], list[int], list[int]]:
    """Find the locations in which the reported impulses act.

    These are the indices in u of the limits of tree joints, the numbers of the dependent
    coordinates with limits, and the indices in u of tree joints with dry friction.
    """
    tree = [joint for joint in find_lockable_joints(scene) if joint.dependent < 0]
    dependents = [joint.dependent for joint in lockable_dependents(scene)]
    with_friction = [joint.u for joint in tree if joint.has_friction]
    return [joint.u for joint in tree], dependents, with_friction


def impulse_count(scene: Scene) -> int:
    """Count the impulses that a step reports."""
    return sum(map(len, impulse_locations(scene)))


def generalized_impulses(scene: Scene, impulse: SX, kin: Kinematics) -> tuple[SX, SX]:
    """Convert reported impulses to those of limits (nu,) and of dry friction (nu,)."""
    (limited, dependents, braked), mechanism = impulse_locations(scene), scene.mechanism
    cuts = np.cumsum([0, len(limited), len(dependents), len(braked)]).tolist()
    limits, others, friction = ca.vertsplit(impulse, cuts)
    total = scatter(mechanism.nu, limited, limits)
    if dependents:
        directions = dependent_coordinates.rate_rows(kin)
        for k, along in zip(dependents, entries(others), strict=True):
            total += ca.vertcat(*directions[k]) * along
    return total, scatter(mechanism.nu, braked, friction)


def split_recorded(scene: Scene, impulse: Array) -> tuple[Array, Array, Array]:
    """Split recorded impulses (..., impulse_count) by their origin.

    Returns those of limits and of dry friction in the tree, both (..., nu), and those of the limits
    of dependent coordinates (..., number of `lockable_dependents`).
    """
    (limited, dependents, braked), recorded = impulse_locations(scene), np.asarray(impulse)
    limits, friction = np.zeros((2, *recorded.shape[:-1], scene.mechanism.nu))
    first_friction = len(limited) + len(dependents)
    limits[..., limited] = recorded[..., : len(limited)]
    friction[..., braked] = recorded[..., first_friction:]
    return limits, friction, recorded[..., len(limited) : first_friction]


def are_reported(scene: Scene, stepper: Stepper) -> bool:
    """Return whether this stepper reports impulses in joints; others model limits as springs."""
    return stepper.supports_constraints and bool(find_lockable_joints(scene))
