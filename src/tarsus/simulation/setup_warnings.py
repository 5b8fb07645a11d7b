"""Warn about choices and start states, such as too large a dt or ignored terrain properties."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from casadi import SX
from numpy.typing import NDArray

from tarsus import registry
from tarsus.contact.base import ForceLaw, Law
from tarsus.dynamics import dependent_coordinates
from tarsus.dynamics.loop_closure import apply_couplings
from tarsus.dynamics.tendons import DRY_FRICTION_SPEED
from tarsus.errors import IncompatibleOptions, WarningRecord, join_names
from tarsus.model.base_motion import base_position
from tarsus.model.mechanism import Mechanism
from tarsus.model.self_collision import create_pairs
from tarsus.model.solids import Pair
from tarsus.model.spans import create_spans
from tarsus.morphology.self_contacts import draw_postures, overlapping_pairs, pair_names
from tarsus.parameters import declared_fields, names_with_role
from tarsus.program.ir.trace import Builder
from tarsus.simulation import servo_stability
from tarsus.simulation.contact_selection import immovable_contacts
from tarsus.simulation.ground_placement import ground_depths
from tarsus.simulation.self_contact_cache import cached_self_contacts
from tarsus.simulation.stable_steps import falling_warnings, stability_warnings, touching_warnings
from tarsus.simulation.step_program import Plan
from tarsus.stepping.base import Scene, stepper_names
from tarsus.stepping.joint_states import RETURN_RATE
from tarsus.stepping.lockable_joints import find_lockable_joints, lockable_dependents
from tarsus.terrain.plane import Plane
from tarsus.terrain.world import World

LIMIT_TOLERANCE = 1e-6  # rad or m
EXTRA_POSTURES = 3  # random postures in which immovable contacts are checked
WARNED_DEPTH = 1e-3  # m; twice the slop of hard laws
WARNED_HEIGHT = 0.02  # m; a keyframe farther from the ground does not stand on it
MAX_NAMES = 5  # names in a message
MAX_TOLERANCE_SHARE = 1e-3  # largest absolute tolerance over the weight's impulse in a step


def choice_warnings(
    plan: Plan, values: Mapping[str, NDArray[np.float64]], dt: float, self_collision: bool
) -> list[WarningRecord]:
    """Collect the warnings that apply to the whole simulation.

    Parameters
    ----------
    plan
        Compiled step.
    values
        Initial registers by name.
    dt
        Time step, in s.
    self_collision
        Whether the user asked for self-collision.

    Raises
    ------
    IncompatibleOptions
        If the servos of a file cannot be simulated, or shapes cannot collide with this stepper.
    """
    q = values["q"]
    records = servo_stability.servo_warnings(plan, values, dt)
    records += stability_warnings(plan, q, dt) + falling_warnings(plan, dt)
    records += ground_warnings(plan.scene) + face_warnings(plan) + ignored_limit_warnings(plan)
    records += immovable_contact_warnings(plan, q) + soft_joint_warnings(plan)
    records += ignored_moment_warnings(plan)
    return records + self_collision_warnings(plan, self_collision)


def state_warnings(
    plan: Plan, q: NDArray[np.float64], dt: float, what: str = "the simulation"
) -> list[WarningRecord]:
    """Collect the warnings about a start state.

    Parameters
    ----------
    plan
        Compiled step.
    q
        Coordinates, shape (nq,) or (worlds, nq).
    dt
        Time step, in s.
    what
        Object that starts at q, for the messages.
    """
    records = touching_warnings(plan, q, dt) + limit_excess_warnings(plan, q)
    return records + depth_warnings(plan, q, what) + overlap_warnings(plan, q, what)


class StartWarnings:
    """Warnings about where a simulation starts, renewed when its state is set.

    Warnings about choices, which hold for the whole simulation, are not included.
    """

    def __init__(
        self, plan: Plan, q: NDArray[np.float64], dt: float, placing: Sequence[WarningRecord]
    ):
        """Start with coordinates q and the warnings about the placement of the robot."""
        self._of_start = [*placing, *state_warnings(plan, q, dt)]
        self.current: list[WarningRecord] = self._of_start
        self.outdated = False

    def renew(
        self,
        records: list[WarningRecord],
        plan: Plan,
        q: NDArray[Any],
        start: NDArray[Any],
        dt: float,
    ) -> None:
        """Replace warnings about an earlier start by those about q.

        Parameters
        ----------
        records
            The simulation's warnings, which are changed.
        plan
            Compiled step.
        q, start
            Coordinates now, shape (worlds, nq), and at the start of the simulation.
        dt
            Time step, in s.
        """
        records[:] = [record for record in records if record not in self.current]
        at_start = bool((q == start).all())
        self.current = self._of_start if at_start else state_warnings(plan, q, dt, "this run")
        records += self.current
        self.outdated = False


def face_warnings(plan: Plan) -> list[WarningRecord]:
    """Warn if flat faces may pass through narrower tops of the ground."""
    scene = plan.scene
    terrain, names = scene.terrain, {candidate.name for candidate in scene.candidates}
    ground = terrain.ground if isinstance(terrain, World) else terrain
    as_heights = isinstance(terrain, World) and not ground.flat and not ground.top_edge_count
    if not as_heights and (plan.stepper.supports_slots or not ground.top_edge_count):
        return []
    if not any(span.is_face for span in create_spans(scene.mechanism, names, top_edges=1)):
        return []
    if as_heights:
        text = (
            "the shapes of the ground file are simulated as heights: a flat face of the robot sinks"
            " onto a top that is narrower than itself. Use at most twelve upright boxes on a level"
            " floor, or the terrain 'boxes'."
        )
    else:
        text = (
            f"the stepper {registry.name_of(plan.stepper)!r} checks corners only: a flat face of"
            " the robot sinks onto a top that is narrower than itself. Use one of the steppers"
            f" {stepper_names(lambda known: known.supports_slots)}."
        )
    return [WarningRecord(text, "faces-not-checked", registry.name_of(terrain))]


def ground_warnings(scene: Scene) -> list[WarningRecord]:
    """Warn about properties of the terrain that the law ignores."""
    friction, stiffness = scene.terrain.material(
        SX.sym("point", 3), scene.terrain.symbols(Builder("ground"))
    )
    name, records = registry.name_of(scene.law), list[WarningRecord]()
    if not stiffness.is_one() and not names_with_role(type(scene.law), "stiffness", "damping"):
        text = f"the law {name!r} has no stiffness, so that of the terrain is ignored."
        records.append(WarningRecord(text, "ground-stiffness-ignored", name))
    if not friction.is_one() and not names_with_role(type(scene.law), "friction"):
        text = f"the law {name!r} has no friction coefficient, so that of the terrain is ignored."
        records.append(WarningRecord(text, "ground-friction-ignored", name))
    return records


def immovable_contact_warnings(plan: Plan, q: NDArray[np.float64]) -> list[WarningRecord]:
    """Warn about contacts that cannot move along the normal of level ground."""
    scene = plan.scene
    if isinstance(scene.law, ForceLaw):
        return []
    somewhere = np.zeros((0, q.shape[-1]))
    if not scene.mechanism.loops:  # with loops, other postures may violate them
        random = draw_postures(scene.mechanism, EXTRA_POSTURES)
        somewhere = np.array([apply_couplings(scene.mechanism, posture) for posture in random])
    names = immovable_contacts(scene, np.vstack([q.reshape(-1, q.shape[-1])[:1], somewhere]))
    if not names:
        return []
    text = (
        "these contacts cannot move up or down, so level ground does not push on them:"
        f" {join_names(names, MAX_NAMES)}."
    )
    return [WarningRecord(text, "contacts-cannot-move", names[0])]


def depth_warnings(plan: Plan, q: NDArray[np.float64], what: str) -> list[WarningRecord]:
    """Warn about contacts that start below the ground and can move out of it."""
    scene = plan.scene
    below = {name: one for name, one in ground_depths(scene, q).items() if one[0] > WARNED_DEPTH}
    deep_scene = replace(scene, candidates=tuple(c for c in scene.candidates if c.name in below))
    normals = {name: normal for name, (_, normal) in below.items()}
    for name in immovable_contacts(deep_scene, q.reshape(-1, q.shape[-1])[:1], normals):
        del below[name]
    if not below:
        return []
    deep = sorted(below.items(), key=lambda one: -one[1][0])
    named = join_names(
        [f"{name} (by {1e3 * depth:.3g} mm)" for name, (depth, _) in deep], MAX_NAMES
    )
    text = (
        f"these contacts are below the ground when {what} starts, and are pushed out: {named}."
        " Raise the base, choose another keyframe, or call set(q=...)."
    )
    return [WarningRecord(text, "starts-in-ground", deep[0][0])]


def height_warnings(
    scene: Scene, q: NDArray[np.float64], placed: NDArray[np.float64]
) -> list[WarningRecord]:
    """Warn if a requested keyframe q (nq,) is not on the ground.

    Applies only to terrains on which the robot is placed at the start (`Plane` and `World`).
    """
    robot, known = scene.mechanism, isinstance(scene.terrain, Plane | World)
    if not known or not robot.mobile or robot.uncut is not None:
        return []
    height, on_ground = (base_position(robot, each)[..., 2] for each in (q, placed))
    above = float(height - on_ground.max())
    if abs(above) < WARNED_HEIGHT:
        return []
    where = "above the ground" if above > 0 else "below the ground"
    text = (
        f"the keyframe puts {robot.name!r} {1e3 * abs(above):.3g} mm {where}; it is moved onto the"
        " ground at the start. Call set(q=...) to put it elsewhere."
    )
    return [WarningRecord(text, "keyframe-off-ground", robot.name)]


def limit_excess_warnings(plan: Plan, q: NDArray[np.float64]) -> list[WarningRecord]:
    """Warn about joints that start beyond their limits."""
    scene, mechanism = plan.scene, plan.scene.mechanism
    if not scene.limits:
        return []
    # positions of joints in the tree, and dependent coordinates
    names, places = mechanism.joint_names, [s.start for s in mechanism.u_slices]
    others, named = lockable_dependents(scene), dependent_coordinates.names(mechanism)
    centers, values = tuple((row.dependent, row.branch_center) for row in others), np.zeros(0)
    if centers:
        values = np.array(dependent_coordinates.position_function(mechanism, centers)(q.T))
    values = values.reshape(len(centers), *q.shape[:-1])
    bounded = [row for row in find_lockable_joints(scene) if row.dependent < 0 and row.is_bounded]
    positions = [(names[places.index(row.u)], row, q[..., row.q]) for row in bounded]
    positions += [
        (named[row.dependent], row, indices) for row, indices in zip(others, values, strict=True)
    ]
    # joints beyond their limits
    beyond = [
        name
        for name, row, indices in positions
        if not (
            row.lower - LIMIT_TOLERANCE <= np.min(indices)
            and np.max(indices) <= row.upper + LIMIT_TOLERANCE
        )
    ]
    if not beyond:
        return []
    text = (
        f"these joints start beyond their limits and return at {RETURN_RATE:g} rad/s or m/s:"
        f" {', '.join(beyond)}."
    )
    return [WarningRecord(text, "joints-beyond-limits", beyond[0])]


def ignored_limit_warnings(plan: Plan) -> list[WarningRecord]:
    """Warn about limits of loop joints that are ignored."""
    limited = {row.dependent for row in lockable_dependents(plan.scene)}
    ignored = [
        loop.joint.name
        for k, loop in enumerate(plan.scene.mechanism.loops)
        if np.isfinite([loop.joint.lower, loop.joint.upper]).any() and k not in limited
    ]
    if not ignored or not plan.scene.limits:
        return []
    text = (
        "the limits of these loop joints are ignored, because their range is a full turn or more or"
        f" they are neither hinge nor slide: {', '.join(ignored)}."
    )
    return [WarningRecord(text, "loop-limits-ignored", ignored[0])]


def ignored_moment_warnings(plan: Plan) -> list[WarningRecord]:
    """Warn about contacts whose torsional and rolling friction is ignored."""
    scene = plan.scene
    if plan.stepper.supports_constraints:
        contacts = [scene.candidates[i] for i in scene.secondary]
        reason = "it acts only at the feet"
    else:
        contacts, name = list(scene.candidates), registry.name_of(plan.stepper)
        supported = stepper_names(lambda known: known.supports_constraints)
        reason = f"the stepper {name!r} has none; use one of {supported}"
    ignored = [contact.name for contact in contacts if contact.resists_rotation]
    if not ignored:
        return []
    names = join_names(ignored, MAX_NAMES)
    text = f"the torsional and rolling friction of {names} is ignored: {reason}."
    return [WarningRecord(text, "moments-ignored", ignored[0])]


def soft_joint_warnings(plan: Plan) -> list[WarningRecord]:
    """Warn about joint laws that a stepper without impulses approximates."""
    scene, records = plan.scene, list[WarningRecord]()
    if plan.stepper.supports_impulses:
        return records
    name, joints = registry.name_of(plan.stepper), find_lockable_joints(scene)
    if any(row.has_friction for row in joints):
        text = (
            f"the stepper {name!r} models dry friction of joints as a damper below"
            f" {DRY_FRICTION_SPEED:g} rad/s or m/s, so joints creep. Use midpoint, symplectic_euler"
            " or event_driven; stiction=False accepts the damper."
        )
        records.append(WarningRecord(text, "joint-friction-creeps", name))
    if scene.bounce and any(row.is_bounded for row in joints):
        text = (
            f"the stepper {name!r} stops joints by springs, so bounce = {scene.bounce:g} is"
            " ignored. Use midpoint, symplectic_euler or event_driven."
        )
        records.append(WarningRecord(text, "joint-bounce-ignored", name))
    return records


def solver_tolerances(
    chosen: Law, mechanism: Mechanism, dt: float, bits: int, records: list[WarningRecord]
) -> dict[str, NDArray[np.float64]]:
    """Collect the law's tolerances that differ from its parameters, by register.

    float32 cannot resolve tolerances below 1e-4. In float64 a default absolute tolerance is lowered
    for light robots. One that the user set stays, with a warning if it exceeds
    `MAX_TOLERANCE_SHARE` of the weight's impulse in a step.

    Parameters
    ----------
    chosen
        The law.
    mechanism
        The robot.
    dt
        Time step, in s.
    bits
        32 or 64.
    records
        List to which warnings are appended.
    """
    if bits == 32:
        return _tolerances_for_float32(chosen, records)
    lowered, values = {}, chosen.parameters()
    gravity = np.linalg.norm(mechanism.gravity_acceleration)
    limit = MAX_TOLERANCE_SHARE * float(mechanism.mass * gravity) * dt
    for name in names_with_role(type(chosen), "absolute_tolerance"):
        if not 0 < limit < np.max(values[name]):
            continue
        if np.all(values[name] == declared_fields(type(chosen))[name].default):
            lowered[f"law.{name}"] = np.full((*np.shape(values[name]), 1), limit)
            text = f"{name} is lowered to {limit:.2g} N s, because the robot is light."
            records.append(WarningRecord(text, "tolerance-lowered", name))
        else:
            text = (
                f"{name} = {np.max(values[name]):g} N s is more than a thousandth of the weight's"
                f" impulse in a step: contact forces may be wrong; set {name}={limit:.1g} or less."
            )
            records.append(WarningRecord(text, "tolerance-above-weight", name))
    return lowered


def _tolerances_for_float32(
    chosen: Law, records: list[WarningRecord]
) -> dict[str, NDArray[np.float64]]:
    """Raise tolerances meant for float64 to 1e-4."""
    raised, values = {}, chosen.parameters()
    for name in names_with_role(type(chosen), "relative_tolerance", "absolute_tolerance"):
        value = values[name]
        if np.min(value) < 1e-4:
            raised[f"law.{name}"] = np.maximum(value, 1e-4)[..., None]
    if raised:
        text = "the solver's tolerances are raised to 1e-4, the smallest that float32 resolves."
        records.append(WarningRecord(text, "float32-tolerance", registry.name_of(chosen)))
    return raised


def overlap_warnings(plan: Plan, q: NDArray[np.float64], what: str) -> list[WarningRecord]:
    """Warn about shapes that overlap at the start."""
    overlaps = overlapping_pairs(plan.scene.mechanism, q) if plan.scene.pairs else ()
    if not overlaps:
        return []
    text = (
        f"{len(overlaps)} pairs of shapes overlap when {what} starts and are pushed apart:"
        f" {pair_names(overlaps)}. Call set(q=...) to move them."
    )
    return [WarningRecord(text, "shapes-overlap", overlaps[0].first.name)]


def self_collision_warnings(plan: Plan, self_collision: bool) -> list[WarningRecord]:
    """Warn about approximated shapes and, if requested, about self-collision.

    Raises
    ------
    IncompatibleOptions
        If the stepper cannot let bodies touch each other.
    """
    if not plan.stepper.supports_slots and create_pairs(plan.scene.mechanism, self_collision):
        raise IncompatibleOptions(
            f"the stepper {registry.name_of(plan.stepper)!r} evaluates contacts several times per"
            " step, so shapes cannot touch each other; use another stepper"
            f" ({stepper_names(lambda known: known.supports_slots)}), or simulate one robot without"
            " objects and without self_collision.",
            "stepper",
        )
    if not self_collision:
        return approximation_warnings(plan.scene.pairs)
    robot = plan.scene.mechanism.uncut or plan.scene.mechanism
    contacts = cached_self_contacts(robot, True)
    if not contacts.possible:
        text = f"no two shapes of {robot.name!r} can touch, so self_collision has no effect."
        none = [WarningRecord(text, "no-self-collision", robot.name)]
        return none + _ignored_pair_warnings(contacts.always)
    stand_ins = approximation_warnings(plan.scene.pairs)
    return stand_ins + _mesh_only_warnings(robot) + _ignored_pair_warnings(contacts.always)


def _ignored_pair_warnings(ignored: Sequence[Pair]) -> list[WarningRecord]:
    if not ignored:
        return []
    text = (
        f"{len(ignored)} pairs of shapes may pass through each other, because they overlap at the"
        f" start or in most postures: {pair_names(ignored)}."
    )
    return [WarningRecord(text, "pairs-ignored", ignored[0].first.name)]


def approximation_warnings(possible: Sequence[Pair]) -> list[WarningRecord]:
    """Warn about shapes that collide as a capsule or box, with the largest error."""
    off = {
        s.name: s.max_deviation
        for pair in possible
        for s in (pair.first, pair.second)
        if s.max_deviation
    }
    if not off:
        return []
    far = sorted(off.items(), key=lambda one: -one[1])
    names = join_names([f"{name} (up to {1e3 * away:.3g} mm off)" for name, away in far], MAX_NAMES)
    text = f"these shapes collide with other bodies as a capsule or box instead: {names}."
    return [WarningRecord(text, "shapes-approximated", far[0][0])]


def _mesh_only_warnings(robot: Mechanism) -> list[WarningRecord]:
    """Warn about bodies whose shapes can touch only the ground, not other bodies."""
    meeting = {solid.body for solid in robot.solids}
    bodies = dict.fromkeys(c.body for c in robot.candidates if c.body not in meeting)
    if not bodies:
        return []
    names = join_names([robot.bodies[i].name for i in bodies], MAX_NAMES)
    text = f"these bodies have only meshes, which touch the ground but no other body: {names}."
    return [WarningRecord(text, "meshes-meet-ground-only", robot.bodies[next(iter(bodies))].name)]
