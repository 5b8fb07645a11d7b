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
from tarsus.errors import TarsusError, unknown_name_error
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
    """One quantity of a scene under a law and a stepper; None if there is no number."""

    scene: str
    """Name of the scene."""
    case: str
    """Name of the quantity; empty if the scene was not run."""
    law: str
    """Name of the law, or mujoco."""
    stepper: str
    """Name of the stepper, or of MuJoCo's settings."""
    expected: float | None
    """Value of the closed form, in `unit`."""
    measured: float | None
    """Measured value, in `unit`."""
    error: float | None
    """Distance from the expected value, in `unit`."""
    tolerance: float | None
    """Largest error that passes, in `unit`."""
    unit: str
    """SI unit; 1 if dimensionless."""
    status: Status
    """pass, fail, or not modeled."""
    reason: str
    """Reason why it failed or was not run."""

    def as_json(self) -> dict[str, Any]:
        """Return the row as a dictionary for JSON."""
        return asdict(self)


def validate(
    law: str | None = None,
    scene: str | None = None,
    stepper: str | None = None,
    on_progress: Callable[[str], None] = lambda text: None,
    unclaimed: bool = False,
    workers: int | None = 1,
    settings: Sequence[str] = tuple(NAMED),
) -> list[ValidationRow]:
    """Measure scenes under laws and steppers.

    Parameters
    ----------
    law
        Name of a law, path of a Python file with a law, or "mujoco". By default all laws, and
        MuJoCo if no stepper is named either.
    scene
        Name of a scene; by default all.
    stepper
        Name of a stepper; by default all.
    on_progress
        Function that is called with the progress.
    unclaimed
        Whether to measure effects that a law does not claim; such rows have numbers but stay "not
        modeled".
    workers
        Number of processes, see `tarsus.processes.run_jobs`; the rows do not depend on it.
    settings
        Names of MuJoCo's settings, each measured separately.

    Returns
    -------
    list of ValidationRow
        Rows sorted by scene.

    Raises
    ------
    UnknownName
        If a name is unknown; the message suggests similar names.
    """
    # jobs
    names = _select("scene", scene, registry.names(SCENES))
    _load()
    _create_engine.cache_clear()  # the Python file of a law may have changed
    cases = [(e.law, e.stepper, name) for e in engines(law, stepper, settings) for name in names]
    # sorted by scene, whatever the order of the jobs
    jobs = [Job(", ".join(case), partial(measure_law, *case, unclaimed)) for case in cases]
    rows = [row for result in run_jobs(jobs, workers, on_progress) for row in result]
    return sorted(rows, key=lambda row: names.index(row.scene))


def _load() -> None:
    """Load everything that any scene needs.

    Cached programs depend on the loaded modules. Loading all of them makes the cache independent of
    what was measured before.
    """
    for folder in (LAWS, STEPPERS, SCENES):
        for name in registry.names(folder):
            registry.member_module(folder, folder, name)
    for name in registry.names(ROBOTS):
        robots.load(name)


def measure_law(law: str, stepper: str, scene: str, unclaimed: bool) -> list[ValidationRow]:
    """Measure one scene under one law and stepper."""
    engine, reason = _create_engine(law, stepper)
    if reason:
        return [_without_numbers(scene, engine, NOT_MODELED, reason)]
    return measure_scene(engine, scene, unclaimed)


def measure_scene(engine: Engine, scene: str, unclaimed: bool = False) -> list[ValidationRow]:
    """Measure one scene on an engine."""
    instance = registry.member_class(SCENES, "scene", scene, ValidationScene)()
    return list(_rows(scene, instance, engine, unclaimed))


@lru_cache(maxsize=1)
def _create_engine(law: str, stepper: str) -> tuple[Engine, str]:
    """Create an engine, cached with its compiled programs, and its reason to reject the law."""
    engine = _peer(law)(stepper) if law in peers() else TarsusEngine(law, stepper)
    return engine, engine.why_unsuitable()


def peers() -> tuple[str, ...]:
    """List the other engines that run scenes, except those that are also laws."""
    taken = {tarsus.NAME, *registry.names(LAWS)}
    return tuple(name for name in registry.names(ENGINES) if name not in taken)


def _peer(name: str) -> Callable[..., Engine]:
    return registry.member_class(ENGINES, "engine", name, Engine)


def engines(
    law: str | None, stepper: str | None, settings: Sequence[str] = tuple(NAMED)
) -> list[Engine]:
    """Create the engines to measure.

    Parameters
    ----------
    law, stepper
        Names, or None for all. Another engine is measured if `law` is its name, or if neither law
        nor stepper is named.
    settings
        Names of MuJoCo's settings, each a separate engine; other engines have all their variants.
    """
    names = _select("law", law, registry.names(LAWS), *peers())
    steppers = _select("stepper", stepper, registry.names(STEPPERS))
    selected = peers() if law is None and stepper is None else [n for n in peers() if n == law]
    others = list[Engine]()
    for name in selected:
        make = _peer(name)
        variants = settings if name == mujoco.NAME else make.variants  # type: ignore[attr-defined]
        others += [make(variant) for variant in variants]
    if law in peers():
        return others
    return [*(TarsusEngine(name, each) for name in names for each in steppers), *others]


def _select(kind: str, name: str | None, known: tuple[str, ...], *also: str) -> tuple[str, ...]:
    """Check a name, or select all known names; a path to a Python file is read later."""
    if name is None:
        return known
    if name not in (*known, *also) and not name.endswith(registry.PYTHON_SUFFIX):
        raise unknown_name_error(kind, name, (*known, *also))
    return (name,)


def _rows(
    name: str, scene: ValidationScene, engine: Engine, unclaimed: bool
) -> Iterator[ValidationRow]:
    """Yield one row per case, or a single row if the law does not claim the scene or it fails."""
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
    """Convert a case to a row; the reason of a failure names the tolerance."""
    measured, error = (
        value if math.isfinite(value) else None for value in (case.measured, case.error)
    )
    status: Status = PASS if case.passed else FAIL
    beyond = (
        "not finite"
        if measured is None
        else f"more than {case.tolerance:.2g} {'' if case.unit == '1' else case.unit}"
    )
    reason = "" if case.passed else beyond.strip()
    names = (scene, case.name, engine.law, engine.stepper)
    return ValidationRow(
        *names, case.expected, measured, error, case.tolerance, case.unit, status, reason
    )
