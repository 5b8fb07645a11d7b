"""Give thousands of damaged logs and policies to all commands that read them.

    python tools/fuzz_data.py [--kind logs|policies|contracts|tables] [--count 1000] [--seed 0]

Attributes, variables, JSON in attributes, types, shapes and bytes are changed. A log is rerun,
judged, drawn, exported (CSV, MCAP), reported and read for an identification. A policy is loaded
with its task, and every twentieth is played in two worlds. A contract (ONNX metadata, policy.toml,
deploy.yaml) is bound to a robot and computes one action. Accepted outcomes are success and an error
of one sentence (TarsusError, OSError). Faults are another exception, more than ten seconds of
processor time, and a file written by a Python file that the data names. Files that cause faults are
kept. The exit code is 1 if there are any.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import itertools
import json
import os
import random
import resource
import signal
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import process_time
from typing import Any

os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
import onnx
import xarray as xr
from fuzz_mutants import VALUES, WORDS, change_byte, change_values, cut_bytes

import tarsus
from tarsus.comparison.imported import read_run
from tarsus.comparison.trajectory import log_to_arrays
from tarsus.exchange.mcap_file import write_mcap
from tarsus.exchange.table import write_table
from tarsus.identification.model_parts import create_model_parts
from tarsus.identification.recording import open_log, read_motion_log
from tarsus.learning.play import draw_policy_trials, run_trials
from tarsus.learning.play import with_settings as settled
from tarsus.learning.policy import Policy
from tarsus.learning.training_spec import spec_from_metadata
from tarsus.morphology.feet import find_soles
from tarsus.mujoco_runs.simulation import MujocoSimulation
from tarsus.policies import policy_toml
from tarsus.policies.binding import BoundPolicy
from tarsus.policies.contract import Contract
from tarsus.policies.control_loop import ControlLoop
from tarsus.policies.importers.tarsus import CONTRACT_KEY
from tarsus.policies.learned import save_onnx
from tarsus.policies.loading import load_contract
from tarsus.simulation.recording.log import read_log, save_log
from tarsus.simulation.recording.log_robot import robot_of
from tarsus.viewer.ground import ground_shapes, terrain_of
from tarsus.viewer.track import build_track

SECONDS, WAIT = 10, 120  # of one reader: of processor time, of any
PLAYED = 20  # policies, of which one is played: that compiles a step
BYTES = 6 << 30  # of memory
BALL = """<mujoco model="ball"><worldbody><geom type="plane" size="9 9 1"/><body name="ball"
pos="0 0 0.3"><freejoint name="free"/><geom name="ball" type="sphere" size=".1" mass="1"/></body>
<body name="arm" pos="1 0 1"><joint name="a" type="hinge" axis="0 1 0"/><geom name="arm" size=".1"
pos=".3 0 0" mass="1" contype="0" conaffinity="0"/></body></worldbody><actuator><motor joint="a"
gear="1" ctrlrange="-5 5"/></actuator></mujoco>"""
ODD: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 1.5, 1e9, 1e300, -1e300, 10**30, 2**63, 1_000_000_000),
    *("", "x", "inf", "-inf", "nan", "../x", "evil.py", "evil:Evil", "tarsus.cli:main", "\0"),
    *([], [[]], [1, 2], [1, "x"], [[1], [2, 3]], {}, {"a": 1}, {"class": "evil:Evil"}),
    *({"function": "os.system"}, {"class": "tarsus.registry:Path"}, {"shape": [9], "sha256": "x"}),
)


class Hang(BaseException):
    """Error of a reader that takes too long."""


@contextmanager
def limit_time() -> Iterator[None]:
    """Raise `Hang` after SECONDS of processor time or WAIT of wall time."""

    def late(*_: Any) -> None:
        raise Hang

    for name in (signal.SIGALRM, signal.SIGPROF):
        signal.signal(name, late)
    signal.alarm(WAIT)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.setitimer(signal.ITIMER_PROF, 0)


# ---------------------------------------------------------------- what is changed


def change_json(value: Any, rng: random.Random) -> Any:
    """Change, remove or add one part of a JSON value."""
    if isinstance(value, dict) and value and rng.random() < 0.8:
        key = rng.choice(list(value))
        if rng.random() < 0.15:
            return {k: v for k, v in value.items() if k != key}
        if rng.random() < 0.1:
            return value | {rng.choice(("worlds", "x", "class", "dt", key + "_")): choose_odd(rng)}
        return value | {key: change_json(value[key], rng)}
    if isinstance(value, list) and value and rng.random() < 0.6:
        at = rng.randrange(len(value))
        return [*value[:at], change_json(value[at], rng), *value[at + 1 :]]
    return choose_odd(rng)


def choose_odd(rng: random.Random) -> Any:
    """Choose a strange value."""
    if rng.random() < 0.03:
        deep: Any = 0
        for _ in range(rng.choice((40, 3000))):
            deep = [deep]
        return deep
    return rng.choice(ODD)


def write_json(value: Any, rng: random.Random) -> str:
    """Write JSON text, sometimes cut off or with words that JSON does not allow."""
    try:
        text = json.dumps(value)
    except RecursionError:
        text = "[" * 3000 + "]" * 3000
    if rng.random() < 0.1:
        text = text[: rng.randrange(len(text) + 1)]
    return text.replace("1", "NaN", 1) if rng.random() < 0.05 else text


def change_attribute(attrs: dict[str, Any], rng: random.Random, evil: Path) -> None:
    """Change or remove one attribute, or let it name a file of code."""
    name, how = rng.choice(list(attrs)), rng.random()
    value = attrs[name]
    if how < 0.1:
        del attrs[name]
    elif how < 0.25:
        kind = rng.choice(("law", "stepper", "terrain", "gait"))
        digest = hashlib.sha256(evil.read_bytes()).hexdigest()
        own = {f"{kind}_file": str(evil), f"{kind}_file_sha256": digest}
        attrs |= {f"{kind}_class": "evil:Evil"} | (own if rng.random() < 0.7 else {})
    elif how < 0.65:
        name = rng.choice([n for n in attrs if str(attrs[n])[:1] == "{"] or [name])
        try:
            attrs[name] = write_json(change_json(json.loads(attrs[name]), rng), rng)
        except (ValueError, TypeError):
            attrs[name] = str(choose_odd(rng))
    else:
        numbers = (*VALUES, np.array([1.0, 2.0]), np.int32(-7), 1e-12, 1e9)
        attrs[name] = rng.choice((*numbers, *WORDS[2:9], "x" * 5000, str(value)[:5]))


def change_log(data: bytes, rng: random.Random, evil: Path) -> bytes:
    """Change a netCDF log in one to three places."""
    log = xr.load_dataset(io.BytesIO(data), engine="scipy")
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        how = rng.random()
        name = str(rng.choice(list(log.variables)))
        if how < 0.55:
            change_attribute(log.attrs, rng, evil)
        elif how < 0.65:
            log = log.drop_vars(name)
        elif how < 0.85:
            values = change_values(log[name].values, rng)
            if rng.random() < 0.3:
                values = values.astype(rng.choice(("i4", "f4", "S1", "i1")))
            log[name] = log[name].dims, values, log[name].attrs
        elif how < 0.92:
            dimension = rng.choice(list(log.sizes))
            log = log.isel({dimension: slice(0, rng.choice((0, 1, 2)))})
        elif how < 0.96:
            dimension = rng.choice(list(log.sizes))
            log = log.rename_dims({dimension: rng.choice(("world", "x", "time_"))})
        else:
            log[name] = log[name].transpose(*log[name].dims[::-1])
    found = bytes(log.to_netcdf(engine="scipy") or b"")
    return rng.choice((change_byte, cut_bytes))(found, rng) if rng.random() < 0.1 else found


def change_policy(data: bytes, rng: random.Random, evil: Path) -> bytes:
    """Change a policy in one to three places."""
    arrays: dict[str, Any] = dict(np.load(io.BytesIO(data)))
    metadata = json.loads(str(arrays["metadata"]))
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        how, name = rng.random(), rng.choice(list(arrays))
        if how < 0.6:
            if isinstance(metadata, dict) and "parameters" in metadata and rng.random() < 0.5:
                metadata["parameters"] = change_json(metadata["parameters"], rng)
            else:
                metadata = change_json(metadata, rng)
            if isinstance(metadata, dict) and rng.random() < 0.1:
                kind = rng.choice(("task", "law", "terrain", "method", "robot"))
                digest = hashlib.sha256(evil.read_bytes()).hexdigest()
                metadata |= {kind: str(evil), "files": {kind: {"file": "x", "sha256": digest}}}
            arrays["metadata"] = np.array(write_json(metadata, rng))
        elif how < 0.7 and len(arrays) > 1:
            del arrays[name]
        elif how < 0.85:
            arrays[name] = change_values(arrays[name], rng)
        elif how < 0.92:
            types = ("U8", "c16", "?", "i4", "f2", "M8[s]")
            try:
                arrays[name] = arrays[name].astype(rng.choice(types))
            except ValueError:
                arrays[name] = arrays[name][..., None]
        else:
            arrays[name] = np.atleast_1d(arrays[name])[: rng.randrange(3)]
    file = io.BytesIO()
    np.savez(file, **arrays)
    found = file.getvalue()
    return rng.choice((change_byte, cut_bytes))(found, rng) if rng.random() < 0.1 else found


# ---------------------------------------------------------------- who reads it


def create_log_readers(folder: Path) -> dict[str, Callable[[Path], object]]:
    def drawn(path: Path) -> None:
        found = build_track(read_log(path))
        ground_shapes(terrain_of(found.attributes), found.base()[:1, :2])
        _ = found.poses(0), found.contacts_at(0), found.size, found.middle

    def exported(path: Path) -> None:
        log = read_log(path)
        write_table(log, folder / "out.csv")
        write_mcap(log, robot_of(log), folder / "out.mcap")

    def identified(path: Path) -> None:
        log = open_log(path)
        robot = robot_of(log)
        create_model_parts({}, log, robot, read_motion_log(log, robot).dt)

    return {
        "rerun": tarsus.rerun,
        "judge": tarsus.judge,
        "render": drawn,
        "export": exported,
        "report": lambda path: tarsus.open_log(path).tarsus.report(),
        "identify": identified,
    }


def create_table_readers(folder: Path) -> dict[str, Callable[[Path], object]]:
    return {
        "judge": lambda path: tarsus.judge(path, str(folder / "ball.xml")),
        "identify": lambda path: read_motion_log(
            open_log(path), tarsus.load(str(folder / "ball.xml"))
        ),
        "read_run": lambda path: read_run(path, None),
    }


def create_policy_readers(folder: Path) -> dict[str, Callable[[Path], object]]:
    count = itertools.count()

    def play(path: Path) -> None:
        policy = Policy.load(path)
        lesson, _ = spec_from_metadata(policy.metadata)
        policy, ground = settled(policy, (), lesson.terrain)
        course = draw_policy_trials(policy, 2, 0.04, 0)
        if next(count) % PLAYED:
            return
        found = run_trials(policy, course, lesson.law, lesson.dt, ground)
        if found.failure:
            raise tarsus.TarsusError(found.failure)

    return {"play": play}


def create_contract_readers(folder: Path) -> dict[str, Callable[[Path], object]]:
    robot = tarsus.load("mini_cheetah")

    def act(path: Path) -> None:
        policy = BoundPolicy.of(load_contract(folder / "policy.onnx", path), robot)
        heights = np.zeros((1, len(find_soles(robot))))
        ControlLoop(policy, 1).step(
            *(0.0, policy.start()[None], np.zeros((1, robot.nu)), np.zeros((1, 3))),
            *(lambda points: np.zeros(points.shape[:-1]), heights),
        )

    def read(path: Path) -> None:
        if path.suffix != ".onnx":
            act(path)
            return
        BoundPolicy.of(load_contract(path), robot)

    return {"bind": read}


def create_valid_files(folder: Path) -> dict[str, list[tuple[str, bytes]]]:
    """Create valid files to start from, as suffix and bytes by kind."""
    ball = folder / "ball.xml"
    ball.write_text(BALL)
    kinds = ("logs", "policies", "contracts", "tables")
    found: dict[str, list[tuple[str, bytes]]] = {kind: [] for kind in kinds}
    runs: list[Any] = [
        tarsus.Simulation(str(ball), terrain=tarsus.Slope(angle=0.1)),
        tarsus.Simulation(str(ball), worlds=2, pushes=["ball"], mass_scale={"ball": [1.0, 1.5]}),
        tarsus.Simulation(str(ball), controller="stand", sensors=["imu"]),
        MujocoSimulation(str(ball)),
    ]
    runs[1].set(push={"ball": [1.0, 0.0, 0.0]}, mu=[0.2, 0.4])
    for simulation in runs:
        log = simulation.run(0.0125)
        save_log(log, folder / "log.nc")
        found["logs"].append(("nc", (folder / "log.nc").read_bytes()))
    log = runs[0].run(0.0125)
    np.savez(folder / "log.npz", **log_to_arrays(log, runs[0].robot))
    found["tables"].append(("npz", (folder / "log.npz").read_bytes()))
    for ending in ("csv", "parquet"):
        write_table(log, folder / f"log.{ending}")
        found["tables"].append((ending, (folder / f"log.{ending}").read_bytes()))
    found["tables"].append(("json", (folder / "log.csv.json").read_bytes()))
    # a policy, as `tarsus learn` writes it
    method = tarsus.PPO(worlds=4, periods=4, width=4)
    lesson = tarsus.learning.training_spec.TrainingSpec()  # pyright: ignore[reportAttributeAccessIssue]
    environment = lesson.create_environment(1)
    policy = method.create_learner(environment, 0).policy
    Policy(policy.network, policy.weights, policy.scale, lesson.metadata(environment)).save(
        folder / "policy.npz"
    )
    found["policies"].append(("npz", (folder / "policy.npz").read_bytes()))
    save_onnx(Policy.load(folder / "policy.npz"), folder / "policy.onnx")
    contract = load_contract(folder / "policy.onnx")
    found["contracts"] = [
        ("onnx", (folder / "policy.onnx").read_bytes()),
        ("toml", policy_toml.to_toml(contract, folder).encode()),
        ("yaml", write_deploy_yaml(contract).encode()),
    ]
    return found


def write_deploy_yaml(contract: Contract) -> str:
    """Write a file like those of unitree_rl_lab, for the joints of a contract."""
    count = len(contract.joints or ())
    one = f"[{', '.join(['0.25'] * count)}]"
    terms = "".join(
        f"  {name}:\n    params: {{}}\n    clip: null\n    scale: {scale}\n    history_length: 5\n"
        for name, scale in (("base_ang_vel", [0.2] * 3), ("joint_pos_rel", [1.0] * count))
    )
    return (
        f"joint_ids_map: {list(range(count))}\nstep_dt: 0.02\nstiffness: {one}\ndamping: {one}\n"
        f"default_joint_pos: {one}\ncommands:\n  base_velocity:\n    ranges:\n"
        "      lin_vel_x: [-0.5, 1.0]\nactions:\n  JointPositionAction:\n    clip: null\n"
        f"    scale: {one}\n    offset: {one}\nobservations:\n{terms}"
    )


def change_contract(ending: str, data: bytes, rng: random.Random) -> bytes:
    """Change the bytes, a value or a line of a contract."""
    if ending == "onnx" and rng.random() < 0.7:
        model = onnx.load_from_string(data)
        entry = next(p for p in model.metadata_props if p.key == CONTRACT_KEY)
        entry.value = change_contract("toml", entry.value.encode(), rng).decode(errors="replace")
        return model.SerializeToString()
    if ending == "onnx" or rng.random() < 0.2:
        return rng.choice((change_byte, cut_bytes))(data, rng)
    lines = data.decode().split("\n")
    at = rng.randrange(len(lines))
    key, sign, value = lines[at].partition("=" if ending == "toml" else ":")
    odd_value = json.dumps(rng.choice(ODD))
    change = rng.randrange(4)
    if change == 0:
        lines[at] = f"{key}{sign} {odd_value}"
    elif change == 1:
        items = value.split(",")
        items[rng.randrange(len(items))] = f" {odd_value}"
        lines[at] = f"{key}{sign}{','.join(items)}"
    elif change == 2:
        lines[at] = lines[rng.randrange(len(lines))]
    else:
        del lines[at]
    return "\n".join(lines).encode()


def change_table(ending: str, data: bytes, rng: random.Random, folder: Path) -> bytes:
    """Change the bytes or a number of a table, or the file next to it."""
    if ending == "json":
        value = json.loads(data)
        return write_json(change_json(value, rng), rng).encode()
    if ending == "csv" and rng.random() < 0.7:
        lines = data.split(b"\n")
        at = rng.randrange(len(lines))
        cells = lines[at].split(b",")
        cells[rng.randrange(len(cells))] = rng.choice((b"", b"x", b"1e999", b"nan", b"-1"))
        lines[at] = b",".join(cells)
        return b"\n".join(lines)
    return rng.choice((change_byte, cut_bytes))(data, rng)


def create_mutant(kind: str, rng: random.Random, folder: Path, base: Any, evil: Path) -> Path:
    """Create the next damaged file."""
    ending, data = rng.choice(base[kind])
    if kind == "logs":
        data = change_log(data, rng, evil)
    elif kind == "policies":
        data = change_policy(data, rng, evil)
    elif kind == "contracts":
        data = change_contract(ending, data, rng)
    else:
        data = change_table(ending, data, rng, folder)
    name = "mutant.csv.json" if ending == "json" else f"mutant.{ending}"
    (folder / "mutant.csv.json").write_bytes((folder / "log.csv.json").read_bytes())
    path = folder / name
    path.write_bytes(data)
    if ending == "json":
        path = folder / "mutant.csv"
        path.write_bytes((folder / "log.csv").read_bytes())
    return path


READER_FACTORIES = {
    "logs": create_log_readers,
    "policies": create_policy_readers,
    "contracts": create_contract_readers,
    "tables": create_table_readers,
}


def main() -> int:
    """Run the fuzzer and return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--kind", choices=tuple(READER_FACTORIES), default="logs")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--fault-folder", type=Path, default=Path("fuzz_faults"))
    arguments = parser.parse_args()
    fault_folder, counts = arguments.fault_folder.resolve(), Counter[str]()
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    warnings.simplefilter("ignore")
    reported = set[str]()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        os.chdir(folder)
        sys.path.insert(0, scratch)
        evil, mark_file = folder / "evil.py", folder / "mark"
        evil.write_text(f"from pathlib import Path\nPath({str(mark_file)!r}).write_text('run')\n")
        base, rng = create_valid_files(folder), random.Random(arguments.seed)
        readers = READER_FACTORIES[arguments.kind](folder)
        for number in range(arguments.count):
            try:
                path = create_mutant(arguments.kind, rng, folder, base, evil)
            except Exception:  # it cannot be written like this
                counts["not written"] += 1
                continue
            if number and number % 100 == 0:
                print(f"{number} mutants, {process_time():.0f} s: {dict(counts)}", flush=True)
            for name, read in readers.items():
                outcome = examine(read, path)
                if mark_file.exists():
                    outcome = "mark"
                    mark_file.unlink()
                word = outcome.partition(":")[0]
                counts[f"{name} {word}"] += 1
                if word not in ("accepted", "refused"):
                    fault_folder.mkdir(parents=True, exist_ok=True)
                    file = fault_folder / f"{arguments.kind}-{arguments.seed}-{number}-{path.name}"
                    file.write_bytes(path.read_bytes())
                    if outcome not in reported:
                        print(f"{name} {file.name}: {outcome}", flush=True)
                    reported.add(outcome)
    print(f"{arguments.kind}, seed {arguments.seed}, {arguments.count} mutants: {dict(counts)}")
    good = ("accepted", "refused", "written")
    return int(any(not name.endswith(good) for name in counts))


def examine(read: Callable[[Path], object], path: Path) -> str:
    """Read a file; return `accepted`, `refused: ...` or a fault with its description."""
    try:
        with limit_time(), np.errstate(all="ignore"):
            read(path)
    except (tarsus.TarsusError, tarsus.Diverged, OSError) as error:
        text = str(error)
        return f"refused: {text}" if text.strip() and "\n" not in text else f"no sentence: {text!r}"
    except Hang:
        return "hang"
    except BaseException as error:
        places = traceback.extract_tb(error.__traceback__)
        own = [place for place in places if "tarsus" in place.filename] or places
        where = f"{Path(own[-1].filename).name}:{own[-1].lineno}"
        return f"{type(error).__name__} at {where}: {str(error)[:200]}"
    return "accepted"


if __name__ == "__main__":
    sys.exit(main())
