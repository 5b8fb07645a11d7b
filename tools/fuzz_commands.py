"""Run thousands of invalid command lines and report failures without a clear message.

    python tools/fuzz_commands.py [--count 1000] [--seed 0] [--workers 2] [--show]

Every option of every command, and every declared parameter of every law, stepper, terrain and gait,
gets invalid values: of a wrong length, not finite, huge, tiny, negative, empty, text, paths. Each
command line runs in a separate process with a time limit. Accepted outcomes are an error of one
sentence (exit code 2) and a run with finite results. Faults are a traceback, a hang, a crash and
invalid results; runs that diverge are counted separately. The exit code is 1 if there are faults.
--count 0 runs all combinations.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import math
import os
import random
import signal
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import fuzz_samples
import pandas as pd

from tarsus import cli, parameters, registry
from tarsus.contact.base import Law
from tarsus.control.base import Controller
from tarsus.parameters import Parameter
from tarsus.stepping.base import Stepper
from tarsus.terrain.base import Terrain

SECONDS, WAIT = 60, 600  # of processor time for one command line, of waiting
MAX_MESSAGE = (
    2000  # maximum length of an error message, which may repeat a long value or list all names
)
FAULTS = ("traceback", "hang", "crash", "nonsense")
FAMILIES: dict[str, tuple[str, type]] = {
    "law": ("tarsus.contact.laws", Law),
    "stepper": ("tarsus.stepping.methods", Stepper),
    "terrain": ("tarsus.terrain", Terrain),
    "gait": ("tarsus.control.gaits", Controller),
}
NUMBERS = (
    *("nan", "inf", "-inf", "1e308", "-1e308", "1e-308", "1e15", "-1e15", "1e-15", "-1", "0", ""),
    *("-0.0", "1e400", "9" * 4000, "9" * 5000, "0x10", "1,5", "1,,2", ",", "1,2,3", "1 2", "1e"),
    *(",".join(["1"] * 13), ",".join(["1"] * 1000), "nan,nan", "abc", "None", "none", "True"),
    *("½", "१", "∞", "../../etc/passwd", "{}", "[1, 2]", "--", "=", "1=2", "%s", "\n", "💥"),
)
WORDS = ("", " ", ".", "..", "/", "-", "a" * 300, "a" * 5000, "naïve", "💥", "*", "[", "%s", "\n")
PATHS = (
    "/dev/null",
    "/proc/self/mem",
    "/nowhere/x.urdf",
    "x.py",
    "/",
    "~",
    "x.xml",
    "..",
    "a" * 300,
    "pipe.xml",
    "attach_self.xml",
    "lfs.stl",
    "out",
)
QUESTIONS = (
    *("SELECT * FROM rows", "SUMMARIZE rows", "COPY rows TO 'x.csv'", "SELECT", "ATTACH 'x.db'"),
    *("SELECT * FROM read_csv('/etc/passwd')", "INSTALL httpfs", "LOAD httpfs", "SELECT 1; DROP"),
    *("SELECT * FROM read_text('pipe.xml')", "SET enable_external_access = true", "", ";", "💥"),
)
SHORT = ("--duration", "0.02", "--json")


def list_command_lines() -> list[list[str]]:
    """Return all hostile command lines, in a fixed order."""
    return [*_settings(), *_run_options(), *_other_commands()]


def yield_hostile_values(declared: Parameter) -> Iterator[str]:
    """Yield hostile values for a parameter, and the bounds of its range."""
    if not declared.is_numeric:
        yield from (*WORDS, *PATHS, "1", "nan")
        return
    yield from NUMBERS
    for bound in (declared.range.low, declared.range.high):
        if math.isfinite(bound):
            yield repr(bound)
            yield ",".join([repr(bound)] * 2)


def _settings() -> Iterator[list[str]]:
    """Yield command lines that set declared parameters of each family to hostile values."""
    for kind, (package, family) in FAMILIES.items():
        for name in registry.names(package):
            owner: Any = registry.member_class(package, kind, name, family)
            start = ["run", "mini_cheetah", *SHORT, f"--{kind}", name]
            if kind == "stepper":
                start += ["--law", "compliant"]
            for declared in parameters.declared_fields(owner).values():
                for value in yield_hostile_values(declared):
                    yield [*start, "--set", f"{declared.name}={value}"]


def _run_options() -> Iterator[list[str]]:
    start = ["run", "mini_cheetah", *SHORT]
    for option in ("--dt", "--duration", "--slope", "--friction", "--speed", "--bounce"):
        for value in NUMBERS:
            yield [*start, f"{option}={value}"]
    named = ("law", "gait", "stepper", "terrain", "contacts", "coordinates", "sensors")
    for option in (f"--{name}" for name in named):
        for value in (*WORDS, *PATHS, "nan", "moreau"):
            yield [*start, f"{option}={value}"]
    for value in (*WORDS, "=", "=1", "kp", "kp==1", "gait.=1", ".kp=1", "gait.kp.x=1", "a.b=1"):
        yield [*start, "--set", value]
    for value in ("/dev/null", "/dev/null/x", "/proc/x", "a" * 300, "/", __file__):
        yield [*start, "--out", value]
    for robot in (*WORDS, *PATHS):
        yield ["run", robot, *SHORT]
        yield ["inspect", "small.urdf", "--asset-folder", robot]
        yield ["inspect", robot, "--asset-folder", "/"]
    for question in QUESTIONS:
        yield ["results", "sweep", "--sql", question]
        if "http" not in question and "pipe" not in question:  # neither fetched nor waited for
            yield ["results", "sweep", "--external-access", "--json", "--sql", question]


def _other_commands() -> Iterator[list[str]]:
    compare = ["compare", "mini_cheetah", "--no-bars", "--no-search", "--json", "--laws", "moreau"]
    for option in ("--dts", "--duration", "--friction", "--restitution"):
        for value in NUMBERS:
            yield [*compare, *SHORT[:2], "--dts", "0.0025", f"{option}={value}"]
    for value in (*WORDS, *PATHS, "moreau,", ",", "all,moreau,foo", "mujoco,nan"):
        yield ["compare", "mini_cheetah", f"--laws={value}"]
        yield ["validate", f"--law={value}"] if value not in ("x", "all") else ["list"]
        yield ["validate", "--law", "moreau", f"--scene={value or 'x'}"]
        yield ["cite", "mini_cheetah", f"--law={value}"]
        yield ["cite", value or "x"]
        yield ["inspect", value or "x"]
        yield ["judge", value]
        yield ["list", value]
        yield ["reproduce", value or "x"]
        yield [value]
        yield ["run", "mini_cheetah", value, value]


def run_command(arguments: list[str]) -> str:
    """Run a command line; return `refused`, `accepted`, `diverged` or a described fault."""
    out, err = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = cli.main(arguments)
    except SystemExit as exit_error:
        code = exit_error.code
    except BaseException as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(place.filename).name}:{place.lineno}"
        return f"traceback: {type(error).__name__} at {where}: {str(error)[:200]}"
    return _classify(code, out.getvalue(), err.getvalue())


def _classify(code: Any, out: str, err: str) -> str:
    if "Traceback" in err:
        return f"traceback: {err[-300:]}"
    if code == 2:
        short = len(err.strip()) > 0 and len(err) < MAX_MESSAGE + 10000
        return f"refused: {err.strip()}" if short else f"nonsense: refused with {err[:200]!r}"
    if code == 1 and "diverged" in err + out:
        return f"diverged: {err.strip()[:300]}"
    if "Infinity" in out or "NaN" in out:
        return f"nonsense: not finite: {out[:200]}"
    return f"accepted: {code}"


def call_in_process(call: Callable[[], str], seconds: float = SECONDS) -> str:
    """Call a function in a separate process; return its answer, `hang` or `crash`."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        for timer, limit in ((signal.ITIMER_PROF, seconds), (signal.ITIMER_REAL, WAIT)):
            signal.setitimer(timer, limit)  # its signal ends the process
        warnings.simplefilter("ignore")
        os.write(writing, call().encode(errors="replace")[:4000])
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        answer = pipe.read().decode(errors="replace")
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        late = number in (signal.SIGALRM, signal.SIGPROF)
        return f"hang: more than {seconds} s" if late else f"crash: {number}"
    return answer or "crash: no answer"


