"""No reader of data runs Python code that the data names: not a file, not a module.

Every reader is handed a law, terrain, gait, ... whose code would leave a mark. A new command must
be entered in `READERS` or `READ_NOTHING`, and a new module that decodes files in `DECODERS`:
otherwise a test here fails.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import json
import re
import shutil
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pandas as pd
import pytest
import xarray as xr
from helpers.refused import refused
from onnx import helper

import tarsus
from tarsus import cli, registry
from tarsus.errors import TarsusError, UntrustedFile
from tarsus.learning.network import Network
from tarsus.learning.policy import ObservationScale, Policy
from tarsus.learning.training_spec import TrainingSpec
from tarsus.sensing.base import Sensor
from tarsus.simulation import options
from tarsus.simulation.recording import part_serialization
from tarsus.simulation.recording.log import save_log

SOURCE = Path(tarsus.__file__).parent
MODULES = {  # of Tarsus and the packages beside it
    path.relative_to(SOURCE.parent).with_suffix("").as_posix().removeprefix("tarsus/"): path
    for package in ("tarsus", "tarsus_bench", "tarsus_papers", "tarsus_unisim")
    for path in (SOURCE.parent / package).rglob("*.py")
}
KINDS = ("law", "stepper", "terrain", "gait")
FREE = '"law.mu" = { low = 0.2, high = 1.2 }'
HOSTILE = """
from pathlib import Path
Path({mark!r}).write_text("run")
from dataclasses import dataclass
from tarsus.contact.laws.moreau import Moreau as _Moreau
@dataclass(frozen=True)
class Evil(_Moreau):
    pass
def outcome(simulation):
    return 0.0
