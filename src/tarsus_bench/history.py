"""The history of `tarsus bench`: one JSON file, an entry a run, for tables and plots.

{"format": 1, "entries": [{"date", "version", "commit", "processor", "load", "python", "mujoco",
"ratios", "microseconds"}, ...]}, oldest first; `ratios` are multiples of MuJoCo's speed on one
thread, by the names of `report.ROWS`; `load` is how many processes wanted a processor, on average
over the last fifteen minutes, null where the system does not tell.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from tarsus.errors import InvalidFile
from tarsus.files import json_text, write_text
from tarsus_bench.report import ROWS

FORMAT = 1
PATIENCE = 10.0  # s for git


def read(path: Path) -> list[dict[str, Any]]:
    """The entries, none if there is no file yet; TarsusError if it is no such history."""
    if not path.exists():
        return []
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InvalidFile(f"{path} is not valid JSON: {error}.", path) from None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise InvalidFile(
            f"{path} is not a history of `tarsus bench` in format {FORMAT}: choose another file.",
            path,
        )
    return list(found["entries"])


def append(path: Path, figures: Mapping[str, Any]) -> None:
    """Add what `speed.bench` measured; the file is made if it is not there."""
    entries = [*read(path), entry(figures)]
    write_text({path: json_text({"format": FORMAT, "entries": entries}, indent=1) + "\n"})


def entry(figures: Mapping[str, Any]) -> dict[str, Any]:
    """What is kept of the figures: when, what and where, ratios and times."""
    settings = figures["settings"]
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "version": metadata.version("tarsus"),
        "commit": _commit(),
        "processor": settings["processor"],
        "load": _load(),
        "python": settings["python"],
        "mujoco": settings["mujoco"].partition(",")[0],
        "ratios": {key: round(figures[key], 3) for key, _ in ROWS},
        "microseconds": {key: round(t, 4) for key, t in figures["microseconds"].items()},
    }


def _load() -> float | None:
    """The system's load over the last fifteen minutes; None where it does not tell."""
    return round(os.getloadavg()[2], 1) if hasattr(os, "getloadavg") else None


def markdown(entries: Sequence[Mapping[str, Any]]) -> str:
    """The ratios as a table, the newest first."""
    heads = ["date", "version", "commit", *(text for _, text in ROWS), "load", "processor"]
    rows = [
        [
            *(str(e[name]) for name in ("date", "version", "commit")),
            *(f"{e['ratios'][key]:.1f}" for key, _ in ROWS),
            *(str(e.get(name)) for name in ("load", "processor")),
        ]
        for e in reversed(entries)
    ]
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _commit() -> str | None:
    """The commit of this clone, with a + behind it if files were changed; None elsewhere."""
    here = str(Path(__file__).parent)
    command = ["git", "-C", here, "describe", "--always", "--dirty=+", "--exclude=*"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None
