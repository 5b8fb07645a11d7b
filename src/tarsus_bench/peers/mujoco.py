"""MuJoCo: soft contact; its servo actuators compute the same torque."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from tarsus.model.to_mjcf import to_mjcf
from tarsus.mujoco_runs.library import mujoco
from tarsus.mujoco_runs.settings import DISCRETE, NAMED, TUNED, find_settings
from tarsus.mujoco_runs.worlds import MujocoWorlds, physics_states, roll
from tarsus_bench.peers.base import FRICTION, Array, PeerSession, Work

WORLDS = 64
NOSLIP = 10  # iterations, as in SimBenchmark


class MuJoCoPeer(PeerSession):
    """MuJoCo's defaults with elliptic friction cones, and its named settings, stepped in C."""

    package: ClassVar[str] = "mujoco"
    distributions: ClassVar[tuple[str, ...]] = ("mujoco",)
    has_own_servo: ClassVar[bool] = True
    variants: ClassVar[Mapping[str, str]] = {
        "": "mj_step, its loop in C",
        "rollout": "mujoco.rollout, one world",
        "batch": f"mujoco.rollout, {WORLDS} worlds on one thread",
        "noslip": f"{NOSLIP} no-slip iterations after the solver, as in SimBenchmark",
        "rk4": "integrator RK4",
        TUNED: "the settings that its tuning guide recommends",
        DISCRETE: "the same with the integrator discrete",
    }

    def __init__(self, work: Work, variant: str) -> None:
        super().__init__(work, variant)
        self._mj = mujoco()
        self.worlds = WORLDS if variant == "batch" else 1
        integrator = "RK4" if variant == "rk4" else "Euler"
        text = _with_servos(
            to_mjcf(work.robot, dt=work.dt, friction=FRICTION, integrator=integrator), work
        )
        self._model = self._mj.MjModel.from_xml_string(text)
        self._model.opt.noslip_iterations = NOSLIP if variant == "noslip" else 0
        if variant in NAMED:
            find_settings(variant).apply(self._model)
        self._stepped, self._rolls = MujocoWorlds([self._model]), variant in ("rollout", "batch")
        [self._data] = self._stepped.data
        self._states, self._control = np.empty((0, 0)), np.array(work.posture)

    def settings(self) -> dict[str, str]:
        option, mj = self._model.opt, self._mj
        return {
            "version": mj.__version__,
            "number format": "float64",
            "solver": mj.mjtSolver(option.solver).name,
            "iterations": f"at most {option.iterations}, no-slip {option.noslip_iterations}",
            "tolerance": f"{option.tolerance:g}",
            "integrator": mj.mjtIntegrator(option.integrator).name,
            "cone": mj.mjtCone(option.cone).name,
            "impratio": f"{option.impratio:g}",
            "solref": str(self._model.geom_solref[0].tolist()),
            "solimp": str(self._model.geom_solimp[0].tolist()),
        }

    def mass(self) -> float:
        return float(self._model.body_mass.sum())

    def reset(self) -> None:
        work = self._work
        self._mj.mj_resetData(self._model, self._data)
        self._stepped.put(work.q[None], work.u[None])
        if work.kp:
            self._data.ctrl[:] = self._control
        self._stepped.forward()
        self._states = physics_states(self._model, np.tile(work.q, (self.worlds, 1)), work.u)

    def state(self) -> tuple[Array, Array]:
        if not self._rolls:
            return self._stepped.state()
        nq, nv = self._model.nq, self._model.nv
        return self._states[:, 1 : 1 + nq].copy(), self._states[:, 1 + nq : 1 + nq + nv].copy()

    def advance(self, steps: int) -> None:
        if not self._rolls:
            return self._stepped.advance(steps)
        control = np.broadcast_to(self._control, (self.worlds, steps, len(self._control)))
        control = control if self._work.kp else None
        states = roll(self._model, self._data, self._states, steps, control)
        self._states = np.ascontiguousarray(states[:, -1])


def _with_servos(mjcf: str, work: Work) -> str:
    """Replace the motors of an MJCF text by servos, or remove them if the task has none."""
    root = ElementTree.fromstring(mjcf)
    actuators = root.find("actuator")
    assert actuators is not None
    for motor in list(actuators):
        actuators.remove(motor)
        if work.kp:
            gains = {"kp": repr(work.kp), "kv": repr(work.kd)}
            ElementTree.SubElement(actuators, "position", dict(motor.attrib) | gains)
    return ElementTree.tostring(root, encoding="unicode")
