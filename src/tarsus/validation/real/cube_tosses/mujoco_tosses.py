"""Simulation of tosses in MuJoCo: a box on a plane, one rollout for all tosses of a candidate."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from tarsus.errors import Unsupported
from tarsus.identification.ranges import SearchRange
from tarsus.mujoco_runs.library import mujoco
from tarsus.mujoco_runs.worlds import physics_states, roll
from tarsus.validation.real.cube_tosses.candidates import SCENE
from tarsus.validation.real.cube_tosses.data import EDGE, FRAME, GIVEN_MU, INERTIA, MASS, G, Tosses
from tarsus.validation.real.cube_tosses.law_tosses import HARD, Tosser

Array = NDArray[np.float64]
NAME = "mujoco"
TRIED = {
    "mu": SearchRange(0.08, 0.3),
    "timeconst": SearchRange(0.0035, 0.06, log=True),
    "dampratio": SearchRange(0.1, 2.0, log=True),
    "impratio": SearchRange(0.3, 30.0, log=True),
}
GIVEN = {"mu": GIVEN_MU, "timeconst": 0.02, "dampratio": 1.0, "impratio": 1.0}  # its defaults


class MujocoTosses(Tosser):
    """MuJoCo with elliptic cones, its Newton solver, and steps of 1.7 ms."""

    name = NAME
    tried = TRIED

    def __init__(self, threads: int = 1) -> None:
        self._threads = threads

    def given_parameters(self) -> dict[str, float]:
        return dict(GIVEN)

    def paths(self, tosses: Tosses, values: Mapping[str, Array]) -> Array:
        for name in values:
            if name in SCENE and name not in ("height", "back"):
                raise Unsupported(f"{name} cannot be varied in MuJoCo.", name)
        count, frames = len(next(iter(values.values()))), tosses.q.shape[1]
        path = np.empty((count, len(tosses), frames, 7))
        for k in range(count):
            parameters = GIVEN | {name: float(v[k]) for name, v in values.items()}
            path[k] = _simulate(tosses, parameters, self._threads)
        return path


def _simulate(tosses: Tosses, values: Mapping[str, float], threads: int) -> Array:
    """Simulate all tosses with one candidate; return coordinates (tosses, frames, 7)."""
    mj, frames = mujoco(), tosses.q.shape[1]
    model = mj.MjModel.from_xml_string(_write_xml(values))
    height, late = values.get("height", 0.0), values.get("back", 0.0)
    q, u = tosses.q[:, 0].copy(), tosses.u[:, 0].copy()
    q[:, 2] -= height
    u[:, 2] -= G * late
    data = [mj.MjData(model) for _ in range(threads)]
    states = roll(model, data, physics_states(model, q, u), HARD * (frames - 1))
    # a physics state holds time, qpos and qvel, in the order of Tarsus
    path = np.concatenate([q[:, None], states[:, HARD - 1 :: HARD, 1:8]], 1)
    path[..., 2] += height
    return path


def _write_xml(values: Mapping[str, float]) -> str:
    """Write the cube on a board as MJCF; MuJoCo combines the equal parameters of both geoms."""
    contact = (
        f'friction="{values["mu"]!r} 0 0" condim="3"'
        f' solref="{values["timeconst"]!r} {values["dampratio"]!r}"'
    )
    half, moments = repr(EDGE / 2), " ".join([repr(INERTIA)] * 3)
    return f"""<mujoco>
  <option timestep="{FRAME / HARD!r}" cone="elliptic" integrator="implicitfast"
          gravity="0 0 {-G}" impratio="{values["impratio"]!r}"/>
  <worldbody>
    <geom type="plane" size="0 0 1" {contact}/>
    <body><freejoint/>
      <inertial mass="{MASS}" pos="0 0 0" diaginertia="{moments}"/>
      <geom type="box" size="{half} {half} {half}" {contact}/>
    </body>
  </worldbody>
</mujoco>"""
