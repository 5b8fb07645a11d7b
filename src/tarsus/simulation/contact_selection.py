"""Which contact candidates are simulated, and how heavy a foot is."""

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
from tarsus.morphology.feet import MAX_CANDIDATES, feet
from tarsus.registry import name_of, split_names
from tarsus.stepping.base import Scene, Stepper
from tarsus.stepping.blocked import SLIGHT
from tarsus.stepping.known import named_where

ALL, FEET = "all", "feet"  # in place of names: every candidate, and those of the feet
MAX_WITHOUT_SECONDARY = 8  # candidates up to which a step always looks at all of them
MAX_DEFAULT_CONTACTS = 16  # candidates: up to so many all touch in every step
CACHE_SIZE = 16  # scenes and coordinates whose masses are kept
MIN_SLOTS = 12  # contacts, and at least four more than a robot's feet's, and than its objects'
MANY_LIMBS = 16  # that may touch beside the feet, of a robot of more such
MIN_SLOTS_MANY_LIMBS = 20  # are so many, for it may lie on all its limbs


def default_contacts(robot: Robot, cheap: bool) -> str | None:
    """What may touch where nobody says: all of a robot that has feet and can fall, where it is
    `cheap` to have what seldom touches. None: `select_candidates` says.
    """
    return ALL if cheap and robot.floating and _has_many_candidates(robot) and feet(robot) else None


def select_candidates(
    robot: Robot, names: str | Sequence[str] | None, notices: list[WarningRecord]
) -> tuple[Candidate, ...]:
    """Which candidates may touch the ground: those named, in a list or with commas between them,
    "all", or "feet"; else all, else (where many) the feet's, if it has any or its base is fixed.
    With the feet go those of free objects.

    A robot with a fixed base needs none. TarsusError for one without feet whose feet are asked for.
    """
    # a robot needs a contact, unless its base is fixed
    if not robot.candidates and not robot.floating and (not names or names in (ALL, FEET)):
        return ()  # a machine on a stand
    if not robot.candidates:
        raise InvalidModel(
            f"the robot {robot.name!r} has no contact candidates; give it a collision shape.",
            robot.name,
        )
    # those asked for, or all of few
    if names == ALL or (names is None and not _has_many_candidates(robot)):
        return robot.candidates
    if names is not None and names != FEET:
        named = robot.with_contacts(_expand_feet(robot, names)).candidates
        if not named and robot.floating:
            text = (
                f"{robot.name!r} cannot touch the ground, because the list of contacts is empty;"
                ' use contacts="all".'
            )
            notices.append(WarningRecord(text, "no-contacts", robot.name))
        return named
    # the feet's, and those of free objects
    standing, beside = feet(robot), tree.object_bodies(robot)
    chosen = (*standing, *(c for c in robot.candidates if c.body in beside))
    if names == FEET:
        if not standing:
            raise InvalidValue(
                f"no body of {robot.name!r} looks like a foot; name the candidates that may touch"
                " the ground with contacts=[...].",
                "contacts",
            )
        return chosen
    if robot.floating and not standing:
        text = (
            f"no body of {robot.name!r} looks like a foot, so all {len(robot.candidates)} contact"
            " candidates are simulated. Select fewer with contacts=[...]; fix the base of an arm"
            " with --fixed-base (tarsus.load(file, floating=False))."
        )
        notices.append(WarningRecord(text, "no-feet", robot.name))
        return robot.candidates
    bodies = list(dict.fromkeys(robot.bodies[c.body].name for c in chosen))
    some = f"those of {', '.join(bodies)}" if bodies else "because no body looks like a foot"
    text = (
        f"{len(chosen)} of {len(robot.candidates)} contact candidates are simulated, {some};"
        ' select others with contacts=[...] or contacts="all".'
    )
    notices.append(WarningRecord(text, "contacts-left-out", robot.name))
    return chosen


def _expand_feet(robot: Robot, names: str | Sequence[str]) -> str | Sequence[str]:
    """Names one by one, where several are given; "feet" among them stands for the feet's."""
    if isinstance(names, str):
        if "," not in names:
            return names
        names = split_names(names)
    if not isinstance(names, Sequence) or FEET not in names:
        return names
    return [*(name for name in names if name != FEET), *(foot.name for foot in feet(robot))]


def _has_many_candidates(robot: Robot) -> bool:
    """Whether it has more than MANY candidates, free objects beside it not counted."""
    beside = tree.object_bodies(robot)
    return (
        sum(candidate.body not in beside for candidate in robot.candidates) > MAX_DEFAULT_CONTACTS
    )


