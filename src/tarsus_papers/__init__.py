"""Reproduction of published results of papers, by name.

Each file or folder is one paper; `tarsus_papers.base` explains how to add one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tarsus import registry

if TYPE_CHECKING:
    from tarsus_papers.base import Experiment, Finding

KIND = "experiments"


def load(name: str) -> Experiment:
    """Return the experiment of a name; raise UnknownName if there is none."""
    return registry.member_module(__name__, "experiment", name).EXPERIMENT


def names() -> tuple[str, ...]:
    """Return the names of all experiments."""
    return registry.names(__name__)


def gallery() -> str:
    """Return the documentation page of the experiments, docs/gallery.md."""
    from tarsus_papers import _gallery

    return _gallery.gallery({name: load(name) for name in names()})


def findings(
    experiment: Experiment,
    parts: Sequence[str] = (),
    quick: bool = False,
    on_progress: Callable[[str], None] = lambda text: None,
) -> dict[str, Finding]:
    """Measure parts (all by default) and those they need, one after the other.

    Parameters
    ----------
    experiment
        The experiment.
    parts
        Names of parts.
    quick
        Whether to run the reduced version.
    on_progress
        Called with progress messages.

    Returns
    -------
    dict
        Findings by part.
    """
    from tarsus_papers.base import Task

    results: dict[str, Finding] = {}
    selected = experiment.select(parts)
    for k, part in enumerate(selected):
        step = f"[{k + 1}/{len(selected)}] {part.name}"
        on_progress(step)
        task = Task(quick, lambda text, step=step: on_progress(f"{step}: {text}"), results)
        results[part.name] = part.measure(task)
    return results


def reproduce(
    name: str,
    out: Path | str | None = None,
    parts: Sequence[str] = (),
    quick: bool = False,
    on_progress: Callable[[str], None] = lambda text: None,
) -> dict[str, Any]:
    """Measure an experiment and return the content of its JSON file.

    Parameters
    ----------
    name
        Name of the experiment.
    out
        Folder for NAME.html and NAME.json, both written completely or not at all; None: no files.
    parts
        Names of parts; all by default.
    quick
        Whether to run the reduced version.
    on_progress
        Called with progress messages.

    Raises
    ------
    TarsusError
        For an unknown name, and for a folder that cannot be written.
    """
    from tarsus.files import json_text
    from tarsus_papers import _page, _record

    # report mistakes before the long measurement
    experiment = load(name)
    experiment.select(parts)
    folder = _record.writable_folder(Path(out)) if out is not None else None
    # measure
    results = findings(experiment, parts, quick, on_progress)
    record = _record.record(name, experiment, results, quick)
    # write the page and its data
    if folder is not None:
        on_progress("drawing the page")
        page, data = _page.page(experiment, results, record), json_text(record, indent=1) + "\n"
        _record.write({folder / f"{name}.html": page, folder / f"{name}.json": data})
    return record


def failed_checks(record: Mapping[str, Any]) -> list[str]:
    """Return the failed checks of a record, one sentence each."""
    return [
        f"{name}: {check['claim']}: {check['numbers']}"
        for name, part in record["parts"].items()
        for check in part["checks"]
        if not check["holds"]
    ]
