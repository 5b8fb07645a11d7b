"""MuJoCo Warp on the same GPU with the same robot and recorded trot, if it is installed."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from time import perf_counter
from typing import Any

import numpy as np

from tarsus import robots
from tarsus.control.gaits.trot import Trot
from tarsus.mujoco_runs.library import mujoco
from tarsus.mujoco_runs.replay import Replay, frictionless_joints
from tarsus.mujoco_runs.settings import tuned_settings
from tarsus.mujoco_runs.simulation import MujocoSimulation
from tarsus_bench.gpu_speed import DT, FRICTION

MAX_CONTACTS = 8  # per world; the trot has four
MAX_ROWS = 64  # constraint rows per world


def speed(worlds: Sequence[int], steps: int) -> dict[str, Any]:
    """Measure the world-steps per second for each number of worlds.

    The torques of the recorded trot are replayed in every world.

    Raises
    ------
    ImportError
        If mujoco_warp (package mujoco-warp) is not installed.
    """
    warp, mjw = importlib.import_module("warp"), importlib.import_module("mujoco_warp")
    # the trot that is replayed
    robot = frictionless_joints(robots.load("mini_cheetah").with_contacts("*_foot"))
    trot = MujocoSimulation(robot, tuned_settings(FRICTION), controller=Trot(), dt=DT)
    peer = trot.replay(trot.run(steps * DT))
    # replay in many worlds
    by_worlds = {count: _measure_rate(warp, mjw, peer, count, steps) for count in worlds}
    return {
        "best": max(by_worlds.values()),
        "by_worlds": by_worlds,
        "version": mjw.__version__ if hasattr(mjw, "__version__") else None,
        "warp": warp.__version__,
        "device": str(warp.get_device()),
        "settings": tuned_settings(FRICTION).description(),
        "options": {
            "solver": int(peer.model.opt.solver),
            "cone": int(peer.model.opt.cone),
            "iterations": int(peer.model.opt.iterations),
            "tolerance": float(peer.model.opt.tolerance),
        },
    }


def _measure_rate(warp: Any, mjw: Any, peer: Replay, worlds: int, steps: int) -> float:
    """Measure the world-steps per second of the second replay; the first one compiles."""
    mj = mujoco()
    start = mj.MjData(peer.model)
    mj.mj_setState(peer.model, start, peer.start[0], mj.mjtState.mjSTATE_FULLPHYSICS)
    mj.mj_forward(peer.model, start)
    model = mjw.put_model(peer.model)
    torques = warp.array(
        np.broadcast_to(peer.control[:steps, None], (steps, worlds, peer.model.nu)).astype(
            np.float32
        )
    )
    rates = []
    for _ in range(2):
        data = mjw.put_data(peer.model, start, nworld=worlds, nconmax=MAX_CONTACTS, njmax=MAX_ROWS)
        step = _step(warp, mjw, model, data)
        warp.synchronize()
        began = perf_counter()
        for k in range(steps):
            warp.copy(data.ctrl, torques[k])
            step()
        warp.synchronize()
        rates.append(steps * worlds / (perf_counter() - began))
    return rates[-1]


def _step(warp: Any, mjw: Any, model: Any, data: Any) -> Any:
    """Create a function that makes one step, on a GPU as a captured graph of kernels."""
    mjw.step(model, data)
    if not warp.get_device().is_cuda:
        return lambda: mjw.step(model, data)
    with warp.ScopedCapture() as capture:
        mjw.step(model, data)
    return lambda: warp.capture_launch(capture.graph)
