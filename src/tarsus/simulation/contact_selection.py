"""Select the contact candidates that are simulated, and find how heavy a foot is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
from casadi import DM, SX
from numpy.typing import NDArray

from tarsus.collision.contact_point import may_be_blocked
from tarsus.dynamics import effective_mass, jacobian, support_points, tree
from tarsus.dynamics.kinematics import kinematics
from tarsus.dynamics.robot import Robot
from tarsus.errors import IncompatibleOptions, InvalidModel, InvalidValue, WarningRecord
from tarsus.model.mechanism import WORLD, Candidate
from tarsus.model.solids import Cuboid
from tarsus.morphology.feet import MAX_CANDIDATES, find_feet, find_soles
from tarsus.registry import name_of, split_names
from tarsus.stepping.base import Scene, Stepper, stepper_names
from tarsus.stepping.blocked_contacts import BLOCKED_RATIO
from tarsus.stepping.patches import MAX_PATCH_CONTACTS

ALL, FEET = "all", "feet"  # instead of names
MAX_WITHOUT_SECONDARY = 8  # up to this number, every candidate is primary
MAX_DEFAULT_CONTACTS = 16  # up to this number, all candidates are simulated by default
CACHE_SIZE = 16  # scenes and coordinates
MIN_SLOTS = 12  # and at least four more than the feet and objects have
MAX_SHARED_CORNERS = 8  # of the area that a face and a level top share
MANY_LIMBS = 16  # other bodies that may touch; above this, more slots
MIN_SLOTS_MANY_LIMBS = 20  # because a robot may lie on all its limbs


def default_contacts(robot: Robot, cheap: bool) -> str | None:
    """Choose the contacts to simulate if the user names none; None: `select_candidates` decides.

    All, if the robot has feet and can fall and secondary contacts are `cheap`.
    """
    return (
        ALL if cheap and robot.mobile and _has_many_candidates(robot) and find_feet(robot) else None
    )


def select_candidates(
    robot: Robot, names: str | Sequence[str] | None, records: list[WarningRecord]
) -> tuple[Candidate, ...]:
    """Select the candidates that may touch the ground.

    By default these are all candidates, or if there are many, those of the feet if the robot has
    any or its base is fixed. Candidates of free objects go with the feet. A robot with a fixed base
    needs none.

    Parameters
    ----------
    robot
        The robot.
    names
        Names or patterns, in a list or separated by commas, "all", "feet", or None for the default.
    records
        List to which warnings are appended.

    Raises
    ------
    TarsusError
        If the robot has no candidates, or the feet of a robot without feet are requested.
    """
    # a robot needs contacts if it floats
    if not robot.candidates and not robot.floating and (not names or names in (ALL, FEET)):
        return ()  # a machine on a stand
    if not robot.candidates:
        raise InvalidModel(
            f"the robot {robot.name!r} has no contact candidates; give it a collision shape.",
            robot.name,
        )
    # the requested candidates, or all if there are few
    if names == ALL or (names is None and not _has_many_candidates(robot)):
        return robot.candidates
    if names is not None and names != FEET:
        named = robot.with_contacts(_expand_feet(robot, names)).candidates
        if not named and robot.mobile:
            text = (
                f"{robot.name!r} cannot touch the ground, because the list of contacts is empty;"
                ' use contacts="all".'
            )
            records.append(WarningRecord(text, "no-contacts", robot.name))
        return named
    # the feet, and free objects
    standing, objects = find_feet(robot), tree.object_bodies(robot)
    chosen = (*standing, *(c for c in robot.candidates if c.body in objects))
    if names == FEET:
        if not standing:
            raise InvalidValue(
                f"no body of {robot.name!r} looks like a foot; name the candidates that may touch"
                " the ground with contacts=[...].",
                "contacts",
            )
        return chosen
    if robot.mobile and not standing:
        text = (
            f"no body of {robot.name!r} looks like a foot, so all {len(robot.candidates)} contact"
            " candidates are simulated. Select fewer with contacts=[...]; fix the base of an arm"
            " with --fixed-base (tarsus.load(file, floating=False))."
        )
        records.append(WarningRecord(text, "no-feet", robot.name))
        return robot.candidates
    bodies = list(dict.fromkeys(robot.bodies[c.body].name for c in chosen))
    some = f"those of {', '.join(bodies)}" if bodies else "because no body looks like a foot"
    text = (
        f"{len(chosen)} of {len(robot.candidates)} contact candidates are simulated, {some};"
        ' select others with contacts=[...] or contacts="all".'
    )
    records.append(WarningRecord(text, "contacts-ignored", robot.name))
    return chosen


def _expand_feet(robot: Robot, names: str | Sequence[str]) -> str | Sequence[str]:
    """Split a list of names, and replace "feet" by the names of the feet."""
    if isinstance(names, str):
        if "," not in names:
            return names
        names = split_names(names)
    if not isinstance(names, Sequence) or FEET not in names:
        return names
    return [*(name for name in names if name != FEET), *(foot.name for foot in find_feet(robot))]


def _has_many_candidates(robot: Robot) -> bool:
    """Return whether the robot, without free objects, has more than `MAX_DEFAULT_CONTACTS`."""
    objects = tree.object_bodies(robot)
    return (
        sum(candidate.body not in objects for candidate in robot.candidates) > MAX_DEFAULT_CONTACTS
    )


def secondary_contacts(
    robot: Robot,
    chosen: Sequence[Candidate],
    stepper: Stepper,
    slots: int | None,
    extra: int = 0,
    level_tops: bool = False,
) -> tuple[tuple[int, ...], int]:
    """Choose the secondary candidates, and the number of slots for active secondary contacts.

    Secondary are candidates other than the feet's, which touch only when the robot falls. There are
    none if the stepper does not collect active contacts.

    Parameters
    ----------
    robot
        The robot.
    chosen
        Candidates that are simulated.
    stepper
        The stepper.
    slots
        Number of slots that the user set, or None.
    extra
        Number of spans and pairs, which also use slots.
    level_tops
        Whether the ground has level tops, on which a face rests with MAX_SHARED_CORNERS points.

    Raises
    ------
    IncompatibleOptions
        If the stepper evaluates all contacts in every step, and there are too many.
    """
    # this stepper evaluates all contacts in every step
    if not stepper.supports_slots:
        if len(chosen) > MAX_CANDIDATES:
            raise IncompatibleOptions(
                f"the stepper {name_of(stepper)!r} can hold at most {MAX_CANDIDATES} contacts, not"
                f" {len(chosen)}; select fewer, or use a stepper that evaluates only those that"
                f" touch ({stepper_names(lambda known: known.supports_slots)}).",
                "contacts",
            )
        return (), 0
    # everything except the feet
    standing = (
        {candidate.name for candidate in find_feet(robot)}
        if len(chosen) > MAX_WITHOUT_SECONDARY
        else set()
    )
    others = tuple(k for k, candidate in enumerate(chosen) if candidate.name not in standing)
    if not others or (len(others) == len(chosen) and len(chosen) <= MAX_CANDIDATES):
        others = ()
    usual, objects = len(chosen) - len(others), _count_max_object_contacts(robot)
    limbs = {chosen[k].body for k in others}
    min_slots = MIN_SLOTS if len(limbs) <= MANY_LIMBS else MIN_SLOTS_MANY_LIMBS
    spare = 4 if _has_limbs(robot) or not objects else 0
    enough = max(min_slots, usual + spare + objects) if others else usual + max(4, objects)
    enough += MAX_SHARED_CORNERS if level_tops and not others else 0
    count = enough if slots is None else slots
    return others, min(count, len(chosen) + extra) if others or extra else 0


def sole_patches(robot: Robot, chosen: Sequence[Candidate]) -> tuple[tuple[str, ...], ...]:
    """Find the names of the candidates of every sole that has more than a patch needs.

    Parameters
    ----------
    robot
        The robot.
    chosen
        Candidates that are simulated.
    """
    names, patches = {candidate.name for candidate in chosen}, list[tuple[str, ...]]()
    for sole in find_soles(robot).values():
        own = [c for c in sole if c.name in names and c.outline is None]
        alike = len({(c.radius, c.friction) for c in own}) == 1
        if alike and len(own) > MAX_PATCH_CONTACTS:
            patches.append(tuple(c.name for c in own))
    return tuple(patches)


def _count_max_object_contacts(robot: Robot) -> int:
    """Count the contacts that free objects may have at once.

    Four each, with the ground or a round shape, and four more for every box that may lie on
    another: two faces turned against each other share a polygon with eight corners.
    """
    loose = tree.object_bodies(robot)
    boxes = {solid.body for solid in robot.solids if isinstance(solid, Cuboid)}
    first = any(body not in loose for body in boxes)
    trees = first + len({tree.support_path(robot, body)[-1] for body in boxes & loose})
    return 4 * sum(robot.bodies[i].parent == WORLD for i in loose) + 4 * max(trees - 1, 0)


def _has_limbs(robot: Robot) -> bool:
    """Return whether the first tree has several bodies, unlike a single object."""
    return sum(tree.support_path(robot, i)[-1] == 0 for i in range(len(robot.bodies))) > 1


def contact_masses(scene: Scene, q: NDArray[np.float64]) -> tuple[float, float]:
    """Compute the smallest effective masses of a candidate, in kg.

    Along the normal 1 / (n^T G n), and in any direction 1 / the largest eigenvalue of G, with
    G = J M^-1 J^T. The normal n is the base's upward axis, because a robot starts parallel to the
    ground.

    Parameters
    ----------
    scene
        Robot and contact candidates.
    q
        Coordinates, shape (nq,).
    """
    return _contact_masses(scene, np.asarray(q, float).tobytes())


@lru_cache(maxsize=CACHE_SIZE)
def _contact_masses(scene: Scene, q: bytes) -> tuple[float, float]:
    """Cache the masses per scene and coordinates, because the chunks of a sweep ask repeatedly."""
    mechanism, pose = scene.mechanism, np.frombuffer(q)
    [blocks] = effective_mass.contact_mobilities(mechanism, pose[None], scene.candidates)
    n = np.array([0.0, 0.0, 1.0])
    if (mechanism.uncut or mechanism).floating:
        n = np.array(DM(kinematics(mechanism, SX(pose)).world_rotation[0]))[:, 2]
    normal = [1 / max(float(n @ G @ n), 1e-12) for G in blocks]
    smallest = [1 / max(float(np.linalg.eigvalsh(G).max()), 1e-12) for G in blocks]
    return min(normal, default=np.inf), min(smallest, default=np.inf)


def immovable_contacts(
    scene: Scene, q: NDArray[np.float64], normals: Mapping[str, NDArray[np.float64]] | None = None
) -> list[str]:
    """Find the candidates that cannot move along the ground's normal, by name.

    They cannot move at any of the coordinates, so that the ground cannot push on them
    (`stepping/blocked_contacts.py`).

    Parameters
    ----------
    scene
        Robot and contact candidates.
    q
        Coordinates, shape (n, nq).
    normals
        Normals of the ground, shape (3,), by candidate; by default the ground is level.
    """
    mechanism, names = scene.mechanism, list[str]()
    watched = [c for c in scene.candidates if may_be_blocked(mechanism, c.body)]
    if not watched:
        return names
    moves = np.zeros(len(watched), dtype=bool)
    for row in np.atleast_2d(q):
        kin = kinematics(mechanism, SX(row))
        M, W = (np.array(DM(part)) for part in effective_mass.inertia_and_constraints(kin))
        constrained, loose = effective_mass.mobility(M, W), np.linalg.inv(M)
        # along the normal and perpendicular to it
        for k, candidate in enumerate(watched):
            normal = np.array([0.0, 0.0, 1.0]) if normals is None else normals[candidate.name]
            turned = np.array(DM(kin.world_rotation[candidate.body]))
            point = support_points.contact_point(candidate, -normal @ turned)
            columns = jacobian.point_jacobian(kin, candidate.body, SX(point))
            moved = np.array(DM(jacobian.dense(columns, mechanism.nu)))
            up = normal @ moved
            across = np.sum(np.square(moved - np.outer(normal, up)))
            turns = up @ up > BLOCKED_RATIO**2 * across
            moves[k] |= turns and up @ constrained @ up > BLOCKED_RATIO**2 * (up @ loose @ up)
    return [c.name for c, free in zip(watched, moves, strict=True) if not free]
