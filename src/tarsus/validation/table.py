"""Rows of `tarsus validate`: every scene with every law and stepper that claims it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache, partial
from typing import Any, Literal

from tarsus import registry, robots
from tarsus.engines import mujoco, tarsus
from tarsus.engines.base import Engine, NotModeled
from tarsus.engines.tarsus import TarsusEngine
from tarsus.errors import TarsusError, unknown_name
from tarsus.mujoco_runs.settings import NAMED
from tarsus.processes import Job, run_jobs
from tarsus.validation.scenes.base import Case, ValidationScene

ENGINES, LAWS, STEPPERS, SCENES, ROBOTS = (
    "tarsus.engines",
    "tarsus.contact.laws",
    "tarsus.stepping.methods",
    "tarsus.validation.scenes",
    "tarsus.robots",
)
Status = Literal["pass", "fail", "not modeled"]
PASS, FAIL, NOT_MODELED = "pass", "fail", "not modeled"


@dataclass(frozen=True)
class ValidationRow:
    """One quantity of a scene under a law and a stepper; None where there is no number."""

    scene: str
    """The scene's name."""
    case: str
    """The quantity; empty if the scene was not run."""
    law: str
    """The law's name, or mujoco."""
    stepper: str
    """The stepper's name; of MuJoCo that of its settings."""
    expected: float | None
    """The closed form, in `unit`."""
    got: float | None
    """Measured, in `unit`."""
    error: float | None
    """How far off it is, in `unit`."""
    tolerance: float | None
    """How far off it may be, in `unit`."""
    unit: str
    """SI unit; 1 if dimensionless."""
    status: Status
    """pass, fail, or not modeled."""
    reason: str
    """Why it failed or was not run."""

    def as_json(self) -> dict[str, Any]:
        """The row for JSON."""
        return asdict(self)


def validate(
    law: str | None = None,
    scene: str | None = None,
    stepper: str | None = None,
    tell: Callable[[str], None] = lambda text: None,
    unclaimed: bool = False,
    workers: int | None = 1,
    settings: Sequence[str] = tuple(NAMED),
) -> list[ValidationRow]:
    """Rows of the scenes, laws and steppers named, or of all there are, by scene.

    law: a name, or the path to a Python file with one's own.
    MuJoCo's are among them if the law is "mujoco", or if neither law nor stepper is named, once for
    each name in `settings`.
    tell: called with what is being measured, or was, and how many are left. unclaimed: also what a
    law does not claim; such rows have numbers and stay "not modeled". workers: of
    `tarsus.processes.run_jobs`; rows do not depend on it. Raises TarsusError with near names for an
    unknown one.
    """
    # what is measured
    names = _named("scene", scene, registry.names(SCENES))
    _load()
    _engine.cache_clear()  # a law's own file may be another one by now
    work = [(e.law, e.stepper, name) for e in engines(law, stepper, settings) for name in names]
    # by scene, whatever the order of the work
    jobs = [Job(", ".join(one), partial(rows_of, *one, unclaimed)) for one in work]
    rows = [row for found in run_jobs(jobs, workers, tell) for row in found]
    return sorted(rows, key=lambda row: names.index(row.scene))


def _load() -> None:
    """Load what any scene needs. Programs are kept by what is loaded, and so are found whatever was
    measured before.
    """
    for folder in (LAWS, STEPPERS, SCENES):
        for name in registry.names(folder):
            registry.member_module(folder, folder, name)
    for name in registry.names(ROBOTS):
        robots.load(name)


def rows_of(law: str, stepper: str, scene: str, unclaimed: bool) -> list[ValidationRow]:
    """Rows of one scene under one law and stepper."""
    engine, refusal = _engine(law, stepper)
    if refusal:
        return [_without_numbers(scene, engine, NOT_MODELED, refusal)]
    return measured(engine, scene, unclaimed)


