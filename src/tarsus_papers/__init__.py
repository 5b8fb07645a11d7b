"""The experiments by name: published results of papers, measured again.

One file or folder is one paper; `tarsus_papers.base` says how to add one.
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
    """An experiment by its name; TarsusError with near names if there is none."""
    return registry.member_module(__name__, "experiment", name).EXPERIMENT


def names() -> tuple[str, ...]:
    """The experiments there are."""
    return registry.names(__name__)


def gallery() -> str:
    """The documentation's page of experiments, docs/gallery.md."""
    from tarsus_papers import _gallery

    return _gallery.gallery({name: load(name) for name in names()})


def findings(
    experiment: Experiment,
    parts: Sequence[str] = (),
    quick: bool = False,
    tell: Callable[[str], None] = lambda text: None,
) -> dict[str, Finding]:
    """Measure the parts named (all by default) and those they need, one after the other."""
    from tarsus_papers.base import Task

    found: dict[str, Finding] = {}
    chosen = experiment.chosen(parts)
    for k, part in enumerate(chosen):
        step = f"[{k + 1}/{len(chosen)}] {part.name}"
        tell(step)
        task = Task(quick, lambda text, step=step: tell(f"{step}: {text}"), found)
        found[part.name] = part.measure(task)
    return found


def reproduce(
    name: str,
    out: Path | str | None = None,
    parts: Sequence[str] = (),
    quick: bool = False,
    tell: Callable[[str], None] = lambda text: None,
) -> dict[str, Any]:
    """Measure an experiment, and return what its JSON file holds.

    out: folder for NAME.html and NAME.json, both written whole or not at all; None: no files.
    parts: names; all by default.
    quick: the reduced version.
    tell: called with a line on what is being run.

    Raises TarsusError for an unknown name and for a folder that cannot be written.
    """
    from tarsus.files import json_text
    from tarsus_papers import _page, _record

    # complain before the long measurement, not after it
    experiment = load(name)
    experiment.chosen(parts)
    folder = _record.writable(Path(out)) if out is not None else None
    # measure
    found = findings(experiment, parts, quick, tell)
    record = _record.record(name, experiment, found, quick)
    # write the page and its data
    if folder is not None:
        tell("drawing the page")
        page, data = _page.page(experiment, found, record), json_text(record, indent=1) + "\n"
        _record.write({folder / f"{name}.html": page, folder / f"{name}.json": data})
    return record


def failed(record: Mapping[str, Any]) -> list[str]:
    """The checks of a record that do not hold, a sentence each."""
    return [
        f"{name}: {check['claim']}: {check['got']}"
        for name, part in record["parts"].items()
        for check in part["checks"]
        if not check["holds"]
    ]
