"""Resolve names to objects: robots, laws, terrains, steppers, controllers, tasks."""

from __future__ import annotations

import inspect
import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import Any, TypeVar

from tarsus import registry, robots
from tarsus.contact.base import Law
from tarsus.control.base import Controller
from tarsus.dynamics.robot import Robot
from tarsus.errors import (
    IncompatibleOptions,
    InvalidValue,
    UnknownName,
    WorldGeometryIgnored,
    unknown_name_error,
)
from tarsus.model.cut import change_coordinates
from tarsus.model.ellipsoid_starts import with_starts
from tarsus.model.mechanism import Candidate, Mechanism
from tarsus.model.self_collision import transfer_pairs
from tarsus.model.spans import create_spans
from tarsus.morphology.convex_hull import hull_candidates
from tarsus.simulation.contact_selection import ALL, secondary_contacts, sole_patches
from tarsus.simulation.self_contact_cache import cached_self_contacts
from tarsus.stepping.base import METHODS, Scene, Stepper
from tarsus.stepping.contact_moments import rotational_inertias
from tarsus.tasks.base import LearningTask
from tarsus.terrain.base import Terrain
from tarsus.terrain.world import World

LAWS, TERRAINS, GAITS = "tarsus.contact.laws", "tarsus.terrain", "tarsus.control.gaits"
TASKS = "tarsus.tasks"
WORLD_FILE = ".xml"

T = TypeVar("T")


def resolve_robot(value: Robot | Mechanism | str, **options: Any) -> Robot:
    """Load a robot if a name or path is given.

    Parameters
    ----------
    value
        A robot, a mechanism, the name of a built-in robot, or the path of a model file.
    **options
        Options of `tarsus.load`, for a name or path.
    """
    if not isinstance(value, Mechanism):
        return robots.load(_check_type("robot", value, Robot, str, os.PathLike), **options)
    if options:
        raise IncompatibleOptions(
            f"{value.name!r} is already loaded; pass {', '.join(options)} to tarsus.load instead.",
            next(iter(options)),
        )
    return value if isinstance(value, Robot) else Robot.of(value)


@contextmanager
def ignore_own_ground(source: object, ground: object) -> Iterator[None]:
    """Hide the warning about ignored world geometry if the terrain is the same file."""
    file = ground.file if isinstance(ground, World) else ground
    world = isinstance(file, str) and file.endswith(WORLD_FILE)
    named = isinstance(source, str | os.PathLike)
    same = world and named and os.path.realpath(str(file)) == os.path.realpath(str(source))
    with warnings.catch_warnings() if same else nullcontext():
        if same:
            warnings.simplefilter("ignore", WorldGeometryIgnored)
        yield


def resolve_law(value: Law | str) -> Law:
    """Create a law with its defaults if a name or the path of a user's file is given."""
    if not isinstance(value, str):
        return _check_type("law", value, Law)
    return registry.create(LAWS, "law", value, Law)


def apply_material(law: Law, material: Mapping[str, float]) -> tuple[Law, list[str]]:
    """Set the law's parameters; warn about parameters that it does not have."""
    known = law.parameters()
    name = registry.name_of(law)
    ignored = [
        f"the law {name!r} has no parameter {key!r}: ignored."
        for key in material
        if key not in known
    ]
    return (
        replace(law, **{key: value for key, value in material.items() if key in known}),
        ignored,
    )


def create_scene(
    robot: Robot,
    parts: tuple[Law, Terrain, Stepper],
    candidates: tuple[Candidate, ...],
    chosen: Any,
) -> Scene:
    """Create the scene, with the robot in the chosen coordinates.

    Parameters
    ----------
    robot
        The robot.
    parts
        Law, terrain and stepper.
    candidates
        Contact candidates that are simulated. If all are, those inside others are dropped on flat
        ground.
    chosen
        Options of the simulation.
    """
    # contact candidates
    law, ground, stepper = parts
    mechanism = change_coordinates(robot, chosen.coordinates)
    names = {candidate.name for candidate in candidates}
    touching = tuple(candidate for candidate in mechanism.candidates if candidate.name in names)
    if chosen.contacts == ALL and ground.flat and stepper.supports_slots:
        touching = hull_candidates(touching)
    touching = touching if ground.flat else with_starts(touching)
    # spans between candidates, and pairs of shapes
    self_collision = chosen.self_collision
    known = cached_self_contacts(robot, self_collision).possible if stepper.supports_slots else ()
    pairs = transfer_pairs(known, mechanism)
    uneven = stepper.supports_slots and not ground.flat
    top_edges = ground.top_edge_count if uneven else 0
    between = create_spans(mechanism, names, top_edges) if uneven else ()
    extra = len(between) + len(pairs)
    rare, slots = secondary_contacts(
        robot, touching, stepper, chosen.slots, extra, level_tops=top_edges > 0
    )
    options = {name: getattr(chosen, name) for name in ("limits", "bounce", "stiction")}
    options |= {"pairs": pairs, "spans": between}
    if stepper.supports_slots:
        options["patches"] = sole_patches(robot, touching)
    if stepper.supports_constraints:
        primary = [candidate for i, candidate in enumerate(touching) if i not in rare]
        options["rotational_inertias"] = rotational_inertias(mechanism, primary)
    return Scene(mechanism, law, ground, touching, chosen.stabilization, rare, slots, **options)