"""


@pytest.fixture
def evil(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A file whose code leaves a mark, importable by its name; no mark is left in the end."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(registry, "_trusted", {})
    monkeypatch.setattr(registry, "_loaded_files", {})
    monkeypatch.setattr(part_serialization, "_classes_of_process", {})
    file, mark = tmp_path / "evil.py", tmp_path / "mark"
    file.write_text(HOSTILE.format(mark=str(mark)))
    yield file
    assert not mark.exists()


@cache
def sound_log() -> xr.Dataset:
    """A short run, loaded."""
    return tarsus.Simulation("mini_cheetah", controller="trot").run(0.02)


def sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def named_in(attrs: dict[str, Any], kind: str, file: Path, how: str) -> dict[str, Any]:
    """Attributes of a log whose part of this kind names the file."""
    where = {"file": "evil:Evil", "module": "evil:Evil", "ours": "tarsus.evil:Evil"}[how]
    changed: dict[str, Any] = {kind: "evil", f"{kind}_class": where}
    own = {"own_file": str(file), "own_sha256": sha256(file)} if how == "file" else {}
    if how == "file":
        changed |= {f"{kind}_file": str(file), f"{kind}_file_sha256": sha256(file)}
    inside = {"class": where, "name": "evil"} | own
    changed[f"{kind}_parameters"] = json.dumps(own | {"patches": [inside], "inner": inside})
    changed["options"] = json.dumps({"precision": "float64", "sensors": {"imu": inside}})
    return attrs | changed


@cache
def logs(folder: Path, file: Path) -> list[Path]:
    """Logs that name the file in every way in which a log can name code."""
    found = []
    for kind in KINDS:
        for how in ("file", "module", "ours"):
            log = sound_log().copy()
            log.attrs = named_in(dict(log.attrs), kind, file, how)
            found.append(folder / f"{kind}_{how}.nc")
            save_log(log, found[-1])
    nested = sound_log().copy()  # its own parts are sound
    nested.attrs["options"] = json.loads(json.dumps(named_in({}, "law", file, "file")["options"]))
    found.append(folder / "nested.nc")
    save_log(nested, found[-1])
    return found


def policy(folder: Path, **changed: Any) -> Path:
    """A policy that names what is given."""
    lesson: dict[str, Any] = {
        **{"task": "velocity", "robot": "mini_cheetah", "law": "moreau", "terrain": "plane"},
        **{"dt": 0.004, "method": "ppo", "seed": 0, "settings": []},
        "gains": {"kp": [40.0] * 12, "kd": [1.0] * 12},
    }
    network = Network((48, 12))
    made = Policy(
        network,
        np.zeros(network.count, np.float32),
        ObservationScale(np.zeros(48, np.float32), np.ones(48, np.float32)),
        lesson | changed,
    )
    path = folder / f"policy_{len(list(folder.glob('*.npz')))}.npz"
    made.save(path)
    return path


# ---------------------------------------------------------------- the readers


def of_logs(*words: str, last: tuple[str, ...] = ()) -> Callable[[Path, Path], list[list[str]]]:
    return lambda folder, file: [[*words, str(log), *last] for log in logs(folder, file)]


def plays(folder: Path, file: Path) -> list[list[str]]:
    found = []
    for kind in ("law", "terrain", "task", "method"):
        for name in (file.name, str(file), "evil"):
            files = {kind: {"file": str(file), "sha256": sha256(file)}}
            made = policy(folder, **{kind: name}, files=files)
            found.append(["play", str(made), "--trials", "1", "--duration", "0.1"])
    return found


def sweeps(folder: Path, file: Path) -> list[list[str]]:
    found = []
    for kind in ("law", "terrain", "gait", "stepper"):
        spec = folder / f"{kind}.toml"
        spec.write_text(
            f'[fixed]\nrobot = "mini_cheetah"\nseconds = 0.01\n{kind} = "{file.name}"\n'
        )
        found.append(["sweep", str(spec), "--out", str(folder / kind), "--engine", "inline"])
        spec = folder / f"vary_{kind}.toml"
        spec.write_text(f'[fixed]\nrobot = "mini_cheetah"\n[vary]\n{kind} = ["{file.name}"]\n')
        found.append(["sweep", str(spec), "--out", str(folder / kind), "--dry-run"])
    spec = folder / "own.toml"
    spec.write_text(f'[fixed]\nrobot = "mini_cheetah"\n[outcomes]\nfile = "{file.name}"\n')
    return [*found, ["sweep", str(spec), "--out", str(folder / "own"), "--engine", "inline"]]


def identifications(folder: Path, file: Path) -> list[list[str]]:
    found = []
    for log in logs(folder, file):
        if log.stem == "nested" or log.stem.startswith("gait"):
            continue  # of these an identification takes nothing
        spec = folder / f"{log.stem}.toml"
        spec.write_text(f'[log]\nfiles = ["{log.name}"]\n[free]\n{FREE}\n')
        found.append(["identify", str(spec)])
    for kind in ("law", "terrain", "stepper"):
        spec = folder / f"of_{kind}.toml"
        model = f'[model]\n{kind} = "{file.name}"\n'
        spec.write_text(f'[log]\nfiles = ["nested.nc"]\n{model}[free]\n{FREE}\n')
        found.append(["identify", str(spec)])
    return found


def results(folder: Path, file: Path) -> list[list[str]]:
    (folder / "done" / "chunks").mkdir(parents=True)
    told = {"fixed": {"law": str(file)}, "outcome_file": str(file), "chunks": ["a"]}
    (folder / "done" / "sweep.json").write_text(json.dumps(told))
    row = pd.DataFrame({"sample": [0], "failure": [str(file)], "law": [str(file)]})
    row.to_parquet(folder / "done" / "chunks" / "a.parquet")
    return [["results", str(folder / "done")]]


def lessons(folder: Path, file: Path) -> list[list[str]]:
    out = folder / "learned"
    out.mkdir()
    lesson = {"task": str(file), "law": str(file), "method": str(file)}
    (out / "lesson.json").write_text(json.dumps(lesson))
    shutil.copy(policy(folder, law=str(file)), out / "policy.npz")
    return [["learn", "velocity", "--out", str(out), "--rounds", "1"]]


def contracts(folder: Path, file: Path) -> list[list[str]]:
    """Contracts that name the file as network, motion or robot, and policies trained with it."""
    whole = "rate = 50\njoints = [0]\nscale = 1\nkp = 1\nkd = 1\npositions = 0\n"
    whole += 'terms = ["motion_joint_pos"]\n'
    network = folder / "policy.toml"
    network.write_text(f'network = "{file.name}"\n{whole}')
    (folder / "deploy.yaml").write_text(
        "joint_ids_map: [0]\nstep_dt: 0.02\nextra: !!python/name:evil.Evil\n"
        "observations: {evil: {scale: !!python/object/apply:evil.Evil [1] }}\n"
    )
    inside = folder / "inside.onnx"
    contract = f'network = "{file.name}"\nrobot = "{file}"\n{whole}'
    ends = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, 1]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Neg", ["x"], ["y"])], "g", ends[:1], ends[1:])
    model = helper.make_model(graph)
    helper.set_model_props(model, {"tarsus_contract": contract})
    onnx.save(model, str(inside))
    learned = [["policy", "run", arguments[1]] for arguments in plays(folder, file)]
    return [
        *learned,
        ["policy", "run", str(inside)],
        *(
            ["policy", action, str(network), "--robot", "mini_cheetah", *config]
            for action in ("run", "check", "doctor")
            for config in ([], ["--config", str(folder / "deploy.yaml")])
        ),
    ]


READERS: dict[str, Callable[[Path, Path], list[list[str]]]] = {  # command: its hostile arguments
    "rerun": of_logs("rerun"),
    "judge": of_logs("judge"),
    "render": of_logs("render", last=("out.png", "--size", "32x32")),
    "export": of_logs("export", last=("out.csv",)),
    "identify": identifications,
    "play": plays,
    "sweep": sweeps,
    "results": results,
    "learn": lessons,
    "policy": contracts,
}
NEED_NO_PART = ("judge", "render", "export", "results")  # they go on without what is named
READ_NOTHING = {  # commands that read robots and what is typed alone, or data of ours
    *("bench", "cite", "compare", "completion", "demo", "doctor", "inspect", "list", "plan"),
    *("reproduce", "robots", "run", "validate"),
    "view",  # reads logs by `track`, as `render` does
}
DECODERS = {  # modules that decode data from files: a new one needs a reader above
    *("files", "schema"),  # JSON, TOML, .npz
    *("simulation/recording/log", "exchange/table"),
    "simulation/recording/netcdf_classic",  # the layout of what it writes
    "simulation/recording/provenance",  # texts that `log_schema` has checked
    "simulation/recording/log_robot",
    "program/ir/serialization",  # the cache, which only its user can write
    "sweeps/query",
    *("learning/folder", "validation/real/cube_tosses/data", "tarsus_bench/history"),
    *("commands/validate", "simulation/pickling"),
    *("policies/loading", "policies/importers/base", "policies/importers/tarsus"),
    "installation",  # how this package was installed, as the installer wrote it
}
CALLERS = {"comparison/imported", "comparison/rerun", "identification/recording"}  # of `read_table`
DECODING = re.compile(
    r"\b(load_dataset|open_dataset|netcdf_file|read_csv|read_parquet|ZipFile"
    r"|json\.loads?|pickle\.loads?|tomllib\.loads?|np\.load|np\.fromfile|read_table)\("
)


def test_every_decoder_is_listed() -> None:
    found = {
        name
        for name, path in MODULES.items()
        if not name.startswith("tarsus_papers/")  # they read what they wrote
        and DECODING.search(path.read_text(encoding="utf-8"))
    }
    assert found - DECODERS - CALLERS == set() and found >= DECODERS


@pytest.mark.parametrize("command", READERS)
def test_readers_do_not_run_code_named_by_data(
    command: str, evil: Path, tmp_path: Path, capfd: pytest.CaptureFixture
) -> None:
    for arguments in READERS[command](tmp_path, evil):
        code, said = cli.main([*arguments, "-q"]), capfd.readouterr().err
        assert code == (0 if command in NEED_NO_PART else 2), (arguments, said)
        assert "Traceback" not in said, (arguments, said)
        assert code == 0 or "evil" in said or command == "learn", (arguments, said)
        assert not (tmp_path / "mark").exists(), arguments


def test_every_command_is_a_reader_or_reads_nothing() -> None:
    assert set(registry.names("tarsus.commands")) == {*READERS, *READ_NOTHING}


def test_logs_in_memory_run_nothing(evil: Path, tmp_path: Path) -> None:
    for path in logs(tmp_path, evil):
        log = xr.load_dataset(path, engine="scipy")
        for read in (log.tarsus.report, lambda log=log: tarsus.rerun(log)):
            with contextlib.suppress(TarsusError):
                read()
            assert not (tmp_path / "mark").exists(), path.name


@pytest.mark.parametrize("name", sorted({*options.declared_options(), *options.POSITIONAL}))
def test_no_option_of_a_log_names_code(name: str, evil: Path, tmp_path: Path) -> None:
    for value in (str(evil), [str(evil)], {"own": str(evil)}):
        log = sound_log().copy()
        log.attrs["options"] = json.dumps(json.loads(log.attrs["options"]) | {name: value})
        with contextlib.suppress(TarsusError):
            tarsus.rerun(log)
        assert not (tmp_path / "mark").exists(), value


def test_a_path_in_data_runs_only_if_it_is_trusted(evil: Path, tmp_path: Path) -> None:
    with registry.distrust_files(), pytest.raises(UntrustedFile):
        registry.create("tarsus.sensing", "sensor", str(evil), Sensor)
    assert not (tmp_path / "mark").exists()


def test_only_the_registry_imports_by_variable_name() -> None:
    """Code that imports a module whose name is not written there, or runs text, is a door."""
    doors = set()
    for module, path in MODULES.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and _runs(node):
                doors.add(module)
    assert doors == {
        "registry",  # members of folders, and files that the user names
        "plugins",  # modules that installed packages register
        "__init__",  # names of the public interface
        "model/files",  # optional libraries by constant names
        *("references/__init__", "processes", "commands/list"),
        "simulation/pickling",  # pickles that Python itself was asked to read
    }


def _runs(call: ast.Call) -> bool:
    name = ast.unparse(call.func).rpartition(".")[2]
    if name in ("exec", "eval", "loads") and ast.unparse(call.func) in (
        "exec",
        "eval",
        "pickle.loads",
    ):
        return True
    first = call.args[0] if call.args else None
    constant = isinstance(first, ast.Constant) or (
        isinstance(first, ast.Name) and first.id.isupper()
    )
    return name in ("import_module", "__import__", "spec_from_file_location") and not constant


# ---------------------------------------------------------------- allowed, if the user says so


def test_a_file_runs_once_the_user_names_it(tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    for name in ("_trusted", "_loaded_files"):
        monkeypatch.setattr(registry, name, {})
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "soft_floor.py"
    file.write_text((SOURCE / "contact" / "laws" / "hunt_crossley.py").read_text())
    log = tarsus.Simulation("mini_cheetah", str(file), controller=None, dt=1e-3).run(0.01)
    save_log(log, tmp_path / "run.nc")

    def forget() -> None:
        for home, name in ((registry, "_trusted"), (registry, "_loaded_files")):
            monkeypatch.setattr(home, name, {})
        monkeypatch.setattr(part_serialization, "_classes_of_process", {})

    forget()
    with refused(UntrustedFile, "soft_floor.py"):
        tarsus.rerun(tmp_path / "run.nc")
    assert cli.main(["rerun", "run.nc"]) == 2 and "--trust" in capsys.readouterr().err
    assert cli.main(["rerun", "run.nc", "--trust", "soft_floor.py"]) == 0
    # moved: the checksum is what counts; changed: it is another file
    forget()
    moved = tmp_path / "elsewhere" / "soft_floor.py"
    moved.parent.mkdir()
    file.rename(moved)
    tarsus.trust(moved)
    assert tarsus.rerun(tmp_path / "run.nc").reproduced
    forget()
    moved.write_text(moved.read_text() + "# changed\n")
    tarsus.trust(moved)
    with pytest.raises(UntrustedFile, match="changed"):
        tarsus.rerun(tmp_path / "run.nc")
    assert TrainingSpec().law == "moreau"
