"""Worlds behind the interface of `mujoco.batch`: live arrays, selected worlds, the same bits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers.refused import refused

from tarsus import Simulation, TarsusError
from tarsus.errors import InvalidValue
from tarsus.mujoco_runs.batch import WorldBatch

MJCF = """<mujoco><option timestep="0.002"/>
<default><geom contype="0" conaffinity="0"/></default><worldbody>
<body name="cart"><joint name="slide" type="slide" axis="1 0 0"/>
<geom type="box" size=".1 .1 .05" mass="1"/>
<body name="pole" pos="0 0 .05"><joint name="hinge" axis="0 1 0"/>
<geom type="capsule" fromto="0 0 0 0 0 .5" size=".02" mass=".1"/></body></body></worldbody>
<actuator><motor name="push" joint="slide"/></actuator></mujoco>"""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("batch") / "cart.xml"
    path.write_text(MJCF)
    return path


def test_the_batch_matches_mujoco_batch(tmp_path: Path) -> None:
    """The same loop on both; without contacts they differ by their integrators, both of first
    order: half the step, half the difference.
    """
    mujoco = pytest.importorskip("mujoco")
    from mujoco.batch import Batch

    apart = []
    for dt in (0.002, 0.001):
        file, ends = tmp_path / f"cart_{dt}.xml", []
        file.write_text(MJCF.replace('"0.002"', f'"{dt}"'))
        theirs = Batch(mujoco.MjModel.from_xml_path(str(file)), nsim=3, nthread=1)
        for batch in (theirs, WorldBatch(file, nsim=3, nthread=1, dt=dt)):
            qpos, ctrl = batch.bind("qpos"), batch.bind("ctrl")
            qpos[:, 1] = [0.1, 0.2, 0.3]
            for _ in range(round(0.5 / dt)):
                ctrl[:, 0] = 20 * qpos[:, 1]
                batch.step()
            ends.append(qpos.copy())
        apart.append(np.abs(ends[1] - ends[0]).max())
        assert np.abs(ends[0][:, 0]).min() > 0.02
    assert apart[0] < 0.01 and apart[1] == pytest.approx(apart[0] / 2, rel=0.1)


def test_selected_worlds_step_and_reset(file: Path) -> None:
    batch = WorldBatch(str(file), nsim=3, nthread=1)
    batch.qpos[:, 1] = 0.2
    batch.step(nstep=10)
    before = batch.qpos.copy()
    batch.step(ids=[1])
    assert (batch.qpos[[0, 2]] == before[[0, 2]]).all() and (batch.qpos[1] != before[1]).any()
    assert batch.bind("time")[1] == pytest.approx(0.022) and batch.bind("time")[0] < 0.021
    batch.reset(ids=np.array([True, False, False]))
    assert batch.qpos[0, 1] == 0.0 and batch.qpos[1, 1] != 0.0


def test_the_batch_matches_the_simulation_bitwise(file: Path) -> None:
    batch, one = WorldBatch(str(file), nsim=2, nthread=1), Simulation(str(file), dt=0.002)
    start = np.array([0.0, 0.3])
    batch.qpos[:] = start
    one.set(q=start)
    for _ in range(5):
        batch.ctrl[:] = 1.5
        batch.step()
        one.step(np.array([1.5]))
    assert (batch.qpos == one.q).all() and (batch.qvel == one.u).all()


def test_mistakes_are_reported_in_one_sentence(file: Path) -> None:
    with refused(InvalidValue, "model"):
        WorldBatch(3, nsim=2)  # type: ignore[arg-type]
    batch = WorldBatch(str(file), nsim=2, nthread=1)
    with pytest.raises(TarsusError, match="qpos"):
        batch.bind("qposs")
    with refused(InvalidValue, "ids"):
        batch.step(ids=[2])
