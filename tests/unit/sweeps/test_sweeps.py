"""Sweeps: samples, chunks that survive a kill, the same bits with every engine."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.ball import INERTIA, MASS, RADIUS, beside
from helpers.refused import refused

import tarsus
from tarsus import cli
from tarsus.errors import IncompatibleOptions, InvalidValue, TarsusError, UnknownName
from tarsus.sweeps import query, spec
from tarsus.sweeps.chunk_simulation import chunk_simulation
from tarsus.sweeps.groups import group_worlds
from tarsus.sweeps.sampling import ListAxis, RangeAxis, sample_axes
from tarsus.sweeps.store import Store
from tarsus.viewer.log_accessor import open_log

G = 9.81
OWN = """
def height(simulation):
    return simulation.q.reshape(-1, 7)[:, 2]
def way(simulation):
    return simulation.q.reshape(-1, 7)[:, 0]
"""


@pytest.fixture
def folder(tmp_path: Path, ball: Path) -> Path:
    return beside(tmp_path, ball, OWN)


def dropped(**changed: Any) -> dict[str, Any]:
    """A ball that is pushed and rolls, in 40 worlds."""
    fixed = {"robot": "ball.xml", "gait": "free", "seconds": 0.2, "push.body": "ball"}
    return {
        "fixed": {**fixed, "push.at": 0.05, "push.seconds": 0.1},
        "vary": {
            "push.x": {"low": -5.0, "high": 5.0},
            "mass.ball": {"low": 0.5, "high": 2.0, "log": True},
        },
        "sample": {"method": "latin", "count": 40, "seed": 2},
        "outcomes": {"names": ["fell", "speed", "peak_force"], "file": "own.py"},
        **changed,
    }


def chunks(out: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (out / "chunks").glob("*.parquet")}


# ---------------------------------------------------------------- samples and specs


def test_samples_fill_the_axes() -> None:
    axes = {
        "a": RangeAxis("a", 0.0, 1.0, steps=3),
        "b": RangeAxis("b", 1.0, 100.0, log=True, steps=2),
        "c": ListAxis("c", ("x", "y")),
    }
    grid = sample_axes(axes, "grid", 0, 0)
    assert len({(a, b, c) for a, b, c in zip(*grid.values(), strict=True)}) == 12
    assert set(grid["b"]) == {1.0, 100.0} and set(grid["a"]) == {0.0, 0.5, 1.0}
    latin = sample_axes(axes, "latin", 50, 1)
    assert sorted((np.array(latin["a"]) * 50).astype(int)) == list(range(50)), "one a stratum"
    exponent = np.log10(latin["b"]) / 2
    assert sorted((exponent * 50).astype(int)) == list(range(50))
    assert latin["c"].count("x") == 25
    assert sample_axes(axes, "random", 9, 4) == sample_axes(axes, "random", 9, 4)
    assert sample_axes(axes, "random", 9, 4) != sample_axes(axes, "random", 9, 5)
    whole = RangeAxis("n", 0, 3, whole=True).values_at(np.array([0.0, 0.4, 1.0]))
    assert whole == [0, 1, 3] and all(type(n) is int for n in whole)


@pytest.mark.parametrize(
    ("given", "kind", "subject"),
    [
        ({"vary": {"law.mu": [0.1]}}, InvalidValue, "robot"),
        ({"fixed": {"robot": "b"}, "vary": {"robots": ["a"]}}, UnknownName, "robots"),
        ({"fixed": {"robot": "b"}, "vary": {"law.mu": 3}}, InvalidValue, "law.mu"),
        ({"fixed": {"robot": "b", "dt": 1}, "vary": {"dt": [1]}}, IncompatibleOptions, "dt"),
        ({"fixed": {"robot": "b"}, "sampel": {}}, UnknownName, "sampel"),
        ({"fixed": {"robot": "b"}, "sample": 3}, InvalidValue, "sample"),
        ({"fixed": {"robot": "b"}, "sample": {"method": "sobol"}}, UnknownName, "sobol"),
        ({"fixed": {"robot": "b"}, "sample": {"method": "latin"}}, InvalidValue, "count"),
        ({"fixed": {"robot": "b"}, "sample": {"count": 3}}, IncompatibleOptions, "count"),
        ({"fixed": {"robot": "b"}, "vary": {"dt": {"low": 2, "high": 1}}}, InvalidValue, "dt"),
        ({"fixed": {"robot": "b", "option.worlds": 2}}, UnknownName, "worlds"),
        ({"fixed": {"robot": "b", "push.x": 2}}, IncompatibleOptions, "push.x"),
        ({"fixed": {"robot": "b", "seconds": -1}}, InvalidValue, "seconds"),
        ({"fixed": {"robot": "b", "dt": 0.0}}, InvalidValue, "dt"),
        ({"fixed": {"robot": "b", "dt": "fast"}}, InvalidValue, "dt"),
        ({"fixed": {"robot": "b", "push.body": "b", "push.at": 2.0}}, InvalidValue, "push.at"),
        (
            {"fixed": {"robot": "b", "push.body": "b"}, "vary": {"push.at": [1, -1]}},
            InvalidValue,
            "push.at",
        ),
        (
            {"fixed": {"robot": "b", "push.body": "b", "push.seconds": 0}},
            InvalidValue,
            "push.seconds",
        ),
        ({"fixed": {"robot": "b", "law.mw": 2}}, UnknownName, "mw"),
        ({"fixed": {"robot": "b", "fixed_bass": True}}, UnknownName, "fixed_bass"),
    ],
)
def test_a_bad_spec_is_refused(
    given: dict[str, Any], kind: type[TarsusError], subject: str
) -> None:
    with refused(kind, subject):
        group_worlds(spec.from_tables(given))


@pytest.mark.parametrize(
    ("fixed", "kind", "subject"),
    [
        ({"mass.bal": 1.1}, UnknownName, "bal"),
        ({"command.speed": 0.1}, UnknownName, "speed"),
        ({"gait": "stand", "gait.kpp": 1.0}, UnknownName, "kpp"),
        ({"gait": "stnad"}, UnknownName, "stnad"),
        ({"gait": "trot", "command.sped": 0.1}, UnknownName, "sped"),
        ({"stepper": "midpt"}, UnknownName, "midpt"),
        ({"stepper.order": 2}, UnknownName, "order"),
        ({"terrain": "plnae"}, UnknownName, "plnae"),
        ({"law": "moreauu"}, UnknownName, "moreauu"),
        ({"option.keyframe": "home"}, UnknownName, "home"),
        ({"option.contacts": "bal"}, UnknownName, "bal"),
        ({"option.coordinates": "least"}, UnknownName, "least"),
        ({"mass.ball": "heavy"}, InvalidValue, "mass.ball"),
        ({"noise.q": "some"}, InvalidValue, "noise.q"),
    ],
)
@pytest.mark.parametrize("dry", [True, False])
def test_unknown_names_are_rejected_at_once(
    folder: Path, fixed: dict[str, Any], kind: type[TarsusError], subject: str, dry: bool
) -> None:
    given = {"robot": "ball.xml", "gait": "free", "seconds": 0.1, **fixed}
    out = folder / "out"
    with refused(kind, subject):
        tarsus.sweep(
            spec.from_tables({"fixed": given, "vary": {"seed": [1, 2]}}, folder),
            out,
            "inline",
            dry_run=dry,
        )
    assert not out.exists()


@pytest.mark.parametrize("dry", [True, False])
@pytest.mark.parametrize(
    ("fixed", "named"),
    [
        ({"push.body": "bal"}, "'bal'"),
        ({"robot": "bal.xml"}, "bal.xml"),
        ({"option.bounce": 3}, "bounce"),
    ],
)
def test_invalid_simulations_end_a_sweep_at_once(
    folder: Path, fixed: dict[str, Any], named: str, dry: bool
) -> None:
    given = {"robot": "ball.xml", "gait": "free", "seconds": 0.1, **fixed}
    out = folder / "out"
    with pytest.raises(TarsusError, match=named):
        tarsus.sweep(
            spec.from_tables({"fixed": given, "vary": {"seed": [1, 2]}}, folder),
            out,
            "inline",
            dry_run=dry,
        )
    assert not out.exists()


def test_worlds_that_share_a_compiled_step_are_one_group(folder: Path) -> None:
    given = dropped(
        vary={
            "law": ["moreau", "compliant"],
            "law.mu": {"low": 0.1, "high": 1.0, "steps": 5},
            "dt": [0.001, 0.002],
            "seed": [1, 2, 3],
        },
        sample={},
    )
    found = group_worlds(spec.from_tables(given, folder))
    assert [len(group) for group in found] == [15] * 4
    assert all(set(group.columns) == {"law.mu", "seed"} for group in found)
    assert sorted(n for group in found for n in group.samples) == list(range(60))


# ---------------------------------------------------------------- rows


def test_rows_match_mechanics_and_are_computed_once(folder: Path) -> None:
    out = folder / "out"
    asked = spec.from_tables(dropped(), folder)
    first = tarsus.sweep(asked, out, "inline")
    assert (first.worlds, first.groups, first.skipped, first.lost) == (40, 1, 0, ())
    assert first.done == first.chunks > 1
    table = query.run_sql(out)
    # it rolls under a push of 0.1 s, and on; it presses with its weight
    heavy = (MASS + INERTIA / RADIUS**2) * table["mass.ball"]
    middle = 0.2 - 0.05 - 0.05  # s from the middle of the push to the end
    way = table["push.x"] / heavy * 0.1 * middle
    np.testing.assert_allclose(table["way"], way, rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(table["height"], RADIUS, rtol=1e-6)
    np.testing.assert_allclose(table["speed"], table["way"] / 0.2, rtol=1e-12)
    np.testing.assert_allclose(table["peak_force"], MASS * G * table["mass.ball"], rtol=1e-3)
    assert not table["fell"].any()
    assert table["failure"].isna().all() and table["sample"].tolist() == list(range(40))
    # again: nothing to do; one lost: it alone, with the same bytes
    before = chunks(out)
    again = tarsus.sweep(asked, out, "inline")
    assert (again.done, again.skipped) == (0, first.chunks) and chunks(out) == before
    victim = sorted(before)[0]
    (out / "chunks" / victim).unlink()
    assert tarsus.sweep(asked, out, "inline").done == 1 and chunks(out) == before
    assert not [p for p in out.rglob(".*") if p.name != ".part"], "nothing half-written stays"


def test_rows_do_not_depend_on_the_chunks(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = spec.from_tables(dropped(), folder)
    tarsus.sweep(asked, folder / "one", "inline")
    monkeypatch.setattr(Store, "chunk_sizes", lambda self, groups, measured: [7] * len(groups))
    tarsus.sweep(asked, folder / "other", "inline")
    tables = [query.run_sql(folder / name).drop(columns="chunk") for name in ("one", "other")]
    assert tables[0].equals(tables[1]), "to the last bit"


def test_rejected_or_diverged_worlds_fail_alone(folder: Path) -> None:
    given = dropped(vary={"law.mu": [0.1, -1.0, 0.5], "noise.u": [0.0, 1e10]}, sample={})
    tarsus.sweep(spec.from_tables(given, folder), folder / "out", "inline")
    table = query.run_sql(folder / "out")
    refused, lost = table["law.mu"] < 0, table["noise.u"] > 1
    assert table[refused]["failure"].str.contains("mu must").all()
    assert table[lost & ~refused]["failure"].str.contains("left the physical range").all()
    fine = ~refused & ~lost
    assert table[fine]["failure"].isna().all() and table[fine]["height"].notna().all()
    assert table[~fine][["height", "speed", "fell"]].isna().all(axis=None)


def test_initial_noise_depends_on_its_seed(folder: Path) -> None:
    given = dropped(vary={"seed": [3, 1, 3], "noise.u": [0.1]}, sample={})
    tarsus.sweep(spec.from_tables(given, folder), folder / "out", "inline")
    way = query.run_sql(folder / "out")["way"].tolist()
    assert way[0] == way[2] != way[1]


def test_initial_noise_respects_mimic_joints_and_objects(tmp_path: Path) -> None:
    geom = '<geom type="sphere" size="0.1" mass="1"/>'
    (tmp_path / "arm.xml").write_text(
        f"""<mujoco><worldbody>
        <body name="base" pos="0 0 1"><freejoint/>{geom}
        <body name="a" pos=".3 0 0"><joint name="a" axis="0 1 0"/>{geom}
        <body name="b" pos=".3 0 0"><joint name="b" axis="0 1 0"/>{geom}</body></body></body>
        <body name="aside" pos="0 2 1"><freejoint/>{geom}</body></worldbody>
        <equality><joint joint1="b" joint2="a" polycoef="0 -2 0 0 0"/></equality></mujoco>"""
    )
    fixed = {"robot": "arm.xml", "gait": "free", "seconds": 0.1, "noise.q": 0.1}
    asked = {"fixed": fixed, "vary": {"seed": [1, 2]}, "outcomes": {"names": ["fell"]}}
    (whole,) = group_worlds(spec.from_tables(asked, tmp_path))
    q = chunk_simulation(whole).q
    still = chunk_simulation(replace(whole, columns=whole.columns | {"noise.q": [0.0, 0.0]})).q
    assert np.allclose(q[:, 8], -2 * q[:, 7], rtol=0, atol=1e-12), "b follows a"
    assert (abs(q[:, 7] - still[:, 7]) > 1e-3).all() and q[0, 7] != q[1, 7]
    assert (q[:, 9:] == still[:, 9:]).all(), "what stands aside is no joint of the robot"


def test_commands_of_sweeps(folder: Path, capsys: pytest.CaptureFixture) -> None:
    lines = ['[fixed]\nrobot = "ball.xml"\ngait = "free"\nseconds = 0.1\npush.body = "ball"\n']
    lines += ['[vary]\n"push.x" = { low = 0, high = 5, steps = 20 }\n"push.at" = [0.01, 0.02]\n']
    lines += ['[outcomes]\nnames = ["speed"]\n']
    (folder / "sweep.toml").write_text("\n".join(lines))
    asked, out = str(folder / "sweep.toml"), str(folder / "out")
    arguments = ["sweep", asked, "--out", out, "--engine", "inline"]
    assert cli.main([*arguments, "--dry-run"]) == 0
    assert "40 worlds in 6 chunks, 2 programs to compile, 1600 steps" in capsys.readouterr().out
    assert not Path(out).exists()
    assert cli.main(arguments) == 0 and "40 worlds" in capsys.readouterr().out
    sql = 'SELECT "push.at" AS begun, count(*) AS n FROM rows GROUP BY begun ORDER BY begun'
    assert cli.main(["results", out, "--sql", sql, "--json"]) == 0
    assert capsys.readouterr().out.strip() == '[{"begun": 0.01, "n": 20}, {"begun": 0.02, "n": 20}]'
    picture, page = str(folder / "a.png"), str(folder / "a.html")
    plot = ["--plot", "push.x", "speed", "--by", "push.at"]
    assert cli.main(["results", out, *plot, "--out", picture]) == 0
    assert cli.main(["results", out, *plot, "--out", page]) == 0
    assert "40 worlds, 0 failed" in Path(page).read_text()
    assert cli.main(["results", out, "--sql", "SELECT nothing"]) == 2
    assert "'SELECT * FROM rows LIMIT 1'" in capsys.readouterr().err
    assert cli.main(["results", str(folder)]) == 2


# ---------------------------------------------------------------- engines


def finished(folder: Path, engine: str) -> dict[str, bytes]:
    out = folder / engine
    report = tarsus.sweep(spec.from_tables(dropped(), folder), out, engine, workers=2)
    assert not report.lost and report.done == report.chunks
    return chunks(out)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["processes", "ray", "slurm"])
def test_engines_give_the_same_bytes(
    folder: Path, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TARSUS_SLURM", "local")
    if engine in ("ray", "slurm"):
        pytest.importorskip({"ray": "ray", "slurm": "submitit"}[engine])
    asked = spec.from_tables(dropped(), folder)
    tarsus.sweep(asked, folder / "inline", "inline")
    shutil.copytree(folder / "inline", folder / engine, ignore=lambda d, names: ["chunks"])
    assert finished(folder, engine) == chunks(folder / "inline")


@pytest.mark.slow
def test_a_cluster_of_two_nodes(folder: Path) -> None:
    """Ray's own program starts a head and a second node on this machine."""
    pytest.importorskip("ray")
    program = str(Path(sys.executable).with_name("ray"))
    port = "6399"
    nodes = [["--head", f"--port={port}"], [f"--address=127.0.0.1:{port}"]]
    try:
        for node in nodes:
            start = [program, "start", *node, "--num-cpus=1", "--disable-usage-stats"]
            subprocess.run(start, check=True, capture_output=True, timeout=120)
        tarsus.sweep(spec.from_tables(dropped(), folder), folder / "inline", "inline")
        shutil.copytree(folder / "inline", folder / "ray", ignore=lambda d, n: ["chunks"])
        assert finished(folder, "ray") == chunks(folder / "inline")
    finally:
        subprocess.run([program, "stop", "--force"], capture_output=True, timeout=120)


