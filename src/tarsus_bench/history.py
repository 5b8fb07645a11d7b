"""History of `tarsus bench`: a JSON file with one entry per run, for tables and plots.

The format is {"format": 1, "entries": [{"date", "version", "commit", "processor", "load", "python",
"mujoco", "ratios", "microseconds"}, ...]}, oldest entry first. `ratios` are multiples of MuJoCo's
speed on one thread, by the names of `report.ROWS`. `load` is the average load of the last fifteen
minutes, or null if the system does not provide it.
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
GIT_TIMEOUT = 10.0  # s


def read(path: Path) -> list[dict[str, Any]]:
    """Read the entries; the list is empty if the file does not exist.

    Raises
    ------
    InvalidFile
        If the file is not a history.
    """
    if not path.exists():
        return []
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InvalidFile(f"{path} is not valid JSON: {error}.", path) from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise InvalidFile(
            f"{path} is not a history of `tarsus bench` in format {FORMAT}: choose another file.",
            path,
        )
    return list(content["entries"])


def append(path: Path, figures: Mapping[str, Any]) -> None:
    """Append the figures of `speed.bench`; create the file if it does not exist."""
    entries = [*read(path), build_entry(figures)]
    write_text({path: json_text({"format": FORMAT, "entries": entries}, indent=1) + "\n"})


def build_entry(figures: Mapping[str, Any]) -> dict[str, Any]:
    """Build an entry: date, versions, machine, ratios and times."""
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
    """Return the load average of the last fifteen minutes; None if it is not available."""
    return round(os.getloadavg()[2], 1) if hasattr(os, "getloadavg") else None


def markdown(entries: Sequence[Mapping[str, Any]]) -> str:
    """Format the ratios as a Markdown table, newest entry first."""
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
    """Return the commit of this clone, with a + if files were changed; None outside a clone."""
    here = str(Path(__file__).parent)
    command = ["git", "-C", here, "describe", "--always", "--dirty=+", "--exclude=*"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=GIT_TIMEOUT, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None
