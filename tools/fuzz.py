"""Give thousands of damaged files to Tarsus and report failures without a clear message.

    python tools/fuzz.py [--kind robots|small|logs] [--count 10000] [--seed 0] [--replay FILE]

`tarsus.model.read` reads mutants of robot files (`small`: only of three small ones), and `tarsus
judge` reads mutants of logs, each in a separate process with limits on time and memory. Accepted
outcomes are a TarsusError of one sentence and a valid result. Faults are a traceback, a hang, a
crash and an invalid result: a robot whose mass matrix is not finite and positive definite or whose
values are not physical, or a report with unexplained gaps. Files that cause faults are kept. The
exit code is 1 if there are any.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import resource
import select
import signal
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from time import process_time
from typing import IO

os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
sys.path.insert(0, str(Path(__file__).parent))

import fuzz_mutants
import fuzz_samples
import mujoco  # noqa: F401  imported once, before the processes part
import numpy as np
import scipy.spatial  # noqa: F401
import trimesh  # noqa: F401
from fuzz_samples import TETRAHEDRON, Sample
from helpers.numpy_mechanics import mass_matrix, random_state
from helpers.robots_of_the_field import robots_folder

from tarsus.cli import main as tarsus_command
from tarsus.comparison import judge  # noqa: F401
from tarsus.errors import TarsusError, TarsusWarning
from tarsus.model import check, mjcf, sdf, urdf  # noqa: F401
from tarsus.model.mechanism import Mechanism
from tarsus.model.read import read

SECONDS, WAIT, BYTES = 10, 300.0, 6 << 30  # of processor time, of waiting, of memory
BATCH = 50  # mutants of one process
LARGEST = 1e10  # in SI units: no robot has such a mass, length, inertia or torque
SUFFIX = {"mjcf": "xml", "urdf": "urdf", "sdf": "sdf", "nc": "nc", "npz": "npz"}
FAULTS = ("traceback", "hang", "crash", "nonsense")


def examine(kind: str, file: Path) -> str:
    """Read a file; return `refused: ...`, `accepted`, or a fault with its description."""
    try:
        if kind in ("mjcf", "urdf", "sdf"):
            return _robot(file)
        return _log(file)
    except TarsusError as error:
        text = str(error)
        return f"refused: {text}" if text.strip() and "\n" not in text else f"traceback: {text!r}"
    except BaseException as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(place.filename).name}:{place.lineno}"
        return f"traceback: {type(error).__name__} at {where}: {str(error)[:200]}"


def _robot(file: Path) -> str:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", TarsusWarning)
        mechanism = read(file)
    if any("not positive definite" in str(warning.message) for warning in caught):
        return "accepted with a warning"
    with np.errstate(all="ignore"):
        defect = find_nonsense(mechanism)
    return f"nonsense: {defect}" if defect else "accepted"


def find_nonsense(mechanism: Mechanism) -> str:
    """Return what is unphysical in an accepted robot, or an empty string."""
    values = {
        "mass": [body.inertia.mass for body in mechanism.bodies],
        "center of mass": [body.inertia.com for body in mechanism.bodies],
        "inertia": [body.inertia.about_com for body in mechanism.bodies],
        "place": [body.position for body in mechanism.bodies],
        "frame": [frame.position for frame in mechanism.frames],
        "candidate": [(*c.position, c.radius) for c in mechanism.candidates],
        "gravity": [mechanism.gravity_acceleration],
        "keyframe": list(mechanism.keyframes.values()),
    }
    for what, numbers in values.items():
        flat = np.concatenate([np.zeros(1), *(np.ravel(number) for number in numbers)])
        if not (np.abs(flat) <= LARGEST).all():
            return f"a {what} of {np.abs(flat).max():g}"
    resistances = [
        (b.joint.armature, b.joint.damping, b.joint.dry_friction) for b in mechanism.bodies
    ]
    if not (np.abs(np.array(resistances)) <= check.LARGEST).all():
        return f"a joint resistance of {np.abs(resistances).max():g}"
    for end in (end for motor in mechanism.actuators for end in (motor.lower, motor.upper)):
        if np.isnan(end) or (np.isfinite(end) and abs(end) > LARGEST):
            return f"a motor limit of {end}"
    for q in (mechanism.neutral(), random_state(mechanism, 1)[0]):
        M = mass_matrix(mechanism, q)
        scale = np.sqrt(np.abs(np.diag(M)))
        if not np.isfinite(M).all():
            return "the mass matrix is not finite"
        if not scale.all() or np.linalg.eigvalsh(M / np.outer(scale, scale))[0] <= -1e-12:
            return "the mass matrix is not positive definite"
    return ""


def _log(file: Path) -> str:
    outcome, output = io.StringIO(), io.StringIO()
    is_cheetah = "cheetah" in file.stem  # its log names the robot
    robot = ["--robot", "mini_cheetah" if is_cheetah else str(file.parent / "s.urdf")]
    robot = [] if is_cheetah and file.suffix == ".nc" else robot
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(outcome):
        code = tarsus_command(["judge", str(file), "--json", *robot])
    text = outcome.getvalue()
    if code == 2 and text.startswith("error: ") and "Traceback" not in text:
        return f"refused: {text.strip()}"
    if code != 0:
        return f"traceback: exit code {code}: {text[-300:]}"
    counts = json.loads(output.getvalue())
    unexplained = [
        name
        for name, value in counts["residuals"].items()
        if value is None and name not in counts["not_judged"]
    ]
    energies = counts["energy"] or {}
    unexplained += [name for name, value in energies.items() if value is None]
    return f"nonsense: no word on {', '.join(unexplained)}" if unexplained else "accepted"


def run_mutants(samples: list[Sample], folder: Path) -> Iterator[tuple[str, float]]:
    """Yield the outcome of each mutant in a separate process, and its processor time in s.

    If the process dies or hangs, another one continues with the next mutant.
    """
    done = 0
    while done < len(samples):
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            _child(samples[done:], folder, writing)
        os.close(writing)
        # a line for every mutant
        with open(reading, "rb", buffering=0) as lines:
            while done < len(samples) and (line := _read_line(lines)):
                yield tuple(json.loads(line))
                done += 1
        # the mutant that it could not answer
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if done < len(samples):
            hung = status in (-signal.SIGXCPU, -signal.SIGKILL)
            yield ("hang: it never ended" if hung else f"crash: exit code {status}"), float(SECONDS)
            done += 1


def _read_line(lines: IO[bytes]) -> bytes:
    """Read the next line; empty if the process died or hangs."""
    return lines.readline() if select.select([lines], [], [], WAIT)[0] else b""


def _child(samples: list[Sample], folder: Path, writing: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    os.chdir(folder)
    for sample in samples:
        file, start = _write_mutant(sample, folder), process_time()
        resource.setrlimit(resource.RLIMIT_CPU, (int(start) + 1 + SECONDS, resource.RLIM_INFINITY))
        outcome = examine(sample.kind, file)[:4000]
        line = json.dumps([outcome, process_time() - start]) + "\n"
        os.write(writing, line.encode())
    os._exit(0)


def _write_mutant(sample: Sample, folder: Path) -> Path:
    """Write the mutant to a folder that holds the files it may refer to."""
    fuzz_samples.write_side_files(folder)
    (folder / "t.obj").write_text(TETRAHEDRON)
    (folder / "self.xml").write_text('<mujoco><include file="self.xml"/></mujoco>')
    (folder / "s.urdf").write_text(fuzz_samples.SMALL_URDF)
    name = "cheetah" if len(sample.data) > 60_000 and sample.kind in ("nc", "npz") else "mutant"
    file = folder / f"{name}.{SUFFIX[sample.kind]}"
    file.write_bytes(sample.data)
    return file


def fuzz(kind: str, count: int, seed: int, fault_folder: Path) -> Counter[str]:
    """Count the outcomes, and save files that cause faults in `fault_folder`."""
    make, counts, slowest = fuzz_mutants.create_mutator(kind, seed), Counter[str](), 0.0
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for sample in fuzz_samples.robot_files() if kind == "robots" else ():
            examine(sample.kind, _write_mutant(sample, folder))  # meshes are read once
        for first in range(0, count, BATCH):
            samples = [make() for _ in range(min(BATCH, count - first))]
            answers = zip(samples, run_mutants(samples, folder), strict=True)
            for number, (sample, (outcome, seconds)) in enumerate(answers, first):
                word = outcome.partition(":")[0]
                counts[word] += 1
                slowest = max(slowest, seconds)
                if word in FAULTS:
                    fault_folder.mkdir(parents=True, exist_ok=True)
                    file = fault_folder / f"{kind}-{seed}-{number}.{SUFFIX[sample.kind]}"
                    file.write_bytes(sample.data)
                    print(f"{file.name}: {outcome}", flush=True)
    print(f"{kind}, seed {seed}, {count} mutants: {dict(counts)}; the slowest took {slowest:.1f} s")
    return counts


def main() -> int:
    """Run the fuzzer and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument(
        "--kind", choices=("robots", "small", "logs"), nargs="*", default=("robots", "logs")
    )
    parser.add_argument("--count", type=int, default=10_000, help="mutants of each kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--fault-folder", type=Path, default=Path("fuzz_faults"), help="folder for faults"
    )
    parser.add_argument("--replay", type=Path, help="one file, in this process")
    arguments = parser.parse_args()
    if arguments.replay:
        kind = {suffix: kind for kind, suffix in SUFFIX.items()}[arguments.replay.suffix[1:]]
        print(examine(kind, arguments.replay))
        return 0
    if folder := robots_folder():
        os.environ["ROS_PACKAGE_PATH"] = str(folder.parents[1])
    counts = sum(
        (fuzz(k, arguments.count, arguments.seed, arguments.fault_folder) for k in arguments.kind),
        Counter[str](),
    )
    return int(any(counts[fault] for fault in FAULTS))


if __name__ == "__main__":
    sys.exit(main())
