"""Contact forces in the residuals, weighted by their noise, and logs as tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers.refused import refused
from numpy.typing import NDArray

import tarsus
from tarsus.dynamics.integrate import integrate
from tarsus.errors import InvalidValue, UnmetCondition
from tarsus.identification.recording import MotionLog, open_log, read_motion_log

Array = NDArray[np.float64]
MU, OF_Q, OF_U, OF_FORCE = 0.35, 2e-3, 5e-2, 0.4  # noise in m, m/s, N
PUCK = """<mujoco model="puck"><worldbody><geom type="plane" size="0 0 1"/>
<body name="puck" pos="0 0 0.1"><joint name="x" type="slide" axis="1 0 0"/>
<joint name="z" type="slide" axis="0 0 1"/><geom name="puck" type="sphere" size="0.1" mass="2"/>
</body></worldbody></mujoco>"""


@pytest.fixture(scope="module")
def slid(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Array]]:
    """A puck that slides to rest; its motion is measured with large noise and its forces with
    small noise.
    """
    path = tmp_path_factory.mktemp("puck") / "puck.xml"
    path.write_text(PUCK)
    truth = tarsus.Simulation(str(path), dt=0.005, parameters=[f"mu={MU}"])
    truth.set(u=[1.5, 0.0])
    log, random = truth.run(0.5), np.random.default_rng(3)
    q = np.concatenate([log["q_start"].values[None], log["q"].values])
    u = np.concatenate([log["u_start"].values[None], log["u"].values])
    force = np.concatenate([np.zeros((1, 3)), log["force_contact"].values[:, 0]])
    noise = [random.standard_normal(part.shape) for part in (u, u, force)]
    return path, {
        "time": 0.005 * np.arange(len(q)),
        "q": integrate(truth.robot, q, OF_Q * noise[0], 1.0),
        "u": u + OF_U * noise[1],
        f"force.{log['contact'].values[0]}": force + OF_FORCE * noise[2],
    }


def found_by(path: Path, compared: dict[str, float], logs: Any = None, **log: Any) -> Any:
    spec = {
        "log": log,
        "model": {"robot": str(path), "law": "moreau"},
        "free": {"law.mu": {"low": 0.1, "high": 0.9}},
        "compare": compared,
        "search": {"windows": 5, "candidates": 4, "tries": 1, "scan": False},
    }
    return tarsus.identify(spec, logs)


def as_table(log: dict[str, Array], table: Path) -> Path:
    """A .csv with columns time, q[0], q[1], ... and force.CONTACT[0], ..."""
    names, columns = ["time"], [log["time"]]
    for name in log:
        if name != "time":
            names += [f"{name}[{k}]" for k in range(log[name].shape[1])]
            columns += list(log[name].T)
    np.savetxt(table, np.stack(columns, 1), "%.17g", ",", header=",".join(names), comments="")
    return table


def test_forces_weigh_by_their_own_noise(slid: Any, tmp_path: Path) -> None:
    """With a table as the log."""
    path, log = slid
    table = as_table(log, tmp_path / "slid.csv")
    motion_alone = {"q": OF_Q, "u": OF_U}
    without = found_by(path, motion_alone, files=str(table))["law.mu"]
    found = found_by(path, motion_alone | {"force": OF_FORCE}, files=str(table))
    mu = found["law.mu"]
    assert mu.low < MU < mu.high and abs(mu.value / MU - 1) < 0.02
    assert mu.high - mu.low < 0.3 * (without.high - without.low)
    assert 0.8 < found.after["force"] < 1.2  # in their own deviations


def test_tables_and_arrays_are_equivalent(slid: Any, tmp_path: Path) -> None:
    path, log = slid
    robot = tarsus.load(str(path))
    read = read_motion_log(open_log(as_table(log, tmp_path / "slid.csv")), robot)
    told = read_motion_log(log, robot)
    assert read.dt == told.dt and np.array_equal(read.q, told.q) and np.array_equal(read.u, told.u)
    assert list(read.force) == list(told.force)
    assert all(np.array_equal(read.force[name], told.force[name]) for name in told.force)


def test_missing_forces_are_reported(slid: Any) -> None:
    path, log = slid
    motion_alone = {name: value for name, value in log.items() if not name.startswith("force")}
    with refused(UnmetCondition, "compare.force"):
        found_by(path, {"q": OF_Q, "force": OF_FORCE}, motion_alone)


def test_downsampled_logs_contain_mean_forces() -> None:
    k = np.arange(9.0)
    log = MotionLog(0.001, k[:, None], -k[:, None], k[:, None], {"foot": np.tile(k, (3, 1)).T})
    thin = log.resample(0.004)
    assert thin.dt == 0.004 and thin.q[:, 0].tolist() == [0, 4, 8]
    assert thin.action[:, 0].tolist() == [0, 2.5, 6.5] == thin.force["foot"][:, 2].tolist()
    with refused(InvalidValue, "log.sample"):
        log.resample(0.0025)
