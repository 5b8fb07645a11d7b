"""Record of a reproduction for its JSON file: findings, settings, versions and machine."""

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
from tarsus.program.run.machine import detect_host
from tarsus_papers.base import Experiment, Finding

LIBRARIES = ("tarsus", "numpy", "casadi", "llvmlite", "matplotlib")


def record(
    name: str, experiment: Experiment, results: Mapping[str, Finding], quick: bool
) -> dict[str, Any]:
    """Return all findings and their context as JSON values, with None for non-finite numbers."""
    parts = {part.name: part for part in experiment.parts}
    return json_value(
        {
            # experiment
            "experiment": name,
            "title": experiment.title,
            "citation": experiment.paper.text(),
            "quick": quick,
            "measured": datetime.now(UTC).isoformat(timespec="seconds"),
            # context
            "machine": machine(),
            "versions": versions(),
            # findings
            "parts": {
                key: {
                    "title": parts[key].title,
                    "location": parts[key].location,
                    "rows": [asdict(row) | {"ratio": row.ratio} for row in finding.rows],
                    "tables": [asdict(table) for table in finding.tables],
                    "checks": [asdict(check) for check in finding.checks],
                    "notes": list(finding.notes),
                    "data": finding.data,
                }
                for key, finding in results.items()
            },
        }
    )


def machine() -> dict[str, str]:
    """Return processor, cores and system, in words."""
    cpu_info = detect_host()
    return {
        "processor": (
            f"{_processor()} ({cpu_info.cpu}, {cpu_info.lanes(64)} 64-bit lanes per instruction)"
        ),
        "cores": str(os.cpu_count()),
        "system": f"{platform.system()} {platform.release()}, {platform.machine()}",
    }


def _processor() -> str:
    """Return the name of the processor as the system gives it."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text(errors="replace").splitlines() if cpuinfo.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries behind the numbers."""
    return {"python": platform.python_version()} | {
        name: metadata.version(name) for name in LIBRARIES
    }


def writable_folder(folder: Path) -> Path:
    """Create a folder if needed and return it; raise InvalidFile if it is not writable."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f".{os.getpid()}.part"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise InvalidFile(f"cannot write to {folder}: {error.strerror}.", folder) from None
    return folder


def write(files: Mapping[Path, str]) -> None:
    """Write all files or none; raise InvalidFile on failure."""
    try:
        write_text(files)
    except OSError as error:
        raise InvalidFile(
            f"cannot write {', '.join(str(path) for path in files)}: {error.strerror}.",
            next(iter(files)),
        ) from None