def secondary_contacts(
    robot: Robot, chosen: Sequence[Candidate], stepper: Stepper, slots: int | None, beside: int = 0
) -> tuple[tuple[int, ...], int]:
    """Which of many chosen candidates touch only when the robot falls, those not its feet's, and
    how many slots there are for what then touches, so many contacts beside candidates too; none
    where the stepper gathers no contacts.
    """
    # a stepper that looks at all of them in every step
    if not stepper.takes_slots:
        if len(chosen) > MAX_CANDIDATES:
            raise IncompatibleOptions(
                f"the stepper {name_of(stepper)!r} can hold at most {MAX_CANDIDATES} contacts, not"
                f" {len(chosen)}; select fewer, or use a stepper that evaluates only those that"
                f" touch ({named_where(lambda known: known.takes_slots)}).",
                "contacts",
            )
        return (), 0
    # all that are not the feet's
    standing = (
        {candidate.name for candidate in feet(robot)}
        if len(chosen) > MAX_WITHOUT_SECONDARY
        else set()
    )
    others = tuple(k for k, candidate in enumerate(chosen) if candidate.name not in standing)
    if not others or (len(others) == len(chosen) and len(chosen) <= MAX_CANDIDATES):
        others = ()
    usual, objects = len(chosen) - len(others), _max_object_contacts(robot)
    limbs = {chosen[k].body for k in others}
    least = MIN_SLOTS if len(limbs) <= MANY_LIMBS else MIN_SLOTS_MANY_LIMBS
    spare = 4 if _has_limbs(robot) or not objects else 0
    enough = max(least, usual + spare + objects) if others else usual + max(4, objects)
    most = enough if slots is None else slots
    return others, min(most, len(chosen) + beside) if others or beside else 0


def _max_object_contacts(robot: Robot) -> int:
    """How many contacts the objects beside the robot may have at once: four each, with the ground
    or something round, and four more for every box that may lie on another: two faces turned
    against each other share a polygon of eight corners.
    """
    loose = tree.object_bodies(robot)
    boxes = {solid.body for solid in robot.solids if isinstance(solid, Cuboid)}
    first = any(body not in loose for body in boxes)
    trees = first + len({tree.path(robot, body)[-1] for body in boxes & loose})
    return 4 * sum(robot.bodies[i].parent == WORLD for i in loose) + 4 * max(trees - 1, 0)


def _has_limbs(robot: Robot) -> bool:
    """Whether the first tree has more than one body: an object's corners do not all touch."""
    return sum(tree.path(robot, i)[-1] == 0 for i in range(len(robot.bodies))) > 1


def contact_masses(scene: Scene, q: NDArray[np.float64]) -> tuple[float, float]:
    """The smallest effective masses, kg, of a candidate along the normal and in any direction.

    1 / n^T G n and 1 / the largest eigenvalue of G = J M^-1 J^T; n is the base's upward axis, for a
    robot starts parallel to the ground.
    """
    return _contact_masses(scene, np.asarray(q, float).tobytes())


@lru_cache(maxsize=CACHE_SIZE)
def _contact_masses(scene: Scene, q: bytes) -> tuple[float, float]:
    """Of one scene at the same coordinates once: chunks of a sweep ask again and again."""
    mechanism, pose = scene.mechanism, np.frombuffer(q)
    [blocks] = effective_mass.contact_mobilities(mechanism, pose[None], scene.candidates)
    n = np.array([0.0, 0.0, 1.0])
    if (mechanism.uncut or mechanism).floating:
        n = np.array(DM(kinematics(mechanism, SX(pose)).world_rotation[0]))[:, 2]
    normal = [1 / max(float(n @ G @ n), 1e-12) for G in blocks]
    least = [1 / max(float(np.linalg.eigvalsh(G).max()), 1e-12) for G in blocks]
    return min(normal, default=np.inf), min(least, default=np.inf)


def immovable_contacts(
    scene: Scene, q: NDArray[np.float64], normals: Mapping[str, NDArray[np.float64]] | None = None
) -> list[str]:
    """Names of candidates that cannot move up or down at any of the coordinates q (n, nq): on level
    ground they press on nothing (`stepping/blocked.py`).

    normals: of the ground, (3,) by candidate, where that is not level
    """
    mechanism, found = scene.mechanism, list[str]()
    watched = [c for c in scene.candidates if may_be_blocked(mechanism, c.body)]
    if not watched:
        return found
    moves = np.zeros(len(watched), dtype=bool)
    for row in np.atleast_2d(q):
        kin = kinematics(mechanism, SX(row))
        M, W = (np.array(DM(part)) for part in effective_mass.inertia_and_constraints(kin))
        held, loose = effective_mass.mobility(M, W), np.linalg.inv(M)
        # along the normal and across it
        for k, candidate in enumerate(watched):
            normal = np.array([0.0, 0.0, 1.0]) if normals is None else normals[candidate.name]
            turned = np.array(DM(kin.world_rotation[candidate.body]))
            point = support_points.contact_point(candidate, -normal @ turned)
            columns = jacobian.point_jacobian(kin, candidate.body, SX(point))
            moved = np.array(DM(jacobian.dense(columns, mechanism.nu)))
            up = normal @ moved
            across = np.sum(np.square(moved - np.outer(normal, up)))
            turns = up @ up > SLIGHT**2 * across
            moves[k] |= turns and up @ held @ up > SLIGHT**2 * (up @ loose @ up)
    return [c.name for c, free in zip(watched, moves, strict=True) if not free]
