"""Runs of the biped standing and walking on several grounds in parallel worlds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from time import thread_time

import numpy as np
import xarray as xr

from tarsus import robots
from tarsus.contact.base import Law
from tarsus.contact.laws.linearized import Linearized
from tarsus.control.base import Controller
from tarsus.control.gaits.walk import Walk
from tarsus.dynamics.robot import Robot
from tarsus.simulation.recording.variables import coordinate_names
from tarsus.simulation.simulation import Simulation
from tarsus_papers.rengifo2009.bodies import Array, G

K_P, K_V, MU = 500.0, 250.0, 0.8  # section IV; mu is not stated
EPSILONS = (0.0, 1e-6, 1e-5, 1e-4)  # m: the paper's two (section V), and larger ones
# s: below 2 k_v epsilon / g for epsilon 1e-6 m; the paper states no step
DT, FINE, FINEST = 4e-5, 1e-5, 4e-6
STEPS, SPEED, STOP_TIME, SECONDS = 5, 0.2, 1.6, 4.5  # m/s, s, s, which result in five steps
FIRST_STEP = 1.0  # s, duration of the first step
SAMPLE = 2e-4  # s between samples of the motion
CHUNK = 0.1  # s recorded at once
SIDES = ("R", "L")
MIN_LIFT = 0.01  # m, height of a foot in a step
MIN_LOAD = 0.1  # fraction of the weight that a stance foot carries
STANCE_START, UNLOADING = 0.4, 0.1  # s after a landing, and before the foot lifts off again
MAX_LOSS = 0.02  # s, longest loss of contact that counts as a false impact
BOUNCING = 0.3  # s after a landing: three returns to the surface, 0.09 s each by Eqn. (3)


@cache
def biped() -> Robot:
    """Return the robot of Fig. 8, with its eight contact vertices; all parameters are estimates."""
    return robots.load("biped").with_contacts("*_foot_*")


@cache
def weight() -> float:
    """Return the weight of the biped in N."""
    return biped().mass * G


@dataclass(frozen=True, eq=False)
class BipedRun:
    """Recorded motion of the biped in several worlds; vertices of the right foot come first.

    Attributes
    ----------
    dt : float
        Time step in s.
    force : ndarray of shape (steps, worlds, 8)
        Mean normal force of each step in N.
    time : ndarray of shape (samples,)
        Times of the samples in s.
    q : ndarray of shape (samples, worlds, nq)
        Coordinates.
    impulse : ndarray of shape (samples, worlds, 24)
        Contact impulses of the step that ends at the sample, in N s.
    height : ndarray of shape (samples, worlds, 8)
        Height of each vertex in m.
    unconverged : ndarray of shape (worlds,)
        Number of steps whose contact problem did not converge.
    cost : float
        Processor time of one step of one world in s.
    """

    dt: float
    force: Array
    time: Array
    q: Array
    impulse: Array
    height: Array
    unconverged: Array
    cost: float

    def stances(self, world: int) -> list[tuple[int, Array]]:
        """Return (foot, samples) of the second half of every stance.

        A second half lasts from `STANCE_START` after a landing until `UNLOADING` before the foot
        lifts
        off, or until the end of the run.
        """
        stances = []
        for time, foot in self.landings(world):
            leaves = [leaving for leaving in self.lift_offs(world, foot) if leaving > time]
            end = leaves[0] - UNLOADING if leaves else np.inf
            inside = (self.time > time + STANCE_START) & (self.time < end)
            stances.append((foot, np.flatnonzero(inside)))
        return stances

    @property
    def load(self) -> Array:
        """Normal force of each foot in N, shape (steps, worlds, 2), right and left."""
        return self.force.reshape(*self.force.shape[:2], 2, 4).sum(axis=-1)

    def landings(self, world: int) -> list[tuple[float, int]]:
        """Return (time in s, foot) of the landings after a step; foot 0 is the right one.

        A landing follows a step if all vertices of the foot were higher than `MIN_LIFT` before.
        """
        lowest = self.height[:, world].reshape(-1, 2, 4).min(axis=-1)
        landings = []
        for foot in (0, 1):
            high = np.flatnonzero(np.diff((lowest[:, foot] > MIN_LIFT).astype(int)) < 0)
            down = np.flatnonzero(lowest[:, foot] <= 0)
            landings += [(float(self.time[down[down > k][0]]), foot) for k in high]
        return sorted(landings)

    def lift_offs(self, world: int, foot: int) -> Array:
        """Return the times (s) at which a foot's lowest vertex rises above `MIN_LIFT`."""
        lowest = self.height[:, world, 4 * foot : 4 * foot + 4].min(axis=-1)
        return self.time[1:][np.diff((lowest > MIN_LIFT).astype(int)) > 0]

    def losses(self, world: int) -> tuple[Array, Array]:
        """Return the times (s) of the bounces and of the false impacts.

        Both are losses of a vertex's contact that end within `MAX_LOSS`, although the foot carried
        more
        than `MIN_LOAD` of the weight on average during the `MAX_LOSS` before. Losses up to
        `BOUNCING` after the foot's landing are bounces; later ones are false impacts.
        """
        losses: tuple[list[float], list[float]] = ([], [])
        window, landings = round(MAX_LOSS / self.dt), self.landings(world)
        total = np.cumsum(np.concatenate([np.zeros((1, 2)), self.load[:, world]]), axis=0)
        for vertex in range(self.force.shape[-1]):
            changes = np.diff((self.force[:, world, vertex] > 0).astype(int))
            lost, gained = np.flatnonzero(changes < 0) + 1, np.flatnonzero(changes > 0) + 1
            for begin in lost:
                back = gained[np.searchsorted(gained, begin) :][:1]
                first = max(begin - window, 0)
                mean = (total[begin] - total[first])[vertex // 4] / (begin - first)
                if back.size and back[0] - begin < window and mean > MIN_LOAD * weight():
                    time = begin * self.dt
                    fresh = any(
                        foot == vertex // 4 and 0 <= time - landed < BOUNCING
                        for landed, foot in landings
                    )
                    losses[0 if fresh else 1].append(time)
        return np.sort(np.array(losses[0])), np.sort(np.array(losses[1]))

    def slip(self, world: int) -> float:
        """Compute the largest slip of a vertex in the second half of a stance, m."""
        slips = []
        for foot, inside in self.stances(world):
            for vertex in biped().candidates[4 * foot : 4 * foot + 4]:
                position = biped().position(self.q[inside, world], vertex.name)[:, :2]
                slips.append(np.linalg.norm(position - position[0], axis=1).max())
        return float(max(slips, default=0.0))

    def log(self, world: int) -> xr.Dataset:
        """Return a world's motion as a picture strip needs it; the plane's tangents are x and y."""
        impulse = self.impulse[:, world].reshape(len(self.time), -1, 3)
        names = [c.name for c in biped().candidates]
        points = [biped().position(self.q[:, world], name) for name in names]
        return xr.Dataset(
            {
                "q": (("time", "coordinate"), self.q[:, world]),
                "force_world": (("time", "contact", "xyz"), impulse[..., [1, 2, 0]] / self.dt),
                "contact_point": (("time", "contact", "xyz"), np.stack(points, axis=1)),
            },
            coords={
                "time": self.time,
                "coordinate": coordinate_names(biped()),
                "contact": names,
            },
            attrs={"terrain": "plane"},
        )


def ground(epsilons: tuple[float, ...] = EPSILONS, saturation: str = "repeated") -> Linearized:
    """Return the contact law with the paper's gains and one interpenetration per world."""
    return Linearized(mu=MU, k_p=K_P, k_v=K_V, epsilon=np.array(epsilons), saturation=saturation)  # type: ignore[arg-type]


@cache
def paper_walk(quick: bool) -> BipedRun:
    """Return the walk that most parts analyze.

    The reduced version makes one step, for the paper's two values of epsilon.
    """
    return run_walk(EPSILONS[:2], seconds=FIRST_STEP) if quick else run_walk()


def run_walk(
    epsilons: tuple[float, ...] = EPSILONS,
    dt: float = DT,
    saturation: str = "repeated",
    seconds: float = SECONDS,
) -> BipedRun:
    """Simulate a walk under the paper's contact law."""
    return run_walk_on(ground(epsilons, saturation), len(epsilons), dt, seconds)


def run_walk_on(law: Law, worlds: int, dt: float, seconds: float = SECONDS) -> BipedRun:
    """Simulate five steps under any contact law by a command to walk and a later one to stop."""
    simulation = _simulation(law, worlds, dt, Walk())
    simulation.set(command={"speed": SPEED})

    def stop(time: float) -> None:
        if time >= STOP_TIME:
            simulation.set(command={"gait": 0.0})

    return _record(simulation, seconds, stop)


def run_standing(epsilons: tuple[float, ...], seconds: float, dt: float = DT) -> BipedRun:
    """Simulate standing on both feet, with joint servos tuned for the weight and the step."""
    return _record(_simulation(ground(epsilons), len(epsilons), dt, "stand"), seconds)


def _simulation(law: Law, worlds: int, dt: float, controller: Controller | str) -> Simulation:
    return Simulation(biped(), law, "symplectic_euler", controller=controller, dt=dt, worlds=worlds)


def _record(
    simulation: Simulation, seconds: float, command: Callable[[float], None] = lambda time: None
) -> BipedRun:
    """Simulate in chunks; record all forces, and samples of the motion."""
    dt, worlds, chunks = simulation.dt, simulation.worlds, []
    each, chunk = max(1, round(SAMPLE / dt)), round(CHUNK / simulation.dt)
    unconverged, spent, steps = np.zeros(worlds, dtype=int), 0.0, round(seconds / dt)
    for begin in range(0, steps, chunk):
        command(begin * dt)
        began = thread_time()
        records = simulation.backend.record(min(chunk, steps - begin))
        spent += thread_time() - began
        unconverged += (records["converged"][..., 0] == 0).sum(axis=0)
        samples = slice(each - 1, None, each)
        forces = records["impulse"][..., ::3] / dt
        chunks.append((forces, records["q"][samples], records["impulse"][samples]))
    force, q, impulse = (np.concatenate(parts) for parts in zip(*chunks, strict=True))
    flat = q.reshape(-1, q.shape[-1])
    height = [biped().position(flat, c.name)[:, 2] for c in biped().candidates]
    return BipedRun(
        dt, force, dt * each * np.arange(1, len(q) + 1), q, impulse,
        np.stack(height, axis=-1).reshape(*q.shape[:2], -1), unconverged, spent / steps / worlds,
    )  # fmt: skip