KILLED = """
import sys, tarsus
from pathlib import Path
from tarsus.sweeps import spec
if __name__ == "__main__":
    given = eval(sys.argv[1])
    tarsus.sweep(spec.from_tables(given, Path(sys.argv[2])), sys.argv[3], "processes", workers=2)
"""


@pytest.mark.slow
def test_killed_sweeps_resume(folder: Path) -> None:
    """Killed as soon as some chunks are there: what is there is whole, with the trajectories that
    it keeps, and the rest is made.
    """
    given = dropped(sample={"method": "latin", "count": 400, "seed": 1})
    given["trajectories"] = {"keep": 100}
    given["fixed"]["seconds"] = 2.0
    (folder / "run.py").write_text(KILLED)
    out = folder / "out"
    (out / "chunks").mkdir(parents=True)
    asked = spec.from_tables(given, folder)
    Store(out).chunk_sizes([g.digest for g in group_worlds(asked)], lambda: [8])
    arguments = [sys.executable, str(folder / "run.py"), repr(given), str(folder), str(out)]
    process = subprocess.Popen(arguments, start_new_session=True)
    end = time.monotonic() + 120
    while len(chunks(out)) < 3 and time.monotonic() < end:
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    kept = chunks(out)
    assert 3 <= len(kept) < 50
    named = query.run_sql(out, "SELECT trajectory FROM rows WHERE trajectory IS NOT NULL")
    assert len(named) == 2 * len(kept)
    for name in named["trajectory"]:
        assert open_log(out / str(name)).sizes["time"] == 800
    report = tarsus.sweep(asked, out, "inline")
    assert report.skipped == len(kept) and report.done == 50 - len(kept)
    whole = chunks(out)
    assert all(whole[name] == content for name, content in kept.items())
    assert query.run_sql(out, "SELECT count(DISTINCT sample) AS n FROM rows")["n"][0] == 400


@pytest.mark.slow
def test_chunks_of_killed_workers_are_repeated(folder: Path) -> None:
    """The worker of one chunk kills itself once."""
    (folder / "own.py").write_text(
        f"""
import os, signal
from pathlib import Path
def height(simulation):
    mark = Path({str(folder)!r}) / "killed"
    if not mark.exists() and os.getpid() != {os.getpid()}:
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return simulation.q.reshape(-1, 7)[:, 2]
"""
    )
    asked = spec.from_tables(dropped(), folder)
    report = tarsus.sweep(asked, folder / "out", "processes", workers=2)
    assert (folder / "killed").exists() and not report.lost
    assert len(query.run_sql(folder / "out")) == 40
