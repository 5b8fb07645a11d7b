"""The record of a reproduction: findings, settings, versions and machine, for the JSON file."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from tarsus.errors import InvalidFile
from tarsus.files import json_value, write_text
from tarsus.program.run.machine import host
from tarsus_papers.base import Experiment, Finding

LIBRARIES = ("tarsus", "numpy", "casadi", "llvmlite", "matplotlib")


def record(
    name: str, experiment: Experiment, found: Mapping[str, Finding], quick: bool
) -> dict[str, Any]:
    """All findings and what they rest on, in JSON's types; a number that is not finite is None."""
    parts = {part.name: part for part in experiment.parts}
    return json_value(
        {
            # what was measured
            "experiment": name,
            "title": experiment.title,
            "citation": experiment.paper.text(),
            "quick": quick,
            "measured": datetime.now(UTC).isoformat(timespec="seconds"),
            # what it rests on
            "machine": machine(),
            "versions": versions(),
            # what was found
            "parts": {
                key: {
                    "title": parts[key].title,
                    "where": parts[key].where,
                    "rows": [asdict(row) | {"ratio": row.ratio} for row in finding.rows],
                    "tables": [asdict(table) for table in finding.tables],
                    "checks": [asdict(check) for check in finding.checks],
                    "notes": list(finding.notes),
                    "data": finding.data,
                }
                for key, finding in found.items()
            },
        }
    )


def machine() -> dict[str, str]:
    """Processor, cores and system, in words."""
    own = host()
    return {
        "processor": (
            f"{_processor()} ({own.cpu}, {own.lanes(64)} numbers of 64 bits an instruction)"
        ),
        "cores": str(os.cpu_count()),
        "system": f"{platform.system()} {platform.release()}, {platform.machine()}",
    }


def _processor() -> str:
    """The processor's name as the system gives it."""
    listed = Path("/proc/cpuinfo")
    lines = listed.read_text(errors="replace").splitlines() if listed.exists() else []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor() or platform.machine()


def versions() -> dict[str, str]:
    """Versions of Python and of the libraries behind the numbers."""
    return {"python": platform.python_version()} | {
        name: metadata.version(name) for name in LIBRARIES
    }


def writable(folder: Path) -> Path:
    """The folder, made if it is not there; TarsusError if nothing can be written to it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f".{os.getpid()}.part"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise InvalidFile(f"cannot write to {folder}: {error.strerror}.", folder) from None
    return folder


def write(files: Mapping[Path, str]) -> None:
    """Write all files or none; TarsusError if the disk refuses."""
    try:
        write_text(files)
    except OSError as error:
        raise InvalidFile(
            f"cannot write {', '.join(str(path) for path in files)}: {error.strerror}.",
            next(iter(files)),
        ) from None
