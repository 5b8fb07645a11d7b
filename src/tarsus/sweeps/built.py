"""The simulation of a chunk's worlds at their start, and the push on them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tarsus.model.fixed_base import base_options
from tarsus.model.mechanism import Mechanism
from tarsus.simulation import resolve
from tarsus.simulation.simulation import Simulation
from tarsus.sweeps.groups import Chunk

Array = NDArray[Any]


def built(chunk: Chunk) -> Simulation:
    """The simulation of all worlds of a chunk at their start."""
    own, columns = dict(chunk.structure), chunk.columns
    count = len(chunk)
    # parts with one number a world, the law's set later: chunks then share one step, traced once;
    # parameters of gait and stepper as on the command line
    plain = resolve.law(own["law"])
    later = {
        name[4:]: values
        for name, values in columns.items()
        if name.startswith("law.") and getattr(plain, name[4:]) is not None
    }
    law = _part(plain, "law", chunk, later)
    terrain = _part(resolve.terrain(own["terrain"]), "terrain", chunk)
    of_parts = {n: v for n, v in own.items() if n.startswith(("gait.", "stepper."))}
    options: dict[str, Any] = {n[7:]: v for n, v in own.items() if n.startswith("option.")}
    masses = {n[5:]: np.asarray(v, float) for n, v in columns.items() if n.startswith("mass.")}
    simulation = Simulation(
        resolve.robot(own["robot"], **base_options(own)),
        law,
        own["stepper"],
        terrain,
        own["gait"],
        own["dt"],
        worlds=count,
        parameters=of_parts,
        mass_scale=masses or None,
        pushes=(own["push.body"],) if "push.body" in own else (),
        **options,
    )
    each: dict[str, Any] = {
        name: np.asarray(values, float) if count > 1 else values[0]
        for name, values in later.items()
    }
    simulation.set(**each)
    # commands, and starts apart from one another
    command = {n[8:]: np.asarray(v) for n, v in columns.items() if n.startswith("command.")}
    if command:
        one = {n: v if count > 1 else float(v[0]) for n, v in command.items()}
        simulation.set(command=one)
    _disturbed(simulation, chunk)
    return simulation


def _part(default: Any, part: str, chunk: Chunk, later: Collection[str] = ()) -> Any:
    """A law or terrain with the chunk's parameters, but for what is set later; words and single
    numbers are structural.
    """
    changed = dict[str, Any]()
    for name, value in chunk.structure.items():
        if name.startswith(f"{part}."):
            changed[name.partition(".")[2]] = value
    for name, values in chunk.columns.items():
        if name.startswith(f"{part}.") and name.partition(".")[2] not in later:
            changed[name.partition(".")[2]] = (
                np.asarray(values, float) if len(chunk) > 1 else float(values[0])
            )
    return replace(default, **changed) if changed else default


def _disturbed(simulation: Simulation, chunk: Chunk) -> None:
    """Starts with `noise`, each world's by its own seed, whatever worlds stand beside it; loops are
    closed again, and joints that follow others follow them.
    """
    noise = {n[6:]: v for n, v in chunk.columns.items() if n.startswith("noise.")}
    if not noise:
        return
    seeds = chunk.columns.get("seed", chunk.samples)
    q, u = np.atleast_2d(simulation.q), np.atleast_2d(simulation.u)
    robot = simulation.robot
    first = 7 if robot.floating else 0
    turning = _angles(robot)[first:]
    for k, seed in enumerate(seeds):
        random = np.random.default_rng(int(seed))
        drawn = random.standard_normal(q.shape[1] - first), random.standard_normal(u.shape[1])
        q[k, first:] += float(noise["q"][k]) * drawn[0] * turning if "q" in noise else 0.0
        u[k] += float(noise["u"][k]) * drawn[1] if "u" in noise else 0.0
    if "q" in noise and (robot.loops or robot.couplings):
        q = robot.closed(q)
    simulation.set(q=q if len(chunk) > 1 else q[0], u=u if len(chunk) > 1 else u[0])


def _angles(mechanism: Mechanism) -> Array:
    """Which coordinates (nq,) are those of hinges and slides: no places, no quaternions."""
    found = np.zeros(mechanism.nq, bool)
    for body, at in zip(mechanism.bodies, mechanism.q_slices, strict=True):
        found[at] = body.joint.kind in ("hinge", "slide")
    return found


class ChunkPush:
    """The push of a chunk: the steps at which it begins and ends, and the force meanwhile."""

    def __init__(self, chunk: Chunk, dt: float) -> None:
        own = chunk.structure
        self.body = own.get("push.body")
        begin = float(own.get("push.at", 0.0))
        times = (begin, begin + float(own.get("push.seconds", 0.1)))
        self.steps = [round(time / dt) for time in times] if self.body else []
        axes = [chunk.columns.get(f"push.{axis}", [0.0] * len(chunk)) for axis in "xyz"]
        self.force = np.stack([np.asarray(axis, float) for axis in axes], -1)

    def at(self, step: int) -> dict[str, Array]:
        """What `Simulation.set(push=...)` takes before a step."""
        if self.body is None:
            return {}
        force = self.force if self.steps[0] <= step < self.steps[1] else 0.0 * self.force
        return {self.body: force if len(force) > 1 else force[0]}
