"""Count the robot files in folders that use each part which is not simulated.

    python tools/count_unsupported.py FOLDER ...

Reads every MJCF and URDF file below the folders, each in a process of its own, and prints a table
of the parts with the number of files that use them, then the files that cannot be read, by reason.
The table in docs/robots_tested.md comes from copies of public repositories.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import tarsus
from tarsus.errors import TarsusError, TarsusWarning
from tarsus.model.mjcf_compile import compile_model
from tarsus.model.mjcf_source import Source
from tarsus.model.mjcf_unsupported import UNSUPPORTED

TIME_LIMIT = 60  # s, for one file
NOT_READ = re.compile(r"<(\w+)>|(\w+) of <(\w+)>")  # names in a note on elements without a rule
NO_ELEMENT = re.compile(r"<\?.*?\?>|<!--.*?-->|<!DOCTYPE.*?>", re.DOTALL)
ROOTS = {"mujoco": "MJCF", "robot": "URDF"}


def find_format(file: Path) -> str | None:
    """Find the format of a file by its first element: MJCF, URDF, or None."""
    text = NO_ELEMENT.sub("", file.read_text(errors="replace"))
    first = re.match(r"\s*<(\w+)", text)
    return ROOTS.get(first[1]) if first else None


def list_parts(file: Path) -> list[str]:
    """List the parts of a file that are not simulated, by code or by element."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        mechanism = tarsus.load(str(file))
    codes = {w.message.code for w in caught if isinstance(w.message, TarsusWarning)}
    if find_format(file) == "URDF":
        notes = " ".join(note for note in mechanism.unsupported if note.startswith("Not read"))
        return sorted(codes | {f"<{name[0] or name[2]}>" for name in NOT_READ.findall(notes)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = compile_model(Source.of("", file, ()))
    return sorted(codes | {code for code, each in UNSUPPORTED.items() if each.find(model).names})


def count(folders: Sequence[str]) -> None:
    """Print the tables of all files below the folders."""
    parts, reasons, read = Counter[tuple[str, str]](), Counter[str](), Counter[str]()
    names = {f for folder in folders for e in ("*.xml", "*.urdf") for f in Path(folder).rglob(e)}
    for file in sorted(names):
        if (kind := find_format(file)) is None:
            continue
        command = [sys.executable, __file__, "--one", str(file)]
        try:
            run = subprocess.run(command, capture_output=True, text=True, timeout=TIME_LIMIT)
        except subprocess.TimeoutExpired:
            reasons["takes more than a minute"] += 1
            continue
        if run.returncode:
            error = (run.stderr.strip().splitlines() or ["no message"])[-1]
            reasons[error.rpartition(f"{file.name}: ")[2][:60]] += 1
            continue
        read[kind] += 1
        parts.update((kind, part) for part in json.loads(run.stdout.splitlines()[-1]))
    print(f"read: {dict(read)}\n\n| part | files |\n|---|---|")
    for (kind, part), files in parts.most_common():
        statement = UNSUPPORTED[part].statement if part in UNSUPPORTED else part
        print(f"| {kind}: {statement} (`{part}`) | {files} |")
    print(f"\nnot read: {sum(reasons.values())}")
    for reason, files in reasons.most_common():
        print(f"{files:5} {reason}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        try:
            print(json.dumps(list_parts(Path(sys.argv[2]))))
        except TarsusError as error:
            sys.exit(str(error))
    else:
        count(sys.argv[1:])