def measured(engine: Engine, scene: str, unclaimed: bool = False) -> list[ValidationRow]:
    """Return the rows of one scene on an engine."""
    each = registry.member_class(SCENES, "scene", scene, ValidationScene)()
    return list(_rows(scene, each, engine, unclaimed))


@lru_cache(maxsize=1)
def _engine(law: str, stepper: str) -> tuple[Engine, str]:
    """The engine of these names, with what it has compiled so far, and why it refuses its law."""
    engine = _peer(law)(stepper) if law in peers() else TarsusEngine(law, stepper)
    return engine, engine.refusal()


def peers() -> tuple[str, ...]:
    """Return the names of the other engines that run the scenes; a law's name means the law."""
    taken = {tarsus.NAME, *registry.names(LAWS)}
    return tuple(name for name in registry.names(ENGINES) if name not in taken)


def _peer(name: str) -> Callable[..., Engine]:
    return registry.member_class(ENGINES, "engine", name, Engine)


def engines(
    law: str | None, stepper: str | None, settings: Sequence[str] = tuple(NAMED)
) -> list[Engine]:
    """Return the engines to measure.

    Parameters
    ----------
    law, stepper
        Names, or None for all. Another engine is measured if `law` is its name, or if neither law
        nor stepper is named.
    settings
        MuJoCo's settings, each an engine of its own; of other engines all variants.
    """
    names = _named("law", law, registry.names(LAWS), *peers())
    steppers = _named("stepper", stepper, registry.names(STEPPERS))
    asked = peers() if law is None and stepper is None else [n for n in peers() if n == law]
    others = list[Engine]()
    for name in asked:
        make = _peer(name)
        variants = settings if name == mujoco.NAME else make.variants  # type: ignore[attr-defined]
        others += [make(variant) for variant in variants]
    if law in peers():
        return others
    return [*(TarsusEngine(name, each) for name in names for each in steppers), *others]


def _named(kind: str, name: str | None, known: tuple[str, ...], *also: str) -> tuple[str, ...]:
    """All known names, or the one given; a path to a Python file is read later."""
    if name is None:
        return known
    if name not in (*known, *also) and not name.endswith(registry.PYTHON_SUFFIX):
        raise unknown_name(kind, name, (*known, *also))
    return (name,)


def _rows(
    name: str, scene: ValidationScene, engine: Engine, unclaimed: bool
) -> Iterator[ValidationRow]:
    """One row a case, or a single row if the law does not claim the scene or it cannot be run."""
    lacking = "; ".join(
        f"{effect}: {engine.not_modeled[effect]}"
        for effect in sorted(scene.needs & set(engine.not_modeled))
    )
    if lacking and not unclaimed:
        yield _without_numbers(name, engine, NOT_MODELED, lacking)
        return
    try:
        rows = [_row(name, case, engine) for case in scene.measure(engine)]
        yield from (
            replace(row, status=NOT_MODELED, reason=lacking) if lacking else row for row in rows
        )
    except NotModeled as error:
        yield _without_numbers(name, engine, NOT_MODELED, str(error))
    except TarsusError as error:
        yield _without_numbers(name, engine, FAIL, str(error))


def _without_numbers(scene: str, engine: Engine, status: Status, reason: str) -> ValidationRow:
    return ValidationRow(
        scene, "", engine.law, engine.stepper, None, None, None, None, "", status, reason
    )


def _row(scene: str, case: Case, engine: Engine) -> ValidationRow:
    """A case as a row; a failure says how much was allowed."""
    got, error = (value if math.isfinite(value) else None for value in (case.got, case.error))
    status: Status = PASS if case.passed else FAIL
    beyond = (
        "not finite"
        if got is None
        else f"more than {case.tolerance:.2g} {'' if case.unit == '1' else case.unit}"
    )
    reason = "" if case.passed else beyond.strip()
    where = (scene, case.name, engine.law, engine.stepper)
    return ValidationRow(
        *where, case.expected, got, error, case.tolerance, case.unit, status, reason
    )