def main() -> int:
    """Run the fuzzer and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--only", default="", help="run only command lines that contain this word")
    parser.add_argument("--show", action="store_true", help="print every answer")
    arguments = parser.parse_args()

    # the command lines; one run here, so that the forked processes have all imports
    lines = [line for line in list_command_lines() if arguments.only in " ".join(line)]
    random.Random(arguments.seed).shuffle(lines)
    lines = lines[: arguments.count or None]
    run_command(["run", "mini_cheetah", *SHORT])

    # each one in a separate process
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(arguments.workers) as pool:
        os.chdir(folder)
        fuzz_samples.write_side_files(Path(folder))
        Path("t.obj").write_text(fuzz_samples.TETRAHEDRON)
        Path("small.urdf").write_text(fuzz_samples.SMALL_URDF)
        Path("sweep", "chunks").mkdir(parents=True)
        pd.DataFrame({"sample": [0], "distance": [1.0]}).to_parquet("sweep/chunks/a.parquet")
        answers = pool.map(lambda line: call_in_process(lambda: run_command(line)), lines)
        for line, answer in zip(lines, answers, strict=True):
            kind = answer.partition(":")[0]
            counts[kind] += 1
            if arguments.show or kind in (*FAULTS, "diverged"):
                print(json.dumps([answer, *(word[:60] for word in line)], ensure_ascii=False))
    print(json.dumps(counts))
    return 1 if any(counts[fault] for fault in FAULTS) else 0


if __name__ == "__main__":
    sys.exit(main())
