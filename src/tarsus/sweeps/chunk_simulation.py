"""Build the simulation of a chunk's worlds, and the push on them."""

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


def chunk_simulation(chunk: Chunk) -> Simulation:
    """Build the simulation of all worlds of a chunk in their initial states."""
    shared, columns = dict(chunk.structure), chunk.columns
    count = len(chunk)
    # the law's parameters per world are set after construction, so that all chunks share one
    # program that is traced once
    default_law = resolve.resolve_law(shared["law"])
    set_later = {
        name[4:]: values
        for name, values in columns.items()
        if name.startswith("law.") and getattr(default_law, name[4:]) is not None
    }
    law = _with_parameters(default_law, "law", chunk, set_later)
    terrain = _with_parameters(resolve.resolve_terrain(shared["terrain"]), "terrain", chunk)
    parameters = {n: v for n, v in shared.items() if n.startswith(("gait.", "stepper."))}
    options: dict[str, Any] = {n[7:]: v for n, v in shared.items() if n.startswith("option.")}
    masses = {n[5:]: np.asarray(v, float) for n, v in columns.items() if n.startswith("mass.")}
    simulation = Simulation(
        resolve.resolve_robot(shared["robot"], **base_options(shared)),
        law,
        shared["stepper"],
        terrain,
        shared["gait"],
        shared["dt"],
        worlds=count,
        parameters=parameters,
        mass_scale=masses or None,
        pushes=(shared["push.body"],) if "push.body" in shared else (),
        **options,
    )
    law_values: dict[str, Any] = {
        name: np.asarray(values, float) if count > 1 else values[0]
        for name, values in set_later.items()
    }
    simulation.set(**law_values)
    # commands and initial noise
    commands = {n[8:]: np.asarray(v) for n, v in columns.items() if n.startswith("command.")}
    if commands:
        simulation.set(command={n: v if count > 1 else float(v[0]) for n, v in commands.items()})
    _add_noise(simulation, chunk)
    return simulation


def _with_parameters(default: Any, part: str, chunk: Chunk, excluded: Collection[str] = ()) -> Any:
    """Set the chunk's parameters of a law or terrain, except those in `excluded`."""
    changed = dict[str, Any]()
    for name, value in chunk.structure.items():
        if name.startswith(f"{part}."):
            changed[name.partition(".")[2]] = value
    for name, values in chunk.columns.items():
        if name.startswith(f"{part}.") and name.partition(".")[2] not in excluded:
            changed[name.partition(".")[2]] = (
                np.asarray(values, float) if len(chunk) > 1 else float(values[0])
            )
    return replace(default, **changed) if changed else default


def _add_noise(simulation: Simulation, chunk: Chunk) -> None:
    """Add `noise` to the initial states.

    Each world has its own seed, so its noise does not depend on the other worlds of the batch.
    Loops are closed again, and mimic joints follow their leaders.
    """
    noise = {n[6:]: v for n, v in chunk.columns.items() if n.startswith("noise.")}
    if not noise:
        return
    seeds = chunk.columns.get("seed", chunk.samples)
    q, u = np.atleast_2d(simulation.q), np.atleast_2d(simulation.u)
    robot = simulation.robot
    first = 7 if robot.floating else 0
    noisy = _is_joint_coordinate(robot)[first:]
    for k, seed in enumerate(seeds):
        random = np.random.default_rng(int(seed))
        samples = random.standard_normal(q.shape[1] - first), random.standard_normal(u.shape[1])
        q[k, first:] += float(noise["q"][k]) * samples[0] * noisy if "q" in noise else 0.0
        u[k] += float(noise["u"][k]) * samples[1] if "u" in noise else 0.0
    if "q" in noise and (robot.loops or robot.couplings):
        q = robot.close_loops(q)
    simulation.set(q=q if len(chunk) > 1 else q[0], u=u if len(chunk) > 1 else u[0])


def _is_joint_coordinate(mechanism: Mechanism) -> Array:
    """Find the coordinates (nq,) that belong to hinges and slides other than the base's."""
    mask = np.zeros(mechanism.nq, bool)
    for i, (body, columns) in enumerate(zip(mechanism.bodies, mechanism.q_slices, strict=True)):
        mask[columns] = body.joint.kind in ("hinge", "slide") and i not in mechanism.base_chain
    return mask


class ChunkPush:
    """Push on a chunk's robots: first and last step, and force."""

    def __init__(self, chunk: Chunk, dt: float) -> None:
        shared = chunk.structure
        self.body = shared.get("push.body")
        start = float(shared.get("push.at", 0.0))
        times = (start, start + float(shared.get("push.seconds", 0.1)))
        self.steps = [round(time / dt) for time in times] if self.body else []
        axes = [chunk.columns.get(f"push.{axis}", [0.0] * len(chunk)) for axis in "xyz"]
        self.force = np.stack([np.asarray(axis, float) for axis in axes], -1)

    def at(self, step: int) -> dict[str, Array]:
        """Compute the argument of `Simulation.set(push=...)` before a step."""
        if self.body is None:
            return {}
        force = self.force if self.steps[0] <= step < self.steps[1] else 0.0 * self.force
        return {self.body: force if len(force) > 1 else force[0]}