def find_pushed_bodies(chosen: Robot, names: str | Sequence[str]) -> tuple[str, ...]:
    """Find the bodies that may be pushed; raise UnknownName for an unknown one."""
    if isinstance(names, str) and names == ALL:
        return chosen.body_names
    given = (names,) if isinstance(names, str) else tuple(names)
    for name in given:
        if name not in chosen.body_names:
            wrong = unknown_name_error("body", name, chosen.body_names)
            raise UnknownName(f"{wrong} The base is {chosen.base_name!r}.", wrong.subject)
    return given


def resolve_terrain(value: Terrain | str) -> Terrain:
    """Create a terrain with its defaults if a name or path (.py, .xml) is given."""
    if not isinstance(value, str):
        return _check_type("terrain", value, Terrain)
    if value.endswith(WORLD_FILE):
        return World(value)
    return registry.create(TERRAINS, "terrain", value, Terrain)


def resolve_stepper(value: Stepper | str) -> Stepper:
    """Create a stepper with its defaults if a name or user's file is given."""
    if not isinstance(value, str):
        return _check_type("stepper", value, Stepper)
    return registry.create(METHODS, "stepper", value, Stepper)


def resolve_controller(
    value: Controller | Callable[..., Any] | str | None,
) -> Controller | Callable[..., Any] | None:
    """Create a controller; a gait by name or from a user's file has its default parameters."""
    if isinstance(value, str):
        return registry.create(GAITS, "gait", value, Controller)
    if value is None or isinstance(value, Controller):
        return value
    if isinstance(value, type) or not callable(value) or not _takes_three_arguments(value):
        raise InvalidValue(
            "controller must be the name of a gait, a Controller such as Trot(), a function"
            f" (t, q, u) -> torques, or None, not {value!r}.",
            "controller",
        )
    return value


def resolve_task(value: LearningTask | str) -> LearningTask:
    """Create a learning task with its defaults if a name or a user's file is given."""
    if not isinstance(value, str):
        return _check_type("task", value, LearningTask)
    return registry.create(TASKS, "task", value, LearningTask)


def _takes_three_arguments(function: Callable[..., Any]) -> bool:
    """Return whether a function can be called with t, q and u."""
    try:
        inspect.signature(function).bind(0.0, 0.0, 0.0)
    except TypeError:
        return False
    except ValueError:  # built-in functions may have no signature
        return True
    return True


def _check_type(what: str, value: T, *families: type) -> T:
    """Check that an object has one of the types; else raise InvalidValue."""
    if isinstance(value, families):
        return value
    if isinstance(value, type):
        raise InvalidValue(
            f"{what} must be an object, and {value.__name__} is a class; pass {value.__name__}().",
            what,
        )
    raise InvalidValue(f"{what} must be a name or a {families[0].__name__}, not {value!r}.", what)


def control_interval(controller: object, rate: float | None, dt: float) -> int:
    """Count the steps between calls of a Python controller; 0 if there is none."""
    if isinstance(controller, Controller) or controller is None:
        if rate is not None:
            raise IncompatibleOptions(
                "control_rate applies to Python controllers only; this controller is compiled into"
                " every step.",
                "control_rate",
            )
        return 0
    every = 1 if rate is None else round(1 / (rate * dt))
    if every < 1 or (rate is not None and abs(every * rate * dt - 1) > 1e-6):
        raise IncompatibleOptions(
            f"control_rate = {rate:g} Hz does not fit dt = {dt:g} s; 1 / (control_rate * dt) must"
            " be a whole number.",
            "control_rate",
        )
    return every
